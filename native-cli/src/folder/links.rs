//! Symbolic links below folders that a command writes in: nothing is written through one.
//!
//! A command names a folder, and whoever sent it may have put links there to any file. So the folder itself and those
//! above it may be links, and what lies below may not. Reading follows links.

use super::file;
use super::finding::has_rows;
use crate::outcome::Stop;
use std::fs;
use std::path::Path;

/// Tells whether there is a symbolic link at this path.
pub(crate) fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink())
}

/// Refuses links on the way from a folder that was named to a path below it.
pub(crate) fn check_below(named: &Path, path: &Path) -> Result<(), Stop> {
    let below = path.ancestors().take_while(|place| *place != named && place.starts_with(named));
    match below.filter(|place| is_link(place)).last() {
        Some(link) => Err(Stop::user(format!(
            "{} is a link, and nothing is written through links in {}",
            link.display(),
            named.display()
        ))
        .hint("move it away, or name the place that it leads to")),
        None => Ok(()),
    }
}

/// Refuses a link at a path that nobody named, such as a result's usual name.
pub(crate) fn check_unnamed(path: &Path) -> Result<(), Stop> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    match parent {
        Some(parent) => check_below(parent, path),
        None if is_link(path) => {
            Err(Stop::user(format!("{} is a link, and nobody named what it leads to", path.display()))
                .hint("move it away, or name a file with --out"))
        }
        None => Ok(()),
    }
}

/// Refuses a result that the user named, if the way to it is through a link in a run folder.
pub(crate) fn check_result(path: &Path) -> Result<(), Stop> {
    let has = |folder: &Path, name: &str| folder.join(name).exists();
    let is_run = |folder: &Path| has(folder, file::LAST) || (has(folder, file::CONFIG) && has_rows(folder));
    let path = if path.is_absolute() { path.to_owned() } else { Path::new(".").join(path) };
    let folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    folders.filter(|folder| is_run(folder)).last().map_or(Ok(()), |run| check_below(run, &path))
}

/// Refuses links in the folders of a run's segments and of its kept snapshots.
pub(super) fn check_entries(folder: &Path) -> Result<(), Stop> {
    for name in [file::SEGMENTS, file::KEPT] {
        let below = folder.join(name);
        let entries = fs::read_dir(&below).into_iter().flatten().filter_map(Result::ok);
        entries.map(|entry| entry.path()).try_for_each(|path| check_below(&below, &path))?;
    }
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::folder::tests::scratch;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_below_a_named_folder_are_refused_and_those_above_are_not() {
        let dir = scratch("links");
        fs::create_dir_all(dir.join("real/run/segments")).unwrap();
        fs::write(dir.join("real/run").join(file::LAST), "").unwrap();
        symlink("real", dir.join("above")).unwrap();
        symlink("run", dir.join("real/linked")).unwrap();
        let [above, linked] = [dir.join("above"), dir.join("above/linked")];
        check_below(&linked, &linked.join("curve.csv")).unwrap();
        check_result(&linked.join("curve.csv")).unwrap();
        let stop = check_below(&above, &linked.join("curve.csv")).unwrap_err();
        assert!(stop.code == 2 && stop.message.contains("above/linked is a link"), "{stop}");
        assert!(stop.hint.contains("move it away"), "{}", stop.hint);
        // Where it leads to does not matter, nor whether there is something.
        symlink("/nowhere/at/all", dir.join("real/run/curves.svg")).unwrap();
        symlink("/nowhere", dir.join("real/run/segments/memory.transitions-0.rows")).unwrap();
        for result in [
            check_result(&linked.join("curves.svg")),
            check_unnamed(&linked.join("curves.svg")),
            check_entries(&linked),
            check_result(&linked.join("segments/memory.transitions-0.rows")),
        ] {
            assert_eq!(result.unwrap_err().code, 2);
        }
        check_unnamed(&linked.join("report.html")).unwrap();
        // Elsewhere a user may name a link.
        symlink("real", dir.join("elsewhere.svg")).unwrap();
        check_result(&dir.join("elsewhere.svg")).unwrap();
    }
}
