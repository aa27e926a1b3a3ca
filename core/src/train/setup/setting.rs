//! Settings with their origins.

use toml::{Table, Value};

/// A resolved setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The key.
    pub key: String,
    /// The value.
    pub value: Value,
    /// The origin: `default`, `preset …`, or the origin of the layer; behind the first two `, suited to the others`, if
    /// the value was changed.
    pub origin: String,
}

/// Keys and values of settings.
pub(super) fn table(settings: &[Setting]) -> Table {
    settings.iter().map(|setting| (setting.key.clone(), setting.value.clone())).collect()
}
