//! Training, updates included, by settings that others are measured with.

use crate::json::bench::TrainingSpeed;
use crate::json::finite;
use crate::machine::device::{DeviceArgs, time_of_training};
use crate::outcome::Stop;
use crate::settings::config;
use quickstudy_core::algo::{AlgorithmDef, PPO, SAC, TD3};
use quickstudy_core::backend::Device;
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::backend::cpu::simd::peak::peak;
use quickstudy_core::env::builtin;
use quickstudy_core::train::{Layer, Session, Setup};
use std::time::Instant;
use toml::Table;

/// A training that is measured.
#[derive(Clone, Copy, Debug)]
pub struct TrainingCase {
    /// The algorithm.
    pub of: &'static AlgorithmDef,
    /// The environment.
    pub env: &'static str,
    /// Its name in the table.
    pub name: &'static str,
    /// Its settings over those of the preset, as TOML.
    pub settings: &'static str,
    /// The share of iterations that do what is done under a condition: TD3's policy is moved in each second update.
    conditional: f64,
}

/// All of them: CartPole as other libraries are measured with; Pendulum as RLtools measures PPO, by the preset
/// and with its own networks, noise and gradients; the cheetah as CleanRL plays it, with 16 environments; SAC and TD3
/// as RLtools measures them. All networks have two layers of 64.
pub const LINES: [TrainingCase; 8] = [
    line(&PPO, "cartpole", "4 envs × 128", "envs = 4\nhorizon = 128\nepochs = 4\nminibatches = 4"),
    line(&PPO, "cartpole", "64 envs × 32", "envs = 64\nhorizon = 32\nepochs = 4\nminibatches = 4"),
    line(&PPO, "cartpole", "2048 envs × 32", "envs = 2048\nhorizon = 32\nepochs = 4\nminibatches = 4"),
    line(&PPO, "pendulum", "4 envs × 1024", "envs = 4\nhorizon = 1024\nepochs = 2\nminibatches = 16"),
    line(
        &PPO,
        "pendulum",
        "4 envs × 1024, lean",
        "envs = 4\nhorizon = 1024\nepochs = 2\nminibatches = 16\nactivation = \"relu\"\nsde = false\n\
         max_grad_norm = 0.0",
    ),
    line(&PPO, "half-cheetah", "16 envs × 2048", "envs = 16\nhorizon = 2048\nepochs = 10\nminibatches = 32"),
    line(&SAC, "pendulum", "batches of 100", "hidden = [64, 64]\nbatch_size = 100\nmemory_size = 100_000"),
    TrainingCase {
        conditional: 0.5,
        ..line(&TD3, "pendulum", "batches of 100", "hidden = [64, 64]\nbatch_size = 100\nmemory_size = 100_000")
    },
];

const fn line(
    of: &'static AlgorithmDef,
    env: &'static str,
    name: &'static str,
    settings: &'static str,
) -> TrainingCase {
    TrainingCase { of, env, name, settings, conditional: 1.0 }
}

impl TrainingCase {
    fn table(&self) -> Result<Table, Stop> {
        Ok(config::parse(self.settings).map_err(Stop::failure)?.1)
    }

    /// Its training of one seed, which does not end.
    pub fn setup(&self) -> Result<Setup, Stop> {
        let layer = Layer { origin: "bench".to_owned(), settings: self.table()? };
        Ok(Setup::resolve(self.of, builtin(self.env)?, &[0], Some(u64::MAX >> 20), &[layer])?)
    }

    /// Measures it for so many seconds on `opened` or, with `--device auto`, where it is fastest; also says why there.
    pub(crate) fn measure(
        &self,
        opened: &Device,
        args: &DeviceArgs,
        seconds: f64,
    ) -> Result<(TrainingSpeed, Option<String>), Stop> {
        let setup = self.setup()?;
        let (device, why) = match args.is_auto() {
            true => args.open_for(&mut |device| time_of_training(device, &setup))?,
            false => (opened.clone(), None),
        };
        let start = Instant::now();
        let mut session = Session::new(&device, &setup)?;
        let set_up = start.elapsed();
        session.step_blocking()?;
        let first = start.elapsed() - set_up;
        let (start, counted, before) = (Instant::now(), session.program().counters(), session.iteration());
        while start.elapsed().as_secs_f64() < seconds {
            session.step_blocking()?;
        }
        let taken = start.elapsed().as_secs_f64();
        let counted = session.program().counters() - counted;
        let iterations = (session.iteration() - before) as f64;
        let flops = session.program().trace().flops();
        let flops = flops.total() as f64 - (1.0 - self.conditional) * flops.conditional as f64;
        let flops_per_second = iterations * flops / taken;
        let peak_share = device.caps().is_cpu.then(|| flops_per_second / (args.threads() as f64 * peak_of_a_core()));
        let dispatched = counted.dispatches > 0;
        let found = TrainingSpeed {
            algorithm: self.of.name.to_owned(),
            environment: self.env.to_owned(),
            name: self.name.to_owned(),
            settings: self.table()?,
            device: args.describe(&device),
            steps_per_second: iterations * setup.batch() as f64 / taken,
            flops_per_second,
            peak_share: peak_share.and_then(finite),
            dispatches: dispatched.then(|| counted.dispatches as f64 / iterations),
            dispatch_seconds: dispatched.then(|| counted.host.as_secs_f64() / counted.dispatches as f64),
            setup_seconds: set_up.as_secs_f64(),
            first_seconds: first.as_secs_f64(),
        };
        Ok((found, why))
    }
}

/// Multiply-adds of one core, in floating-point operations per second, at this minute: the best of some short tries.
fn peak_of_a_core() -> f64 {
    let isa = Isa::detect();
    let once = || {
        let start = Instant::now();
        let operations = peak(isa, 100_000);
        operations as f64 / start.elapsed().as_secs_f64()
    };
    (0..20).map(|_| once()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_training_lines_are_valid_settings() {
        for line in LINES {
            let setup = line.setup().unwrap();
            let hidden = setup.table().get("hidden").map(|widths| widths.to_string());
            assert_eq!(hidden.as_deref(), Some("[64, 64]"), "{} {}", line.of.name, line.env);
        }
    }
}
