//! The facts of a run: its settings, where it is made, and whether somebody writes there.

use crate::files::reading;
use crate::folder::file;
use crate::results::experiments::{believe_snapshot, show};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::SystemTime;

/// The facts of a run as JSON, as far as its files tell them, after so many environment steps and iterations.
///
/// `writer` says whether a process has put its name into the lock file, which is emptied when a run ends: a killed one
/// leaves it. The lock itself is not tried, so that no run finds its folder taken. `quiet` has the seconds since the
/// last row.
pub(super) fn facts(folder: &Path, steps: u64, made: u64) -> Value {
    let config = reading::read_own_text(&folder.join(file::CONFIG)).ok();
    let mut config: toml::Table =
        config.and_then(|bytes| toml::from_str(&String::from_utf8_lossy(&bytes)).ok()).unwrap_or_default();
    believe_snapshot(folder, &mut config, |_| {});
    let version = reading::read_own_text(&folder.join(file::VERSION)).ok();
    let version: Value = version.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
    let text = |key: &str| config.get(key).map(show);
    let total = config.get("steps").and_then(toml::Value::as_integer).filter(|steps| *steps > 0);
    let writer = fs::metadata(folder.join(file::LOCK)).is_ok_and(|lock| lock.is_file() && lock.len() > 0);
    let iterations = config.get("iterations").and_then(toml::Value::as_integer).and_then(|all| u64::try_from(all).ok());
    let done = match iterations {
        Some(all) => made >= all,
        None => total.is_some_and(|total| u64::try_from(total).is_ok_and(|total| steps >= total)),
    };
    let settings: Vec<[String; 2]> = config.iter().map(|(key, value)| [key.clone(), show(value)]).collect();
    json!({
        "folder": folder.display().to_string(),
        "algorithm": text("algorithm"),
        "env": text("env"),
        "seed": text("seed"),
        "total": total,
        "writer": writer,
        "done": done,
        "quiet": quiet(folder),
        "device": version.get("device").and_then(Value::as_str),
        "version": version.get("quickstudy").and_then(Value::as_str),
        "settings": settings,
    })
}

/// Seconds since the last row was written, if there is one.
fn quiet(folder: &Path) -> Option<u64> {
    let files = [file::JSONL, file::CSV].iter().filter_map(|name| fs::metadata(folder.join(name)).ok());
    let written = files.filter(|meta| meta.len() > 0).filter_map(|meta| meta.modified().ok()).max()?;
    Some(SystemTime::now().duration_since(written).unwrap_or_default().as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::scratch;

    #[test]
    fn facts_are_those_that_files_tell() {
        let dir = scratch("watch-facts");
        let none = facts(&dir, 0, 0);
        assert_eq!((&none["env"], &none["writer"], &none["done"]), (&Value::Null, &json!(false), &json!(false)));
        fs::write(dir.join(file::CONFIG), "algorithm = \"ppo\"\nenv = \"<b>\"\nseed = 3\nsteps = 500\n").unwrap();
        fs::write(dir.join(file::LOCK), "pid 7\n").unwrap();
        fs::write(dir.join(file::JSONL), "{}\n").unwrap();
        fs::write(dir.join(file::VERSION), "{\"device\": \"cpu\"").unwrap();
        let some = facts(&dir, 512, 2);
        for (key, value) in [
            ("env", json!("<b>")),
            ("seed", json!("3")),
            ("total", json!(500)),
            ("writer", json!(true)),
            ("done", json!(true)),
            ("device", Value::Null),
        ] {
            assert_eq!(some[key], value, "{key}");
        }
        assert!(some["quiet"].as_u64().is_some_and(|quiet| quiet < 60), "{some}");
        assert_eq!(some["settings"][0], json!(["algorithm", "ppo"]));
    }
}
