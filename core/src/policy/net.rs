//! A policy from observations to a distribution of actions, through a network that may have a memory.

use super::{Act, Acting, ActionRule, ActionUnits, Distribution, How, MemoryConfig, Outline, Policy};
use crate::Tensor;
use crate::dist::{Gaussian, LOG_STD_RANGE, RowNoise, StateDependent};
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
    /// The settings of Gaussian policies, which act by vectors and whose deviation is a parameter.
    pub struct GaussianConfig {
        /// first ln σ of continuous actions
        log_std_init: f64 = 0.0, LOG_STD;
        /// lowest σ of continuous actions; 0: no limit
        ///
        /// As garage's and ProMP's `min_std`. A parameter below it has no gradient and stays there.
        min_std: f64 = 0.0, Range::NotNegative;
        /// continuous actions in units in which -1 to 1 are the bounds
        ///
        /// Where bounds are far from ±1. An output of 0 is then the middle of the bounds, and σ is in these units.
        scale_actions: bool = false;
    }
}

crate::settings! {
    /// The settings of a policy's networks, Gaussian for vectors.
    pub struct NetConfig {
        /// The layers.
        ..layers: LayersConfig;
        /// How vectors are drawn.
        ..gaussian: GaussianConfig;
    }
}

/// The range of the setting `log_std_init`.
pub const LOG_STD: Range = Range::Between(LOG_STD_RANGE.0, LOG_STD_RANGE.1);

/// The widest hidden layer.
const MAX_WIDTH: usize = 8192;
/// The most hidden layers.
const MAX_DEPTH: usize = 16;

impl GaussianConfig {
    /// Checks every value on its own, and that σ begins at or above its lowest value; below that it has no gradient.
    ///
    /// # Errors
    /// [`Error::Config`] if they cannot work.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        let GaussianConfig { log_std_init, min_std, .. } = *self;
        if log_std_init.exp() < min_std {
            let first = log_std_init.exp();
            let problem = format!(
                "{min_std} is above the first σ, e^log_std_init = {first:.3}, which then never changes; lower it, or \
                 raise log_std_init"
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
        self.gaussian.validate()?;
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

    /// Makes the layers of the network `network`, from `inputs` to `outputs` numbers, behind its recurrent units if
    /// there are such.
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

/// Checks the widths of hidden layers; `key` is the setting's name.
///
/// # Errors
/// [`Error::Config`] for too many layers, or for one that is empty or too wide.
pub(crate) fn validate_widths(key: &str, widths: &[usize]) -> Result<()> {
    if widths.len() > MAX_DEPTH {
        return Err(Error::config(key, format!("at most {MAX_DEPTH} layers, got {}", widths.len())));
    }
    match widths.iter().find(|w| **w == 0 || **w > MAX_WIDTH) {
        Some(width) => Err(Error::config(key, format!("a width of {width} is not in 1 to {MAX_WIDTH}"))),
        None => Ok(()),
    }
}

/// The name of the state of a policy's recurrent units.
pub(crate) const MEMORY: &str = "memory";

#[derive(Clone, Debug, PartialEq)]
enum Head {
    /// Logits of one or several choices, with so many options each.
    Choices(Vec<usize>),
    Gaussian(SliceId),
    StateDependent(SliceId),
}

/// A policy for one environment. Its parameters are passed in: `parts` is [`Layout::split`] of θ `[S, P]`.
#[derive(Clone, Debug)]
pub struct PolicyNet {
    /// The recurrent units in front of the other layers, if the policy remembers.
    cell: Option<MemoryCell>,
    mlp: Mlp,
    head: Head,
    observations: usize,
    actions: usize,
    units: ActionUnits,
    /// The logarithm of the lowest σ.
    least_log_std: f64,
}

impl PolicyNet {
    /// Makes a policy whose slices are added to `layout`, those of the head last.
    pub fn new(layout: &mut Layout, spec: &EnvSpec, config: &NetConfig) -> PolicyNet {
        PolicyNet::numbered(layout, spec, config, 0)
    }

    /// Makes a policy as [`new`](PolicyNet::new), whose first linear layer gets the number `first`.
    pub(crate) fn numbered(layout: &mut Layout, spec: &EnvSpec, config: &NetConfig, first: usize) -> PolicyNet {
        let trunk = PolicyNet::trunk(layout, spec, (config, &MemoryConfig::default()), first);
        PolicyNet::on(trunk, layout, spec, config, false)
    }

    /// Makes the layers of a policy behind its memory, if there is one; the first linear layer gets the number `first`.
    pub(crate) fn trunk(
        layout: &mut Layout,
        spec: &EnvSpec,
        (config, memory): (&NetConfig, &MemoryConfig),
        first: usize,
    ) -> (Option<MemoryCell>, Mlp) {
        let outputs = spec.action.width();
        config.layers.network(memory, layout, "policy", first, [spec.observation.len(), outputs], 0.01)
    }

    /// Makes the policy on given layers; its exploration of vectors may be state-dependent (`sde`).
    pub(crate) fn on(
        (cell, mlp): (Option<MemoryCell>, Mlp),
        layout: &mut Layout,
        spec: &EnvSpec,
        config: &NetConfig,
        sde: bool,
    ) -> PolicyNet {
        let outputs = spec.action.width();
        let log_std = Init::Constant(config.gaussian.log_std_init);
        let inputs = cell.as_ref().map_or(spec.observation.len(), MemoryCell::hidden);
        let features = config.layers.hidden.last().copied().unwrap_or(inputs);
        let head = match &spec.action {
            ActionSpace::Discrete { .. } | ActionSpace::MultiDiscrete { .. } => {
                Head::Choices(spec.action.counts().unwrap_or_default())
            }
            ActionSpace::Box { .. } if sde => {
                Head::StateDependent(layout.add("policy.log_std", &[features, outputs], log_std))
            }
            ActionSpace::Box { .. } => Head::Gaussian(layout.add("policy.log_std", &[outputs], log_std)),
        };
        PolicyNet {
            cell,
            mlp,
            head,
            observations: spec.observation.len(),
            actions: spec.action.dim(),
            units: ActionUnits::of(&spec.action, config.gaussian.scale_actions),
            least_log_std: config.gaussian.min_std.ln(),
        }
    }

    /// O, the numbers of an observation.
    pub fn observations(&self) -> usize {
        self.observations
    }

    /// A, the numbers of an action; 1 for a choice, and one for each of several.
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// The recurrent units, if the policy remembers. Their state is `memory`, `[S, B, W]`; it is
    /// zero, or learned, where an episode begins.
    pub fn cell(&self) -> Option<&MemoryCell> {
        self.cell.as_ref()
    }

    /// The policy's distribution at observations `seen: [S, B, O]` or, if it remembers, at outputs of its units,
    /// `[S, B, H]`.
    #[track_caller]
    pub fn distribution(&self, parts: &[Tensor], seen: Tensor) -> Distribution {
        self.distribution_and_features(parts, seen).0
    }

    fn distribution_and_features(&self, parts: &[Tensor], seen: Tensor) -> (Distribution, Tensor) {
        let (out, features) = self.mlp.forward_features(parts, seen);
        let distribution = match &self.head {
            Head::Choices(counts) => Distribution::of_choices(out, counts),
            Head::Gaussian(slot) => Distribution::Vector(Gaussian::at_least(out, parts[*slot], self.least_log_std)),
            Head::StateDependent(slot) => {
                Distribution::Vector(StateDependent::new(parts[*slot]).distribution(out, features))
            }
        };
        (distribution, features)
    }

    /// The units of vectors, and the actions that environments get.
    #[must_use]
    pub fn units(&self) -> &ActionUnits {
        &self.units
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
            _ => distribution.choose(how, &self.units, noise),
        };
        Act { action, played: self.units.played(action), memory, extras: distribution.extras(observation, action) }
    }

    /// Draws a noise matrix per row, `[K, N, A · L]`, if exploration is state-dependent.
    fn lasting(&self, acting: &Acting, noise: &RowNoise) -> Option<Tensor> {
        match self.head {
            Head::StateDependent(slot) => Some(StateDependent::new(acting.parts[slot]).draw(noise)),
            _ => None,
        }
    }

    fn outline(&self) -> Option<Outline> {
        let rule = match &self.head {
            Head::Choices(counts) => ActionRule::Logits(counts.clone()),
            Head::Gaussian(_) | Head::StateDependent(_) => self.units.rule(),
        };
        Some(Outline::of(&self.mlp, rule).behind(self.cell.as_ref().map(MemoryCell::slices)))
    }
}
