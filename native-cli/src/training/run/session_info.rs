//! The file that tells TensorBoard's plugin `hparams` the settings of a run, and that it has ended.
//!
//! It lies beside the events of the metrics, which the plugin takes the last values from, so that these stay rows
//! alone. Its name comes before theirs: TensorBoard reads the files of a folder in this order, and waits at the last.

use crate::files::reading::read_own_text;
use crate::folder::{RunFolder, file};
use crate::metrics::now;
use crate::metrics::tfevents::{self, Records, hparams};
use crate::outcome::Stop;
use toml::Table;

/// Writes that the run in this folder goes on, with the settings of its configuration.
pub(super) fn begin(folder: &RunFolder) -> Result<(), Stop> {
    let there = read(folder);
    let start = start(folder, began(&there));
    if there == start { Ok(()) } else { folder.write_unsynced(file::SESSION, &start) }
}

/// Writes that the run in this folder has ended, unless it is there already.
pub(super) fn end(folder: &RunFolder) -> Result<(), Stop> {
    let there = read(folder);
    let mut bytes = start(folder, began(&there));
    let begun = bytes.len();
    hparams::session_end(&mut bytes, now());
    if there.len() == bytes.len() && there[..begun] == bytes[..begun] {
        return Ok(());
    }
    folder.write_unsynced(file::SESSION, &bytes)
}

fn read(folder: &RunFolder) -> Vec<u8> {
    read_own_text(&folder.join(file::SESSION)).unwrap_or_default()
}

/// When the run began, as the file tells; otherwise now.
fn began(file: &[u8]) -> f64 {
    let first = Records::new(file, 0).next_event().ok().flatten();
    first.and_then(|event| tfevents::wall_time(&event)).unwrap_or_else(now)
}

fn start(folder: &RunFolder, began: f64) -> Vec<u8> {
    let config = read_own_text(&folder.join(file::CONFIG)).unwrap_or_default();
    let settings: Table = toml::from_str(&String::from_utf8_lossy(&config)).unwrap_or_default();
    let mut bytes = Vec::new();
    tfevents::begin(&mut bytes, began);
    hparams::session_start(&mut bytes, began, &settings);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::scratch;

    /// The events of the file, each with its time.
    fn events(folder: &RunFolder) -> Vec<f64> {
        let bytes = read(folder);
        let mut records = Records::new(&bytes[..], 0);
        std::iter::from_fn(|| records.next_event().unwrap()).map(|event| tfevents::wall_time(&event).unwrap()).collect()
    }

    #[test]
    fn an_end_stands_until_the_run_goes_on_and_the_beginning_stays() {
        let dir = scratch("session-info");
        let folder = RunFolder::create(&dir.join("run")).unwrap();
        folder.write(file::CONFIG, b"steps = 5\n").unwrap();
        begin(&folder).unwrap();
        let began = events(&folder);
        assert_eq!((began.len(), began[0]), (2, began[1]));
        end(&folder).unwrap();
        let ended = read(&folder);
        assert_eq!((events(&folder).len(), events(&folder)[0]), (3, began[0]));
        // A resume of a run that is finished changes nothing; one with more steps does.
        end(&folder).unwrap();
        assert!(read(&folder) == ended);
        folder.write(file::CONFIG, b"steps = 6\n").unwrap();
        begin(&folder).unwrap();
        assert_eq!(events(&folder), began);
        end(&folder).unwrap();
        assert!(read(&folder).len() == ended.len() && read(&folder) != ended);
        // Damage is replaced.
        folder.write(file::SESSION, b"?").unwrap();
        end(&folder).unwrap();
        assert_eq!(events(&folder).len(), 3);
    }
}
