//! A policy from observations to a distribution of actions, by a network that may have a memory.

use super::{Act, Acting, Bounds, Distribution, How, MemoryConfig, Policy};
use crate::Tensor;
use crate::dist::{Categorical, Gaussian, LOG_STD_RANGE, RowNoise, StateDependent};
use crate::env::{ActionSpace, EnvSpec};
use crate::nn::{Activation, Init, Layout, MemoryCell, Mlp, SliceId};
use crate::settings::{Range, Settings as _};
use crate::tensor::Named;
use crate::{Error, Result};

crate::settings! {
    /// The settings of the layers of networks.
    pub struct LayersConfig {
        /// hidden layers of each network
        hidden: Vec<usize> = vec![64, 64];
        /// of the hidden layers
        activation: Activation = Activation::Tanh;
        /// orthogonal first weights; false: uniform as in PyTorch
        ///
        /// With gain √2, last layers 0.01 and 1, and zero biases.
        orthogonal_init: bool = true;
    }
}

crate::settings! {
    /// The settings of a deviation that is a parameter: that of a policy of vectors.
    pub struct DeviationConfig {
        /// first ln σ of continuous actions
        log_std_init: f64 = 0.0, LOG_STD;
        /// lowest σ of continuous actions; 0: no limit
        ///
        /// As garage's and ProMP's `min_std`. A parameter below it has no gradient and stays there.
        min_std: f64 = 0.0, Range::NotNegative;
    }
}

crate::settings! {
    /// The settings that the networks of a policy are built from whose actions are drawn with a deviation of their own.
    pub struct NetConfig {
        /// The layers.
        ..layers: LayersConfig;
        /// The deviation of vectors.
        ..deviation: DeviationConfig;
    }
}

/// The range of the setting `log_std_init`.
pub const LOG_STD: Range = Range::Between(LOG_STD_RANGE.0, LOG_STD_RANGE.1);

/// Widest hidden layer.
const MAX_WIDTH: usize = 8192;
/// Most hidden layers.
const MAX_DEPTH: usize = 16;

impl DeviationConfig {
    /// Checks every value on its own, and that a policy begins at its lowest deviation or above: below it has no gradient.
    ///
    /// # Errors
    /// [`Error::Config`] if they cannot work.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        let DeviationConfig { log_std_init, min_std } = *self;
        if log_std_init.exp() < min_std {
            let first = log_std_init.exp();
            let problem = format!(
                "{min_std} is above the first σ, e^log_std_init = {first:.3}, which then never changes; lower it, or raise \
                 log_std_init"
            );
            return Err(Error::config("min_std", problem));
        }
        Ok(())
    }
}

impl NetConfig {
    /// The defaults with hidden layers of these widths.
    #[must_use]
    pub fn hidden(widths: Vec<usize>) -> NetConfig {
        NetConfig { layers: LayersConfig { hidden: widths, ..LayersConfig::default() }, ..NetConfig::default() }
    }

    /// Checks every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] if they cannot work.
    pub fn validate(&self) -> Result<()> {
        self.layers.check()?;
        self.deviation.validate()?;
        self.layers.validate()
    }
}

impl LayersConfig {
    /// Checks every value on its own, and the number and widths of the hidden layers.
    ///
    /// # Errors
    /// [`Error::Config`] if they cannot work.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        validate_widths("hidden", &self.hidden)
    }

    /// The layers of a network of this name, from so many inputs to so many outputs, behind recurrent units, if there is a memory.
    pub(crate) fn network(
        &self,
        memory: &MemoryConfig,
        layout: &mut Layout,
        network: &str,
        first: usize,
        [inputs, outputs]: [usize; 2],
        last_gain: f64,
    ) -> (Option<MemoryCell>, Mlp) {
        let layer = |kind| memory.layer(kind, layout, network, inputs, self.orthogonal_init);
        let cell = memory.cell.cell().map(layer);
        let sizes = [&[cell.as_ref().map_or(inputs, MemoryCell::hidden)], &self.hidden[..], &[outputs]].concat();
        let gain = self.orthogonal_init.then_some(last_gain);
        (cell, Mlp::new(layout, network, first, &sizes, self.activation, gain))
    }
}

/// Checks the widths of hidden layers, the value of that setting.
///
/// # Errors
/// [`Error::Config`] for too many layers, or one that is empty or too wide.
pub(crate) fn validate_widths(key: &str, widths: &[usize]) -> Result<()> {
    if widths.len() > MAX_DEPTH {
        return Err(Error::config(key, format!("at most {MAX_DEPTH} layers, got {}", widths.len())));
    }
    match widths.iter().find(|w| **w == 0 || **w > MAX_WIDTH) {
        Some(width) => Err(Error::config(key, format!("a width of {width} is not in 1 to {MAX_WIDTH}"))),
        None => Ok(()),
    }
}

/// The name of a policy's memory.
pub(crate) const MEMORY: &str = "memory";

#[derive(Clone, Debug, PartialEq)]
enum Head {
    Choice,
    Gaussian(SliceId),
    StateDependent(SliceId),
}

/// A policy for one environment. Parameters are values: `parts` is [`Layout::split`] of θ `[S, P]`.
#[derive(Clone, Debug)]
pub struct PolicyNet {
    /// The recurrent units before the other layers, if it remembers.
    cell: Option<MemoryCell>,
    mlp: Mlp,
    head: Head,
    observations: usize,
    actions: usize,
    bounds: Bounds,
    /// ln of the lowest σ.
    least_log_std: f64,
}

impl PolicyNet {
    /// A network whose slices are added to `layout`, the head's last.
    pub fn new(layout: &mut Layout, spec: &EnvSpec, config: &NetConfig) -> PolicyNet {
        PolicyNet::numbered(layout, spec, config, 0)
    }

    /// A network whose slices are added to `layout`, the first linear layer by the number `first`, the head's last.
    pub(crate) fn numbered(layout: &mut Layout, spec: &EnvSpec, config: &NetConfig, first: usize) -> PolicyNet {
        let trunk = PolicyNet::trunk(layout, spec, (config, &MemoryConfig::default()), first);
        PolicyNet::on(trunk, layout, spec, config, false)
    }

    /// The layers of a policy, the first linear one of which has this number, behind its memory, if there is one.
    pub(crate) fn trunk(
        layout: &mut Layout,
        spec: &EnvSpec,
        (config, memory): (&NetConfig, &MemoryConfig),
        first: usize,
    ) -> (Option<MemoryCell>, Mlp) {
        let outputs = spec.action.choices().unwrap_or(spec.action.dim());
        config.layers.network(memory, layout, "policy", first, [spec.observation.len(), outputs], 0.01)
    }

    /// The policy on its layers, whose exploration of vectors may be state-dependent (`sde`).
    pub(crate) fn on(
        (cell, mlp): (Option<MemoryCell>, Mlp),
        layout: &mut Layout,
        spec: &EnvSpec,
        config: &NetConfig,
        sde: bool,
    ) -> PolicyNet {
        let outputs = spec.action.choices().unwrap_or(spec.action.dim());
        let log_std = Init::Constant(config.deviation.log_std_init);
        let inputs = cell.as_ref().map_or(spec.observation.len(), MemoryCell::hidden);
        let features = config.layers.hidden.last().copied().unwrap_or(inputs);
        let head = match &spec.action {
            ActionSpace::Discrete { .. } => Head::Choice,
            _ if sde => Head::StateDependent(layout.add("policy.log_std", &[features, outputs], log_std)),
            _ => Head::Gaussian(layout.add("policy.log_std", &[outputs], log_std)),
        };
        PolicyNet {
            cell,
            mlp,
            head,
            observations: spec.observation.len(),
            actions: spec.action.dim(),
            bounds: Bounds::of(&spec.action),
            least_log_std: config.deviation.min_std.ln(),
        }
    }

    /// O, how many numbers an observation has.
    pub fn observations(&self) -> usize {
        self.observations
    }

    /// A, how many numbers an action has; 1 for a choice.
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// Its memory, if it has one: the state `memory`, `[S, B, W]`, which is zero or learned where an episode begins.
    pub fn cell(&self) -> Option<&MemoryCell> {
        self.cell.as_ref()
    }

    /// The policy at `seen: [S, B, O]`; where it has a memory, at the outputs of that, `[S, B, H]`.
    #[track_caller]
    pub fn distribution(&self, parts: &[Tensor], seen: Tensor) -> Distribution {
        self.distribution_and_features(parts, seen).0
    }

    fn distribution_and_features(&self, parts: &[Tensor], seen: Tensor) -> (Distribution, Tensor) {
        let (out, features) = self.mlp.forward_features(parts, seen);
        let distribution = match self.head {
            Head::Choice => Distribution::Choice(Categorical::new(out)),
            Head::Gaussian(slot) => Distribution::Vector(Gaussian::at_least(out, parts[slot], self.least_log_std)),
            Head::StateDependent(slot) => {
                Distribution::Vector(StateDependent::new(parts[slot]).distribution(out, features))
            }
        };
        (distribution, features)
    }

    /// The action that an environment gets: vectors are limited to the action space.
    ///
    /// Log-probabilities are those of the action before (as Stable-Baselines3): limiting is part of the environment.
    #[track_caller]
    pub fn limit(&self, action: Tensor) -> Tensor {
        self.bounds.clamp(action)
    }
}

impl Policy for PolicyNet {
    fn begin(&self, acting: &Acting, rows: [usize; 2], _: Option<&Named>, _: &RowNoise) -> Named {
        self.cell.iter().map(|cell| (MEMORY, cell.initial(&acting.parts, rows))).collect()
    }

    fn act(
        &self,
        acting: &Acting,
        observation: Tensor,
        memory: &Named,
        lasting: Option<Tensor>,
        noise: &RowNoise,
        how: How,
    ) -> Act {
        let parts = &acting.parts;
        let (seen, memory) = match &self.cell {
            None => (observation, Named::new()),
            Some(cell) => {
                let state = cell.step(parts, observation, memory.get(MEMORY));
                (cell.output(parts, state), memory.clone().and(MEMORY, state))
            }
        };
        let (distribution, features) = self.distribution_and_features(parts, seen);
        let action = match (how, &self.head, lasting) {
            (How::Explore, Head::StateDependent(slot), Some(matrix)) => {
                distribution.mode() + StateDependent::new(parts[*slot]).disturb(features, matrix)
            }
            _ => distribution.choose(how, &self.bounds, noise),
        };
        Act { action, played: self.bounds.clamp(action), memory, extras: distribution.extras(observation, action) }
    }

    /// A noise matrix per row, `[K, N, A · L]`, if exploration is state-dependent.
    fn lasting(&self, acting: &Acting, noise: &RowNoise) -> Option<Tensor> {
        match self.head {
            Head::StateDependent(slot) => Some(StateDependent::new(acting.parts[slot]).draw(noise)),
            _ => None,
        }
    }
}
