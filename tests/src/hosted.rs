//! Built-in environments on the host.

use quickstudy_core::env::EnvDef;
use quickstudy_core::host::{Place, Wrapped};

/// A built-in environment, stepped on the host.
///
/// # Panics
/// Never: it can be made.
#[must_use]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
pub fn hosted(env: &EnvDef) -> Place {
    let env = env.clone();
    Place::of_envs(move |_| Ok(Box::new(Wrapped::new(&env)))).unwrap()
}
