//! Which line is which.

use super::{LABEL, line};
use crate::pictures::sheet::{INK, Sheet, Style};

/// Labels with the numbers of their colours, in as many columns as they leave room for.
pub(super) struct Legend<'a> {
    entries: Vec<(usize, &'a str)>,
    width: f32,
    columns: usize,
    rows: usize,
}

/// From the sheet's edges to the legend.
const MARGIN: f32 = 24.0;
const ROW: f32 = 22.0;
const SWATCH: f32 = 30.0;
/// Rows at most; what is beyond them is counted.
const ROWS: usize = 25;

impl<'a> Legend<'a> {
    /// A legend on a sheet of this width; a single line needs none.
    pub(super) fn new(entries: Vec<(usize, &'a str)>, width: f32) -> Self {
        if entries.len() < 2 {
            return Self { entries, width, columns: 1, rows: 0 };
        }
        let style = Style::new(LABEL, INK);
        let widest = entries.iter().map(|(_, label)| style.width(label)).fold(0.0, f32::max);
        let columns = (((width - 2.0 * MARGIN) / (widest + SWATCH + 20.0)) as usize).clamp(1, 4);
        let rows = entries.len().div_ceil(columns).min(ROWS);
        Self { entries, width, columns, rows }
    }

    pub(super) fn height(&self) -> f32 {
        if self.rows == 0 { 0.0 } else { 12.0 + ROW * self.rows as f32 }
    }

    pub(super) fn draw(&self, sheet: &mut Sheet) {
        let column = (self.width - 2.0 * MARGIN) / self.columns as f32;
        let style = Style::new(LABEL, INK);
        let room = self.columns * self.rows;
        for (i, (color, label)) in self.entries.iter().enumerate().take(room) {
            let left = MARGIN + column * (i % self.columns) as f32;
            let y = 84.0 + ROW * (i / self.columns) as f32;
            if i + 1 == room && self.entries.len() > room {
                sheet.text(&format!("and {} more", self.entries.len() - i), [left, y + 4.5], style);
                break;
            }
            line(sheet, &[[left + 1.0, y], [left + 21.0, y]], *color, 2.0);
            sheet.text(&clip(label, style, column - SWATCH), [left + SWATCH, y + 4.5], style);
        }
    }
}

/// As much of a text as fits into `room`.
pub(crate) fn clip(label: &str, style: Style, room: f32) -> String {
    let mut text = label.to_owned();
    while style.width(&text) > room && !text.is_empty() {
        // The mark at the end goes with the letter before it.
        text.pop();
        text.pop();
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legends_have_room_for_their_labels() {
        let of = |label: &str, count: usize| {
            let legend = Legend::new(vec![(0, label); count], 880.0);
            (legend.columns, legend.rows)
        };
        assert_eq!([of("ppo", 1), of("ppo", 2), of("ppo", 9)], [(1, 0), (4, 1), (4, 3)]);
        let long = "maml-trpo · point-corner-squared learning_rate=0.001";
        assert_eq!(of(long, 4), (2, 2));
        assert_eq!(of(&long.repeat(3), 4), (1, 4));
        let style = Style::new(LABEL, INK);
        let cut = clip(&long.repeat(3), style, 300.0);
        assert!(cut.ends_with('…') && style.width(&cut) <= 300.0 && style.width(&cut) > 270.0, "{cut}");
        assert_eq!(clip(long, style, 800.0), long);
    }
}
