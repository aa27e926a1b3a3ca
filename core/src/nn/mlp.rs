//! Multi-layer perceptrons.

use super::init::Init;
use super::layout::{Layout, SliceId};
use crate::Tensor;

/// The function that follows each hidden layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Activation {
    /// tanh x
    #[default]
    Tanh,
    /// max(x, 0)
    Relu,
}

crate::words!(Activation { Tanh = "tanh", Relu = "relu" });

impl Activation {
    /// The function.
    #[track_caller]
    pub fn apply(self, x: Tensor) -> Tensor {
        match self {
            Activation::Tanh => x.tanh(),
            Activation::Relu => x.max(Tensor::constant_f32(0.0)),
        }
    }
}

/// Linear layers `x W + b` with an activation after each but the last.
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    layers: Vec<(SliceId, SliceId)>,
    activation: Activation,
}

impl Mlp {
    /// Layers of the given `sizes`, inputs first. Their slices are added to `layout` as `name.0.weight`, `name.0.bias`,
    /// …, counting from `first`: what comes before them in the network is no part of θ.
    ///
    /// `last_gain`: weights are orthogonal with gain √2, the last layer with this one, biases zero. `None`: weights and
    /// biases are uniform in ±1/√inputs, as `torch.nn.Linear` does.
    pub fn new(
        layout: &mut Layout,
        name: &str,
        first: usize,
        sizes: &[usize],
        activation: Activation,
        last_gain: Option<f64>,
    ) -> Mlp {
        let count = sizes.len().saturating_sub(1);
        let mut layers = Vec::with_capacity(count);
        for (i, pair) in sizes.windows(2).enumerate() {
            let (weights, biases) = match last_gain {
                Some(last) => {
                    let gain = if i + 1 == count { last } else { std::f64::consts::SQRT_2 };
                    (Init::Orthogonal { gain }, Init::Constant(0.0))
                }
                None => {
                    let bound = 1.0 / (pair[0] as f64).sqrt();
                    (Init::Uniform { bound }, Init::Uniform { bound })
                }
            };
            let name = format!("{name}.{}", first + i);
            let weight = layout.add(format!("{name}.weight"), pair, weights);
            let bias = layout.add(format!("{name}.bias"), &pair[1..], biases);
            layers.push((weight, bias));
        }
        Mlp { layers, activation }
    }

    /// A single layer of these weights and biases, which are slices already.
    #[must_use]
    pub fn linear(weight: SliceId, bias: SliceId) -> Mlp {
        Mlp { layers: vec![(weight, bias)], activation: Activation::default() }
    }

    /// The slices of each layer: weights `[in, out]` and biases `[out]`.
    #[must_use]
    pub fn layers(&self) -> &[(SliceId, SliceId)] {
        &self.layers
    }

    /// The function that follows each layer but the last.
    #[must_use]
    pub fn activation(&self) -> Activation {
        self.activation
    }

    /// `x: [S, B, in]` → `[S, B, out]`; `parts` is [`Layout::split`] of θ.
    #[track_caller]
    pub fn forward(&self, parts: &[Tensor], x: Tensor) -> Tensor {
        self.forward_features(parts, x).0
    }

    /// The output, and the features that the last layer reads: `[S, B, out]` and `[S, B, hidden]`.
    #[track_caller]
    pub fn forward_features(&self, parts: &[Tensor], x: Tensor) -> (Tensor, Tensor) {
        let (mut features, mut y) = (x, x);
        for (i, (w, b)) in self.layers.iter().enumerate() {
            features = if i == 0 { x } else { self.activation.apply(y) };
            y = features.matmul(parts[*w]) + parts[*b].unsqueeze(1);
        }
        (y, features)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{DType, Device, Program};

    #[test]
    fn forward_is_xw_plus_b_with_tanh_between() {
        let mut layout = Layout::new();
        let net = Mlp::new(&mut layout, "net", 3, &[2, 2, 1], Activation::Tanh, Some(1.0));
        let names: Vec<&str> = layout.slices().map(|(n, _, _)| n).collect();
        assert_eq!(names, ["net.3.weight", "net.3.bias", "net.4.weight", "net.4.bias"]);
        // Two stacked seeds: θ and the same with another last bias.
        let theta = [1.0, 2.0, 3.0, 4.0, 0.1, -0.2, 0.5, -1.5, 0.3];
        let mut other = theta;
        other[8] = 1.3;
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let theta = cx.input("theta", &[2, 9], DType::F32);
            let x = cx.input("x", &[2, 1, 2], DType::F32);
            cx.output("y", net.forward(&layout.split(theta), x));
        })
        .unwrap();
        let theta = device.array(&[2, 9], &[theta, other].concat()).unwrap();
        let x = device.array(&[2, 1, 2], &[0.5, -0.25, 0.5, -0.25]).unwrap();
        let out = program.run(&State::new(), &[("theta", &theta), ("x", &x)], &[]).unwrap();
        let y = pollster::block_on(device.read(out.get("y").unwrap())).unwrap();
        let hidden = [(0.5 - 0.75 + 0.1_f64).tanh(), (1.0 - 1.0 - 0.2_f64).tanh()];
        let expected = 0.5 * hidden[0] - 1.5 * hidden[1] + 0.3;
        assert!((y[0] - expected).abs() < 1e-6 && (y[1] - expected - 1.0).abs() < 1e-6, "{y:?} {expected}");
    }
}
