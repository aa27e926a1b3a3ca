//! Operations composed of primitives.

use std::ops::{Add, Div, Mul, Neg, Sub};
use std::panic::Location;

use super::Tensor;
use super::dtype::DType;
use super::op::{Binary, Unary};

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident: $op:expr;)*) => {
        impl Tensor {
            $($(#[$doc])* #[track_caller] pub fn $name(self) -> Tensor { self.unary($op, Location::caller()) })*
        }
    };
}

unary! {
    /// 1/x
    recip: Unary::Recip;
    /// eˣ
    exp: Unary::Exp;
    /// ln x; −∞ at 0, NaN below.
    log: Unary::Log;
    /// √x; NaN below 0.
    sqrt: Unary::Sqrt;
    /// sin x, x in radians.
    sin: Unary::Sin;
    /// cos x, x in radians.
    cos: Unary::Cos;
    /// tanh x
    tanh: Unary::Tanh;
    /// ⌊x⌋; derivative 0.
    floor: Unary::Floor;
    /// The value as f32, rounded to nearest.
    to_f32: Unary::Cast(DType::F32);
    /// The value as u32: truncated, negative values and NaN to 0, large ones to 2³² − 1.
    to_u32: Unary::Cast(DType::U32);
    /// The 32 bits read as f32.
    bitcast_f32: Unary::Bitcast(DType::F32);
    /// The 32 bits read as u32.
    bitcast_u32: Unary::Bitcast(DType::U32);
    /// The value, with derivative 0.
    stop_gradient: Unary::Stop;
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident: $op:expr;)*) => {
        #[allow(clippy::should_implement_trait, reason = "named as the primitives are")]
        impl Tensor {
            $($(#[$doc])* #[track_caller] pub fn $name(self, other: Tensor) -> Tensor {
                self.binary(other, $op, Location::caller())
            })*
        }
    };
}

binary! {
    /// The larger of two, `if x < y { y } else { x }`.
    max: Binary::Max;
    /// The smaller of two, `if y < x { y } else { x }`.
    min: Binary::Min;
    /// x < y as u32 0 or 1.
    lt: Binary::Lt;
    /// x = y as u32 0 or 1.
    eq: Binary::Eq;
    /// Bitwise and (u32); of truth values, both.
    bit_and: Binary::And;
    /// Bitwise or (u32); of truth values, either.
    bit_or: Binary::Or;
    /// Bitwise exclusive or (u32).
    bit_xor: Binary::Xor;
    /// x << (y mod 32) (u32).
    shl: Binary::Shl;
    /// x >> (y mod 32) (u32).
    shr: Binary::Shr;
}

macro_rules! operator {
    ($trait:ident, $name:ident, |$a:ident, $b:ident, $at:ident| $value:expr) => {
        impl $trait for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $name(self, other: Tensor) -> Tensor {
                let ($a, $b, $at) = (self, other, Location::caller());
                $value
            }
        }
        impl $trait<f64> for Tensor {
            type Output = Tensor;
            #[track_caller]
            fn $name(self, other: f64) -> Tensor {
                let ($a, $b, $at) = (self, Tensor::constant_f32(other), Location::caller());
                $value
            }
        }
        impl $trait<Tensor> for f64 {
            type Output = Tensor;
            #[track_caller]
            fn $name(self, other: Tensor) -> Tensor {
                let ($a, $b, $at) = (Tensor::constant_f32(self), other, Location::caller());
                $value
            }
        }
    };
}

operator!(Add, add, |a, b, at| a.binary(b, Binary::Add, at));
operator!(Mul, mul, |a, b, at| a.binary(b, Binary::Mul, at));
operator!(Sub, sub, |a, b, at| a.binary(b.unary(Unary::Neg, at), Binary::Add, at));
// There is no division primitive: environments divide in the same way, so both give the same bits.
operator!(Div, div, |a, b, at| a.binary(b.unary(Unary::Recip, at), Binary::Mul, at));

impl Neg for Tensor {
    type Output = Tensor;
    #[track_caller]
    fn neg(self) -> Tensor {
        self.unary(Unary::Neg, Location::caller())
    }
}

impl Tensor {
    /// |x|
    #[track_caller]
    pub fn abs(self) -> Tensor {
        self.max(-self)
    }

    /// x, but 0 where |x| is less than 2⁻¹²⁶, the least normal number: what decays would else stay there for good, and
    /// processors take up to a hundred times as long for a product of such a number.
    #[track_caller]
    pub fn without_subnormals(self) -> Tensor {
        let least = Tensor::constant_f32(f64::from(f32::MIN_POSITIVE));
        self.abs().lt(least).select(Tensor::constant_f32(0.0), self)
    }

    /// x²
    #[track_caller]
    pub fn square(self) -> Tensor {
        self * self
    }

    /// 1/(1 + e⁻ˣ) by tanh, which neither overflows nor divides.
    #[track_caller]
    pub fn sigmoid(self) -> Tensor {
        (self * 0.5).tanh() * 0.5 + 0.5
    }

    /// ln(1 + eˣ) = max(x, 0) + ln(1 + e^−|x|), which does not overflow.
    #[track_caller]
    pub fn softplus(self) -> Tensor {
        self.max(Tensor::constant_f32(0.0)) + ((-self.abs()).exp() + 1.0).log()
    }

    /// x limited to `lo..=hi`; derivative 0 outside.
    #[track_caller]
    pub fn clamp(self, lo: f64, hi: f64) -> Tensor {
        self.max(Tensor::constant_f32(lo)).min(Tensor::constant_f32(hi))
    }

    /// x > y as u32 0 or 1.
    #[track_caller]
    pub fn gt(self, other: Tensor) -> Tensor {
        other.lt(self)
    }

    /// x ≠ y as u32 0 or 1.
    #[track_caller]
    pub fn ne(self, other: Tensor) -> Tensor {
        self.eq(other).bit_xor(Tensor::constant_u32(1))
    }

    /// The opposite of each truth value.
    #[allow(clippy::should_implement_trait, reason = "of truth values, not of bits")]
    #[track_caller]
    pub fn not(self) -> Tensor {
        self.bit_xor(Tensor::constant_u32(1))
    }

    /// 1 where the value is NaN or infinite, by its bits: comparisons may assume that there are none.
    #[track_caller]
    pub fn non_finite(self) -> Tensor {
        let exponent = self.bitcast_u32().bit_and(Tensor::constant_u32(0x7f80_0000));
        exponent.eq(Tensor::constant_u32(0x7f80_0000))
    }

    /// log Σ eˣ over `axis`, which stays with size 1.
    #[track_caller]
    pub fn log_sum_exp(self, axis: usize) -> Tensor {
        let top = self.max_keep(axis).stop_gradient();
        (self - top).exp().sum_keep(axis).log() + top
    }

    /// log of the softmax over `axis`.
    #[track_caller]
    pub fn log_softmax(self, axis: usize) -> Tensor {
        self - self.log_sum_exp(axis)
    }

    /// 1 where the index along the new last axis of size `n` equals `self` (u32), as f32.
    #[track_caller]
    pub fn one_hot(self, n: usize) -> Tensor {
        let mut shape = self.shape();
        shape.push(1);
        let index = self.reshape(&shape);
        let last = shape.len() - 1;
        shape[last] = n;
        Tensor::iota(&shape, last).eq(index).to_f32()
    }

    /// An axis of size 1 at `axis`.
    #[track_caller]
    pub fn unsqueeze(self, axis: usize) -> Tensor {
        let mut shape = self.shape();
        shape.insert(axis.min(shape.len()), 1);
        self.reshape(&shape)
    }
}
