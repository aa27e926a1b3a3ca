//! Snapshots: one safetensors file with everything, configuration and versions in its header, no time and no path.
//!
//! Here is the file: its header, that it is whole, and that its numbers can be. `tensors` names what is in it.

use std::borrow::Cow;
use std::fmt;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView, serialize};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::end_rule::EndRule;
use super::segments::Ring;
use crate::algo::{Algorithm, AlgorithmDef};
use crate::backend::room;
use crate::train::setup::MAX_STEPS;
use crate::train::setup::register::algorithm;
use crate::{Error, Result};

/// Version of the format. Raised when an older program could misread a newer file.
const FORMAT: u32 = 4;
/// Version of files whose rows are in segments, as many as iterations plan; where they may be others, it is [`FORMAT`].
const FORMAT_OF_SEGMENTS: u32 = 3;
/// Version of files that hold all of it themselves, which older programs read as well.
const FORMAT_OF_WHOLE: u32 = 2;

/// Version of the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Key of the header in the file's metadata. One only: a map of several has no fixed order of bytes.
const KEY: &str = "quickstudy";

/// The kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::train) enum SnapshotKind {
    /// All that training changes.
    Session,
    /// Parameters and normalisers.
    Policy,
}

/// The header.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(in crate::train) struct Header {
    pub format: u32,
    /// Of the program that wrote it.
    version: String,
    pub kind: SnapshotKind,
    pub algorithm: String,
    pub env: String,
    pub seed: u64,
    /// Environment steps that the run makes in all.
    pub steps: u64,
    /// Iterations made.
    pub iteration: u64,
    /// Environment steps made.
    pub env_steps: u64,
    /// The rule by which the run ends.
    #[serde(skip_serializing_if = "EndRule::is_planned")]
    pub budget: EndRule,
    /// The settings that the algorithm looks at.
    pub config: toml::Table,
    /// Rings that are in segments, and no tensors of the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rings: Vec<Ring>,
    /// FNV-1a of the rest of the header and of the tensors, 16 digits: safetensors has no check of its own.
    checksum: String,
}

/// The header as it is read: it may hold settings that the algorithm does not look at.
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
    /// Files of older versions have it not: they counted steps as planned.
    env_steps: Option<u64>,
    #[serde(default)]
    budget: EndRule,
    config: toml::Table,
    #[serde(default)]
    rings: Vec<Ring>,
    /// The digits themselves, at their place in the header's text.
    checksum: &'a str,
}

impl Written<'_> {
    /// The header, and the algorithm that it names: one of the caller's `own`, or a built-in one.
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
            rings,
            checksum,
        } = self;
        let def = match own.iter().find(|def| def.name == name) {
            Some(def) => def,
            None => algorithm(&name)
                .map_err(|_| wrong(format!("made by the algorithm `{name}`, which this version has not")))?,
        };
        let config = def.checked(&config).map_err(|e| wrong(format!("the header is damaged ({e})")))?;
        check_steps(steps).map_err(|e| wrong(format!("the header is damaged ({e})")))?;
        if rings.is_empty() != (format <= FORMAT_OF_WHOLE) {
            return Err(wrong(format!("the header is damaged (format {format}, and {} rings)", rings.len())));
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
            rings,
            checksum,
        };
        Ok((header, def))
    }
}

/// Only what tells whether the rest can be read.
#[derive(Deserialize)]
struct Version {
    format: u64,
    #[serde(default)]
    version: String,
}

/// Counts the keys of a JSON object, those that are there twice included.
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

/// One tensor.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::train) struct Entry<'a> {
    pub name: String,
    pub dtype: Dtype,
    pub shape: Vec<usize>,
    /// Little-endian; of a file that is read they stay where they are.
    pub bytes: Cow<'a, [u8]>,
}

impl Entry<'_> {
    /// Its numbers, if it has floating-point ones.
    pub fn numbers(&self) -> Box<dyn Iterator<Item = f64> + '_> {
        match self.dtype {
            Dtype::F32 => Box::new(self.bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b).into())),
            Dtype::F64 => Box::new(self.bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b))),
            _ => Box::new(std::iter::empty()),
        }
    }

    /// The number of the first element that is NaN or infinite, and what it is.
    fn non_finite(&self) -> Option<(usize, f64)> {
        self.numbers().enumerate().find(|(_, x)| !x.is_finite())
    }

    /// The index of its element number `at`: `[2, 0]`.
    fn place(&self, mut at: usize) -> Vec<usize> {
        let mut index = vec![0; self.shape.len()];
        for (i, size) in index.iter_mut().zip(&self.shape).rev() {
            (*i, at) = (at % size.max(&1), at / size.max(&1));
        }
        index
    }

    /// The error that its element number `at` cannot be that number.
    fn cannot_hold(&self, at: usize, number: f64) -> Error {
        wrong(format!("the tensor `{}` holds {number} at {:?}, which cannot be", self.name, self.place(at)))
    }
}

impl Header {
    /// Environment steps that a run of this algorithm has made, whether they can be or not.
    pub fn made(&self, algorithm: &dyn Algorithm) -> u64 {
        if self.env_steps == AS_PLANNED { algorithm.planned(self.iteration) } else { self.env_steps }
    }

    pub fn new(kind: SnapshotKind, algorithm: &str, env: &str, seed: u64, config: toml::Table) -> Header {
        Header {
            format: FORMAT_OF_WHOLE,
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
            rings: Vec::new(),
            checksum: String::new(),
        }
    }

    /// Makes the header of a file beside which these rings are in segments. `counted`: iterations may add other numbers of rows
    /// than planned.
    pub fn with_rings(self, rings: Vec<Ring>, counted: bool) -> Header {
        let format = match (rings.is_empty(), counted) {
            (true, _) => FORMAT_OF_WHOLE,
            (false, false) => FORMAT_OF_SEGMENTS,
            (false, true) => FORMAT,
        };
        Header { format, version: VERSION.to_owned(), rings, ..self }
    }
}

/// Makes an error whose text may quote the file.
pub(in crate::train) fn wrong(problem: impl AsRef<str>) -> Error {
    Error::Snapshot(shown(problem.as_ref()))
}

/// Most characters of a message.
const LONGEST: usize = 400;

/// Makes text from a file fit to be shown: on one line, of limited length, and without signs that steer terminals.
fn shown(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut safe = String::new();
    for (i, c) in text.chars().enumerate() {
        match c {
            _ if i == LONGEST => {
                safe.push('…');
                break;
            }
            c if steers(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}

/// Checks that a run can have so many environment steps.
pub(in crate::train) fn check_steps(steps: u64) -> Result<()> {
    match steps {
        1..=MAX_STEPS => Ok(()),
        0 => Err(Error::config("steps", "0 environment steps train nothing; give at least 1")),
        _ => Err(Error::config("steps", format!("{steps} is more than {MAX_STEPS}"))),
    }
}

/// Stands for steps that a file does not tell.
const AS_PLANNED: u64 = u64::MAX;

/// The environment steps that a run of this algorithm has made.
pub(in crate::train) fn steps_made(header: &Header, algorithm: &dyn Algorithm) -> Result<u64> {
    let (iteration, made) = (header.iteration, header.made(algorithm));
    let least = if algorithm.counts_steps() { made } else { algorithm.planned(iteration) };
    if least > MAX_STEPS.saturating_add(algorithm.most(1).max(algorithm.batch())) {
        let batch = algorithm.batch();
        return Err(wrong(format!("{iteration} iterations of {batch} steps are more than can be made")));
    }
    // Each iteration makes a step at least.
    let most = algorithm.most(iteration);
    match (iteration..=most.max(algorithm.planned(iteration))).contains(&made) {
        true => Ok(made),
        false => {
            Err(wrong(format!("{made} environment steps cannot be: {iteration} iterations make {iteration} to {most}")))
        }
    }
}

/// The error that a state of that seed has a number that is none.
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

/// The file's bytes; the same for the same content. All numbers are finite.
pub(in crate::train) fn encode(mut header: Header, entries: &[Entry<'_>]) -> Result<Vec<u8>> {
    let text = |header: &Header| serde_json::to_string(header).map_err(|e| wrong(e.to_string()));
    // The digits are no part of what they are computed from.
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

/// The content of a file: header, algorithm and tensors, sorted by name.
pub(in crate::train) type Decoded<'a> = (Header, &'static AlgorithmDef, Vec<Entry<'a>>);

/// Reads a file that is intact, of a built-in algorithm or of one of the caller's `own`.
pub(in crate::train) fn decode<'a>(bytes: &'a [u8], own: &[&'static AlgorithmDef]) -> Result<Decoded<'a>> {
    let ((header, def, entries), around) = open(bytes, own)?;
    if checksum(around, &entries) != header.checksum {
        return Err(wrong("the file is damaged: its content does not fit its checksum"));
    }
    if let Some((entry, (at, number))) = entries.iter().find_map(|e| Some((e, e.non_finite()?))) {
        return Err(entry.cannot_hold(at, number));
    }
    Ok((header, def, entries))
}

/// The content of a file whose numbers nobody has looked at, and its header's text around the digits of the checksum.
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
    // The metadata's entry is a key beside those of the tensors.
    let keys = serde_json::from_slice::<KeyCount>(&bytes[8..8 + length]).map_or(0, |keys| keys.0);
    if keys != file.len() + 1 {
        return Err(wrong("the file is damaged: it names a tensor twice"));
    }
    let mut entries: Vec<Entry<'_>> = file
        .iter()
        .map(|(name, view)| Entry {
            name: name.to_owned(),
            dtype: view.dtype(),
            shape: view.shape().to_vec(),
            bytes: Cow::Borrowed(view.data()),
        })
        .collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(((header, def, entries), around))
}

/// The checksum of tensors and of a header's text, which is given in two parts.
fn checksum(text: [String; 2], entries: &[Entry<'_>]) -> String {
    let mut sorted: Vec<&Entry<'_>> = entries.iter().collect();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    text.iter().flat_map(|part| part.bytes()).for_each(&mut add);
    for e in sorted {
        e.name.bytes().for_each(&mut add);
        e.shape.iter().flat_map(|n| (*n as u64).to_le_bytes()).for_each(&mut add);
        e.bytes.iter().copied().for_each(&mut add);
    }
    format!("{hash:016x}")
}

/// The tensor of that name.
pub(in crate::train) fn find<'a, 'b>(entries: &'b [Entry<'a>], name: &str) -> Result<&'b Entry<'a>> {
    entries.iter().find(|e| e.name == name).ok_or_else(|| wrong(format!("the tensor `{name}` is missing")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> (Header, Vec<Entry<'static>>) {
        let mut header = Header::new(
            SnapshotKind::Session,
            "ppo",
            "cartpole",
            u64::MAX,
            algorithm("ppo").unwrap().checked(&toml::Table::new()).unwrap(),
        );
        header.steps = 1;
        let entry = |name: &str, dtype, shape: &[usize], bytes: &[u8]| Entry {
            name: name.to_owned(),
            dtype,
            shape: shape.to_vec(),
            bytes: bytes.to_vec().into(),
        };
        (
            header,
            vec![
                entry("a", Dtype::F32, &[2], &[0, 0, 128, 63, 0, 0, 192, 191]),
                entry("b", Dtype::U32, &[1, 1], &[7; 4]),
            ],
        )
    }

    #[test]
    fn a_file_reads_back_and_has_the_same_bytes_each_time() {
        let (header, entries) = example();
        let bytes = encode(header.clone(), &entries).unwrap();
        assert_eq!(bytes, encode(header.clone(), &entries).unwrap());
        let (read, _, same) = decode(&bytes, &[]).unwrap();
        assert_eq!(same, entries);
        assert_eq!(Header { checksum: String::new(), ..read }, header);
    }

    #[test]
    fn no_damage_goes_unnoticed_or_panics() {
        let (header, entries) = example();
        let bytes = encode(header, &entries).unwrap();
        for cut in 0..bytes.len() {
            assert!(decode(&bytes[..cut], &[]).is_err(), "cut at {cut}");
        }
        let read = |bytes: &[u8]| decode(bytes, &[]).map(|(header, _, entries)| (header, format!("{entries:?}")));
        let original = read(&bytes).unwrap();
        for i in 0..bytes.len() {
            for flip in [1, 32, 255] {
                let mut broken = bytes.clone();
                broken[i] ^= flip;
                // A flip may be without meaning (a space that pads the header), but never change what is read.
                let result = read(&broken);
                assert!(result.is_err() || result.unwrap() == original, "byte {i} ^ {flip}");
            }
        }
    }

    #[test]
    fn foreign_and_newer_files_say_what_they_are() {
        let foreign = serialize([("x", TensorView::new(Dtype::F32, vec![1], &[0; 4]).unwrap())], None).unwrap();
        assert!(decode(&foreign, &[]).unwrap_err().to_string().contains("not written by quickstudy"));
        assert!(decode(b"GIF89a", &[]).unwrap_err().to_string().contains("no safetensors file"));
        let (mut header, entries) = example();
        (header.format, header.version) = (99, "9.9.9".to_owned());
        let newer = encode(header, &entries).unwrap();
        assert!(decode(&newer, &[]).unwrap_err().to_string().contains("newer version 9.9.9 (format 99"));
    }
}
