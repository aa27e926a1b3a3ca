//! Rewards of machines: how far a state is from the wanted one, and what the action costs.

use crate::env::Real;

/// The least that a scaled reward can be within the bounds of states and actions.
const LEAST: f64 = 1e-4;

/// Weights of a quadratic cost: Q is diagonal, and R is a multiple of the identity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights<const N: usize> {
    /// The diagonal of Q: per squared error of each number of the state.
    pub state: [f64; N],
    /// R: per squared number of the action.
    pub action: f64,
}

impl<const N: usize> Weights<N> {
    /// eᵀQe + aᵀRa, of an error e and the action a as it was asked for, before it is limited.
    #[inline(always)]
    pub(super) fn cost<R: Real>(&self, error: [R; N], action: &[R]) -> R {
        let mut cost = R::lit(0.0);
        for (number, weight) in error.into_iter().zip(self.state) {
            cost = cost + number.square() * R::lit(weight);
        }
        for number in action {
            cost = cost + number.square() * R::lit(self.action);
        }
        cost
    }

    /// The reward −(eᵀQe + aᵀRa).
    #[inline(always)]
    pub(super) fn quadratic<R: Real>(&self, error: [R; N], action: &[R]) -> R {
        -self.cost(error, action)
    }

    /// The reward exp(−(eᵀQe + aᵀRa)), at most 1.
    #[inline(always)]
    pub(super) fn exp_quadratic<R: Real>(&self, error: [R; N], action: &[R]) -> R {
        (-self.cost(error, action)).exp()
    }

    /// The reward exp(−c (eᵀQe + aᵀRa)), where c is such that the bounds of states and actions are worth 10⁻⁴.
    #[inline(always)]
    pub(super) fn scaled_exp_quadratic<R: Real>(&self, error: [R; N], action: &[R], state: [R; N], most: &[R]) -> R {
        (self.cost(error, action) * R::lit(LEAST.ln()) / self.cost(state, most)).exp()
    }
}
