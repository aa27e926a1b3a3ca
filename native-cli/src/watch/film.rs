//! Episodes as drawing lists in JSON, which a page paints on a canvas.

use quickstudy_core::env::{Color, Scene, Shape};
use std::fmt::Write as _;

/// An episode, picture by picture.
#[derive(Debug)]
pub(super) struct Film {
    /// Each picture with the return until then.
    pub pictures: Vec<(Scene, f64)>,
    /// Seconds from one to the next.
    pub seconds: f64,
}

impl Film {
    /// The episode as `{"seconds", "returns", "frames"}`. A frame is its view and its shapes; a shape that is that of
    /// the frame before, at the same place of the list, is 0, and others are a letter, a colour, a size, and numbers.
    pub(super) fn write(&self, out: &mut String) {
        let _ = write!(out, "{{\"seconds\":{},\"returns\":[", self.seconds);
        for (i, (_, total)) in self.pictures.iter().enumerate() {
            let _ = write!(out, "{}{}", if i > 0 { "," } else { "" }, finite(*total, 3));
        }
        *out += "],\"frames\":[";
        let mut before: &[Shape] = &[];
        for (i, (scene, _)) in self.pictures.iter().enumerate() {
            let digits = digits(scene);
            *out += if i > 0 { ",{\"view\":" } else { "{\"view\":" };
            list(out, &scene.view, digits);
            *out += ",\"shapes\":[";
            for (place, drawn) in scene.shapes.iter().enumerate() {
                if place > 0 {
                    out.push(',');
                }
                match before.get(place) == Some(drawn) && drawn.is_finite() {
                    true => out.push('0'),
                    false => shape(out, drawn, digits),
                }
            }
            *out += "]}";
            before = &scene.shapes;
        }
        *out += "]}";
    }
}

/// Digits after the point that move nothing on a screen: those of a 2,000th of the view.
fn digits(scene: &Scene) -> usize {
    let [xmin, xmax, ymin, ymax] = scene.view;
    let side = (xmax - xmin).max(ymax - ymin).max(1e-3);
    (3.3 - f64::from(side).log10()).ceil().clamp(0.0, 6.0) as usize
}

/// A shape as an array. One without numbers draws nothing: `["n"]`.
fn shape(out: &mut String, shape: &Shape, digits: usize) {
    let mut begin = |letter: char, color: &Color, size: f32, points: &[[f32; 2]]| {
        let Color { r, g, b } = color;
        let _ = write!(out, "[\"{letter}\",\"{r:02x}{g:02x}{b:02x}\",{},", finite(f64::from(size), digits + 1));
        list(out, points.as_flattened(), digits);
    };
    match shape {
        _ if !shape.is_finite() => {
            *out += "[\"n\"]";
            return;
        }
        Shape::Line { from, to, width, color } => begin('l', color, *width, &[*from, *to]),
        Shape::Polyline { points, width, color } => begin('l', color, *width, points),
        Shape::Circle { center, radius, color } => begin('c', color, *radius, &[*center]),
        Shape::Polygon { points, color } => begin('p', color, 0.0, points),
        Shape::Text { at, height, text, color } => {
            begin('t', color, *height, &[*at]);
            let _ = write!(out, ",{}", serde_json::Value::from(text.as_str()));
        }
    }
    out.push(']');
}

fn list(out: &mut String, numbers: &[f32], digits: usize) {
    for (i, x) in numbers.iter().enumerate() {
        let _ = write!(out, "{}{}", if i == 0 { "[" } else { "," }, finite(f64::from(*x), digits));
    }
    *out += if numbers.is_empty() { "[]" } else { "]" };
}

/// A number as JSON has it, which knows no infinities.
fn finite(x: f64, digits: usize) -> String {
    if !x.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{x:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn frames_hold_what_changes() {
        let ground = Shape::line([-1.0, 0.0], [1.0, 0.0], 0.02, Color::GREY);
        let scene = |x: f32| {
            Scene::new([-1.0, 1.0, -0.5, 0.5])
                .with(ground.clone())
                .with(Shape::circle([x, 0.25], 0.1, Color::BLUE))
                .with(Shape::polygon(vec![[x, f32::NAN]], Color::INK))
                .with(Shape::text([0.0, 0.0], 0.2, "a\"<b>", Color::INK))
        };
        let film = Film { pictures: vec![(scene(0.123_456), 0.0), (scene(-0.5), -1.25)], seconds: 0.02 };
        let mut text = String::new();
        film.write(&mut text);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["seconds"], &value["returns"]), (&json!(0.02), &json!([0, -1.25])));
        let first = &value["frames"][0];
        assert_eq!(first["view"], json!([-1, 1, -0.5, 0.5]));
        assert_eq!(first["shapes"][0], json!(["l", "96969e", 0.02, [-1, 0, 1, 0]]));
        assert_eq!(first["shapes"][1], json!(["c", "3a6ebe", 0.1, [0.123, 0.25]]));
        assert_eq!(first["shapes"][2], json!(["n"]));
        assert_eq!(first["shapes"][3], json!(["t", "26262c", 0.2, [0, 0], "a\"<b>"]));
        assert_eq!(value["frames"][1]["shapes"], json!([0, ["c", "3a6ebe", 0.1, [-0.5, 0.25]], ["n"], 0]));
    }
}
