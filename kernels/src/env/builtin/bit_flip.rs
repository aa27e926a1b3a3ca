//! Flip bits until they are those of the goal.
//!
//! Source: Hindsight Experience Replay (arXiv:1707.01495, section 3.1). There are n bits, and a goal of n bits; both
//! are drawn anew for each episode. An action flips one bit. Each step is worth −1, the one that reaches the goal 0,
//! which ends the episode; it is cut off after n steps. The agent sees its bits and the goal's.
//!
//! Knowing the rule takes as many steps as bits differ, n / 2 on average: a return of 1 − n / 2. Nothing else tells
//! where the goal is: for n = 15 an agent that acts at random reaches it in fewer than one of a thousand episodes.

use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Goal, Mask, Real, Scene, Shape, Step};

/// Most bits.
const MOST: usize = 32;

/// Bits to flip.
#[derive(Clone, Debug, PartialEq)]
pub struct BitFlip {
    /// n, the number of bits.
    pub bits: usize,
}

impl BitFlip {
    /// The numbers of bits that there can be.
    pub(super) const BITS: std::ops::RangeInclusive<usize> = 2..=MOST;
}

impl Default for BitFlip {
    fn default() -> Self {
        Self { bits: 15 }
    }
}

impl Env for BitFlip {
    /// The bits, and from `MOST` on those of the goal; 0 or 1.
    type State<R: Real> = [R; 2 * MOST];

    fn spec(&self) -> EnvSpec {
        let n = self.bits;
        let name = super::parameters::full_name("bit-flip", &[("bits", n, Self::default().bits)]);
        let dims = |what: &str| (0..n).map(|i| Dim::new(format!("{what}_{i}"), 0.0, 1.0)).collect::<Vec<_>>();
        let names = (0..n).map(|i| format!("flip {i}")).collect();
        let goal = Goal { achieved: 0..n, desired: n..2 * n, tolerance: 0.5 };
        EnvSpec::new(name, [dims("bit"), dims("goal")].concat(), ActionSpace::Discrete { names }, n)
            .dt(1.0 / 6.0)
            .goal(goal)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> [R; 2 * MOST] {
        let mut state = [R::lit(0.0); 2 * MOST];
        for i in 0..self.bits {
            state[i] = rng.index(2);
            state[MOST + i] = rng.index(2);
        }
        state
    }

    #[inline(always)]
    fn step<R: Real>(&self, mut s: [R; 2 * MOST], action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let mut wrong = R::lit(0.0);
        for i in 0..self.bits {
            let chosen = action[0].gt(R::lit(i as f64 - 0.5)).and(action[0].lt(R::lit(i as f64 + 0.5)));
            s[i] = R::select(chosen, R::lit(1.0) - s[i], s[i]);
            let difference = s[i] - s[MOST + i];
            wrong = wrong + difference * difference;
        }
        let reached = wrong.lt(R::lit(0.5));
        Step { next: s, reward: R::select(reached, R::lit(0.0), R::lit(-1.0)), terminated: reached }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &[R; 2 * MOST], _task: &[R], out: &mut [R]) {
        let (bits, goal) = out.split_at_mut(self.bits);
        bits.copy_from_slice(&s[..self.bits]);
        goal.copy_from_slice(&s[MOST..MOST + self.bits]);
    }

    #[inline(always)]
    fn success<R: Real>(&self, _: &Self::State<R>, _: R, terminated: R::Mask, _: &[R]) -> Option<R::Mask> {
        Some(terminated)
    }

    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        let width = self.bits as f32;
        let mut scene = Scene::new([-0.2, width + 0.2, -0.2 * width, 0.35 * width]);
        let middle = 0.075 * width;
        for i in 0..self.bits {
            let (bit, goal, x) = (state[i], state[MOST + i], i as f32);
            let color = if (bit - goal).abs() < 0.5 { Color::GREEN } else { Color::ORANGE };
            let cell = |low: f32, set: f32, color: Color| {
                let all = [x + 0.08, x + 0.92, low, low + 0.84];
                if set > 0.5 { Shape::rect(all, color) } else { Shape::circle([x + 0.5, low + 0.42], 0.12, color) }
            };
            scene = scene.with(cell(middle + 0.1, goal, Color::GREY)).with(cell(middle - 0.94, bit, color));
        }
        scene
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;

    #[test]
    fn an_action_flips_its_bit_and_the_goal_ends_the_episode() {
        let env = EnvDef::new(BitFlip { bits: 3 }).unwrap();
        let state = |bits: [f64; 3], goal: [f64; 3]| {
            let mut state = vec![0.0; 2 * MOST];
            state[..3].copy_from_slice(&bits);
            state[MOST..MOST + 3].copy_from_slice(&goal);
            state
        };
        let step = |bits, goal, action: f64| env.step(&state(bits, goal), &[action], &[], [0, 0], 0).unwrap();
        let one = step([0.0, 1.0, 0.0], [1.0, 1.0, 1.0], 0.0);
        assert_eq!((one.state, one.reward, one.terminated), (state([1.0, 1.0, 0.0], [1.0; 3]), -1.0, false));
        let last = step([1.0, 1.0, 0.0], [1.0, 1.0, 1.0], 2.0);
        assert_eq!((last.observation, last.reward, last.terminated), (vec![1.0; 6], 0.0, true));
        assert!(!step([1.0, 1.0, 1.0], [1.0; 3], 1.0).terminated, "away from the goal");
    }

    #[test]
    fn bits_and_goals_are_drawn_evenly() {
        let env = EnvDef::new(BitFlip::default()).unwrap();
        let mut ones = [0.0; 2 * MOST];
        for element in 0..4000 {
            let state: Vec<f64> = env.reset(&[], [1, 2], element).unwrap();
            ones.iter_mut().zip(state).for_each(|(sum, bit)| *sum += bit / 4000.0);
        }
        for (i, share) in ones.iter().enumerate() {
            let expected = if i % MOST < 15 { 0.5 } else { 0.0 };
            // Four standard errors.
            assert!((share - expected).abs() < 0.032, "{i}: {share}");
        }
    }
}
