//! RL² on environments of the host: what a policy saw while it explored stays in its memory.

use super::collect::augmented;
use super::config::Rl2Config;
use super::learner::Rl2Net;
use crate::backend::LocalFuture;
use crate::dist::{RowNoise, fold_in};
use crate::host::{Acted, Actor, Fleet, Samples, Stepped};
use crate::meta::{MetaAlgorithm, MetaPolicy};
use crate::rng::{Key, streams};
use crate::{Array, Context, DType, Device, Error, Program, Result, State, Tensor};

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

/// What is remembered of one environment.
#[derive(Clone, Debug)]
struct Memory {
    /// State of the units, `[H]`.
    hidden: Vec<f64>,
    /// What the next step is shown of the last one, `[A + 2]`: action as the environment got it, reward, whether it led to a
    /// final state.
    last: Option<Vec<f64>>,
}

impl Memory {
    fn empty(units: usize) -> Memory {
        Memory { hidden: vec![0.0; units], last: None }
    }
}

/// A policy that explores, or one that has adapted.
pub(super) struct MemoryPolicy {
    of: MemoryAdaptation,
    program: Program,
    /// M, E, O and A of the fleet.
    sizes: [usize; 4],
    info: [String; 1],
    key: Option<Array>,
    /// Of each environment.
    now: Vec<Memory>,
    /// How each environment's memory was when the collection began and after each of its episodes since.
    ends: Vec<Vec<Memory>>,
    /// What episodes begin with; none: what the one before ended with.
    frozen: Option<Vec<Memory>>,
    /// Nobody asks it to adapt.
    trains: bool,
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
        let sizes = [fleet.tasks, fleet.envs_per_task, fleet.observations(), fleet.actions()];
        let program = Program::new(&of.device, |cx| trace(cx, &net, fleet, rows, sizes))?;
        let now = vec![Memory::empty(net.policy.gru().hidden()); fleet.num_envs()];
        let ends = begun(&now);
        let info = ["log_prob".to_owned()];
        Ok(MemoryPolicy { of: of.clone(), program, sizes, info, key: None, now, ends, frozen: None, trains: false })
    }

    /// Begin anew with parameters of the same shape, to train: it keeps nothing to adapt by.
    pub fn forget(&mut self, theta: Array) {
        self.of.theta = theta;
        self.trains = true;
        self.now.iter_mut().for_each(|memory| *memory = Memory::empty(memory.hidden.len()));
        self.ends = begun(&self.now);
        self.frozen = None;
    }
}

/// [`MemoryPolicy::ends`] at first.
fn begun(now: &[Memory]) -> Vec<Vec<Memory>> {
    now.iter().map(|memory| vec![memory.clone()]).collect()
}

/// One step of all environments; `acted` has the rows `[M, E, A + A + 1 + H]`: action as drawn and as environments get it, its
/// log-probability, and the new state of the units.
fn trace(cx: &mut Context, net: &Rl2Net, fleet: &Fleet, rows: usize, [m, e, o, a]: [usize; 4]) {
    // One row of parameters, which all tasks share, or one for each.
    let parts = net.layout.split(cx.input("theta", &[rows, net.layout.len()], DType::F32));
    let key = cx.input("key", &[m, 2], DType::U32);
    let obs = cx.input("obs", &[m, e, o], DType::F32);
    let hidden = cx.input("hidden", &[m, e, net.policy.gru().hidden()], DType::F32);
    let last = cx.input("last", &[m, e, a + 2], DType::F32);
    let shown = cx.input("shown", &[m, e, 1], DType::U32);
    let step = cx.scalar_u32("step");
    let space = &fleet.spec.action;
    let previous = [last.slice(2, 0, a), last.slice(2, a, a + 1), last.slice(2, a + 1, a + 2)];
    let seen = shown.select(augmented(space, obs, Some(previous)), augmented(space, obs, None));
    let key = fold_in([key.slice(1, 0, 1), key.slice(1, 1, 2)], Tensor::constant_u32(streams::ACTION));
    let (action, logp, hidden) = net.policy.act(&parts, seen, hidden, &RowNoise::new(fold_in(key, step), e));
    cx.output("acted", Tensor::concat(&[action, net.policy.limit(action), logp, hidden], 2));
}

impl Actor for MemoryPolicy {
    fn info(&self) -> &[String] {
        &self.info
    }

    /// What belongs to no whole episode is forgotten.
    fn begin(&mut self, keys: &[Key]) -> Result<()> {
        self.key = Some(self.of.device.array_u32(&[self.sizes[0], 2], keys.as_flattened())?);
        match &self.frozen {
            Some(frozen) => self.now.clone_from(frozen),
            None => self.now = self.ends.iter().filter_map(|ends| ends.last().cloned()).collect(),
        }
        self.ends = begun(&self.now);
        Ok(())
    }

    fn observe(&mut self, stepped: &Stepped) {
        for (number, now) in self.now.iter_mut().enumerate() {
            let outcome = [stepped.rewards[number], f64::from(u8::from(stepped.terminated[number]))];
            now.last.iter_mut().for_each(|last| last.extend(outcome));
            if stepped.ended(number) {
                if !self.of.config.carry_over {
                    now.last = None;
                }
                if !self.trains {
                    self.ends[number].push(now.clone());
                }
                if let Some(frozen) = &self.frozen {
                    now.clone_from(&frozen[number]);
                }
            }
        }
    }

    fn act<'a>(&'a mut self, observations: &'a [f64], step: u32) -> LocalFuture<'a, Result<Acted>> {
        Box::pin(async move {
            let ([m, e, o, a], device) = (self.sizes, &self.of.device);
            let nothing = vec![0.0; a + 2];
            let hidden: Vec<f64> = self.now.iter().flat_map(|memory| memory.hidden.clone()).collect();
            let last: Vec<f64> =
                self.now.iter().flat_map(|now| now.last.clone().unwrap_or_else(|| nothing.clone())).collect();
            let shown: Vec<u32> = self.now.iter().map(|memory| u32::from(memory.last.is_some())).collect();
            let arrays = [
                ("obs", device.array(&[m, e, o], observations)?),
                ("hidden", device.array(&[m, e, hidden.len() / (m * e)], &hidden)?),
                ("last", device.array(&[m, e, a + 2], &last)?),
                ("shown", device.array_u32(&[m, e, 1], &shown)?),
            ];
            let mut inputs: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (*name, array)).collect();
            inputs.push(("theta", &self.of.theta));
            inputs.extend(self.key.iter().map(|key| ("key", key)));
            let out = self.program.run(&State::new(), &inputs, &[("step", step.into())])?;
            let rows = device.read(out.get("acted")?).await?;
            let mut acted = Acted::default();
            for (row, memory) in rows.chunks(rows.len() / (m * e)).zip(&mut self.now) {
                let (played, rest) = row[a..].split_at(a);
                acted.drawn.extend(&row[..a]);
                acted.played.extend(played);
                acted.info.push(rest[0]);
                *memory = Memory { hidden: rest[1..].to_vec(), last: Some(played.to_vec()) };
            }
            Ok(acted)
        })
    }
}

impl MetaPolicy for MemoryPolicy {
    /// It remembers as many episodes of each environment as there are here, the first ones. One that has adapted, and adapts
    /// again, goes on from the last of them.
    fn adapt<'a>(mut self: Box<Self>, episodes: &'a Samples) -> LocalFuture<'a, Result<Box<dyn MetaPolicy>>> {
        Box::pin(async move {
            let [tasks, envs_per_task, ..] = self.sizes;
            let foreign = || Error::config("episodes", "there are others than those that this policy played last");
            if episodes.tasks.len() != tasks {
                return Err(foreign());
            }
            let mut frozen = Vec::with_capacity(self.now.len());
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
