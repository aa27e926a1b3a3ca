//! Which snapshots a run keeps: `--keep-snapshots`.

use crate::settings::parse;
use std::fmt;
use toml::Value;

/// The snapshots that a run folder keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// The last one and the best policy.
    #[default]
    Last,
    /// These, and a snapshot of each iteration.
    All,
    /// These, and one each time that so many environment steps are passed.
    Every(u64),
    /// None.
    None,
}

impl Keep {
    /// Reads `last`, `all`, `none` or a number of environment steps.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "last" => Ok(Self::Last),
            "all" => Ok(Self::All),
            "none" => Ok(Self::None),
            _ => parse::count(text).map(Self::Every).map_err(|_| {
                format!(
                    "expected last, all, none, or environment steps between those to keep, such as 100k; got `{text}`"
                )
            }),
        }
    }

    /// As configurations have it: a word, or a number.
    pub fn value(self) -> Value {
        match self {
            Self::Every(steps) => Value::Integer(i64::try_from(steps).unwrap_or(i64::MAX)),
            word => Value::String(word.to_string()),
        }
    }

    /// Tells whether the snapshot after an iteration that led from `before` to `now` environment steps stays.
    pub fn stays(self, before: u64, now: u64) -> bool {
        match self {
            Self::Last | Self::None => false,
            Self::All => true,
            Self::Every(steps) => before / steps != now / steps,
        }
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Last => f.write_str("last"),
            Self::All => f.write_str("all"),
            Self::None => f.write_str("none"),
            Self::Every(steps) => write!(f, "{steps}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_steps_are_read_and_written_alike() {
        for (text, keep) in
            [("last", Keep::Last), ("all", Keep::All), ("none", Keep::None), ("2500", Keep::Every(2500))]
        {
            assert_eq!((Keep::parse(text), keep.to_string().as_str()), (Ok(keep), text));
        }
        assert_eq!(Keep::parse("10k"), Ok(Keep::Every(10_000)));
        for text in ["", "0", "-1", "Last", "1.5", "every"] {
            assert!(Keep::parse(text).unwrap_err().contains("last, all, none"), "{text}");
        }
    }

    #[test]
    fn a_snapshot_stays_where_a_multiple_is_passed() {
        let stays = |keep: Keep| (1..=6_u64).map(|i| keep.stays(300 * (i - 1), 300 * i)).collect::<Vec<_>>();
        assert_eq!(stays(Keep::Every(700)), [false, false, true, false, true, false]);
        assert_eq!(
            (stays(Keep::All), stays(Keep::Last), stays(Keep::None)),
            (vec![true; 6], vec![false; 6], vec![false; 6])
        );
    }
}
