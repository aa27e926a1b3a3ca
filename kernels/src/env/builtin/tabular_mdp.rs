//! Small random Markov decision processes: the tabular tasks of RL² (arXiv:1611.02779).
//!
//! Ten states and five actions. The mean reward of each state and action is drawn from N(1, 1), a reward from N(mean,
//! 1); the chances of the next state are drawn from a flat Dirichlet distribution. Episodes take 10 steps from state 0;
//! the agent sees its state. A trial of n episodes earns 10 n on average at random, 21.79 n if the process is known.
//!
//! A task would be 550 numbers. Instead it is two: a key from which each step draws the one mean and the ten chances
//! it needs, the same ones every time; [`TabularMdp::tables`] writes them all out. So thousands of tasks side by
//! side take no memory, and a step reads no tables. −log u is exponentially distributed, and exponential numbers
//! over their sum are a flat Dirichlet draw.

use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Mask, Real, Scene, Shape, Step};

/// A random process with `S` states and `A` actions.
#[derive(Clone, Debug, PartialEq)]
pub struct TabularMdp<const S: usize = 10, const A: usize = 5> {
    /// Steps of an episode.
    pub steps: usize,
}

impl<const S: usize, const A: usize> Default for TabularMdp<S, A> {
    fn default() -> Self {
        Self { steps: 10 }
    }
}

/// Halves of a key are whole numbers below this, which `f32` holds exactly.
const HALF_KEY: f64 = 16_777_216.0;

/// A process written out.
#[derive(Clone, Debug, PartialEq)]
pub struct Tables {
    /// Mean reward of action `a` in state `s` at `[s][a]`.
    pub reward: Vec<Vec<f64>>,
    /// Chance of state `n` after action `a` in state `s` at `[s][a][n]`; each row's sum is 1.
    pub next: Vec<Vec<Vec<f64>>>,
}

impl<const S: usize, const A: usize> TabularMdp<S, A> {
    /// The mean reward of a state and action (`pair` = s·A + a), and weights of the next state in proportion to its
    /// chances.
    #[inline(always)]
    fn look_up<R: Real>(task: &[R], pair: R) -> (R, [R; S]) {
        let mut draws = Draws::<R>::new([task[0].to_count(), task[1].to_count()], pair.to_count(), 0);
        let mean = R::lit(1.0) + draws.normal();
        let mut weights = [R::lit(0.0); S];
        for weight in &mut weights {
            *weight = -(R::lit(1.0) - draws.uniform()).log();
        }
        (mean, weights)
    }

    /// The process of a task, for agents that plan.
    #[must_use]
    pub fn tables(task: [f64; 2]) -> Tables {
        let row = |s: usize, a: usize| Self::look_up(&task, (s * A + a) as f64);
        let chances = |s, a| {
            let weights = row(s, a).1;
            let total: f64 = weights.iter().sum();
            weights.iter().map(|w| w / total).collect()
        };
        Tables {
            reward: (0..S).map(|s| (0..A).map(|a| row(s, a).0).collect()).collect(),
            next: (0..S).map(|s| (0..A).map(|a| chances(s, a)).collect()).collect(),
        }
    }
}

impl<const S: usize, const A: usize> Env for TabularMdp<S, A> {
    type State<R: Real> = [R; 1];

    fn spec(&self) -> EnvSpec {
        let name = if (S, A) == (10, 5) { "tabular-mdp".to_owned() } else { format!("tabular-mdp-{S}x{A}") };
        let observation = (0..S).map(|s| Dim::new(format!("in_state_{s}"), 0.0, 1.0)).collect();
        let names = (0..A).map(|a| format!("action {a}")).collect();
        let task = ["key_high", "key_low"].map(|half| Dim::new(half, 0.0, HALF_KEY - 1.0)).to_vec();
        EnvSpec::new(name, observation, ActionSpace::Discrete { names }, self.steps).dt(1.0 / 6.0).task(task)
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        for half in task {
            *half = rng.uniform() * R::lit(HALF_KEY);
        }
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], _rng: &mut Draws<R>) -> [R; 1] {
        [R::lit(0.0)]
    }

    #[inline(always)]
    fn step<R: Real>(&self, [state]: [R; 1], action: &[R], task: &[R], rng: &mut Draws<R>) -> Step<R, Self> {
        let action = (action[0] + R::lit(0.5)).clamp(0.0, (A - 1) as f64).floor();
        let (mean, weights) = Self::look_up(task, state * R::lit(A as f64) + action);
        let reward = mean + rng.normal();
        Step { next: [rng.categorical(&weights)], reward, terminated: R::Mask::splat(false) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, [state]: &[R; 1], _task: &[R], out: &mut [R]) {
        for (s, seen) in out.iter_mut().enumerate() {
            *seen = R::from_mask(state.eq(R::lit(s as f64)));
        }
    }

    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        let place = |s: usize| {
            let (sin, cos) = (s as f32 / S as f32 * std::f32::consts::TAU).sin_cos();
            [sin, cos]
        };
        let mut scene = Scene::new([-1.3, 1.3, -1.3, 1.3]);
        for s in 0..S {
            let color = if state[0] == s as f32 { Color::ORANGE } else { Color::PALE };
            scene = scene.with(Shape::circle(place(s), 0.2, color));
        }
        scene.with(Shape::circle(place(0), 0.05, Color::INK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;

    type Mdp = TabularMdp<10, 5>;

    fn tasks(count: u32) -> Vec<[f64; 2]> {
        let env = EnvDef::new(Mdp::default()).unwrap();
        (0..count).map(|i| env.sample_task::<f64>([8, 9], i)).map(|t| [t[0], t[1]]).collect()
    }

    #[test]
    fn means_are_normal_and_rows_are_flat_dirichlet() {
        let (mut mean, mut variance, mut chance, mut square, n) = (0.0, 0.0, 0.0, 0.0, 400);
        for task in tasks(n) {
            let tables = Mdp::tables(task);
            for (rewards, rows) in tables.reward.iter().zip(&tables.next) {
                for (reward, row) in rewards.iter().zip(rows) {
                    assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12 && row.iter().all(|p| *p >= 0.0));
                    mean += reward / 50.0 / f64::from(n);
                    variance += (reward - 1.0).powi(2) / 50.0 / f64::from(n);
                    chance += row[3] / 50.0 / f64::from(n);
                    square += row[7] * row[7] / 50.0 / f64::from(n);
                }
            }
        }
        // Of 20,000 draws, four standard errors: N(1, 1); a chance of Beta(1, 9) has mean 1/10 and mean square 2/110.
        assert!((mean - 1.0).abs() < 0.0283 && (variance - 1.0).abs() < 0.04, "{mean} {variance}");
        assert!((chance - 0.1).abs() < 0.0026 && (square - 2.0 / 110.0).abs() < 0.0009, "{chance} {square}");
    }

    #[test]
    fn steps_follow_the_tables() {
        let env = EnvDef::new(Mdp::default()).unwrap();
        let task = tasks(1)[0];
        let tables = Mdp::tables(task);
        let (mut reward, mut next, n) = (0.0, [0.0; 10], 20_000);
        for element in 0..n {
            let step = env.step(&[4.0], &[2.0], &task, [1, 1], element).unwrap();
            assert_eq!(step.observation.iter().sum::<f64>(), 1.0);
            assert_eq!(step.observation[step.state[0] as usize], 1.0);
            reward += step.reward / f64::from(n);
            next[step.state[0] as usize] += 1.0 / f64::from(n);
        }
        assert!((reward - tables.reward[4][2]).abs() < 4.0 / f64::from(n).sqrt());
        let off = next.iter().zip(&tables.next[4][2]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 0.0142, "{next:?} {:?}", tables.next[4][2]);
    }

    /// Mean return of one episode of 10 steps, by the tables: the best there is, and that of random actions.
    fn values(tables: &Tables) -> [f64; 2] {
        let (mut best, mut random) = (vec![0.0; 10], vec![0.0; 10]);
        for _ in 0..10 {
            let of = |v: &[f64], s: usize, a: usize| {
                tables.reward[s][a] + tables.next[s][a].iter().zip(v).map(|(p, v)| p * v).sum::<f64>()
            };
            let highest = |s| (0..5).map(|a| of(&best, s, a)).fold(f64::NEG_INFINITY, f64::max);
            best = (0..10).map(highest).collect();
            random = (0..10).map(|s| (0..5).map(|a| of(&random, s, a) / 5.0).sum()).collect();
        }
        [best[0], random[0]]
    }

    #[test]
    fn the_best_and_random_policies_earn_what_was_measured_elsewhere() {
        let all: Vec<[f64; 2]> = tasks(1000).into_iter().map(|t| values(&Mdp::tables(t))).collect();
        let mean = |k: usize| all.iter().map(|v| v[k]).sum::<f64>() / 1000.0;
        // Ten episodes: 217.9 ± 0.4 and 100.2 of another program; standard errors here are 0.8 and 0.5.
        assert!((10.0 * mean(0) - 217.9).abs() < 3.6, "{}", mean(0));
        assert!((10.0 * mean(1) - 100.0).abs() < 3.6, "{}", mean(1));
    }
}
