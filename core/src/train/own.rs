//! Environments and algorithms of the caller's.

use super::playground::Playground;
use super::snapshot::{self, Header};
use crate::Result;
use crate::algo::AlgorithmDef;
use crate::env::{EnvDef, EnvSpec, builtin};

/// Environments and algorithms of the caller's, by which snapshots may have been made. What is not among them is looked for among the
/// built-in ones.
#[derive(Clone, Debug, Default)]
pub struct Own<'a> {
    /// The environment, whatever others there are; it must be the one that was trained on.
    pub env: Option<Playground>,
    /// Environments, by their names.
    pub environments: &'a [EnvDef],
    /// Algorithms, by their names.
    pub algorithms: &'a [&'static AlgorithmDef],
}

impl From<Option<Playground>> for Own<'_> {
    fn from(env: Option<Playground>) -> Self {
        Own { env, ..Own::default() }
    }
}

impl From<EnvSpec> for Own<'_> {
    fn from(spec: EnvSpec) -> Self {
        Some(Playground::Host(spec)).into()
    }
}

impl Own<'_> {
    /// The environment that a snapshot was made on.
    pub(super) fn environment(&self, header: &Header) -> Result<Playground> {
        if let Some(env) = &self.env {
            return match env.spec().name == header.env {
                true => Ok(env.clone()),
                false => {
                    let problem = format!("made on the environment `{}`, not on `{}`", header.env, env.spec().name);
                    Err(snapshot::wrong(problem))
                }
            };
        }
        if let Some(env) = self.environments.iter().find(|env| env.spec().name == header.env) {
            return Ok(Playground::Device(env.clone()));
        }
        builtin(&header.env).map(Playground::Device).map_err(|_| {
            snapshot::wrong(format!("made on `{}`, which is not a built-in environment; pass it yourself", header.env))
        })
    }
}
