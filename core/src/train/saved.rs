//! Saved snapshots: files, and segments beside them.

pub(super) mod end_rule;
pub(super) mod finished;
pub(super) mod host_episodes;
pub(super) mod rank_files;
pub(super) mod rules;
pub(super) mod seed_array;
pub(super) mod segments;
pub(super) mod snapshot;
pub(super) mod tensors;
pub(super) mod wrong;

use std::fmt;

use self::rules::RunLength;
use self::segments::{ReadSegment, Ring};
use self::snapshot::{Entry, Header};
use self::wrong::wrong;
use crate::algo::{Algorithm, AlgorithmDef, StateEntry};
use crate::backend::{copied, room};
use crate::train::setup::Setup;
use crate::train::setup::own::Own;
use crate::{DType, Result};

/// A saved snapshot: a file, and the segments that it names if it is in parts.
#[derive(Clone, Copy)]
pub struct Saved<'a> {
    pub(in crate::train) file: &'a [u8],
    segments: Option<ReadSegment<'a>>,
}

impl fmt::Debug for Saved<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let segments = self.segments.is_some();
        f.debug_struct("Saved").field("bytes", &self.file.len()).field("segments", &segments).finish()
    }
}

impl<'a> Saved<'a> {
    /// A snapshot in a single file.
    pub fn in_one_file(file: &'a [u8]) -> Saved<'a> {
        Saved { file, segments: None }
    }

    /// A snapshot in a file and, if it is in parts, segments. `read` gives a segment, or an
    /// [`Error::Snapshot`](crate::Error::Snapshot).
    pub fn in_parts(file: &'a [u8], read: ReadSegment<'a>) -> Saved<'a> {
        Saved { file, segments: Some(read) }
    }

    /// Reads a ring to which `added` rows were ever added. `put` takes numbers, and the element of the ring at which
    /// they begin.
    pub(in crate::train) fn read_ring(
        &self,
        ring: &Ring,
        entry: &StateEntry,
        added: u64,
        put: &mut dyn FnMut(usize, &[u32]) -> Result<()>,
    ) -> Result<()> {
        ring.check(&entry.shape, added)?;
        let Some(read) = self.segments else {
            return Err(wrong(format!(
                "`{}` is in segments beside it; resume the folder of the run, or make one file of it by `quickstudy \
                 export`",
                ring.tensor
            )));
        };
        ring.read(entry.dtype == DType::F32, read, put)
    }
}

/// The setup of runs that differ only in their seeds, from the headers of their snapshots.
pub(in crate::train) fn setup(headers: &[&Header], def: &'static AlgorithmDef, own: &Own<'_>) -> Result<Setup> {
    let Some(first) = headers.first() else { return Err(wrong("no snapshot was given")) };
    let env = own.environment(first)?;
    let seeds: Vec<u64> = headers.iter().map(|header| header.seed).collect();
    // A memory is as large as the run with the most steps needs it.
    let made = |algorithm: &dyn Algorithm| headers.iter().map(|header| header.made(algorithm)).max().unwrap_or(0);
    let length = first.budget.length(first.steps);
    let setup = Setup::of_snapshot(def, env, &seeds, length, &first.config, &made);
    let setup = setup.map(|setup| setup.among(first.ranks)).map_err(|e| wrong(e.to_string()))?;
    match setup.steps == first.steps {
        true => Ok(setup),
        false => Err(wrong(format!("its iterations are planned to make {} steps, not {}", setup.steps, first.steps))),
    }
}

/// Finds the ring of an entry in a file's header, if its rows are not among the tensors.
pub(in crate::train) fn ring_of<'a>(header: &'a Header, entry: &StateEntry) -> Option<&'a Ring> {
    header.rings.iter().find(|ring| ring.tensor == seed_array::name(entry.name))
}

/// Checks that each ring in a file's header is one of `rings`, named once, and not also a tensor of the file.
pub(in crate::train) fn check_rings(header: &Header, tensors: &[Entry<'_>], rings: &[StateEntry]) -> Result<()> {
    for (number, Ring { tensor, .. }) in header.rings.iter().enumerate() {
        let problem = if !rings.iter().any(|entry| seed_array::name(entry.name) == tensor) {
            "is no replay buffer of this run"
        } else if header.rings[..number].iter().any(|other| other.tensor == *tensor) {
            "is in segments twice"
        } else if tensors.iter().any(|other| other.name == *tensor) {
            "is both in segments and in the file"
        } else {
            continue;
        };
        return Err(wrong(format!("`{tensor}` {problem}")));
    }
    Ok(())
}

/// Joins a snapshot in parts into one file, as [`Session::snapshot`](super::Session::snapshot) gives it, with the rows
/// of its segments.
///
/// # Errors
/// [`Error::Snapshot`](crate::Error::Snapshot) if it cannot be read;
/// [`Error::Memory`](crate::Error::Memory) if there is no room for it.
pub fn joined<'a>(own: impl Into<Own<'a>>, saved: Saved<'_>) -> Result<Vec<u8>> {
    let own = own.into();
    let (header, def, mut entries) = snapshot::decode(saved.file, own.algorithms)?;
    if header.rings.is_empty() {
        return copied(saved.file);
    }
    let setup = setup(&[&header], def, &own)?;
    let (rings, rest): (Vec<StateEntry>, Vec<StateEntry>) =
        setup.fitted().entries(setup.env.state_len()).into_iter().partition(|entry| entry.ring.is_some());
    check_rings(&header, &entries, &rings)?;
    // Each step adds a row.
    let added = snapshot::steps_made(&header, &**setup.fitted())?;
    finished::read(&entries, setup.env.spec().horizon, header.iteration)?;
    host_episodes::read(&entries, &setup)?;
    let made = RunLength { iteration: header.iteration, made: added };
    tensors::read(&entries, header.format, &rest, setup.fitted().layout(), made)?;
    for entry in rings {
        let Some(ring) = ring_of(&header, &entry) else {
            tensors::tensor(&entries, &entry)?;
            continue;
        };
        // From here on, the shape is that of the state instead of the file's.
        ring.check(&entry.shape, added)?;
        let len = 4 * entry.shape.iter().product::<usize>();
        let mut bytes: Vec<u8> = room(len)?;
        bytes.resize(len, 0);
        saved.read_ring(ring, &entry, added, &mut |first, words| {
            let places = bytes.as_chunks_mut().0.iter_mut().skip(first);
            places.zip(words).for_each(|(place, word)| *place = word.to_le_bytes());
            Ok(())
        })?;
        let (name, dtype) = (ring.tensor.clone(), tensors::dtype(entry.dtype));
        entries.push(Entry { name, dtype, shape: entry.shape, bytes: bytes.into() });
    }
    snapshot::encode(header.with_rings(Vec::new()), &entries)
}
