//! The command line with environments of the host: those of the example `custom_host_env`, one that cannot save
//! where it is, and one whose episodes end early.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use quickstudy_core::Result;
use quickstudy_core::env::EnvSpec;
use quickstudy_core::host::{Chance, EnvPlace, HostEnv, TaskPerEpisode, Transition};

#[path = "../../../native-cli/examples/custom_host_env.rs"]
#[expect(dead_code, reason = "its own `main` is not run")]
mod custom_host_env;

use custom_host_env::Courier;

/// A courier that forgets where it was.
struct Forgetful(TaskPerEpisode<Courier>);

impl HostEnv for Forgetful {
    fn spec(&self) -> &EnvSpec {
        self.0.spec()
    }
    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
        self.0.reset(chance)
    }
    fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
        self.0.step(action, chance)
    }
}

/// A courier whose episodes end with the first parcel.
struct Express(TaskPerEpisode<Courier>);

impl HostEnv for Express {
    fn spec(&self) -> &EnvSpec {
        self.0.spec()
    }
    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
        self.0.reset(chance)
    }
    fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
        let step = self.0.step(action, chance)?;
        // A parcel outweighs those that wait.
        Ok(Transition { terminated: step.reward > 0.5, ..step })
    }
    fn save(&self) -> Option<Vec<u8>> {
        self.0.save()
    }
    fn restore(&mut self, state: &[u8]) -> Result<()> {
        self.0.restore(state)
    }
}

fn environments() -> Result<Vec<EnvPlace>> {
    let mut all = custom_host_env::environments()?;
    all.push(EnvPlace::of_envs(|_| Ok(Box::new(Forgetful(TaskPerEpisode::new(Courier::new("forgetful"))))))?);
    all.push(EnvPlace::of_envs(|_| Ok(Box::new(Express(TaskPerEpisode::new(Courier::new("express"))))))?);
    Ok(all)
}

fn main() -> ExitCode {
    // The process ends there as if it was killed; see `native-cli/src/files/disk.rs`.
    if let Some(point) = std::env::var("QUICKSTUDY_TEST_ABORT_AT").ok().and_then(|point| point.parse().ok()) {
        quickstudy::internals::abort_at(point);
    }
    match environments() {
        Ok(environments) => quickstudy::cli::main_with(environments, vec![]),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
