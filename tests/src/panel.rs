//! An environment of several choices at once: a panel of three controls.

use quickstudy_core::env::{ActionSpace, Choice, Dim, Draws, Env, EnvDef, EnvSpec, Mask, Real, Scene, Step};

/// How many positions each control has.
pub const POSITIONS: [usize; 3] = [3, 2, 2];

/// The steps of an episode.
pub const STEPS: usize = 8;

/// The return of an agent that acts at random: each control is as it should be by chance.
pub const RANDOM: f64 = STEPS as f64 * (1.0 / 3.0 + 0.5 + 0.5);

/// The largest return.
pub const BEST: f64 = (STEPS * POSITIONS.len()) as f64;

/// Three controls, each of which gives a reward of 1 in the position that is wanted of it.
#[derive(Clone, Copy, Debug)]
pub enum Panel {
    /// The wanted positions are shown, and drawn anew at each step.
    Shown,
    /// The wanted positions are the task, and nothing is shown.
    Hidden,
}

impl Panel {
    /// Gives the environment without its type.
    ///
    /// # Panics
    /// Never: its spec is sound.
    #[must_use]
    #[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
    pub fn env(self) -> EnvDef {
        EnvDef::new(self).unwrap()
    }
}

#[inline(always)]
fn wanted<R: Real>(rng: &mut Draws<R>) -> [R; 3] {
    [rng.index(POSITIONS[0]), rng.index(POSITIONS[1]), rng.index(POSITIONS[2])]
}

/// 1 for a control that is in its wanted position.
#[inline(always)]
fn right<R: Real>(position: R, wanted: R) -> R {
    R::from_mask((position - wanted).abs().lt(R::lit(0.5)))
}

impl Env for Panel {
    /// The position that is wanted of each control.
    type State<R: Real> = [R; 3];

    fn spec(&self) -> EnvSpec {
        let dims = POSITIONS.iter().enumerate().map(|(i, n)| Dim::new(format!("wanted_{i}"), 0.0, *n as f64 - 1.0));
        let dims: Vec<Dim> = dims.collect();
        let action = ActionSpace::multi_discrete(vec![
            Choice::new("lever", &["down", "middle", "up"]),
            Choice::new("switch", &["off", "on"]),
            Choice::new("valve", &["shut", "open"]),
        ]);
        match self {
            Panel::Shown => EnvSpec::new("panel", dims, action, STEPS),
            Panel::Hidden => {
                EnvSpec::new("hidden-panel", vec![Dim::new("nothing", 0.0, 1.0)], action, STEPS).task(dims)
            }
        }
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        if !task.is_empty() {
            task.copy_from_slice(&wanted(rng));
        }
    }

    #[inline(always)]
    fn reset<R: Real>(&self, task: &[R], rng: &mut Draws<R>) -> [R; 3] {
        match self {
            Panel::Shown => wanted(rng),
            Panel::Hidden => [task[0], task[1], task[2]],
        }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: [R; 3], action: &[R], _task: &[R], rng: &mut Draws<R>) -> Step<R, Self> {
        let next = match self {
            Panel::Shown => wanted(rng),
            Panel::Hidden => s,
        };
        let reward = right(action[0], s[0]) + right(action[1], s[1]) + right(action[2], s[2]);
        Step { next, reward, terminated: R::Mask::splat(false) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &[R; 3], _task: &[R], out: &mut [R]) {
        match self {
            Panel::Shown => out.copy_from_slice(s),
            Panel::Hidden => out[0] = R::lit(0.0),
        }
    }

    fn draw(&self, _state: &[f32], _task: &[f32]) -> Scene {
        Scene::new([0.0, 1.0, 0.0, 1.0])
    }
}
