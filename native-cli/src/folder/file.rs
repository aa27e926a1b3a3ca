//! File names inside a run folder.

/// Resolved configuration.
pub const CONFIG: &str = "config.toml";
/// Commands, one per line.
pub const COMMAND: &str = "command.txt";
/// Versions as JSON.
pub const VERSION: &str = "version.json";
/// Metrics, wide CSV.
pub const CSV: &str = "metrics.csv";
/// Metrics, one JSON object per line.
pub const JSONL: &str = "metrics.jsonl";
/// TensorBoard events. One constant name, so that a resumed run continues the same file.
pub const EVENTS: &str = "events.out.tfevents.quickstudy";
/// TensorBoard events about settings and the end of the run.
pub const SESSION: &str = "events.out.tfevents.hparams";
/// Snapshot to resume from.
pub const LAST: &str = "last.safetensors";
/// Folder of the segments that it names.
pub const SEGMENTS: &str = "segments";
/// Folder of the snapshots that are kept beside it.
pub const KEPT: &str = "snapshots";
/// Best policy so far.
pub const BEST: &str = "best.safetensors";
/// Learning curve.
pub const CURVE: &str = "curve.svg";
/// The snapshot that is being copied into this folder, from which a run is to go on here: until that is done there
/// is no run.
pub const COPYING: &str = "copying.txt";
/// Lock.
pub const LOCK: &str = "run.lock";
/// Points of the learning curve and the best evaluation, from which a run goes on.
pub const HISTORY: &str = "curve.csv";
/// All that are files.
pub const ALL: [&str; 13] =
    [CONFIG, COMMAND, VERSION, CSV, JSONL, EVENTS, SESSION, LAST, BEST, CURVE, LOCK, HISTORY, COPYING];
