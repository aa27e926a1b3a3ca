//! Settings with which a training takes less memory.

use crate::outcome::Stop;
use quickstudy_core::backend::Device;
use quickstudy_core::train::{Layer, Session, Setup};
use quickstudy_core::{Error, in_bytes};
use toml::{Table, Value};

/// The error, and if memory is short, settings that would do.
pub(crate) fn with_smaller(error: Error, device: &Device, setup: &Setup) -> Stop {
    let limit = match &error {
        Error::Memory(shortage) => shortage.limit,
        _ => None,
    };
    let smaller = limit.map(|limit| smaller(device, setup, limit)).unwrap_or_default();
    let stop = Stop::from(error);
    match smaller.as_slice() {
        [] => stop,
        some => stop.hint(format!("one of these would do: {}; or allow more with --memory", some.join(", "))),
    }
}

/// Values of single settings with which training would fit into `limit` bytes, found by trying:
/// `--set episodes=512 (8.1 GB)`.
fn smaller(device: &Device, setup: &Setup, limit: u64) -> Vec<String> {
    let Ok(needed) = Session::memory(device, setup) else { return Vec::new() };
    // As if what is needed were proportional; where it is not, less is tried.
    let first = (needed / limit.max(1)).max(1).ilog2();
    let fits = |key: &&str| {
        let value = &setup.settings.iter().find(|setting| setting.key == **key)?.value;
        // A horizon of 0 stands for the time limit.
        let limit_of_time = Value::Integer(setup.env.spec().horizon as i64);
        let value = if *value == Value::Integer(0) { &limit_of_time } else { value };
        (first..first + 4).find_map(|halvings| {
            let value = halved(value, halvings)?;
            let mut settings: Table = setup.settings.iter().map(|s| (s.key.clone(), s.value.clone())).collect();
            settings.insert((*key).to_owned(), value.clone());
            let layer = Layer { origin: "--set".to_owned(), settings };
            let seeds = &setup.seeds;
            let setup = Setup::resolve(setup.algorithm, setup.env.clone(), seeds, setup.length(), &[layer]).ok()?;
            let bytes = Session::memory(device, &setup).ok().filter(|bytes| *bytes <= limit)?;
            let value = value.to_string().replace(' ', "");
            Some(format!("--set {key}={value} ({})", in_bytes(bytes)))
        })
    };
    setup.memory_settings().iter().filter_map(fits).collect()
}

/// A number, or each of a list, divided by a power of two; nothing where that is 0 or more than before.
fn halved(value: &Value, halvings: u32) -> Option<Value> {
    let half = |n: i64| n.checked_shr(halvings.max(1)).filter(|n| *n > 0);
    match value {
        Value::Integer(n) => half(*n).map(Value::Integer),
        Value::Array(all) => {
            let all = all.iter().map(|n| n.as_integer().and_then(half).map(Value::Integer));
            all.collect::<Option<Vec<_>>>().filter(|all| !all.is_empty()).map(Value::Array)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_halved_down_to_one() {
        assert_eq!(halved(&Value::Integer(9), 1), Some(Value::Integer(4)));
        assert_eq!(halved(&Value::Integer(9), 0), Some(Value::Integer(4)));
        assert_eq!(halved(&Value::Integer(1), 1), None);
        assert_eq!(halved(&Value::Integer(9), 70), None);
        assert_eq!(halved(&vec![8, 4].into(), 2), Some(vec![2, 1].into()));
        assert_eq!(halved(&vec![8, 2].into(), 2), None);
    }
}
