//! Scenes of environments as SVG.

use quickstudy_core::env::{Color, Scene, Shape};

/// Where a scene is painted: its view, fitted into a square of `size` pixels with this upper left corner.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    view: [f32; 4],
    left: f32,
    top: f32,
    scale: f32,
}

impl Frame {
    /// A square for a view `[xmin, xmax, ymin, ymax]`, which keeps its aspect ratio.
    #[must_use]
    pub fn new(view: [f32; 4], [left, top]: [f32; 2], size: f32) -> Frame {
        let [xmin, xmax, ymin, ymax] = view;
        let scale = size / (xmax - xmin).max(ymax - ymin).max(f32::MIN_POSITIVE);
        let inset = |low: f32, high: f32| (size - (high - low) * scale) / 2.0;
        Frame { view, left: left + inset(xmin, xmax), top: top + inset(ymin, ymax), scale }
    }

    fn x(&self, x: f32) -> f32 {
        self.left + (x - self.view[0]) * self.scale
    }

    fn y(&self, y: f32) -> f32 {
        self.top + (self.view[3] - y) * self.scale
    }

    fn points(&self, points: &[[f32; 2]]) -> String {
        points.iter().map(|p| format!("{:.1},{:.1}", self.x(p[0]), self.y(p[1]))).collect::<Vec<_>>().join(" ")
    }

    /// A stroke through points of the scene.
    #[must_use]
    pub fn stroke(&self, points: &[[f32; 2]], width: f32, color: &str) -> String {
        format!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{width:.1}\" \
             stroke-linejoin=\"round\" stroke-linecap=\"round\"/>\n",
            self.points(points)
        )
    }

    /// A disc around a point of the scene, its radius in pixels.
    #[must_use]
    pub fn dot(&self, at: [f32; 2], radius: f32, color: &str) -> String {
        format!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\" fill=\"{color}\"/>\n",
            self.x(at[0]),
            self.y(at[1])
        )
    }

    /// The scene's shapes.
    #[must_use]
    pub fn scene(&self, scene: &Scene) -> String {
        scene.shapes.iter().filter(|shape| shape.is_finite()).map(|shape| self.shape(shape)).collect()
    }

    fn shape(&self, shape: &Shape) -> String {
        match shape {
            Shape::Line { from, to, width, color } => self.stroke(&[*from, *to], width * self.scale, &hex(*color)),
            Shape::Circle { center, radius, color } => self.dot(*center, radius * self.scale, &hex(*color)),
            Shape::Polygon { points, color } => {
                format!("<polygon points=\"{}\" fill=\"{}\"/>\n", self.points(points), hex(*color))
            }
            Shape::Polyline { points, width, color } => self.stroke(points, width * self.scale, &hex(*color)),
        }
    }
}

fn hex(color: Color) -> String {
    format!("#{:02x}{:02x}{:02x}", color.r, color.g, color.b)
}

/// Text for SVG.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_are_centred_and_point_upwards() {
        let frame = Frame::new([-1.0, 1.0, 0.0, 1.0], [10.0, 20.0], 100.0);
        assert_eq!(frame.dot([0.0, 0.0], 2.0, "red"), "<circle cx=\"60.0\" cy=\"95.0\" r=\"2.0\" fill=\"red\"/>\n");
        let scene = Scene::new([-1.0, 1.0, 0.0, 1.0]).with(Shape::circle([0.0, 1.0], 0.5, Color::INK));
        assert_eq!(frame.scene(&scene), "<circle cx=\"60.0\" cy=\"45.0\" r=\"25.0\" fill=\"#26262c\"/>\n");
        assert_eq!(escaped("a<b & \"c\""), "a&lt;b &amp; &quot;c&quot;");
    }
}
