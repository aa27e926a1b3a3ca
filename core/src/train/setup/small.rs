//! Small runs of any algorithm, for tests that go through all of them.

use toml::Table;

use crate::algo::{AlgorithmDef, Family};
use crate::env::{EnvDef, builtin};
use crate::{Error, Result};

/// Small values of settings that several algorithms have, by their keys: each takes those that it declares.
const VALUES: &str = "
hidden = [8]
units = 4
envs = 2
horizon = 16
minibatches = 2
epochs = 2
critic_epochs = 2
cg_iterations = 2
backtracks = 3
n_samples = 8
episodes = 2
memory_size = 2000
batch_size = 8
learning_starts = 40
iteration_steps = 40
train_freq = 2
gradient_steps = 2
meta_batch = 4
rollouts = 2
";

/// Gives an environment that an algorithm can train on, and settings with which an iteration takes milliseconds.
///
/// Settings of an algorithm's own are as its [`AlgorithmDef::small`] says, and the others have their defaults.
///
/// # Errors
/// [`Error::Config`] if the algorithm takes none of the environments that are tried with these settings.
pub fn small(def: &AlgorithmDef) -> Result<(EnvDef, Table)> {
    let values =
        |text: &str| toml::from_str::<Table>(text).map_err(|error| Error::config("small", error.message().to_owned()));
    let shared = values(VALUES)?.into_iter().filter(|(key, _)| def.settings().any(|doc| doc.key == key));
    let settings: Table = shared.chain(values(def.small)?).collect();
    let names = match def.family {
        Family::SingleTask => ["cartpole", "pendulum"],
        Family::Memory => ["grid-world", "point-corner"],
        Family::Gradients | Family::Inference => ["point-corner", "grid-world"],
    };
    let mut refused = Err(Error::config("env", "none was tried"));
    for name in names {
        let env = builtin(name)?;
        match def.fit(&settings, env.spec()) {
            Ok(_) => return Ok((env, settings)),
            Err(error) => refused = refused.or(Err(error)),
        }
    }
    refused
}
