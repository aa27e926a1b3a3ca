//! Lets registers share scratch memory.

use rustc_hash::FxHashMap;

use super::{Instr, Opnd, Own, Reg, Table};
use crate::math::order::by_key;

impl Instr {
    /// Call `f` on every register that the instruction itself reads or writes (`true`), loops included.
    pub fn registers(&self, f: &mut dyn FnMut(Reg, bool)) {
        let opnd = |o: &Opnd, f: &mut dyn FnMut(Reg, bool)| {
            if let Opnd::Reg(r, _) = o {
                f(*r, false);
            }
        };
        match self {
            Instr::Load { dst, .. } => f(*dst, true),
            Instr::Store { src, .. } => opnd(src, f),
            Instr::Unary { dst, a, .. } => {
                opnd(a, f);
                f(*dst, true);
            }
            Instr::Binary { dst, a, b, .. } | Instr::Own(Own::TanhGrad { dst, a, b }) => {
                opnd(a, f);
                opnd(b, f);
                f(*dst, true);
            }
            Instr::Select { dst, c, a, b } => {
                [c, a, b].into_iter().for_each(|o| opnd(o, f));
                f(*dst, true);
            }
            Instr::Threefry { dst, src } => {
                src.iter().for_each(|o| opnd(o, f));
                dst.iter().for_each(|d| f(*d, true));
            }
            Instr::Permutation { dst, src, .. } => {
                src.iter().for_each(|o| opnd(o, f));
                f(*dst, true);
            }
            Instr::Assemble { dst, parts, .. } => {
                parts.iter().for_each(|(o, _)| opnd(o, f));
                f(*dst, true);
            }
            Instr::Sum { dst, src, .. } | Instr::Max { dst, src, .. } | Instr::Own(Own::Turn { dst, src }) => {
                f(*src, false);
                f(*dst, true);
            }
            Instr::Own(Own::Dense(d)) => {
                f(d.a.0, false);
                f(d.dst, true);
                d.after.iter().for_each(|i| i.registers(f));
            }
            Instr::RowProduct { dst, a, w, .. } => {
                f(a.0, false);
                f(*w, false);
                f(*dst, true);
            }
            Instr::Gather { dst, index, .. } => {
                opnd(index, f);
                f(*dst, true);
            }
            Instr::Call { src, dst, .. } => {
                src.iter().for_each(|s| f(*s, false));
                dst.iter().for_each(|d| f(*d, true));
            }
            Instr::RowSum { src, .. } => f(*src, false),
            Instr::Own(Own::Update(_)) => {}
            Instr::RowOuter { a, b, .. } => {
                f(a.0, false);
                f(b.0, false);
            }
            Instr::Loop(l) => {
                for (reg, init, next) in &l.carries {
                    opnd(init, f);
                    opnd(next, f);
                    f(*reg, true);
                }
                if let Some(i) = l.index {
                    f(i, true);
                }
                l.code.iter().for_each(|i| i.registers(f));
            }
        }
    }
}

impl Instr {
    /// Call `f` on every operand of the instruction itself, without what is inside of a loop.
    pub fn operands<'a>(&'a self, f: &mut dyn FnMut(&'a Opnd)) {
        match self {
            Instr::Store { src, .. } => f(src),
            Instr::Unary { a, .. } => f(a),
            Instr::Binary { a, b, .. } | Instr::Own(Own::TanhGrad { a, b, .. }) => [a, b].into_iter().for_each(f),
            Instr::Select { c, a, b, .. } => [c, a, b].into_iter().for_each(f),
            Instr::Threefry { src, .. } => src.iter().for_each(f),
            Instr::Permutation { src, .. } => src.iter().for_each(f),
            Instr::Assemble { parts, .. } => parts.iter().for_each(|p| f(&p.0)),
            Instr::Gather { index, .. } => f(index),
            Instr::Loop(l) => {
                for (_, init, next) in &l.carries {
                    f(init);
                    f(next);
                }
            }
            Instr::Own(Own::Dense(d)) => d.after.iter().for_each(|i| i.operands(f)),
            Instr::Own(Own::Update(update)) => update.shared.iter().chain([&update.go]).for_each(f),
            Instr::Load { .. } | Instr::Sum { .. } | Instr::Max { .. } | Instr::RowProduct { .. } => {}
            Instr::Call { .. } | Instr::RowSum { .. } | Instr::RowOuter { .. } => {}
            Instr::Own(Own::Turn { .. }) => {}
        }
    }

    /// Call `f` on every operand that [`Instr::operands`] names, to change it.
    pub fn operands_mut(&mut self, f: &mut dyn FnMut(&mut Opnd)) {
        match self {
            Instr::Store { src, .. } => f(src),
            Instr::Unary { a, .. } => f(a),
            Instr::Binary { a, b, .. } | Instr::Own(Own::TanhGrad { a, b, .. }) => [a, b].into_iter().for_each(f),
            Instr::Select { c, a, b, .. } => [c, a, b].into_iter().for_each(f),
            Instr::Threefry { src, .. } => src.iter_mut().for_each(f),
            Instr::Permutation { src, .. } => src.iter_mut().for_each(f),
            Instr::Assemble { parts, .. } => parts.iter_mut().for_each(|p| f(&mut p.0)),
            Instr::Gather { index, .. } => f(index),
            Instr::Loop(l) => {
                for (_, init, next) in &mut l.carries {
                    f(init);
                    f(next);
                }
            }
            Instr::Own(Own::Dense(d)) => d.after.iter_mut().for_each(|i| i.operands_mut(f)),
            Instr::Load { .. } | Instr::Sum { .. } | Instr::Max { .. } | Instr::RowProduct { .. } => {}
            Instr::Call { .. } | Instr::RowSum { .. } | Instr::RowOuter { .. } => {}
            Instr::Own(Own::Turn { .. }) => {}
            Instr::Own(Own::Update(update)) => {
                update.shared.iter_mut().for_each(&mut *f);
                f(&mut update.go);
            }
        }
    }
}

/// Positions of each register in scratch (first block, blocks), and the blocks of all.
///
/// Straight code frees a register after its last use, and an elementwise result takes the place of an operand that
/// nobody reads any more. What a loop touches from outside lives through all of it.
#[inline(never)]
pub fn assign(code: &[Instr], sizes: &[usize]) -> (Vec<(usize, usize)>, usize) {
    let mut spans: FxHashMap<Reg, (usize, usize)> = FxHashMap::default();
    let mut at = 0;
    spans_of(code, &mut at, &mut spans);
    let mut heirs: FxHashMap<Reg, Reg> = FxHashMap::default();
    heirs_of(code, &mut 0, &spans, sizes, &mut heirs);
    let order: Vec<(Reg, (usize, usize))> = spans.into_iter().collect();
    let order = by_key(order, &|(reg, span)| (span.0 as u64) << 32 | *reg as u64);
    let mut placed: Vec<(usize, usize)> = sizes.iter().map(|m| (0, *m)).collect();
    // Live registers by their first block: end of life, first block, blocks.
    let mut live: Vec<(usize, usize, usize)> = Vec::new();
    let mut total = 0;
    for (reg, (start, end)) in order {
        live.retain(|l| l.0 >= start);
        if let Some(old) = heirs.get(&reg) {
            placed[reg] = placed[*old];
            live.iter_mut().filter(|l| l.1 == placed[reg].0).for_each(|l| l.0 = end);
            continue;
        }
        let mut lo = 0;
        for l in &live {
            if l.1 >= lo + sizes[reg] {
                break;
            }
            lo = lo.max(l.1 + l.2);
        }
        placed[reg].0 = lo;
        total = total.max(lo + sizes[reg]);
        let at = live.partition_point(|l| l.1 < lo);
        live.insert(at, (end, lo, sizes[reg]));
    }
    (placed, total)
}

/// Results of elementwise instructions and the operands, block for block theirs, whose last use these are.
#[inline(never)]
fn heirs_of(
    code: &[Instr],
    at: &mut usize,
    spans: &FxHashMap<Reg, (usize, usize)>,
    sizes: &[usize],
    heirs: &mut FxHashMap<Reg, Reg>,
) {
    for instr in code {
        *at += 1;
        if let Instr::Loop(l) = instr {
            heirs_of(&l.code, at, spans, sizes, heirs);
            *at += 1;
        }
        let Some((_, dst, src)) = instr.elementwise() else { continue };
        let size = sizes[dst];
        // Where an operand is read in another order, blocks would be overwritten before their turn. Others are always
        // part of a chain.
        let plain = |o: &&Opnd| match o {
            Opnd::Reg(_, table) => *table == Table::Dense { start: 0, len: size },
            Opnd::Uniform(mem) => size == 1 || matches!(mem.table, Table::Repeat { .. }),
            Opnd::Const(_) => true,
        };
        let ends = |o: &&Opnd| match o {
            Opnd::Reg(reg, _) => (*reg != dst && sizes[*reg] == size && spans[reg].1 == *at).then_some(*reg),
            _ => None,
        };
        if spans[&dst].0 == *at
            && src.iter().all(plain)
            // Of a selection rather what is chosen from than the mask.
            && let Some(old) = src[1..].iter().chain(&src[..1]).find_map(ends)
        {
            heirs.insert(dst, old);
        }
    }
}

/// First and last instruction, in order of execution, at which each register is in use.
#[inline(never)]
fn spans_of(code: &[Instr], at: &mut usize, spans: &mut FxHashMap<Reg, (usize, usize)>) {
    for instr in code {
        *at += 1;
        if let Instr::Loop(l) = instr {
            let start = *at;
            let outside: Vec<Reg> = spans.keys().copied().collect();
            spans_of(&l.code, at, spans);
            *at += 1;
            let end = *at;
            let mut touched = Vec::new();
            l.code.iter().for_each(|i| i.registers(&mut |r, _| touched.push(r)));
            for (reg, init, next) in &l.carries {
                for o in [init, next] {
                    if let Opnd::Reg(r, _) = o {
                        let s = spans.entry(*r).or_insert((start, end));
                        s.1 = end;
                        touched.push(*r);
                    }
                }
                spans.insert(*reg, (start.min(spans.get(reg).map_or(start, |s| s.0)), end));
            }
            if let Some(i) = l.index {
                spans.insert(i, (start, end));
            }
            for r in touched {
                if outside.contains(&r)
                    && let Some(s) = spans.get_mut(&r)
                {
                    s.1 = end;
                }
            }
            continue;
        }
        let now = *at;
        instr.registers(&mut |r, _| {
            spans.entry(r).and_modify(|s| s.1 = now).or_insert((now, now));
        });
    }
}
