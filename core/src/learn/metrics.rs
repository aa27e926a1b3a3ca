//! Metrics: named numbers of an iteration, and the way in which those of several passes become one.

use std::panic::Location;

#[cfg(not(target_arch = "wasm32"))]
use crate::program::Context;
use crate::tensor::{CompensatedSum, Tree, fail};
use crate::{DType, Error, Tensor};

/// The ways in which a metric's values of several passes become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// The sum of the values.
    Sum,
    /// The mean of the values, each with a weight of its own.
    Mean,
    /// The value of the last pass.
    Last,
    /// The largest value.
    Max,
    /// The smallest value.
    Min,
}

/// Metrics side by side that are joined in the same way.
#[derive(Clone, Debug)]
struct Column {
    names: Vec<String>,
    join: Join,
    /// The values of the W metrics, `[S, W]`.
    values: Tensor,
    /// The weight of the values in a mean, `[S, 1]`.
    weight: Option<Tensor>,
    /// The place in the source where the metrics were added.
    at: &'static Location<'static>,
}

impl Column {
    /// Checks that all is f32 and has a row for each seed; `seeds` is their number, where it is known.
    ///
    /// An error of the trace names the metrics and the place where they were added.
    fn check(&self, seeds: Option<usize>) {
        let rows = seeds.map_or("S".to_owned(), |seeds| seeds.to_string());
        let numbers = |x: Tensor, wide: usize, what: String| {
            let (shape, dtype) = (x.shape(), x.dtype());
            let fits = matches!(shape[..], [s, w] if w == wide && seeds.is_none_or(|seeds| s == seeds));
            let wrong = !fits || dtype != DType::F32;
            if wrong && !x.is_poison() {
                let expected = format!("{what} as f32 [{rows}, {wide}], a row for each of {rows} seeds");
                let got = format!("{dtype} {shape:?}");
                fail(Error::Shape { op: "metrics", expected, got, at: self.at.to_string() });
            }
        };
        let names: Vec<String> = self.names.iter().map(|name| format!("`{name}`")).collect();
        let names = names.join(", ");
        numbers(self.values, self.names.len(), names.clone());
        if let Some(weight) = self.weight {
            numbers(weight, 1, format!("the weight of {names}"));
        }
    }
}

/// Returns of episodes, `[S, E]`, with a place for each episode that can have ended.
#[derive(Clone, Copy, Debug)]
struct Returns {
    values: CompensatedSum,
    /// E, the number of places.
    places: usize,
}

/// Named numbers of an iteration, or of a pass of a loop in it: `[S, 1]` each, of S stacked seeds.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    columns: Vec<Column>,
    returns: Option<Returns>,
}

impl Tree for Metrics {
    fn leaves(&self, to: &mut Vec<Tensor>) {
        for column in &self.columns {
            to.push(column.values);
            to.extend(column.weight);
        }
        self.returns.map(|returns| returns.values).leaves(to);
    }

    fn rebuild(&self, from: &mut dyn Iterator<Item = Tensor>) -> Metrics {
        let mut next = || from.next().unwrap_or(Tensor::poison());
        let columns = self.columns.iter().map(|column| {
            let values = next();
            Column { values, weight: column.weight.map(|_| next()), ..column.clone() }
        });
        let columns = columns.collect();
        let returns = self.returns.map(|returns| Returns { values: returns.values.rebuild(from), ..returns });
        Metrics { columns, returns }
    }
}

impl Metrics {
    /// The number of episodes that ended.
    pub const EPISODES: &'static str = "rollout/episodes";
    /// The sum of the returns of episodes that ended; training shows means over a hundred episodes.
    pub const RETURN_SUM: &'static str = "ep_return_sum";
    /// The sum of the lengths of episodes that ended.
    pub const LENGTH_SUM: &'static str = "ep_len_sum";
    /// The number of environment steps that were made; without it, the planned number counts.
    pub const STEPS: &'static str = "env_steps";
    /// The number of updates that were dropped because a gradient was not finite.
    pub const NON_FINITE: &'static str = "train/non_finite";
    /// The number of updates that were made.
    pub const UPDATES: &'static str = "train/updates";
    /// The value on a device of what was not measured, such as the return in a place whose episode has not ended:
    /// training shows nothing in its place.
    pub const NONE: f64 = f32::MIN as f64;

    /// Makes the metrics of `count` episodes that ended, with the sums of their returns and lengths.
    #[must_use]
    #[track_caller]
    pub fn of_episodes(count: Tensor, returns: Tensor, lengths: Tensor) -> Metrics {
        let metrics = Metrics::default().sum(Metrics::EPISODES, count);
        metrics.sum(Metrics::RETURN_SUM, returns).sum(Metrics::LENGTH_SUM, lengths)
    }

    /// Adds the return of each episode, of which training shows the mean, the median and the spread: `[S, E]` in the
    /// order in which episodes ended, and [`NONE`](Metrics::NONE) in places where none did.
    #[must_use]
    pub fn returns(self, values: impl Into<CompensatedSum>, places: usize) -> Metrics {
        Metrics { returns: Some(Returns { values: values.into(), places }), ..self }
    }

    /// Returns in the form of [`returns`](Metrics::returns): these where an episode `ended`, u32 and 1 there.
    #[must_use]
    #[track_caller]
    pub fn return_where(ended: Tensor, returns: CompensatedSum) -> CompensatedSum {
        let [sum, rest] = [Metrics::NONE, 0.0].map(Tensor::constant_f32);
        CompensatedSum { sum: ended.select(returns.sum, sum), rest: ended.select(returns.rest, rest) }
    }

    /// Adds a metric whose values passes add up.
    #[must_use]
    #[track_caller]
    pub fn sum(self, name: impl Into<String>, value: Tensor) -> Metrics {
        self.column(vec![name.into()], Join::Sum, value, None)
    }

    /// Adds a metric of which the last pass's value is kept.
    #[must_use]
    #[track_caller]
    pub fn last(self, name: impl Into<String>, value: Tensor) -> Metrics {
        self.column(vec![name.into()], Join::Last, value, None)
    }

    /// Adds a metric of which the largest value of the passes is kept.
    #[must_use]
    #[track_caller]
    pub fn max(self, name: impl Into<String>, value: Tensor) -> Metrics {
        self.column(vec![name.into()], Join::Max, value, None)
    }

    /// Adds a metric of which the smallest value of the passes is kept.
    #[must_use]
    #[track_caller]
    pub fn min(self, name: impl Into<String>, value: Tensor) -> Metrics {
        self.column(vec![name.into()], Join::Min, value, None)
    }

    /// Adds a metric whose values passes average, with weights `weight: [S, 1]`, such as a number of updates.
    #[must_use]
    #[track_caller]
    pub fn mean(self, name: impl Into<String>, value: Tensor, weight: Tensor) -> Metrics {
        self.column(vec![name.into()], Join::Mean, value, Some(weight))
    }

    /// Adds the columns of `values: [S, W]` under the names of a descent's sums; passes average
    /// them as those of [`mean`](Metrics::mean).
    #[must_use]
    #[track_caller]
    pub fn means(self, names: &[&str], values: Tensor, weight: Tensor) -> Metrics {
        let names = names.iter().map(|name| format!("train/{name}")).collect();
        self.column(names, Join::Mean, values, Some(weight))
    }

    #[track_caller]
    fn column(mut self, names: Vec<String>, join: Join, values: Tensor, weight: Option<Tensor>) -> Metrics {
        let column = Column { names, join, values, weight, at: Location::caller() };
        column.check(None);
        self.columns.push(column);
        self
    }

    /// Checks that each metric has a row for each of `seeds` seeds.
    ///
    /// An error of the trace names the first metric that has not, and the place where it was added.
    pub(crate) fn check(&self, seeds: usize) {
        self.columns.iter().for_each(|column| column.check(Some(seeds)));
    }

    /// Appends other metrics.
    #[must_use]
    pub fn with(mut self, others: Metrics) -> Metrics {
        self.columns.extend(others.columns);
        Metrics { columns: self.columns, returns: self.returns.or(others.returns) }
    }

    /// Joins metrics of passes with those of one more pass. Each pass has places of its own for
    /// returns: see [`passes`](Metrics::passes).
    pub(crate) fn join(&self, next: &Metrics) -> Metrics {
        let one = |(old, new): (&Column, &Column)| {
            let (weight, values) = match old.join {
                Join::Sum => (None, old.values + new.values),
                Join::Last => (None, new.values),
                Join::Max => (None, old.values.max(new.values)),
                Join::Min => (None, old.values.min(new.values)),
                Join::Mean => {
                    let (before, more) =
                        (old.weight.unwrap_or(Tensor::poison()), new.weight.unwrap_or(Tensor::poison()));
                    let weight = before + more;
                    let share = more / weight.max(Tensor::constant_f32(f64::from(f32::MIN_POSITIVE)));
                    // A value without weight is ignored, such as a mean over no update.
                    let moved = old.values + (new.values - old.values) * share;
                    (Some(weight), more.gt(Tensor::constant_f32(0.0)).select(moved, old.values))
                }
            };
            Column { values, weight, ..old.clone() }
        };
        let columns = self.columns.iter().zip(&next.columns).map(one).collect();
        Metrics { columns, returns: self.returns }
    }

    /// The metrics before the first of `n` passes, for `seeds` stacked seeds. They have places
    /// `[S, n, E]` for the returns of all passes.
    pub(crate) fn passes(&self, seeds: usize, n: usize) -> Metrics {
        self.check(seeds);
        let full = |shape: &[usize], x: f64| Tensor::constant_f32(x).broadcast_to(shape);
        let one = |column: &Column| {
            let first = match column.join {
                Join::Max => f64::from(f32::MIN),
                Join::Min => f64::from(f32::MAX),
                Join::Sum | Join::Mean | Join::Last => 0.0,
            };
            let (values, none) = (full(&[seeds, column.names.len()], first), full(&[seeds, 1], 0.0));
            Column { values, weight: column.weight.map(|_| none), ..column.clone() }
        };
        let returns = self.returns.map(|returns| {
            let [sum, rest] = [Metrics::NONE, 0.0].map(|x| full(&[seeds, n, returns.places], x));
            Returns { values: CompensatedSum { sum, rest }, ..returns }
        });
        Metrics { columns: self.columns.iter().map(one).collect(), returns }
    }

    /// The metrics after the pass `index` (u32 `[]`) has added `next` to those of [`passes`](Metrics::passes).
    pub(crate) fn after(&self, index: Tensor, next: &Metrics) -> Metrics {
        let returns = self.returns.zip(next.returns).map(|(all, new)| {
            let here = Tensor::iota(&[1, all.values.sum.size(1), 1], 1).eq(index);
            let one = |new: Tensor, all: Tensor| here.select(new.unsqueeze(1), all);
            let CompensatedSum { sum, rest } = all.values;
            let values = CompensatedSum { sum: one(new.values.sum, sum), rest: one(new.values.rest, rest) };
            Returns { values, ..all }
        });
        Metrics { returns, ..self.join(next) }
    }

    /// The metrics of all `n` passes in the form of an iteration: the places of returns are in one row.
    pub(crate) fn flattened(self, seeds: usize, n: usize) -> Metrics {
        let returns = self.returns.map(|Returns { values, places }| {
            let places = n * places;
            Returns { values: values.map(|x| x.reshape(&[seeds, places])), places }
        });
        Metrics { returns, ..self }
    }

    /// The metrics of all ranks that train together, in the form of an iteration: sums and extremes over them, means of
    /// the rest. Updates are those of all ranks at once, and are counted once.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn of_ranks(self, cx: &mut Context, seeds: usize) -> Metrics {
        let once = [Metrics::NON_FINITE, Metrics::UPDATES];
        let join = |column: Column| match column.join {
            Join::Sum if column.names.iter().any(|name| once.contains(&name.as_str())) => {
                Column { join: Join::Last, ..column }
            }
            Join::Last => {
                let weight = Some(measured(column.values).to_f32());
                Column { join: Join::Mean, weight, ..column }
            }
            _ => column,
        };
        let own = Metrics { columns: self.columns.into_iter().map(join).collect(), ..self };
        let (ranks, all) = (cx.ranks(), cx.of_ranks(&own.flat()));
        let of_rank = |rank: usize| {
            let one = |x: &Tensor| x.slice(0, rank, rank + 1).reshape(x.shape().get(1..).unwrap_or_default());
            own.rebuild(&mut all.iter().map(one))
        };
        let first = own.passes(seeds, ranks);
        let join = |before: Metrics, rank: usize| before.after(Tensor::constant_u32(rank as u32), &of_rank(rank));
        (0..ranks).fold(first, join).flattened(seeds, ranks)
    }

    /// The values of the metric `name`, `[S, 1]`, if there is one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Tensor> {
        let within = |column: &Column| Some((column.values, column.names.iter().position(|own| own == name)?));
        self.columns.iter().find_map(within).map(|(values, at)| values.slice(1, at, at + 1))
    }

    /// Joins the metrics of the `n` groups of each seed to metrics of seeds, `[S · n, …]` → `[S, …]`: by sums, largest
    /// and smallest values, and weighted means, and by a plain mean of last values.
    #[must_use]
    pub fn of_groups(self, n: usize) -> Metrics {
        if n == 1 {
            return self;
        }
        let rows = |x: Tensor| x.reshape(&[x.size(0) / n, n, x.size(1)]);
        let flat = |x: Tensor| x.reshape(&[x.size(0), x.size(2)]);
        let one = |column: Column| {
            let values = rows(column.values);
            let (values, weight) = match (column.join, column.weight.map(rows)) {
                (Join::Sum, _) => (values.sum_keep(1), None),
                (Join::Max, _) => (values.max_keep(1), None),
                (Join::Min, _) => (-(-values).max_keep(1), None),
                (Join::Mean, Some(weight)) => {
                    let all = weight.sum_keep(1);
                    let least = Tensor::constant_f32(f64::from(f32::MIN_POSITIVE));
                    ((values * weight).sum_keep(1) / all.max(least), Some(flat(all)))
                }
                (Join::Mean | Join::Last, _) => {
                    let [none, zero, one] = [Metrics::NONE, 0.0, 1.0].map(Tensor::constant_f32);
                    let there = measured(values);
                    let count = there.to_f32().sum_keep(1);
                    let mean = there.select(values, zero).sum_keep(1) * count.max(one).recip();
                    (count.gt(zero).select(mean, none), None)
                }
            };
            Column { values: flat(values), weight, ..column }
        };
        let columns = self.columns.into_iter().map(one).collect();
        // The groups play side by side: places of the same time are neighbours.
        let returns = self.returns.map(|Returns { values, places }| {
            let of_seeds = |x: Tensor| rows(x).permute(&[0, 2, 1]).reshape(&[x.size(0) / n, places * n]);
            Returns { values: values.map(of_seeds), places: places * n }
        });
        Metrics { columns, returns }
    }

    /// The C names, and all values, `[S, C + 2 · E]`: those by name, then the returns of episodes, their sums before
    /// what these lack. A mean over nothing is [`NONE`](Metrics::NONE).
    #[must_use]
    #[track_caller]
    pub fn joined(self) -> (Vec<String>, Tensor) {
        let names = self.columns.iter().flat_map(|column| column.names.clone()).collect();
        let values = self.columns.iter().map(|column| match column.weight {
            None => column.values,
            Some(weight) => {
                let weighs = weight.gt(Tensor::constant_f32(0.0));
                weighs.select(column.values, Tensor::constant_f32(Metrics::NONE))
            }
        });
        let returns = self.returns.map(|returns| returns.values.flat()).unwrap_or_default();
        let all: Vec<Tensor> = values.chain(returns).collect();
        (names, Tensor::concat(&all, 1))
    }
}

/// 1 where a value was measured, u32.
fn measured(values: Tensor) -> Tensor {
    values.gt(Tensor::constant_f32(Metrics::NONE))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::tensor::scan_tree;
    use crate::{Device, Program};

    #[test]
    fn passes_join_each_metric_in_its_own_way() {
        let device = Device::cpu(1);
        let mut names = Vec::new();
        let mut program = Program::new(&device, |cx| {
            // Two seeds, three passes: a value, its weight, and the return of an episode in one of two places.
            let value = Tensor::literal_f32(&[1.0, -1.0, 5.0, -5.0, 2.0, -2.0]).reshape(&[3, 2, 1]);
            let weight = Tensor::literal_f32(&[1.0, 0.0, 3.0, 0.0, 0.0, 2.0]).reshape(&[3, 2, 1]);
            let at = |value: Tensor, weight: Tensor| {
                let none = Tensor::constant_f32(Metrics::NONE).broadcast_to(&[2, 1]);
                Metrics::default()
                    .sum("sum", value)
                    .last("last", value)
                    .max("max", value)
                    .min("min", value)
                    .mean("mean", value, weight)
                    .means(&["twice", "thrice"], Tensor::concat(&[value * 2.0, value * 3.0], 1), weight)
                    .returns(Tensor::concat(&[value, none], 1), 2)
            };
            let first = at(Tensor::zeros(&[2, 1]), Tensor::zeros(&[2, 1])).passes(2, 3);
            let (all, _) = scan_tree(3, &first, &(value, weight), |index, all: Metrics, (value, weight)| {
                (all.after(index, &at(value, weight)), ())
            });
            let (all_names, values) = all.flattened(2, 3).joined();
            names = all_names;
            cx.output("values", values);
        })
        .unwrap();
        assert_eq!(names, ["sum", "last", "max", "min", "mean", "train/twice", "train/thrice"]);
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let got = pollster::block_on(device.read(out.get("values").unwrap())).unwrap();
        let none = Metrics::NONE;
        // Returns are exact, so their sums lack nothing.
        assert_eq!(got[..13], [8.0, 2.0, 5.0, 1.0, 4.0, 8.0, 12.0, 1.0, none, 5.0, none, 2.0, none]);
        assert_eq!(got[19..32], [-8.0, -2.0, -1.0, -5.0, -2.0, -4.0, -6.0, -1.0, none, -5.0, none, -2.0, none]);
        assert_eq!([&got[13..19], &got[32..]].concat(), [0.0; 12]);
    }

    #[test]
    fn a_mean_over_nothing_is_none_and_groups_that_measured_nothing_are_left_out() {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let [some, none] = [[1.0, 0.0], [0.0, 0.0]].map(|weight| Tensor::literal_f32(&weight).reshape(&[2, 1]));
            let value = Tensor::literal_f32(&[4.0, 6.0]).reshape(&[2, 1]);
            let of_first = some.gt(none).select(value, Tensor::constant_f32(Metrics::NONE));
            let metrics = Metrics::default().mean("some", value, some).mean("none", value, none).last("last", of_first);
            cx.output("rows", metrics.clone().joined().1);
            cx.output("groups", metrics.of_groups(2).joined().1);
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let read = |name: &str| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
        let none = Metrics::NONE;
        assert_eq!(read("rows"), [4.0, none, 4.0, none, none, none]);
        assert_eq!(read("groups"), [4.0, none, 4.0]);
    }

    #[test]
    fn a_metric_of_the_wrong_shape_names_itself_and_the_line_that_adds_it() {
        let device = Device::cpu(1);
        let [number, row] = [&[][..], &[1, 1]].map(|shape: &'static [usize]| move || Tensor::zeros(shape));
        type Add<'a> = &'a dyn Fn(Metrics) -> Metrics;
        let cases: [(&str, Add<'_>, u32); 6] = [
            ("`a` as f32 [S, 1], a row for each of S seeds, got f32 []", &|all| all.sum("a", number()), line!()),
            ("seeds, got f32 [2, 3]", &|all| all.last("a", Tensor::zeros(&[2, 3])), line!()),
            ("`a` as f32 [2, 1], a row for each of 2 seeds, got f32 [1, 1]", &|all| all.max("a", row()), line!()),
            ("the weight of `a` as f32 [S, 1]", &|all| all.mean("a", Tensor::zeros(&[2, 1]), number()), line!()),
            ("`train/a`, `train/b` as f32 [S, 2]", &|all| all.means(&["a", "b"], row(), row()), line!()),
            ("got u32 [2, 1]", &|all| all.min("a", Tensor::constant_u32(1).broadcast_to(&[2, 1])), line!()),
        ];
        for (says, add, line) in cases {
            // In an iteration, and in a pass of a loop of it.
            for looped in [false, true] {
                let traced = Program::new(&device, |cx| {
                    let all = add(Metrics::default().sum("sound", Tensor::zeros(&[2, 1])));
                    let all = if looped { all.passes(2, 3) } else { all };
                    all.check(2);
                    cx.output("values", all.joined().1);
                });
                let message = traced.unwrap_err().to_string();
                assert!(message.starts_with("metrics: expected ") && message.contains(says), "{message}");
                assert!(message.contains(&format!("{}:{line}:", file!())), "{message}");
            }
        }
    }
}
