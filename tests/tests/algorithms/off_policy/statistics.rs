//! Statistics of observations: what they are of, and who acts and learns by them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::Device;
use quickstudy_core::algo::Training;
use quickstudy_core::env::builtin;
use quickstudy_core::train::Evaluator;
use quickstudy_tests::trainings::{steps, training};

use super::all::{SEEDS, all, fitted, small, table, wait};

/// The outputs of a network with one hidden layer of eight rectified units, whose
/// parameters are the first ones in `theta`.
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

/// The observation, standardised by the statistics `[mean, variance]`.
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
        // The first pass of an iteration that learns has two environments.
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
    for (name, env, options) in all().into_iter().filter(|(.., options)| options.contains("normalise")) {
        let mut session = training(name, env).seeds(&SEEDS[..1]).steps(160).with(small(options)).session_on(&device);
        steps(&mut session, 3);
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
