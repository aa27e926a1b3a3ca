//! Plain recurrent units.
//!
//! Elman 1990, doi:10.1207/s15516709cog1402_1: h' = tanh(x W + h U + b). PyTorch's `RNNCell` stores weights
//! transposed and has two biases, whose sum is b.

use super::init::Init;
use super::layout::{Layout, SliceId};
use super::recurrent_init::RecurrentInit;
use crate::Tensor;

/// A layer of plain recurrent units.
#[derive(Clone, Debug, PartialEq)]
pub struct Rnn {
    w_x: SliceId,
    w_h: SliceId,
    bias: SliceId,
}

impl Rnn {
    /// `hidden` units on `inputs` numbers. Adds `name.input.weight [I, H]`,
    /// `name.recurrent.weight [H, H]` and `name.bias [H]` to `layout`.
    pub fn new(layout: &mut Layout, name: &str, inputs: usize, hidden: usize, recurrent: RecurrentInit) -> Rnn {
        Rnn {
            w_x: layout.add(format!("{name}.input.weight"), &[inputs, hidden], Init::glorot_uniform(inputs, hidden)),
            w_h: layout.add(format!("{name}.recurrent.weight"), &[hidden, hidden], recurrent.of(hidden, 1)),
            bias: layout.add(format!("{name}.bias"), &[hidden], Init::Constant(0.0)),
        }
    }

    /// The slices of its input and recurrent weights, and its bias.
    pub(super) fn slices(&self) -> [SliceId; 3] {
        [self.w_x, self.w_h, self.bias]
    }

    /// One step: `x: [S, B, I]` and `h: [S, B, H]` → the new state, `[S, B, H]`; `parts` is [`Layout::split`] of θ.
    #[track_caller]
    pub fn step(&self, parts: &[Tensor], x: Tensor, h: Tensor) -> Tensor {
        (x.matmul(parts[self.w_x]) + h.matmul(parts[self.w_h]) + parts[self.bias].unsqueeze(1)).tanh()
    }
}
