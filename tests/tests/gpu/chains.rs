//! Chains: rows and sums over them, tile by tile in workgroup memory.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::program::{Arg, Role};
use quickstudy_core::tensor::{Loop, scan};
use quickstudy_core::{Array, Context, DType, Device, Program, State, Tensor};
use quickstudy_gpu::{GpuOptions, Kernel, KernelLimits, KernelSchedule, Kind, Plan, shaders};
use quickstudy_tests::gpu;
use quickstudy_tests::random_graph::{
    self, Dice, Report, Scale, Subject, Way, check, check_program, declare, generate,
};
use quickstudy_tests::trainings::{distance, snapshots, theta, training, wait};

use crate::dispatches::product_of_maml_trpo;

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

const PPO: &[Case] = &[
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
        algorithm: "ppo",
        env: "hopper",
        settings: "envs = 3\nhorizon = 10\nepochs = 1\nminibatches = 1\nhidden = [64, 64]\n\
                   normalise_observations = true\nnormalise_rewards = true",
        iterations: 1,
    },
    Case {
        algorithm: "ppo",
        env: "pendulum",
        settings: "envs = 5\nhorizon = 9\nepochs = 1\nminibatches = 1\nsde = true",
        iterations: 1,
    },
];

/// Algorithms that learn from what they remember.
const REPLAY: &[Case] = &[
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
    Case {
        algorithm: "dqn",
        env: "cartpole",
        settings: "hidden = [64, 64]\nbatch_size = 50\niteration_steps = 20\nlearning_starts = 20\ntrain_freq = 4\n\
                   gradient_steps = 1",
        iterations: 2,
    },
];

/// Algorithms that learn to adapt.
const META: &[Case] = &[
    Case {
        algorithm: "rl2-ppo",
        env: "bandit",
        settings: "meta_batch = 4\nepochs = 1\nminibatches = 1\nunits = 16",
        iterations: 1,
    },
    Case {
        algorithm: "promp",
        env: "point-corner",
        settings: "meta_batch = 3\nrollouts = 2\nhorizon = 9\nouter_steps = 1\nbaseline = \"zero\"\nhidden = [24]",
        iterations: 1,
    },
];

fn plan_of(case: &Case, seeds: &[u64]) -> Plan {
    gpu::plan(training(case.algorithm, case.env).seeds(seeds).set(case.settings).setup().trace().unwrap())
}

fn compare_with_cpu(cases: &[Case]) {
    let (gpu, cpu) = (with_chains(), Device::cpu(1));
    for case in cases {
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

#[test]
fn chains_bind_no_more_buffers_than_they_may_where_results_are_views() {
    for more in 0..6 {
        let trace = Program::trace_of(|cx| {
            let (x, theta) = (cx.input("x", &[1, 33, 5], DType::F32), cx.state("theta", &[1, 36], DType::F32));
            let (w, b) = (theta.slice(1, 0, 30).reshape(&[1, 5, 6]), theta.slice(1, 30, 36).reshape(&[1, 1, 6]));
            let y = x.matmul(w) + b;
            let g = (0..more).fold(y.tanh(), |g, i| g * cx.input(&format!("more{i}"), &[1, 33, 6], DType::F32));
            let parts = [x.matmul_with(g, true, false).reshape(&[1, 30]), g.sum_keep(1).reshape(&[1, 6])];
            cx.update("theta", theta - Tensor::concat(&parts, 1) * 0.1);
            cx.output("y", y.reshape(&[33, 6]));
            cx.output("g", g.reshape(&[33 * 6]));
        });
        let plan = gpu::plan(trace.unwrap());
        shaders(&plan, KernelLimits::default()).unwrap_or_else(|error| panic!("{error}\n{plan}"));
        // Two arguments, two results and parts of sums are five buffers.
        assert_eq!(chains(&plan.schedule), usize::from(more <= 3), "{more}\n{plan}");
    }
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn iterations_of_ppo_are_those_of_the_cpu() {
    compare_with_cpu(PPO);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn iterations_with_replay_are_those_of_the_cpu() {
    compare_with_cpu(REPLAY);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn iterations_of_meta_learning_are_those_of_the_cpu() {
    compare_with_cpu(META);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn the_product_of_maml_trpo_is_that_of_the_cpu_and_has_the_same_bits_again() {
    let trace = |cx: &mut Context| product_of_maml_trpo(cx, [3, 200]);
    let count = chains(&gpu::plan(Program::trace_of(trace).unwrap()).schedule);
    let run = |device: &Device| {
        let mut program = Program::new(device, trace).unwrap();
        let mut dice = Dice::new(3);
        let mut input = |arg: &Arg| {
            let least = if arg.name.ends_with("weight") { 0.5 } else { 0.0 };
            let values: Vec<f64> = (0..arg.shape.iter().product()).map(|_| least + dice.real(0.3)).collect();
            (arg.name.clone(), device.array(&arg.shape, &values).unwrap())
        };
        let inputs = program.trace().args.iter().filter(|arg| arg.role == Role::Input).map(&mut input);
        let inputs: Vec<(String, Array)> = inputs.collect();
        let inputs: Vec<(&str, &Array)> = inputs.iter().map(|(name, array)| (name.as_str(), array)).collect();
        let outputs = program.run(&State::new(), &inputs, &[]).unwrap();
        wait(device.read(outputs.get("result").unwrap()))
    };
    let gpu = with_chains();
    let (on_gpu, on_cpu) = (run(&gpu), run(&Device::cpu(1)));
    let apart = distance(&on_gpu, &on_cpu);
    println!("{count} chains, {} numbers, {apart:e} apart", on_cpu.len());
    assert!(count > 0 && apart <= 1e-5, "{count} chains, {apart:e} apart");
    assert!(run(&gpu) == on_gpu, "a second run differs");
}

/// A program run twice: it must have the same bits.
fn twice() -> [Way; 2] {
    let device = with_chains();
    let slack = gpu::slack(&device);
    ["first", "again"].map(|name| Way { name: name.to_owned(), device: device.clone(), slack })
}

/// How many of the programs have chains.
fn random_programs(programs: impl Iterator<Item = (u64, Scale)>) -> usize {
    let ways = twice();
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
    for case in &PPO[..2] {
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

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn chains_inside_of_loops_stay_within_their_bounds() {
    let ways = twice();
    let mut dice = Dice::new(8);
    // Groups, rows, widths, and turns of an inner loop if there is one. With most rows workgroups have several tiles.
    let sizes =
        [(1, 33, [5, 64], 1), (2, 70, [16, 7], 1), (1, 4101, [3, 4], 1), (3, 17, [9, 12], 3), (1, 5, [3, 40], 2)];
    for (s, r, [d, e], turns) in sizes {
        for reverse in [false, true] {
            let shapes = [vec![s, d * e + e], vec![2, s, r, d], vec![s, r, e]];
            let kinds = [random_graph::Kind::State, random_graph::Kind::Input, random_graph::Kind::Input];
            let args = kinds.into_iter().zip(shapes).map(|(kind, shape)| {
                let values = (0..shape.iter().product()).map(|_| dice.real(1.0)).collect();
                random_graph::Arg { kind, shape, dtype: DType::F32, values }
            });
            let args: Vec<random_graph::Arg> = args.collect();
            let trace = |cx: &mut Context| {
                let [theta, xs, wanted] = declare(&args, cx)[..] else { unreachable!() };
                let step = |theta: Tensor, x: Tensor| {
                    let w = theta.slice(1, 0, d * e).reshape(&[s, d, e]);
                    let b = theta.slice(1, d * e, d * e + e).reshape(&[s, 1, e]);
                    let y = (x.matmul(w) + b).tanh();
                    let g = (y - wanted) * (1.0 - y * y);
                    let parts = [x.matmul_with(g, true, false).reshape(&[s, d * e]), g.sum_keep(1).reshape(&[s, e])];
                    (theta - Tensor::concat(&parts, 1) * (0.5 / r as f64), y)
                };
                let (carry, ys) = scan(2, reverse, &[theta], &[xs], |_, carry, x| {
                    let (mut theta, mut y) = step(carry[0], x[0]);
                    if turns > 1 {
                        let (inner, all) = scan(turns, false, &[theta], &[], |_, carry, _| {
                            let (theta, y) = step(carry[0], x[0]);
                            Loop { carry: vec![theta], ys: vec![y] }
                        });
                        (theta, y) = (inner[0], y + all[0].sum_keep(0).reshape(&[s, r, e]));
                    }
                    Loop { carry: vec![theta], ys: vec![y, theta] }
                });
                cx.update("a0", carry[0]);
                ys.iter().enumerate().for_each(|(i, y)| cx.output(&format!("out{i}"), *y));
            };
            let count = chains(&gpu::plan(Program::trace_of(trace).unwrap()).schedule);
            let found = check_program(Subject { args: &args, trace: &trace }, &ways);
            println!("{s} groups of {r} rows: {count} chains, {found:?}");
            assert!(found.is_ok_and(|found| found.tight * 10 > found.elements * 9));
            assert_eq!(count, if turns > 1 { 2 } else { 1 });
        }
    }
}
