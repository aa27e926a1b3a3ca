//! The code of a kernel before it is in a module: several kernels may share one.

use std::collections::BTreeSet;

use quickstudy_kernels::tensor::NodeId;

use crate::work::Work;

/// Stands before the number of a kernel's buffer until its module names it.
const BUFFER: char = '§';
/// Stands before the number of a kernel's constant vector until its module names it.
const LITERAL: char = '¶';

/// The things that a kernel's text uses besides its buffers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Uses {
    /// Loops whose step is read.
    pub levels: usize,
    /// Constant vectors.
    pub literals: Vec<NodeId>,
    /// Sizes of permuted ranges.
    pub permutations: Vec<u32>,
    /// Buffers that are read, by number.
    pub read: BTreeSet<usize>,
    /// Buffers that are written.
    pub written: BTreeSet<usize>,
}

/// An array that the invocations of a workgroup share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Shared {
    /// Its name. Arrays of one name are of one type.
    pub name: String,
    /// WGSL type of an element.
    pub element: &'static str,
    /// Number of elements.
    pub len: usize,
}

impl Shared {
    /// Bytes that it takes.
    pub fn bytes(&self) -> usize {
        self.len * if self.element.starts_with("vec4") { 16 } else { 4 }
    }
}

/// The code of a kernel's dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Body {
    /// Invocations of a workgroup.
    pub size: usize,
    /// Workgroups.
    pub groups: usize,
    /// Arrays in workgroup memory. A body with some has barriers.
    pub shared: Vec<Shared>,
    /// Statements of all invocations, which find out what is theirs.
    pub setup: String,
    /// A condition of invocations that have something to do. Where there are barriers it holds for whole workgroups.
    pub guard: Option<String>,
    /// Statements of these.
    pub text: String,
    /// Functions and values that the statements use.
    pub uses: Uses,
    /// Iterations of loops that one invocation makes.
    pub trips: usize,
    /// Costs of one invocation.
    pub work: Work,
}

impl Body {
    /// The buffers that it binds, by number, and whether it writes them.
    pub fn bindings(&self) -> Vec<(usize, bool)> {
        let all = self.uses.read.union(&self.uses.written);
        all.map(|k| (*k, self.uses.written.contains(k))).collect()
    }
}

/// A kernel's buffer in the text of a body.
pub(super) fn buffer(number: usize) -> String {
    format!("{BUFFER}{number}")
}

/// A kernel's constant vector in the text of a body.
pub(super) fn literal(number: usize) -> String {
    format!("{LITERAL}{number}")
}

/// Text of a body with names for its buffers and constant vectors: `b` and `literal`, with these numbers.
pub(super) fn named(text: &str, buffer: &dyn Fn(usize) -> usize, literal: &dyn Fn(usize) -> usize) -> String {
    let mut named = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(at) = rest.find([BUFFER, LITERAL]) {
        named.push_str(&rest[..at]);
        let is_buffer = rest[at..].starts_with(BUFFER);
        let after = &rest[at + if is_buffer { BUFFER.len_utf8() } else { LITERAL.len_utf8() }..];
        let end = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let number = after[..end].parse().unwrap_or(0);
        match is_buffer {
            true => named.push_str(&format!("b{}", buffer(number))),
            false => named.push_str(&format!("literal{}", literal(number))),
        }
        rest = &after[end..];
    }
    named.push_str(rest);
    named
}

#[cfg(test)]
mod tests {
    use super::{buffer, literal, named};

    #[test]
    fn buffers_and_vectors_are_named() {
        let text = format!("let x = {}[i] + {}[{}[3u]];", buffer(2), buffer(10), literal(1));
        assert_eq!(named(&text, &|k| k + 1, &|k| k), "let x = b3[i] + b11[literal1[3u]];");
    }
}
