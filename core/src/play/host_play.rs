//! Plays on the host that iterations ask for.

use super::{Amount, PolicyActor, Room, Tape};
use crate::host::{Chance, Executor, Fleet, PlayedStep, Player, SomeGroups};
use crate::rng::{Key, fold_in, streams};
use crate::task::TaskSource;
use crate::{Array, Device, Error, Result};

/// A play on the host that an iteration asks for.
#[derive(Debug)]
pub struct HostPlay {
    /// The acting policy.
    pub actor: PolicyActor,
    /// Names of the values by which the policy acts, in the order in which they are asked.
    pub acting: Vec<String>,
    /// K and N: groups, and environments per group.
    pub rows: [usize; 2],
    /// The steps for which the trace has room, and how many a play may need.
    pub room: Room,
    /// The amount of whole episodes in each environment; none for T steps that continue the running episodes.
    pub episodes: Option<Amount>,
    /// The source of tasks and their number per seed, if tasks are to be drawn.
    pub tasks: Option<(TaskSource, usize)>,
}

/// The steps of a play.
#[derive(Clone, Debug)]
pub(super) struct Recording {
    tape: Tape,
    /// The number of steps of each environment.
    pub steps: usize,
    /// The first observations of new episodes.
    first: Option<Vec<f64>>,
    /// The policy's memory after the play, if running episodes continue.
    memory: Vec<Array>,
}

impl HostPlay {
    /// Draws the tasks of this iteration, if the play is the first one that has them; `keys` are those of the seeds.
    pub(super) async fn tell_tasks(&self, player: &mut Player<SomeGroups>, keys: &[Key], iteration: u32) -> Result<()> {
        let Some((source, count)) = &self.tasks else { return Ok(()) };
        let pick = |key: &Key| source.pick(fold_in(*key, streams::TASK), iteration, *count);
        let chances: Vec<Chance> = keys.iter().flat_map(pick).map(Chance::from).collect();
        let tasks = player.executor_mut().sample_tasks(&chances).await?;
        player.executor_mut().set_tasks(&tasks).await
    }

    /// Plays; `asked` has the values by which the policy acts, its memory if running episodes continue, then the keys
    /// of actions, of lasting noise and of environments.
    pub(super) async fn record(
        &mut self,
        device: &Device,
        player: &mut Player<SomeGroups>,
        asked: Vec<Array>,
    ) -> Result<Recording> {
        let HostPlay { actor, acting, rows: [k, n], room: Room { most, .. }, episodes, .. } = self;
        let [values @ .., action, lasting, env] = &asked[..] else {
            return Err(Error::Program("a play needs keys".to_owned()));
        };
        let (values, memory) = values.split_at(acting.len().min(values.len()));
        let words = device.read_u32(env).await?;
        let (words, first_step) = words.split_at(2 * *k);
        actor.set_acting(acting.iter().cloned().zip(values.iter().cloned()).collect());
        actor.set_memory_arrays(memory);
        actor.set_key_arrays(action.clone(), lasting.clone());
        let of_groups = words.chunks(2).map(|words| [words[0], words[1]]);
        let groups = player.executor().fleet().tasks;
        // An environment that is a group of its own has a key of its own.
        let keys: Vec<Key> = match groups == *k {
            true => of_groups.collect(),
            false => of_groups.flat_map(|key| (0..*n as u32).map(move |element| fold_in(key, element))).collect(),
        };
        let mut first = None;
        if episodes.is_some() {
            actor.forget()?;
            let at_first: Vec<Key> = keys.iter().map(|key| fold_in(*key, 0)).collect();
            player.begin(&at_first).await?;
            first = Some(player.seen().unwrap_or_default().to_vec());
        }
        let (mut tape, mut made) = (Tape::default(), 0);
        // The numbers of episodes that each environment has ended, and true where these are enough.
        let mut ended = vec![(0, false); *k * *n];
        let mut record = |step: PlayedStep<'_>| {
            made += 1;
            for (number, (count, enough)) in ended.iter_mut().enumerate() {
                *count += usize::from(step.stepped.ended(number));
                let reached = episodes.is_none_or(|amount| amount.reached(*count, made));
                *enough |= step.stepped.ended(number) && reached;
            }
            tape.add(&step);
            made < *most && (episodes.is_none() || ended.iter().any(|(_, enough)| !enough))
        };
        actor.first = first_step.first().copied().unwrap_or(0);
        let first_step = actor.first;
        player.play(actor, &keys, first_step, &mut record).await?;
        let fleet = player.executor().fleet();
        if episodes.is_some() && ended.iter().any(|(_, enough)| !enough) {
            let (name, horizon) = (fleet.spec.name.clone(), fleet.horizon);
            let problem = format!(
                "an episode is longer than the time limit of {horizon} steps: the executor does not cut it off"
            );
            return Err(Error::Environment { name, problem });
        }
        let memory = if episodes.is_some() { Vec::new() } else { actor.memory_arrays() };
        Ok(Recording { tape, steps: made, first, memory })
    }

    /// The arrays with which a recording answers, for as many steps as there is room for.
    pub(super) fn answers(&self, device: &Device, fleet: &Fleet, recording: Recording) -> Result<Vec<Array>> {
        let ([k, n], Recording { tape, first, memory, .. }) = (self.rows, recording);
        let uploaded = tape.upload(device, fleet, [self.room.steps, k, n])?;
        let first = first.map(|first| device.array(&[k, n, fleet.observations()], &first)).transpose()?;
        Ok(uploaded.into_iter().map(|(_, array)| array).chain(first).chain(memory).collect())
    }
}
