//! Drive an underpowered car out of a valley by a continuous push (MountainCarContinuous-v0).
//!
//! Source: Gymnasium 1.4 `classic_control/continuous_mountain_car.py`. v ← v + 0.0015 a − 0.0025 cos 3x
//! with a limited to ±1, then as in [`mountain_car`](super::mountain_car). Reward −0.1 a² with the action
//! as it was given, not limited, and +100 in the final step. The episode ends at x ≥ 0.45 with v ≥ 0; time
//! limit 999; solved at a mean return of 90.

use super::mountain_car::{CarState, observation, roll, scene, start};
use crate::env::{ActionSpace, Dim, Draws, Env, EnvSpec, Real, Scene, Step};

/// A car in a valley, pushed continuously.
#[derive(Clone, Debug, PartialEq)]
pub struct MountainCarContinuous {
    /// Change of speed by a full push.
    pub power: f64,
    /// Largest change of speed by the slope.
    pub gravity: f64,
    /// The place at which the episode ends.
    pub goal: f64,
}

impl Default for MountainCarContinuous {
    fn default() -> Self {
        Self { power: 0.0015, gravity: 0.0025, goal: 0.45 }
    }
}

impl Env for MountainCarContinuous {
    type State<R: Real> = CarState<R>;

    fn spec(&self) -> EnvSpec {
        let action = ActionSpace::continuous(vec![Dim::new("push", -1.0, 1.0)]);
        EnvSpec::new("mountain-car-continuous", observation(), action, 999).solved_at(90.0)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> CarState<R> {
        start(rng)
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: CarState<R>, action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let push = action[0].clamp(-1.0, 1.0) * R::lit(self.power);
        let (next, terminated) = roll(s, push, self.gravity, self.goal);
        let prize = R::select(terminated, R::lit(100.0), R::lit(0.0));
        Step { next, reward: prize - R::lit(0.1) * action[0].square(), terminated }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &CarState<R>, _task: &[R], out: &mut [R]) {
        out.copy_from_slice(&[s.x, s.speed]);
    }

    #[inline(always)]
    fn success<R: Real>(&self, _: &Self::State<R>, _: R, terminated: R::Mask, _: &[R]) -> Option<R::Mask> {
        Some(terminated)
    }

    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        scene(state[0], self.goal as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;

    #[test]
    fn the_push_is_limited_but_paid_in_full_and_the_goal_pays_100() {
        let env = EnvDef::new(MountainCarContinuous::default()).unwrap();
        let step = |x: f64, speed: f64, action: f64| env.step(&[x, speed], &[action], &[], [0, 0], 0).unwrap();
        let (hard, full) = (step(-0.5, 0.0, 3.0), step(-0.5, 0.0, 1.0));
        assert_eq!(hard.state, full.state);
        assert!((hard.reward + 0.9).abs() < 1e-12 && (full.reward + 0.1).abs() < 1e-12);
        let end = step(0.44, 0.05, 1.0);
        assert!(end.terminated && (end.reward - 99.9).abs() < 1e-12);
    }
}
