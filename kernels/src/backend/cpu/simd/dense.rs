//! Matrix kernels: dense layers on lane-major tiles, their weight gradients, and a general product.
//!
//! A tile `[M][R]` holds M values for each of R lanes (rows of a batch), R a multiple of 16. Every element of a result
//! is one chain of multiply-adds in order of the summed index, cut by [`slice_len`]; the chain fuses (one rounding per
//! step) where [`Isa::fuses`]. Tile shapes and packing do not change a bit. Narrow products have an order of their own,
//! [`super::dots`].

use super::lanes::LANES;
use super::pack::pack_tile;
use super::product::{Finish, PANEL, Product};
use super::strided::Strided;
use super::{elementwise, slice_len};
use crate::backend::cpu::simd::isa::Isa;
use elementwise::{BinaryOp, Operand, UnaryOp};

/// Elementwise work that follows a dense layer, block by block while it is in registers and the first
/// cache. Anything else follows as a [`super::chain::Chain`], after a part of the outputs, which takes
/// a few percent of the layer's time longer.
#[derive(Debug)]
pub enum Epilogue<'a> {
    /// Nothing.
    Linear,
    /// tanh.
    Tanh,
    /// out · (1 − y²) with y as `out`: on the way back, the derivative of the tanh whose value is y. Rounded after each
    /// operation.
    Slope(&'a [f32]),
    /// ReLU: 0 where the result is negative. Beside the result, if this is given, else in its place.
    Relu(Option<&'a mut [f32]>),
    /// 0 where x is negative, with x as `out`: on the way back, the derivative of ReLU at x.
    Gate(&'a [f32]),
}

/// Sizes of a dense layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DenseDims {
    /// Inputs.
    pub k: usize,
    /// Outputs.
    pub n: usize,
    /// Lanes, a multiple of 16.
    pub r: usize,
}

/// A dense layer on a tile: out\[n\]\[r\] = act(Σ over k of a\[k\]\[r\] · w(k, n) + bias(n)).
///
/// `out: [N][R]`, `a: [K][R]`; `w` has element (k, n), `bias` element (n, 0); act is what `after` says. With rows and
/// columns of `w` exchanged this is also the backward pass to the inputs.
///
/// # Panics
/// If sizes and lengths disagree, or `r` is no multiple of 16.
pub fn dense(
    isa: Isa,
    out: &mut [f32],
    a: &[f32],
    w: Strided<'_>,
    bias: Option<Strided<'_>>,
    dims: DenseDims,
    mut after: Epilogue<'_>,
) {
    let DenseDims { k, n, r } = dims;
    assert_eq!(r % LANES, 0, "dense: lanes come in groups of 16");
    assert!(
        out.len() == n.saturating_mul(r) && a.len() >= k.saturating_mul(r),
        "dense: tiles of {} and {}",
        out.len(),
        a.len()
    );
    w.check("dense weights", k, n);
    if let Some(bias) = bias {
        bias.check("dense bias", n, 1);
    }
    let other = match &after {
        Epilogue::Slope(y) | Epilogue::Gate(y) => Some(y.len()),
        Epilogue::Relu(y) => y.as_ref().map(|y| y.len()),
        Epilogue::Linear | Epilogue::Tanh => None,
    };
    assert!(other.is_none_or(|len| len == out.len()), "dense: values of the activation and results");
    let slice = slice_len(k);
    let c = out.as_mut_ptr();
    let product = Product {
        rows: n,
        cols: r,
        inner: slice.min(k),
        a: w.values.as_ptr(),
        a_row: w.col,
        a_inner: w.row,
        b: a.as_ptr(),
        b_inner: r,
        c,
        c_row: r,
        resume: false,
        bias: bias.map_or(std::ptr::null(), |bias| bias.values.as_ptr()),
        bias_row: bias.map_or(0, |bias| bias.row),
        col_bias: std::ptr::null(),
        after: match after {
            Epilogue::Linear => Finish::Linear,
            Epilogue::Tanh => Finish::Tanh,
            Epilogue::Slope(y) => Finish::Slope(y.as_ptr()),
            Epilogue::Relu(None) => Finish::Relu(c),
            Epilogue::Relu(Some(ref mut y)) => Finish::Relu(y.as_mut_ptr()),
            Epilogue::Gate(x) => Finish::Gate(x.as_ptr()),
        },
    };
    if slice >= k {
        // SAFETY: lengths checked above; `out` is borrowed mutably, so apart from the others.
        unsafe { product.run(isa) }
        return;
    }
    let bare = Product { bias: std::ptr::null(), after: Finish::Linear, ..product };
    // SAFETY: as above; slices stay within k.
    unsafe { bare.run(isa) }
    let mut part = vec![0.0; n * r];
    for start in (slice..k).step_by(slice) {
        let p = Product {
            inner: slice.min(k - start),
            a: w.values[start * w.row..].as_ptr(),
            b: a[start * r..].as_ptr(),
            c: part.as_mut_ptr(),
            ..bare
        };
        // SAFETY: as above; `part` has the size of `out`.
        unsafe { p.run(isa) }
        elementwise::binary(isa, BinaryOp::Add, out, Operand::Dst, Operand::Slice(&part));
    }
    if let Some(bias) = bias {
        for (i, row) in out.chunks_exact_mut(r).enumerate() {
            elementwise::binary(isa, BinaryOp::Add, row, Operand::Dst, Operand::Splat(bias.values[i * bias.row]));
        }
    }
    match after {
        Epilogue::Linear => {}
        Epilogue::Tanh => elementwise::unary(isa, UnaryOp::Tanh, out, Operand::Dst),
        Epilogue::Slope(y) => out.iter_mut().zip(y).for_each(|(g, y)| *g *= 1.0 + -(y * y)),
        Epilogue::Relu(None) => elementwise::binary(isa, BinaryOp::Max, out, Operand::Dst, Operand::Splat(0.0)),
        Epilogue::Relu(Some(y)) => elementwise::binary(isa, BinaryOp::Max, y, Operand::Slice(out), Operand::Splat(0.0)),
        Epilogue::Gate(x) => out.iter_mut().zip(x).for_each(|(g, x)| *g = if *x < 0.0 { 0.0 } else { *g }),
    }
}

/// The operands of a weight gradient: two tiles with the same lanes.
#[derive(Clone, Copy, Debug)]
pub struct Outer<'a> {
    /// `[K][stride]`, the layer's inputs.
    pub a: &'a [f32],
    /// `[N][stride]`, the cotangents of its outputs.
    pub g: &'a [f32],
    /// Inputs.
    pub k: usize,
    /// Outputs.
    pub n: usize,
    /// Lanes per tile row, a multiple of 16.
    pub stride: usize,
    /// How many lanes count, from the first on. Others may hold anything.
    pub rows: usize,
}

/// dw\[k\]\[n\] = dw\[k\]\[n\] + Σ over r < rows of a\[k\]\[r\] · g\[n\]\[r\], the chain going on from what
/// `dw` holds. Rows of `dw` are `dw_row` apart.
///
/// `scratch` is grown as needed and holds nothing of value between calls.
///
/// # Panics
/// If sizes and lengths disagree, or the stride is no multiple of 16.
pub fn dense_accumulate_outer(isa: Isa, dw: &mut [f32], dw_row: usize, outer: Outer<'_>, scratch: &mut Vec<f32>) {
    let Outer { a, g, k, n, stride, rows } = outer;
    assert_eq!(stride % LANES, 0, "outer: lanes come in groups of 16");
    assert!(
        rows <= stride && a.len() >= k.saturating_mul(stride) && g.len() >= n.saturating_mul(stride),
        "outer: tiles are too short"
    );
    if k == 0 || n == 0 || rows == 0 {
        return;
    }
    let last = (k - 1).saturating_mul(dw_row).saturating_add(n);
    assert!(last <= dw.len() && (k == 1 || n <= dw_row), "outer: dw has {} values", dw.len());
    // One operand must be transposed, and the other is broadcast. Costs in cycles, measured roughly: a transposition of
    // 16 × 16 takes about 45, a multiply-add of 16 lanes half of one.
    let cost = |broadcast: usize, across: usize| {
        let blocks = across.div_ceil(LANES);
        blocks * (rows.div_ceil(LANES) * 45 + broadcast * rows / 2)
    };
    let copied = k * n * 2; // turning dw over and back
    let product = Product {
        rows: k,
        cols: 0,
        inner: rows,
        a: a.as_ptr(),
        a_row: stride,
        a_inner: 1,
        b: std::ptr::null(),
        b_inner: 0,
        c: dw.as_mut_ptr(),
        c_row: dw_row,
        resume: true,
        bias: std::ptr::null(),
        bias_row: 0,
        col_bias: std::ptr::null(),
        after: Finish::Linear,
    };
    if cost(n, k) + copied < cost(k, n) {
        let width = k.next_multiple_of(LANES);
        let padded = rows.next_multiple_of(LANES);
        let (packed, turned) = grow(scratch, padded * width.min(PANEL), n * width);
        for (i, row) in turned.chunks_exact_mut(width).enumerate() {
            for (j, y) in row.iter_mut().enumerate() {
                *y = if j < k { dw[j * dw_row + i] } else { 0.0 };
            }
        }
        for start in (0..k).step_by(PANEL) {
            let cols = PANEL.min(width - start);
            pack_tile(isa, packed, cols, &a[start * stride..], stride, k - start, rows);
            let (b, c) = (packed.as_ptr(), turned[start..].as_mut_ptr());
            let p = Product { rows: n, cols, a: g.as_ptr(), b, b_inner: cols, c, c_row: width, ..product };
            // SAFETY: `turned` is [n][width], `packed` [rows][cols], `g` [n][stride] with rows <= stride.
            unsafe { p.run(isa) }
        }
        for (i, row) in turned.chunks_exact(width).enumerate() {
            for (j, y) in row[..k].iter().enumerate() {
                dw[j * dw_row + i] = *y;
            }
        }
        return;
    }
    let whole = n - n % LANES;
    let padded = rows.next_multiple_of(LANES);
    let (packed, edge) = grow(scratch, padded * n.next_multiple_of(LANES).min(PANEL), k * LANES);
    for start in (0..whole).step_by(PANEL) {
        let cols = PANEL.min(whole - start);
        pack_tile(isa, packed, cols, &g[start * stride..], stride, n - start, rows);
        let c = dw[start..].as_mut_ptr();
        // SAFETY: columns start..start + cols of `dw` exist; `packed` is [rows][cols], `a` [k][stride].
        unsafe { Product { cols, b: packed.as_ptr(), b_inner: cols, c, ..product }.run(isa) }
    }
    if whole < n {
        // The last columns do not fill a register: work on a copy.
        for (i, row) in edge.chunks_exact_mut(LANES).enumerate() {
            row.fill(0.0);
            row[..n - whole].copy_from_slice(&dw[i * dw_row + whole..][..n - whole]);
        }
        pack_tile(isa, packed, LANES, &g[whole * stride..], stride, n - whole, rows);
        let (b, c) = (packed.as_ptr(), edge.as_mut_ptr());
        // SAFETY: `edge` is [k][16], `packed` [rows][16], `a` [k][stride].
        unsafe { Product { cols: LANES, b, b_inner: LANES, c, c_row: LANES, ..product }.run(isa) }
        for (i, row) in edge.chunks_exact(LANES).enumerate() {
            dw[i * dw_row + whole..][..n - whole].copy_from_slice(&row[..n - whole]);
        }
    }
}

/// Two buffers out of one, both at the start of a cache line: a register that straddles two costs twice.
fn grow(scratch: &mut Vec<f32>, first: usize, second: usize) -> (&mut [f32], &mut [f32]) {
    let padded = first.next_multiple_of(LANES);
    if scratch.len() < padded + second + LANES {
        scratch.resize(padded + second + LANES, 0.0);
    }
    let skip = scratch.as_ptr().align_offset(64).min(LANES);
    let (a, b) = scratch[skip..].split_at_mut(padded);
    (&mut a[..first], &mut b[..second])
}

#[cfg(test)]
#[path = "dense_tests.rs"]
mod tests;
