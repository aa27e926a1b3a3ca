//! Calls of kernels on numbers that stay in caches: those of `core/benches/kernels.rs`, and what
//! `core/examples/wasm_speed.rs` measures of them as WebAssembly.

use quickstudy_core::backend::cpu::simd::aligned::AlignedVec;
use quickstudy_core::backend::cpu::simd::dense::{DenseDims, Epilogue, Outer, dense, dense_accumulate_outer};
use quickstudy_core::backend::cpu::simd::elementwise::{BinaryOp, Operand, UnaryOp, binary, unary};
use quickstudy_core::backend::cpu::simd::gemm::{GemmDims, gemm};
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::backend::cpu::simd::strided::Strided;
use std::hint::black_box;

/// Makes a call.
pub type Call = Box<dyn FnMut()>;

/// Some numbers from -0.5 to 0.5.
pub fn values(len: usize) -> AlignedVec {
    let values: Vec<f32> = (0..len).map(|i| ((i * 7919) % 1000) as f32 * 1e-3 - 0.5).collect();
    AlignedVec::from(&values[..])
}

/// Floating-point operations of a product.
pub fn flops(k: usize, n: usize, rows: usize) -> u64 {
    2 * (k * n * rows) as u64
}

/// A layer from `k` to `n` units, with its weights as they are or transposed.
pub fn layer(isa: Isa, k: usize, n: usize, rows: usize, transposed: bool, tanh: bool) -> Call {
    let (a, w, bias, mut out) = (values(k * rows), values(k * n), values(n), AlignedVec::zeroed(n * rows));
    let (row, col) = if transposed { (1, k) } else { (n, 1) };
    Box::new(move || {
        let bias = Strided { values: &bias, row: 1, col: 0 };
        let w = Strided { values: black_box(&w), row, col };
        let epilogue = if tanh { Epilogue::Tanh } else { Epilogue::Linear };
        dense(isa, &mut out, black_box(&a), w, Some(bias), DenseDims { k, n, r: rows }, epilogue);
    })
}

/// The gradient of that layer's weights.
pub fn weight_gradient(isa: Isa, k: usize, n: usize, rows: usize) -> Call {
    let (a, g, mut dw, mut scratch) = (values(k * rows), values(n * rows), values(k * n), Vec::new());
    Box::new(move || {
        let outer = Outer { a: black_box(&a), g: &g, k, n, stride: rows, rows };
        dense_accumulate_outer(isa, &mut dw, n, outer, &mut scratch);
    })
}

/// A product of two square matrices.
pub fn product(isa: Isa, size: usize) -> Call {
    let (a, b, mut c, mut scratch) = (values(size * size), values(size * size), values(size * size), Vec::new());
    Box::new(move || {
        let a = Strided { values: black_box(&a), row: size, col: 1 };
        let b = Strided { values: &b, row: size, col: 1 };
        gemm(isa, &mut c, size, a, b, GemmDims { m: size, k: size, n: size, over_rows: false }, &mut scratch);
    })
}

/// A function of each number.
pub fn of_each(isa: Isa, op: UnaryOp, len: usize) -> Call {
    let (x, mut y) = (values(len), AlignedVec::zeroed(len));
    Box::new(move || unary(isa, op, &mut y, Operand::Slice(black_box(&x))))
}

/// A function of each two numbers.
pub fn of_each_two(isa: Isa, op: BinaryOp, len: usize) -> Call {
    let (a, b, mut y) = (values(len), values(len), AlignedVec::zeroed(len));
    Box::new(move || binary(isa, op, &mut y, Operand::Slice(black_box(&a)), Operand::Slice(&b)))
}
