//! Built-in environments on the host.

use quickstudy_core::env::EnvDef;
use quickstudy_core::host::{EnvPlace, Wrapped};

/// A built-in environment, stepped on the host.
///
/// # Panics
/// Never: it can be made.
#[must_use]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
pub fn hosted(env: &EnvDef) -> EnvPlace {
    let env = env.clone();
    EnvPlace::of_envs(move |_| Ok(Box::new(Wrapped::new(&env)))).unwrap()
}
