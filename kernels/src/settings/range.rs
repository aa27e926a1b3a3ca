//! The values that a setting takes.

use std::fmt;

use toml::Value;

use crate::{Error, Result};

/// The values that a setting takes, beyond its type. What depends on other settings is checked where the algorithm is
/// made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Numbers above 0.
    Positive,
    /// Numbers of at least 0.
    NotNegative,
    /// Numbers from 0 to 1.
    Unit,
    /// Numbers between 0 and 1, both left out.
    Fraction,
    /// Numbers above 0, up to 1.
    Share,
    /// Numbers from the first to the second.
    Between(f64, f64),
    /// Whole numbers from the first to the second.
    Count(u64, u64),
    /// `true` and `false`.
    Flag,
    /// One of these words.
    Words(&'static [&'static str]),
    /// Lists of whole numbers.
    Widths,
    /// A range with other words for it, where other settings narrow it.
    Shown(&'static Range, &'static str),
}

/// A largest count of at most this is shown; larger ones are mere limits of memory.
const SHOWN: u64 = 100;

impl Range {
    /// Checks a value of the setting's type.
    pub fn check(&self, key: &str, value: &Value) -> Result<()> {
        let number = || value.as_float().unwrap_or(f64::NAN);
        let within = |fits: fn(f64) -> bool, range: &str| Error::in_range(key, number(), fits(number()), range);
        match *self {
            Range::Positive => within(|x| x > 0.0, "above 0"),
            Range::NotNegative => within(|x| x >= 0.0, "0 or more"),
            Range::Unit => within(|x| (0.0..=1.0).contains(&x), "in 0 to 1"),
            Range::Fraction => within(|x| x > 0.0 && x < 1.0, "between 0 and 1"),
            Range::Share => within(|x| x > 0.0 && x <= 1.0, "above 0 and at most 1"),
            Range::Between(low, high) => {
                let x = number();
                Error::in_range(key, x, (low..=high).contains(&x), &format!("in {low} to {high}"))
            }
            Range::Count(least, most) => match value.as_integer().and_then(|n| u64::try_from(n).ok()) {
                Some(n) if (least..=most).contains(&n) => Ok(()),
                _ => Err(Error::config(key, format!("{value} is not in {least} to {most}"))),
            },
            Range::Flag | Range::Words(_) | Range::Widths => Ok(()),
            Range::Shown(range, _) => range.check(key, value),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Range::Positive => f.write_str("> 0"),
            Range::NotNegative => f.write_str("0 or more"),
            Range::Unit | Range::Fraction => f.write_str("0 to 1"),
            Range::Share => f.write_str("above 0, to 1"),
            Range::Between(low, high) => write!(f, "{low} to {high}"),
            Range::Count(least, most) if *most <= SHOWN => write!(f, "{least} to {most}"),
            Range::Count(least, _) => write!(f, "{least} or more"),
            Range::Flag => f.write_str("true, false"),
            Range::Words(words) => f.write_str(&words.join(", ")),
            Range::Widths => f.write_str("list of widths"),
            Range::Shown(_, words) => f.write_str(words),
        }
    }
}
