//! OpenAI's evolution strategy.
//!
//! Salimans et al. 2017, arXiv:1703.03864, algorithm 1, with what section 2.1 adds: antithetic pairs, ranks for
//! returns, weight decay. An iteration plays θ + σ ε and θ − σ ε for each of n/2 draws ε ~ N(0, I), and makes one step
//! of Adam, or of SGD with momentum, along g = Σ (R⁺ − R⁻) ε / n, where R are centred ranks from −½ to ½; the authors'
//! code does not divide by σ either. Departures from that code, each with its reason:
//!  1. equal returns have equal ranks, the mean of theirs; there their order decides, which is noise
//!  2. virtual batch normalisation and a table of noise are left out: policies are small here, and noise is cheap

mod config;

pub use config::{EsOptimiser, OpenAiEsConfig};

use super::{Asked, CandidateSearch, Population, PopulationLearner, Told, centred_ranks};
use crate::algo::{AlgorithmDef, Family, Held, Metrics, StateEntry};
use crate::dist::RowNoise;
use crate::optim::{GradientMoments, Progress, norm};
use crate::play::Iteration;
use crate::policy::NetConfig;
use crate::settings::Settings as _;
use crate::{Result, Tensor};

/// OpenAI's evolution strategy in the register.
pub static OPENAI_ES: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("openai_es/presets.toml"),
    ..AlgorithmDef::new::<OpenAiEsConfig>(
        "openai-es",
        "Evolution strategy: gradients from antithetic pairs and ranks (arXiv:1703.03864)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(OpenAiEs::new(&OpenAiEsConfig::default().with(settings)?, spec)?)),
    )
};

/// OpenAI's evolution strategy on an environment.
pub type OpenAiEs = PopulationLearner<OpenAiEsConfig>;

/// g = Σ (R⁺ − R⁻) ε / n, `[S, P]`. `noise` is `[S, n/2, P]`, and `returns: [S, n]` has the positive candidates first,
/// then the negative ones.
#[track_caller]
pub fn gradient(noise: Tensor, returns: Tensor) -> Tensor {
    let shape = noise.shape();
    let [s, pairs, p] = shape[..] else { return Tensor::poison() };
    let ranks = centred_ranks(returns);
    let weight = ranks.slice(1, 0, pairs) - ranks.slice(1, pairs, 2 * pairs);
    weight.unsqueeze(1).matmul(noise).reshape(&[s, p]) * (0.5 / pairs as f64)
}

impl OpenAiEsConfig {
    fn noise(&self, key: [Tensor; 2], p: usize) -> Tensor {
        RowNoise::new(key, self.population.n_samples / 2).normal(p)
    }
}

impl CandidateSearch for OpenAiEsConfig {
    fn validate(&self, _: usize) -> Result<()> {
        OpenAiEsConfig::validate(self)
    }

    fn population(&self) -> &Population {
        &self.population
    }

    fn net(&self) -> &NetConfig {
        &self.net
    }

    fn entries(&self, _: usize, all: usize) -> Vec<StateEntry> {
        let [first, second] = StateEntry::moments(all);
        match self.optimiser {
            EsOptimiser::Adam => vec![first, second, StateEntry::corrections("adam_scale", Some(0..all))],
            EsOptimiser::Sgd => vec![first],
        }
    }

    fn ask(&self, _: &mut Iteration<'_>, _: &Held, theta: Tensor, key: [Tensor; 2]) -> Tensor {
        let (steps, theta) = (self.noise(key, theta.size(1)) * self.sigma, theta.unsqueeze(1));
        Tensor::concat(&[theta + steps, theta - steps], 1)
    }

    fn tell(&self, it: &mut Iteration<'_>, held: &Held, asked: &Asked) -> Told {
        let Asked { theta, returns, key, .. } = *asked;
        let (seeds, p) = (theta.size(0), theta.size(1));
        let rate = it.scalar("learning_rate");
        let ascent = gradient(self.noise(key, p), returns);
        let descent = theta * self.weight_decay - ascent;
        let m = held.get("adam_m");
        // Parameters that are not searched for have no gradient.
        let all = m.size(1);
        let wide = |x: Tensor| match p == all {
            true => x,
            false => Tensor::concat(&[x, Tensor::zeros(&[seeds, all - p])], 1),
        };
        let new = match self.optimiser {
            EsOptimiser::Adam => {
                let (new, GradientMoments { m, v, scale }) =
                    self.adam.optimiser().step(wide(theta), wide(descent), held.trained().moments, rate);
                it.update("adam_m", m);
                it.update("adam_v", v);
                it.update("adam_scale", scale);
                new
            }
            EsOptimiser::Sgd => {
                let m = m * self.momentum + wide(descent) * (1.0 - self.momentum);
                it.update("adam_m", m);
                wide(theta) - m * rate
            }
        };
        let metrics = Metrics::default().last("train/grad_norm", norm(ascent));
        Told { theta: new.slice(1, 0, p), metrics }
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        vec![("train/learning_rate", self.adam.rate(at))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{Device, Program};

    #[test]
    fn the_gradient_leads_from_low_ranks_to_high_ones() {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            // Two pairs, along one axis each; returns of the positive candidates come first, then those of the negative
            // ones.
            let noise = Tensor::literal_f32(&[1.0, 0.0, 0.0, 2.0]).reshape(&[1, 2, 2]);
            cx.output("gradient", gradient(noise, Tensor::literal_f32(&[10.0, -1.0, 0.0, 3.0]).unsqueeze(0)));
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let got = pollster::block_on(device.read(out.get("gradient").unwrap())).unwrap();
        // Ranks 1/2, −1/2, −1/6, 1/6: (2/3 · (1, 0) − 2/3 · (0, 2)) / 4.
        assert!((got[0] - 1.0 / 6.0).abs() < 1e-6 && (got[1] + 1.0 / 3.0).abs() < 1e-6, "{got:?}");
    }
}
