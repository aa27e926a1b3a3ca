//! Instructions joined where one kernel does both: the same bits with fewer passes.

use std::collections::HashMap;

use super::super::simd::elementwise::{BinaryOp, UnaryOp};
use super::{Instr, Opnd, Reg, Table};

/// Join a product with the bias and the tanh that follow it.
pub fn fuse(mut code: Vec<Instr>) -> Vec<Instr> {
    let mut uses: HashMap<Reg, usize> = HashMap::new();
    code.iter().for_each(|i| i.registers(&mut |r, _| *uses.entry(r).or_default() += 1));
    inside(&mut code, &uses);
    code
}

fn inside(code: &mut Vec<Instr>, uses: &HashMap<Reg, usize>) {
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
