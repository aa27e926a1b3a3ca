//! First recurrent weights.

use super::init::Init;

/// How recurrent weights start; input weights are Glorot-uniform and biases zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecurrentInit {
    /// Uniform over the gates as a whole ([`Init::glorot_uniform`]), as garage does.
    #[default]
    Glorot,
    /// Each gate's `[H, H]` block orthogonal by itself, so that no gate shrinks any direction of the state.
    Orthogonal,
}

impl RecurrentInit {
    /// The start of weights `[H, gates · H]`.
    pub(super) fn of(self, hidden: usize, gates: usize) -> Init {
        match self {
            RecurrentInit::Glorot => Init::glorot_uniform(hidden, gates * hidden),
            RecurrentInit::Orthogonal => Init::OrthogonalBlocks { gain: 1.0, blocks: gates },
        }
    }
}
