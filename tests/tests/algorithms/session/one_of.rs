//! Training on one of several environments of the host: a policy that sees which one it is does well at
//! once, and one that does not has to find out.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::Result;
use quickstudy_core::env::{ActionSpace, Dim, EnvSpec};
use quickstudy_core::host::{Chance, EnvPlace, HostEnv, OneOf, Transition};
use quickstudy_tests::trainings::{training_on, value, wait};

const STEPS: usize = 5;

/// A choice of two levers, of which one pays.
struct Lever {
    spec: EnvSpec,
    pays: f64,
}

impl Lever {
    fn new(name: &str, pays: f64) -> Lever {
        let levers = ActionSpace::discrete(&["left", "right"]);
        Lever { spec: EnvSpec::new(name, vec![Dim::new("nothing", 0.0, 1.0)], levers, STEPS), pays }
    }
}

impl HostEnv for Lever {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, _: Chance) -> Result<Vec<f64>> {
        Ok(vec![0.0])
    }

    fn step(&mut self, action: &[f64], _: Chance) -> Result<Transition> {
        let reward = f64::from(u8::from(action[0] == self.pays));
        Ok(Transition { observation: vec![0.0], reward, ..Transition::default() })
    }
}

fn levers(identity: bool) -> Result<OneOf> {
    let envs: Vec<Box<dyn HostEnv>> = vec![Box::new(Lever::new("left", 0.0)), Box::new(Lever::new("right", 1.0))];
    OneOf::new("levers", envs, identity)
}

/// The mean return of a trial of one episode, in the first iteration and in the last one.
fn returns(identity: bool) -> [f64; 2] {
    let place = EnvPlace::of_envs(move |_| Ok(Box::new(levers(identity)?))).unwrap();
    let settings = "meta_batch = 64\nepisodes = 1\nunits = 8\nlearning_rate = 0.02\ngae_lambda = 0.3\n";
    let mut session = training_on("rl2-ppo", place).steps(64 * 5 * 40).set(settings).session();
    let mut all = Vec::new();
    while !session.done() {
        let row = wait(session.step()).remove(0);
        all.push(value(&row, "meta/trial_return"));
    }
    [all[0], *all.last().unwrap()]
}

#[test]
fn one_of_several_environments_is_learned_by_its_identity_or_found_out() {
    let [shown, hidden] = [true, false].map(returns);
    println!("{shown:?} {hidden:?}: identity shown and hidden, first and last iteration");
    // By chance every second pull pays. A policy that has to find out can do no better at its first pull; all later
    // pulls can.
    assert!((2.0..3.0).contains(&shown[0]) && (2.0..3.0).contains(&hidden[0]), "{shown:?} {hidden:?}");
    assert!(shown[1] > 4.8, "{shown:?}");
    assert!((4.1..4.8).contains(&hidden[1]), "{hidden:?}");
}
