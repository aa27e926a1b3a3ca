//! Sums of many terms: a turn of the loop adds several, so that their loads overlap.

use super::emit::Emitter;
use super::index::Ix;

/// Terms of a turn.
const TERMS: usize = 4;
/// Bytes of a term's text up to which a turn has several.
const SHORT: usize = 1200;
/// Stands in the loop's head until it is known how many terms a turn has.
const HEAD: &str = "for (head)";

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
        let head = self.text.len();
        let mut terms = 1;
        self.turns(HEAD, *most, |this| {
            let before = this.text.len();
            term(this, &Ix::var(name));
            if *most >= TERMS && this.text.len() - before <= SHORT {
                terms = TERMS;
                for j in 1..TERMS {
                    let place = this.add(&Ix::var(name), &Ix::Known(j * stride));
                    term(this, &place);
                }
            }
        });
        let limit = if terms == 1 { (*name).to_owned() } else { format!("{name} + {}u", (terms - 1) * stride) };
        let real = format!("for (; {limit} < {end}; {name} += {}u)", terms * stride);
        if let Some(at) = self.text[head..].find(HEAD) {
            self.text.replace_range(head + at..head + at + HEAD.len(), &real);
        }
        if terms > 1 && !(*even && most.is_multiple_of(terms)) {
            // The loop before has been counted for all terms.
            self.block(&format!("for (; {name} < {end}; {name} += {stride}u)"), |this| {
                term(this, &Ix::var(name));
            });
        }
    }
}
