//! Drawings as SVG: a file of its own, or an element of a page.

use super::{Anchor, Mark, Sheet};
use crate::text::quote::markup;
use quickstudy_core::env::Color;
use std::fmt::Write as _;

/// How a drawing is put where it is shown.
struct Writer<'a> {
    /// Colours as they are written.
    color: fn(Color) -> String,
    /// Begins the names of its parts, of which a page has each once.
    prefix: &'a str,
}

impl Sheet {
    /// The text of an SVG file, on white.
    pub fn svg(&self) -> String {
        let Self { width, height, .. } = self;
        let head = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n"
        );
        head + &self.marks(&Writer { color: hex, prefix: "" }) + "</svg>\n"
    }

    /// The drawing as an element of a page, without a ground. `label` says what it shows, `prefix` is its own on that
    /// page.
    ///
    /// Its colours are variables of the page, `--c26262c` for `#26262c`, so that a page may have others in the dark.
    pub(crate) fn svg_in_page(&self, label: &str, prefix: &str) -> String {
        let Self { width, height, .. } = self;
        let head = format!(
            "<svg viewBox=\"0 0 {width:.1} {height:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" role=\"img\" \
             aria-label=\"{}\">\n",
            markup(label)
        );
        head + &self.marks(&Writer { color: variable, prefix }) + "</svg>\n"
    }

    fn marks(&self, writer: &Writer<'_>) -> String {
        let mut out = String::new();
        let prefix = writer.prefix;
        let mut clips = 0;
        let mut inside = false;
        for mark in &self.marks {
            if let Mark::Clip(area) = mark {
                if std::mem::take(&mut inside) {
                    out += "</g>\n";
                }
                if let Some([left, top, right, bottom]) = area {
                    clips += 1;
                    inside = true;
                    _ = writeln!(
                        out,
                        "<clipPath id=\"{prefix}clip{clips}\"><rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" \
                         height=\"{:.1}\"/></clipPath>\n<g clip-path=\"url(#{prefix}clip{clips})\">",
                        right - left,
                        bottom - top
                    );
                }
            }
            out += &writer.element(mark);
        }
        if inside {
            out += "</g>\n";
        }
        out
    }
}

impl Writer<'_> {
    /// A mark as an element of SVG.
    fn element(&self, mark: &Mark) -> String {
        let list =
            |points: &[[f32; 2]]| points.iter().map(|[x, y]| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join(" ");
        let faint = |what: &str, opacity: f32| match opacity < 1.0 {
            true => format!(" {what}-opacity=\"{opacity}\""),
            false => String::new(),
        };
        match mark {
            Mark::Stroke { points, width, color, opacity } => format!(
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width:.1}\" \
                 stroke-linejoin=\"round\" stroke-linecap=\"round\"{}/>\n",
                list(points),
                (self.color)(*color),
                faint("stroke", *opacity)
            ),
            Mark::Fill { points, color, opacity } => format!(
                "<polygon points=\"{}\" fill=\"{}\"{}/>\n",
                list(points),
                (self.color)(*color),
                faint("fill", *opacity)
            ),
            Mark::Disc { center: [x, y], radius, color } => {
                let color = (self.color)(*color);
                format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{color}\"/>\n")
            }
            Mark::Text { text, at: [x, y], style } => {
                let anchor = match style.anchor {
                    Anchor::Start => "",
                    Anchor::Middle => " text-anchor=\"middle\"",
                    Anchor::End => " text-anchor=\"end\"",
                };
                let bold = if style.bold { " font-weight=\"bold\"" } else { "" };
                let turn =
                    if style.upwards { format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"") } else { String::new() };
                format!(
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" font-family=\"sans-serif\" font-size=\"{}\"\
                     {bold} fill=\"{}\"{anchor}{turn}>{}</text>\n",
                    style.size,
                    (self.color)(style.color),
                    markup(text)
                )
            }
            Mark::Clip(_) => String::new(),
        }
    }
}

fn hex(color: Color) -> String {
    format!("#{:02x}{:02x}{:02x}", color.r, color.g, color.b)
}

/// The colour as a variable, by its own name; itself where the page has no such.
fn variable(color: Color) -> String {
    let hex = hex(color);
    format!("var(--c{},{hex})", &hex[1..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::sheet::{INK, Style};

    #[test]
    fn in_a_page_colours_are_variables_and_parts_have_names_of_their_own() {
        let mut sheet = Sheet::new(100.0, 50.0);
        sheet.clip(Some([0.0, 0.0, 10.0, 10.0]));
        sheet.text("<b>", [1.0, 2.0], Style::new(13.0, INK));
        let svg = sheet.svg_in_page("a \"b\"", "p3");
        for part in ["var(--c26262c,#26262c)", "id=\"p3clip1\"", "url(#p3clip1)", "a &quot;b&quot;", "&lt;b&gt;"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(!svg.contains("white") && sheet.svg().contains("fill=\"white\""), "{svg}");
    }
}
