//! MAML's family end to end: every variant makes iterations, stacked seeds are those alone, resuming is exact, and
//! ProMP learns to adapt where an untrained policy does not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::env::builtin;
use quickstudy_core::meta::Variant;
use quickstudy_core::train::{Evaluator, Layer, MetaTest, Session, Setup};
use quickstudy_tests::gpu::{self, distance, theta};

const SMALL: &str = "meta_batch = 3\nrollouts = 4\nhorizon = 12\nhidden = [16]\nlog_std_init = -1.2\n";

fn setup(algorithm: &str, seeds: &[u64], steps: u64, settings: &str) -> Setup {
    let layer = Layer { origin: "test".into(), settings: toml::from_str(settings).unwrap() };
    Setup::resolve(algorithm, builtin("point-corner").unwrap(), seeds, Some(steps), &[layer]).unwrap()
}

fn run(session: &mut Session) -> Vec<Vec<(String, f64)>> {
    let mut last = Vec::new();
    while !session.done() {
        last = pollster::block_on(session.step()).unwrap();
    }
    last
}

fn family() -> impl Iterator<Item = &'static str> {
    Variant::ALL.into_iter().map(Variant::name)
}

#[test]
fn every_variant_makes_finite_iterations_and_seeds_do_not_depend_on_each_other() {
    let device = Device::cpu(2);
    for algorithm in family() {
        let steps = setup(algorithm, &[1], 1, SMALL).batch() * 3;
        let start = |seeds: &[u64]| Session::new(&device, &setup(algorithm, seeds, steps, SMALL)).unwrap();
        let mut stacked = start(&[1, 2, 3]);
        let first = theta(&stacked, 1);
        let rows = run(&mut stacked);
        for (name, value) in rows.iter().flatten() {
            let finite = value.is_finite() || name.starts_with("eval/");
            assert!(finite, "{algorithm}: {name} is {value}");
        }
        // The line search of a trust region may refuse every step; of three, some must be taken.
        assert_ne!(theta(&stacked, 1), first, "{algorithm}: nothing was learnt");
        for (member, seed) in [1, 2, 3].into_iter().enumerate() {
            let mut alone = start(&[seed]);
            run(&mut alone);
            let bytes = |s: &Session, m: usize| pollster::block_on(s.snapshot(m)).unwrap();
            assert!(bytes(&alone, 0) == bytes(&stacked, member), "{algorithm}: seed {seed} depends on others");
        }
    }
}

#[test]
fn resumed_meta_training_is_that_without_a_stop() {
    let device = Device::cpu(1);
    for algorithm in ["promp", "maml-trpo"] {
        let settings = format!("{SMALL}inner_steps = 2\nlearn_inner_lr = true\ntrain_tasks = 5\n");
        let steps = setup(algorithm, &[7], 1, &settings).batch() * 4;
        let mut whole = Session::new(&device, &setup(algorithm, &[7], steps, &settings)).unwrap();
        run(&mut whole);
        let mut half = Session::new(&device, &setup(algorithm, &[7], steps, &settings)).unwrap();
        for _ in 0..2 {
            pollster::block_on(half.step()).unwrap();
        }
        let saved = pollster::block_on(half.snapshot(0)).unwrap();
        let mut resumed = Session::restore(&device, &[&saved]).unwrap();
        run(&mut resumed);
        let bytes = |s: &Session| pollster::block_on(s.snapshot(0)).unwrap();
        assert!(bytes(&whole) == bytes(&resumed), "{algorithm}");
    }
}

#[test]
fn an_iteration_on_the_gpu_is_that_of_the_cpu() {
    let Some(gpu) = gpu::device() else { return };
    for algorithm in family() {
        let steps = setup(algorithm, &[1], 1, SMALL).batch();
        let after = |device: &Device| {
            let mut session = Session::new(device, &setup(algorithm, &[1, 2], steps, SMALL)).unwrap();
            let first = theta(&session, 0);
            run(&mut session);
            (first, theta(&session, 0))
        };
        let ((first, on_gpu), (_, on_cpu)) = (after(&gpu), after(&Device::cpu(1)));
        let (moved, apart) = (distance(&on_cpu, &first), distance(&on_gpu, &on_cpu));
        println!("{algorithm}: parameters moved by {moved:e} and are {apart:e} apart");
        // Ten iterations of conjugate gradients multiply rounding by the condition of the Hessian; two steps that have nothing
        // to do with each other are 1.4 times their length apart.
        let most = if matches!(algorithm, "maml-trpo" | "e-maml") { 0.5 * moved } else { 1e-5 };
        assert!(apart <= most, "{algorithm}: {apart:e}");
    }
}

#[test]
fn promp_learns_to_adapt_and_an_untrained_policy_does_not() {
    let settings = "meta_batch = 16\nrollouts = 10\nhorizon = 50\nlearning_rate = 3e-3\nlog_std_init = -1.2\n\
                    learn_inner_lr = true\nhidden = [32, 32]\n";
    let device = Device::cpu(2);
    let adapted = |steps: u64| {
        let mut session = Session::new(&device, &setup("promp", &[5], steps, settings)).unwrap();
        if steps > 1 {
            run(&mut session);
        }
        let bytes = pollster::block_on(session.policy_snapshot(0)).unwrap();
        let policy = Evaluator::load(&device, &bytes).unwrap();
        let test = MetaTest { tasks: 40, rollouts: None, inner_steps: None, seed: 1, deterministic: true };
        let adaptation = pollster::block_on(policy.adapt(test)).unwrap();
        let mean = |k: usize| adaptation.stages[k].task_means().iter().sum::<f64>() / 40.0;
        (mean(0), mean(1))
    };
    let (untrained, trained) = (adapted(1), adapted(640_000));
    println!("untrained {untrained:?}, trained {trained:?}; standing still about -141");
    assert!(trained.1 > -45.0, "{trained:?}");
    assert!(untrained.1 < -70.0, "{untrained:?}");
    // Without having seen the task there is nothing to know about it.
    assert!(trained.0 < -110.0, "{trained:?}");
}
