//! The guarded descent: gradient steps that drop gradients that are not finite.

use std::fmt::Debug;

use super::Metrics;
use crate::Tensor;
use crate::grad::value_and_grad_with;
use crate::nn::Layout;
use crate::optim::{GradientMoments, Optimiser, Trained, clip_by_norm, norm as length};
use crate::program::Context;
use crate::tensor::{Named, Tree, scan_tree};

/// Descends a loss, for stacked seeds at once. A gradient that is not finite is dropped and counted.
#[derive(Clone, Copy, Debug)]
pub struct Descent<'a> {
    /// The slices of θ.
    pub layout: &'a Layout,
    /// The optimiser.
    pub optimiser: Optimiser,
    /// The step size α, `[]` or `[S, 1]`.
    pub learning_rate: Tensor,
    /// The norm to which longer gradients are scaled down; 0: no limit.
    pub max_grad_norm: f64,
    /// Names of the values that are summed over the updates that are made: those of [`Look::seen`], and `grad_norm`,
    /// the norm of the gradient before it is limited.
    pub sums: &'a [&'static str],
    /// The name and the limit of a value: a seed makes no more updates once its value is larger.
    pub stop: Option<(&'static str, f64)>,
}

/// The loss at some parameters, and the values reported about it.
#[derive(Clone, Debug)]
pub struct Look {
    /// The loss that is descended, `[S, 1]`.
    pub loss: Tensor,
    /// Values about the loss by name, `[S, 1]` each.
    pub seen: Named,
}

impl Look {
    /// The name of the number of valid rows, `[S, 1]`, among [`Look::seen`], if not all rows
    /// are valid: a step with none is skipped.
    pub const ROWS: &str = "rows";
}

/// A change of the gradient before its step is made.
pub trait Turn: Debug {
    /// The direction, `[S, P]`, to step in place of the gradient; `theta, gradient: [S, P]`.
    fn turn(&self, theta: Tensor, gradient: Tensor) -> Tensor;

    /// The weight above 0 that a row's own gradient has in its direction. Trust regions divide directions by it: the
    /// rest of the direction then has its weight relative to the own loss.
    fn own_weight(&self) -> f64 {
        1.0
    }
}

/// Computes norms of parts of a gradient, `[S, P]`: `[S, 1]` each, by name as [`Look::seen`].
pub type PartNorms<'a> = &'a dyn Fn(Tensor) -> Vec<(&'static str, Tensor)>;

/// The work between a gradient and its step, apart from the limit of the norm.
#[derive(Clone, Copy, Default)]
pub struct Between<'a> {
    /// Norms of parts of the gradient, before it is limited.
    pub norms: Option<PartNorms<'a>>,
    /// A change of the gradient, after it is limited.
    pub turn: Option<&'a dyn Turn>,
    /// Keeps the norm of the first gradient, as [`Descended::first_norm`].
    pub first_norm: bool,
}

/// The state of a descent, under way or at its end.
#[derive(Clone, Debug)]
pub struct Descended {
    /// θ, `[S, P]`, and its optimiser's memory.
    pub trained: Trained,
    /// The number of gradients that were not finite, `[S, 1]`.
    pub non_finite: Tensor,
    /// The number of updates that were made, `[S, 1]`.
    pub updates: Tensor,
    /// The norm of the first gradient, `[S, 1]`, if it is kept.
    pub first_norm: Option<Tensor>,
    /// Sums over updates, `[S, W]`, in the order of [`Descent::sums`].
    sums: Option<Tensor>,
    /// 1 for seeds that make no more updates, u32 `[S, 1]`.
    stopped: Option<Tensor>,
}

crate::tree!(Descended: trained, sums, first_norm, non_finite, updates, stopped);

impl Descended {
    /// Means over the updates that were made, `[S, W]`, in the order of [`Descent::sums`]; 0 if none was made.
    #[track_caller]
    pub fn averages(&self) -> Tensor {
        self.sums.unwrap_or(Tensor::poison()) / self.updates.max(Tensor::constant_f32(1.0))
    }

    /// Counts of updates that were dropped and of those that were made, as metrics.
    #[must_use]
    pub fn counts(&self) -> Metrics {
        Metrics::default().sum(Metrics::NON_FINITE, self.non_finite).sum(Metrics::UPDATES, self.updates)
    }
}

impl Descent<'_> {
    /// The averages at the end of this descent, as metrics `train/…`.
    #[must_use]
    pub fn means(&self, end: &Descended) -> Metrics {
        Metrics::default().means(self.sums, end.averages(), end.updates)
    }

    /// Makes `steps` steps from these parameters. `look` gives the loss at the slices of θ, from the step's row of
    /// `xs`.
    ///
    /// Where several ranks train together, each step follows the mean of their gradients, and what is seen are means
    /// over them: of ranks that count their valid rows, each has the weight of its rows.
    #[track_caller]
    pub fn run<X: Tree>(
        &self,
        cx: &mut Context,
        trained: Trained,
        steps: usize,
        xs: &X,
        look: impl FnOnce(&[Tensor], X) -> Look,
    ) -> Descended {
        self.run_with(cx, Between::default(), trained, steps, xs, look)
    }

    /// Makes steps as [`run`](Descent::run), with more work between each gradient and its step.
    #[track_caller]
    pub fn run_with<X: Tree>(
        &self,
        cx: &mut Context,
        between: Between<'_>,
        trained: Trained,
        steps: usize,
        xs: &X,
        look: impl FnOnce(&[Tensor], X) -> Look,
    ) -> Descended {
        let (mut look, like) = (Some(look), xs);
        self.run_by(cx, between, trained, steps, &xs.flat(), &mut |parts, x| match look.take() {
            Some(look) => look(parts, like.with(x)),
            None => Look { loss: Tensor::poison(), seen: Named::new() },
        })
    }

    /// Makes the steps. `look` is called once; it is no type parameter, so that this is compiled once and not for every
    /// loss.
    #[track_caller]
    fn run_by(
        &self,
        cx: &mut Context,
        between: Between<'_>,
        trained: Trained,
        steps: usize,
        xs: &[Tensor],
        look: &mut dyn FnMut(&[Tensor], &[Tensor]) -> Look,
    ) -> Descended {
        let seeds = trained.theta.size(0);
        let zero = Tensor::zeros(&[seeds, 1]);
        let init = Descended {
            trained,
            non_finite: zero,
            updates: zero,
            first_norm: between.first_norm.then_some(zero),
            sums: (!self.sums.is_empty()).then(|| Tensor::zeros(&[seeds, self.sums.len()])),
            stopped: self.stop.map(|_| Tensor::constant_u32(0).broadcast_to(&[seeds, 1])),
        };
        if steps == 1 {
            // A single step needs no loop, which would copy its state.
            let row = |x: &Tensor| x.reshape(x.shape().get(1..).unwrap_or_default());
            let x: Vec<Tensor> = xs.iter().map(row).collect();
            return self.step(cx, between, Tensor::constant_u32(0), init, &mut |parts| look(parts, &x));
        }
        if cx.ranks() > 1 {
            // The ranks meet in each step, which no program's loop can do.
            let given = cx.begin_loop(steps, &init.flat());
            let [t, carry @ ..] = &given[..] else { return init };
            let x: Vec<Tensor> = xs.iter().map(|x| row_of(*x, *t)).collect();
            let at = self.step(cx, between, *t, init.with(carry), &mut |parts| look(parts, &x));
            return init.with(&cx.end_loop(&at.flat()));
        }
        let (end, _) = scan_tree(steps, &init, &xs.to_vec(), |t, at: Descended, x: Vec<Tensor>| {
            (self.step(cx, between, t, at, &mut |parts| look(parts, &x)), ())
        });
        end
    }

    #[track_caller]
    fn step(
        &self,
        cx: &mut Context,
        between: Between<'_>,
        t: Tensor,
        at: Descended,
        look: &mut dyn FnMut(&[Tensor]) -> Look,
    ) -> Descended {
        let (_, grads, seen) = value_and_grad_with(&self.layout.split(at.trained.theta), |parts| {
            let Look { loss, seen } = look(parts);
            (loss.sum_all(), seen)
        });
        let joined = self.layout.join(&grads);
        let (joined, seen) = if cx.ranks() == 1 { (joined, seen) } else { of_ranks(cx, joined, seen) };
        let (grad, norm) = match self.max_grad_norm > 0.0 {
            true => clip_by_norm(joined, self.max_grad_norm),
            false => (joined, length(joined)),
        };
        let old = at.trained;
        let turned = between.turn.map(|turn| turn.turn(old.theta, grad));
        let (theta, moments) = self.optimiser.step(old.theta, turned.unwrap_or(grad), old.moments, self.learning_rate);
        let more = between.norms.map_or_else(Vec::new, |norms| norms(joined));
        let seen = more.into_iter().fold(seen.and("grad_norm", norm), |seen, (name, norm)| seen.and(name, norm));
        // The norm is finite exactly if every number of the gradient is, as long as their squares do not overflow.
        let broken = norm.non_finite();
        let broken = turned.map_or(broken, |turned| broken.bit_or(length(turned).non_finite()));
        let limit = |(name, limit): (&str, f64)| seen.get(name).gt(Tensor::constant_f32(limit));
        let stopped = at.stopped.zip(self.stop).map(|(before, stop)| before.bit_or(limit(stop)));
        // A step that sees no valid row has a gradient of 0. It is skipped, as optimisers would still move by their
        // memory.
        let sees = seen.find(Look::ROWS).map(|rows| rows.gt(Tensor::constant_f32(0.0)));
        let open = stopped.map(Tensor::not);
        let unless_stopped = |x: Tensor| open.map_or(x, |open| open.bit_and(x));
        let go = [open, sees].into_iter().flatten().fold(broken.not(), Tensor::bit_and);
        let keep = |new: Tensor, old: Tensor| go.select(new, old);
        let terms = || Tensor::concat(&self.sums.iter().map(|name| seen.get(name)).collect::<Vec<_>>(), 1);
        Descended {
            trained: Trained {
                theta: keep(theta, old.theta),
                moments: GradientMoments {
                    m: keep(moments.m, old.moments.m),
                    v: keep(moments.v, old.moments.v),
                    scale: keep(moments.scale, old.moments.scale),
                },
            },
            non_finite: at.non_finite + unless_stopped(broken).to_f32(),
            updates: at.updates + go.to_f32(),
            first_norm: at.first_norm.map(|first| t.eq(Tensor::constant_u32(0)).select(norm, first)),
            sums: at.sums.map(|sums| sums + keep(terms(), Tensor::constant_f32(0.0))),
            stopped,
        }
    }
}

/// Row number `t` (u32 `[]`) of `x: [T, …]`.
#[track_caller]
fn row_of(x: Tensor, t: Tensor) -> Tensor {
    let shape = x.shape();
    let [steps, rest @ ..] = &shape[..] else { return Tensor::poison() };
    let width = rest.iter().product();
    x.reshape(&[1, *steps, width]).gather(t.reshape(&[1, 1])).reshape(rest)
}

/// The mean of all ranks' gradients, `[S, P]`, and of what they have seen.
#[track_caller]
fn of_ranks(cx: &mut Context, gradient: Tensor, seen: Named) -> (Tensor, Named) {
    let ranks = cx.ranks() as f64;
    let names: Vec<&'static str> = seen.iter().map(|(name, _)| name).collect();
    let values: Vec<Tensor> = std::iter::once(gradient).chain(seen.iter().map(|(_, value)| value)).collect();
    let means: Vec<Tensor> = match seen.find(Look::ROWS) {
        None => cx.sum_of_ranks(&values).into_iter().map(|sum| sum * (1.0 / ranks)).collect(),
        Some(rows) => {
            // What a rank without valid rows has is no number.
            let none = Tensor::constant_f32(0.0);
            let weighted = values.iter().map(|x| rows.gt(none).select(*x * rows, none));
            let sums = cx.sum_of_ranks(&weighted.chain([rows]).collect::<Vec<_>>());
            let [sums @ .., rows] = &sums[..] else { return (gradient, seen) };
            let share = rows.max(Tensor::constant_f32(1.0)).recip();
            let mean = |(name, sum): (&str, &Tensor)| if name == Look::ROWS { *rows } else { *sum * share };
            std::iter::once("").chain(names.iter().copied()).zip(sums).map(mean).collect()
        }
    };
    let [mean, of_seen @ ..] = &means[..] else { return (gradient, seen) };
    (*mean, names.into_iter().zip(of_seen.iter().copied()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Init;
    use crate::optim::Adam;
    use crate::program::State;
    use crate::{Device, Program};

    /// Descends w ‖θ‖² from (3, 4), with the weights w of two seeds in each step, and reads the results.
    fn descend(weights: &[[f64; 2]], stop: Option<(&'static str, f64)>, max_grad_norm: f64) -> [Vec<f64>; 5] {
        let device = Device::cpu(1);
        let mut layout = Layout::new();
        layout.add("x", &[2], Init::Constant(0.0));
        let mut program = Program::new(&device, |cx| {
            let descent = Descent {
                layout: &layout,
                optimiser: Adam::default().into(),
                learning_rate: Tensor::constant_f32(0.1),
                max_grad_norm,
                sums: &["grad_norm", "weight"],
                stop,
            };
            let theta = Tensor::literal_f32(&[3.0, 4.0, 3.0, 4.0]).reshape(&[2, 2]);
            let moments = GradientMoments { m: theta * 0.0, v: theta * 0.0, scale: theta * 0.0 };
            let (between, trained) = (Between { first_norm: true, ..Between::default() }, Trained { theta, moments });
            let xs = Tensor::literal_f32(weights.as_flattened()).reshape(&[weights.len(), 2, 1]);
            let end = descent.run_with(cx, between, trained, weights.len(), &xs, |parts, weight| Look {
                loss: parts[0].square().sum_keep(1) * weight,
                seen: [("weight", weight)].into(),
            });
            for (name, x) in ["theta", "averages", "non_finite", "updates", "first_norm"].into_iter().zip([
                end.trained.theta,
                end.averages(),
                end.non_finite,
                end.updates,
                end.first_norm.unwrap(),
            ]) {
                cx.output(name, x);
            }
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        ["theta", "averages", "non_finite", "updates", "first_norm"]
            .map(|name| pollster::block_on(device.read(out.get(name).unwrap())).unwrap())
    }

    #[test]
    fn a_gradient_that_is_not_finite_is_dropped_by_its_seed_alone() {
        let [theta, averages, non_finite, updates, first_norm] =
            descend(&[[1.0, 1.0], [1.0, f64::NAN], [1.0, 1.0], [1.0, f64::INFINITY]], None, 0.0);
        let [sound, ..] = descend(&[[1.0, 1.0]; 4], None, 0.0);
        let [fewer, mean, ..] = descend(&[[1.0, 1.0]; 2], None, 0.0);
        assert_eq!(theta, [&sound[..2], &fewer[2..]].concat());
        assert_ne!(sound[2..], fewer[2..]);
        assert_eq!((non_finite, updates, first_norm), (vec![0.0, 2.0], vec![4.0, 2.0], vec![10.0; 2]));
        // ‖2 (3, 4)‖ = 10, and Adam's first step is α in each number.
        assert!((mean[2] - (10.0 + 2.0 * 2.9f64.hypot(3.9)) / 2.0).abs() < 1e-5, "{mean:?}");
        assert_eq!(averages[2..], mean[2..]);
    }

    #[test]
    fn a_seed_stops_at_the_first_number_beyond_the_limit() {
        let weights = [[1.0, 1.0], [1.0, 2.0], [1.0, 1.0]];
        let [theta, averages, non_finite, updates, _] = descend(&weights, Some(("weight", 1.5)), 0.0);
        let [once, ..] = descend(&weights[..1], None, 0.0);
        assert_eq!(theta[2..], once[2..]);
        assert_eq!((non_finite, updates), (vec![0.0; 2], vec![3.0, 1.0]));
        assert_eq!([averages[1], averages[3]], [1.0, 1.0]);
    }

    #[test]
    fn long_gradients_are_scaled_down_and_reported_as_they_were() {
        // Adam's steps do not depend on the scale of gradients, but on how it changes.
        let weights = [[1.0, 1.0], [100.0, 1.0]];
        let ([free, ..], [limited, averages, ..]) = (descend(&weights, None, 0.0), descend(&weights, None, 1.0));
        assert!((free[0] - limited[0]).abs() > 1e-3 && (free[2] - limited[2]).abs() < 1e-2, "{free:?} {limited:?}");
        assert!(averages[0] > 100.0, "{averages:?}");
    }
}
