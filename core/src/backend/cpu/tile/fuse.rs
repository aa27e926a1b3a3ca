//! Instructions joined where one kernel does both: the same bits with fewer passes.

use rustc_hash::FxHashMap;

use super::super::simd::elementwise::{BinaryOp, UnaryOp};
use super::{Instr, Opnd, Reg, Table};

/// Join a product with the bias and the tanh that follow it, and the four operations of tanh's derivative.
pub fn fuse(mut code: Vec<Instr>) -> Vec<Instr> {
    let mut uses: FxHashMap<Reg, usize> = FxHashMap::default();
    code.iter().for_each(|i| i.registers(&mut |r, _| *uses.entry(r).or_default() += 1));
    inside(&mut code, &uses);
    tanh_grads(&mut code, &uses);
    slopes(&mut code, &uses);
    code
}

/// A product that is only made for the derivative of tanh.
fn slopes(code: &mut Vec<Instr>, uses: &FxHashMap<Reg, usize>) {
    let mut at = 0;
    while at < code.len() {
        let Instr::TanhGrad { dst, g, y } = code[at] else {
            at += 1;
            continue;
        };
        let made = |i: &Instr| matches!(i, Instr::Dense { dst, bias: None, tanh: false, slope: None, .. } if *dst == g);
        // Made and read once, in this order; its operands are registers that nobody writes again.
        if uses.get(&g) == Some(&2)
            && let Some(product) = code[..at].iter().position(made)
            && let Instr::Dense { a, w, strides, .. } = code.remove(product)
        {
            at -= 1;
            code[at] = Instr::Dense { dst, a, w, strides, bias: None, tanh: false, slope: Some(y) };
        }
        at += 1;
    }
}

/// g · (1 + −(y · y)): the last multiplication does all, where the other operations are only made for it.
fn tanh_grads(code: &mut Vec<Instr>, uses: &FxHashMap<Reg, usize>) {
    let whole = |o: &Opnd| match o {
        Opnd::Reg(r, Table::Dense { start: 0, len }) => Some((*r, *len)),
        _ => None,
    };
    let once = |r: &Reg| uses.get(r) == Some(&2);
    let mut squares: FxHashMap<Reg, (Reg, usize)> = FxHashMap::default();
    let mut negated: FxHashMap<Reg, (Reg, usize)> = FxHashMap::default();
    let mut factors: FxHashMap<Reg, (Reg, usize)> = FxHashMap::default();
    let one = Opnd::Const(1f32.to_bits());
    let mut dead: Vec<Reg> = Vec::new();
    for instr in code.iter_mut() {
        let replaced = match &*instr {
            Instr::Binary { op: BinaryOp::Mul, dst, a, b } => match (whole(a), whole(b)) {
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
            Instr::Unary { op: UnaryOp::Neg, dst, a } => {
                if let Some((r, _)) = whole(a)
                    && let Some(y) = squares.get(&r).filter(|_| once(&r))
                {
                    negated.insert(*dst, *y);
                }
                None
            }
            Instr::Binary { op: BinaryOp::Add, dst, a, b } => {
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
                *instr = Instr::TanhGrad { dst, g: g.0, y: y.0 };
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

fn inside(code: &mut Vec<Instr>, uses: &FxHashMap<Reg, usize>) {
    for instr in code.iter_mut() {
        if let Instr::Loop(l) = instr {
            inside(&mut l.code, uses);
        }
    }
    let mut i = 0;
    while i < code.len() {
        let Instr::Dense { dst, .. } = &code[i] else {
            i += 1;
            continue;
        };
        let whole = |o: &Opnd, reg: Reg| matches!(o, Opnd::Reg(r, Table::Dense { start: 0, .. }) if *r == reg);
        // Written once and read once: nobody else sees the intermediate value.
        let reg = *dst;
        if uses.get(&reg) == Some(&2)
            && let Some(j) = code.iter().skip(i + 1).position(
                |n| matches!(n, Instr::Binary { op: BinaryOp::Add, a, b: Opnd::Uniform(_), .. } if whole(a, reg)),
            )
        {
            let Instr::Binary { dst: sum, b: Opnd::Uniform(mem), .. } = code.remove(i + 1 + j) else {
                i += 1;
                continue;
            };
            if let Instr::Dense { dst, bias, .. } = &mut code[i] {
                *dst = sum;
                *bias = Some(mem);
            }
            continue;
        }
        let biased = matches!(&code[i], Instr::Dense { bias: Some(_), tanh: false, .. });
        if biased
            && uses.get(&reg) == Some(&2)
            && let Some(j) = code
                .iter()
                .skip(i + 1)
                .position(|n| matches!(n, Instr::Unary { op: UnaryOp::Tanh, a, .. } if whole(a, reg)))
        {
            let Instr::Unary { dst: out, .. } = code.remove(i + 1 + j) else {
                i += 1;
                continue;
            };
            if let Instr::Dense { dst, tanh, .. } = &mut code[i] {
                *dst = out;
                *tanh = true;
            }
        }
        i += 1;
    }
}
