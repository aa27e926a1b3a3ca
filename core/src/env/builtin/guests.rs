//! Environments that the npm package has in its second module, which is loaded when one of them is named: bodies and
//! machines. Everywhere else they are built in like others.

use super::body_parameters::{BODIES, given_body};
use super::machines::{MACHINES, given_machine, machine_parameters};
#[cfg(any(all(test, feature = "bodies"), feature = "guest"))]
use super::parameters::parse;
use super::parameters::{Given, Parameter};
use super::take::Take;
use crate::Result;

/// Names of the environments of the second module.
#[must_use]
pub fn guest_names() -> Vec<&'static str> {
    BODIES.iter().map(|(name, _)| *name).chain(MACHINES).collect()
}

/// The name of an environment of the second module as a constant, and the parameters that it takes.
pub(in crate::env) fn guest_parameters(name: &str) -> Option<(&'static str, Vec<Parameter>)> {
    if let Some((body, parameters)) = BODIES.iter().find(|(body, _)| *body == name) {
        return Some((body, parameters.to_vec()));
    }
    let machine = MACHINES.into_iter().find(|machine| *machine == name)?;
    Some((machine, machine_parameters(machine)?))
}

/// The environment of that name, with parameters as they are written behind a name.
///
/// # Errors
/// [`Error::Unknown`](crate::Error::Unknown) for another name or a parameter that it does not take,
/// [`Error::Config`](crate::Error::Config) for a value that cannot be.
#[cfg(any(all(test, feature = "bodies"), feature = "guest"))]
pub(in crate::env) fn guest<T: Take>(name: &str, parameters: Option<&str>, to: T) -> Result<T::Made> {
    let known = guest_parameters(name).map_or_else(Vec::new, |(_, known)| known);
    given_guest(name, &parse(name, parameters, &known)?, to)
}

/// The environment of that name.
pub(super) fn given_guest<T: Take>(name: &str, given: &Given<'_>, to: T) -> Result<T::Made> {
    if MACHINES.contains(&name) { given_machine(name, given, to) } else { given_body(name, given, to) }
}
