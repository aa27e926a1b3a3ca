//! Learned values against Pyrado's: targets, losses, and the network that reads an observation and an action.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::algo::q_learning::{Exploration, huber, target};
use quickstudy_core::dist::at;
use quickstudy_core::env::{ActionSpace, Dim, EnvSpec};
use quickstudy_core::grad::value_and_grad;
use quickstudy_core::nn::Layout;
use quickstudy_core::optim::{Decay, Progress};
use quickstudy_core::policy::{EpsilonGreedy, LayersConfig};
use quickstudy_core::{Device, Program, State, Tensor};
use quickstudy_tests::golden::{items, load, numbers};

fn close(got: &[f64], want: &[f64], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() < 2e-6 * (1.0 + want.abs()), "{what}: {got}, expected {want}");
    }
}

/// Pyrado's own loss looks at the best action in place of the one that was taken; the file has both.
#[test]
fn targets_and_losses_of_taken_actions_are_those_of_pyrado() {
    let golden = load("pyrado_dql.json");
    let device = Device::cpu(1);
    let mut program = Program::new(&device, |cx| {
        let column = |name: &str| {
            let all = numbers(&golden[name]);
            Tensor::literal_f32(&all).reshape(&[1, all.len(), 1])
        };
        let table = |name: &str| {
            let rows = items(&golden[name]).len();
            let all = numbers(&golden[name]);
            Tensor::literal_f32(&all).reshape(&[1, rows, all.len() / rows])
        };
        let gamma = Tensor::constant_f32(golden["gamma"].as_f64().unwrap());
        let y = target(column("rewards"), column("done"), table("next_q_table_target"), None, gamma);
        cx.output("td_target", y);
        // Actions are −1, 0 and 1; choices are numbered from 0.
        let (values, action) = (table("q_table"), column("actions") + 1.0);
        cx.output("q_taken", at(values, action));
        let (loss, gradient) = value_and_grad(&[values], |parts| huber(at(parts[0], action), y).mean(&[0, 1, 2]));
        cx.output("loss", loss.reshape(&[1]));
        cx.output("gradient", gradient[0]);
        let of = &golden["huber"];
        let vector = |name: &str| {
            let all = numbers(&of[name]);
            Tensor::literal_f32(&all).reshape(&[1, all.len(), 1])
        };
        cx.output("huber", huber(vector("q_vals"), vector("expected")).mean(&[0, 1, 2]));
        // Double: the network's own values, with another order, name the choice.
        let own = table("next_q_table_target") * -1.0;
        cx.output("double", target(column("rewards"), column("done"), table("next_q_table_target"), Some(own), gamma));
    })
    .unwrap();
    let out = program.run(&State::new(), &[], &[]).unwrap();
    let read = |name: &str| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
    close(&read("td_target"), &numbers(&golden["td_target"]), "targets");
    close(&read("q_taken"), &numbers(&golden["q_taken"]), "values of taken actions");
    close(&read("loss"), &[golden["loss_with_taken_action"].as_f64().unwrap()], "loss");
    close(&read("huber"), &[golden["huber"]["loss"].as_f64().unwrap()], "Huber's loss");
    // d loss / d q of the taken actions: the error, at most 1 long, over the number of rows.
    let rows = items(&golden["q_taken"]).len() as f64;
    let (q, y) = (numbers(&golden["q_taken"]), numbers(&golden["td_target"]));
    let want: Vec<f64> = q.iter().zip(&y).map(|(q, y)| (q - y).clamp(-1.0, 1.0) / rows).collect();
    let got: Vec<f64> = read("gradient").chunks(3).map(|row| row.iter().sum()).collect();
    close(&got, &want, "gradient");
    let table = items(&golden["next_q_table_target"]);
    let least = table.iter().map(|row| numbers(row).into_iter().fold(f64::INFINITY, f64::min));
    let (rewards, done) = (numbers(&golden["rewards"]), numbers(&golden["done"]));
    let gamma = golden["gamma"].as_f64().unwrap();
    let want: Vec<f64> = least.zip(rewards.iter().zip(&done)).map(|(q, (r, d))| r + gamma * (1.0 - d) * q).collect();
    close(&read("double"), &want, "double");
}

/// Shapes and numbers of a network of Pyrado's: weights `[1, inputs, outputs]` and biases `[1, outputs]` by turns.
fn network(of: &serde_json::Value) -> Vec<(Vec<usize>, Vec<f64>)> {
    let layer = |name: &str| {
        let rows: Vec<Vec<f64>> = items(&of[format!("{name}.weight")]).iter().map(numbers).collect();
        let bias = numbers(&of[format!("{name}.bias")]);
        let weight = (0..rows[0].len()).flat_map(|i| rows.iter().map(move |row| row[i])).collect();
        [(vec![1, rows[0].len(), rows.len()], weight), (vec![1, bias.len()], bias)]
    };
    ["net.hidden_layers.0", "net.output_layer"].into_iter().flat_map(layer).collect()
}

#[test]
fn a_network_of_observation_and_action_has_pyrados_values_and_gradient() {
    let golden = load("pyrado_dql.json");
    let device = Device::cpu(1);
    let (mut layout, dim) = (Layout::new(), |name: &str| Dim::unbounded(name));
    let spec = EnvSpec::new("two", vec![dim("x"), dim("y")], ActionSpace::discrete(&["less", "none", "more"]), 10);
    let net = LayersConfig { hidden: vec![4], ..LayersConfig::default() };
    let policy = EpsilonGreedy::of_pairs(&mut layout, &spec, &net, 0).unwrap();
    let mut program = Program::new(&device, |cx| {
        let traced = |name: &str| -> Vec<Tensor> {
            network(&golden[name]).iter().map(|(shape, all)| Tensor::literal_f32(all).reshape(shape)).collect()
        };
        let (parts, targets) = (traced("params"), traced("target_params"));
        let table = |name: &str, width: usize| {
            let all = numbers(&golden[name]);
            Tensor::literal_f32(&all).reshape(&[1, all.len() / width, width])
        };
        let (obs, next_obs) = (table("observations", 2), table("next_observations", 2));
        cx.output("q_table", policy.values(&parts, obs));
        let ahead = policy.values(&targets, next_obs);
        cx.output("next_q_table_target", ahead);
        let gamma = Tensor::constant_f32(golden["gamma"].as_f64().unwrap());
        let y = target(table("rewards", 1), table("done", 1), ahead, None, gamma);
        let (loss, gradient) = value_and_grad(&parts, |parts| {
            huber(policy.value(parts, obs, table("actions", 1) + 1.0), y).mean(&[0, 1, 2])
        });
        cx.output("loss", loss.reshape(&[1]));
        let flat: Vec<Tensor> = gradient.iter().map(|x| x.reshape(&[x.len()])).collect();
        cx.output("gradient", Tensor::concat(&flat, 0));
    })
    .unwrap();
    let out = program.run(&State::new(), &[], &[]).unwrap();
    let read = |name: &str| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
    for name in ["q_table", "next_q_table_target"] {
        close(&read(name), &items(&golden[name]).iter().flat_map(numbers).collect::<Vec<_>>(), name);
    }
    close(&read("loss"), &[golden["loss_with_taken_action"].as_f64().unwrap()], "loss");
    let want: Vec<f64> = network(&golden["grads_with_taken_action"]).into_iter().flat_map(|(_, all)| all).collect();
    close(&read("gradient"), &want, "gradient");
}

#[test]
fn epsilon_falls_as_pyrados() {
    let golden = load("pyrado_misc.json");
    let of = &golden["eps_greedy"];
    let number = |name: &str| of[name].as_f64().unwrap();
    let decay = Decay::Geometric { from: number("eps_init"), to: number("eps_final"), factor: number("gamma") };
    for (step, want) in numbers(&of["iters"]).into_iter().zip(numbers(&of["eps"])) {
        let at = Progress { iterations: step as u64, ..Progress::default() };
        assert!((Exploration::By(decay).at(at, 1) - want).abs() < 1e-12, "{step}");
    }
}
