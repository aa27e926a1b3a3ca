//! Derivatives as programs: the CPU in f32 against the f64 reference, gradients and Hessian-vector products.

#![allow(clippy::unwrap_used, reason = "a failure here is a failed test")]

use quickstudy_core::grad::grad;
use quickstudy_core::tensor::{Loop, scan, scan_until};
use quickstudy_core::{DType, Device, Program, State, Tensor};

type Inputs = Vec<(Vec<usize>, Vec<f64>)>;

fn inputs(shapes: &[&[usize]]) -> Inputs {
    let number = |i: usize, k: usize| 0.7 * (1.3 * i as f64 + 2.1 * k as f64 + 0.7).sin();
    let of = |k: usize, s: &[usize]| (s.to_vec(), (0..s.iter().product()).map(|i| number(i, k)).collect());
    shapes.iter().enumerate().map(|(k, s)| of(k, s)).collect()
}

/// `f`'s value, gradients, and the Hessian times the gradients, on a device.
fn derivatives(device: &Device, at: &Inputs, f: &dyn Fn(&[Tensor]) -> Tensor) -> Vec<(String, Vec<f64>)> {
    let mut program = Program::new(device, |cx| {
        let x: Vec<Tensor> =
            at.iter().enumerate().map(|(i, (s, _))| cx.input(&format!("x{i}"), s, DType::F32)).collect();
        let loss = f(&x);
        let g = grad(loss, &x);
        let dots = g.iter().map(|g| (*g * g.stop_gradient()).sum_all()).reduce(|a, b| a + b);
        let h = grad(dots.unwrap(), &x);
        cx.output("loss", loss);
        for (i, (g, h)) in g.iter().zip(&h).enumerate() {
            cx.output(&format!("gradient by x{i}"), *g);
            cx.output(&format!("Hessian product by x{i}"), *h);
        }
    })
    .unwrap();
    let arrays: Vec<_> =
        at.iter().enumerate().map(|(i, (s, v))| (format!("x{i}"), device.array(s, v).unwrap())).collect();
    let named: Vec<_> = arrays.iter().map(|(n, a)| (n.as_str(), a)).collect();
    let outputs = program.run(&State::new(), &named, &[]).unwrap();
    let read = |a| pollster::block_on(device.read(a)).unwrap();
    outputs.iter().map(|(n, a)| (n.to_owned(), read(a))).collect()
}

fn compare(name: &str, at: &Inputs, f: impl Fn(&[Tensor]) -> Tensor) {
    let exact = derivatives(&Device::reference(), at, &f);
    let cpu = derivatives(&Device::cpu(1), at, &f);
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|v| v * v).sum::<f64>().sqrt();
    for ((what, a), (_, b)) in cpu.iter().zip(&exact) {
        let error = norm(&mut a.iter().zip(b).map(|(a, b)| a - b));
        let scale = norm(&mut b.iter().copied());
        let tolerance = if what.starts_with("Hessian") { 1e-4 } else { 1e-5 };
        println!("{name}, {what}: {:.1e} of the norm", error / scale);
        assert!(scale > 0.0 && error <= tolerance * scale, "{name}, {what}: {error} of {scale}");
    }
}

fn gru(x: &[Tensor]) -> Tensor {
    let n = x[0].size(1);
    let sigmoid = |x: Tensor| 0.5 * (0.5 * x).tanh() + 0.5;
    let (last, ys) = scan(x[1].size(0), false, &[x[0]], &[x[1]], |_, c, r| {
        let (a, b) = (r[0].matmul(x[2]) + x[4], c[0].matmul(x[3]));
        let part = |t: Tensor, i: usize| t.slice(1, i * n, (i + 1) * n);
        let (z, r) = (sigmoid(part(a, 0) + part(b, 0)), sigmoid(part(a, 1) + part(b, 1)));
        let new = (part(a, 2) + r * part(b, 2)).tanh();
        let h = new + z * (c[0] - new);
        Loop { carry: vec![h], ys: vec![h] }
    });
    last[0].square().sum_all() + ys[0].exp().mean(&[0, 1, 2])
}

#[test]
fn gru_over_50_steps() {
    compare("GRU", &inputs(&[&[5, 8], &[50, 5, 3], &[3, 24], &[8, 24], &[24]]), gru);
}

#[test]
fn clipped_policy_loss_of_stacked_seeds() {
    // θ [S, P], observations [S, B, 4], actions [S, B, 1], advantages [S, B].
    let at = inputs(&[&[3, 97], &[3, 32, 4], &[3, 32, 1], &[3, 32]]);
    compare("PPO", &at, |x| {
        let part = |lo: usize, rows: usize, n: usize| x[0].slice(1, lo, lo + rows * n).reshape(&[3, rows, n]);
        let hidden = (x[1].matmul(part(0, 4, 16)) + part(64, 1, 16)).tanh();
        let mean = hidden.matmul(part(80, 16, 1)) + x[0].index(1, 96).reshape(&[3, 1, 1]);
        let log_ratio = ((x[2] - mean).square() * -0.5).sum(&[2]);
        let ratio = (log_ratio + 0.3).exp();
        -(ratio * x[3]).min(ratio.clamp(0.8, 1.2) * x[3]).mean(&[1]).sum_all()
    });
}

#[test]
fn a_loop_in_a_loop() {
    compare("nested", &inputs(&[&[4, 3], &[3, 2, 4, 3], &[3, 3], &[3]]), |x| {
        let (c, ys) = scan(3, false, &[x[0]], &[x[1]], |_, c, r| {
            let (inner, ys) = scan(2, true, &[c[0]], &[r[0]], |_, d, s| {
                let next = (d[0].matmul(x[2]) + c[0] * s[0]).tanh() + x[3];
                Loop { carry: vec![next], ys: vec![next * d[0]] }
            });
            Loop { carry: vec![inner[0] * 0.5 + ys[0].sum(&[0])], ys: vec![inner[0].sum(&[1])] }
        });
        c[0].square().sum_all() + ys[0].exp().sum_all()
    });
}

#[test]
fn a_loop_that_ends_early() {
    compare("until", &inputs(&[&[3]]), |x| {
        let (c, _) = scan_until(12, &[x[0] + 1.5], &[], |_, c, _| {
            let r = c[0].square() - 2.0 - 0.1 * x[0];
            let next = c[0] - r / (2.0 * c[0]);
            (Loop { carry: vec![next], ys: vec![] }, r.square().sum_all().lt(Tensor::full(&[], 1e-6)))
        });
        (c[0] * c[0] * c[0]).sum_all()
    });
}

#[test]
fn a_loop_that_ends_row_by_row() {
    compare("until by rows", &inputs(&[&[2, 40, 3], &[2, 3, 3], &[2, 40]]), |x| {
        let (c, _) = scan_until(12, &[x[0], x[2]], &[], |t, c, _| {
            let next = (c[0].matmul(x[1]) + c[1].unsqueeze(2)).tanh();
            let end = t.eq(Tensor::iota(&[2, 40], 1).bit_and(Tensor::constant_u32(7)));
            (Loop { carry: vec![next, c[1] * 0.5 + next.sum(&[2])], ys: vec![] }, end)
        });
        c[0].exp().sum_all() + (c[1] * c[1]).sum_all()
    });
}

#[test]
fn an_inner_gradient_step_per_task() {
    // Two tasks start from one θ [1, P]; the loss of the adapted parameters [2, P].
    compare("MAML", &inputs(&[&[1, 18], &[2, 6, 3], &[2, 6, 1]]), |x| {
        let loss = |theta: Tensor| {
            let (w, v) = (theta.slice(1, 0, 15).reshape(&[2, 3, 5]), theta.slice(1, 13, 18).reshape(&[2, 5, 1]));
            (x[1].matmul(w).tanh().matmul(v) - x[2]).square().mean(&[1, 2]).sum_all()
        };
        let theta = x[0].broadcast_to(&[2, 18]);
        loss(theta - 0.2 * grad(loss(theta), &[theta])[0])
    });
}

#[test]
fn integer_carries() {
    compare("integers", &inputs(&[&[4], &[6, 4]]), |x| {
        let (c, ys) = scan(6, false, &[x[0], Tensor::constant_u32(3)], &[x[1]], |t, c, r| {
            let key = [Tensor::constant_u32(7), c[1]];
            let coin = Tensor::threefry(key, [t, c[1]], 0).shr(Tensor::constant_u32(31));
            let next = coin.select(c[0] * r[0], (c[0] + r[0] * t.to_f32()).sin());
            Loop { carry: vec![next, c[1] + Tensor::constant_u32(5)], ys: vec![next.square()] }
        });
        c[0].exp().sum_all() + ys[0].sum_all()
    });
}
