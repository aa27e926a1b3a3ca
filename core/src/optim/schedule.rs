//! Settings that change over a run.

use serde::{Deserialize, Serialize};

/// How a setting changes from its configured value over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Schedule {
    /// It stays.
    #[default]
    Constant,
    /// It falls linearly towards 0, which it would reach after the last iteration.
    Linear,
}

impl Schedule {
    /// The factor in iteration `done` (from 0) of `total`.
    pub fn factor(self, done: u64, total: u64) -> f64 {
        match self {
            Schedule::Constant => 1.0,
            Schedule::Linear => 1.0 - (done.min(total) as f64 / total.max(1) as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linear_starts_at_one_and_is_above_zero_in_the_last_iteration() {
        let factors: Vec<f64> = (0..=4).map(|i| Schedule::Linear.factor(i, 4)).collect();
        assert_eq!(factors, [1.0, 0.75, 0.5, 0.25, 0.0]);
        assert_eq!(Schedule::Constant.factor(3, 4), 1.0);
        assert_eq!(Schedule::Linear.factor(9, 4), 0.0);
    }
}
