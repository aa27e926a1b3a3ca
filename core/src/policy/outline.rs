//! Outlines of policies: the networks by which a policy acts best, for programs that are none of this crate's.

use super::Bounds;
use crate::nn::{CellSlices, Mlp, SliceId};

/// The networks by which a policy takes the actions that it holds for the best, as slices of its parameters
/// ([`Acting::parts`](super::Acting::parts)), and the rule by which an action follows from their output.
///
/// The networks read the observation and, behind it, `beside`: recurrent units first, if there are such, then layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// True if observations are standardised by statistics among the acting values.
    pub standardised: bool,
    /// Names and widths of what the networks read behind the observation, in order.
    pub beside: Vec<(&'static str, usize)>,
    /// The recurrent units in front of the layers.
    pub units: Option<CellSlices>,
    /// The linear layers, with an activation after each but the last.
    pub layers: Mlp,
    /// The rule by which the action follows from the output of the last layer.
    pub rule: ActionRule,
}

/// The rule by which an action follows from the output of a network.
#[derive(Clone, Debug, PartialEq)]
pub enum ActionRule {
    /// One or several choices, with so many options each: of each the first option of the largest logit. The logits of
    /// the choices lie one behind the other.
    Logits(Vec<usize>),
    /// The first choice of the highest value.
    Values,
    /// The first choice of the largest advantage. The outputs are the advantages of choices and, behind them, the value
    /// V of the state: Q = V + A − mean A.
    Dueling,
    /// The first choice of the highest value, of this number of choices. The layers read a choice behind everything
    /// else, as a number from −1 for the first to 1 for the last, and give its value.
    Pairs(usize),
    /// The output, limited to these bounds.
    Limited(Bounds),
    /// The tanh of the first outputs, stretched from −1 and 1 to these bounds; the outputs are limited to ±`limit`
    /// before, if there is such a limit.
    Squashed {
        /// The bounds of actions.
        bounds: Bounds,
        /// The limit of outputs.
        limit: Option<f64>,
    },
}

impl Outline {
    /// The outline of layers that read the observation alone.
    #[must_use]
    pub fn of(layers: &Mlp, rule: ActionRule) -> Outline {
        Outline { standardised: false, beside: Vec::new(), units: None, layers: layers.clone(), rule }
    }

    /// The outline with recurrent units in front of the layers.
    #[must_use]
    pub fn behind(self, units: Option<CellSlices>) -> Outline {
        Outline { units, ..self }
    }

    /// The outline with more inputs, which stand between the observation and those that it has already.
    #[must_use]
    pub fn reading(mut self, beside: &[(&'static str, usize)]) -> Outline {
        self.beside.splice(..0, beside.iter().copied());
        self
    }

    /// The slices of the layers, weights `[I, O]` and biases `[O]` each.
    #[must_use]
    pub fn linear(&self) -> &[(SliceId, SliceId)] {
        self.layers.layers()
    }
}
