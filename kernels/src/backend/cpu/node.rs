//! One node at a time, for all its elements: the plain way, which every faster one must equal bit for bit.

use super::halt::{Ran, copy, room, zeros};
use super::memory::Memory;
use super::product::product;
use super::run::Run;
use super::simd::isa::Isa;
use super::simd::reduce::{Reduction, reduce, reduce_outer};
use super::steps::NodeStep;
use super::tile::Workspace;
use super::values::View;
use crate::program::layout::walk;
use crate::rng;
use crate::tensor::{Binary, Op};

/// The elements of a view, one after the other.
#[inline(never)]
pub fn gather_view(mem: &Memory<'_>, view: &View) -> Ran<Vec<u32>> {
    let data = mem.words(view.value);
    if view.is_contiguous() {
        return copy(&data[view.offset..view.offset + view.len()]);
    }
    let mut out = room(view.len())?;
    walk(&view.shape, &view.strides, view.offset, &mut |at| out.push(data[at]));
    Ok(out)
}

/// Compute one node.
#[inline(never)]
pub fn run(step: &NodeStep, mem: &mut Memory<'_>, run: &Run<'_>, space: &mut Workspace) -> Ran<()> {
    if let Op::MatMul { ta, tb } = step.op {
        return product(mem, step, [ta, tb], run, space);
    }
    if let Op::Sum { axis } = step.op {
        let out = sum(mem, &step.src[0], axis, run.isa)?;
        mem.words_mut(step.dst[0]).copy_from_slice(bytemuck::cast_slice(&out));
        return Ok(());
    }
    match step.op {
        Op::Gather => return gather(mem, step, run),
        Op::Store => return store(mem, step, run),
        _ => {}
    }
    if let Op::Concat { axis } = step.op {
        return concat(mem, step, axis, run);
    }
    run.moves(step.src.iter().map(View::len).sum::<usize>() + step.shape.iter().product::<usize>());
    let src: Vec<Vec<u32>> = step.src.iter().map(|v| gather_view(mem, v)).collect::<Ran<_>>()?;
    if let Op::Call(call) = &step.op {
        let rows = src[0].len() / step.src[0].shape.last().copied().unwrap_or(1);
        let outs = super::call::run(call.native.as_ref(), run.isa, rows, &src, &step.widths)?;
        for (dst, out) in step.dst.iter().zip(outs) {
            mem.words_mut(*dst).copy_from_slice(&out);
        }
        return Ok(());
    }
    let out = mem.words_mut(step.dst[0]);
    let shape0 = step.src.first().map_or(&step.shape, |v| &v.shape);
    match &step.op {
        Op::Unary(op) => out.iter_mut().zip(&src[0]).for_each(|(o, x)| *o = op.of_bits(step.dtype, *x)),
        Op::Binary(op) => {
            for (o, (x, y)) in out.iter_mut().zip(src[0].iter().zip(&src[1])) {
                *o = op.of_bits(step.dtype, *x, *y);
            }
        }
        Op::Select => {
            for (i, o) in out.iter_mut().enumerate() {
                *o = if src[0][i] != 0 { src[1][i] } else { src[2][i] };
            }
        }
        Op::Threefry { word } => {
            for (i, o) in out.iter_mut().enumerate() {
                *o = rng::threefry2x32([src[0][i], src[1][i]], [src[2][i], src[3][i]])[*word as usize];
            }
        }
        Op::Permutation { n } => {
            for (i, o) in out.iter_mut().enumerate() {
                *o = rng::permute(src[0][i], [src[1][i], src[2][i]], *n);
            }
        }
        Op::ReduceMax { axis } => {
            let (n, inner) = (shape0[*axis], shape0[*axis + 1..].iter().product::<usize>());
            for (i, o) in out.iter_mut().enumerate() {
                let base = (i / inner) * n * inner + i % inner;
                let at = |k: usize| src[0][base + k * inner];
                *o = (1..n).fold(at(0), |a, k| Binary::Max.of_bits(step.dtype, a, at(k)));
            }
        }
        Op::Pad { axis, lo, .. } => {
            out.fill(0);
            let inner: usize = step.shape[axis + 1..].iter().product();
            let (from, to) = (shape0[*axis] * inner, step.shape[*axis] * inner);
            for (row, part) in src[0].chunks_exact(from).enumerate() {
                out[row * to + lo * inner..][..from].copy_from_slice(part);
            }
        }
        // Leaves, views and loops are not computed here.
        Op::Input(_) | Op::Param(_) | Op::Const(_) | Op::Literal(_) | Op::Iota { .. } | Op::Scalar(_) => {}
        Op::Reshape | Op::Permute(_) | Op::Broadcast | Op::Slice { .. } | Op::Out(_) => {}
        Op::MatMul { .. } | Op::Sum { .. } | Op::Call(_) | Op::Scan(_) => {}
        Op::Concat { .. } | Op::Gather | Op::Store => {}
    }
    Ok(())
}

/// Operands one after the other; those that have been computed in their place are left there.
#[inline(never)]
fn concat(mem: &mut Memory<'_>, step: &NodeStep, axis: usize, run: &Run<'_>) -> Ran<()> {
    let inner: usize = step.shape[axis + 1..].iter().product();
    let to = step.shape[axis] * inner;
    let mut at = 0;
    for view in &step.src {
        let from = view.shape[axis] * inner;
        if view.value != step.dst[0] {
            run.moves(2 * view.len());
            let data = gather_view(mem, view)?;
            let out = mem.words_mut(step.dst[0]);
            for (row, data) in data.chunks_exact(from.max(1)).enumerate() {
                out[row * to + at..][..from].copy_from_slice(data);
            }
        }
        at += from;
    }
    Ok(())
}

/// Rows of a table, which is read where it is.
#[inline(never)]
fn gather(mem: &mut Memory<'_>, step: &NodeStep, run: &Run<'_>) -> Ran<()> {
    let (n, m, inner) = gather_sizes(&step.src[0].shape, &step.src[1].shape);
    let index = gather_view(mem, &step.src[1])?;
    let table = &step.src[0];
    let copied;
    let rows = match table.is_contiguous() {
        true => &mem.words(table.value)[table.offset..][..table.len()],
        false => {
            run.moves(table.len());
            copied = gather_view(mem, table)?;
            &copied[..]
        }
    };
    let mut out = room(index.len() * inner)?;
    for (i, index) in index.iter().enumerate() {
        let row = (i / m) * n + (*index as usize).min(n - 1);
        out.extend_from_slice(&rows[row * inner..][..inner]);
    }
    run.moves(index.len() + 2 * out.len());
    mem.words_mut(step.dst[0]).copy_from_slice(&out);
    Ok(())
}

/// Replaces rows, in the memory of the old ones where the lowering found that nobody needs those any more.
#[inline(never)]
fn store(mem: &mut Memory<'_>, step: &NodeStep, run: &Run<'_>) -> Ran<()> {
    let (n, m, inner) = gather_sizes(&step.src[0].shape, &step.src[1].shape);
    let (index, rows) = (gather_view(mem, &step.src[1])?, gather_view(mem, &step.src[2])?);
    run.moves(index.len() + 2 * rows.len());
    if step.src[0].value != step.dst[0] {
        let old = gather_view(mem, &step.src[0])?;
        run.moves(2 * old.len());
        mem.words_mut(step.dst[0]).copy_from_slice(&old);
    }
    let out = mem.words_mut(step.dst[0]);
    for (i, index) in index.iter().enumerate() {
        if (*index as usize) < n {
            let row = (i / m) * n + *index as usize;
            out[row * inner..][..inner].copy_from_slice(&rows[i * inner..][..inner]);
        }
    }
    Ok(())
}

/// Sums over an axis, in the order of [`simd::reduce`](super::simd::reduce).
#[inline(never)]
fn sum(mem: &Memory<'_>, src: &View, axis: usize, isa: Isa) -> Ran<Vec<f32>> {
    let (n, inner) = (src.shape[axis], src.shape[axis + 1..].iter().product::<usize>());
    let copy;
    let data = match src.is_contiguous() {
        true => &mem.words(src.value)[src.offset..src.offset + src.len()],
        false => {
            copy = gather_view(mem, src)?;
            &copy[..]
        }
    };
    let data: &[f32] = bytemuck::cast_slice(data);
    let rows = data.len() / (n * inner).max(1);
    let mut out = zeros(rows * inner)?;
    match inner {
        1 => out.iter_mut().zip(data.chunks(n)).for_each(|(o, row)| *o = reduce(isa, Reduction::Sum, row)),
        _ => out.chunks_mut(inner).zip(data.chunks(n * inner)).for_each(|(o, block)| {
            reduce_outer(isa, Reduction::Sum, o, block, n, inner);
        }),
    }
    Ok(out)
}

/// The sizes n, m and the number of elements of R, of `[L.., n, R..]` indexed by `[L.., m]`.
fn gather_sizes(src: &[usize], index: &[usize]) -> (usize, usize, usize) {
    let axis = index.len() - 1;
    (src[axis], index[axis], src[axis + 1..].iter().product())
}
