//! A training session: an algorithm on an environment under one or several seeds, as a state machine.

#[cfg(not(target_arch = "wasm32"))]
mod blocking;
mod evaluation;
pub(super) mod restored;
mod seed_progress;
pub(super) mod snapshots;
mod stacks;
mod warm_start;

use std::sync::Arc;

use self::restored::{Restored, restored};
use self::seed_progress::SeedProgress;
use self::snapshots::Snapshots;
use crate::algo::{Metrics, StateEntry, Training, resized};
use crate::backend::Lease;
use crate::nn::Layout;
use crate::optim::Progress;
use crate::train::attempt::evaluate::EpisodeProgram;
use crate::train::saved::Saved;
use crate::train::saved::segments::Ring;
use crate::train::saved::snapshot::{SnapshotKind, check_steps, wrong};
use crate::train::setup::Setup;
use crate::train::setup::own::Own;
use crate::{Device, Error, Program, Result, State};

pub(in crate::train) use stacks::Stack;

/// Named values of one iteration of one seed, in a fixed order. NaN: no value this time.
pub type Row = Vec<(String, f64)>;

/// Training of one or several seeds that can be stepped, saved, restored and evaluated.
#[derive(Debug)]
pub struct Session {
    device: Device,
    setup: Setup,
    training: Training,
    /// How far each seed has come.
    seeds: Vec<SeedProgress>,
    /// The numbers of the seeds that are trained together now, in order of the state's rows.
    stack: Vec<usize>,
    /// The other seeds: they are done, or wait.
    parked: Vec<Stack>,
    /// Programs that evaluate: the stack, and one seed of it.
    evaluations: Vec<EpisodeProgram>,
    debug: bool,
    /// An iteration failed: the state may be half changed.
    torn: bool,
    /// Room for copies of the state, as snapshots need them.
    _copies: Lease,
}

impl Session {
    /// Fresh training.
    ///
    /// # Errors
    /// If the device lacks memory, the environment does not fit the algorithm, or what plays it on the host cannot be made.
    pub fn new(device: &Device, setup: &Setup) -> Result<Session> {
        let lower = |error: Error| error.lowered_by(&setup.memory_settings());
        let copies = room_for_copies(device, setup);
        let training = Training::new(device, setup.fitted().clone(), &setup.env, &setup.seeds).map_err(lower)?;
        let seeds = vec![SeedProgress::default(); setup.seeds.len()];
        let stack = (0..seeds.len()).collect();
        Ok(Session::of(device, setup.clone(), training, (seeds, stack), copies))
    }

    fn of(
        device: &Device,
        setup: Setup,
        training: Training,
        (seeds, stack): (Vec<SeedProgress>, Vec<usize>),
        _copies: Lease,
    ) -> Session {
        Session {
            device: device.clone(),
            setup,
            training,
            seeds,
            stack,
            parked: Vec::new(),
            evaluations: Vec::new(),
            debug: false,
            torn: false,
            _copies,
        }
    }

    /// A session of what snapshots hold: the first of their stacks is trained first.
    fn restored(device: &Device, restored: Restored) -> Result<Session> {
        let Restored { setup, seeds, mut stacks } = restored;
        expect_counted(&setup, &seeds)?;
        let copies = room_for_copies(device, &setup);
        let Stack { seeds: stack, state, episodes } = stacks.remove(0);
        let (algorithm, env) = (setup.fitted().clone(), &setup.env);
        let mut training = match (stacks.is_empty(), env.on_host()) {
            (true, _) => Training::resume(device, algorithm, env, &setup.seeds, state)?,
            // Those of the stack, for which there are programs of its own.
            (false, false) => {
                let of_stack: Vec<u64> = stack.iter().map(|number| setup.seeds[*number]).collect();
                Training::resume(device, algorithm, env, &of_stack, state)?
            }
            // An executor is one of all seeds.
            (false, true) => {
                let mut training = Training::resume(device, algorithm, env, &setup.seeds, State::new())?;
                training.restack((&setup.seeds, &stack), state)?;
                training
            }
        };
        if let Some(episodes) = episodes {
            training.restore_episodes(&episodes)?;
        }
        Ok(Session { parked: stacks, ..Session::of(device, setup, training, (seeds, stack), copies) })
    }

    /// In debug mode the first gradient that is not finite is an error that names the operation where it began. Each
    /// iteration then copies the state first.
    pub fn set_debug(&mut self, debug: bool) {
        self.debug = debug;
    }

    /// Training that goes on from one snapshot per seed, of a built-in algorithm on a built-in environment.
    ///
    /// # Errors
    /// [`Error::Snapshot`] if the bytes are no snapshots of sessions that this version can read, or are of runs that
    /// differ in more than the seed; [`Error::Memory`] for more than fit.
    pub fn restore(device: &Device, snapshots: &[&[u8]]) -> Result<Session> {
        Session::restore_with(device, Own::default(), snapshots)
    }

    /// The same with environments and algorithms of the caller's.
    ///
    /// # Errors
    /// As [`Session::restore`].
    pub fn restore_with<'a>(device: &Device, own: impl Into<Own<'a>>, snapshots: &[&[u8]]) -> Result<Session> {
        let whole: Vec<Saved<'_>> = snapshots.iter().map(|file| Saved::whole(file)).collect();
        Session::restore_saved(device, own, &whole)
    }

    /// The same of snapshots that may be in parts: their segments are read one at a time.
    ///
    /// # Errors
    /// As [`Session::restore`], or what reading a segment gives.
    pub fn restore_saved<'a>(device: &Device, own: impl Into<Own<'a>>, snapshots: &[Saved<'_>]) -> Result<Session> {
        Session::restored(device, restored(device, &own.into(), snapshots)?)
    }

    /// Bytes that training takes on a device, whether there are so many or not.
    ///
    /// # Errors
    /// If what the setup asks for cannot be planned.
    pub fn memory(device: &Device, setup: &Setup) -> Result<u64> {
        let copies = if device.caps().is_cpu { setup.bytes_of_copies() } else { 0 };
        let (mut args, mut bytes) = (0, copies.saturating_add(setup.bytes_of_leaving()));
        for plan in setup.plans()? {
            let footprint = device.footprint(Arc::new(plan))?;
            // Stages share the state.
            args = footprint.args.max(args);
            bytes = footprint.own.saturating_add(bytes);
        }
        Ok(bytes.saturating_add(args))
    }

    /// The algorithm, environment and settings that are trained.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The program of the next iteration: what it computes and what running it has cost so far.
    pub fn program(&self) -> &Program {
        self.training.program(self.iteration())
    }

    /// Iterations made, of the seeds that are trained now.
    pub fn iteration(&self) -> u64 {
        self.stack.first().map_or(0, |seed| self.seeds[*seed].iteration)
    }

    /// Iterations to make, as they are planned: more where episodes end early.
    pub fn iterations(&self) -> u64 {
        self.setup.fitted().iterations(self.setup.steps)
    }

    /// Environment steps that each seed has made, of the seed that has made the fewest.
    pub fn env_steps(&self) -> u64 {
        self.seeds.iter().map(|seed| seed.made).min().unwrap_or(0)
    }

    /// Environment steps that the seed of this number, from 0, has made; none if there is no such seed.
    pub fn steps_made(&self, index: usize) -> u64 {
        self.seeds.get(index).map_or(0, |seed| seed.made)
    }

    /// Iterations that the seed of this number, from 0, has made; none if there is no such seed.
    pub fn iterations_made(&self, index: usize) -> u64 {
        self.seeds.get(index).map_or(0, |seed| seed.iteration)
    }

    /// Environment steps to make, per seed. Where all iterations make what is planned these are whole iterations, so that it may be more than
    /// was asked for; else a seed ends with the iteration in which it makes what was asked for.
    pub fn total_steps(&self) -> u64 {
        match self.setup.fitted().counts_steps() {
            true => self.setup.steps,
            false => self.setup.fitted().budget(self.setup.steps),
        }
    }

    /// True once each seed has made its steps.
    pub fn done(&self) -> bool {
        (0..self.seeds.len()).all(|index| self.is_done(index))
    }

    /// True if the seed of this number, from 0, goes on from a snapshot of an earlier version, for which it was finished: that ended runs by the
    /// steps that were planned, of which this one has made fewer.
    pub fn goes_on_unlike_planned(&self, index: usize) -> bool {
        self.seeds.get(index).is_some_and(|seed| seed.ended_as_planned) && !self.is_done(index)
    }

    /// The progress of a seed, by which its schedules go.
    fn progress(&self, index: usize) -> Progress {
        let SeedProgress { iteration: iterations, made: steps, .. } = self.seeds[index];
        Progress { iterations, steps, budget: self.setup.fitted().budget(self.setup.steps) }
    }

    /// Make `steps` environment steps per seed in all, for example more than a finished run was meant to.
    ///
    /// Linear schedules end at the new number. A memory that is as large as the run grows with it.
    ///
    /// # Errors
    /// [`Error::Config`] for none or more than 10¹⁵, if a seed has made more already, or if a setting does not fit so many steps;
    /// [`Error::Memory`] if there is no room.
    pub fn set_steps(&mut self, steps: u64) -> Result<()> {
        check_steps(steps)?;
        let made = self.seeds.iter().map(|seed| seed.made).max().unwrap_or(0);
        if steps < made && steps != self.setup.steps {
            let problem = format!("{made} are made already, so {steps} in all cannot be");
            return Err(Error::config("steps", problem));
        }
        let setup = self.setup.for_steps(steps, made)?;
        let entries = |setup: &Setup| setup.fitted().entries(setup.env.state_len());
        let new = entries(&setup);
        if new != entries(&self.setup) {
            let of = |stack: &Stack| resized(&self.device, &stack.state, &new, stack.seeds.len());
            let parked = self.parked.iter().map(of).collect::<Result<Vec<_>>>()?;
            self.training.resize(setup.fitted().clone())?;
            self.parked.iter_mut().zip(parked).for_each(|(stack, state)| stack.state = state);
            self._copies = room_for_copies(&self.device, &setup);
        }
        self.setup = setup;
        Ok(())
    }

    /// One iteration of the seeds that are trained now: a row of metrics for each of [`running`](Session::running), in order. These are all
    /// seeds until one of them has made its steps; then the others go on without it.
    ///
    /// # Errors
    /// [`Error::NonFinite`] if every update of a seed had a gradient that was not finite; [`Error::Interrupted`] if the device was
    /// asked to stop; or if the device fails. After the latter two, what was trained is lost from the last snapshot on.
    pub async fn step(&mut self) -> Result<Vec<Row>> {
        self.whole()?;
        self.take_turn().await?;
        let made = self.iteration();
        let at: Vec<Progress> = self.stack.iter().map(|index| self.progress(*index)).collect();
        let before = if self.debug { Some(self.training.state().copy(&self.device).await?) } else { None };
        // Until the iteration has ended.
        self.torn = true;
        let metrics = self.training.step_at(made, at.clone()).await?;
        let values = self.device.read(&metrics).await?;
        self.torn = false;
        if let Some(before) = before {
            self.explain(&before, &values, &at).await?;
        }
        let (names, all_names) = (self.training.metric_names(made), self.training.all_metric_names());
        let inner = [Metrics::RETURN_SUM, Metrics::LENGTH_SUM, Metrics::STEPS];
        let fitted = self.setup.fitted();
        let planned = fitted.planned(made + 1) - fitted.planned(made);
        let mut rows = Vec::with_capacity(self.stack.len());
        let of_seeds = values.chunks(values.len() / self.stack.len());
        for ((values, index), at) in of_seeds.zip(&self.stack).zip(at) {
            let (values, returns) = values.split_at(names.len().min(values.len()));
            let of = |name: &str| names.iter().position(|known| known == name).map_or(0.0, |column| values[column]);
            let seed = &mut self.seeds[*index];
            seed.iteration += 1;
            seed.made += if fitted.counts_steps() { of(Metrics::STEPS) as u64 } else { planned };
            seed.finished.add([Metrics::EPISODES, inner[0], inner[1]].map(of), returns);
            let [ep_return, ep_len] = seed.finished.means();
            let mut row: Row = Vec::with_capacity(names.len() + 8);
            let mut add = |name: &str, value: f64| row.push((name.to_owned(), value));
            add("time/env_steps", seed.made as f64);
            add("time/iterations", seed.iteration as f64);
            add("rollout/ep_return_mean", ep_return);
            add("rollout/ep_len_mean", ep_len);
            if !returns.is_empty() {
                seed.finished.spread().into_iter().for_each(|(name, value)| add(name, value));
            }
            for name in all_names.iter().filter(|name| !inner.contains(&name.as_str())) {
                let column = names.iter().position(|known| known == name);
                add(name, column.map_or(f64::NAN, |column| values[column]));
            }
            for (name, value) in self.training.schedules(at) {
                add(name, value);
            }
            if of(Metrics::NON_FINITE) > 0.0 && of(Metrics::UPDATES) == 0.0 {
                return Err(Error::NonFinite(format!(
                    "no update of seed {} had a finite gradient; lower learning_rate, or look at the environment's \
                     rewards and observations",
                    self.setup.seeds[*index]
                )));
            }
            rows.push(row);
        }
        Ok(rows)
    }

    /// An error if the last iteration has not ended.
    fn whole(&self) -> Result<()> {
        match self.torn {
            true => Err(Error::Program("the last iteration did not end; go on from the last snapshot".to_owned())),
            false => Ok(()),
        }
    }

    /// An error if an update of the iteration just made was dropped, which began with the state `before`.
    async fn explain(&self, before: &State, metrics: &[f64], at: &[Progress]) -> Result<()> {
        let names = self.training.metric_names(self.iteration());
        let column = names.iter().position(|name| name == Metrics::NON_FINITE);
        let dropped = |values: &[f64]| column.is_some_and(|column| values[column] > 0.0);
        if !metrics.chunks(metrics.len() / self.stack.len()).any(dropped) {
            return Ok(());
        }
        let found = self.training.first_non_finite(before, self.iteration(), at).await?;
        Err(found.map_or_else(
            || Error::NonFinite("a gradient was not finite, but only by this device's rounding".to_owned()),
            |found| found.error(),
        ))
    }

    /// Everything needed to go on with the seed of this number, from 0, alone or stacked: the same bytes for the same training.
    ///
    /// # Errors
    /// If there is no such seed or the device fails.
    pub async fn snapshot(&self, index: usize) -> Result<Vec<u8>> {
        self.snapshots_of(&[index]).await?.encode(index).await
    }

    /// The snapshots of all seeds, whole or in parts.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn snapshots(&self) -> Result<Snapshots<'_>> {
        self.snapshots_of(&(0..self.seeds.len()).collect::<Vec<_>>()).await
    }

    /// The snapshots of the seeds of these numbers, from 0, whole or in parts.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn snapshots_of(&self, seeds: &[usize]) -> Result<Snapshots<'_>> {
        self.whole()?;
        Snapshots::of(self, SnapshotKind::Session, self.entries(), seeds).await
    }

    /// Everything that training changes, for one seed.
    pub(in crate::train) fn entries(&self) -> Vec<StateEntry> {
        self.training.algorithm().entries(self.setup.env.state_len())
    }

    /// Parameters, normalisers and configuration of the seed of this number, from 0: what [`Evaluator`](super::Evaluator) needs.
    ///
    /// # Errors
    /// If there is no such seed or the device fails.
    pub async fn policy_snapshot(&self, index: usize) -> Result<Vec<u8>> {
        self.policy_snapshots_of(&[index]).await?.encode(index).await
    }

    /// The policies of all seeds, read from the device once.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn policy_snapshots(&self) -> Result<Snapshots<'_>> {
        self.policy_snapshots_of(&(0..self.seeds.len()).collect::<Vec<_>>()).await
    }

    /// The policies of the seeds of these numbers, from 0, read from the device once.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn policy_snapshots_of(&self, seeds: &[usize]) -> Result<Snapshots<'_>> {
        self.whole()?;
        Snapshots::of(self, SnapshotKind::Policy, self.setup.fitted().policy_state(), seeds).await
    }

    /// The segments that the snapshot named from which the seed of this number, from 0, was restored: the next one in parts goes on from them.
    pub fn segments(&self, index: usize) -> &[Ring] {
        self.seeds.get(index).map_or(&[], |seed| &seed.segments[..])
    }

    pub(in crate::train) fn device(&self) -> &Device {
        &self.device
    }

    #[cfg(test)]
    pub(in crate::train) fn state(&self) -> &State {
        self.training.state()
    }

    pub(in crate::train) fn state_mut(&mut self) -> &mut State {
        &mut self.training.state
    }

    pub(in crate::train) fn layout(&self) -> &Layout {
        self.training.algorithm().layout()
    }

    /// How far a seed that there is has come.
    pub(in crate::train) fn seed(&self, index: usize) -> &SeedProgress {
        &self.seeds[index]
    }

    /// θ of the seed of this number, from 0, as programs have it: the slices of its layout one after the other.
    ///
    /// # Errors
    /// If there is no such seed or the device fails.
    pub async fn parameters(&self, index: usize) -> Result<Vec<f32>> {
        let (state, row) = self.place_of(index)?;
        let theta = state.get("theta")?;
        let len = theta.len() / theta.shape[0];
        let words = self.device.read_part(theta, row * len..(row + 1) * len).await?;
        Ok(words.into_iter().map(f32::from_bits).collect())
    }

    pub(in crate::train) fn no_seed(&self, index: usize) -> Error {
        Error::Program(format!("there are {} seeds, so there is no number {index}", self.setup.seeds.len()))
    }
}

/// Checks that restored runs whose iterations count no steps have made those that were planned.
fn expect_counted(setup: &Setup, seeds: &[SeedProgress]) -> Result<()> {
    let planned = |seed: &SeedProgress| setup.fitted().planned(seed.iteration);
    let counted = setup.fitted().counts_steps();
    match seeds.iter().find(|seed| !counted && seed.made != planned(seed)) {
        Some(seed) => {
            let (SeedProgress { iteration, made, .. }, planned) = (seed, planned(seed));
            Err(wrong(format!("{made} environment steps cannot be: {iteration} iterations make {planned}")))
        }
        None => Ok(()),
    }
}

/// Room for copies of the state on the host, where the device is a part of it.
fn room_for_copies(device: &Device, setup: &Setup) -> Lease {
    device.reserve(if device.caps().is_cpu {
        setup.bytes_of_copies().saturating_add(setup.bytes_of_leaving())
    } else {
        0
    })
}
