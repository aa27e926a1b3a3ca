//! Experiments side by side, as the sections of a report tell of them.

use crate::results::comparison::Comparison;
use crate::results::experiments::{self, Experiment};

/// Some experiments and their comparison.
#[derive(Debug)]
pub(super) struct Compared<'a> {
    pub all: &'a [Experiment],
    pub comparison: Comparison,
    pub metric: Option<&'a str>,
}

impl Compared<'_> {
    /// The name of an experiment, with its environment where there are several.
    pub(super) fn name(&self, experiment: usize) -> String {
        let label = &self.comparison.methods[self.comparison.places[experiment]];
        let env = self.all[experiment].env().map(experiments::show);
        match env.filter(|env| experiments::environments(self.all).len() > 1 && env != label) {
            Some(env) => format!("{label} on {env}"),
            None => label.clone(),
        }
    }
}
