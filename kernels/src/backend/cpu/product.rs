//! Products of matrices that no tile computes.

use super::halt::{Halt, Ran};
use super::memory::Memory;
use super::run::Run;
use super::simd::gemm::{GemmDims, gemm};
use super::simd::strided::Strided;
use super::steps::NodeStep;
use super::tile::Workspace;
use crate::program::layout::walk;

/// Multiplications from which a product is shared by threads.
const WORTH_A_THREAD: usize = 1 << 20;

/// Multiplications of one thread after which it looks whether it should stop: a tenth of a second.
const BREATH: usize = 1 << 31;

/// Words of scratch that a thread takes for a product at most.
pub fn product_scratch(step: &NodeStep, ta: bool) -> usize {
    let a = &step.src[0].shape;
    let (k, n) = (a[if ta { a.len() - 2 } else { a.len() - 1 }], step.shape[a.len() - 1]);
    let m = step.shape.iter().product::<usize>() / n.max(1);
    GemmDims { m, k, n, over_rows: ta }.scratch()
}

/// Compute a product where its result is wanted.
#[inline(never)]
pub fn product(
    mem: &mut Memory<'_>,
    step: &NodeStep,
    [ta, tb]: [bool; 2],
    run: &Run<'_>,
    space: &mut Workspace,
) -> Ran<()> {
    let (a, b) = (&step.src[0], &step.src[1]);
    let l = a.shape.len() - 2;
    let (m, k) = if ta { (a.shape[l + 1], a.shape[l]) } else { (a.shape[l], a.shape[l + 1]) };
    let n = step.shape[l + 1];
    let (am, ak) = if ta { (a.strides[l + 1], a.strides[l]) } else { (a.strides[l], a.strides[l + 1]) };
    let (bk, bn) = if tb { (b.strides[l + 1], b.strides[l]) } else { (b.strides[l], b.strides[l + 1]) };
    let (mut starts_a, mut starts_b) = (Vec::new(), Vec::new());
    walk(&a.shape[..l], &a.strides[..l], a.offset, &mut |at| starts_a.push(at));
    walk(&b.shape[..l], &b.strides[..l], b.offset, &mut |at| starts_b.push(at));
    // One matrix for several, as where policies of many rows share their parameters, is one product of all their rows:
    // it is packed once.
    let stride = if m == 1 { starts_a.get(1).map_or(am, |second| second.wrapping_sub(starts_a[0])) } else { am };
    let (offset, apart) = step.place;
    let apart = apart.filter(|distance| *distance != m * n);
    let shared = apart.is_none()
        && starts_b.windows(2).all(|two| two[0] == two[1])
        && starts_a.windows(2).all(|two| two[1].checked_sub(two[0]) == Some(m * stride));
    let (m, am) = if shared { (m * starts_a.len(), stride) } else { (m, am) };
    if shared {
        starts_a.truncate(1);
        starts_b.truncate(1);
    }
    let distance = apart.unwrap_or(m * n);
    // Rows of the result are independent: an element is the same whoever computes it.
    let parts = if m * k * n < WORTH_A_THREAD { 1 } else { run.threads.clamp(1, m.div_ceil(8)) };
    let rows = m.div_ceil(parts);
    let breath = (BREATH / (k * n).max(1)).max(96);
    let (out, operands) = mem.apart(step.dst[0], [a.value, b.value]);
    let out: &mut [f32] = bytemuck::cast_slice_mut(out);
    let [da, db]: [&[f32]; 2] = operands.map(bytemuck::cast_slice);
    for (i, (oa, ob)) in starts_a.into_iter().zip(starts_b).enumerate() {
        if run.interrupt.asked() {
            return Err(Halt::Interrupted);
        }
        let c = &mut out[offset + i * distance..][..m * n];
        let part = |first: usize, c: &mut [f32], scratch: &mut Vec<f32>| {
            for (i, c) in c.chunks_mut(breath * n).enumerate().take_while(|_| !run.interrupt.asked()) {
                let a = Strided { values: &da[oa + (first + i * breath) * am..], row: am, col: ak };
                let b = Strided { values: &db[ob..], row: bk, col: bn };
                gemm(run.isa, c, n, a, b, GemmDims { m: c.len() / n, k, n, over_rows: ta }, scratch);
            }
        };
        let shares = c.chunks_mut(rows * n).zip(space.scratch(parts)).enumerate();
        #[cfg(feature = "parallel")]
        if parts > 1 {
            rayon::scope(|s| {
                for (i, (c, scratch)) in shares {
                    let part = &part;
                    s.spawn(move |_| part(i * rows, c, scratch));
                }
            });
            continue;
        }
        shares.for_each(|(i, (c, scratch))| part(i * rows, c, scratch));
    }
    // Rows may have been left out.
    if run.interrupt.asked() { Err(Halt::Interrupted) } else { Ok(()) }
}
