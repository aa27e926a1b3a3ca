//! The last values of lines, written where these end.

use super::{LABEL, color};
use crate::pictures::sheet::{Sheet, Style};
use crate::text::numbers::alike;

/// The end of a line: its place on the sheet, its value, and the number of its colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EndLabel {
    pub at: [f32; 2],
    pub value: f64,
    pub color: usize,
}

/// More lines than this have no values at their ends, where they would not fit.
const MOST: usize = 16;
/// From one label's baseline to the next one's.
const ROW: f32 = 17.0;

/// Writes the values right of the ends, above `bottom`; those that would overlap are moved up and down.
pub(super) fn draw(sheet: &mut Sheet, ends: &[EndLabel], bottom: f32) {
    if ends.len() > MOST {
        return;
    }
    let style = Style::new(LABEL, crate::pictures::sheet::INK).bold();
    let texts = alike(&ends.iter().map(|end| end.value).collect::<Vec<_>>());
    let widths: Vec<f32> = texts.iter().map(|text| style.width(text)).collect();
    for mut rows in beside_each_other(ends, &widths) {
        spread(&mut rows, ROW, bottom);
        for (y, i) in rows {
            let place = [ends[i].at[0] + 8.0, y + 4.0];
            sheet.text(&texts[i], place, Style::new(LABEL, color(ends[i].color)).bold());
        }
    }
}

/// Ends whose labels are at the same place across the sheet, as heights and numbers.
fn beside_each_other(ends: &[EndLabel], widths: &[f32]) -> Vec<Vec<(f32, usize)>> {
    let mut order: Vec<usize> = (0..ends.len()).collect();
    order.sort_by(|a, b| ends[*a].at[0].total_cmp(&ends[*b].at[0]));
    let mut groups: Vec<Vec<(f32, usize)>> = Vec::new();
    let mut right = f32::NEG_INFINITY;
    for i in order {
        let [x, y] = ends[i].at;
        match groups.last_mut().filter(|_| x < right + 8.0) {
            Some(group) => group.push((y, i)),
            None => groups.push(vec![(y, i)]),
        }
        right = right.max(x + 8.0 + widths[i]);
    }
    groups
}

/// Moves rows down until neighbours are at least `gap` apart, and up again where the last one would be below `most`;
/// keeps their order.
fn spread(rows: &mut [(f32, usize)], gap: f32, most: f32) {
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    for i in 1..rows.len() {
        rows[i].0 = rows[i].0.max(rows[i - 1].0 + gap);
    }
    let mut limit = most;
    for row in rows.iter_mut().rev() {
        row.0 = row.0.min(limit);
        limit = row.0 - gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_labels_do_not_overlap() {
        let mut rows = [(100.0, 0), (95.0, 1), (300.0, 2)];
        spread(&mut rows, 18.0, 400.0);
        assert_eq!(rows, [(95.0, 1), (113.0, 0), (300.0, 2)]);
        spread(&mut rows, 18.0, 290.0);
        assert_eq!(rows[2], (290.0, 2));
    }

    #[test]
    fn a_line_that_ends_early_has_its_label_there() {
        let end = |x: f32, y: f32| EndLabel { at: [x, y], value: 1.0, color: 0 };
        let groups = beside_each_other(&[end(800.0, 50.0), end(300.0, 52.0), end(790.0, 54.0)], &[30.0; 3]);
        assert_eq!(groups, [vec![(52.0, 1)], vec![(54.0, 2), (50.0, 0)]]);
    }
}
