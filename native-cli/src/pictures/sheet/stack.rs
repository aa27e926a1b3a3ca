//! Drawings below each other.

use super::{Mark, Sheet};

impl Sheet {
    /// One sheet with all of these, from top to bottom.
    pub fn stacked(sheets: Vec<Sheet>) -> Sheet {
        let width = sheets.iter().map(|sheet| sheet.width).fold(0.0, f32::max);
        let mut all = Sheet::new(width, 0.0);
        for sheet in sheets {
            let top = all.height;
            all.marks.extend(sheet.marks.into_iter().map(|mark| mark.lowered(top)));
            // What one cuts off is its own.
            all.clip(None);
            all.height += sheet.height;
        }
        all
    }
}

impl Mark {
    /// The mark so much further down.
    fn lowered(mut self, by: f32) -> Self {
        match &mut self {
            Mark::Stroke { points, .. } | Mark::Fill { points, .. } => points.iter_mut().for_each(|[_, y]| *y += by),
            Mark::Disc { center: [_, y], .. } | Mark::Text { at: [_, y], .. } => *y += by,
            Mark::Clip(area) => {
                if let Some([_, top, _, bottom]) = area {
                    *top += by;
                    *bottom += by;
                }
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::sheet::{INK, Style};

    #[test]
    fn sheets_follow_each_other() {
        let sheet = |width: f32, height: f32| {
            let mut sheet = Sheet::new(width, height);
            sheet.clip(Some([0.0, 1.0, 5.0, 9.0]));
            sheet.stroke(&[[1.0, 2.0], [3.0, 4.0]], 1.0, INK, 1.0);
            sheet.rect([0.0, 0.0, 1.0, 1.0], INK);
            sheet.text("a", [2.0, 3.0], Style::new(10.0, INK));
            sheet.disc([4.0, 5.0], 1.0, INK);
            sheet
        };
        let svg = Sheet::stacked(vec![sheet(50.0, 10.0), sheet(80.0, 20.0)]).svg();
        for part in [
            "viewBox=\"0 0 80 30\"",
            "1.0,2.0 3.0,4.0",
            "1.0,12.0 3.0,14.0",
            "cy=\"15.0\"",
            "y=\"13.0\"",
            "y=\"11.0\" width=\"5.0\" height=\"8.0\"",
            "0.0,10.0 1.0,10.0 1.0,11.0 0.0,11.0",
        ] {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count());
    }
}
