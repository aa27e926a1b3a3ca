//! A small software painter: anti-aliased lines, discs and polygons.
//!
//! A pixel's coverage is taken from the signed distance of its centre to the shape's edge (½ pixel of blending),
//! which looks like area sampling for shapes wider than a pixel and needs no sub-samples.

use quickstudy_core::env::{Color, Scene, Shape};

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

/// Paper: what is behind every scene.
pub const BACKGROUND: [u8; 3] = [250, 250, 248];

/// Paints a scene at `width` pixels across; the height follows from the view's aspect ratio.
///
/// Shapes with non-finite numbers are left out: a diverged state must not stop a recording.
#[must_use]
pub fn paint(scene: &Scene, width: usize) -> Picture {
    let [xmin, xmax, ymin, ymax] = scene.view;
    let scale = width as f32 / (xmax - xmin).max(1e-6);
    let height = ((ymax - ymin) * scale).round().clamp(1.0, 4.0 * width as f32) as usize;
    let mut picture = Picture { width, height, pixels: vec![BACKGROUND; width * height] };
    let at = |p: &[f32; 2]| [(p[0] - xmin) * scale, (ymax - p[1]) * scale];
    for shape in scene.shapes.iter().filter(|shape| shape.is_finite()) {
        match shape {
            Shape::Line { from, to, width, color } => picture.stroke(&[at(from), at(to)], width * scale, *color),
            Shape::Polyline { points, width, color } => {
                let points: Vec<_> = points.iter().map(at).collect();
                picture.stroke(&points, width * scale, *color);
            }
            Shape::Circle { center, radius, color } => {
                let (c, r) = (at(center), radius * scale);
                let distance = |p: [f32; 2]| length(sub(p, c)) - r;
                picture.fill(&[c], r, *color, distance);
            }
            Shape::Polygon { points, color } => {
                let points: Vec<_> = points.iter().map(at).collect();
                picture.fill(&points, 0.0, *color, |p| polygon_distance(p, &points));
            }
        }
    }
    picture
}

/// Pixels per unit of a view painted `width` pixels across.
fn scale([xmin, xmax, ..]: [f32; 4], width: usize) -> f32 {
    width as f32 / (xmax - xmin).max(1e-6)
}

/// Rows of a view painted `width` pixels across; at most four times the width.
#[must_use]
pub fn height(view: [f32; 4], width: usize) -> usize {
    let rows = (view[3] - view[2]) * scale(view, width);
    rows.round().clamp(1.0, 4.0 * width as f32) as usize
}

impl Picture {
    /// A round-ended stroke through `points`; thinner than a pixel it becomes paler instead.
    fn stroke(&mut self, points: &[[f32; 2]], width: f32, color: Color) {
        let half = width.max(1.0) / 2.0;
        let distance = |p: [f32; 2]| {
            let nearest =
                points.windows(2).map(|ends| segment_distance(p, ends[0], ends[1])).fold(f32::INFINITY, f32::min);
            nearest - half
        };
        self.blend(points, half, color, width.min(1.0), distance);
    }

    fn fill(&mut self, hull: &[[f32; 2]], margin: f32, color: Color, distance: impl Fn([f32; 2]) -> f32) {
        self.blend(hull, margin, color, 1.0, distance);
    }

    /// Blends `color` into every pixel near the bounding box of `hull` by its signed distance (negative inside).
    fn blend(
        &mut self,
        hull: &[[f32; 2]],
        margin: f32,
        color: Color,
        opacity: f32,
        distance: impl Fn([f32; 2]) -> f32,
    ) {
        let range = |axis: usize, limit: usize| {
            let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
            for point in hull {
                low = low.min(point[axis]);
                high = high.max(point[axis]);
            }
            // Float-to-integer casts saturate, so shapes outside the picture give empty ranges.
            let low = (low - margin - 1.0).floor().max(0.0) as usize;
            let high = (high + margin + 1.0).ceil().max(0.0) as usize;
            low..high.min(limit)
        };
        let (columns, rows) = (range(0, self.width), range(1, self.height));
        let ink = [color.r, color.g, color.b];
        for y in rows {
            for x in columns.clone() {
                let d = distance([x as f32 + 0.5, y as f32 + 0.5]);
                let coverage = (0.5 - d).clamp(0.0, 1.0) * opacity;
                if coverage > 0.0 {
                    let pixel = &mut self.pixels[y * self.width + x];
                    for (channel, ink) in pixel.iter_mut().zip(ink) {
                        let old = f32::from(*channel);
                        *channel = (old + (f32::from(ink) - old) * coverage).round() as u8;
                    }
                }
            }
        }
    }
}

fn sub(a: [f32; 2], b: [f32; 2]) -> [f32; 2] {
    [a[0] - b[0], a[1] - b[1]]
}

fn dot(a: [f32; 2], b: [f32; 2]) -> f32 {
    a[0] * b[0] + a[1] * b[1]
}

fn length(a: [f32; 2]) -> f32 {
    dot(a, a).sqrt()
}

fn segment_distance(p: [f32; 2], a: [f32; 2], b: [f32; 2]) -> f32 {
    let (ap, ab) = (sub(p, a), sub(b, a));
    let along = (dot(ap, ab) / dot(ab, ab).max(1e-12)).clamp(0.0, 1.0);
    length(sub(ap, [ab[0] * along, ab[1] * along]))
}

/// Distance to the outline, negative inside (even-odd rule).
fn polygon_distance(p: [f32; 2], points: &[[f32; 2]]) -> f32 {
    let mut nearest = f32::INFINITY;
    let mut inside = false;
    for (i, a) in points.iter().enumerate() {
        let b = points[(i + 1) % points.len()];
        nearest = nearest.min(segment_distance(p, *a, b));
        if (a[1] > p[1]) != (b[1] > p[1]) && p[0] < a[0] + (b[0] - a[0]) * (p[1] - a[1]) / (b[1] - a[1]) {
            inside = !inside;
        }
    }
    if inside { -nearest } else { nearest }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ink on a black-on-paper picture, in pixels of full coverage.
    fn ink(picture: &Picture) -> f32 {
        let paper = f32::from(BACKGROUND[0]);
        picture.pixels.iter().map(|pixel| (paper - f32::from(pixel[0])) / paper).sum()
    }

    const BLACK: Color = Color::rgb(0, 0, 0);

    fn scene(shape: Shape) -> Scene {
        Scene::new([-1.0, 1.0, -0.5, 0.5]).with(shape)
    }

    #[test]
    fn areas_are_those_of_geometry() {
        // 100 pixels per unit.
        for (shape, area) in [
            (Shape::circle([0.1, 0.03], 0.3, BLACK), std::f32::consts::PI * 900.0),
            (Shape::rect([-0.5, 0.5, -0.203, 0.2], BLACK), 100.0 * 40.3),
            (Shape::polygon(vec![[-0.5, -0.4], [0.5, -0.4], [0.0, 0.4]], BLACK), 4000.0),
            (Shape::line([-0.3, -0.1], [0.3, 0.15], 0.1, BLACK), 65.0 * 10.0 + std::f32::consts::PI * 25.0),
        ] {
            let picture = paint(&scene(shape.clone()), 200);
            assert_eq!((picture.width, picture.height), (200, 100));
            let found = ink(&picture);
            assert!((found - area).abs() < 0.01 * area + 2.0, "{shape:?}: {found}, expected {area}");
        }
    }

    #[test]
    fn up_is_up_and_later_shapes_are_on_top() {
        let picture = paint(
            &scene(Shape::rect([-1.0, 1.0, 0.0, 0.5], BLACK)).with(Shape::circle([0.0, 0.25], 0.1, Color::GREEN)),
            200,
        );
        assert_eq!(picture.pixels[10 * 200 + 10], [0, 0, 0]);
        assert_eq!(picture.pixels[90 * 200 + 10], BACKGROUND);
        assert_eq!(picture.pixels[25 * 200 + 100], [46, 150, 92]);
    }

    #[test]
    fn shapes_outside_or_without_numbers_are_harmless() {
        let empty = paint(&Scene::new([-1.0, 1.0, -0.5, 0.5]), 64);
        for shape in [
            Shape::circle([f32::NAN, 0.0], 0.2, BLACK),
            Shape::circle([1e30, -1e30], 0.2, BLACK),
            Shape::line([-9.0, -9.0], [-8.0, -8.0], 0.1, BLACK),
            Shape::polygon(vec![], BLACK),
            Shape::polyline(vec![], 0.1, BLACK),
        ] {
            assert_eq!(paint(&scene(shape), 64), empty);
        }
        // A hair line keeps its total ink: 100 pixels long, a fifth of a pixel wide.
        let hair = paint(&scene(Shape::line([-0.5, 0.005], [0.5, 0.005], 0.002, BLACK)), 200);
        assert!((ink(&hair) - 20.0).abs() < 1.5, "{}", ink(&hair));
    }
}
