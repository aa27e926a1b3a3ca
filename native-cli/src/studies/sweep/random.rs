//! Random draws of settings (Bergstra and Bengio 2012, "Random search for hyper-parameter optimization").

use crate::statistics::Draws;
use toml::{Table, Value};

/// Most trials of a sweep: each is resolved, and has a folder and a row in a table.
pub(crate) const MOST_TRIALS: usize = 10_000;

/// Values from which a setting is drawn.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum DrawRange {
    /// Real numbers, uniform, or uniform in their logarithm.
    Real {
        /// The least one.
        low: f64,
        /// The largest one.
        high: f64,
        /// Uniform in the logarithm.
        log: bool,
    },
    /// Whole numbers, both ends included.
    Whole {
        /// The least one.
        low: i64,
        /// The largest one.
        high: i64,
        /// Uniform in the logarithm.
        log: bool,
    },
    /// One of these values.
    OneOf(Vec<Value>),
}

/// Draws of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RandomSearch {
    /// The number of draws.
    pub trials: usize,
    /// The seed of the draws. The first of more draws are the same ones.
    pub seed: u64,
    /// Settings with their ranges.
    pub ranges: Vec<(String, DrawRange)>,
}

impl RandomSearch {
    /// Reads the table `[random]`.
    pub(crate) fn read(mut table: Table) -> Result<Self, String> {
        let trials = match table.remove("trials") {
            Some(Value::Integer(trials)) if (1..=MOST_TRIALS as i64).contains(&trials) => trials as usize,
            Some(other) => {
                return Err(format!("[random] trials: expected a whole number from 1 to {MOST_TRIALS}, got {other}"));
            }
            None => return Err("[random] has no trials: the number of draws".to_owned()),
        };
        let seed = match table.remove("seed") {
            None => 0,
            Some(Value::Integer(seed)) if seed >= 0 => seed as u64,
            Some(other) => return Err(format!("[random] seed: expected a whole number of at least 0, got {other}")),
        };
        let mut ranges: Vec<(String, DrawRange)> = table
            .into_iter()
            .map(|(key, value)| {
                let range = DrawRange::read(value).map_err(|problem| format!("[random] {key}: {problem}"))?;
                Ok((key, range))
            })
            .collect::<Result<_, String>>()?;
        if ranges.is_empty() {
            return Err("[random] has no settings to draw".to_owned());
        }
        // Draws must not depend on the order in a file.
        ranges.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(Self { trials, seed, ranges })
    }

    /// The settings of each draw.
    pub(crate) fn draws(&self) -> Vec<Vec<(String, Value)>> {
        let mut draws = Draws::seeded(self.seed);
        let mut one = || self.ranges.iter().map(|(key, range)| (key.clone(), range.draw(&mut draws))).collect();
        (0..self.trials).map(|_| one()).collect()
    }
}

impl DrawRange {
    fn read(value: Value) -> Result<Self, String> {
        const EXPECTED: &str = "expected a list of values, or { low = …, high = … } and perhaps scale = \"log\"";
        let mut table = match value {
            Value::Array(values) if values.is_empty() => return Err("the list of values is empty".to_owned()),
            Value::Array(values) => return Ok(Self::OneOf(values)),
            Value::Table(table) => table,
            other => return Err(format!("{EXPECTED}; got {other}")),
        };
        let log = match table.remove("scale").as_ref().map(Value::as_str) {
            None | Some(Some("linear")) => false,
            Some(Some("log")) => true,
            Some(_) => return Err("scale: expected \"linear\" or \"log\"".to_owned()),
        };
        let (Some(low), Some(high)) = (table.remove("low"), table.remove("high")) else {
            return Err(EXPECTED.to_owned());
        };
        if let Some(key) = table.keys().next() {
            return Err(format!("unknown key `{key}` of a range; there are low, high and scale"));
        }
        let number = |value: &Value| {
            let number = value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
            number.filter(|x| x.is_finite()).ok_or_else(|| format!("expected a number, got {value}"))
        };
        let (from, to) = (number(&low)?, number(&high)?);
        if from >= to {
            return Err(format!("the range is the wrong way round: low = {low} is not below high = {high}"));
        }
        if log && from <= 0.0 {
            return Err(format!("low = {low}: a range with scale = \"log\" begins above 0"));
        }
        Ok(match (&low, &high) {
            (Value::Integer(low), Value::Integer(high)) => Self::Whole { low: *low, high: *high, log },
            _ => Self::Real { low: from, high: to, log },
        })
    }

    /// A value. Real numbers have four digits, which is more than they matter.
    fn draw(&self, draws: &mut Draws) -> Value {
        let at = |low: f64, high: f64, log: bool, unit: f64| match log {
            true => (low.ln() + (high.ln() - low.ln()) * unit).exp(),
            false => low + (high - low) * unit,
        };
        match self {
            Self::Real { low, high, log } => {
                let value = at(*low, *high, *log, draws.unit());
                let rounded = format!("{value:.3e}").parse().unwrap_or(value);
                Value::Float(rounded.clamp(*low, *high))
            }
            // Each whole number has the same share of the line, or of its logarithm.
            Self::Whole { low, high, log: false } => {
                let count = usize::try_from(high - low + 1).unwrap_or(usize::MAX);
                Value::Integer(low + draws.below(count) as i64)
            }
            Self::Whole { low, high, log: true } => {
                let value = at(*low as f64 - 0.5, *high as f64 + 0.5, true, draws.unit());
                Value::Integer((value.round() as i64).clamp(*low, *high))
            }
            Self::OneOf(values) => values[draws.below(values.len())].clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(text: &str) -> Result<RandomSearch, String> {
        RandomSearch::read(toml::from_str(text).unwrap())
    }

    #[test]
    fn draws_fill_their_ranges_and_more_of_them_begin_as_fewer() {
        let text = "trials = 400\nseed = 3\na = { low = 1e-4, high = 1.0, scale = \"log\" }\n\
                    b = { low = -2.0, high = 2.0 }\nc = { low = 1, high = 4 }\nd = [\"x\", \"y\"]\n\
                    e = { low = 1, high = 64, scale = \"log\" }";
        let all = search(text).unwrap().draws();
        let column = |i: usize| all.iter().map(|trial| trial[i].1.clone()).collect::<Vec<_>>();
        let floats = |i: usize| column(i).iter().map(|value| value.as_float().unwrap()).collect::<Vec<_>>();
        let share = |values: &[f64], below: f64| values.iter().filter(|x| **x < below).count() as f64 / 400.0;
        let (a, b) = (floats(0), floats(1));
        assert!(a.iter().all(|x| (1e-4..=1.0).contains(x)) && b.iter().all(|x| (-2.0..=2.0).contains(x)));
        // Half of the draws lie below the middle, on each one's scale: 0.5 ± 4 standard errors.
        assert!(
            (share(&a, 1e-2) - 0.5).abs() < 0.1 && (share(&b, 0.0) - 0.5).abs() < 0.1,
            "{} {}",
            share(&a, 1e-2),
            share(&b, 0.0)
        );
        for c in 1..=4 {
            let count = column(2).iter().filter(|value| value.as_integer() == Some(c)).count();
            assert!((60..140).contains(&count), "{c}: {count}");
        }
        let e: Vec<f64> = column(4).iter().map(|value| value.as_integer().unwrap() as f64).collect();
        assert!(e.iter().all(|x| (1.0..=64.0).contains(x)) && (share(&e, 6.0) - 0.5).abs() < 0.1);
        assert_eq!(search(&text.replace("400", "7")).unwrap().draws(), all[..7]);
        assert_ne!(search(&text.replace("seed = 3", "seed = 4")).unwrap().draws()[0], all[0]);
    }

    #[test]
    fn ranges_with_mistakes_are_refused() {
        let problem = |range: &str| search(&format!("trials = 1\na = {range}")).unwrap_err();
        assert!(problem("{ low = 2, high = 1 }").contains("a: the range is the wrong way round: low = 2"));
        assert!(problem("{ low = 1.0, high = 1.0 }").contains("wrong way round"));
        assert!(problem("{ low = 0.0, high = 1.0, scale = \"log\" }").contains("begins above 0"));
        assert!(problem("{ low = 0.0, high = 1.0, scale = \"ln\" }").contains("scale: expected"));
        assert!(problem("{ low = 0.0, hihg = 1.0 }").contains("expected a list of values, or { low"));
        assert!(problem("{ low = 0.0, high = 1.0, step = 2 }").contains("unknown key `step`"));
        assert!(problem("{ low = 0.0, high = inf }").contains("expected a number, got inf"));
        assert!(problem("3").contains("expected a list of values"));
        assert!(problem("[]").contains("the list of values is empty"));
        assert!(search("a = [1]").unwrap_err().contains("has no trials"));
        assert!(search("trials = 0\na = [1]").unwrap_err().contains("trials: expected a whole number from 1"));
        assert!(search("trials = 3").unwrap_err().contains("no settings to draw"));
    }
}
