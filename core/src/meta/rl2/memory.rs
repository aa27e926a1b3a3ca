//! RL² on environments of the host: what a policy saw while it explored stays in its memory.

use super::config::Rl2Config;
use super::learner::Rl2Net;
use super::policy::TrialPolicy;
use crate::backend::LocalFuture;
use crate::host::{Acted, Actor, Fleet, Samples, Stepped};
use crate::meta::{MetaAlgorithm, MetaPolicy};
use crate::play::{ActorSpec, PolicyActor};
use crate::policy::{Acting, How};
use crate::rng::Key;
use crate::{Array, Context, DType, Device, Error, Result};

/// RL²: adapts by remembering.
///
/// Who explores begins with an empty memory that lasts over the ends of episodes, as garage's `NoResetPolicy`; the episodes
/// are one trial. Who has adapted begins each episode with the memory that this trial ended with, as `RL2AdaptedPolicy`;
/// it has a copy of its own, where the original shares an array that later steps may change. What a trial's last step
/// led to belongs to its memory if `carry_over` is set.
///
/// Every environment plays a trial of its own, several of one task as well. Actions are drawn, and reported with
/// `log_prob`, their log-probability.
#[derive(Clone, Debug)]
pub struct MemoryAdaptation {
    device: Device,
    config: Rl2Config,
    theta: Array,
}

impl MemoryAdaptation {
    /// From parameters `theta: [1, P]` of a [`Rl2Net`].
    #[must_use]
    pub fn new(device: &Device, config: &Rl2Config, theta: Array) -> MemoryAdaptation {
        MemoryAdaptation { device: device.clone(), config: config.clone(), theta }
    }
}

impl MetaAlgorithm for MemoryAdaptation {
    fn discount(&self) -> f64 {
        self.config.gamma
    }

    fn exploration_policy<'a>(&'a mut self, fleet: &'a Fleet) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>> {
        Box::pin(async move { Ok(Box::new(MemoryPolicy::new(self, fleet)?) as Box<dyn MetaPolicy>) })
    }
}

/// A policy that explores, or one that has adapted. Memories are rows of numbers, one per environment.
pub(super) struct MemoryPolicy {
    actor: PolicyActor,
    /// M and E of the fleet.
    groups: [usize; 2],
    /// How each environment's memory was when the collection began and after each of its episodes since.
    ends: Vec<Vec<Vec<f64>>>,
    /// What episodes begin with; none: what the one before ended with.
    frozen: Option<Vec<Vec<f64>>>,
}

impl MemoryPolicy {
    /// Nothing is remembered yet. There may be parameters for each group, `[M, P]`.
    pub fn new(of: &MemoryAdaptation, fleet: &Fleet) -> Result<MemoryPolicy> {
        of.config.net().validate()?;
        let net = Rl2Net::new(&fleet.spec, &of.config);
        let (len, shape) = (net.layout.len(), &of.theta.shape);
        let rows = shape.first().copied().unwrap_or(0);
        if shape[..] != [rows, len] || ![1, fleet.tasks].contains(&rows) {
            let problem = format!(
                "parameters have the shape {shape:?}, and a policy for `{}` has [1, {len}], or a row per task",
                fleet.spec.name
            );
            return Err(Error::Program(problem));
        }
        let policy = TrialPolicy { net: &net, space: &fleet.spec.action, carry_over: of.config.carry_over };
        let sizes = [fleet.tasks, fleet.envs_per_task, fleet.observations(), fleet.actions()];
        let spec = ActorSpec { policy: &policy, sizes, how: How::Explore, lasting: false, info: &["log_prob"] };
        // One row of parameters, which all tasks share, or one for each.
        let mut actor = PolicyActor::new(&of.device, spec, &|cx: &mut Context| {
            Acting::of(&net.layout.split(cx.input("theta", &[rows, len], DType::F32)))
        })?;
        actor.set_acting(vec![("theta".to_owned(), of.theta.clone())]);
        let groups = [fleet.tasks, fleet.envs_per_task];
        Ok(MemoryPolicy { actor, groups, ends: Vec::new(), frozen: None })
    }
}

impl Actor for MemoryPolicy {
    fn info(&self) -> &[String] {
        self.actor.info()
    }

    /// What belongs to no whole episode is forgotten.
    fn begin(&mut self, keys: &[Key]) -> Result<()> {
        self.actor.begin(keys)?;
        let now: Option<Vec<Vec<f64>>> = match &self.frozen {
            Some(frozen) => Some(frozen.clone()),
            None if self.ends.is_empty() => None,
            None => Some(self.ends.iter().filter_map(|ends| ends.last().cloned()).collect()),
        };
        if let Some(now) = now {
            self.actor.set_memory(&now)?;
            self.ends = now.into_iter().map(|memory| vec![memory]).collect();
        }
        Ok(())
    }

    fn observe<'a>(&'a mut self, acted: &'a Acted, stepped: &'a Stepped) -> LocalFuture<'a, Result<()>> {
        Box::pin(async move {
            self.actor.observe(acted, stepped).await?;
            let ended: Vec<usize> = (0..stepped.rewards.len()).filter(|number| stepped.ended(*number)).collect();
            if ended.is_empty() {
                return Ok(());
            }
            let mut now = self.actor.memory().await?;
            for number in &ended {
                self.ends[*number].push(now[*number].clone());
            }
            if let Some(frozen) = &self.frozen {
                ended.iter().for_each(|number| now[*number].clone_from(&frozen[*number]));
                self.actor.set_memory(&now)?;
            }
            Ok(())
        })
    }

    fn act<'a>(&'a mut self, observations: &'a [f64], step: u32) -> LocalFuture<'a, Result<Acted>> {
        Box::pin(async move {
            if self.ends.is_empty() {
                self.ends = self.actor.memory().await?.into_iter().map(|memory| vec![memory]).collect();
            }
            self.actor.act(observations, step).await
        })
    }
}

impl MetaPolicy for MemoryPolicy {
    /// It remembers as many episodes of each environment as there are here, the first ones. One that has adapted, and adapts
    /// again, goes on from the last of them.
    fn adapt<'a>(mut self: Box<Self>, episodes: &'a Samples) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>> {
        Box::pin(async move {
            let [tasks, envs_per_task] = self.groups;
            let foreign = || Error::config("episodes", "there are others than those that this policy played last");
            if episodes.tasks.len() != tasks || self.ends.is_empty() {
                return Err(foreign());
            }
            let mut frozen = Vec::with_capacity(self.ends.len());
            for (number, ends) in self.ends.iter().enumerate() {
                let (task, copy) = (number / envs_per_task, number % envs_per_task);
                let played = episodes.tasks[task].iter().filter(|path| path.copy == copy).count();
                frozen.push(ends.get(played).ok_or_else(foreign)?.clone());
            }
            self.frozen = Some(frozen);
            Ok(self as Box<dyn MetaPolicy>)
        })
    }
}
