//! Tabular processes: acting at random, planning with what has been seen, and planning with the process known.

use super::control::{Control, RandomChoice, Seen};
use quickstudy_core::env::TabularMdp;

const STATES: usize = 10;
const ACTIONS: usize = 5;
/// Standard deviations of belief that make a reward look better: the best of a few at 10 episodes.
const BONUS: f64 = 0.5;

type Rewards = [[f64; ACTIONS]; STATES];
type Chances = [[[f64; STATES]; ACTIONS]; STATES];

pub(super) fn controls(horizon: usize) -> Vec<Box<dyn Control>> {
    let random = RandomChoice { name: "acting at random", choices: ACTIONS };
    vec![Box::new(random), Box::new(Optimist::new(horizon)), Box::new(Knowing { horizon, plan: Vec::new() })]
}

/// The best action in each state with so many steps to come, from 1 on: dynamic programming.
fn plan(rewards: &Rewards, chances: &Chances, steps: usize) -> Vec<[usize; STATES]> {
    let mut value = [0.0; STATES];
    let mut best = Vec::with_capacity(steps);
    for _ in 0..steps {
        let mut next = [0.0; STATES];
        let mut actions = [0; STATES];
        for s in 0..STATES {
            let of = |a: usize| rewards[s][a] + chances[s][a].iter().zip(&value).map(|(p, v)| p * v).sum::<f64>();
            let action = (0..ACTIONS).max_by(|a, b| of(*a).total_cmp(&of(*b))).unwrap_or(0);
            (next[s], actions[s]) = (of(action), action);
        }
        value = next;
        best.push(actions);
    }
    best
}

struct Knowing {
    horizon: usize,
    plan: Vec<[usize; STATES]>,
}

impl Control for Knowing {
    fn name(&self) -> String {
        "knowing the process".to_owned()
    }

    fn begin(&mut self, task: &[f64]) {
        let tables = TabularMdp::<STATES, ACTIONS>::tables([task[0], task[1]]);
        let mut rewards = [[0.0; ACTIONS]; STATES];
        let mut chances = [[[0.0; STATES]; ACTIONS]; STATES];
        for s in 0..STATES {
            for a in 0..ACTIONS {
                rewards[s][a] = tables.reward[s][a];
                chances[s][a].copy_from_slice(&tables.next[s][a]);
            }
        }
        self.plan = plan(&rewards, &chances, self.horizon);
    }

    fn act(&mut self, seen: Seen<'_>, _uniform: f64) -> Vec<f64> {
        vec![self.plan[self.horizon - 1 - seen.step][seen.state[0] as usize] as f64]
    }
}

/// Plans with the mean of its belief, rewards raised by half of their standard deviation.
struct Optimist {
    horizon: usize,
    rewards: [[f64; ACTIONS]; STATES],
    visits: [[f64; ACTIONS]; STATES],
    moves: Chances,
}

impl Optimist {
    fn new(horizon: usize) -> Optimist {
        Optimist {
            horizon,
            rewards: [[0.0; ACTIONS]; STATES],
            visits: [[0.0; ACTIONS]; STATES],
            moves: [[[0.0; STATES]; ACTIONS]; STATES],
        }
    }
}

impl Control for Optimist {
    fn name(&self) -> String {
        "planning with belief and a bonus".to_owned()
    }

    fn begin(&mut self, _task: &[f64]) {
        *self = Optimist::new(self.horizon);
    }

    fn act(&mut self, seen: Seen<'_>, _uniform: f64) -> Vec<f64> {
        let mut rewards = [[0.0; ACTIONS]; STATES];
        let mut chances = [[[0.0; STATES]; ACTIONS]; STATES];
        for s in 0..STATES {
            for a in 0..ACTIONS {
                // Of a mean N(1, 1) seen through noise of deviation 1, and of a flat Dirichlet prior.
                let n = 1.0 + self.visits[s][a];
                rewards[s][a] = (1.0 + self.rewards[s][a]) / n + BONUS / n.sqrt();
                let total = STATES as f64 + self.visits[s][a];
                for (p, count) in chances[s][a].iter_mut().zip(&self.moves[s][a]) {
                    *p = (1.0 + count) / total;
                }
            }
        }
        let steps = self.horizon - seen.step;
        vec![plan(&rewards, &chances, steps)[steps - 1][seen.state[0] as usize] as f64]
    }

    fn learn(&mut self, state: &[f64], action: &[f64], reward: f64, next: &[f64]) {
        let (s, a) = (state[0] as usize, action[0] as usize);
        self.rewards[s][a] += reward;
        self.visits[s][a] += 1.0;
        self.moves[s][a][next[0] as usize] += 1.0;
    }
}
