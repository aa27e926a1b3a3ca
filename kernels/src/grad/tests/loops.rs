use super::numbers;
use crate::grad::check::{Point, check, gradient};
use crate::grad::options::{Invariants, SweepOptions};
use crate::grad::{grad, grad_with};
use crate::tensor::{DType, Graph, Loop, Op, Tensor, push, scan};

pub(super) fn report(name: &str, f: impl Fn(&[Tensor]) -> Tensor, point: &Point, orders: &[usize]) {
    for order in orders {
        let worst = check(&f, point, *order, 1e-8, 1e-8).unwrap();
        println!("{name}, order {order}: largest error {worst:.1e}");
    }
}

fn sigmoid(x: Tensor) -> Tensor {
    0.5 * (0.5 * x).tanh() + 0.5
}

/// Final state and outputs of a GRU; `h: [B, H]`, `xs: [T, B, I]`, weights `[I, 3H]`, `[H, 3H]`, bias `[3H]`.
fn gru(h: Tensor, xs: Tensor, w: Tensor, u: Tensor, b: Tensor, reverse: bool) -> (Tensor, Tensor) {
    let n = h.size(1);
    let (last, ys) = scan(xs.size(0), reverse, &[h], &[xs], |_, c, x| {
        let (from_x, from_h) = (x[0].matmul(w) + b, c[0].matmul(u));
        let gate = |i: usize| sigmoid(from_x.slice(1, i * n, i * n + n) + from_h.slice(1, i * n, i * n + n));
        let (z, r) = (gate(0), gate(1));
        let new = (from_x.slice(1, 2 * n, 3 * n) + r * from_h.slice(1, 2 * n, 3 * n)).tanh();
        let h = new + z * (c[0] - new);
        Loop { carry: vec![h], ys: vec![h] }
    });
    (last[0], ys[0])
}

fn gru_point(steps: usize, batch: usize) -> Vec<(Vec<usize>, Vec<f64>)> {
    let (i, h) = (2, 3);
    let shapes = [vec![batch, h], vec![steps, batch, i], vec![i, 3 * h], vec![h, 3 * h], vec![3 * h]];
    shapes.into_iter().enumerate().map(|(k, s)| (s.clone(), numbers(s.iter().product(), k))).collect()
}

#[test]
fn gru_over_50_steps_gradient_and_hessian_vector_product() {
    let f = |x: &[Tensor]| {
        let (last, ys) = gru(x[0], x[1], x[2], x[3], x[4], false);
        last.square().sum_all() + ys.exp().sum(&[0]).sum_all() * 0.1
    };
    report("GRU, 50 steps", f, &gru_point(50, 2), &[1, 2]);
}

#[test]
fn gru_third_order_and_reverse() {
    for reverse in [false, true] {
        let f = move |x: &[Tensor]| {
            let (last, ys) = gru(x[0], x[1], x[2], x[3], x[4], reverse);
            last.square().sum_all() + ys.exp().sum_all() * 0.1
        };
        report("GRU, 4 steps", f, &gru_point(4, 2), &[1, 2, 3]);
    }
}

#[test]
fn a_linear_recurrence_has_the_gradient_that_one_writes_down() {
    // s ← γ s + xₜ over three steps from s₀: ∂s₃/∂s₀ = γ³, ∂s₃/∂xₜ = γ^(2−t), ∂s₃/∂γ = 3γ²s₀ + 2γx₀ + x₁.
    let f = |x: &[Tensor]| {
        let (c, _) = scan(3, false, &[x[0]], &[x[1]], |_, c, r| Loop { carry: vec![c[0] * x[2] + r[0]], ys: vec![] });
        c[0]
    };
    let p = [(vec![], vec![2.0]), (vec![3], vec![1.0, 5.0, 7.0]), (vec![], vec![0.5])];
    let g = gradient(f, &p).unwrap();
    assert_eq!(g, [vec![0.125], vec![0.25, 0.5, 1.0], vec![3.0 * 0.25 * 2.0 + 1.0 + 5.0]]);
    report("linear recurrence", f, &p, &[1, 2, 3]);
}

#[test]
fn generalised_advantages_by_a_reverse_loop() {
    let f = |x: &[Tensor]| {
        let (_, ys) = scan(5, true, &[Tensor::zeros(&[2])], &[x[0], x[1]], |_, c, r| {
            let a = r[0] + c[0] * 0.9 * r[1];
            Loop { carry: vec![a], ys: vec![a] }
        });
        ys[0].square()
    };
    let p = [(vec![5, 2], numbers(10, 0)), (vec![5, 2], numbers(10, 1))];
    report("reverse", f, &p, &[1, 2, 3]);
}

#[test]
fn integer_carries_are_replayed() {
    // A counter and a generator state choose what is added; the index counts too.
    let f = |x: &[Tensor]| {
        let key = Tensor::constant_u32(7);
        let init = [x[0], Tensor::constant_u32(3)];
        let table = Tensor::literal_u32(&[1, 0, 1, 1, 0]);
        let (c, ys) = scan(5, false, &init, &[table, x[1]], |t, c, r| {
            let bits = Tensor::threefry([key, c[1]], [t, c[1]], 0);
            let coin = bits.shr(Tensor::constant_u32(31));
            let next = coin.select(c[0] * r[1], r[0].select(c[0].sin(), c[0] + r[1] * t.to_f32()));
            Loop { carry: vec![next, c[1] + Tensor::constant_u32(5)], ys: vec![c[1], next.square()] }
        });
        c[0] + ys[1].sum(&[0]) + ys[0].to_f32().sum(&[0])
    };
    report("integer carry", f, &[(vec![], vec![0.6]), (vec![5], numbers(5, 2))], &[1, 2, 3]);
}

#[test]
fn a_loop_in_a_loop() {
    // The inner loop reads the outer carry, an outer row, and a weight from outside of both.
    let f = |x: &[Tensor]| {
        let (w, v) = (x[2], x[3]);
        let (c, ys) = scan(3, false, &[x[0]], &[x[1]], |_, c, r| {
            let (inner, ys) = scan(2, true, &[c[0]], &[r[0]], |_, d, s| {
                let next = (d[0].matmul(w) + c[0] * s[0]).tanh() + v;
                Loop { carry: vec![next], ys: vec![next * d[0]] }
            });
            Loop { carry: vec![inner[0] * 0.5 + ys[0].sum(&[0])], ys: vec![inner[0].sum(&[1])] }
        });
        c[0].square().sum_all() + ys[0].exp().sum_all()
    };
    let shapes = [vec![2, 2], vec![3, 2, 2, 2], vec![2, 2], vec![2]];
    let p: Vec<_> = shapes.into_iter().enumerate().map(|(k, s)| (s.clone(), numbers(s.iter().product(), k))).collect();
    report("nested", f, &p, &[1, 2, 3]);
}

#[test]
fn an_inner_gradient_in_each_step() {
    // Gradient descent as a loop: each step differentiates a loss of its own; the outer gradient goes through all.
    let f = |x: &[Tensor]| {
        let (c, ys) = scan(3, false, &[x[0]], &[x[1]], |_, c, r| {
            let loss = ((c[0] * r[0]).sin() * x[2]).sum_all();
            let step = grad(loss, &[c[0]])[0];
            Loop { carry: vec![c[0] - step * x[2]], ys: vec![loss] }
        });
        c[0].square().sum_all() + ys[0].sum_all()
    };
    report("descent", f, &[(vec![2], numbers(2, 0)), (vec![3, 2], numbers(6, 1)), (vec![], vec![0.3])], &[1, 2, 3]);
}

#[test]
fn a_loop_inside_a_step_that_does_not_depend_on_it() {
    // The inner loop is the same in all outer steps, so it lies outside; its gradient is asked for inside.
    let f = |x: &[Tensor]| {
        let (c, _) = scan(2, false, &[x[0]], &[], |_, c, _| {
            let (fixed, _) =
                scan(3, false, &[x[1]], &[], |_, d, _| Loop { carry: vec![d[0].sin() * x[1]], ys: vec![] });
            let g = grad((fixed[0] * c[0]).sum_all(), &[x[1], c[0]]);
            Loop { carry: vec![c[0] + g[0] * g[1]], ys: vec![] }
        });
        c[0].square().sum_all()
    };
    report("invariant loop", f, &[(vec![2], numbers(2, 0)), (vec![2], numbers(2, 1))], &[1, 2]);
}

#[test]
fn constant_and_invariant_results_of_a_body() {
    let f = |x: &[Tensor]| {
        let (c, ys) = scan(4, false, &[x[0], x[0] * 2.0], &[x[1]], |_, c, r| Loop {
            carry: vec![x[0].exp(), c[1]],
            ys: vec![x[0] * 3.0, Tensor::ones(&[2]), r[0], c[0] * c[1]],
        });
        (c[0] * c[1] + ys[0].square().sum(&[0]) + ys[1].sum(&[0]) + ys[2].exp().sum(&[0]) + ys[3].sum(&[0])).sum_all()
    };
    report("invariant results", f, &[(vec![2], numbers(2, 0)), (vec![4, 2], numbers(8, 1))], &[1, 2, 3]);
}

/// Gradients, and the Hessian times the weights' gradient, with invariants leaving the loop in one way.
fn derivatives(how: Invariants, point: &Point, f: impl Fn(&[Tensor]) -> Tensor) -> (Vec<Vec<f64>>, usize) {
    let settings = SweepOptions { invariants: how, at: std::panic::Location::caller() };
    let (outs, graph) = Graph::trace(|| {
        let at = std::panic::Location::caller();
        let x: Vec<Tensor> = (point.iter().enumerate())
            .map(|(i, (s, _))| push(Op::Input(i as u32), &[], s.clone(), DType::F32, at))
            .collect();
        let g = grad_with(&settings, f(&x), &x);
        let dot = g.iter().map(|g| g.square().sum_all()).reduce(|a, b| a + b).unwrap();
        let h = grad_with(&settings, dot, &x);
        [g, h].concat().iter().map(|t| t.raw()).collect::<Vec<_>>()
    })
    .unwrap();
    let inputs: Vec<_> = point.iter().map(|(s, v)| crate::backend::reference::Value::f64(s, v.clone())).collect();
    let values = crate::backend::reference::evaluate(&graph, &outs, &inputs, &[]).unwrap();
    // Matrix products outside of all loops.
    let products = graph.reachable(&outs, crate::tensor::graph::ROOT);
    let outside = products
        .iter()
        .filter(|id| {
            let n = &graph.nodes[**id as usize];
            n.scope == crate::tensor::graph::ROOT && matches!(n.op, Op::MatMul { .. })
        })
        .count();
    (values.iter().map(|v| v.to_f64()).collect(), outside)
}

fn agree(point: &Point, f: impl Fn(&[Tensor]) -> Tensor) {
    let (products, outside) = derivatives(Invariants::Products, point, &f);
    let (sums, none) = derivatives(Invariants::Sums, point, &f);
    assert!(outside > 0 && none == 0, "{outside} products outside, {none} in the plain form");
    for (a, b) in products.iter().flatten().zip(sums.iter().flatten()) {
        assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{a} is not {b}");
    }
}

#[test]
fn one_product_over_steps_and_rows_equals_the_sum_of_products() {
    agree(&gru_point(6, 2), |x| {
        let (last, ys) = gru(x[0], x[1], x[2], x[3], x[4], false);
        last.square().sum_all() + ys.exp().sum_all()
    });
    // Leading task axes, both orientations, and a weight that is used twice.
    let point = [(vec![2, 3, 4], numbers(24, 0)), (vec![2, 4, 4], numbers(32, 1))];
    agree(&point, |x| {
        let (c, _) = scan(3, false, &[x[0]], &[], |_, c, _| {
            let once = c[0].matmul_with(x[1], false, true).tanh();
            Loop { carry: vec![x[1].matmul_with(once, true, true).transpose().sin()], ys: vec![] }
        });
        c[0].square().sum_all()
    });
}

#[test]
fn only_what_the_derivative_reads_is_saved() {
    // s ← s + xₜ is linear: its derivative reads no carry, no row, and needs no forward loop.
    let (out, graph) = Graph::trace(|| {
        let x = push(Op::Input(0), &[], vec![8, 2], DType::F32, std::panic::Location::caller());
        let (c, _) =
            scan(8, false, &[Tensor::zeros(&[2])], &[x], |_, c, r| Loop { carry: vec![c[0] + r[0]], ys: vec![] });
        grad(c[0].sum_all(), &[x])[0].raw()
    })
    .unwrap();
    let scans: Vec<usize> = graph
        .reachable(&[out], crate::tensor::graph::ROOT)
        .into_iter()
        .filter_map(|id| match &graph.nodes[id as usize].op {
            Op::Scan(s) => Some(s.xs),
            _ => None,
        })
        .collect();
    assert_eq!(scans, [0]);
}

#[test]
fn all_orders_share_one_forward_loop() {
    let (outs, mut graph) = Graph::trace(|| {
        let x = push(Op::Input(0), &[], vec![2], DType::F32, std::panic::Location::caller());
        let (c, ys) = scan(4, false, &[x, Tensor::zeros(&[2])], &[], |_, c, _| Loop {
            carry: vec![c[0].sin() * x, c[1] + c[0]],
            ys: vec![c[0], c[0].exp()],
        });
        let g = grad((c[0] + ys[0].sum(&[0]) + c[1]).sum_all(), &[x])[0];
        let h = grad(g.square().sum_all(), &[x])[0];
        [c[0].raw(), g.raw(), h.raw()]
    })
    .unwrap();
    let scans = |graph: &Graph| -> Vec<(usize, usize)> {
        (graph.reachable(&outs, crate::tensor::graph::ROOT).into_iter())
            .filter_map(|id| match &graph.nodes[id as usize].op {
                Op::Scan(s) => Some((s.carries, s.body.outs.len() - s.carries)),
                _ => None,
            })
            .collect()
    };
    let inputs = [crate::backend::reference::Value::f64(&[2], vec![0.7, -0.4])];
    let before = crate::backend::reference::evaluate(&graph, &outs, &inputs, &[]).unwrap();
    // The loop, its derivative, each with a twin that stacks the carries; and the derivatives of these two.
    assert_eq!(scans(&graph).len(), 6);
    crate::grad::tidy_loops(&mut graph, &outs);
    let after = crate::backend::reference::evaluate(&graph, &outs, &inputs, &[]).unwrap();
    assert_eq!(before, after);
    // Forward, of two outputs and two stacked carries only the first carry: nobody reads the others.
    let merged = scans(&graph);
    assert_eq!(merged.len(), 4);
    assert_eq!(merged[0], (2, 1));
}

#[test]
fn parameters_that_are_slices_get_one_concatenation() {
    let (out, graph) = Graph::trace(|| {
        let x = push(Op::Input(0), &[], vec![1, 9], DType::F32, std::panic::Location::caller());
        let part = |lo, hi| x.slice(1, lo, hi);
        let f = part(4, 6).exp().sum_all() + part(0, 2).sin().sum_all() + part(6, 8).square().sum_all();
        grad(f, &[x])[0].raw()
    })
    .unwrap();
    assert!(matches!(graph.nodes[out as usize].op, Op::Concat { axis: 1 }));
    let f = |x: &[Tensor]| {
        let part = |lo, hi| x[0].slice(1, lo, hi);
        // Overlapping and repeated slices, another axis, and a use of the whole.
        let f = part(0, 2).exp() * part(1, 3) + part(4, 6) * part(4, 6) * x[0].slice(0, 0, 1).slice(1, 3, 5);
        f.sum_all() + (x[0].slice(0, 1, 2) * x[0]).sum_all()
    };
    report("slices", f, &[(vec![2, 6], numbers(12, 0))], &[1, 2, 3]);
}
