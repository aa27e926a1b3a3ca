//! Rules for the numbers of a snapshot, by the [ranges](crate::algo::Numbers) and the
//! [relations](crate::algo::Relation) of its entries. A snapshot that breaks one is neither read nor written.

use super::seed_array::{SeedArray, name, parts};
use super::wrong::wrong;
use crate::algo::{MOMENTS, Numbers, Relation};
use crate::nn::Layout;
use crate::{DType, Error, Result};

/// The length of a snapshot's run so far.
#[derive(Clone, Copy, Debug)]
pub(in crate::train) struct RunLength {
    /// The number of iterations made.
    pub iteration: u64,
    /// The number of environment steps made, each of which added a row to each replay buffer.
    pub made: u64,
}

/// The share by which a sum of f32 may differ from one of f64, and the results of two kernels from each other.
const ROUNDING: f64 = 1e-5;

/// The place of a number that breaks a rule, and the rule in words.
type Broken = (usize, String);

/// Checks the arrays of one seed, which come from files of format `format`. Relations to arrays that are missing, as in
/// files of policies, are left out.
pub(in crate::train) fn check(arrays: &[SeedArray<'_>], layout: &Layout, format: u32, made: RunLength) -> Result<()> {
    let alone = arrays.iter().find_map(|array| Some((array, out_of_range(array)?)));
    let related = || {
        let all = arrays.iter().flat_map(|array| array.entry.relations.iter().map(move |relation| (array, relation)));
        all.into_iter().find_map(|(array, relation)| Some((array, broken(array, relation, arrays, made)?)))
    };
    match alone.or_else(related) {
        Some((array, (at, why))) => Err(cannot_hold(array, layout, format, at, &why)),
        None => Ok(()),
    }
}

fn out_of_range(array: &SeedArray<'_>) -> Option<Broken> {
    let numbers = array.entry.numbers;
    let at = (0..array.words.len()).find(|at| numbers != Numbers::ANY && !numbers.allow(array.number(*at)))?;
    Some((at, format!("it is {numbers}")))
}

/// The first number that breaks a relation.
fn broken(array: &SeedArray<'_>, relation: &Relation, arrays: &[SeedArray<'_>], made: RunLength) -> Option<Broken> {
    let find = |name: &str| arrays.iter().find(|array| array.entry.name == name);
    let first = |fits: &dyn Fn(usize, f64) -> bool| array.numbers().enumerate().find(|(at, x)| !fits(*at, *x));
    let broken = |at: Option<(usize, f64)>, why: &str| at.map(|(at, _)| (at, why.to_owned()));
    match relation {
        Relation::Filled(rows) => {
            let filled = made.made.min(*rows as u64);
            broken(first(&|_, x| x == filled as f64), &format!("after {} rows of {rows} it is {filled}", made.made))
        }
        Relation::FilledUpTo { next, rows } => {
            let (next, rows) = (find(next)?, *rows as f64);
            let fits = |at, x| x == next.at(at) || (x == rows && next.at(at) > 0.0);
            broken(first(&fits), "it is the row that is written next, or that of all rows")
        }
        Relation::Stretch { first: from, filled, rows } => {
            let (from, filled, rows) = (find(from)?, find(filled)?, *rows as f64);
            let fits = |at, x| x <= filled.at(at) && (filled.at(at) == rows || from.at(at) + x <= filled.at(at));
            broken(first(&fits), "it counts rows that are not filled")
        }
        Relation::AboveZeroIn(filled) => {
            let filled = find(filled)?.at(0);
            broken(
                first(&|at, x| (x > 0.0) == ((at as f64) < filled)),
                "it is above 0 in rows that are filled, and 0 in others",
            )
        }
        Relation::SumsOf { of, each } => {
            let below = find(of)?;
            let sum = |at: usize| (at * each..(at + 1) * each).map(|child| below.at(child)).sum::<f64>();
            let fits = |at, x: f64| {
                let sum = sum(at);
                (x - sum).abs() <= ROUNDING * sum + f64::from(f32::MIN_POSITIVE)
            };
            broken(first(&fits), &format!("it is the sum of {each} numbers of `{}`", name(of)))
        }
        Relation::NotBelow(of) => {
            let most = find(of)?.numbers().fold(f64::NEG_INFINITY, f64::max);
            broken(first(&|_, x| x >= most * (1.0 - ROUNDING)), &format!("`{}` has {most}", name(of)))
        }
        Relation::UpToIterations => {
            broken(first(&|_, x| x <= made.iteration as f64), &format!("there were {} iterations", made.iteration))
        }
        Relation::Corrects(places) => {
            let moments = MOMENTS.map(find);
            let pairs = array.words.len() / 2;
            (0..pairs).find_map(|pair| {
                let moved = moments.map(|moment| {
                    moment.is_some_and(|moment| {
                        let first = pair * (moment.words.len() / pairs);
                        let mut all = places.iter().flat_map(|place| first + place.start..first + place.end);
                        all.any(|at| moment.at(at) != 0.0)
                    })
                });
                let [one, two] = [0, 1].map(|at| array.at(2 * pair + at) == 0.0);
                let why = "the optimiser's moments say that it has made steps".to_owned();
                match (one && (!two || moved.contains(&true)), two && moved[1]) {
                    (true, _) => Some((2 * pair, why)),
                    (_, true) => Some((2 * pair + 1, why)),
                    _ => None,
                }
            })
        }
    }
}

/// The error about a number of an array that breaks a rule, by the tensor that holds it and its place there.
fn cannot_hold(array: &SeedArray<'_>, layout: &Layout, format: u32, at: usize, why: &str) -> Error {
    let parts = parts(&array.entry, layout, format);
    let found = parts.iter().find_map(|part| Some((part, part.places().position(|place| place == at)?)));
    let (name, mut left, shape) = match found {
        Some((part, at)) => (&part.name[..], at, &part.shape),
        None => (array.entry.name, at, &array.entry.shape),
    };
    let mut place = vec![0; shape.len()];
    for (i, size) in place.iter_mut().zip(shape).rev() {
        (*i, left) = (left % size.max(&1), left / size.max(&1));
    }
    wrong(format!("the tensor `{name}` holds {} at {place:?}, which cannot be: {why}", array.shown(at)))
}

impl SeedArray<'_> {
    /// The number at a place; 0 behind the last number.
    fn at(&self, at: usize) -> f64 {
        if at < self.words.len() { self.number(at) } else { 0.0 }
    }

    fn number(&self, at: usize) -> f64 {
        match self.entry.dtype {
            DType::F32 => f32::from_bits(self.words[at]).into(),
            DType::U32 => self.words[at].into(),
        }
    }

    /// A number as text: an f32 with its own digits.
    fn shown(&self, at: usize) -> String {
        match self.entry.dtype {
            DType::F32 => f32::from_bits(self.words[at]).to_string(),
            DType::U32 => self.words[at].to_string(),
        }
    }

    fn numbers(&self) -> impl Iterator<Item = f64> {
        (0..self.words.len()).map(|at| self.number(at))
    }
}

#[cfg(test)]
mod tests;
