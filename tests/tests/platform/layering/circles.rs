//! No two files of the core import each other: they would be one room, or miss a third.
//!
//! A file imports another where it names an item that the other defines, in a `use` or by a path, re-exports followed
//! to their end. A module that only declares and re-exports its children imports none of them. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::{root, sources};

/// Pairs that need each other, each with its reason; at most six.
const ALLOWED: [[&str; 3]; 4] = [
    [
        "algo/contract/algorithm.rs",
        "algo/contract/learned.rs",
        "each particle of a trained algorithm is an algorithm, which is trained",
    ],
    ["env/def.rs", "env/engine/erased.rs", "an environment behind a trait object makes a handle with another spec"],
    ["env/fields.rs", "env/real.rs", "a state consists of numbers, and numbers repeat steps of a state in registers"],
    ["grad/scan.rs", "grad/sweep.rs", "the derivative of a loop is a loop over the derivative of its body"],
];

type Names = Vec<String>;

/// A name that a file imports: its path as written, the name here, and whether it is handed on.
struct Import {
    path: Names,
    name: String,
    public: bool,
}

/// A file as far as imports are concerned.
struct Source {
    module: Names,
    defined: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths outside of `use`.
    paths: Vec<Names>,
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn parts(path: &str) -> Names {
    path.split("::").map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// The code of a file without comments and tests.
fn code(text: &str) -> String {
    let (mut out, mut lines) = (String::new(), text.lines().peekable());
    while let Some(line) = lines.next() {
        if line == "#[cfg(test)]" || line.starts_with("#[cfg(all(test") {
            let mut next = lines.next().unwrap_or_default();
            while next.starts_with("#[") {
                next = lines.next().unwrap_or_default();
            }
            if next.starts_with("mod tests {") {
                break;
            }
            while !next.ends_with([';', '}']) && lines.peek().is_some() {
                next = lines.next().unwrap_or_default();
            }
        } else if !line.trim_start().starts_with("//") {
            out += line;
            out.push('\n');
        }
    }
    out
}

/// The names of a `use` without its keyword and semicolon: each with its whole path.
fn names(tree: &str, before: &Names, public: bool, found: &mut Vec<Import>) {
    let Some(open) = tree.find('{') else {
        let (path, name) = tree.split_once(" as ").unwrap_or((tree, ""));
        let mut path = [before.clone(), parts(path)].concat();
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = if name.is_empty() { path.last().cloned().unwrap_or_default() } else { name.trim().to_owned() };
        found.push(Import { path, name, public });
        return;
    };
    let before = [before.clone(), parts(&tree[..open])].concat();
    let inside = &tree[open + 1..tree.rfind('}').unwrap()];
    let (mut depth, mut begin) = (0, 0);
    for (i, c) in inside.char_indices().chain([(inside.len(), ',')]) {
        depth += i32::from(c == '{') - i32::from(c == '}');
        if c == ',' && depth == 0 {
            if !inside[begin..i].trim().is_empty() {
                names(inside[begin..i].trim(), &before, public, found);
            }
            begin = (i + 1).min(inside.len());
        }
    }
}

/// The item that a line of code declares at the level of the module, or a type inside of a macro.
fn declared(line: &str) -> Option<String> {
    const KINDS: [&str; 9] = ["fn", "struct", "enum", "trait", "type", "const", "static", "union", "macro_rules!"];
    let mut words = line.split_whitespace().peekable();
    while words.peek().is_some_and(|word| word.starts_with("pub") || ["unsafe", "async"].contains(word)) {
        words.next();
    }
    let mut kind = words.next().filter(|kind| KINDS.contains(kind))?;
    let mut rest = words.next()?;
    if kind == "const" && ["fn", "unsafe"].contains(&rest) {
        (kind, rest) = ("fn", words.find(|word| !["fn", "unsafe"].contains(word))?);
    }
    let inside = line.starts_with(' ');
    let name: String = rest.chars().take_while(|c| is_name(*c)).collect();
    (!name.is_empty() && (!inside || (["struct", "enum"].contains(&kind) && line.contains("pub")))).then_some(name)
}

fn source(module: Names, text: &str) -> Source {
    let code = code(text);
    let (mut imports, mut rest, mut left) = (Vec::new(), String::new(), &code[..]);
    while !left.is_empty() {
        let (line, after) = left.split_once('\n').unwrap_or((left, ""));
        let public = line.trim_start().starts_with("pub");
        let start = line.trim_start().split_once("use ").map(|(before, _)| before.trim());
        if start.is_some_and(|before| before.is_empty() || (public && (before == "pub" || before.ends_with(')')))) {
            let (statement, after) = left.split_once(';').unwrap();
            names(&statement[statement.find("use ").unwrap() + 4..], &Vec::new(), public, &mut imports);
            left = after;
        } else {
            rest += line;
            rest.push('\n');
            left = after;
        }
    }
    let paths = rest.split(|c: char| !is_name(c) && c != ':').filter(|path| path.contains("::")).map(parts).collect();
    Source { module, defined: code.lines().filter_map(declared).collect(), imports, paths }
}

struct Crate(BTreeMap<String, Source>);

impl Crate {
    fn file(&self, module: &[String]) -> Option<&str> {
        self.0.iter().find(|(_, source)| source.module == module).map(|(file, _)| &file[..])
    }

    /// A path from the root of the crate, of one that is written in `source`; none of other crates and of local names.
    fn absolute(&self, source: &Source, path: &[String]) -> Option<Names> {
        let (first, rest) = path.split_first()?;
        match &first[..] {
            "crate" => Some(rest.to_vec()),
            "self" => Some([&source.module[..], rest].concat()),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let kept = source.module.len().checked_sub(ups)?;
                Some([&source.module[..kept], &path[ups..]].concat())
            }
            _ => {
                let child = [&source.module[..], &path[..1]].concat();
                self.file(&child).map(|_| [&source.module[..], path].concat())
            }
        }
    }

    /// The file that defines the item at a path from the root.
    fn home(&self, path: &[String], depth: usize) -> Option<&str> {
        let (file, rest) = (0..=path.len()).rev().find_map(|n| Some((self.file(&path[..n])?, &path[n..])))?;
        let source = &self.0[file];
        let name = rest.first()?;
        if source.defined.contains(name) {
            return Some(file);
        }
        if depth == 8 {
            return None;
        }
        source.imports.iter().find_map(|import| {
            let from = match &import.name[..] {
                "*" => [&import.path[..import.path.len() - 1], rest].concat(),
                own if own == name => [&import.path[..], &rest[1..]].concat(),
                _ => return None,
            };
            self.home(&self.absolute(source, &from)?, depth + 1)
        })
    }

    /// Pairs of files of which each names an item that the other defines.
    fn circles(&self) -> Vec<[&str; 2]> {
        let mut edges = BTreeSet::new();
        for (file, source) in &self.0 {
            let local = |path: &Names| {
                let import = source.imports.iter().find(|import| import.name == path[0]);
                import.map_or_else(|| path.clone(), |import| [&import.path[..], &path[1..]].concat())
            };
            let used = source.imports.iter().filter(|import| !import.public).map(|import| import.path.clone());
            for path in used.chain(source.paths.iter().filter(|path| !path.is_empty()).map(local)) {
                let home = self.absolute(source, &path).and_then(|path| self.home(&path, 0));
                edges.extend(home.filter(|home| home != file).map(|home| [&file[..], home]));
            }
        }
        edges.iter().filter(|[a, b]| a < b && edges.contains(&[*b, *a])).copied().collect()
    }
}

fn module(file: &str) -> Names {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    path.split('/').filter(|part| !["lib", "mod"].contains(part)).map(str::to_owned).collect()
}

fn of(files: &[(&str, &str)]) -> Crate {
    Crate(files.iter().map(|(file, text)| ((*file).to_owned(), source(module(file), text))).collect())
}

#[test]
fn no_two_files_of_the_core_import_each_other() {
    let src = root().join("core/src");
    let mut files = Vec::new();
    sources(&src, &mut files);
    let name = |file: &Path| file.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/");
    let texts: Vec<(String, String)> = files
        .iter()
        .map(|file| (name(file), fs::read_to_string(file).unwrap()))
        .filter(|(name, _)| !name.ends_with("tests.rs") && !name.contains("/tests/"))
        .collect();
    let core = of(&texts.iter().map(|(name, text)| (&name[..], &text[..])).collect::<Vec<_>>());
    assert!(core.0.len() > 300, "the test looks at files");
    let circles = core.circles();
    let pair = |[a, b, _]: &[&'static str; 3]| [*a, *b];
    let wrong: Vec<_> =
        circles.iter().filter(|found| !ALLOWED.iter().map(pair).any(|known| known == **found)).collect();
    assert!(wrong.is_empty(), "move what both need into a third file:\n{wrong:#?}");
    let gone: Vec<_> = ALLOWED.iter().map(pair).filter(|known| !circles.contains(known)).collect();
    assert!(gone.is_empty() && ALLOWED.len() <= 6, "these do not import each other any more:\n{gone:#?}");
}

#[test]
fn circles_are_found_through_lists_paths_and_re_exports() {
    let b = "use crate::a::{One, two};\npub struct B;\n";
    let found =
        |a: &str| of(&[("lib.rs", "mod a;\nmod c;\n"), ("a.rs", a), ("c/mod.rs", C), ("c/b.rs", b)]).circles().len();
    const C: &str = "mod b;\npub use b::B;\n";
    assert_eq!(found("pub struct One;\npub const fn two() {}\n"), 0);
    assert_eq!(found("use crate::c::B;\npub struct One;\n"), 1);
    assert_eq!(found("use crate::{\n    c::{\n        B as Other,\n    },\n};\npub enum One {}\n"), 1);
    assert_eq!(found("fn two() -> crate::c::b::B {}\n"), 1);
    assert_eq!(found("use super::c;\nfn two() { c::B }\n"), 1);
    assert_eq!(found("use super::c::*;\nuse other::B;\nfn two() {}\n"), 0);
    // Comments, tests, and items that are handed on.
    assert_eq!(found("// crate::c::B\nfn two() {}\n#[cfg(test)]\nmod tests {\n    use crate::c::B;\n}\n"), 0);
    assert_eq!(found("#[cfg(test)]\nuse crate::c::B;\nfn two() {}\n"), 0);
    assert_eq!(found("pub use crate::c::B;\nfn two() {}\n"), 0);
}

#[test]
fn a_module_that_uses_its_child_is_in_a_circle_if_the_child_uses_what_it_defines() {
    let found = |parent: &str| {
        of(&[("a/mod.rs", parent), ("a/b.rs", "use super::{One, Two};\npub struct B;\n")]).circles().len()
    };
    assert_eq!(found("mod b;\npub use b::B;\npub struct One;\n"), 0);
    assert_eq!(found("mod b;\nuse b::B;\npub struct One;\n"), 1);
    assert_eq!(found("mod b;\npub struct One(b::B);\n"), 1);
    assert_eq!(found("mod b;\nuse b::B;\n"), 0);
}
