//! Where a run plays.

use crate::env::{EnvDef, EnvSpec};
use crate::{Error, Result};

/// An environment as a run knows it.
#[derive(Clone, Debug)]
pub enum Playground {
    /// Stepped inside of programs, on the device.
    Device(EnvDef),
    /// Stepped outside of programs by an [`Executor`](crate::host::Executor): a simulator, a game, a page's script.
    Host(EnvSpec),
}

impl From<EnvDef> for Playground {
    fn from(env: EnvDef) -> Playground {
        Playground::Device(env)
    }
}

impl Playground {
    /// Spaces, time limit and task parameters.
    #[must_use]
    pub fn spec(&self) -> &EnvSpec {
        match self {
            Playground::Device(env) => env.spec(),
            Playground::Host(spec) => spec,
        }
    }

    /// Numbers of a state that programs hold; none of environments of the host.
    pub(super) fn state_len(&self) -> Option<usize> {
        match self {
            Playground::Device(env) => Some(env.state_len()),
            Playground::Host(_) => None,
        }
    }

    /// The environment of programs.
    ///
    /// # Errors
    /// [`Error::Config`] if it is one of the host.
    pub fn device(&self) -> Result<&EnvDef> {
        match self {
            Playground::Device(env) => Ok(env),
            Playground::Host(spec) => Err(Error::config(
                "env",
                format!("`{}` is played on the host; pass an executor that plays it", spec.name),
            )),
        }
    }
}
