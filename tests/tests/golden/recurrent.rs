//! Recurrent units, forward and backward, against numbers of Keras and PyTorch, on the f64 reference device and
//! on the CPU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::grad::value_and_grad;
use quickstudy_core::nn::{CellKind, CellShape, Layout, MemoryCell, RecurrentInit, Reset};
use quickstudy_core::{DType, Device, Program, State};
use quickstudy_tests::golden::{items, load, number, numbers};
use quickstudy_tests::trainings::{distance, wait};
use serde_json::Value;

/// A case in our layout: gates z, r, n, or i, f, g, o; weights `[inputs, G · H]`; time first.
struct Case {
    kind: CellKind,
    reset: Reset,
    /// T, B, I, H.
    sizes: [usize; 4],
    /// `w_x`, `w_h`, `b_x` and perhaps `b_h`, one after the other.
    theta: Vec<f64>,
    xs: Vec<f64>,
    /// The state before the first step, `[B, W]`.
    first: Vec<f64>,
    /// Expected outputs `[T, B, H]`.
    outputs: Vec<f64>,
    /// Expected Σ h², and its gradient by θ, where there are such.
    loss: Option<(f64, Vec<f64>)>,
    /// Expected cells c of long short-term memory, `[T, B, H]`.
    cells: Option<Vec<f64>>,
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
        let [t, b, inputs, units] = self.sizes;
        let mut layout = Layout::new();
        let (kind, reset, init) = (self.kind, self.reset, RecurrentInit::Glorot);
        let shape = CellShape { kind, units, reset, init, learned_start: false, layer_norm: false };
        let cell = MemoryCell::new(&mut layout, "cell", inputs, shape);
        let width = cell.width();
        assert_eq!(layout.len(), self.theta.len(), "{name}");
        for device in [Device::reference(), Device::cpu(1)] {
            let mut program = Program::new(&device, |cx| {
                let theta = cx.input("theta", &[1, layout.len()], DType::F32);
                let xs = cx.input("xs", &[t, 1, b, inputs], DType::F32);
                let first = cx.input("first", &[1, b, width], DType::F32);
                let run = |theta| cell.run(&layout.split(theta), xs, first, None).reshape(&[t, b, width]);
                let outputs = |theta| cell.output(&layout.split(theta), run(theta));
                let (loss, gradient) = value_and_grad(&[theta], |p| outputs(p[0]).square().sum_all());
                cx.output("outputs", outputs(theta));
                cx.output("cells", run(theta).slice(2, width - units, width));
                cx.output("loss", loss);
                cx.output("gradient", gradient[0]);
            })
            .unwrap();
            let theta = array(&device, &[1, layout.len()], &self.theta);
            let xs = array(&device, &[t, 1, b, inputs], &self.xs);
            let first = array(&device, &[1, b, width], &self.first);
            let out = program.run(&State::new(), &[("theta", &theta), ("xs", &xs), ("first", &first)], &[]).unwrap();
            let read = |key| wait(device.read(out.get(key).unwrap()));
            near(&format!("{name}: outputs"), &device, &read("outputs"), &self.outputs, each);
            if let Some(cells) = &self.cells {
                near(&format!("{name}: cells"), &device, &read("cells"), cells, each);
            }
            let Some((loss, expected)) = &self.loss else { continue };
            near(&format!("{name}: loss"), &device, &read("loss"), &[*loss], each);
            let gradient = read("gradient");
            for (slice, shape, at) in layout.slices() {
                let range = at..at + shape.iter().product::<usize>();
                near(&format!("{name}: {slice}"), &device, &gradient[range.clone()], &expected[range], each);
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
            kind: CellKind::Gru,
            reset,
            sizes: [steps, batch, items(&case["kernel"]).len(), hidden],
            theta: theta(case),
            xs: by_time("x_NTI"),
            first: numbers(&case["h0"]),
            outputs: by_time("h_NTH"),
            loss: Some((number(&case["loss"]), theta(&case["grads"]))),
            cells: None,
        }
        .check(&format!("keras, {reset:?}"), 1e-5);
    }
    assert!(seen.contains(&Reset::Before) && seen.contains(&Reset::After), "{seen:?}");
}

/// A matrix `[G · H, columns]` as `[columns, G · H]` with PyTorch's gates in this order; a vector has one column.
fn from_torch(value: &Value, gates: &[usize]) -> Vec<f64> {
    let rows: Vec<Vec<f64>> = items(value).iter().map(numbers).collect();
    let hidden = rows.len() / gates.len();
    let order = gates.iter().flat_map(|gate| gate * hidden..(gate + 1) * hidden);
    let columns = 0..rows[0].len();
    columns.flat_map(|c| order.clone().map(|r| rows[r][c]).collect::<Vec<_>>()).collect()
}

#[test]
fn golden_torch_units() {
    let file = load("recurrent_cells_torch.json");
    let mut compared = Vec::new();
    for (i, case) in items(&file["cases"]).iter().enumerate() {
        let (kind, gates) = match case["kind"].as_str().unwrap() {
            // PyTorch's gates are r, z, n.
            "torch.nn.GRUCell" => (CellKind::Gru, &[1, 0, 2][..]),
            "torch.nn.LSTMCell" => (CellKind::Lstm, &[0, 1, 2, 3][..]),
            "torch.nn.RNNCell(tanh)" => (CellKind::Rnn, &[0][..]),
            other => panic!("unknown kind {other}"),
        };
        compared.push(kind);
        let theta = |of: &Value| -> Vec<f64> {
            let part = |key: &str| from_torch(&of[key], gates);
            let biases = match kind {
                CellKind::Gru => [part("bias_ih"), part("bias_hh")].concat(),
                // PyTorch adds two biases where one does.
                CellKind::Lstm | CellKind::Rnn => {
                    part("bias_ih").iter().zip(part("bias_hh")).map(|(a, b)| a + b).collect()
                }
            };
            [part("weight_ih"), part("weight_hh"), biases].concat()
        };
        let (steps, first) = (items(&case["x_TNI"]), &items(&case["x_TNI"])[0]);
        let hidden = items(&case["weight_hh"]).len() / gates.len();
        let width = if kind == CellKind::Lstm { 2 * hidden } else { hidden };
        Case {
            kind,
            reset: Reset::After,
            sizes: [steps.len(), items(first).len(), numbers(&items(first)[0]).len(), hidden],
            theta: theta(case),
            xs: numbers(&case["x_TNI"]),
            first: if case["h0"].is_null() { vec![0.0; items(first).len() * width] } else { numbers(&case["h0"]) },
            outputs: numbers(&case["h_TNH"]),
            loss: (!case["grads"].is_null()).then(|| (number(&case["loss_value"]), theta(&case["grads"]))),
            cells: (kind == CellKind::Lstm).then(|| numbers(&case["c_TNH"])),
        }
        .check(&format!("torch, case {i}"), 1e-9);
    }
    for kind in [CellKind::Gru, CellKind::Lstm, CellKind::Rnn] {
        assert!(compared.contains(&kind), "no {kind:?} in the file");
    }
}
