//! Scalar operations as expressions.

use quickstudy_core::DType;
use quickstudy_core::tensor::{Binary, Unary};

/// A number of the graph. What a shader compiler may not write as a constant comes by way of a run-time zero.
pub(crate) fn number(bits: u64, dtype: DType) -> String {
    if dtype == DType::U32 {
        return format!("{}u", bits as u32);
    }
    let value = f64::from_bits(bits) as f32;
    if value == 0.0 || value.is_normal() {
        format!("{value:?}f")
    } else {
        format!("bitcast<f32>({:#x}u | words[0].x)", value.to_bits())
    }
}

pub(super) fn unary(op: Unary, x: &str, from: DType) -> String {
    match op {
        Unary::Neg => format!("-{x}"),
        Unary::Recip => format!("1.0 / {x}"),
        Unary::Exp => format!("qs_exp({x})"),
        Unary::Log => format!("qs_log({x})"),
        Unary::Sqrt => format!("sqrt({x})"),
        Unary::Sin => format!("qs_sin_cos({x}).x"),
        Unary::Cos => format!("qs_sin_cos({x}).y"),
        Unary::Tanh => format!("qs_tanh({x})"),
        Unary::Floor => format!("floor({x})"),
        Unary::Cast(DType::F32) if from == DType::U32 => format!("f32({x})"),
        Unary::Cast(DType::U32) if from == DType::F32 => format!("qs_to_u32({x})"),
        Unary::Bitcast(DType::F32) => format!("bitcast<f32>({x})"),
        Unary::Bitcast(DType::U32) => format!("bitcast<u32>({x})"),
        Unary::Cast(_) | Unary::Stop => x.to_owned(),
    }
}

pub(super) fn binary(op: Binary, x: &str, y: &str) -> String {
    match op {
        Binary::Add => format!("{x} + {y}"),
        Binary::Mul => format!("{x} * {y}"),
        Binary::Max => format!("select({x}, {y}, {x} < {y})"),
        Binary::Min => format!("select({x}, {y}, {y} < {x})"),
        Binary::Lt => format!("u32({x} < {y})"),
        Binary::Eq => format!("u32({x} == {y})"),
        Binary::And => format!("{x} & {y}"),
        Binary::Or => format!("{x} | {y}"),
        Binary::Xor => format!("{x} ^ {y}"),
        Binary::Shl => format!("{x} << ({y} & 31u)"),
        Binary::Shr => format!("{x} >> ({y} & 31u)"),
    }
}
