//! Training: an algorithm's iterations, one after the other.

use std::rc::Rc;
use std::sync::Arc;

use super::row_algorithms::RowAlgorithms;
use super::traced::{Traced, by_seed, trace, trace_all};
use super::{Algorithm, First, StateEntry, Together};
use crate::backend::reference::NonFinite;
use crate::backend::{LocalFuture, ScalarValue};
use crate::dist::fold_in;
use crate::env::EnvDef;
use crate::host::{EnvPlace, Fleet, FleetSize};
use crate::optim::Progress;
use crate::play::{FIRST, HostAct, Needed, Stage, group_keys, schedule_entry};
use crate::program::Trace;
use crate::rng::{key_from_seed, streams};
use crate::{Array, DType, Device, Error, Program, Result, State, Tensor};

/// Training of one or several stacked seeds, one iteration at a time.
///
/// With the same seeds, a built-in environment trains the same parameters on a device and on the host, as long as
/// random numbers have the same names: if every environment is a group of its own on the host, a stochastic environment
/// then draws different numbers.
#[derive(Debug)]
pub struct Training {
    device: Device,
    rows: RowAlgorithms,
    place: EnvPlace,
    /// The iterations by stage.
    traced: Vec<Traced>,
    /// The steps for which traces have room in each environment's whole episodes; none: all that there can be.
    room: Option<usize>,
    /// The room that the next iteration is to have.
    next_room: Option<usize>,
    stage: Stage,
    /// The state: all that training changes, each array with a leading axis of seeds.
    pub state: State,
}

impl Training {
    /// Begins training of one run per seed.
    ///
    /// # Errors
    /// If the executor cannot be made or does not fit, or the device lacks memory.
    pub fn new(
        device: &Device,
        algorithm: Rc<dyn Algorithm>,
        place: impl Into<EnvPlace>,
        seeds: &[u64],
    ) -> Result<Training> {
        let training = Training::resume(device, algorithm, place, seeds, State::new())?;
        let state = first_state(device, training.algorithm(), training.place.device().ok(), seeds)?;
        Ok(Training { state, ..training })
    }

    /// Continues training from a state with all [entries](Algorithm::entries), of runs with these seeds. On the host
    /// new episodes begin, because the state does not include those that were running.
    ///
    /// # Errors
    /// As [`new`](Training::new); iterations fail if an array is missing or of another shape.
    pub fn resume(
        device: &Device,
        algorithm: Rc<dyn Algorithm>,
        place: impl Into<EnvPlace>,
        seeds: &[u64],
        state: State,
    ) -> Result<Training> {
        Training::resume_rows(device, RowAlgorithms::same(algorithm, seeds.len()), place.into(), seeds, state)
    }

    /// As [`resume`](Training::resume), where each seed has its own algorithm: variants that differ in numbers.
    pub(crate) fn resume_rows(
        device: &Device,
        rows: RowAlgorithms,
        place: EnvPlace,
        seeds: &[u64],
        state: State,
    ) -> Result<Training> {
        rows.first().together().check(device.rank()[1], "algorithm")?;
        let fleet = own_fleet(device, &**rows.first(), seeds.len());
        let executor = place.executor(fleet)?;
        if let Some(executor) = &executor {
            expect_fleet(executor.fleet(), seeds.len(), fleet)?;
        }
        let room = (!rows.differ() && device.rank()[1] == 1).then_some(FIRST);
        let (traced, acts) = trace_all(device, &rows, &place, room)?;
        // Where room is limited, there is memory for all that there can be.
        let limited = acts.iter().flatten().any(HostAct::is_limited);
        if limited {
            for trace in Training::traces(&**rows.first(), place.clone(), seeds.len())? {
                device.compile(Arc::new(trace))?;
            }
        }
        let room = room.filter(|_| limited);
        let stage = Stage::new(device, executor, keys(device, &**rows.first(), seeds), acts);
        Ok(Training { device: device.clone(), rows, place, traced, room, next_room: room, stage, state })
    }

    /// Continues with the same algorithms for runs of another number of steps. Entries of the state that then have
    /// another length are cut off or extended with zeros.
    ///
    /// # Errors
    /// If the device lacks memory; then nothing has changed.
    pub(crate) fn resize(&mut self, rows: RowAlgorithms) -> Result<()> {
        let (traced, acts) = trace_all(&self.device, &rows, &self.place, self.room)?;
        let entries = rows.first().entries(self.place.state_len());
        self.state = resized(&self.device, &self.state, &entries, rows.rows())?;
        (self.traced, self.rows) = (traced, rows);
        self.stage.set_acts(acts);
        Ok(())
    }

    /// Continues with other seeds, which have these algorithms and this state. `numbers` are their numbers among all
    /// seeds with which training began.
    ///
    /// # Errors
    /// As [`resize`](Training::resize).
    pub(crate) fn restack(
        &mut self,
        (seeds, numbers): (&[u64], &[usize]),
        rows: RowAlgorithms,
        state: State,
    ) -> Result<()> {
        let of_stack: Vec<u64> = numbers.iter().map(|number| seeds[*number]).collect();
        self.stage.choose(keys(&self.device, &**rows.first(), &of_stack), numbers, seeds.len())?;
        let (traced, acts) = trace_all(&self.device, &rows, &self.place, self.room)?;
        (self.traced, self.rows, self.state) = (traced, rows, state);
        self.stage.set_acts(acts);
        Ok(())
    }

    /// Traces an iteration of each stage, without training. With environments of the host, a trace covers all programs
    /// of the iteration.
    ///
    /// # Errors
    /// If one cannot be traced.
    pub fn traces(algorithm: &dyn Algorithm, place: impl Into<EnvPlace>, seeds: usize) -> Result<Vec<Trace>> {
        let place = place.into();
        // Policies that act on the host have programs of their own, which are made on some device and dropped.
        let device = Device::cpu(1);
        let of_stage = |stage: usize| {
            Program::trace_of(|cx| {
                trace((cx, &device), algorithm, (stage, None), &place, (seeds, by_seed(algorithm, seeds)));
            })
        };
        (0..algorithm.stages().max(1)).map(of_stage).collect()
    }

    /// Traces an iteration of the last stage.
    ///
    /// # Errors
    /// As [`traces`](Training::traces).
    pub fn trace(algorithm: &dyn Algorithm, place: impl Into<EnvPlace>, seeds: usize) -> Result<Trace> {
        let last = Training::traces(algorithm, place, seeds)?.pop();
        last.ok_or_else(|| Error::Program("an algorithm has no stage".to_owned()))
    }

    /// The algorithm that is trained; that of the first row, where rows have variants of it.
    pub fn algorithm(&self) -> &dyn Algorithm {
        &**self.rows.first()
    }

    /// The state: all that training changes, each array with a leading axis of seeds.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The program of the iteration that follows `done` iterations; on the host, the one that learns from the last
    /// play.
    pub fn program(&self, done: u64) -> &Program {
        self.traced(done).segments.last()
    }

    fn traced(&self, done: u64) -> &Traced {
        &self.traced[self.algorithm().stage(done).min(self.traced.len() - 1)]
    }

    /// Steps that environments of the host have made.
    pub fn env_steps(&self) -> u64 {
        self.stage.env_steps()
    }

    /// The running episodes of each seed's environments on the host, as bytes; none if the environments cannot save
    /// them, or if iterations begin with new ones: where a seed's environments then are depends on the other seeds,
    /// whose episodes may take longer.
    pub(crate) async fn save_episodes(&self) -> Result<Option<Vec<Vec<u8>>>> {
        match self.state.get("obs").is_ok() {
            true => self.stage.save().await,
            false => Ok(None),
        }
    }

    /// Continues saved episodes of the host, given per seed.
    pub(crate) fn restore_episodes(&mut self, seeds: &[Vec<u8>]) -> Result<()> {
        self.stage.set_saved(seeds)
    }

    /// Checks saved episodes of one seed, as far as the executor can without going back to them.
    pub(crate) fn check_episodes(&self, seed: &[u8]) -> Result<()> {
        self.stage.check_saved(seed)
    }

    /// True if the next iteration begins new episodes on the host although it would otherwise continue running ones.
    pub(crate) fn begins_anew(&self) -> bool {
        self.state.get("obs").is_ok() && self.stage.begins()
    }

    /// Names of the metrics of the iteration that follows `done` iterations: columns of [`step`](Training::step)'s
    /// result.
    pub fn metric_names(&self, done: u64) -> &[String] {
        &self.traced(done).names
    }

    /// Names of the metrics of all stages, those of the last stage first.
    pub fn all_metric_names(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for name in self.traced.iter().rev().flat_map(|traced| &traced.names) {
            if !all.contains(name) {
                all.push(name.clone());
            }
        }
        all
    }

    /// Values that follow a schedule in the next iteration of the run in this row, by name.
    pub(crate) fn schedules(&self, row: usize, at: Progress) -> Vec<(&'static str, f64)> {
        self.rows.variants[self.rows.of_rows[row]].schedules(at)
    }

    /// Scalars of the iteration that follows `done` iterations, the same for all seeds.
    fn scalars(&self, done: u64, first: Progress) -> Vec<(&'static str, ScalarValue)> {
        let number = ("iteration", ScalarValue::U32((done + 1) as u32));
        std::iter::once(number).chain(self.algorithm().scalars(first)).collect()
    }

    /// Writes each row's numbers to the state: those by which its algorithm differs from others, and its values of
    /// schedules, where seeds may have reached different points of their runs.
    fn give_numbers(&self, state: &mut State, done: u64, at: &[Progress]) -> Result<()> {
        if let Some(numbers) = &self.traced(done).numbers {
            let arrays = numbers.arrays(&self.device, &self.rows.of_rows, &self.rows.scalars(at))?;
            arrays.into_iter().for_each(|(name, array)| state.insert(name, array));
            return Ok(());
        }
        if !by_seed(self.algorithm(), at.len()) {
            return Ok(());
        }
        let of_seeds = self.rows.scalars(at);
        for (number, (name, _)) in of_seeds[0].iter().enumerate() {
            let value = |scalars: &Vec<(&str, ScalarValue)>| match scalars[number].1 {
                ScalarValue::F32(value) => value as f32,
                ScalarValue::U32(value) => value as f32,
            };
            let values: Vec<f32> = of_seeds.iter().map(value).collect();
            state.insert(schedule_entry(name), self.device.array_f32(&[at.len(), 1], &values)?);
        }
        Ok(())
    }

    /// Makes the iteration that follows `done` of `total` iterations, where all seeds have made the steps that were
    /// planned, as [`step_at`](Training::step_at) does.
    ///
    /// # Errors
    /// As [`step_at`](Training::step_at).
    pub fn step(&mut self, done: u64, total: u64) -> LocalFuture<'_, Result<Array>> {
        let seeds = self.state.get("key").map_or(1, |key| key.shape[0]);
        let at = vec![self.algorithm().as_planned(done, total); seeds];
        self.step_at(done, at)
    }

    /// Makes the iteration that follows `done` iterations, where `at` is the progress of each seed's run. The result is
    /// `[S, C + E]`, still on the device: metrics of the C names, then the [returns](crate::learn::Metrics::returns) of
    /// E episodes.
    ///
    /// It is ready at once where everything happens on the device; environments of the host may take their time.
    ///
    /// # Errors
    /// If the device or an environment fails.
    pub fn step_at(&mut self, done: u64, at: Vec<Progress>) -> LocalFuture<'_, Result<Array>> {
        Box::pin(async move {
            let scalars = self.scalars(done, at.first().copied().unwrap_or_default());
            let mut state = std::mem::take(&mut self.state);
            let given = self.give_numbers(&mut state, done, &at);
            self.state = state;
            given?;
            self.stage.iteration = (done + 1) as u32;
            self.stage.resume().await?;
            if self.state.get("obs").is_ok()
                && let Some(first) = self.stage.begin().await?
            {
                let entries = self.rows.first().entries(None);
                begin_episodes(&mut self.state, first, &entries, &self.device)?;
            }
            let stage = self.algorithm().stage(done).min(self.traced.len() - 1);
            self.stage.of = stage;
            self.give_room()?;
            loop {
                let outputs = self.traced[stage].segments.run(&self.state, &scalars, &mut self.stage).await;
                let needed = self.stage.take_needed();
                self.next_room = self.room.map(|room| needed.next_room(room));
                if let Needed::Steps(_) = needed {
                    return outputs?.get("metrics").cloned();
                }
                self.give_room()?;
            }
        })
    }

    /// Gives whole episodes room for all steps that there can be, from the next iteration on.
    #[cfg(test)]
    pub(crate) fn give_all_room(&mut self) {
        self.next_room = None;
    }

    /// The steps for which whole episodes have room; none: all that there can be.
    #[cfg(test)]
    pub(crate) fn room(&self) -> Option<usize> {
        self.room
    }

    /// Traces iterations anew if they are to have other room.
    fn give_room(&mut self) -> Result<()> {
        if self.next_room != self.room {
            let (traced, acts) = trace_all(&self.device, &self.rows, &self.place, self.next_room)?;
            (self.traced, self.room) = (traced, self.next_room);
            self.stage.set_acts(acts);
        }
        Ok(())
    }

    /// Finds the first operation that gave a NaN or an infinity, by making the iteration again from a copy of the state
    /// before it. Steps that environments of the host made in the last iteration are not repeated.
    pub fn first_non_finite<'a>(
        &'a self,
        before: &'a State,
        done: u64,
        at: &'a [Progress],
    ) -> LocalFuture<'a, Result<Option<NonFinite>>> {
        let segments = &self.traced(done).segments;
        Box::pin(async move {
            let mut before = before.clone();
            self.give_numbers(&mut before, done, at)?;
            let scalars = self.scalars(done, at.first().copied().unwrap_or_default());
            segments.first_non_finite(&before, &scalars).await
        })
    }
}

/// The key of each seed. Ranks that play rows of their own have keys of their own; rank 0 has those of one alone.
fn keys(device: &Device, algorithm: &dyn Algorithm, seeds: &[u64]) -> Vec<[u32; 2]> {
    let [rank, _] = device.rank();
    let of_rank = |key: [u32; 2]| match rank > 0 && algorithm.together() == Together::Gradients {
        true => crate::rng::fold_in(crate::rng::fold_in(key, streams::RANK), rank as u32),
        false => key,
    };
    seeds.iter().map(|seed| of_rank(key_from_seed(*seed))).collect()
}

/// The environments that a rank plays for so many seeds.
fn own_fleet(device: &Device, algorithm: &dyn Algorithm, seeds: usize) -> FleetSize {
    let ([_, ranks], fleet) = (device.rank(), algorithm.fleet(seeds));
    match algorithm.together() {
        Together::Candidates => FleetSize { tasks: (fleet.tasks / seeds).div_ceil(ranks) * seeds, ..fleet },
        Together::Gradients | Together::No(_) => fleet,
    }
}

/// Makes the state before training.
fn first_state(device: &Device, algorithm: &dyn Algorithm, env: Option<&EnvDef>, seeds: &[u64]) -> Result<State> {
    let entries = algorithm.entries(env.map(EnvDef::state_len));
    let keys: Vec<[u32; 2]> = seeds.iter().map(|seed| key_from_seed(*seed)).collect();
    let mut state = State::new();
    for entry in &entries {
        let StateEntry { name, shape, first, .. } = entry;
        let shape = [&[seeds.len()], &shape[..]].concat();
        let array = match first {
            First::Key => device.array_u32(&shape, self::keys(device, algorithm, seeds).as_flattened()),
            First::Parameters(0) if shape[1..] == [algorithm.layout().len()] => algorithm.layout().first(device, seeds),
            First::Parameters(from) => {
                let all = keys.iter().flat_map(|key| {
                    algorithm.layout().init(*key).into_iter().skip(*from).take(shape[1..].iter().product())
                });
                device.array(&shape, &all.collect::<Vec<_>>())
            }
            First::Value(_) | First::Task | First::EnvState | First::Observation => alike(device, &shape, entry),
        };
        state.insert(*name, array?);
    }
    let of = |first: First| entries.iter().find(|entry| entry.first == first);
    if let (Some(env), Some(states), Some(obs)) = (env, of(First::EnvState), of(First::Observation)) {
        let mut reset = Program::new(device, |cx| {
            let key = cx.input("key", &[seeds.len(), 2], DType::U32);
            let words = [key.slice(1, 0, 1), key.slice(1, 1, 2)];
            let groups = algorithm.fleet(1).tasks;
            let words = group_keys(words, groups);
            let key = fold_in(fold_in(words, Tensor::constant_u32(streams::ENV)), Tensor::constant_u32(0));
            let element = Tensor::iota(&[seeds.len() * groups, states.shape[0] / groups], 1);
            let of_seeds = |x: Tensor, entry: &StateEntry| x.reshape(&[&[seeds.len()], &entry.shape[..]].concat());
            let tasks = of(First::Task).map(|entry| {
                let tasks = env.trace_tasks(fold_in(key, Tensor::constant_u32(streams::TASK)), element);
                cx.output(entry.name, of_seeds(tasks, entry));
                tasks
            });
            let first = env.trace_reset(key, element, tasks);
            cx.output(states.name, of_seeds(first.state, states));
            cx.output(obs.name, of_seeds(first.observation, obs));
        })?;
        let first = reset.run(&State::new(), &[("key", state.get("key")?)], &[])?;
        for (name, array) in first.iter() {
            let entry = entries.iter().find(|entry| entry.name == name);
            state.insert(entry.map_or("", |entry| entry.name), array.clone());
        }
    }
    Ok(state)
}

/// Makes a state of this number of seeds whose arrays have the lengths of `entries`, cut off or extended with zeros.
pub(crate) fn resized(device: &Device, state: &State, entries: &[StateEntry], seeds: usize) -> Result<State> {
    let mut resized = state.clone();
    for entry in entries {
        let (array, shape) = (state.get(entry.name)?, [&[seeds], &entry.shape[..]].concat());
        if array.shape != shape {
            resized.insert(entry.name, with_rows(device, array, &shape)?);
        }
    }
    Ok(resized)
}

/// The first rows of an array `[S, R, …]`, with zeros behind them if it has fewer than `shape` asks for.
fn with_rows(device: &Device, array: &Array, shape: &[usize]) -> Result<Array> {
    let mut program = Program::new(device, |cx| {
        let old = cx.input("old", &array.shape, array.dtype());
        let kept = old.slice(1, 0, array.shape[1].min(shape[1]));
        let mut more = shape.to_vec();
        more[1] -= kept.size(1);
        let zero = match array.dtype() {
            DType::F32 => Tensor::constant_f32(0.0),
            DType::U32 => Tensor::constant_u32(0),
        };
        cx.output("new", if more[1] == 0 { kept } else { Tensor::concat(&[kept, zero.broadcast_to(&more)], 1) });
    })?;
    program.run(&State::new(), &[("old", array)], &[])?.get("new").cloned()
}

/// Resets the entries that belong to an episode, after new episodes began on the host with these observations.
fn begin_episodes(state: &mut State, first: Array, entries: &[StateEntry], device: &Device) -> Result<()> {
    state.insert("obs", first);
    for entry in entries.iter().filter(|entry| entry.of_episode) {
        let shape = state.get(entry.name)?.shape.clone();
        state.insert(entry.name, alike(device, &shape, entry)?);
    }
    Ok(())
}

/// An array with the entry's first value everywhere.
fn alike(device: &Device, shape: &[usize], entry: &StateEntry) -> Result<Array> {
    match entry.first {
        First::Value(value) if value != 0.0 => device.array(shape, &vec![value; shape.iter().product()]),
        _ => device.zeros(shape, entry.dtype),
    }
}

/// Checks that an executor has the environments that these seeds need.
fn expect_fleet(fleet: &Fleet, seeds: usize, want: FleetSize) -> Result<()> {
    let got = fleet.size();
    if got == want {
        return Ok(());
    }
    let FleetSize { tasks, envs_per_task, horizon } = want;
    let problem = format!(
        "the executor plays {got}; {seeds} seeds with these settings need {tasks}, {envs_per_task} and {horizon}"
    );
    Err(Error::config("executor", problem))
}
