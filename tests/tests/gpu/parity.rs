//! The GPU against the reference and the CPU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::{Device, Program, env};
use quickstudy_gpu::{GpuOptions, KernelLimits, Plan, PlanOptions, shaders};
use quickstudy_tests::gpu;
use quickstudy_tests::random_graph::{Report, Scale, Way, check, generate};
use quickstudy_tests::single_task_names;
use quickstudy_tests::trainings::{distance, theta, training, wait};

/// `tiled`: large products by way of workgroup memory, and small kernels in turn, also where that is slower.
fn gpu(tiled: bool) -> Device {
    let (on, chains) = (Some(tiled), Some(false));
    Device::new(gpu::open(&GpuOptions { tiled: on, runs: on, chains, ..GpuOptions::default() }))
}

fn random_programs(seeds: std::ops::Range<u64>, scale: Scale, tiled: bool) {
    let device = gpu(tiled);
    let slack = gpu::slack(&device);
    let ways = [Way { name: "gpu".to_owned(), device, slack }];
    let mut report = Report::default();
    let (count, mut in_tiles) = (seeds.end - seeds.start, 0);
    for seed in seeds {
        let recipe = generate(seed, scale);
        if tiled {
            let options = PlanOptions { chains: None, ..PlanOptions::default() };
            let plan = Plan::new(Program::trace_of(|cx| recipe.trace(cx)).unwrap(), &options).unwrap();
            let texts = shaders(&plan, KernelLimits::default()).unwrap();
            in_tiles += u64::from(texts.iter().any(|text| text.contains("vectors1")));
        }
        match check(&recipe, &ways) {
            Ok(r) => report.add(r),
            Err(failure) => panic!("seed {seed}, {scale:?}: {failure}\n{recipe}"),
        }
    }
    println!("{report:?}, {in_tiles} programs with products in tiles");
    assert!(report.tight * 10 > report.elements * 9, "{report:?}");
    assert!(scale != Scale::Products || in_tiles * 2 > count, "only {in_tiles} of {count} have products in tiles");
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn random_programs_stay_within_their_bounds_0() {
    random_programs(0..60, Scale::Small, false);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn random_programs_stay_within_their_bounds_1() {
    random_programs(150..210, Scale::Small, true);
}

#[test]
#[ignore = "half a minute on a software adapter: scripts/second-tier.sh"]
fn further_random_programs_stay_within_their_bounds() {
    random_programs(60..150, Scale::Small, false);
    random_programs(210..300, Scale::Small, true);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn random_programs_of_many_rows_stay_within_their_bounds() {
    random_programs(0..20, Scale::Rows, false);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn random_programs_of_large_products_stay_within_their_bounds() {
    random_programs(0..20, Scale::Products, true);
}

const SMALL: &str = "envs = 16\nhorizon = 8\nepochs = 1\nminibatches = 1\nhidden = [64, 64]\n";

/// Environments whose iteration is compared by default: steps of each are, in `env`.
const BY_DEFAULT: [&str; 3] = ["cartpole", "pendulum", "hopper"];

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn an_iteration_of_ppo_is_that_of_the_cpu() {
    an_iteration_of_ppo(false, BY_DEFAULT);
}

#[test]
#[ignore = "two minutes on a software adapter: scripts/second-tier.sh"]
fn an_iteration_of_ppo_is_that_of_the_cpu_on_all_other_environments() {
    an_iteration_of_ppo(false, single_task_names().into_iter().filter(|name| !BY_DEFAULT.contains(name)));
}

/// Environments are compiled as without shared operands, so that a few of them will do.
#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn an_iteration_of_ppo_with_shared_operands_is_that_of_the_cpu() {
    an_iteration_of_ppo(true, BY_DEFAULT);
}

fn an_iteration_of_ppo(tiled: bool, envs: impl IntoIterator<Item = &'static str>) {
    let gpu = gpu(tiled);
    let cpu = Device::cpu(1);
    for name in envs {
        let mut settings = SMALL.to_owned();
        if env::builtin(name).unwrap().spec().action.choices().is_none() {
            settings.push_str("normalise_observations = true\nnormalise_rewards = true\n");
        }
        let (mut a, mut b) = (
            training("ppo", name).seeds(&[3, 4]).steps(4096).set(&settings).session_on(&gpu),
            training("ppo", name).seeds(&[3, 4]).steps(4096).set(&settings).session_on(&cpu),
        );
        let first = theta(&b, 0);
        assert_eq!(theta(&a, 0), first, "{name}: initial parameters");
        let rows = (wait(a.step()), wait(b.step()));
        let (on_gpu, on_cpu) = (theta(&a, 0), theta(&b, 0));
        assert!(distance(&on_cpu, &first) > 1e-4, "{name}: nothing was learnt");
        let apart = distance(&on_gpu, &on_cpu);
        println!("{name}: parameters {apart:e} apart");
        assert!(apart <= 1e-5, "{name}: parameters are {apart:e} apart");
        for ((key, x), (_, y)) in rows.0[0].iter().zip(&rows.1[0]) {
            let same = (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-4 * (1.0 + y.abs());
            assert!(same, "{name}: {key} is {x} on the GPU and {y} on the CPU");
        }
    }
}
