//! Programs on memories of rows, and what they take: the same for the CPU
//! (`core/benches/memory.rs`) and for GPUs (`gpu/benches/memory.rs`).

#[path = "harness.rs"]
mod harness;

use std::time::Duration;

use criterion::Criterion;
use harness::least;
use quickstudy_core::dist::fold_in;
use quickstudy_core::tensor::{Loop, scan};
use quickstudy_core::{DType, Device, Program, State, Tensor};

/// Numbers of a row: two observations, an action, a reward and an end, of a robot.
pub const WIDTH: usize = 40;
/// Rows of the small and of the large memory.
pub const SIZES: [usize; 2] = [10_000, 1_000_000];
/// Steps of the loops.
const STEPS: usize = 100;

/// One thing to time on a memory of so many rows.
struct Case {
    name: &'static str,
    make: fn(&Device, usize) -> Run,
}

/// A program with its memory.
struct Run {
    device: Device,
    program: Program,
    state: State,
}

impl Run {
    /// Runs once and waits for it.
    fn run(&mut self) {
        let out = self.program.run(&self.state, &[], &[]).expect("a run");
        let read = out.get("read").expect("an output");
        std::hint::black_box(pollster::block_on(self.device.read_f32(read)).expect("a number"));
    }

    /// Bytes that all runs have moved.
    fn moved(&self) -> u64 {
        self.program.counters().moved
    }
}

/// Numbers of `count` random rows of so many, another draw for each `t`.
fn random_rows(t: Tensor, count: usize, rows: usize) -> Tensor {
    let word = Tensor::constant_u32;
    let key = fold_in([word(1).broadcast_to(&[1, 1]), word(2).broadcast_to(&[1, 1])], t);
    let index = Tensor::iota(&[1, count], 1).permutation(key, rows);
    index.reshape(&[count])
}

/// A loop over time that changes a memory by `step` and sums up what `step` reads.
fn looped(device: &Device, rows: usize, step: impl Fn(Tensor, Tensor) -> (Tensor, Tensor)) -> Run {
    let mut state = State::new();
    state.insert("memory", device.zeros(&[rows, WIDTH], DType::F32).expect("memory"));
    let program = Program::new(device, |cx| {
        let memory = cx.bulk("memory", &[rows, WIDTH], DType::F32);
        let (carry, _) = scan(STEPS, false, &[memory, Tensor::zeros(&[1])], &[], |t, c, _| {
            let (memory, read) = step(c[0], t);
            Loop { carry: vec![memory, c[1] + read], ys: Vec::new() }
        });
        cx.update("memory", carry[0]);
        cx.output("read", carry[1]);
    })
    .expect("a program");
    Run { device: device.clone(), program, state }
}

fn store(count: usize, device: &Device, rows: usize) -> Run {
    looped(device, rows, move |memory, t| {
        let index = random_rows(t, count, rows);
        let new = t.to_f32().broadcast_to(&[count, WIDTH]);
        (memory.store(index, new), Tensor::zeros(&[1]))
    })
}

/// The cases that are measured.
fn cases() -> [Case; 3] {
    [
        Case { name: "store 1 row", make: |device, rows| store(1, device, rows) },
        Case { name: "store 256 rows", make: |device, rows| store(256, device, rows) },
        Case {
            name: "gather 256 rows",
            make: |device, rows| {
                looped(device, rows, move |memory, t| {
                    let read = memory.gather(random_rows(t, 256, rows));
                    (memory, read.sum_all().reshape(&[1]))
                })
            },
        },
    ]
}

/// Measures them on memories of these sizes.
pub fn run(device: &Device, sizes: [usize; 2]) {
    let benches = |c: &mut Criterion| {
        for case in cases() {
            let mut group = c.benchmark_group(case.name);
            for rows in sizes {
                let mut run = (case.make)(device, rows);
                group.bench_function(format!("of {rows}"), |b| b.iter(|| run.run()));
            }
            group.finish();
        }
    };
    harness::run(benches, |_| table(device, sizes));
}

/// Prints the least time of a step on memories of these sizes, taken in turns, and the bytes that it moves.
fn table(device: &Device, sizes: [usize; 2]) {
    println!("{}", device.caps().name);
    println!(
        "{:<20}{:>14}{:>14}{:>8}{:>14}{:>14}",
        "µs, bytes per step", sizes[0], sizes[1], "ratio", "bytes", "bytes"
    );
    for case in cases() {
        let mut runs = sizes.map(|rows| (case.make)(device, rows));
        runs.iter_mut().for_each(Run::run);
        let moved = runs.each_ref().map(|run| run.moved() / STEPS as u64);
        let [small, large] = &mut runs;
        let least = least([&mut || small.run(), &mut || large.run()], Duration::from_secs(3));
        let least = least.map(|seconds| seconds * 1e6 / STEPS as f64);
        let ratio = least[1] / least[0];
        println!("{:<20}{:>14.2}{:>14.2}{ratio:>8.2}{:>14}{:>14}", case.name, least[0], least[1], moved[0], moved[1]);
    }
}
