//! Drawings: a list of marks, which is written as SVG or painted as PNG, so that both show the same.

mod svg;

use crate::outcome::Stop;
use crate::pictures::format::Format;
use crate::pictures::lettering::Letters;
use crate::pictures::raster::{Painter, Picture};
use quickstudy_core::env::{Color, Scene, Shape};

/// Titles, labels and lines of text.
pub(crate) const INK: Color = Color::rgb(38, 38, 44);
/// Text that explains.
pub(crate) const QUIET: Color = Color::rgb(112, 112, 122);
/// Lines of a grid.
pub(crate) const GRID: Color = Color::rgb(228, 228, 232);
/// Paper.
pub(crate) const WHITE: Color = Color::rgb(255, 255, 255);

/// Pixels of a PNG per unit of a drawing: letters are sharp on screens of twice the usual density.
const DENSITY: f32 = 2.0;

/// Which part of a text its place names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// Its beginning.
    Start,
    /// Its middle.
    Middle,
    /// Its end.
    End,
}

/// How a text looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Style {
    /// Height of the letters.
    pub size: f32,
    /// Bold letters.
    pub bold: bool,
    /// Colour.
    pub color: Color,
    /// Which part of it its place names.
    pub anchor: Anchor,
    /// Read from bottom to top.
    pub upwards: bool,
}

impl Style {
    /// Text that begins at its place.
    pub(crate) const fn new(size: f32, color: Color) -> Self {
        Self { size, bold: false, color, anchor: Anchor::Start, upwards: false }
    }

    /// Writes it in bold letters.
    pub(crate) const fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// Puts another part of the text at its place.
    pub(crate) const fn at(self, anchor: Anchor) -> Self {
        Self { anchor, ..self }
    }

    /// Turns it, to be read from bottom to top.
    pub(crate) const fn upwards(self) -> Self {
        Self { upwards: true, ..self }
    }

    /// How wide a text is in DejaVu Sans, which is wider than most.
    pub(crate) fn width(&self, text: &str) -> f32 {
        Letters::new(self.bold).map_or(0.0, |letters| letters.width(text, self.size))
    }
}

/// A mark on a sheet; lengths are in pixels of the SVG from the upper left corner.
#[derive(Clone, Debug, PartialEq)]
enum Mark {
    Stroke {
        points: Vec<[f32; 2]>,
        width: f32,
        color: Color,
        opacity: f32,
    },
    Fill {
        points: Vec<[f32; 2]>,
        color: Color,
        opacity: f32,
    },
    Disc {
        center: [f32; 2],
        radius: f32,
        color: Color,
    },
    Text {
        text: String,
        at: [f32; 2],
        style: Style,
    },
    /// Cuts off all later marks outside of `[left, top, right, bottom]`, until the next of these.
    Clip(Option<[f32; 4]>),
}

/// A drawing on white.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    width: f32,
    height: f32,
    marks: Vec<Mark>,
}

impl Sheet {
    /// An empty sheet.
    pub(crate) fn new(width: f32, height: f32) -> Self {
        Self { width, height, marks: Vec::new() }
    }

    /// A line through points.
    pub(crate) fn stroke(&mut self, points: &[[f32; 2]], width: f32, color: Color, opacity: f32) {
        self.marks.push(Mark::Stroke { points: points.to_vec(), width, color, opacity });
    }

    /// A line through points with gaps: of each `dash` units of its length, half is drawn.
    pub(crate) fn dashed(&mut self, points: &[[f32; 2]], dash: f32, width: f32, color: Color) {
        for piece in dashes(points, dash) {
            self.stroke(&piece, width, color, 1.0);
        }
    }

    /// The inside of a polygon.
    pub(crate) fn fill(&mut self, points: &[[f32; 2]], color: Color, opacity: f32) {
        self.marks.push(Mark::Fill { points: points.to_vec(), color, opacity });
    }

    /// The inside of `[left, top, right, bottom]`.
    pub(crate) fn rect(&mut self, [left, top, right, bottom]: [f32; 4], color: Color) {
        self.fill(&[[left, top], [right, top], [right, bottom], [left, bottom]], color, 1.0);
    }

    /// A disc.
    pub(crate) fn disc(&mut self, center: [f32; 2], radius: f32, color: Color) {
        self.marks.push(Mark::Disc { center, radius, color });
    }

    /// Text, with its baseline at a place.
    pub(crate) fn text(&mut self, text: &str, at: [f32; 2], style: Style) {
        // A line of text is one line, whatever a name holds.
        let text = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.marks.push(Mark::Text { text, at, style });
    }

    /// Cuts off what follows outside of `[left, top, right, bottom]`; nothing any more with `None`.
    pub(crate) fn clip(&mut self, area: Option<[f32; 4]>) {
        self.marks.push(Mark::Clip(area));
    }

    /// A scene of an environment, inside of a frame.
    pub(crate) fn scene(&mut self, scene: &Scene, frame: &Frame) {
        for shape in scene.shapes.iter().filter(|shape| shape.is_finite()) {
            let at = |points: &[[f32; 2]]| points.iter().map(|p| frame.at(*p)).collect::<Vec<_>>();
            match shape {
                Shape::Line { from, to, width, color } => {
                    self.stroke(&at(&[*from, *to]), width * frame.scale, *color, 1.0);
                }
                Shape::Polyline { points, width, color } => {
                    self.stroke(&at(points), width * frame.scale, *color, 1.0);
                }
                Shape::Circle { center, radius, color } => {
                    self.disc(frame.at(*center), radius * frame.scale, *color);
                }
                Shape::Polygon { points, color } => self.fill(&at(points), *color, 1.0),
                Shape::Text { at, height, text, color } => {
                    let style = Style::new(height * frame.scale, *color).at(Anchor::Middle);
                    self.text(text, frame.at(*at), style);
                }
            }
        }
    }

    /// The drawing as a file.
    pub fn encode(&self, format: Format) -> Result<Vec<u8>, Stop> {
        match format {
            Format::Svg => Ok(self.svg().into_bytes()),
            Format::Png => self.picture().png(),
        }
    }

    /// The drawing in pixels.
    pub(crate) fn picture(&self) -> Picture {
        let pixels = |length: f32| (length * DENSITY).round().max(1.0) as usize;
        let mut painter = Painter::new(pixels(self.width), pixels(self.height), [255; 3]);
        let at = |p: &[f32; 2]| p.map(|x| x * DENSITY);
        for mark in &self.marks {
            match mark {
                Mark::Stroke { points, width, color, opacity } => {
                    painter.stroke(&points.iter().map(at).collect::<Vec<_>>(), width * DENSITY, *color, *opacity);
                }
                Mark::Fill { points, color, opacity } => {
                    painter.fill(&[points.iter().map(at).collect()], *color, *opacity);
                }
                Mark::Disc { center, radius, color } => painter.disc(at(center), radius * DENSITY, *color, 1.0),
                Mark::Text { text, at: place, style } => letter(&mut painter, text, at(place), style, DENSITY),
                Mark::Clip(area) => painter.clip(area.map(|area| area.map(|x| x * DENSITY))),
            }
        }
        painter.picture
    }
}

/// Paints a text at a place in pixels, of which there are `density` to a unit of the style.
pub(crate) fn letter(painter: &mut Painter, text: &str, [x, y]: [f32; 2], style: &Style, density: f32) {
    let Some(letters) = Letters::new(style.bold) else { return };
    let size = style.size * density;
    let width = letters.width(text, size);
    let shift = match style.anchor {
        Anchor::Start => 0.0,
        Anchor::Middle => -width / 2.0,
        Anchor::End => -width,
    };
    let place = |p: &[f32; 2]| match style.upwards {
        false => [x + shift + p[0], y + p[1]],
        true => [x + p[1], y - shift - p[0]],
    };
    for outlines in letters.outlines(text, size) {
        let outlines: Vec<Vec<_>> = outlines.iter().map(|outline| outline.iter().map(place).collect()).collect();
        painter.fill(&outlines, style.color, 1.0);
    }
}

/// Where a scene is drawn: its view, fitted into a square of `size` pixels with this upper left corner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    view: [f32; 4],
    left: f32,
    top: f32,
    scale: f32,
}

impl Frame {
    /// A square for a view `[xmin, xmax, ymin, ymax]`, which keeps its aspect ratio.
    pub(crate) fn new(view: [f32; 4], [left, top]: [f32; 2], size: f32) -> Frame {
        let [xmin, xmax, ymin, ymax] = view;
        let scale = size / (xmax - xmin).max(ymax - ymin).max(f32::MIN_POSITIVE);
        let inset = |low: f32, high: f32| (size - (high - low) * scale) / 2.0;
        Frame { view, left: left + inset(xmin, xmax), top: top + inset(ymin, ymax), scale }
    }

    /// Where a point of the scene is.
    pub(crate) fn at(&self, [x, y]: [f32; 2]) -> [f32; 2] {
        [self.left + (x - self.view[0]) * self.scale, self.top + (self.view[3] - y) * self.scale]
    }
}

/// Pieces of a line, each half of `dash` long, with gaps of the same length between them.
fn dashes(points: &[[f32; 2]], dash: f32) -> Vec<Vec<[f32; 2]>> {
    let half = (dash / 2.0).max(0.1);
    let mut pieces = Vec::new();
    let mut piece: Vec<[f32; 2]> = points.first().copied().into_iter().collect();
    // Whether the pen is down, and how much of the piece or gap is left.
    let (mut down, mut left) = (true, half);
    for ends in points.windows(2) {
        let [from, to] = [ends[0], ends[1]];
        let length = (to[0] - from[0]).hypot(to[1] - from[1]);
        let mut done = 0.0;
        while length - done > left {
            done += left;
            let at = [0, 1].map(|i| from[i] + (to[i] - from[i]) * done / length);
            if down {
                piece.push(at);
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece.push(at);
            }
            (down, left) = (!down, half);
        }
        left -= length - done;
        if down {
            piece.push(to);
        }
    }
    if piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

/// Round values between two others: multiples of 1, 2 or 5 times a power of ten, about `count` of them.
pub(crate) fn ticks(low: f64, high: f64, count: usize) -> Vec<f64> {
    let rough = (high - low) / count.max(1) as f64;
    let power = 10.0_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough).unwrap_or(rough);
    if !(step.is_finite() && step > 0.0) {
        return vec![low];
    }
    let first = (low / step).ceil();
    (0..=4 * count).map(|i| (first + i as f64) * step).take_while(|v| *v <= high).collect()
}

impl Sheet {
    /// One sheet with all of these, from top to bottom.
    pub(crate) fn stacked(sheets: Vec<Sheet>) -> Sheet {
        let width = sheets.iter().map(|sheet| sheet.width).fold(0.0, f32::max);
        let mut all = Sheet::new(width, 0.0);
        for sheet in sheets {
            let top = all.height;
            all.marks.extend(sheet.marks.into_iter().map(|mark| mark.lowered(top)));
            // What one cuts off is its own.
            all.clip(None);
            all.height += sheet.height;
        }
        all
    }
}

impl Mark {
    /// The mark so much further down.
    fn lowered(mut self, by: f32) -> Self {
        match &mut self {
            Mark::Stroke { points, .. } | Mark::Fill { points, .. } => points.iter_mut().for_each(|[_, y]| *y += by),
            Mark::Disc { center: [_, y], .. } | Mark::Text { at: [_, y], .. } => *y += by,
            Mark::Clip(area) => {
                if let Some([_, top, _, bottom]) = area {
                    *top += by;
                    *bottom += by;
                }
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::sheet::{INK, Style};

    #[test]
    fn views_are_centred_and_point_upwards() {
        let frame = Frame::new([-1.0, 1.0, 0.0, 1.0], [10.0, 20.0], 100.0);
        assert_eq!(frame.at([0.0, 0.0]), [60.0, 95.0]);
        let mut sheet = Sheet::new(120.0, 130.0);
        sheet.scene(&Scene::new([-1.0, 1.0, 0.0, 1.0]).with(Shape::circle([0.0, 1.0], 0.5, Color::INK)), &frame);
        assert!(sheet.svg().contains("<circle cx=\"60.0\" cy=\"45.0\" r=\"25.0\" fill=\"#26262c\"/>\n"));
    }

    #[test]
    fn both_files_hold_the_same_marks() {
        let mut sheet = Sheet::new(100.0, 50.0);
        sheet.rect([0.0, 0.0, 50.0, 50.0], Color::rgb(0, 0, 200));
        sheet.clip(Some([0.0, 0.0, 100.0, 10.0]));
        sheet.rect([60.0, 0.0, 70.0, 50.0], Color::rgb(0, 200, 0));
        sheet.clip(None);
        sheet.disc([85.0, 25.0], 4.0, Color::rgb(200, 0, 0));
        sheet.text("a\nb <c>", [10.0, 40.0], Style::new(20.0, INK).bold());
        sheet.text("up", [98.0, 40.0], Style::new(10.0, INK).upwards());
        let svg = sheet.svg();
        for part in ["fill=\"#0000c8\"", "<clipPath", "</g>", "<circle", ">a b &lt;c&gt;</text>", "rotate(-90"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        let picture = sheet.picture();
        assert_eq!((picture.width, picture.height), (200, 100));
        let at = |x: usize, y: usize| picture.pixels[2 * y * 200 + 2 * x];
        assert_eq!([at(20, 5), at(65, 5), at(65, 20), at(85, 25)], [[0, 0, 200], [0, 200, 0], [255; 3], [200, 0, 0]]);
        let ink = picture.pixels.iter().filter(|pixel| **pixel == [INK.r, INK.g, INK.b]).count();
        assert!((300..2000).contains(&ink), "letters are there: {ink}");
        let high = |x: usize| (0..100).filter(|y| picture.pixels[y * 200 + x][0] < 128).count();
        assert!((185..199).map(high).sum::<usize>() > 20, "text upwards is there");
    }

    #[test]
    fn dashes_are_as_long_as_gaps() {
        let length = |piece: &Vec<[f32; 2]>| piece.windows(2).map(|p| p[1][0] - p[0][0]).sum::<f32>();
        let pieces = dashes(&[[0.0, 0.0], [7.0, 0.0], [40.0, 0.0]], 10.0);
        assert_eq!(pieces.iter().map(length).collect::<Vec<_>>(), [5.0; 4]);
        assert_eq!(pieces[1][0], [10.0, 0.0]);
        assert!(dashes(&[], 10.0).is_empty());
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(-384.0, -16.0, 5), [-300.0, -200.0, -100.0]);
        assert_eq!(ticks(-0.5, 9.7, 5), [0.0, 5.0]);
        assert_eq!(ticks(0.0, 1.0, 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
        assert_eq!(ticks(3.0, 3.0, 5), [3.0]);
    }

    #[test]
    fn sheets_follow_each_other() {
        let sheet = |width: f32, height: f32| {
            let mut sheet = Sheet::new(width, height);
            sheet.clip(Some([0.0, 1.0, 5.0, 9.0]));
            sheet.stroke(&[[1.0, 2.0], [3.0, 4.0]], 1.0, INK, 1.0);
            sheet.rect([0.0, 0.0, 1.0, 1.0], INK);
            sheet.text("a", [2.0, 3.0], Style::new(10.0, INK));
            sheet.disc([4.0, 5.0], 1.0, INK);
            sheet
        };
        let svg = Sheet::stacked(vec![sheet(50.0, 10.0), sheet(80.0, 20.0)]).svg();
        for part in [
            "viewBox=\"0 0 80 30\"",
            "1.0,2.0 3.0,4.0",
            "1.0,12.0 3.0,14.0",
            "cy=\"15.0\"",
            "y=\"13.0\"",
            "y=\"11.0\" width=\"5.0\" height=\"8.0\"",
            "0.0,10.0 1.0,10.0 1.0,11.0 0.0,11.0",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
    }
}
