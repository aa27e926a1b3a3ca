//! Takers of environments, whatever their types.

use crate::Result;
use crate::env::{Env, EnvDef};

/// Takes an environment of whatever type.
pub(in crate::env) trait Take {
    /// It is made into this.
    type Made;
    /// Takes it.
    fn take<E: Env>(self, env: E) -> Result<Self::Made>;
}

/// Takes environments into handles.
pub(super) struct Handles;

impl Take for Handles {
    type Made = EnvDef;
    fn take<E: Env>(self, env: E) -> Result<EnvDef> {
        EnvDef::new(env)
    }
}
