//! Tests of what is written where a concatenation wants it, and of squares that are summed there.

use super::lower::lower;
use super::steps::LoweredStep;
use super::{Cpu, CpuOptions};
use crate::tensor::Op;
use crate::{Context, DType, Device, Program, State, Tensor};

/// A step down the length of what a product that is too wide for a tile, sums over rows, another product and results of
/// rows are together. With `apart`, the parts are results too, so that none can be written to its place.
fn step(cx: &mut Context, groups: usize, apart: bool) {
    let [a, b] = [("a", 130), ("b", 40)].map(|(name, width)| cx.input(name, &[groups, 24, width], DType::F32));
    let scale = cx.input("scale", &[groups, 64], DType::F32);
    let wide = a.matmul_with(b, true, false);
    let sums = (a * b.slice(2, 0, 1)).tanh().sum_keep(1);
    let narrow = b.tanh().matmul_with(a.slice(2, 0, 5), true, false);
    let own = scale.exp() * 0.5;
    let parts = [wide, sums, narrow, own].map(|part| part.reshape(&[groups, part.len() / groups]));
    if apart {
        parts.iter().enumerate().for_each(|(i, part)| cx.output(&format!("part{i}"), *part));
    }
    let flat = Tensor::concat(&parts, 1);
    let theta = cx.state("theta", &flat.shape(), DType::F32);
    cx.update("theta", theta - flat / (1.0 + flat.square().sum_keep(1).sqrt()));
}

fn stepped(groups: usize, apart: bool, tiles: bool, threads: usize) -> Vec<u32> {
    let device = Device::new(Cpu::new(CpuOptions { tiles, threads, ..Default::default() }));
    let mut program = Program::new(&device, |cx| step(cx, groups, apart)).unwrap();
    let array = |shape: &[usize], seed: usize| {
        let len = shape.iter().product();
        let values: Vec<f64> = (0..len).map(|i| ((i * 7919 + seed * 131) % 1009) as f64 / 504.5 - 1.0).collect();
        device.array(shape, &values).unwrap()
    };
    let inputs = [("a", 24 * 130), ("b", 24 * 40), ("scale", 64)];
    let arrays = inputs.map(|(name, len)| match name {
        "scale" => array(&[groups, len], 3),
        _ => array(&[groups, 24, len / 24], len),
    });
    let mut state = State::new();
    state.insert("theta", array(&[groups, 130 * 40 + 130 + 40 * 5 + 64], 5));
    let bound: Vec<_> = inputs.iter().zip(&arrays).map(|((name, _), array)| (*name, array)).collect();
    (0..2).for_each(|_| drop(program.run(&state, &bound, &[]).unwrap()));
    let read = pollster::block_on(device.read_f32(state.get("theta").unwrap())).unwrap();
    read.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn parts_in_their_places_are_the_same_bits() {
    for groups in [1, 3] {
        let apart = stepped(groups, true, false, 1);
        for (tiles, threads) in [(false, 1), (true, 1), (true, 3)] {
            assert!(stepped(groups, false, tiles, threads) == apart, "{groups} {tiles} {threads}");
        }
    }
}

#[test]
fn nothing_is_copied_and_the_squares_are_summed_beside() {
    let lowered = |apart| {
        let trace = Program::trace_of(|cx| step(cx, 1, apart)).unwrap();
        lower(&trace, true, 1).unwrap()
    };
    let copies = |apart| {
        let is_copy =
            |step: &&LoweredStep| matches!(step, LoweredStep::Node(node) if matches!(node.op, Op::Concat { .. }));
        lowered(apart).steps.iter().filter(is_copy).count()
    };
    assert_eq!((copies(false), copies(true)), (0, 1));
    assert_eq!([false, true].map(|apart| lowered(apart).census().gradient_norms), [1, 0]);
}

#[test]
fn a_state_that_moves_along_itself_is_read_before_it_is_written() {
    let (rows, width) = (1000, 10);
    let all = rows * width + width;
    for (tiles, threads) in [(false, 1), (true, 1), (true, 3)] {
        let device = Device::new(Cpu::new(CpuOptions { tiles, threads, ..Default::default() }));
        let mut program = Program::new(&device, |cx| {
            let x = cx.state("x", &[1, all], DType::F32);
            let old = x.slice(1, 0, rows * width).reshape(&[1, rows, width]);
            let new = old * old.sum_keep(2);
            let parts = [new.sum_keep(1), new].map(|part| part.reshape(&[1, part.len()]));
            cx.update("x", Tensor::concat(&parts, 1));
        })
        .unwrap();
        let values: Vec<f64> = (0..all).map(|i| i as f64 / all as f64).collect();
        let mut state = State::new();
        state.insert("x", device.array(&[1, all], &values).unwrap());
        program.run(&state, &[], &[]).unwrap();
        let read = pollster::block_on(device.read(state.get("x").unwrap())).unwrap();
        for (i, got) in read.iter().enumerate() {
            let new = |at: usize| values[at] * values[at / width * width..][..width].iter().sum::<f64>();
            let want = match i.checked_sub(width) {
                Some(at) => new(at),
                None => (i..rows * width).step_by(width).map(new).sum(),
            };
            assert!((got - want).abs() < 1e-5 * want.max(1.0), "{tiles} {threads} {i}: {got} {want}");
        }
    }
}
