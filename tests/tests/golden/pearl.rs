//! PEARL's beliefs, and one whole update of it, against garage's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use quickstudy_core::algo::Held;
use quickstudy_core::env::{ActionSpace, Dim, EnvSpec, builtin};
use quickstudy_core::grad::value_and_grad;
use quickstudy_core::host::EnvPlace;
use quickstudy_core::learn::PolyakConfig;
use quickstudy_core::meta::PearlConfig;
use quickstudy_core::meta::pearl::{Belief, ContextEncoder, PearlBatch, PearlNets};
use quickstudy_core::nn::{Activation, Layout};
use quickstudy_core::optim::Adam;
use quickstudy_core::play::Iteration;
use quickstudy_core::policy::LayersConfig;
use quickstudy_core::program::Outputs;
use quickstudy_core::replay::Transitions;
use quickstudy_core::{Array, Context, Device, Program, State, Tensor};
use quickstudy_tests::golden::{items, load, number, numbers};
use serde_json::Value;

fn spec(observations: usize, actions: usize) -> EnvSpec {
    let dims = |count: usize| (0..count).map(|i| Dim::new(format!("{i}"), -1.0, 1.0)).collect::<Vec<_>>();
    EnvSpec::new("golden", dims(observations), ActionSpace::continuous(dims(actions)), 10)
}

/// A list of lists of the same length, as a tensor of this shape.
fn tensor(value: &Value, shape: &[usize]) -> Tensor {
    Tensor::literal_f32(&numbers(value)).reshape(shape)
}

/// Outputs by name that a test expects, and what they should be.
#[derive(Default)]
struct Expected(Vec<(String, Vec<f64>)>);

impl Expected {
    fn output(&mut self, cx: &mut Context, name: &str, got: Tensor, want: &Value) {
        cx.output(name, got.reshape(&[got.len()]));
        self.0.push((name.to_owned(), numbers(want)));
    }

    fn check(&self, device: &Device, out: &Outputs) {
        assert!(!self.0.is_empty());
        for (name, want) in &self.0 {
            near(name, &read(device, out.get(name).unwrap()), want);
        }
    }
}

fn read(device: &Device, array: &Array) -> Vec<f64> {
    pollster::block_on(device.read(array)).unwrap()
}

fn near(name: &str, got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{name}");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() < 2e-6 * (1.0 + want.abs()), "{name} {i}: {got}, expected {want}");
    }
}

/// Rows and columns of a list of lists.
fn sizes(value: &Value) -> [usize; 2] {
    let rows = items(value);
    [rows.len(), numbers(&rows[0]).len()]
}

/// The belief that follows from outputs of an encoder, `[1, E, C, W]`: its only layer passes on what it reads.
fn believed(outputs: Tensor, latent: usize, use_information_bottleneck: bool) -> Belief {
    let (tasks, width) = (outputs.size(1), outputs.size(3));
    let config = PearlConfig {
        latent_dim: latent,
        encoder_hidden_sizes: Vec::new(),
        use_information_bottleneck,
        ..PearlConfig::default()
    };
    // O + A + 1 numbers are read, and 2 Z or Z of them are a belief's.
    let encoder = ContextEncoder::new(&mut Layout::new(), &config, &spec(width - 2, 1));
    let same: Vec<f64> = (0..width * width).map(|i| f64::from(u8::from(i % width == i / width))).collect();
    let parts = [Tensor::literal_f32(&same).reshape(&[1, width, width]), Tensor::zeros(&[1, width])];
    encoder.belief(&parts, &encoder.after(&parts, &encoder.nothing([1, tasks]), outputs, None))
}

#[test]
fn products_of_normal_densities_and_their_gradients_are_those_of_garage() {
    let golden = load("pearl_gaussians.json");
    let device = Device::cpu(1);
    // A case without is about the least deviation, which is the encoder's and not the product's.
    let cases = items(&golden["product"]).iter().filter(|case| case.get("grad_of").is_some());
    assert!(cases.clone().count() > 0);
    for case in cases {
        assert_eq!(case["grad_of"], "sum(mu)+2*sum(sigma_squared)");
        let [rows, d] = sizes(&case["mus"]);
        let mut expected = Expected::default();
        let mut program = Program::new(&device, |cx| {
            let at = ["mus", "sigmas_squared"].map(|name| tensor(&case[name], &[1, rows, d]));
            let product = |at: &[Tensor]| {
                let precision = at[1].recip();
                Belief::of_product(precision.sum_keep(1), (at[0] * precision).sum_keep(1))
            };
            let belief = product(&at);
            let (_, gradients) = value_and_grad(&at, |at| {
                let belief = product(at);
                belief.mean.sum_all() + belief.variance.unwrap().sum_all() * 2.0
            });
            expected.output(cx, "mu", belief.mean, &case["mu"]);
            expected.output(cx, "sigma_squared", belief.variance.unwrap(), &case["sigma_squared"]);
            expected.output(cx, "grad_mus", gradients[0], &case["grad_mus"]);
            expected.output(cx, "grad_sigmas_squared", gradients[1], &case["grad_sigmas_squared"]);
        })
        .unwrap();
        expected.check(&device, &program.run(&State::new(), &[], &[]).unwrap());
    }
}

#[test]
fn an_encoder_keeps_to_the_least_deviation_of_garage() {
    let golden = load("pearl_gaussians.json");
    let device = Device::cpu(1);
    for case in items(&golden["product"]) {
        let [rows, d] = sizes(&case["mus"]);
        // σ² = ln(1 + e^ρ).
        let rho: Vec<f64> = numbers(&case["sigmas_squared"]).iter().map(|variance| variance.exp_m1().ln()).collect();
        let mut expected = Expected::default();
        let mut program = Program::new(&device, |cx| {
            let rho = Tensor::literal_f32(&rho).reshape(&[1, 1, rows, d]);
            let outputs = Tensor::concat(&[tensor(&case["mus"], &[1, 1, rows, d]), rho], 3);
            let belief = believed(outputs, d, true);
            expected.output(cx, "mu", belief.mean, &case["mu"]);
            expected.output(cx, "sigma_squared", belief.variance.unwrap(), &case["sigma_squared"]);
        })
        .unwrap();
        expected.check(&device, &program.run(&State::new(), &[], &[]).unwrap());
    }
}

#[test]
fn beliefs_their_draws_and_their_divergence_are_those_of_garage() {
    let golden = load("pearl_gaussians.json");
    let device = Device::cpu(1);
    for case in items(&golden["posterior"]) {
        let bottleneck = case["use_information_bottleneck"].as_bool().unwrap();
        let outputs = items(&case["encoder_output"]);
        let ([c, width], [tasks, latent]) = (sizes(&outputs[0]), sizes(&case["z_means"]));
        let mut expected = Expected::default();
        let mut program = Program::new(&device, |cx| {
            let belief = believed(tensor(&case["encoder_output"], &[1, tasks, c, width]), latent, bottleneck);
            expected.output(cx, "z_means", belief.mean, &case["z_means"]);
            let normal = match bottleneck {
                true => tensor(&case["noise"], &[1, tasks, latent]),
                // A belief that is one point has no use for it.
                false => Tensor::ones(&[1, tasks, latent]),
            };
            expected.output(cx, "z", belief.draw(normal), &case["z"]);
            assert_eq!(belief.variance.is_some(), bottleneck);
            if let Some(variance) = belief.variance {
                expected.output(cx, "z_vars", variance, &case["z_vars"]);
                expected.output(cx, "kl_sum", belief.divergence(), &case["kl_sum"]);
            }
        })
        .unwrap();
        expected.check(&device, &program.run(&State::new(), &[], &[]).unwrap());
    }
}

/// The tensors of a golden network by our names: hidden layers, and all of its output layers side by side as the last
/// one.
fn named(prefix: &str, net: &Value, to: &mut BTreeMap<String, Vec<f64>>) {
    let layer = |ending: &str, hidden: bool| {
        let fits = |key: &&String| key.ends_with(ending) && key.contains("_output_layers") != hidden;
        net.as_object().unwrap().iter().find(|(key, _)| fits(key)).map(|(_, value)| numbers(value))
    };
    for kind in ["weight", "bias"] {
        let all = |hidden: bool| (0..).map_while(move |i| layer(&format!("_layers.{i}.linear.{kind}"), hidden));
        let hidden: Vec<Vec<f64>> = all(true).collect();
        let last: Vec<f64> = all(false).flatten().collect();
        assert!(!hidden.is_empty() && !last.is_empty(), "{prefix}");
        for (i, numbers) in hidden.into_iter().chain([last]).enumerate() {
            to.insert(format!("{prefix}.{i}.{kind}"), numbers);
        }
    }
}

/// All parameters that the policy, the encoder, the critics and the value function consist of, by our names.
fn parameters(nets: &Value) -> BTreeMap<String, Vec<f64>> {
    let mut all = BTreeMap::new();
    let names =
        [("policy", "policy"), ("encoder", "encoder"), ("critic.0", "qf1"), ("critic.1", "qf2"), ("value", "vf")];
    names.into_iter().for_each(|(ours, theirs)| named(ours, &nets[theirs], &mut all));
    all
}

/// θ of named tensors, whose matrices are `[outputs, inputs]`.
fn joined(layout: &Layout, parts: &BTreeMap<String, Vec<f64>>) -> Vec<f64> {
    let mut theta = vec![f64::NAN; layout.len()];
    for part in layout.parts() {
        let numbers = &parts[&part.name];
        assert_eq!(numbers.len(), part.shape.iter().product::<usize>(), "{}", part.name);
        part.places().zip(numbers).for_each(|(place, x)| theta[place] = *x);
    }
    assert!(theta.iter().all(|x| x.is_finite()), "each parameter has a number");
    theta
}

#[test]
fn an_update_is_that_of_garage() {
    let golden = load("pearl_update.json");
    let number = |name: &str| number(&golden["config"][name]);
    let ([tasks, latent], [hidden, _]) =
        (sizes(&golden["z"]), sizes(&golden["params_before"]["encoder"]["_layers.0.linear.weight"]));
    let [batch, observations] = sizes(&golden["replay"]["0"]["observations"]);
    let [_, actions] = sizes(&golden["replay"]["0"]["actions"]);
    let [context, _] = sizes(&golden["context"]["0"]["rewards"]);
    // A step of Adam without averages is α g / (|g| + ε): with ε = 10⁶ and 10⁶ times the rate, that of plain descent.
    let large = 1e6;
    let rate = number("lr") * large;
    let config = PearlConfig {
        latent_dim: latent,
        encoder_hidden_sizes: vec![hidden],
        kl_lambda: number("kl_lambda"),
        policy_lr: rate,
        qf_lr: rate,
        vf_lr: rate,
        context_lr: rate,
        // These two have no gradient there.
        policy_mean_reg_coeff: 0.0,
        policy_std_reg_coeff: 0.0,
        policy_pre_activation_coeff: number("policy_pre_activation_coeff"),
        polyak: PolyakConfig { tau: number("soft_target_tau") },
        gamma: number("discount"),
        reward_scale: number("reward_scale"),
        net: LayersConfig { hidden: vec![hidden], activation: Activation::Relu, ..PearlConfig::default().net },
        ..PearlConfig::default()
    };
    let mut nets = PearlNets::new(&config, &spec(observations, actions)).unwrap();
    nets.optimiser = Adam { beta1: 0.0, beta2: 0.0, eps: large, corrected: false };

    let (before, after) = (parameters(&golden["params_before"]), parameters(&golden["params_after"]));
    let value = {
        let whole = nets.layout();
        let first = whole.slices().find(|(name, ..)| name.starts_with("value.")).map(|(.., offset)| offset).unwrap();
        whole.between(first, whole.len())
    };
    let target = |nets: &Value| {
        let mut parts = BTreeMap::new();
        named("value", &nets["target_vf"], &mut parts);
        joined(&value, &parts)
    };

    let device = Device::cpu(1);
    // Nobody plays, but an iteration has a place.
    let env = builtin("point-robot").unwrap();
    let mut expected = Expected::default();
    let mut program = Program::new(&device, |cx| {
        let held = Held::declare(cx, &nets.entries(), 1);
        let encoder = nets.acting_parts(held.theta()).split_off(nets.policy(None).slices);
        let of = |from: &str, name: &str, rows: usize| {
            let all: Vec<f64> = (0..tasks).flat_map(|task| numbers(&golden[from][task.to_string()][name])).collect();
            Tensor::literal_f32(&all).reshape(&[1, tasks * rows, all.len() / (tasks * rows)])
        };
        let transitions = |from: &str, rows: usize| {
            let of = |name: &str| of(from, name, rows);
            let [obs, next_obs, action] = ["observations", "next_observations", "actions"].map(of);
            Transitions { obs, action, next_obs, reward: of("rewards"), terminated: of("dones") }
        };
        let seen = transitions("context", context);
        let seen = nets.encoder.transitions(seen.obs, seen.action, seen.reward, seen.next_obs);
        // One draw for each task of the prior's z, and two of the belief's: the second is the one that is used. Then
        // those of actions.
        let noise = items(&golden["noise"]);
        let of_z: Vec<f64> = noise[2 * tasks..3 * tasks].iter().flat_map(numbers).collect();
        let data = PearlBatch {
            evidence: nets.encoder.nothing([1, tasks]),
            context: seen.reshape(&[1, tasks, context, seen.size(2)]),
            transitions: transitions("replay", batch),
            of_z: Tensor::literal_f32(&of_z).reshape(&[1, tasks, latent]),
            of_actions: tensor(&noise[3 * tasks], &[1, tasks * batch, actions]),
        };
        let updated = nets.update(cx, nets.begin(&held), &data);
        let belief = nets.encoder.belief(&encoder, &updated.evidence);
        expected.output(cx, "z_means", belief.mean, &golden["z_means"]);
        expected.output(cx, "z_vars", belief.variance.unwrap(), &golden["z_vars"]);
        expected.output(cx, "z", belief.draw(data.of_z), &golden["z"]);
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
            "theta" => device.array(&shape, &joined(nets.layout(), &before)),
            "target" => device.array(&shape, &target(&golden["params_before"])),
            _ => device.zeros(&shape, entry.dtype),
        };
        state.insert(entry.name, array.unwrap());
    }
    expected.check(&device, &program.run(&state, &[], &[]).unwrap());
    let theta = read(&device, state.get("theta").unwrap());
    for part in nets.layout().parts() {
        let got: Vec<f64> = part.places().map(|place| theta[place]).collect();
        near(&part.name, &got, &after[&part.name]);
        // What is compared has moved by much more than the tolerance.
        let moved = before[&part.name].iter().zip(&got).map(|(before, got)| (before - got).abs()).fold(0.0, f64::max);
        assert!(moved > 2e-5, "{}: {moved}", part.name);
    }
    near("target", &read(&device, state.get("target").unwrap()), &target(&golden["params_after"]));
}
