//! The state of a body in an environment.

use super::motion::Motion;
use crate::env::{Draws, Fields, Real, joined};

/// The state of a body with `N` joints, in the order of its description.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Joints<R, const N: usize> {
    /// Positions, in m and rad.
    pub qpos: [R; N],
    /// Speeds, in m/s and rad/s.
    pub qvel: [R; N],
    /// The accelerations from which the solver begins to search (MuJoCo's `qacc_warmstart`).
    pub qacc: [R; N],
}

impl<R: Real, const N: usize> Joints<R, N> {
    /// A body that does not move, with its joints at 0.
    #[inline(always)]
    #[must_use]
    pub fn still() -> Self {
        let zeros = [R::lit(0.0); N];
        Self { qpos: zeros, qvel: zeros, qacc: zeros }
    }

    /// Adds a number from −range to range to each position.
    #[inline(always)]
    pub fn scatter_positions(&mut self, range: f64, rng: &mut Draws<R>) {
        for q in &mut self.qpos {
            *q = *q + rng.range(-range, range);
        }
    }

    /// Moves it by `steps` integration steps; gives the way of each joint.
    #[inline(always)]
    pub fn advance(&mut self, motion: &mut Motion<'_, R>, steps: usize) -> Vec<R> {
        motion.advance([&mut self.qpos, &mut self.qvel, &mut self.qacc], steps)
    }
}

impl<R: Real, const N: usize> Fields<R> for Joints<R, N> {
    const N: usize = 3 * N;
    #[inline(always)]
    fn from_fn(f: impl FnMut(usize) -> R) -> Self {
        let [qpos, qvel, qacc] = <[[R; N]; 3]>::from_fn(f);
        Self { qpos, qvel, qacc }
    }
    #[inline(always)]
    fn get(&self, index: usize) -> R {
        [&self.qpos, &self.qvel, &self.qacc][index / N][index % N]
    }
    fn names(prefix: &str) -> Vec<String> {
        let of = |part: &str| <[R; N]>::names(&joined(prefix, part));
        ["qpos", "qvel", "qacc"].into_iter().flat_map(of).collect()
    }
}
