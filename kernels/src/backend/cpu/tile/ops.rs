//! The kernels of elementwise functions.

use super::super::simd::elementwise::{BinaryOp, UnaryOp};
use crate::tensor::{Binary, DType, Unary};

/// The kernel of a function of one operand; `None` where the bits stay as they are.
pub fn unary(op: Unary, dtype: DType) -> Option<UnaryOp> {
    Some(match op {
        Unary::Neg => UnaryOp::Neg,
        Unary::Recip => UnaryOp::Recip,
        Unary::Exp => UnaryOp::Exp,
        Unary::Log => UnaryOp::Log,
        Unary::Sqrt => UnaryOp::Sqrt,
        Unary::Sin => UnaryOp::Sin,
        Unary::Cos => UnaryOp::Cos,
        Unary::Tanh => UnaryOp::Tanh,
        Unary::Floor => UnaryOp::Floor,
        Unary::Cast(to) if to == dtype => return None,
        Unary::Cast(DType::U32) => UnaryOp::ToU32,
        Unary::Cast(DType::F32) => UnaryOp::ToF32,
        Unary::Bitcast(_) | Unary::Stop => return None,
    })
}

/// The kernel of a function of two operands.
pub fn binary(op: Binary, dtype: DType) -> BinaryOp {
    match (op, dtype) {
        (Binary::Add, DType::F32) => BinaryOp::Add,
        (Binary::Mul, DType::F32) => BinaryOp::Mul,
        (Binary::Max, DType::F32) => BinaryOp::Max,
        (Binary::Min, DType::F32) => BinaryOp::Min,
        (Binary::Lt, DType::F32) => BinaryOp::Lt,
        (Binary::Eq, DType::F32) => BinaryOp::Eq,
        (Binary::Add, DType::U32) => BinaryOp::AddU,
        (Binary::Mul, DType::U32) => BinaryOp::MulU,
        (Binary::Max, DType::U32) => BinaryOp::MaxU,
        (Binary::Min, DType::U32) => BinaryOp::MinU,
        (Binary::Lt, DType::U32) => BinaryOp::LtU,
        (Binary::Eq, DType::U32) => BinaryOp::EqU,
        (Binary::And, _) => BinaryOp::And,
        (Binary::Or, _) => BinaryOp::Or,
        (Binary::Xor, _) => BinaryOp::Xor,
        (Binary::Shl, _) => BinaryOp::Shl,
        (Binary::Shr, _) => BinaryOp::Shr,
    }
}
