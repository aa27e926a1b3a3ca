//! Variants: traces that differ in numbers alone, joined into one in which each row has its own numbers.
//!
//! An algorithm that is traced with two values of a setting, such as γ, gives two graphs of the same operations, as
//! long as the setting is a number of the program and not a shape or a branch. [`join`] walks both side by side, and
//! where constants differ it reads a column of a table `[S, K]` of the state in their place: K numbers for each of S
//! rows. A row of the joined program computes the bits that its own variant computes, because the operations and their
//! order are the same.
//!
//! Where a number meets a tensor, it has to be repeated along the axis that belongs to rows; [`seed_axis`] follows that
//! axis from the arguments, in which it is the first one. Where traces differ in more, or that axis is lost, joining
//! fails and says where: such variants are programs of their own.
//!
//! The walk is one over tuples of nodes, one node per variant, because equal constants are one node in one variant and
//! may be several in another.

mod joined;
mod pairs;
mod seed_axis;
#[cfg(test)]
mod tests;
mod trace;

use super::arg::{Arg, Role};
use super::row_numbers::{NumberColumn, RowNumbers, TABLES};
use crate::{DType, Result};
pub(super) use trace::VariantTrace;
use trace::apart;

impl RowNumbers {
    /// The number of the table of a data type.
    fn table(dtype: DType) -> usize {
        usize::from(dtype == DType::U32)
    }

    /// The place of a column in its table, which is a new one if there is none.
    fn column(&mut self, dtype: DType, column: NumberColumn) -> usize {
        let table = &mut self.tables[Self::table(dtype)];
        table.iter().position(|known| *known == column).unwrap_or_else(|| {
            table.push(column);
            table.len() - 1
        })
    }

    /// Arguments that hold the tables of so many rows.
    fn args(&self, rows: usize) -> impl Iterator<Item = Arg> + '_ {
        let there = TABLES.iter().zip(&self.tables).filter(|(_, columns)| !columns.is_empty());
        there.map(move |(&(name, dtype), columns)| {
            let (name, shape) = (name.to_owned(), vec![rows, columns.len()]);
            Arg { name, shape, dtype, role: Role::State, bulk: false }
        })
    }
}

/// Joins traces of the variants, each of all `rows`. The numbers in which they differ, and the scalars of all but
/// that of the iteration, become columns of tables, which the state of a run has to hold.
///
/// # Errors
/// [`Error::Program`] that says where they differ in more than numbers.
pub(super) fn join(traces: &[VariantTrace], rows: usize) -> Result<(VariantTrace, RowNumbers)> {
    let Some((first, _)) = traces.first() else { return Err(apart("there is no variant")) };
    for (cx, _) in traces {
        if !cx.cuts.is_empty() {
            return Err(apart("they ask the host, which plays for one variant"));
        }
        if cx.args != first.args || cx.results.len() != first.results.len() {
            return Err(apart("they read or write arrays of other names or shapes"));
        }
        if cx.results.iter().zip(&first.results).any(|(a, b)| a.1 != b.1) {
            return Err(apart("they write their results in another order"));
        }
    }
    let pairs = pairs::Pairs::of(traces)?;
    joined::build(&pairs, rows)
}
