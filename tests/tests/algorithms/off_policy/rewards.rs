//! The scale of rewards: applied once, when a batch is learned from.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::algo::{Algorithm, Training};
use quickstudy_core::env::{ActionSpace, Dim, EnvSpec};
use quickstudy_core::host::{Chance, HostEnv, IterativeExecutor, Transition};
use quickstudy_core::replay::Transitions;
use quickstudy_core::train::ALGORITHMS;
use quickstudy_core::{Device, Result};

use super::all::{small, wait};

/// Pays the sine of the number of the step, times `scale`.
struct Pays {
    spec: EnvSpec,
    scale: f64,
    steps: usize,
}

impl HostEnv for Pays {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, _: Chance) -> Result<Vec<f64>> {
        self.steps = 0;
        Ok(vec![0.0])
    }

    fn step(&mut self, _: &[f64], _: Chance) -> Result<Transition> {
        self.steps += 1;
        let at = self.steps as f64;
        let reward = f64::from((0.7 * at).sin() as f32) * self.scale;
        Ok(Transition { observation: vec![at / 7.0], reward, terminated: false, truncated: false, info: Vec::new() })
    }
}

/// The parameters and the rewards in the memory after some updates, as bits.
fn trained(name: &str, paid: f64, scale: f64) -> [Vec<u32>; 2] {
    let device = Device::cpu(1);
    let action = match name {
        "dqn" | "dql" => ActionSpace::discrete(&["left", "right"]),
        _ => ActionSpace::continuous(vec![Dim::new("push", -1.0, 1.0)]),
    };
    let spec = EnvSpec::new("pays", vec![Dim::unbounded("time")], action, 7);
    let settings = small(&format!("reward_scale = {scale:?}\ntrain_freq = 2\ngradient_steps = 2"));
    let def = ALGORITHMS.iter().find(|def| def.name == name).unwrap();
    let algorithm: Rc<dyn Algorithm> = def.fit(&settings, &spec).unwrap().for_steps(160).unwrap().unwrap().into();
    let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Pays { spec: spec.clone(), scale: paid, steps: 0 })) };
    let executor = Box::new(IterativeExecutor::new(1, 1, 0, make).unwrap());
    let mut training = Training::new(&device, algorithm, executor, &[5]).unwrap();
    (0..4).for_each(|done| drop(wait(training.step(done, 4))));
    let [theta, memory] = ["theta", "memory"].map(|name| -> Vec<u32> {
        let all = wait(device.read_f32(training.state().get(name).unwrap()));
        all.into_iter().map(f32::to_bits).collect()
    });
    // A row has observation, action, next observation, reward and end.
    [theta, memory.chunks(Transitions::width(1, 1)).map(|row| row[3]).collect()]
}

#[test]
fn a_scale_of_rewards_is_as_if_so_much_more_was_paid() {
    for name in ["dqn", "dql", "ddpg", "td3", "sac"] {
        let [plain, rewards] = trained(name, 1.0, 1.0);
        let [paid, _] = trained(name, 4.0, 1.0);
        // Powers of two leave no rounding behind, so all bits are the same.
        let [scaled, memory] = trained(name, 1.0, 4.0);
        assert!(scaled == paid, "{name}: applied exactly once");
        assert!(scaled != plain, "{name}");
        assert!(memory == rewards && rewards.len() == 160, "{name}: the memory holds what was paid");
    }
}
