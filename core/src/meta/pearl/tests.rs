//! PEARL's parts, each on its own.

mod encoder;
mod memory;
mod policy;
mod updates;

use super::*;
use crate::env::{EnvDef, builtin};
use crate::nn::Activation;
use crate::policy::LayersConfig;
use crate::program::State;
use crate::{Array, Context, Device, Program};

/// A point that seeks a place in the plane: O = 2, A = 2, and episodes of exactly 20 steps.
fn env() -> EnvDef {
    builtin("point-robot").unwrap()
}

/// Small networks, Z = 3.
fn config() -> PearlConfig {
    PearlConfig {
        latent_dim: 3,
        encoder_hidden_sizes: vec![6, 4],
        net: LayersConfig { hidden: vec![5], activation: Activation::Tanh, ..PearlConfig::default().net },
        ..PearlConfig::default()
    }
}

/// Encoders of all kinds.
fn kinds() -> Vec<PearlConfig> {
    let mut all = Vec::new();
    for encoder in [EncoderKind::Mlp, EncoderKind::Gru] {
        for use_information_bottleneck in [true, false] {
            for use_next_obs_in_context in [true, false] {
                all.push(PearlConfig { encoder, use_information_bottleneck, use_next_obs_in_context, ..config() });
            }
        }
    }
    all
}

/// Uneven numbers between −1 and 1.
fn numbers(n: usize, seed: usize) -> Vec<f64> {
    (0..n).map(|i| (1.3 * i as f64 + 2.1 * seed as f64 + 0.7).sin()).collect()
}

/// Uneven numbers between −1 and 1 as a tensor of this shape.
fn uneven(shape: &[usize], seed: usize) -> Tensor {
    Tensor::literal_f32(&numbers(shape.iter().product(), seed)).reshape(shape)
}

fn read(device: &Device, array: &Array) -> Vec<f64> {
    pollster::block_on(device.read(array)).unwrap()
}

/// The numbers of tensors that a program computes.
fn compute(trace: impl FnOnce(&mut Context) -> Vec<Tensor>) -> Vec<Vec<f64>> {
    let device = Device::cpu(1);
    let mut count = 0;
    let mut program = Program::new(&device, |cx| {
        let all = trace(cx);
        count = all.len();
        all.iter().enumerate().for_each(|(i, x)| cx.output(&format!("{i}"), *x));
    })
    .unwrap();
    let out = program.run(&State::new(), &[], &[]).unwrap();
    (0..count).map(|i| read(&device, out.get(&format!("{i}")).unwrap())).collect()
}

/// The largest difference between numbers of two lists.
fn furthest(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
