use super::*;
use crate::grad::check::{Point, check, value};
use crate::program::State;
use crate::{DType, Device, Program};

/// Uneven numbers in ±scale.
fn numbers(n: usize, seed: usize, scale: f64) -> Vec<f64> {
    (0..n).map(|i| scale * (1.3 * i as f64 + 2.1 * seed as f64 + 0.5).sin()).collect()
}

/// Kinds of units with what else a memory may have.
const KINDS: [(CellKind, Reset, bool); 5] = [
    (CellKind::Gru, Reset::After, false),
    (CellKind::Gru, Reset::Before, true),
    (CellKind::Lstm, Reset::After, false),
    (CellKind::Lstm, Reset::After, true),
    (CellKind::Rnn, Reset::After, true),
];

fn layer(inputs: usize, units: usize, (kind, reset, more): (CellKind, Reset, bool)) -> (Layout, MemoryCell) {
    let mut layout = Layout::new();
    let shape = CellShape { kind, units, reset, init: RecurrentInit::Glorot, learned_start: more, layer_norm: more };
    let cell = MemoryCell::new(&mut layout, "cell", inputs, shape);
    (layout, cell)
}

/// θ, inputs `[3, S, 2, 2]` and initial states of two stacked layers of 3 units.
fn point(layout: &Layout, width: usize) -> Vec<(Vec<usize>, Vec<f64>)> {
    let p = layout.len();
    vec![
        (vec![2, p], numbers(2 * p, 0, 0.8)),
        (vec![3, 2, 2, 2], numbers(24, 1, 1.0)),
        (vec![2, 2, width], numbers(4 * width, 2, 0.7)),
    ]
}

/// Starts `[3, 2, 2, 1]`: the second row of both seeds begins anew at the step 1, the first of seed 1 at the step 2.
fn starts() -> Tensor {
    Tensor::literal_u32(&[0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0]).reshape(&[3, 2, 2, 1])
}

#[test]
fn one_unit_computes_the_literal_numbers() {
    // x = 0.7, h = −0.3; reset after the product: z = σ(0.7), r = σ(−1.1), n = tanh(0.65 − 0.3 r).
    // Before it, without c: z = σ(0.65), r = σ(−1.5), n = tanh(0.65 + 0.3 r).
    let theta = [1.0, -1.0, 0.5, 0.5, 2.0, -1.0, 0.1, -0.2, 0.3, 0.05, 0.4, -0.6];
    for (reset, len, expected) in
        [(Reset::After, 12, -0.028_219_624_397_858_91), (Reset::Before, 9, 0.011_214_999_061_818_942)]
    {
        let (layout, gru) = layer(1, 1, (CellKind::Gru, reset, false));
        let names: Vec<&str> = layout.slices().map(|(n, _, _)| n).collect();
        assert_eq!(
            names,
            ["input.weight", "recurrent.weight", "input.bias", "recurrent.bias"].map(|n| format!("cell.*.{n}"))
                [..len / 3]
        );
        let at: &Point =
            &[(vec![1, len], theta[..len].to_vec()), (vec![1, 1, 1], vec![0.7]), (vec![1, 1, 1], vec![-0.3])];
        let h = value(|t| vec![gru.step(&layout.split(t[0]), t[1], t[2])], at).unwrap()[0][0];
        assert!((h - expected).abs() < 1e-14, "{reset:?}: {h}, not {expected}");
    }
}

#[test]
fn gradients_of_first_and_second_order_agree_with_differences() {
    for kind in KINDS {
        let (layout, cell) = layer(2, 3, kind);
        for (order, most) in [(1, 1e-8), (2, 1e-6)] {
            let run = |t: &[Tensor]| {
                let parts = layout.split(t[0]);
                let states = cell.run(&parts, t[1], t[2], Some(starts()));
                Tensor::concat(&[0, 1, 2].map(|i| cell.output(&parts, states.index(0, i))), 1)
            };
            let worst = check(run, &point(&layout, cell.width()), order, most, most).unwrap();
            assert!(worst > 0.0, "{kind:?}, order {order}: differences are never exact");
        }
    }
}

/// `[T, S, B, W]` on the CPU of some of the seeds of [`point`], by `f`.
fn on_cpu(
    kind: (CellKind, Reset, bool),
    seeds: std::ops::Range<usize>,
    f: impl Fn(&MemoryCell, &[Tensor], Tensor, Tensor) -> Tensor,
) -> Vec<f64> {
    let (layout, cell) = layer(2, 3, kind);
    let device = Device::cpu(2);
    let all = point(&layout, cell.width());
    let mut program = Program::new(&device, |cx| {
        let t: Vec<Tensor> =
            ["theta", "xs", "h0"].iter().zip(&all).map(|(n, (s, _))| cx.input(n, s, DType::F32)).collect();
        let (lo, hi) = (seeds.start, seeds.end);
        let parts = layout.split(t[0].slice(0, lo, hi));
        cx.output("hs", f(&cell, &parts, t[1].slice(1, lo, hi), t[2].slice(0, lo, hi)));
    })
    .unwrap();
    let arrays: Vec<_> = all.iter().map(|(s, x)| device.array(s, x).unwrap()).collect();
    let inputs = [("theta", &arrays[0]), ("xs", &arrays[1]), ("h0", &arrays[2])];
    let out = program.run(&State::new(), &inputs, &[]).unwrap();
    pollster::block_on(device.read(out.get("hs").unwrap())).unwrap()
}

#[test]
fn stacked_seeds_compute_what_each_does_alone() {
    let run = |cell: &MemoryCell, parts: &[Tensor], xs: Tensor, h0: Tensor| cell.run(parts, xs, h0, None);
    for kind in KINDS {
        let (both, alone) = (on_cpu(kind, 0..2, run), [on_cpu(kind, 0..1, run), on_cpu(kind, 1..2, run)]);
        // Numbers of a seed in one step.
        let n = alone[0].len() / 3;
        for (i, h) in both.iter().enumerate() {
            let (t, seed, rest) = (i / (2 * n), i / n % 2, i % n);
            assert_eq!(*h, alone[seed][t * n + rest], "{kind:?}, step {t}, seed {seed}, element {rest}");
        }
        assert_ne!(alone[0], alone[1]);
    }
}

#[test]
fn a_run_is_its_steps_one_by_one() {
    for kind in KINDS {
        let run = on_cpu(kind, 0..2, |cell, parts, xs, h0| cell.run(parts, xs, h0, None));
        let steps = on_cpu(kind, 0..2, |cell, parts, xs, h0| {
            let mut h = h0;
            let each: Vec<Tensor> = (0..3)
                .map(|t| {
                    h = cell.step(parts, xs.index(0, t), h);
                    h
                })
                .collect();
            Tensor::stack(&each, 0)
        });
        assert_eq!(run, steps, "{kind:?}");
    }
}

#[test]
fn a_start_forgets_the_state_of_its_row_only() {
    for kind in KINDS {
        let whole = on_cpu(kind, 0..2, |cell, parts, xs, h0| cell.run(parts, xs, h0, None));
        let cut = on_cpu(kind, 0..2, |cell, parts, xs, h0| cell.run(parts, xs, h0, Some(starts())));
        let afresh = |from: usize| {
            on_cpu(kind, 0..2, move |cell, parts, xs, _| {
                cell.run(parts, xs.slice(0, from, 3), cell.initial(parts, [2, 2]), None)
            })
        };
        let width = whole.len() / 12;
        let row = |t: usize, row: usize| (t * 4 + row) * width..(t * 4 + row + 1) * width;
        // Rows of a step: seed 0's two, then seed 1's.
        for t in 0..3 {
            assert_eq!(cut[row(t, 0)], whole[row(t, 0)], "{kind:?}: no start in row 0, step {t}");
        }
        for r in [1, 3] {
            assert_eq!(cut[row(0, r)], whole[row(0, r)]);
            for t in 1..3 {
                assert_eq!(cut[row(t, r)], afresh(1)[row(t - 1, r)], "{kind:?}: row {r} starts at the step 1");
                assert_ne!(cut[row(t, r)], whole[row(t, r)]);
            }
        }
        assert_eq!(cut[row(1, 2)], whole[row(1, 2)]);
        assert_eq!(cut[row(2, 2)], afresh(2)[row(0, 2)]);
    }
}

#[test]
fn a_normalised_output_has_zero_mean_and_unit_deviation_before_gain_and_bias() {
    let (layout, cell) = layer(2, 3, (CellKind::Lstm, Reset::After, true));
    let theta = layout.init([5, 6]);
    let at: &Point = &[(vec![1, layout.len()], theta), (vec![1, 1, 6], vec![1.0, 2.0, 6.0, 9.0, 9.0, 9.0])];
    let y = value(|t| vec![cell.output(&layout.split(t[0]), t[1])], at).unwrap().remove(0);
    // The output of such a memory is the first half of its state: mean 3, variance 14/3.
    let deviation = (14.0_f64 / 3.0 + 1e-5).sqrt();
    for (y, x) in y.iter().zip([-2.0, -1.0, 3.0]) {
        assert!((y - x / deviation).abs() < 1e-12, "{y} {x}");
    }
}

#[test]
fn initial_weights_are_as_asked() {
    let (layout, _) = layer(4, 8, (CellKind::Gru, Reset::After, false));
    let theta = layout.init([1, 2]);
    let (w_x, rest) = theta.split_at(4 * 24);
    let (w_h, biases) = rest.split_at(8 * 24);
    let largest = |w: &[f64]| w.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    // √(6/28) = 0.4629, √(6/32) = 0.4330.
    assert!((0.43..0.463).contains(&largest(w_x)), "{}", largest(w_x));
    assert!((0.41..0.4331).contains(&largest(w_h)), "{}", largest(w_h));
    assert_eq!(biases, [0.0; 48]);
    let mut layout = Layout::new();
    Gru::new(&mut layout, "gru", 4, 8, Reset::Before, RecurrentInit::Orthogonal);
    let theta = layout.init([1, 2]);
    let w_h = &theta[4 * 24..];
    for gate in 0..3 {
        let norm: f64 = (0..8).map(|row| w_h[row * 24 + gate * 8].powi(2)).sum();
        assert!((norm - 1.0).abs() < 1e-12, "gate {gate}: {norm}");
    }
}
