//! Drawing lists: what an environment looks like, as shapes in its own units.
//!
//! An environment's `draw` returns a [`Scene`]; the command line turns scenes into GIFs and the web page paints the
//! same scenes on a canvas, so every environment is drawn once.

use serde::Serialize;

/// An opaque colour, 8 bits per channel in sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Color {
    /// Red, 0–255.
    pub r: u8,
    /// Green, 0–255.
    pub g: u8,
    /// Blue, 0–255.
    pub b: u8,
}

impl Color {
    /// A colour from its three channels.
    #[must_use]
    pub const fn rgb(r: u8, g: u8, b: u8) -> Self {
        Self { r, g, b }
    }

    /// Near black: outlines and carts.
    pub const INK: Self = Self::rgb(38, 38, 44);
    /// Mid grey: tracks, axes and ground.
    pub const GREY: Self = Self::rgb(150, 150, 158);
    /// Light grey: large areas behind the rest.
    pub const PALE: Self = Self::rgb(226, 228, 232);
    /// Warm accent: poles and links.
    pub const ORANGE: Self = Self::rgb(214, 122, 51);
    /// Cool accent: joints and arrows.
    pub const BLUE: Self = Self::rgb(58, 110, 190);
    /// Goals.
    pub const GREEN: Self = Self::rgb(46, 150, 92);
}

/// One filled or stroked shape; all lengths are in the units of the scene's view.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Shape {
    /// A straight stroke with round ends.
    Line {
        /// First end.
        from: [f32; 2],
        /// Second end.
        to: [f32; 2],
        /// Stroke width.
        width: f32,
        /// Stroke colour.
        color: Color,
    },
    /// A filled disc.
    Circle {
        /// Centre.
        center: [f32; 2],
        /// Radius.
        radius: f32,
        /// Fill colour.
        color: Color,
    },
    /// A filled polygon, closed by itself.
    Polygon {
        /// Corners in order.
        points: Vec<[f32; 2]>,
        /// Fill colour.
        color: Color,
    },
    /// An open stroke through several points.
    Polyline {
        /// Points in order.
        points: Vec<[f32; 2]>,
        /// Stroke width.
        width: f32,
        /// Stroke colour.
        color: Color,
    },
    /// A line of text, as wide as its letters are.
    Text {
        /// The middle of its baseline.
        at: [f32; 2],
        /// Height of the letters: the size of the font.
        height: f32,
        /// The letters.
        text: String,
        /// Colour.
        color: Color,
    },
}

impl Shape {
    /// A straight stroke.
    #[must_use]
    pub const fn line(from: [f32; 2], to: [f32; 2], width: f32, color: Color) -> Self {
        Self::Line { from, to, width, color }
    }

    /// A filled disc.
    #[must_use]
    pub const fn circle(center: [f32; 2], radius: f32, color: Color) -> Self {
        Self::Circle { center, radius, color }
    }

    /// A filled rectangle with sides parallel to the axes: `[xmin, xmax, ymin, ymax]`.
    #[must_use]
    pub fn rect([xmin, xmax, ymin, ymax]: [f32; 4], color: Color) -> Self {
        Self::Polygon { points: vec![[xmin, ymin], [xmax, ymin], [xmax, ymax], [xmin, ymax]], color }
    }

    /// A filled polygon.
    #[must_use]
    pub fn polygon(points: Vec<[f32; 2]>, color: Color) -> Self {
        Self::Polygon { points, color }
    }

    /// An open stroke through `points`.
    #[must_use]
    pub fn polyline(points: Vec<[f32; 2]>, width: f32, color: Color) -> Self {
        Self::Polyline { points, width, color }
    }

    /// A line of text with the middle of its baseline at a place.
    #[must_use]
    pub fn text(at: [f32; 2], height: f32, text: impl Into<String>, color: Color) -> Self {
        Self::Text { at, height, text: text.into(), color }
    }

    /// Tells whether every number of the shape is finite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        let point = |p: &[f32; 2]| p[0].is_finite() && p[1].is_finite();
        match self {
            Self::Line { from, to, width, .. } => point(from) && point(to) && width.is_finite(),
            Self::Circle { center, radius, .. } => point(center) && radius.is_finite(),
            Self::Polygon { points, .. } => points.iter().all(point),
            Self::Polyline { points, width, .. } => points.iter().all(point) && width.is_finite(),
            Self::Text { at, height, .. } => point(at) && height.is_finite(),
        }
    }
}

/// A picture of one state: shapes painted in order over a plain background.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scene {
    /// The visible rectangle `[xmin, xmax, ymin, ymax]`, y upwards; painters keep its aspect ratio.
    pub view: [f32; 4],
    /// Shapes, later ones over earlier ones.
    pub shapes: Vec<Shape>,
}

impl Scene {
    /// An empty scene that shows `[xmin, xmax, ymin, ymax]`.
    #[must_use]
    pub fn new(view: [f32; 4]) -> Self {
        Self { view, shapes: Vec::new() }
    }

    /// A bar for each number, side by side, upwards or downwards from 0. They come near to a length of 1 where
    /// numbers are large: x is drawn as x / (1 + |x|). The name of each is on the other side of 0.
    #[must_use]
    pub fn bars(names: &[String], numbers: &[f32]) -> Self {
        let count = numbers.len().max(1) as f32;
        let half = 1.2_f32.max(0.5 * count);
        let scene = Scene::new([0.5 * count - half, 0.5 * count + half, -1.2, 1.2]);
        let bar = |(i, x): (usize, &f32)| {
            let height = if x.is_finite() { x / (1.0 + x.abs()) } else { 0.0 };
            let left = i as f32 + 0.1;
            Shape::rect([left, left + 0.8, height.min(0.0), height.max(0.0)], Color::BLUE)
        };
        let label = |(i, (name, x)): (usize, (&String, &f32))| {
            // As high as fits: letters are about 0.6 times as wide as high.
            let height = (1.5 / name.chars().count().max(1) as f32).min(0.18);
            let below = if *x < 0.0 { 0.1 } else { -0.1 - 0.75 * height };
            Shape::text([i as f32 + 0.5, below], height, name, Color::INK)
        };
        let scene = numbers.iter().enumerate().map(bar).fold(scene, Scene::with);
        let scene = scene.with(Shape::line([0.0, 0.0], [count, 0.0], 0.03, Color::INK));
        names.iter().zip(numbers).enumerate().map(label).fold(scene, Scene::with)
    }

    /// Adds a shape on top and returns the scene.
    #[must_use]
    pub fn with(mut self, shape: Shape) -> Self {
        self.shapes.push(shape);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_stay_in_sight_and_show_where_zero_is() {
        let names = ["x", "speed", "links.2.angle", "3", "y"].map(str::to_owned);
        let scene = Scene::bars(&names, &[0.0, 1.0, -3.0, f32::MAX, f32::NAN]);
        assert_eq!(scene.view, [0.0, 5.0, -1.2, 1.2]);
        let corners = |shape: &Shape| match shape {
            Shape::Polygon { points, .. } => (points[0], points[2]),
            other => panic!("{other:?}"),
        };
        let bars: Vec<_> = scene.shapes[..5].iter().map(corners).collect();
        let near = |a: [f32; 2], b: [f32; 2]| (a[0] - b[0]).abs() < 1e-6 && (a[1] - b[1]).abs() < 1e-6;
        for (i, (low, high)) in [(0.0, 0.0), (0.0, 0.5), (-0.75, 0.0), (0.0, 1.0), (0.0, 0.0)].into_iter().enumerate() {
            assert!(near(bars[i].0, [i as f32 + 0.1, low]) && near(bars[i].1, [i as f32 + 0.9, high]), "{bars:?}");
        }
        assert!(scene.shapes.iter().all(Shape::is_finite) && scene.shapes.len() == 11);
        for (i, name) in names.iter().enumerate() {
            let Shape::Text { at: [x, y], height, text, .. } = &scene.shapes[6 + i] else { panic!("{scene:?}") };
            assert_eq!((text, *x), (name, i as f32 + 0.5));
            // Beside its bar, on the other side of 0.
            assert!((*y > 0.0) == (i == 2) && *height <= 0.18 && 0.6 * height * text.len() as f32 <= 1.0);
        }
    }

    #[test]
    fn shapes_serialise_with_their_kind() {
        let scene = Scene::new([-1.0, 1.0, 0.0, 1.0]).with(Shape::circle([0.0, 0.5], 0.25, Color::INK));
        assert_eq!(
            serde_json::to_string(&scene).unwrap(),
            concat!(
                r#"{"view":[-1.0,1.0,0.0,1.0],"shapes":[{"kind":"circle","center":[0.0,0.5],"radius":0.25,"#,
                r#""color":{"r":38,"g":38,"b":44}}]}"#
            )
        );
    }

    #[test]
    fn a_rectangle_has_four_corners_and_nan_is_not_finite() {
        let Shape::Polygon { points, .. } = Shape::rect([0.0, 2.0, -1.0, 1.0], Color::GREY) else {
            panic!("a polygon")
        };
        assert_eq!(points, [[0.0, -1.0], [2.0, -1.0], [2.0, 1.0], [0.0, 1.0]]);
        assert!(Shape::rect([0.0, 2.0, -1.0, 1.0], Color::GREY).is_finite());
        assert!(!Shape::circle([f32::NAN, 0.0], 1.0, Color::GREY).is_finite());
    }
}
