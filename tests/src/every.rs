//! Every algorithm: those of the register, and one that was added from outside, which is held to all that they are.

use quickstudy_core::algo::off_policy::Replay;
use quickstudy_core::algo::search::{Asked, CandidateSearch, Population, PopulationLearner, Told, centred_ranks};
use quickstudy_core::algo::{AlgorithmDef, Family, Held, Metrics, StateEntry};
use quickstudy_core::dist::RowNoise;
use quickstudy_core::host::EnvPlace;
use quickstudy_core::play::Iteration;
use quickstudy_core::policy::NetConfig;
use quickstudy_core::settings::{Range, Settings as _};
use quickstudy_core::train::{ALGORITHMS, Own};
use quickstudy_core::{Result, Tensor};

quickstudy_core::settings! {
    /// Settings of the algorithm from outside.
    struct RankedSearchConfig {
        /// Candidates and their episodes.
        ..population: Population;
        /// deviation of candidates from the policy
        spread: f64 = 0.1, Range::Positive;
        /// deviations that a candidate of the highest rank moves the policy by
        pull: f64 = 1.0, Range::Positive;
        /// The policy, linear if there are no hidden layers.
        ..net: NetConfig = NetConfig::hidden(Vec::new());
    }
}

/// A search written outside of the register: the mean of the candidates' deviations, weighted by their ranks.
pub static RANKED_SEARCH: AlgorithmDef = AlgorithmDef::new::<RankedSearchConfig>(
    "ranked-search",
    "Search along the mean of what was tried, by ranks",
    Family::SingleTask,
    |settings, spec| Ok(Box::new(PopulationLearner::new(&RankedSearchConfig::default().with(settings)?, spec)?)),
);

impl RankedSearchConfig {
    fn noise(&self, key: [Tensor; 2], parameters: usize) -> Tensor {
        RowNoise::new(key, self.population.n_samples).normal(parameters)
    }
}

impl CandidateSearch for RankedSearchConfig {
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

    fn ask(&self, _: &mut Iteration<'_>, _: &Held, theta: Tensor, key: [Tensor; 2]) -> Tensor {
        theta.unsqueeze(1) + self.noise(key, theta.size(1)) * self.spread
    }

    fn tell(&self, _: &mut Iteration<'_>, _: &Held, asked: &Asked) -> Told {
        let Asked { theta, returns, key, .. } = *asked;
        let weights = centred_ranks(returns).unsqueeze(1);
        let step = weights.matmul(self.noise(key, theta.size(1))).reshape(&theta.shape());
        Told { theta: theta + step * (self.pull * self.spread), metrics: Metrics::default() }
    }
}

/// The variable of the environment by which the command line under test knows what was added.
pub const ADD: &str = "QUICKSTUDY_TEST_ADD";

/// The algorithms that are added from outside.
static ADDED: [&AlgorithmDef; 1] = [&RANKED_SEARCH];

/// All algorithms of the register, and what was added from outside.
#[must_use]
pub fn every() -> Vec<&'static AlgorithmDef> {
    ALGORITHMS.iter().chain(&ADDED).copied().collect()
}

/// Algorithms of each kind: on-policy, particles, off-policy, searches, gradient steps, memories, inference.
const FIRST: [&str; 8] = ["ppo", "svpg", "dqn", "sac", "cem", "promp", "rl2-ppo", "pearl"];

/// Tells whether tests that hold every algorithm to the same run this one in the first tier; all others follow in the
/// second.
#[must_use]
pub fn is_first(name: &str) -> bool {
    FIRST.contains(&name) || ADDED.iter().any(|def| def.name == name)
}

/// All algorithms of a tier.
#[must_use]
pub fn of_tier(first: bool) -> Vec<&'static AlgorithmDef> {
    every().into_iter().filter(|def| is_first(def.name) == first).collect()
}

/// The algorithms of the register that learn a task from a replay buffer.
#[must_use]
pub fn replaying() -> Vec<&'static AlgorithmDef> {
    let replays = |def: &&AlgorithmDef| Replay::DECLARED.iter().all(|doc| def.declared.contains(doc));
    ALGORITHMS.iter().copied().filter(replays).collect()
}

/// The algorithms from outside, and an environment of the host if there is one, by which files are read.
#[must_use]
pub fn own(env: Option<EnvPlace>) -> Own<'static> {
    Own { env, algorithms: &ADDED, ..Own::default() }
}
