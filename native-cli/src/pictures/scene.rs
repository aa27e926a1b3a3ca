//! Pictures of scenes.

use crate::pictures::raster::{Painter, Picture};
use crate::pictures::sheet::{Anchor, Style, letter};
use quickstudy_core::env::{Scene, Shape};

/// Paper: what is behind every scene.
pub(super) const BACKGROUND: [u8; 3] = [250, 250, 248];

/// Paints a scene at `width` pixels across; the height follows from the view's aspect ratio.
///
/// Shapes with non-finite numbers are left out: a diverged state must not stop a recording.
pub(super) fn paint(scene: &Scene, width: usize) -> Picture {
    let [xmin, _, _, ymax] = scene.view;
    let scale = scale(scene.view, width);
    let mut painter = Painter::new(width, height(scene.view, width), BACKGROUND);
    let at = |p: &[f32; 2]| [(p[0] - xmin) * scale, (ymax - p[1]) * scale];
    for shape in scene.shapes.iter().filter(|shape| shape.is_finite()) {
        match shape {
            Shape::Line { from, to, width, color } => painter.stroke(&[at(from), at(to)], width * scale, *color, 1.0),
            Shape::Polyline { points, width, color } => {
                let points: Vec<_> = points.iter().map(at).collect();
                painter.stroke(&points, width * scale, *color, 1.0);
            }
            Shape::Circle { center, radius, color } => painter.disc(at(center), radius * scale, *color, 1.0),
            Shape::Polygon { points, color } => {
                painter.fill(&[points.iter().map(at).collect()], *color, 1.0);
            }
            Shape::Text { at: place, height, text, color } => {
                letter(&mut painter, text, at(place), &Style::new(height * scale, *color).at(Anchor::Middle), 1.0);
            }
        }
    }
    painter.picture
}

/// Pixels per unit of a view painted `width` pixels across.
fn scale([xmin, xmax, ..]: [f32; 4], width: usize) -> f32 {
    width as f32 / (xmax - xmin).max(1e-6)
}

/// Rows of a view painted `width` pixels across; at most four times the width.
pub(super) fn height(view: [f32; 4], width: usize) -> usize {
    let rows = (view[3] - view[2]) * scale(view, width);
    rows.round().clamp(1.0, 4.0 * width as f32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickstudy_core::env::Color;

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
    fn letters_stand_on_the_middle_of_their_baseline() {
        let picture = paint(&scene(Shape::text([0.5, 0.0], 0.4, "HH", BLACK)), 200);
        let inked: Vec<_> =
            (0..200 * 100).filter(|i| picture.pixels[*i][0] < 128).map(|i| (i % 200, i / 200)).collect();
        let (left, right) = (inked.iter().map(|p| p.0).min().unwrap(), inked.iter().map(|p| p.0).max().unwrap());
        assert!((150_usize.abs_diff((left + right) / 2)) < 2 && right - left > 40, "{left} to {right}");
        // Capitals of a font are about 0.73 of its size: 29 of 40 pixels here, above the row of y = 0.
        let (top, bottom) = (inked.iter().map(|p| p.1).min().unwrap(), inked.iter().map(|p| p.1).max().unwrap());
        assert!((48..=50).contains(&bottom) && (27..=31).contains(&(bottom - top)), "{top} to {bottom}");
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
        let letters = Shape::text([0.0, 0.0], f32::NAN, "x", BLACK);
        assert_eq!(paint(&scene(letters), 64), empty);
        // A hair line keeps its total ink: 100 pixels long, a fifth of a pixel wide.
        let hair = paint(&scene(Shape::line([-0.5, 0.005], [0.5, 0.005], 0.002, BLACK)), 200);
        assert!((ink(&hair) - 20.0).abs() < 1.5, "{}", ink(&hair));
    }
}
