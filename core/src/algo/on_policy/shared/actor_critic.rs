//! A policy and a value function: two networks on one θ.

use std::ops::Range;

use super::Sequences;
use crate::algo::{Held, ParameterGroups, RunningEpisodes, Sampling, StateEntry, Statistics};
use crate::env::EnvSpec;
use crate::nn::{Layout, MemoryCell, Mlp};
use crate::policy::{Acting, Distribution, MemoryConfig, NetConfig, PolicyNet};
use crate::{DType, Tensor};

/// The entries of the memories of policy and value function.
pub(super) const MEMORIES: [&str; 2] = ["policy_memory", "value_memory"];

/// The division of policy and value function into groups of parameters that make their steps together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stepping {
    /// The parameters of both networks are one group.
    #[default]
    Together,
    /// The parameters of each network are a group of their own, the policy's first.
    Apart,
    /// The policy's parameters are the only group: the value function makes no steps.
    Policy,
    /// The value function's parameters are the only group: no optimiser makes the policy's steps.
    Value,
}

/// The policy and value networks for an environment. `parts` of a function are [`Layout::split`] of θ `[S, P]`.
#[derive(Clone, Debug)]
pub struct ActorCritic {
    /// The names and places of the slices of θ.
    pub layout: Layout,
    groups: ParameterGroups,
    /// The policy alone, on the same `parts`.
    pub policy: PolicyNet,
    value: Mlp,
    /// The value function's own memory, if the policy has one.
    value_cell: Option<MemoryCell>,
    /// The numbers of the value function's slices.
    of_value: Range<usize>,
}

impl ActorCritic {
    /// Makes networks from the observations of an environment to its actions and to a value.
    ///
    /// If observations are normalised, that is layer 0 of each network, and its first linear layer is number 1.
    pub fn new(spec: &EnvSpec, config: &NetConfig, sampling: &Sampling) -> ActorCritic {
        ActorCritic::remembering(spec, config, &MemoryConfig::default(), sampling)
    }

    /// Makes networks like [`new`](ActorCritic::new), each with a memory of its own before its other layers if `memory`
    /// asks for one.
    pub fn remembering(spec: &EnvSpec, config: &NetConfig, memory: &MemoryConfig, sampling: &Sampling) -> ActorCritic {
        let (mut layout, first) = (Layout::new(), usize::from(sampling.normalise_observations));
        let trunk = PolicyNet::trunk(&mut layout, spec, (config, memory), first);
        let before = layout.slices().count();
        let sizes = [spec.observation.len(), 1];
        let (value_cell, value) = config.layers.network(memory, &mut layout, "value", first, sizes, 1.0);
        let of_value = before..layout.slices().count();
        let policy = PolicyNet::on(trunk, &mut layout, spec, config, sampling.sde);
        ActorCritic { groups: ParameterGroups::one(layout.clone()), layout, policy, value, value_cell, of_value }
    }

    /// Divides the parameters of the networks into groups.
    #[must_use]
    pub fn stepping(self, stepping: Stepping) -> ActorCritic {
        let (value, all) = (self.value_places(), self.layout.len());
        let policy = vec![0..value.start, value.end..all];
        let groups = match stepping {
            Stepping::Together => vec![(ParameterGroups::SCALE, std::iter::once(0..all).collect())],
            Stepping::Apart => vec![(ParameterGroups::SCALE, policy), ("adam_scale_value", vec![value])],
            Stepping::Policy => vec![(ParameterGroups::SCALE, policy)],
            Stepping::Value => vec![(ParameterGroups::SCALE, vec![value])],
        };
        ActorCritic { groups: ParameterGroups::on(self.layout.clone(), groups), ..self }
    }

    /// The groups of parameters that make their steps together.
    pub fn groups(&self) -> &ParameterGroups {
        &self.groups
    }

    /// The memories of policy and value function, if they have any.
    pub fn cells(&self) -> Option<[&MemoryCell; 2]> {
        Some([self.policy.cell()?, self.value_cell.as_ref()?])
    }

    /// The values by which a state's policy acts: slices of θ and, if observations are normalised, their statistics.
    pub fn acting(&self, held: &Held) -> Acting {
        Acting { parts: self.layout.split(held.theta()), values: Statistics::acting(held) }
    }

    /// Places in θ of the value function's parameters; all others are the policy's.
    pub fn value_places(&self) -> Range<usize> {
        let start = |number: usize| self.layout.slices().nth(number).map_or(self.layout.len(), |(_, _, at)| at);
        start(self.of_value.start)..start(self.of_value.end)
    }

    /// O, the count of numbers in an observation.
    pub fn observations(&self) -> usize {
        self.policy.observations()
    }

    /// A, the count of numbers in an action; 1 for a choice.
    pub fn actions(&self) -> usize {
        self.policy.actions()
    }

    /// The policy at `seen: [S, B, O]`. If it remembers, `seen` are the outputs of its memory, `[S, B, H]`.
    #[track_caller]
    pub fn distribution(&self, parts: &[Tensor], seen: Tensor) -> Distribution {
        self.policy.distribution(parts, seen)
    }

    /// The value function at `seen: [S, B, O]` → `[S, B, 1]`. If it remembers, `seen` are the outputs of its memory,
    /// `[S, B, H]`.
    #[track_caller]
    pub fn value(&self, parts: &[Tensor], seen: Tensor) -> Tensor {
        self.value.forward(parts, seen)
    }

    /// The policy at the observations `obs: [S, T · B, O]`. If it remembers, they are the rows of `sequences`, in order
    /// of time.
    #[track_caller]
    pub fn distribution_of(&self, parts: &[Tensor], obs: Tensor, sequences: Option<&Sequences>) -> Distribution {
        let cell = self.policy.cell();
        self.distribution(parts, sequences.map_or(obs, |sequences| sequences.outputs(cell, parts, obs, 0)))
    }

    /// The value function at the observations `obs`, `[S, T · B, 1]`, as in
    /// [`distribution_of`](ActorCritic::distribution_of).
    #[track_caller]
    pub fn value_of(&self, parts: &[Tensor], obs: Tensor, sequences: Option<&Sequences>) -> Tensor {
        let cell = self.value_cell.as_ref();
        self.value(parts, sequences.map_or(obs, |sequences| sequences.outputs(cell, parts, obs, 1)))
    }

    /// The states of both networks' memories at the beginning of a rollout, `[S, N, W]` each, if they remember. Where
    /// an episode has just begun, they are the first states by these parameters.
    pub(super) fn memories(&self, parts: &[Tensor], held: &Held) -> Option<[Tensor; 2]> {
        let cells = self.cells()?;
        let begins = held.get("env_steps").eq(Tensor::constant_u32(0));
        let state = |network: usize| {
            let kept = held.get(MEMORIES[network]);
            begins.select(cells[network].initial(parts, [begins.size(0), begins.size(1)]), kept)
        };
        Some([state(0), state(1)])
    }

    /// Entries of all that training changes, for one seed. Environments have states of `environment` numbers, or none
    /// where they keep their states to themselves. Each episode has at most `limit` steps, and a task of `tasks`
    /// numbers of its own, if there are many.
    pub(super) fn entries(
        &self,
        sampling: &Sampling,
        environment: Option<usize>,
        [limit, tasks]: [usize; 2],
    ) -> Vec<StateEntry> {
        let (n, o) = (sampling.envs, self.observations());
        let of = |name, shape: &[usize]| StateEntry::new(name, shape, DType::F32);
        let goes_on = sampling.whole_episodes().is_none();
        let mut entries = self.groups().entries();
        if goes_on {
            entries.extend(RunningEpisodes::entries(environment, limit, [n, o, tasks]));
        }
        if sampling.normalise_observations {
            entries.extend(Statistics::OBSERVATIONS.entries(o));
        }
        let memories = MEMORIES.into_iter().zip(self.cells().into_iter().flatten()).filter(|_| goes_on);
        entries.extend(memories.map(|(name, cell)| of(name, &[n, cell.width()]).of_episode()));
        if sampling.normalise_rewards {
            entries.extend(goes_on.then(|| of("discounted", &[n, 1]).of_episode()));
            entries.extend(Statistics::REWARDS.entries(1));
        }
        entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{ActionSpace, Dim, EnvSpec};
    use crate::policy::GaussianConfig;

    fn net(spec: &EnvSpec, sde: bool) -> ActorCritic {
        let config = NetConfig {
            gaussian: GaussianConfig { log_std_init: -1.0, ..GaussianConfig::default() },
            ..NetConfig::hidden(vec![8, 4])
        };
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
