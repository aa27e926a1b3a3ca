//! Gated recurrent units, forward and backward, against numbers of Keras and PyTorch, on the f64 reference device and
//! on the CPU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::grad::value_and_grad;
use quickstudy_core::nn::{Gru, Layout, RecurrentInit, Reset};
use quickstudy_core::{DType, Device, Program, State};
use quickstudy_tests::golden::{items, load, number, numbers};
use quickstudy_tests::gpu::distance;
use serde_json::Value;

/// A case in our layout: gates z, r, n; weights `[inputs, 3H]`; time first.
struct Case {
    reset: Reset,
    /// T, B, I, H.
    sizes: [usize; 4],
    /// `w_x`, `w_h`, `b_x` and perhaps `b_h`, one after the other.
    theta: Vec<f64>,
    xs: Vec<f64>,
    h0: Vec<f64>,
    /// Expected states `[T, B, H]`, Σ h², and its gradient by θ.
    states: Vec<f64>,
    loss: f64,
    gradient: Vec<f64>,
}

fn array(device: &Device, shape: &[usize], values: &[f64]) -> quickstudy_core::Array {
    device.array(shape, values).unwrap()
}

/// On the reference within `each`; in f32 within 1e-5 of the norm.
fn near(name: &str, device: &Device, got: &[f64], want: &[f64], each: f64) {
    assert_eq!(got.len(), want.len(), "{name}");
    if device.caps().name.contains("reference") {
        let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs() / b.abs().max(1.0)).fold(0.0, f64::max);
        assert!(worst <= each, "{name}: {worst:e}\n{got:?}\n{want:?}");
    } else {
        assert!(distance(got, want) <= 1e-5, "{name}: {:e}\n{got:?}\n{want:?}", distance(got, want));
    }
}

impl Case {
    fn check(&self, name: &str, each: f64) {
        let [t, b, i, h] = self.sizes;
        let mut layout = Layout::new();
        let gru = Gru::new(&mut layout, "gru", i, h, self.reset, RecurrentInit::Glorot);
        assert_eq!(layout.len(), self.theta.len(), "{name}");
        for device in [Device::reference(), Device::cpu(1)] {
            let mut program = Program::new(&device, |cx| {
                let theta = cx.input("theta", &[1, layout.len()], DType::F32);
                let xs = cx.input("xs", &[t, 1, b, i], DType::F32);
                let h0 = cx.input("h0", &[1, b, h], DType::F32);
                let run = |theta| gru.run(&layout.split(theta), xs, h0, None);
                let (loss, gradient) = value_and_grad(&[theta], |p| run(p[0]).square().sum_all());
                cx.output("states", run(theta));
                cx.output("loss", loss);
                cx.output("gradient", gradient[0]);
            })
            .unwrap();
            let theta = array(&device, &[1, layout.len()], &self.theta);
            let xs = array(&device, &[t, 1, b, i], &self.xs);
            let h0 = array(&device, &[1, b, h], &self.h0);
            let out = program.run(&State::new(), &[("theta", &theta), ("xs", &xs), ("h0", &h0)], &[]).unwrap();
            let read = |key| pollster::block_on(device.read(out.get(key).unwrap())).unwrap();
            near(&format!("{name}: states"), &device, &read("states"), &self.states, each);
            near(&format!("{name}: loss"), &device, &read("loss"), &[self.loss], each);
            let gradient = read("gradient");
            for (slice, shape, at) in layout.slices() {
                let range = at..at + shape.iter().product::<usize>();
                near(&format!("{name}: {slice}"), &device, &gradient[range.clone()], &self.gradient[range], each);
            }
        }
    }
}

#[test]
fn golden_keras_units_reset_before_and_after_the_product() {
    let file = load("gru_cell_keras.json");
    let mut seen = Vec::new();
    for case in items(&file["cases"]) {
        let reset = if case["reset_after"].as_bool().unwrap() { Reset::After } else { Reset::Before };
        seen.push(reset);
        let (batch, steps) = (items(&case["x_NTI"]).len(), items(&items(&case["x_NTI"])[0]).len());
        // [N, T, ..] to [T, N, ..].
        let by_time = |key: &str| -> Vec<f64> {
            (0..steps).flat_map(|t| items(&case[key]).iter().flat_map(move |row| numbers(&items(row)[t]))).collect()
        };
        // The file's order is ours: kernels [inputs, 3H], gates z, r, h; bias [3H], or [2, 3H] with the recurrent one.
        let theta = |of: &Value| -> Vec<f64> {
            ["kernel", "recurrent_kernel", "bias"].iter().flat_map(|key| numbers(&of[*key])).collect()
        };
        let hidden = number(&case["units"]) as usize;
        Case {
            reset,
            sizes: [steps, batch, items(&case["kernel"]).len(), hidden],
            theta: theta(case),
            xs: by_time("x_NTI"),
            h0: numbers(&case["h0"]),
            states: by_time("h_NTH"),
            loss: number(&case["loss"]),
            gradient: theta(&case["grads"]),
        }
        .check(&format!("keras, {reset:?}"), 1e-5);
    }
    assert!(seen.contains(&Reset::Before) && seen.contains(&Reset::After), "{seen:?}");
}

/// A matrix `[3H, columns]` with gates r, z, n as `[columns, 3H]` with gates z, r, n; a vector `[3H]` has one column.
fn from_torch(value: &Value) -> Vec<f64> {
    let rows: Vec<Vec<f64>> = items(value).iter().map(numbers).collect();
    let hidden = rows.len() / 3;
    let order = (hidden..2 * hidden).chain(0..hidden).chain(2 * hidden..3 * hidden);
    let columns = 0..rows[0].len();
    columns.flat_map(|c| order.clone().map(|r| rows[r][c]).collect::<Vec<_>>()).collect()
}

#[test]
fn golden_torch_units() {
    let file = load("recurrent_cells_torch.json");
    let mut compared = 0;
    for (i, case) in items(&file["cases"]).iter().enumerate() {
        match case["kind"].as_str().unwrap() {
            "torch.nn.GRUCell" => compared += 1,
            // The file has them for completeness; there is no such layer here to compare, as no algorithm needs one.
            "torch.nn.LSTMCell" | "torch.nn.RNNCell(tanh)" => continue,
            other => panic!("unknown kind {other}"),
        }
        let theta = |of: &Value| -> Vec<f64> {
            ["weight_ih", "weight_hh", "bias_ih", "bias_hh"].iter().flat_map(|key| from_torch(&of[*key])).collect()
        };
        let first = &items(&case["x_TNI"])[0];
        Case {
            reset: Reset::After,
            sizes: [
                items(&case["x_TNI"]).len(),
                items(first).len(),
                numbers(&items(first)[0]).len(),
                numbers(&items(&case["h0"])[0]).len(),
            ],
            theta: theta(case),
            xs: numbers(&case["x_TNI"]),
            h0: numbers(&case["h0"]),
            states: numbers(&case["h_TNH"]),
            loss: number(&case["loss_value"]),
            gradient: theta(&case["grads"]),
        }
        .check(&format!("torch, case {i}"), 1e-9);
    }
    assert!(compared > 0, "no gated recurrent unit in the file");
}
