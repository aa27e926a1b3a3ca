//! Chains: rows and sums over them, tile by tile in workgroup memory.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::{Device, Program};
use quickstudy_gpu::{GpuOptions, Kernel, KernelSchedule, Kind, Plan};
use quickstudy_tests::gpu;
use quickstudy_tests::random_graph::{Report, Scale, Way, check, generate};
use quickstudy_tests::trainings::{distance, snapshots, theta, training, wait};

/// A GPU with chains, also where that is slower.
fn with_chains() -> Device {
    Device::new(gpu::open(&GpuOptions { chains: Some(true), ..GpuOptions::default() }))
}

/// Chains of a plan, those in loops included.
fn chains(schedule: &KernelSchedule) -> usize {
    let inside = |kernel: &Kernel| kernel.body.as_ref().map_or(0, |body| chains(body));
    schedule.kernels.iter().map(|kernel| usize::from(kernel.kind == Kind::Chain) + inside(kernel)).sum()
}

/// An algorithm's iterations that are compared.
struct Case {
    algorithm: &'static str,
    env: &'static str,
    settings: &'static str,
    iterations: usize,
}

const CASES: &[Case] = &[
    Case {
        algorithm: "ppo",
        env: "cartpole",
        settings: "envs = 6\nhorizon = 11\nepochs = 2\nminibatches = 2\nhidden = [64, 64]",
        iterations: 1,
    },
    Case {
        algorithm: "ppo",
        env: "pendulum",
        settings: "envs = 16\nhorizon = 8\nepochs = 1\nminibatches = 1\nnormalise_observations = true\n\
                   normalise_rewards = true",
        iterations: 1,
    },
    Case {
        algorithm: "sac",
        env: "pendulum",
        settings: "hidden = [64, 64]\nbatch_size = 50\niteration_steps = 20\nlearning_starts = 20",
        iterations: 2,
    },
    Case {
        algorithm: "td3",
        env: "pendulum",
        settings: "hidden = [64, 64]\nbatch_size = 50\niteration_steps = 20\nlearning_starts = 20",
        iterations: 2,
    },
];

fn plan_of(case: &Case, seeds: &[u64]) -> Plan {
    gpu::plan(training(case.algorithm, case.env).seeds(seeds).set(case.settings).setup().trace().unwrap())
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn iterations_are_those_of_the_cpu() {
    let (gpu, cpu) = (with_chains(), Device::cpu(1));
    for case in CASES {
        for seeds in [&[3][..], &[3, 4, 5]] {
            let what = format!("{} on {}, {} seeds", case.algorithm, case.env, seeds.len());
            let count = chains(&plan_of(case, seeds).schedule);
            assert!(count > 0, "{what}: no chain");
            let request = training(case.algorithm, case.env).seeds(seeds).steps(4096).set(case.settings);
            let (mut a, mut b) = (request.clone().session_on(&gpu), request.session_on(&cpu));
            let first = theta(&b, 0);
            for _ in 0..case.iterations {
                wait(a.step());
                wait(b.step());
            }
            for seed in 0..seeds.len() {
                let (on_gpu, on_cpu) = (theta(&a, seed), theta(&b, seed));
                let apart = distance(&on_gpu, &on_cpu);
                println!("{what}: {count} chains, parameters {apart:e} apart");
                assert!(distance(&on_cpu, &first) > 1e-4 && apart <= 1e-5, "{what}: {apart:e} apart");
            }
        }
    }
}

/// How many of the programs have chains.
fn random_programs(programs: impl Iterator<Item = (u64, Scale)>) -> usize {
    let device = with_chains();
    let slack = gpu::slack(&device);
    let ways = [Way { name: "gpu with chains".to_owned(), device, slack }];
    let (mut report, mut with) = (Report::default(), 0);
    for (seed, scale) in programs {
        let recipe = generate(seed, scale);
        let plan = gpu::plan(Program::trace_of(|cx| recipe.trace(cx)).unwrap());
        with += usize::from(chains(&plan.schedule) > 0);
        match check(&recipe, &ways) {
            Ok(found) => report.add(found),
            Err(failure) => panic!("seed {seed}, {scale:?}: {failure}\n{recipe}"),
        }
    }
    println!("{report:?}, {with} programs with chains");
    assert!(report.tight * 10 > report.elements * 9, "{report:?}");
    with
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn random_programs_stay_within_their_bounds() {
    let sizes = [(Scale::Small, 60), (Scale::Rows, 40), (Scale::Products, 10)];
    let with = random_programs(sizes.iter().flat_map(|(scale, n)| (1000..1000 + n).map(|seed| (seed, *scale))));
    assert!(with > 0);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn random_programs_of_chains_stay_within_their_bounds() {
    let with = random_programs((1000..1050).map(|seed| (seed, Scale::Chains)));
    assert!(with > 40, "only {with} programs have chains");
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn a_seed_alone_and_beside_others_has_the_same_bits_and_so_has_a_second_run() {
    let gpu = with_chains();
    for case in &CASES[..2] {
        let run = |seeds: &[u64]| {
            let mut session =
                training(case.algorithm, case.env).seeds(seeds).steps(4096).set(case.settings).session_on(&gpu);
            (0..case.iterations).for_each(|_| _ = wait(session.step()));
            (snapshots(&session), theta(&session, seeds.len() / 2))
        };
        let (alone, beside, again) = (run(&[4]), run(&[3, 4, 5]), run(&[4]));
        assert!(alone.0 == again.0, "{}: a second run differs", case.algorithm);
        let [a, b] = [&[4][..], &[3, 4, 5]].map(|seeds| chains(&plan_of(case, seeds).schedule));
        if a == b {
            assert!(alone.1 == beside.1, "{}: the seed's parameters depend on others", case.algorithm);
        }
    }
}
