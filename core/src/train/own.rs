//! Environments and algorithms of the caller's.

use super::playground::Playground;
use super::snapshot::{self, Header};
use crate::algo::AlgorithmDef;
use crate::env::{EnvDef, EnvSpec, find, own_name, time_limit};
use crate::{Error, Result};

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
            return limited(env, &header.env)?.ok_or_else(|| {
                snapshot::wrong(format!("made on the environment `{}`, not on `{}`", header.env, env.spec().name))
            });
        }
        find(&header.env, self.environments).map(Playground::Device).map_err(|error| match error {
            Error::Unknown { kind: "environment", .. } => {
                let problem =
                    format!("made on `{}`, which is not a built-in environment; pass it yourself", header.env);
                snapshot::wrong(problem)
            }
            other => snapshot::wrong(format!("made on `{}`: {other}", header.env)),
        })
    }
}

/// The environment, with the time limit that `name` asks for; none if it is the name of another.
fn limited(env: &Playground, name: &str) -> Result<Option<Playground>> {
    if env.spec().name == name {
        return Ok(Some(env.clone()));
    }
    let Some(limit) = time_limit(name).filter(|_| env.spec().name == own_name(name)) else { return Ok(None) };
    Ok(Some(match env {
        Playground::Device(env) => Playground::Device(env.with_time_limit(limit)?),
        Playground::Host(spec) => Playground::Host(spec.clone().with_time_limit(limit)?),
    }))
}
