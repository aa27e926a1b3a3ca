//! Sums of many terms: a turn of the loop adds several, so that their loads overlap.

use super::emit::Emitter;
use super::index::Ix;

/// Terms of a turn.
const TERMS: usize = 4;
/// Bytes of a term's text up to which a turn has several.
const SHORT: usize = 1200;

/// The places of terms: `first`, then every `stride`th before `end`, in an invocation at most `most`.
pub(super) struct Stretch<'a> {
    /// Name of the loop's variable.
    pub name: &'a str,
    /// Place of the first term.
    pub first: &'a Ix,
    /// Distance of neighbours.
    pub stride: usize,
    /// End of the places.
    pub end: &'a str,
    /// Number of terms at most.
    pub most: usize,
    /// True if all invocations have as many.
    pub even: bool,
}

impl Emitter<'_> {
    /// Writes code for each term.
    pub(super) fn stretch(&mut self, of: &Stretch<'_>, mut term: impl FnMut(&mut Self, &Ix)) {
        let Stretch { name, first, stride, end, most, even } = of;
        self.line(&format!("var {name} = {first};"));
        let is_short = self.bytes_of(|this| term(this, &Ix::var(name))) <= SHORT;
        let terms = if is_short && *most >= TERMS { TERMS } else { 1 };
        let last = if terms == 1 { (*name).to_owned() } else { format!("{name} + {}u", (terms - 1) * stride) };
        self.turns(&format!("for (; {last} < {end}; {name} += {}u)", terms * stride), *most, |this| {
            for j in 0..terms {
                let place = this.add(&Ix::var(name), &Ix::Known(j * stride));
                term(this, &place);
            }
        });
        if terms > 1 && !(*even && most.is_multiple_of(terms)) {
            // The loop before has been counted for all terms.
            self.block(&format!("for (; {name} < {end}; {name} += {stride}u)"), |this| {
                term(this, &Ix::var(name));
            });
        }
    }
}
