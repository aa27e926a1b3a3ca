//! Tests that steps of optimisers give the bits of one operation after the other.

use crate::backend::cpu::simd::isa::Isa;
use crate::backend::cpu::{Cpu, CpuOptions};
use crate::optim::{Adam, GradientMoments, Optimiser, clip_by_norm, norm};
use crate::{Context, DType, Device, Program, State, Tensor};

const STATES: [&str; 5] = ["theta", "m", "v", "scale", "target"];

/// Shape of a case: groups, rows, whether gradients are limited, and whether broken ones are dropped.
type Case = (usize, usize, bool, bool);

fn rms_prop() -> Optimiser {
    Adam { beta1: 0.0, beta2: 0.99, eps: 1e-5, corrected: false }.into()
}

/// One step, and its average.
fn step(cx: &mut Context, rule: Optimiser, (s, p, clip, guard): Case) {
    let [theta, m, v, _, target] =
        STATES.map(|name| if name == "scale" { Tensor::poison() } else { cx.state(name, &[s, p], DType::F32) });
    let scale = cx.state("scale", &[s, 2], DType::F32);
    let grad = cx.input("grad", &[s, p], DType::F32);
    let rate = cx.input("rate", &[s, 1], DType::F32);
    let (clipped, length) = if clip { clip_by_norm(grad, 0.5) } else { (grad, norm(grad)) };
    let old = GradientMoments { m, v, scale };
    let (new, moments) = rule.step(theta, clipped, old, rate);
    let go = length.non_finite().not();
    let keep = |new: Tensor, old: Tensor| if guard { go.select(new, old) } else { new };
    let new = keep(new, theta);
    cx.output("length", length);
    cx.update("target", target + (new - target) * 0.005);
    cx.update("theta", new);
    cx.update("m", keep(moments.m, m));
    cx.update("v", keep(moments.v, v));
    cx.update("scale", keep(moments.scale, scale));
}

/// All bits of the states after three steps, of which the second has a broken gradient in every other group.
fn bits(options: CpuOptions, rule: Optimiser, case: Case) -> Vec<u32> {
    let (s, p, ..) = case;
    let device = Device::new(Cpu::new(options));
    let mut program = Program::new(&device, |cx| step(cx, rule, case)).unwrap();
    let numbers = |n: usize, at: usize| (0..n).map(|i| ((i * 7919 + at * 131) % 1009) as f64 / 504.5 - 1.0).collect();
    let mut state = State::new();
    for (i, name) in STATES.into_iter().enumerate() {
        let shape = [s, if name == "scale" { 2 } else { p }];
        let values: Vec<f64> = numbers(shape[0] * shape[1], i);
        let values: Vec<f64> =
            values.iter().map(|x| if matches!(name, "v" | "scale") { x.abs() } else { *x }).collect();
        state.insert(name, device.array(&shape, &values).unwrap());
    }
    let rate: Vec<f64> = (1..=s).map(|i| 0.01 * i as f64).collect();
    let rate = device.array(&[s, 1], &rate).unwrap();
    let mut found = Vec::new();
    for at in 0..3 {
        let mut grad: Vec<f64> = numbers(s * p, 7 + at);
        if at == 1 {
            grad.chunks_mut(p).step_by(2).for_each(|row| row[p / 2] = f64::NAN);
        }
        let grad = device.array(&[s, p], &grad).unwrap();
        program.run(&state, &[("grad", &grad), ("rate", &rate)], &[]).unwrap();
        for name in STATES {
            let read = pollster::block_on(device.read_f32(state.get(name).unwrap())).unwrap();
            found.extend(read.iter().map(|x| if x.is_nan() { f32::NAN.to_bits() } else { x.to_bits() }));
        }
    }
    found
}

#[test]
fn steps_are_the_same_bits() {
    let rules: [Optimiser; 4] = [
        Adam::default().into(),
        Adam { corrected: false, ..Adam::default() }.into(),
        rms_prop(),
        Optimiser::Momentum(0.9),
    ];
    let sizes = (1..=300).step_by(if cfg!(miri) { 150 } else { 13 });
    for p in sizes {
        for s in [1, 2, 3, 5] {
            // Each pair of flags with each rule and set of instructions, at some size.
            let (clip, guard) = ((p / 13 + s) % 2 == 0, (p / 26 + s / 2) % 2 == 0);
            for rule in rules {
                let case = (s, p, clip, guard);
                for isa in Isa::available() {
                    let options = |tiles, threads| CpuOptions { tiles, threads, isa };
                    let plain = bits(options(false, 1), rule, case);
                    assert!(plain == bits(options(true, 1), rule, case), "{isa} {rule:?} {case:?}");
                }
            }
        }
    }
    for rule in rules {
        let case = (1, if cfg!(miri) { 100 } else { 40_007 }, true, true);
        let options = |tiles, threads| CpuOptions { tiles, threads, ..CpuOptions::default() };
        assert!(bits(options(false, 1), rule, case) == bits(options(true, 3), rule, case), "{rule:?}");
    }
}

#[test]
fn each_rule_is_found_in_all_its_forms() {
    let found = |rule, clip, guard| {
        let program = Program::new(&Device::cpu(1), |cx| step(cx, rule, (2, 100, clip, guard))).unwrap();
        program.census().optimiser_steps
    };
    for clip in [false, true] {
        for guard in [false, true] {
            // And the average of each.
            assert_eq!(found(Adam::default().into(), clip, guard), 2, "{clip} {guard}");
            assert_eq!(found(Adam { corrected: false, ..Adam::default() }.into(), clip, guard), 2);
            assert_eq!(found(Optimiser::Momentum(0.9), clip, guard), 2);
        }
        assert_eq!(found(rms_prop(), clip, true), 2);
    }
}

#[test]
fn other_formulas_are_left_as_they_are() {
    type Formula = fn(Tensor, Tensor, Tensor) -> Tensor;
    let found = |formula: Formula| {
        let program = Program::new(&Device::cpu(1), |cx| {
            let [x, y] = ["x", "y"].map(|name| cx.state(name, &[2, 100], DType::F32));
            let rate = cx.input("rate", &[2, 1], DType::F32);
            cx.update("x", formula(x, y, rate));
        });
        program.unwrap().census().optimiser_steps
    };
    assert_eq!(found(|x, y, rate| x - y * rate), 1);
    assert_eq!(found(|x, y, rate| x + (y - x) * rate), 1);
    let others: [Formula; 5] = [
        |x, y, _| x - y,
        |x, y, rate| x + y * rate,
        |x, y, rate| y * rate - x,
        |x, y, rate| x + (y + x) * rate,
        |x, y, rate| (x - y * rate).tanh(),
    ];
    assert_eq!(others.map(found), [0; 5]);
}

#[test]
fn moments_that_would_be_subnormal_are_zero() {
    let least = f64::from(f32::MIN_POSITIVE);
    // A rule, and the shares of m and v that a step without a gradient leaves.
    for (rule, shares) in [(Adam::default().into(), [0.9, 0.999]), (Optimiser::Momentum(0.9), [0.9, 1.0])] {
        for tiles in [false, true] {
            let device = Device::new(Cpu::new(CpuOptions { tiles, ..CpuOptions::default() }));
            let p = 100;
            let mut program = Program::new(&device, |cx| step(cx, rule, (1, p, false, false))).unwrap();
            let old: Vec<f64> = (0..p).map(|i| least * (0.5 + i as f64 / 50.0)).collect();
            let mut state = State::new();
            for name in STATES {
                let values = match name {
                    "scale" => &[1.0; 2][..],
                    "m" => &old.iter().enumerate().map(|(i, x)| if i % 2 == 0 { *x } else { -x }).collect::<Vec<_>>(),
                    _ => &old,
                };
                state.insert(name, device.array(&[1, values.len()], values).unwrap());
            }
            let grad = device.zeros(&[1, p], DType::F32).unwrap();
            let rate = device.array(&[1, 1], &[0.1]).unwrap();
            program.run(&state, &[("grad", &grad), ("rate", &rate)], &[]).unwrap();
            for (name, share) in ["m", "v"].into_iter().zip(shares) {
                let new = pollster::block_on(device.read_f32(state.get(name).unwrap())).unwrap();
                for (x, old) in new.iter().zip(&old) {
                    let kept = share == 1.0 || *old as f32 * share as f32 >= f32::MIN_POSITIVE;
                    assert_eq!(*x != 0.0, kept, "{rule:?} {tiles} {name}: {old:e} became {x:e}");
                }
            }
        }
    }
}
