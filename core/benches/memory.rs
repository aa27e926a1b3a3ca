//! Time to change and to read rows of a small and of a large memory, as off-policy learning does at each step.
//!
//! `cargo bench -p quickstudy-core --features bench --bench memory`. With `-- --table` it prints instead the least time
//! of many runs, which is steadier on a shared machine, and the ratio of the large memory to the small one. Random rows
//! of a large memory are not in the processor's caches, so that some of its time is theirs.

#[path = "cases/memory.rs"]
mod cases;

use criterion::Criterion;
use quickstudy_core::Device;

fn main() {
    let device = Device::cpu(1);
    if std::env::args().any(|arg| arg == "--table") {
        return cases::table(&device, cases::SIZES);
    }
    let mut criterion = Criterion::default().configure_from_args();
    for case in cases::cases() {
        let mut group = criterion.benchmark_group(case.name);
        for rows in cases::SIZES {
            let mut run = (case.make)(&device, rows);
            group.bench_function(format!("of {rows}"), |b| b.iter(|| run.run()));
        }
        group.finish();
    }
    criterion.final_summary();
}
