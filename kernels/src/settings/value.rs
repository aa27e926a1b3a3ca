//! The types of settings.

use toml::Value;

use super::Range;
use crate::{Error, Result};

/// A type that a setting can have.
pub trait SettingValue: Sized {
    /// The range of a setting that declares none.
    const RANGE: Range;

    /// The value that a table holds; otherwise what is wrong with it.
    ///
    /// # Errors
    /// The problem, in words.
    fn of(value: &Value) -> std::result::Result<Self, String>;

    /// The value as tables hold it.
    fn to_value(&self) -> Value;

    /// Takes the value that a table holds under this key.
    ///
    /// # Errors
    /// [`Error::Config`] if it is of another type.
    fn put(&mut self, key: &str, value: &Value) -> Result<()> {
        *self = Self::of(value).map_err(|problem| Error::config(key, problem))?;
        Ok(())
    }
}

fn other<T>(expected: &str, got: &Value) -> std::result::Result<T, String> {
    Err(format!("expected {expected}, got {got}"))
}

fn whole(value: &Value) -> Option<usize> {
    value.as_integer().and_then(|n| usize::try_from(n).ok())
}

impl SettingValue for f64 {
    const RANGE: Range = Range::Between(f64::NEG_INFINITY, f64::INFINITY);

    fn of(value: &Value) -> std::result::Result<f64, String> {
        match value {
            Value::Float(x) => Ok(*x),
            // A whole number where another belongs, so that resolved settings show one type.
            Value::Integer(n) => Ok(*n as f64),
            _ => other("a number", value),
        }
    }

    fn to_value(&self) -> Value {
        Value::Float(*self)
    }
}

impl SettingValue for usize {
    const RANGE: Range = Range::Count(0, u64::MAX);

    fn of(value: &Value) -> std::result::Result<usize, String> {
        let expected = match value {
            Value::Float(x) if *x >= 0.0 && x.fract() == 0.0 => "a whole number without point or exponent",
            _ => "a whole number of at least 0",
        };
        whole(value).map_or_else(|| other(expected, value), Ok)
    }

    fn to_value(&self) -> Value {
        Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
    }
}

impl SettingValue for bool {
    const RANGE: Range = Range::Flag;

    fn of(value: &Value) -> std::result::Result<bool, String> {
        value.as_bool().map_or_else(|| other("true or false", value), Ok)
    }

    fn to_value(&self) -> Value {
        Value::Boolean(*self)
    }
}

impl SettingValue for Vec<usize> {
    const RANGE: Range = Range::Widths;

    fn of(value: &Value) -> std::result::Result<Vec<usize>, String> {
        let all = value.as_array().and_then(|all| all.iter().map(whole).collect());
        all.map_or_else(|| other("a list of whole numbers such as [64,64]", value), Ok)
    }

    fn to_value(&self) -> Value {
        Value::Array(self.iter().map(usize::to_value).collect())
    }
}

/// A choice among words.
pub trait Word: Copy + PartialEq + 'static {
    /// The words.
    const WORDS: &'static [&'static str];
    /// Their meanings, in the same order.
    const ALL: &'static [Self];
}

impl<W: Word> SettingValue for W {
    const RANGE: Range = Range::Words(W::WORDS);

    fn of(value: &Value) -> std::result::Result<W, String> {
        let Some(word) = value.as_str() else { return other("a word", value) };
        match W::WORDS.iter().position(|known| *known == word) {
            Some(at) => Ok(W::ALL[at]),
            None => Err(unknown_word(word, W::WORDS)),
        }
    }

    fn to_value(&self) -> Value {
        let at = W::ALL.iter().position(|one| one == self).unwrap_or(0);
        Value::String(W::WORDS[at].to_owned())
    }
}

fn unknown_word(word: &str, known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().map(|one| format!("`{one}`")).collect();
    match &quoted[..] {
        [one] => format!("unknown variant `{word}`, expected {one}"),
        [one, two] => format!("unknown variant `{word}`, expected {one} or {two}"),
        all => format!("unknown variant `{word}`, expected one of {}", all.join(", ")),
    }
}

/// Makes an enum a [`Word`](crate::settings::Word): `words!(Schedule { Constant = "constant", Linear = "linear" })`.
#[macro_export]
macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $crate::settings::Word for $type {
            const WORDS: &'static [&'static str] = &[$($word),+];
            const ALL: &'static [$type] = &[$($type::$variant),+];
        }
    };
}
