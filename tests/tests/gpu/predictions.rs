//! Predicts the time of a plan on graphics cards by a model of its kernels, which needs no card.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::algo::{Ppo, PpoConfig, Sampling, Training};
use quickstudy_core::env;
use quickstudy_gpu::predict::{Card, kernels};
use quickstudy_gpu::work::{Cost, Work};
use quickstudy_gpu::{KernelLimits, dispatches};
use quickstudy_tests::gpu::plan;

#[test]
fn the_kernels_of_a_plan_are_named_and_counted() {
    let env = env::builtin("cartpole").unwrap();
    let config = PpoConfig { sampling: Sampling { envs: 4, ..Sampling::default() }, ..PpoConfig::default() };
    let plan = plan(Training::trace(&Ppo::new(&config, env.spec()).unwrap(), &env, 1).unwrap());
    let limits = KernelLimits::default();
    let found = kernels(&plan, limits).unwrap();
    let mut all = Work::default();
    found.iter().for_each(|kernel| all += kernel.all());
    assert_eq!(all[Cost::Dispatch], dispatches(&plan, limits).unwrap().iter().sum::<usize>() as u64);

    // The rollout: of 128 steps, each with a policy of two layers of 64. One invocation computes all of it, or a
    // unit of each layer, with barriers between them.
    let rollout_of = |limits| {
        let found = kernels(&plan, limits).unwrap();
        found.into_iter().find(|kernel| kernel.operations == "loop of 128 steps").unwrap()
    };
    let alone = rollout_of(KernelLimits { teams: false, ..limits });
    let multiply_adds = 128 * (4 * 64 + 64 * 64 + 64 * 2);
    assert!(alone.work[Cost::Rollout] + alone.work[Cost::Straight] >= multiply_adds, "{alone:?}");
    let rollout = rollout_of(limits);
    assert_eq!(rollout.work[Cost::Straight], 128 * (4 + 64 + 64), "{rollout:?}");
    assert!(rollout.work[Cost::Level] >= 128 * 4, "{rollout:?}");
    assert_eq!((rollout.dispatches, rollout.workgroups), (1, 1));
    assert!(rollout.origin.as_ref().unwrap().starts_with("core/src/algo/on_policy/shared/rollout.rs:"), "{rollout:?}");
    // Products are there beside it, and their time is part of all.
    assert!(all[Cost::Product] + all[Cost::Tile] > 0, "{all:?}");
    for card in Card::ALL {
        let of_kernels: f64 = found.iter().map(|kernel| card.micros(&kernel.all())).sum();
        assert!((of_kernels / card.micros(&all) - 1.0).abs() < 1e-9, "{}", card.name);
    }
}
