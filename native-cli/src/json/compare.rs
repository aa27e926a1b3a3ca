//! Lines of `compare --json`.

use serde::Serialize;

/// A line of `compare --json`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum CompareLine {
    /// The first line: what is compared.
    Comparison {
        /// Version of these lines: 1
        version: u32,
        /// Labels of the experiments
        experiments: Vec<String>,
        /// Environments
        environments: Vec<String>,
        /// Experiment that all others are compared with, if one is named
        baseline: Option<String>,
        /// Confidence of intervals: 0.95
        confidence: f64,
        /// Resamples of each interval
        resamples: usize,
    },
    /// An environment.
    Environment {
        /// Its name
        environment: String,
        /// Column whose values are scores
        metric: String,
        /// Budget: the most steps that all runs reached
        steps: Option<f64>,
        /// Steps at which the longest run ends
        longest: Option<f64>,
        /// Score of a random policy, where it is known
        random: Option<f64>,
        /// Source of the random policy's score
        random_origin: Option<String>,
        /// Published score, where one is known
        reference: Option<f64>,
        /// Source of the published score
        reference_origin: Option<String>,
    },
    /// A run.
    Run {
        /// Environment
        environment: String,
        /// Label of its experiment
        experiment: String,
        /// Its folder
        folder: String,
        /// Its seed, where it is recorded
        seed: Option<i64>,
        /// Environment steps after which the score was measured
        steps: Option<f64>,
        /// Its score
        score: Option<f64>,
        /// Its score where 0 is a random policy and 1 the published score
        normalised: Option<f64>,
    },
    /// A statistic of an experiment: `iqm`, `mean`, `median`, `median_of_runs` or `optimality_gap`.
    Aggregate {
        /// Its value
        #[serde(flatten)]
        figure: FigureLine,
    },
    /// A point of a performance profile: `runs_above` or `means_above` a score.
    Profile {
        /// Its value
        #[serde(flatten)]
        figure: FigureLine,
        /// The score
        at: Option<f64>,
    },
    /// A point of sample efficiency: the `iqm` after some steps.
    Efficiency {
        /// Its value
        #[serde(flatten)]
        figure: FigureLine,
        /// The steps, or the share of the budgets if `scale` is `normalised`
        at: Option<f64>,
    },
    /// The `probability` that a run of an experiment is better than one of another.
    Improvement {
        /// Its value
        #[serde(flatten)]
        figure: FigureLine,
        /// Label of the other experiment
        over: String,
    },
}

/// A number of a comparison.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct FigureLine {
    /// `raw` for scores as they are, or `normalised`
    pub scale: String,
    /// Environments whose scores it has
    pub environments: Vec<String>,
    /// Label of the experiment
    pub experiment: String,
    /// Statistic that the value and the interval are of
    pub statistic: String,
    /// Runs of the experiment, added up over environments
    pub runs: usize,
    /// The number
    pub value: Option<f64>,
    /// Lower end of its interval; none where an environment has a single run
    pub low: Option<f64>,
    /// Upper end
    pub high: Option<f64>,
}
