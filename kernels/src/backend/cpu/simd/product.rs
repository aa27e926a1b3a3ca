//! The one register-tile loop behind all matrix kernels.

use super::lanes::{Contiguous, LANES, Map1, Map2, store};
use super::ops;
use super::sum::{SumOperands, sum};
use super::vector::{Vector, per_vector};
use crate::backend::cpu::simd::isa::Isa;
use std::marker::PhantomData;

/// Columns packed together by the callers: what the widest register tile takes.
pub(crate) const PANEL: usize = 64;

/// c\[i\]\[j\] = start + Σ over t of a\[i\]\[t\] · b\[t\]\[j\], then a bias per row, and tanh or the slope of one.
///
/// `a` is read one value at a time with any strides and broadcast; rows of `b` and `c` are contiguous, `cols` long, a
/// multiple of 16. Each element is one chain of multiply-adds in order of t.
#[derive(Clone, Copy)]
pub(crate) struct Product {
    pub rows: usize,
    pub cols: usize,
    pub inner: usize,
    pub a: *const f32,
    pub a_row: usize,
    pub a_inner: usize,
    pub b: *const f32,
    pub b_inner: usize,
    pub c: *mut f32,
    pub c_row: usize,
    /// Start the chain from what `c` holds, not from 0.
    pub resume: bool,
    /// Added to row i at the end: bias\[i · bias_row\]. Null for none.
    pub bias: *const f32,
    pub bias_row: usize,
    /// Added to column j at the end, beside or in place of the other: it is `cols` long. Null for none.
    pub col_bias: *const f32,
    /// The elementwise operation on the result, at the end.
    pub after: Finish,
}

/// The elementwise end of a product. Its other operand or result lies as `c` does.
#[derive(Clone, Copy)]
pub(crate) enum Finish {
    /// Nothing.
    Linear,
    /// tanh.
    Tanh,
    /// Multiply by 1 − y².
    Slope(*const f32),
    /// Write 0 here where the result is negative, else the result. This may be `c` itself.
    Relu(*mut f32),
    /// 0 where x is negative.
    Gate(*const f32),
}

impl Product {
    /// Compute it.
    ///
    /// # Safety
    /// All elements that the sizes and strides name must be valid, those of `c` for writing and apart from the others;
    /// `cols` must be a multiple of 16.
    // One copy of all register tiles per instruction set, whoever calls.
    #[inline(never)]
    pub unsafe fn run(self, isa: Isa) {
        debug_assert_eq!(self.cols % LANES, 0);
        let p = self;
        // The body's conditions are the caller's promise.
        per_vector!(isa, product, (p: Product));
    }
}

/// Tiles of `[rows][columns]` registers whose accumulators, one row of `b` and one value of `a` fit the registers.
#[inline(always)]
unsafe fn product<V: Vector>(p: Product) {
    // Few rows need more columns in flight to hide the latency of the multiply-adds, few columns more rows.
    let widest = if V::REGISTERS >= 32 || (V::ROWS == 4 && p.rows <= 2) { 4 } else { 2 };
    // Rows outside, so that tanh follows while a block is still in the first-level cache.
    let vectors = p.cols / V::LANES;
    let most_rows = if V::REGISTERS >= 32 && vectors < 3 { 12 } else { V::ROWS };
    let blocks = p.rows.div_ceil(most_rows).max(1);
    let (base, longer) = (p.rows / blocks, p.rows % blocks);
    let mut i = 0;
    for block in 0..blocks {
        let rows = base + usize::from(block < longer);
        // SAFETY: i + rows <= p.rows and j + the vectors' lanes <= p.cols.
        unsafe {
            let mut j = 0;
            while j < vectors {
                let width = widest.min(vectors - j);
                match width {
                    4 => strip::<V, 4>(&p, i, rows, j * V::LANES),
                    3 => strip::<V, 3>(&p, i, rows, j * V::LANES),
                    2 => strip::<V, 2>(&p, i, rows, j * V::LANES),
                    _ => strip::<V, 1>(&p, i, rows, j * V::LANES),
                }
                j += width;
            }
            for row in i..i + rows {
                let c = p.c.add(row * p.c_row);
                match p.after {
                    Finish::Tanh => store(c, Map1::<ops::Tanh, _>(Contiguous(c), PhantomData), p.cols),
                    Finish::Slope(y) => {
                        let y = Contiguous(y.add(row * p.c_row));
                        store(c, Map2::<ops::TanhGrad, _, _>(Contiguous(c), y, PhantomData), p.cols)
                    }
                    // In the registers already.
                    Finish::Linear | Finish::Relu(_) | Finish::Gate(_) => break,
                }
            }
        }
        i += rows;
    }
}

/// `rows` rows from `i` on, `W` registers of columns from `j` on.
#[inline(always)]
unsafe fn strip<V: Vector, const W: usize>(p: &Product, i: usize, rows: usize, j: usize) {
    // Columns come in groups of 16: there is no odd number of registers of four.
    if V::LANES == 4 && W % 2 == 1 {
        return;
    }
    unsafe {
        match rows {
            0 => {}
            1 => tile::<V, 1, W>(p, i, j),
            2 => tile::<V, 2, W>(p, i, j),
            _ if V::ROWS == 4 && W == 4 => {}
            3 => tile::<V, 3, W>(p, i, j),
            4 => tile::<V, 4, W>(p, i, j),
            _ if V::ROWS == 4 => {}
            5 => tile::<V, 5, W>(p, i, j),
            6 => tile::<V, 6, W>(p, i, j),
            // More rows only where `product` asks for them: at most two registers wide, of 32.
            _ if V::REGISTERS < 32 || W > 2 => {}
            7 => tile::<V, 7, W>(p, i, j),
            8 => tile::<V, 8, W>(p, i, j),
            9 => tile::<V, 9, W>(p, i, j),
            10 => tile::<V, 10, W>(p, i, j),
            11 => tile::<V, 11, W>(p, i, j),
            _ => tile::<V, 12, W>(p, i, j),
        }
    }
}

/// `R` rows from `i` on, `W` registers of columns from `j` on.
// In wasm a function of its own: it has few values, so that all that the loop needs is in registers.
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[allow(clippy::needless_range_loop, reason = "two indices name the register tile")]
unsafe fn tile<V: Vector, const R: usize, const W: usize>(p: &Product, i: usize, j: usize) {
    // SAFETY: the caller has checked that rows and columns exist.
    unsafe {
        let c = p.c.add(i * p.c_row + j);
        let mut acc = [[V::splat(0.0); W]; R];
        if p.resume {
            for r in 0..R {
                for w in 0..W {
                    acc[r][w] = V::load(c.add(r * p.c_row + w * V::LANES));
                }
            }
        }
        // Where there is nothing to sum, there need not be anything to point at.
        let (a, b) = (p.a.wrapping_add(i * p.a_row), p.b.wrapping_add(j));
        let steps = SumOperands { a, a_row: p.a_row, a_inner: p.a_inner, b, b_inner: p.b_inner, count: p.inner };
        sum(&mut acc, &steps);
        for r in 0..R {
            if !p.bias.is_null() {
                let bias = V::splat(*p.bias.add((i + r) * p.bias_row));
                for w in 0..W {
                    acc[r][w] = acc[r][w].add(bias);
                }
            }
        }
        if !p.col_bias.is_null() {
            for w in 0..W {
                let bias = V::load(p.col_bias.add(j + w * V::LANES));
                for r in 0..R {
                    acc[r][w] = acc[r][w].add(bias);
                }
            }
        }
        match p.after {
            Finish::Relu(y) => {
                let y = y.add(i * p.c_row + j);
                if y != c {
                    write(&acc, c, p.c_row);
                }
                for r in 0..R {
                    for w in 0..W {
                        acc[r][w] = acc[r][w].relu();
                    }
                }
                write(&acc, y, p.c_row);
                return;
            }
            Finish::Gate(x) => {
                let x = x.add(i * p.c_row + j);
                for r in 0..R {
                    for w in 0..W {
                        acc[r][w] = acc[r][w].gate(V::load(x.add(r * p.c_row + w * V::LANES)));
                    }
                }
            }
            Finish::Linear | Finish::Tanh | Finish::Slope(_) => {}
        }
        write(&acc, c, p.c_row);
    }
}

/// Store a register tile.
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "two indices name the register tile")]
unsafe fn write<V: Vector, const R: usize, const W: usize>(acc: &[[V; W]; R], to: *mut f32, row: usize) {
    for r in 0..R {
        for w in 0..W {
            // SAFETY: the caller has checked that rows and columns exist.
            unsafe { acc[r][w].store(to.add(r * row + w * V::LANES)) }
        }
    }
}
