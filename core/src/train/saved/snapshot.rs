//! Snapshots: one safetensors file with everything, configuration and versions in its header, no time and no path.
//!
//! This module has the file: its header, and the checks that it is whole and that its numbers are possible. `tensors`
//! has the names of its content.

use std::borrow::Cow;
use std::fmt;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView, serialize};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::end_rule::EndRule;
use super::segments::Ring;
use super::wrong::{shown, wrong};
use crate::algo::{Algorithm, AlgorithmDef, Together};
use crate::backend::room;
#[cfg(feature = "gymnasium")]
use crate::env::EnvSpec;
use crate::train::setup::length::{MAX_STEPS, check_steps};
use crate::train::setup::register::algorithm;
use crate::{Error, Result};

/// The version of the format. It is raised when an older program could misread a newer file.
const FORMAT: u32 = 6;
/// The first version whose memories hold the observation that ended an episode, also where it ended by itself.
const FORMAT_OF_LAST_OBSERVATIONS: u32 = 6;
/// The version of files of several ranks.
const FORMAT_OF_RANKS: u32 = 5;
/// The version of files with rows in segments of which there may be other numbers than planned.
const FORMAT_OF_COUNTED: u32 = 4;
/// The version of files with rows in segments, one for each planned step.
const FORMAT_OF_SEGMENTS: u32 = 3;
/// The version of files that hold everything themselves, which older programs read as well.
const FORMAT_OF_WHOLE: u32 = 2;

/// The version of the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The key of the header in the file's metadata. It is the only one: the bytes of a map of several keys have no fixed
/// order.
const KEY: &str = "quickstudy";

/// Tensors of this name and a rank's number hold the file of that rank, byte by byte.
pub(super) const OF_RANK: &str = "rank.";

/// The kinds of snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::train) enum SnapshotKind {
    /// A session: all that training changes.
    Session,
    /// A policy: parameters and normalisers.
    Policy,
}

/// The header of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in crate::train) struct Header {
    pub format: u32,
    /// The version of the program that wrote the file.
    version: String,
    pub kind: SnapshotKind,
    pub algorithm: String,
    pub env: String,
    pub seed: u64,
    /// The number of environment steps that the run is to make in all.
    pub steps: u64,
    /// The number of iterations made.
    pub iteration: u64,
    /// The number of environment steps made.
    pub env_steps: u64,
    /// The rule by which the run ends.
    #[serde(skip_serializing_if = "EndRule::is_planned")]
    pub budget: EndRule,
    /// The settings that the algorithm looks at.
    pub config: toml::Table,
    /// The names of the numbers of an environment's state, where the file holds such states.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<String>,
    /// The spec of the environment, so that the file can be opened without it.
    #[cfg(feature = "gymnasium")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<EnvSpec>,
    /// The rings whose rows are in segments instead of the file's tensors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rings: Vec<Ring>,
    /// R, the number of ranks that train together.
    #[serde(skip_serializing_if = "is_one")]
    pub ranks: usize,
    /// The checksum of the rest of the header and of the tensors, FNV-1a with 16 digits: safetensors has none of its
    /// own.
    checksum: String,
}

/// The header as it is read: it may have settings that the algorithm does not look at.
#[derive(Deserialize)]
struct Written<'a> {
    format: u32,
    version: String,
    kind: SnapshotKind,
    algorithm: String,
    env: String,
    seed: u64,
    steps: u64,
    iteration: u64,
    /// The number of environment steps made. Files of older versions do not have it: they counted steps as planned.
    env_steps: Option<u64>,
    #[serde(default)]
    budget: EndRule,
    config: toml::Table,
    #[serde(default)]
    state: Vec<String>,
    #[cfg(feature = "gymnasium")]
    spec: Option<EnvSpec>,
    #[serde(default)]
    rings: Vec<Ring>,
    #[serde(default = "one")]
    ranks: usize,
    /// The digits of the checksum, at their place in the header's text.
    checksum: &'a str,
}

impl Written<'_> {
    /// Makes the header, and finds the algorithm that it names: one of the caller's `own`, or a built-in one.
    fn header(self, own: &[&'static AlgorithmDef]) -> Result<(Header, &'static AlgorithmDef)> {
        let Written {
            format,
            version,
            kind,
            algorithm: name,
            env,
            seed,
            steps,
            iteration,
            env_steps,
            budget,
            config,
            state,
            #[cfg(feature = "gymnasium")]
            spec,
            rings,
            ranks,
            checksum,
        } = self;
        let def = match own.iter().find(|def| def.name == name) {
            Some(def) => def,
            None => algorithm(&name)
                .map_err(|_| wrong(format!("made by the algorithm `{name}`, which this version has not")))?,
        };
        let config = def.checked(&config).map_err(|e| wrong(format!("the header is damaged ({e})")))?;
        check_steps(steps).map_err(|e| wrong(format!("the header is damaged ({e})")))?;
        let fits = match format {
            FORMAT.. => (1..=MAX_RANKS).contains(&ranks),
            FORMAT_OF_RANKS => (2..=MAX_RANKS).contains(&ranks),
            _ => ranks == 1 && rings.is_empty() == (format <= FORMAT_OF_WHOLE),
        };
        if !fits {
            let of = format!("format {format}, {} rings and {ranks} ranks", rings.len());
            return Err(wrong(format!("the header is damaged ({of})")));
        }
        if env_steps == Some(AS_PLANNED) {
            return Err(wrong(format!("{AS_PLANNED} environment steps cannot be")));
        }
        let checksum = checksum.to_owned();
        let env_steps = env_steps.unwrap_or(AS_PLANNED);
        let algorithm = name;
        let header = Header {
            format,
            version,
            kind,
            algorithm,
            env,
            seed,
            steps,
            iteration,
            env_steps,
            budget,
            config,
            state,
            #[cfg(feature = "gymnasium")]
            spec,
            rings,
            ranks,
            checksum,
        };
        Ok((header, def))
    }
}

/// The part of a header that tells whether the rest can be read.
#[derive(Deserialize)]
struct Version {
    format: u64,
    #[serde(default)]
    version: String,
}

/// The number of keys in a JSON object, repeated keys included.
struct KeyCount(usize);

impl<'de> Deserialize<'de> for KeyCount {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<KeyCount, D::Error> {
        from.deserialize_map(KeyCount(0))
    }
}

impl<'de> Visitor<'de> for KeyCount {
    type Value = KeyCount;

    fn expecting(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        text.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> std::result::Result<KeyCount, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            self.0 += 1;
        }
        Ok(self)
    }
}

/// A tensor of a file.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::train) struct Entry<'a> {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    /// The bytes, little-endian; when a file is read they stay in place.
    pub bytes: Cow<'a, [u8]>,
}

impl Entry<'_> {
    /// The numbers, if they are floating-point ones.
    pub fn numbers(&self) -> Box<dyn Iterator<Item = f64> + '_> {
        match self.dtype {
            Dtype::F32 => Box::new(self.bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b).into())),
            Dtype::F64 => Box::new(self.bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b))),
            _ => Box::new(std::iter::empty()),
        }
    }

    /// The index and the value of the first element that is NaN or infinite.
    fn non_finite(&self) -> Option<(usize, f64)> {
        self.numbers().enumerate().find(|(_, x)| !x.is_finite())
    }

    /// The place of element number `at`, such as `[2, 0]`.
    fn place(&self, mut at: usize) -> Vec<usize> {
        let mut index = vec![0; self.shape.len()];
        for (i, size) in index.iter_mut().zip(&self.shape).rev() {
            (*i, at) = (at % size.max(&1), at / size.max(&1));
        }
        index
    }

    /// The error about element number `at`, which cannot be `number`.
    fn cannot_hold(&self, at: usize, number: f64) -> Error {
        wrong(format!("the tensor `{}` holds {number} at {:?}, which cannot be", self.name, self.place(at)))
    }
}

impl Header {
    /// The number of environment steps that a run of this algorithm has made, unchecked.
    pub fn made(&self, algorithm: &dyn Algorithm) -> u64 {
        if self.env_steps == AS_PLANNED { algorithm.planned(self.iteration) } else { self.env_steps }
    }

    /// The number of environment steps made, where the file gives it and the run ends by it.
    pub fn counted(&self) -> Option<u64> {
        (self.env_steps != AS_PLANNED && !self.budget.is_planned()).then_some(self.env_steps)
    }

    /// True if the run ends after a number of iterations.
    pub fn ends_by_iterations(&self) -> bool {
        matches!(self.budget, EndRule::Iterations(_))
    }

    pub fn new(kind: SnapshotKind, algorithm: &str, env: &str, seed: u64, config: toml::Table) -> Header {
        Header {
            format: FORMAT,
            version: VERSION.to_owned(),
            kind,
            algorithm: algorithm.to_owned(),
            env: env.to_owned(),
            seed,
            steps: 0,
            iteration: 0,
            env_steps: 0,
            budget: EndRule::Made,
            config,
            state: Vec::new(),
            #[cfg(feature = "gymnasium")]
            spec: None,
            rings: Vec::new(),
            ranks: 1,
            checksum: String::new(),
        }
    }

    /// Makes the header of a file with these rings in segments. What it holds is of the same format as before.
    pub fn with_rings(self, rings: Vec<Ring>) -> Header {
        let format = match self.format {
            FORMAT_OF_SEGMENTS | FORMAT_OF_COUNTED if rings.is_empty() => FORMAT_OF_WHOLE,
            same => same,
        };
        Header { format, version: VERSION.to_owned(), rings, ..self }
    }

    /// True if rows of a memory, where an episode ended by itself, hold the first observation of the next one.
    pub fn lacks_last_observations(&self) -> bool {
        self.format < FORMAT_OF_LAST_OBSERVATIONS
    }

    /// Makes the header of a file of so many ranks, which train together.
    pub fn with_ranks(self, ranks: usize) -> Header {
        Header { ranks, ..self }
    }

    /// The number of ranks that have played as many environment steps as the settings say, each.
    fn sharers(&self, algorithm: &dyn Algorithm) -> u64 {
        if algorithm.together() == Together::Gradients { self.ranks as u64 } else { 1 }
    }
}

/// The most ranks that a file may have.
const MAX_RANKS: usize = 1 << 16;

fn one() -> usize {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_one(ranks: &usize) -> bool {
    *ranks == 1
}

/// The value of [`Header::env_steps`] for a file that does not give it.
const AS_PLANNED: u64 = u64::MAX;

/// The number of environment steps that a run of this algorithm has made, checked.
pub(in crate::train) fn steps_made(header: &Header, algorithm: &dyn Algorithm) -> Result<u64> {
    let (iteration, made) = (header.iteration, header.made(algorithm));
    let of_ranks = |steps: u64| steps.saturating_mul(header.sharers(algorithm));
    let (planned, batch) = (of_ranks(algorithm.planned(iteration)), of_ranks(algorithm.batch()));
    let least = if algorithm.counts_steps() { made } else { planned };
    if least > MAX_STEPS.saturating_add(of_ranks(algorithm.most(1)).max(batch)) {
        return Err(wrong(format!("{iteration} iterations of {batch} steps are more than can be made")));
    }
    // Each iteration makes at least one step.
    let most = of_ranks(algorithm.most(iteration));
    match (iteration..=most.max(planned)).contains(&made) {
        true => Ok(made),
        false => {
            Err(wrong(format!("{made} environment steps cannot be: {iteration} iterations make {iteration} to {most}")))
        }
    }
}

/// The error about NaN or infinity in the state of a seed.
pub(in crate::train) fn not_saved(seed: u64, name: &str, number: f64, place: &[usize]) -> Error {
    Error::NonFinite(format!(
        "seed {seed} has {number} in `{name}` at {place:?}, so this state is not saved; look at the environment's \
         rewards and observations, or lower learning_rate"
    ))
}

/// Checks that all numbers of a seed's state are finite.
pub(in crate::train) fn expect_finite(seed: u64, entries: &[Entry<'_>]) -> Result<()> {
    match entries.iter().find_map(|e| Some((e, e.non_finite()?))) {
        Some((entry, (at, number))) => Err(not_saved(seed, &entry.name, number, &entry.place(at))),
        None => Ok(()),
    }
}

/// The bytes of a file, which are the same for the same content. All numbers must be finite.
pub(in crate::train) fn encode(mut header: Header, entries: &[Entry<'_>]) -> Result<Vec<u8>> {
    let text = |header: &Header| serde_json::to_string(header).map_err(|e| wrong(e.to_string()));
    // The digits of the checksum are left out when it is computed.
    header.checksum = checksum([text(&Header { checksum: String::new(), ..header.clone() })?, String::new()], entries);
    let json = text(&header)?;
    let mut views = Vec::with_capacity(entries.len());
    for e in entries {
        let view = TensorView::new(e.dtype, e.shape.clone(), &e.bytes).map_err(|e| wrong(e.to_string()))?;
        views.push((e.name.as_str(), view));
    }
    // The library that makes the file's bytes cannot tell of a failed allocation, so room for them is asked for first.
    room::<u8>(entries.iter().map(|e| e.bytes.len()).sum())?;
    serialize(views, Some([(KEY.to_owned(), json)].into_iter().collect())).map_err(|e| wrong(e.to_string()))
}

/// The content of a file: its header, its algorithm, and its tensors, sorted by name.
pub(in crate::train) type Decoded<'a> = (Header, &'static AlgorithmDef, Vec<Entry<'a>>);

/// Reads a file of a built-in algorithm or of one of the caller's `own`, and checks that it is intact.
pub(in crate::train) fn decode<'a>(bytes: &'a [u8], own: &[&'static AlgorithmDef]) -> Result<Decoded<'a>> {
    let ((header, def, entries), around) = open(bytes, own)?;
    if checksum(around, &entries) != header.checksum {
        return Err(wrong("the file is damaged: its content does not fit its checksum"));
    }
    if let Some((entry, (at, number))) = entries.iter().find_map(|e| Some((e, e.non_finite()?))) {
        return Err(entry.cannot_hold(at, number));
    }
    let entries = entries.into_iter().filter(|entry| !entry.name.starts_with(OF_RANK)).collect();
    Ok((header, def, entries))
}

/// Reads a file without looking at its numbers. Also gives its header's text before and after the digits of the
/// checksum.
pub(in crate::train) fn open<'a>(bytes: &'a [u8], own: &[&'static AlgorithmDef]) -> Result<(Decoded<'a>, [String; 2])> {
    let damaged =
        |e: safetensors::SafeTensorError| wrong(format!("this is no safetensors file, or a damaged one ({e})"));
    let (length, metadata) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let json = metadata
        .metadata()
        .as_ref()
        .and_then(|m| m.get(KEY))
        .ok_or_else(|| wrong("this safetensors file was not written by quickstudy"))?;
    let version: Version = serde_json::from_str(json).map_err(|e| wrong(format!("the header is damaged ({e})")))?;
    if version.format > u64::from(FORMAT) {
        let (version, format) = (shown(&version.version), version.format);
        return Err(Error::NewerSnapshot { version, format, newest: FORMAT });
    }
    let written: Written<'_> = serde_json::from_str(json).map_err(|e| wrong(format!("the header is damaged ({e})")))?;
    let digits = written.checksum.as_ptr().addr() - json.as_ptr().addr();
    let around = [json[..digits].to_owned(), json[digits + written.checksum.len()..].to_owned()];
    let (header, def) = written.header(own)?;
    let file = SafeTensors::deserialize(bytes).map_err(damaged)?;
    // The entry of the metadata is a key beside those of the tensors.
    let keys = serde_json::from_slice::<KeyCount>(&bytes[8..8 + length]).map_or(0, |keys| keys.0);
    if keys != file.len() + 1 {
        return Err(wrong("the file is damaged: it names a tensor twice"));
    }
    let entries: Vec<Entry<'_>> = file
        .iter()
        .map(|(name, view)| Entry {
            name: name.to_owned(),
            dtype: view.dtype(),
            shape: view.shape().to_vec(),
            bytes: Cow::Borrowed(view.data()),
        })
        .collect();
    let order = by_name(&entries);
    let mut found: Vec<Option<Entry<'_>>> = entries.into_iter().map(Some).collect();
    let entries = order.into_iter().filter_map(|at| found[at].take()).collect();
    Ok(((header, def, entries), around))
}

/// The places of tensors in the order of their names.
fn by_name(entries: &[Entry<'_>]) -> Vec<usize> {
    let mut names: Vec<(&str, usize)> = entries.iter().map(|e| &*e.name).zip(0..).collect();
    names.sort_unstable();
    names.into_iter().map(|(_, at)| at).collect()
}

/// The checksum of tensors and of a header's text, which is given in two parts.
fn checksum(text: [String; 2], entries: &[Entry<'_>]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.iter().flat_map(|part| part.bytes()).for_each(&mut add);
    for e in by_name(entries).into_iter().map(|at| &entries[at]) {
        e.name.bytes().for_each(&mut add);
        e.shape.iter().flat_map(|n| (*n as u64).to_le_bytes()).for_each(&mut add);
        e.bytes.iter().copied().for_each(&mut add);
    }
    format!("{hash:016x}")
}

/// Finds the tensor of this name.
pub(in crate::train) fn find<'a, 'b>(entries: &'b [Entry<'a>], name: &str) -> Result<&'b Entry<'a>> {
    entries.iter().find(|e| e.name == name).ok_or_else(|| wrong(format!("the tensor `{name}` is missing")))
}

#[cfg(test)]
mod tests;
