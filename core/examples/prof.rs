//! prof ALG ENV SETTINGS ITERATIONS REPEATS
#![allow(unsafe_code, clippy::unwrap_used, missing_docs)]
use quickstudy_core::backend::Device;
use quickstudy_core::env::builtin;
use quickstudy_core::train::{Layer, Session, Setup};
fn cpu_time() -> f64 {
    let s = std::fs::read_to_string("/proc/self/schedstat").unwrap();
    s.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let settings = a[3].replace(';', "\n").parse().unwrap();
    let layer = Layer { origin: "prof".to_owned(), settings };
    let alg = quickstudy_core::train::ALGORITHMS.iter().find(|d| d.name == a[1]).unwrap();
    let steps: Option<u64> = a.get(6).map(|s| s.parse().unwrap());
    let setup = Setup::resolve(
        *alg,
        builtin(&a[2]).unwrap(),
        &(0..std::env::var("SEEDS").map_or(1, |s| s.parse().unwrap())).collect::<Vec<u64>>(),
        Some(steps.unwrap_or(1 << 20)),
        &[layer],
    )
    .unwrap();
    let device = Device::cpu(1);
    let mut session = Session::new(&device, &setup).unwrap();
    if std::env::var("DUMP").is_ok() {
        println!("{}", session.program().dump());
    }
    let (n, reps): (u64, usize) = (a[4].parse().unwrap(), a[5].parse().unwrap());
    for _ in 0..3 {
        pollster::block_on(session.step()).unwrap();
    }
    let mut best = f64::INFINITY;
    let mut all = Vec::new();

    let mut total = 0;
    for _ in 0..reps {
        let (t0, s0) = (cpu_time(), session.env_steps());
        for _ in 0..n {
            pollster::block_on(session.step()).unwrap();
            total += 1;
        }
        let per = (cpu_time() - t0) / (session.env_steps() - s0) as f64;
        best = best.min(per);
        all.push(per);
    }
    let digest = pollster::block_on(session.snapshot(0))
        .unwrap()
        .iter()
        .fold(0u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(*b)));
    println!("digest {digest:x}");
    let _ = total;
    all.sort_by(f64::total_cmp);
    println!(
        "best {:.1} steps/s, median {:.1}; flops/iteration {:.3e}, steps/iteration {}",
        1.0 / best,
        1.0 / all[all.len() / 2],
        session.program().plan().flops().total() as f64,
        setup.batch()
    );
}
