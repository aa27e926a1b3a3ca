//! The algorithms of a stack's rows.

use std::rc::Rc;

use super::Algorithm;
use crate::backend::ScalarValue;
use crate::optim::Progress;

/// An algorithm for each row of a stack: the same one, or variants of it that differ in numbers alone, such as γ.
#[derive(Clone, Debug)]
pub(crate) struct RowAlgorithms {
    /// The variants.
    pub variants: Vec<Rc<dyn Algorithm>>,
    /// The number of each row's variant.
    pub of_rows: Vec<usize>,
}

impl RowAlgorithms {
    /// One algorithm in all rows.
    pub(crate) fn same(algorithm: Rc<dyn Algorithm>, rows: usize) -> RowAlgorithms {
        RowAlgorithms { variants: vec![algorithm], of_rows: vec![0; rows] }
    }

    /// An algorithm for each row, of which several may be one.
    pub(crate) fn of(rows: impl IntoIterator<Item = Rc<dyn Algorithm>>) -> RowAlgorithms {
        let (mut variants, mut of_rows) = (Vec::<Rc<dyn Algorithm>>::new(), Vec::new());
        for algorithm in rows {
            let known = variants.iter().position(|known| Rc::ptr_eq(known, &algorithm));
            of_rows.push(known.unwrap_or(variants.len()));
            if known.is_none() {
                variants.push(algorithm);
            }
        }
        RowAlgorithms { variants, of_rows }
    }

    /// The algorithm of the first row, which has the shapes and stages of all.
    pub(crate) fn first(&self) -> &Rc<dyn Algorithm> {
        &self.variants[0]
    }

    /// The number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.of_rows.len()
    }

    /// True if rows have algorithms of their own.
    pub(crate) fn differ(&self) -> bool {
        self.variants.len() > 1
    }

    /// True if each row has the algorithm that it has in `other`.
    pub(crate) fn same_as(&self, other: &RowAlgorithms) -> bool {
        let all = |rows: &RowAlgorithms| rows.of_rows.iter().map(|variant| rows.variants[*variant].clone()).collect();
        let (own, other): (Vec<_>, Vec<_>) = (all(self), all(other));
        own.len() == other.len() && own.iter().zip(&other).all(|(own, other)| Rc::ptr_eq(own, other))
    }

    /// Each row's values of scalars, at its progress.
    pub(crate) fn scalars(&self, at: &[Progress]) -> Vec<Vec<(&'static str, ScalarValue)>> {
        self.of_rows.iter().zip(at).map(|(variant, at)| self.variants[*variant].scalars(*at)).collect()
    }
}
