//! Whatever a user, a damaged disk or a stranger may hand over, as bytes: what reads them must say what is wrong, and
//! neither panic nor take memory without bound.
//!
//! A [`Target`] reads bytes. [`run`] feeds it with the corpus under `tests/corpus` and with changed copies of that;
//! `fuzz/` hands the same targets to libFuzzer, which sees the program's branches and finds what blind changes do not.

#![allow(clippy::panic, reason = "a test fails by panicking")]

mod change;
mod targets;

pub use targets::{TARGETS, Target};

use std::fs;
use std::io::{Seek as _, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use change::Changer;

/// The target of that name.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("no target is called `{name}`"))
}

/// How long to try.
#[derive(Clone, Copy, Debug)]
pub enum Effort {
    /// A number of inputs beside the corpus.
    Inputs(u64),
    /// For a time; memory and time of each input are watched.
    Time(Duration),
}

/// The memory that an input may take, used or asked for, beside what was there before.
const MEMORY: [(&str, u64); 2] = [("VmHWM:", 256 << 20), ("VmPeak:", 2 << 30)];

/// Far above what any input takes; a test's own limit, as machines are busy.
const LIMIT: Duration = Duration::from_secs(10);

/// The corpus of a target by name. That of `snapshot` has the golden ones, too.
///
/// # Panics
/// If it cannot be read or is empty.
#[must_use]
pub fn corpus(target: &str) -> Vec<Vec<u8>> {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut paths = Vec::new();
    files(&tests.join("corpus").join(target), &mut paths);
    if target == "snapshot" {
        files(&tests.join("golden/snapshots"), &mut paths);
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "safetensors"));
    }
    paths.sort();
    assert!(!paths.is_empty(), "the corpus of {target} is empty");
    paths.iter().map(|path| fs::read(path).expect("a file of the corpus")).collect()
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// Feed a target; `seed` begins the random changes. The number of inputs.
///
/// # Panics
/// If the target panics or takes too much, with the path of a file that holds the input.
pub fn run(target: &Target, effort: Effort, seed: u32) -> u64 {
    let corpus = corpus(target.name);
    let mut changer = Changer::new(&corpus, target.words, seed);
    let mut watch = matches!(effort, Effort::Time(_)).then(|| Watch::new(target));
    let began = Instant::now();
    let mut count = 0;
    for input in &corpus {
        feed(target, input, watch.as_mut());
        count += 1;
    }
    loop {
        let enough = match effort {
            Effort::Inputs(inputs) => count >= inputs + corpus.len() as u64,
            Effort::Time(time) => began.elapsed() >= time,
        };
        if enough {
            return count;
        }
        feed(target, &changer.next(), watch.as_mut());
        count += 1;
    }
}

/// An eye on time and memory.
struct Watch {
    /// Holds the input that is being read: it stays where a process is ended for its memory, or hangs.
    last: fs::File,
    peaks: [u64; 2],
}

impl Watch {
    fn new(target: &Target) -> Watch {
        let path = keep(target, "last", &[]);
        Watch { last: fs::File::create(path).expect("a file"), peaks: peaks() }
    }

    fn before(&mut self, input: &[u8]) {
        let written = self.last.rewind().and_then(|()| self.last.set_len(0)).and_then(|()| self.last.write_all(input));
        written.expect("a file");
    }

    fn after(&mut self, took: Duration) -> Option<String> {
        let before = std::mem::replace(&mut self.peaks, peaks());
        // Linux counts pages per processor and sums them now and then: a peak may be told smaller than before.
        let grown = |i: usize| self.peaks[i].saturating_sub(before[i]);
        let grown = (0..2).map(|i| (grown(i), MEMORY[i].1)).find(|(grown, limit)| grown > limit);
        let slow = (took > LIMIT).then(|| format!("took {took:?}"));
        slow.or_else(|| grown.map(|(grown, _)| format!("took {} MiB", grown >> 20)))
    }
}

/// Where an input is kept that something went wrong with.
fn keep(target: &Target, name: &str, input: &[u8]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/inputs");
    fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(format!("{}-{name}", target.name));
    fs::write(&path, input).expect("a file");
    path
}

fn feed(target: &Target, input: &[u8], mut watch: Option<&mut Watch>) {
    if let Some(watch) = &mut watch {
        watch.before(input);
    }
    let began = Instant::now();
    let fault = catch_unwind(AssertUnwindSafe(|| (target.read)(input))).is_err().then(|| "panicked".to_owned());
    let fault = fault.or_else(|| watch?.after(began.elapsed()));
    if let Some(fault) = fault {
        let path = keep(target, "fault", input);
        panic!(
            "the target `{}` {fault} on the input in {}; mended, it belongs into tests/corpus/{}",
            target.name,
            path.display(),
            target.name
        );
    }
}

/// Peaks of this process's memory in bytes; 0 where the system does not tell.
fn peaks() -> [u64; 2] {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    MEMORY.map(|(key, _)| {
        let line = status.lines().find_map(|line| line.strip_prefix(key));
        line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib << 10)
    })
}
