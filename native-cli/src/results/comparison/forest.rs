//! Intervals side by side: a row for each method, a column for each statistic.

use crate::curve::{clip, color};
use crate::pictures::sheet::{Anchor, GRID, INK, QUIET, Sheet, Style, ticks};
use crate::statistics::bootstrap::Estimate;
use crate::text::numbers::tick_labels;
use quickstudy_core::env::Color;

/// A block of rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Forest {
    /// Its heading.
    pub title: String,
    /// Columns: the name of a statistic, and the ends of its axis if they do not follow from the values.
    pub columns: Vec<(String, Option<[f64; 2]>)>,
    /// Rows: a label, the number of its colour, and an estimate for each column.
    pub rows: Vec<(String, usize, Vec<Option<Estimate>>)>,
}

/// From the left edge of the sheet to the first column.
const LEFT: f32 = 250.0;
/// Between columns, and right of the last one.
const GAP: f32 = 36.0;
/// Height of a row.
const ROW: f32 = 26.0;
/// Height of the heading and the names of columns.
const HEAD: f32 = 70.0;
/// Height of the numbers below the rows, and of what is free below these.
const FOOT: f32 = 44.0;
/// Room that a number takes along an axis.
const TICK: f32 = 44.0;

impl Forest {
    /// Draws the block on a sheet of this width.
    pub(crate) fn draw(&self, width: f32) -> Sheet {
        let bottom = HEAD + ROW * self.rows.len() as f32;
        let mut sheet = Sheet::new(width, bottom + FOOT);
        sheet.text(&self.title, [24.0, 28.0], Style::new(15.0, INK).bold());
        for (i, (label, number, _)) in self.rows.iter().enumerate() {
            let y = HEAD + ROW * (i as f32 + 0.5);
            let style = Style::new(13.0, color(*number)).bold();
            sheet.text(&clip(label, style, LEFT - 40.0), [24.0, y + 4.5], style);
        }
        let column = (width - LEFT) / self.columns.len().max(1) as f32 - GAP;
        for (i, (name, ends)) in self.columns.iter().enumerate() {
            let left = LEFT + i as f32 * (column + GAP);
            let style = Style::new(13.0, QUIET).at(Anchor::Middle);
            sheet.text(name, [left + column / 2.0, HEAD - 12.0], style);
            self.column(&mut sheet, i, ends.unwrap_or_else(|| self.range(i)), [left, left + column]);
        }
        sheet
    }

    /// The range of all numbers of a column, with a margin.
    fn range(&self, column: usize) -> [f64; 2] {
        let estimates = || self.rows.iter().filter_map(|(_, _, all)| all[column]);
        let numbers = || estimates().flat_map(|one| one.interval.map_or([one.value; 2], |(low, high)| [low, high]));
        let (low, high) = (numbers().fold(f64::INFINITY, f64::min), numbers().fold(f64::NEG_INFINITY, f64::max));
        if !(low.is_finite() && high.is_finite()) {
            return [0.0, 1.0];
        }
        let gap = if high > low { (high - low) * 0.08 } else { (high.abs() * 0.1).max(0.1) };
        [low - gap, high + gap]
    }

    fn column(&self, sheet: &mut Sheet, column: usize, [low, high]: [f64; 2], [left, right]: [f32; 2]) {
        let bottom = HEAD + ROW * self.rows.len() as f32;
        let at = |value: f64| left + ((value - low) / (high - low)) as f32 * (right - left);
        let values = ticks(low, high, ((right - left) / TICK).max(1.0) as usize);
        for (value, text) in values.iter().zip(tick_labels(&values)) {
            sheet.stroke(&[[at(*value), HEAD], [at(*value), bottom]], 1.0, GRID, 1.0);
            sheet.text(&text, [at(*value), bottom + 18.0], Style::new(13.0, INK).at(Anchor::Middle));
        }
        sheet.stroke(&[[left, bottom], [right, bottom]], 1.0, QUIET, 1.0);
        for (i, (_, number, estimates)) in self.rows.iter().enumerate() {
            let Some(estimate) = estimates[column] else { continue };
            let y = HEAD + ROW * (i as f32 + 0.5);
            if let Some((from, to)) = estimate.interval {
                let [from, to] = [from, to].map(|value| at(value.clamp(low, high)));
                sheet.rect([from, y - 6.0, to.max(from + 1.0), y + 6.0], pale(*number));
            }
            let x = at(estimate.value);
            sheet.rect([x - 1.5, y - 8.0, x + 1.5, y + 8.0], color(*number));
        }
    }
}

/// The colour of this number, as if it lay thinly on white.
fn pale(number: usize) -> Color {
    let color = color(number);
    let mix = |part: u8| (f32::from(part) * 0.45 + 255.0 * 0.55) as u8;
    Color::rgb(mix(color.r), mix(color.g), mix(color.b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_estimate_has_a_mark_and_its_interval_a_bar() {
        let estimate = |value, interval| Some(Estimate { value, interval });
        let forest = Forest {
            title: "T".into(),
            columns: vec![("IQM".into(), None), ("gap".into(), Some([0.0, 1.0]))],
            rows: vec![
                ("ppo".into(), 0, vec![estimate(5.0, Some((4.0, 6.0))), estimate(0.5, None)]),
                ("trpo".into(), 1, vec![estimate(7.0, Some((7.0, 7.0))), None]),
            ],
        };
        let svg = forest.draw(850.0).svg();
        for part in [">T<", ">IQM<", ">gap<", ">ppo<", ">trpo<", ">0.4<", ">4<"] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert_eq!(svg.matches("<polygon").count(), 5, "three marks and two bars");
        // Halfway of the second column, from 550 to 814.
        assert!(svg.contains("680.5,75.0 683.5,75.0"), "{svg}");
        assert!(!Forest::default().draw(850.0).svg().contains("NaN"));
    }
}
