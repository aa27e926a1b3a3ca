//! Gated recurrent units.
//!
//! Cho et al. 2014, arXiv:1406.1078. With inputs x `[I]`, state h `[H]`, and σ(a) = 1/(1 + e⁻ᵃ):
//!
//! ```text
//! z  = σ(x Wz + bz + h Uz + cz)          update gate: how much of the state stays
//! r  = σ(x Wr + br + h Ur + cr)          reset gate: how much of the state the candidate sees
//! n  = tanh(x Wn + bn + r ⊙ (h Un + cn))   candidate, reset after the product
//! n  = tanh(x Wn + bn + (r ⊙ h) Un)        candidate, reset before the product
//! h' = z ⊙ h + (1 − z) ⊙ n
//! ```
//!
//! The slices hold the gates side by side in the order z, r, n: `w_x [I, 3H]` is (Wz Wr Wn), `w_h [H, 3H]` (Uz Ur Un),
//! `b_x [3H]` (bz br bn) and, with the reset after the product only, `b_h [3H]` (cz cr cn): without it, c adds nothing
//! that b does not. That is the order of Keras: `kernel`, `recurrent_kernel` and `bias`, which is `[3H]` with
//! `reset_after=False` and `[2, 3H]`, b then c, with `reset_after=True`. PyTorch's `GRUCell` resets after the product,
//! orders the gates r, z, n and stores weights transposed, `[3H, I]`. The original paper resets before the product;
//! what it writes as z is the same gate here.

use super::init::Init;
use super::layout::{Layout, SliceId};
use super::recurrent_init::RecurrentInit;
use crate::Tensor;

/// Where the reset gate acts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reset {
    /// On the product of state and weights, as PyTorch and Keras (`reset_after=True`) do: one product for all gates.
    #[default]
    After,
    /// On the state before its product, as the paper and Keras with `reset_after=False` (the default of TensorFlow 1).
    Before,
}

crate::words!(Reset { After = "after", Before = "before" });

/// The gates z, r and n as snapshots name them, in the order of the slices.
const GATES: [&str; 3] = ["update", "reset", "candidate"];

/// A layer of gated recurrent units. Parameters and states are values.
#[derive(Clone, Debug, PartialEq)]
pub struct Gru {
    w_x: SliceId,
    w_h: SliceId,
    b_x: SliceId,
    /// Bias of the recurrent product, if the reset comes after it.
    b_h: Option<SliceId>,
    hidden: usize,
}

impl Gru {
    /// `hidden` units on `inputs` numbers. Adds `w_x`, `w_h`, `b_x` and, with [`Reset::After`], `b_h`
    /// to `layout`; of the gates, these are `name.update.input.weight`, `.recurrent.weight`,
    /// `.input.bias` and `.recurrent.bias`, and so on.
    pub fn new(
        layout: &mut Layout,
        name: &str,
        inputs: usize,
        hidden: usize,
        reset: Reset,
        recurrent: RecurrentInit,
    ) -> Gru {
        let gates = 3 * hidden;
        let recurrent = recurrent.of(hidden, GATES.len());
        let zero = Init::Constant(0.0);
        let mut add =
            |what: &str, shape: &[usize], init| layout.add_blocks(format!("{name}.*.{what}"), &GATES, shape, init);
        Gru {
            w_x: add("input.weight", &[inputs, gates], Init::glorot_uniform(inputs, gates)),
            w_h: add("recurrent.weight", &[hidden, gates], recurrent),
            b_x: add("input.bias", &[gates], zero),
            b_h: (reset == Reset::After).then(|| add("recurrent.bias", &[gates], zero)),
            hidden,
        }
    }

    /// The slices of its input and recurrent weights, its bias and, if the reset comes after the product, the bias of
    /// that.
    pub(super) fn slices(&self) -> ([SliceId; 3], Option<SliceId>) {
        ([self.w_x, self.w_h, self.b_x], self.b_h)
    }

    /// H, how many numbers the state has.
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    /// One step: `x: [S, B, I]` and `h: [S, B, H]` → the new state, `[S, B, H]`; `parts` is [`Layout::split`] of θ.
    #[track_caller]
    pub fn step(&self, parts: &[Tensor], x: Tensor, h: Tensor) -> Tensor {
        let (n, axis) = (self.hidden, 2);
        let gates = |t: Tensor| t.slice(axis, 0, 2 * n);
        let candidate = |t: Tensor| t.slice(axis, 2 * n, 3 * n);
        let (w_x, w_h, b_x) = (parts[self.w_x], parts[self.w_h], parts[self.b_x].unsqueeze(1));
        // Gates and candidate apart: the derivatives of both products by the gates are the same numbers, kept once.
        let affine = |t: Tensor, w: Tensor, b: Option<Tensor>| b.map_or(t.matmul(w), |b| t.matmul(w) + b);
        let b_h = self.b_h.map(|slot| parts[slot].unsqueeze(1));
        let open = affine(x, gates(w_x), Some(gates(b_x))) + affine(h, gates(w_h), b_h.map(gates));
        let open = open.sigmoid();
        let (z, r) = (open.slice(axis, 0, n), open.slice(axis, n, 2 * n));
        let from_x = affine(x, candidate(w_x), Some(candidate(b_x)));
        let candidate = match b_h {
            Some(b_h) => from_x + r * affine(h, candidate(w_h), Some(candidate(b_h))),
            None => from_x + (r * h).matmul(candidate(w_h)),
        };
        let candidate = candidate.tanh();
        candidate + z * (h - candidate)
    }
}
