//! Elementwise functions of single numbers, as their 32 bits: the plain way, which every faster one must equal bit for
//! bit.

use super::{Binary, DType, Unary};
use crate::math;

impl Unary {
    /// The value of the function at a number of this type.
    #[must_use]
    pub fn of_bits(self, dtype: DType, x: u32) -> u32 {
        let f = f32::from_bits(x);
        let y = match self {
            Unary::Neg => -f,
            Unary::Recip => 1.0 / f,
            Unary::Exp => math::exp(f),
            Unary::Log => math::log(f),
            Unary::Sqrt => f.sqrt(),
            Unary::Sin => math::sin(f),
            Unary::Cos => math::cos(f),
            Unary::Tanh => math::tanh(f),
            Unary::Floor => math::floor(f),
            Unary::Cast(to) => match (dtype, to) {
                (DType::F32, DType::U32) => return f as u32,
                (DType::U32, DType::F32) => x as f32,
                _ => return x,
            },
            Unary::Bitcast(_) | Unary::Stop => return x,
        };
        y.to_bits()
    }
}

impl Binary {
    /// The value of the function at two numbers of this type.
    #[must_use]
    pub fn of_bits(self, dtype: DType, x: u32, y: u32) -> u32 {
        let (a, b) = (f32::from_bits(x), f32::from_bits(y));
        match dtype {
            DType::F32 => match self {
                Binary::Add => (a + b).to_bits(),
                Binary::Mul => (a * b).to_bits(),
                Binary::Max => (if a < b { b } else { a }).to_bits(),
                Binary::Min => (if b < a { b } else { a }).to_bits(),
                Binary::Lt => u32::from(a < b),
                Binary::Eq => u32::from(a == b),
                // The trace allows these on u32 only.
                Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => 0,
            },
            DType::U32 => match self {
                Binary::Add => x.wrapping_add(y),
                Binary::Mul => x.wrapping_mul(y),
                Binary::Max => x.max(y),
                Binary::Min => x.min(y),
                Binary::Lt => u32::from(x < y),
                Binary::Eq => u32::from(x == y),
                Binary::And => x & y,
                Binary::Or => x | y,
                Binary::Xor => x ^ y,
                Binary::Shl => x << (y & 31),
                Binary::Shr => x >> (y & 31),
            },
        }
    }
}
