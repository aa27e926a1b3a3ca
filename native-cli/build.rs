//! Tells the program which commit it is made of, where that is known.
//!
//! `QUICKSTUDY_COMMIT` (in full, with `-modified` where sources differ from it) and `QUICKSTUDY_COMMIT_DATE` (of the
//! commit, so that a build can be repeated to the byte) are taken from the environment, from what `cargo package`
//! wrote, or from git, in this order. Outside of git nothing is set, and the version stands alone. A new commit builds
//! this crate again, and none of those that it uses.
//!
//! Both are those of quickstudy. Sources that lie in the repository of another project, unpacked from a package or
//! copied, have none there: its commits are its own.

#![forbid(unsafe_code)]

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file that `cargo package` writes.
const RECORD: &str = ".cargo_vcs_info.json";
/// The sources that a commit is of.
const SOURCES: [&str; 5] = ["Cargo.toml", "Cargo.lock", "core", "gpu", "native-cli"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in ["QUICKSTUDY_COMMIT", "QUICKSTUDY_COMMIT_DATE"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let given = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let found = match given("QUICKSTUDY_COMMIT") {
        Some(commit) => Some((commit, given("QUICKSTUDY_COMMIT_DATE"))),
        None if package.join(RECORD).exists() => from_package(&package),
        None => from_git(&package),
    };
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let Some((commit, date)) = found else {
        println!("cargo::rustc-env=QUICKSTUDY_VERSION={version}");
        return;
    };
    let (hash, modified) = commit.split_at(commit.find('-').unwrap_or(commit.len()));
    let short = format!("{}{modified}", hash.get(..10).unwrap_or(hash));
    let dated = date.as_ref().map_or(String::new(), |date| format!(" of {date}"));
    println!("cargo::rustc-env=QUICKSTUDY_VERSION={version} (commit {short}{dated})");
    println!("cargo::rustc-env=QUICKSTUDY_COMMIT={commit}");
    if let Some(date) = date {
        println!("cargo::rustc-env=QUICKSTUDY_COMMIT_DATE={date}");
    }
}

/// Runs git in the package's folder and returns its output; none where it fails.
fn git(package: &Path, arguments: &[&str]) -> Option<String> {
    let done = Command::new("git").args(arguments).current_dir(package).env("TZ", "UTC").output().ok()?;
    let text = String::from_utf8(done.stdout).ok()?;
    done.status.success().then(|| text.trim().to_owned())
}

/// Commit and date of the work tree, if it is this workspace's own and not one that sources were copied into: then it
/// has all of them, where they are here.
fn from_git(package: &Path) -> Option<(String, Option<String>)> {
    let workspace = package.parent()?.canonicalize().ok()?;
    let top = git(package, &["rev-parse", "--show-toplevel"])?;
    let mut tracked = vec!["ls-files", "--error-unmatch", "--"];
    let manifests = ["core", "gpu", "native-cli"].map(|name| format!(":/{name}/Cargo.toml"));
    tracked.extend(manifests.iter().map(String::as_str));
    if Path::new(&top).canonicalize().ok()? != workspace || !package.ends_with("native-cli") {
        return None;
    }
    git(package, &tracked)?;
    // What names the commit, and the sources that may differ from it.
    let branch = git(package, &["symbolic-ref", "-q", "HEAD"]);
    for name in ["HEAD", "logs/HEAD", "packed-refs"].into_iter().chain(branch.as_deref()) {
        let path = package.join(git(package, &["rev-parse", "--git-path", name])?);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    for name in SOURCES.iter().filter(|name| workspace.join(name).exists()) {
        println!("cargo::rerun-if-changed={}", workspace.join(name).display());
    }
    let commit = git(package, &["rev-parse", "HEAD"])?;
    let date = git(package, &["show", "-s", "--format=%cd", "--date=format-local:%Y-%m-%d", "HEAD"])?;
    let mut status = vec!["status", "--porcelain", "--untracked-files=no", "--"];
    let paths = SOURCES.map(|name| format!(":/{name}"));
    status.extend(paths.iter().map(String::as_str));
    let modified = if git(package, &status)?.is_empty() { "" } else { "-modified" };
    Some((format!("{commit}{modified}"), Some(date)))
}

/// The commit that `cargo package` recorded.
fn from_package(package: &Path) -> Option<(String, Option<String>)> {
    let text = std::fs::read_to_string(package.join(RECORD)).ok()?;
    let (_, rest) = text.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?;
    let is_hash = commit.len() >= 10 && commit.chars().all(|c| c.is_ascii_hexdigit());
    is_hash.then(|| (commit.to_owned(), None))
}
