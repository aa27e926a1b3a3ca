//! NOP: an algorithm that learns nothing, after garage's and metarl's.
//!
//! It plays episodes and leaves its policy as it is. Other algorithms' results are compared with its own, and its speed
//! is that of playing alone. Garage's and metarl's do not even play; this one does, because the length of a run is its
//! steps.

use super::{Asked, CandidateSearch, Population, PopulationLearner, Told};
use crate::algo::{AlgorithmDef, Family, Held, Metrics, StateEntry};
use crate::play::Iteration;
use crate::policy::NetConfig;
use crate::settings::Settings as _;
use crate::{Result, Tensor};

/// NOP in the register.
pub static NOP: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("nop/presets.toml"),
    ..AlgorithmDef::new::<NopConfig>(
        "nop",
        "Plays and learns nothing, to compare with",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(Nop::new(&NopConfig::default().with(settings)?, spec)?)),
    )
};

/// NOP on an environment.
pub type Nop = PopulationLearner<NopConfig>;

crate::settings! {
    /// Hyper-parameters.
    pub struct NopConfig {
        /// Candidates, all of which are the policy, and their episodes.
        ..population: Population = Population { n_samples: 1, ..Population::default() };
        /// The policy.
        ..net: NetConfig;
    }
}

impl CandidateSearch for NopConfig {
    fn validate(&self, _: usize) -> Result<()> {
        self.check()
    }

    fn population(&self) -> &Population {
        &self.population
    }

    fn net(&self) -> &NetConfig {
        &self.net
    }

    fn entries(&self, _: usize, _: usize) -> Vec<StateEntry> {
        Vec::new()
    }

    fn ask(&self, _: &mut Iteration<'_>, _: &Held, theta: Tensor, _: [Tensor; 2]) -> Tensor {
        theta.unsqueeze(1).broadcast_to(&[theta.size(0), self.population.n_samples, theta.size(1)])
    }

    fn tell(&self, _: &mut Iteration<'_>, _: &Held, asked: &Asked) -> Told {
        Told { theta: asked.theta, metrics: Metrics::default() }
    }
}
