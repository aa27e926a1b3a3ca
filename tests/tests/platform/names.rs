//! The register is the only list of algorithms: nothing else tells them apart by name. And a name is that of one type
//! of a crate.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use quickstudy_core::train::ALGORITHMS;
use quickstudy_tests::rooms::rooms;

fn sources(dir: &Path, ends: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !["tests", "node_modules", "dist", "target"].contains(&name.as_str()) {
            sources(&path, ends, found);
        } else if ends.iter().any(|end| name.ends_with(end)) && !name.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// String literals of a file without its tests and comments.
fn literals(text: &str) -> Vec<String> {
    let code = text.split("#[cfg(test)]").next().unwrap();
    let not_comment = |line: &&str| !["//", "*", "/*"].iter().any(|start| line.trim_start().starts_with(start));
    let code: String = code.lines().filter(not_comment).map(|line| format!("{line}\n")).collect();
    let (mut found, mut now) = (Vec::new(), None::<(char, String)>);
    let mut signs = code.chars().peekable();
    while let Some(sign) = signs.next() {
        match (&mut now, sign) {
            (None, '"' | '`') => now = Some((sign, String::new())),
            (None, '\'') if signs.peek() == Some(&'"') => {
                // The quote as a character.
                signs.next();
            }
            (Some((_, text)), '\\') => {
                text.push(' ');
                signs.next();
            }
            (Some((quote, _)), sign) if *quote == sign => found.extend(now.take().map(|(_, text)| text)),
            (Some((_, text)), sign) => text.push(sign),
            _ => {}
        }
    }
    found
}

/// Names of algorithms in a literal, and prefixes of such names that it consists of.
fn named(literal: &str) -> bool {
    let names: Vec<&str> = ALGORITHMS.iter().map(|def| def.name).collect();
    let mut words = literal.split(|c: char| !c.is_alphanumeric() && !"-_".contains(c));
    // `open` is an attribute of HTML.
    let prefix = literal.len() > 2 && literal != "open" && names.iter().any(|name| name.starts_with(literal));
    // An example command is for readers.
    !literal.contains("quickstudy ") && (words.any(|word| names.contains(&word)) || prefix)
}

#[test]
fn no_code_outside_of_their_rooms_tells_algorithms_apart_by_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for dir in ["kernels/src", "core/src", "gpu/src", "native-cli/src", "wasm/src"] {
        sources(&root.join(dir), &[".rs"], &mut files);
    }
    for dir in ["wasm/js", "web-demo/src"] {
        sources(&root.join(dir), &[".ts"], &mut files);
    }
    let (mut wrong, mut checked, rooms) = (Vec::new(), 0, rooms());
    for file in files {
        let own = file.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        // The data of the demo.
        if rooms.iter().any(|room| room.has(&own)) || own == "web-demo/src/policies.ts" {
            continue;
        }
        for literal in literals(&fs::read_to_string(&file).unwrap()) {
            checked += 1;
            if named(&literal) {
                wrong.push(format!("{own}: {literal}"));
            }
        }
    }
    assert!(checked > 3000, "{checked} literals");
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn names_and_their_prefixes_are_found_as_whole_words() {
    assert_eq!(literals("if x == \"ppo\" { y('\"', \"a \\\" b\") } // \"trpo\"")[..2], ["ppo", "a   b"]);
    assert!(named("ppo") && named("rl2") && named("maml-") && named("train `promp`"));
    assert!(!named("ppo_loss") && !named("quickstudy train ppo") && !named("improper") && !named(""));
}

/// The types that a file declares outside of its tests, and the aliases.
fn declared(text: &str) -> (Vec<&str>, Vec<&str>) {
    let (mut types, mut aliases) = (Vec::new(), Vec::new());
    for line in text.lines().take_while(|line| !line.ends_with("mod tests {")) {
        let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub") || *word == "unsafe");
        let (Some(kind), Some(rest)) = (words.next(), words.next()) else { continue };
        let name = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap();
        // The types of macros are `$name`s.
        if name.starts_with(|c: char| c.is_ascii_uppercase()) {
            match kind {
                "struct" | "enum" | "trait" | "union" => types.push(name),
                // Indented ones are a trait's.
                "type" if !line.starts_with(' ') => aliases.push(name),
                _ => {}
            }
        }
    }
    (types, aliases)
}

#[test]
fn no_two_types_of_a_crate_have_one_name() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for dir in ["kernels/src", "core/src", "gpu/src", "native-cli/src", "tests/src", "wasm/src"] {
        let mut files = Vec::new();
        sources(&root.join(dir), &[".rs"], &mut files);
        let (mut types, mut aliases) = (BTreeMap::<String, Vec<String>>::new(), Vec::new());
        for file in files {
            let own = file.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            let text = fs::read_to_string(&file).unwrap();
            let (named, other) = declared(&text);
            checked += named.len();
            named.iter().for_each(|name| types.entry((*name).to_owned()).or_default().push(own.clone()));
            aliases.extend(other.iter().map(|name| ((*name).to_owned(), own.clone())));
        }
        // The same alias may stand in several modules, but not beside a type of its name.
        for (name, file) in aliases {
            types.entry(name).and_modify(|files| files.push(file));
        }
        let several = types.iter().filter(|(_, files)| files.len() > 1);
        wrong.extend(several.map(|(name, files)| format!("{name} of {}", files.join(" and of "))));
    }
    assert!(checked > 500, "{checked} types");
    assert!(wrong.is_empty(), "give each of these types a name of its own:\n{}", wrong.join("\n"));
}

#[test]
fn types_and_aliases_are_found_as_declared() {
    let text = "/// struct A\npub(super) struct B<'a> {\nunsafe trait C: D {\n    enum E {\n    type F = u32;\n\
        pub type G = u32;\nstruct $name;\nmod tests {\nstruct H;";
    assert_eq!(declared(text), (vec!["B", "C", "E"], vec!["G"]));
}
