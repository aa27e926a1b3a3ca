//! Successive halving: of each rung's trials the best 1 of η goes on, with η times as many steps (Jamieson and
//! Talwalkar 2016; Li et al. 2018, arXiv:1810.05934, algorithm 1).
//!
//! Rungs are synchronous, so that which trials go on does not depend on speed.

use super::file::Goal;
use super::score::Score;
use crate::settings::parse;
use toml::{Table, Value};

/// The rule of successive halving.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Halving {
    /// η: 1 of so many trials goes on.
    pub eta: u64,
    /// r: environment steps of the first rung, of each seed.
    pub first_steps: u64,
}

impl Halving {
    /// Reads the table `[halving]`.
    pub(crate) fn read(mut table: Table) -> Result<Self, String> {
        let eta = match table.remove("eta") {
            None => 3,
            Some(Value::Integer(eta)) if (2..=1000).contains(&eta) => eta as u64,
            Some(other) => return Err(format!("[halving] eta: expected a whole number from 2 to 1000, got {other}")),
        };
        let first_steps = match table.remove("first_steps") {
            Some(Value::Integer(steps)) if steps > 0 => steps as u64,
            Some(Value::String(text)) => {
                parse::count(&text).map_err(|problem| format!("[halving] first_steps: {problem}"))?
            }
            Some(other) => return Err(format!("[halving] first_steps: expected a number of steps, got {other}")),
            None => return Err("[halving] has no first_steps: the environment steps of the first rung".to_owned()),
        };
        if let Some(key) = table.keys().next() {
            return Err(format!("[halving] unknown key `{key}`; there are eta and first_steps"));
        }
        Ok(Self { eta, first_steps })
    }

    /// The environment steps of each rung for so many trials; the last has all `steps`.
    pub(crate) fn rungs(&self, steps: u64, trials: usize) -> Vec<u64> {
        let (mut rungs, mut left, mut rung) = (Vec::new(), trials as u64, self.first_steps);
        while rung < steps && left > 1 {
            rungs.push(rung);
            rung = rung.saturating_mul(self.eta);
            left = (left / self.eta).max(1);
        }
        rungs.push(steps);
        rungs
    }
}

/// The best 1 of `eta` trials of those that are `alive`, at least one, in order of their numbers. Of equal ones the
/// first is better, and one without a score is the worst.
pub(crate) fn survivors(alive: &[usize], scores: &[Score], eta: u64, goal: Goal) -> Vec<usize> {
    let mut best = ranked(alive, scores, goal);
    best.truncate((alive.len() / usize::try_from(eta).unwrap_or(usize::MAX)).max(1));
    best.sort_unstable();
    best
}

/// The trials from the best to the worst.
pub(crate) fn ranked(trials: &[usize], scores: &[Score], goal: Goal) -> Vec<usize> {
    let key = |trial: &usize| {
        let value = scores[*trial].value().filter(|_| scores[*trial].failed.is_none());
        value.map_or(f64::NEG_INFINITY, |value| if goal == Goal::Max { value } else { -value })
    };
    let mut all = trials.to_vec();
    all.sort_by(|one, other| key(other).total_cmp(&key(one)).then(one.cmp(other)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::bootstrap::Scores;

    #[test]
    fn rungs_are_those_of_the_paper() {
        // Figure 1 of arXiv:1810.05934: r = 1, R = 9, η = 3, n = 9, s = 0.
        let halving = Halving { eta: 3, first_steps: 1 };
        assert_eq!(halving.rungs(9, 9), [1, 3, 9]);
        assert_eq!(halving.rungs(10, 9), [1, 3, 10], "the one that is left makes all steps");
        assert_eq!(halving.rungs(100, 27), [1, 3, 9, 100]);
        assert_eq!(halving.rungs(9, 1), [9]);
        assert_eq!(Halving { eta: 2, first_steps: 50 }.rungs(40, 8), [40]);
    }

    #[test]
    fn the_best_go_on() {
        let mut scores: Vec<Score> = [3.0, f64::NAN, 9.0, 9.0, 5.0, 1.0, 2.0]
            .map(|value| Score { at: Scores { budget: 9.0, values: vec![value] }, ..Score::default() })
            .to_vec();
        let all: Vec<usize> = (0..7).collect();
        assert_eq!(survivors(&all, &scores, 3, Goal::Max), [2, 3]);
        assert_eq!(survivors(&all, &scores, 3, Goal::Min), [5, 6]);
        assert_eq!(survivors(&all, &scores, 100, Goal::Max), [2]);
        scores[2].failed = Some("a value became NaN".into());
        assert_eq!(ranked(&all, &scores, Goal::Max), [3, 4, 0, 6, 5, 1, 2]);
    }

    #[test]
    fn mistakes_are_named() {
        let problem = |text: &str| Halving::read(toml::from_str(text).unwrap()).unwrap_err();
        assert!(problem("eta = 1\nfirst_steps = 10").contains("eta: expected a whole number from 2"));
        assert!(problem("eta = 3").contains("has no first_steps"));
        assert!(problem("first_steps = \"x\"").contains("first_steps: expected a count"));
        assert!(problem("first_steps = 1\nrungs = 2").contains("unknown key `rungs`"));
        assert_eq!(
            Halving::read(toml::from_str("first_steps = \"10k\"").unwrap()),
            Ok(Halving { eta: 3, first_steps: 10_000 })
        );
    }
}
