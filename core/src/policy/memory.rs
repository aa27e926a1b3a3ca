//! Settings of a policy's memory.

use crate::nn::{CellKind, CellShape, Layout, MemoryCell, RecurrentInit, Reset};
use crate::settings::Range;

/// The most units.
const MAX_UNITS: usize = 8192;

/// The kinds of recurrent units by which a policy remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryKind {
    /// No units: the policy remembers nothing.
    #[default]
    None,
    /// Gated recurrent units.
    Gru,
    /// Long short-term memory.
    Lstm,
    /// Plain recurrent units.
    Rnn,
}

crate::words!(MemoryKind { None = "none", Gru = "gru", Lstm = "lstm", Rnn = "rnn" });

crate::settings! {
    /// The settings of the recurrent units by which a policy remembers.
    #[derive(Copy)]
    pub struct MemoryConfig {
        /// recurrent units, by which the policy remembers
        cell: MemoryKind = MemoryKind::None;
        /// how many recurrent units there are
        units: usize = 64, Range::Count(1, MAX_UNITS as u64);
        /// gru: where the reset gate acts, after or before the product
        reset: Reset = Reset::After;
        /// the first state of the units is learned; false: it is zero
        learned_start: bool = false;
        /// standardise the output of the units, over them
        ///
        /// arXiv:1607.06450, with a gain and a bias that are learned.
        layer_norm: bool = false;
    }
}

impl MemoryKind {
    /// The kind of the units; none without a memory.
    pub(crate) fn cell(self) -> Option<CellKind> {
        match self {
            MemoryKind::None => None,
            MemoryKind::Gru => Some(CellKind::Gru),
            MemoryKind::Lstm => Some(CellKind::Lstm),
            MemoryKind::Rnn => Some(CellKind::Rnn),
        }
    }
}

impl MemoryConfig {
    /// Makes the units of a network. They read `inputs` numbers, and their slices are named after the network and the
    /// kind, such as `network.gru.…`. Recurrent weights are orthogonal per gate, or Glorot-uniform.
    pub(crate) fn layer(
        &self,
        kind: CellKind,
        layout: &mut Layout,
        network: &str,
        inputs: usize,
        orthogonal: bool,
    ) -> MemoryCell {
        let MemoryConfig { units, reset, learned_start, layer_norm, .. } = *self;
        let init = if orthogonal { RecurrentInit::Orthogonal } else { RecurrentInit::Glorot };
        let shape = CellShape { kind, units, reset, init, learned_start, layer_norm };
        MemoryCell::new(layout, &format!("{network}.{}", kind.name()), inputs, shape)
    }
}
