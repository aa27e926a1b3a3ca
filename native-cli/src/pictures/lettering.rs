//! Text as outlines, for pictures of pixels: the letters of DejaVu Sans.

use ttf_parser::{Face, OutlineBuilder};

const REGULAR: &[u8] = include_bytes!("../../assets/DejaVuSans-latin.ttf");
const BOLD: &[u8] = include_bytes!("../../assets/DejaVuSans-Bold-latin.ttf");

/// Lines that stand for a curve of a letter.
const PIECES: u16 = 6;

/// A weight of the letters.
pub(super) struct Letters {
    face: Face<'static>,
}

impl Letters {
    /// Upright or bold ones; none if the font cannot be read, which a test excludes.
    pub(super) fn new(bold: bool) -> Option<Self> {
        Some(Self { face: Face::parse(if bold { BOLD } else { REGULAR }, 0).ok()? })
    }

    /// The font's units in a size.
    fn scale(&self, size: f32) -> f32 {
        size / f32::from(self.face.units_per_em())
    }

    /// How wide a text of this size is.
    pub(super) fn width(&self, text: &str, size: f32) -> f32 {
        let advance = |c: char| f32::from(self.face.glyph_hor_advance(self.glyph(c)).unwrap_or(0));
        text.chars().map(advance).sum::<f32>() * self.scale(size)
    }

    /// The closed outlines of each letter of a text whose baseline begins at the origin, downwards being positive.
    pub(super) fn outlines(&self, text: &str, size: f32) -> Vec<Vec<Vec<[f32; 2]>>> {
        let scale = self.scale(size);
        let mut left = 0.0;
        let mut all = Vec::new();
        for c in text.chars() {
            let glyph = self.glyph(c);
            let mut outline = Outline { left, scale, closed: Vec::new(), open: Vec::new(), at: [0.0, 0.0] };
            // A blank has no outline.
            self.face.outline_glyph(glyph, &mut outline);
            all.push(outline.closed);
            left += f32::from(self.face.glyph_hor_advance(glyph).unwrap_or(0)) * scale;
        }
        all
    }

    /// A character that the font lacks is shown as a replacement character.
    fn glyph(&self, c: char) -> ttf_parser::GlyphId {
        let known = self.face.glyph_index(c).or_else(|| self.face.glyph_index('\u{fffd}'));
        known.unwrap_or(ttf_parser::GlyphId(0))
    }
}

/// Collects the outlines of a letter as polygons.
struct Outline {
    left: f32,
    scale: f32,
    closed: Vec<Vec<[f32; 2]>>,
    open: Vec<[f32; 2]>,
    /// Where the pen is, in the font's units.
    at: [f32; 2],
}

impl Outline {
    fn to(&mut self, at: [f32; 2]) {
        self.at = at;
        self.open.push([self.left + at[0] * self.scale, -at[1] * self.scale]);
    }

    /// The points of a curve at equal steps of its parameter.
    fn curve(&mut self, point: impl Fn(f32) -> [f32; 2]) {
        for piece in 1..=PIECES {
            self.to(point(f32::from(piece) / f32::from(PIECES)));
        }
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.to([x, y]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.to([x, y]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let from = self.at;
        let mix = |t: f32, a: f32, b: f32, c: f32| (1.0 - t).powi(2) * a + 2.0 * (1.0 - t) * t * b + t * t * c;
        self.curve(|t| [mix(t, from[0], x1, x), mix(t, from[1], y1, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let from = self.at;
        let mix = |t: f32, a: f32, b: f32, c: f32, d: f32| {
            let s = 1.0 - t;
            s.powi(3) * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t.powi(3) * d
        };
        self.curve(|t| [mix(t, from[0], x1, x2, x), mix(t, from[1], y1, y2, y)]);
    }

    fn close(&mut self) {
        self.closed.push(std::mem::take(&mut self.open));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_letter_that_pictures_use_has_an_outline() {
        for bold in [false, true] {
            let letters = Letters::new(bold).unwrap();
            for c in "AZaz09 .,·–—−…→²%±[]()=_/:<>&äéßλµθ✓\u{fffd}".chars().filter(|c| *c != ' ') {
                let outlines = &letters.outlines(&c.to_string(), 100.0)[0];
                assert!(letters.face.glyph_index(c).is_some() && !outlines.is_empty(), "{c}");
                assert!(outlines.iter().flatten().all(|p| (-40.0..140.0).contains(&p[0]) && p[1].abs() < 110.0), "{c}");
            }
            // What it does not have is a replacement character, as wide as that.
            assert_eq!(letters.width("\u{6f22}", 10.0), letters.width("\u{fffd}", 10.0));
            assert_eq!(letters.width("", 10.0), 0.0);
            assert!(letters.width("mm", 20.0) > 3.9 * letters.width("i", 20.0));
        }
    }
}
