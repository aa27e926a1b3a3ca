//! Buffers that start on a cache line.

use std::ops::{Deref, DerefMut};

/// A cache line, and the widest register.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(64))]
struct FloatLine([f32; 16]);

/// A vector of `f32` that starts on a cache line: with a `Vec<f32>`, which starts anywhere, every load of a 64-byte
/// register crosses two lines and costs two.
#[derive(Clone, Debug, Default)]
pub struct AlignedVec {
    lines: Vec<FloatLine>,
    len: usize,
}

impl AlignedVec {
    /// `len` zeros.
    pub fn zeroed(len: usize) -> Self {
        AlignedVec { lines: vec![FloatLine::default(); len.div_ceil(16)], len }
    }

    /// Make it `len` values long; what it held stays as far as it fits, new values are 0 or what an earlier, longer
    /// state held.
    pub fn resize(&mut self, len: usize) {
        self.lines.resize(len.div_ceil(16), FloatLine::default());
        self.len = len;
    }
}

impl From<&[f32]> for AlignedVec {
    fn from(values: &[f32]) -> Self {
        let mut aligned = AlignedVec::zeroed(values.len());
        aligned.copy_from_slice(values);
        aligned
    }
}

impl Deref for AlignedVec {
    type Target = [f32];

    #[inline]
    fn deref(&self) -> &[f32] {
        &bytemuck::cast_slice(&self.lines)[..self.len]
    }
}

impl DerefMut for AlignedVec {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_slice_on_a_cache_line() {
        let mut x = AlignedVec::from(&[1.0, 2.0, 3.0][..]);
        assert_eq!(&x[..], [1.0, 2.0, 3.0]);
        assert_eq!(x.as_ptr() as usize % 64, 0);
        x.resize(40);
        x[39] = 5.0;
        assert_eq!((x.len(), x[0], x[20], x[39]), (40, 1.0, 0.0, 5.0));
        assert!(AlignedVec::zeroed(0).is_empty());
    }
}
