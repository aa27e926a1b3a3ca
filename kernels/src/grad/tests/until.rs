//! Derivatives of loops that end early, as a whole and row by row.

use super::loops::report;
use super::numbers;
use crate::grad::check::{gradient, value};
use crate::grad::grad;
use crate::tensor::{Loop, Tensor, run_if, scan_until};

#[test]
fn a_loop_that_ends_early_is_differentiated_up_to_its_end() {
    // Newton's square root of a, stopped at a residual of 1e-6 (after 5 of 12 steps): d√a/da = 1/(2√a). The division
    // by the residual would be by zero in the frozen steps if they were taken where the loop ended.
    let f = |x: &[Tensor]| {
        let (c, _) = scan_until(12, &[x[0] * 0.0 + 1.0 + 0.1 * x[0]], &[], |_, c, _| {
            let residual = c[0].square() - x[0];
            let step = residual.square() / residual;
            let next = c[0] - step / (2.0 * c[0]);
            (Loop { carry: vec![next], ys: vec![] }, residual.square().lt(Tensor::constant_f32(1e-12)))
        });
        c[0]
    };
    let a = 2.0f64;
    let g = gradient(f, &[(vec![], vec![a])]).unwrap()[0][0];
    assert!((g - 0.5 / a.sqrt()).abs() < 1e-9, "{g}");
    report("until", f, &[(vec![], vec![a])], &[1, 2]);
}

#[test]
fn frozen_steps_of_a_singular_body_give_no_nan() {
    // The first step jumps to the root exactly; every later evaluation divides zero by zero.
    let f = |x: &[Tensor]| {
        let (c, _) = scan_until(4, &[x[0] + 1.0], &[], |_, c, _| {
            let r = c[0] - x[0];
            let scaled = r * r / (r * r);
            let next = c[0] - r * scaled;
            (Loop { carry: vec![next], ys: vec![] }, next.eq(x[0]))
        });
        c[0].square()
    };
    for order in [1, 2] {
        let g = value(
            |x| {
                let mut h = f(x);
                for _ in 0..order {
                    h = grad(h, x)[0];
                }
                vec![h]
            },
            &[(vec![], vec![3.0])],
        );
        // c = x, so d(x²) = 2x and then 2.
        assert_eq!(g.unwrap()[0], [[6.0], [2.0]][order - 1], "order {order}");
    }
}

#[test]
fn outputs_of_an_early_ending_loop() {
    let f = |x: &[Tensor]| {
        let (c, ys) = scan_until(6, &[x[0]], &[x[1]], |t, c, r| {
            let next = c[0] * 0.8 + r[0].sin();
            (Loop { carry: vec![next], ys: vec![next.exp(), c[0]] }, t.eq(Tensor::constant_u32(2)))
        });
        c[0].square() + ys[0].sum(&[0]) + ys[1].square().sum(&[0])
    };
    report("until with outputs", f, &[(vec![2], numbers(2, 0)), (vec![6, 2], numbers(12, 1))], &[1, 2, 3]);
}

/// Three steps in the first row, two in the second and five in the third.
fn ends(t: Tensor) -> Tensor {
    t.eq(Tensor::literal_u32(&[2, 1, 4]))
}

#[test]
fn rows_that_end_by_themselves_are_differentiated_up_to_their_ends() {
    // c ← a·c: after k steps aᵏ·c, whose derivative by a is k·aᵏ⁻¹·c.
    let f = |x: &[Tensor]| {
        let step = |c: Tensor| Loop { carry: vec![c * x[1]], ys: vec![] };
        scan_until(6, &[x[0]], &[], |t, c, _| (step(c[0]), ends(t))).0[0]
    };
    let point = [(vec![3, 1], vec![2.0, 3.0, 5.0]), (vec![], vec![0.5])];
    let g = gradient(|x| f(x).sum_all(), &point).unwrap();
    assert_eq!(g[0], [0.125, 0.25, 0.03125]);
    assert_eq!(g[1], [3.0 * 0.25 * 2.0 + 2.0 * 0.5 * 3.0 + 5.0 * 0.0625 * 5.0]);
    report("until by rows", f, &point, &[1, 2, 3]);
    // Outputs of all steps, of rows that have ended those that they keep; and carries of several ranks.
    let f = |x: &[Tensor]| {
        let (c, ys) = scan_until(6, &[x[0], x[1]], &[x[2]], |t, c, r| {
            let next = (c[0] * 1.3 + c[1].unsqueeze(1) * r[0]).sin();
            let sum = c[1] * 0.5 + next.sum(&[1]);
            (Loop { carry: vec![next, sum], ys: vec![c[0] * r[0], next] }, ends(t))
        });
        Tensor::concat(&[c[0].flatten(), c[1], ys[0].flatten(), ys[1].flatten()], 0)
    };
    let point = [(vec![3, 2], numbers(6, 0)), (vec![3], numbers(3, 1)), (vec![6, 2], numbers(12, 2))];
    report("until by rows, with outputs", f, &point, &[1, 2, 3]);
}

#[test]
fn frozen_rows_of_a_singular_body_give_no_nan() {
    // Newton's square roots of a, each until its residual is below 1e-6.
    let roots = |x: &[Tensor]| {
        let first = x[0] * 0.1 + Tensor::literal_f32(&[1.2, 2.9, 1.0, 0.2]);
        let (c, _) = scan_until(12, &[first], &[], |_, c, _| {
            let residual = c[0].square() - x[0];
            let next = c[0] - residual.square() / residual / (2.0 * c[0]);
            (Loop { carry: vec![next], ys: vec![] }, residual.square().lt(Tensor::constant_f32(1e-12)))
        });
        c[0].sum_all()
    };
    let a = [2.0f64, 9.0, 1.3, 5.0];
    let g = gradient(roots, &[(vec![4], a.to_vec())]).unwrap();
    for (g, a) in g[0].iter().zip(a) {
        assert!((g - 0.5 / a.sqrt()).abs() < 1e-6, "{g} for {a}");
    }
    // The first row jumps to its root at once, and there the body divides zero by zero; the others go on.
    let f = |x: &[Tensor]| {
        let (c, _) = scan_until(5, &[x[0] + 1.0], &[], |t, c, _| {
            let r = c[0] - x[0];
            let next = c[0] - r * (r * r / (r * r)) * Tensor::literal_f32(&[1.0, 0.5]);
            let end = next.eq(x[0]).bit_or(t.eq(Tensor::constant_u32(2)));
            (Loop { carry: vec![next], ys: vec![] }, end)
        });
        c[0].square()
    };
    let point = [(vec![2], vec![3.0, 4.0])];
    // c = x in the first row and x + 1/8 in the second.
    assert_eq!(gradient(|x| f(x).sum_all(), &point).unwrap(), [[6.0, 8.25]]);
    let second = value(|x| vec![grad(grad(f(x).sum_all(), x)[0].sum_all(), x)[0]], &point).unwrap();
    assert_eq!(second, [[2.0, 2.0]]);
}

type See = fn(Tensor) -> Tensor;

#[test]
fn rows_that_see_those_that_have_ended_get_their_derivatives_from_where_these_are() {
    // How rows see each other, in ways that keep a value's shape or change it.
    let seen: [(&str, See); 5] = [
        ("sum", |c| c.sum_keep(0) * 0.2),
        ("transposed", |c| c.transpose() * 0.4),
        ("product from the left", |c| Tensor::literal_f32(&numbers(9, 3)).reshape(&[3, 3]).matmul(c) * 0.3),
        ("product with a product", |c| c.matmul(c) * 0.2),
        ("rows moved up", |c| c.slice(0, 1, 3).pad(0, 0, 1) * 0.5),
    ];
    for (name, see) in seen {
        let f = |x: &[Tensor]| {
            let step = |c: Tensor| Loop { carry: vec![(c.square() + see(c)).sin()], ys: vec![] };
            scan_until(6, &[x[0]], &[], |t, c, _| (step(c[0]), ends(t))).0[0]
        };
        report(name, f, &[(vec![3, 3], numbers(9, 0))], &[1, 2]);
    }
}

#[test]
fn a_body_that_is_left_out_passes_cotangents_through() {
    for now in [0, 1] {
        let f = |x: &[Tensor]| {
            let condition = x[0].lt(Tensor::constant_f32(1e9)).bit_and(Tensor::constant_u32(now));
            run_if(condition, &[x[0]], |c| vec![c[0].square() * c[0]])[0].sin()
        };
        let a = 0.75f64;
        let g = gradient(f, &[(vec![], vec![a])]).unwrap()[0][0];
        let want = if now == 1 { (a * a * a).cos() * 3.0 * a * a } else { a.cos() };
        assert!((g - want).abs() < 1e-9, "{now}: {g} for {want}");
        report("on a condition", f, &[(vec![], vec![a])], &[1, 2]);
    }
}
