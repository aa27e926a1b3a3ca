//! Boxes of actions: whole numbers, bounds between the numbers of single precision, and bounds far from ±1.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};

use quickstudy_core::env::{ActionSpace, Dim, Draws, Env, EnvDef, EnvSpec, Mask, Real, Scene, Step};
use quickstudy_core::host::{Chance, EnvPlace, HostEnv, Transition};
use quickstudy_core::train::{ALGORITHMS, Evaluator, Own, Session, Setup};
use quickstudy_core::{Device, Result};
use quickstudy_tests::hosted::hosted;
use quickstudy_tests::trainings::{finish, training_on, wait};

/// An environment that wants a number: the reward is 1 less the square of what the action is off, in widths of the
/// range.
#[derive(Clone, Debug)]
struct Dial {
    range: Dim,
    wanted: f64,
}

impl Env for Dial {
    type State<R: Real> = [R; 1];

    fn spec(&self) -> EnvSpec {
        let action = ActionSpace::continuous(vec![self.range.clone()]);
        EnvSpec::new("dial", vec![Dim::new("nothing", -1.0, 1.0)], action, 8)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], _rng: &mut Draws<R>) -> [R; 1] {
        [R::lit(0.0)]
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: [R; 1], action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let off = (action[0] - R::lit(self.wanted)) * R::lit(1.0 / (self.range.high - self.range.low));
        Step { next: s, reward: R::lit(1.0) - off * off, terminated: R::Mask::splat(false) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &[R; 1], _task: &[R], out: &mut [R]) {
        out[0] = s[0];
    }

    fn draw(&self, _state: &[f32], _task: &[f32]) -> Scene {
        Scene::new([0.0, 1.0, 0.0, 1.0])
    }
}

/// A dial of the host that keeps all actions that it was given.
struct Kept {
    spec: EnvSpec,
    given: Arc<Mutex<Vec<f64>>>,
}

impl HostEnv for Kept {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, _: Chance) -> Result<Vec<f64>> {
        Ok(vec![0.0])
    }

    fn step(&mut self, action: &[f64], _: Chance) -> Result<Transition> {
        self.given.lock().unwrap().extend(action);
        Ok(Transition { observation: vec![0.0], ..Transition::default() })
    }
}

fn setup(algorithm: &str, env: impl Into<EnvPlace>, settings: &str, steps: u64) -> Setup {
    training_on(algorithm, env).seeds(&[0]).steps(steps).set(settings).setup()
}

fn trained(setup: &Setup) -> Session {
    let mut session = Session::new(&Device::cpu(1), setup).unwrap();
    finish(&mut session);
    session
}

/// All actions that training and an evaluation play in an environment of the host.
fn played(algorithm: &str, range: &Dim, settings: &str, steps: u64) -> Vec<f64> {
    let spec = Dial { range: range.clone(), wanted: 0.0 }.spec();
    let given = Arc::new(Mutex::new(Vec::new()));
    let (of, to) = (spec.clone(), Arc::clone(&given));
    let place = EnvPlace::of_envs(move |_| Ok(Box::new(Kept { spec: of.clone(), given: Arc::clone(&to) }))).unwrap();
    let session = trained(&setup(algorithm, place.clone(), settings, steps));
    let file = wait(session.policy_snapshot(0));
    let mut policy = Evaluator::load_with(&Device::cpu(1), place, &file).unwrap();
    wait(policy.evaluate(2, 7, true));
    let all = given.lock().unwrap().clone();
    assert!(all.len() as u64 >= steps, "{algorithm}: {}", all.len());
    all
}

const SMALL: &str = "envs = 2\nhorizon = 64\nhidden = [4]";
const SHORT: &str = "learning_starts = 100\nhidden = [4]";
const WARM_UP: &str = "learning_starts = 3000\nhidden = [4]";

#[test]
fn actions_on_the_host_keep_to_bounds_that_single_precision_rounds_outwards() {
    for (low, high) in [(-0.1, 0.1), (0.7, 0.9)] {
        assert!(f64::from(low as f32) < low);
        let range = Dim::new("push", low, high);
        for (algorithm, settings) in [("ppo", SMALL), ("td3", SHORT), ("cem", "hidden = []")] {
            let all = played(algorithm, &range, settings, 256);
            assert!(all.iter().all(|x| (low..=high).contains(x)), "{algorithm} leaves {low} to {high}");
        }
    }
}

#[test]
fn whole_numbers_are_played_as_such_and_even_draws_reach_each_as_often() {
    let range = Dim::whole("gear", -2.0, 2.0);
    for (algorithm, settings) in [("sac", WARM_UP), ("td3", WARM_UP)] {
        let all = played(algorithm, &range, settings, 3100);
        let drawn = &all[..3000];
        for number in -2..=2 {
            let share = drawn.iter().filter(|x| **x == f64::from(number)).count() as f64 / 3000.0;
            // Four standard errors of a share of 1/5.
            assert!((share - 0.2).abs() < 4.0 * (0.16f64 / 3000.0).sqrt(), "{algorithm}: {number}: {share}");
        }
    }
    for algorithm in ["ppo", "cem"] {
        let all = played(algorithm, &range, if algorithm == "ppo" { SMALL } else { "hidden = []" }, 256);
        assert!(all.iter().all(|x| x.fract() == 0.0 && (-2.0..=2.0).contains(x)), "{algorithm}");
    }
}

#[test]
fn whole_numbers_are_the_same_in_programs_and_on_the_host() {
    let dial = EnvDef::new(Dial { range: Dim::whole("gear", 0.0, 10.0), wanted: 7.0 }).unwrap();
    let bytes = |place: EnvPlace, settings: &str| wait(trained(&setup("ppo", place, settings, 512)).parameters(0));
    for settings in [SMALL.to_owned(), format!("{SMALL}\nscale_actions = true")] {
        assert_eq!(bytes(dial.clone().into(), &settings), bytes(hosted(&dial), &settings));
    }
}

#[test]
fn bounds_that_single_precision_cannot_hold_are_refused() {
    for (low, high, part) in [
        (-1e300, 1e300, "-1e300 to 1e300, which is wider than the numbers of single precision"),
        (f64::from(f32::MIN), f64::from(f32::MAX), "wider than the numbers of single precision"),
        (0.1, 0.1 + 1e-12, "in which single precision has no number"),
    ] {
        let error = EnvDef::new(Dial { range: Dim::new("push", low, high), wanted: 0.0 }).unwrap_err().to_string();
        assert!(error.contains("action `push`") && error.contains(part), "{error}");
    }
    let error = EnvDef::new(Dial { range: Dim::whole("gear", 0.0, 2.5), wanted: 0.0 }).unwrap_err().to_string();
    assert!(error.contains("give whole bounds"), "{error}");
    let [low, high] = Dim::new("push", -0.1, 0.1).single();
    assert_eq!([low, high], [(-0.1f32).next_up(), 0.1f32.next_down()]);
    assert_eq!(Dim::new("push", -0.5, 3.0).single(), [-0.5, 3.0]);
}

/// The mean reward of a step by the deterministic actions after training.
fn learned(range: &Dim, wanted: f64, settings: &str) -> f64 {
    let dial = EnvDef::new(Dial { range: range.clone(), wanted }).unwrap();
    let session = trained(&setup("ppo", dial.clone(), settings, 16_384));
    let file = wait(session.policy_snapshot(0));
    let own = Own { env: Some(dial.into()), ..Own::default() };
    let mut policy = Evaluator::load_with(&Device::cpu(1), own, &file).unwrap();
    wait(policy.evaluate(1, 7, true))[0].ret / 8.0
}

#[test]
fn scaled_actions_learn_where_bounds_are_far_from_one() {
    let ppo = "envs = 16\nhorizon = 32\nhidden = [8]\nlearning_rate = 0.003\nlog_std_init = -1";
    for (low, high, wanted) in [(-0.1, 0.1, 0.05), (0.0, 100.0, 70.0)] {
        let range = Dim::new("push", low, high);
        // A tenth of the width off is a reward of 0.99; −0.1 … 0.1 has its bounds 0.25 and 0.75 widths off.
        let scaled = learned(&range, wanted, &format!("{ppo}\nscale_actions = true"));
        let default = learned(&range, wanted, ppo);
        assert!(scaled > 0.99 && default < 0.96, "{low} to {high}: {scaled} scaled, {default} by default");
    }
}

#[test]
fn a_note_names_the_setting_where_bounds_are_far_from_one_and_nobody_has_chosen() {
    let note = |algorithm: &str, range: Dim, settings: &str| {
        setup(algorithm, EnvDef::new(Dial { range, wanted: 0.0 }).unwrap(), settings, 1000).note()
    };
    let push = |low, high| Dim::new("push", low, high);
    for (low, high) in [(-0.1, 0.1), (0.0, 100.0), (-1.0, 2.5), (0.0, 0.25)] {
        let text = note("ppo", push(low, high), "").unwrap();
        assert!(text.contains("scale_actions = true") && text.contains("`push`"), "{text}");
    }
    for (low, high) in [(-1.0, 1.0), (-2.0, 2.0), (0.0, 0.5)] {
        assert_eq!(note("ppo", push(low, high), ""), None);
    }
    assert_eq!(note("ppo", push(0.0, 100.0), "scale_actions = true"), None);
    assert_eq!(note("ppo", push(0.0, 100.0), "scale_actions = false"), None);
    for algorithm in ["sac", "td3", "ddpg"] {
        assert_eq!(note(algorithm, push(0.0, 100.0), ""), None, "{algorithm} squashes actions into the bounds");
    }
    // A preset's numbers suit its environment.
    let navigation = quickstudy_core::env::builtin("navigation").unwrap();
    assert_eq!(setup("promp", navigation, "", 1000).note(), None);
}

#[test]
fn each_gaussian_policy_has_the_setting_and_none_that_squashes() {
    let squashing = ["ddpg", "td3", "sac", "pearl"];
    let choosing = ["dqn", "dql"];
    for def in ALGORITHMS {
        let has = def.settings().any(|doc| doc.key == "scale_actions");
        assert_eq!(has, !squashing.contains(&def.name) && !choosing.contains(&def.name), "{}", def.name);
    }
}
