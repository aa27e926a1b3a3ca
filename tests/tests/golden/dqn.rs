//! Targets and losses of learned values against Pyrado's.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::algo::dqn::{huber, taken, target};
use quickstudy_core::grad::value_and_grad;
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
        let gamma = golden["gamma"].as_f64().unwrap();
        let y = target(column("rewards"), column("done"), table("next_q_table_target"), None, gamma);
        cx.output("td_target", y);
        // Actions are −1, 0 and 1; choices are numbered from 0.
        let (values, action) = (table("q_table"), column("actions") + 1.0);
        cx.output("q_taken", taken(values, action));
        let (loss, gradient) = value_and_grad(&[values], |parts| huber(taken(parts[0], action), y).sum_all());
        cx.output("loss", loss.reshape(&[1]));
        cx.output("gradient", gradient[0]);
        let of = &golden["huber"];
        let vector = |name: &str| {
            let all = numbers(&of[name]);
            Tensor::literal_f32(&all).reshape(&[1, all.len(), 1])
        };
        cx.output("huber", huber(vector("q_vals"), vector("expected")));
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
