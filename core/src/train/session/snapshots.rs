//! Snapshots of a session's seeds: whole, or in parts that cost only what is new.

use std::collections::VecDeque;

use super::seed_progress::SeedProgress;
use crate::algo::StateEntry;
use crate::nn::Layout;
use crate::train::saved::end_rule::EndRule;
use crate::train::saved::finished;
use crate::train::saved::host_episodes;
use crate::train::saved::rank_files;
use crate::train::saved::rules::{self, RunLength};
use crate::train::saved::seed_array;
use crate::train::saved::seed_array::SeedArray;
use crate::train::saved::segments::{Ring, Stretch};
use crate::train::saved::snapshot::{self, Header, SnapshotKind};
use crate::train::saved::tensors;
use crate::train::session::Session;
use crate::{DType, Error, Result};

/// A copy of the state of a session's seeds, from which snapshots are made one by one. Small entries are copied to the
/// host at once, and bulk entries are read seed by seed.
#[derive(Debug)]
pub struct Snapshots<'a> {
    session: &'a Session,
    kind: SnapshotKind,
    entries: Vec<StateEntry>,
    stacks: Vec<StackCopy>,
    layout: Layout,
}

/// The copy of a stack's arrays.
#[derive(Debug)]
struct StackCopy {
    /// The numbers of its seeds, in order of the rows.
    seeds: Vec<usize>,
    /// The words of each entry, over all seeds; none for bulk entries.
    words: Vec<Vec<u32>>,
    /// The running episodes of each seed's environments on the host, if they can be saved.
    episodes: Option<Vec<Vec<u8>>>,
}

impl Session {
    /// Makes the snapshot of seed number `index`, from 0, with everything needed to continue it, alone or stacked. The
    /// same training gives the same bytes.
    ///
    /// # Errors
    /// If there is no such seed or the device fails.
    pub async fn snapshot(&self, index: usize) -> Result<Vec<u8>> {
        self.snapshots_of(&[index]).await?.encode(index).await
    }

    /// Copies the state for snapshots of all seeds, whole or in parts.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn snapshots(&self) -> Result<Snapshots<'_>> {
        self.snapshots_of(&(0..self.seeds.len()).collect::<Vec<_>>()).await
    }

    /// Copies the state for snapshots of the seeds of these numbers, from 0, whole or in parts.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn snapshots_of(&self, seeds: &[usize]) -> Result<Snapshots<'_>> {
        self.expect_intact()?;
        Snapshots::of(self, SnapshotKind::Session, self.entries(), seeds).await
    }

    /// Makes the policy's snapshot of seed number `index`, from 0: parameters, normalisers and configuration, which
    /// [`Evaluator`](crate::train::Evaluator) needs.
    ///
    /// # Errors
    /// If there is no such seed or the device fails.
    pub async fn policy_snapshot(&self, index: usize) -> Result<Vec<u8>> {
        self.policy_snapshots_of(&[index]).await?.encode(index).await
    }

    /// Copies the policies of all seeds, which are read from the device once.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn policy_snapshots(&self) -> Result<Snapshots<'_>> {
        self.policy_snapshots_of(&(0..self.seeds.len()).collect::<Vec<_>>()).await
    }

    /// Copies the policies of the seeds of these numbers, from 0, which are read from the device once.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn policy_snapshots_of(&self, seeds: &[usize]) -> Result<Snapshots<'_>> {
        self.expect_intact()?;
        Snapshots::of(self, SnapshotKind::Policy, self.setup.fitted().policy_state(), seeds).await
    }
}

impl<'a> Snapshots<'a> {
    /// Copies the state of the seeds of these numbers, and of the seeds that are stacked with them.
    pub(in crate::train) async fn of(
        session: &'a Session,
        kind: SnapshotKind,
        entries: Vec<StateEntry>,
        seeds: &[usize],
    ) -> Result<Self> {
        let mut stacks = Vec::new();
        for (stack, state) in session.stacks().filter(|(stack, _)| stack.iter().any(|seed| seeds.contains(seed))) {
            let mut words = Vec::with_capacity(entries.len());
            for entry in &entries {
                let array = state.get(entry.name)?;
                words.push(match entry.bulk {
                    true => Vec::new(),
                    false => session.device().read_part(array, 0..array.len()).await?,
                });
            }
            let episodes = match kind {
                SnapshotKind::Session => session.episodes_of(stack).await?,
                SnapshotKind::Policy => None,
            };
            stacks.push(StackCopy { seeds: stack.to_vec(), words, episodes });
        }
        Ok(Snapshots { session, kind, entries, stacks, layout: session.layout().clone() })
    }

    /// The copied words of each entry, of one seed.
    fn words_of(&self, index: usize) -> Result<Vec<&[u32]>> {
        let place = |stack: &'_ StackCopy| stack.seeds.iter().position(|seed| *seed == index);
        let found = self.stacks.iter().find_map(|stack| Some((stack, place(stack)?)));
        let Some((stack, row)) = found else { return Err(self.session.no_seed(index)) };
        let part = |words: &'_ Vec<u32>| {
            row * (words.len() / stack.seeds.len())..(row + 1) * (words.len() / stack.seeds.len())
        };
        Ok(stack.words.iter().map(|words| &words[part(words)]).collect())
    }

    /// The running episodes of a seed's environments on the host, as bytes.
    fn episodes(&self, index: usize) -> Option<Vec<u8>> {
        let row = |stack: &StackCopy| stack.seeds.iter().position(|seed| *seed == index);
        let (stack, row) = self.stacks.iter().find_map(|stack| Some((stack, row(stack)?)))?;
        stack.episodes.as_ref()?.get(row).cloned()
    }

    /// Makes the whole snapshot of seed number `index`, from 0.
    ///
    /// # Errors
    /// If there is no such seed, or the device fails; [`Error::Memory`] if there is no room for it.
    pub async fn encode(&self, index: usize) -> Result<Vec<u8>> {
        let own = self.file(index, Vec::new()).await?;
        match self.kind {
            SnapshotKind::Session if self.session.setup().sharers() > 1 => {
                rank_files::joined(self.session.device(), self.session.setup().algorithm, own)
            }
            _ => Ok(own),
        }
    }

    /// Makes a snapshot in parts of seed number `index`, from 0: the rows of its replay buffer that are new since
    /// `saved`, the segments of the previous snapshot, or none; and a small file, which is valid once these rows are
    /// kept.
    ///
    /// # Errors
    /// If there is no such seed, or the segments are not its own.
    pub fn parts(&self, index: usize, saved: &[Ring]) -> Result<SnapshotParts<'_>> {
        let (mut rings, mut stretches) = (Vec::new(), VecDeque::new());
        if self.session.setup().sharers() > 1 {
            // The file holds the memories of all ranks.
            return Ok(SnapshotParts { of: self, index, rings, stretches });
        }
        let added = self.session.steps_made(index) / self.session.setup().sharers();
        for (entry, next) in self.rings() {
            self.check_next(index, (entry, next), added)?;
            let tensor = seed_array::name(entry.name);
            let new = || Ring::new(tensor.to_owned(), &entry.shape);
            let mut ring = saved.iter().find(|ring| ring.tensor == tensor).cloned().unwrap_or_else(new);
            let place = rings.len();
            stretches.extend(ring.advance(&entry.shape, added)?.into_iter().map(|stretch| (place, stretch)));
            rings.push(ring);
        }
        Ok(SnapshotParts { of: self, index, rings, stretches })
    }

    /// The entries that are rings, with the names of the entries that say which row is next.
    fn rings(&self) -> impl Iterator<Item = (&StateEntry, &'static str)> {
        self.entries.iter().filter_map(|entry| Some((entry, entry.ring?)))
    }

    /// Checks that a ring has a row for each step made.
    fn check_next(&self, index: usize, (entry, next): (&StateEntry, &str), added: u64) -> Result<()> {
        let words = self.words_of(index)?;
        let found = self.entries.iter().position(|entry| entry.name == next).and_then(|entry| words[entry].first());
        let expected = Ring::next(entry.shape.first().copied().unwrap_or(0), added);
        match found {
            Some(found) if u64::from(*found) == expected => Ok(()),
            _ => Err(Error::Program(format!(
                "`{next}` is {found:?} after {added} rows of `{}`, which makes {expected}: it is no ring",
                entry.name
            ))),
        }
    }

    /// Makes the file, which only names the entries of `rings`.
    async fn file(&self, index: usize, rings: Vec<Ring>) -> Result<Vec<u8>> {
        let (session, setup) = (self.session, self.session.setup_of(index));
        let (words, (state, row)) = (self.words_of(index)?, session.place_of(index)?);
        let outside = |entry: &StateEntry| rings.iter().any(|ring| ring.tensor == seed_array::name(entry.name));
        let (mut own, mut bulk) = (Vec::with_capacity(self.entries.len()), Vec::new());
        for (entry, words) in self.entries.iter().zip(words).filter(|(entry, _)| !outside(entry)) {
            let words = match entry.bulk {
                true => {
                    let array = state.get(entry.name)?;
                    let len = array.len() / array.shape[0];
                    // The bytes are those of the words, of the tensor, and of the file.
                    bulk.push(session.device().take_on_host(12 * len as u64)?);
                    session.device().read_part(array, row * len..(row + 1) * len).await?.into()
                }
                false => words.into(),
            };
            own.push(SeedArray { entry: entry.clone(), words });
        }
        let mut entries = tensors::written(&own, &self.layout)?;
        if self.kind == SnapshotKind::Session {
            entries.extend(finished::entries(&session.seed(index).finished));
            entries.extend(self.episodes(index).map(host_episodes::entry));
        }
        let seed = session.setup().seeds[index];
        snapshot::expect_finite(seed, &entries)?;
        // A file that a reader would refuse is not written: its rules are checked on the numbers, on the header, and on
        // the rest of the file.
        let unsaved = |error: Error| match error {
            Error::Snapshot(problem) => {
                Error::Unsaved(format!("seed {seed}: {problem}; this is an error of the algorithm"))
            }
            other => other,
        };
        let &SeedProgress { iteration, made, .. } = session.seed(index);
        let made = RunLength { iteration, made: made / setup.sharers() };
        rules::check(&own, &self.layout, u32::MAX, made).map_err(unsaved)?;
        drop(own);
        let env = &setup.env.spec().name;
        let header = Header::new(self.kind, setup.algorithm.name, env, seed, setup.table());
        let mut header = header.with_rings(rings).with_ranks(setup.sharers() as usize);
        (header.steps, header.iteration) = (setup.steps, iteration);
        header.env_steps = session.steps_made(index);
        header.budget = setup.iterations.map_or(EndRule::Made, EndRule::Iterations);
        if entries.iter().any(|entry| entry.name == seed_array::name("env_state")) {
            header.state = setup.env.state_names();
        }
        #[cfg(feature = "gymnasium")]
        {
            header.spec = Some(setup.env.spec().clone());
        }
        let bytes = snapshot::encode(header, &entries)?;
        drop(entries);
        self.check(index, &bytes).map_err(unsaved)?;
        Ok(bytes)
    }

    /// Checks that a file can be read, without its numbers.
    fn check(&self, index: usize, bytes: &[u8]) -> Result<()> {
        let setup = self.session.setup_of(index);
        let ((header, _, entries), _) = snapshot::open(bytes, &[setup.algorithm])?;
        snapshot::steps_made(&header, &**setup.fitted())?;
        match self.kind {
            SnapshotKind::Session => {
                finished::read(&entries, setup.env.spec().horizon, header.iteration)?;
                host_episodes::read(&entries, setup).map(drop)
            }
            SnapshotKind::Policy => Ok(()),
        }
    }
}

/// A snapshot of a seed in parts: first its new rows, then the small file.
#[derive(Debug)]
pub struct SnapshotParts<'a> {
    of: &'a Snapshots<'a>,
    index: usize,
    rings: Vec<Ring>,
    /// The rows that are still to be read, each with the number of its ring.
    stretches: VecDeque<(usize, Stretch)>,
}

/// New rows of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentRows {
    /// The segment's name, which is fit for a file.
    pub segment: String,
    /// Offset in the segment to write at; bytes from here on belong to no snapshot.
    pub offset: u64,
    /// The bytes to write.
    pub bytes: Vec<u8>,
}

impl SnapshotParts<'_> {
    /// Reads the next new rows from the device; none after the last ones.
    ///
    /// # Errors
    /// [`Error::NonFinite`] for NaN or infinity in a row; or if the device fails.
    pub async fn rows(&mut self) -> Result<Option<SegmentRows>> {
        let Some((ring, stretch)) = self.stretches.pop_front() else { return Ok(None) };
        let session = self.of.session;
        let (Some(ring), Some((entry, _))) = (self.rings.get_mut(ring), self.of.rings().nth(ring)) else {
            return Ok(None);
        };
        let elements = ring.elements(stretch);
        let (state, row) = session.place_of(self.index)?;
        let array = state.get(entry.name)?;
        let before = row * (array.len() / array.shape[0]);
        let words = session.device().read_part(array, before + elements.start..before + elements.end).await?;
        let no_number = |word: &u32| entry.dtype == DType::F32 && !f32::from_bits(*word).is_finite();
        if let Some(at) = words.iter().position(no_number) {
            let width = elements.len() / (stretch.rows() as usize).max(1);
            let (row, column, number) = ((elements.start + at) / width, at % width, f32::from_bits(words[at]));
            let name = &ring.tensor;
            return Err(snapshot::not_saved(session.setup().seeds[self.index], name, number.into(), &[row, column]));
        }
        let (segment, offset) = ring.put(stretch, &words)?;
        let bytes = match cfg!(target_endian = "little") {
            true => bytemuck::cast_slice(&words).to_vec(),
            false => words.iter().flat_map(|word| word.to_le_bytes()).collect(),
        };
        Ok(Some(SegmentRows { segment, offset, bytes }))
    }

    /// Makes the small file, which is to be kept once all rows are, and gives the segments that it names. The next
    /// snapshot adds to these; all other segments are no longer needed once the file has replaced the previous one.
    ///
    /// # Errors
    /// If rows are left; or if the device fails.
    pub async fn encode(self) -> Result<(Vec<u8>, Vec<Ring>)> {
        if !self.stretches.is_empty() {
            return Err(Error::Program("the rows of a snapshot come before its file".to_owned()));
        }
        let file = match self.rings.is_empty() {
            true => self.of.encode(self.index).await?,
            false => self.of.file(self.index, self.rings.clone()).await?,
        };
        Ok((file, self.rings))
    }
}
