//! Long short-term memory.
//!
//! Hochreiter and Schmidhuber 1997, doi:10.1162/neco.1997.9.8.1735, with the forget gate of Gers et al. 2000. With
//! inputs x `[I]`, output h and cell c `[H]` each, and σ(a) = 1/(1 + e⁻ᵃ):
//!
//! ```text
//! i  = σ(x Wi + h Ui + bi)      input gate
//! f  = σ(x Wf + h Uf + bf)      forget gate
//! g  = tanh(x Wg + h Ug + bg)   candidate
//! o  = σ(x Wo + h Uo + bo)      output gate
//! c' = f ⊙ c + i ⊙ g
//! h' = o ⊙ tanh(c')
//! ```
//!
//! The slices hold the gates side by side in the order i, f, g, o, as Keras and PyTorch do. PyTorch's `LSTMCell` stores
//! weights transposed and has two biases, whose sum is b.

use super::init::Init;
use super::layout::{Layout, SliceId};
use super::recurrent_init::RecurrentInit;
use crate::Tensor;

/// The gates i, f, g and o as snapshots name them, in the order of the slices.
const GATES: [&str; 4] = ["input", "forget", "candidate", "output"];

/// A layer of long short-term memory. Its state is h and c side by side, `[S, B, 2H]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Lstm {
    w_x: SliceId,
    w_h: SliceId,
    bias: SliceId,
    hidden: usize,
}

impl Lstm {
    /// `hidden` units on `inputs` numbers. Adds `w_x [I, 4H]`, `w_h [H, 4H]` and `b [4H]` to `layout`; of the gates,
    /// these are `name.input.input.weight`, `.recurrent.weight` and `.bias`, and so on.
    pub fn new(layout: &mut Layout, name: &str, inputs: usize, hidden: usize, recurrent: RecurrentInit) -> Lstm {
        let gates = GATES.len() * hidden;
        let recurrent = recurrent.of(hidden, GATES.len());
        let mut add =
            |what: &str, shape: &[usize], init| layout.add_blocks(format!("{name}.*.{what}"), &GATES, shape, init);
        Lstm {
            w_x: add("input.weight", &[inputs, gates], Init::glorot_uniform(inputs, gates)),
            w_h: add("recurrent.weight", &[hidden, gates], recurrent),
            bias: add("bias", &[gates], Init::Constant(0.0)),
            hidden,
        }
    }

    /// The slices of its input and recurrent weights, and its bias.
    pub(super) fn slices(&self) -> [SliceId; 3] {
        [self.w_x, self.w_h, self.bias]
    }

    /// One step: `x: [S, B, I]` and `state: [S, B, 2H]` → the new state; `parts` is [`Layout::split`] of θ.
    #[track_caller]
    pub fn step(&self, parts: &[Tensor], x: Tensor, state: Tensor) -> Tensor {
        let n = self.hidden;
        let (h, c) = (state.slice(2, 0, n), state.slice(2, n, 2 * n));
        let all = x.matmul(parts[self.w_x]) + h.matmul(parts[self.w_h]) + parts[self.bias].unsqueeze(1);
        let gate = |i: usize| all.slice(2, i * n, (i + 1) * n);
        let c = gate(1).sigmoid() * c + gate(0).sigmoid() * gate(2).tanh();
        Tensor::concat(&[gate(3).sigmoid() * c.tanh(), c], 2)
    }
}
