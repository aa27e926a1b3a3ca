//! Settings of algorithms, each declared once.
//!
//! A declaration by [`settings!`](crate::settings!) gives a field with its type and default, the range that values are checked
//! against, and the line that help texts, the npm package's types and this documentation show. Files, command lines and snapshots
//! hold settings as tables.
//!
//! ```
//! use quickstudy_core::settings::{Range, Settings};
//!
//! quickstudy_core::settings! {
//!     /// Settings of an example.
//!     pub struct Example {
//!         /// step size
//!         learning_rate: f64 = 1e-3, Range::Positive;
//!         /// widths of the hidden layers
//!         hidden: Vec<usize> = vec![64, 64];
//!     }
//! }
//!
//! let asked = toml::from_str("learning_rate = 0.5").unwrap();
//! let example = Example::default().with(&asked)?;
//! assert_eq!((example.learning_rate, example.hidden), (0.5, vec![64, 64]));
//! let wrong = toml::from_str("learning_rate = -1").unwrap();
//! assert_eq!(Example::default().with(&wrong).unwrap_err().to_string(), "learning_rate: -1 is not above 0");
//! # Ok::<(), quickstudy_core::Error>(())
//! ```

mod range;
mod value;

pub use range::Range;
pub use value::{SettingValue, Word};

/// A setting in an algorithm's table of values.
pub use toml::{Table, Value};

use crate::{Error, Result};

/// One declared setting.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SettingDoc {
    /// Key, as in `--set key=value` and in files.
    pub key: &'static str,
    /// Values that it takes.
    pub range: Range,
    /// Its effect, in one line.
    pub meaning: &'static str,
}

/// Declared settings with their values: what [`settings!`](crate::settings!) makes.
pub trait Settings: Default {
    /// The declarations, in order.
    const DECLARED: &'static [SettingDoc];

    /// The values, in the same order.
    fn values(&self) -> Vec<Value>;

    /// Changes one value, whose type is checked.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an unknown key, with the closest one; [`Error::Config`] for a value of another type.
    fn set(&mut self, key: &str, value: &Value) -> Result<()>;

    /// Keys and values.
    fn table(&self) -> Table {
        Self::DECLARED.iter().map(|doc| doc.key.to_owned()).zip(self.values()).collect()
    }

    /// These settings with the values of a table, all of them checked.
    ///
    /// # Errors
    /// As [`set`](Settings::set) and [`check`](Settings::check).
    fn with(mut self, table: &Table) -> Result<Self> {
        table.iter().try_for_each(|(key, value)| self.set(key, value))?;
        self.check()?;
        Ok(self)
    }

    /// Checks each value on its own.
    ///
    /// # Errors
    /// [`Error::Config`] for the first one that is not in its range.
    fn check(&self) -> Result<()> {
        check(Self::DECLARED, &self.values())
    }
}

fn check(declared: &[SettingDoc], values: &[Value]) -> Result<()> {
    declared.iter().zip(values).try_for_each(|(doc, value)| doc.range.check(doc.key, value))
}

/// The error for a key that is not among the declared ones.
#[doc(hidden)]
pub fn unknown(key: &str, declared: &'static [SettingDoc]) -> Error {
    Error::unknown("key", key, declared.iter().map(|doc| doc.key))
}

/// Declares the settings of an algorithm: a struct whose fields are public, its `Default` and its [`Settings`].
///
/// Each field has a line of documentation, which is also its line in help texts; a type that is a [`SettingValue`]; a default; and a
/// [`Range`] where the type leaves one open.
#[macro_export]
macro_rules! settings {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $( #[doc = $meaning:literal] $(#[doc = $more:literal])* $key:ident: $type:ty = $default:expr $(, $range:expr)?; )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        $visibility struct $name {
            $(
                #[doc = $meaning] $(#[doc = $more])*
                #[doc = ""]
                #[doc = concat!("Default: `", stringify!($default), "`.")]
                pub $key: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($key: $default,)* }
            }
        }

        impl $crate::settings::Settings for $name {
            const DECLARED: &'static [$crate::settings::SettingDoc] = &[$(
                $crate::settings::SettingDoc {
                    key: stringify!($key),
                    range: $crate::settings!(@range $type $(, $range)?),
                    meaning: $meaning.trim_ascii(),
                },
            )*];

            fn values(&self) -> Vec<$crate::settings::Value> {
                vec![$($crate::settings::SettingValue::to_value(&self.$key),)*]
            }

            fn set(&mut self, key: &str, value: &$crate::settings::Value) -> $crate::Result<()> {
                match key {
                    $(stringify!($key) => $crate::settings::SettingValue::put(&mut self.$key, key, value),)*
                    _ => Err($crate::settings::unknown(key, Self::DECLARED)),
                }
            }
        }
    };
    (@range $type:ty) => { <$type as $crate::settings::SettingValue>::RANGE };
    (@range $type:ty, $range:expr) => { $range };
}
