//! Episodes as algorithms with a replay buffer play them, against metarl's `OffPolicyRLAlgorithm.process_samples`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::Result;
use quickstudy_core::backend::LocalFuture;
use quickstudy_core::env::{ActionSpace, Dim, EnvSpec};
use quickstudy_core::host::{
    Acted, Actor, Chance, HostEnv, IterativeExecutor, MetaSampler, Quota, SUCCESS, Transition,
};
use quickstudy_core::train::Row;
use quickstudy_tests::crafted::Crafted;
use quickstudy_tests::golden::{items, load, number, numbers};
use quickstudy_tests::trainings::{training_on, value, wait};
use serde_json::Value;

/// Plays a path of the file: of a complete one, the last step is final; after another there are steps of no worth.
struct Played {
    spec: EnvSpec,
    info: Vec<String>,
    length: usize,
    successes: usize,
    ret: f64,
    complete: bool,
    steps: usize,
}

impl Played {
    fn new(path: &Value) -> Played {
        let of = |key: &str| number(&path[key]);
        Played {
            spec: EnvSpec::new("played", vec![Dim::unbounded("step")], ActionSpace::discrete(&["go"]), 100),
            info: vec![SUCCESS.to_owned()],
            length: of("running_length") as usize,
            successes: of("success_count") as usize,
            ret: of("undiscounted_return"),
            complete: items(&path["dones"]).last().unwrap().as_bool().unwrap(),
            steps: 0,
        }
    }
}

impl HostEnv for Played {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn info(&self) -> &[String] {
        &self.info
    }

    fn reset(&mut self, _: Chance) -> Result<Vec<f64>> {
        self.steps = 0;
        Ok(vec![0.0])
    }

    fn step(&mut self, _: &[f64], _: Chance) -> Result<Transition> {
        self.steps += 1;
        // Halves, and in the last step what is left.
        let reward = match self.steps {
            step if step < self.length => 0.5,
            step if step == self.length => self.ret - 0.5 * (self.length - 1) as f64,
            _ => 0.0,
        };
        Ok(Transition {
            observation: vec![self.steps as f64],
            reward,
            terminated: self.complete && self.steps == self.length,
            truncated: false,
            info: vec![f64::from(u8::from(self.steps <= self.successes))],
        })
    }
}

fn executor(paths: &[Value]) -> Box<IterativeExecutor> {
    let make = |number: usize| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Played::new(&paths[number]))) };
    Box::new(IterativeExecutor::new(1, paths.len(), 0, make).unwrap())
}

#[test]
fn golden_returns_run_on_from_one_iteration_to_the_next() {
    let file = load("offpolicy_process_samples.json");
    let (paths, out) = (items(&file["paths"]), &file["out"]);
    let returns = numbers(&out["undiscounted_returns"]);
    let settings = "hidden = [4]\nenvs = 3\niteration_steps = 1\ntrain_freq = 1\ngradient_steps = 1\nbatch_size = 1\n\
                    learning_starts = 300";
    let mut session = training_on("dqn", executor(paths)).seeds(&[0]).steps(3000).set(settings).session();
    let mut ended = Vec::new();
    for step in 1..=8 {
        let row: Row = wait(session.step()).remove(0);
        let metric = |name: &str| value(&row, name);
        let state = Crafted::read(&wait(session.snapshot(0)));
        let running = state.f32s("environment.episode_return");
        for (number, path) in paths.iter().enumerate() {
            let (length, complete) = (number_of(path, "running_length"), out["complete"][number].as_bool().unwrap());
            match (step == length, complete) {
                (true, true) => {
                    ended.push(returns[number]);
                    assert_eq!(running[number], 0.0, "the next episode begins");
                }
                // What is not complete goes on with what it has so far.
                (true, false) => assert_eq!(f64::from(running[number]), returns[number]),
                (false, _) => {}
            }
        }
        if !ended.is_empty() {
            let [most, least] = [f64::max, f64::min].map(|of| ended.iter().copied().reduce(of).unwrap());
            assert_eq!(
                [metric("rollout/ep_return_max"), metric("rollout/ep_return_min")],
                [most, least],
                "step {step}"
            );
            let mean = ended.iter().sum::<f64>() / ended.len() as f64;
            assert_eq!(metric("rollout/ep_return_mean"), mean, "step {step}");
        }
    }
    assert_eq!(ended.len(), 2);
}

fn number_of(path: &Value, key: &str) -> usize {
    number(&path[key]) as usize
}

/// Does the only thing that can be done.
struct Goes;

impl Actor for Goes {
    fn act<'a>(&'a mut self, observations: &'a [f64], _: u32) -> LocalFuture<'a, Result<Acted>> {
        let all = vec![0.0; observations.len()];
        Box::pin(async { Ok(Acted { drawn: all.clone(), played: all, info: Vec::new() }) })
    }
}

#[test]
fn golden_episodes_of_samples_have_their_returns_and_shares_of_successes() {
    let file = load("offpolicy_process_samples.json");
    let (paths, out) = (items(&file["paths"]), &file["out"]);
    let mut sampler = MetaSampler::new(executor(paths), 1);
    let complete: Vec<usize> = (0..paths.len()).filter(|path| out["complete"][*path].as_bool().unwrap()).collect();
    let steps: usize = complete.iter().map(|path| number_of(&paths[*path], "running_length")).sum();
    sampler.quota = Quota::Steps(steps as u64);
    let samples = wait(sampler.obtain(&mut Goes, &[[0, 0]]));
    // The one that is not complete is no episode, and its steps are counted as dropped.
    assert_eq!(samples.paths().count(), complete.len());
    assert_eq!(samples.dropped, samples.env_steps - steps as u64);
    let (returns, shares) = (numbers(&out["undiscounted_returns"]), numbers(&out["success_history"]));
    for path in samples.paths() {
        assert!(complete.contains(&path.copy) && path.terminated);
        let share = path.env_infos.iter().sum::<f64>() / path.len() as f64;
        assert_eq!((path.discounted_return(1.0), share), (returns[path.copy], shares[path.copy]));
    }
}
