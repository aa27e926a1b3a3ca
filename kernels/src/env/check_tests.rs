//! Tests of [`check_env`] on sound and on broken environments.

use std::sync::atomic::{AtomicU32, Ordering};

use super::check::judge_speed;
use super::*;
use crate::backend::cpu::simd::isa::Isa;

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    NaN,
    OutOfRange,
    Panic,
    Random,
    SameStart,
    Picture,
    Spec,
}

/// A walk to the right end of a line, with one thing wrong.
struct Walk {
    fault: Fault,
    calls: AtomicU32,
}

impl Env for Walk {
    type State<R: Real> = [R; 2];
    fn spec(&self) -> EnvSpec {
        let horizon =
            if self.fault == Fault::Spec { 50 + self.calls.fetch_add(1, Ordering::Relaxed) as usize } else { 50 };
        EnvSpec::new("walk", vec![Dim::new("x", -1.0, 1.0)], ActionSpace::discrete(&["left", "right"]), horizon)
    }
    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> [R; 2] {
        match self.fault {
            Fault::SameStart => [R::lit(0.0); 2],
            Fault::Random => [R::lit(f64::from(self.calls.fetch_add(1, Ordering::Relaxed) % 7) * 0.1), R::lit(0.0)],
            _ => [rng.range(-0.5, 0.5), R::lit(0.0)],
        }
    }
    #[inline(always)]
    fn step<R: Real>(&self, [x, t]: [R; 2], action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let speed = R::select(action[0].gt(R::lit(0.5)), R::lit(0.1), R::lit(-0.1));
        let moved = x + speed;
        let x = if self.fault == Fault::OutOfRange { moved } else { moved.clamp(-1.0, 1.0) };
        let t = t + R::lit(1.0);
        let spoilt = if self.fault == Fault::NaN { (R::lit(30.0) - t).sqrt() } else { R::lit(1.0) };
        assert!(self.fault != Fault::Panic || !x.ge(R::lit(0.9)).any(), "too far right");
        Step { next: [x, t], reward: -spoilt, terminated: x.ge(R::lit(0.95)) }
    }
    #[inline(always)]
    fn observe<R: Real>(&self, [x, _]: &[R; 2], _task: &[R], out: &mut [R]) {
        out[0] = *x;
    }
    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        let radius = if self.fault == Fault::Picture { f32::NAN } else { 0.1 };
        Scene::new([-1.0, 1.0, -1.0, 1.0]).with(Shape::circle([state[0], 0.0], radius, Color::INK))
    }
}

fn report(fault: Fault) -> Report {
    check_env(&EnvDef::new(Walk { fault, calls: AtomicU32::new(0) }).unwrap(), None)
}

#[test]
fn a_sound_environment_passes_every_check() {
    let report = report(Fault::None);
    assert!(report.checks.iter().all(|c| c.outcome == Outcome::Passed), "{report}");
    assert_eq!(report.checks.len(), 11);
    assert!(report.to_string().starts_with("environment walk\n  spec"), "{report}");
    assert!(report.into_result().is_ok());
}

#[test]
fn every_fault_is_found_by_its_check() {
    for (fault, name, outcome, says) in [
        (
            Fault::NaN,
            "steps",
            Outcome::Failed,
            "the reward is NaN after 31 steps; in `step`, divide by nothing that can be 0",
        ),
        (Fault::OutOfRange, "steps", Outcome::Failed, "its range is -1 to 1; clamp it or use `Dim::unbounded(\"x\")`"),
        (Fault::Panic, "steps", Outcome::Failed, "panicked: too far right; no function of an environment may"),
        (Fault::Random, "resets", Outcome::Failed, "same key differ; draw from `rng` only"),
        (Fault::SameStart, "resets", Outcome::Warning, "the same state"),
        (Fault::Picture, "draw", Outcome::Failed, "; in `draw`, divide"),
        (Fault::Spec, "spec", Outcome::Failed, "second call"),
    ] {
        let report = report(fault);
        let check = report.checks.iter().find(|c| c.name == name).unwrap();
        assert_eq!(check.outcome, outcome, "{report}");
        assert!(check.detail.contains(says), "{report}");
        assert_eq!(report.passed(), outcome == Outcome::Warning, "{report}");
        assert_eq!(report.into_result().is_ok(), outcome == Outcome::Warning);
    }
}

#[test]
fn failures_print_as_sentences_with_a_remedy() {
    let error = report(Fault::OutOfRange).into_result().unwrap_err();
    // As a `main` that returns it prints it, and as it displays.
    for printed in [format!("{error:?}"), error.to_string()] {
        let begin = "environment walk: the check `steps` failed: observation `x` is ";
        assert!(printed.starts_with(begin), "{printed}");
        let end = " steps, and its range is -1 to 1; clamp it or use `Dim::unbounded(\"x\")`";
        assert!(printed.ends_with(end), "{printed}");
    }
    let several = report(Fault::Random).into_result().unwrap_err().to_string();
    assert!(several.matches("the check `").count() > 1 && several.contains("; and the check `"), "{several}");
}

/// A number that pushes add up to, with a fault that random pushes do not meet.
#[derive(Clone, Copy, PartialEq)]
enum Pushed {
    Sound,
    /// −∞ for the strongest push.
    Logarithm,
    /// NaN far away.
    Root,
    /// An observation that leaves its range far away.
    Range,
    /// Infinite for pushes beyond their range.
    Exponential,
}

impl Env for Pushed {
    type State<R: Real> = [R; 1];
    fn spec(&self) -> EnvSpec {
        let push = ActionSpace::continuous(vec![Dim::new("push", -1.0, 1.0)]);
        EnvSpec::new("pushed", vec![Dim::new("x", -200.0, 200.0)], push, 300)
    }
    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> [R; 1] {
        [rng.range(-1.0, 1.0)]
    }
    #[inline(always)]
    fn step<R: Real>(&self, [x]: [R; 1], action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let push = action[0].clamp(-1.0, 1.0);
        let moved = x + push;
        let next = if *self == Pushed::Range { moved } else { moved.clamp(-200.0, 200.0) };
        let reward = match self {
            Pushed::Sound | Pushed::Range => push,
            Pushed::Logarithm => (R::lit(1.0) - push).log(),
            Pushed::Root => (R::lit(150.0) - next).sqrt(),
            Pushed::Exponential => (action[0] * 40.0).exp(),
        };
        Step { next: [next], reward, terminated: R::Mask::splat(false) }
    }
    #[inline(always)]
    fn observe<R: Real>(&self, [x]: &[R; 1], _task: &[R], out: &mut [R]) {
        out[0] = *x;
    }
    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        Scene::new([-1.0, 1.0, -1.0, 1.0]).with(Shape::circle([state[0], 0.0], 0.1, Color::INK))
    }
}

#[test]
fn actions_that_are_held_for_whole_episodes_must_lead_to_finite_numbers_in_their_ranges() {
    assert!(check_env(&EnvDef::new(Pushed::Sound).unwrap(), None).passed());
    let within = "of an episode with actions at the ends of their ranges (";
    for (env, says) in [
        (
            Pushed::Logarithm,
            ["the reward is -inf at step 1 of", within, "; the last one was `push` = 1); in `step`, divide by nothing"],
        ),
        (
            Pushed::Root,
            ["the reward is NaN at step 1", within, "; the last one was `push` = 1); in `step`, divide by nothing"],
        ),
        (Pushed::Range, ["observation `x` is ", within, "`push` = "]),
        (
            Pushed::Exponential,
            [
                "the reward is inf at step 1 of an episode with actions beyond their ranges",
                "the last one was `push` = 3",
                ", or limit the action by `clamp` first",
            ],
        ),
    ] {
        let report = check_env(&EnvDef::new(env).unwrap(), None);
        let failed: Vec<_> = report.checks.iter().filter(|check| check.outcome == Outcome::Failed).collect();
        assert!(failed.len() == 1 && failed[0].name == "held actions", "{report}");
        assert!(says.iter().all(|part| failed[0].detail.contains(part)), "{report}");
    }
}

#[test]
fn specs_that_cannot_work_are_refused() {
    struct Spec(EnvSpec);
    impl Env for Spec {
        type State<R: Real> = [R; 1];
        fn spec(&self) -> EnvSpec {
            self.0.clone()
        }
        fn reset<R: Real>(&self, _task: &[R], _rng: &mut Draws<R>) -> [R; 1] {
            [R::lit(0.0)]
        }
        fn step<R: Real>(&self, s: [R; 1], _a: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
            Step { next: s, reward: s[0], terminated: R::Mask::splat(false) }
        }
        fn observe<R: Real>(&self, s: &[R; 1], _task: &[R], out: &mut [R]) {
            out[0] = s[0];
        }
        fn draw(&self, _state: &[f32], _task: &[f32]) -> Scene {
            Scene::new([0.0, 1.0, 0.0, 1.0])
        }
    }
    let good = || EnvSpec::new("s", vec![Dim::unbounded("x")], ActionSpace::discrete(&["a"]), 1);
    assert!(EnvDef::new(Spec(good())).is_ok());
    let choice = |names: &[&str]| Choice::new("c", names);
    let several = |choices| EnvSpec { action: ActionSpace::multi_discrete(choices), ..good() };
    let report = check_env(&EnvDef::new(Spec(several(vec![choice(&["a", "b"]), choice(&["a"])]))).unwrap(), None);
    assert!(report.checks[0].detail.contains("action 2 choices at once of 2, 1 options, state 1"), "{report}");
    assert!(report.passed(), "{report}");
    let bad = [
        several(Vec::new()),
        several(vec![choice(&["a"]), choice(&[])]),
        EnvSpec { observation: Vec::new(), ..good() },
        EnvSpec { action: ActionSpace::discrete(&[]), ..good() },
        EnvSpec { horizon: 0, ..good() },
        EnvSpec { dt: 0.0, ..good() },
        EnvSpec { action: ActionSpace::continuous(vec![Dim::unbounded("force")]), ..good() },
        EnvSpec { task: vec![Dim::new("goal", 1.0, -1.0)], ..good() },
        EnvSpec { observation: vec![Dim::new("x", f64::NAN, 1.0)], ..good() },
    ];
    for spec in bad {
        let message = EnvDef::new(Spec(spec)).unwrap_err().to_string();
        assert!(message.starts_with("environment s: "), "{message}");
    }
    let env = EnvDef::new(Spec(good())).unwrap();
    let message = env.step(&[0.0, 1.0], &[0.0], &[], [0, 0], 0).unwrap_err().to_string();
    assert_eq!(message, "environment s: step: state has 2 numbers, expected 1");
}

#[test]
fn lanes_that_gain_too_little_are_a_warning_that_says_what_to_do() {
    let said = |avx2, avx512| judge_speed(2e-9, &[(Isa::Avx2, avx2), (Isa::Avx512, avx512)]);
    assert_eq!(said(1.9, 3.5).unwrap(), "2.00 ns a step, avx2 1.9× as fast, avx512 3.5× as fast");
    for (avx2, avx512) in [(1.2, 3.5), (1.9, 1.2)] {
        let (outcome, detail) = said(avx2, avx512).unwrap_err();
        assert_eq!(outcome, Outcome::Warning);
        assert!(detail.contains("1.2×") && detail.contains("#[inline(always)]"), "{detail}");
    }
    // A processor that has the baseline alone has nothing to gain.
    assert!(judge_speed(20e-9, &[]).is_ok());
    for (base, gain) in [(0.0, 0.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
        assert_eq!(judge_speed(base, &[(Isa::Avx2, gain)]).unwrap_err().1, "the clock does not advance");
    }
}

/// A walk of which nothing is inlined into the lane blocks.
struct Slow;

impl Env for Slow {
    type State<R: Real> = [R; 1];
    fn spec(&self) -> EnvSpec {
        EnvSpec::new("slow", vec![Dim::new("x", -1.0, 1.0)], ActionSpace::discrete(&["left", "right"]), 50)
    }
    #[inline(never)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> [R; 1] {
        [rng.range(-0.5, 0.5)]
    }
    #[inline(never)]
    fn step<R: Real>(&self, [x]: [R; 1], action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let speed = R::select(action[0].gt(R::lit(0.5)), R::lit(0.1), R::lit(-0.1));
        let x = (x + speed * x.cos()).clamp(-1.0, 1.0);
        Step { next: [x], reward: -x.abs().sqrt(), terminated: x.ge(R::lit(0.95)) }
    }
    #[inline(never)]
    fn observe<R: Real>(&self, [x]: &[R; 1], _task: &[R], out: &mut [R]) {
        out[0] = *x;
    }
    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        Scene::new([-1.0, 1.0, -1.0, 1.0]).with(Shape::circle([state[0], 0.0], 0.1, Color::INK))
    }
}

#[test]
fn an_environment_that_is_not_inlined_is_right_and_found_by_the_clock() {
    let env = EnvDef::new(Slow).unwrap();
    // A clock under which all instruction sets are as fast: what the machine says is not for a test.
    let ticks = AtomicU32::new(0);
    let tick = || f64::from(ticks.fetch_add(1, Ordering::Relaxed));
    let report = check_env(&env, Some(&tick));
    let (speed, others) = report.checks.split_last().unwrap();
    assert!(others.iter().all(|c| c.outcome == Outcome::Passed), "{report}");
    let expected = if Isa::detect() == Isa::Baseline { Outcome::Passed } else { Outcome::Warning };
    assert_eq!((speed.name, speed.outcome), ("speed of lanes", expected), "{report}");
    assert!(speed.detail.contains("1.0×"), "{report}");
    assert!(report.passed(), "slow is not wrong");

    // What this machine says, for people to read: `cargo test -- --nocapture`.
    let begin = std::time::Instant::now();
    println!("{}", check_env(&env, Some(&|| begin.elapsed().as_secs_f64())));
}
