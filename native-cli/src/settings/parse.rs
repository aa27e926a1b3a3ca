//! Parsers of argument values: counts, seeds and settings.

use crate::settings::register;
use crate::settings::run_settings::RunSettings;
use quickstudy_core::settings::Range;
use quickstudy_core::train::MAX_EPISODES;
use toml::{Table, Value};

/// A count: `100000`, `100_000`, `100k`, `1.5M`, `1e5`.
pub fn count(text: &str) -> Result<u64, String> {
    let wrong = || format!("expected a count such as 100000, 100_000, 100k, 1.5M or 1e5, got `{text}`");
    let plain = text.replace('_', "");
    let (digits, unit) = match plain.chars().last() {
        Some('k' | 'K') => (&plain[..plain.len() - 1], 1e3),
        Some('m' | 'M') => (&plain[..plain.len() - 1], 1e6),
        Some('b' | 'B' | 'g' | 'G') => (&plain[..plain.len() - 1], 1e9),
        _ => (&plain[..], 1.0),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Err(wrong());
    }
    let value = digits.parse::<f64>().map_err(|_| wrong())? * unit;
    // 10^15 is below 2^53: every whole number up to it is exact in f64.
    if value > 1e15 {
        return Err(format!("{text} is more than 1e15, up to which all counts are exact; expected one such as 100k"));
    }
    if value.fract() == 0.0 && value < 1.0 {
        return Err(format!("expected a count of at least 1, such as 100k, got `{text}`"));
    }
    if !(1.0..=1e15).contains(&value) || value.fract() != 0.0 {
        return Err(wrong());
    }
    Ok(value as u64)
}

/// A count, or `0`.
pub(crate) fn count_or_zero(text: &str) -> Result<u64, String> {
    if text == "0" { Ok(0) } else { count(text) }
}

/// Episodes of one evaluation: a count of at most [`MAX_EPISODES`].
pub(crate) fn episodes(text: &str) -> Result<u64, String> {
    let asked = count(text)?;
    if asked > MAX_EPISODES as u64 {
        return Err(format!("one evaluation has at most {MAX_EPISODES} episodes, not {asked}"));
    }
    Ok(asked)
}

/// One seed: `3`.
pub(crate) fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number of at least 0, got `{text}`"))
}

/// Most seeds of one command: each is one run folder.
const MAX_SEEDS: u64 = 4096;

/// Seeds: `3`, `0..10` (ten of them, 0 to 9), `0..=9`, or a list `1,5,7`.
pub fn seeds(text: &str) -> Result<Vec<u64>, String> {
    let wrong = || format!("expected a seed such as 3, a range such as 0..10, or a list such as 1,5,7; got `{text}`");
    let one = |part: &str| part.trim().parse::<u64>().map_err(|_| wrong());
    let mut all = Vec::new();
    for part in text.split(',') {
        let (from, to) = match part.split_once("..") {
            None => {
                let seed = one(part)?;
                (seed, seed.checked_add(1).ok_or_else(|| format!("a seed is at most {}, got {seed}", i64::MAX))?)
            }
            Some((from, to)) => match to.strip_prefix('=') {
                Some(to) => (one(from)?, one(to)?.checked_add(1).ok_or_else(wrong)?),
                None => (one(from)?, one(to)?),
            },
        };
        if to <= from {
            return Err(format!("the range `{part}` is empty: its end is not included"));
        }
        let asked = (to - from).saturating_add(all.len() as u64);
        if asked > MAX_SEEDS {
            return Err(format!("at most {MAX_SEEDS} seeds in one command, got {asked}"));
        }
        all.extend(from..to);
    }
    let mut sorted = all.clone();
    sorted.sort_unstable();
    sorted.dedup();
    if sorted.len() != all.len() {
        return Err(format!("`{text}` names a seed twice"));
    }
    // TOML integers, and so the resolved configuration, end at 2^63 - 1.
    if let Some(seed) = all.iter().find(|seed| i64::try_from(**seed).is_err()) {
        return Err(format!("a seed is at most {}, got {seed}", i64::MAX));
    }
    Ok(all)
}

/// A setting `key=value`; the value is TOML (`0.9`, `true`, `[64, 64]`, `"text"`), a bare word is text.
pub fn setting(text: &str) -> Result<(String, Value), String> {
    let (key, value) =
        text.split_once('=').ok_or_else(|| format!("expected key=value such as gamma=0.9, got `{text}`"))?;
    let (key, value) = (key.trim(), value.trim());
    if key.is_empty() || !key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("expected key=value such as gamma=0.9, got the key `{key}`"));
    }
    if value.is_empty() {
        return Err(format!("{key} has no value; write for example {key}=0.9"));
    }
    let parsed = toml::from_str::<Table>(&format!("v = {value}"))
        .ok()
        .filter(|table| table.len() == 1)
        .and_then(|mut table| table.remove("v"));
    if let Some(parsed) = parsed {
        return Ok((key.to_owned(), parsed));
    }
    if value.chars().all(|c| c.is_ascii_alphanumeric() || "_-.+/".contains(c)) {
        return Ok((key.to_owned(), Value::String(value.to_owned())));
    }
    if let Some(one) = one_value(key).filter(|_| value.contains(',')) {
        return one
            .map(|()| (key.to_owned(), Value::String(value.to_owned())))
            .map_err(|problem| format!("{problem}, got `{value}`"));
    }
    if let Some(begun) = value.strip_prefix('[').filter(|begun| !begun.contains(']')) {
        // The shell has cut it at a blank.
        let begun = begun.trim_end_matches(',');
        return Err(format!("the list of {key} has no end; write it without blanks, such as {key}=[{begun},{begun}]"));
    }
    if value.contains(',') && !value.contains(['[', ']', '"', '=', '\n']) {
        let bare = value.trim_matches(['(', ')', '{', '}']);
        let list: Vec<&str> = bare.split(',').map(str::trim).filter(|item| !item.is_empty()).collect();
        return Err(format!("a list stands in brackets; did you mean `{key}=[{}]`?", list.join(",")));
    }
    Err(format!("the value of {key} is no TOML value: `{value}`"))
}

/// For keys that take no list: whether a text may stand for their value all the same, or what to do instead.
fn one_value(key: &str) -> Option<Result<(), String>> {
    match (key, register::setting(key)) {
        // Seeds are a list of their own kind, and of a key that nobody knows the others are named later.
        ("seed", _) => Some(Ok(())),
        (_, None) if !RunSettings::KEYS.contains(&key) => Some(Ok(())),
        ("from", _) => Some(Err("name the runs with --from, a blank between them".to_owned())),
        (_, Some(doc)) if takes_lists(&doc.range) => None,
        _ => Some(Err(format!("{key} takes one value; train once with each"))),
    }
}

/// Tells whether values of a setting are lists.
pub(crate) fn takes_lists(range: &Range) -> bool {
    match range {
        Range::Widths => true,
        Range::Shown(range, _) => takes_lists(range),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_in_every_spelling() {
        for (text, value) in [
            ("1", 1),
            ("100000", 100_000),
            ("100_000", 100_000),
            ("100k", 100_000),
            ("1.5M", 1_500_000),
            ("1e5", 100_000),
            ("0.5k", 500),
            ("2G", 2_000_000_000),
        ] {
            assert_eq!(count(text), Ok(value), "{text}");
        }
        for text in ["", "0", "-5", "1.5", "many", "k", "inf", "nan", "1e99", "+3", "10 k", "1e-3"] {
            let error = count(text).unwrap_err();
            assert!(error.contains("100k"), "{text}: {error}");
        }
    }

    #[test]
    fn an_evaluation_has_a_largest_number_of_episodes() {
        assert_eq!(episodes("1048576"), Ok(1 << 20));
        assert!(episodes("2000000").unwrap_err().contains("at most 1048576"));
        assert!(episodes("0").is_err());
    }

    #[test]
    fn seeds_ranges_and_lists() {
        assert_eq!(seeds("3"), Ok(vec![3]));
        assert_eq!(seeds("0..3"), Ok(vec![0, 1, 2]));
        assert_eq!(seeds("0..=3"), Ok(vec![0, 1, 2, 3]));
        assert_eq!(seeds("7,1..3"), Ok(vec![7, 1, 2]));
        for text in [
            "",
            "x",
            "3..3",
            "5..2",
            "1,1",
            "0..",
            "..4",
            "-1",
            "0..100000",
            "18446744073709551615",
            "0..=18446744073709551615",
        ] {
            assert!(seeds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn settings_are_toml_values() {
        let value = |text| setting(text).map(|(_, value)| value);
        assert_eq!(setting("gamma=0.9").unwrap().0, "gamma");
        assert_eq!(value("gamma = 0.9"), Ok(Value::Float(0.9)));
        assert_eq!(value("horizon=128"), Ok(Value::Integer(128)));
        assert_eq!(value("norm=true"), Ok(Value::Boolean(true)));
        assert_eq!(value("act=tanh"), Ok(Value::String("tanh".into())));
        assert_eq!(value("h=[64, 64]"), Ok(Value::Array(vec![64.into(), 64.into()])));
        for text in ["gamma", "=3", "gamma=", "a.b=3", "g=1\nx=2", "hidden=[64,", "a b=1"] {
            assert!(setting(text).is_err(), "{text}");
        }
        let said = |text: &str| setting(text).unwrap_err();
        for list in ["64,64", "(64,64)", "(64, 64,)"] {
            let said = said(&format!("hidden={list}"));
            assert_eq!(said, "a list stands in brackets; did you mean `hidden=[64,64]`?", "{list}");
        }
        assert!(said("hidden=64, 32").contains("`hidden=[64,32]`"));
        assert!(said("hidden=[64,").ends_with("such as hidden=[64,64]"), "{}", said("hidden=[64,"));
        // What takes no list is not advised one.
        for list in ["0.9,0.98", "(0.9,0.98)", "[0.9,"] {
            let said = said(&format!("gamma={list}"));
            assert_eq!(said, format!("gamma takes one value; train once with each, got `{list}`"));
        }
        assert!(said("env=cartpole,pendulum").starts_with("env takes one value"));
        assert!(said("from=a,b").starts_with("name the runs with --from"));
        assert_eq!(value("seed=0,1"), Ok(Value::String("0,1".into())));
        assert_eq!(value("gama=0.9,0.98"), Ok(Value::String("0.9,0.98".into())));
    }
}
