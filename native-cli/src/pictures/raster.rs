//! A small software painter: anti-aliased lines, discs and polygons.
//!
//! Strokes and discs take a pixel's coverage from the signed distance of its centre to the edge (half a pixel of
//! blending), polygons from the exact area inside the pixel. A shape's coverage is collected in a mask and blended
//! once, so that the joints of a stroke are not darker than the rest.

use crate::outcome::Stop;
use quickstudy_core::env::Color;
use std::ops::Range;

/// An RGB picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// `width * height` pixels, top row first.
    pub pixels: Vec<[u8; 3]>,
}

impl Picture {
    /// The bytes of a PNG file.
    pub fn png(&self) -> Result<Vec<u8>, Stop> {
        let failed = |error: png::EncodingError| Stop::failure(format!("cannot encode the PNG: {error}"));
        let side = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, side(self.width), side(self.height));
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(failed)?;
        writer.write_image_data(self.pixels.as_flattened()).map_err(failed)?;
        writer.finish().map_err(failed)?;
        Ok(out)
    }
}

/// A picture that is being painted, in pixels from its upper left corner.
pub(crate) struct Painter {
    /// The picture so far.
    pub picture: Picture,
    mask: Mask,
    /// Rows and columns outside of which nothing is painted.
    clip: (Range<usize>, Range<usize>),
}

impl Painter {
    /// A picture of one colour.
    pub(crate) fn new(width: usize, height: usize, background: [u8; 3]) -> Self {
        let picture = Picture { width, height, pixels: vec![background; width * height] };
        let mask = Mask { width, height, coverage: vec![0.0; width * height], rows: 0..0, columns: 0..0 };
        Self { picture, mask, clip: (0..height, 0..width) }
    }

    /// Paints only inside of `[left, top, right, bottom]` from now on; anywhere again with `None`.
    pub(crate) fn clip(&mut self, area: Option<[f32; 4]>) {
        let (width, height) = (self.picture.width, self.picture.height);
        let pixel = |x: f32, most: usize| (x.round().max(0.0) as usize).min(most);
        self.clip = match area {
            None => (0..height, 0..width),
            Some([left, top, right, bottom]) => {
                (pixel(top, height)..pixel(bottom, height), pixel(left, width)..pixel(right, width))
            }
        };
    }

    /// A round-ended stroke through `points`; thinner than a pixel it becomes paler instead.
    pub(crate) fn stroke(&mut self, points: &[[f32; 2]], width: f32, color: Color, opacity: f32) {
        self.mask.stroke(points, width);
        self.blend(color, opacity);
    }

    /// A disc.
    pub(crate) fn disc(&mut self, center: [f32; 2], radius: f32, color: Color, opacity: f32) {
        self.mask.capsule(center, center, radius, 1.0);
        self.blend(color, opacity);
    }

    /// Fills the area that closed outlines enclose; one inside of another, wound the other way, is a hole.
    pub(crate) fn fill(&mut self, outlines: &[Vec<[f32; 2]>], color: Color, opacity: f32) {
        self.mask.polygon(outlines);
        self.blend(color, opacity);
    }

    fn blend(&mut self, color: Color, opacity: f32) {
        self.mask.blend_into(&mut self.picture, color, opacity, &self.clip);
    }
}

/// How much of each pixel a shape covers, and the rectangle outside of which it is 0.
struct Mask {
    width: usize,
    height: usize,
    coverage: Vec<f32>,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl Mask {
    fn stroke(&mut self, points: &[[f32; 2]], width: f32) {
        for ends in points.windows(2) {
            self.capsule(ends[0], ends[1], width.max(1.0) / 2.0, width.min(1.0));
        }
    }

    /// All points within `radius` of the segment from `a` to `b`.
    fn capsule(&mut self, a: [f32; 2], b: [f32; 2], radius: f32, opacity: f32) {
        let (rows, columns) = self.touch(&[a, b], radius);
        let ab = sub(b, a);
        let per_length = 1.0 / dot(ab, ab).max(1e-12);
        for y in rows {
            for x in columns.clone() {
                let p = sub([x as f32 + 0.5, y as f32 + 0.5], a);
                let along = (dot(p, ab) * per_length).clamp(0.0, 1.0);
                let off = sub(p, [ab[0] * along, ab[1] * along]);
                let covered = (radius + 0.5 - dot(off, off).sqrt()).clamp(0.0, 1.0) * opacity;
                let pixel = &mut self.coverage[y * self.width + x];
                *pixel = pixel.max(covered);
            }
        }
    }

    /// The inside of closed outlines, by accumulating signed areas: each edge adds, in every row that it crosses,
    /// the area to its right; sums along the row are then the coverage (the method of font rasterisers).
    fn polygon(&mut self, outlines: &[Vec<[f32; 2]>]) {
        let (rows, columns) = self.touch(&outlines.concat(), 0.0);
        if rows.is_empty() || columns.is_empty() {
            return;
        }
        let (left, right) = (columns.start as f32, columns.end as f32);
        let mut deltas = vec![0.0_f32; columns.len() + 2];
        for y in rows {
            deltas.fill(0.0);
            let edges = outlines.iter().flat_map(|points| points.iter().zip(points.iter().cycle().skip(1)));
            for (a, b) in edges {
                let (top, bottom, sign) = if a[1] < b[1] { (*a, *b, 1.0) } else { (*b, *a, -1.0) };
                let (y0, y1) = (top[1].max(y as f32), bottom[1].min(y as f32 + 1.0));
                if y1 <= y0 {
                    continue;
                }
                let slope = (bottom[0] - top[0]) / (bottom[1] - top[1]);
                let x_at = |y: f32| (top[0] + (y - top[1]) * slope).clamp(left, right) - left;
                let (xa, xb) = (x_at(y0), x_at(y1));
                add_edge(&mut deltas, xa.min(xb), xa.max(xb), (y1 - y0) * sign);
            }
            let mut sum = 0.0;
            let row = &mut self.coverage[y * self.width..][columns.clone()];
            for (pixel, delta) in row.iter_mut().zip(&deltas) {
                sum += delta;
                *pixel = sum.abs().min(1.0);
            }
        }
    }

    /// The rows and columns of the bounding box of `points` widened by `margin`, which the shape may then write.
    fn touch(&mut self, points: &[[f32; 2]], margin: f32) -> (Range<usize>, Range<usize>) {
        let range = |axis: usize, limit: usize| {
            let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
            for point in points {
                low = low.min(point[axis]);
                high = high.max(point[axis]);
            }
            // Float-to-integer casts saturate, so shapes outside the picture give empty ranges.
            let low = ((low - margin - 1.0).floor().max(0.0) as usize).min(limit);
            let high = (high + margin + 1.0).ceil().max(0.0) as usize;
            low..high.min(limit).max(low)
        };
        let (rows, columns) = (range(1, self.height), range(0, self.width));
        self.rows = union(&self.rows, &rows);
        self.columns = union(&self.columns, &columns);
        (rows, columns)
    }

    /// Blends `color` where the mask says and `clip` allows, and clears the mask.
    fn blend_into(&mut self, picture: &mut Picture, color: Color, opacity: f32, clip: &(Range<usize>, Range<usize>)) {
        let ink = [color.r, color.g, color.b];
        for y in self.rows.clone() {
            for x in self.columns.clone() {
                let at = y * self.width + x;
                let covered = std::mem::take(&mut self.coverage[at]) * opacity;
                if covered <= 0.0 || !clip.0.contains(&y) || !clip.1.contains(&x) {
                    continue;
                }
                let pixel = &mut picture.pixels[at];
                if covered >= 1.0 {
                    *pixel = ink;
                    continue;
                }
                for (channel, ink) in pixel.iter_mut().zip(ink) {
                    let old = f32::from(*channel);
                    *channel = (old + (f32::from(ink) - old) * covered).round() as u8;
                }
            }
        }
        (self.rows, self.columns) = (0..0, 0..0);
    }
}

/// Spreads an edge that goes from `xa` to `xb` within one row, of signed height `area`, over that row's differences.
fn add_edge(deltas: &mut [f32], xa: f32, xb: f32, area: f32) {
    let (first, last) = (xa.floor() as usize, xb.floor() as usize);
    if first == last {
        // The share of the pixel left of the edge's middle is outside.
        let outside = (xa + xb) / 2.0 - first as f32;
        deltas[first] += area * (1.0 - outside);
        deltas[first + 1] += area * outside;
        return;
    }
    // The edge crosses several pixels: in each, a part of its height, at that part's own middle.
    let per_x = area / (xb - xa);
    for pixel in first..=last {
        let (from, to) = (xa.max(pixel as f32), xb.min(pixel as f32 + 1.0));
        let outside = (from + to) / 2.0 - pixel as f32;
        let part = per_x * (to - from);
        deltas[pixel] += part * (1.0 - outside);
        deltas[pixel + 1] += part * outside;
    }
}

fn union(a: &Range<usize>, b: &Range<usize>) -> Range<usize> {
    if a.is_empty() {
        return b.clone();
    }
    if b.is_empty() { a.clone() } else { a.start.min(b.start)..a.end.max(b.end) }
}

fn sub(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

fn dot(a: [f32; 2], b: [f32; 2]) -> f32 {
    a[0] * b[0] + a[1] * b[1]
}
