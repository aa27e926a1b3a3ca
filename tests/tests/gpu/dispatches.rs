//! How many dispatches programs take on a GPU with as many buffers as any browser binds; none is needed for it.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::algo::td3;
use quickstudy_core::algo::{Ppo, PpoConfig, Sac, SacConfig, Sampling, Td3Config, Training};
use quickstudy_core::dist::Gaussian;
use quickstudy_core::env;
use quickstudy_core::grad::value_and_grad;
use quickstudy_core::meta::{Learner, MamlConfig, MetaLoss, Objective, Phase, Variant};
use quickstudy_core::policy::Distribution;
use quickstudy_core::settings::Settings as _;
use quickstudy_core::tensor::Op;
use quickstudy_core::train::{ALGORITHMS, Setup, evaluation_trace, presets};
use quickstudy_core::{Context, DType, Program, Tensor};
use quickstudy_gpu::predict::kernels;
use quickstudy_gpu::{KernelLimits, Kind, Plan, PlanOptions, dispatches};
use quickstudy_tests::gpu::plan;
use quickstudy_tests::single_task_names;
use quickstudy_tests::trainings::{training, training_on};

/// Dispatches of each loop of so many steps, in order, and of the whole plan.
fn loops(plan: &Plan, bindings: usize) -> (Vec<(usize, usize)>, usize) {
    let counts = dispatches(plan, KernelLimits { bindings, ..KernelLimits::default() }).unwrap();
    let steps = |nodes: &[u32]| match &plan.trace.graph.nodes[nodes[0] as usize].op {
        Op::Scan(scan) => scan.len,
        _ => 0,
    };
    let scans = plan.schedule.kernels.iter().zip(&counts).filter(|(kernel, _)| kernel.kind == Kind::Scan);
    (scans.map(|(kernel, count)| (steps(&kernel.nodes), *count)).collect(), counts.iter().sum())
}

/// Settings as they are, and with all that adds state.
fn settings(continuous: bool) -> [PpoConfig; 2] {
    let plain = Sampling { envs: 4, ..Sampling::default() };
    let full = Sampling { normalise_observations: true, normalise_rewards: true, sde: continuous, ..plain };
    [plain, full].map(|sampling| PpoConfig { sampling, ..PpoConfig::default() })
}

#[test]
fn an_iteration_of_ppo_is_at_most_128_dispatches_and_a_rollout_4() {
    for name in single_task_names() {
        let env = env::builtin(name).unwrap();
        // A time limit below the horizon cuts the rollout into spans, each a loop of its own.
        if env.spec().horizon < 128 {
            continue;
        }
        let continuous = env.spec().action.choices().is_none();
        for (i, config) in settings(continuous).iter().enumerate() {
            for seeds in [1, 10] {
                let plan = plan(Training::trace(&Ppo::new(config, env.spec()).unwrap(), &env, seeds).unwrap());
                for bindings in [8, 32] {
                    let (loops, all) = loops(&plan, bindings);
                    println!("{name}, settings {i}, {seeds} seeds, {bindings} buffers: {loops:?}, {all} in all");
                    // Rollout, episodes that ended in it, advantages, and 16 minibatches.
                    let [(128, rollout), (128, ended), (128, advantages), (16, updates)] = loops[..] else {
                        panic!("{loops:?}")
                    };
                    assert!(rollout <= 4 && ended <= 4 && advantages <= 4 && updates >= 16, "{name}: {loops:?}");
                    assert!(all <= if seeds == 1 { 128 } else { 202 }, "{name}: {all}");
                }
            }
        }
    }
}

#[test]
fn a_step_of_sac_with_its_update_is_at_most_77_dispatches_and_of_td3_60() {
    let env = env::builtin("pendulum").unwrap();
    let (sac, td3_config) = (SacConfig::default(), Td3Config::default());
    let sac = plan(Training::trace(&Sac::of(&sac, env.spec()).unwrap(), &env, 1).unwrap());
    let td3 = plan(Training::trace(&td3::td3(&td3_config, env.spec()).unwrap(), &env, 1).unwrap());
    // Every second update of TD3 moves the policy: the host leaves out the dispatches of its step in the others.
    let small = training("sac", "pendulum").set("hidden = [64, 64]\nbatch_size = 100").setup().trace().unwrap();
    let small = plan(small);
    for (name, plan, most) in [("SAC", sac, 77), ("SAC, small", small, 11), ("TD3", td3, 60)] {
        for bindings in [8, 32] {
            let (loops, all) = loops(&plan, bindings);
            println!("{name}, {bindings} buffers: {loops:?}, {all} in all");
            let (passes, count) = *loops.iter().max_by_key(|(_, count)| *count).unwrap();
            assert!(count <= most * passes, "{name}: {loops:?}");
        }
    }
}

#[test]
fn long_rollouts_loop_in_kernels_too() {
    for name in ["pendulum", "mountain-car"] {
        let env = env::builtin(name).unwrap();
        let [mut config, _] = settings(false);
        config.sampling.horizon = 1024;
        let (loops, all) = loops(&plan(Training::trace(&Ppo::new(&config, env.spec()).unwrap(), &env, 1).unwrap()), 8);
        println!("{name}: {loops:?}, {all} in all");
        assert!(loops[0].1 <= 8 * 16, "{name}: {loops:?}");
    }
}

#[test]
fn episodes_loop_in_a_kernel() {
    for name in single_task_names() {
        let env = env::builtin(name).unwrap();
        let continuous = env.spec().action.choices().is_none();
        for config in settings(continuous) {
            for deterministic in [true, false] {
                let setup = training_on("ppo", env.clone()).seeds(&[0, 1]).with(config.table()).setup();
                let plan = plan(evaluation_trace(&setup, 10, deterministic).unwrap());
                let (loops, all) = loops(&plan, 8);
                println!("{name}: {loops:?}, {all} in all");
                // Episodes of thousands of steps are several dispatches: 4000 steps are five.
                assert!(loops.len() == 1 && loops[0].1 <= loops[0].0.div_ceil(800).max(4), "{name}: {loops:?}");
            }
        }
    }
}

/// Tasks and rows of each: 20 rollouts of 100 steps.
const SIZES: [usize; 2] = [40, 2000];

/// The data of a phase, as it lies in memory when the outer steps begin.
fn phase(cx: &mut Context, name: &str, [tasks, rows]: [usize; 2]) -> Phase {
    let mut rows = |what: &str, width: usize| cx.input(&format!("{name} {what}"), &[tasks, rows, width], DType::F32);
    let (obs, action, mean) = (rows("obs", 2), rows("action", 2), rows("mean", 2));
    let (advantage, adj_reward, weight) = (rows("advantage", 1), rows("reward", 1), rows("weight", 1));
    let log_std = cx.input(&format!("{name} log_std"), &[tasks, 2], DType::F32);
    let old = Distribution::Vector(Gaussian::new(mean, log_std)).stop_gradient();
    Phase { obs, action, old, advantage, adj_reward, weight, steps: 100 }
}

/// Makes MAML-TRPO's objective at θ `[1, P]` of so many tasks and rows of each, and of it what `f` makes.
fn outer(
    cx: &mut Context,
    sizes: [usize; 2],
    first_order: bool,
    f: impl FnOnce(&Learner, Tensor, &dyn Fn(&[Tensor]) -> MetaLoss) -> Tensor,
) {
    let config = MamlConfig { meta_batch: sizes[0], first_order, ..MamlConfig::of(Variant::MamlTrpo) };
    let learner = Learner::new(env::builtin("point-corner").unwrap().spec(), &config);
    let theta = cx.input("theta", &[1, learner.layout.len()], DType::F32);
    let phases = ["before", "after"].map(|name| phase(cx, name, sizes));
    let value = |parts: &[Tensor]| learner.meta_loss(Objective::Ratio, parts, &phases);
    cx.output("result", f(&learner, theta, &value));
}

/// The product of the Hessian of MAML-TRPO's KL with a vector.
pub(crate) fn product_of_maml_trpo(cx: &mut Context, sizes: [usize; 2]) {
    outer(cx, sizes, false, |learner, theta, value| {
        let of_kl = |parts: &[Tensor]| value_and_grad(parts, |p| value(p).outer_kl.sum_all()).1;
        let parts = learner.layout.split(theta);
        let (_, products) = value_and_grad(&parts, |p| {
            let along = of_kl(p).into_iter().zip(&parts).map(|(g, v)| (g * v.stop_gradient()).sum_all());
            along.reduce(|a, b| a + b).unwrap()
        });
        learner.layout.join(&products)
    });
}

#[test]
fn the_outer_gradient_of_maml_trpo_is_at_most_56_dispatches() {
    for (first_order, most) in [(true, 37), (false, 56)] {
        let trace = Program::trace_of(|cx| {
            outer(cx, SIZES, first_order, |learner, theta, value| {
                let (_, grads) = value_and_grad(&learner.layout.split(theta), |parts| value(parts).loss.sum_all());
                learner.layout.join(&grads)
            });
        });
        let gradient = plan(trace.unwrap());
        for bindings in [8, 32] {
            let (_, all) = loops(&gradient, bindings);
            println!(
                "first order {first_order}, {bindings} buffers: {all} dispatches, {} planned",
                gradient.dispatches()
            );
            assert!(all <= most, "{all}\n{gradient}");
        }
    }
    let product = plan(Program::trace_of(|cx| product_of_maml_trpo(cx, SIZES)).unwrap());
    for bindings in [8, 32] {
        let (_, all) = loops(&product, bindings);
        println!("product with the KL's Hessian, {bindings} buffers: {all} dispatches");
        assert!(all <= 135, "{all}\n{product}");
    }
}

/// The first preset of each algorithm for a built-in environment: the names of both, and the setup.
pub(crate) fn first_presets() -> impl Iterator<Item = (&'static str, String, Setup)> {
    let presets = presets().unwrap();
    ALGORITHMS.iter().filter_map(move |def| {
        let preset = presets.iter().find(|preset| preset.algorithm == def.name && preset.is_builtin())?;
        let setup = training(def.name, &preset.env).with(preset.settings.clone()).setup();
        Some((def.name, preset.env.clone(), setup))
    })
}

/// Runs join small kernels. Of each algorithm's first preset they leave at most 60 % of the dispatches, unless more
/// than 40 % are of kernels with three workgroups or more, which no run takes. Chains and rows that a workgroup shares
/// take most of these.
#[test]
fn runs_leave_at_most_60_percent_of_dispatches_where_kernels_are_small_and_chains_fewer() {
    let presets = presets().unwrap();
    for def in ALGORITHMS {
        let Some(preset) = presets.iter().find(|preset| preset.algorithm == def.name && preset.is_builtin()) else {
            continue;
        };
        let trace = || training(def.name, &preset.env).with(preset.settings.clone()).setup().trace().unwrap();
        let plan = |chains| Plan::new(trace(), &PlanOptions { chains, ..PlanOptions::default() }).unwrap();
        let (kernels_alone, with_chains) = (plan(None), plan(PlanOptions::default().chains));
        for bindings in [8, 32] {
            let limits = |runs| KernelLimits { bindings, runs, teams: runs, ..KernelLimits::default() };
            let count = |plan: &Plan, runs| dispatches(plan, limits(runs)).unwrap().iter().sum::<usize>();
            let (alone, joined, chained) =
                (count(&kernels_alone, false), count(&kernels_alone, true), count(&with_chains, true));
            let kernels = kernels(&kernels_alone, limits(false)).unwrap();
            let large: usize = kernels.iter().filter(|k| k.workgroups > 2).map(|k| k.dispatches).sum();
            let [left, large, of_chains] = [joined, large, chained].map(|n| 100 * n / alone);
            let counts = format!("{alone} | {joined} | {chained} | {left} % | {large} % | {of_chains} %");
            println!("| {} | {} | {bindings} | {counts} |", def.name, preset.env);
            assert!(left <= 60 || large > 40, "{}: {joined} of {alone}, {large} % are large", preset.name);
            // A minibatch of DQL is so small that runs take all of it.
            let most = if def.name == "dql" { joined * 6 / 5 } else { joined };
            assert!(chained <= most, "{}: {chained} with chains, {joined} without", preset.name);
        }
    }
}
