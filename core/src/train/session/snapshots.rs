//! Snapshots of a session's seeds: whole, or in parts that cost what is new.

use std::collections::VecDeque;

use super::seed_progress::SeedProgress;
use crate::algo::StateEntry;
use crate::nn::Layout;
use crate::train::saved;
use crate::train::saved::finished;
use crate::train::saved::rules::{self, RunLength};
use crate::train::saved::segments::{Ring, Stretch};
use crate::train::saved::snapshot::{self, Header, SnapshotKind};
use crate::train::saved::tensors::{self, SeedArray};
use crate::train::session::Session;
use crate::{DType, Error, Result};

/// The state of a session's seeds, from which snapshots are made one by one: small entries are copied to the host at once, bulk ones are read
/// seed by seed.
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
    /// Of each entry the words of all seeds; none where it is bulk.
    words: Vec<Vec<u32>>,
    /// Of each seed where its environments are in their episodes on the host, if they can save that.
    episodes: Option<Vec<Vec<u8>>>,
}

impl<'a> Snapshots<'a> {
    /// Of the seeds of these numbers, and of those that are stacked with them.
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

    /// The copied words of a seed's part of each entry.
    fn words_of(&self, index: usize) -> Result<Vec<&[u32]>> {
        let place = |stack: &'_ StackCopy| stack.seeds.iter().position(|seed| *seed == index);
        let found = self.stacks.iter().find_map(|stack| Some((stack, place(stack)?)));
        let Some((stack, row)) = found else { return Err(self.session.no_seed(index)) };
        let part = |words: &'_ Vec<u32>| {
            row * (words.len() / stack.seeds.len())..(row + 1) * (words.len() / stack.seeds.len())
        };
        Ok(stack.words.iter().map(|words| &words[part(words)]).collect())
    }

    /// Where a seed's environments of the host are in their episodes.
    fn episodes(&self, index: usize) -> Option<Vec<u8>> {
        let row = |stack: &StackCopy| stack.seeds.iter().position(|seed| *seed == index);
        let (stack, row) = self.stacks.iter().find_map(|stack| Some((stack, row(stack)?)))?;
        stack.episodes.as_ref()?.get(row).cloned()
    }

    /// The whole snapshot of the seed of this number, from 0.
    ///
    /// # Errors
    /// If there is no such seed, or the device fails; [`Error::Memory`] if there is no room for it.
    pub async fn encode(&self, index: usize) -> Result<Vec<u8>> {
        self.file(index, Vec::new()).await
    }

    /// A snapshot of the seed of this number, from 0, in parts: rows of its replay memory that are new since the segments of the snapshot
    /// before, `saved`, which were none before the first one; and a small file, which is worth something once these are kept.
    ///
    /// # Errors
    /// If there is no such seed, or the segments are not its own.
    pub fn parts(&self, index: usize, saved: &[Ring]) -> Result<SnapshotParts<'_>> {
        let (mut rings, mut stretches) = (Vec::new(), VecDeque::new());
        let added = self.session.steps_made(index);
        for (entry, next) in self.rings() {
            self.check_next(index, (entry, next), added)?;
            let tensor = tensors::name(entry.name);
            let new = || Ring::new(tensor.to_owned(), &entry.shape);
            let mut ring = saved.iter().find(|ring| ring.tensor == tensor).cloned().unwrap_or_else(new);
            let place = rings.len();
            stretches.extend(ring.advance(&entry.shape, added)?.into_iter().map(|stretch| (place, stretch)));
            rings.push(ring);
        }
        Ok(SnapshotParts { of: self, index, rings, stretches })
    }

    /// The entries that are rings, and the names of those that say which row is next.
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

    /// The file; entries of `rings` are only named in it.
    async fn file(&self, index: usize, rings: Vec<Ring>) -> Result<Vec<u8>> {
        let (session, setup) = (self.session, self.session.setup());
        let (words, (state, row)) = (self.words_of(index)?, session.place_of(index)?);
        let outside = |entry: &StateEntry| rings.iter().any(|ring| ring.tensor == tensors::name(entry.name));
        let (mut own, mut bulk) = (Vec::with_capacity(self.entries.len()), Vec::new());
        for (entry, words) in self.entries.iter().zip(words).filter(|(entry, _)| !outside(entry)) {
            let words = match entry.bulk {
                true => {
                    let array = state.get(entry.name)?;
                    let len = array.len() / array.shape[0];
                    // Its words, the tensor's bytes and the file's.
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
            entries.extend(self.episodes(index).map(saved::episodes_entry));
        }
        let seed = setup.seeds[index];
        snapshot::expect_finite(seed, &entries)?;
        // What a reader would refuse is not written: its rules are looked at in the numbers, its header and all else in the file.
        let unsaved = |error: Error| match error {
            Error::Snapshot(problem) => {
                Error::Unsaved(format!("seed {seed}: {problem}; this is an error of the algorithm"))
            }
            other => other,
        };
        let &SeedProgress { iteration, made, .. } = session.seed(index);
        let made = RunLength { iteration, made };
        rules::check(&own, &self.layout, u32::MAX, made).map_err(unsaved)?;
        drop(own);
        let env = &setup.env.spec().name;
        let header = Header::new(self.kind, setup.algorithm.name, env, seed, setup.table());
        let mut header = header.with_rings(rings, setup.fitted().counts_steps());
        (header.steps, header.iteration) = (setup.steps, iteration);
        header.env_steps = session.steps_made(index);
        let bytes = snapshot::encode(header, &entries)?;
        drop(entries);
        self.check(&bytes).map_err(unsaved)?;
        Ok(bytes)
    }

    /// Checks that a file can be read, but for its numbers.
    fn check(&self, bytes: &[u8]) -> Result<()> {
        let setup = self.session.setup();
        let ((header, _, entries), _) = snapshot::open(bytes, &[setup.algorithm])?;
        snapshot::steps_made(&header, &**setup.fitted())?;
        match self.kind {
            SnapshotKind::Session => finished::read(&entries, setup.env.spec().horizon, header.iteration).map(drop),
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
    /// Rows that are to be read, each with the number of its ring.
    stretches: VecDeque<(usize, Stretch)>,
}

/// New rows of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentRows {
    /// The segment's name, which is fit for a file.
    pub segment: String,
    /// The byte of the segment with which they begin: whatever is there, or behind it, is of no snapshot.
    pub offset: u64,
    /// They themselves.
    pub bytes: Vec<u8>,
}

impl SnapshotParts<'_> {
    /// The next rows that are new, read from the device; none after the last ones.
    ///
    /// # Errors
    /// [`Error::NonFinite`] for a number that is none; or if the device fails.
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

    /// The small file, to be kept once all rows are, and the segments that it names: the next snapshot goes on from them, and all others are
    /// needed no more once the file has taken the place of the one before.
    ///
    /// # Errors
    /// If rows are left; or if the device fails.
    pub async fn encode(self) -> Result<(Vec<u8>, Vec<Ring>)> {
        if !self.stretches.is_empty() {
            return Err(Error::Program("the rows of a snapshot come before its file".to_owned()));
        }
        let file = self.of.file(self.index, self.rings.clone()).await?;
        Ok((file, self.rings))
    }
}
