//! Parameters that are read one after the other, and the name that they make.

use std::fmt::Display;

use super::parameters::Given;
use crate::{Error, Result};

/// Reads parameters, and makes the name of an environment with those that are not as by default.
pub(super) struct Reader<'a> {
    pub(super) given: &'a Given<'a>,
    pub(super) name: String,
}

impl<'a> Reader<'a> {
    pub(super) fn new(given: &'a Given<'a>, name: &str) -> Self {
        Self { given, name: name.to_owned() }
    }

    pub(super) fn noted<T: Display + PartialEq>(&mut self, parameter: &str, value: T, default: &T) -> T {
        if value != *default {
            let mark = if self.name.contains(':') { ',' } else { ':' };
            self.name = format!("{}{mark}{parameter}={value}", self.name);
        }
        value
    }

    pub(super) fn number(&mut self, parameter: &str, default: f64) -> Result<f64> {
        let value = self.given.number(parameter, default, -1e6..=1e6)?;
        Ok(self.noted(parameter, value, &default))
    }

    pub(super) fn positive(&mut self, parameter: &str, default: f64) -> Result<f64> {
        let value = self.given.number(parameter, default, 0.0..=1e6)?;
        Ok(self.noted(parameter, value, &default))
    }

    pub(super) fn within(&mut self, parameter: &str, default: f64, [low, high]: [f64; 2]) -> Result<f64> {
        let value = self.given.number(parameter, default, low..=high)?;
        Ok(self.noted(parameter, value, &default))
    }

    /// The index in `words` of the word that was given; the first is the default.
    pub(super) fn word(&mut self, parameter: &str, words: &[&str]) -> Result<usize> {
        let text = self.given.text(parameter).unwrap_or(words[0]);
        let found = words.iter().position(|word| *word == text);
        let found = found.ok_or_else(|| Error::unknown("value", text, words.iter().copied()))?;
        self.noted(parameter, text, &words[0]);
        Ok(found)
    }

    pub(super) fn span(&mut self, parameter: &str, default: [f64; 2]) -> Result<[f64; 2]> {
        let value = self.given.span(parameter, default)?;
        let text = |[low, high]: [f64; 2]| format!("{low}..{high}");
        self.noted(parameter, text(value), &text(default));
        Ok(value)
    }

    /// A range with both bounds.
    pub(super) fn bounds(&mut self, parameter: &str, default: [f64; 2]) -> Result<[f64; 2]> {
        let value = self.span(parameter, default)?;
        if value.iter().all(|bound| bound.is_finite()) {
            return Ok(value);
        }
        let [low, high] = value;
        let problem = format!("{parameter}={low}..{high}: tasks are drawn from it; give it two bounds, such as 0..3");
        Err(Error::config("env", problem))
    }

    pub(super) fn flag(&mut self, parameter: &str, default: bool) -> Result<bool> {
        let value = self.given.flag(parameter, default)?;
        Ok(self.noted(parameter, value, &default))
    }
}
