//! The one loop that steps environments in programs.

use super::{Experience, Keys, Recorded, Running, Steps, Totals};
use crate::Tensor;
use crate::dist::{RowNoise, fold_in};
use crate::env::{EnvDef, TracedStep};
use crate::policy::{Acting, Feedback, How, Policy};
use crate::rng::streams;
use crate::tensor::{Named, Tree, scan_tree, scan_tree_until};

/// A policy in N environments of each of K groups.
#[derive(Clone, Copy, Debug)]
pub struct Play<'a> {
    /// The environment.
    pub env: &'a EnvDef,
    /// Who acts.
    pub policy: &'a dyn Policy,
    /// The values by which it acts, `[K, …]`.
    pub acting: &'a Acting,
    /// How it acts.
    pub how: How,
    /// K and N.
    pub rows: [usize; 2],
    /// Parameters of tasks, `[K, D]` or `[K, N, D]`; none if the environment has a single task, or a new one is drawn for each episode.
    pub tasks: Option<Tensor>,
    /// Names of the random numbers.
    pub keys: Keys,
}

/// How much each environment plays of whole episodes, one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount {
    /// Each environment plays this number of episodes.
    Episodes(usize),
    /// Each plays episodes until it has made this number of steps, and the last one to its end.
    Steps(usize),
    /// Each plays episodes until it has played this many and made this number of steps, and the last one to its end.
    AtLeast {
        /// Episodes.
        episodes: usize,
        /// Steps.
        steps: usize,
    },
}

impl Amount {
    /// Shares minima of episodes and of their steps among so many environments: what each plays, rounded up; none if both
    /// are 0.
    #[must_use]
    pub fn share([episodes, steps]: [usize; 2], envs: usize) -> Option<Amount> {
        let [episodes, steps] = [episodes, steps].map(|all| all.div_ceil(envs.max(1)));
        (episodes > 0 || steps > 0).then_some(Amount::AtLeast { episodes, steps })
    }

    /// Most steps that it can take, with this time limit.
    #[must_use]
    pub fn most(self, horizon: usize) -> usize {
        match self {
            Amount::Episodes(episodes) => episodes.saturating_mul(horizon),
            Amount::Steps(0) => 0,
            Amount::Steps(steps) => (steps - 1).saturating_add(horizon),
            Amount::AtLeast { episodes, steps } => {
                Amount::Episodes(episodes).most(horizon).max(Amount::Steps(steps).most(horizon))
            }
        }
    }

    /// Steps that it takes where only the time limit ends episodes.
    #[must_use]
    pub fn planned(self, horizon: usize) -> usize {
        match self {
            Amount::Episodes(episodes) => episodes.saturating_mul(horizon),
            Amount::Steps(steps) => steps.div_ceil(horizon.max(1)).saturating_mul(horizon),
            Amount::AtLeast { episodes, steps } => {
                Amount::Episodes(episodes).planned(horizon).max(Amount::Steps(steps).planned(horizon))
            }
        }
    }

    /// True after this many whole episodes with so many steps together.
    pub(super) fn reached(self, episodes: usize, steps: usize) -> bool {
        match self {
            Amount::Episodes(enough) => episodes >= enough,
            Amount::Steps(enough) => steps >= enough,
            Amount::AtLeast { episodes: enough, steps: least } => episodes >= enough && steps >= least,
        }
    }
}

/// How long a play that goes on is, and what outlives its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Until {
    /// T.
    pub steps: usize,
    /// Steps per span of time, which divide T. In a span no environment is cut off twice.
    pub span: usize,
    /// Steps for which lasting noise lasts, a multiple of the span; 0 for all. None: there is no such noise.
    pub lasting: Option<usize>,
}

fn column(x: Tensor) -> Tensor {
    x.unsqueeze(2)
}

fn word(x: usize) -> Tensor {
    Tensor::constant_u32(u32::try_from(x).unwrap_or(u32::MAX))
}

/// The outcome of one step.
struct StepOutcome {
    next: Running,
    steps: Steps,
    /// Observations before any reset, `[K, N, O]`.
    last_obs: Tensor,
    /// u32 `[K, N, 1]`.
    ended: Tensor,
}

/// Who acts, wherever environments are.
#[derive(Clone, Copy)]
struct Agent<'a> {
    policy: &'a dyn Policy,
    acting: &'a Acting,
    rows: [usize; 2],
    keys: Keys,
}

impl Agent<'_> {
    /// Environments at these states and observations, whose episodes have just begun.
    fn begin(&self, state: Tensor, obs: Tensor) -> Running {
        let zero = Tensor::constant_u32(0);
        let noise = RowNoise::new(fold_in(self.keys.action, zero), self.rows[1]);
        let memory = self.policy.begin(self.acting, self.rows, None, &noise);
        Running { state, steps: zero.broadcast_to(&self.rows), obs, memory, task: None }
    }

    /// The step that draws by number `t`. `episode` is the number of each environment's episode, and 1 where it counts, u32 `[K, N]`;
    /// `outcome` gives that of actions.
    fn step(
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

    /// Episodes one after the other, of which as many count as `amount` says.
    fn trial<X: Tree>(
        &self,
        from: Running,
        (amount, steps): (Amount, usize),
        xs: &X,
        step: impl FnOnce(Tensor, &Running, [Tensor; 2], X) -> StepOutcome,
    ) -> Experience {
        let none = word(0).broadcast_to(&self.rows);
        // The steps of whole episodes so far, where these decide how many there are.
        let whole = (!matches!(amount, Amount::Episodes(_))).then_some(none);
        let init = (from, (none, whole));
        type Carry = (Running, (Tensor, Option<Tensor>));
        let ((next, _), steps) = scan_tree(steps, &init, xs, |t, (running, (episode, whole)): Carry, row| {
            let counts = match (amount, whole) {
                (Amount::Steps(enough), Some(whole)) => whole.lt(word(enough)),
                (Amount::AtLeast { episodes, steps }, Some(whole)) => {
                    episode.lt(word(episodes)).bit_or(whole.lt(word(steps)))
                }
                (Amount::Episodes(enough) | Amount::Steps(enough), _) => episode.lt(word(enough)),
                (Amount::AtLeast { episodes, .. }, None) => episode.lt(word(episodes)),
            };
            let one = step(t + self.keys.first, &running, [episode, counts], row);
            let over = one.steps.valid.bit_and(one.ended).reshape(&self.rows);
            let whole = whole.map(|whole| over.select(t + word(1), whole));
            ((one.next, (episode + over, whole)), one.steps)
        });
        constant(Experience { steps: steps.unwrap_or_else(Steps::poison), cut_obs: None, next })
    }
}

/// Whole episodes as they were recorded from the first observations `[K, N, O]` on: the policy says what
/// it would have said.
#[track_caller]
pub fn replay(policy: &dyn Policy, acting: &Acting, amount: Amount, first: Tensor, recorded: &Recorded) -> Experience {
    let zero = [Tensor::constant_u32(0); 2].map(|word| word.broadcast_to(&[first.size(0), 1]));
    let agent = Agent { policy, acting, rows: [first.size(0), first.size(1)], keys: Keys::of(zero) };
    let state = Tensor::zeros(&[first.size(0), first.size(1), 1]);
    let steps = recorded.action.size(0);
    agent.trial(agent.begin(state, first), (amount, steps), recorded, |t, from, episode, row| {
        let how = How::Recorded(row.action);
        agent.step(how, t, from, Some(episode), None, &|_| row.step(from))
    })
}

impl Play<'_> {
    fn agent(&self) -> Agent<'_> {
        let Play { policy, acting, rows, keys, .. } = *self;
        Agent { policy, acting, rows, keys }
    }

    /// New episodes. Where there are many tasks and none are given, each episode has its own, as [`crate::host::TaskPerEpisode`] draws it.
    #[track_caller]
    pub fn begin(&self) -> Running {
        let key = fold_in(self.keys.env, Tensor::constant_u32(0));
        let own = (self.tasks.is_none() && !self.env.spec().task.is_empty())
            .then(|| self.env.trace_tasks(fold_in(key, Tensor::constant_u32(streams::TASK)), self.element()));
        let first = self.env.trace_reset(key, self.element(), own.or_else(|| self.task()));
        Running { task: own, ..self.agent().begin(first.state, first.observation) }
    }

    /// Numbers of the environments in their groups, u32 `[K, N]`.
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

    /// One step everywhere, which draws by number `t` (u32 `[]`).
    #[track_caller]
    pub fn step(&self, t: Tensor, from: &Running) -> (Running, Steps) {
        let one = self.stepped(t, from, None, None);
        (one.next, one.steps)
    }

    fn stepped(&self, t: Tensor, from: &Running, episode: Option<[Tensor; 2]>, lasting: Option<Tensor>) -> StepOutcome {
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

    /// Steps from where environments are, through the ends of episodes.
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

    /// Whole episodes of each environment, one after the other, from new ones on; T steps in all, of which those after the last
    /// episode are not valid.
    #[track_caller]
    pub fn episodes(&self, amount: Amount, steps: usize) -> Experience {
        self.episodes_from(None, amount, steps)
    }

    /// Plays whole episodes as `episodes` does, each begun with this memory.
    #[track_caller]
    pub fn episodes_from(&self, memory: Option<Named>, amount: Amount, steps: usize) -> Experience {
        let begun = self.begin();
        let from = Running { memory: memory.unwrap_or_else(|| begun.memory.clone()), ..begun };
        self.trial(from, (amount, steps), None)
    }

    /// Plays whole episodes as `episodes` does, with lasting noise that is the same in all of their steps.
    #[track_caller]
    pub fn episodes_with_noise(&self, amount: Amount, steps: usize) -> Experience {
        let noise = RowNoise::new(fold_in(self.keys.lasting, self.keys.first), self.rows[1]);
        self.trial(self.begin(), (amount, steps), self.policy.lasting(self.acting, &noise))
    }

    #[track_caller]
    fn trial(&self, from: Running, amount: (Amount, usize), lasting: Option<Tensor>) -> Experience {
        let step = |t: Tensor, from: &Running, episode: [Tensor; 2], ()| self.stepped(t, from, Some(episode), lasting);
        self.agent().trial(from, amount, &(), step)
    }

    /// The policy's memory after so many whole episodes of each environment, one after the other: the next one would
    /// begin with it. T `steps`, or fewer once all environments have played them.
    #[track_caller]
    pub fn remembered(&self, episodes: usize, steps: usize) -> Named {
        let begun = (self.begin(), word(0).broadcast_to(&self.rows));
        let (after, _) = scan_tree_until(steps, &begun, |t, (running, played): (Running, Tensor)| {
            let one = self.stepped(t + self.keys.first, &running, None, None);
            let played = played + one.ended.reshape(&self.rows);
            let enough = played.lt(word(episodes)).not();
            ((one.next, played), enough)
        });
        after.memory
    }

    /// Sums over one whole episode of each environment: T steps, or fewer once all environments are done.
    #[track_caller]
    pub fn totals(&self, steps: usize) -> Totals {
        let (sums, counts) = (Tensor::zeros(&self.rows), word(0).broadcast_to(&self.rows));
        let first = Totals { returns: sums, lengths: counts, terminated: counts, lost: sums };
        self.fold(steps, &first, Totals::add)
    }

    /// Folds `add` over the steps of one whole episode of each environment, from `init`, `[K, N, …]`, on: T `steps`, or
    /// fewer once all environments are done. No step is kept.
    #[track_caller]
    pub fn fold<C: Tree>(&self, steps: usize, init: &C, add: impl FnOnce(&C, &Steps) -> C) -> C {
        let (_, folded) =
            scan_tree_until(steps, &(self.begin(), init.with(&init.flat())), |t, (running, sum): (Running, C)| {
                let one = self.stepped(t + self.keys.first, &running, None, None);
                let sum = add(&sum, &one.steps);
                ((one.next, sum), one.ended.reshape(&self.rows))
            });
        folded
    }
}

/// The same as [`Play::fold`] for an episode that was recorded, with steps after its end as [`replay`] gives them.
#[track_caller]
pub(super) fn fold_recorded<C: Tree>(steps: &Steps, init: &C, add: impl FnOnce(&C, &Steps) -> C) -> C {
    let (folded, _) = scan_tree(steps.reward.size(0), init, steps, |_, sum: C, step: Steps| {
        let next = add(&sum, &step);
        let kept = next.flat().into_iter().zip(sum.flat()).map(|(new, old)| {
            let mut shape = step.valid.shape();
            shape.resize(old.rank(), 1);
            step.valid.reshape(&shape[..old.rank()]).select(new, old)
        });
        (sum.with(&kept.collect::<Vec<_>>()), ())
    });
    folded
}

/// Nothing is differentiated through environments: on the host it could not be.
fn constant(experience: Experience) -> Experience {
    let still = |steps: &[Tensor]| steps.iter().map(|x| x.stop_gradient()).collect::<Vec<_>>();
    let steps = experience.steps.with(&still(&experience.steps.flat()));
    let next = experience.next.with(&still(&experience.next.flat()));
    Experience { steps, cut_obs: experience.cut_obs.map(Tensor::stop_gradient), next }
}
