//! Matrices and vectors in memory of any strides.

/// A matrix or vector with any strides: element (i, j) is `values[i * row + j * col]`.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a> {
    /// The elements.
    pub values: &'a [f32],
    /// Distance of rows.
    pub row: usize,
    /// Distance of columns.
    pub col: usize,
}

impl Strided<'_> {
    /// Kernels read without further checks.
    ///
    /// # Panics
    /// If a `rows` × `cols` matrix does not fit `values`.
    #[inline]
    pub(super) fn check(&self, what: &str, rows: usize, cols: usize) {
        if rows > 0 && cols > 0 {
            let last = (rows - 1).saturating_mul(self.row).saturating_add((cols - 1).saturating_mul(self.col));
            assert!(last < self.values.len(), "{what}: {rows} × {cols} values, got {}", self.values.len());
        }
    }
}
