//! The stage: environments of the host, as an iteration plays them.

use super::host_play::{HostPlay, Recording};
use super::room::Needed;
use crate::backend::LocalFuture;
use crate::host::{Executor, Fleet, Player, SomeGroups};
use crate::host::{cut_off, saved_groups};
use crate::program::Host;
use crate::rng::{Key, fold_in, streams};
use crate::{Array, Device, Error, Result};

/// A computation outside of programs, which an iteration asks for.
pub struct HostCall {
    /// The function from the numbers of the asks to the numbers of the answers.
    pub f: Compute,
    /// The shapes of the answers.
    pub shapes: Vec<Vec<usize>>,
}

/// A function on lists of numbers.
pub type Compute = Box<dyn FnMut(&[Vec<f64>]) -> Result<Vec<Vec<f64>>>>;

impl std::fmt::Debug for HostCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostCall").field("shapes", &self.shapes).finish_non_exhaustive()
    }
}

/// An act of the host that an iteration asks for.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there are a handful")]
pub enum HostAct {
    /// The host plays.
    Play(HostPlay),
    /// The host computes.
    Call(HostCall),
    /// The host looks whether whole episodes had room: it is told whether others would follow, and the most steps.
    Room,
}

impl HostAct {
    /// Tells whether whole episodes have less room here than they may need.
    pub(crate) fn is_limited(&self) -> bool {
        match self {
            HostAct::Play(play) => play.room.is_limited(),
            HostAct::Call(_) => false,
            HostAct::Room => true,
        }
    }
}

/// The host's part in the iterations of stacked seeds: an executor's environments, if they are on the host, and
/// computations.
pub struct Stage {
    device: Device,
    /// Each seed's key.
    keys: Vec<Key>,
    player: Option<Player<SomeGroups>>,
    /// The episodes of a saved run, by group, until the first iteration continues them.
    saved: Option<Vec<Vec<u8>>>,
    /// The acts that iterations ask for, by stage of the algorithm.
    acts: Vec<Vec<HostAct>>,
    /// Recordings of the current iteration's limited plays, by the numbers of their acts: if the iteration is made
    /// again with more room, environments are not stepped again.
    recorded: Vec<(usize, Recording)>,
    /// The room that the plays of the current iteration have needed.
    needed: Needed,
    /// The number of the current iteration, from 1.
    pub iteration: u32,
    /// The iteration's stage of the algorithm, counted from 0.
    pub of: usize,
}

impl std::fmt::Debug for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stage").field("fleet", &self.fleet()).field("acts", &self.acts).finish_non_exhaustive()
    }
}

impl Stage {
    /// Makes a stage for iterations that ask for these acts, by stage of the algorithm; `keys` are those of the seeds.
    #[must_use]
    pub fn new(device: &Device, executor: Option<Box<dyn Executor>>, keys: Vec<Key>, acts: Vec<Vec<HostAct>>) -> Stage {
        Stage {
            device: device.clone(),
            keys,
            player: executor.map(|whole| Player::new(Box::new(SomeGroups::all(whole)))),
            saved: None,
            acts,
            recorded: Vec::new(),
            needed: Needed::Steps(0),
            iteration: 0,
            of: 0,
        }
    }

    /// Sets the acts that iterations ask for, by stage of the algorithm; running episodes continue.
    pub(crate) fn set_acts(&mut self, acts: Vec<Vec<HostAct>>) {
        self.acts = acts;
    }

    /// The room that plays have needed since this was last asked. Their recordings are kept if the iteration is to be
    /// made again with more.
    pub(crate) fn take_needed(&mut self) -> Needed {
        let needed = std::mem::replace(&mut self.needed, Needed::Steps(0));
        if matches!(needed, Needed::Steps(_)) {
            self.recorded.clear();
        }
        needed
    }

    /// Plays only for the seeds with these keys from the next episodes on; `numbers` are their numbers among all seeds
    /// that the executor plays for.
    pub(crate) fn choose(&mut self, keys: Vec<Key>, numbers: &[usize], all: usize) -> Result<()> {
        self.keys = keys;
        let Some(mut player) = self.player.take() else { return Ok(()) };
        let each = player.executor().of().tasks / all.max(1);
        let groups: Vec<usize> = numbers.iter().flat_map(|number| number * each..(number + 1) * each).collect();
        let chosen = player.executor_mut().choose(&groups);
        player.end();
        self.saved = None;
        self.player = Some(player);
        chosen
    }

    /// The executor's fleet, if environments are on the host.
    pub(crate) fn fleet(&self) -> Option<&Fleet> {
        self.player.as_ref().map(|player| player.executor().fleet())
    }

    /// The number of steps that environments have made.
    #[must_use]
    pub fn env_steps(&self) -> u64 {
        self.player.as_ref().map_or(0, Player::env_steps)
    }

    /// Saves the running episodes of each seed's environments, as bytes; none if there are none yet, or environments
    /// cannot save them.
    ///
    /// # Errors
    /// If an environment fails.
    pub(crate) async fn save(&self) -> Result<Option<Vec<Vec<u8>>>> {
        let groups = match (&self.saved, &self.player) {
            (Some(saved), _) => Some(saved.clone()),
            (None, Some(player)) => player.save().await?,
            (None, None) => None,
        };
        let each = |groups: &Vec<Vec<u8>>| (groups.len() / self.keys.len().max(1)).max(1);
        Ok(groups.map(|groups| groups.chunks(each(&groups)).map(saved_groups::joined).collect()))
    }

    /// Sets each seed's saved episodes, which the next iteration continues.
    ///
    /// # Errors
    /// If the bytes are no saved episodes.
    pub(crate) fn set_saved(&mut self, seeds: &[Vec<u8>]) -> Result<()> {
        let mut groups = Vec::new();
        for seed in seeds {
            groups.extend(saved_groups::split(seed)?.into_iter().map(<[u8]>::to_vec));
        }
        if self.fleet().is_some_and(|fleet| fleet.tasks != groups.len()) {
            return Err(cut_off());
        }
        self.saved = self.player.is_some().then_some(groups);
        Ok(())
    }

    /// Checks the saved episodes of a seed, as far as the executor can without going back to them.
    ///
    /// # Errors
    /// [`Error::Snapshot`] that says what is wrong in which group.
    pub(crate) fn check_saved(&self, seed: &[u8]) -> Result<()> {
        let Some(player) = &self.player else { return Ok(()) };
        let in_group = |group: usize, error: Error| match error {
            Error::Snapshot(problem) => Error::Snapshot(format!("in group {group}, {problem}")),
            other => other,
        };
        let mut groups = saved_groups::split(seed)?.into_iter().enumerate();
        groups.try_for_each(|(group, bytes)| player.check_saved(bytes).map_err(|error| in_group(group, error)))
    }

    /// True if the next iteration begins new episodes on the host.
    pub(crate) fn begins(&self) -> bool {
        self.saved.is_none() && self.player.as_ref().is_some_and(|player| player.seen().is_none())
    }

    /// Restores the episodes of a saved run, if that is still to be done.
    ///
    /// # Errors
    /// If environments cannot restore them.
    pub(crate) async fn resume(&mut self) -> Result<()> {
        let (Some(saved), Some(player)) = (self.saved.take(), &mut self.player) else { return Ok(()) };
        let restored = player.restore(&saved).await;
        restored.map_err(|error| not_restored(error, &player.executor().fleet().spec.name))
    }

    /// Begins new episodes everywhere for plays that continue episodes, if none are running: at first, and after an
    /// error. Gives their first observations `[S, N, O]`.
    ///
    /// # Errors
    /// If an environment or the device fails.
    pub async fn begin(&mut self) -> Result<Option<Array>> {
        let Some(player) = self.player.as_mut().filter(|player| player.seen().is_none()) else { return Ok(None) };
        // The numbers are those of the device, where 0 names the reset before the first iteration.
        let of = |key: &Key| fold_in(fold_in(*key, streams::ENV), self.iteration.saturating_sub(1));
        // Each group of a seed draws by a key of its own, as `group_keys` names them.
        let groups = (player.executor().fleet().tasks / self.keys.len().max(1)).max(1) as u32;
        let of_groups = |key: &Key| match groups {
            1 => vec![*key],
            n => (0..n).map(|group| fold_in(fold_in(*key, streams::PARTICLE), group)).collect(),
        };
        let keys: Vec<Key> = self.keys.iter().flat_map(of_groups).map(|key| of(&key)).collect();
        player.begin(&keys).await?;
        let fleet = player.executor().fleet();
        // The state has a seed's groups one behind the other.
        let seeds = self.keys.len().max(1);
        let shape = [seeds, fleet.tasks * fleet.envs_per_task / seeds, fleet.observations()];
        self.device.array(&shape, player.seen().unwrap_or_default()).map(Some)
    }
}

/// The error for environments that cannot go back to the episodes of a snapshot.
fn not_restored(error: Error, name: &str) -> Error {
    let (name, problem) = match error {
        Error::Environment { name, problem } => (name, problem),
        other => (name.to_owned(), other.to_string()),
    };
    let what = "cannot go back to the episode of the snapshot";
    let hint = "resume another snapshot, or with the environment's code of when this one was made";
    Error::Environment { name, problem: format!("{what}: {problem}; {hint}") }
}

impl Host for Stage {
    fn answer(&mut self, number: usize, asked: Vec<Array>) -> LocalFuture<'_, Result<Vec<Array>>> {
        Box::pin(async move {
            let Stage { device, keys, player, acts, recorded, needed, iteration, of, .. } = self;
            match (acts.get_mut(*of).and_then(|acts| acts.get_mut(number)), player) {
                (Some(HostAct::Call(call)), _) => call.run(device, &asked).await,
                (Some(HostAct::Room), _) => {
                    let told = device.read(&asked[0]).await?;
                    needed.met((told[0] == 0.0).then_some(told[1] as usize))?;
                    Ok(Vec::new())
                }
                (Some(HostAct::Play(play)), Some(player)) => {
                    let known = recorded.iter().position(|(of, _)| *of == number);
                    let recording = match known {
                        Some(at) => recorded[at].1.clone(),
                        None => {
                            play.tell_tasks(player, keys, *iteration).await?;
                            let recording = play.record(device, player, asked).await?;
                            if play.room.is_limited() {
                                recorded.push((number, recording.clone()));
                            }
                            recording
                        }
                    };
                    let (steps, room) = (recording.steps, play.room);
                    if room.is_limited() {
                        needed.met_or(steps, room.steps)?;
                    }
                    play.answers(device, player.executor().fleet(), recording)
                }
                _ => Err(Error::Program(format!("nobody answers ask {number}"))),
            }
        })
    }
}

impl HostCall {
    async fn run(&mut self, device: &Device, asked: &[Array]) -> Result<Vec<Array>> {
        let mut numbers = Vec::with_capacity(asked.len());
        for array in asked {
            numbers.push(device.read(array).await?);
        }
        let (answers, shapes) = ((self.f)(&numbers)?, &self.shapes);
        if answers.len() != shapes.len() {
            let problem = format!("the host computes {} arrays, got {}", shapes.len(), answers.len());
            return Err(Error::Program(problem));
        }
        shapes.iter().zip(&answers).map(|(shape, numbers)| device.array(shape, numbers)).collect()
    }
}
