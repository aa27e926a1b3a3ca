//! Debug mode: a run that loses its numbers says in which operation that began.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::env::{ActionSpace, Dim, Draws, Env, EnvDef, EnvSpec, Mask, Real, Scene, Step};
use quickstudy_core::train::Session;
use quickstudy_core::{Error, env};
use quickstudy_tests::trainings::{snapshot, training_on};

fn session(settings: &str) -> Session {
    training_on("ppo", env::builtin("cartpole").unwrap()).steps(4096).set(settings).session()
}

const SMALL: &str = "envs = 4\nhorizon = 8\nminibatches = 2\nepochs = 2\nhidden = [16]\n";

fn failure(session: &mut Session) -> Option<String> {
    (0..4).find_map(|_| match pollster::block_on(session.step()) {
        Ok(_) => None,
        Err(Error::NonFinite(message)) => Some(message),
        Err(other) => panic!("{other}"),
    })
}

#[test]
fn the_operation_is_named_with_its_source() {
    let mut run = session(&format!("{SMALL}learning_rate = 1e30"));
    run.set_debug(true);
    let message = failure(&mut run).unwrap();
    // The square of a value error of about 1e30.
    assert!(message.starts_with("mul gives inf from finite operands, core/src/algo/on_policy/ppo.rs:"), "{message}");
    assert!(message.contains("of scan %"), "{message}");
}

#[test]
fn healthy_training_is_the_same_in_debug_mode() {
    let (mut plain, mut debug) = (session(SMALL), session(SMALL));
    debug.set_debug(true);
    assert_eq!(failure(&mut plain), None);
    assert_eq!(failure(&mut debug), None);
    assert!(snapshot(&plain, 0) == snapshot(&debug, 0));
}

/// A clock whose reward becomes NaN, in a function of `Real` or in one that is made of others.
struct Clock {
    composed: bool,
}

impl Env for Clock {
    type State<R: Real> = [R; 1];
    fn spec(&self) -> EnvSpec {
        EnvSpec::new("clock", vec![Dim::unbounded("t")], ActionSpace::discrete(&["wait", "look"]), 9)
    }
    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], _rng: &mut Draws<R>) -> [R; 1] {
        [R::lit(0.0)]
    }
    #[inline(always)]
    fn step<R: Real>(&self, [t]: [R; 1], action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        // The side that is left out is NaN from the first step on, without harm.
        let sound = R::select(t.ge(R::lit(0.0)), action[0], (R::lit(-1.0) - t).sqrt());
        let late = R::lit(5.0) - t;
        let root = late.sqrt(); // a root below 0
        let wide = (late * -100.0).exp().square(); // a square above 3e38
        let reward = sound + if self.composed { wide } else { root };
        Step { next: [t + 1.0], reward, terminated: R::Mask::splat(false) }
    }
    #[inline(always)]
    fn observe<R: Real>(&self, [t]: &[R; 1], _task: &[R], out: &mut [R]) {
        out[0] = *t;
    }
    fn draw(&self, _state: &[f32], _task: &[f32]) -> Scene {
        Scene::new([0.0, 1.0, 0.0, 1.0])
    }
}

#[test]
fn a_number_of_an_environment_is_named_by_the_line_of_the_environment() {
    for (composed, op, marker) in [(false, "sqrt gives NaN", "// a root below"), (true, "inf", "// a square above")] {
        let lines: Vec<&str> = include_str!("debug.rs").lines().collect();
        let line = 1 + lines.iter().position(|line| line.contains(marker)).unwrap();
        let mut run = training_on("ppo", EnvDef::new(Clock { composed }).unwrap()).steps(4096).set(SMALL).session();
        run.set_debug(true);
        let message = failure(&mut run).unwrap();
        assert!(message.contains(op) && message.contains(&format!("platform/debug.rs:{line}:")), "{message}");
        let advice = " in env_step; mend this line of the environment, which `check_env` tests";
        assert!(message.ends_with(advice) && !message.contains("learning rate"), "{message}");
    }
    let mut run = session(&format!("{SMALL}learning_rate = 1e30"));
    run.set_debug(true);
    assert!(failure(&mut run).unwrap().ends_with("such as a lower learning rate"));
}
