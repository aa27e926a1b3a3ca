//! The numbers that entries of the state may hold: snapshots are checked by them, before they are written and when they
//! are read.

use std::fmt;
use std::ops::Range;

/// The range of the numbers of an entry. All are finite, whatever it says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    /// The least one.
    pub least: f64,
    /// The largest one.
    pub most: f64,
    /// True if the numbers are counts, without fractions.
    pub whole: bool,
}

impl Numbers {
    /// Any numbers.
    pub const ANY: Numbers = Numbers { least: f64::NEG_INFINITY, most: f64::INFINITY, whole: false };
    /// Numbers of at least 0, such as variances.
    pub const NOT_NEGATIVE: Numbers = Numbers::at_least(0.0);
    /// Numbers from 0 to 1.
    pub const SHARE: Numbers = Numbers { least: 0.0, most: 1.0, whole: false };
    /// Counts without a bound of their own, up to 2⁵³, above which f64 does not hold all whole numbers.
    pub const COUNT: Numbers = Numbers::up_to(1 << 53);

    /// Numbers of at least `least`.
    #[must_use]
    pub const fn at_least(least: f64) -> Numbers {
        Numbers { least, ..Numbers::ANY }
    }

    /// Whole numbers from 0 to `most`.
    #[must_use]
    pub const fn up_to(most: u64) -> Numbers {
        Numbers { least: 0.0, most: most as f64, whole: true }
    }

    /// Tells whether a number is in the range.
    #[must_use]
    pub fn allow(self, number: f64) -> bool {
        (self.least..=self.most).contains(&number) && !(self.whole && number.fract() != 0.0)
    }
}

impl fmt::Display for Numbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Numbers { least, most, whole } = *self;
        f.write_str(if whole { "a whole number" } else { "a number" })?;
        match (least.is_finite(), most.is_finite()) {
            (true, true) => write!(f, " from {least} to {most}"),
            (true, false) => write!(f, " of at least {least}"),
            (false, true) => write!(f, " of at most {most}"),
            (false, false) => Ok(()),
        }
    }
}

/// How the numbers of an entry depend on other entries, which it names, or on the iterations made.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// The number of rows of a [ring](super::StateEntry::ring) that are filled: as many as steps were made, at most so
    /// many.
    Filled(usize),
    /// Rows that are filled, of rings that are `rows` long: until a ring is full, each number is that
    /// of `next`, the row that is written next.
    FilledUpTo {
        /// The entry of the rows that are written next.
        next: &'static str,
        /// Rows of a ring.
        rows: usize,
    },
    /// Numbers of rows, each from the one that `first` names on: all of them are filled.
    Stretch {
        /// The entry of first rows.
        first: &'static str,
        /// The entry that counts filled rows.
        filled: &'static str,
        /// Rows of a ring, behind the last of which is its first one.
        rows: usize,
    },
    /// The first rows, as many as this entry says, hold numbers above 0; all others are 0.
    AboveZeroIn(&'static str),
    /// Each is the sum of as many numbers of the entry `of`, in order; rounding aside.
    SumsOf {
        /// The entry of what is added up.
        of: &'static str,
        /// Numbers of one sum.
        each: usize,
    },
    /// None is less than any number of this entry.
    NotBelow(&'static str),
    /// At most the number of iterations made.
    UpToIterations,
    /// An optimiser's corrections of the moments of these parameters, which are places in θ: before its first step both
    /// corrections and moments are 0. A correction of the second moment may stay 0, and so does the moment. Where each
    /// of several particles has a pair of corrections, the places are those of one particle.
    Corrects(Vec<Range<usize>>),
}

/// The entries of first and second moments, of which [`Relation::Corrects`] speaks.
pub(crate) const MOMENTS: [&str; 2] = ["adam_m", "adam_v"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_allow_what_they_say() {
        for (numbers, good, bad, words) in [
            (Numbers::up_to(4), vec![0.0, 4.0], vec![-1.0, 0.5, 5.0], "a whole number from 0 to 4"),
            (Numbers::SHARE, vec![0.0, 0.5, 1.0], vec![-0.1, 1.1, f64::NAN], "a number from 0 to 1"),
            (Numbers::at_least(1.0), vec![1.0, 1e30], vec![0.9], "a number of at least 1"),
            (Numbers::ANY, vec![-1e30, 0.1], vec![f64::NAN], "a number"),
        ] {
            assert!(good.iter().all(|x| numbers.allow(*x)) && !bad.iter().any(|x| numbers.allow(*x)), "{numbers}");
            assert_eq!(numbers.to_string(), words);
        }
    }
}
