//! The axes of a panel: where they are, what they span, and their numbers.

use super::LABEL;
use crate::pictures::sheet::{Anchor, GRID, INK, QUIET, Sheet, Style, ticks};
use crate::text::numbers::{short_count, tick_labels};
use std::ops::Range;

/// Where the axes are on the sheet and what they span.
#[derive(Clone, Debug)]
pub(super) struct Axes {
    /// Values from left to right; their logarithms where the axis is logarithmic.
    pub x: Range<f64>,
    pub log_x: bool,
    pub y: Range<f64>,
    pub left: f32,
    pub right: f32,
    pub top: f32,
    pub bottom: f32,
}

/// Room that a number and the gap to the next one take along an axis.
const ACROSS: f32 = 72.0;
const UP: f32 = 36.0;

impl Axes {
    pub(super) fn at(&self, (x, y): (f64, f64)) -> [f32; 2] {
        let x = if self.log_x { x.log10() } else { x };
        let across = ((x - self.x.start) / (self.x.end - self.x.start)) as f32;
        let up = ((y - self.y.start) / (self.y.end - self.y.start)) as f32;
        [self.left + across * (self.right - self.left), self.bottom - up * (self.bottom - self.top)]
    }

    /// Values along the horizontal axis that have labels, and these.
    fn x_ticks(&self) -> Vec<(f64, String)> {
        if !self.log_x {
            let at = ticks(self.x.start, self.x.end, ((self.right - self.left) / ACROSS) as usize);
            return at.iter().copied().zip(tick_labels(&at)).collect();
        }
        let powers = self.x.start.floor() as i32..=self.x.end.ceil() as i32;
        let steps: &[f64] = if self.x.end - self.x.start > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10.0_f64.powi(power)));
        all.filter(|x| (self.x.start..=self.x.end).contains(&x.log10())).map(|x| (x, short_count(x))).collect()
    }

    pub(super) fn draw(&self, sheet: &mut Sheet, [x_label, y_label]: [&str; 2]) {
        let label = Style::new(LABEL, INK);
        let values = ticks(self.y.start, self.y.end, ((self.bottom - self.top) / UP) as usize);
        let x = if self.log_x { 10.0_f64.powf(self.x.start) } else { self.x.start };
        for (y, text) in values.iter().zip(tick_labels(&values)) {
            let [_, at] = self.at((x, *y));
            sheet.stroke(&[[self.left, at], [self.right, at]], 1.0, GRID, 1.0);
            sheet.text(&text, [self.left - 10.0, at + 4.5], label.at(Anchor::End));
        }
        for (x, text) in self.x_ticks() {
            let [at, _] = self.at((x, self.y.start));
            sheet.stroke(&[[at, self.top], [at, self.bottom]], 1.0, GRID, 1.0);
            sheet.text(&text, [at, self.bottom + 20.0], label.at(Anchor::Middle));
        }
        let corner = [[self.left, self.top], [self.left, self.bottom], [self.right, self.bottom]];
        sheet.stroke(&corner, 1.0, QUIET, 1.0);
        let name = Style::new(14.0, QUIET).at(Anchor::Middle);
        let x_label = if x_label.is_empty() { "environment steps" } else { x_label };
        sheet.text(x_label, [(self.left + self.right) / 2.0, self.bottom + 44.0], name);
        sheet.text(y_label, [self.left - 58.0, (self.top + self.bottom) / 2.0], name.upwards());
    }
}

/// The range of values with a margin of 6 %; a flat line gets room on both sides.
pub(super) fn padded(ys: &[f64]) -> Range<f64> {
    let low = ys.iter().fold(f64::INFINITY, |a, b| a.min(*b));
    let high = ys.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let gap = (high - low) * 0.06;
    let gap = if gap > 0.0 { gap } else { (high.abs() * 0.1).max(1.0) };
    // A curve of positive returns that starts near zero is easier to read from zero.
    if low >= 0.0 && low < 0.3 * high {
        return 0.0..high + gap;
    }
    low - gap..high + gap
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_are_as_far_from_each_other() {
        let axes = Axes { x: 1.0..5.0, log_x: true, y: 0.0..1.0, left: 80.0, right: 800.0, top: 0.0, bottom: 100.0 };
        let names = ["10", "100", "1k", "10k", "100k"].map(str::to_owned);
        assert_eq!(axes.x_ticks(), [10.0_f64, 100.0, 1000.0, 1e4, 1e5].into_iter().zip(names).collect::<Vec<_>>());
        let gaps: Vec<f32> =
            axes.x_ticks().windows(2).map(|t| axes.at((t[1].0, 0.0))[0] - axes.at((t[0].0, 0.0))[0]).collect();
        assert!(gaps.iter().all(|gap| (gap - gaps[0]).abs() < 1e-3), "{gaps:?}");
    }
}
