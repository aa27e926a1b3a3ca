//! The interface of an environment: spaces, time limit, task parameters.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Deserializer, Serialize};

/// One number of an observation, an action or a task: its name and the range it keeps to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dim {
    /// Name in plots and messages.
    pub name: String,
    /// Smallest value; −∞ if unbounded.
    #[serde(deserialize_with = "low")]
    pub low: f64,
    /// Largest value; ∞ if unbounded.
    #[serde(deserialize_with = "high")]
    pub high: f64,
    /// True for a number of an action that environments get as a whole number: the nearest one to what a policy says.
    #[serde(default, skip_serializing_if = "is_false")]
    pub whole: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives references")]
fn is_false(flag: &bool) -> bool {
    !flag
}

/// Reads a lower bound. JSON has no infinities, and writes `null` for them.
fn low<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NEG_INFINITY))
}

/// Reads an upper bound.
fn high<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::INFINITY))
}

impl Dim {
    /// A number that keeps to `low..=high`.
    pub fn new(name: impl Into<String>, low: f64, high: f64) -> Self {
        Self { name: name.into(), low, high, whole: false }
    }

    /// A number of an action that is one of the whole numbers `low..=high`.
    pub fn whole(name: impl Into<String>, low: f64, high: f64) -> Self {
        Self { whole: true, ..Self::new(name, low, high) }
    }

    /// A number without bounds.
    pub fn unbounded(name: impl Into<String>) -> Self {
        Self::new(name, f64::NEG_INFINITY, f64::INFINITY)
    }

    /// The lowest and the highest number of single precision in the range. The nearest ones to the bounds may lie
    /// outside: that to 0.1 is above it.
    #[must_use]
    pub fn single(&self) -> [f32; 2] {
        let (low, high) = (self.low as f32, self.high as f32);
        [
            if f64::from(low) < self.low { low.next_up() } else { low },
            if f64::from(high) > self.high { high.next_down() } else { high },
        ]
    }

    /// The fault of the finite range of an action's number, in which policies act in single precision, if it has one.
    pub(super) fn problem_of_action(&self) -> Option<String> {
        let Self { name, low, high, whole } = self;
        let range = format!("action `{name}` has the range {low:?} to {high:?}");
        let [least, most] = self.single();
        if *whole && (low.fract() != 0.0 || high.fract() != 0.0) {
            return Some(format!("{range}, and is a whole number; give whole bounds"));
        }
        if !(*high as f32 - *low as f32).is_finite() {
            return Some(format!(
                "{range}, which is wider than the numbers of single precision, in which policies act; give smaller \
                 bounds"
            ));
        }
        (low < high && least > most).then(|| {
            format!("{range}, in which single precision has no number; use a unit in which the range is wider")
        })
    }
}

/// One of the choices that an action of several makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Name in plots and messages.
    pub name: String,
    /// Names of its options, in order of index.
    pub names: Vec<String>,
}

impl Choice {
    /// A choice among options with these names.
    pub fn new(name: impl Into<String>, names: &[&str]) -> Self {
        Self { name: name.into(), names: names.iter().map(|n| (*n).to_owned()).collect() }
    }
}

/// The actions that an agent may take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ActionSpace {
    /// One of several choices; the action is its index, as a float.
    Discrete {
        /// Name of each choice, in order of index.
        names: Vec<String>,
    },
    /// Continuous actions: several numbers.
    Box {
        /// Each number with its range; finite.
        dims: Vec<Dim>,
    },
    /// Several choices at once; the action is the index of an option of each, as floats.
    MultiDiscrete {
        /// The choices, in order.
        choices: Vec<Choice>,
    },
}

impl ActionSpace {
    /// Choices with these names.
    #[must_use]
    pub fn discrete(names: &[&str]) -> Self {
        Self::Discrete { names: names.iter().map(|n| (*n).to_owned()).collect() }
    }

    /// Continuous actions with ranges.
    #[must_use]
    pub fn continuous(dims: Vec<Dim>) -> Self {
        Self::Box { dims }
    }

    /// Several choices at once, each with options of its own.
    #[must_use]
    pub fn multi_discrete(choices: Vec<Choice>) -> Self {
        Self::MultiDiscrete { choices }
    }

    /// How many numbers one action takes: 1 for a choice, and one for each of several.
    #[must_use]
    pub fn dim(&self) -> usize {
        match self {
            Self::Discrete { .. } => 1,
            Self::Box { dims } => dims.len(),
            Self::MultiDiscrete { choices } => choices.len(),
        }
    }

    /// How many choices there are to take one of; `None` for a vector, and for several choices at once.
    #[must_use]
    pub fn choices(&self) -> Option<usize> {
        match self {
            Self::Discrete { names } => Some(names.len()),
            Self::Box { .. } | Self::MultiDiscrete { .. } => None,
        }
    }

    /// How many options each number of an action is the index of: one count, or one for each of several choices; `None`
    /// for a vector.
    #[must_use]
    pub fn counts(&self) -> Option<Vec<usize>> {
        match self {
            Self::Discrete { names } => Some(vec![names.len()]),
            Self::Box { .. } => None,
            Self::MultiDiscrete { choices } => Some(choices.iter().map(|choice| choice.names.len()).collect()),
        }
    }

    /// How many numbers stand for an action where each option of a choice has one, as in the last layer of a policy:
    /// the options of all choices, or the numbers of a vector.
    #[must_use]
    pub fn width(&self) -> usize {
        self.counts().map_or(self.dim(), |counts| counts.iter().sum())
    }

    /// Limits actions, row by row, to the bounds in double precision. In single precision, in which policies act, the
    /// bounds are rounded.
    pub fn limit(&self, actions: &mut [f64]) {
        let Self::Box { dims } = self else { return };
        for (number, dim) in actions.iter_mut().zip(dims.iter().cycle()) {
            *number = number.max(dim.low).min(dim.high);
        }
    }

    /// Tells whether it is another one with the same actions, so that who acts in one may act in the other. Names, and
    /// which numbers are whole, do not count: environments may know more about these than old snapshots.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Box { dims }, Self::Box { dims: others }) => {
                let bounds = |dims: &[Dim]| dims.iter().map(|dim| [dim.low, dim.high]).collect::<Vec<_>>();
                bounds(dims) == bounds(others)
            }
            _ => self.kind() == other.kind() && self.counts() == other.counts(),
        }
    }

    /// The kind of its actions in messages: `discrete actions`, `continuous actions` or `multi-discrete actions`.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Discrete { .. } => "discrete actions",
            Self::Box { .. } => "continuous actions",
            Self::MultiDiscrete { .. } => "multi-discrete actions",
        }
    }
}

/// The form in which the program that runs an environment takes its actions, where that is another one than numbers of
/// options from 0, and vectors: policies that act elsewhere need it too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionForm {
    /// The number of the first option of each choice; empty if all are 0.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub start: Vec<i64>,
    /// The shape of the array that an action is, if it is no vector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<Vec<usize>>,
    /// The type of its numbers in words of `NumPy`, if it takes neither `int64`, of choices and whole numbers, nor
    /// `float32`, of others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dtype: Option<String>,
}

impl fmt::Display for ActionForm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = (!self.start.is_empty()).then(|| format!("from {:?}", self.start));
        let shape = self.shape.as_ref().map(|shape| format!("of the shape {shape:?}"));
        let dtype = self.dtype.as_ref().map(|dtype| format!("of {dtype}"));
        out.write_str(&[start, shape, dtype].into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// The places of goals in observations, where an environment is about reaching one.
///
/// Each step is worth −1 and the one that reaches the goal 0, which ends the episode: what was reached may then
/// stand for what was sought (arXiv:1707.01495).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// The numbers of an observation that say what is reached.
    pub achieved: Range<usize>,
    /// Numbers of observations that say what is sought, as many as say what is reached.
    pub desired: Range<usize>,
    /// The goal is reached within this distance of it.
    pub tolerance: f64,
}

impl Goal {
    /// The fault of a goal in observations of so many numbers, if it has one.
    pub(super) fn problem(&self, observations: usize) -> Option<String> {
        let Goal { achieved, desired, tolerance } = self;
        if achieved.is_empty() || achieved.len() != desired.len() {
            let [reached, sought] = [achieved.len(), desired.len()];
            return Some(format!("a goal of {sought} numbers is reached by {reached} numbers, expected as many"));
        }
        if achieved.end.max(desired.end) > observations {
            return Some(format!("the goal is at numbers that an observation of {observations} has not"));
        }
        let wrong = !(*tolerance >= 0.0 && tolerance.is_finite());
        wrong.then(|| format!("the goal's tolerance is {tolerance}, expected a distance"))
    }
}

/// Classes of tasks, as those of Meta-World's benchmarks: reaching, pushing, opening a door.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Classes {
    /// Their names, by their numbers.
    pub names: Vec<String>,
    /// The number of the first class that only tests play; 0 where they play all.
    pub held_out: usize,
}

/// Everything fixed about an environment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EnvSpec {
    /// Name in messages, files and on the command line.
    pub name: String,
    /// The observation's numbers, in order.
    pub observation: Vec<Dim>,
    /// The actions that an agent may take.
    pub action: ActionSpace,
    /// The form in which the program that runs it takes actions, if that is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_form: Option<ActionForm>,
    /// Steps after which an episode is cut off (truncated, not terminated).
    pub horizon: usize,
    /// Seconds that a step takes in the simulated world: recordings play at this speed. Where steps are leaps from cell
    /// to cell or pulls of an arm, a sixth of a second can be followed.
    pub dt: f64,
    /// Mean return from which the environment counts as solved, where its authors name one.
    pub solved_at: Option<f64>,
    /// Parameters that tell tasks apart (goals, masses, target speeds); empty for a single task.
    pub task: Vec<Dim>,
    /// Classes of tasks, where the first parameter of a task is the number of its class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classes: Option<Classes>,
    /// Which numbers of the state are the agent's place in the plane that it is drawn in, if it moves in one: paths are
    /// drawn through these.
    pub plane: Option<[usize; 2]>,
    /// The number of the state that is the agent's place along a line, in m, if it runs along one at a velocity or in a
    /// direction that the first parameter of its task names: ways are drawn over time through it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course: Option<usize>,
    /// Names the shapes that it is drawn with, beside the agent: `green: the goal`; empty if nothing needs a name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub legend: String,
    /// The places of its goals in observations, if it has such.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goal: Option<Goal>,
}

impl EnvSpec {
    /// Tells whether a policy that was trained in it may act in another one: the sizes are the same, and so are the
    /// order of what is seen and, as far as this one says it, the form of actions.
    pub fn is_like(&self, other: &Self) -> bool {
        self.observation.len() == other.observation.len()
            && self.moved(other).is_none()
            && self.task.len() == other.task.len()
            && self.action.is_like(&other.action)
            && (self.action_form.is_none() || self.action_form == other.action_form)
    }

    /// The first number of an observation that another spec has elsewhere, where both have the same numbers. Other
    /// names may come from another version.
    pub fn moved(&self, other: &Self) -> Option<usize> {
        let names = |spec: &Self| spec.observation.iter().map(|dim| dim.name.clone()).collect::<Vec<_>>();
        let (mut own, mut others) = (names(self), names(other));
        let first = own.iter().zip(&others).position(|(own, other)| own != other)?;
        own.sort_unstable();
        others.sort_unstable();
        (own == others).then_some(first)
    }

    /// A spec of a single task without a solved-at return, whose steps take 1/30 s: the speed at which Gymnasium plays
    /// environments without a clock of their own.
    pub fn new(name: impl Into<String>, observation: Vec<Dim>, action: ActionSpace, horizon: usize) -> Self {
        Self {
            name: name.into(),
            observation,
            action,
            action_form: None,
            horizon,
            dt: 1.0 / 30.0,
            solved_at: None,
            task: Vec::new(),
            classes: None,
            plane: None,
            course: None,
            legend: String::new(),
            goal: None,
        }
    }

    /// A spec with steps of `seconds`.
    #[must_use]
    pub fn dt(mut self, seconds: f64) -> Self {
        self.dt = seconds;
        self
    }

    /// A spec with the mean return from which the environment counts as solved.
    #[must_use]
    pub fn solved_at(mut self, mean_return: f64) -> Self {
        self.solved_at = Some(mean_return);
        self
    }

    /// A spec with parameters that tell tasks apart.
    #[must_use]
    pub fn task(mut self, task: Vec<Dim>) -> Self {
        self.task = task;
        self
    }

    /// A spec with classes of tasks.
    #[must_use]
    pub fn classes(mut self, classes: Classes) -> Self {
        self.classes = Some(classes);
        self
    }

    /// A spec with goals at these places of observations.
    #[must_use]
    pub fn goal(mut self, goal: Goal) -> Self {
        self.goal = Some(goal);
        self
    }

    /// A spec with the numbers of the state that are the agent's place in the plane.
    #[must_use]
    pub fn plane(mut self, x: usize, y: usize) -> Self {
        self.plane = Some([x, y]);
        self
    }

    /// A spec with a line that names the shapes that the environment is drawn with.
    #[must_use]
    pub fn legend(mut self, legend: &str) -> Self {
        legend.clone_into(&mut self.legend);
        self
    }
}
