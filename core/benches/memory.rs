//! Time to change and to read rows of a small and of a large memory, as off-policy learning does at each step.
//!
//! `cargo bench -p quickstudy-core --features bench --bench memory`. With `-- --table` it prints instead the least time of many runs, which
//! is steadier on a shared machine, and the ratio of the large memory to the small one. Random rows of a large memory are not in the
//! processor's caches, so that some of its time is theirs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::Criterion;
use quickstudy_core::dist::fold_in;
use quickstudy_core::tensor::{Loop, scan};
use quickstudy_core::{DType, Device, Program, State, Tensor};

/// Numbers of a row: two observations, an action, a reward and an end, of a robot.
const WIDTH: usize = 40;
/// Rows of the small and of the large memory.
const SIZES: [usize; 2] = [10_000, 1_000_000];
/// Steps of the loops.
const STEPS: usize = 100;

/// One thing to time on a memory of `rows` rows.
struct Case {
    name: &'static str,
    make: fn(&Device, usize) -> Box<dyn FnMut()>,
}

/// Numbers of `count` random rows of so many, another draw for each `t`.
fn random_rows(t: Tensor, count: usize, rows: usize) -> Tensor {
    let word = Tensor::constant_u32;
    let key = fold_in([word(1).broadcast_to(&[1, 1]), word(2).broadcast_to(&[1, 1])], t);
    let index = Tensor::iota(&[1, count], 1).permutation(key, rows);
    index.reshape(&[count])
}

/// A loop over time that changes a memory by `step` and sums up what `step` reads.
fn looped(
    device: &Device,
    rows: usize,
    step: impl Fn(Tensor, Tensor) -> (Tensor, Tensor) + 'static,
) -> Box<dyn FnMut()> {
    let mut state = State::new();
    state.insert("memory", device.zeros(&[rows, WIDTH], DType::F32).expect("memory"));
    let mut program = Program::new(device, |cx| {
        let memory = cx.bulk("memory", &[rows, WIDTH], DType::F32);
        let (carry, _) = scan(STEPS, false, &[memory, Tensor::zeros(&[1])], &[], |t, c, _| {
            let (memory, read) = step(c[0], t);
            Loop { carry: vec![memory, c[1] + read], ys: Vec::new() }
        });
        cx.update("memory", carry[0]);
        cx.output("read", carry[1]);
    })
    .expect("a program");
    Box::new(move || {
        black_box(program.run(&state, &[], &[]).expect("a run"));
    })
}

fn store(count: usize, device: &Device, rows: usize) -> Box<dyn FnMut()> {
    looped(device, rows, move |memory, t| {
        let index = random_rows(t, count, rows);
        let new = t.to_f32().broadcast_to(&[count, WIDTH]);
        (memory.store(index, new), Tensor::zeros(&[1]))
    })
}

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

fn table() {
    let device = Device::cpu(1);
    println!("{:<20}{:>16}{:>16}{:>10}", "µs per step", SIZES[0], SIZES[1], "ratio");
    for case in cases() {
        let mut least = [f64::INFINITY; 2];
        let mut runs = SIZES.map(|rows| (case.make)(&device, rows));
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(3) {
            for (run, least) in runs.iter_mut().zip(&mut least) {
                let start = Instant::now();
                run();
                *least = least.min(start.elapsed().as_secs_f64() * 1e6 / STEPS as f64);
            }
        }
        println!("{:<20}{:>16.2}{:>16.2}{:>10.2}", case.name, least[0], least[1], least[1] / least[0]);
    }
}

fn main() {
    if std::env::args().any(|arg| arg == "--table") {
        return table();
    }
    let mut criterion = Criterion::default().configure_from_args();
    let device = Device::cpu(1);
    for case in cases() {
        let mut group = criterion.benchmark_group(case.name);
        for rows in SIZES {
            let mut run = (case.make)(&device, rows);
            group.bench_function(format!("of {rows}"), |b| b.iter(&mut run));
        }
        group.finish();
    }
    criterion.final_summary();
}
