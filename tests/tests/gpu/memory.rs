//! Large entries of a state on the GPU: rows are changed where they are, and are those of the CPU. Skipped without a GPU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::tensor::{Loop, scan};
use quickstudy_core::{Context, DType, Device, Program, State, Tensor};
use quickstudy_tests::gpu;

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
fn rows_of_a_large_memory_are_those_of_the_cpu() {
    let expected = played(&Device::cpu(1));
    assert!(expected.contains(&5.5), "nothing was stored");
    let Some(device) = gpu::device() else { return };
    assert!(played(&device) == expected);
}
