//! How long ranks take to sum what they have, and what it costs to stop a program for it.

use crate::json::bench::Summing;
use crate::outcome::Stop;
use quickstudy_core::algo::{AlgorithmDef, PPO, SAC};
use quickstudy_core::backend::{Device, Ranks, ranks::sum};
use quickstudy_core::env::builtin;
use quickstudy_core::train::{Layer, Session, Setup};
use std::rc::Rc;
use std::time::Instant;

/// Numbers that are summed: 1 kB to 10 MB of f32.
pub(crate) const NUMBERS: [usize; 8] = [256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 2_621_440];

/// Measures sums of so many numbers over all ranks, for so many seconds.
pub(crate) fn measure(ranks: &dyn Ranks, numbers: usize, seconds: f64) -> Result<Summing, Stop> {
    let mut own = vec![0; numbers];
    let (mut spare, mut said) = (Vec::new(), vec![0; ranks.count()]);
    let mut time = |rounds: u32| -> Result<f64, Stop> {
        ranks.gather(&[0], &mut said)?;
        let start = Instant::now();
        for _ in 0..rounds {
            sum(ranks, std::hint::black_box(&mut own), &mut spare)?;
        }
        Ok(start.elapsed().as_secs_f64() / f64::from(rounds))
    };
    let first = time(3)?;
    // All make as many rounds as rank 0 says.
    let mut rounds = vec![0; ranks.count()];
    ranks.gather(&[(seconds / first).clamp(3.0, 1e5) as u32], &mut rounds)?;
    Ok(Summing { ranks: ranks.count(), numbers, seconds: time(rounds[0])? })
}

/// Latency and seconds per byte that fit the times best, by their relative errors.
pub(crate) fn fitted(points: &[(f64, f64)]) -> (f64, f64) {
    // Least squares of (α + β b − t) / t.
    let sum = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|(b, t)| f(*b, *t)).sum::<f64>();
    let [a, b, c] = [sum(&|_, t| 1.0 / t / t), sum(&|b, t| b / t / t), sum(&|b, t| b * b / t / t)];
    let [x, y] = [sum(&|_, t| 1.0 / t), sum(&|b, t| b / t)];
    let determinant = a * c - b * b;
    ((x * c - y * b) / determinant, (a * y - b * x) / determinant)
}

/// One of two ranks, the other of which has what this one has: it sums without a message.
#[derive(Debug)]
struct Mirror;

impl Ranks for Mirror {
    fn rank(&self) -> usize {
        0
    }

    fn count(&self) -> usize {
        2
    }

    fn gather(&self, words: &[u32], all: &mut [u32]) -> quickstudy_core::Result<()> {
        all.chunks_mut(words.len().max(1)).for_each(|of_rank| of_rank.copy_from_slice(words));
        Ok(())
    }

    fn exchange(&self, words: &[u32], got: &mut [u32]) -> quickstudy_core::Result<()> {
        self.gather(&words[..words.len() / 2], got)
    }
}

/// The cost of stopping a program for each update.
pub(crate) struct Cuts {
    pub(crate) name: String,
    /// Seconds of an iteration alone.
    pub(crate) alone: f64,
    /// Seconds of an iteration beside its image.
    pub(crate) beside: f64,
    /// Cuts of an iteration.
    pub(crate) count: f64,
}

/// Measures what cuts take of some programs, each for so many seconds alone and beside its image.
pub(crate) fn cuts(seconds: f64, threads: usize) -> impl Iterator<Item = Result<Cuts, Stop>> {
    let programs: [(&AlgorithmDef, _, _, _, _); 3] = [
        (&PPO, "cartpole", 64, "envs = 64\nhorizon = 32\nepochs = 4\nminibatches = 4", 16.0),
        (&PPO, "cartpole", 256, "envs = 64\nhorizon = 32\nepochs = 4\nminibatches = 4", 16.0),
        (&SAC, "pendulum", 256, "learning_starts = 300", 0.0),
    ];
    programs.into_iter().map(move |(algorithm, env, hidden, settings, updates)| {
        let settings = toml::from_str(&format!("hidden = [{hidden}, {hidden}]\n{settings}")).unwrap_or_default();
        let layer = Layer { origin: "bench".to_owned(), settings };
        let setup = Setup::resolve(algorithm, builtin(env)?, &[0], Some(10_000_000), &[layer])?;
        let device = Device::cpu(threads);
        Ok(Cuts {
            name: format!("{} {env} {hidden}×{hidden}", algorithm.name),
            alone: time_of_iteration(&device, &setup, seconds)?,
            beside: time_of_iteration(&device.among(Rc::new(Mirror)), &setup, seconds)?,
            // SAC makes an update per step, with three cuts.
            count: if updates > 0.0 { updates } else { 3.0 * setup.batch() as f64 },
        })
    })
}

/// Seconds of an iteration that learns.
fn time_of_iteration(device: &Device, setup: &Setup, seconds: f64) -> Result<f64, Stop> {
    let mut session = Session::new(device, setup)?;
    while session.env_steps() < 1000 {
        session.step_blocking()?;
    }
    let (start, mut made) = (Instant::now(), 0);
    while start.elapsed().as_secs_f64() < seconds {
        session.step_blocking()?;
        made += 1;
    }
    Ok(start.elapsed().as_secs_f64() / f64::from(made))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_found_again() {
        let points: Vec<_> = NUMBERS.iter().map(|n| 4.0 * *n as f64).map(|b| (b, 3e-6 + b / 5e9)).collect();
        let (latency, rate) = fitted(&points);
        assert!((latency / 3e-6 - 1.0).abs() < 1e-6 && (rate * 5e9 - 1.0).abs() < 1e-6, "{latency} {rate}");
    }
}
