//! Where a run was made: `version.json` of its folder.

use crate::files::reading;
use crate::folder::{RunFolder, file};
use crate::outcome::Stop;
use crate::text::numbers::utc;
use crate::text::one_line;
use serde_json::{Value, json};
use std::time::SystemTime;

/// The commit that the program is made of, in full, with `-modified` where its sources differed.
const COMMIT: Option<&str> = option_env!("QUICKSTUDY_COMMIT");
/// When that was committed.
const COMMIT_DATE: Option<&str> = option_env!("QUICKSTUDY_COMMIT_DATE");

/// Writes `version.json`: versions, when the run was started, the device from now on, and which devices made the steps
/// before.
pub fn record(folder: &RunFolder, device: &str, threads: usize, env_steps: u64) -> Result<(), Stop> {
    let mut devices = devices(folder);
    // What came after a snapshot is made again.
    devices.retain(|(_, from)| *from < env_steps);
    if devices.last().is_none_or(|(last, _)| last != device) {
        devices.push((device.to_owned(), env_steps));
    }
    let devices: Vec<Value> = devices.into_iter().map(|(name, from)| json!({"name": name, "from": from})).collect();
    let now = utc(SystemTime::now());
    let started = read(folder).and_then(|version| Some(version.get("started")?.as_str()?.to_owned()));
    let version = json!({
        "quickstudy": env!("CARGO_PKG_VERSION"),
        "commit": COMMIT,
        "commit_date": COMMIT_DATE,
        "started": started.as_ref().filter(|_| env_steps > 0).unwrap_or(&now),
        "continued": (env_steps > 0).then_some(&now),
        "os": std::env::consts::OS,
        "arch": std::env::consts::ARCH,
        "device": device,
        "threads": threads,
        "devices": devices,
    });
    folder.write_unsynced(file::VERSION, format!("{version:#}\n").as_bytes())
}

/// The note that a run resumes on another device: resuming is exact on the same one only.
pub(crate) fn note_of_change(folder: &RunFolder, now: &str) -> Option<String> {
    let before = last_device(folder).filter(|before| before != now)?;
    Some(format!(
        "note: {} was trained on {} and continues on {now}: not bit for bit what it would have been",
        folder.path().display(),
        one_line(&before),
    ))
}

/// The device that made the last steps, if that is known.
fn last_device(folder: &RunFolder) -> Option<String> {
    Some(read(folder)?.get("device")?.as_str()?.to_owned())
}

/// Devices of the run and the environment steps from which on they made it, in order.
fn devices(folder: &RunFolder) -> Vec<(String, u64)> {
    let one = |entry: &Value| Some((entry.get("name")?.as_str()?.to_owned(), entry.get("from")?.as_u64()?));
    let listed = |version: Value| Some(version.get("devices")?.as_array()?.iter().filter_map(one).collect());
    read(folder).and_then(listed).unwrap_or_default()
}

/// The content of `version.json`; none where it cannot be read, which is no reason not to resume a run.
fn read(folder: &RunFolder) -> Option<Value> {
    serde_json::from_slice(&reading::read_own_text(&folder.join(file::VERSION)).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::scratch;

    #[test]
    fn every_device_of_a_run_is_kept_with_its_first_step() {
        let dir = scratch("provenance");
        let folder = RunFolder::create(&dir).unwrap();
        assert_eq!(last_device(&folder), None);
        record(&folder, "gpu", 2, 0).unwrap();
        record(&folder, "gpu", 2, 512).unwrap();
        record(&folder, "cpu", 2, 1024).unwrap();
        assert_eq!(last_device(&folder).as_deref(), Some("cpu"));
        let version = read(&folder).unwrap();
        let time = |key: &str| version[key].as_str().unwrap().to_owned();
        assert!(time("started") <= time("continued") && time("started").ends_with('Z'), "{version}");
        assert_eq!(version["commit"].as_str(), COMMIT);
        assert_eq!(devices(&folder), [("gpu".to_owned(), 0), ("cpu".to_owned(), 1024)]);
        // Resumed from an older snapshot, on the first device again.
        record(&folder, "gpu", 2, 768).unwrap();
        assert_eq!(devices(&folder), [("gpu".to_owned(), 0)]);
        folder.write_unsynced(file::VERSION, b"{").unwrap();
        assert_eq!((last_device(&folder), devices(&folder)), (None, Vec::new()));
    }
}
