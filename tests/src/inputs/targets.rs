//! Fuzz targets: the functions that read untrusted bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use quickstudy::internals::{self, History, MetricsLog, RunFolder, RunSettings, Table, file};
use quickstudy_core::Device;
use quickstudy_core::env::builtin;
use quickstudy_core::train::{ALGORITHMS, Evaluator, Session};

use crate::trainings::training_on;

/// A reader of bytes, which may refuse them but not panic.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, and that of its corpus.
    pub name: &'static str,
    /// Reads an input.
    pub read: fn(&[u8]),
    /// Words of its language, to put into inputs.
    pub words: &'static [&'static str],
}

/// All targets.
pub static TARGETS: [Target; 5] = [
    Target {
        name: "env",
        read: env,
        words: &["bandit", "grid-world", ":", ",", "=", "arms", "pulls", "size", "map", "\0"],
    },
    Target {
        name: "args",
        read: arguments,
        words: &["..", "..=", ",", "=", "k", "M", "e", "[", "]", "\"", "v = ", "{"],
    },
    Target {
        name: "config",
        read: config,
        words: &[
            "true",
            "[64, 64]",
            "[]",
            "[[",
            "\"",
            "'''",
            "steps",
            "units",
            "horizon",
            "envs",
            "meta_batch",
            "seed",
        ],
    },
    Target {
        name: "run-folder",
        read: run_folder,
        words: &["\n", ",", "{", "}", "\"time/env_steps\":", "null", "NaN", "1e5", "time/env_steps", "\u{1b}[2J"],
    },
    Target {
        name: "snapshot",
        read: snapshot,
        words: &["\"steps\":", "\"hidden\":[", "]", "\"cartpole\"", "\"ppo\"", "true", "null", "\\u0000", "{", "}"],
    },
];

/// The specification of an environment, and a few steps with numbers that no policy gives.
fn env(input: &[u8]) {
    let (text, rest) = input.split_at(input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len()));
    let Ok(env) = builtin(&String::from_utf8_lossy(text)) else { return };
    let spec = env.spec();
    assert_eq!(builtin(&spec.name).map(|env| env.spec().clone()), Ok(spec.clone()), "its name gives it again");
    let task: Vec<f32> = env.sample_task([1, 2], 3);
    let Ok(mut state) = env.reset(&task, [4, 5], 6) else { return };
    let mut numbers = rest.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    for step in 0..20 {
        let action: Vec<f32> = (0..spec.action.dim()).map(|_| numbers.next().unwrap_or(f32::NAN)).collect();
        let Ok(next) = env.step(&state, &action, &task, [7, step], 8) else { return };
        state = next.state;
        // Pictures are for people: no state may stop them.
        let _ = env.draw(&state, &task);
    }
}

/// Counts, seeds and settings of the command line.
fn arguments(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let _ = internals::count(&text);
    if let Ok(seeds) = internals::seeds(&text) {
        assert!(!seeds.is_empty());
    }
    let _ = internals::setting(&text);
}

/// A configuration file, resolved for the algorithm and the environment that it names.
fn config(input: &[u8]) {
    let Ok(mut table) = toml::from_str::<toml::Table>(&String::from_utf8_lossy(input)) else { return };
    let Ok(keys) = RunSettings::take(&mut table) else { return };
    let algorithm = keys.algorithm.unwrap_or_else(|| "ppo".to_owned());
    let Ok(env) = builtin(keys.env.as_deref().unwrap_or("cartpole")) else { return };
    let seeds = keys.seed.unwrap_or_else(|| vec![0]);
    let named = quickstudy_core::train::algorithm(&algorithm).map(|def| vec![def]);
    for def in named.unwrap_or_else(|_| ALGORITHMS.to_vec()) {
        if let Ok(setup) = training_on(def, env.clone()).seeds(&seeds).length(keys.steps).with(table.clone()).resolve()
        {
            let _ = (setup.batch(), setup.fleet());
        }
    }
}

/// A folder of this process.
fn scratch() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = crate::scratch::scratch("inputs");
        let _ = fs::remove_dir_all(&folder);
        folder
    })
}

/// The line between the files of [`run_folder`].
const NEXT: &[u8] = b"\n=== ";

/// Files of a run folder: each begins after a line with `=== ` and its name.
fn run_folder(input: &[u8]) {
    let dir = scratch();
    let _ = fs::remove_dir_all(dir);
    let Ok(folder) = RunFolder::create(dir) else { return };
    let names = [file::CSV, file::JSONL, file::EVENTS, file::HISTORY, file::VERSION, file::CONFIG];
    let mut rest = input;
    while let Some(at) = rest.windows(NEXT.len()).position(|window| window == NEXT) {
        rest = &rest[at + NEXT.len()..];
        let end = rest.windows(NEXT.len()).position(|window| window == NEXT).unwrap_or(rest.len());
        let part = &rest[..end];
        let line = part.iter().position(|byte| *byte == b'\n').unwrap_or(part.len());
        if let Some(name) = names.iter().find(|name| name.as_bytes() == &part[..line]) {
            let _ = fs::write(dir.join(name), &part[(line + 1).min(part.len())..]);
        }
    }
    let _ = Table::read(dir);
    let _ = internals::read_config(&dir.join(file::CONFIG));
    let _ = internals::record_device(&folder, "cpu", 1, 512);
    for steps in [1024, u64::MAX] {
        if MetricsLog::resume(&folder, steps, "seed = 1").is_ok() {
            let _ = History::load(dir, steps);
        }
    }
    drop(folder);
    let _ = fs::remove_dir_all(dir);
}

/// A snapshot as it is, and with the length of its header and the checksum that fit its content: else
/// nothing behind these would ever be reached.
fn snapshot(input: &[u8]) {
    let device = Device::cpu(1);
    for bytes in [input.to_vec(), repaired(input).and_then(|bytes| signed(&bytes)).unwrap_or_default()] {
        let _ = Evaluator::load(&device, &bytes);
        if let Ok(session) = Session::restore(&device, &[&bytes]) {
            let _ =
                (session.iteration(), session.iterations(), session.env_steps(), session.total_steps(), session.done());
        }
    }
}

/// A copy of a file whose length in front is made the header's.
fn repaired(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = bytes.get(8..)?;
    let mut values = serde_json::Deserializer::from_slice(text).into_iter::<serde_json::Value>();
    values.next()?.ok()?;
    let (header, rest) = text.split_at(values.byte_offset());
    let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
    let mut header = header.to_vec();
    header.resize(header.len().next_multiple_of(8), b' ');
    Some([&(header.len() as u64).to_le_bytes(), &header[..], &rest[blanks..]].concat())
}

const CHECKSUM: &str = "\"checksum\":\"";

fn signed(bytes: &[u8]) -> Option<Vec<u8>> {
    let (_, metadata) = safetensors::SafeTensors::read_metadata(bytes).ok()?;
    let file = safetensors::SafeTensors::deserialize(bytes).ok()?;
    let (key, json) = metadata.metadata().as_ref()?.iter().next()?;
    let start = json.find(CHECKSUM)? + CHECKSUM.len();
    let end = start + json[start..].find('"')?;
    let unsigned = format!("{}{}", &json[..start], &json[end..]);
    let mut tensors: Vec<_> = file.iter().collect();
    tensors.sort_by(|a, b| a.0.cmp(b.0));
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |byte: u8| hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    unsigned.bytes().for_each(&mut add);
    for (name, view) in &tensors {
        name.bytes().for_each(&mut add);
        view.shape().iter().flat_map(|n| (*n as u64).to_le_bytes()).for_each(&mut add);
        view.data().iter().copied().for_each(&mut add);
    }
    let json = format!("{}{hash:016x}{}", &json[..start], &json[end..]);
    safetensors::tensor::serialize(tensors, Some([(key.clone(), json)].into_iter().collect())).ok()
}
