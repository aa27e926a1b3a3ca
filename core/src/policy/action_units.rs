//! The units in which Gaussian policies give vectors.

use super::{ActionRule, Bounds};
use crate::Tensor;
use crate::dist::RowNoise;
use crate::env::ActionSpace;

/// The units of a policy's vectors: those of the environment, or, if `scaled`, units in which −1 is the lowest and 1
/// the highest number that it takes.
///
/// Stable-Baselines3 advises such units ("Tips and Tricks", normalised action spaces): a Gaussian policy begins with
/// numbers of about 1, whatever the environment takes.
#[derive(Clone, Debug, PartialEq)]
pub struct ActionUnits {
    bounds: Bounds,
    scaled: bool,
}

impl ActionUnits {
    /// The units of a policy for an action space.
    #[must_use]
    pub fn of(action: &ActionSpace, scaled: bool) -> ActionUnits {
        ActionUnits { bounds: Bounds::of(action), scaled }
    }

    /// The bounds of the environment's actions.
    #[must_use]
    pub fn bounds(&self) -> &Bounds {
        &self.bounds
    }

    /// Actions as environments get them, `[K, N, A]`: in their units, limited to the bounds.
    ///
    /// Log-probabilities are those of the action before (as in Stable-Baselines3): the limit is part of the
    /// environment.
    #[track_caller]
    pub fn played(&self, action: Tensor) -> Tensor {
        if self.scaled { self.bounds.scale(action) } else { self.bounds.clamp(action) }
    }

    /// Draws an action per row, evenly among all, in these units, `[K, N, A]`.
    #[track_caller]
    pub fn uniform(&self, noise: &RowNoise) -> Tensor {
        let drawn = self.bounds.uniform(noise);
        if self.scaled { drawn } else { self.bounds.scale(drawn) }
    }

    /// The rule by which an action follows from a vector in these units.
    #[must_use]
    pub fn rule(&self) -> ActionRule {
        match self.scaled {
            true => ActionRule::Scaled(self.bounds.clone()),
            false => ActionRule::Limited(self.bounds.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Dim;
    use crate::grad::check::value;

    fn played(space: &ActionSpace, scaled: bool, action: &[f64]) -> Vec<f64> {
        let (units, shape) = (ActionUnits::of(space, scaled), vec![1, 1, action.len()]);
        value(|x| vec![units.played(x[0])], &[(shape, action.to_vec())]).unwrap().remove(0)
    }

    #[test]
    fn actions_are_limited_and_in_other_units_stretched_before() {
        let space = ActionSpace::continuous(vec![Dim::new("x", 0.0, 100.0), Dim::new("y", -0.5, 0.25)]);
        assert_eq!(played(&space, false, &[70.0, 1.0]), [70.0, 0.25]);
        // 50 + 50 · 0.5, and −0.125 + 0.375 · 1; beyond ±1 the bounds.
        assert_eq!(played(&space, true, &[0.5, 1.0]), [75.0, 0.25]);
        assert_eq!(played(&space, true, &[0.0, -3.0]), [50.0, -0.5]);
    }

    #[test]
    fn whole_numbers_are_the_nearest_and_have_equal_parts_of_other_units() {
        let mixed = ActionSpace::continuous(vec![Dim::whole("gear", -2.0, 2.0), Dim::new("y", -2.0, 2.0)]);
        assert_eq!(played(&mixed, false, &[1.4, 1.4]), [1.0, 1.4]);
        assert_eq!(played(&mixed, false, &[1.6, -9.0]), [2.0, -2.0]);
        assert_eq!(played(&mixed, false, &[-7.0, 0.0]), [-2.0, 0.0]);
        // −1 to 1 are −2.5 to 2.5.
        for (action, number) in [(-1.0, -2.0), (-0.61, -2.0), (-0.59, -1.0), (0.0, 0.0), (0.61, 2.0), (1.0, 2.0)] {
            assert_eq!(played(&mixed, true, &[action, 0.0])[0], number, "{action}");
        }
    }
}
