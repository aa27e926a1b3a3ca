//! Who may import whom, and how long a file may be.

#![allow(clippy::unwrap_used, reason = "a test may")]

mod circles;
mod graph;
mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use quickstudy_tests::rooms::{files_below, repository};

use graph::Graph;

/// Crates and the modules at the top of each, by rooms, the lowest first. A module may import those of its own room and
/// of lower ones.
const CRATES: [(&str, &[&[&str]]); 6] = [
    ("kernels", &[&["error", "rng", "math", "settings"], &["tensor", "program", "backend", "grad"], &["env"]]),
    (
        "core",
        &[
            &["nn", "dist", "optim"],
            &["credit", "host", "learn", "replay", "task"],
            &["policy"],
            &["play"],
            &["algo"],
            &["meta"],
            &["train"],
        ],
    ),
    (
        "gpu",
        &[
            &["adapter", "clock", "limits", "tile", "work"],
            &["plan"],
            &["pace", "wgsl"],
            &["context", "compile"],
            &["large", "pipeline", "predict"],
            &["buffer"],
            &["exec", "read"],
            &["backend"],
        ],
    ),
    (
        "bridge",
        &[
            &["deck", "failure", "group", "message", "name", "standard_error"],
            &["outcome", "probe", "spec"],
            &["interpreter"],
            &["worker"],
            &["member", "pool"],
            &["fault_log"],
            &["workers"],
            &["place", "recording"],
        ],
    ),
    (
        "native-cli",
        &[
            &["text", "statistics", "onnx"],
            &["outcome"],
            &["json"],
            &["ranks"],
            &["machine"],
            &["files"],
            &["folder"],
            &["terminal"],
            &["settings"],
            &["metrics", "pictures"],
            &["curve"],
            &["results", "training"],
            &["studies", "watch"],
            &["benchmarks"],
            &["verbs"],
            &["cli"],
        ],
    ),
    (
        "wasm",
        &[
            &["thrown"],
            &["device", "js", "scene"],
            &["describe", "js_env"],
            &["js_executor"],
            &["session"],
            &["policy"],
            &["viewer"],
        ],
    ),
];

/// The files of Rust in a folder of the repository.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    files_below(&repository().join(folder), &mut files);
    files.retain(|file| file.extension().is_some_and(|end| end == "rs"));
    assert!(!files.is_empty(), "there is no {folder}");
    files
}

/// The imports of each crate, read once for all tests.
static GRAPHS: LazyLock<BTreeMap<&str, Graph>> = LazyLock::new(|| {
    let read = |name: &str| {
        let src = repository().join(name).join("src");
        Graph::read(|file| fs::read_to_string(src.join(file)).ok()).unwrap()
    };
    CRATES.iter().map(|(name, _)| (*name, read(name))).collect()
});

/// The module at the top of a crate that a file belongs to; none for the crate's root.
fn top(file: &str) -> Option<&str> {
    file.split(['/', '.']).next().filter(|module| *module != "lib")
}

#[test]
fn modules_import_only_lower_rooms_and_each_has_one() {
    for (name, rooms) in CRATES {
        let graph = &GRAPHS[name];
        let room = |module: &str| rooms.iter().position(|room| room.contains(&module));
        let mut listed: Vec<&str> = rooms.concat();
        let mut modules = graph.children(&[]);
        listed.sort_unstable();
        modules.sort_unstable();
        assert_eq!(modules, listed, "the rooms of {name} are not its modules");
        let mut wrong = Vec::new();
        for edge in graph.edges() {
            let Some(mine) = top(&edge.from).and_then(room) else { continue };
            // The module that defines an item, and the one by whose name it is imported.
            let theirs = top(&edge.to).and_then(room).max(room(&edge.path[0]));
            if theirs.is_some_and(|theirs| theirs > mine) {
                wrong.push(format!("{} imports {} of {}", edge.from, edge.path.join("::"), edge.to));
            }
        }
        assert!(wrong.is_empty(), "{name}: these are in higher rooms:\n{}", wrong.join("\n"));
    }
}

/// SVPG's particles are A2C, PPO and TRPO, whose losses it names.
#[test]
fn algorithms_do_not_import_each_other() {
    let graph = &GRAPHS["core"];
    let families = ["on_policy", "off_policy", "search"];
    let names: Vec<String> = families
        .iter()
        .flat_map(|family| {
            graph.children(&["algo", family]).into_iter().map(move |name| format!("algo/{family}/{name}"))
        })
        .filter(|room| !room.ends_with("/shared"))
        .collect();
    assert!(names.len() >= 15, "{names:?}");
    let room = |file: &str| {
        let has =
            |room: &&String| file.strip_prefix(&room[..]).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'));
        names.iter().find(has)
    };
    for edge in graph.edges() {
        let (Some(own), Some(other)) = (room(&edge.from), room(&edge.to)) else { continue };
        let particle = own.ends_with("/svpg") && ["a2c", "ppo", "trpo"].iter().any(|name| other.ends_with(name));
        assert!(own == other || particle, "{} imports {}", edge.from, edge.to);
    }
}

#[test]
fn the_gpu_crate_sees_tensors_programs_and_backends_only() {
    // The root's re-exports, and five modules.
    let known = ["tensor", "program", "backend", "math", "rng", "DType", "Error", "Result", "Device"];
    let graph = &GRAPHS["gpu"];
    let names: Vec<&str> = graph.of_other("quickstudy_kernels").collect();
    assert!(names.len() > 30, "the test looks at paths");
    let unknown: Vec<_> = names.into_iter().filter(|name| !known.contains(name)).collect();
    assert_eq!(unknown, Vec::<&str>::new());
}

const FOLDERS: [&str; 7] = ["kernels", "core", "gpu", "bridge", "native-cli", "wasm", "tests"];

#[test]
fn a_module_with_children_is_a_file_beside_their_folder() {
    let all = FOLDERS.iter().flat_map(|folder| sources(folder));
    let mod_files = all.filter(|file| file.ends_with("mod.rs"));
    assert_eq!(mod_files.collect::<Vec<_>>(), Vec::<PathBuf>::new());
}

#[test]
fn no_file_is_longer_than_500_lines() {
    let long: Vec<String> = FOLDERS
        .iter()
        .flat_map(|folder| sources(&format!("{folder}/src")))
        .map(|f| (fs::read_to_string(&f).unwrap().lines().count(), f))
        .filter(|(n, _)| *n > 500)
        .map(|(n, f)| format!("{} has {n} lines", f.display()))
        .collect();
    assert_eq!(long, Vec::<String>::new());
}

/// Where the crate of kernels may have `unsafe`, as ARCHITECTURE.md says.
const UNSAFE: [&str; 9] = [
    "backend/cpu/simd",
    "backend/cpu/memory.rs",
    "backend/cpu/tile/chains.rs",
    "backend/cpu/tile/run.rs",
    "backend/cpu/tile/rows.rs",
    "env/engine/x86",
    "env/engine/block.rs",
    "env/engine/pack.rs",
    "env/engine/register_tests.rs",
];

#[test]
fn unsafe_code_is_in_kernels_and_registers_and_nowhere_else() {
    let src = repository().join("kernels/src");
    let mut with = 0;
    for file in sources("kernels/src") {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        if code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).any(|word| word == "unsafe") {
            with += 1;
            let name = file.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
            assert!(UNSAFE.iter().any(|allowed| name.starts_with(allowed)), "{name}");
        }
    }
    assert!(with > 10, "the test looks at code");
    let architecture = fs::read_to_string(repository().join("ARCHITECTURE.md")).unwrap();
    for allowed in UNSAFE.iter().filter(|name| !name.ends_with("_tests.rs")) {
        let short = allowed.trim_start_matches("backend/");
        assert!(architecture.contains(&format!("`{short}`")), "ARCHITECTURE.md does not name {short}");
    }

    // A crate forbids it from its root on, and so does each test, bench, example and program.
    let mut roots: Vec<PathBuf> = ["core/src", "gpu/src", "bridge/src", "native-cli/src", "tests/src", "wasm/src"]
        .iter()
        .map(|dir| repository().join(dir).join("lib.rs"))
        .collect();
    roots.push(repository().join("native-cli/src/main.rs"));
    let programs = ["gpu/benches", "native-cli/benches", "native-cli/examples", "tests/src/bin"];
    roots.extend(programs.iter().flat_map(|folder| sources(folder)));
    for folder in fs::read_dir(repository().join("tests/tests")).unwrap() {
        roots.push(folder.unwrap().path().join("main.rs"));
    }
    assert!(roots.len() > 12);
    for file in roots {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("\n#![forbid(unsafe_code)]\n"), "{} does not forbid unsafe code", file.display());
    }
}
