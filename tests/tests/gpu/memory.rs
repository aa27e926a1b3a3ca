//! Large entries of a state on the GPU: rows are changed where they are, at the cost of these rows, and are
//! those of the CPU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use pollster::block_on as wait;
use quickstudy_core::tensor::{Loop, scan};
use quickstudy_core::train::{self, Own, Saved, Session};
use quickstudy_core::{Context, DType, Device, Program, State, Tensor};
use quickstudy_tests::gpu;
use quickstudy_tests::trainings::training;

const ROWS: usize = 5000;
const WIDTH: usize = 3;

/// Stores before, in and after a loop that reads old and new rows.
fn trace(cx: &mut Context) {
    let word = Tensor::constant_u32;
    let memory = cx.bulk("memory", &[ROWS, WIDTH], DType::F32);
    let (first, rows) = (cx.input("first", &[4], DType::U32), cx.input("rows", &[4, WIDTH], DType::F32));
    cx.output("before", memory.gather(first));
    let memory = memory.store(first, rows).store(first + word(1), rows * 2.0);
    let (carry, ys) = scan(7, false, &[memory, rows], &[], |t, c, _| {
        let old = c[0].gather(first + t);
        let memory = c[0].store(first + word(20) * t, c[1]);
        Loop { carry: vec![memory, c[1] + old], ys: vec![memory.gather(first + word(1))] }
    });
    let memory = carry[0].store(first + word(3), carry[1]);
    cx.output("stacked", ys[0]);
    cx.output("after", memory.gather(first + word(20)));
    cx.update("memory", memory);
}

/// All that two runs give, and the memory afterwards.
fn played(device: &Device) -> Vec<f32> {
    let mut state = State::new();
    let numbers: Vec<f32> = (0..ROWS * WIDTH).map(|i| (i % 251) as f32 - 100.0).collect();
    state.insert("memory", device.array_f32(&[ROWS, WIDTH], &numbers).unwrap());
    let first = device.array_u32(&[4], &[5, 4900, 777, 2048]).unwrap();
    let rows: Vec<f32> = (0..4 * WIDTH).map(|i| i as f32 * 0.5).collect();
    let rows = device.array_f32(&[4, WIDTH], &rows).unwrap();
    let mut program = Program::new(device, trace).unwrap();
    let read = |array: &quickstudy_core::Array| pollster::block_on(device.read_f32(array)).unwrap();
    let mut all = Vec::new();
    for _ in 0..2 {
        let out = program.run(&state, &[("first", &first), ("rows", &rows)], &[]).unwrap();
        for name in ["before", "stacked", "after"] {
            all.extend(read(out.get(name).unwrap()));
        }
    }
    all.extend(read(state.get("memory").unwrap()));
    all
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn rows_of_a_large_memory_are_those_of_the_cpu() {
    let expected = played(&Device::cpu(1));
    assert!(expected.contains(&5.5), "nothing was stored");
    let device = gpu::device();
    assert!(played(&device) == expected);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn parts_of_an_array_are_read_and_written_alone() {
    let device = gpu::device();
    let numbers: Vec<u32> = (0..1000).collect();
    let array = device.array_u32(&[10, 100], &numbers).unwrap();
    let read = |elements| pollster::block_on(device.read_part(&array, elements));
    assert_eq!(read(333..337).unwrap(), [333, 334, 335, 336]);
    device.write_part(&array, 998, &[7, 8]).unwrap();
    device.write_part(&array, 1, &[9]).unwrap();
    assert_eq!((read(0..3).unwrap(), read(997..1000).unwrap()), (vec![0, 9, 2], vec![997, 7, 8]));
    assert_eq!(read(5..5).unwrap(), [0; 0]);
    assert!(read(999..1001).is_err() && device.write_part(&array, 999, &[1, 2]).is_err());
    let floats = device.array(&[4], &[0.5, 1.5, 2.5, 3.5]).unwrap();
    assert_eq!(pollster::block_on(device.read_part(&floats, 1..3)).unwrap(), [1.5f32, 2.5].map(f32::to_bits));
}

/// Snapshots in parts of a run on the GPU go on there and on the CPU.
#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn new_rows_of_a_replay_memory_are_saved_and_restored() {
    let device = gpu::device();
    let text = "memory_size = 30\nbatch_size = 4\nhidden = [4]\nlearning_starts = 1\niteration_steps = 10";
    let mut session = training("sac", "pendulum").seeds(&[1, 2]).steps(100).set(text).session_on(&device);
    let mut segments = [BTreeMap::<String, Vec<u8>>::new(), BTreeMap::new()];
    let mut rings = [Vec::new(), Vec::new()];
    let mut files = [Vec::new(), Vec::new()];
    for _ in 0..5 {
        wait(session.step()).unwrap();
        let all = wait(session.snapshots()).unwrap();
        for index in 0..2 {
            let mut part = all.parts(index, &rings[index]).unwrap();
            let mut new = 0;
            while let Some(rows) = wait(part.rows()).unwrap() {
                new += rows.bytes.len();
                let segment = segments[index].entry(rows.segment).or_default();
                segment.truncate(rows.offset as usize);
                segment.extend(rows.bytes);
            }
            // Ten rows of nine numbers.
            assert_eq!(new, 360);
            (files[index], rings[index]) = wait(part.encode()).unwrap();
        }
    }
    let read = |index: usize| {
        let segments = &segments[index];
        move |name: &str, bytes: u64| Ok(segments[name][..bytes as usize].to_vec())
    };
    let readers = [read(0), read(1)];
    let saved = [0, 1].map(|index| Saved::in_parts(&files[index], &readers[index]));
    for other in [device.clone(), Device::cpu(1)] {
        let mut restored = Session::restore_saved(&other, Own::default(), &saved).unwrap();
        for (index, saved) in saved.iter().enumerate() {
            let whole = wait(session.snapshot(index)).unwrap();
            assert!(train::joined(Own::default(), *saved).unwrap() == whole);
            assert!(wait(restored.snapshot(index)).unwrap() == whole);
        }
        wait(restored.step()).unwrap();
    }
}

/// Declares a program on a memory of so many rows.
type Trace = fn(&mut Context, usize);

/// Bytes that the second of two runs of a program moves.
fn moved(device: &Device, rows: usize, trace: Trace) -> u64 {
    let mut state = State::new();
    state.insert("memory", device.zeros(&[rows, WIDTH], DType::F32).unwrap());
    let first = device.array_u32(&[256], &(0..256).map(|i| 7 * i + 3).collect::<Vec<u32>>()).unwrap();
    let new = device.array_f32(&[256, WIDTH], &[1.5; 256 * WIDTH]).unwrap();
    let mut program = Program::new(device, |cx| trace(cx, rows)).unwrap();
    let mut run = || {
        let before = program.counters();
        program.run(&state, &[("first", &first), ("rows", &new)], &[]).unwrap();
        (program.counters() - before).moved
    };
    let bytes = run();
    assert_eq!(bytes, run(), "each run costs the same");
    let memory = pollster::block_on(device.read_f32(state.get("memory").unwrap())).unwrap();
    assert!(memory.iter().any(|x| *x != 0.0), "nothing was stored");
    bytes
}

fn inputs(cx: &mut Context) -> (Tensor, Tensor) {
    (cx.input("first", &[256], DType::U32), cx.input("rows", &[256, WIDTH], DType::F32))
}

const ROW: u64 = 4 * WIDTH as u64;

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn rows_cost_the_same_in_small_and_large_memories() {
    let device = gpu::device();
    let stored: Trace = |cx, rows| {
        let (first, new) = inputs(cx);
        let memory = cx.bulk("memory", &[rows, WIDTH], DType::F32);
        cx.update("memory", memory.store(first, new));
    };
    let read: Trace = |cx, rows| {
        let (first, new) = inputs(cx);
        let memory = cx.bulk("memory", &[rows, WIDTH], DType::F32);
        cx.output("old", memory.gather(first));
        let memory = memory.store(first, new).store(first + Tensor::constant_u32(1), new * 2.0);
        cx.output("new", memory.gather(first));
        cx.update("memory", memory);
    };
    let looped: Trace = |cx, rows| {
        let (first, new) = inputs(cx);
        let memory = cx.bulk("memory", &[rows, WIDTH], DType::F32);
        let (carry, ys) = scan(20, false, &[memory, new], &[], |t, c, _| {
            let old = c[0].gather(first + t);
            let memory = c[0].store(first + t, c[1]);
            Loop { carry: vec![memory, c[1] + old], ys: vec![memory.gather(first)] }
        });
        cx.output("read", ys[0]);
        cx.update("memory", carry[0]);
    };
    for (name, trace) in [("stored", stored), ("read", read), ("looped", looped)] {
        let [small, large] = [10_000, 1_000_000].map(|rows| moved(&device, rows, trace));
        println!("{name}: {small} bytes");
        assert_eq!(small, large, "{name}");
        if name == "stored" {
            assert_eq!(small, 256 * ROW);
        }
    }
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn a_copy_of_a_whole_memory_is_counted() {
    let device = gpu::device();
    let trace: Trace = |cx, rows| {
        let (first, new) = inputs(cx);
        // Not declared as large, so that a copy is no error: two arrays are made of one.
        let memory = cx.state("memory", &[rows, WIDTH], DType::F32);
        cx.output("other", memory.store(first, new * 2.0).gather(first + Tensor::constant_u32(1)));
        cx.update("memory", memory.store(first, new));
    };
    let [small, large] = [10_000, 1_000_000].map(|rows| moved(&device, rows, trace));
    assert!(small >= 10_000 * ROW, "{small}");
    assert_eq!(large - small, 990_000 * ROW);
}
