//! Which file of a crate imports which: one that names an item that the other defines, re-exports followed to their
//! end.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Module, Names, Source};

/// The files of a crate, and what they define and name.
#[derive(Default)]
pub struct Graph {
    /// Modules by their paths from the root, each with its file.
    modules: BTreeMap<Names, (String, Module)>,
    /// The files of macros that are exported by `macro_export`.
    exported: BTreeMap<String, String>,
}

/// An import of one file by another.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Edge {
    pub from: String,
    pub to: String,
    /// The path as it is from the root of the crate.
    pub path: Names,
    /// Handed on by `pub use`, which makes no circle.
    pub public: bool,
}

impl Graph {
    /// Reads a crate from its root on, where `text` gives the text of a file.
    pub fn read(text: impl Fn(&str) -> Option<String>) -> Result<Graph, String> {
        let (mut graph, mut left) = (Graph::default(), vec![Names::new()]);
        while let Some(module) = left.pop() {
            let file = if module.is_empty() { "lib.rs".to_owned() } else { module.join("/") + ".rs" };
            let text = text(&file).ok_or_else(|| format!("there is no {file}"))?;
            let source = Source::read(&module, &text).map_err(|error| format!("{file}: {error}"))?;
            left.extend(source.children);
            graph.exported.extend(source.exported.into_iter().map(|name| (name, file.clone())));
            graph.modules.extend(source.modules.into_iter().map(|m| (m.path.clone(), (file.clone(), m))));
        }
        Ok(graph)
    }

    /// Its files.
    pub fn files(&self) -> BTreeSet<&str> {
        self.modules.values().map(|(file, _)| file.as_str()).collect()
    }

    /// The modules inside of one that are files.
    pub fn children(&self, of: &[&str]) -> Vec<&str> {
        let inside = |path: &&Names| path.len() == of.len() + 1 && path.iter().zip(of).all(|(a, b)| a == b);
        let is_file = |path: &&Names| self.modules[*path].0 == path.join("/") + ".rs";
        self.modules.keys().filter(inside).filter(is_file).map(|path| path[path.len() - 1].as_str()).collect()
    }

    /// The names at the root of another crate that this one imports or names.
    pub fn of_other<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let paths = |module: &'a Module| module.imports.iter().map(|import| &import.path).chain(&module.named);
        let all = self.modules.values().flat_map(move |(_, module)| paths(module));
        all.filter(move |path| path[0] == name).filter_map(|path| path.get(1)).map(String::as_str)
    }

    /// A path from the root, of one that is written in a module; none of other crates and of local names.
    fn absolute(&self, module: &Module, path: &[String], depth: usize) -> Option<Names> {
        let (first, rest) = path.split_first()?;
        match &first[..] {
            "crate" => return Some(rest.to_vec()),
            "self" => return Some([&module.path, rest].concat()),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let kept = module.path.len().checked_sub(ups)?;
                return Some([&module.path[..kept], &path[ups..]].concat());
            }
            _ => {}
        }
        let own = [&module.path[..], path].concat();
        if module.defined.contains(first) || self.modules.contains_key(&own[..=module.path.len()]) {
            return Some(own);
        }
        let plain = first.trim_end_matches('!');
        let import = module.imports.iter().find(|import| import.name == plain && import.path[..] != path[..1])?;
        // A macro's import leads to a macro.
        let mark = if plain == first { "" } else { "!" };
        let (last, before) = import.path.split_last()?;
        let path = [before, &[format!("{last}{mark}")], rest].concat();
        if depth == 0 { None } else { self.absolute(module, &path, depth - 1) }
    }

    /// The file that defines the item at a path from the root.
    fn home(&self, path: &[String], depth: usize) -> Option<&str> {
        let depth = depth.checked_sub(1)?;
        let inside = |n: &usize| self.modules.contains_key(&path[..*n]);
        // A last name that is a module's may be an item's too.
        let split = (0..path.len()).rev().find(inside)?;
        let ((file, module), rest) = (&self.modules[&path[..split]], &path[split..]);
        let name = rest.first()?;
        let called = format!("{name}!");
        if module.defined.contains(name) || rest.len() == 1 && module.defined.contains(&called) {
            return Some(file);
        }
        let exported = || self.exported.get(name).or_else(|| self.exported.get(&called)).filter(|_| split == 0);
        let imported = module.imports.iter().find_map(|import| {
            let from = match &import.name[..] {
                "*" => [&import.path[..import.path.len() - 1], rest].concat(),
                own if own == name.trim_end_matches('!') => {
                    let mark = &name[own.len()..];
                    let (last, before) = import.path.split_last()?;
                    [before, &[format!("{last}{mark}")], &rest[1..]].concat()
                }
                _ => return None,
            };
            self.home(&self.absolute(module, &from, depth)?, depth)
        });
        imported.or_else(|| exported().map(String::as_str))
    }

    /// Every path of a crate that leads to an item of it, with the file that defines the item.
    pub fn edges(&self) -> BTreeSet<Edge> {
        const DEPTH: usize = 8;
        let mut edges = BTreeSet::new();
        for (file, module) in self.modules.values() {
            let imports = module.imports.iter().map(|import| (import.path.clone(), import.public));
            for (path, public) in imports.chain(module.named.iter().map(|path| (path.clone(), false))) {
                let globs = module
                    .imports
                    .iter()
                    .filter(|import| import.name == "*")
                    .map(|import| [&import.path[..import.path.len() - 1], &path].concat());
                let ways = std::iter::once(path.clone()).chain(globs);
                let found = ways.filter_map(|path| self.absolute(module, &path, DEPTH)).find_map(|path| {
                    let to = self.home(&path, DEPTH)?.to_owned();
                    Some(Edge { from: file.clone(), to, path, public })
                });
                edges.extend(found.filter(|edge| edge.from != edge.to));
            }
        }
        edges
    }

    /// Pairs of files of which each names an item that the other defines.
    pub fn circles(&self) -> Vec<[String; 2]> {
        let edges: BTreeSet<_> =
            self.edges().into_iter().filter(|edge| !edge.public).map(|edge| [edge.from, edge.to]).collect();
        edges.iter().filter(|[a, b]| a < b && edges.contains(&[b.clone(), a.clone()])).cloned().collect()
    }
}
