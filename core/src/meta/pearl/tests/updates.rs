//! Updates: the loss that moves each network, and the length of its steps.

use super::*;
use crate::grad::value_and_grad;
use crate::host::EnvPlace;
use crate::optim::Adam;

/// Tasks of an update.
const M: usize = 2;
/// Transitions of each task.
const B: usize = 6;
/// Transitions of each task's context.
const C: usize = 4;

/// θ before and after an update.
struct Step {
    layout: Layout,
    before: Vec<f64>,
    after: Vec<f64>,
}

impl Step {
    /// The change of the slices whose names begin with `name`.
    fn of(&self, name: &str) -> Vec<f64> {
        let mut all = Vec::new();
        for (slice, shape, offset) in self.layout.slices().filter(|(slice, ..)| slice.starts_with(name)) {
            let range = offset..offset + shape.iter().product::<usize>();
            assert!(!range.is_empty(), "{slice}");
            all.extend(self.after[range.clone()].iter().zip(&self.before[range]).map(|(new, old)| new - old));
        }
        assert!(!all.is_empty(), "no slice begins with {name}");
        all
    }

    /// The largest change of a parameter of these slices.
    fn furthest(&self, name: &str) -> f64 {
        self.of(name).into_iter().map(f64::abs).fold(0.0, f64::max)
    }
}

/// Sets numbers of the slice `name`: `f` gets row, column and number of a matrix
/// `[inputs, outputs]`, or of a bias as one row.
fn set(layout: &Layout, theta: &mut [f64], name: &str, f: impl Fn(usize, usize, f64) -> f64) {
    let (_, shape, offset) = layout.slices().find(|(slice, ..)| *slice == name).unwrap();
    let columns = shape[shape.len() - 1];
    for (i, x) in theta[offset..][..shape.iter().product()].iter_mut().enumerate() {
        *x = f(i / columns, i % columns, *x);
    }
}

/// Makes critics that ignore z: rows from O + A on of their first layer are 0.
fn without_z(layout: &Layout, theta: &mut [f64]) {
    for critic in ["critic.0.0.weight", "critic.1.0.weight"] {
        set(layout, theta, critic, |row, _, x| if row < 4 { x } else { 0.0 });
    }
}

/// Makes one update on made-up data, from parameters that `change` has changed.
fn step(config: &PearlConfig, optimiser: Adam, change: impl FnOnce(&Layout, &mut [f64])) -> Step {
    let (env, device) = (env(), Device::cpu(1));
    let mut nets = PearlNets::new(config, env.spec()).unwrap();
    nets.optimiser = optimiser;
    let layout = nets.layout().clone();
    let mut theta = layout.init([5, 6]);
    change(&layout, &mut theta);
    let mut program = Program::new(&device, |cx| {
        let held = Held::declare(cx, &nets.entries(), 1);
        let all = |width: usize, seed: usize| uneven(&[1, M * B, width], seed);
        let data = PearlBatch {
            evidence: nets.encoder.nothing([1, M]),
            context: uneven(&[1, M, C, nets.encoder.width()], 1),
            transitions: Transitions {
                obs: all(2, 2),
                action: all(2, 3),
                next_obs: all(2, 4),
                reward: all(1, 5),
                terminated: Tensor::zeros(&[1, M * B, 1]),
            },
            of_z: uneven(&[1, M, 3], 6),
            of_actions: all(2, 7),
        };
        let updated = nets.update(cx, nets.begin(&held), &data);
        let key = [0; 2].map(|word| Tensor::constant_u32(word).broadcast_to(&[1, 1]));
        let place = EnvPlace::from(&env);
        let mut it = Iteration::new(cx, &place, key, Tensor::constant_u32(1));
        nets.keep(&mut it, &updated.learner);
    })
    .unwrap();
    let mut state = State::new();
    for entry in nets.entries() {
        let shape = [&[1], &entry.shape[..]].concat();
        let array = match entry.name {
            "theta" => device.array(&shape, &theta),
            // The parameters of the value function in the critics' targets.
            "target" => device.array(&shape, &numbers(entry.shape[0], 8)),
            _ => device.zeros(&shape, entry.dtype),
        };
        state.insert(entry.name, array.unwrap());
    }
    let before = read(&device, state.get("theta").unwrap());
    program.run(&state, &[], &[]).unwrap();
    Step { layout, before, after: read(&device, state.get("theta").unwrap()) }
}

/// Adam with an ε so small that its first step has full length wherever there is any gradient, and so shows where one
/// is.
fn any_gradient() -> Adam {
    Adam { eps: 1e-12, ..Adam::default() }
}

/// The ε of [`descent`], so large that a step is the gradient times the rate, divided by it.
const LARGE: f64 = 1e6;

fn descent() -> Adam {
    Adam { beta1: 0.0, beta2: 0.0, eps: LARGE, corrected: false }
}

/// The settings with equal rates everywhere, for [`descent`].
fn alike(rate: f64, config: PearlConfig) -> PearlConfig {
    let rate = rate * LARGE;
    PearlConfig { policy_lr: rate, qf_lr: rate, vf_lr: rate, context_lr: rate, ..config }
}

#[test]
fn the_critics_and_the_divergence_each_move_the_encoder() {
    let kl = |kl_lambda: f64| PearlConfig { kl_lambda, ..config() };
    for encoder in [EncoderKind::Mlp, EncoderKind::Gru] {
        let config = |kl_lambda: f64| PearlConfig { encoder, ..kl(kl_lambda) };
        let by_critics = step(&config(0.0), any_gradient(), |_, _| ());
        let by_divergence = step(&config(0.1), any_gradient(), without_z);
        for step in [by_critics, by_divergence] {
            assert!((step.furthest("encoder.") / 3e-4 - 1.0).abs() < 1e-2, "{}", step.furthest("encoder."));
            // Each layer of it.
            for (name, ..) in step.layout.slices().filter(|(name, ..)| name.starts_with("encoder.")) {
                assert!(step.furthest(name) > 1e-4, "{name}");
            }
        }
    }
}

#[test]
fn neither_the_policy_nor_the_value_function_nor_targets_move_the_encoder() {
    // Their steps are huge and z is among their inputs, but the critics do not look at it and nothing holds the belief
    // to the prior.
    let config =
        PearlConfig { kl_lambda: 0.0, policy_lr: 1e3, vf_lr: 1e3, policy_pre_activation_coeff: 1.0, ..config() };
    let step = step(&config, any_gradient(), without_z);
    assert_eq!(step.furthest("encoder."), 0.0);
    assert!(step.furthest("policy.") > 900.0 && step.furthest("value.") > 900.0);
    assert!((step.furthest("critic.") / 3e-4 - 1.0).abs() < 1e-2);
    // A bottleneck or none, with units or without.
    for config in kinds() {
        let still = self::step(&PearlConfig { kl_lambda: 0.0, ..config.clone() }, any_gradient(), without_z);
        assert_eq!(still.furthest("encoder."), 0.0, "{config:?}");
        let moved = self::step(&PearlConfig { kl_lambda: 0.0, ..config.clone() }, any_gradient(), |_, _| ());
        assert!(moved.furthest("encoder.") > 1e-4, "{config:?}");
    }
}

#[test]
fn the_encoders_gradient_is_the_critics_and_so_many_times_the_divergences() {
    let of = |kl_lambda: f64, change: fn(&Layout, &mut [f64])| {
        step(&alike(0.1, PearlConfig { kl_lambda, ..config() }), descent(), change).of("encoder.")
    };
    let critics = of(0.0, |_, _| ());
    let divergence = of(1.0, without_z);
    let both = of(2.5, |_, _| ());
    assert!(critics.iter().chain(&divergence).any(|x| x.abs() > 1e-2));
    let sum: Vec<f64> = critics.iter().zip(&divergence).map(|(critics, kl)| critics + 2.5 * kl).collect();
    assert!(furthest(&both, &sum) < 2e-6, "{}", furthest(&both, &sum));
}

#[test]
fn a_belief_that_is_a_point_has_no_divergence() {
    for encoder in [EncoderKind::Mlp, EncoderKind::Gru] {
        let config = PearlConfig { encoder, use_information_bottleneck: false, kl_lambda: 10.0, ..config() };
        assert_eq!(step(&config, any_gradient(), without_z).furthest("encoder."), 0.0);
    }
}

#[test]
fn each_network_has_its_own_step_size() {
    let base = alike(0.01, config());
    let reference = step(&base, descent(), |_, _| ());
    let faster = |change: fn(&mut PearlConfig)| {
        let mut config = base.clone();
        change(&mut config);
        step(&config, descent(), |_, _| ())
    };
    let moves = |step: &Step, name: &str, times: f64| {
        let want: Vec<f64> = reference.of(name).iter().map(|x| times * x).collect();
        let error = furthest(&step.of(name), &want);
        assert!(error < 1e-6 && reference.furthest(name) > 1e-4, "{name} {error}");
    };
    let encoder = faster(|config| config.context_lr *= 3.0);
    moves(&encoder, "encoder.", 3.0);
    moves(&encoder, "critic.", 1.0);
    let critics = faster(|config| config.qf_lr *= 3.0);
    moves(&critics, "encoder.", 1.0);
    moves(&critics, "critic.", 3.0);
    let value = faster(|config| config.vf_lr *= 3.0);
    moves(&value, "value.", 3.0);
    moves(&value, "policy.", 1.0);
    moves(&value, "encoder.", 1.0);
    let policy = faster(|config| config.policy_lr *= 3.0);
    moves(&policy, "policy.", 3.0);
    moves(&policy, "value.", 1.0);
}

#[test]
fn critics_begin_apart() {
    let step = step(&config(), any_gradient(), |_, _| ());
    let first = |name: &str| {
        let (_, _, offset) = step.layout.slices().find(|(slice, ..)| *slice == name).unwrap();
        step.before[offset..offset + 35].to_vec()
    };
    // 7 numbers that 5 units read.
    assert!(furthest(&first("critic.0.0.weight"), &first("critic.1.0.weight")) > 0.1);
}

#[test]
fn regularisers_have_the_gradients_of_their_formula() {
    // Two actions of three numbers; factors of means, of logarithms of deviations, and of draws.
    let (rows, width, factors) = (2.0, 3.0, [0.3, 0.7, 1.1]);
    let got = compute(|_| {
        let at: Vec<Tensor> = (1..4).map(|seed| uneven(&[1, 2, 3], seed)).collect();
        let of = |factors: [f64; 3]| {
            let factors = Regularisers { mean: factors[0], std: factors[1], draw: factors[2] };
            let (loss, gradients) = value_and_grad(&at, |at| {
                regularisation(&PolicyNumbers { mean: at[0], log_std: at[1], drawn: at[2] }, factors).sum_all()
            });
            [&[loss], &gradients[..]].concat()
        };
        [of(factors), of([0.3, 0.7, 0.0])].concat()
    });
    let squares = |seed: usize| numbers(6, seed).iter().map(|x| x * x).sum::<f64>();
    let [mean, std, drawn] = factors;
    let loss = mean * squares(1) / (rows * width) + std * squares(2) / (rows * width) + drawn * squares(3) / rows;
    assert!((got[0][0] - loss).abs() < 1e-6, "{} {loss}", got[0][0]);
    // Averages over an action's numbers have a third of the slope that sums have.
    for (i, slope) in [2.0 * mean / (rows * width), 2.0 * std / (rows * width), 2.0 * drawn / rows].iter().enumerate() {
        let want: Vec<f64> = numbers(6, i + 1).iter().map(|x| slope * x).collect();
        assert!(furthest(&got[1 + i], &want) < 1e-6, "{i}");
    }
    assert_eq!(got[7], [0.0; 6], "no factor, no slope");
    assert!((got[4][0] - loss + drawn * squares(3) / rows).abs() < 1e-6);
}

#[test]
fn regularisers_move_the_policy_of_an_update() {
    // A policy that says the same everywhere: two means, and two logarithms of deviations.
    let says = [0.5, -0.8, 0.3, -0.6];
    let constant = |layout: &Layout, theta: &mut [f64]| {
        set(layout, theta, "policy.1.weight", |_, _, _| 0.0);
        set(layout, theta, "policy.1.bias", |_, i, _| says[i]);
    };
    let rate = 0.1;
    let of = |mean: f64, std: f64, drawn: f64| {
        let coefficients = PearlConfig {
            policy_mean_reg_coeff: mean,
            policy_std_reg_coeff: std,
            policy_pre_activation_coeff: drawn,
            ..config()
        };
        step(&alike(rate, coefficients), descent(), constant)
    };
    let without = of(0.0, 0.0, 0.0);
    let pull = |step: &Step| -> Vec<f64> {
        step.of("policy.1.bias").iter().zip(without.of("policy.1.bias")).map(|(with, without)| with - without).collect()
    };
    // The derivative of c mean(x²) over an action's two numbers, where x is a bias: c x.
    let by_mean: Vec<f64> = says.iter().enumerate().map(|(i, x)| if i < 2 { -rate * 0.4 * x } else { 0.0 }).collect();
    let by_std: Vec<f64> = says.iter().enumerate().map(|(i, x)| if i < 2 { 0.0 } else { -rate * 0.4 * x }).collect();
    assert!(furthest(&pull(&of(0.4, 0.0, 0.0)), &by_mean) < 1e-6);
    assert!(furthest(&pull(&of(0.0, 0.4, 0.0)), &by_std) < 1e-6);
    // Draws are μ + σ n: the derivatives of c mean(Σ u²) are 2 c mean(u) and 2 c mean(u σ n).
    let noise = numbers(2 * M * B, 7);
    let by_draw: Vec<f64> = (0..4)
        .map(|i| {
            let (mean, std) = (says[i % 2], f64::exp(says[2 + i % 2]));
            let of = |n: &f64| (mean + std * n) * if i < 2 { 1.0 } else { std * n };
            -rate * 0.4 * 2.0 * noise.iter().skip(i % 2).step_by(2).map(of).sum::<f64>() / (M * B) as f64
        })
        .collect();
    assert!(furthest(&pull(&of(0.0, 0.0, 0.4)), &by_draw) < 1e-6);
}
