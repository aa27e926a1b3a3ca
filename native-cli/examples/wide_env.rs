//! The command line with an environment of HalfCheetah's width, 17 observations and 6 actions, that costs next to
//! nothing: `scripts/bench-snapshots.py` times training with it.

#![forbid(unsafe_code)]

use quickstudy_core::env::{ActionSpace, Dim, Draws, Env, EnvDef, EnvSpec, Mask, Real, Scene, Step};

const OBSERVATIONS: usize = 17;
const ACTIONS: usize = 6;

/// Numbers that decay while actions push them. Reward: the first one, minus a tenth of what was pushed.
struct Wide;

impl Env for Wide {
    type State<R: Real> = [R; OBSERVATIONS];

    fn spec(&self) -> EnvSpec {
        let dims =
            |name: &str, count, bound: f64| (0..count).map(|i| Dim::new(format!("{name}{i}"), -bound, bound)).collect();
        EnvSpec::new("wide", dims("x", OBSERVATIONS, 11.0), ActionSpace::continuous(dims("a", ACTIONS, 1.0)), 1000)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> [R; OBSERVATIONS] {
        std::array::from_fn(|_| rng.range(-0.1, 0.1))
    }

    #[inline(always)]
    fn step<R: Real>(&self, state: [R; OBSERVATIONS], action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let next: [R; OBSERVATIONS] = std::array::from_fn(|i| state[i] * 0.9 + action[i % ACTIONS]);
        let pushed = action.iter().fold(R::lit(0.0), |sum, a| sum + *a * *a);
        Step { next, reward: next[0] - pushed * 0.1, terminated: R::Mask::splat(false) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, state: &[R; OBSERVATIONS], _task: &[R], out: &mut [R]) {
        out.copy_from_slice(state);
    }

    fn draw(&self, _state: &[f32], _task: &[f32]) -> Scene {
        Scene::new([-1.0, 1.0, -1.0, 1.0])
    }
}

fn main() -> std::process::ExitCode {
    match EnvDef::new(Wide) {
        Ok(env) => quickstudy::cli::main_with(vec![env.into()], vec![]),
        Err(error) => {
            eprintln!("{error}");
            std::process::ExitCode::FAILURE
        }
    }
}
