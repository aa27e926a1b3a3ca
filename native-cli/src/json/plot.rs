//! Lines of `plot --json`.

use serde::Serialize;

/// A line of `plot --json`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum PlotLine {
    /// The first line: what is drawn.
    Plot {
        /// Version of these lines: 1
        version: u32,
        /// Picture that was written
        path: String,
        /// Title of the picture: what all runs share
        title: String,
        /// Column of the horizontal axis
        x: String,
        /// Width of the smoothing window, in units of that axis
        smooth: Option<u64>,
    },
    /// A line of a panel, with the numbers at its end.
    Curve {
        /// Environment; none where it is not recorded
        environment: Option<String>,
        /// Column that is drawn
        metric: String,
        /// Label of the line
        experiment: String,
        /// Number of runs in the line
        runs: usize,
        /// Runs that are there at its end
        runs_at_end: usize,
        /// Where it ends; none without a value
        end: Option<f64>,
        /// Where the first of the runs ends, if others go on
        first_end: Option<f64>,
        /// Budget after which scores are taken, in steps; none where the line is over something else or smoothed, and
        /// values are those at its end
        budget: Option<f64>,
        /// Mean score, or mean at the end
        mean: Option<f64>,
        /// Lower end of the mean's 95 % bootstrap interval; none of a single run
        low: Option<f64>,
        /// Upper end
        high: Option<f64>,
        /// Interquartile mean of the same
        iqm: Option<f64>,
    },
}
