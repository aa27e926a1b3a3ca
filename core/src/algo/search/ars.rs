//! Augmented Random Search.
//!
//! Mania et al. 2018, arXiv:1803.07055, algorithm 2: V1, or with `normalise_observations` V2, whose policies see
//! observations standardised by statistics of all earlier ones. V1-t and V2-t, with `top_directions`, learn only from
//! the best directions.
//!
//! An iteration plays θ + ν δ and θ − ν δ for each of N = n/2 directions δ ~ N(0, I), and makes the step θ ← θ + α /
//! (b σ_R) Σ (r⁺ − r⁻) δ over the b directions with the highest max(r⁺, r⁻); σ_R is the deviation of their 2 b
//! returns. Departures, each with its reason:
//!  1. where all of these returns are equal there is no step, because σ_R is 0
//!  2. policies may have hidden layers and take choices; the paper's are linear

mod config;

pub use config::ArsConfig;

use super::{Asked, CandidateSearch, Population, PopulationLearner, Told, best_share};
use crate::algo::{AlgorithmDef, Family, Held, Metrics, StateEntry};
use crate::dist::RowNoise;
use crate::optim::Progress;
use crate::play::Iteration;
use crate::policy::NetConfig;
use crate::settings::Settings as _;
use crate::{Result, Tensor};

/// ARS in the register.
pub static ARS: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("ars/presets.toml"),
    ..AlgorithmDef::new::<ArsConfig>(
        "ars",
        "Augmented Random Search, V1 and V2 (arXiv:1803.07055)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(Ars::new(&ArsConfig::default().with(settings)?, spec)?)),
    )
};

/// ARS on an environment.
pub type Ars = PopulationLearner<ArsConfig>;

/// Σ (r⁺ − r⁻) δ / (b σ_R) over the best b directions, `[S, P]`; 0 where all of their returns are equal. `directions`
/// is `[S, N, P]`, and `returns: [S, 2 N]` has the positive candidates first, then the negative ones.
#[track_caller]
pub fn ascent(directions: Tensor, returns: Tensor, top: usize) -> Tensor {
    let shape = directions.shape();
    let [s, n, p] = shape[..] else { return Tensor::poison() };
    let (plus, minus) = (returns.slice(1, 0, n), returns.slice(1, n, 2 * n));
    let share = best_share(plus.max(minus), top);
    // The means are over both returns of each direction. Directions that do not count are left out before they can
    // overflow.
    let (none, counts) = (Tensor::constant_f32(0.0), share.gt(Tensor::constant_f32(0.0)));
    let mean = (counts.select(plus, none) * share + counts.select(minus, none) * share).sum_keep(1) * 0.5;
    let square = |x: Tensor| counts.select((x - mean).square(), none) * share;
    let deviation = ((square(plus) + square(minus)).sum_keep(1) * 0.5).sqrt();
    let weight = counts.select(plus - minus, none) * share;
    let step = weight.unsqueeze(1).matmul(directions).reshape(&[s, p]);
    let equal = deviation.gt(none);
    equal.select(step / equal.select(deviation, Tensor::constant_f32(1.0)), none)
}

impl CandidateSearch for ArsConfig {
    fn validate(&self, _: usize) -> Result<()> {
        ArsConfig::validate(self)
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

    fn normalises(&self) -> bool {
        self.normalise_observations
    }

    fn ask(&self, _: &mut Iteration<'_>, _: &Held, theta: Tensor, key: [Tensor; 2]) -> Tensor {
        let steps = RowNoise::new(key, self.directions()).normal(theta.size(1)) * self.sigma;
        let theta = theta.unsqueeze(1);
        Tensor::concat(&[theta + steps, theta - steps], 1)
    }

    fn tell(&self, it: &mut Iteration<'_>, _: &Held, asked: &Asked) -> Told {
        let Asked { theta, returns, key, .. } = *asked;
        let directions = RowNoise::new(key, self.directions()).normal(theta.size(1));
        let step = ascent(directions, returns, self.top());
        Told { theta: theta + step * it.scalar("learning_rate"), metrics: Metrics::default() }
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        vec![("train/learning_rate", self.learning_rate * self.schedule.factor(at))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{Device, Program};

    fn step(returns: &[f64; 6], top: usize) -> Vec<f64> {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let directions = Tensor::literal_f32(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]).reshape(&[1, 3, 2]);
            cx.output("step", ascent(directions, Tensor::literal_f32(returns).unsqueeze(0), top));
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        pollster::block_on(device.read(out.get("step").unwrap())).unwrap()
    }

    #[test]
    fn the_best_directions_count_in_deviations_of_their_returns() {
        // The third direction has the lowest best return. The others have 5, 1, 1 and 3, with mean 2.5 and variance
        // 2.75.
        let (got, deviation) = (step(&[5.0, 1.0, 0.5, 1.0, 3.0, 0.0], 2), 2.75_f64.sqrt());
        for (got, want) in got.iter().zip([4.0 / (2.0 * deviation), -2.0 / (2.0 * deviation)]) {
            assert!((got - want).abs() < 1e-6, "{got} instead of {want}");
        }
    }

    #[test]
    fn equal_returns_are_no_reason_to_move() {
        assert_eq!(step(&[2.0; 6], 3), [0.0, 0.0]);
    }
}
