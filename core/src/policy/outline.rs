//! Outlines of policies: the networks by which a policy acts best, for programs that are none of this crate's.

use super::Bounds;
use crate::env::EnvSpec;
use crate::nn::{CellKind, CellSlices, Mlp, SliceId};

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
    /// The output, stretched from −1 and 1 to these bounds and limited to them.
    Scaled(Bounds),
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

    /// Tells whether it fits slices of these shapes, and the observations and actions of an environment.
    #[must_use]
    pub fn fits(&self, shapes: &[Vec<usize>], spec: &EnvSpec) -> bool {
        let is = |id: SliceId, shape: &[usize]| shapes.get(id).is_some_and(|found| found == shape);
        let mut width = spec.observation.len() + self.beside.iter().map(|(_, width)| width).sum::<usize>();
        if let Some(units) = self.units {
            let n = units.units;
            let (gates, state) = match units.kind {
                CellKind::Gru => (3 * n, n),
                CellKind::Lstm => (4 * n, 2 * n),
                CellKind::Rnn => (n, n),
            };
            let weights = is(units.input, &[width, gates]) && is(units.recurrent, &[n, gates]);
            let biases = is(units.bias, &[gates]) && units.recurrent_bias.is_none_or(|id| is(id, &[gates]));
            let start = units.start.is_none_or(|id| is(id, &[state]));
            let norm = units.norm.is_none_or(|both| both.into_iter().all(|id| is(id, &[n])));
            if !(weights && biases && start && norm) {
                return false;
            }
            width = n;
        }
        width += usize::from(matches!(self.rule, ActionRule::Pairs(_)));
        for (weight, bias) in self.linear() {
            let Some([inputs, outputs]) = shapes.get(*weight).map(Vec::as_slice) else { return false };
            if *inputs != width || !is(*bias, &[*outputs]) {
                return false;
            }
            width = *outputs;
        }
        let (choices, is_vector) = (spec.action.choices(), spec.action.counts().is_none());
        let is_box = |bounds: &Bounds| is_vector && *bounds == Bounds::of(&spec.action);
        !self.linear().is_empty()
            && match &self.rule {
                ActionRule::Logits(counts) => {
                    spec.action.counts().as_ref() == Some(counts) && width == counts.iter().sum::<usize>()
                }
                ActionRule::Values => choices == Some(width),
                ActionRule::Dueling => choices.is_some_and(|choices| choices + 1 == width),
                ActionRule::Pairs(count) => choices == Some(*count) && width == 1,
                ActionRule::Limited(bounds) | ActionRule::Scaled(bounds) => {
                    is_box(bounds) && width == spec.action.dim()
                }
                ActionRule::Squashed { bounds, .. } => is_box(bounds) && width >= spec.action.dim(),
            }
    }

    /// The slices of the layers, weights `[I, O]` and biases `[O]` each.
    #[must_use]
    pub fn linear(&self) -> &[(SliceId, SliceId)] {
        self.layers.layers()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::builtin;
    use crate::nn::{Activation, Layout};

    #[test]
    fn outlines_fit_their_own_slices_and_environments_only() {
        let cartpole = builtin("cartpole").unwrap().spec().clone();
        let pendulum = builtin("pendulum").unwrap().spec().clone();
        let mut layout = Layout::new();
        let layers = Mlp::new(&mut layout, "policy", 0, &[4, 8, 2], Activation::Relu, None);
        let shapes: Vec<Vec<usize>> = layout.slices().map(|(_, shape, _)| shape.to_vec()).collect();
        let outline = Outline::of(&layers, ActionRule::Logits(vec![2]));
        assert!(outline.fits(&shapes, &cartpole) && Outline::of(&layers, ActionRule::Values).fits(&shapes, &cartpole));
        assert!(!outline.fits(&shapes, &pendulum) && !outline.fits(&shapes[..3], &cartpole));
        assert!(!Outline::of(&layers, ActionRule::Dueling).fits(&shapes, &cartpole));
        assert!(!Outline::of(&layers, ActionRule::Limited(Bounds::of(&pendulum.action))).fits(&shapes, &cartpole));
        assert!(!outline.clone().reading(&[("z", 1)]).fits(&shapes, &cartpole));
        let both = outline.reading(&[("z", 1)]).reading(&[("previous", 2)]);
        assert_eq!(both.beside, [("previous", 2), ("z", 1)]);
    }
}
