//! Every algorithm is held to the same, by small settings: those of the register, and one that was added from outside.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod learning;
mod settings;

use quickstudy_core::algo::AlgorithmDef;
use quickstudy_core::env::EnvDef;
use quickstudy_core::host::EnvPlace;
use quickstudy_core::train::{Setup, small};
use quickstudy_core::{Device, Result};
use quickstudy_tests::trainings::training_on;
use toml::Table;

const SEEDS: [u64; 3] = [3, 4, 5];

/// Steps of a run that is long enough for all small settings.
const LONG: u64 = 10_000;

/// A small run of an algorithm: its environment and settings.
struct SmallRun {
    def: &'static AlgorithmDef,
    env: EnvDef,
    settings: Table,
}

impl SmallRun {
    fn of(def: &'static AlgorithmDef) -> SmallRun {
        let (env, settings) =
            small(def).unwrap_or_else(|error| panic!("{}: {error}; see `AlgorithmDef::small`", def.name));
        SmallRun { def, env, settings }
    }

    /// Trains these seeds for a number of steps, in programs or on the host.
    fn resolve(&self, env: impl Into<EnvPlace>, seeds: &[u64], steps: u64) -> Result<Setup> {
        training_on(self.def, env).seeds(seeds).steps(steps).with(self.settings.clone()).resolve()
    }

    /// Four iterations of these seeds, in programs or on the host.
    fn setup(&self, env: impl Into<EnvPlace>, seeds: &[u64]) -> Result<Setup> {
        let env = env.into();
        let batch = self.resolve(env.clone(), seeds, LONG)?.batch();
        self.resolve(env, seeds, 4 * batch)
    }

    /// The settings as they are in all, with those of a preset, for environments that presets are not made for.
    fn with_preset(mut self) -> SmallRun {
        self.settings = self.setup(self.env.clone(), &[0]).unwrap().table();
        self
    }
}

fn device() -> Device {
    Device::cpu(1)
}
