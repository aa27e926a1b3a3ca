//! No two files of a crate import each other: they would be one room, or miss a third.
//!
//! A module that only declares and re-exports its children imports none of them. Tests do not count.

use super::graph::Graph;
use super::{CRATES, GRAPHS};

/// Pairs that need each other, each with its crate and its reason; at most six.
const ALLOWED: [[&str; 4]; 6] = [
    [
        "core",
        "algo/contract/algorithm.rs",
        "algo/contract/learned.rs",
        "each particle of a trained algorithm is an algorithm, which is trained",
    ],
    [
        "kernels",
        "env/def.rs",
        "env/engine/erased.rs",
        "an environment behind a trait object makes a handle with another spec",
    ],
    [
        "kernels",
        "env/fields.rs",
        "env/real.rs",
        "a state consists of numbers, and numbers repeat steps of a state in registers",
    ],
    ["kernels", "grad/scan.rs", "grad/sweep.rs", "the derivative of a loop is a loop over the derivative of its body"],
    ["native-cli", "metrics.rs", "metrics/rewind.rs", "the log goes back by it, and it writes rows as the log does"],
    ["native-cli", "metrics.rs", "metrics/rows.rs", "rows are read as the numbers that the log writes"],
];

#[test]
fn no_two_files_import_each_other() {
    let mut found = Vec::new();
    for (name, _) in CRATES {
        let graph = &GRAPHS[name];
        assert!(graph.files().len() > 10, "the test looks at the files of {name}");
        found.extend(graph.circles().into_iter().map(|[a, b]| [name.to_owned(), a, b]));
    }
    let allowed = ALLOWED.map(|[name, a, b, _reason]| [name.to_owned(), a.to_owned(), b.to_owned()]);
    let wrong: Vec<_> = found.iter().filter(|pair| !allowed.contains(pair)).collect();
    assert!(wrong.is_empty(), "move what both need into a third file:\n{wrong:#?}");
    let gone: Vec<_> = allowed.iter().filter(|pair| !found.contains(pair)).collect();
    assert!(gone.is_empty() && ALLOWED.len() <= 6, "these do not import each other any more:\n{gone:#?}");
}

/// The number of circles in a crate of these files.
fn circles(files: &[(&str, &str)]) -> usize {
    let text = |name: &str| files.iter().find(|(file, _)| *file == name).map(|(_, text)| (*text).to_owned());
    Graph::read(text).unwrap().circles().len()
}

#[test]
fn circles_are_found_through_lists_paths_and_re_exports() {
    let b = "use crate::a::{One, two};\npub struct B;\npub fn b() {}\n#[macro_export]\nmacro_rules! be { () => {} }";
    let c = "mod b;\npub use b::{B, b};";
    let lib = "mod a;\nmod c;\npub use c::b as renamed;";
    let found = |a: &str| circles(&[("lib.rs", lib), ("a.rs", a), ("c.rs", c), ("c/b.rs", b)]);
    assert_eq!(found("pub struct One; pub const fn two() {}"), 0);
    assert_eq!(found("use crate::c::B; pub struct One;"), 1);
    assert_eq!(found("use crate::{c::{B as Other}}; pub enum One {}"), 1);
    assert_eq!(found("fn two() -> crate::c::b::B {}"), 1);
    assert_eq!(found("use super::c; pub fn two() { c::B }"), 1);
    assert_eq!(found("use super::c::*; fn two() -> B {}"), 1);
    assert_eq!(found("mod inner { use super::super::c::B; }\nstruct One;"), 1);
    assert_eq!(found("fn two() { crate::renamed() }"), 1);
    assert_eq!(found("fn two() { use crate::c; c::b(); }"), 1);
    assert_eq!(found("impl Iterator for One { type Item = super::c::B; }\nstruct One;"), 1);
    assert_eq!(found("pub use crate::c::B;\npub struct One(B);"), 1);
    // A name of another crate, of the file itself, and one that is only handed on.
    assert_eq!(found("use super::c::*; use other::B; use ::c::b as x; fn two() {}"), 0);
    assert_eq!(found("struct B; fn two() -> B {}"), 0);
    assert_eq!(found("pub use crate::c::B; fn two() {}"), 0);
    assert_eq!(found("// crate::c::B\nfn two() {}"), 0);
}

#[test]
fn circles_are_found_in_macros() {
    let b = "use crate::a::{One, ones};\npub struct B;\n#[macro_export]\nmacro_rules! be { () => {} }";
    let found = |a: &str| circles(&[("lib.rs", "mod a;\nmod b;"), ("a.rs", a), ("b.rs", b)]);
    assert_eq!(found("fn one() { assert!(true, \"{}\", crate::b::B); } struct One;"), 1);
    assert_eq!(found("use crate::b; struct One; fn two() { vec![Some(b::B)] }"), 1);
    assert_eq!(found("macro_rules! ones { () => { $crate::b::B } }"), 1);
    assert_eq!(found("macro_rules! ones { () => { use $crate::{a, b::{B}}; } }"), 1);
    assert_eq!(found("fn two() { crate::be!() } struct One;"), 1);
    assert_eq!(found("fn two() { x!(be!()) } use crate::be; struct One;"), 1);
    // Types that a macro defines.
    assert_eq!(found("crate::settings! { pub struct One { field: u32 } }\nfn two() { crate::b::B }"), 1);
    assert_eq!(found("macro_rules! ones { ($b:ident) => { $b::B; self.b::B } } use crate::b;"), 0);
}

#[test]
fn tests_make_no_circles() {
    let found =
        |a: &str| circles(&[("lib.rs", "mod a;\nmod b;"), ("a.rs", a), ("b.rs", "use crate::a::One; pub struct B;")]);
    assert_eq!(found("struct One; use crate::b::B;"), 1);
    assert_eq!(found("struct One; #[cfg(test)] use crate::b::B;"), 0);
    assert_eq!(found("struct One; #[cfg(test)] mod tests { use crate::b::B; }"), 0);
    assert_eq!(found("struct One; #[cfg(test)] mod elsewhere;"), 0);
    assert_eq!(found("struct One; #[cfg(all(test, feature = \"x\"))] fn two() { crate::b::B }"), 0);
    assert_eq!(found("struct One; impl One { #[cfg(test)] fn two() { crate::b::B } }"), 0);
    assert_eq!(found("struct One; #[cfg(any(test, feature = \"x\"))] fn two() { crate::b::B }"), 1);
    assert_eq!(found("struct One; #[cfg(not(test))] fn two() { crate::b::B }"), 1);
}

#[test]
fn a_module_that_uses_its_child_is_in_a_circle_if_the_child_uses_what_it_defines() {
    let b = "use super::{One, Two};\npub struct B;";
    let found = |parent: &str| circles(&[("lib.rs", "mod a;"), ("a.rs", parent), ("a/b.rs", b)]);
    assert_eq!(found("mod b;\npub use b::B;\npub struct One;"), 0);
    assert_eq!(found("mod b;\nuse b::B;\npub struct One;"), 1);
    assert_eq!(found("mod b;\npub struct One(b::B);"), 1);
    assert_eq!(found("mod b;\nuse b::B;"), 0);
}

#[test]
fn a_name_of_a_module_and_of_an_item_is_both() {
    let lib = "mod a;\nmod env;";
    let found = |a: &str| {
        circles(&[
            ("lib.rs", lib),
            ("env.rs", "mod b;\npub use b::b;"),
            ("env/b.rs", "use crate::a::One; pub fn b() {}"),
            ("a.rs", a),
        ])
    };
    assert_eq!(found("use crate::env::b; pub fn One() { b() }"), 1);
    assert_eq!(found("use crate::env; pub fn One() { env::b() }"), 1);
    assert_eq!(found("use crate::env; pub fn One() {}"), 0);
}
