//! Iterations of whole episodes have room for few steps, and results do not depend on it.

use pollster::block_on;

use super::{Row, Session};
use crate::env::builtin;
use crate::train::setup::{Layer, Setup};
use crate::{DType, Device};

fn session(algorithm: &str, env: &str, seeds: &[u64], settings: &str) -> Session {
    let layer = Layer { origin: "test".into(), settings: toml::from_str(settings).unwrap() };
    let setup = Setup::resolve(algorithm, builtin(env).unwrap(), seeds, Some(50_000), &[layer]).unwrap();
    Session::new(&Device::cpu(1), &setup).unwrap()
}

/// All arrays of the state of seed number `row`, as bits.
fn bits(session: &Session, row: usize) -> Vec<(String, Vec<u32>)> {
    let device = session.device();
    let words = |array: &crate::Array| match array.dtype() {
        DType::F32 => block_on(device.read_f32(array)).unwrap().into_iter().map(f32::to_bits).collect::<Vec<u32>>(),
        DType::U32 => block_on(device.read_u32(array)).unwrap(),
    };
    let one = |(name, array): (&str, &crate::Array)| {
        let (all, seeds) = (words(array), array.shape[0]);
        (name.to_owned(), all.chunks(all.len() / seeds).nth(row).unwrap().to_vec())
    };
    // Only stacked seeds may be at different points of their schedules.
    session.state().iter().filter(|(name, _)| !name.starts_with("schedule.")).map(one).collect()
}

fn step(session: &mut Session) -> Vec<Row> {
    let rows = block_on(session.step()).unwrap();
    rows.into_iter().map(|row| row.into_iter().filter(|(_, value)| !value.is_nan()).collect()).collect()
}

const SMALL: &str = "hidden = [6]\nmin_rollouts = 6\nenvs = 2\n";

/// Episodes of CartPole end after some 20 steps, of 3000.
const CASES: [(&str, &str, &str); 12] = [
    ("ppo", "cartpole:time_limit=3000", "epochs = 2\nminibatches = 3"),
    ("ppo", "cartpole:time_limit=300", "cell = \"gru\"\nunits = 3\nepochs = 2\nminibatches = 2"),
    ("ppo", "cartpole:time_limit=3000", "epochs = 2\nminibatch_size = 50"),
    ("vpg", "cartpole:time_limit=300", "cell = \"gru\"\nunits = 3\ncritic_minibatch_size = 1\ncritic_epochs = 2"),
    ("ppo2", "cartpole:time_limit=3000", "epochs = 2\nnormalise_observations = true\nnormalise_rewards = true"),
    ("a2c", "mountain-car:time_limit=200", ""),
    ("vpg", "cartpole:time_limit=3000", "baseline = \"linear_time\""),
    ("trpo", "cartpole:time_limit=3000", ""),
    ("svpg", "cartpole:time_limit=300", "num_particles = 2"),
    ("dqn", "cartpole:time_limit=3000", "n_step = 2\nlearning_starts = 30\nbatch_size = 8"),
    ("dql", "cartpole:time_limit=300", "learning_starts = 30\nbatch_size = 8\nprioritised = true"),
    ("sac", "cartpole:time_limit=300", "learning_starts = 30\nbatch_size = 8\nnormalise_observations = true"),
];

#[test]
fn results_do_not_depend_on_the_room_of_episodes() {
    for (algorithm, env, more) in CASES {
        let settings = format!("{SMALL}{more}");
        let [mut limited, mut all] = [(); 2].map(|()| session(algorithm, env, &[1, 2], &settings));
        all.training.give_all_room();
        for iteration in 0..4 {
            let what = format!("{algorithm} on {env}, iteration {iteration}");
            assert_eq!(step(&mut limited), step(&mut all), "{what}: metrics");
            for ((name, one), (_, other)) in bits(&limited, 1).iter().zip(&bits(&all, 1)) {
                assert!(one == other, "{what}: {name}");
            }
            assert_eq!(all.training.room(), None);
            assert!(limited.training.room().is_some(), "{what}: the room is not limited");
        }
    }
}

/// The other seed needs more room, for which both are traced.
#[test]
fn a_seed_is_the_same_alone_and_beside_one_whose_episodes_are_longer() {
    for (algorithm, env, more) in CASES {
        let settings = format!("{SMALL}{more}");
        let mut alone = session(algorithm, env, &[2], &settings);
        let mut stacked = session(algorithm, env, &[2, 5, 6, 7, 8], &settings);
        let mut rooms = [Vec::new(), Vec::new()];
        for iteration in 0..4 {
            assert_eq!(step(&mut alone)[0], step(&mut stacked)[0], "{algorithm} on {env}, iteration {iteration}");
            rooms[0].push(alone.training.room());
            rooms[1].push(stacked.training.room());
        }
        assert!(bits(&alone, 0) == bits(&stacked, 0), "{algorithm} on {env}");
        println!("{algorithm} on {env}: {rooms:?}");
    }
}
