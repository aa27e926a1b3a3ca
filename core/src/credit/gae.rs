//! Generalised advantage estimation.

use crate::Tensor;
use crate::learn::Metrics;
use crate::settings::{Range, SettingValue as _};
use crate::tensor::{require, scan_tree_back};

/// The steps of a rollout with their values. All tensors are `[T, …]` with equal further axes.
#[derive(Clone, Copy, Debug)]
pub struct ValuedSteps {
    /// Rewards.
    pub rewards: Tensor,
    /// v(sₜ), the values of the states before the steps.
    pub values: Tensor,
    /// 1 where the step ended the episode in a final state, u32.
    pub terminated: Tensor,
    /// 1 where a time limit cut the episode off, u32.
    pub truncated: Tensor,
    /// The value of the observation that the step led to, before any reset. It is read only where `truncated`.
    pub cut_values: Tensor,
    /// The value of the state after the last step, `[…]`. It is not read where the last step ended an episode.
    pub last_value: Tensor,
}

/// Advantages and value targets, `[T, …]`.
#[derive(Clone, Copy, Debug)]
pub struct Gae {
    /// The advantages Aₜ.
    pub advantages: Tensor,
    /// The TD(λ) returns, Aₜ + v(sₜ).
    pub returns: Tensor,
}

/// Computes generalised advantage estimates and value targets.
///
/// δₜ = rₜ + γ v'ₜ − v(sₜ),   Aₜ = δₜ + γλ (1 − endₜ) Aₜ₊₁
///
/// where v'ₜ is 0 if the step terminated, the value of the final observation if a time limit cut the episode off, and
/// v(sₜ₊₁) otherwise. endₜ is 1 in the first two cases.
///
/// Schulman et al. 2016, arXiv:1506.02438, eq. 16; time limits as in Pardo et al. 2018, arXiv:1712.00378.
///
/// γ and λ are in 0 to 1; others end the trace with an error.
#[track_caller]
pub fn gae(steps: &ValuedSteps, gamma: f64, gae_lambda: f64) -> Gae {
    require(Range::Unit.check("gamma", &gamma.to_value()));
    require(Range::Unit.check("gae_lambda", &gae_lambda.to_value()));
    let len = steps.rewards.size(0);
    let zero = steps.last_value * 0.0;
    let xs = [steps.rewards, steps.values, steps.terminated, steps.truncated, steps.cut_values];
    let from = (zero, steps.last_value);
    let (_, advantages) = scan_tree_back(len, &from, &xs, |_, (later, value_then): (Tensor, Tensor), row| {
        let [reward, value, terminated, truncated, cut_value] = row;
        let none = Tensor::constant_f32(0.0);
        let next_value = terminated.select(none, truncated.select(cut_value, value_then));
        let delta = reward + next_value * gamma - value;
        let advantage = delta + terminated.bit_or(truncated).select(none, later * (gamma * gae_lambda));
        ((advantage, value), advantage)
    });
    let advantages = advantages.unwrap_or(Tensor::poison());
    Gae { advantages, returns: advantages + steps.values }
}

/// The share of the variance of `returns` that `values` explain, over all but the first axis: `[S, …]` → `[S, 1]`.
///
/// It is 1 − Var(returns − values) / Var(returns): 1 is perfect, 0 no better than a constant.
/// It is 0 where the returns are constant.
#[track_caller]
pub fn explained_variance(values: Tensor, returns: Tensor) -> Tensor {
    let n = 1.0 / (returns.len() / returns.size(0).max(1)) as f64;
    explained_by(values, returns, &|x| x.sum_keep(1) * n)
}

/// The explained share of the variance over the valid rows of padded episodes:
/// `values, returns, weight: [S, B, 1]` → `[S, 1]`.
///
/// `weight` is the weight of each row in averages, as [`Paths::weights`](super::Paths::weights): 1/n for n valid rows,
/// 0 for padding, whose values and returns are not read.
#[track_caller]
pub fn explained_variance_of_valid(values: Tensor, returns: Tensor, weight: Tensor) -> Tensor {
    let weight = flat(weight);
    let (valid, none) = (weight.gt(Tensor::constant_f32(0.0)), Tensor::constant_f32(0.0));
    explained_by(values, returns, &|x| (valid.select(x, none) * weight).sum_keep(1))
}

/// Puts all numbers of a seed into one row, `[S, …]` → `[S, N]`.
fn flat(x: Tensor) -> Tensor {
    x.reshape(&[x.size(0), x.len() / x.size(0).max(1)])
}

/// The explained share of the variance, by a given average `[S, N]` → `[S, 1]`; [`Metrics::NONE`] where returns do not
/// vary.
fn explained_by(values: Tensor, returns: Tensor, mean: &dyn Fn(Tensor) -> Tensor) -> Tensor {
    let variance = |x: Tensor| {
        let x = flat(x);
        mean((x - mean(x)).square())
    };
    let total = variance(returns);
    let tiny = Tensor::constant_f32(1e-12);
    total.lt(tiny).select(Tensor::constant_f32(Metrics::NONE), 1.0 - variance(returns - values) / total.max(tiny))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{DType, Device, Program};

    struct Case<'a> {
        rewards: &'a [f64],
        values: &'a [f64],
        terminated: &'a [u32],
        truncated: &'a [u32],
        cut: &'a [f64],
        last: f64,
    }

    fn run(case: &Case<'_>, gamma: f64, lambda: f64) -> (Vec<f64>, Vec<f64>) {
        let device = Device::cpu(1);
        let t = case.rewards.len();
        let mut program = Program::new(&device, |cx| {
            let steps = ValuedSteps {
                rewards: cx.input("rewards", &[t, 1], DType::F32),
                values: cx.input("values", &[t, 1], DType::F32),
                terminated: cx.input("terminated", &[t, 1], DType::U32),
                truncated: cx.input("truncated", &[t, 1], DType::U32),
                cut_values: cx.input("cut", &[t, 1], DType::F32),
                last_value: cx.input("last", &[1], DType::F32),
            };
            let out = gae(&steps, gamma, lambda);
            cx.output("advantages", out.advantages);
            cx.output("returns", out.returns);
        })
        .unwrap();
        let f = |v: &[f64]| device.array(&[v.len(), 1], v).unwrap();
        let u = |v: &[u32]| device.array_u32(&[v.len(), 1], v).unwrap();
        let (r, v, c) = (f(case.rewards), f(case.values), f(case.cut));
        let (te, tr) = (u(case.terminated), u(case.truncated));
        let last = device.array(&[1], &[case.last]).unwrap();
        let inputs =
            [("rewards", &r), ("values", &v), ("terminated", &te), ("truncated", &tr), ("cut", &c), ("last", &last)];
        let out = program.run(&State::new(), &inputs, &[]).unwrap();
        let read = |name| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
        (read("advantages"), read("returns"))
    }

    fn close(got: &[f64], expected: &[f64]) {
        assert!(got.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{got:?} instead of {expected:?}");
    }

    #[test]
    fn every_kind_of_end_bootstraps_from_what_follows_it() {
        // γ = 0.5, λ = 0.5, by hand. Step 0 goes on, 1 terminates, 2 is cut off at a state worth 8, 3 ends the rollout
        // before a state worth 4.
        let case = Case {
            rewards: &[1.0, 2.0, 3.0, 4.0],
            values: &[0.5, 1.5, 2.5, 3.5],
            terminated: &[0, 1, 0, 0],
            truncated: &[0, 0, 1, 0],
            cut: &[99.0, 99.0, 8.0, 99.0],
            last: 4.0,
        };
        let (advantages, returns) = run(&case, 0.5, 0.5);
        let a3 = 4.0 + 0.5 * 4.0 - 3.5;
        let a2 = 3.0 + 0.5 * 8.0 - 2.5;
        let a1 = 2.0 - 1.5;
        let a0 = 1.0 + 0.5 * 1.5 - 0.5 + 0.25 * a1;
        close(&advantages, &[a0, a1, a2, a3]);
        close(&returns, &[a0 + 0.5, a1 + 1.5, a2 + 2.5, a3 + 3.5]);
    }

    #[test]
    fn gae_with_lambda_one_is_monte_carlo_minus_value() {
        let case = Case {
            rewards: &[1.0, -2.0, 3.0],
            values: &[0.3, 0.2, 0.1],
            terminated: &[0, 0, 1],
            truncated: &[0, 0, 0],
            cut: &[0.0; 3],
            last: 7.0,
        };
        let (_, returns) = run(&case, 0.9, 1.0);
        close(&returns, &[1.0 - 1.8 + 0.81 * 3.0, -2.0 + 2.7, 3.0]);
        let (advantages, _) = run(&case, 0.9, 0.0);
        close(&advantages, &[1.0 + 0.18 - 0.3, -2.0 + 0.09 - 0.2, 3.0 - 0.1]);
    }

    #[test]
    fn explained_variance_is_one_for_perfect_and_zero_for_constant_predictions() {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let returns = Tensor::literal_f32(&[1.0, 2.0, 4.0, 3.0, 3.0, 3.0]).reshape(&[2, 3]);
            cx.output("perfect", explained_variance(returns + 5.0, returns));
            cx.output("constant", explained_variance(Tensor::ones(&[2, 3]), returns));
            cx.output("opposite", explained_variance(-returns, returns));
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let read = |name| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
        // The other seed's returns do not vary.
        for (name, share) in [("perfect", 1.0), ("constant", 0.0), ("opposite", -3.0)] {
            let [one, other] = read(name)[..] else { panic!("two seeds") };
            close(&[one], &[share]);
            assert_eq!(other, Metrics::NONE, "{name}");
        }
    }
}
