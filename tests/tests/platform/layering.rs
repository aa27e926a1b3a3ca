//! Who may import whom, and how long a file may be.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::{Path, PathBuf};

mod circles;

/// Modules of the core, the lowest first. A module may import those of its own layer and of the layers before it.
const LAYERS: [&[&str]; 10] = [
    &["error", "rng", "math", "settings"],
    &["tensor", "program", "backend", "grad"],
    &["nn", "dist", "optim"],
    &["env"],
    &["credit", "host", "learn", "replay", "task"],
    &["policy"],
    &["play"],
    &["algo"],
    &["meta"],
    &["train"],
];

fn sources(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn layer(module: &str) -> Option<usize> {
    LAYERS.iter().position(|l| l.contains(&module))
}

/// The first names of the paths that follow `prefix` in a file's text: one, or those of a list in braces.
/// Comments and tests at its end are left out.
fn names_after(text: &str, prefix: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let code: String = code.lines().filter(|l| !l.trim_start().starts_with("//")).flat_map(|l| [l, "\n"]).collect();
    let name =
        |path: &str| -> String { path.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let mut found = Vec::new();
    for (at, _) in code.match_indices(prefix) {
        let own_word = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
        let path = &code[at + prefix.len()..];
        match path.strip_prefix('{') {
            _ if !own_word => {}
            None => found.push(name(path)),
            Some(list) => {
                let (mut depth, mut begin) = (0, 0);
                for (i, c) in list.char_indices() {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    if (c == ',' && depth == 0) || depth < 0 {
                        found.push(name(&list[begin..i]));
                        begin = i + 1;
                    }
                    if depth < 0 {
                        break;
                    }
                }
            }
        }
    }
    found.retain(|name| !name.is_empty());
    found
}

/// Modules of the core that a file names, from the crate's root down or by `super` up to it.
fn imports(src: &Path, file: &Path, text: &str) -> Vec<String> {
    let module = file.strip_prefix(src).unwrap().with_extension("");
    let depth = module.components().count() - usize::from(module.ends_with("mod"));
    let mut found = names_after(text, "crate::");
    found.extend(names_after(text, &"super::".repeat(depth)));
    found
}

#[test]
fn names_are_found_in_lists_and_through_super() {
    let text = "use crate::{Error, algo::{Held, ppo},\n    meta::config};\n// crate::train\n\
        fn f() { crate::env::g() }\nuse super::super::play::Play;\nuse quickstudy_crate::wrong;\n\
        #[cfg(test)]\nmod tests { use crate::train; }";
    let found = imports(Path::new("src"), Path::new("src/nn/gru.rs"), text);
    assert_eq!(found, ["Error", "algo", "meta", "env", "play"]);
    assert_eq!(imports(Path::new("src"), Path::new("src/nn/mod.rs"), "use super::{algo, env};"), ["algo", "env"]);
    assert_eq!(imports(Path::new("src"), Path::new("src/nn/gru.rs"), "use super::algo;"), Vec::<String>::new());
}

#[test]
fn core_modules_import_only_lower_layers() {
    let src = root().join("core/src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut wrong = Vec::new();
    let mut checked = 0;
    for file in files {
        let own = file.strip_prefix(&src).unwrap().components().next().unwrap().as_os_str().to_str().unwrap();
        let own = own.trim_end_matches(".rs");
        let (Some(mine), false) = (layer(own), file.ends_with("tests.rs")) else { continue };
        for import in imports(&src, &file, &fs::read_to_string(&file).unwrap()) {
            checked += 1;
            if layer(&import).is_some_and(|l| l > mine) {
                wrong.push(format!("{} imports {import}", file.display()));
            }
        }
    }
    assert!(checked > 100, "the test looks at imports");
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_core_module_has_a_layer() {
    let lib = fs::read_to_string(root().join("core/src/lib.rs")).unwrap();
    let modules: Vec<&str> = lib
        .lines()
        .filter_map(|l| l.trim_start_matches("pub ").strip_prefix("mod "))
        .filter_map(|l| l.strip_suffix(';'))
        .collect();
    assert!(modules.len() > 8);
    let missing: Vec<&&str> = modules.iter().filter(|m| layer(m).is_none()).collect();
    assert_eq!(missing, Vec::<&&str>::new());
}

/// The modules that a file of Rust declares.
fn declared(file: &Path) -> Vec<String> {
    let text = fs::read_to_string(file).unwrap();
    let name = |line: &str| Some(line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';')?.to_owned());
    text.lines().filter_map(name).collect()
}

/// Algorithms of a family import no others. SVPG's particles are A2C, PPO and TRPO, whose losses it names.
#[test]
fn algorithms_do_not_import_each_other() {
    let dir = root().join("core/src/algo");
    let families = ["on_policy", "off_policy", "search"];
    let of_family = |family: &&str| declared(&dir.join(format!("{family}.rs"))).into_iter().filter(|m| m != "shared");
    let names: Vec<String> = families.iter().flat_map(of_family).collect();
    assert!(names.len() >= 15, "{names:?}");
    let mut files = Vec::new();
    sources(&dir, &mut files);
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let path = file.strip_prefix(&dir).unwrap().to_str().unwrap().trim_end_matches(".rs");
        let Some(own) = path.split('/').find(|part| names.iter().any(|name| name == part)) else { continue };
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let mut named = Vec::new();
        for before in ["algo::", "crate::algo::", "super::", "super::super::", "super::super::super::"] {
            named.extend(names_after(code, before));
            named.extend(families.iter().flat_map(|family| names_after(code, &format!("{before}{family}::"))));
        }
        let others = names.iter().filter(|name| *name != own && named.contains(name));
        let allowed: &[&str] = if own == "svpg" { &["a2c", "ppo", "trpo"] } else { &[] };
        let others: Vec<&String> = others.filter(|name| !allowed.contains(&name.as_str())).collect();
        assert_eq!(others, Vec::<&String>::new(), "{} imports them", file.display());
    }
}

#[test]
fn no_file_is_longer_than_500_lines() {
    let mut files = Vec::new();
    for dir in ["core/src", "gpu/src", "native-cli/src", "tests/src", "wasm/src"] {
        sources(&root().join(dir), &mut files);
    }
    let long: Vec<String> = files
        .iter()
        .map(|f| (f, fs::read_to_string(f).unwrap().lines().count()))
        .filter(|(_, n)| *n > 500)
        .map(|(f, n)| format!("{} has {n} lines", f.display()))
        .collect();
    assert_eq!(long, Vec::<String>::new());
}

#[test]
fn the_gpu_crate_sees_tensors_programs_and_backends_only() {
    let mut files = Vec::new();
    sources(&root().join("gpu/src"), &mut files);
    assert!(files.len() > 8);
    for file in files {
        for line in fs::read_to_string(&file).unwrap().lines() {
            let Some((_, part)) = line.split_once("quickstudy_core::") else { continue };
            let module = part.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
            // The root's re-exports, or one of the four modules.
            let known = ["", "tensor", "program", "backend", "rng", "DType", "Error", "Result", "Device"];
            assert!(known.contains(&module), "{}: {line}", file.display());
        }
    }
}

/// Where the core may have `unsafe`, as ARCHITECTURE.md says.
const UNSAFE: [&str; 9] = [
    "backend/cpu/simd/",
    "backend/cpu/memory.rs",
    "backend/cpu/tile/chains.rs",
    "backend/cpu/tile/run.rs",
    "backend/cpu/tile/rows.rs",
    "env/engine/x86/",
    "env/engine/block.rs",
    "env/engine/pack.rs",
    "env/engine/register_tests.rs",
];

#[test]
fn unsafe_code_is_in_kernels_of_the_core_and_nowhere_else() {
    let src = root().join("core/src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let mut with = 0;
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        if code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_')).any(|word| word == "unsafe") {
            with += 1;
            let name = file.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
            assert!(UNSAFE.iter().any(|allowed| name.starts_with(allowed)), "{name}");
        }
    }
    assert!(with > 10, "the test looks at code");
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for allowed in UNSAFE.iter().filter(|name| !name.ends_with("_tests.rs")) {
        let short = allowed.trim_start_matches("backend/").trim_end_matches('/');
        assert!(architecture.contains(&format!("`{short}`")), "ARCHITECTURE.md does not name {short}");
    }

    // A crate forbids it from its root on, and so does each test, bench, example and program.
    let mut roots: Vec<PathBuf> = ["gpu/src", "native-cli/src", "tests/src", "wasm/src"]
        .iter()
        .map(|dir| root().join(dir).join("lib.rs"))
        .collect();
    roots.push(root().join("native-cli/src/main.rs"));
    for dir in ["gpu/benches", "native-cli/examples", "tests/src/bin"] {
        sources(&root().join(dir), &mut roots);
    }
    for folder in fs::read_dir(root().join("tests/tests")).unwrap() {
        roots.push(folder.unwrap().path().join("main.rs"));
    }
    assert!(roots.len() > 12);
    for file in roots {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("\n#![forbid(unsafe_code)]\n"), "{} does not forbid unsafe code", file.display());
    }
}
