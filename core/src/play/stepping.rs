//! The one loop that steps environments in programs.

use super::ask::Request;
use super::{Cast, Experience, Iteration, Keys, Running, Steps};
use crate::Tensor;
use crate::dist::{RowNoise, fold_in};
use crate::env::{EnvDef, TracedStep};
use crate::host::EnvPlace;
use crate::policy::{Acting, Feedback, How, Policy};
use crate::rng::streams;
use crate::tensor::{Tree, scan_tree};

/// A play of a policy in N environments of each of K groups.
#[derive(Clone, Copy, Debug)]
pub struct Play<'a> {
    /// The environment.
    pub env: &'a EnvDef,
    /// The policy.
    pub policy: &'a dyn Policy,
    /// The values by which it acts, `[K, …]`.
    pub acting: &'a Acting,
    /// The way in which the policy chooses actions.
    pub how: How,
    /// K and N: groups, and environments per group.
    pub rows: [usize; 2],
    /// Parameters of tasks, `[K, D]` or `[K, N, D]`; none if the environment has a single task, or a new one is drawn
    /// for each episode.
    pub tasks: Option<Tensor>,
    /// The keys of the random numbers.
    pub keys: Keys,
}

/// The length of a play that continues running episodes, and of its lasting noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Until {
    /// T, the number of steps.
    pub steps: usize,
    /// Steps per span of time, a divisor of T. In a span no environment is cut off twice.
    pub span: usize,
    /// Steps for which lasting noise lasts, a multiple of the span, or 0 for all steps; none if there is no lasting
    /// noise.
    pub lasting: Option<usize>,
}

pub(super) fn column(x: Tensor) -> Tensor {
    x.unsqueeze(2)
}

pub(super) fn word(x: usize) -> Tensor {
    Tensor::constant_u32(u32::try_from(x).unwrap_or(u32::MAX))
}

/// The outcome of a step.
pub(super) struct StepOutcome {
    pub next: Running,
    pub steps: Steps,
    /// Observations before any reset, `[K, N, O]`.
    pub last_obs: Tensor,
    /// 1 where an episode ended, u32 `[K, N, 1]`.
    pub ended: Tensor,
}

/// A policy that acts in environments, on a device or on the host.
#[derive(Clone, Copy)]
pub(super) struct Agent<'a> {
    pub policy: &'a dyn Policy,
    pub acting: &'a Acting,
    pub rows: [usize; 2],
    pub keys: Keys,
}

impl Agent<'_> {
    /// Begins episodes in environments with these states and observations.
    pub(super) fn begin(&self, state: Tensor, obs: Tensor) -> Running {
        let zero = Tensor::constant_u32(0);
        let noise = RowNoise::new(fold_in(self.keys.action, zero), self.rows[1]);
        let memory = self.policy.begin(self.acting, self.rows, None, &noise);
        Running { state, steps: zero.broadcast_to(&self.rows), obs, memory, task: None }
    }

    /// Makes the step that draws by number `t`. `episode` has the number of each environment's episode, and 1 where it
    /// counts, u32 `[K, N]`; `outcome` gives the environments' outcome of actions.
    pub(super) fn step(
        &self,
        how: How,
        t: Tensor,
        from: &Running,
        episode: Option<[Tensor; 2]>,
        lasting: Option<Tensor>,
        outcome: &dyn Fn(Tensor) -> TracedStep,
    ) -> StepOutcome {
        let (acting, rows) = (self.acting, self.rows);
        let noise = RowNoise::new(fold_in(self.keys.action, t), rows[1]);
        let act = self.policy.act(acting, from.obs, &from.memory, lasting, &noise, how);
        let TracedStep { state, steps, reward, terminated, truncated, last_observation, observation } =
            outcome(act.played);
        let ended = column(terminated.bit_or(truncated));
        let (terminated, truncated, reward) = (column(terminated), column(truncated), column(reward));
        let feedback = Feedback { played: act.played, next_obs: last_observation, reward, terminated, truncated };
        let observed = self.policy.observe(acting, &act.memory, &feedback);
        let begun = self.policy.begin(acting, rows, Some(&observed), &noise);
        let memory = from.memory.iter().map(|(name, _)| match (observed.get(name), begun.get(name)) {
            (old, new) if old == new => (name, old),
            (old, new) => (name, ended.select(new, old)),
        });
        let next = Running { state, steps, obs: observation, memory: memory.collect(), task: from.task };
        let broken = |x: Tensor| x.non_finite().to_f32().max_keep(2);
        let unseen = broken(from.obs);
        let policy = act.extras.find("broken").unwrap_or_else(|| broken(act.action));
        let (valid, number) = match episode {
            Some([number, counts]) => (column(counts), column(number)),
            None => (word(1).broadcast_to(&ended.shape()), word(0).broadcast_to(&ended.shape())),
        };
        let steps = Steps {
            state: from.state,
            obs: from.obs,
            next_obs: last_observation,
            action: act.action,
            played: act.played,
            reward: if episode.is_some() { valid.select(reward, Tensor::constant_f32(0.0)) } else { reward },
            terminated,
            truncated,
            valid,
            episode: number,
            lost: unseen + policy * 2.0 * (1.0 - unseen),
            extras: act.extras,
        };
        StepOutcome { next, steps, last_obs: last_observation, ended }
    }
}

impl Iteration<'_> {
    /// Makes steps that continue the running episodes, and begins new ones at their ends. The first step draws by the
    /// number `first` (u32 `[]`) of this iteration. Environments of the host keep their states to themselves: there,
    /// only the observations and the numbers of steps are read from `from`.
    #[track_caller]
    pub fn go_on(&mut self, cast: Cast<'_>, from: Running, until: Until, first: Tensor) -> Experience {
        let (Cast { policy, acting, rows }, keys) = (cast, Keys::of_iteration(self.key, self.number));
        let keys = Keys { first, ..keys };
        match self.place {
            EnvPlace::Device(env) => {
                Play { env, policy, acting, how: How::Explore, rows, tasks: None, keys }.go_on(from, until)
            }
            EnvPlace::Host(host) => {
                let Until { steps, lasting, .. } = until;
                let request = Request { how: How::Explore, steps: steps.into(), episodes: None, lasting, tasks: None };
                let (rest, recorded) = self.ask(host.spec(), cast, keys, &from.memory, request);
                let memory = from.memory.with(&rest);
                recorded.went_on(Running { memory, ..from })
            }
        }
    }
}

impl Play<'_> {
    pub(super) fn agent(&self) -> Agent<'_> {
        let Play { policy, acting, rows, keys, .. } = *self;
        Agent { policy, acting, rows, keys }
    }

    /// Begins new episodes. If there are many tasks and none are given, each episode has its own, drawn as by
    /// [`crate::host::TaskPerEpisode`].
    #[track_caller]
    pub fn begin(&self) -> Running {
        let key = fold_in(self.keys.env, Tensor::constant_u32(0));
        let own = (self.tasks.is_none() && !self.env.spec().task.is_empty())
            .then(|| self.env.trace_tasks(fold_in(key, Tensor::constant_u32(streams::TASK)), self.element()));
        let first = self.env.trace_reset(key, self.element(), own.or_else(|| self.task()));
        Running { task: own, ..self.agent().begin(first.state, first.observation) }
    }

    /// The numbers of the environments in their groups, u32 `[K, N]`.
    fn element(&self) -> Tensor {
        Tensor::iota(&self.rows, 1)
    }

    fn task(&self) -> Option<Tensor> {
        let ([k, n], width) = (self.rows, self.env.spec().task.len());
        let wide = |task: Tensor| match task.rank() {
            3 => task,
            _ => task.reshape(&[k, 1, width]).broadcast_to(&[k, n, width]),
        };
        self.tasks.map(wide)
    }

    /// Makes one step in all environments, which draws by number `t` (u32 `[]`).
    #[track_caller]
    pub fn step(&self, t: Tensor, from: &Running) -> (Running, Steps) {
        let one = self.stepped(t, from, None, None);
        (one.next, one.steps)
    }

    pub(super) fn stepped(
        &self,
        t: Tensor,
        from: &Running,
        episode: Option<[Tensor; 2]>,
        lasting: Option<Tensor>,
    ) -> StepOutcome {
        let (element, task) = (self.element(), from.task.or_else(|| self.task()));
        let key = fold_in(self.keys.env, t);
        let mut one = self.agent().step(self.how, t, from, episode, lasting, &|played| {
            self.env.trace_step(from.state, from.steps, played, key, element, task)
        });
        if let Some(task) = from.task {
            let new = self.env.trace_tasks(fold_in(key, Tensor::constant_u32(streams::TASK)), element);
            let first = self.env.trace_reset(key, element, Some(new));
            one.next.task = Some(one.ended.select(new, task));
            one.next.state = one.ended.select(first.state, one.next.state);
            one.next.obs = one.ended.select(first.observation, one.next.obs);
        }
        one
    }

    /// Makes steps that continue the running episodes, and begins new ones at their ends.
    #[track_caller]
    pub fn go_on(&self, from: Running, until: Until) -> Experience {
        let Until { steps, span, .. } = until;
        let lasting = |index: Tensor| {
            self.policy.lasting(self.acting, &RowNoise::new(fold_in(self.keys.lasting, index), self.rows[1]))
        };
        let renewed = until.lasting.filter(|steps| *steps > 0);
        let shared = match until.lasting {
            Some(0) => lasting(self.keys.first),
            _ => None,
        };
        let step = |t: Tensor, (running, _): (Running, Tensor), cut: Tensor, lasting: Option<Tensor>| {
            let one = self.stepped(t + self.keys.first, &running, None, lasting);
            let cut = one.steps.truncated.select(one.last_obs, cut);
            ((one.next, cut), one.steps)
        };
        let init = (from.clone(), Tensor::zeros(&from.obs.shape()));
        let ((next, _), steps, cut_obs) = if steps == span && renewed.is_none() {
            let (carry, seen) = scan_tree(steps, &init, &(), |t, carry: (Running, Tensor), ()| {
                let cut = carry.1;
                step(t, carry, cut, shared)
            });
            let cut = carry.1.unsqueeze(0);
            (carry, seen, cut)
        } else {
            let spans = steps / span;
            let freq = renewed.unwrap_or(1).max(1);
            let index: Vec<u32> = (0..spans).map(|k| (k * span / freq) as u32).collect();
            let (carry, seen) =
                scan_tree(spans, &init, &Tensor::literal_u32(&index), |k, carry: (Running, Tensor), index| {
                    let noise = if renewed.is_some() { lasting(index) } else { shared };
                    let first = k * word(span);
                    let (carry, seen) = scan_tree(span, &carry, &(), |t, carry: (Running, Tensor), ()| {
                        let cut = carry.1;
                        step(first + t, carry, cut, noise)
                    });
                    let cut = carry.1;
                    (carry, (seen, cut))
                });
            let (seen, cut) = seen.map_or((None, Tensor::poison()), |(seen, cut)| (seen, cut));
            let flat = |y: Tensor| y.reshape(&[&[steps], &y.shape()[2..]].concat());
            let seen = seen.map(|seen: Steps| seen.with(&seen.flat().into_iter().map(flat).collect::<Vec<_>>()));
            (carry, seen, cut)
        };
        constant(Experience { steps: steps.unwrap_or_else(Steps::poison), cut_obs: Some(cut_obs), next })
    }
}

/// The experience as a constant. No gradient passes through environments, because on the host none could.
pub(super) fn constant(experience: Experience) -> Experience {
    let still = |steps: &[Tensor]| steps.iter().map(|x| x.stop_gradient()).collect::<Vec<_>>();
    let steps = experience.steps.with(&still(&experience.steps.flat()));
    let next = experience.next.with(&still(&experience.next.flat()));
    Experience { steps, cut_obs: experience.cut_obs.map(Tensor::stop_gradient), next }
}
