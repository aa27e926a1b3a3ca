//! How many environments an executor must run.

use std::fmt;

/// How many environments an executor must run, and for how long: what a maker of executors is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FleetSize {
    /// M, groups of environments with a task each.
    pub tasks: usize,
    /// E, environments of each group.
    pub envs_per_task: usize,
    /// Steps after which an episode is cut off.
    pub horizon: usize,
}

impl fmt::Display for FleetSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FleetSize { tasks, envs_per_task, horizon } = self;
        write!(f, "{tasks} tasks on {envs_per_task} environments each for at most {horizon} steps")
    }
}
