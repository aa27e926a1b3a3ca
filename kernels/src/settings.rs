//! Settings of algorithms, each declared once.
//!
//! A declaration by [`settings!`](crate::settings!) gives a field with its type and default, the range that values are
//! checked against, and the line that help texts, the npm package's types and this documentation show. Files, command
//! lines and snapshots hold settings as tables.
//!
//! ```
//! use quickstudy_core::optim::TrustRegion;
//! use quickstudy_core::settings::{Range, Settings};
//!
//! quickstudy_core::settings! {
//!     /// Settings of an example.
//!     pub struct Example {
//!         /// step size
//!         learning_rate: f64 = 1e-3, Range::Positive;
//!         /// widths of the hidden layers
//!         hidden: Vec<usize> = vec![64, 64];
//!         /// The trust region, which other algorithms have too.
//!         ..trust_region: TrustRegion = TrustRegion { damping: 0.1, ..TrustRegion::default() };
//!     }
//! }
//!
//! let asked = toml::from_str("learning_rate = 0.5\nmax_kl = 0.02").unwrap();
//! let example = Example::default().with(&asked)?;
//! assert_eq!((example.learning_rate, example.hidden), (0.5, vec![64, 64]));
//! assert_eq!((example.trust_region.max_kl, example.trust_region.damping), (0.02, 0.1));
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

    /// Adds the values, in the same order.
    fn add_values(&self, values: &mut Vec<Value>);

    /// Changes one value, whose type is checked; none if the key is unknown.
    fn put(&mut self, key: &str, value: &Value) -> Option<Result<()>>;

    /// Tells whether there is such a setting.
    fn declares(key: &str) -> bool {
        Self::DECLARED.iter().any(|doc| doc.key == key)
    }

    /// The values, in the order of the declarations.
    fn values(&self) -> Vec<Value> {
        let mut values = Vec::with_capacity(Self::DECLARED.len());
        self.add_values(&mut values);
        values
    }

    /// Changes one value, whose type is checked.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an unknown key, with the closest one; [`Error::Config`] for a value of another type.
    fn set(&mut self, key: &str, value: &Value) -> Result<()> {
        self.put(key, value).unwrap_or_else(|| Err(unknown(key, Self::DECLARED)))
    }

    /// Keys and values.
    fn table(&self) -> Table {
        tabulated(Self::DECLARED, self.values())
    }

    /// The settings with the values of a table put in, all of them checked.
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

/// Keys and values as a table; not in the trait, so that it is compiled once and not for all settings.
fn tabulated(declared: &[SettingDoc], values: Vec<Value>) -> Table {
    declared.iter().map(|doc| doc.key.to_owned()).zip(values).collect()
}

fn check(declared: &[SettingDoc], values: &[Value]) -> Result<()> {
    declared.iter().zip(values).try_for_each(|(doc, value)| doc.range.check(doc.key, value))
}

fn unknown(key: &str, declared: &[SettingDoc]) -> Error {
    Error::unknown("key", key, declared.iter().map(|doc| doc.key))
}

/// The number of settings in all parts of a declaration.
#[doc(hidden)]
pub const fn total(parts: &[&[SettingDoc]]) -> usize {
    match parts {
        [] => 0,
        [first, rest @ ..] => first.len() + total(rest),
    }
}

/// The settings in all parts of a declaration, in order; there are `N`, and at least one.
#[doc(hidden)]
pub const fn joined<const N: usize>(mut parts: &[&[SettingDoc]]) -> [SettingDoc; N] {
    let mut all = [parts[0][0]; N];
    let mut at = 0;
    while let [first, rest @ ..] = parts {
        let (_, free) = all.split_at_mut(at);
        free.split_at_mut(first.len()).0.copy_from_slice(first);
        at += first.len();
        parts = rest;
    }
    all
}

/// Declares the settings of an algorithm: a struct whose fields are public, its `Default` and its [`Settings`].
///
/// Each field has a line of documentation, which is also its line in help texts; a type that is a [`SettingValue`]; a
/// default; and a [`Range`] where the type leaves one open.
///
/// A field that begins with `..` is a group: settings that another use of this macro declared, for all who share them.
/// Its keys stand beside the others, in its place; it may have defaults of its own.
#[macro_export]
macro_rules! settings {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $(
                #[doc = $meaning:literal] $(#[doc = $more:literal])*
                $($key:ident)? $(..$group:ident)?: $type:ty $(= $default:expr $(, $range:expr)?)?;
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        $visibility struct $name {
            $(
                #[doc = $meaning] $(#[doc = $more])*
                $(#[doc = ""] #[doc = concat!("Default: `", stringify!($default), "`.")])?
                pub $($key)? $($group)?: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($($key)? $($group)?: $crate::settings!(@or <$type>::default() $(, $default)?),)* }
            }
        }

        impl $crate::settings::Settings for $name {
            const DECLARED: &'static [$crate::settings::SettingDoc] = {
                const PARTS: &[&[$crate::settings::SettingDoc]] =
                    &[$($crate::settings!(@part [$($key)?] $meaning, $type $($(, $range)?)?),)*];
                &$crate::settings::joined::<{ $crate::settings::total(PARTS) }>(PARTS)
            };

            fn add_values(&self, values: &mut Vec<$crate::settings::Value>) {
                $(
                    $(values.push($crate::settings::SettingValue::to_value(&self.$key));)?
                    $($crate::settings::Settings::add_values(&self.$group, values);)?
                )*
            }

            fn put(&mut self, key: &str, value: &$crate::settings::Value) -> Option<$crate::Result<()>> {
                match key {
                    $($(stringify!($key) => Some($crate::settings::SettingValue::put(&mut self.$key, key, value)),)?)*
                    _ => None$($(.or_else(|| $crate::settings::Settings::put(&mut self.$group, key, value)))?)*,
                }
            }
        }
    };
    (@part [] $meaning:literal, $group:ty) => { <$group as $crate::settings::Settings>::DECLARED };
    (@part [$key:ident] $meaning:literal, $type:ty $(, $range:expr)?) => {
        &[$crate::settings::SettingDoc {
            key: stringify!($key),
            range: $crate::settings!(@or <$type as $crate::settings::SettingValue>::RANGE $(, $range)?),
            meaning: $meaning.trim_ascii(),
        }]
    };
    (@or $otherwise:expr) => { $otherwise };
    (@or $otherwise:expr, $given:expr) => { $given };
}
