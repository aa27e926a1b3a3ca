//! Numbers of the rows of a program that several variants share.

use crate::backend::{Array, ScalarValue};
use crate::{DType, Device, Error, Result};

/// Names of the tables of numbers in the state, of floating-point numbers and of whole ones.
pub(super) const TABLES: [(&str, DType); 2] = [("numbers.f32", DType::F32), ("numbers.u32", DType::U32)];

/// Numbers of the rows: the columns of the tables that the state of a run has to hold.
#[derive(Clone, Debug, Default)]
pub struct RowNumbers {
    /// The columns of each table.
    pub(super) tables: [Vec<NumberColumn>; 2],
}

/// A number that rows have their own values of.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(target_arch = "wasm32", allow(dead_code, reason = "a page joins no variants"))]
pub(super) enum NumberColumn {
    /// A constant: its value in each variant.
    Constant(Vec<f64>),
    /// A scalar that is given at each run.
    Scalar(String),
}

impl RowNumbers {
    /// The tables, with their names in the state. `rows` has the variant of each row, and `scalars` the row's values.
    ///
    /// # Errors
    /// If a scalar is missing, or the device lacks memory.
    pub fn arrays(
        &self,
        device: &Device,
        rows: &[usize],
        scalars: &[Vec<(&'static str, ScalarValue)>],
    ) -> Result<Vec<(&'static str, Array)>> {
        let mut arrays = Vec::new();
        for ((name, dtype), columns) in TABLES.iter().zip(&self.tables).filter(|(_, columns)| !columns.is_empty()) {
            let mut numbers = Vec::with_capacity(rows.len() * columns.len());
            for (row, variant) in rows.iter().enumerate() {
                for column in columns {
                    numbers.push(match column {
                        NumberColumn::Constant(values) => values[*variant],
                        NumberColumn::Scalar(name) => scalar(scalars.get(row), name)?,
                    });
                }
            }
            let shape = [rows.len(), columns.len()];
            let array = match dtype {
                DType::F32 => device.array(&shape, &numbers)?,
                DType::U32 => device.array_u32(&shape, &numbers.iter().map(|n| *n as u32).collect::<Vec<_>>())?,
            };
            arrays.push((*name, array));
        }
        Ok(arrays)
    }
}

/// The scalar of this name among those of a row.
fn scalar(of_row: Option<&Vec<(&'static str, ScalarValue)>>, name: &str) -> Result<f64> {
    let of_row = of_row.map_or(&[][..], Vec::as_slice);
    match of_row.iter().find(|(known, _)| *known == name) {
        Some((_, ScalarValue::F32(value))) => Ok(*value),
        Some((_, ScalarValue::U32(value))) => Ok(f64::from(*value)),
        None => Err(Error::unknown("scalar", name, of_row.iter().map(|(name, _)| *name))),
    }
}
