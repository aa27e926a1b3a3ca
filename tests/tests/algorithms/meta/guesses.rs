//! Guesses of policies that infer a belief: the places where they would go by it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::env::builtin;
use quickstudy_core::train::{Evaluator, Guesses, MetaTest, Session, StageUnit};
use quickstudy_core::{Device, Error};
use quickstudy_tests::hosted::hosted;
use quickstudy_tests::trainings::{training, wait};

const PEARL: &str = "hidden = [8]\nencoder_hidden_sizes = [8]\ntrain_tasks = 4\nmeta_batch = 2\nbatch_size = 8\n\
    num_steps_per_epoch = 1\nnum_initial_steps = 20\nnum_tasks_sample = 2\nnum_steps_prior = 20\n\
    num_extra_rl_steps_posterior = 0\nembedding_batch_size = 8\nembedding_mini_batch_size = 8";
const STEPS: usize = 20;

/// The snapshot of an untrained policy.
fn bytes(algorithm: &str, env: &str, settings: &str) -> Vec<u8> {
    let setup = training(algorithm, env).steps(1000).set(settings).setup();
    wait(Session::new(&Device::cpu(1), &setup).unwrap().policy_snapshot(0))
}

fn policy(settings: &str) -> Evaluator {
    Evaluator::load(&Device::cpu(1), &bytes("pearl", "point-robot", &format!("{PEARL}\n{settings}"))).unwrap()
}

#[test]
fn guesses_follow_the_belief_from_step_to_step() {
    for encoder in ["", "encoder = \"gru\"", "use_information_bottleneck = false"] {
        let policy = policy(encoder);
        let guesses = |task: [f32; 2], seed: u64| wait(policy.guesses(&task, Some(3), 5, seed));
        let one = guesses([0.7, -0.2], 1);
        let Guesses { adaptation, places } = &one;
        assert_eq!((adaptation.unit, adaptation.stages.len(), places.len()), (StageUnit::Episodes, 3, 3));
        assert!(places.iter().all(|stage| stage.len() == STEPS + 1 && stage.iter().all(|draws| draws.len() == 5)));
        // The adaptation is the one of an equal seed without guesses.
        let test = MetaTest { episodes: Some(3), seed: 1, deterministic: false, ..MetaTest::default() };
        assert_eq!(*adaptation, wait(policy.adapt_to(&[vec![0.7, -0.2]], test)));

        // An episode begins with the guess that the one before ended with.
        for (before, after) in places.iter().zip(&places[1..]) {
            assert_eq!(before[STEPS], after[0]);
        }
        for stage in places {
            assert!(stage.windows(2).all(|two| two[0] != two[1]), "{encoder}: each step changes the belief");
        }
        assert_eq!(one, guesses([0.7, -0.2], 1));
        let (elsewhere, otherwise) = (guesses([-0.5, 0.9], 1), guesses([0.7, -0.2], 2));
        assert_eq!(one.places[0][0], elsewhere.places[0][0]);
        assert_ne!(one.places[0][STEPS], elsewhere.places[0][STEPS]);
        assert_ne!(one.places[0][0], otherwise.places[0][0]);
    }
}

#[test]
fn a_draw_is_where_an_episode_of_it_ends() {
    let policy = policy("");
    let Guesses { adaptation, places } = wait(policy.guesses(&[0.0, 0.0], Some(1), 400, 0));
    // First states are within 1 of the origin along each axis, and a step moves by 0.1 at most.
    let far = |place: &[f32; 2]| place.iter().map(|x| x.abs()).fold(0.0, f32::max);
    let most = places[0][0].iter().map(far).fold(0.0, f32::max);
    assert!(most > 1.0 && most <= 1.0 + 0.1 * STEPS as f32 + 1e-5, "{most}");
    assert_eq!(adaptation.stages[0].paths[0].len(), STEPS);
}

#[test]
fn who_has_no_guesses_is_told_so() {
    let device = Device::cpu(1);
    let told = |policy: &Evaluator, task: &[f32], episodes: usize, draws: usize| {
        pollster::block_on(policy.guesses(task, Some(episodes), draws, 0)).unwrap_err().to_string()
    };
    let pearl = policy("");
    assert!(told(&pearl, &[0.0, 0.0], 2, 0).starts_with("draws: 0 is not in 1 to"));
    assert!(told(&pearl, &[0.0, 0.0], 0, 2).starts_with("episodes: 0 is too few"));
    assert!(told(&pearl, &[0.0], 2, 2).starts_with("tasks: [0.0] is no task"));
    let promp = Evaluator::load(&device, &bytes("promp", "navigation", "hidden = [8]")).unwrap();
    assert!(told(&promp, &[0.0, 0.0], 2, 2).starts_with("algorithm: a policy of promp infers no belief"));
    let host = hosted(&builtin("point-robot").unwrap());
    let outside = Evaluator::load_with(&device, Some(host), &bytes("pearl", "point-robot", PEARL)).unwrap();
    assert!(told(&outside, &[0.0, 0.0], 2, 2).starts_with("env: "));
    let error: Error = pollster::block_on(pearl.guesses(&[f32::NAN, 0.0], None, 2, 0)).unwrap_err();
    assert!(matches!(error, Error::Config { .. }));
}
