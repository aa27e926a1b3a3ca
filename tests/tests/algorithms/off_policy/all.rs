//! All that learns from a memory: it learns, in programs and on the host alike, alone as beside others, and goes on exactly.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::algo::deterministic::{smoothed, target};
use quickstudy_core::algo::off_policy::{OffPolicy, OffPolicyLearner};
use quickstudy_core::algo::{
    Algorithm, DdpgConfig, DqlConfig, DqnConfig, Metrics, SacConfig, Td3Config, Training, ddpg, dql, dqn, sac, td3,
};
use quickstudy_core::env::{EnvDef, builtin};
use quickstudy_core::host::{HostEnv, IterativeExecutor, Wrapped};
use quickstudy_core::settings::Settings as _;
use quickstudy_core::train::{ALGORITHMS, Episode, Evaluator, Layer, Session, Setup, Viewer};
use quickstudy_core::{Device, Program, Result, State, Tensor};
use quickstudy_tests::gpu;
use quickstudy_tests::turned::Turned;
use toml::Table;

fn wait<T>(future: impl Future<Output = Result<T>>) -> T {
    pollster::block_on(future).unwrap()
}

fn table(text: &str) -> Table {
    toml::from_str(text).unwrap()
}

const SEEDS: [u64; 2] = [0, 1];

/// All algorithms of this kind, with the options that change what is played, stored or drawn: small ones.
const ALL: [(&str, &str, &str); 20] = [
    ("dqn", "cartpole", "target_update_interval = 3\nn_step = 3\ntrain_freq = 4\ngradient_steps = 2"),
    (
        "dqn",
        "cartpole",
        "target_update_interval = 3\nprioritised = true\ntrain_freq = 4\ngradient_steps = 2\ndouble = true",
    ),
    ("dqn", "bit-flip:bits=4", "target_update_interval = 3\nhindsight = 0.8\nwarm_up = \"policy\""),
    ("dql", "cartpole", "train_freq = 4\ngradient_steps = 2"),
    ("ddpg", "pendulum", "noise = \"ornstein_uhlenbeck\"\nwarm_up = \"policy\""),
    ("td3", "pendulum", "prioritised = true"),
    ("td3", "pendulum", "policy_delay = 2\ntrain_freq = 2\ngradient_steps = 4"),
    ("td3", "pendulum", "policy_delay = 3\ntrain_freq = 2\ngradient_steps = 2\niteration_steps = 24\nenvs = 2"),
    ("sac", "cartpole", "envs = 2"),
    ("sac", "pendulum", "sde = true\ntrain_freq = 4\ngradient_steps = 4"),
    // Whole episodes.
    (
        "dqn",
        "cartpole:time_limit=20",
        "target_update_interval = 3\nn_step = 3\nenvs = 2\nmin_rollouts = 3\ngradient_steps = 2",
    ),
    (
        "dqn",
        "bit-flip:bits=4",
        "target_update_interval = 3\nhindsight = 0.8\nenvs = 2\nmin_rollouts = 10\nprioritised = true",
    ),
    ("dql", "cartpole:time_limit=20", "target_update_interval = 3\nmin_steps = 20\ngradient_steps = 2"),
    ("ddpg", "pendulum:time_limit=20", "noise = \"ornstein_uhlenbeck\"\nwarm_up = \"policy\"\nmin_rollouts = 2"),
    (
        "td3",
        "pendulum:time_limit=20",
        "policy_delay = 3\ngradient_steps = 2\nprioritised = true\nenvs = 2\nmin_rollouts = 2",
    ),
    ("sac", "pendulum:time_limit=20", "sde = true\nmin_steps = 40\ngradient_steps = 4"),
    // Statistics of observations.
    ("sac", "cartpole", "normalise_observations = true\ntrain_freq = 4\ngradient_steps = 2"),
    ("ddpg", "pendulum", "normalise_observations = true\nwarm_up = \"policy\"\nenvs = 2"),
    (
        "dql",
        "cartpole",
        "normalise_observations = true\nprioritised = true\nn_step = 3\ntrain_freq = 4\ngradient_steps = 2",
    ),
    (
        "td3",
        "pendulum:time_limit=20",
        "normalise_observations = true\npolicy_delay = 3\ngradient_steps = 2\nenvs = 2\nmin_rollouts = 3",
    ),
];

fn small(options: &str) -> Table {
    let mut all = table("batch_size = 8\nhidden = [8]\nlearning_starts = 40\niteration_steps = 40");
    all.extend(table(options));
    all
}

fn fitted(name: &str, env: &EnvDef, settings: &Table, steps: u64) -> Rc<dyn Algorithm> {
    let def = ALGORITHMS.iter().find(|def| def.name == name).unwrap();
    let algorithm = def.fit(settings, env.spec()).unwrap();
    algorithm.for_steps(steps).unwrap().unwrap().into()
}

fn bits(device: &Device, training: &Training) -> Vec<(String, Vec<u32>)> {
    let read = |name: &'static str| {
        let array = training.state().get(name).unwrap();
        let words = match array.dtype() {
            quickstudy_core::DType::F32 => wait(device.read_f32(array)).into_iter().map(f32::to_bits).collect(),
            quickstudy_core::DType::U32 => wait(device.read_u32(array)),
        };
        (name.to_owned(), words)
    };
    training.algorithm().entries(None).into_iter().map(|entry| read(entry.name)).collect()
}

#[test]
fn on_the_host_all_is_the_same() {
    let device = Device::cpu(1);
    for (name, env, options) in ALL {
        let (settings, env) = (small(options), builtin(env).unwrap());
        let envs = settings.get("envs").map_or(1, |envs| envs.as_integer().unwrap() as usize);
        let algorithm = || fitted(name, &env, &settings, 160);
        let mut in_program = Training::new(&device, algorithm(), &env, &SEEDS).unwrap();
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
        let executor = Box::new(IterativeExecutor::new(SEEDS.len(), envs, 0, make).unwrap());
        let mut on_host = Training::new(&device, algorithm(), executor, &SEEDS).unwrap();
        let first = bits(&device, &in_program);
        for done in 0..4 {
            let rows = [&mut in_program, &mut on_host].map(|training| wait(training.step(done, 4)));
            let [a, b] = rows.map(|row| wait(device.read(&row)));
            // Whatever has no value has it in both.
            let same = a.iter().zip(&b).all(|(a, b)| a == b || a.is_nan() && b.is_nan());
            assert!(same, "{name} {options}: metrics of iteration {done}: {a:?} {b:?}");
        }
        let last = bits(&device, &in_program);
        for (((entry, a), (_, b)), (_, first)) in last.iter().zip(&bits(&device, &on_host)).zip(&first) {
            assert!(a == b, "{name} {options}: {entry}");
            if ["theta", "target", "disturbance", "priorities", "obs_mean", "obs_var", "obs_count"]
                .contains(&entry.as_str())
            {
                assert!(a != first, "{name} {options}: {entry} did not change");
            }
        }
    }
}

#[test]
fn a_seed_trains_alone_as_it_does_beside_others() {
    let device = Device::cpu(1);
    for (name, env, options) in ALL {
        let (settings, env) = (small(options), builtin(env).unwrap());
        let train = |seeds: &[u64]| {
            let algorithm = fitted(name, &env, &settings, 120);
            let mut training = Training::new(&device, algorithm, &env, seeds).unwrap();
            (0..3).for_each(|done| drop(wait(training.step(done, 3))));
            bits(&device, &training)
        };
        for ((entry, both), (_, alone)) in train(&SEEDS).iter().zip(train(&SEEDS[1..])) {
            assert!(both[both.len() / 2..] == alone, "{name} {options}: {entry}");
        }
    }
}

#[test]
fn sessions_resume_exactly_and_memories_grow_with_longer_runs() {
    let device = Device::cpu(1);
    for (name, env, options) in ALL {
        let layer = Layer { origin: "test".into(), settings: small(options) };
        let setup = |steps: u64| {
            Setup::resolve(name, builtin(env).unwrap(), &SEEDS, Some(steps), std::slice::from_ref(&layer)).unwrap()
        };
        let finish = |session: &mut Session| {
            while !session.done() {
                wait(session.step());
            }
            [0, 1].map(|index| wait(session.snapshot(index)))
        };
        // Schedules go by the length of the run, so the shorter one is the longer one cut off.
        let want = finish(&mut Session::new(&device, &setup(240)).unwrap());
        let mut first = Session::new(&device, &setup(240)).unwrap();
        wait(first.step());
        wait(first.step());
        first.set_steps(160).unwrap();
        let half = [0, 1].map(|index| wait(first.snapshot(index)));
        let half: Vec<&[u8]> = half.iter().map(Vec::as_slice).collect();
        let mut longer = Session::restore(&device, &half).unwrap();
        longer.set_steps(240).unwrap();
        assert!(finish(&mut longer) == want, "{name} {options}");
    }
}

#[test]
fn trained_policies_play_with_exploration_and_without_on_devices_on_the_host_and_in_viewers() {
    let device = Device::cpu(1);
    for (name, env, options) in ALL {
        let layer = Layer { origin: "test".into(), settings: small(options) };
        let setup = Setup::resolve(name, builtin(env).unwrap(), &SEEDS[..1], Some(160), &[layer]).unwrap();
        let mut session = Session::new(&device, &setup).unwrap();
        wait(session.step());
        let mut policy = Evaluator::load(&device, &wait(session.snapshot(0))).unwrap();
        let env = builtin(env).unwrap();
        let returns = |episodes: Vec<Episode>| episodes.iter().map(|episode| episode.ret).collect::<Vec<f64>>();
        let played = [true, false].map(|deterministic| {
            let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
            let size = policy.fleet(4).unwrap();
            let executor = Box::new(IterativeExecutor::new(size.tasks, size.envs_per_task, 0, make).unwrap());
            let on_host = returns(wait(policy.play(executor, 7, deterministic)));
            assert!(on_host.len() >= 4 && on_host.iter().all(|x| x.is_finite()), "{name} {options}: {on_host:?}");
            Viewer::new(&policy, 2, 0, deterministic).unwrap().advance().unwrap();
            returns(wait(policy.evaluate(4, 7, deterministic)))
        });
        // Vectors are never the same with noise on them; choices may be.
        assert!(env.spec().action.choices().is_some() || played[0] != played[1], "{name} {options}: {played:?}");
    }
}

/// The outputs of a network of one hidden layer of eight rectified units, whose parameters these are the first ones of.
fn network(theta: &[f64], inputs: &[f64], outputs: usize) -> Vec<f64> {
    let layer = |from: usize, x: &[f64], width: usize| -> Vec<f64> {
        let (weights, biases) = theta[from..].split_at(x.len() * width);
        (0..width)
            .map(|j| biases[j] + x.iter().enumerate().map(|(i, x)| x * weights[i * width + j]).sum::<f64>())
            .collect()
    };
    let hidden: Vec<f64> = layer(0, inputs, 8).into_iter().map(|x| x.max(0.0)).collect();
    layer((inputs.len() + 1) * 8, &hidden, outputs)
}

/// An observation as the statistics `[mean, variance]` standardise it.
fn standardised(obs: &[f64], [mean, variance]: &[Vec<f64>; 2]) -> Vec<f64> {
    let one = |i: usize| ((obs[i] - mean[i]) / (variance[i] + 1e-8).sqrt()).clamp(-10.0, 10.0);
    (0..obs.len()).map(one).collect()
}

#[test]
fn statistics_are_those_of_all_that_was_played_and_the_policy_acts_by_those_before() {
    let (device, env) = (Device::cpu(1), builtin("pendulum").unwrap());
    let text = "normalise_observations = true\nhidden = [8]\nbatch_size = 8\nlearning_starts = 6\niteration_steps = 2\n\
                policy_delay = 2\nenvs = 2\nsigma = 0.0";
    let algorithm = fitted("td3", &env, &table(text), 80);
    let names: Vec<String> = algorithm.layout().parts().into_iter().map(|part| part.name).collect();
    assert_eq!(names[..4], ["policy.1.weight", "policy.1.bias", "policy.2.weight", "policy.2.bias"]);
    assert!(names.contains(&"value.1.0.weight".to_owned()), "critics read actions too: {names:?}");
    let mut training = Training::new(&device, algorithm, &env, &SEEDS[..1]).unwrap();
    let read = |training: &Training, name: &str| wait(device.read(training.state().get(name).unwrap()));
    for done in 0..20u64 {
        let theta = read(&training, "theta");
        let before = ["obs_mean", "obs_var"].map(|name| read(&training, name));
        wait(training.step(done, 20));
        let memory = read(&training, "memory");
        let rows: Vec<&[f64]> = memory.chunks(9).take(4 * (done as usize + 1)).collect();
        let n = rows.len() as f64;
        assert_eq!(read(&training, "obs_count"), [n]);
        for i in 0..3 {
            let mean = rows.iter().map(|row| row[i]).sum::<f64>() / n;
            let variance = rows.iter().map(|row| (row[i] - mean).powi(2)).sum::<f64>() / n;
            let (m, v) = (read(&training, "obs_mean")[i], read(&training, "obs_var")[i]);
            assert!(
                (m - mean).abs() < 1e-5 && (v - variance).abs() < 1e-5 * (1.0 + variance),
                "{m} {mean}, {v} {variance}"
            );
        }
        // The first pass of an iteration that learns: two environments.
        for row in rows[rows.len() - 4..rows.len() - 2].iter().filter(|_| done >= 2) {
            let action = network(&theta, &standardised(&row[..3], &before), 1)[0].tanh();
            assert!((row[3] - action).abs() < 1e-4, "iteration {done}: {} for {action}", row[3]);
        }
    }
}

#[test]
fn updates_see_observations_by_the_statistics_after_their_pass() {
    let (device, env) = (Device::cpu(1), builtin("cartpole").unwrap());
    let text = "normalise_observations = true\nhidden = [8]\nbatch_size = 4\nlearning_starts = 0\ntrain_freq = 1\n\
                iteration_steps = 1";
    let algorithm = fitted("dqn", &env, &table(text), 60);
    let mut training = Training::new(&device, algorithm, &env, &SEEDS[..1]).unwrap();
    let read = |training: &Training, name: &str| wait(device.read(training.state().get(name).unwrap()));
    let theta = read(&training, "theta");
    let names = training.metric_names(0).to_vec();
    let row = wait(training.step(0, 60));
    let metrics = wait(device.read(&row));
    let metric = |name: &str| metrics[names.iter().position(|known| known == name).unwrap()];
    // A memory of one transition: each batch is of that alone, and the statistics are of its observation.
    let memory = read(&training, "memory");
    let (obs, action, next_obs, reward) = (&memory[..4], memory[4] as usize, &memory[5..9], memory[9]);
    let now = [obs.to_vec(), vec![0.0; 4]];
    let value = network(&theta, &standardised(obs, &now), 2)[action];
    let ahead = network(&theta, &standardised(next_obs, &now), 2).into_iter().fold(f64::MIN, f64::max);
    let error = (value - reward - 0.99 * ahead).abs();
    let loss = if error < 1.0 { error * error / 2.0 } else { error - 0.5 };
    let [seen, seen_loss] = ["train/value_mean", "train/value_loss"].map(metric);
    assert!((seen - value).abs() < 1e-4 && (seen_loss - loss).abs() < 1e-3, "{seen} {value}, {seen_loss} {loss}");
}

#[test]
fn a_policy_alone_acts_by_its_statistics_as_the_whole_state_does() {
    let device = Device::cpu(1);
    for (name, env, options) in ALL.into_iter().filter(|(.., options)| options.contains("normalise")) {
        let layer = Layer { origin: "test".into(), settings: small(options) };
        let setup = Setup::resolve(name, builtin(env).unwrap(), &SEEDS[..1], Some(160), &[layer]).unwrap();
        let mut session = Session::new(&device, &setup).unwrap();
        (0..3).for_each(|_| drop(wait(session.step())));
        let returns = |snapshot: Vec<u8>| {
            let mut policy = Evaluator::load(&device, &snapshot).unwrap();
            let episodes = wait(policy.evaluate(4, 7, true));
            episodes.iter().map(|episode| episode.ret).collect::<Vec<f64>>()
        };
        let (all, alone) = (returns(wait(session.snapshot(0))), returns(wait(session.policy_snapshot(0))));
        assert_eq!(all, alone, "{name}");
        let plain = small(&options.replace("normalise_observations = true", "normalise_observations = false"));
        assert!(fitted(name, &builtin(env).unwrap(), &plain, 160).policy_entries() == ["theta"]);
    }
}

/// Mean return of the episodes of each seed that ended in the last iterations.
fn late(algorithm: Rc<dyn Algorithm>, env: &EnvDef, iterations: u64, last: u64) -> [f64; 2] {
    let device = Device::cpu(2);
    let mut training = Training::new(&device, algorithm, env, &SEEDS).unwrap();
    let mut sums = [[0.0; 2]; 2];
    for done in 0..iterations {
        let names = training.metric_names(done);
        let column = |name: &str| names.iter().position(|known| known == name).unwrap();
        let [episodes, returns] = [Metrics::EPISODES, Metrics::RETURN_SUM].map(column);
        let row = wait(training.step(done, iterations));
        let metrics = wait(device.read(&row));
        for (sum, row) in sums.iter_mut().zip(metrics.chunks(metrics.len() / 2)).filter(|_| done + last >= iterations) {
            *sum = [sum[0] + row[episodes], sum[1] + row[returns]];
        }
    }
    sums.map(|[episodes, returns]| returns / episodes)
}

fn learner<C: OffPolicy>(networks: C, env: &EnvDef, steps: u64) -> Rc<dyn Algorithm> {
    OffPolicyLearner::new(networks, env.spec()).unwrap().for_steps(steps).unwrap().unwrap().into()
}

/// Late returns of an algorithm, and of the same with its gradient turned around.
fn both<C: OffPolicy>(networks: impl Fn() -> C, env: &EnvDef, iterations: u64, batch: u64) -> [[f64; 2]; 2] {
    let (steps, last) = (iterations * batch, iterations / 5);
    let learned = late(learner(networks(), env, steps), env, iterations, last);
    let turned = late(learner(Turned(networks()), env, steps), env, iterations, last);
    println!("{learned:?}, turned around {turned:?}");
    [learned, turned]
}

const PENDULUM: &str = "learning_rate = 2e-3\npolicy_learning_rate = 2e-3\ngamma = 0.98\nbatch_size = 128\ntau = 0.01\n\
                        hidden = [64, 64]\nlearning_starts = 1000\niteration_steps = 200";

/// Even draws come to −1200, and so does what was turned around.
fn pendulum([learned, turned]: [[f64; 2]; 2]) {
    assert!(learned.iter().all(|mean| *mean > -450.0), "{learned:?}");
    assert!(turned.iter().all(|mean| *mean < -700.0), "{turned:?}");
}

#[test]
fn ddpg_learns_pendulum_and_does_not_when_its_gradient_is_turned_around() {
    let env = builtin("pendulum").unwrap();
    let settings = table(&format!("{PENDULUM}\nweight_decay = 0.0\nsigma = 0.1\nnoise = \"gaussian\""));
    let config = DdpgConfig::default().with(&settings).unwrap();
    pendulum(both(|| ddpg::networks(&config, env.spec()).unwrap(), &env, 40, 200));
}

#[test]
fn td3_learns_pendulum_and_does_not_when_its_gradient_is_turned_around() {
    let env = builtin("pendulum").unwrap();
    let config = Td3Config::default().with(&table(PENDULUM)).unwrap();
    pendulum(both(|| td3::networks(&config, env.spec()).unwrap(), &env, 40, 200));
}

const CARTPOLE: &str = "batch_size = 64\nlearning_starts = 1000\niteration_steps = 200\ntrain_freq = 4\ngradient_steps = 2\n\
                        memory_size = 20000\nhidden = [64, 64]";

/// Even draws come to 22.
fn cartpole([learned, turned]: [[f64; 2]; 2]) {
    assert!(learned.iter().all(|mean| *mean > 70.0), "{learned:?}");
    assert!(turned.iter().all(|mean| *mean < 40.0), "{turned:?}");
}

#[test]
fn dql_learns_cartpole_and_does_not_when_its_gradient_is_turned_around() {
    let env = builtin("cartpole").unwrap();
    let more = "gamma = 0.99\nlearning_rate = 1e-3\nepsilon_initial = 1.0\nepsilon_decay = 0.94\n\
                target_update_interval = 100\nmax_grad_norm = 10.0";
    let config = DqlConfig::default().with(&table(&format!("{CARTPOLE}\n{more}"))).unwrap();
    cartpole(both(|| dql::networks(&config, env.spec()).unwrap(), &env, 120, 200));
}

#[test]
fn sac_learns_choices_and_does_not_when_its_gradient_is_turned_around() {
    let env = builtin("cartpole").unwrap();
    let more = "learning_rate = 2e-3\ntau = 0.01\ntarget_entropy_share = 0.3\ntemperature = 0.2";
    let config = SacConfig::default().with(&table(&format!("{CARTPOLE}\n{more}"))).unwrap();
    cartpole(both(|| sac::SacNets::new(&config, env.spec()).unwrap(), &env, 80, 200));
}

#[test]
fn dqn_learns_with_several_steps_and_priorities() {
    let env = builtin("cartpole").unwrap();
    let base = "learning_rate = 1e-3\ntarget_update_interval = 100\nexploration_fraction = 0.3";
    for more in ["n_step = 3", "prioritised = true"] {
        let config = DqnConfig::default().with(&table(&format!("{CARTPOLE}\n{base}\n{more}"))).unwrap();
        cartpole(both(|| dqn::networks(&config, env.spec()).unwrap(), &env, 80, 200));
    }
}

/// The experiment of the paper on hindsight, section 3.1, with fewer bits.
#[test]
fn goals_that_are_never_reached_are_learned_with_hindsight_alone() {
    let env = builtin("bit-flip:bits=10").unwrap();
    let reached = |hindsight: f64| {
        let text = format!(
            "learning_rate = 1e-3\nhidden = [128]\nbatch_size = 128\ngamma = 0.98\ntrain_freq = 8\ngradient_steps = 8\n\
             iteration_steps = 200\nlearning_starts = 1000\ntarget_update_interval = 200\nexploration_fraction = 0.3\n\
             epsilon_final = 0.02\nhindsight = {hindsight}"
        );
        let config = DqnConfig::default().with(&table(&text)).unwrap();
        let networks = dqn::networks(&config, env.spec()).unwrap();
        late(learner(networks, &env, 16_000), &env, 80, 10)
    };
    let (with, without) = (reached(0.8), reached(0.0));
    println!("{with:?}, without hindsight {without:?}");
    // An episode that reaches no goal is worth −10; knowing the rule is worth −4 on average.
    assert!(with.iter().all(|mean| *mean > -6.0), "{with:?}");
    assert!(without.iter().all(|mean| *mean < -8.5), "{without:?}");
}

#[test]
fn td3s_policy_and_targets_move_at_each_second_update() {
    let (device, env) = (Device::cpu(1), builtin("pendulum").unwrap());
    for (delay, iteration_steps) in [(2, 2), (1, 1), (3, 3)] {
        let text = format!(
            "hidden = [8]\nbatch_size = 8\nlearning_starts = 6\niteration_steps = {iteration_steps}\npolicy_delay = {delay}\ntau = 0.25"
        );
        let algorithm = fitted("td3", &env, &table(&text), 60);
        let of_policy: usize = algorithm
            .layout()
            .slices()
            .filter(|(name, ..)| name.starts_with("policy"))
            .map(|(_, shape, _)| shape.iter().product::<usize>())
            .sum();
        let mut training = Training::new(&device, algorithm, &env, &SEEDS[..1]).unwrap();
        let read = |training: &Training, name: &str| wait(device.read(training.state().get(name).unwrap()));
        let total = 60 / iteration_steps;
        let warm_up = 6u64.div_ceil(iteration_steps);
        (0..warm_up).for_each(|done| drop(wait(training.step(done, total))));
        let mut target = read(&training, "target");
        assert_eq!(target, read(&training, "theta"), "the warm-up learns nothing");
        // Adam's correction says how many steps each has made: 1 − β₁ⁿ.
        let steps = |training: &Training, name: &str| {
            let scale = read(training, name)[0];
            ((1.0 - scale).ln() / 0.9f64.ln()).round() as u64
        };
        for done in 0..3 {
            wait(training.step(warm_up + done, total));
            let (now, theta) = (read(&training, "target"), read(&training, "theta"));
            for i in 0..now.len() {
                // Once in this iteration, after all its updates.
                let want = target[i] + 0.25 * (theta[i] - target[i]);
                assert!((now[i] - want).abs() < 1e-6, "{i} of {of_policy}: {} for {want}", now[i]);
            }
            assert_eq!(steps(&training, "adam_scale"), done + 1, "of the policy");
            assert_eq!(steps(&training, "adam_scale_values"), (done + 1) * delay, "of the critics");
            target = now;
        }
    }
}

#[test]
fn iterations_on_the_gpu_are_near_those_of_the_cpu() {
    let Some(gpu) = gpu::device() else { return };
    // Each kind of network, of noise and of what is drawn.
    for (name, env, options) in [0, 1, 2, 3, 4, 5, 8, 9, 16].map(|i| ALL[i]) {
        let (mut settings, env) = (small(options), builtin(env).unwrap());
        settings.extend(table("learning_starts = 12\niteration_steps = 12\nenvs = 1"));
        let after = |device: &Device| {
            let algorithm = fitted(name, &env, &settings, 24);
            let mut training = Training::new(device, algorithm, &env, &SEEDS).unwrap();
            let read = |training: &Training| wait(device.read(training.state().get("theta").unwrap()));
            let first = read(&training);
            (0..2).for_each(|done| drop(wait(training.step(done, 2))));
            (first, read(&training))
        };
        let ((first, on_gpu), (_, on_cpu)) = (after(&gpu), after(&Device::cpu(1)));
        let distance = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        let (moved, apart) = (distance(&on_cpu, &first), distance(&on_gpu, &on_cpu));
        println!("{name} on {}: parameters moved by {moved:e} and are {apart:e} apart", env.spec().name);
        assert!(moved > 1e-4 && apart <= 0.05 * moved, "{name} {options}: {apart:e} of {moved:e}");
    }
}

#[test]
fn a_final_state_is_worth_nothing_and_a_time_limit_is_none() {
    let device = Device::cpu(1);
    let mut program = Program::new(&device, |cx| {
        let column = |numbers: &[f64]| Tensor::literal_f32(numbers).reshape(&[1, numbers.len(), 1]);
        let y = target(column(&[1.0, 1.0]), column(&[0.0, 1.0]), column(&[10.0, 10.0]), Tensor::constant_f32(0.5));
        cx.output("target", y);
        let action = column(&[0.0, 0.9, -0.9, 0.0]);
        cx.output("smoothed", smoothed(action, column(&[1.0, 10.0, -10.0, -10.0]), [0.2, 0.5]));
    })
    .unwrap();
    let out = program.run(&State::new(), &[], &[]).unwrap();
    let read = |name: &str| wait(device.read(out.get(name).unwrap()));
    assert_eq!(read("target"), [6.0, 1.0]);
    let want = [0.2, 1.0, -1.0, -0.5];
    assert!(read("smoothed").iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-6), "{:?}", read("smoothed"));
}

#[test]
fn what_does_not_fit_is_said_before_training() {
    for (name, env, text, parts) in [
        ("ddpg", "cartpole", "", ["env: ", "choices"]),
        ("td3", "cartpole", "", ["env: ", "choices"]),
        ("dql", "pendulum", "", ["env: ", "acts by choices"]),
        ("td3", "pendulum", "policy_delay = 3", ["iteration_steps: ", "try 102"]),
        ("td3", "pendulum", "hindsight = 0.8", ["hindsight: ", "`pendulum` has no goals"]),
        ("dqn", "bit-flip", "hindsight = 0.8\nn_step = 2", ["n_step: ", "hindsight"]),
        ("dqn", "bit-flip", "hindsight = 1.5", ["hindsight: ", "0 to 1"]),
        ("dqn", "cartpole", "n_step = 0", ["n_step: ", "0 is not in 1"]),
        ("dqn", "cartpole", "priority_exponent = -1.0", ["priority_exponent: ", "0 to 1"]),
        ("ddpg", "pendulum", "noise = \"none\"", ["noise: ", "ornstein_uhlenbeck"]),
        ("sac", "bandit:arms=2", "target_entropy_share = 2.0", ["target_entropy_share: ", "0 to 1"]),
    ] {
        let layer = Layer { origin: "test".into(), settings: table(text) };
        let message =
            Setup::resolve(name, builtin(env).unwrap(), &[0], Some(10_000), &[layer]).unwrap_err().to_string();
        assert!(parts.iter().all(|part| message.contains(part)), "{name} on {env}: {message}");
    }
}
