//! Lines of `list --json`.

use super::finite;
use quickstudy_core::algo::{AlgorithmDef, Family};
use quickstudy_core::env::{ActionSpace, Dim, EnvSpec, Parameter};
use quickstudy_core::train::Preset;
use serde::Serialize;

/// A line of `list --json`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum ListLine {
    /// The first line: what follows.
    List {
        /// Version of these lines: 1
        version: u32,
        /// Parts that follow: `algorithms`, `environments`, `presets`, `settings`, `metrics`
        parts: Vec<String>,
    },
    /// An algorithm.
    Algorithm {
        /// Its name
        name: String,
        /// Its meaning, with the paper
        meaning: String,
        /// The way in which its policies adapt to a task: `single-task`, `gradients`, `memory`, `inference`
        family: String,
    },
    /// An environment.
    Environment {
        /// Its name
        name: String,
        /// Numbers that are observed
        observation: Vec<Number>,
        /// Actions
        action: Actions,
        /// Steps after which an episode is cut off
        time_limit: usize,
        /// Mean return from which it counts as solved, where its authors name one
        solved_at: Option<f64>,
        /// Parameters that tell its tasks apart; empty for a single task
        task: Vec<Number>,
        /// Parameters that its name takes, as in `bandit:arms=10`
        parameters: Vec<NameParameter>,
    },
    /// A preset.
    Preset {
        /// Its name
        name: String,
        /// Algorithm
        algorithm: String,
        /// Environment
        environment: String,
        /// Environment steps of each seed
        steps: u64,
        /// Source of its numbers
        origin: String,
    },
    /// A setting of an algorithm.
    Setting {
        /// Algorithm
        algorithm: String,
        /// Key for `--set` and files
        key: String,
        /// Value where nobody sets it; none where it has none
        #[schemars(with = "serde_json::Value")]
        default: Option<toml::Value>,
        /// Its effect
        meaning: String,
        /// Values that it takes, in words
        values: String,
    },
    /// A column of the metrics.
    Metric {
        /// Its name
        name: String,
        /// Its meaning
        meaning: String,
    },
}

/// A number of an observation, an action or a task.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Number {
    /// Its name
    pub name: String,
    /// Lowest value; none without a bound
    pub low: Option<f64>,
    /// Highest value; none without a bound
    pub high: Option<f64>,
}

/// The actions of an environment: continuous, discrete or multi-discrete.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum Actions {
    /// One of several choices.
    Discrete {
        /// Names of the choices
        names: Vec<String>,
    },
    /// Several choices at once.
    MultiDiscrete {
        /// The choices
        choices: Vec<NamedChoice>,
    },
    /// Continuous actions.
    Box {
        /// The numbers
        numbers: Vec<Number>,
    },
}

/// One of several choices at once.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct NamedChoice {
    /// Its name
    pub name: String,
    /// Names of what can be chosen
    pub names: Vec<String>,
}

/// A parameter that the name of an environment takes.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct NameParameter {
    /// Its name
    pub name: String,
    /// Value of a name without it
    pub default: String,
    /// Its meaning
    pub meaning: String,
}

fn numbers(dims: &[Dim]) -> Vec<Number> {
    let number = |dim: &Dim| Number { name: dim.name.to_string(), low: finite(dim.low), high: finite(dim.high) };
    dims.iter().map(number).collect()
}

impl Actions {
    fn of(space: &ActionSpace) -> Self {
        let texts = |names: &[_]| names.iter().map(ToString::to_string).collect();
        match space {
            ActionSpace::Discrete { names } => {
                Self::Discrete { names: names.iter().map(ToString::to_string).collect() }
            }
            ActionSpace::Box { dims } => Self::Box { numbers: numbers(dims) },
            ActionSpace::MultiDiscrete { choices } => {
                let choice = |one: &quickstudy_core::env::Choice| NamedChoice {
                    name: one.name.to_string(),
                    names: texts(&one.names),
                };
                Self::MultiDiscrete { choices: choices.iter().map(choice).collect() }
            }
        }
    }
}

impl ListLine {
    /// The line of an algorithm.
    pub(crate) fn algorithm(def: &AlgorithmDef) -> Self {
        let family = match def.family {
            Family::SingleTask => "single-task",
            Family::Gradients => "gradients",
            Family::Memory => "memory",
            Family::Inference => "inference",
        };
        Self::Algorithm { name: def.name.to_owned(), meaning: def.line.to_owned(), family: family.to_owned() }
    }

    /// The line of an environment of this name, which takes these parameters.
    pub(crate) fn environment(name: &str, spec: &EnvSpec, parameters: &[Parameter]) -> Self {
        let parameter = |one: &Parameter| NameParameter {
            name: one.name.to_owned(),
            default: one.default.to_string(),
            meaning: one.meaning.to_owned(),
        };
        Self::Environment {
            name: name.to_owned(),
            observation: numbers(&spec.observation),
            action: Actions::of(&spec.action),
            time_limit: spec.horizon,
            solved_at: spec.solved_at.and_then(finite),
            task: numbers(&spec.task),
            parameters: parameters.iter().map(parameter).collect(),
        }
    }

    /// The line of a preset.
    pub(crate) fn preset(preset: Preset) -> Self {
        let Preset { name, algorithm, env: environment, origin, steps, .. } = preset;
        Self::Preset { name, algorithm: algorithm.to_owned(), environment, steps, origin }
    }

    /// The lines of the settings of an algorithm.
    pub(crate) fn settings(def: &AlgorithmDef) -> Vec<Self> {
        let defaults = (def.defaults)();
        let line = |doc: &quickstudy_core::settings::SettingDoc| Self::Setting {
            algorithm: def.name.to_owned(),
            key: doc.key.to_owned(),
            default: defaults.get(doc.key).cloned(),
            meaning: doc.meaning.to_owned(),
            values: doc.range.to_string(),
        };
        def.settings().map(line).collect()
    }
}
