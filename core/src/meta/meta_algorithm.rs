//! What a meta-test needs of an algorithm.

use super::config::MamlConfig;
use super::host_learner::HostLearner;
use super::maml::Learner;
use crate::backend::LocalFuture;
use crate::host::{Acted, Actor, BlockShape, Fleet, Padded, Samples, Stepped};
use crate::play::PolicyActor;
use crate::policy::How;
use crate::rng::Key;
use crate::{Array, Device, Result};

/// A policy that can adapt to what it saw: `adapt_policy` of garage's `MetaRLAlgorithm`.
pub trait MetaPolicy: Actor {
    /// What it becomes after these episodes of its own, on the same tasks.
    ///
    /// # Errors
    /// If the episodes do not fit or the device fails.
    fn adapt<'a>(self: Box<Self>, episodes: &'a Samples) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>>;
}

/// An algorithm whose policies adapt.
pub trait MetaAlgorithm {
    /// Discount γ of its returns.
    fn discount(&self) -> f64;

    /// How often it explores and adapts in turn, such as once per inner gradient step.
    fn rounds(&self) -> usize {
        1
    }

    /// The policy before it knows anything of the tasks, each of which the fleet plays: `get_exploration_policy` of garage.
    ///
    /// # Errors
    /// If the fleet does not fit or the device fails.
    fn exploration_policy<'a>(&'a mut self, fleet: &'a Fleet) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>>;
}

/// MAML's family: adapts by gradient steps from θ.
#[derive(Clone, Debug)]
pub struct GradientAdaptation {
    device: Device,
    config: MamlConfig,
    theta: Array,
}

impl GradientAdaptation {
    /// From shared parameters `theta: [1, P]`.
    #[must_use]
    pub fn new(device: &Device, config: &MamlConfig, theta: Array) -> GradientAdaptation {
        GradientAdaptation { device: device.clone(), config: config.clone(), theta }
    }
}

impl MetaAlgorithm for GradientAdaptation {
    fn discount(&self) -> f64 {
        self.config.gamma
    }

    fn rounds(&self) -> usize {
        self.config.inner_steps
    }

    fn exploration_policy<'a>(&'a mut self, fleet: &'a Fleet) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>> {
        Box::pin(async move {
            let learner = Learner::new(&fleet.spec, &self.config);
            let block = BlockShape::of(fleet);
            let mut programs = HostLearner::new(&self.device, &learner, &self.config, 1, block)?;
            let mut actor =
                PolicyActor::of_parts(&self.device, &learner.policy, &learner.policy_shapes(), fleet, How::Explore)?;
            let parts = programs.start(&self.theta)?;
            actor.set_parts(&parts);
            let policy = GradientPolicy { of: self.clone(), learner, programs, block, actor, parts };
            Ok(Box::new(policy) as Box<dyn MetaPolicy>)
        })
    }
}

/// A policy with parameters of each task's own.
struct GradientPolicy {
    of: GradientAdaptation,
    learner: Learner,
    programs: HostLearner,
    /// What the programs are made for.
    block: BlockShape,
    actor: PolicyActor,
    parts: Vec<Array>,
}

impl Actor for GradientPolicy {
    fn begin(&mut self, keys: &[Key]) -> Result<()> {
        self.actor.begin(keys)
    }

    fn observe<'a>(&'a mut self, acted: &'a Acted, stepped: &'a Stepped) -> LocalFuture<'a, Result<()>> {
        self.actor.observe(acted, stepped)
    }

    fn act<'a>(&'a mut self, observations: &'a [f64], step: u32) -> LocalFuture<'a, Result<Acted>> {
        self.actor.act(observations, step)
    }
}

impl MetaPolicy for GradientPolicy {
    fn adapt<'a>(mut self: Box<Self>, episodes: &'a Samples) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>> {
        Box::pin(async move {
            let paths = episodes.tasks.iter().map(Vec::len).max().unwrap_or(0).max(1);
            let GradientAdaptation { device, config, theta } = &self.of;
            if paths != self.block.paths {
                self.block.paths = paths;
                self.programs = HostLearner::new(device, &self.learner, config, 1, self.block)?;
            }
            let block = Padded::with_shape(&episodes.tasks, self.block)?;
            self.parts = self.programs.adapt(theta, &self.parts, &block)?;
            self.actor.set_parts(&self.parts);
            Ok(self as Box<dyn MetaPolicy>)
        })
    }
}
