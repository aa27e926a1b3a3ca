//! A policy and a value function: two networks on one θ.

use std::ops::Range;

use super::{Held, Sampling};
use crate::Tensor;
use crate::env::EnvSpec;
use crate::nn::{Layout, Mlp};
use crate::policy::{Acting, Distribution, NetConfig, PolicyNet};

/// Policy and value networks for one environment. Parameters are values: `parts` is [`Layout::split`] of θ `[S, P]`.
#[derive(Clone, Debug)]
pub struct ActorCritic {
    /// Which part of θ is what.
    pub layout: Layout,
    /// The policy alone, on the same `parts`.
    pub policy: PolicyNet,
    value: Mlp,
    /// Numbers of the value function's slices.
    of_value: Range<usize>,
}

impl ActorCritic {
    /// Networks from the observations of an environment to its actions and to a value.
    ///
    /// Where observations are normalised, that is layer 0 of each network, and its first linear layer is number 1.
    pub fn new(spec: &EnvSpec, config: &NetConfig, sampling: &Sampling) -> ActorCritic {
        let (mut layout, first) = (Layout::new(), usize::from(sampling.normalise_observations));
        let trunk = PolicyNet::trunk(&mut layout, spec, config, first);
        let sizes = [&[spec.observation.len()], &config.hidden[..], &[1]].concat();
        let last_gain = config.orthogonal_init.then_some(1.0);
        let before = layout.slices().count();
        let value = Mlp::new(&mut layout, "value", first, &sizes, config.activation, last_gain);
        let of_value = before..layout.slices().count();
        let policy = PolicyNet::on(trunk, &mut layout, spec, config, sampling.sde);
        ActorCritic { layout, policy, value, of_value }
    }

    /// The values by which the policy of a state acts: slices of θ and, if observations are normalised, their statistics.
    pub fn acting(&self, held: &Held) -> Acting {
        let statistics = ["obs_mean", "obs_var"].into_iter().filter_map(|name| Some((name, held.find(name)?)));
        Acting { parts: self.layout.split(held.get("theta")), values: statistics.collect() }
    }

    /// Parts by slice, such as gradients, with 0 in those that are not of the value function; or, if `value` is false, in those that are.
    #[track_caller]
    pub fn only(&self, parts: &[Tensor], value: bool) -> Vec<Tensor> {
        let one = |(i, part): (usize, &Tensor)| match self.of_value.contains(&i) == value {
            true => *part,
            false => Tensor::zeros(&part.shape()),
        };
        parts.iter().enumerate().map(one).collect()
    }

    /// The same of a vector `[S, P]`, such as the first moments of an optimiser.
    #[track_caller]
    pub fn only_in(&self, theta: Tensor, value: bool) -> Tensor {
        self.layout.join(&self.only(&self.layout.split(theta), value))
    }

    /// Places in θ of the value function's parameters; all others are the policy's.
    pub fn value_places(&self) -> Range<usize> {
        let start = |number: usize| self.layout.slices().nth(number).map_or(self.layout.len(), |(_, _, at)| at);
        start(self.of_value.start)..start(self.of_value.end)
    }

    /// O, how many numbers an observation has.
    pub fn observations(&self) -> usize {
        self.policy.observations()
    }

    /// A, how many numbers an action has; 1 for a choice.
    pub fn actions(&self) -> usize {
        self.policy.actions()
    }

    /// The policy at `obs: [S, B, O]`.
    #[track_caller]
    pub fn distribution(&self, parts: &[Tensor], obs: Tensor) -> Distribution {
        self.policy.distribution(parts, obs)
    }

    /// The value function at `obs: [S, B, O]` → `[S, B, 1]`.
    #[track_caller]
    pub fn value(&self, parts: &[Tensor], obs: Tensor) -> Tensor {
        self.value.forward(parts, obs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{ActionSpace, Dim, EnvSpec};

    fn net(spec: &EnvSpec, sde: bool) -> ActorCritic {
        let config = NetConfig { hidden: vec![8, 4], log_std_init: -1.0, ..NetConfig::default() };
        ActorCritic::new(spec, &config, &Sampling { sde, ..Sampling::default() })
    }

    #[test]
    fn parameters_are_those_of_two_networks_and_the_exploration() {
        let choice = EnvSpec::new("a", vec![Dim::unbounded("x"); 3], ActionSpace::discrete(&["l", "r"]), 9);
        let nets = |out: usize| (3 * 8 + 8) + (8 * 4 + 4) + (4 * out + out);
        assert_eq!(net(&choice, false).layout.len(), nets(2) + nets(1));
        let vector = ActionSpace::continuous(vec![Dim::new("f", -2.0, 1.0); 2]);
        let vector = EnvSpec::new("b", vec![Dim::unbounded("x"); 3], vector, 9);
        assert_eq!(net(&vector, false).layout.len(), nets(2) + nets(1) + 2);
        let sde = net(&vector, true);
        assert_eq!(sde.layout.len(), nets(2) + nets(1) + 4 * 2);
        assert!(sde.layout.init([1, 2]).ends_with(&[-1.0; 8]));
    }
}
