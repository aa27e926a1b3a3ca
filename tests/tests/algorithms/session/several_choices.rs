//! Actions of several choices at once: each algorithm trains on them or says what it needs, and PPO learns.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::algo::{AlgorithmDef, Family, PPO};
use quickstudy_core::env::EnvDef;
use quickstudy_core::host::EnvPlace;
use quickstudy_core::train::{Evaluator, MetaTest, Own, Session, small};
use quickstudy_tests::every::{every, own};
use quickstudy_tests::hosted::hosted;
use quickstudy_tests::panel::{BEST, POSITIONS, Panel, RANDOM};
use quickstudy_tests::trainings::{restored, snapshots, training_on, wait};
use toml::Table;

/// The algorithms without multi-discrete actions, and what they say that they need.
const REFUSING: [(&str, &str); 6] = [
    ("dqn", "needs discrete ones"),
    ("dql", "needs discrete ones"),
    ("ddpg", "needs continuous ones"),
    ("td3", "needs continuous ones"),
    ("sac", "needs discrete or continuous ones"),
    ("pearl", "needs continuous ones"),
];

fn device() -> Device {
    Device::cpu(1)
}

fn panel(def: &AlgorithmDef) -> EnvDef {
    match def.family {
        Family::SingleTask => Panel::Shown.env(),
        Family::Memory | Family::Gradients | Family::Inference => Panel::Hidden.env(),
    }
}

fn table(text: &str) -> Table {
    toml::from_str(text).unwrap()
}

fn finish(session: &mut Session) {
    while !session.done() {
        for (name, value) in wait(session.step()).iter().flatten() {
            assert!(value.is_finite() || !name.starts_with("train/"), "{name} is {value}");
        }
    }
}

/// Trains in programs, with a break, and on the host; reads the policy from its file, and plays or adapts it.
fn trains(def: &'static AlgorithmDef, settings: &Table) {
    let (env, name) = (panel(def), def.name);
    let batch = training_on(def, env.clone()).seeds(&[3, 4]).steps(10_000).with(settings.clone()).setup().batch();
    let new = |place: EnvPlace| {
        Session::new(&device(), &training_on(def, place).seeds(&[3, 4]).steps(3 * batch).with(settings.clone()).setup())
            .unwrap()
    };
    let mut whole = new(env.clone().into());
    let first = wait(whole.parameters(1));
    finish(&mut whole);
    let parameters = wait(whole.parameters(1));
    assert!(name == "nop" || first != parameters, "{name}: nothing was learnt");

    let mut broken = new(env.clone().into());
    drop(wait(broken.step()));
    let saved = snapshots(&broken);
    let here = || Own { env: Some(env.clone().into()), ..own(None) };
    let mut resumed = restored(here(), &saved);
    finish(&mut resumed);
    assert!(snapshots(&resumed) == snapshots(&whole), "{name}: resumed");

    let mut outside = new(hosted(&env));
    finish(&mut outside);
    assert!(wait(outside.parameters(1)) == parameters, "{name}: on the host");

    let file = wait(whole.policy_snapshot(0));
    let mut policy = Evaluator::load_with(&device(), here(), &file).unwrap();
    let played = wait(policy.evaluate(4, 7, !def.family.in_rounds()));
    let best = |length: u32| f64::from(length) * POSITIONS.len() as f64;
    assert!(played.iter().all(|episode| (0.0..=best(episode.length)).contains(&episode.ret)), "{name}: {played:?}");
    if def.family.in_rounds() {
        let test = MetaTest { tasks: 2, rollouts: Some(1), ..MetaTest::default() };
        let stages = wait(policy.adapt(test)).stages;
        let actions = stages.iter().flat_map(|stage| &stage.paths).flatten().map(|step| &step.action);
        let fits = |(a, n): (&f32, usize)| a.fract() == 0.0 && (0.0..n as f32).contains(a);
        assert!(actions.clone().next().is_some());
        for action in actions {
            assert!(action.len() == 3 && action.iter().zip(POSITIONS).all(fits), "{name}: {action:?}");
        }
    }
}

#[test]
fn each_algorithm_trains_or_says_what_it_needs() {
    let mut refused = 0;
    for def in every() {
        let (_, settings) = small(def).unwrap();
        match REFUSING.iter().find(|(name, _)| *name == def.name) {
            None => trains(def, &settings),
            Some((name, needs)) => {
                let env = panel(def);
                let has = format!("env: `{}` takes multi-discrete actions, and ", env.spec().name);
                let message = training_on(def, env).seeds(&[3, 4]).steps(10_000).with(settings.clone()).refusal();
                assert!(message.starts_with(&has) && message.ends_with(needs), "{name}: {message}");
                refused += 1;
            }
        }
    }
    assert_eq!(refused, REFUSING.len());
}

#[test]
fn policies_with_a_memory_train_on_them() {
    for cell in ["gru", "lstm"] {
        let text = "envs = 4\nhorizon = 12\nminibatches = 1\nepochs = 2\nhidden = [8]\nunits = 6\n";
        trains(&PPO, &table(&format!("{text}cell = \"{cell}\"\n")));
    }
}

#[test]
fn noise_and_deviations_of_vectors_are_refused() {
    for (name, text, key) in [("ppo", "sde = true", "sde: "), ("promp", "learn_std = false", "learn_std: ")] {
        let def = every().into_iter().find(|def| def.name == name).unwrap();
        let message = training_on(def, panel(def)).seeds(&[3, 4]).steps(10_000).set(text).refusal();
        assert!(message.starts_with(key) && message.contains("multi-discrete actions"), "{message}");
    }
}

/// The mean returns of actions that are drawn, and of the most probable ones.
fn returns(session: &Session) -> [f64; 2] {
    let file = wait(session.policy_snapshot(0));
    let here = Own { env: Some(Panel::Shown.env().into()), ..own(None) };
    let mut policy = Evaluator::load_with(&device(), here, &file).unwrap();
    [false, true].map(|deterministic| {
        let episodes = wait(policy.evaluate(500, 7, deterministic));
        episodes.iter().map(|episode| episode.ret).sum::<f64>() / 500.0
    })
}

#[test]
fn ppo_learns_all_choices() {
    let text = "envs = 16\nhorizon = 32\nminibatches = 4\nepochs = 4\nhidden = [32]\nlearning_rate = 5e-3\n";
    let setup = training_on(&PPO, Panel::Shown.env()).seeds(&[3, 4]).steps(120_000).set(text).setup();
    let mut session = Session::new(&device(), &setup).unwrap();
    let [before, _] = returns(&session);
    finish(&mut session);
    let [drawn, best] = returns(&session);
    println!("{before} {drawn} {best}: drawn before and after training, the deterministic actions after it");
    // The first policy is nearly even: 4 standard errors of 500 means over 8 steps of three coins.
    assert!((before - RANDOM).abs() < 0.6, "{before} {RANDOM}");
    assert!(drawn > 0.95 * BEST && best > 0.99 * BEST, "{drawn} {best}");
}
