//! How much arithmetic a program is.

use super::trace::Trace;
use crate::DType;
use crate::tensor::graph::ROOT;
use crate::tensor::{Op, Unary, op::Binary};

/// Floating-point operations of one run of a program.
///
/// Counted from the graph, so that they are the same on every device and however it is compiled: what is computed
/// again, such as a cheap value in two kernels, counts once. Loops count all steps, also those that a loop with `until`
/// leaves out. Derivatives are part of the graph as everything else is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flops {
    /// Operations of matrix products: 2·M·N·K each.
    pub products: u64,
    /// Operations of the rest: one for each element of an f32 sum, maximum, minimum, product or elementary function,
    /// and for each element that a reduction reads. Integers, comparisons, selections, moves and constants are free.
    pub others: u64,
    /// Operations of both kinds in a [`run_if`](crate::tensor::run_if), which a run may leave out.
    pub conditional: u64,
}

impl Flops {
    /// Operations of products and all others together.
    pub fn total(self) -> u64 {
        self.products + self.others
    }
}

impl Trace {
    /// Floating-point operations of one run. Walks the graph once.
    pub fn flops(&self) -> Flops {
        let graph = &self.graph;
        let reachable = graph.reachable(&self.outs(), ROOT);
        let mut constant = vec![false; graph.nodes.len()];
        for &id in &reachable {
            let node = &graph.nodes[id as usize];
            constant[id as usize] = match node.op {
                Op::Const(_) | Op::Literal(_) | Op::Iota { .. } => true,
                Op::Input(_) | Op::Param(_) | Op::Scalar(_) | Op::Scan(_) | Op::Call(_) | Op::Out(_) => false,
                _ => node.src.iter().all(|s| constant[*s as usize]),
            };
        }
        // How often the body of each scope runs. A body's nodes come before its loop, so that backwards the loop is
        // met first.
        let mut trips = std::collections::HashMap::from([(ROOT, 1)]);
        let mut conditional = std::collections::HashSet::new();
        let mut flops = Flops::default();
        for &id in reachable.iter().rev() {
            let node = &graph.nodes[id as usize];
            let times: u64 = trips.get(&node.scope).copied().unwrap_or(0);
            let (before, optional) = (flops.total(), conditional.contains(&node.scope));
            match &node.op {
                Op::Scan(scan) => {
                    *trips.entry(scan.body.scope).or_default() += times * scan.len as u64;
                    if optional || (scan.len == 1 && scan.until.is_some()) {
                        conditional.insert(scan.body.scope);
                    }
                }
                Op::Call(call) => {
                    *trips.entry(call.body.scope).or_default() += times;
                    if optional {
                        conditional.insert(call.body.scope);
                    }
                }
                _ if constant[id as usize] || node.dtype != DType::F32 => {}
                Op::MatMul { ta, .. } => {
                    let a = &graph.nodes[node.src[0] as usize].shape;
                    let summed = a[a.len() - if *ta { 2 } else { 1 }];
                    flops.products += times * 2 * (node.len() * summed) as u64;
                }
                Op::Sum { .. } | Op::ReduceMax { .. } => {
                    flops.others += times * graph.nodes[node.src[0] as usize].len() as u64;
                }
                Op::Unary(Unary::Cast(_) | Unary::Bitcast(_) | Unary::Stop) => {}
                Op::Unary(_) | Op::Binary(Binary::Add | Binary::Mul | Binary::Max | Binary::Min) => {
                    flops.others += times * node.len() as u64;
                }
                _ => {}
            }
            if optional {
                flops.conditional += flops.total() - before;
            }
        }
        flops
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grad::grad;
    use crate::program::{Context, Program};
    use crate::tensor::{Loop, Tensor, scan};

    fn flops(f: impl FnOnce(&mut Context)) -> Flops {
        Program::trace_of(f).unwrap().flops()
    }

    /// `tanh(x·w + b)` of 32 rows.
    fn layer(cx: &mut Context) -> impl Fn(Tensor) -> Tensor + use<> {
        let w = cx.input("w", &[64, 64], DType::F32);
        let b = cx.input("b", &[1, 64], DType::F32);
        move |x| (x.matmul(w) + b).tanh()
    }

    #[test]
    fn a_dense_layer_is_its_product_its_bias_and_its_tanh() {
        let counted = flops(|cx| {
            let x = cx.input("x", &[32, 64], DType::F32);
            let y = layer(cx)(x);
            cx.output("y", y);
        });
        assert_eq!(counted, Flops { products: 2 * 32 * 64 * 64, others: 2 * 32 * 64, conditional: 0 });
        assert_eq!(counted.total(), 266_240);
    }

    #[test]
    fn loops_count_every_step_and_what_does_not_change_in_them_once() {
        let counted = flops(|cx| {
            let x = cx.input("x", &[32, 64], DType::F32);
            let u = cx.input("u", &[64, 64], DType::F32);
            let layer = layer(cx);
            let (last, _) = scan(10, false, &[x], &[], |_, carry, _| {
                // The product is the same at each step and stays outside.
                Loop { carry: vec![layer(carry[0]) + x.matmul(u)], ys: Vec::new() }
            });
            cx.output("y", last[0]);
        });
        let product = 2 * 32 * 64 * 64;
        assert_eq!(counted, Flops { products: 11 * product, others: 10 * 3 * 32 * 64, conditional: 0 });
    }

    #[test]
    fn gradients_count_as_what_they_are() {
        let counted = flops(|cx| {
            let x = cx.input("x", &[32, 64], DType::F32);
            let w = cx.input("w", &[64, 8], DType::F32);
            // d/dw Σ (x·w)² = xᵀ·(2·x·w), the loss itself not wanted.
            let loss = x.matmul(w).square().sum_all();
            let g = grad(loss, &[w]);
            cx.output("g", g[0]);
        });
        assert_eq!(counted.products, 2 * (2 * 32 * 64 * 8));
        // y·ȳ + y·ȳ, with ȳ = 1: nothing is known about how the rule writes that but that it is of 32·8 elements.
        assert!((1..=4).any(|n| counted.others == n * 32 * 8), "{counted:?}");
    }

    #[test]
    fn integers_comparisons_moves_and_constants_are_free() {
        let counted = flops(|cx| {
            let x = cx.input("x", &[4, 6], DType::F32);
            let n = cx.input("n", &[4, 6], DType::U32);
            let half = (Tensor::constant_f32(0.25) + Tensor::constant_f32(0.25)).broadcast_to(&[4, 6]);
            let kept = x.lt(half).bit_and(n + n).select(x, half);
            cx.output("sum", kept.permute(&[1, 0]).slice(0, 1, 6).sum(&[0]));
        });
        assert_eq!(counted, Flops { products: 0, others: 5 * 4, conditional: 0 });
    }

    #[test]
    fn work_under_a_condition_is_counted_apart() {
        let counted = flops(|cx| {
            let x = cx.input("x", &[32, 64], DType::F32);
            let wanted = cx.input("wanted", &[], DType::U32);
            let layer = layer(cx);
            let before = layer(x);
            let after = crate::tensor::run_if(wanted, &[before], |x| vec![layer(x[0])]);
            cx.output("y", after[0]);
        });
        let one = 2 * 32 * 64 * 64 + 2 * 32 * 64;
        assert_eq!((counted.total(), counted.conditional), (2 * one, one));
    }
}
