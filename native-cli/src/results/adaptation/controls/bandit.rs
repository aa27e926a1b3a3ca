//! Bernoulli bandits: pulling at random, the finite-horizon index, and knowing the best arm.

use super::control::{Control, RandomChoice, Seen};

/// Index policies for longer trials would take too large a table.
const MOST_PULLS: usize = 200;
/// Rates at which the known arm of an index may pay.
const RATES: usize = 2000;

pub(super) fn controls(arms: usize, pulls: usize) -> Vec<Box<dyn Control>> {
    let mut all: Vec<Box<dyn Control>> = vec![Box::new(RandomChoice { name: "pulling at random", choices: arms })];
    if pulls <= MOST_PULLS {
        all.push(Box::new(Index::new(arms, pulls)));
    }
    all.push(Box::new(Best { arm: 0 }));
    all
}

struct Best {
    arm: usize,
}

impl Control for Best {
    fn name(&self) -> String {
        "knowing the best arm".to_owned()
    }
    fn begin(&mut self, task: &[f64]) {
        self.arm = (0..task.len()).max_by(|a, b| task[*a].total_cmp(&task[*b])).unwrap_or(0);
    }
    fn act(&mut self, _seen: Seen<'_>, _uniform: f64) -> Vec<f64> {
        vec![self.arm as f64]
    }
}

/// The finite-horizon index: pull the arm for which one would pay most to go on with it, were the alternative an arm
/// whose rate is known.
///
/// Bradt, Johnson and Karlin 1956; the index that Gittins 1979 generalises, for a horizon. Near to Bayes-optimal.
struct Index {
    pulls: usize,
    /// The index of an arm with s successes, f failures and r pulls to come stands at [`Index::at`].
    table: Vec<f32>,
    /// Successes and failures of each arm.
    counts: Vec<[usize; 2]>,
    done: usize,
}

impl Index {
    fn new(arms: usize, pulls: usize) -> Index {
        let size = pulls + 1;
        let mut index = Index { pulls, table: vec![0.0; size * size * size], counts: vec![[0; 2]; arms], done: 0 };
        // value[s][f]: of going on with the arm or, from then on, with the known one, with r pulls to come.
        let mut value = vec![0.0_f64; size * size];
        for rate in 0..RATES {
            let known = (rate as f64 + 0.5) / RATES as f64;
            value.fill(0.0);
            for to_come in 1..=pulls {
                let retire = to_come as f64 * known;
                // Counts that can be met with so many pulls to come; in place, since larger counts are read only.
                for s in 0..=pulls - to_come {
                    for f in 0..=pulls - to_come - s {
                        let p = (s + 1) as f64 / (s + f + 2) as f64;
                        let go_on = p * (1.0 + value[(s + 1) * size + f]) + (1.0 - p) * value[s * size + f + 1];
                        value[s * size + f] = go_on.max(retire);
                        if go_on >= retire {
                            let at = index.at(s, f, to_come);
                            index.table[at] = known as f32;
                        }
                    }
                }
            }
        }
        index
    }

    fn at(&self, successes: usize, failures: usize, to_come: usize) -> usize {
        let size = self.pulls + 1;
        (to_come * size + successes) * size + failures
    }
}

impl Control for Index {
    fn name(&self) -> String {
        "the finite-horizon index".to_owned()
    }

    fn begin(&mut self, _task: &[f64]) {
        self.counts.fill([0; 2]);
        self.done = 0;
    }

    fn act(&mut self, _seen: Seen<'_>, _uniform: f64) -> Vec<f64> {
        let to_come = self.pulls - self.done.min(self.pulls - 1);
        let index = |arm: &usize| self.table[self.at(self.counts[*arm][0], self.counts[*arm][1], to_come)];
        let best = (0..self.counts.len()).rev().max_by(|a, b| index(a).total_cmp(&index(b)));
        vec![best.unwrap_or(0) as f64]
    }

    fn learn(&mut self, _state: &[f64], action: &[f64], reward: f64, _next: &[f64]) {
        self.counts[action[0] as usize][usize::from(reward < 0.5)] += 1;
        self.done += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_those_of_a_small_problem_by_hand() {
        let index = Index::new(2, 2);
        let of = |s, f, r| f64::from(index.table[index.at(s, f, r)]);
        // With one pull to come the index is the mean of the belief.
        for (s, f, mean) in [(0, 0, 0.5), (1, 0, 2.0 / 3.0), (0, 1, 1.0 / 3.0)] {
            assert!((of(s, f, 1) - mean).abs() < 1e-3, "{s} {f}: {}", of(s, f, 1));
        }
        // With two: 2λ = ½ (1 + max(2/3, λ)) + ½ max(1/3, λ), so λ = 5/9.
        assert!((of(0, 0, 2) - 5.0 / 9.0).abs() < 1e-3, "{}", of(0, 0, 2));
    }
}
