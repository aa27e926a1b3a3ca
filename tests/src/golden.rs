//! Golden files: inputs with the outputs of independent implementations.

use std::path::PathBuf;

use serde_json::Value;

/// Where a golden file is: in `$QUICKSTUDY_GOLDEN`, or in this package's `golden` folder.
#[must_use]
pub fn path(name: &str) -> PathBuf {
    let folder = std::env::var_os("QUICKSTUDY_GOLDEN")
        .filter(|folder| !folder.is_empty())
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden"), PathBuf::from);
    folder.join(name)
}

/// The parsed content of a golden file, `name` with its extension.
///
/// # Panics
/// If it cannot be read or is not JSON: a missing file must fail a test, never skip it.
#[must_use]
#[allow(clippy::panic, reason = "called by tests only")]
pub fn load(name: &str) -> Value {
    let path = path(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A number; golden files write non-finite ones as strings and truth values may stand for 0 and 1.
///
/// # Panics
/// If it is none of these.
#[must_use]
#[allow(clippy::panic, reason = "called by tests only")]
pub fn number(value: &Value) -> f64 {
    match value {
        Value::Number(n) => n.as_f64().unwrap_or(f64::NAN),
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::String(s) if s == "NaN" => f64::NAN,
        Value::String(s) if s == "Infinity" => f64::INFINITY,
        Value::String(s) if s == "-Infinity" => f64::NEG_INFINITY,
        other => panic!("not a number: {other}"),
    }
}

/// All numbers of a possibly nested list, in row-major order. A single number is a list of one.
#[must_use]
pub fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        single => vec![number(single)],
    }
}

/// The items of a list.
///
/// # Panics
/// If it is no list, or an empty one: a test that loops over no cases would check nothing.
#[must_use]
#[allow(clippy::panic, reason = "called by tests only")]
pub fn items(value: &Value) -> &[Value] {
    match value.as_array() {
        Some(items) if !items.is_empty() => items,
        _ => panic!("not a list with items: {value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_lists_and_non_finite_numbers_are_read() {
        let value = serde_json::json!([[1, 2.5], ["NaN", "-Infinity"], true]);
        let read = numbers(&value);
        assert_eq!(read[..2], [1.0, 2.5]);
        assert!(read[2].is_nan());
        assert_eq!(read[3..], [f64::NEG_INFINITY, 1.0]);
    }
}
