//! Whole episodes, one after the other.

use super::ask::Request;
use super::stepping::{Agent, StepOutcome, constant, word};
use super::{Amount, Cast, Experience, Iteration, Keys, Play, Recorded, Room, Running, Steps, Tasks};
use crate::dist::{RowNoise, fold_in};
use crate::host::EnvPlace;
use crate::policy::{Acting, How, Policy};
use crate::task::TaskSource;
use crate::tensor::{Named, Tree, fail, scan_tree, scan_tree_until};
use crate::{Error, Tensor};

impl Iteration<'_> {
    /// Plays whole episodes in each environment, one after the other, beginning with new ones: as many steps as there
    /// is `room` for, of which those after the last episode are not valid. The rows are S seeds with M tasks each, or
    /// the tasks of all seeds with some environments each.
    #[track_caller]
    pub fn episodes(
        &mut self,
        cast: Cast<'_>,
        tasks: &Tasks,
        key: [Tensor; 2],
        amount: Amount,
        room: impl Into<Room>,
    ) -> Experience {
        let rows = cast.rows[0];
        let by_row = |parameters: Tensor| match rows == parameters.size(0) {
            true => parameters,
            false => parameters.reshape(&[rows, parameters.size(2)]),
        };
        let told = match self.place {
            EnvPlace::Host(host) if !host.spec().task.is_empty() => {
                (!std::mem::replace(&mut self.told, true)).then_some((tasks.source, tasks.count))
            }
            _ => None,
        };
        self.trial(cast, (tasks.parameters.map(by_row), told), key, amount, (room.into(), false))
    }

    /// Plays whole episodes for learning a task. If there are many tasks, each episode has its own. With `lasting`,
    /// noise lasts through all steps.
    ///
    /// The trace fails if an executor has many tasks.
    #[track_caller]
    pub fn own_episodes(
        &mut self,
        cast: Cast<'_>,
        key: [Tensor; 2],
        amount: Amount,
        room: Room,
        lasting: bool,
    ) -> Experience {
        if let EnvPlace::Host(host) = self.place
            && !host.spec().task.is_empty()
        {
            fail(Error::ManyTasks(host.spec().name.clone()));
        }
        self.trial(cast, (None, None), key, amount, (room, lasting))
    }

    /// Plays whole episodes on tasks with these parameters, `[K, D]`, if environments are in the program, and else on
    /// the tasks that the host was told.
    #[track_caller]
    fn trial(
        &mut self,
        cast: Cast<'_>,
        (tasks, told): (Option<Tensor>, Option<(TaskSource, usize)>),
        key: [Tensor; 2],
        amount: Amount,
        (room, noise): (Room, bool),
    ) -> Experience {
        let (Cast { policy, acting, rows }, keys) = (cast, Keys::of(key));
        match self.place {
            EnvPlace::Device(env) => {
                let play = Play { env, policy, acting, how: How::Explore, rows, tasks, keys };
                let lasting = noise.then(|| play.lasting()).flatten();
                let PlayedTrial { played, unfinished } = play.trial(play.begin(), (amount, room.steps), lasting);
                if room.is_limited() {
                    self.expect_room(unfinished, played.steps.valid);
                }
                played
            }
            EnvPlace::Host(host) => {
                let (lasting, episodes) = (noise.then_some(0), Some(amount));
                let request = Request { how: How::Explore, steps: room, episodes, lasting, tasks: told };
                let (first, recorded) = self.ask(host.spec(), cast, keys, &Named::new(), request);
                let first = first.first().copied().unwrap_or(Tensor::poison());
                replay(policy, acting, amount, first, &recorded)
            }
        }
    }
}

impl Play<'_> {
    /// Plays whole episodes in each environment, one after the other, beginning with new ones: T steps in all, of which
    /// those after the last episode are not valid.
    #[track_caller]
    pub fn episodes(&self, amount: Amount, steps: usize) -> Experience {
        self.episodes_from(None, amount, steps)
    }

    /// Plays whole episodes like `episodes`; the first ones begin with `memory`, if given.
    #[track_caller]
    pub fn episodes_from(&self, memory: Option<Named>, amount: Amount, steps: usize) -> Experience {
        let begun = self.begin();
        let from = Running { memory: memory.unwrap_or_else(|| begun.memory.clone()), ..begun };
        self.trial(from, (amount, steps), None).played
    }

    /// Noise that stays the same in all steps of whole episodes, if the policy has some.
    #[track_caller]
    fn lasting(&self) -> Option<Tensor> {
        let noise = RowNoise::new(fold_in(self.keys.lasting, self.keys.first), self.rows[1]);
        self.policy.lasting(self.acting, &noise)
    }

    #[track_caller]
    fn trial(&self, from: Running, amount: (Amount, usize), lasting: Option<Tensor>) -> PlayedTrial {
        let step = |t: Tensor, from: &Running, episode: [Tensor; 2], ()| self.stepped(t, from, Some(episode), lasting);
        self.agent().trial(from, amount, &(), step)
    }

    /// The policy's memory after `episodes` whole episodes in each environment, one after the other: the next one would
    /// begin with it. At most `steps` steps are made, and fewer if all environments are done before.
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
}

impl Agent<'_> {
    /// Plays episodes one after the other, of which `amount` count.
    pub(super) fn trial<X: Tree>(
        &self,
        from: Running,
        (amount, steps): (Amount, usize),
        xs: &X,
        step: impl FnOnce(Tensor, &Running, [Tensor; 2], X) -> StepOutcome,
    ) -> PlayedTrial {
        let none = word(0).broadcast_to(&self.rows);
        // The steps of whole episodes so far, if the amount depends on them.
        let whole = (!matches!(amount, Amount::Episodes(_))).then_some(none);
        let init = (from, (none, whole));
        type Carry = (Running, (Tensor, Option<Tensor>));
        let ((next, (episode, whole)), steps) = scan_tree(steps, &init, xs, |t, carry: Carry, row| {
            let (running, (episode, whole)) = carry;
            let counts = unfinished(amount, episode, whole);
            let one = step(t + self.keys.first, &running, [episode, counts], row);
            let over = one.steps.valid.bit_and(one.ended).reshape(&self.rows);
            let whole = whole.map(|whole| over.select(t + word(1), whole));
            ((one.next, (episode + over, whole)), one.steps)
        });
        let played = constant(Experience { steps: steps.unwrap_or_else(Steps::poison), cut_obs: None, next });
        PlayedTrial { played, unfinished: unfinished(amount, episode, whole) }
    }
}

/// Whole episodes that were played, and 1 where others would follow that count, u32 `[K, N]`.
pub(super) struct PlayedTrial {
    played: Experience,
    unfinished: Tensor,
}

/// 1 where the next step counts, u32 `[K, N]`, after this number of whole episodes and, if the amount depends on them,
/// of their steps.
fn unfinished(amount: Amount, episode: Tensor, whole: Option<Tensor>) -> Tensor {
    match (amount, whole) {
        (Amount::Steps(enough), Some(whole)) => whole.lt(word(enough)),
        (Amount::AtLeast { episodes, steps }, Some(whole)) => episode.lt(word(episodes)).bit_or(whole.lt(word(steps))),
        (Amount::Episodes(enough) | Amount::Steps(enough), _) => episode.lt(word(enough)),
        (Amount::AtLeast { episodes, .. }, None) => episode.lt(word(episodes)),
    }
}

/// Rebuilds whole episodes from recorded steps that begin with the first observations `[K, N, O]`; the policy's memory
/// and extras are computed again.
#[track_caller]
pub fn replay(policy: &dyn Policy, acting: &Acting, amount: Amount, first: Tensor, recorded: &Recorded) -> Experience {
    let zero = [Tensor::constant_u32(0); 2].map(|word| word.broadcast_to(&[first.size(0), 1]));
    let agent = Agent { policy, acting, rows: [first.size(0), first.size(1)], keys: Keys::of(zero) };
    let state = Tensor::zeros(&[first.size(0), first.size(1), 1]);
    let steps = recorded.action.size(0);
    let trial = agent.trial(agent.begin(state, first), (amount, steps), recorded, |t, from, episode, row| {
        let how = How::Recorded(row.action);
        agent.step(how, t, from, Some(episode), None, &|_| row.step(from))
    });
    trial.played
}
