//! Tests that tiles give the bits of the plain way.

use super::link::link;
use super::linked::TilePart;
use crate::backend::Census;
use crate::backend::cpu::lower::lower;
use crate::backend::cpu::steps::LoweredStep;
use crate::backend::cpu::{Cpu, CpuOptions};
use crate::tensor::{Loop, RowNoise, fold_in, scan};
use crate::{Context, DType, Device, Program, State, Tensor};

fn bits(tiles: bool, threads: usize, f: &dyn Fn(&mut Context), args: &[(&str, Vec<usize>)]) -> Vec<Vec<u32>> {
    let device = Device::new(Cpu::new(CpuOptions { tiles, threads, ..Default::default() }));
    let mut program = Program::new(&device, f).unwrap();
    let arrays: Vec<_> = args
        .iter()
        .map(|(name, shape)| {
            let len: usize = shape.iter().product();
            let values: Vec<f64> = (0..len).map(|i| ((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0).collect();
            (*name, device.array(shape, &values).unwrap())
        })
        .collect();
    let mut state = State::new();
    for (n, a) in &arrays {
        state.insert(*n, a.clone());
    }
    let inputs: Vec<_> = arrays.iter().map(|(n, a)| (*n, a)).collect();
    let mut results = Vec::new();
    for _ in 0..2 {
        let out = program.run(&state, &inputs, &[]).unwrap();
        for (_, a) in out.iter().chain(state.iter()) {
            let read = |a| pollster::block_on(device.read_f32(a)).unwrap().iter().map(|v| v.to_bits()).collect();
            results.push(read(a));
        }
    }
    results
}

fn same(f: &dyn Fn(&mut Context), args: &[(&str, Vec<usize>)]) {
    let plain = bits(false, 1, f, args);
    for threads in [1, 3] {
        let tiles = bits(true, threads, f, args);
        for (i, (plain, tiles)) in plain.iter().zip(&tiles).enumerate() {
            let other = plain.iter().zip(tiles).position(|(x, y)| x != y);
            assert_eq!(other, None, "result {i} on {threads} threads: {args:?}");
        }
    }
}

/// Two layers, their gradients and a step, by hand.
fn layers(cx: &mut Context, s: usize, b: usize) {
    let x = cx.input("x", &[s, b, 5], DType::F32);
    let theta = cx.state("theta", &[s, 5 * 7 + 7 + 7 * 2], DType::F32);
    let w1 = theta.slice(1, 0, 35).reshape(&[s, 5, 7]);
    let b1 = theta.slice(1, 35, 42).reshape(&[s, 1, 7]);
    let w2 = theta.slice(1, 42, 56).reshape(&[s, 7, 2]);
    let h = (x.matmul(w1) + b1).tanh();
    let y = h.matmul(w2).log_softmax(2);
    cx.output("loss", y.square().mean(&[1, 2]));
    let dy = y * (2.0 / b as f64);
    let dw2 = h.matmul_with(dy, true, false);
    let dh = dy.matmul_with(w2, false, true) * (1.0 - h * h);
    let dw1 = x.matmul_with(dh, true, false);
    let db1 = dh.sum_keep(1);
    let flat = |t: Tensor| t.reshape(&[s, t.len() / s]);
    let g = Tensor::concat(&[flat(dw1), flat(db1), flat(dw2)], 1);
    let norm = (g * g).sum_keep(1).sqrt();
    cx.update("theta", theta - g * (0.1 / (norm + 1.0)));
}

#[test]
fn layers_and_their_gradients_are_the_same_bits() {
    let all = [(2, 3), (1, 1), (1, 5), (1, 64), (2, 100), (3, 16), (1, 1500), (2, 2100)];
    for &(s, b) in if cfg!(miri) { &all[..1] } else { &all } {
        let args = [("x", vec![s, b, 5]), ("theta", vec![s, 56])];
        same(&|cx| layers(cx, s, b), &args);
    }
}

#[test]
fn a_rollout_is_the_same_bits() {
    for &(s, n) in if cfg!(miri) { &[(2, 3)][..] } else { &[(1, 4), (2, 33), (1, 200)] } {
        let f = |cx: &mut Context| {
            let w = cx.input("w", &[s, 3, 3], DType::F32);
            let x0 = cx.state("x0", &[s, n, 3], DType::F32);
            let k = cx.scalar_u32("k");
            let elem = Tensor::iota(&[s, n, 1], 1);
            let (last, ys) = scan(6, false, &[x0], &[], |t, c, _| {
                let key = Tensor::threefry([k, k], [t, Tensor::constant_u32(0)], 0);
                let draw = Tensor::threefry([key, k], [elem, t], 1);
                let u = draw.shr(Tensor::constant_u32(8)).to_f32() * (1.0 / 16777216.0);
                let x = (c[0].matmul(w)).tanh() + u * 0.1;
                let done = x.slice(2, 0, 1).lt(Tensor::constant_f32(0.0));
                let next = done.select(x * 0.5, x);
                Loop { carry: vec![next], ys: vec![x, done, next.sum_keep(2)] }
            });
            cx.update("x0", last[0]);
            let (_, adv) = scan(6, true, &[Tensor::zeros(&[s, n, 1])], &[ys[2]], |_, c, x| {
                let a = c[0] * 0.9 + x[0];
                Loop { carry: vec![a], ys: vec![a] }
            });
            cx.output("x", ys[0]);
            cx.output("done", ys[1].to_f32());
            cx.output("adv", adv[0]);
            cx.output("mean", adv[0].mean(&[0, 2]));
        };
        let args = [("w", vec![s, 3, 3]), ("x0", vec![s, n, 3])];
        same_with_scalar(&f, &args);
    }
}

fn same_with_scalar(f: &dyn Fn(&mut Context), args: &[(&str, Vec<usize>)]) {
    let run = |tiles, threads| {
        let device = Device::new(Cpu::new(CpuOptions { tiles, threads, ..Default::default() }));
        let mut program = Program::new(&device, f).unwrap();
        let mut state = State::new();
        for (name, shape) in args {
            let len: usize = shape.iter().product();
            let values: Vec<f64> = (0..len).map(|i| ((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0).collect();
            state.insert(*name, device.array(shape, &values).unwrap());
        }
        let mut all = Vec::new();
        for k in 0..2u32 {
            let inputs: Vec<_> = state.iter().collect();
            let out = program.run(&state, &inputs, &[("k", k.into())]).unwrap();
            for (_, a) in out.iter().chain(state.iter()) {
                let v: Vec<u32> = pollster::block_on(device.read_f32(a)).unwrap().iter().map(|v| v.to_bits()).collect();
                all.push(v);
            }
        }
        all
    };
    let plain = run(false, 1);
    for threads in [1, 2] {
        for (i, (want, got)) in plain.iter().zip(run(true, threads)).enumerate() {
            let other = want.iter().zip(&got).position(|(want, got)| want != got);
            assert_eq!(other, None, "array {i} of {} numbers, {threads} threads", want.len());
        }
    }
}

/// Linear policies, one for each of `k` groups, in `n` rows each, until each row is above a limit of its own.
fn policies(cx: &mut Context, k: usize, n: usize) {
    let w = cx.input("w", &[k, 3 * 2 + 2], DType::F32);
    let x0 = cx.input("x0", &[k, n, 3], DType::F32);
    let limits = cx.input("limits", &[6, k, n, 1], DType::F32);
    // Words of two columns, of which each group has a row.
    let keys = Tensor::iota(&[k, 2], 0);
    let key = [keys.slice(1, 0, 1), keys.slice(1, 1, 2)];
    let none = Tensor::zeros(&[k, n]);
    let (carry, ys) = scan(6, false, &[x0, none], &[limits], |t, c, xs| {
        let key = [0, 1].map(|word| Tensor::threefry(key, [t, Tensor::constant_u32(0)], word).unsqueeze(2));
        let counter = [Tensor::iota(&[1, n, 1], 1), Tensor::constant_u32(0)];
        let draw = Tensor::threefry(key, counter, 0).shr(Tensor::constant_u32(8)).to_f32() * (1.0 / 16_777_216.0);
        let weights = w.slice(1, 0, 6).reshape(&[k, 3, 2]);
        let y = c[0].matmul(weights) + w.slice(1, 6, 8).unsqueeze(1) + draw;
        let up = y.max_keep(2).gt(xs[0]);
        let x = up.select(c[0] * 0.5, c[0] + y.sum_keep(2) * 0.25);
        Loop { carry: vec![x, c[1] + up.to_f32().reshape(&[k, n])], ys: vec![y] }
    });
    cx.output("x", carry[0]);
    cx.output("mean", carry[1].sum_keep(1) * (1.0 / n as f64));
    cx.output("y", ys[0]);
}

#[test]
fn rows_of_several_groups_share_a_tile_and_are_the_same_bits() {
    let all = [(2, 3), (40, 4), (70, 1), (300, 5), (9, 17), (6, 20)];
    for &(k, n) in if cfg!(miri) { &all[..1] } else { &all } {
        let trace = Program::trace_of(|cx| policies(cx, k, n)).unwrap();
        let lowered = lower(&trace, true, 1).unwrap();
        let loops: Vec<_> = lowered
            .steps
            .iter()
            .filter_map(|step| match step {
                LoweredStep::Tile(tile) if tile.depth > 0 => Some((tile.groups, tile.rows)),
                _ => None,
            })
            .collect();
        assert_eq!(loops, [(1, k * n)], "{k} groups of {n} rows");
        let args = [("w", vec![k, 8]), ("x0", vec![k, n, 3]), ("limits", vec![6, k, n, 1])];
        same(&|cx| policies(cx, k, n), &args);
    }
}

#[test]
fn groups_with_large_matrices_have_tiles_of_their_own() {
    let program = |cx: &mut Context| {
        let (x, w) = (cx.input("x", &[20, 4, 9], DType::F32), cx.input("w", &[20, 9, 9], DType::F32));
        let (x, _) = scan(3, false, &[x], &[], |_, c, _| Loop { carry: vec![c[0].matmul(w).sin()], ys: Vec::new() });
        cx.output("x", x[0]);
    };
    let trace = Program::trace_of(program).unwrap();
    let lowered = lower(&trace, true, 1).unwrap();
    let groups = |step: &LoweredStep| if let LoweredStep::Tile(tile) = step { Some(tile.groups) } else { None };
    assert_eq!(lowered.steps.iter().filter_map(groups).max(), Some(20));
    same(&program, &[("x", vec![20, 4, 9]), ("w", vec![20, 9, 9])]);
}

/// A network of wide layers with two heads, its gradients and a step: layers run row by row.
fn wide(cx: &mut Context, s: usize, b: usize, width: usize, act: &dyn Fn(Tensor) -> Tensor) {
    let x = cx.input("x", &[s, b, 5], DType::F32);
    let theta = cx.state("theta", &[s, 5 * width + width + width * width + width + 3 * width], DType::F32);
    let mut at = 0;
    let mut part = |shape: &[usize]| {
        let len: usize = shape.iter().product();
        at += len;
        theta.slice(1, at - len, at).reshape(&[&[s][..], shape].concat())
    };
    let parts = [part(&[5, width]), part(&[1, width]), part(&[width, width]), part(&[1, width]), part(&[width, 3])];
    let (_, grads) = crate::grad::value_and_grad(&parts, |parts| {
        let [w1, b1, w2, b2, w3] = parts else { return Tensor::poison() };
        let h1 = act(x.matmul(*w1) + *b1);
        // A sum of two products, to which the bias is added row by row.
        let h2 = act(h1.matmul(*w2) + h1.square().matmul(*w2) + *b2);
        let y = (h2.matmul(*w3) * 1e-3).tanh();
        (y.slice(2, 0, 1) * y.slice(2, 1, 2)).square().mean(&[1, 2]).sum_all()
            + (h2 * 1e-3).square().mean(&[1, 2]).sum_all()
    });
    let flat = |t: &Tensor| t.reshape(&[s, t.len() / s]);
    let g = Tensor::concat(&grads.iter().map(flat).collect::<Vec<_>>(), 1);
    cx.update("theta", theta - g * 0.1);
}

#[test]
fn wide_layers_are_the_same_bits_row_by_row() {
    let acts: [(&str, &dyn Fn(Tensor) -> Tensor); 4] = [
        ("tanh", &|x| x.tanh()),
        ("relu", &|x| x.max(Tensor::constant_f32(0.0))),
        ("swish", &|x| x * (1.0 + (-x).exp()).recip()),
        ("linear", &|x| x),
    ];
    for (name, act) in acts {
        let all = [(1, 1, 16), (2, 5, 16), (1, 100, 64), (3, 17, 32), (2, 300, 48), (1, 1500, 16), (5, 31, 80)];
        for (s, b, width) in if cfg!(miri) { &all[..1] } else { &all[..] } {
            let len = 5 * width + width + width * width + width + 3 * width;
            let f = |cx: &mut Context| wide(cx, *s, *b, *width, act);
            same(&f, &[("x", vec![*s, *b, 5]), ("theta", vec![*s, len])]);
            let trace = Program::trace_of(f).unwrap();
            let rows = |step: &LoweredStep| match step {
                LoweredStep::Tile(tile) => tile.majors.contains(&super::Major::Rows),
                _ => false,
            };
            assert!(lower(&trace, true, 1).unwrap().steps.iter().any(rows), "{name} {s} {b} {width}");
        }
    }
}

/// A rollout with noise that lasts for a span: a wide layer, a matrix for each row drawn once per span, and sums of
/// their products, of which each makes a number of the action; the last steps of spans are kept as well.
fn lasting_noise(cx: &mut Context, s: usize, n: usize, actions: usize) {
    let width = 32;
    let (w1, w2) = (cx.input("w1", &[s, 3, width], DType::F32), cx.input("w2", &[s, width, actions], DType::F32));
    let scale = cx.input("scale", &[s, 1, actions * width], DType::F32);
    let x0 = cx.state("x0", &[s, n, 3], DType::F32);
    let k = cx.scalar_u32("k").broadcast_to(&[s, 1]);
    let spans = Tensor::literal_u32(&[3, 5, 8]);
    let (last, ys) = scan(3, false, &[x0, Tensor::zeros(&[s, n, 1])], &[spans], |_, c, span| {
        let noise = RowNoise::new(fold_in([k, k], span[0]), n).normal(actions * width) * scale;
        let (next, steps) = scan(4, false, c, &[], |t, c, _| {
            let h = c[0].matmul(w1).tanh();
            let moved = |a: usize| (noise.slice(2, a * width, (a + 1) * width) * h).sum_keep(2);
            let action = h.matmul(w2) + Tensor::concat(&(0..actions).map(moved).collect::<Vec<_>>(), 2);
            // A part of a row in work that no chain does.
            let spread = h.square().matmul(w2) + noise.slice(2, 0, width).max(h).sum_keep(2);
            let next = (c[0] * 0.5 + action.sum_keep(2) * 0.1).tanh();
            let kept = t.eq(Tensor::constant_u32(2)).broadcast_to(&[s, n, 1]).select(spread.sum_keep(2), c[1]);
            Loop { carry: vec![next, kept], ys: vec![action, spread] }
        });
        Loop { carry: next.clone(), ys: vec![steps[0], steps[1], next[1]] }
    });
    cx.update("x0", last[0]);
    for (name, y) in ["actions", "spreads", "kept"].into_iter().zip(&ys) {
        cx.output(name, *y);
    }
}

#[test]
fn noise_that_lasts_is_the_same_bits_and_one_tile_plays_all_spans() {
    let all = [(1, 4, 1), (2, 5, 2), (1, 1, 3), (1, 40, 1), (1, 200, 2), (3, 16, 1), (2, 3, 1)];
    for &(s, n, actions) in if cfg!(miri) { &all[..1] } else { &all[..] } {
        let f = |cx: &mut Context| lasting_noise(cx, s, n, actions);
        let sizes = [("w1", vec![s, 3, 32]), ("w2", vec![s, 32, actions]), ("x0", vec![s, n, 3])];
        same_with_scalar(&f, &[&sizes[..], &[("scale", vec![s, 1, actions * 32])]].concat());
        let trace = Program::trace_of(f).unwrap();
        let lowered = lower(&trace, true, 1).unwrap();
        let (mut played, mut census) = (0, Census::default());
        for step in &lowered.steps {
            match step {
                LoweredStep::Tile(tile) => {
                    played = played.max(tile.depth);
                    census += tile.census();
                }
                LoweredStep::Scan(_) => panic!("a loop of {s} × {n} rows and {actions} numbers has no tile"),
                _ => {}
            }
        }
        assert_eq!((played, census.row_layers, census.lane_layers), (2, 1, 0), "{s} × {n} rows, {actions} numbers");
    }
}

/// Returns and advantages of `n` rows: two loops that are nothing but a chain each, one of them backwards, and one that
/// reads its index.
fn credit(cx: &mut Context, s: usize, n: usize) {
    let shape = [9, s, n];
    let (x, ends) = (cx.input("x", &shape, DType::F32), cx.input("ends", &shape, DType::F32));
    let decay = cx.input("decay", &[9], DType::F32);
    let zero = Tensor::zeros(&[s, n]);
    for (name, reverse) in [("forwards", false), ("backwards", true)] {
        let (carry, ys) = scan(9, reverse, &[zero, zero], &[x, ends, decay], |t, c, xs| {
            let goes = xs[1].lt(Tensor::constant_f32(0.5));
            let sum = xs[0] + goes.select(c[0] * xs[2], t.to_f32());
            Loop { carry: vec![sum, c[1] + c[0]], ys: vec![sum, c[0]] }
        });
        cx.output(&format!("{name} last"), carry[0] + carry[1]);
        cx.output(&format!("{name} sums"), ys[0]);
        cx.output(&format!("{name} before"), ys[1]);
    }
}

#[test]
fn loops_of_one_chain_are_the_same_bits_for_every_number_of_rows() {
    let rows: Vec<usize> = if cfg!(miri) { vec![3] } else { (1..=40).chain([300]).collect() };
    for n in rows {
        for s in [1, 3] {
            let args = [("x", vec![9, s, n]), ("ends", vec![9, s, n]), ("decay", vec![9])];
            same(&|cx| credit(cx, s, n), &args);
        }
    }
    let trace = Program::trace_of(|cx| credit(cx, 1, 4)).unwrap();
    let lowered = lower(&trace, true, 1).unwrap();
    let mut loops = 0;
    for step in &lowered.steps {
        let LoweredStep::Tile(tile) = step else { continue };
        for part in link(&tile.code, tile.places()).parts {
            if let TilePart::Loop(_, inside) = part {
                assert!(matches!(&inside[..], [TilePart::Chain(_)]), "{inside:?}");
                loops += 1;
            }
        }
    }
    assert_eq!(loops, 2);
}

// With a second thread, which WebAssembly has not.
#[cfg(not(target_arch = "wasm32"))]
#[test]
#[cfg_attr(miri, ignore = "many steps")]
fn a_loop_of_one_chain_tells_its_step_and_stops_when_asked() {
    const STEPS: usize = 1 << 28;
    let device = Device::new(Cpu::new(CpuOptions { threads: 1, ..Default::default() }));
    let mut program = Program::new(&device, |cx| {
        let x = cx.input("x", &[4], DType::F32);
        let (x, _) = scan(STEPS, false, &[x], &[], |_, c, _| Loop { carry: vec![c[0].sin()], ys: Vec::new() });
        cx.output("x", x[0]);
    })
    .unwrap();
    let x = device.array(&[4], &[1.0; 4]).unwrap();
    let (interrupt, after) = (device.interrupt(), device.interrupt());
    let asker = std::thread::spawn(move || {
        // Steps are counted while they are made.
        while interrupt.reached().step == 0 {
            std::thread::yield_now();
        }
        let reached = interrupt.reached();
        interrupt.ask();
        reached
    });
    let result = program.run(&State::new(), &[("x", &x)], &[]);
    assert!(matches!(result, Err(crate::Error::Interrupted)), "{result:?}");
    let reached = asker.join().unwrap();
    assert!(reached.steps == STEPS && reached.step < STEPS, "{reached:?}");
    // A tile that ends says that it was stopped, even if its loop has not heard of it.
    assert!(after.reached().step < STEPS / 2, "{:?}", after.reached());
}

#[test]
fn a_carry_that_begins_as_one_row_for_all_is_the_same_bits() {
    let program = |cx: &mut Context| {
        let (x, w) = (cx.input("x", &[2, 20, 16], DType::F32), cx.input("w", &[2, 16, 16], DType::F32));
        let first = cx.input("first", &[2, 1, 16], DType::F32).broadcast_to(&[2, 20, 16]);
        let step = |_: Tensor, c: &[Tensor], _: &[Tensor]| {
            let h = (c[0].matmul(w) * 0.1 + x).tanh();
            Loop { carry: vec![h], ys: Vec::new() }
        };
        let (h, _) = scan(5, false, &[first], &[], step);
        cx.output("h", h[0]);
    };
    same(&program, &[("x", vec![2, 20, 16]), ("w", vec![2, 16, 16]), ("first", vec![2, 1, 16])]);
}
