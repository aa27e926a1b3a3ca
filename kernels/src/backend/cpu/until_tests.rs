//! Tests that loops which end row by row run in tiles, end early there, and give what they give step by step.

use std::sync::Arc;

use super::lower::lower;
use super::steps::LoweredStep;
use super::tile::Instr;
use super::{Cpu, CpuOptions};
use crate::program::Program;
use crate::tensor::{Loop, Op, graph, run_if, scan, scan_until};
use crate::{Context, DType, Device, Error, State, Tensor};

fn devices() -> [Device; 4] {
    let options = |tiles, threads| CpuOptions { tiles, threads, ..Default::default() };
    let [plain, one, two] = [options(false, 1), options(true, 1), options(true, 2)].map(|o| Device::new(Cpu::new(o)));
    [plain, one, two, Device::reference()]
}

/// Seeds and rows of each: two tiles and a bit.
const SHAPE: [usize; 2] = [2, 300];
const STEPS: usize = 500;

/// The step after which a row ends: 3, 7, 11 and so on up to 35 in the first seed, up to 67 in the second.
fn last_step(seed: usize, row: usize) -> usize {
    3 + 4 * (row % 9) + 32 * seed * usize::from(row % 9 == 8)
}

/// Each row's [`last_step`], as a tensor.
fn last_steps() -> Tensor {
    let word = Tensor::constant_u32;
    let [seed, row] = [0, 1].map(|axis| Tensor::iota(&SHAPE, axis));
    let of: Vec<u32> = (0..SHAPE[1]).map(|row| (row % 9) as u32).collect();
    let part = Tensor::literal_u32(&of).gather(row.flatten()).reshape(&SHAPE);
    word(3) + word(4) * part + word(32) * seed * part.eq(word(8))
}

/// Rows that go through a layer until each ends by itself: their values, and the number of steps that each made.
fn layers(cx: &mut Context, stacked: bool) {
    let (x, w) = (cx.input("x", &[2, 300, 3], DType::F32), cx.input("w", &[2, 3, 3], DType::F32));
    let last = last_steps();
    let made = Tensor::constant_u32(0).broadcast_to(&SHAPE);
    let (carry, ys) = scan_until(STEPS, &[x, made], &[], |t, c, _| {
        let next = (c[0].matmul(w) + t.to_f32() * 0.125).sin();
        let ys = if stacked { vec![c[0].sum_keep(2)] } else { Vec::new() };
        (Loop { carry: vec![next, c[1] + Tensor::constant_u32(1)], ys }, t.eq(last))
    });
    cx.output("x", carry[0]);
    cx.output("steps", carry[1].to_f32());
    ys.into_iter().for_each(|y| cx.output("y", y.slice(0, 60, 80)));
}

fn run(device: &Device, stacked: bool) -> Vec<Vec<f64>> {
    let mut program = Program::new(device, |cx| layers(cx, stacked)).unwrap();
    let numbers = |n: usize| (0..n).map(|i| ((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0).collect::<Vec<f64>>();
    let x = device.array(&[2, 300, 3], &numbers(1800)).unwrap();
    let w = device.array(&[2, 3, 3], &numbers(18)).unwrap();
    let out = program.run(&State::new(), &[("x", &x), ("w", &w)], &[]).unwrap();
    out.iter().map(|(_, a)| pollster::block_on(device.read(a)).unwrap()).collect()
}

#[test]
#[cfg_attr(miri, ignore = "Steps by the hundred take Miri too long")]
fn rows_that_end_keep_their_values_in_tiles_and_outside() {
    for stacked in [false, true] {
        let [plain, one, two, exact] = devices().map(|device| run(&device, stacked));
        assert_eq!(plain, one, "stacked {stacked}");
        assert_eq!(plain, two, "stacked {stacked}");
        let steps: Vec<f64> = (0..600).map(|i| (last_step(i / 300, i % 300) + 1) as f64).collect();
        assert_eq!(plain[1], steps);
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-3;
        assert!(plain.iter().flatten().zip(exact.iter().flatten()).all(near), "stacked {stacked}");
    }
}

#[test]
fn a_loop_that_ends_row_by_row_is_one_tile() {
    for stacked in [false, true] {
        let trace = Program::trace_of(|cx| layers(cx, stacked)).unwrap();
        let lowered = lower(&trace, true, 1).unwrap();
        assert!(!lowered.steps.iter().any(|s| matches!(s, LoweredStep::Scan(_))), "{:?}", lowered.steps);
        let tiles =
            lowered.steps.iter().filter_map(|s| if let LoweredStep::Tile(tile) = s { Some(tile) } else { None });
        let loops: Vec<bool> = tiles
            .flat_map(|tile| &tile.code)
            .filter_map(|instr| if let Instr::Loop(l) = instr { Some(l.until.is_some()) } else { None })
            .collect();
        assert_eq!(loops, [!stacked]);
    }
}

/// How many steps each row is given where the loop is told, behind the back of `scan_until`, that it has ended when
/// `done` holds: a count that nothing freezes shows it.
fn steps_given(device: &Device, ys: bool) -> Vec<u32> {
    let mut program = Program::new(device, |cx| {
        let zero = Tensor::constant_u32(0).broadcast_to(&SHAPE);
        let last = last_steps();
        let (carry, stacked) = scan(STEPS, false, &[zero, zero], &[], |t, c, _| {
            let done = c[1].bit_or(t.eq(last));
            Loop { carry: vec![c[0] + Tensor::constant_u32(1), done], ys: if ys { vec![c[0]] } else { Vec::new() } }
        });
        graph::with(|g| {
            for node in &mut g.nodes {
                if let Op::Scan(scan) = &mut node.op {
                    Arc::make_mut(scan).until = Some(1);
                }
            }
        });
        cx.output("steps", carry[0]);
        stacked.into_iter().for_each(|y| cx.output("y", y.slice(0, STEPS - 1, STEPS)));
    })
    .unwrap();
    let out = program.run(&State::new(), &[], &[]).unwrap();
    pollster::block_on(device.read_u32(out.get("steps").unwrap())).unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "Steps by the hundred take Miri too long")]
fn a_loop_ends_when_all_rows_that_run_together_have_ended() {
    let [plain, one, two, _] = devices();
    // Step by step all rows run together, in tiles those of one seed at most.
    assert_eq!(steps_given(&plain, false), [68; 600]);
    let expected: Vec<u32> = (0..600).map(|i| if i < 300 { 36 } else { 68 }).collect();
    for device in [&one, &two] {
        assert_eq!(steps_given(device, false), expected);
    }
    // A stacked output has a row for each step.
    for device in [&plain, &one, &two] {
        assert_eq!(steps_given(device, true), [STEPS as u32; 600]);
    }
}

#[test]
fn a_condition_that_carries_do_not_begin_with_is_an_error() {
    let trace = |condition: &'static [usize]| {
        Program::trace_of(|cx| {
            let (x, y) = (cx.input("x", &[2, 3, 4], DType::F32), cx.input("y", &[2, 5], DType::F32));
            let (carry, _) = scan_until(7, &[x, y], &[], |t, c, _| {
                let end = t.eq(Tensor::constant_u32(3)).broadcast_to(condition);
                (Loop { carry: vec![c[0] * 0.5, c[1] + 1.0], ys: Vec::new() }, end)
            });
            cx.output("x", carry[0]);
            cx.output("y", carry[1]);
        })
    };
    assert!(trace(&[]).is_ok() && trace(&[2]).is_ok());
    for condition in [&[2, 3][..], &[3], &[2, 5, 1], &[1]] {
        let Error::Shape { expected, got, .. } = trace(condition).unwrap_err() else { panic!("another error") };
        let carry = if condition == [2, 3] { 1 } else { 0 };
        assert_eq!(expected, format!("carry {carry} to begin with the condition's axes {condition:?}"));
        assert_eq!(got, ["[2, 3, 4]", "[2, 5]"][carry]);
    }
}

/// A loop in a loop, of which some steps have a body that is run on a condition: what they make, and the sum of what
/// they made.
fn on_a_condition(cx: &mut Context, every: u32) {
    let x = cx.input("x", &[2, 3], DType::F32);
    let (carry, ys) = scan(4, false, &[x], &[], |t, c, _| {
        let (carry, _) = scan(3, false, &[c[0], c[0] * 0.0], &[], |u, c, _| {
            let number = t * Tensor::constant_u32(3) + u;
            let now = (number.bit_and(Tensor::constant_u32(every - 1))).eq(Tensor::constant_u32(every - 1));
            let carry =
                run_if(now, &[c[0], c[1]], |c| vec![c[0].sin() + 1.0, c[1] + c[0].sum_keep(0).broadcast_to(&[2, 3])]);
            Loop { carry, ys: Vec::new() }
        });
        Loop { carry: vec![carry[0]], ys: vec![carry[1]] }
    });
    cx.output("x", carry[0]);
    cx.output("sums", ys[0]);
}

#[test]
fn a_body_is_run_where_its_condition_holds() {
    let numbers = [0.5, -1.0, 2.0, 0.0, 0.25, 3.0];
    for every in [1u32, 2, 4, 16] {
        let [plain, one, two, exact] = devices().map(|device| {
            let mut program = Program::new(&device, |cx| on_a_condition(cx, every)).unwrap();
            let x = device.array(&[2, 3], &numbers).unwrap();
            let out = program.run(&State::new(), &[("x", &x)], &[]).unwrap();
            out.iter().map(|(_, a)| pollster::block_on(device.read(a)).unwrap()).collect::<Vec<_>>()
        });
        assert!(plain == one && plain == two, "every {every}");
        let mut x = numbers;
        for _ in 0..12 / every {
            x = x.map(|x| x.sin() + 1.0);
        }
        for found in [&plain, &exact] {
            assert!(found[0].iter().zip(&x).all(|(found, x)| (found - x).abs() < 1e-5), "every {every}: {found:?}");
        }
        assert!(plain[1].iter().zip(&exact[1]).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}

#[test]
fn a_body_is_left_out_where_its_condition_does_not_hold() {
    // Nothing freezes a count here: only a body that is not run leaves it as it is.
    for device in devices().into_iter().take(3) {
        let mut program = Program::new(&device, |cx| {
            let zero = Tensor::constant_u32(0);
            let (carry, _) = scan(10, false, &[zero], &[], |t, c, _| {
                let now = t.bit_and(Tensor::constant_u32(1));
                Loop { carry: run_if(now, c, |c| vec![c[0] + Tensor::constant_u32(1)]), ys: Vec::new() }
            });
            graph::with(|g| {
                let selects: Vec<_> = (0..g.nodes.len()).filter(|i| matches!(g.nodes[*i].op, Op::Select)).collect();
                for i in selects {
                    // Both are the new value.
                    let new = g.nodes[i].src[2];
                    g.nodes[i].src[1] = new;
                }
            });
            cx.output("count", carry[0]);
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        assert_eq!(pollster::block_on(device.read_u32(out.get("count").unwrap())).unwrap(), [5]);
    }
}

#[test]
fn a_condition_of_several_numbers_or_of_another_type_is_an_error() {
    for (shape, dtype) in [(&[2][..], DType::U32), (&[], DType::F32)] {
        let trace = Program::trace_of(|cx| {
            let (condition, x) = (cx.input("condition", shape, dtype), cx.input("x", &[2], DType::F32));
            cx.output("x", run_if(condition, &[x], |c| vec![c[0] * 2.0])[0]);
        });
        let Err(Error::Shape { op: "run_if", expected, .. }) = trace else { panic!("another error") };
        assert_eq!(expected, "a condition [] u32");
    }
}
