//! Pictures as flat lists of numbers: thousands of shapes cross to JavaScript as one typed array.

use std::iter;

use quickstudy_core::env::{Color, Scene, Shape, builtin};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::thrown::{Thrown, thrown};

/// Kinds of shapes in the list.
const LINE: f32 = 0.0;
const CIRCLE: f32 = 1.0;
const POLYGON: f32 = 2.0;
const POLYLINE: f32 = 3.0;
const TEXT: f32 = 4.0;

/// A scene: number of shapes, view `[xmin, xmax, ymin, ymax]`, then each shape: kind, colour as `0xrrggbb`,
/// width, radius or height of letters, number of points, points. The points of a text are its place, then one for each
/// character: its code point, and 0.
pub fn append(list: &mut Vec<f32>, scene: &Scene) {
    list.push(scene.shapes.len() as f32);
    list.extend(scene.view);
    for shape in &scene.shapes {
        match shape {
            Shape::Line { from, to, width, color } => push(list, LINE, *color, *width, &[*from, *to]),
            Shape::Circle { center, radius, color } => push(list, CIRCLE, *color, *radius, &[*center]),
            Shape::Polygon { points, color } => push(list, POLYGON, *color, 0.0, points),
            Shape::Polyline { points, width, color } => push(list, POLYLINE, *color, *width, points),
            Shape::Text { at, height, text, color } => {
                // Exact: code points are below 2²⁴.
                let letters = text.chars().map(|letter| [u32::from(letter) as f32, 0.0]);
                push(list, TEXT, *color, *height, &iter::once(*at).chain(letters).collect::<Vec<_>>());
            }
        }
    }
}

fn push(list: &mut Vec<f32>, kind: f32, color: Color, size: f32, points: &[[f32; 2]]) {
    // Exact: below 2²⁴.
    let rgb = u32::from(color.r) << 16 | u32::from(color.g) << 8 | u32::from(color.b);
    list.extend([kind, rgb as f32, size, points.len() as f32]);
    list.extend(points.as_flattened());
}

/// Scenes of states of a built-in environment, one after the other, on one task.
///
/// # Errors
/// For an unknown environment, or numbers that do not fit it.
#[wasm_bindgen]
pub fn draw(env: &str, states: &[f32], task: &[f32]) -> Thrown<Vec<f32>> {
    let env = builtin(env).map_err(thrown)?;
    let mut list = Vec::new();
    for state in states.chunks(env.state_len()) {
        append(&mut list, &env.draw(state, task).map_err(thrown)?);
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_list_holds_every_shape() {
        let scene = Scene::new([-1.0, 1.0, 0.0, 2.0])
            .with(Shape::line([0.0, 0.5], [1.0, 1.5], 0.25, Color::rgb(1, 2, 3)))
            .with(Shape::circle([0.5, 0.25], 2.0, Color::rgb(255, 255, 255)))
            .with(Shape::polygon(vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], Color::rgb(0, 0, 255)))
            .with(Shape::text([0.5, 1.0], 0.25, "aθ", Color::rgb(0, 0, 2)));
        let mut list = Vec::new();
        append(&mut list, &scene);
        assert_eq!(list[..5], [4.0, -1.0, 1.0, 0.0, 2.0]);
        assert_eq!(list[5..13], [0.0, f32::from(1_u8) * 65536.0 + 515.0, 0.25, 2.0, 0.0, 0.5, 1.0, 1.5]);
        assert_eq!(list[13..19], [1.0, 16_777_215.0, 2.0, 1.0, 0.5, 0.25]);
        assert_eq!(list[19..29], [2.0, 255.0, 0.0, 3.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0]);
        assert_eq!(list[29..], [4.0, 2.0, 0.25, 3.0, 0.5, 1.0, 97.0, 0.0, 952.0, 0.0]);
    }
}
