//! A training session: an algorithm on an environment under one or several seeds, as a state machine.

use std::sync::Arc;

use super::evaluate::{Episode, EpisodeProgram, Evaluation, PolicyArrays};
use super::finished::Finished;
use super::own::Own;
use super::restored::{Progress, restored};
use super::saved::Saved;
use super::segments::Ring;
use super::setup::{MAX_STEPS, Setup};
use super::snapshot::{SnapshotKind, wrong};
use super::snapshots::Snapshots;
use crate::algo::{Arena, Metrics, StateEntry, Training};
use crate::backend::Lease;
use crate::host::Executor;
use crate::meta::TestSizes;
use crate::nn::Layout;
use crate::rng::{fold_in, key_from_seed, streams};
use crate::{Device, Error, Program, Result, State};

/// Named values of one iteration of one seed, in a fixed order. NaN: no value this time.
pub type Row = Vec<(String, f64)>;

/// Training of one or several seeds that can be stepped, saved, restored and evaluated.
#[derive(Debug)]
pub struct Session {
    device: Device,
    setup: Setup,
    training: Training,
    iteration: u64,
    /// Environment steps that each seed has made.
    made: Vec<u64>,
    /// The latest finished episodes of each seed.
    finished: Vec<Finished>,
    /// Of each seed that was restored, the segments that its snapshot named.
    segments: Vec<Vec<Ring>>,
    evaluation: Option<EpisodeProgram>,
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
    /// If the device lacks memory or the environment does not fit the algorithm.
    pub fn new(device: &Device, setup: &Setup) -> Result<Session> {
        Session::start(device, setup, Arena::Device(setup.env.device()?))
    }

    /// Fresh training on the host: `executor` plays what [`Setup::fleet`] says.
    ///
    /// # Errors
    /// If the executor does not fit, or the device lacks memory.
    pub fn on_host(device: &Device, setup: &Setup, executor: Box<dyn Executor>) -> Result<Session> {
        Session::start(device, setup, Arena::Host(executor))
    }

    fn start(device: &Device, setup: &Setup, env: Arena<'_>) -> Result<Session> {
        let lower = |error: Error| error.lowered_by(&setup.memory_settings());
        let copies = room_for_copies(device, setup);
        let training = Training::new(device, setup.fitted().clone(), env, &setup.seeds).map_err(lower)?;
        let seeds = setup.seeds.len();
        let (made, finished) = (vec![0; seeds], vec![Finished::default(); seeds]);
        let progress = Progress { iteration: 0, made, finished, segments: vec![Vec::new(); seeds] };
        Ok(Session::of(device, setup.clone(), training, progress, copies))
    }

    fn of(device: &Device, setup: Setup, training: Training, progress: Progress, _copies: Lease) -> Session {
        let Progress { iteration, made, finished, segments } = progress;
        let (device, evaluation, debug, torn) = (device.clone(), None, false, false);
        Session { device, setup, training, iteration, made, finished, segments, evaluation, debug, torn, _copies }
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
        let (setup, state, progress) = restored(device, &own.into(), snapshots)?;
        let arena = Arena::Device(setup.env.device()?);
        let copies = room_for_copies(device, &setup);
        let training = Training::resume(device, setup.fitted().clone(), arena, &setup.seeds, state)?;
        expect_counted(&training, &setup, &progress)?;
        Ok(Session::of(device, setup, training, progress, copies))
    }

    /// The same as [`Session::restore_with`] of a run on the host, in new episodes: what environments were in the middle of is not part of a
    /// snapshot. Those in parts become [`whole`](super::whole) first.
    ///
    /// `executor` makes what plays the fleet of the setup that it is given.
    ///
    /// # Errors
    /// As [`Session::restore`], or if the executor cannot be made or does not fit.
    pub fn restore_on_host<'a>(
        device: &Device,
        own: impl Into<Own<'a>>,
        snapshots: &[&[u8]],
        executor: impl FnOnce(&Setup) -> Result<Box<dyn Executor>>,
    ) -> Result<Session> {
        let whole: Vec<Saved<'_>> = snapshots.iter().map(|file| Saved::whole(file)).collect();
        let (setup, state, progress) = restored(device, &own.into(), &whole)?;
        let arena = Arena::Host(executor(&setup)?);
        let copies = room_for_copies(device, &setup);
        let training = Training::resume(device, setup.fitted().clone(), arena, &setup.seeds, state)?;
        expect_counted(&training, &setup, &progress)?;
        Ok(Session::of(device, setup, training, progress, copies))
    }

    /// Bytes that training takes on a device, whether there are so many or not.
    ///
    /// # Errors
    /// If the environment is on the host, or what the setup asks for cannot be planned.
    pub fn memory(device: &Device, setup: &Setup) -> Result<u64> {
        let copies = if device.caps().is_cpu { setup.bytes_of_copies() } else { 0 };
        let (mut args, mut bytes) = (0, copies);
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

    /// The program of the next iteration, of all seeds: what it computes and what running it has cost so far.
    pub fn program(&self) -> &Program {
        self.training.program(self.iteration)
    }

    /// Iterations made.
    pub fn iteration(&self) -> u64 {
        self.iteration
    }

    /// Iterations to make.
    pub fn iterations(&self) -> u64 {
        self.setup.fitted().iterations(self.setup.steps)
    }

    /// Environment steps of the iterations made, per seed, as they are planned: schedules, and what happens every so many steps, go by
    /// it. It is the same for all seeds.
    pub fn env_steps(&self) -> u64 {
        self.setup.fitted().planned(self.iteration)
    }

    /// Environment steps that the seed of this number, from 0, has made: fewer than planned where episodes ended early, none if there is
    /// no such seed.
    pub fn steps_made(&self, index: usize) -> u64 {
        self.made.get(index).copied().unwrap_or(0)
    }

    /// Environment steps to make, per seed: whole iterations, so that it may be more than was asked for.
    pub fn total_steps(&self) -> u64 {
        self.setup.fitted().planned(self.iterations())
    }

    /// True once all iterations are made.
    pub fn done(&self) -> bool {
        self.iteration >= self.iterations()
    }

    /// Make `steps` environment steps per seed in all, for example more than a finished run was meant to.
    ///
    /// Linear schedules end at the new number. It is at least 1 and at most 10¹⁵. A memory that is as large as the run grows with it.
    ///
    /// # Errors
    /// [`Error::Config`] if a setting does not fit so many steps; [`Error::Memory`] if there is no room.
    pub fn set_steps(&mut self, steps: u64) -> Result<()> {
        let setup = self.setup.for_steps(steps.clamp(1, MAX_STEPS), self.env_steps())?;
        let env = self.setup.env.device().ok();
        let entries = |setup: &Setup| setup.fitted().entries(setup.env.state_len());
        if entries(&setup) != entries(&self.setup) {
            self.training.resize(setup.fitted().clone(), env)?;
            self._copies = room_for_copies(&self.device, &setup);
        }
        self.setup = setup;
        Ok(())
    }

    /// One iteration of all seeds; a row of metrics for each.
    ///
    /// # Errors
    /// [`Error::NonFinite`] if every update of a seed had a gradient that was not finite; [`Error::Interrupted`] if the device was
    /// asked to stop; or if the device fails. After the latter two, what was trained is lost from the last snapshot on.
    pub async fn step(&mut self) -> Result<Vec<Row>> {
        self.whole()?;
        let (made, all) = (self.iteration, self.iterations());
        let schedules = self.training.schedules(made, all);
        let before = if self.debug { Some(self.training.state().copy(&self.device).await?) } else { None };
        // Until the iteration has ended.
        self.torn = true;
        let metrics = self.training.step(made, all).await?;
        let values = self.device.read(&metrics).await?;
        self.torn = false;
        if let Some(before) = before {
            self.explain(&before, &values).await?;
        }
        self.iteration += 1;
        let mut rows = Vec::with_capacity(self.finished.len());
        let (names, all_names) = (self.training.metric_names(made), self.training.all_metric_names());
        let inner = [Metrics::RETURN_SUM, Metrics::LENGTH_SUM, Metrics::STEPS];
        let planned = self.env_steps() - self.setup.fitted().planned(made);
        let counted = names.iter().any(|name| name == Metrics::STEPS);
        for (i, values) in values.chunks(values.len() / self.finished.len()).enumerate() {
            let (values, returns) = values.split_at(names.len().min(values.len()));
            let of = |name: &str| names.iter().position(|known| known == name).map_or(0.0, |column| values[column]);
            self.made[i] += if counted { of(Metrics::STEPS) as u64 } else { planned };
            let finished = &mut self.finished[i];
            finished.add([Metrics::EPISODES, inner[0], inner[1]].map(of), returns);
            let [ep_return, ep_len] = finished.means();
            let mut row: Row = Vec::with_capacity(names.len() + 8);
            let mut add = |name: &str, value: f64| row.push((name.to_owned(), value));
            add("time/env_steps", self.made[i] as f64);
            add("time/iterations", self.iteration as f64);
            add("rollout/ep_return_mean", ep_return);
            add("rollout/ep_len_mean", ep_len);
            if !returns.is_empty() {
                finished.spread().into_iter().for_each(|(name, value)| add(name, value));
            }
            for name in all_names.iter().filter(|name| !inner.contains(&name.as_str())) {
                let column = names.iter().position(|known| known == name);
                add(name, column.map_or(f64::NAN, |column| values[column]));
            }
            for (name, value) in &schedules {
                add(name, *value);
            }
            if of(Metrics::NON_FINITE) > 0.0 && of(Metrics::UPDATES) == 0.0 {
                return Err(Error::NonFinite(format!(
                    "no update of seed {} had a finite gradient; lower learning_rate, or look at the environment's \
                     rewards and observations",
                    self.setup.seeds[i]
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
    async fn explain(&self, before: &State, metrics: &[f64]) -> Result<()> {
        let names = self.training.metric_names(self.iteration);
        let column = names.iter().position(|name| name == Metrics::NON_FINITE);
        let dropped = |values: &[f64]| column.is_some_and(|column| values[column] > 0.0);
        if !metrics.chunks(metrics.len() / self.finished.len()).any(dropped) {
            return Ok(());
        }
        let found = self.training.first_non_finite(before, self.iteration, self.iterations()).await?;
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
        self.snapshots().await?.encode(index).await
    }

    /// The same for all seeds, whole or in parts.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn snapshots(&self) -> Result<Snapshots<'_>> {
        self.whole()?;
        Snapshots::of(self, SnapshotKind::Session, self.entries()).await
    }

    /// Everything that training changes, for one seed.
    pub(super) fn entries(&self) -> Vec<StateEntry> {
        self.training.algorithm().entries(self.setup.env.state_len())
    }

    /// Parameters, normalisers and configuration of the seed of this number, from 0: what [`Evaluator`](super::Evaluator) needs.
    ///
    /// # Errors
    /// If there is no such seed or the device fails.
    pub async fn policy_snapshot(&self, index: usize) -> Result<Vec<u8>> {
        self.policy_snapshots().await?.encode(index).await
    }

    /// The same for all seeds, read from the device once.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn policy_snapshots(&self) -> Result<Snapshots<'_>> {
        self.whole()?;
        Snapshots::of(self, SnapshotKind::Policy, self.setup.fitted().policy_state()).await
    }

    /// The segments that the snapshot named from which the seed of this number, from 0, was restored: the next one in parts goes on from them.
    pub fn segments(&self, index: usize) -> &[Ring] {
        self.segments.get(index).map_or(&[], Vec::as_slice)
    }

    pub(super) fn device(&self) -> &Device {
        &self.device
    }

    pub(super) fn state(&self) -> &State {
        self.training.state()
    }

    pub(super) fn state_mut(&mut self) -> &mut State {
        &mut self.training.state
    }

    pub(super) fn layout(&self) -> &Layout {
        self.training.algorithm().layout()
    }

    /// The latest finished episodes of a seed that there is.
    pub(super) fn finished(&self, index: usize) -> &Finished {
        &self.finished[index]
    }

    /// θ of the seed of this number, from 0, as programs have it: the slices of its layout one after the other.
    ///
    /// # Errors
    /// If there is no such seed or the device fails.
    pub async fn parameters(&self, index: usize) -> Result<Vec<f32>> {
        let theta = self.device.read_f32(self.training.state().get("theta")?).await?;
        let len = theta.len() / self.setup.seeds.len();
        let own = theta.chunks(len).nth(index).ok_or_else(|| self.no_seed(index))?;
        Ok(own.to_vec())
    }

    pub(super) fn no_seed(&self, index: usize) -> Error {
        Error::Program(format!("there are {} seeds, so there is no number {index}", self.setup.seeds.len()))
    }

    /// Makes ready what [`evaluate`](Self::evaluate) will run, so that a number of episodes that cannot be evaluated is
    /// found before anything is trained.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn prepare_evaluation(&mut self, played: impl Into<Evaluation>) -> Result<()> {
        self.evaluation = Some(self.evaluation_of(played.into())?);
        Ok(())
    }

    /// The program that evaluates, the one that is there if it is the same.
    fn evaluation_of(&mut self, played: Evaluation) -> Result<EpisodeProgram> {
        let of = played.of(self.setup.seeds.len(), true);
        let lower: &[&'static str] = if of.sizes.is_some() { &TestSizes::KEYS } else { &["eval_episodes"] };
        match self.evaluation.take().filter(|program| program.of == of) {
            Some(program) => Ok(program),
            None => EpisodeProgram::new(&self.device, self.setup.env.device()?, &**self.setup.fitted(), of)
                .map_err(|error| error.lowered_by(lower)),
        }
    }

    /// Episodes of the deterministic policy of each seed: so many, or those of a meta-test in its own sizes.
    ///
    /// Random numbers are of a stream of their own, so that evaluating changes nothing about training. They depend on
    /// the seed and the number of iterations made.
    ///
    /// # Errors
    /// [`Error::Config`] for no episodes or too many, or of a run on the host, whose policy an [`Evaluator`](super::Evaluator)
    /// can play; or if the device fails.
    pub async fn evaluate(&mut self, played: impl Into<Evaluation>) -> Result<Vec<Vec<Episode>>> {
        self.whole()?;
        let mut program = self.evaluation_of(played.into())?;
        let key = |seed: &u64| fold_in(fold_in(key_from_seed(*seed), streams::EVAL), self.iteration as u32);
        let keys: Vec<[u32; 2]> = self.setup.seeds.iter().map(key).collect();
        let state = self.training.state();
        let arrays = self.setup.fitted().policy_entries().into_iter().map(|name| Ok((name, state.get(name)?.clone())));
        let policy = PolicyArrays { arrays: arrays.collect::<Result<_>>()? };
        let result = program.episodes(&self.device, &policy, &keys).await;
        self.evaluation = Some(program);
        result
    }
}

/// Checks that restored runs whose iterations count no steps have made those that were planned.
fn expect_counted(training: &Training, setup: &Setup, progress: &Progress) -> Result<()> {
    let planned = setup.fitted().planned(progress.iteration);
    let counted = training.all_metric_names().iter().any(|name| name == Metrics::STEPS);
    match progress.made.iter().find(|made| !counted && **made != planned) {
        Some(made) => {
            let iterations = progress.iteration;
            Err(wrong(format!("{made} environment steps cannot be: {iterations} iterations make {planned}")))
        }
        None => Ok(()),
    }
}

/// Room for them on the host, where the device is a part of it.
fn room_for_copies(device: &Device, setup: &Setup) -> Lease {
    device.reserve(if device.caps().is_cpu { setup.bytes_of_copies() } else { 0 })
}
