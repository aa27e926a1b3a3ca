//! Settings that change over a run.

use crate::settings::Range;

/// The progress of one seed's run, by which its schedules go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Iterations made.
    pub iterations: u64,
    /// Environment steps made.
    pub steps: u64,
    /// Environment steps of the whole run: those that were asked for, rounded up to iterations as they are planned.
    pub budget: u64,
}

impl Progress {
    /// The share of the budget that is made, at most 1.
    ///
    /// Where each iteration makes what is planned, it is the share of the iterations to the last bit.
    pub fn share(self) -> f64 {
        self.steps.min(self.budget) as f64 / self.budget.max(1) as f64
    }
}

/// How a setting changes from its configured value over a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// The value stays.
    #[default]
    Constant,
    /// The value falls linearly towards 0, which it would reach after the last iteration.
    Linear,
    /// The value falls by the same share in each iteration, towards a share of itself: [`Fall`].
    Exponential,
    /// The value falls a few times in a run, each time by the same share, to a share of itself: [`Fall`].
    Step,
    /// The value falls towards 0 as half a wave of the cosine, slowly at first and at the end.
    Cosine,
}

crate::words!(Schedule {
    Constant = "constant",
    Linear = "linear",
    Exponential = "exponential",
    Step = "step",
    Cosine = "cosine",
});

/// How far a schedule falls, where its word alone does not say it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fall {
    /// The share that `exponential` would reach after the last iteration, and that `step` has in the end.
    pub to: f64,
    /// Number of the falls of `step`: they divide the run evenly.
    pub steps: u64,
}

impl Default for Fall {
    /// To a tenth, in three falls.
    fn default() -> Fall {
        Fall { to: 0.1, steps: 3 }
    }
}

crate::settings! {
    /// The schedule of learning rates, and how far it falls.
    #[derive(Copy)]
    pub struct RateSchedule {
        /// linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall
        learning_rate_schedule: Schedule = Schedule::Constant;
        /// share of the rate that exponential and step end with
        learning_rate_fall: f64 = 0.1, Range::Share;
        /// number of the falls of step
        learning_rate_falls: usize = 3, Range::Count(1, 1 << 20);
    }
}

impl RateSchedule {
    /// The share of a rate that is left in the next iteration.
    pub fn factor(&self, at: Progress) -> f64 {
        let fall = Fall { to: self.learning_rate_fall, steps: self.learning_rate_falls as u64 };
        self.learning_rate_schedule.factor_by(fall, at.share())
    }
}

crate::settings! {
    /// How far a schedule of clip ranges falls.
    #[derive(Copy)]
    pub struct ClipFall {
        /// share of the clip range that exponential and step end with
        clip_eps_fall: f64 = 0.1, Range::Share;
        /// number of the falls of step
        clip_eps_falls: usize = 3, Range::Count(1, 1 << 20);
    }
}

impl From<ClipFall> for Fall {
    fn from(fall: ClipFall) -> Fall {
        Fall { to: fall.clip_eps_fall, steps: fall.clip_eps_falls as u64 }
    }
}

impl Schedule {
    /// The factor after this share of a run; to a tenth, in three steps, where the word does not say it.
    pub fn factor(self, share: f64) -> f64 {
        self.factor_by(Fall::default(), share)
    }

    /// The factor of a schedule that falls so far, after this share of a run.
    pub fn factor_by(self, fall: impl Into<Fall>, share: f64) -> f64 {
        let Fall { to, steps } = fall.into();
        match self {
            Schedule::Constant => 1.0,
            Schedule::Linear => 1.0 - share,
            Schedule::Exponential => to.powf(share),
            Schedule::Step => to.powf((share * (steps + 1) as f64).floor().min(steps as f64) / steps.max(1) as f64),
            Schedule::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * share).cos()),
        }
    }
}

/// How much a policy explores, such as ε or σ, over the steps of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decay {
    /// Falls on a line from one value to another over so many steps, and stays there: garage's
    /// `EpsilonGreedyPolicy`, `AddGaussianNoise`.
    Linear {
        /// The first value.
        from: f64,
        /// The last value.
        to: f64,
        /// Steps until it is reached.
        over: u64,
    },
    /// Comes closer to a value by a factor at each step: to + (from − to) · factorᵏ, Pyrado's ε.
    Geometric {
        /// The first value.
        from: f64,
        /// The limit.
        to: f64,
        /// Its distance after a step, in distances before.
        factor: f64,
    },
}

impl Decay {
    /// The value at step `step`, from 0.
    pub fn at(self, step: u64) -> f64 {
        match self {
            Decay::Linear { from, to, over } => {
                let share = step.min(over) as f64 / over.max(1) as f64;
                if over == 0 { to } else { from * (1.0 - share) + to * share }
            }
            Decay::Geometric { from, to, factor } => to + (from - to) * factor.powf(step as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exploration_decays_as_in_the_originals() {
        let linear = Decay::Linear { from: 1.0, to: 0.02, over: 100 };
        assert_eq!([0, 50, 100, 1000].map(|t| linear.at(t)), [1.0, 0.51, 0.02, 0.02]);
        assert_eq!(Decay::Linear { from: 1.0, to: 0.5, over: 0 }.at(0), 0.5);
        // Pyrado: 0.05 + (eps_init − 0.05) · eps_schedule_gamma ** k.
        let geometric = Decay::Geometric { from: 0.9, to: 0.05, factor: 0.99 };
        for (step, expected) in [(0, 0.9), (1, 0.8915), (100, 0.361_127_4), (5000, 0.05)] {
            assert!((geometric.at(step) - expected).abs() < 1e-6, "{step}: {}", geometric.at(step));
        }
    }

    #[test]
    fn schedules_fall_by_their_formulas() {
        let near = |got: Vec<f64>, expected: &[f64]| {
            assert!(got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12), "{got:?} instead of {expected:?}");
        };
        let fall = Fall { to: 0.01, steps: 2 };
        let factors = |schedule: Schedule| {
            (0..=6).map(|done| schedule.factor_by(fall, f64::from(done) / 6.0)).collect::<Vec<_>>()
        };
        let tenth = |power: f64| 10.0f64.powf(-power / 3.0);
        near(factors(Schedule::Exponential), &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(tenth));
        near(factors(Schedule::Step), &[1.0, 1.0, 0.1, 0.1, 0.01, 0.01, 0.01]);
        let half = 0.75f64.sqrt() / 2.0;
        near(factors(Schedule::Cosine), &[1.0, 0.5 + half, 0.75, 0.5, 0.25, 0.5 - half, 0.0]);
        assert_eq!([Schedule::Exponential, Schedule::Step].map(|schedule| schedule.factor(1.0)), [0.1; 2]);
    }

    #[test]
    fn linear_starts_at_one_and_is_above_zero_in_the_last_iteration() {
        let factors: Vec<f64> = (0..=4).map(|i| Schedule::Linear.factor(f64::from(i) / 4.0)).collect();
        assert_eq!(factors, [1.0, 0.75, 0.5, 0.25, 0.0]);
        assert_eq!(Schedule::Constant.factor(0.75), 1.0);
        assert_eq!(Schedule::Linear.factor(Progress { iterations: 9, steps: 9, budget: 4 }.share()), 0.0);
    }
}
