//! Budgets: each seed makes the steps that it is asked for, and ends with the iteration in which it
//! does, alone, stacked, resumed and extended.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::env::builtin;
use quickstudy_core::train::Session;
use quickstudy_tests::every::is_first;
use quickstudy_tests::hosted::hosted;
use quickstudy_tests::trainings::{restored, snapshots, training, training_on, value, wait};

const SAMPLED: &str = "hidden = [4]\nenvs = 2\nmin_rollouts = 4\nlearning_rate_schedule = \"linear\"\n";
const POPULATION: &str = "hidden = [4]\nn_samples = 8\nepisodes = 1\n";
const META: &str = "hidden = [4]\nmeta_batch = 3\nrollouts = 2\n";
const REPLAY: &str = "hidden = [4]\niteration_steps = 40\nlearning_starts = 40\nbatch_size = 8\ntrain_freq = 20\n\
                      gradient_steps = 2\n";
const EPISODES: &str = "hidden = [4]\nmin_rollouts = 4\nenvs = 2\nlearning_starts = 40\nbatch_size = 8\n\
                        gradient_steps = 3\nlearning_rate_schedule = \"linear\"\n";
const PEARL: &str = "hidden = [4]\nencoder_hidden_sizes = [4]\ntrain_tasks = 4\nnum_tasks_sample = 2\n\
                     num_initial_steps = 100\nnum_steps_prior = 100\nnum_extra_rl_steps_posterior = 0\n\
                     num_steps_per_epoch = 2\nmeta_batch = 2\nbatch_size = 8\nembedding_batch_size = 8\n\
                     embedding_mini_batch_size = 8\nmemory_size = 2000";

/// A run: algorithm, environment, settings and environment steps.
pub(super) type Run<'a> = (&'a str, &'a str, &'a [&'a str], u64);

/// Small runs in which episodes end early, so that seeds end apart.
pub(super) const APART: &[Run<'_>] = &[
    (
        "ppo",
        "cartpole",
        &[SAMPLED, "epochs = 2\nminibatches = 2\nclip_eps_schedule = \"cosine\"\nvalue_clip = true"],
        450,
    ),
    ("ppo2", "cartpole", &[SAMPLED, "epochs = 2\nminibatches = 2"], 450),
    ("a2c", "cartpole", &[SAMPLED], 450),
    ("vpg", "cartpole", &[SAMPLED, "critic = \"last\""], 450),
    ("trpo", "cartpole", &[SAMPLED], 450),
    ("svpg", "cartpole", &[SAMPLED, "num_particles = 2\nparticle = \"ppo\"\nclip_eps_schedule = \"linear\""], 900),
    ("cem", "cartpole", &[POPULATION], 600),
    ("cma-es", "cartpole", &[POPULATION], 600),
    ("openai-es", "cartpole", &[POPULATION, "learning_rate_schedule = \"linear\""], 600),
    ("ars", "cartpole", &[POPULATION, "learning_rate_schedule = \"step\"\nnormalise_observations = true"], 600),
    ("nop", "cartpole", &[POPULATION], 600),
    ("promp", "key-door", &[META, "learning_rate_schedule = \"linear\"\nclip_eps_factor = 0.9"], 3_000),
    ("maml-ppo", "key-door", &[META, "clip_eps_factor = 0.9"], 3_000),
    ("maml-vpg", "key-door", &[META, "learning_rate_schedule = \"linear\""], 3_000),
    ("maml-trpo", "key-door", &[META], 3_000),
    ("e-maml", "key-door", &[META], 3_000),
    ("dice-maml", "key-door", &[META], 3_000),
    (
        "rl2-ppo",
        "grid-world",
        &["units = 4\nmeta_batch = 3\nepisodes = 2\nminibatches = 1\nlearning_rate_schedule = \"linear\""],
        700,
    ),
    ("rl2-trpo", "grid-world", &["units = 4\nmeta_batch = 3\nepisodes = 2"], 700),
    ("pearl", "navigation", &[PEARL], 1_500),
    ("dqn", "cartpole:time_limit=100", &[EPISODES, "prioritised = true\nn_step = 2\nexploration_fraction = 1.0"], 900),
    ("dql", "cartpole:time_limit=100", &[EPISODES, "memory_size = 500"], 900),
    ("ddpg", "pendulum:time_limit=30", &[EPISODES, "noise = \"ornstein_uhlenbeck\""], 500),
    ("td3", "pendulum:time_limit=30", &[EPISODES, "prioritised = true"], 500),
    ("sac", "cartpole:time_limit=100", &[EPISODES], 900),
    ("sac", "pendulum:time_limit=30", &[EPISODES, "sde = true"], 500),
];
/// Small runs in which iterations make the planned number of steps.
pub(super) const TOGETHER: &[Run<'_>] = &[
    ("ppo", "cartpole", &["hidden = [4]\nenvs = 2\nhorizon = 32\nminibatches = 2\nepochs = 1"], 200),
    ("dqn", "cartpole", &[REPLAY, "prioritised = true\nn_step = 2"], 190),
    ("dql", "cartpole", &[REPLAY, "rms_decay = 0.9"], 190),
    ("ddpg", "pendulum", &[REPLAY], 190),
    ("td3", "pendulum", &[REPLAY], 190),
    ("sac", "pendulum", &[REPLAY], 190),
];
pub(super) const SEEDS: [u64; 3] = [3, 4, 5];

fn session((algorithm, env, settings, steps): Run<'_>, seeds: &[u64]) -> Session {
    training(algorithm, env).seeds(seeds).steps(steps).set(&settings.concat()).session()
}

/// Trains to the end, and checks that each seed ends with the iteration in which its steps are made.
#[track_caller]
fn finish(session: &mut Session, run: Run<'_>) {
    let (seeds, steps) = (session.setup().seeds.len(), session.setup().steps);
    while !session.done() {
        let before: Vec<u64> = (0..seeds).map(|index| session.steps_made(index)).collect();
        let rows = wait(session.step());
        assert_eq!(rows.len(), session.running().len(), "{run:?}");
        for index in session.running() {
            assert!(before[*index] < steps, "{run:?}: seed {index} was done after {} steps", before[*index]);
        }
        for index in (0..seeds).filter(|index| !session.running().contains(index)) {
            assert_eq!(session.steps_made(index), before[index], "{run:?}: seed {index} has no row");
        }
    }
    assert!((0..seeds).all(|index| session.steps_made(index) >= steps), "{run:?}");
    assert!(session.env_steps() >= session.total_steps(), "{run:?}");
}

fn iterations(session: &Session) -> Vec<u64> {
    (0..session.setup().seeds.len()).map(|index| session.iterations_made(index)).collect()
}

/// Trains a run in all ways, which all leave equal bytes. Returns the iterations of its seeds.
fn check(run: Run<'_>) -> Vec<u64> {
    let mut stacked = session(run, &SEEDS);
    finish(&mut stacked, run);
    let whole = snapshots(&stacked);
    // The seed that ends last, or one of those that do.
    let last = (0..SEEDS.len()).max_by_key(|index| stacked.iterations_made(*index)).unwrap();
    for (index, seed) in SEEDS.into_iter().enumerate().filter(|(index, _)| *index == 0 || *index == last) {
        let mut alone = session(run, &[seed]);
        finish(&mut alone, run);
        assert!(snapshots(&alone)[0] == whole[index], "{run:?}: seed {seed} alone");
        let of = |session: &Session, index| wait(session.parameters(index));
        assert_eq!(of(&alone, 0), of(&stacked, index), "{run:?}: seed {seed}");
    }
    // Snapshots in which some seeds may have ended.
    let ended = iterations(&stacked);
    for stop in [*ended.iter().min().unwrap(), *ended.iter().max().unwrap() - 1] {
        let mut killed = session(run, &SEEDS);
        for _ in 0..stop {
            wait(killed.step());
        }
        let mut resumed = restored(None, &snapshots(&killed));
        drop(killed);
        assert_eq!(iterations(&resumed).into_iter().max(), Some(stop), "{run:?}");
        finish(&mut resumed, run);
        assert!(snapshots(&resumed) == whole, "{run:?}: resumed after {stop} iterations");
    }
    // Seeds that have ended apart go on, each from its own iteration, stacked or not.
    let made = (0..SEEDS.len()).map(|index| stacked.steps_made(index)).max().unwrap();
    let further = made + run.3 / 2;
    stacked.set_steps(further).unwrap();
    finish(&mut stacked, run);
    let mut resumed = restored(None, &whole);
    resumed.set_steps(further).unwrap();
    finish(&mut resumed, run);
    assert!(snapshots(&resumed) == snapshots(&stacked), "{run:?}: resumed and extended");
    let mut alone = restored(None, &whole[1..2]);
    alone.set_steps(further).unwrap();
    finish(&mut alone, run);
    assert!(snapshots(&alone)[0] == snapshots(&stacked)[1], "{run:?}: alone and extended");
    ended
}

fn seeds_end_apart(first: bool, least: usize) {
    let ended: Vec<Vec<u64>> = APART.iter().filter(|run| is_first(run.0) == first).map(|run| check(*run)).collect();
    let apart = ended.iter().filter(|ended| ended.iter().any(|iterations| *iterations != ended[0])).count();
    assert!(
        apart >= least,
        "of {} runs {apart} have seeds that end after other numbers of iterations: {ended:?}",
        ended.len()
    );
}

#[test]
fn seeds_that_end_apart_are_as_if_they_had_been_alone() {
    seeds_end_apart(true, 6);
}

#[test]
#[ignore = "half a minute: scripts/second-tier.sh"]
fn seeds_of_all_others_that_end_apart_are_as_if_they_had_been_alone() {
    seeds_end_apart(false, 6);
}

#[test]
fn seeds_whose_iterations_make_what_is_planned_end_together() {
    for run in TOGETHER {
        let ended = check(*run);
        let planned = session(*run, &SEEDS);
        assert_eq!(ended, [planned.iterations(); 3], "{run:?}");
        assert_eq!(planned.total_steps(), planned.setup().fitted().planned(planned.iterations()), "{run:?}");
    }
}

#[test]
fn steps_that_cannot_be_are_refused_and_nothing_changes() {
    let run: Run<'_> = ("cma-es", "cartpole", &[POPULATION], 600);
    let mut cma_es = session(run, &SEEDS);
    finish(&mut cma_es, run);
    let before = snapshots(&cma_es);
    let most = (0..3).map(|index| cma_es.steps_made(index)).max().unwrap();
    let error = cma_es.set_steps(most - 1).unwrap_err().to_string();
    assert_eq!(error, format!("steps: {most} are made already, so {} in all cannot be", most - 1));
    // The number of steps that was asked for before is kept.
    cma_es.set_steps(600).unwrap();
    assert!(snapshots(&cma_es) == before && cma_es.done());
    let resolve = |steps| training("ppo", "cartpole").seeds(&[0]).steps(steps).resolve();
    for (steps, part) in [(0, "at least 1"), (1_000_000_000_000_001, "is more than"), (u64::MAX, "is more than")] {
        let error = resolve(steps).unwrap_err().to_string();
        assert!(error.starts_with("steps: ") && error.contains(part), "{error}");
    }
}

/// Episodes of a warm-up may be longer than planned and make all steps of a run; an iteration that learns follows.
#[test]
fn a_run_does_not_end_before_it_has_learned() {
    let settings = "hidden = [4]\nenvs = 1\nmin_steps = 300\nlearning_starts = 500\nbatch_size = 8\ngradient_steps = 4";
    let run: Run<'_> = ("dqn", "cartpole", &[settings], 501);
    let mut dqn = session(run, &SEEDS);
    let rows = wait(dqn.step());
    assert!((0..3).any(|index| dqn.steps_made(index) >= 501) && !dqn.done(), "the warm-up made all steps of a seed");
    let updates =
        |rows: &[Vec<(String, f64)>]| -> Vec<f64> { rows.iter().map(|row| value(row, "train/updates")).collect() };
    assert!(updates(&rows).iter().all(|updates| updates.is_nan()));
    let begun = snapshots(&dqn);
    for mut session in [dqn, restored(None, &begun)] {
        assert_eq!(updates(&wait(session.step())), [4.0; 3]);
        assert!(session.done());
        let whole = snapshots(&session);
        assert!(snapshots(&restored(None, &whole)) == whole);
    }
}

#[test]
fn evaluations_of_some_seeds_are_those_of_all() {
    let run: Run<'_> = ("cma-es", "cartpole", &[POPULATION], 600);
    let mut apart = session(run, &SEEDS);
    finish(&mut apart, run);
    let all = wait(apart.evaluate(5));
    for index in [2, 0, 1] {
        let one = wait(apart.evaluate_seeds(&[index], 5));
        assert_eq!(one, [all[index].clone()], "seed {index}");
    }
    let mut alone = session(run, &SEEDS[1..2]);
    finish(&mut alone, run);
    assert_eq!(wait(alone.evaluate(5)), all[1..2]);
}

/// An executor plays for all seeds as long as one goes on; the results of seeds that have ended are dropped.
#[test]
fn seeds_on_the_host_end_as_those_in_programs() {
    let device = Device::cpu(1);
    let mut apart = 0;
    for name in ["ppo", "cem", "promp", "rl2-ppo", "pearl"] {
        let run = *APART.iter().find(|run| run.0 == name).unwrap();
        let mut inside = session(run, &SEEDS);
        let env = builtin(run.1).unwrap();
        // Presets hold for programs alone.
        let mut outside =
            training_on(name, hosted(&env)).seeds(&SEEDS).steps(run.3).with(inside.setup().table()).session_on(&device);
        finish(&mut inside, run);
        let ended = iterations(&inside);
        apart += u32::from(ended.iter().any(|iterations| *iterations != ended[0]));
        let last = *ended.iter().max().unwrap();
        // The last iteration but one, in which some seeds are done.
        for _ in 1..last {
            wait(outside.step());
        }
        let saved = snapshots(&outside);
        let resumed = restored(hosted(&env), &saved);
        for mut session in [outside, resumed] {
            finish(&mut session, run);
            assert_eq!(iterations(&session), ended, "{run:?}");
            for index in 0..SEEDS.len() {
                assert_eq!(session.steps_made(index), inside.steps_made(index), "{run:?}: seed {index}");
                let [a, b] = [&session, &inside].map(|session| wait(session.parameters(index)));
                assert!(a == b, "{run:?}: seed {index}");
            }
        }
    }
    assert!(apart >= 3, "in {apart} runs seeds end apart");
}
