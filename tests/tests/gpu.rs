//! The GPU against the reference.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::program::PlanOptions;
use quickstudy_gpu::{Gpu, GpuOptions};
use quickstudy_tests::random_graph::{Scale, Way, check, generate};

fn device() -> Option<Device> {
    match pollster::block_on(Gpu::device(&GpuOptions::default())) {
        Ok(device) => Some(device),
        Err(e) if std::env::var_os("QUICKSTUDY_REQUIRE_GPU").is_some() => panic!("a GPU is required: {e}"),
        Err(e) => {
            println!("skipped: {e}");
            None
        }
    }
}

fn run(seeds: std::ops::Range<u64>, scale: Scale) {
    let Some(device) = device() else { return };
    let ways = [Way { name: "gpu".to_owned(), device, options: PlanOptions::default() }];
    let mut failed = 0;
    for seed in seeds.clone() {
        let recipe = generate(seed, scale);
        if let Err(failure) = check(&recipe, &ways) {
            failed += 1;
            if failed <= 40 {
                println!("seed {seed}: {}", failure.to_string().chars().take(300).collect::<String>());
            }
        }
    }
    assert_eq!(failed, 0, "of {}", seeds.end - seeds.start);
}

#[test]
fn random_programs() {
    let n = std::env::var("N").map_or(100, |n| n.parse().unwrap());
    run(0..n, Scale::Small);
}
