//! Parameters of environments, given with the name: `bandit:arms=10,pulls=100`.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use crate::env::EnvDef;
use crate::{Error, Result};

/// A parameter that may be given with the name of an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name to write before the `=`.
    pub name: &'static str,
    /// The value that a name without it stands for.
    pub default: Cow<'static, str>,
    /// Explains the parameter.
    pub meaning: &'static str,
}

/// The parameters that were given: names and values.
#[derive(Default)]
pub(in crate::env) struct Given<'a>(Vec<(&'a str, &'a str)>);

/// How an environment is made with the parameters that were given.
pub(super) type Make = fn(&Given<'_>) -> Result<EnvDef>;

/// A name, the parameters it takes, and how it is made.
pub(super) type BuiltinEntry = (&'static str, &'static [Parameter], Make);

/// Reads the parameters that were given with the name of the environment `env`.
///
/// # Errors
/// [`Error::Unknown`] for a parameter that is not among `known`, [`Error::Config`] for one without a value or given
/// twice.
pub(in crate::env) fn parse<'a>(env: &str, text: Option<&'a str>, known: &[Parameter]) -> Result<Given<'a>> {
    let mut given: Vec<(&str, &str)> = Vec::new();
    for part in text.into_iter().flat_map(|text| text.split(',')) {
        let Some((name, value)) = part.split_once('=') else {
            let example = known.first().map(|p| format!("; write `{env}:{}={}`", p.name, p.default));
            return Err(Error::config("env", format!("`{part}` is no parameter{}", example.unwrap_or_default())));
        };
        if !known.iter().any(|p| p.name == name) {
            let names: Vec<&str> = known.iter().map(|p| p.name).collect();
            return Err(match Error::unknown("parameter", name, names.iter().copied()) {
                Error::Unknown { suggestion: None, .. } => {
                    Error::config("env", format!("`{env}` has no parameter `{name}`; it takes {}", names.join(", ")))
                }
                close => close,
            });
        }
        if given.iter().any(|(other, _)| *other == name) {
            return Err(Error::config("env", format!("`{name}` is given twice for `{env}`")));
        }
        given.push((name, value));
    }
    Ok(Given(given))
}

impl<'a> Given<'a> {
    /// The text given for a parameter.
    pub(in crate::env) fn text(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// The number given for a parameter, or the default.
    ///
    /// # Errors
    /// [`Error::Config`] if it is none or out of range.
    pub(super) fn number(&self, name: &str, default: f64, range: RangeInclusive<f64>) -> Result<f64> {
        let Some(text) = self.text(name) else { return Ok(default) };
        match text.parse() {
            Ok(number) if range.contains(&number) => Ok(number),
            _ => {
                let (low, high) = range.into_inner();
                Err(Error::config("env", format!("{name}={text}: expected a number in {low} to {high}")))
            }
        }
    }

    /// The range given for a parameter as `LOW..HIGH`, or the default; a side without a bound is `-inf` or `inf`.
    ///
    /// # Errors
    /// [`Error::Config`] if it is none, is empty, or has a bound beyond ± 10⁶.
    pub(super) fn span(&self, name: &str, default: [f64; 2]) -> Result<[f64; 2]> {
        let Some(text) = self.text(name) else { return Ok(default) };
        let wrong = |problem: &str| Error::config("env", format!("{name}={text}: {problem}"));
        let example = "expected a range LOW..HIGH such as 0.7..inf or -1..1";
        let (low, high) = text.split_once("..").ok_or_else(|| wrong(example))?;
        let bound = |text: &str| text.parse::<f64>().ok().filter(|bound| !bound.is_nan());
        let (Some(low), Some(high)) = (bound(low), bound(high)) else { return Err(wrong(example)) };
        if [low, high].iter().any(|bound| bound.is_finite() && bound.abs() > 1e6) {
            return Err(wrong("expected bounds in -1000000 to 1000000, -inf or inf"));
        }
        if low >= high {
            return Err(wrong("the range is empty; write the lower bound first"));
        }
        Ok([low, high])
    }

    /// The truth value given for a parameter, or the default.
    ///
    /// # Errors
    /// [`Error::Config`] if it is neither `true` nor `false`.
    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool> {
        let Some(text) = self.text(name) else { return Ok(default) };
        text.parse().map_err(|_| Error::config("env", format!("{name}={text}: expected true or false")))
    }

    /// The whole number given for a parameter, or the default.
    ///
    /// # Errors
    /// [`Error::Config`] if it is none or out of range.
    pub(in crate::env) fn whole(&self, name: &str, default: usize, range: RangeInclusive<usize>) -> Result<usize> {
        let Some(text) = self.text(name) else { return Ok(default) };
        match text.parse() {
            Ok(number) if range.contains(&number) => Ok(number),
            _ => {
                let (low, high) = range.into_inner();
                Err(Error::config("env", format!("{name}={text}: expected a whole number in {low} to {high}")))
            }
        }
    }
}

/// The name of an environment with those of its parameters `(name, value, default)` that are not as by default:
/// [`builtin`](super::builtin) finds it again by that name.
pub(super) fn full_name(env: &str, parameters: &[(&str, usize, usize)]) -> String {
    let other: Vec<String> = parameters
        .iter()
        .filter(|(_, value, default)| value != default)
        .map(|(name, value, _)| format!("{name}={value}"))
        .collect();
    if other.is_empty() { env.to_owned() } else { format!("{env}:{}", other.join(",")) }
}
