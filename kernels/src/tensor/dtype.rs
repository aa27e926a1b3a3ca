//! Data types of tensors.

use std::fmt;

/// Data type of a tensor. Truth values are `U32` 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// 32-bit IEEE float.
    F32,
    /// 32-bit unsigned integer, wrapping.
    U32,
}

impl DType {
    /// The 32 bits of a constant of this type, of which a trace has 64.
    #[must_use]
    pub fn word(self, bits: u64) -> u32 {
        match self {
            DType::F32 => (f64::from_bits(bits) as f32).to_bits(),
            DType::U32 => bits as u32,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DType::F32 => "f32",
            DType::U32 => "u32",
        })
    }
}
