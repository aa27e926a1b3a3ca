//! Sessions from snapshots.

use super::seed_progress::SeedProgress;
use super::trials::Trials;
use crate::algo::{AlgorithmDef, StateEntry};
use crate::backend::room;
use crate::train::saved::end_rule::EndRule;
use crate::train::saved::finished;
use crate::train::saved::host_episodes;
use crate::train::saved::rank_files;
use crate::train::saved::rules::RunLength;
use crate::train::saved::seed_array;
use crate::train::saved::seed_array::SeedArray;
use crate::train::saved::segments::Ring;
use crate::train::saved::snapshot::{self, Decoded, Header, SnapshotKind};
use crate::train::saved::tensors;
use crate::train::saved::wrong::wrong;
use crate::train::saved::{self, Saved, ring_of};
use crate::train::setup::Setup;
use crate::train::setup::length::Length;
use crate::train::setup::own::Own;
use crate::{Array, DType, Device, Result, State};

/// Seeds that are not trained now, with arrays of their own.
#[derive(Debug)]
pub(in crate::train) struct Stack {
    /// The seeds' numbers, in order of the arrays' rows.
    pub seeds: Vec<usize>,
    /// The seeds' arrays.
    pub state: State,
    /// The running episodes of each seed's environments on the host, if they were saved.
    pub episodes: Option<Vec<Vec<u8>>>,
}

/// The content of the snapshots of a session.
pub(in crate::train) struct Restored {
    pub setup: Setup,
    /// The setups of the seeds.
    pub trials: Trials,
    /// The progress of each seed.
    pub seeds: Vec<SeedProgress>,
    /// Stacks of seeds with the same number of iterations, with their arrays; at least one.
    pub stacks: Vec<Stack>,
}

/// Reads snapshots, one per run, of runs that differ only in the seed; with `trials` in settings, too.
pub(in crate::train) fn restored(
    device: &Device,
    own: &Own<'_>,
    snapshots: &[Saved<'_>],
    trials: bool,
) -> Result<Restored> {
    let own_files: Vec<Option<Vec<u8>>> =
        snapshots.iter().map(|saved| rank_files::of_rank(device, saved.file, own.algorithms)).collect::<Result<_>>()?;
    let own_snapshots: Vec<Saved<'_>> = snapshots
        .iter()
        .zip(&own_files)
        .map(|(saved, own)| own.as_ref().map_or(*saved, |file| Saved::in_one_file(file)))
        .collect();
    let snapshots = &own_snapshots[..];
    let decoded: Vec<Decoded<'_>> =
        snapshots.iter().map(|saved| snapshot::decode(saved.file, own.algorithms)).collect::<Result<_>>()?;
    let Some((first, algorithm, _)) = decoded.first() else {
        return Err(wrong("no snapshot was given"));
    };
    decoded.iter().try_for_each(|(header, ..)| check_alike(header, first, trials))?;
    let (setup, trials) = setups(&decoded.iter().map(|(header, ..)| header).collect::<Vec<_>>(), algorithm, own)?;
    decoded.iter().try_for_each(|(header, ..)| check_state(header, &setup))?;
    rank_files::check(device, first, setup.fitted().together())?;
    let fitted = setup.fitted();
    let mut seeds = Vec::with_capacity(decoded.len());
    for (header, _, tensors) in &decoded {
        let (iteration, made) = (header.iteration, snapshot::steps_made(header, &**fitted)?);
        seeds.push(SeedProgress {
            iteration,
            made,
            finished: finished::read(tensors, setup.env.spec().horizon, iteration)?,
            segments: header.rings.clone(),
            lacks_last_observations: header.lacks_last_observations() && fitted.reads_last_observations(),
            ended_as_planned: header.budget == EndRule::Planned && iteration >= setup.iterations(header.steps),
        });
    }
    let rings = fitted.entries(setup.env.state_len()).into_iter().filter(|entry| entry.ring.is_some());
    let rings: Vec<StateEntry> = rings.collect();
    // The bytes are the words of all entries but rings, once by seed and once stacked, and the part of a ring that is
    // read at once.
    let elsewhere = |name: &str| rings.iter().any(|ring| seed_array::name(ring.name) == name);
    let tensors = decoded.iter().flat_map(|(.., tensors)| tensors).filter(|tensor| !elsewhere(&tensor.name));
    let bytes = tensors.map(|tensor| 2 * tensor.bytes.len() as u64).sum::<u64>();
    let at_once = rings.iter().map(|ring| 2 * Ring::bytes_at_once(&ring.shape)).max().unwrap_or(0);
    let _copies = device.take_on_host(bytes.saturating_add(at_once))?;
    // Waiting seeds are trained after those that have made fewer iterations.
    let mut iterations: Vec<u64> = seeds.iter().map(|seed| seed.iteration).collect();
    iterations.sort_unstable();
    iterations.dedup();
    let mut stacks = Vec::with_capacity(iterations.len());
    for iteration in iterations {
        let of_stack = (0..seeds.len()).filter(|index| seeds[*index].iteration == iteration).collect();
        stacks.push(stack(device, &setup, of_stack, &seeds, (snapshots, &decoded))?);
    }
    Ok(Restored { setup, trials, seeds, stacks })
}

/// The setup of all seeds, and those of each setting.
fn setups(headers: &[&Header], def: &'static AlgorithmDef, own: &Own<'_>) -> Result<(Setup, Trials)> {
    let mut groups: Vec<Vec<&Header>> = Vec::new();
    let mut of_seeds = Vec::with_capacity(headers.len());
    for header in headers {
        let group = groups.iter().position(|group| group[0].config == header.config).unwrap_or(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(header);
        of_seeds.push(group);
    }
    let setups: Vec<Setup> = groups.iter().map(|group| saved::setup(group, def, own)).collect::<Result<_>>()?;
    let mut all = setups[0].clone();
    all.seeds = headers.iter().map(|header| header.seed).collect();
    Ok((all, Trials::of(setups, of_seeds)?))
}

/// Stacks the arrays of some of the seeds.
fn stack(
    device: &Device,
    setup: &Setup,
    of_stack: Vec<usize>,
    seeds: &[SeedProgress],
    (snapshots, decoded): (&[Saved<'_>], &[Decoded<'_>]),
) -> Result<Stack> {
    let layout = setup.fitted().layout();
    let (rings, entries): (Vec<StateEntry>, Vec<StateEntry>) =
        setup.fitted().entries(setup.env.state_len()).into_iter().partition(|entry| entry.ring.is_some());
    let mut arrays = Vec::with_capacity(of_stack.len());
    for index in &of_stack {
        let ((header, _, tensors), SeedProgress { iteration, made, .. }) = (&decoded[*index], &seeds[*index]);
        saved::check_rings(header, tensors, &rings)?;
        let made = RunLength { iteration: *iteration, made: *made / setup.sharers() };
        arrays.push(tensors::read(tensors, header.format, &entries, layout, made)?);
    }
    let mut state = State::new();
    for ring in &rings {
        let array = device.zeros(&[&[of_stack.len()], &ring.shape[..]].concat(), ring.dtype)?;
        for (row, index) in of_stack.iter().enumerate() {
            // Each step adds a row.
            let added = seeds[*index].made / setup.sharers();
            check_next(&arrays[row], ring, added)?;
            fill(device, (&array, row), ring, added, (&snapshots[*index], &decoded[*index]))?;
        }
        state.insert(ring.name, array);
    }
    for (i, entry) in entries.iter().enumerate() {
        let shape = [&[of_stack.len()], &entry.shape[..]].concat();
        let mut words: Vec<u32> = room(shape.iter().product())?;
        for of_seed in &mut arrays {
            words.extend_from_slice(&std::mem::take(&mut of_seed[i].words));
        }
        let array = match entry.dtype {
            DType::U32 => device.array_u32(&shape, &words)?,
            DType::F32 => device.array_f32(&shape, bytemuck::cast_slice(&words))?,
        };
        state.insert(entry.name, array);
    }
    let episodes = of_stack.iter().map(|index| host_episodes::read(&decoded[*index].2, setup));
    // If those of one are not there, all begin new ones.
    let episodes = episodes.collect::<Result<Vec<_>>>()?.into_iter().collect();
    Ok(Stack { seeds: of_stack, state, episodes })
}

/// The snapshots that can continue as one session, by their numbers: those of runs that differ only in the seed and
/// have made the same number of iterations. If a stack ended while it was saved, some of its seeds may be one snapshot
/// ahead. A file that cannot be read stands alone.
pub fn stacks<'a>(own: impl Into<Own<'a>>, files: &[&[u8]]) -> Vec<Vec<usize>> {
    stacks_of(own.into(), files, false)
}

/// As [`stacks`], of runs that may differ in settings, too: as far as their headers tell,
/// [`Session::restore_trials`](super::Session::restore_trials) can continue them as one session.
#[cfg(not(target_arch = "wasm32"))]
pub fn trial_stacks<'a>(own: impl Into<Own<'a>>, files: &[&[u8]]) -> Vec<Vec<usize>> {
    stacks_of(own.into(), files, true)
}

fn stacks_of(own: Own<'_>, files: &[&[u8]], trials: bool) -> Vec<Vec<usize>> {
    let mut stacks: Vec<(Header, Vec<TrialRun>, Vec<usize>)> = Vec::new();
    let mut alone = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let Ok((header, ..)) = snapshot::decode(file, own.algorithms) else {
            alone.push(vec![number]);
            continue;
        };
        let run = (header.seed, header.config.clone());
        let fits = |(first, runs, _): &&mut (Header, Vec<TrialRun>, Vec<usize>)| {
            check_alike(&header, first, trials).is_ok() && header.iteration == first.iteration && !runs.contains(&run)
        };
        match stacks.iter_mut().find(fits) {
            Some((_, runs, numbers)) => {
                runs.push(run);
                numbers.push(number);
            }
            None => stacks.push((header.clone(), vec![run], vec![number])),
        }
    }
    let mut all: Vec<Vec<usize>> = stacks.into_iter().map(|(.., numbers)| numbers).chain(alone).collect();
    all.sort_unstable();
    all
}

/// How far the run of a session's snapshot had come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotProgress {
    /// Environment steps made. They are not known of files of old versions, which counted iterations alone, or ended
    /// runs by another rule.
    pub steps: Option<u64>,
    /// Iterations made.
    pub iterations: u64,
    /// The length of the whole run.
    pub length: Length,
}

impl SnapshotProgress {
    /// Tells whether all is made of a run of this length; none if it is not known.
    #[must_use]
    pub fn has_made(&self, length: Length) -> Option<bool> {
        match length {
            Length::Preset => Some(true),
            Length::Steps(steps) => Some(self.steps? >= steps),
            Length::Iterations(iterations) => Some(self.iterations >= iterations),
        }
    }
}

/// How far the run of a session's snapshot had come.
///
/// # Errors
/// As [`Session::restore`](super::Session::restore).
pub fn snapshot_progress<'a>(own: impl Into<Own<'a>>, file: &[u8]) -> Result<SnapshotProgress> {
    let (header, ..) = snapshot::decode(file, own.into().algorithms)?;
    let length = header.budget.length(header.steps);
    Ok(SnapshotProgress { steps: header.counted(), iterations: header.iteration, length })
}

/// The seed and the settings of a run.
type TrialRun = (u64, toml::Table);

/// Checks that a snapshot can be stacked with the first one; with `trials`, settings may differ.
fn check_alike(header: &Header, first: &Header, trials: bool) -> Result<()> {
    if header.kind != SnapshotKind::Session {
        return Err(wrong("it holds a policy only, not the state that training goes on from"));
    }
    let same = header.algorithm == first.algorithm
        && header.env == first.env
        && header.steps == first.steps
        && header.ends_by_iterations() == first.ends_by_iterations()
        && header.ranks == first.ranks
        && (trials || header.config == first.config);
    if !same {
        return Err(wrong("the runs differ in more than the seed; resume them one by one"));
    }
    Ok(())
}

/// Checks that the numbers of an environment's state are those that the environment still has, in the same order. Files
/// of older versions do not name them.
fn check_state(header: &Header, setup: &Setup) -> Result<()> {
    let now = setup.env.state_names();
    if header.state.is_empty() || header.state == now {
        return Ok(());
    }
    let at = header.state.iter().zip(&now).position(|(then, now)| then != now);
    let env = &header.env;
    Err(wrong(match at {
        Some(at) => format!(
            "number {at} of a state of `{env}` was `{}`, and is `{}` now: the environment was changed; resume with its \
             earlier version, or begin a new run",
            header.state[at], now[at]
        ),
        None => format!("a state of `{env}` had {} numbers, and has {} now", header.state.len(), now.len()),
    }))
}

/// Checks that the next row of a ring is the one that follows `added` rows.
fn check_next(arrays: &[SeedArray<'_>], ring: &StateEntry, added: u64) -> Result<()> {
    let next = arrays.iter().find(|array| Some(array.entry.name) == ring.ring);
    let found = next.and_then(|next| next.words.first()).copied().unwrap_or(0);
    let expected = Ring::next(ring.shape.first().copied().unwrap_or(0), added);
    if u64::from(found) == expected {
        return Ok(());
    }
    let name = seed_array::name(ring.ring.unwrap_or_default());
    Err(wrong(format!("the tensor `{name}` holds {found}, and after {added} rows it is {expected}")))
}

/// Fills a seed's part of a stacked ring from the file's tensor or its segments, without a copy of it.
fn fill(
    device: &Device,
    (array, seed): (&Array, usize),
    entry: &StateEntry,
    added: u64,
    (saved, (header, _, tensors)): (&Saved<'_>, &Decoded<'_>),
) -> Result<()> {
    /// The count of numbers that are written at once.
    const SOME: usize = 1 << 16;
    let before = seed * entry.shape.iter().product::<usize>();
    if let Some(ring) = ring_of(header, entry) {
        let mut put = |first: usize, words: &[u32]| device.write_part(array, before + first, words);
        return saved.read_ring(ring, entry, added, &mut put);
    }
    let mut first = before;
    for bytes in tensors::tensor(tensors, entry)?.bytes.chunks(4 * SOME) {
        let words: Vec<u32> = bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        device.write_part(array, first, &words)?;
        first += words.len();
    }
    Ok(())
}
