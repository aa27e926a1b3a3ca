//! Lines of `bench --json`.

use serde::Serialize;
use toml::Table;

/// A line of `bench --json`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum BenchLine {
    /// The first line: where it is measured.
    Benchmark {
        /// Version of these lines: 1
        version: u32,
        /// Device, with its threads
        device: String,
        /// Seconds that it took to open
        opening_seconds: f64,
        /// Seconds of each measurement
        seconds: f64,
    },
    /// An environment alone with random actions, on one core.
    Stepping(Stepping),
    /// An environment of the host with random actions.
    HostStepping(HostStepping),
    /// Training, updates included.
    Training(TrainingSpeed),
    /// The time that an iteration would take on graphics cards, by a model of its kernels.
    Prediction(Prediction),
    /// A kernel of that iteration; kernels that are alike are one.
    PredictedKernel(PredictedKernel),
    /// A sum over ranks.
    Summing(Summing),
    /// Returns after training with a preset.
    Learning(Learning),
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Stepping {
    /// Environment
    pub(crate) environment: String,
    /// Instruction set
    pub(crate) isa: String,
    /// Environment steps per second
    pub(crate) steps_per_second: f64,
    /// Share of the time that goes into random numbers, of 1
    pub(crate) randomness_share: f64,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct HostStepping {
    /// Environment
    pub(crate) environment: String,
    /// Environments that are stepped side by side
    pub(crate) envs: usize,
    /// Environment steps per second, of all together
    pub(crate) steps_per_second: f64,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct TrainingSpeed {
    /// Algorithm
    pub(crate) algorithm: String,
    /// Environment
    pub(crate) environment: String,
    /// Name of the line in the table
    pub(crate) name: String,
    /// Settings over those of the preset
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub(crate) settings: Table,
    /// Device that it ran on
    pub(crate) device: String,
    /// Environment steps per second
    pub(crate) steps_per_second: f64,
    /// Floating-point operations per second
    pub(crate) flops_per_second: f64,
    /// Their share of the peak, of 1; none on a GPU
    pub(crate) peak_share: Option<f64>,
    /// Dispatches of an iteration; none on the CPU
    pub(crate) dispatches: Option<f64>,
    /// The processor's seconds for one of them; none on the CPU
    pub(crate) dispatch_seconds: Option<f64>,
    /// Seconds of tracing, planning and compiling
    pub(crate) setup_seconds: f64,
    /// Seconds of the first iteration after that
    pub(crate) first_seconds: f64,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Prediction {
    /// Algorithm
    pub(crate) algorithm: String,
    /// Environment
    pub(crate) environment: String,
    /// Name of the line in the table
    pub(crate) name: String,
    /// Dispatches of an iteration
    pub(crate) dispatches: u64,
    /// Share of those that have one or two workgroups, of 1
    pub(crate) few_workgroups: f64,
    /// Iterations of loops that an invocation makes one after the other in one dispatch, at most
    pub(crate) longest_loop: u64,
    /// Its time on each card
    pub(crate) cards: Vec<CardTime>,
    /// What the time goes into
    pub(crate) parts: Vec<PredictedPart>,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct CardTime {
    /// Name of the card
    pub(crate) card: String,
    /// Milliseconds of an iteration
    pub(crate) milliseconds: f64,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct PredictedPart {
    /// Its name
    pub(crate) part: String,
    /// Number of these in an iteration
    pub(crate) count: u64,
    /// Their time on each card
    pub(crate) cards: Vec<CardTime>,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct PredictedKernel {
    /// Its operations, each once
    pub(crate) operations: String,
    /// Place in the source that asked for it; none of copies
    pub(crate) origin: Option<String>,
    /// Dispatches of an iteration
    pub(crate) dispatches: usize,
    /// Workgroups of a dispatch
    pub(crate) workgroups: usize,
    /// Iterations of loops that an invocation makes one after the other in a dispatch
    pub(crate) iterations: u64,
    /// Time of all its dispatches on each card
    pub(crate) cards: Vec<CardTime>,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Summing {
    /// Ranks
    pub(crate) ranks: usize,
    /// Numbers of each rank, f32
    pub(crate) numbers: usize,
    /// Seconds of a sum
    pub(crate) seconds: f64,
}

#[derive(Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct Learning {
    /// Preset
    pub(crate) preset: String,
    /// Algorithm
    pub(crate) algorithm: String,
    /// Environment
    pub(crate) environment: String,
    /// Environment steps of each seed
    pub(crate) steps: u64,
    /// Seeds
    pub(crate) seeds: usize,
    /// Episodes of each seed
    pub(crate) episodes: usize,
    /// Interquartile mean of the seeds' mean returns
    pub(crate) iqm: Option<f64>,
    /// Lower end of its 95 % bootstrap interval; none of a single seed
    pub(crate) low: Option<f64>,
    /// Upper end
    pub(crate) high: Option<f64>,
    /// Mean return of the lowest seed
    pub(crate) lowest: Option<f64>,
    /// Mean return of random actions; none on the host
    pub(crate) random: Option<f64>,
    /// Seconds of training
    pub(crate) seconds: f64,
}
