//! A worker's description of its environment, and the spec that follows from it.

use quickstudy_core::env::{ActionForm, ActionSpace, Choice, Classes, Dim, EnvSpec};
use quickstudy_core::host::SUCCESS;
use serde::Deserialize;
use serde_json::Value;

use crate::deck::Deck;

/// Steps after which episodes are cut off where an environment has no limit of its own.
pub(crate) const HORIZON: usize = 1000;

/// A worker's description of its environment.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Described {
    /// The names of the numbers of an observation.
    observations: Vec<String>,
    action: Action,
    /// Its form, if it is not the plain one.
    #[serde(default)]
    form: Option<ActionForm>,
    /// The time limit; 0 for none.
    horizon: usize,
    /// The return from which it counts as solved.
    threshold: Option<f64>,
    /// Seconds that a step takes; 0 if unknown.
    dt: f64,
    /// True if it can be drawn.
    pub pictures: bool,
    /// True if steps say whether they were a success.
    success: bool,
    /// The numbers that tell tasks apart, with their ranges.
    tasks: Vec<(String, f64, f64)>,
    /// The names of the classes of tasks.
    #[serde(default)]
    classes: Vec<String>,
    /// The number of goals of each class.
    #[serde(default)]
    goals: Vec<usize>,
    /// The held-out goals of each class.
    #[serde(default)]
    split: HeldOut,
    /// All goals, for workers that are made later: finding them takes some seconds.
    #[serde(default)]
    pub made: Option<Value>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

/// Where held-out tasks begin; 0 where there are none.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct HeldOut {
    #[serde(default)]
    class: usize,
    #[serde(default)]
    goal: usize,
}

/// The actions, as a worker describes them.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Action {
    Discrete {
        counts: [usize; 1],
    },
    MultiDiscrete {
        counts: Vec<usize>,
    },
    Box {
        low: Vec<f64>,
        high: Vec<f64>,
        /// True if the environment takes whole numbers.
        #[serde(default)]
        whole: bool,
    },
}

/// The names of so many options: their numbers, from that of the first one.
fn options(count: usize, first: i64) -> Vec<String> {
    (first..).take(count).map(|option| option.to_string()).collect()
}

impl Action {
    /// The space, whose choices begin with these numbers; from 0 where there are none.
    fn space(&self, start: &[i64]) -> ActionSpace {
        let first = |i: usize| start.get(i).copied().unwrap_or(0);
        match self {
            Action::Discrete { counts: [count] } => ActionSpace::Discrete { names: options(*count, first(0)) },
            Action::MultiDiscrete { counts } => {
                let choice = |(i, count): (usize, &usize)| Choice {
                    name: format!("action[{i}]"),
                    names: options(*count, first(i)),
                };
                ActionSpace::multi_discrete(counts.iter().enumerate().map(choice).collect())
            }
            Action::Box { low, high, whole } => {
                let dim = |(i, (low, high)): (usize, (&f64, &f64))| Dim {
                    whole: *whole,
                    ..Dim::new(format!("action[{i}]"), *low, *high)
                };
                ActionSpace::continuous(low.iter().zip(high).enumerate().map(dim).collect())
            }
        }
    }
}

impl Described {
    /// The spec of the environment with this name. Bounds of observations are left out: many are infinite, and some are
    /// wrong.
    pub fn spec(&self, name: &str) -> EnvSpec {
        let observation = self.observations.iter().map(Dim::unbounded).collect();
        let horizon = if self.horizon == 0 { HORIZON } else { self.horizon };
        let start = self.form.as_ref().map_or(&[][..], |form| &form.start);
        let mut spec = EnvSpec::new(name, observation, self.action.space(start), horizon);
        spec.action_form.clone_from(&self.form);
        if self.dt > 0.0 {
            spec = spec.dt(self.dt);
        }
        spec.solved_at = self.threshold;
        if !self.classes.is_empty() {
            spec = spec.classes(Classes { names: self.classes.clone(), held_out: self.split.class });
        }
        spec.task(self.tasks.iter().map(|(name, low, high)| Dim::new(name, *low, *high)).collect())
    }

    /// The tasks of training, or those that are held out where there are such; none where there are no tasks.
    pub fn deck(&self, held_out: bool) -> Option<Deck> {
        let part = |all: usize, begin: usize| match (begin, held_out) {
            (0, _) => 0..all,
            (_, false) => 0..begin,
            (_, true) => begin..all,
        };
        let goals = |class: usize| part(self.goals.get(class).copied().unwrap_or(0), self.split.goal);
        let classes = part(self.classes.len(), self.split.class);
        Deck::new(classes.map(|class| (class, goals(class))).collect())
    }

    /// The names of the values that steps report.
    pub fn info(&self) -> Vec<String> {
        if self.success { vec![SUCCESS.to_owned()] } else { Vec::new() }
    }

    /// Notes for the user, with that of a missing time limit.
    pub fn all_notes(&self) -> Vec<String> {
        let limit =
            || format!("it has no time limit: episodes end after {HORIZON} steps (?max_episode_steps=N for another)");
        self.notes.iter().cloned().chain((self.horizon == 0).then(limit)).collect()
    }
}
