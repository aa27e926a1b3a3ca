//! Recurrent units of any kind behind one interface: the memory of a policy.

use super::Init;
use super::gru::{Gru, Reset};
use super::layout::{Layout, SliceId};
use super::lstm::Lstm;
use super::recurrent_init::RecurrentInit;
use super::rnn::Rnn;
use crate::Tensor;
use crate::tensor::scan_tree;

/// Kinds of recurrent units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// Gated recurrent units.
    Gru,
    /// Long short-term memory.
    Lstm,
    /// Plain units, tanh(x W + h U + b).
    Rnn,
}

impl CellKind {
    /// Its name, of which those of its slices are made.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CellKind::Gru => "gru",
            CellKind::Lstm => "lstm",
            CellKind::Rnn => "rnn",
        }
    }
}

/// A small number that is added to the variance, as in PyTorch's `LayerNorm`.
const NORM_EPSILON: f64 = 1e-5;

#[derive(Clone, Debug, PartialEq)]
enum Units {
    Gru(Gru),
    Lstm(Lstm),
    Rnn(Rnn),
}

/// How a [`MemoryCell`] is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellShape {
    /// The kind of its units.
    pub kind: CellKind,
    /// H.
    pub units: usize,
    /// Gated recurrent units.
    pub reset: Reset,
    /// First recurrent weights.
    pub init: RecurrentInit,
    /// The state before anything was seen is a parameter, and not zero.
    pub learned_start: bool,
    /// The output has zero mean and unit deviation over its units, times a gain, plus a bias, both parameters: Ba,
    /// Kiros and Hinton 2016, arXiv:1607.06450, eq. 4.
    pub layer_norm: bool,
}

/// The slices of recurrent units. Gates lie side by side in each, G · H numbers of H units: update, reset and candidate
/// of gated units; input, forget, candidate and output of long short-term memory; plain units have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellSlices {
    /// The kind of the units.
    pub kind: CellKind,
    /// H.
    pub units: usize,
    /// Input weights, `[I, G · H]`.
    pub input: SliceId,
    /// Recurrent weights, `[H, G · H]`.
    pub recurrent: SliceId,
    /// The bias, `[G · H]`.
    pub bias: SliceId,
    /// The bias of the recurrent product, `[G · H]`, of gated units that reset after it.
    pub recurrent_bias: Option<SliceId>,
    /// The learned first state, `[W]`; none: it is zero.
    pub start: Option<SliceId>,
    /// Gain and bias of the standardised output, `[H]` each.
    pub norm: Option<[SliceId; 2]>,
}

impl CellSlices {
    /// The small number that is added to the variance where the output is standardised.
    pub const EPSILON: f64 = NORM_EPSILON;
}

/// A layer of recurrent units with a state of W numbers, of which its output, H numbers, is a part. Parameters and
/// states are values.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryCell {
    units: Units,
    /// W numbers.
    start: Option<SliceId>,
    /// Gain and bias of the output, H numbers each.
    norm: Option<[SliceId; 2]>,
    inputs: usize,
    hidden: usize,
}

impl MemoryCell {
    /// Units on `inputs` numbers, whose slices are added to `layout` as `name.…`: after those of the units,
    /// `name.start` of a learned start, and `name.norm.weight` and `name.norm.bias`.
    pub fn new(layout: &mut Layout, name: &str, inputs: usize, shape: CellShape) -> MemoryCell {
        let CellShape { kind, units: hidden, reset, init, learned_start, layer_norm } = shape;
        let units = match kind {
            CellKind::Gru => Units::Gru(Gru::new(layout, name, inputs, hidden, reset, init)),
            CellKind::Lstm => Units::Lstm(Lstm::new(layout, name, inputs, hidden, init)),
            CellKind::Rnn => Units::Rnn(Rnn::new(layout, name, inputs, hidden, init)),
        };
        let cell = MemoryCell { units, start: None, norm: None, inputs, hidden };
        let mut add = |what: &str, width, first| layout.add(format!("{name}.{what}"), &[width], Init::Constant(first));
        let start = learned_start.then(|| add("start", cell.width(), 0.0));
        let norm = layer_norm.then(|| [add("norm.weight", hidden, 1.0), add("norm.bias", hidden, 0.0)]);
        MemoryCell { start, norm, ..cell }
    }

    /// Its slices.
    pub fn slices(&self) -> CellSlices {
        let (kind, ([input, recurrent, bias], recurrent_bias)) = match &self.units {
            Units::Gru(gru) => (CellKind::Gru, gru.slices()),
            Units::Lstm(lstm) => (CellKind::Lstm, (lstm.slices(), None)),
            Units::Rnn(rnn) => (CellKind::Rnn, (rnn.slices(), None)),
        };
        let MemoryCell { start, norm, hidden: units, .. } = *self;
        CellSlices { kind, units, input, recurrent, bias, recurrent_bias, start, norm }
    }

    /// I, how many numbers an input has.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// H, how many numbers the output has.
    pub fn hidden(&self) -> usize {
        self.hidden
    }

    /// W, how many numbers the state has: 2H for long short-term memory, and H for others.
    pub fn width(&self) -> usize {
        match self.units {
            Units::Lstm(_) => 2 * self.hidden,
            Units::Gru(_) | Units::Rnn(_) => self.hidden,
        }
    }

    /// The state before anything was seen, `[S, B, W]`: zeros, or the learned one.
    #[track_caller]
    pub fn initial(&self, parts: &[Tensor], [seeds, rows]: [usize; 2]) -> Tensor {
        let shape = [seeds, rows, self.width()];
        match self.start {
            Some(start) => parts[start].unsqueeze(1).broadcast_to(&shape),
            None => Tensor::zeros(&shape),
        }
    }

    /// One step: `x: [S, B, I]` and `state: [S, B, W]` → the new state; `parts` is [`Layout::split`] of θ.
    #[track_caller]
    pub fn step(&self, parts: &[Tensor], x: Tensor, state: Tensor) -> Tensor {
        match &self.units {
            Units::Gru(gru) => gru.step(parts, x, state),
            Units::Lstm(lstm) => lstm.step(parts, x, state),
            Units::Rnn(rnn) => rnn.step(parts, x, state),
        }
    }

    /// The outputs `[S, B, H]` of states `[S, B, W]`.
    #[track_caller]
    pub fn output(&self, parts: &[Tensor], state: Tensor) -> Tensor {
        let h = match self.units {
            Units::Lstm(_) => state.slice(2, 0, self.hidden),
            Units::Gru(_) | Units::Rnn(_) => state,
        };
        let Some([gain, bias]) = self.norm else { return h };
        let share = 1.0 / self.hidden as f64;
        let centred = h - h.sum_keep(2) * share;
        let deviation = (centred.square().sum_keep(2) * share + NORM_EPSILON).sqrt();
        centred * deviation.recip() * parts[gain].unsqueeze(1) + parts[bias].unsqueeze(1)
    }

    /// All steps of `xs: [T, S, B, I]` from `state: [S, B, W]` → the state after each, `[T, S, B, W]`.
    ///
    /// `starts: [T, S, B, 1]` (u32), if given: where it is not 0, the row has its
    /// [first](MemoryCell::initial) state before that step.
    #[track_caller]
    pub fn run(&self, parts: &[Tensor], xs: Tensor, state: Tensor, starts: Option<Tensor>) -> Tensor {
        if xs.is_poison() || state.is_poison() {
            return Tensor::poison();
        }
        let first = self.start.map(|_| self.initial(parts, [state.size(0), state.size(1)]));
        let first = first.unwrap_or(Tensor::constant_f32(0.0));
        let (_, states) = scan_tree(xs.size(0), &state, &(xs, starts), |_, state: Tensor, (x, start)| {
            let state = start.map_or(state, |start: Tensor| start.select(first, state));
            let next = self.step(parts, x, state);
            (next, next)
        });
        states.unwrap_or(Tensor::poison())
    }
}

#[cfg(test)]
#[path = "memory_cell_tests.rs"]
mod tests;
