//! Advantages, losses and distributions against numbers of independent implementations, on the f64 reference device
//! and on the CPU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::algo::on_policy::{likelihood_loss, mean};
use quickstudy_core::algo::ppo::{clip_loss, value_loss};
use quickstudy_core::credit::{ValuedSteps, gae};
use quickstudy_core::dist::Gaussian;
use quickstudy_core::grad::value_and_grad;
use quickstudy_core::learn::log_ratio;
use quickstudy_core::{DType, Device, Program, State, Tensor};
use quickstudy_tests::golden::{items, load, number, numbers};
use serde_json::Value;

/// A device and how far its results may be off: element by element, or relative to the norm of all.
struct Bar {
    device: Device,
    each: f64,
    norm: f64,
}

/// `each`: the tolerance on the reference device, 1e-9 for files made in f64 and 1e-5 for those made in f32.
fn bars(each: f64) -> [Bar; 2] {
    [
        Bar { device: Device::reference(), each, norm: f64::INFINITY },
        Bar { device: Device::cpu(1), each: f64::INFINITY, norm: 1e-5 },
    ]
}

impl Bar {
    /// Results of a traced function of f32 inputs `(shape, values)`.
    fn run(&self, inputs: &[(Vec<usize>, Vec<f64>)], f: impl Fn(&[Tensor]) -> Vec<Tensor>) -> Vec<Vec<f64>> {
        let names: Vec<String> = (0..inputs.len()).map(|i| i.to_string()).collect();
        let mut program = Program::new(&self.device, |cx| {
            let x: Vec<Tensor> =
                inputs.iter().zip(&names).map(|((shape, _), n)| cx.input(n, shape, DType::F32)).collect();
            for (i, y) in f(&x).into_iter().enumerate() {
                cx.output(&i.to_string(), y);
            }
        })
        .unwrap();
        let arrays: Vec<_> = inputs.iter().map(|(s, v)| self.device.array(s, v).unwrap()).collect();
        let named: Vec<_> = names.iter().map(String::as_str).zip(&arrays).collect();
        let out = program.run(&State::new(), &named, &[]).unwrap();
        out.iter().map(|(_, array)| pollster::block_on(self.device.read(array)).unwrap()).collect()
    }

    fn check(&self, what: &str, got: &[f64], expected: &[f64]) {
        assert_eq!(got.len(), expected.len(), "{what}");
        let norm = expected.iter().map(|x| x * x).sum::<f64>().sqrt();
        let off = got.iter().zip(expected).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
        assert!(off <= self.norm * norm, "{what} on {:?}: off by {off} of {norm}", self.device.caps().name);
        for (a, b) in got.iter().zip(expected) {
            assert!((a - b).abs() <= self.each * b.abs().max(1.0), "{what}: {a} instead of {b}");
        }
    }
}

/// Advantages of one rollout that ends in a terminal state after each of `ends`.
fn advantages(bar: &Bar, rewards: &[f64], values: &[f64], ends: &[usize], gamma: f64, lambda: f64) -> [Vec<f64>; 2] {
    let t = rewards.len();
    let done: Vec<u32> = (0..t).map(|i| u32::from(ends.contains(&i))).collect();
    let mut out = bar.run(&[(vec![t, 1], rewards.to_vec()), (vec![t, 1], values.to_vec())], |x| {
        let none = Tensor::constant_u32(0).broadcast_to(&[t, 1]);
        let steps = ValuedSteps {
            rewards: x[0],
            values: x[1],
            terminated: Tensor::literal_u32(&done).reshape(&[t, 1]),
            truncated: none,
            cut_values: x[1] + 5.0,
            last_value: Tensor::full(&[1], 77.0),
        };
        let out = gae(&steps, gamma, lambda);
        vec![out.advantages, out.returns]
    });
    let returns = out.pop().unwrap();
    [out.pop().unwrap(), returns]
}

#[test]
fn golden_pyrado_gae() {
    let file = load("pyrado_gae.json");
    for bar in bars(1e-9) {
        for case in items(&file["cases"]) {
            let (gamma, lambda) = (number(&case["gamma"]), number(&case["lamda"]));
            let values = numbers(&case["v_pred"]);
            let (mut all, mut discounted, mut first) = (Vec::new(), Vec::new(), 0);
            for rollout in items(&case["rewards"]) {
                let rewards = numbers(rollout);
                let end = first + rewards.len();
                let [adv, returns] =
                    advantages(&bar, &rewards, &values[first..end], &[rewards.len() - 1], gamma, lambda);
                for ((a, r), v) in adv.iter().zip(&returns).zip(&values[first..end]) {
                    assert!((a + v - r).abs() < 1e-4, "returns are advantages plus values");
                }
                all.extend(adv);
                // With no values and λ = 1 the returns are the discounted sums of rewards.
                let zeros = vec![0.0; rewards.len()];
                let [_, sums] = advantages(&bar, &rewards, &zeros, &[rewards.len() - 1], gamma, 1.0);
                discounted.extend(sums);
                first = end;
            }
            if case["standardize_adv"].as_bool().unwrap() {
                let n = all.len() as f64;
                let mean = all.iter().sum::<f64>() / n;
                let std = (all.iter().map(|a| (a - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
                all.iter_mut().for_each(|a| *a = (*a - mean) / (std + 1e-8));
            }
            bar.check("advantages", &all, &numbers(&case["adv"]));
            // Of standardised advantages the file's targets are made of those, which is its source's mistake.
            let targets: Vec<f64> = all.iter().zip(&values).map(|(a, v)| a + v).collect();
            bar.check("targets", &targets, &numbers(&case["tdlambda_returns"]));
            bar.check("returns", &discounted, &numbers(&case["empirical_discounted_returns"]));
        }
    }
}

#[test]
fn golden_garage_gae_padded() {
    let file = load("garage_gae_padded.json");
    for bar in bars(1e-5) {
        for case in items(&file["cases"]) {
            let (gamma, lambda) = (number(&case["discount"]), number(&case["gae_lambda"]));
            let lengths = numbers(&case["lengths"]);
            let rows = items(&case["rewards"]).iter().zip(items(&case["baselines"])).zip(items(&case["advantages"]));
            for (((rewards, values), expected), length) in rows.zip(lengths) {
                let rewards = numbers(rewards);
                let ends = [length as usize - 1, rewards.len() - 1];
                let [adv, _] = advantages(&bar, &rewards, &numbers(values), &ends, gamma, lambda);
                bar.check("advantages", &adv, &numbers(expected));
            }
        }
    }
}

struct Losses {
    n: usize,
    d: usize,
    eps: f64,
    logp: Vec<f64>,
    logp_old: Vec<f64>,
    adv: Vec<f64>,
    v: Vec<f64>,
    v_old: Vec<f64>,
    target: Vec<f64>,
}

impl Losses {
    fn new(case: &Value) -> Losses {
        let (logp, adv) = (numbers(&case["log_probs"]), numbers(&case["adv"]));
        Losses {
            n: adv.len(),
            d: logp.len() / adv.len(),
            eps: number(&case["eps_clip"]),
            logp,
            logp_old: numbers(&case["log_probs_old"]),
            adv,
            v: numbers(&case["v_pred"]),
            v_old: numbers(&case["v_pred_old"]),
            target: numbers(&case["v_targ"]),
        }
    }
}

#[test]
fn golden_pyrado_losses_of_joint_ratios() {
    let file = load("pyrado_losses.json");
    for bar in bars(1e-9) {
        for case in items(&file["cases"]) {
            let l = Losses::new(case);
            let wide = vec![1, l.n, l.d];
            let inputs = [(wide.clone(), l.logp), (wide, l.logp_old), (vec![1, l.n, 1], l.adv)];
            let out = bar.run(&inputs, |x| {
                let ratio = log_ratio(x[0].sum_keep(2), x[1].sum_keep(2)).exp();
                vec![mean(clip_loss(ratio, x[2], Tensor::constant_f32(l.eps)))]
            });
            bar.check("joint", &out[0], &[number(&case["ppo_joint_ratio_reference"])]);
        }
    }
}

/// The file's losses clip each number of the action on its own: as if each were a sample with the same advantage.
#[test]
fn golden_pyrado_losses_and_gradients_per_number() {
    let file = load("pyrado_losses.json");
    for bar in bars(1e-9) {
        for case in items(&file["cases"]) {
            let l = Losses::new(case);
            let (n, d) = (l.n, l.d);
            let (value_coef, entropy_coef) = (number(&case["vfcn_coeff"]), number(&case["entropy_coeff"]));
            let log_std = numbers(&case["noise_log_std"]);
            let (many, few) = (vec![1, n * d, 1], vec![1, n, 1]);
            let adv: Vec<f64> = l.adv.iter().flat_map(|a| vec![*a; d]).collect();
            let inputs = [
                (many.clone(), l.logp),
                (few.clone(), l.v),
                (vec![1, log_std.len()], log_std),
                (many.clone(), l.logp_old),
                (many, adv),
                (few.clone(), l.v_old),
                (few, l.target),
            ];
            let out = bar.run(&inputs, |x| {
                let eps = Tensor::constant_f32(l.eps);
                let policy = |logp: Tensor| mean(clip_loss(log_ratio(logp, x[3]).exp(), x[4], eps)).sum_all();
                // The file counts the constant of the entropy once instead of once per number.
                let constant = 0.5 * (1.0 + std::f64::consts::TAU.ln());
                let entropy = |log_std: Tensor| {
                    let mean = Tensor::zeros(&[1, 1, log_std.size(1)]);
                    Gaussian::new(mean, log_std).entropy().sum_all() - constant * (log_std.size(1) as f64 - 1.0)
                };
                let ppo = value_and_grad(&x[..1], |p| policy(p[0]));
                let ppo2 = value_and_grad(&x[..3], |p| {
                    let value = mean(value_loss(p[1], x[6], Some((x[5], eps)))).sum_all() * 0.5;
                    policy(p[0]) + value * value_coef - entropy(p[2]) * entropy_coef
                });
                [&[ppo.0], &ppo.1[..], &[ppo2.0], &ppo2.1[..], &[entropy(x[2])]].concat()
            });
            let expected = [
                &case["ppo"]["loss"],
                &case["ppo"]["grad_log_probs"],
                &case["ppo2"]["loss"],
                &case["ppo2"]["grad_log_probs"],
                &case["ppo2"]["grad_v_pred"],
                &case["ppo2"]["grad_noise_log_std"],
                &case["noise_entropy_pyrado"],
            ];
            for (got, expected) in out.iter().zip(expected) {
                bar.check("loss", got, &numbers(expected));
            }
        }
    }
}

/// A2C's loss of policy, value function and exploration together, by joint log-probabilities. The file's mean
/// goes over the numbers of an action too, so that its policy term is a d-th of ours and the log-probability
/// of each number has a d-th of the gradient.
#[test]
fn golden_pyrado_losses_of_a2c() {
    let file = load("pyrado_losses.json");
    for bar in bars(1e-9) {
        for case in items(&file["cases"]) {
            let l = Losses::new(case);
            let (n, share) = (l.n, 1.0 / l.d as f64);
            let (value_coef, entropy_coef) = (number(&case["vfcn_coeff"]), number(&case["entropy_coeff"]));
            let log_std = numbers(&case["noise_log_std"]);
            let few = vec![1, n, 1];
            let inputs = [
                (vec![1, n, l.d], l.logp),
                (few.clone(), l.v),
                (vec![1, log_std.len()], log_std),
                (few.clone(), l.adv),
                (few, l.target),
            ];
            let out = bar.run(&inputs, |x| {
                let entropy = |log_std: Tensor| {
                    let mean = Tensor::zeros(&[1, 1, log_std.size(1)]);
                    Gaussian::new(mean, log_std).entropy().sum_all()
                };
                let (loss, gradients) = value_and_grad(&x[..3], |p| {
                    let policy = mean(likelihood_loss(p[0].sum_keep(2), x[3])).sum_all() * share;
                    let value = mean(value_loss(p[1], x[4], None)).sum_all() * 0.5;
                    policy + value * value_coef - entropy(p[2]) * entropy_coef
                });
                [&[loss], &gradients[..], &[entropy(x[2])]].concat()
            });
            let a2c = &case["a2c"];
            // The file counts the constant of the entropy once instead of once per number.
            let missing = number(&case["noise_entropy_exact"]) - number(&case["noise_entropy_pyrado"]);
            bar.check("loss", &out[0], &[number(&a2c["loss"]) - entropy_coef * missing]);
            for (got, name) in out[1..4].iter().zip(["grad_log_probs", "grad_v_pred", "grad_noise_log_std"]) {
                bar.check(name, got, &numbers(&a2c[name]));
            }
            bar.check("entropy", &out[4], &[number(&case["noise_entropy_exact"])]);
        }
    }
}

#[test]
fn golden_diagonal_gaussian() {
    let file = load("diagonal_gaussian.json");
    for bar in bars(1e-9) {
        for case in items(&file["cases"]) {
            let x = numbers(&case["x"]);
            let n = items(&case["x"]).len();
            let shape = vec![1, n, x.len() / n];
            let part = |which: &str, name: &str| (shape.clone(), numbers(&case[which][name]));
            let both = ["old", "new"].map(|which| [part(which, "mean"), part(which, "log_std")]);
            let out = bar.run(both.as_flattened(), |x| {
                let gaussian = |mean: Tensor, log_std: Tensor| Gaussian::with_variance(mean, (log_std * 2.0).exp());
                vec![gaussian(x[0], x[1]).kl(&gaussian(x[2], x[3]))]
            });
            bar.check("KL", &out[0], &numbers(&case["kl_old_new"]));
            for which in ["old", "new"] {
                let inputs = [
                    (shape.clone(), x.clone()),
                    (shape.clone(), numbers(&case[which]["mean"])),
                    (shape.clone(), numbers(&case[which]["log_std"])),
                ];
                let out = bar.run(&inputs, |x| {
                    let d = Gaussian::with_variance(x[1], (x[2] * 2.0).exp());
                    vec![d.log_prob(x[0]), d.entropy()]
                });
                bar.check("log-likelihood", &out[0], &numbers(&case[&format!("log_likelihood_{which}")]));
                if which == "new" {
                    bar.check("entropy", &out[1], &numbers(&case["entropy_new"]));
                }
            }
        }
    }
}
