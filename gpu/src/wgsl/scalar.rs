//! Scalar operations as expressions.

use quickstudy_kernels::DType;
use quickstudy_kernels::tensor::{Binary, Unary};

/// A number of the graph. What a shader compiler may not write as a constant comes by way of a run-time zero.
pub(crate) fn number(bits: u64, dtype: DType) -> String {
    if dtype == DType::U32 {
        return format!("{}u", bits as u32);
    }
    let value = f64::from_bits(bits) as f32;
    if value.abs() == f32::MAX {
        // All digits: the few that name it are those of a number beyond it, which browsers refuse.
        format!("{:?}f", f64::from(value))
    } else if value == 0.0 || value.is_normal() {
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

/// [`unary`] of the four rows of a vector.
pub(super) fn unary_of_rows(op: Unary, x: &str, from: DType) -> String {
    match op {
        Unary::Neg | Unary::Sqrt | Unary::Floor => unary(op, x, from),
        Unary::Recip => format!("vec4<f32>(1.0f) / {x}"),
        _ => {
            let rows = (0..4).map(|row| unary(op, &format!("{x}[{row}]"), from));
            rows_of(op.result(from), rows)
        }
    }
}

/// [`binary`] of the four rows of two vectors.
pub(super) fn binary_of_rows(op: Binary, x: &str, y: &str) -> String {
    match op {
        Binary::Lt => format!("vec4<u32>({x} < {y})"),
        Binary::Eq => format!("vec4<u32>({x} == {y})"),
        Binary::Shl => format!("{x} << ({y} & vec4<u32>(31u))"),
        Binary::Shr => format!("{x} >> ({y} & vec4<u32>(31u))"),
        _ => binary(op, x, y),
    }
}

/// A vector of four rows.
pub(super) fn rows_of(dtype: DType, rows: impl Iterator<Item = String>) -> String {
    let rows: Vec<String> = rows.collect();
    format!("{}({})", vector(dtype), rows.join(", "))
}

/// The type of a vector of four rows.
pub(super) fn vector(dtype: DType) -> &'static str {
    match dtype {
        DType::F32 => "vec4<f32>",
        DType::U32 => "vec4<u32>",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_written_as_one_that_f32_has_not() {
        for value in [f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1.0, -0.1, 3.0e38] {
            let text = number(f64::from(value).to_bits(), DType::F32);
            let exact: f64 = text.strip_suffix('f').unwrap().parse().unwrap();
            assert!(exact.abs() <= f64::from(f32::MAX) && exact as f32 == value, "{text}");
        }
        assert!(number(f64::INFINITY.to_bits(), DType::F32).starts_with("bitcast<f32>(0x7f800000u"));
    }
}
