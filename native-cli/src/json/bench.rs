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
    Stepping {
        /// Environment
        environment: String,
        /// Instruction set
        isa: String,
        /// Environment steps per second
        steps_per_second: f64,
        /// Share of the time that goes into random numbers, of 1
        randomness_share: f64,
    },
    /// An environment of the host with random actions.
    HostStepping {
        /// Environment
        environment: String,
        /// Environments that are stepped side by side
        envs: usize,
        /// Environment steps per second, of all together
        steps_per_second: f64,
    },
    /// Training, updates included.
    Training {
        /// Algorithm
        algorithm: String,
        /// Environment
        environment: String,
        /// Name of the line in the table
        name: String,
        /// Settings over those of the preset
        #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
        settings: Table,
        /// Device that it ran on
        device: String,
        /// Environment steps per second
        steps_per_second: f64,
        /// Floating-point operations per second
        flops_per_second: f64,
        /// Their share of the peak, of 1; none on a GPU
        peak_share: Option<f64>,
        /// Dispatches of an iteration; none on the CPU
        dispatches: Option<f64>,
        /// The processor's seconds for one of them; none on the CPU
        dispatch_seconds: Option<f64>,
        /// Seconds of tracing, planning and compiling
        setup_seconds: f64,
        /// Seconds of the first iteration after that
        first_seconds: f64,
    },
    /// A sum over ranks.
    Summing {
        /// Ranks
        ranks: usize,
        /// Numbers of each rank, f32
        numbers: usize,
        /// Seconds of a sum
        seconds: f64,
    },
    /// Returns after training with a preset.
    Learning {
        /// Preset
        preset: String,
        /// Algorithm
        algorithm: String,
        /// Environment
        environment: String,
        /// Environment steps of each seed
        steps: u64,
        /// Seeds
        seeds: usize,
        /// Episodes of each seed
        episodes: usize,
        /// Interquartile mean of the seeds' mean returns
        iqm: Option<f64>,
        /// Lower end of its 95 % bootstrap interval; none of a single seed
        low: Option<f64>,
        /// Upper end
        high: Option<f64>,
        /// Mean return of the lowest seed
        lowest: Option<f64>,
        /// Mean return of random actions; none on the host
        random: Option<f64>,
        /// Seconds of training
        seconds: f64,
    },
}
