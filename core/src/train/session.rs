//! A training session: an algorithm on an environment under one or several seeds, as a state machine.

#[cfg(not(target_arch = "wasm32"))]
mod blocking;
mod evaluation;
pub(super) mod restored;
#[cfg(test)]
mod room_tests;
mod seed_progress;
pub(super) mod snapshots;
mod stacks;
pub(super) mod trials;
mod warm_start;

use std::sync::Arc;

use self::restored::{Restored, Stack, restored};
use self::seed_progress::SeedProgress;
use self::trials::Trials;
use crate::algo::{Metrics, StateEntry, Training, resized};
use crate::backend::Lease;
use crate::nn::Layout;
use crate::optim::Progress;
use crate::tensor::CompensatedSum;
use crate::train::attempt::episode_program::EpisodeProgram;
use crate::train::saved::Saved;
use crate::train::saved::finished::Finished;
use crate::train::saved::host_episodes;
use crate::train::saved::segments::Ring;
use crate::train::saved::wrong::wrong;
use crate::train::setup::Setup;
use crate::train::setup::length::Length;
use crate::train::setup::own::Own;
use crate::{Device, Error, Program, Result, State};

/// The named values of one iteration of one seed, in a fixed order. NaN stands for no value.
pub type Row = Vec<(String, f64)>;

/// Training of one or several seeds, which can be stepped, saved, restored and evaluated.
#[derive(Debug)]
pub struct Session {
    device: Device,
    setup: Setup,
    /// The setups of the seeds, which may differ in settings.
    trials: Trials,
    training: Training,
    /// The progress of each seed.
    seeds: Vec<SeedProgress>,
    /// The numbers of the seeds that are now trained together, in order of the state's rows.
    stack: Vec<usize>,
    /// The stacks of the other seeds, which are done or wait.
    parked: Vec<Stack>,
    /// Programs that evaluate the stack, and a single seed of it.
    evaluations: Vec<EpisodeProgram>,
    debug: bool,
    /// True after an iteration has failed, when the state may be half changed.
    torn: bool,
    /// Room for the copies of the state that snapshots need.
    _copies: Lease,
}

impl Session {
    /// Begins training.
    ///
    /// # Errors
    /// If the device lacks memory, the environment does not fit the algorithm, or its executor on the host cannot be
    /// made.
    pub fn new(device: &Device, setup: &Setup) -> Result<Session> {
        let lower = |error: Error| error.lowered_by(&setup.memory_settings());
        let setup = &setup.clone().among(device.rank()[1]);
        setup.fitted().together().check(setup.ranks(), setup.algorithm.name)?;
        let copies = room_for_copies(device, setup);
        let training = Training::new(device, setup.fitted().clone(), &setup.env, &setup.seeds).map_err(lower)?;
        let seeds = vec![SeedProgress::default(); setup.seeds.len()];
        let stack = (0..seeds.len()).collect();
        let trials = Trials::one(setup.clone());
        Ok(Session::of(device, (setup.clone(), trials), training, (seeds, stack), copies))
    }

    fn of(
        device: &Device,
        (setup, trials): (Setup, Trials),
        training: Training,
        (seeds, stack): (Vec<SeedProgress>, Vec<usize>),
        _copies: Lease,
    ) -> Session {
        Session {
            device: device.clone(),
            setup,
            trials,
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

    /// Makes a session of the content of snapshots. The first of their stacks is trained first.
    fn restored(device: &Device, restored: Restored) -> Result<Session> {
        let Restored { setup, trials, seeds, mut stacks } = restored;
        expect_counted(&setup, &seeds)?;
        let copies = room_for_copies(device, &setup);
        let Stack { seeds: stack, state, episodes } = stacks.remove(0);
        let (rows, env) = (trials.algorithms(&stack), &setup.env);
        let mut training = match (stacks.is_empty(), env.on_host()) {
            (true, _) => Training::resume_rows(device, rows, env.clone(), &setup.seeds, state)?,
            // The stack has programs of its own.
            (false, false) => {
                let of_stack: Vec<u64> = stack.iter().map(|number| setup.seeds[*number]).collect();
                Training::resume_rows(device, rows, env.clone(), &of_stack, state)?
            }
            // An executor plays for all seeds.
            (false, true) => {
                let algorithm = setup.fitted().clone();
                let mut training = Training::resume(device, algorithm, env, &setup.seeds, State::new())?;
                training.restack((&setup.seeds, &stack), rows, state)?;
                training
            }
        };
        let of_waiting = stacks.iter().filter_map(|stack| stack.episodes.as_ref());
        for of_seed in episodes.iter().chain(of_waiting).flatten() {
            training.check_episodes(of_seed).map_err(host_episodes::refused)?;
        }
        if let Some(episodes) = episodes {
            training.restore_episodes(&episodes)?;
        }
        Ok(Session { parked: stacks, ..Session::of(device, (setup, trials), training, (seeds, stack), copies) })
    }

    /// Turns debug mode on or off. In it, the first gradient that is not finite is an error that names the operation
    /// where it began. Each iteration then copies the state first.
    pub fn set_debug(&mut self, debug: bool) {
        self.debug = debug;
    }

    /// Continues training from one snapshot per seed, of a built-in algorithm on a built-in environment.
    ///
    /// # Errors
    /// [`Error::Snapshot`] if the bytes are no snapshots of sessions that this version can read, or are of runs that
    /// differ in more than the seed; [`Error::Memory`] for more than fit.
    pub fn restore(device: &Device, snapshots: &[&[u8]]) -> Result<Session> {
        Session::restore_with(device, Own::default(), snapshots)
    }

    /// Continues training from one snapshot per seed, which may be of environments and algorithms in `own`.
    ///
    /// # Errors
    /// As [`Session::restore`].
    pub fn restore_with<'a>(device: &Device, own: impl Into<Own<'a>>, snapshots: &[&[u8]]) -> Result<Session> {
        let files: Vec<Saved<'_>> = snapshots.iter().map(|file| Saved::in_one_file(file)).collect();
        Session::restore_saved(device, own, &files)
    }

    /// Continues training from snapshots that may be in parts. Their segments are read one at a time.
    ///
    /// # Errors
    /// As [`Session::restore`], or the error of reading a segment.
    pub fn restore_saved<'a>(device: &Device, own: impl Into<Own<'a>>, snapshots: &[Saved<'_>]) -> Result<Session> {
        Session::restored(device, restored(device, &own.into(), snapshots, false)?)
    }

    /// Continues training from one snapshot per run, of runs that may differ in settings, too, as long as only numbers
    /// of their programs differ, such as γ or a learning rate: they become rows of one program, and each makes what it
    /// would make alone. Several may have the same seed.
    ///
    /// # Errors
    /// [`Error::Snapshot`] or [`Error::Program`] if they differ in more; as [`restore_saved`](Session::restore_saved).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn restore_trials<'a>(device: &Device, own: impl Into<Own<'a>>, snapshots: &[Saved<'_>]) -> Result<Session> {
        Session::restored(device, restored(device, &own.into(), snapshots, true)?)
    }

    /// The number of bytes that training takes on a device, even if the device has fewer.
    ///
    /// # Errors
    /// If what the setup asks for cannot be traced.
    pub fn memory(device: &Device, setup: &Setup) -> Result<u64> {
        let copies = if device.caps().is_cpu { setup.bytes_of_copies() } else { 0 };
        let (mut args, mut bytes) = (0, copies.saturating_add(setup.bytes_of_leaving()));
        for trace in setup.traces()? {
            let footprint = device.footprint(Arc::new(trace))?;
            // Stages share the state.
            args = footprint.args.max(args);
            bytes = footprint.own.saturating_add(bytes);
        }
        Ok(bytes.saturating_add(args))
    }

    /// The setup of the session: algorithm, environment, seeds and settings, which are those of the first seed if the
    /// runs differ in settings.
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The setup with the settings of seed number `index`, from 0.
    pub fn setup_of(&self, index: usize) -> &Setup {
        self.trials.of_seed(index)
    }

    /// The program of the next iteration: its operations, and the cost of running it so far.
    pub fn program(&self) -> &Program {
        self.training.program(self.iteration())
    }

    /// The number of iterations made by the seeds that are now trained.
    pub fn iteration(&self) -> u64 {
        self.stack.first().map_or(0, |seed| self.seeds[*seed].iteration)
    }

    /// The number of iterations to make, as they are planned. If episodes end early, more are made, unless the run is
    /// as long as [iterations](Length::Iterations) say.
    pub fn iterations(&self) -> u64 {
        self.setup.iterations(self.setup.steps)
    }

    /// The least number of environment steps that a seed has made.
    pub fn env_steps(&self) -> u64 {
        self.seeds.iter().map(|seed| seed.made).min().unwrap_or(0)
    }

    /// The number of environment steps that seed number `index`, from 0, has made; 0 if there is no such seed.
    pub fn steps_made(&self, index: usize) -> u64 {
        self.seeds.get(index).map_or(0, |seed| seed.made)
    }

    /// The number of iterations that seed number `index`, from 0, has made; 0 if there is no such seed.
    pub fn iterations_made(&self, index: usize) -> u64 {
        self.seeds.get(index).map_or(0, |seed| seed.iteration)
    }

    /// The number of environment steps to make per seed. If all iterations make what is planned, these are whole
    /// iterations, and may be more than was asked for; otherwise a seed ends with the iteration in which it makes what
    /// was asked for. In a run that is as long as [iterations](Length::Iterations) say,
    /// they are as many as these make on average so far.
    pub fn total_steps(&self) -> u64 {
        let sum = |of: &dyn Fn(&SeedProgress) -> u64| self.seeds.iter().map(of).fold(0, u64::saturating_add);
        let (done, made) = (sum(&|seed| seed.iteration), sum(&|seed| seed.made));
        match (self.setup.fitted().counts_steps(), self.setup.iterations) {
            (false, _) => self.setup.budget(),
            (true, None) => self.setup.steps,
            (true, Some(_)) if done == 0 => self.setup.steps,
            (true, Some(iterations)) => {
                u64::try_from(u128::from(made) * u128::from(iterations) / u128::from(done)).unwrap_or(u64::MAX)
            }
        }
    }

    /// True once each seed has made its steps.
    pub fn done(&self) -> bool {
        (0..self.seeds.len()).all(|index| self.is_done(index))
    }

    /// True if seed number `index`, from 0, continues from a snapshot of an earlier version, for which it was finished:
    /// that version ended runs by planned steps, and this seed has made fewer.
    pub fn goes_on_unlike_planned(&self, index: usize) -> bool {
        self.seeds.get(index).is_some_and(|seed| seed.ended_as_planned) && !self.is_done(index)
    }

    /// True if seed number `index`, from 0, continues from a snapshot of an earlier version with a memory from which
    /// hindsight learns wrong goals: where an episode ended by itself, that version kept the first observation of the
    /// next one in place of its own last one.
    pub fn has_wrong_goals(&self, index: usize) -> bool {
        self.seeds.get(index).is_some_and(|seed| seed.lacks_last_observations)
    }

    /// The progress of a seed, which its schedules follow.
    fn progress(&self, index: usize) -> Progress {
        let SeedProgress { iteration: iterations, made, .. } = self.seeds[index];
        // What is as long as iterations say is through by iterations too.
        let steps = self.setup.iterations.map_or(made, |_| self.setup.planned(iterations));
        Progress { iterations, steps, budget: self.setup.budget() }
    }

    /// Sets the number of environment steps to make per seed in all, for example to continue a finished run.
    ///
    /// Linear schedules end at the new number. A memory that is as large as the run grows with it.
    ///
    /// # Errors
    /// [`Error::Config`] for none or more than 10¹⁵, if a seed has made more already, or if a setting does not fit so
    /// many steps; [`Error::Memory`] if there is no room.
    pub fn set_steps(&mut self, steps: u64) -> Result<()> {
        self.set_length(Length::Steps(steps))
    }

    /// Sets the length of the run, as [`set_steps`](Session::set_steps) does: environment steps or iterations, in all.
    ///
    /// # Errors
    /// As [`set_steps`](Session::set_steps).
    pub fn set_length(&mut self, length: Length) -> Result<()> {
        let most = |of: &dyn Fn(&SeedProgress) -> u64| self.seeds.iter().map(of).max().unwrap_or(0);
        let made = most(&|seed| seed.made);
        let (key, done, asked) = match length {
            Length::Preset => return Ok(()),
            Length::Steps(steps) => ("steps", made, steps),
            Length::Iterations(iterations) => ("iterations", most(&|seed| seed.iteration), iterations),
        };
        if (1..done).contains(&asked) && length != self.setup.length() {
            return Err(Error::config(key, format!("{done} are made already, so {asked} in all cannot be")));
        }
        let (setup, trials) = (self.setup.for_length(length, made)?, self.trials.for_length(length, made)?);
        let entries = |setup: &Setup| setup.fitted().entries(setup.env.state_len());
        let new = entries(&setup);
        if new != entries(&self.setup) {
            let of = |stack: &Stack| resized(&self.device, &stack.state, &new, stack.seeds.len());
            let parked = self.parked.iter().map(of).collect::<Result<Vec<_>>>()?;
            self.training.resize(trials.algorithms(&self.stack))?;
            self.parked.iter_mut().zip(parked).for_each(|(stack, state)| stack.state = state);
            self._copies = room_for_copies(&self.device, &setup);
        }
        (self.setup, self.trials) = (setup, trials);
        Ok(())
    }

    /// Makes one iteration of the seeds that are now trained. Gives a row of metrics for each of
    /// [`running`](Session::running), in order. All seeds are trained until one of them has made its steps; then the
    /// others continue without it.
    ///
    /// # Errors
    /// [`Error::NonFinite`] if every update of a seed had a gradient that was not finite;
    /// [`Error::Interrupted`] if the device was asked to stop; or if the device fails. After the latter two,
    /// everything that was trained since the last snapshot is lost.
    pub async fn step(&mut self) -> Result<Vec<Row>> {
        self.expect_intact()?;
        self.take_turn().await?;
        let made = self.iteration();
        let at: Vec<Progress> = self.stack.iter().map(|index| self.progress(*index)).collect();
        let before = if self.debug { Some(self.training.state().copy(&self.device).await?) } else { None };
        // The state is torn until the iteration has ended.
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
        let planned = self.setup.planned(made + 1) - self.setup.planned(made);
        let mut rows = Vec::with_capacity(self.stack.len());
        let of_seeds = values.chunks(values.len() / self.stack.len());
        for (row, ((values, index), at)) in of_seeds.zip(&self.stack).zip(at).enumerate() {
            let (values, returns) = values.split_at(names.len().min(values.len()));
            let returns = CompensatedSum::read(returns);
            let of = |name: &str| names.iter().position(|known| known == name).map_or(0.0, |column| values[column]);
            let seed = &mut self.seeds[*index];
            seed.iteration += 1;
            seed.made += if fitted.counts_steps() { of(Metrics::STEPS) as u64 } else { planned };
            let [episodes, sum, lengths] = [Metrics::EPISODES, inner[0], inner[1]].map(of);
            let sum = if returns.is_empty() { sum } else { Finished::sum(&returns) };
            seed.finished.add([episodes, sum, lengths], &returns);
            let [ep_return, ep_len] = seed.finished.means();
            let mut of_seed: Row = Vec::with_capacity(names.len() + 8);
            let mut add = |name: &str, value: f64| of_seed.push((name.to_owned(), value));
            add("time/env_steps", seed.made as f64);
            add("time/iterations", seed.iteration as f64);
            add("rollout/ep_return_mean", ep_return);
            add("rollout/ep_len_mean", ep_len);
            if !returns.is_empty() {
                seed.finished.spread().into_iter().for_each(|(name, value)| add(name, value));
            }
            for name in all_names.iter().filter(|name| !inner.contains(&name.as_str())) {
                let column = names.iter().position(|known| known == name);
                let value = column.map(|column| values[column]).filter(|value| *value != Metrics::NONE);
                add(name, value.unwrap_or(f64::NAN));
            }
            for (name, value) in self.training.schedules(row, at) {
                add(name, value);
            }
            if of(Metrics::NON_FINITE) > 0.0 && of(Metrics::UPDATES) == 0.0 {
                return Err(Error::NonFinite(format!(
                    "no update of seed {} had a finite gradient; lower learning_rate, or look at the environment's \
                     rewards and observations",
                    self.setup.seeds[*index]
                )));
            }
            rows.push(of_seed);
        }
        Ok(rows)
    }

    /// Fails if the last iteration has not ended.
    fn expect_intact(&self) -> Result<()> {
        match self.torn {
            true => Err(Error::Program("the last iteration did not end; resume from the last snapshot".to_owned())),
            false => Ok(()),
        }
    }

    /// Fails if an update of the last iteration, which began with the state `before`, was dropped.
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

    /// The entries of all that training changes, for one seed.
    pub(in crate::train) fn entries(&self) -> Vec<StateEntry> {
        self.training.algorithm().entries(self.setup.env.state_len())
    }

    /// The segments that the snapshot named from which seed number `index`, from 0, was restored. The next snapshot in
    /// parts adds to them.
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

    /// The progress of a seed that is known to exist.
    pub(in crate::train) fn seed(&self, index: usize) -> &SeedProgress {
        &self.seeds[index]
    }

    /// θ of seed number `index`, from 0, as programs have it: the slices of its layout one after the other.
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

/// Checks that restored runs have made the planned steps, if their iterations count none.
fn expect_counted(setup: &Setup, seeds: &[SeedProgress]) -> Result<()> {
    let planned = |seed: &SeedProgress| setup.planned(seed.iteration);
    let counted = setup.fitted().counts_steps();
    match seeds.iter().find(|seed| !counted && seed.made != planned(seed)) {
        Some(seed) => {
            let (SeedProgress { iteration, made, .. }, planned) = (seed, planned(seed));
            Err(wrong(format!("{made} environment steps cannot be: {iteration} iterations make {planned}")))
        }
        None => Ok(()),
    }
}

/// Takes room for copies of the state on the host, if the device is a part of it.
fn room_for_copies(device: &Device, setup: &Setup) -> Lease {
    device.reserve(if device.caps().is_cpu {
        setup.bytes_of_copies().saturating_add(setup.bytes_of_leaving())
    } else {
        0
    })
}
