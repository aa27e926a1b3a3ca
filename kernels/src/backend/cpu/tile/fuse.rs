//! Instructions joined where one kernel does both, or while values are still in the caches: the same bits with fewer
//! passes.

use rustc_hash::FxHashMap;

use super::{Dense, Instr, Opnd, Own, Reg, Table};
use crate::tensor::{Binary, DType, Unary};

/// Outputs from which something is moved into a product: narrower ones are in the caches anyway.
const WIDE: usize = 16;

/// Join a product with its bias and the elementwise instructions that follow it, and the four operations of tanh's
/// derivative. `sizes` are the blocks of the registers; products are made `part` blocks at a time.
pub fn fuse(mut code: Vec<Instr>, sizes: &mut [usize], part: usize) -> Vec<Instr> {
    let uses = count(&code, sizes.len());
    biases(&mut code, sizes, &uses);
    tanh_grads(&mut code, &uses);
    let uses = count(&code, sizes.len());
    followers(&mut code, sizes, part, &uses);
    code
}

/// How often each register is named.
fn count(code: &[Instr], registers: usize) -> Vec<usize> {
    let mut uses = vec![0; registers];
    code.iter().for_each(|i| i.registers(&mut |r, _| uses[r] += 1));
    uses
}

/// A bias that is added to a product and nothing else.
fn biases(code: &mut Vec<Instr>, sizes: &[usize], uses: &[usize]) {
    let mut i = 0;
    while i < code.len() {
        if let Instr::Loop(l) = &mut code[i] {
            biases(&mut l.code, sizes, uses);
        }
        if let Instr::Own(Own::Dense(product)) = &code[i] {
            let (reg, n) = (product.dst, product.strides[3]);
            let whole = |o: &Opnd| *o == Opnd::Reg(reg, Table::Dense { start: 0, len: n });
            let added = |next: &Instr| match next {
                Instr::Binary { op: Binary::Add, dtype: DType::F32, dst, a, b: Opnd::Uniform(mem) } if whole(a) => {
                    Some((*dst, mem.clone()))
                }
                _ => None,
            };
            // Written once and read once: nobody else sees the intermediate value.
            if uses[reg] == 2
                && let Some((j, (sum, mem))) =
                    code.iter().enumerate().skip(i + 1).find_map(|(j, n)| Some((j, added(n)?)))
                && sizes[sum] == n
                && let Instr::Own(Own::Dense(product)) = &mut code[i]
                && product.bias.is_none()
            {
                (product.dst, product.bias) = (sum, Some(mem));
                code.remove(j);
                continue;
            }
        }
        i += 1;
    }
}

/// Move the elementwise instructions that follow a product into it, the last product first: what an earlier one could
/// do as well is done where it is needed, and not kept until then.
fn followers(code: &mut Vec<Instr>, sizes: &mut [usize], part: usize, uses: &[usize]) {
    let mut at = code.len();
    while at > 0 {
        at -= 1;
        let (root, n) = match &mut code[at] {
            Instr::Own(Own::Dense(product)) => (product.dst, product.strides[3]),
            Instr::Loop(l) => {
                followers(&mut l.code, sizes, part, uses);
                continue;
            }
            _ => continue,
        };
        let taken = if n < WIDE { Vec::new() } else { following(code, at, root, sizes, uses) };
        if taken.is_empty() {
            continue;
        }
        at -= taken.iter().filter(|i| **i < at).count();
        let after: Vec<Instr> = taken.into_iter().enumerate().map(|(gone, i)| code.remove(i - gone)).collect();
        let named = count(&after, sizes.len());
        let made = after.iter().filter_map(Instr::elementwise).map(|(_, dst, _)| dst).chain([root]);
        let inner: Vec<Reg> = made.filter(|r| named[*r] + usize::from(*r == root) == uses[*r]).collect();
        if let Instr::Own(Own::Dense(product)) = &mut code[at] {
            product.part = part.clamp(1, n);
            (product.after, product.inner) = (after, inner);
            in_place(product);
            product.inner.iter().for_each(|reg| sizes[*reg] = product.part);
        }
    }
}

/// Let what follows a product write over the values that it is the last to read.
#[inline(never)]
fn in_place(product: &mut Dense) {
    for i in (0..product.after.len()).rev() {
        let Some((_, to, src)) = product.after[i].elementwise() else { continue };
        let read = |instr: &Instr, reg| {
            let src = instr.elementwise().map_or(Vec::new(), |(_, _, src)| src);
            src.iter().any(|o| matches!(o, Opnd::Reg(r, _) if *r == reg))
        };
        let ends = |reg: Reg| {
            reg != to && product.inner.contains(&reg) && !product.after[i + 1..].iter().any(|n| read(n, reg))
        };
        let Some(from) = src.iter().find_map(|o| if let Opnd::Reg(r, _) = o { ends(*r).then_some(*r) } else { None })
        else {
            continue;
        };
        product.inner.retain(|reg| *reg != from);
        let rename = |reg: &mut Reg| *reg = if *reg == from { to } else { *reg };
        rename(&mut product.dst);
        for instr in &mut product.after[..=i] {
            if let Instr::Unary { dst, .. }
            | Instr::Binary { dst, .. }
            | Instr::Select { dst, .. }
            | Instr::Own(Own::TanhGrad { dst, .. }) = instr
            {
                rename(dst);
                instr.operands_mut(&mut |operand| {
                    if let Opnd::Reg(reg, _) = operand {
                        rename(reg);
                    }
                });
            }
        }
    }
}

/// Places of the instructions that the product at `at` takes, in order.
///
/// Those that work on its results block by block, until another instruction reads one: nothing is kept
/// longer than before. And what only these need: it may come before the product if it reads no more
/// than one register, which takes its place.
#[inline(never)]
fn following(code: &[Instr], at: usize, root: Reg, sizes: &[usize], uses: &[usize]) -> Vec<usize> {
    let whole = Table::Dense { start: 0, len: sizes[root] };
    // Where each register is made: before the product, among its values, beside these, or elsewhere.
    let mut made = vec![Made::Before; sizes.len()];
    code[at..].iter().for_each(|i| {
        i.registers(&mut |r, written| {
            if written {
                made[r] = Made::Elsewhere
            }
        })
    });
    made[root] = Made::Here;
    // The result of an instruction of as many blocks, all of whose operands are there.
    let result = |i: usize, made: &[Made]| {
        let (_, dst, src) = code[i].elementwise()?;
        let there = |o: &&Opnd| match o {
            Opnd::Reg(reg, table) => match made[*reg] {
                Made::Before => !matches!(table, Table::Any(_)),
                Made::Elsewhere => false,
                _ => *table == whole,
            },
            Opnd::Uniform(mem) => matches!(mem.table, Table::Repeat { .. }) || mem.table.len() == 1,
            Opnd::Const(_) => true,
        };
        (sizes[dst] == sizes[root] && src.iter().all(there)).then_some(dst)
    };
    let (mut taken, mut others) = (Vec::new(), Vec::new());
    for (i, instr) in code.iter().enumerate().skip(at + 1) {
        let mut reads = false;
        instr.registers(&mut |r, _| reads |= made[r] == Made::Here);
        match result(i, &made) {
            Some(dst) if reads => {
                made[dst] = Made::Here;
                taken.push(i);
            }
            Some(dst) => {
                made[dst] = Made::Beside;
                others.push(i);
            }
            None if reads => break,
            None => {}
        }
    }
    let reads = |i: usize| {
        let src = code[i].elementwise().map_or(Vec::new(), |(_, _, src)| src);
        let register = |o: &Opnd| if let Opnd::Reg(reg, table) = o { Some((*reg, *table == whole)) } else { None };
        src.into_iter().filter_map(register).collect::<Vec<_>>()
    };
    // How often what is taken reads whole registers.
    let mut needed = vec![0; sizes.len()];
    taken.iter().for_each(|i| reads(*i).iter().for_each(|(reg, whole)| needed[*reg] += usize::from(*whole)));
    for i in others.into_iter().rev().chain((0..at).rev()) {
        let Some(dst) = result(i, &made).filter(|dst| needed[*dst] > 0) else { continue };
        let read = reads(i);
        if i > at || needed[dst] + 1 == uses[dst] && read.iter().all(|(reg, _)| *reg == read[0].0) {
            read.iter().for_each(|(reg, whole)| needed[*reg] += usize::from(*whole));
            taken.push(i);
        }
    }
    taken.sort_unstable();
    taken
}

/// Where a register is made, as a product sees it.
#[derive(Clone, Copy, PartialEq)]
enum Made {
    /// Before the product.
    Before,
    /// Made by the product, or from its results.
    Here,
    /// After the product, without it.
    Beside,
    /// Elsewhere: it is not there in time, or not block by block.
    Elsewhere,
}

/// g · (1 + −(y · y)): the last multiplication does all, where the other operations are only made for it.
fn tanh_grads(code: &mut Vec<Instr>, uses: &[usize]) {
    let whole = |o: &Opnd| match o {
        Opnd::Reg(r, Table::Dense { start: 0, len }) => Some((*r, *len)),
        _ => None,
    };
    let once = |r: &Reg| uses[*r] == 2;
    let mut squares: FxHashMap<Reg, (Reg, usize)> = FxHashMap::default();
    let mut negated: FxHashMap<Reg, (Reg, usize)> = FxHashMap::default();
    let mut factors: FxHashMap<Reg, (Reg, usize)> = FxHashMap::default();
    let one = Opnd::Const(1f32.to_bits());
    let mut dead: Vec<Reg> = Vec::new();
    for instr in code.iter_mut() {
        let replaced = match &*instr {
            Instr::Binary { op: Binary::Mul, dtype: DType::F32, dst, a, b } => match (whole(a), whole(b)) {
                (Some(x), Some(y)) if x == y => {
                    squares.insert(*dst, x);
                    None
                }
                (Some(x), Some(y)) => {
                    let pair = [(x, y), (y, x)].into_iter().find(|(_, f)| factors.contains_key(&f.0) && once(&f.0));
                    pair.map(|(g, f)| (*dst, g, f.0))
                }
                _ => None,
            },
            Instr::Unary { op: Unary::Neg, dst, a, .. } => {
                if let Some((r, _)) = whole(a)
                    && let Some(y) = squares.get(&r).filter(|_| once(&r))
                {
                    negated.insert(*dst, *y);
                }
                None
            }
            Instr::Binary { op: Binary::Add, dtype: DType::F32, dst, a, b } => {
                let other = if *a == one {
                    Some(b)
                } else if *b == one {
                    Some(a)
                } else {
                    None
                };
                if let Some((r, _)) = other.and_then(whole)
                    && let Some(y) = negated.get(&r).filter(|_| once(&r))
                {
                    factors.insert(*dst, *y);
                }
                None
            }
            _ => None,
        };
        if let Some((dst, g, factor)) = replaced {
            let y = factors[&factor];
            if g.1 == y.1 {
                let whole = |(reg, len): (Reg, usize)| Opnd::Reg(reg, Table::Dense { start: 0, len });
                *instr = Instr::Own(Own::TanhGrad { dst, a: whole(g), b: whole(y) });
                dead.push(factor);
            }
        }
    }
    // The operations before it, back from the sum.
    while let Some(reg) = dead.pop() {
        if let Some(at) = code.iter().position(|i| match i {
            Instr::Binary { dst, .. } | Instr::Unary { dst, .. } => *dst == reg,
            _ => false,
        }) {
            let removed = code.remove(at);
            removed.operands(&mut |o| {
                if let Opnd::Reg(r, _) = o
                    && (negated.contains_key(r) || squares.contains_key(r))
                    && !dead.contains(r)
                    && once(r)
                {
                    dead.push(*r);
                }
            });
        }
    }
}

#[cfg(test)]
#[path = "fuse_tests.rs"]
mod tests;
