//! Policies that adapt, in environments of the host.

use std::rc::Rc;

use crate::algo::Algorithm;
use crate::backend::LocalFuture;
use crate::host::{Acted, Actor, BlockShape, Fleet, Padded, Samples, Stepped};
use crate::meta::{MetaAlgorithm, MetaPolicy};
use crate::play::{ActorSpec, PolicyActor};
use crate::policy::{Acting, How};
use crate::rng::Key;
use crate::tensor::Tree as _;
use crate::{Array, Context, DType, Device, Error, Program, Result, State};

/// A trained policy with its algorithm: it adapts by gradients, by inference or by what it remembers.
///
/// A policy that adapts by its memory begins to explore with an empty one, which lasts over the ends of episodes, as garage's
/// `NoResetPolicy`; the episodes are one trial. After it has adapted it begins each episode with the memory that this trial ended with,
/// as `RL2AdaptedPolicy`; it has a copy of its own, where the original shares an array that later steps may change. Every environment
/// plays a trial of its own, several of one task as well. Actions are drawn, and reported with `log_prob` where the policy gives it.
#[derive(Clone, Debug)]
pub struct Adaptive {
    device: Device,
    algorithm: Rc<dyn Algorithm>,
    policy: Vec<(&'static str, Array)>,
}

impl Adaptive {
    /// With a policy's arrays, `[1, …]` each, as [`Algorithm::policy_entries`] names them.
    #[must_use]
    pub fn new(device: &Device, algorithm: Rc<dyn Algorithm>, policy: Vec<(&'static str, Array)>) -> Adaptive {
        Adaptive { device: device.clone(), algorithm, policy }
    }

    fn run(&self, program: &mut Program, more: &[(&str, &Array)]) -> Result<Vec<Array>> {
        let own = self.policy.iter().map(|(name, array)| (*name, array));
        let inputs: Vec<(&str, &Array)> = own.chain(more.iter().copied()).collect();
        let out = program.run(&State::new(), &inputs, &[])?;
        Ok(out.iter().map(|(_, array)| array.clone()).collect())
    }

    /// Who acts in the environments of a fleet, in `groups` of equal size, before it has seen anything of their tasks; and the values by
    /// which it acts.
    ///
    /// # Errors
    /// If the policy does not fit the fleet or the device fails.
    pub fn actor(
        &self,
        fleet: &Fleet,
        groups: usize,
        how: How,
        info: &[&'static str],
    ) -> Result<(PolicyActor, Values)> {
        let mut values = None;
        let mut start = Program::new(&self.device, |cx| {
            let held = self.algorithm.declare_policy(cx, 1);
            values = Some(Values::put(cx, self.algorithm.start(&held, groups)));
        })?;
        let Some(mut values) = values else { return Err(Error::Program("the start was not traced".to_owned())) };
        values.arrays = self.run(&mut start, &[])?;
        let policy = self.algorithm.policy();
        let sizes = [groups, fleet.num_envs() / groups, fleet.observations(), fleet.actions()];
        let spec = ActorSpec { policy: &*policy, sizes, how, lasting: false, info };
        let mut actor = PolicyActor::new(&self.device, spec, &|cx: &mut Context| values.declare(cx)).map_err(
            |error| match error {
                Error::Shape { .. } => {
                    let name = &fleet.spec.name;
                    Error::Program(format!("the policy has not the shape that `{name}` needs: {error}"))
                }
                other => other,
            },
        )?;
        actor.set_acting(values.named());
        Ok((actor, values))
    }
}

/// The values by which a policy acts, between programs.
#[derive(Clone, Debug)]
pub struct Values {
    /// Their structure; the tensors are of a trace that is over.
    structure: Acting,
    shapes: Vec<(Vec<usize>, DType)>,
    arrays: Vec<Array>,
}

impl Values {
    /// Makes them the outputs of a program.
    fn put(cx: &mut Context, acting: Acting) -> Values {
        let all = acting.flat();
        let shapes = all.iter().map(|x| (x.shape(), x.dtype())).collect();
        all.into_iter().enumerate().for_each(|(i, x)| cx.output(&name(i), x));
        Values { structure: acting, shapes, arrays: Vec::new() }
    }

    /// Declares them as inputs of another program.
    fn declare(&self, cx: &mut Context) -> Acting {
        let one = |(i, (shape, dtype)): (usize, &(Vec<usize>, DType))| cx.input(&name(i), shape, *dtype);
        self.structure.with(&self.shapes.iter().enumerate().map(one).collect::<Vec<_>>())
    }

    fn named(&self) -> Vec<(String, Array)> {
        self.arrays.iter().enumerate().map(|(i, array)| (name(i), array.clone())).collect()
    }
}

fn name(i: usize) -> String {
    format!("acting {i}")
}

impl MetaAlgorithm for Adaptive {
    fn discount(&self) -> f64 {
        self.algorithm.course().discount
    }

    fn rounds(&self) -> usize {
        self.algorithm.course().rounds.max(1)
    }

    fn exploration_policy<'a>(&'a mut self, fleet: &'a Fleet) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>> {
        Box::pin(async move { Ok(Box::new(AdaptivePolicy::new(self, fleet)?) as Box<dyn MetaPolicy>) })
    }
}

/// A policy that explores, or one that has adapted. Memories are rows of numbers, one per environment.
struct AdaptivePolicy {
    of: Adaptive,
    actor: PolicyActor,
    values: Values,
    /// The program of an adaptation, and the episodes that it is made for.
    adapt: Option<(Program, BlockShape)>,
    /// M and E of the fleet.
    groups: [usize; 2],
    block: BlockShape,
    /// How each environment's memory was when the collection began and after each of its episodes since; empty without a memory.
    ends: Vec<Vec<Vec<f64>>>,
    /// The memories that episodes begin with; none: those that the ones before ended with.
    frozen: Option<Vec<Vec<f64>>>,
}

impl AdaptivePolicy {
    fn new(of: &Adaptive, fleet: &Fleet) -> Result<AdaptivePolicy> {
        let (actor, values) = of.actor(fleet, fleet.tasks, How::Explore, &["log_prob"])?;
        let groups = [fleet.tasks, fleet.envs_per_task];
        let block = BlockShape::of(fleet);
        Ok(AdaptivePolicy { of: of.clone(), actor, values, adapt: None, groups, block, ends: Vec::new(), frozen: None })
    }

    /// The values by which it acts after these episodes.
    fn adapted(&mut self, episodes: &Samples) -> Result<Vec<Array>> {
        let paths = episodes.tasks.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let block = BlockShape { paths, ..self.block };
        let Adaptive { device, algorithm, .. } = &self.of;
        let (program, _) = match self.adapt.take().filter(|(_, made_for)| *made_for == block) {
            Some(made) => self.adapt.insert(made),
            None => {
                let program = Program::new(device, |cx| {
                    let (held, acting) = (algorithm.declare_policy(cx, 1), self.values.declare(cx));
                    let seen = block.declare(cx, "");
                    Values::put(cx, algorithm.adapt(&held, &acting, &seen));
                })?;
                self.adapt.insert((program, block))
            }
        };
        let episodes = Padded::with_shape(&episodes.tasks, block)?.upload(device, "")?;
        let values = self.values.named();
        let values = values.iter().map(|(name, array)| (name.as_str(), array));
        self.of.run(program, &values.chain(episodes.inputs()).collect::<Vec<_>>())
    }

    /// The memories with which its episodes begin from now on: those after the first of the episodes that were played last, as many of
    /// each environment as there are here. One that has adapted, and adapts again, goes on from the last of them.
    fn remembered(&self, episodes: &Samples) -> Result<Vec<Vec<f64>>> {
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
        Ok(frozen)
    }
}

impl Actor for AdaptivePolicy {
    fn info(&self) -> &[String] {
        self.actor.info()
    }

    /// Forgets all that belongs to no whole episode.
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
            if ended.is_empty() || !self.actor.remembers() {
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
            if self.ends.is_empty() && self.actor.remembers() {
                self.ends = self.actor.memory().await?.into_iter().map(|memory| vec![memory]).collect();
            }
            self.actor.act(observations, step).await
        })
    }
}

impl MetaPolicy for AdaptivePolicy {
    fn adapt<'a>(mut self: Box<Self>, episodes: &'a Samples) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>> {
        Box::pin(async move {
            if self.of.algorithm.course().rounds > 0 {
                self.values.arrays = self.adapted(episodes)?;
                self.actor.set_acting(self.values.named());
                // What was learnt is in these values: the next episodes begin anew, as in a program.
                self.ends.clear();
            } else if self.actor.remembers() {
                self.frozen = Some(self.remembered(episodes)?);
            }
            Ok(self as Box<dyn MetaPolicy>)
        })
    }
}
