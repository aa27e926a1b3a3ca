//! The Cross-Entropy Method.
//!
//! Rubinstein 1999, doi:10.1023/A:1010091220143, on the parameters of a policy as in Szita and Lőrincz 2006,
//! doi:10.1162/neco.2006.18.12.2936; after garage's and metarl's `CEM`.
//! Departures from these, each with its reason:
//!  1. the extra deviation falls from iteration to iteration, as its setting says; there it falls with each candidate,
//!     n times as fast
//!  2. the policy is the mean; there it is left at the candidate that would be played next
//!  3. the candidates of an iteration are played side by side, each the same number of episodes

mod config;

pub use config::CemConfig;

use super::{Asked, CandidateSearch, Population, PopulationLearner, Told, best_share};
use crate::algo::{AlgorithmDef, Family, First, Held, Metrics, Numbers, StateEntry};
use crate::dist::RowNoise;
use crate::play::Iteration;
use crate::policy::NetConfig;
use crate::settings::Settings as _;
use crate::{DType, Result, Tensor};

/// CEM in the register.
pub static CEM: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("cem/presets.toml"),
    small: "best_frac = 0.5",
    ..AlgorithmDef::new::<CemConfig>(
        "cem",
        "Cross-Entropy Method: the mean and deviation of the best candidates (doi:10.1023/A:1010091220143)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(Cem::new(&CemConfig::default().with(settings)?, spec)?)),
    )
};

/// CEM on an environment.
pub type Cem = PopulationLearner<CemConfig>;

/// Candidates μ + z √(σ² + e² f), `[S, n, P]`. `mean` and `std` are `[S, P]`, `z: [S, n, P]` are standard normal
/// numbers, e is `extra`, the extra deviation, and f is `factor`, `[]`, the share of it that is left.
#[track_caller]
pub fn candidates([mean, std]: [Tensor; 2], z: Tensor, extra: f64, factor: Tensor) -> Tensor {
    let deviation = (std.square() + factor * extra.powi(2)).sqrt();
    mean.unsqueeze(1) + z * deviation.unsqueeze(1)
}

/// The mean and the deviation (ddof 0), `[S, P]` each, of the k candidates with the highest returns; `candidates` is
/// `[S, n, P]` and `returns` is `[S, n]`.
#[track_caller]
pub fn refit(candidates: Tensor, returns: Tensor, k: usize) -> [Tensor; 2] {
    let shape = candidates.shape();
    let [s, _, p] = shape[..] else { return [Tensor::poison(); 2] };
    let share = best_share(returns, k).unsqueeze(1);
    let over = |x: Tensor| share.matmul(x).reshape(&[s, p]);
    let mean = over(candidates);
    [mean, over((candidates - mean.unsqueeze(1)).square()).sqrt()]
}

impl CandidateSearch for CemConfig {
    fn validate(&self, _: usize) -> Result<()> {
        CemConfig::validate(self)
    }

    fn population(&self) -> &Population {
        &self.population
    }

    fn net(&self) -> &NetConfig {
        &self.net
    }

    fn entries(&self, p: usize, _: usize) -> Vec<StateEntry> {
        let std = StateEntry::new("search_std", &[p], DType::F32).holding(Numbers::NOT_NEGATIVE);
        vec![std.from(First::Value(self.init_std))]
    }

    fn ask(&self, it: &mut Iteration<'_>, held: &Held, theta: Tensor, key: [Tensor; 2]) -> Tensor {
        let (n, p) = (self.population.n_samples, theta.size(1));
        let done = it.number().to_f32() - 1.0;
        let left = (1.0 - done * (1.0 / self.extra_decay_time)).max(Tensor::constant_f32(0.0));
        let z = RowNoise::new(key, n).normal(p);
        // The very first candidate is the mean itself.
        let first = (Tensor::iota(&[1, n, 1], 1).to_f32() + done).eq(Tensor::constant_f32(0.0));
        let z = first.select(Tensor::constant_f32(0.0), z);
        candidates([theta, held.get("search_std")], z, self.extra_std, left)
    }

    fn tell(&self, it: &mut Iteration<'_>, _: &Held, asked: &Asked) -> Told {
        let [theta, std] = refit(asked.candidates, asked.returns, self.best());
        it.update("search_std", std);
        Told {
            theta,
            metrics: Metrics::default().last("population/sigma", std.sum_keep(1) * (1.0 / std.size(1) as f64)),
        }
    }
}
