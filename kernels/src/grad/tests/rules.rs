use std::sync::Arc;

use super::numbers;
use crate::backend::cpu::simd::isa::Isa;
use crate::grad::check::{Point, check, gradient, value};
use crate::grad::{grad, value_and_grad};
use crate::program::NativeCall;
use crate::tensor::{DType, Graph, Op, Tensor, call, push};
use crate::{Error, Result};

fn vector(x: &[f64]) -> (Vec<usize>, Vec<f64>) {
    (vec![x.len()], x.to_vec())
}

fn close(got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    for (g, w) in got.iter().zip(want) {
        assert!((g - w).abs() <= 1e-12 * w.abs().max(1.0), "{got:?} is not {want:?}");
    }
}

fn both_orders(f: impl Fn(&[Tensor]) -> Tensor, point: &Point) {
    for order in [1, 2, 3] {
        check(&f, point, order, 1e-9, 1e-9).unwrap();
    }
}

fn error(f: impl FnOnce()) -> Error {
    let result: Result<((), Graph)> = Graph::trace(f);
    result.unwrap_err()
}

fn input(i: u32, shape: &[usize]) -> Tensor {
    push(Op::Input(i), &[], shape.to_vec(), DType::F32, std::panic::Location::caller())
}

#[test]
fn the_gradient_of_a_sum_of_squares_is_twice_the_vector() {
    let g = gradient(|x| x[0].square().sum_all(), &[vector(&[1.0, -2.0, 0.5])]).unwrap();
    close(&g[0], &[2.0, -4.0, 1.0]);
}

#[test]
fn elementary_functions_have_their_textbook_derivatives() {
    let x = 0.7f64;
    let g = |f: &dyn Fn(Tensor) -> Tensor| gradient(|t| f(t[0]).sum_all(), &[vector(&[x])]).unwrap()[0][0];
    close(&[g(&|t| -t), g(&|t| t.recip()), g(&|t| t.exp())], &[-1.0, -1.0 / (x * x), x.exp()]);
    close(&[g(&|t| t.log()), g(&|t| t.sqrt())], &[1.0 / x, 0.5 / x.sqrt()]);
    close(&[g(&|t| t.sin()), g(&|t| t.cos()), g(&|t| t.tanh())], &[x.cos(), -x.sin(), 1.0 - x.tanh().powi(2)]);
    close(&[g(&|t| t.floor()), g(&|t| t.stop_gradient()), g(&|t| t.to_u32().to_f32())], &[0.0; 3]);
    close(&[g(&|t| t.bitcast_u32().bitcast_f32())], &[0.0]);
    // x · stop(x): only the first factor moves.
    close(&[g(&|t| t * t.stop_gradient())], &[x]);
}

#[test]
fn softplus_and_sigmoid_are_their_formulas_and_do_not_overflow() {
    let x = [-800.0, -3.0, -0.5, 0.0, 0.5, 3.0, 800.0];
    let sigmoid = x.map(|x: f64| 1.0 / (1.0 + (-x).exp()));
    let slope = sigmoid.map(|s| s * (1.0 - s));
    let softplus = x.map(|x: f64| if x > 700.0 { x } else { x.exp().ln_1p() });
    let of = |f: fn(Tensor) -> Tensor| gradient(|t| f(t[0]).sum_all(), &[vector(&x)]).unwrap().remove(0);
    let is = |f: fn(Tensor) -> Tensor| value(|t| vec![f(t[0])], &[vector(&x)]).unwrap().remove(0);
    close(&is(Tensor::sigmoid), &sigmoid);
    close(&is(Tensor::softplus), &softplus);
    close(&of(Tensor::sigmoid), &slope);
    close(&of(Tensor::softplus), &sigmoid);
}

#[test]
fn of_equal_operands_max_and_min_pass_to_the_first() {
    let point = [vector(&[1.0, 2.0, 3.0]), vector(&[2.0, 2.0, 2.0])];
    let g = gradient(|x| x[0].max(x[1]).sum_all(), &point).unwrap();
    assert_eq!(g, [[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]]);
    let g = gradient(|x| x[0].min(x[1]).sum_all(), &point).unwrap();
    assert_eq!(g, [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
}

#[test]
fn equal_largest_elements_share_the_gradient() {
    let g = gradient(|x| 3.0 * x[0].max_over(&[0]), &[vector(&[1.0, 4.0, 4.0, 0.0, 4.0])]).unwrap();
    close(&g[0], &[0.0, 1.0, 1.0, 0.0, 1.0]);
}

#[test]
fn a_clamped_value_has_no_gradient_outside() {
    let g = gradient(|x| x[0].clamp(-1.0, 1.0).sum_all(), &[vector(&[-2.0, -1.0, 0.0, 1.0, 2.0])]).unwrap();
    assert_eq!(g[0], [0.0, 1.0, 1.0, 1.0, 0.0]);
}

#[test]
fn a_broadcast_sums_and_a_sum_broadcasts() {
    // f = Σᵢⱼ aᵢ bⱼ: ∂f/∂aᵢ = Σ b, ∂f/∂bⱼ = Σ a.
    let f = |x: &[Tensor]| (x[0].unsqueeze(1) * x[1]).sum_all();
    let g = gradient(f, &[vector(&[1.0, 2.0]), vector(&[3.0, 4.0, 5.0])]).unwrap();
    assert_eq!(g, [vec![12.0, 12.0], vec![3.0, 3.0, 3.0]]);
}

#[test]
fn elementwise_rules_hold_at_all_orders() {
    let p = |n| vec![1.5 + 0.5 * numbers(n, 1)[0], 1.2, 0.8, 1.9];
    let unary: [fn(Tensor) -> Tensor; 8] =
        [|t| -t, Tensor::recip, Tensor::exp, Tensor::log, Tensor::sqrt, Tensor::sin, Tensor::cos, Tensor::tanh];
    for f in unary {
        both_orders(|x| f(x[0] * x[0]) * 1.3, &[vector(&p(4))]);
    }
    let pair = [vector(&[0.5, -1.0, 2.0]), vector(&[1.5, 0.3, -0.7])];
    let binary: [fn(Tensor, Tensor) -> Tensor; 5] =
        [|a, b| a + b, |a, b| a * b, |a, b| a / b, Tensor::max, Tensor::min];
    for f in binary {
        both_orders(|x| f(x[0], x[1]).square() * x[0], &pair);
    }
    both_orders(|x| x[0].lt(x[1]).select(x[0].square(), x[1].exp()) * x[1], &pair);
}

#[test]
fn moving_elements_moves_their_cotangents() {
    let p = [(vec![2, 3, 4], numbers(24, 0))];
    let each: [fn(Tensor) -> Tensor; 10] = [
        |t| t.reshape(&[4, 6]).square(),
        |t| t.permute(&[2, 0, 1]).exp(),
        |t| t.slice(1, 1, 3).square().slice(2, 0, 2).exp(),
        |t| t.pad(1, 2, 1).square(),
        |t| Tensor::concat(&[t, t.square(), t.slice(1, 0, 1)], 1).exp(),
        |t| t.index(2, 3).unsqueeze(0).broadcast_to(&[5, 2, 3]).square(),
        |t| t.square().sum_keep(2) * t,
        |t| t.square().sum(&[0, 2]).exp(),
        |t| t.max_keep(2).square() * t,
        |t| t.log_softmax(2) * t,
    ];
    for f in each {
        both_orders(|x| f(x[0]), &p);
    }
}

#[test]
fn matrix_products_of_all_four_orientations() {
    for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
        let a = if ta { vec![3, 2] } else { vec![2, 3] };
        let b = if tb { vec![2, 4, 3] } else { vec![2, 3, 4] };
        // The first operand is shared between the batches of the second: its rule sums over them.
        let p = [(a, numbers(6, 0)), (b, numbers(24, 1))];
        both_orders(|x| x[0].matmul_with(x[1], ta, tb).tanh(), &p);
    }
    // d/dA Σ (A B) = 1 Bᵀ.
    let p = [(vec![1, 2], vec![1.0, 2.0]), (vec![2, 2], vec![1.0, 2.0, 3.0, 4.0])];
    let g = gradient(|x| x[0].matmul(x[1]).sum_all(), &p).unwrap();
    assert_eq!(g, [vec![3.0, 7.0], vec![1.0, 1.0, 2.0, 2.0]]);
}

#[test]
fn stored_rows_take_the_cotangents_of_the_rows_they_replace() {
    // Row 7 does not exist: it is dropped, so it has no gradient.
    let index = || Tensor::literal_u32(&[2, 7, 0]);
    let p = [(vec![4, 2], numbers(8, 0)), (vec![3, 2], numbers(6, 1))];
    let weights = || Tensor::literal_f32(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]).reshape(&[4, 2]);
    let g = gradient(|x| (x[0].store(index(), x[1]) * weights()).sum_all(), &p).unwrap();
    assert_eq!(g[0], [0.0, 0.0, 3.0, 4.0, 0.0, 0.0, 7.0, 8.0]);
    assert_eq!(g[1], [5.0, 6.0, 0.0, 0.0, 1.0, 2.0]);
    both_orders(|x| x[0].square().store(index(), x[1].exp()).tanh() * x[0], &p);
    // Leading batch axes.
    let p = [(vec![2, 3, 2], numbers(12, 0)), (vec![2, 1, 2], numbers(4, 1))];
    let index = || Tensor::literal_u32(&[2, 0]).reshape(&[2, 1]);
    both_orders(|x| x[0].square().store(index(), x[1].exp()).tanh() * x[0], &p);
}

#[test]
fn a_gather_by_the_index_of_a_store_is_differentiable_exactly() {
    // Index 9 reads the last row, as any gather does.
    let p = [(vec![4, 2], numbers(8, 0))];
    let f = |x: &[Tensor]| {
        let index = Tensor::literal_u32(&[1, 9, 3]);
        let stored = x[0].store(index, Tensor::zeros(&[3, 2]));
        x[0].gather(index).exp().sum_all() + stored.exp().sum_all()
    };
    both_orders(f, &p);
}

#[test]
fn a_gather_elsewhere_is_an_error_that_names_the_one_hot_matrix() {
    let e = error(|| {
        let x = input(0, &[4, 2]);
        grad(x.gather(Tensor::literal_u32(&[1, 1])).sum_all(), &[x]);
    });
    assert!(matches!(&e, Error::Gradient(m) if m.contains("one_hot") && m.contains("rules.rs")), "{e}");
    // A source that is not differentiated is no obstacle.
    let p = [vector(&[2.0, 3.0])];
    let g = gradient(|x| (Tensor::literal_f32(&[5.0, 7.0]).gather(Tensor::literal_u32(&[1, 1])) * x[0]).sum_all(), &p);
    assert_eq!(g.unwrap()[0], [7.0, 7.0]);
    // Out of the index itself comes nothing.
    let g = gradient(|x| Tensor::literal_f32(&[5.0, 7.0]).gather(x[0].to_u32()).sum_all(), &p);
    assert_eq!(g.unwrap()[0], [0.0, 0.0]);
}

#[test]
fn one_does_not_depend_on_what_it_does_not_use() {
    let g = gradient(|x| x[0].sum_all(), &[vector(&[1.0]), (vec![2, 1], vec![1.0, 2.0])]).unwrap();
    assert_eq!(g, [vec![1.0], vec![0.0, 0.0]]);
}

#[test]
fn a_computed_tensor_can_be_differentiated_by() {
    // y = x², loss = y³ + x: d/dy = 3y² where x counts as fixed; d/dx = 6x⁵ + 1.
    let g = value(
        |x| {
            let y = x[0].square();
            grad((y * y * y + x[0]).sum_all(), &[y, x[0]])
        },
        &[vector(&[2.0])],
    );
    assert_eq!(g.unwrap(), [[48.0], [193.0]]);
}

#[test]
fn fresh_variables_differ_from_equal_expressions_outside() {
    // φ starts at θ repeated; the distance between them is zero, its second derivative is not.
    let hessian = value(
        |x| {
            let theta = x[0].unsqueeze(0).broadcast_to(&[2, 2]);
            let (_, g) = value_and_grad(&[theta], |phi| {
                let (_, g) = value_and_grad(phi, |p| (p[0] - x[0]).square().sum_all() + p[0].exp().sum_all());
                g[0].sum_all()
            });
            g
        },
        &[vector(&[0.0, 1.0])],
    );
    let e = 1f64.exp();
    close(&hessian.unwrap()[0], &[3.0, 2.0 + e, 3.0, 2.0 + e]);
    let (v, g) = {
        let r = value(
            |x| {
                let (v, g) = value_and_grad(&[x[0]], |p| (p[0] * x[0]).sum_all());
                vec![v, g[0]]
            },
            &[vector(&[2.0, 3.0])],
        );
        let mut r = r.unwrap().into_iter();
        (r.next().unwrap(), r.next().unwrap())
    };
    assert_eq!((v, g), (vec![13.0], vec![2.0, 3.0]));
    // The result is differentiable with respect to the point.
    both_orders(
        |x| value_and_grad(&[x[0].square()], |p| (p[0].exp() * x[1]).sum_all()).1[0],
        &[vector(&[0.5, 0.3]), vector(&[1.0, 2.0])],
    );
}

#[test]
fn what_cannot_be_differentiated_is_said() {
    let of = |f: fn(Tensor)| error(|| f(input(0, &[3])));
    assert!(matches!(of(|x| drop(grad(x, &[x]))), Error::Shape { op: "grad", .. }));
    assert!(matches!(of(|x| drop(grad(x.to_u32().max_over(&[0]), &[x]))), Error::DType { op: "grad", .. }));
    assert!(matches!(of(|x| drop(grad(x.sum_all(), &[x.to_u32()]))), Error::DType { op: "grad", .. }));
    assert!(matches!(of(|x| drop(grad(x.sum_all(), &[Tensor::zeros(&[3])]))), Error::Gradient(_)));
    // A view of a view is a view of the whole, so nothing is left of the first one.
    let hidden = |x: Tensor| {
        let w = x.reshape(&[3, 1]);
        grad(w.reshape(&[1, 3]).exp().sum_all(), &[w]);
    };
    assert!(matches!(of(hidden), Error::Gradient(m) if m.contains("view")));
    let hidden = |x: Tensor| {
        let w = x.slice(0, 0, 2);
        grad(w.slice(0, 1, 2).exp().sum_all(), &[w]);
    };
    assert!(matches!(of(hidden), Error::Gradient(m) if m.contains("view")));
    let inner = |x: Tensor| {
        let mut leak = x;
        crate::tensor::scan(2, false, &[x], &[], |_, c, _| {
            leak = c[0];
            crate::tensor::Loop { carry: vec![c[0] * 2.0], ys: vec![] }
        });
        grad(x.sum_all(), &[leak]);
    };
    assert!(matches!(of(inner), Error::Scope { op: "grad", .. }));
}

#[test]
fn slices_of_other_parts_do_not_disturb() {
    let g = value(
        |x| {
            let (a, b) = (x[0].slice(0, 0, 2), x[0].slice(0, 2, 3));
            grad((a.square().sum_all() + b.sum_all()) * x[0].index(0, 2), &[a])
        },
        &[vector(&[1.0, 2.0, 3.0])],
    );
    assert_eq!(g.unwrap()[0], [6.0, 12.0]);
}

/// Stands in where no native code is run.
#[derive(Debug)]
struct Absent;

impl NativeCall for Absent {
    fn run(&self, _: Isa, _: usize, _: &[&[f32]], _: &mut [&mut [f32]]) {}
}

#[test]
fn a_call_is_differentiated_through_its_body() {
    // The second operand depends on the first: each path counts once.
    let f = |x: &[Tensor]| {
        let b = x[0].sin();
        let r = call("test", &[x[0], b], Arc::new(Absent), |p| {
            vec![p[0].exp() * p[1], p[0].reshape(&[4]).square().reshape(&[2, 2]) + p[1]]
        });
        r[0] * r[1].tanh()
    };
    let inline = |x: &[Tensor]| {
        let b = x[0].sin();
        (x[0].exp() * b) * (x[0].square() + b).tanh()
    };
    let p = [(vec![2, 2], numbers(4, 3))];
    both_orders(f, &p);
    // Also as part of another body, where only one of its results is used.
    both_orders(|x| value_and_grad(x, |p| p[0].square().sum_all() * f(p).sum_all()).1[0], &p);
    let sum = |f: fn(&[Tensor]) -> Tensor| gradient(move |x| f(x).sum_all(), &p).unwrap();
    close(&sum(f)[0], &sum(inline)[0]);
}
