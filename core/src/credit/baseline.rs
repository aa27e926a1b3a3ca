//! Baselines fitted to each batch by least squares.

use std::panic::Location;

use super::Paths;
use crate::settings::{Range, SettingValue as _};
use crate::tensor::{fail, require};
use crate::{Error, Tensor};

/// The baselines that can be subtracted from returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Baseline {
    /// No baseline: 0.
    Zero,
    /// Linear in 1, τ, τ², τ³ with τ = t/100.
    LinearTime,
    /// Linear in observations limited to ±10, their squares, and 1, τ, τ², τ³: Duan et al. 2016, arXiv:1604.06778.
    #[default]
    LinearFeature,
    /// Linear in observations limited to ±10, their squares, and 1: [`multi_feature`] of the observations alone.
    MultiFeature,
}

crate::words!(Baseline {
    LinearFeature = "linear_feature",
    LinearTime = "linear_time",
    MultiFeature = "multi_feature",
    Zero = "zero",
});

/// A named input of a baseline.
#[derive(Clone, Copy, Debug)]
pub struct Feature<'a> {
    /// The name in messages.
    pub name: &'a str,
    /// The input's values, `[T, K, N, D]`.
    pub values: Tensor,
}

/// The number added to the diagonal of the normal equations by default.
pub const REGULARISATION: f64 = 1e-5;

impl Baseline {
    /// Predicts `targets: [T, K, N, 1]` where steps are valid; 0 elsewhere. Each row of K is fitted to its own targets.
    #[track_caller]
    pub fn fit_predict(self, paths: &Paths, targets: Tensor) -> Tensor {
        self.regularised(paths, targets, REGULARISATION)
    }

    /// Predicts the steps of other paths `of`, `[T', K, N', 1]`, by a fit to these targets: the baseline is fitted on
    /// one batch and used on the next.
    #[track_caller]
    pub fn asked(self, paths: &Paths, targets: Tensor, regularisation: f64, of: &Paths) -> Tensor {
        let zero = Tensor::zeros(&of.reward.shape());
        let (Some(features), Some(asked)) = (self.of_paths(paths, targets), self.of_paths(of, zero)) else {
            return zero;
        };
        let predictions =
            least_squares_at(rows(paths, &features), rows(paths, &[targets]), rows(of, &asked), regularisation);
        by_time(predictions, &of.reward.shape())
    }

    /// Predicts as [`fit_predict`](Baseline::fit_predict), with `regularisation` on the diagonal of the
    /// normal equations: the r of [`least_squares`].
    #[track_caller]
    pub fn regularised(self, paths: &Paths, targets: Tensor, regularisation: f64) -> Tensor {
        match self.of_paths(paths, targets) {
            Some(features) => fit(paths, &features, targets, regularisation),
            None => Tensor::zeros(&targets.shape()),
        }
    }

    /// The number of its [`features`](Baseline::features), for observations of this many numbers.
    #[must_use]
    pub fn width(self, observations: usize) -> usize {
        match self {
            Baseline::Zero => 0,
            Baseline::LinearTime => 4,
            Baseline::LinearFeature => 2 * observations + 4,
            Baseline::MultiFeature => 2 * observations + 1,
        }
    }

    /// The features in which the baseline is linear, `[…, width]`, of observations `[…, O]` and the numbers of their
    /// steps in their episodes, from 0, as f32 `[…, 1]`; `None` if it has no features.
    #[track_caller]
    pub fn features(self, obs: Tensor, steps: Tensor) -> Option<Tensor> {
        let columns = self.columns(obs, steps, &steps.shape())?;
        Some(Tensor::concat(&columns, steps.rank().saturating_sub(1)))
    }

    /// The features of whole paths, each from its first step, `[T, K, N, ·]` each.
    #[track_caller]
    fn of_paths(self, paths: &Paths, targets: Tensor) -> Option<Vec<Tensor>> {
        let steps = Tensor::iota(&[targets.size(0), 1, 1, 1], 0).to_f32();
        self.columns(paths.obs, steps, &targets.shape())
    }

    /// The features in which the baseline is linear; the numbers of steps are repeated to this shape.
    #[track_caller]
    fn columns(self, obs: Tensor, steps: Tensor, shape: &[usize]) -> Option<Vec<Tensor>> {
        let powers = || {
            let tau = steps * 0.01;
            [tau, tau.square(), tau * tau.square(), Tensor::ones(&steps.shape())].map(|x| x.broadcast_to(shape))
        };
        match self {
            Baseline::Zero => None,
            Baseline::MultiFeature => Some([&with_square(obs)[..], &[Tensor::ones(shape)]].concat()),
            Baseline::LinearTime => Some(powers().to_vec()),
            Baseline::LinearFeature => Some([&with_square(obs)[..], &powers()].concat()),
        }
    }
}

/// Limits features to ±10, and adds their squares.
fn with_square(values: Tensor) -> [Tensor; 2] {
    let limited = values.clamp(-10.0, 10.0);
    [limited, limited.square()]
}

/// Predicts `targets: [T, K, N, 1]`, linear in each feature limited to ±10, its square, and 1; there are no terms of
/// time.
///
/// It is `LinearMultiFeatureBaseline` of garage. Features that depend on the action make policy gradients biased. A
/// feature that has no number for each step is an error of the trace.
#[track_caller]
pub fn multi_feature(paths: &Paths, features: &[Feature<'_>], targets: Tensor) -> Tensor {
    let shape = targets.shape();
    let mut columns = Vec::with_capacity(2 * features.len() + 1);
    for Feature { name, values } in features {
        let got = values.shape();
        if got.len() != shape.len() || got[..3] != shape[..3] {
            let at = Location::caller().to_string();
            let (got, expected) = (format!("{got:?} as feature `{name}`"), format!("{:?} and its width", &shape[..3]));
            fail(Error::Shape { op: "multi_feature", expected, got, at });
            return Tensor::poison();
        }
        columns.extend(with_square(*values));
    }
    columns.push(Tensor::ones(&shape));
    fit(paths, &columns, targets, REGULARISATION)
}

/// Fits each row of K by least squares, over valid steps.
#[track_caller]
fn fit(paths: &Paths, features: &[Tensor], targets: Tensor, regularisation: f64) -> Tensor {
    let fitted = least_squares(rows(paths, features), rows(paths, &[targets]), regularisation);
    by_time(fitted, &targets.shape())
}

/// Puts columns `[T, K, N, ·]` side by side, as rows of each of K: `[K, T · N, n]`, 0 in padding.
#[track_caller]
fn rows(paths: &Paths, columns: &[Tensor]) -> Tensor {
    let x = Tensor::concat(columns, 3);
    Paths::rows(paths.valid.select(x, Tensor::constant_f32(0.0)))
}

/// Puts rows `[K, T · N, 1]` back into the shape `[T, K, N, 1]`.
#[track_caller]
fn by_time(rows: Tensor, shape: &[usize]) -> Tensor {
    let [t, k, n, _] = shape[..] else {
        return Tensor::poison();
    };
    rows.reshape(&[k, t, n, 1]).permute(&[1, 0, 2, 3])
}

/// Predicts targets by F w with the w that minimises ‖F w − y‖² + r ‖w‖²:
/// `features: [K, B, n]`, `targets: [K, B, 1]` → `[K, B, 1]`.
///
/// It uses modified Gram–Schmidt on the features with √r · 1 below them. The normal equations FᵀF w = Fᵀy, of powers of
/// time, have a condition number that is too large for f32; that of F is its root. An r that is not above 0 ends the
/// trace with an error.
#[track_caller]
pub fn least_squares(features: Tensor, targets: Tensor, regularisation: f64) -> Tensor {
    let rows = features.size(1);
    targets - orthogonalised(features, targets, None, regularisation).slice(1, 0, rows)
}

/// Predicts other rows, `asked: [K, C, n]` → `[K, C, 1]`, by the w of [`least_squares`].
///
/// The asked rows go through the steps of the fit with targets of 0, and have no weight in
/// it: what remains of their targets is −F w.
#[track_caller]
pub fn least_squares_at(features: Tensor, targets: Tensor, asked: Tensor, regularisation: f64) -> Tensor {
    let (rows, n) = (features.size(1), features.size(2));
    let end = rows + n;
    -orthogonalised(features, targets, Some(asked), regularisation).slice(1, end, end + asked.size(1))
}

/// The weights w of [`least_squares`], `[K, n, 1]`.
#[track_caller]
pub fn least_squares_weights(features: Tensor, targets: Tensor, regularisation: f64) -> Tensor {
    let (k, n) = (features.size(0), features.size(2));
    // The prediction at each row of the identity is a weight.
    let one = Tensor::iota(&[1, n, n], 1).eq(Tensor::iota(&[1, n, n], 2)).to_f32().broadcast_to(&[k, n, n]);
    least_squares_at(features, targets, one, regularisation)
}

/// The residuals of the targets, then those of √r · 1; if there are asked rows, those of √r · 1, of the targets, then
/// of these.
#[track_caller]
fn orthogonalised(features: Tensor, targets: Tensor, asked: Option<Tensor>, regularisation: f64) -> Tensor {
    require(Range::Positive.check("baseline_regularisation", &regularisation.to_value()));
    let (k, rows, n) = (features.size(0), features.size(1), features.size(2));
    let diagonal = Tensor::iota(&[1, n, n + 1], 1).eq(Tensor::iota(&[1, n, n + 1], 2)).to_f32();
    let below = (diagonal * regularisation.sqrt()).broadcast_to(&[k, n, n + 1]);
    // The targets are the last column: what remains of them is the residual. Where other rows are asked of, √r · 1
    // comes first, so that sums do not depend on the number of rows of zeros behind the others.
    let data = Tensor::concat(&[features, targets], 2);
    let fitted = Tensor::concat(&if asked.is_some() { [below, data] } else { [data, below] }, 1);
    let mut rest = asked.map_or(fitted, |asked| {
        let none = Tensor::zeros(&[k, asked.size(1), 1]);
        Tensor::concat(&[fitted, Tensor::concat(&[asked, none], 2)], 1)
    });
    let weighed = |x: Tensor| if asked.is_some() { x.slice(1, 0, rows + n) } else { x };
    for column in 0..n {
        let (first, others) = (rest.slice(2, 0, 1), rest.slice(2, 1, n + 1 - column));
        let (of_first, of_others) = (weighed(first), weighed(others));
        let square = of_first.square().sum_keep(1);
        let along = of_first.matmul_with(of_others, true, false) * square.recip();
        rest = others - first * along;
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{Device, Program};

    #[test]
    fn a_fit_that_is_asked_of_other_paths_predicts_as_of_its_own() {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let column = |n: usize, f: &dyn Fn(f64) -> f64| {
                Tensor::literal_f32(&(0..n).map(|i| f(i as f64)).collect::<Vec<_>>())
            };
            let of = |t: usize, n: usize, seed: f64| {
                let obs = column(t * 2 * n * 2, &|i| (1.7 * i + seed).sin()).reshape(&[t, 2, n, 2]);
                let valid = Tensor::iota(&[t, 2, n, 1], 0).lt(Tensor::constant_u32(t as u32 - 1));
                Paths {
                    obs,
                    next_obs: obs,
                    action: obs,
                    reward: obs.slice(3, 0, 1),
                    valid,
                    env_infos: None,
                    agent_infos: None,
                }
            };
            let (fitted, other) = (of(6, 4, 0.3), of(4, 3, 2.0));
            // Linear in the features but for the clock, which nothing hides.
            let truth = |paths: &Paths| {
                let [x, y] = [0, 1].map(|i| paths.obs.slice(3, i, i + 1));
                x * 2.0 - y * 3.0 + y.square() * 0.5 + 0.75
            };
            let baseline = Baseline::LinearFeature;
            cx.output("own", baseline.asked(&fitted, truth(&fitted), 1e-5, &fitted));
            cx.output("fit", baseline.fit_predict(&fitted, truth(&fitted)));
            cx.output("other", baseline.asked(&fitted, truth(&fitted), 1e-5, &other));
            cx.output("truth", other.valid.select(truth(&other), Tensor::constant_f32(0.0)));
            cx.output("zero", Baseline::Zero.asked(&fitted, truth(&fitted), 1e-5, &other));
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let read = |name: &str| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
        for (got, want) in [("own", "fit"), ("other", "truth")] {
            let (got, want) = (read(got), read(want));
            let worst = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(worst < 2e-3 && want.iter().any(|x| x.abs() > 1.0), "{worst}: {got:?} {want:?}");
        }
        assert_eq!(read("zero"), [0.0; 24]);
    }

    #[test]
    fn a_larger_regularisation_draws_predictions_to_zero() {
        // Features that are 0, and 1: the prediction of n targets y is Σ y / (n + r), over valid steps.
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let zero = Tensor::zeros(&[3, 1, 2, 1]);
            let targets = Tensor::literal_f32(&[1.0, 2.0, 3.0, 5.0, 8.0, 100.0]).reshape(&[3, 1, 2, 1]);
            let valid = Tensor::literal_u32(&[1, 1, 1, 1, 1, 0]).reshape(&[3, 1, 2, 1]);
            let paths = Paths {
                obs: zero,
                next_obs: zero,
                action: zero,
                reward: targets,
                valid,
                env_infos: None,
                agent_infos: None,
            };
            for (name, regularisation) in [("none", 1e-5), ("some", 3.0)] {
                cx.output(name, Baseline::MultiFeature.regularised(&paths, targets, regularisation));
            }
            cx.output("default", Baseline::MultiFeature.fit_predict(&paths, targets));
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let read = |name: &str| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
        for (name, want) in [("none", 3.8), ("default", 3.8), ("some", 19.0 / 8.0)] {
            let got = read(name);
            assert!(got[..5].iter().all(|x| (x - want).abs() < 1e-4) && got[5] == 0.0, "{name}: {got:?}");
        }
    }
}
