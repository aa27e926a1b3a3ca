//! The Covariance Matrix Adaptation Evolution Strategy.
//!
//! Hansen 2016, arXiv:1604.00772, with active (negative) weights, the default of pycma 4.5; garage and metarl call
//! pycma. With `separable` the matrix is a diagonal (Ros and Hansen 2008, doi:10.1007/978-3-540-87700-4_30), with
//! pycma's rates for that. Departures from garage, each with its reason:
//!  1. the policy is the mean of the search; in garage it is a candidate that was lucky once, and is replaced at once
//!  2. a step that is not finite is dropped and counted
//!  3. the eigenvectors are computed in each iteration: with the numbers of parameters that are allowed, episodes cost
//!     more
//!
//! The device plays candidates. The host computes all else in f64, as the condition of the matrix requires. The state
//! keeps each f64 as a sum of two f32, and numbers are [rounded] to such sums after each iteration, so that a resumed
//! run has the same bits.

mod config;
mod strategy;
#[cfg(test)]
mod tests;

pub use config::CmaEsConfig;
pub use strategy::{Axes, Constants, Covariance, Strategy};

use std::cell::RefCell;
use std::rc::Rc;

use super::{Asked, CandidateSearch, Population, PopulationLearner, Told};
use crate::algo::{AlgorithmDef, Family, Held, Metrics, Numbers, Relation, StateEntry};
use crate::dist::RowNoise;
use crate::play::Iteration;
use crate::policy::NetConfig;
use crate::settings::Settings as _;
use crate::{DType, Error, Result, Tensor};

/// CMA-ES in the register.
pub static CMA_ES: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("cma_es/presets.toml"),
    ..AlgorithmDef::new::<CmaEsConfig>(
        "cma-es",
        "Covariance Matrix Adaptation Evolution Strategy, full or separable (arXiv:1604.00772)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(CmaEs::new(&CmaEsSearch::new(CmaEsConfig::default().with(settings)?), spec)?)),
    )
};

/// CMA-ES on an environment.
pub type CmaEs = PopulationLearner<CmaEsSearch>;

/// The search of CMA-ES with its settings.
#[derive(Clone, Debug)]
pub struct CmaEsSearch {
    config: CmaEsConfig,
    frames: Frames,
}

/// The most parameters for which a full matrix is kept.
const MOST_FULL: usize = 1000;

/// The entries of the state that hold the strategy, besides θ.
const ENTRIES: [&str; 5] = ["search_mean", "search_sigma", "search_covariance", "search_paths", GENERATION];
/// The entry that counts generations.
const GENERATION: &str = "search_generation";

/// An f64 as the sum of two f32: the nearest f32, and the rest.
fn halves(x: f64) -> [f64; 2] {
    let high = x as f32;
    [f64::from(high), f64::from((x - f64::from(high)) as f32)]
}

/// Rounds an f64 to the 48 bits that the state keeps.
#[must_use]
pub fn rounded(x: f64) -> f64 {
    let [high, low] = halves(x);
    high + low
}

/// Shapes of the [`ENTRIES`] of one seed.
fn shapes(p: usize, separable: bool) -> [Vec<usize>; 5] {
    let covariance = if separable { vec![p, 2] } else { vec![p, p, 2] };
    [vec![p], vec![2], covariance, vec![2, p, 2], vec![1]]
}

/// Reads the strategy of a seed from the first P parameters of its θ and its [`ENTRIES`]; a new one before the first
/// generation.
fn unpacked(theta: &[f64], entries: [&[f64]; 5], constants: &Constants, sigma0: f64) -> Strategy {
    let whole = |pairs: &[f64]| pairs.chunks(2).map(|pair| pair.iter().sum()).collect::<Vec<f64>>();
    let [rest, sigma, covariance, paths, generation] = entries;
    if generation.iter().all(|x| *x == 0.0) {
        return Strategy::new(theta.to_vec(), sigma0, constants);
    }
    let (covariance, mut path_c) = (whole(covariance), whole(paths));
    let path_sigma = path_c.split_off(theta.len());
    Strategy {
        mean: theta.iter().zip(rest).map(|(high, low)| high + low).collect(),
        sigma: whole(sigma).first().copied().unwrap_or(sigma0),
        covariance: Covariance::of(covariance, constants.separable),
        path_c,
        path_sigma,
        generation: generation.first().map_or(0, |x| *x as u64),
    }
}

/// The inverse of [`unpacked`]: the numbers of θ and of the entries.
fn packed(strategy: &Strategy) -> [Vec<f64>; 6] {
    let pairs = |numbers: &[f64]| numbers.iter().flat_map(|x| halves(*x)).collect::<Vec<f64>>();
    let (high, low) = strategy.mean.iter().map(|x| halves(*x)).map(|[high, low]| (high, low)).unzip();
    [
        high,
        low,
        pairs(&[strategy.sigma]),
        pairs(strategy.covariance.numbers()),
        pairs(&[&strategy.path_c[..], &strategy.path_sigma].concat()),
        vec![strategy.generation as f64],
    ]
}

/// Each seed's covariance and its eigenvectors, computed by `ask` and reused by `tell`.
type Frames = Rc<RefCell<Vec<Option<(Covariance, Axes)>>>>;

fn frame(frames: &Frames, seed: usize, covariance: &Covariance) -> Axes {
    let mut frames = frames.borrow_mut();
    let seeds = frames.len().max(seed + 1);
    frames.resize(seeds, None);
    match &frames[seed] {
        Some((of, frame)) if of == covariance => frame.clone(),
        _ => {
            let frame = covariance.frame();
            frames[seed] = Some((covariance.clone(), frame.clone()));
            frame
        }
    }
}

impl CmaEsConfig {
    /// Reads a seed's strategy from the arrays that the host was given: θ and the [`ENTRIES`] of all `seeds`.
    fn strategy(&self, asked: &[Vec<f64>], [seeds, seed]: [usize; 2], constants: &Constants) -> Result<Strategy> {
        let part = |numbers: &'_ Vec<f64>| {
            let each = numbers.len() / seeds;
            numbers[seed * each..(seed + 1) * each].to_vec()
        };
        let own: Vec<Vec<f64>> = asked.iter().map(part).collect();
        match &own[..] {
            [theta, entries @ ..] if entries.len() == ENTRIES.len() => {
                let entries = std::array::from_fn(|i| &entries[i][..]);
                Ok(unpacked(theta, entries, constants, self.sigma0))
            }
            _ => Err(Error::Program("the state of a search is incomplete".to_owned())),
        }
    }

    fn constants(&self, p: usize) -> Constants {
        Constants::new(p, self.population.n_samples, self.separable)
    }
}

impl CmaEsSearch {
    /// Makes a search with these settings.
    #[must_use]
    pub fn new(config: CmaEsConfig) -> CmaEsSearch {
        CmaEsSearch { config, frames: Frames::default() }
    }
}

impl CandidateSearch for CmaEsSearch {
    fn validate(&self, parameters: usize) -> Result<()> {
        self.config.validate()?;
        if !self.config.separable && parameters > MOST_FULL {
            let problem = format!(
                "the policy has {parameters} parameters, and a full matrix is kept of {MOST_FULL} at most; set \
                 separable to \
                 true, or make hidden layers smaller"
            );
            return Err(Error::config("separable", problem));
        }
        Ok(())
    }

    fn population(&self) -> &Population {
        &self.config.population
    }

    fn net(&self) -> &NetConfig {
        &self.config.net
    }

    fn entries(&self, p: usize, _: usize) -> Vec<StateEntry> {
        let shapes = shapes(p, self.config.separable);
        let one = |(name, shape): (&&'static str, &Vec<usize>)| match StateEntry::new(name, shape, DType::F32) {
            entry if *name == GENERATION => entry.holding(Numbers::COUNT).related(Relation::UpToIterations),
            entry => entry,
        };
        ENTRIES.iter().zip(&shapes).map(one).collect()
    }

    fn ask(&self, it: &mut Iteration<'_>, held: &Held, theta: Tensor, key: [Tensor; 2]) -> Tensor {
        let (seeds, n, p) = (theta.size(0), self.config.population.n_samples, theta.size(1));
        let (config, constants, frames) = (self.config.clone(), self.config.constants(p), self.frames.clone());
        let asks = [&[RowNoise::new(key, n).normal(p), theta][..], &ENTRIES.map(|name| held.get(name))].concat();
        let candidates = it.on_host(&asks, &[&[seeds, n, p]], move |asked| {
            let (z, asked) = asked.split_first().ok_or_else(|| Error::Program("nothing is asked".to_owned()))?;
            let mut all = Vec::with_capacity(z.len());
            for seed in 0..seeds {
                let strategy = config.strategy(asked, [seeds, seed], &constants)?;
                let frame = frame(&frames, seed, &strategy.covariance);
                all.extend(strategy.ask(&frame, &z[seed * n * p..(seed + 1) * n * p]));
            }
            Ok(vec![all])
        });
        candidates.first().copied().unwrap_or(Tensor::poison())
    }

    fn tell(&self, it: &mut Iteration<'_>, held: &Held, asked: &Asked) -> Told {
        let Asked { theta, candidates, returns, .. } = *asked;
        let (seeds, n, p) = (theta.size(0), self.config.population.n_samples, theta.size(1));
        let (config, constants, frames) = (self.config.clone(), self.config.constants(p), self.frames.clone());
        let asks = [&[candidates, returns, theta][..], &ENTRIES.map(|name| held.get(name))].concat();
        let mut answers = vec![vec![seeds, p]];
        answers.extend(shapes(p, self.config.separable).iter().map(|shape| [&[seeds], &shape[..]].concat()));
        // The new σ, and 1 where the step was dropped, else 0.
        answers.push(vec![seeds, 2]);
        let answers: Vec<&[usize]> = answers.iter().map(Vec::as_slice).collect();
        let told = it.on_host(&asks, &answers, move |asked| {
            let [candidates, returns, asked @ ..] = asked else {
                return Err(Error::Program("nothing is asked".to_owned()));
            };
            let mut all: Vec<Vec<f64>> = vec![Vec::new(); ENTRIES.len() + 2];
            for seed in 0..seeds {
                let old = config.strategy(asked, [seeds, seed], &constants)?;
                let frame = frame(&frames, seed, &old.covariance);
                let costs: Vec<f64> = returns[seed * n..(seed + 1) * n].iter().map(|ret| -ret).collect();
                let new = old.tell(&constants, &frame, &candidates[seed * n * p..(seed + 1) * n * p], &costs);
                let kept = new.as_ref().unwrap_or(&old);
                let numbers = packed(kept).into_iter().chain([vec![kept.sigma, f64::from(u8::from(new.is_none()))]]);
                all.iter_mut().zip(numbers).for_each(|(all, numbers)| all.extend(numbers));
            }
            Ok(all)
        });
        let [theta, entries @ .., seen] = &told[..] else {
            return Told { theta: Tensor::poison(), metrics: Metrics::default() };
        };
        ENTRIES.iter().zip(entries).for_each(|(name, value)| it.update(name, *value));
        let metrics = Metrics::default()
            .last("population/sigma", seen.slice(1, 0, 1))
            .sum(Metrics::NON_FINITE, seen.slice(1, 1, 2))
            .sum(Metrics::UPDATES, 1.0 - seen.slice(1, 1, 2));
        Told { theta: *theta, metrics }
    }
}
