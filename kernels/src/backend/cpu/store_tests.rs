//! Tests that `store` and `gather` on large arrays cost as much as the rows that they touch, and that old values stay
//! what they were.

use super::{Cpu, CpuOptions};
use crate::program::Program;
use crate::tensor::{Loop, scan};
use crate::{Context, DType, Device, State, Tensor};

const WIDTH: usize = 4;

/// Declares a program on a memory.
type Trace<'a> = &'a dyn Fn(&mut Context, Tensor);

fn devices() -> [Device; 3] {
    let options = |tiles, threads| CpuOptions { tiles, threads, ..Default::default() };
    [options(true, 1), options(true, 2), options(false, 1)].map(|options| Device::new(Cpu::new(options)))
}

fn read(device: &Device, array: &crate::Array) -> Vec<f32> {
    pollster::block_on(device.read_f32(array)).unwrap()
}

/// Bytes that the second of two runs of a program moves; and the memory afterwards, which was zeros.
fn moved(device: &Device, rows: usize, f: Trace<'_>) -> (u64, Vec<f32>) {
    let mut state = State::new();
    state.insert("memory", device.zeros(&[rows, WIDTH], DType::F32).unwrap());
    let mut program = Program::new(device, |cx| {
        let memory = cx.bulk("memory", &[rows, WIDTH], DType::F32);
        f(cx, memory);
    })
    .unwrap();
    let mut run = || {
        let before = program.counters();
        program.run(&state, &[], &[("first", 3.into())]).unwrap();
        (program.counters() - before).moved
    };
    let first = run();
    assert_eq!(first, run(), "each run costs the same");
    (first, read(device, state.get("memory").unwrap()))
}

/// Numbers of rows, from `first` on, of `count` rows with these contents.
fn numbered(cx: &mut Context, count: usize) -> [Tensor; 2] {
    let word = Tensor::constant_u32;
    let at = Tensor::iota(&[count], 0) * word(7) + cx.scalar_u32("first");
    let rows = (Tensor::iota(&[count, WIDTH], 0) * word(WIDTH as u32) + Tensor::iota(&[count, WIDTH], 1)).to_f32();
    [at, rows + 1.0]
}

#[test]
fn rows_cost_the_same_in_small_and_large_memories() {
    let once = |cx: &mut Context, memory: Tensor| {
        let [at, rows] = numbered(cx, 256);
        cx.output("old", memory.gather(at));
        let memory = memory.store(at, rows).store(at + Tensor::constant_u32(1), rows * 2.0);
        cx.output("new", memory.gather(at));
        cx.update("memory", memory);
    };
    let looped = |cx: &mut Context, memory: Tensor| {
        let [at, rows] = numbered(cx, 3);
        let (carry, ys) = scan(20, false, &[memory, rows], &[], |t, c, _| {
            let old = c[0].gather(at + t);
            let memory = c[0].store(at + t, c[1]);
            Loop { carry: vec![memory, c[1] + old], ys: vec![memory.gather(at)] }
        });
        cx.output("read", ys[0]);
        cx.update("memory", carry[0]);
    };
    let nested = |cx: &mut Context, memory: Tensor| {
        let [at, rows] = numbered(cx, 1);
        let (carry, _) = scan(4, false, &[memory], &[], |i, c, _| {
            let (carry, _) = scan(5, false, c, &[], |t, c, _| {
                let at = at + i * Tensor::constant_u32(5) + t;
                Loop { carry: vec![c[0].store(at, rows)], ys: Vec::new() }
            });
            Loop { carry, ys: Vec::new() }
        });
        cx.update("memory", carry[0]);
    };
    let before_a_loop = |cx: &mut Context, memory: Tensor| {
        let [at, rows] = numbered(cx, 1);
        let memory = memory.store(at + Tensor::constant_u32(3), rows);
        let (carry, _) = scan(4, false, &[memory.store(at + Tensor::constant_u32(4), rows)], &[], |i, c, _| {
            let at = at + i * Tensor::constant_u32(5);
            let (carry, _) = scan(5, false, &[c[0].store(at, rows * 2.0)], &[], |t, c, _| Loop {
                carry: vec![c[0].store(at + t, rows + c[0].gather(at))],
                ys: Vec::new(),
            });
            Loop { carry, ys: Vec::new() }
        });
        cx.update("memory", carry[0]);
    };
    let cases: [(&str, Trace<'_>); 4] =
        [("once", &once), ("looped", &looped), ("nested", &nested), ("before a loop", &before_a_loop)];
    for device in devices() {
        for (name, f) in cases {
            let (small, few) = moved(&device, 10_000, f);
            let (large, many) = moved(&device, 1_000_000, f);
            assert_eq!(small, large, "{name}");
            assert_eq!(few[..], many[..few.len()], "{name}");
            assert!(few.iter().any(|x| *x != 0.0) && many[few.len()..].iter().all(|x| *x == 0.0), "{name}");
        }
    }
}

#[test]
fn an_old_value_that_is_read_later_stays_what_it_was() {
    for device in devices() {
        let mut state = State::new();
        state.insert("memory", device.zeros(&[5, 2], DType::F32).unwrap());
        let mut program = Program::new(&device, |cx| {
            let memory = cx.state("memory", &[5, 2], DType::F32);
            let at = Tensor::literal_u32(&[1, 3]);
            let rows = Tensor::literal_f32(&[1.0, 2.0, 3.0, 4.0]).reshape(&[2, 2]);
            let new = memory.store(at, rows);
            // Two arrays of one: neither may happen in the memory of the other.
            let other = memory.store(at, rows * 10.0);
            cx.output("difference", other - new);
            cx.output("old", memory.sum_keep(0));
            cx.update("memory", new);
            // In a loop, the carry before each step is stacked.
            let (_, ys) = scan(2, false, &[memory], &[], |_, c, _| Loop {
                carry: vec![c[0] + c[0].store(at, rows)],
                ys: vec![c[0].sum_keep(0)],
            });
            cx.output("sums", ys[0]);
        })
        .unwrap();
        for run in 0..2 {
            let out = program.run(&state, &[], &[]).unwrap();
            let get = |name: &str| read(&device, out.get(name).unwrap());
            let once = [0.0, 0.0, 1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0];
            assert_eq!(get("difference"), once.map(|x| x * 9.0));
            assert_eq!(get("old"), if run == 0 { [0.0, 0.0] } else { [4.0, 6.0] });
            let sums = if run == 0 { [0.0, 0.0, 4.0, 6.0] } else { [4.0, 6.0, 8.0, 12.0] };
            assert_eq!(get("sums"), sums);
            assert_eq!(read(&device, state.get("memory").unwrap()), once);
        }
    }
}
