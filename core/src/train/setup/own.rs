//! Environments and algorithms of the caller's own.

use crate::algo::AlgorithmDef;
use crate::env::EnvSpec;
use crate::host::EnvPlace;
use crate::train::saved::snapshot::Header;
use crate::train::saved::wrong::wrong;
use crate::{Error, Result};

/// Environments and algorithms of the caller's own, which snapshots may be of. All others are looked up among the
/// built-in ones.
#[derive(Clone, Debug, Default)]
pub struct Own<'a> {
    /// The only environment, if given: snapshots must have been made on it.
    pub env: Option<EnvPlace>,
    /// Environments, by their names.
    pub environments: &'a [EnvPlace],
    /// Algorithms, by their names.
    pub algorithms: &'a [&'static AlgorithmDef],
    /// Makes environments of the host from their names and the specs that snapshots have of them: those that are too
    /// many to be listed. For other names it gives none.
    pub by_spec: Option<PlaceBySpec>,
}

/// Makes the place of an environment of the host from its name and spec; none if the name is not one of its own.
pub type PlaceBySpec = fn(&str, &EnvSpec) -> Option<Result<EnvPlace>>;

impl From<Option<EnvPlace>> for Own<'_> {
    fn from(env: Option<EnvPlace>) -> Self {
        Own { env, ..Own::default() }
    }
}

impl From<EnvPlace> for Own<'_> {
    fn from(env: EnvPlace) -> Self {
        Some(env).into()
    }
}

impl Own<'_> {
    /// The environment that a snapshot was made on.
    pub(in crate::train) fn environment(&self, header: &Header) -> Result<EnvPlace> {
        if let Some(env) = &self.env {
            return env.named(&header.env)?.ok_or_else(|| {
                wrong(format!("made on the environment `{}`, not on `{}`", header.env, env.spec().name))
            });
        }
        #[cfg(feature = "gymnasium")]
        if let Some(place) = self.by_spec.zip(header.spec.as_ref()).and_then(|(place, spec)| place(&header.env, spec)) {
            return place;
        }
        EnvPlace::find(&header.env, self.environments).map_err(|error| match error {
            Error::Unknown { kind: "environment", .. } => {
                let problem =
                    format!("made on `{}`, which is not a built-in environment; pass it yourself", header.env);
                wrong(problem)
            }
            other => wrong(format!("made on `{}`: {other}", header.env)),
        })
    }
}
