//! Adapting policies, played in environments of the host.

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

/// A trained policy with its algorithm. It adapts by gradients, by inference or by its memory.
///
/// A policy that adapts by its memory explores from an empty one, which lasts over the ends of episodes, as in garage's
/// `NoResetPolicy`: the episodes are one trial. Once adapted, it begins each episode with the memory that this trial
/// ended with, as `RL2AdaptedPolicy` does; it keeps a copy, whereas the original shares an array that later steps may
/// change. Every environment plays a trial of its own, also where several play one task. Actions are drawn, and
/// reported with `log_prob` where the policy gives it.
#[derive(Clone, Debug)]
pub struct Adaptive {
    device: Device,
    algorithm: Rc<dyn Algorithm>,
    policy: Vec<(&'static str, Array)>,
}

impl Adaptive {
    /// Wraps a policy's arrays, `[1, …]` each, by the names of [`Algorithm::policy_entries`].
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

    /// Makes the actor of a fleet, in `groups` of equal size, as it is before it has seen anything of their tasks.
    /// Returns the actor, and the values by which it acts.
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

/// The values by which a policy acts, kept between programs.
#[derive(Clone, Debug)]
pub struct Values {
    /// The structure of the values. Its tensors belong to a trace that is over.
    structure: Acting,
    shapes: Vec<(Vec<usize>, DType)>,
    arrays: Vec<Array>,
}

impl Values {
    /// Makes the values the outputs of a program.
    fn put(cx: &mut Context, acting: Acting) -> Values {
        let all = acting.flat();
        let shapes = all.iter().map(|x| (x.shape(), x.dtype())).collect();
        all.into_iter().enumerate().for_each(|(i, x)| cx.output(&name(i), x));
        Values { structure: acting, shapes, arrays: Vec::new() }
    }

    /// Declares the values as inputs of another program.
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

/// A policy that explores, or has adapted. A memory is one row of numbers per environment.
struct AdaptivePolicy {
    of: Adaptive,
    actor: PolicyActor,
    values: Values,
    /// The program of an adaptation, and the shape of the episodes that it was compiled for.
    adapt: Option<(Program, BlockShape)>,
    /// M, the tasks of the fleet, and E, its environments per task.
    groups: [usize; 2],
    block: BlockShape,
    /// Each environment's memory at the beginning of the collection and after each of its episodes
    /// since; empty for policies without a memory.
    ends: Vec<Vec<Vec<f64>>>,
    /// The memories that episodes begin with, once the policy has adapted; none before, when memories last.
    frozen: Option<Vec<Vec<f64>>>,
}

impl AdaptivePolicy {
    fn new(of: &Adaptive, fleet: &Fleet) -> Result<AdaptivePolicy> {
        let (actor, values) = of.actor(fleet, fleet.tasks, How::Explore, &["log_prob"])?;
        let groups = [fleet.tasks, fleet.envs_per_task];
        // Policies adapt to steps and rewards alone.
        let block = BlockShape { env_infos: 0, ..BlockShape::of(fleet) };
        Ok(AdaptivePolicy { of: of.clone(), actor, values, adapt: None, groups, block, ends: Vec::new(), frozen: None })
    }

    /// Computes the values by which the policy acts after it has adapted to these episodes.
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

    /// The memories that later episodes begin with: each environment's own after its episodes among `episodes`,
    /// which must be the first ones of the latest collection. A policy that adapts again takes
    /// the memory after the last of them, which began with the frozen one.
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

    /// Begins with the frozen memories, or with those at the end of the last whole
    /// episode; forgets what unfinished episodes left.
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
                // The values hold what was learnt, so the next episodes begin with an empty memory, as in a program.
                self.ends.clear();
            } else if self.actor.remembers() {
                self.frozen = Some(self.remembered(episodes)?);
            }
            Ok(self as Box<dyn MetaPolicy>)
        })
    }
}
