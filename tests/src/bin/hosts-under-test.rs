//! The command line with environments of the host: those of the example `custom_host_env`, and one that cannot save
//! where it is.

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

fn environments() -> Result<Vec<EnvPlace>> {
    let mut all = custom_host_env::environments()?;
    all.push(EnvPlace::of_envs(|_| Ok(Box::new(Forgetful(TaskPerEpisode::new(Courier::new("forgetful"))))))?);
    Ok(all)
}

fn main() -> ExitCode {
    // The process ends there as if it was killed; see `quickstudy::disk`.
    if let Some(point) = std::env::var("QUICKSTUDY_TEST_ABORT_AT").ok().and_then(|point| point.parse().ok()) {
        quickstudy::disk::abort_at(point);
    }
    match environments() {
        Ok(environments) => quickstudy::cli::main_with(environments, vec![]),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
