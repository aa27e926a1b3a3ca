//! Ranges and relations of the numbers in entries of the state. Snapshots are checked by them when they are written and
//! when they are read.

use std::fmt;
use std::ops::Range;

/// A range of the numbers of an entry, all of which are finite in any case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    /// The least number.
    pub least: f64,
    /// The largest number.
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

/// A relation of the numbers of an entry to other entries, which it names, or to the iterations made.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// The number of filled rows of a [ring](super::StateEntry::ring) of this number of rows: one per step made, until
    /// the ring is full.
    Filled(usize),
    /// Numbers of filled rows of rings. Until a ring is full, each equals `next`, the row that is written next.
    FilledUpTo {
        /// The entry of the rows that are written next.
        next: &'static str,
        /// The number of rows of a ring.
        rows: usize,
    },
    /// Lengths of stretches of filled rows, each of which begins at the row that `first` names.
    Stretch {
        /// The entry of the stretches' first rows.
        first: &'static str,
        /// The entry of the numbers of filled rows.
        filled: &'static str,
        /// The number of rows of a ring, whose first row follows the last.
        rows: usize,
    },
    /// Numbers above 0 in the first rows, whose number this entry holds, and 0 in all others.
    AboveZeroIn(&'static str),
    /// Sums, each of `each` numbers of the entry `of`, in order, up to rounding.
    SumsOf {
        /// The entry of the numbers that are added up.
        of: &'static str,
        /// The count of numbers in one sum.
        each: usize,
    },
    /// Numbers that are at least as large as each number of this entry.
    NotBelow(&'static str),
    /// A number that is at most the number of iterations made.
    UpToIterations,
    /// An optimiser's corrections of the moments of the parameters at these places in θ. Before the first step both
    /// corrections and moments are 0; a correction of the second moment may stay 0, and so does the moment. Where each
    /// of several particles has a pair of corrections, the places are those of one particle.
    Corrects(Vec<Range<usize>>),
}

/// The entries of first and second moments, for [`Relation::Corrects`].
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
