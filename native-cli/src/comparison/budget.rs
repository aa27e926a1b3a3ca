//! Runs of other lengths at the same steps.

/// A value that is at most this share of the budget away from a step counts as one there: iterations of different
/// algorithms do not end at the same step.
const NEAR: f64 = 0.02;

/// The largest step count that all runs of an environment reached, and what else they did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Where the run ends that ends first, by its last value.
    pub steps: f64,
    /// Where the run ends that ends last.
    pub longest: f64,
}

impl Budget {
    /// The budget of these curves, `(environment steps, value)`; none if one of them is empty.
    #[must_use]
    pub fn of(curves: &[&[(f64, f64)]]) -> Option<Self> {
        let ends = curves.iter().map(|curve| Some(curve.last()?.0)).collect::<Option<Vec<_>>>()?;
        let steps = ends.iter().copied().min_by(f64::total_cmp)?;
        let longest = ends.iter().copied().max_by(f64::total_cmp)?;
        Some(Self { steps, longest })
    }

    /// True if runs end at so different steps that not all of their values count.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.longest <= self.steps * (1.0 + NEAR)
    }

    /// The point of a curve that stands for its value after `steps`: the nearest of those that are near to it, or the
    /// last one before.
    #[must_use]
    pub fn at(&self, curve: &[(f64, f64)], steps: f64) -> Option<(f64, f64)> {
        let away = |point: &(f64, f64)| (point.0 - steps).abs();
        let near = curve.iter().filter(|point| away(point) <= NEAR * self.steps);
        let nearest = near.min_by(|a, b| away(a).total_cmp(&away(b)));
        nearest.or_else(|| curve.iter().rev().find(|(x, _)| *x <= steps)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_runs_are_measured_where_the_shortest_ends() {
        let long: Vec<(f64, f64)> = (1..=10).map(|i| (f64::from(i) * 100.0, f64::from(i))).collect();
        let short = [(150.0, 1.0), (395.0, 7.0)];
        let budget = Budget::of(&[&long, &short]).unwrap();
        assert_eq!((budget.steps, budget.longest, budget.is_shared()), (395.0, 1000.0, false));
        // 400 is within 2 % of 395; 200 is not within 2 % of the budget around 250.
        assert_eq!((budget.at(&long, 395.0), budget.at(&short, 395.0)), (Some((400.0, 4.0)), Some((395.0, 7.0))));
        assert_eq!((budget.at(&long, 250.0), budget.at(&short, 100.0)), (Some((200.0, 2.0)), None));
        assert!(Budget { steps: 10_000.0, longest: 10_200.0 }.is_shared());
        assert_eq!(Budget::of(&[&long, &[]]), None);
    }
}
