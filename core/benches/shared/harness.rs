//! How a bench is run: by criterion or, with `--table`, as a table of times that are steadier on a shared machine.

#![allow(dead_code, reason = "some tables are not of least times")]

use criterion::Criterion;
use std::time::{Duration, Instant};

/// Runs `benches` by criterion or, with `--table [ARGUMENT]`, prints the table of the argument.
pub fn run(benches: impl FnOnce(&mut Criterion), table: impl FnOnce(&str)) {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--table");
    if arguments.next().is_some() {
        return table(&arguments.next().filter(|argument| !argument.starts_with("--")).unwrap_or_default());
    }
    let mut criterion = Criterion::default().configure_from_args();
    benches(&mut criterion);
    criterion.final_summary();
}

/// Least seconds of a call of each: of runs of at least about 50 µs, by turns for so long.
pub fn least<const N: usize>(mut calls: [&mut dyn FnMut(); N], whole: Duration) -> [f64; N] {
    let time = |call: &mut dyn FnMut(), count: u32| {
        let start = Instant::now();
        (0..count).for_each(|_| call());
        start.elapsed().as_secs_f64() / f64::from(count)
    };
    let counts = calls.each_mut().map(|call| (50e-6 / time(call, 1)).clamp(1.0, 20_000.0) as u32);
    let (mut least, start) = ([f64::INFINITY; N], Instant::now());
    while start.elapsed() < whole {
        for ((call, count), least) in calls.iter_mut().zip(counts).zip(&mut least) {
            *least = least.min(time(call, count));
        }
    }
    least
}
