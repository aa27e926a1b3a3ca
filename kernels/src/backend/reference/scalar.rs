//! Elementwise primitives in f64 and u32.

use super::Data;
use crate::tensor::{Binary, DType, Unary};

/// A function of one tensor.
pub(super) fn unary(op: Unary, x: &Data) -> Data {
    match x {
        Data::F64(x) => {
            let map = |f: fn(f64) -> f64| Data::F64(x.iter().map(|v| f(*v)).collect());
            match op {
                Unary::Neg => map(|v| -v),
                Unary::Recip => map(f64::recip),
                Unary::Exp => map(f64::exp),
                Unary::Log => map(f64::ln),
                Unary::Sqrt => map(f64::sqrt),
                Unary::Sin => map(f64::sin),
                Unary::Cos => map(f64::cos),
                Unary::Tanh => map(f64::tanh),
                Unary::Floor => map(f64::floor),
                Unary::Stop | Unary::Cast(DType::F32) | Unary::Bitcast(DType::F32) => map(|v| v),
                Unary::Cast(DType::U32) => Data::U32(x.iter().map(|v| *v as u32).collect()),
                Unary::Bitcast(DType::U32) => Data::U32(x.iter().map(|v| (*v as f32).to_bits()).collect()),
            }
        }
        Data::U32(x) => match op {
            Unary::Cast(DType::F32) => Data::F64(x.iter().map(|v| f64::from(*v)).collect()),
            Unary::Bitcast(DType::F32) => Data::F64(x.iter().map(|v| f64::from(f32::from_bits(*v))).collect()),
            // The tracer allows no other function of integers but those that are the identity on them.
            _ => Data::U32(x.clone()),
        },
    }
}

/// A function of two tensors of one shape; `None` if their data types differ or the function is not defined on them.
pub(super) fn binary(op: Binary, a: &Data, b: &Data) -> Option<Data> {
    Some(match (a, b) {
        (Data::F64(a), Data::F64(b)) => {
            let map = |f: fn(f64, f64) -> f64| Data::F64(a.iter().zip(b).map(|(x, y)| f(*x, *y)).collect());
            let truth =
                |f: fn(f64, f64) -> bool| Data::U32(a.iter().zip(b).map(|(x, y)| u32::from(f(*x, *y))).collect());
            match op {
                Binary::Add => map(|x, y| x + y),
                Binary::Mul => map(|x, y| x * y),
                Binary::Max => map(|x, y| if x < y { y } else { x }),
                Binary::Min => map(|x, y| if y < x { y } else { x }),
                Binary::Lt => truth(|x, y| x < y),
                Binary::Eq => truth(|x, y| x == y),
                Binary::And | Binary::Or | Binary::Xor | Binary::Shl | Binary::Shr => return None,
            }
        }
        (Data::U32(a), Data::U32(b)) => {
            let map = |f: fn(u32, u32) -> u32| Data::U32(a.iter().zip(b).map(|(x, y)| f(*x, *y)).collect());
            match op {
                Binary::Add => map(u32::wrapping_add),
                Binary::Mul => map(u32::wrapping_mul),
                Binary::Max => map(u32::max),
                Binary::Min => map(u32::min),
                Binary::Lt => map(|x, y| u32::from(x < y)),
                Binary::Eq => map(|x, y| u32::from(x == y)),
                Binary::And => map(|x, y| x & y),
                Binary::Or => map(|x, y| x | y),
                Binary::Xor => map(|x, y| x ^ y),
                Binary::Shl => map(|x, y| x << (y & 31)),
                Binary::Shr => map(|x, y| x >> (y & 31)),
            }
        }
        _ => return None,
    })
}

/// `condition != 0 ? a : b`.
pub(super) fn select(condition: &[u32], a: &Data, b: &Data) -> Option<Data> {
    fn pick<T: Copy>(c: &[u32], a: &[T], b: &[T]) -> Vec<T> {
        c.iter().zip(a.iter().zip(b)).map(|(c, (a, b))| if *c != 0 { *a } else { *b }).collect()
    }
    match (a, b) {
        (Data::F64(a), Data::F64(b)) => Some(Data::F64(pick(condition, a, b))),
        (Data::U32(a), Data::U32(b)) => Some(Data::U32(pick(condition, a, b))),
        _ => None,
    }
}
