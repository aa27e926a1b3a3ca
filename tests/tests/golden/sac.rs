//! SAC's losses against an update of Pyrado's, with plain gradient steps.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::algo::sac::{critic_loss, policy_loss, standardised, target, temperature_loss};
use quickstudy_core::dist::SquashedGaussian;
use quickstudy_core::grad::value_and_grad;
use quickstudy_core::replay::{Batch, Transitions};
use quickstudy_core::{Device, Program, State, Tensor};
use quickstudy_tests::golden::{items, load, numbers};
use serde_json::Value;

/// Weights `[inputs, outputs]` and biases of the named layers, in turn.
fn parts(net: &Value, layers: &[&str]) -> Vec<Tensor> {
    let of = |layer: &&str| {
        let (weight, bias) = (&net[format!("{layer}.weight")], numbers(&net[format!("{layer}.bias")]));
        let inputs = numbers(&items(weight)[0]).len();
        let weight = Tensor::literal_f32(&numbers(weight)).reshape(&[bias.len(), inputs]).permute(&[1, 0]);
        [weight, Tensor::literal_f32(&bias)]
    };
    layers.iter().flat_map(of).collect()
}

const POLICY: [&str; 4] = ["shared.hidden_layers.0", "shared.output_layer", "head_1", "head_2"];
const VALUE: [&str; 2] = ["net.hidden_layers.0", "net.output_layer"];

/// `x: [1, B, I]` through layer `i`.
fn linear(parts: &[Tensor], i: usize, x: Tensor) -> Tensor {
    let (rows, weight) = (x.size(1), parts[2 * i]);
    let out = x.reshape(&[rows, x.size(2)]).matmul(weight) + parts[2 * i + 1];
    out.reshape(&[1, rows, weight.size(1)])
}

fn relu(x: Tensor) -> Tensor {
    x.max(Tensor::constant_f32(0.0))
}

/// Upstream's deviation has no gradient.
fn distribution(parts: &[Tensor], obs: Tensor) -> SquashedGaussian {
    let shared = linear(parts, 1, relu(linear(parts, 0, obs)));
    SquashedGaussian::new(linear(parts, 2, shared), linear(parts, 3, shared).stop_gradient())
}

/// An action drawn with the golden file's noise, and its log-probability.
fn draw(parts: &[Tensor], obs: Tensor, noise: Tensor) -> (Tensor, Tensor) {
    let shared = linear(parts, 1, relu(linear(parts, 0, obs)));
    let (mean, std) = (linear(parts, 2, shared), linear(parts, 3, shared).stop_gradient().clamp(-20.0, 2.0).exp());
    let u = mean + std * noise;
    (u.tanh(), distribution(parts, obs).log_prob_before(u))
}

fn values(parts: &[Tensor], obs: Tensor, action: Tensor) -> [Tensor; 2] {
    let x = Tensor::concat(&[obs, action], 2);
    [0, 1].map(|net| linear(parts, 2 * net + 1, relu(linear(parts, 2 * net, x))))
}

fn descend(parts: &[Tensor], rate: f64, loss: impl Fn(&[Tensor]) -> Tensor) -> Vec<Tensor> {
    let mean = |loss: Tensor| loss.sum_all() * (1.0 / loss.len() as f64);
    let (_, gradients) = value_and_grad(parts, |parts| mean(loss(parts)));
    parts.iter().zip(gradients).map(|(part, gradient)| *part - gradient * rate).collect()
}

#[test]
fn an_update_is_that_of_pyrado() {
    let golden = load("pyrado_sac_update.json");
    for case in items(&golden["cases"]) {
        let (config, data, before, after) =
            (&case["config"], &case["data"], &case["params_before"], &case["params_after"]);
        let number = |name: &str| config[name].as_f64().unwrap();
        let device = Device::cpu(1);
        let mut expected: Vec<(String, Vec<f64>)> = Vec::new();
        let mut program = Program::new(&device, |cx| {
            let rows = items(&data["observations"]).len();
            let of = |name: &str| {
                let all = numbers(&data[name]);
                Tensor::literal_f32(&all).reshape(&[1, rows, all.len() / rows])
            };
            let [here, ahead] = [0, 1].map(|i| {
                let all = numbers(&items(&case["noise"])[i]);
                Tensor::literal_f32(&all).reshape(&[1, rows, all.len() / rows])
            });
            let rate = number("lr");
            let rate_of_alpha = if config["learn_ent_coeff"].as_bool().unwrap() { rate } else { 0.0 };
            let policy = parts(&before["policy"], &POLICY);
            let both = |a: &str, b: &str| [parts(&before[a], &VALUE), parts(&before[b], &VALUE)].concat();
            let (critics, targets) = (both("q1", "q2"), both("q1_targ", "q2_targ"));

            let (_, log_prob) = draw(&policy, of("observations"), here);
            let mean = log_prob.sum_keep(1).reshape(&[1, 1]) * (1.0 / rows as f64);
            let log_alpha = Tensor::constant_f32(number("ent_coeff_init").ln()).broadcast_to(&[1, 1]);
            let log_alpha = descend(&[log_alpha], rate_of_alpha, |parts| {
                temperature_loss(parts[0], mean, number("target_entropy"))
            })[0];
            let alpha = log_alpha.exp().unsqueeze(2);

            let (action, log_prob) = draw(&policy, of("next_observations"), ahead);
            let [a, b] = values(&targets, of("next_observations"), action);
            let (reward, discount) = (of("rewards"), Tensor::constant_f32(number("gamma")));
            let reward = if config["standardize_rew"].as_bool().unwrap() { standardised(reward) } else { reward };
            let y = target(reward * number("rew_scale"), of("done"), a.min(b), log_prob, alpha, discount);
            let batch = Batch::of(Transitions { obs: y, action: y, next_obs: y, reward: y, terminated: y }, 1.0);
            let new_critics = descend(&critics, rate, |parts| {
                critic_loss(values(parts, of("observations"), of("actions")), y, &batch)
            });
            let new_policy = descend(&policy, rate, |parts| {
                let (action, log_prob) = draw(parts, of("observations"), here);
                let [a, b] = values(&new_critics, of("observations"), action);
                policy_loss(alpha, log_prob, a.min(b))
            });
            let tau = 1.0 - number("tau");
            let new_targets: Vec<Tensor> =
                targets.iter().zip(&new_critics).map(|(t, q)| *t + (*q - *t) * tau).collect();

            let mut output = |name: &str, tensors: &[Tensor], want: Vec<f64>| {
                let flat: Vec<Tensor> = tensors.iter().map(|x| x.reshape(&[x.len()])).collect();
                cx.output(name, Tensor::concat(&flat, 0));
                expected.push((name.to_owned(), want));
            };
            let want = |net: &Value, layers: &[&str]| -> Vec<f64> {
                let of = |layer: &&str| {
                    let weight = items(&net[format!("{layer}.weight")]);
                    let rows: Vec<Vec<f64>> = weight.iter().map(numbers).collect();
                    let mut flat: Vec<f64> =
                        (0..rows[0].len()).flat_map(|i| rows.iter().map(move |row| row[i])).collect();
                    flat.extend(numbers(&net[format!("{layer}.bias")]));
                    flat
                };
                layers.iter().flat_map(of).collect()
            };
            output("log_alpha", &[log_alpha], vec![case["log_ent_coeff_after"].as_f64().unwrap()]);
            output("policy", &new_policy, want(&after["policy"], &POLICY));
            output("q1", &new_critics[..4], want(&after["q1"], &VALUE));
            output("q2", &new_critics[4..], want(&after["q2"], &VALUE));
            output("q1_targ", &new_targets[..4], want(&after["q1_targ"], &VALUE));
            output("q2_targ", &new_targets[4..], want(&after["q2_targ"], &VALUE));
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        assert_eq!(expected.len(), 6);
        for (name, want) in expected {
            let got = pollster::block_on(device.read(out.get(&name).unwrap())).unwrap();
            assert_eq!(got.len(), want.len(), "{name}");
            for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                assert!((got - want).abs() < 2e-6 * (1.0 + want.abs()), "{name} {i}: {got}, expected {want}");
            }
        }
    }
}

#[test]
fn rewards_are_standardised_as_pyrados() {
    let golden = &load("pyrado_misc.json")["standardize"];
    let device = Device::cpu(1);
    let x = numbers(&golden["x"]);
    let mut program = Program::new(&device, |cx| {
        cx.output("y", standardised(Tensor::literal_f32(&x).reshape(&[1, x.len(), 1])));
    })
    .unwrap();
    let out = program.run(&State::new(), &[], &[]).unwrap();
    let got = pollster::block_on(device.read(out.get("y").unwrap())).unwrap();
    let want = numbers(&golden["torch_unbiased"]);
    assert_eq!(got.len(), want.len());
    assert!(got.iter().zip(&want).all(|(got, want)| (got - want).abs() < 1e-6), "{got:?} {want:?}");
}
