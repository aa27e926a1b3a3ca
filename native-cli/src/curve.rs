//! Learning curves: mean over seeds with a 95 % bootstrap interval.

use crate::band::{Band, aggregate};
use crate::outcome::Stop;
use crate::sheet::{Anchor, GRID, INK, QUIET, Sheet, Style, ticks};
use quickstudy_core::env::Color;

/// One line of a plot: the same experiment under one or several seeds.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Legend text.
    pub label: String,
    /// Per seed: `(environment steps, return)` in order of steps, or whatever the axes are.
    pub runs: Vec<Vec<(f64, f64)>>,
    /// Marks: the same of evaluations; drawn as dots.
    pub marks: Vec<(f64, f64)>,
}

/// A plot.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// Bold first line.
    pub title: String,
    /// Grey second line: what the line and the band are.
    pub subtitle: String,
    /// Label of the horizontal axis; an empty one stands for environment steps.
    pub x_label: String,
    /// The horizontal axis is divided by powers of ten; points at 0 and below are left out.
    pub log_x: bool,
    /// Label of the vertical axis.
    pub y_label: String,
    /// Lines, in legend order.
    pub series: Vec<Series>,
}

/// A count as `512`, `20k`, `1.5M`.
#[must_use]
pub fn short_count(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if v >= 1e9 => (value / 1e9, "B"),
        v if v >= 1e6 => (value / 1e6, "M"),
        v if v >= 1e3 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let text = format!("{scaled:.2}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

const WIDTH: f32 = 880.0;
/// Height of the part with the axes, their labels included.
const BODY: f32 = 420.0;
/// From the sheet's left edge to the axes.
const LEFT: f32 = 82.0;
/// From the axes to the sheet's right edge.
const RIGHT: f32 = 66.0;
/// From the axes to the sheet's lower edge.
const BELOW: f32 = 62.0;
/// Wong 2011 (Nature Methods 8:441), told apart with every kind of colour vision; yellow left out on white.
const COLORS: [Color; 7] = [
    Color::rgb(0, 114, 178),
    Color::rgb(213, 94, 0),
    Color::rgb(0, 158, 115),
    Color::rgb(204, 121, 167),
    Color::rgb(86, 180, 233),
    Color::rgb(230, 159, 0),
    Color::rgb(90, 90, 98),
];
/// More lines than this have no values at their ends, where they would not fit.
const ENDS: usize = 16;
/// Letters of labels.
const LABEL: f32 = 13.0;

/// Draws a plot.
///
/// # Errors
/// [`Stop`] with code 2 if no series has a finite point.
pub fn draw(plot: &Plot) -> Result<Sheet, Stop> {
    if plot.log_x {
        return draw_on(&by_powers(plot));
    }
    draw_on(plot)
}

/// The same plot with the logarithms of what lies along its horizontal axis.
fn by_powers(plot: &Plot) -> Plot {
    let of = |points: &[(f64, f64)]| -> Vec<(f64, f64)> {
        points.iter().filter(|(x, _)| *x > 0.0).map(|(x, y)| (x.log10(), *y)).collect()
    };
    let one = |series: &Series| Series {
        label: series.label.clone(),
        runs: series.runs.iter().map(|run| of(run)).collect(),
        marks: of(&series.marks),
    };
    Plot { series: plot.series.iter().map(one).collect(), ..plot.clone() }
}

fn draw_on(plot: &Plot) -> Result<Sheet, Stop> {
    let bands: Vec<Band> = plot.series.iter().map(|series| aggregate(&series.runs)).collect();
    let mut ys: Vec<f64> = Vec::new();
    for (band, series) in bands.iter().zip(&plot.series) {
        ys.extend(band.low.iter().chain(&band.high).chain(&band.mean));
        ys.extend(series.marks.iter().map(|(_, y)| y));
    }
    ys.retain(|y| y.is_finite());
    if ys.is_empty() {
        return Err(Stop::user("there is nothing to plot yet: no episode has ended"));
    }
    let marks = plot.series.iter().flat_map(|s| s.marks.iter().map(|(x, _)| *x));
    let xs: Vec<f64> = bands.iter().flat_map(|band| band.steps.iter().copied()).chain(marks).collect();
    let x_max = xs.iter().copied().fold(if plot.log_x { f64::NEG_INFINITY } else { 1.0 }, f64::max);
    let x_min = if plot.log_x { xs.iter().copied().fold(x_max - 0.1, f64::min) } else { 0.0 };
    let legend = Legend::of(&plot.series);
    let header = 72.0 + legend.height();
    let mut sheet = Sheet::new(WIDTH, header + BODY);
    sheet.text(&plot.title, [24.0, 38.0], Style::new(20.0, INK).bold());
    sheet.text(&plot.subtitle, [24.0, 60.0], Style::new(LABEL, QUIET));
    legend.draw(&mut sheet, &plot.series);
    let axes = Axes { x: x_min..x_max, log_x: plot.log_x, y: padded(&ys), top: header, bottom: header + BODY - BELOW };
    axes.draw(&mut sheet, [&plot.x_label, &plot.y_label]);

    for (i, (band, series)) in bands.iter().zip(&plot.series).enumerate() {
        let color = color(i);
        let points = |ys: &[f64]| band.steps.iter().zip(ys).map(|(x, y)| axes.at((*x, *y))).collect::<Vec<_>>();
        if series.runs.len() > 1 {
            let mut outline = points(&band.high);
            outline.extend(points(&band.low).into_iter().rev());
            sheet.fill(&outline, color, 0.2);
        }
        line(&mut sheet, &points(&band.mean), i);
        for mark in &series.marks {
            sheet.disc(axes.at(*mark), 4.0, color);
        }
    }
    // The last means, at the ends of their lines.
    let last = |band: &Band| Some((*band.steps.last()?, *band.mean.last()?));
    let mut ends: Vec<(f32, usize)> =
        bands.iter().enumerate().filter_map(|(i, band)| Some((axes.at(last(band)?)[1], i))).collect();
    if ends.len() <= ENDS {
        spread(&mut ends, 17.0, axes.bottom);
        for (y, i) in ends {
            let text = bands[i].mean.last().map_or(String::new(), |y| short_value(*y));
            sheet.text(&text, [WIDTH - RIGHT + 8.0, y + 4.0], Style::new(LABEL, color(i)).bold());
        }
    }
    Ok(sheet)
}

fn color(series: usize) -> Color {
    COLORS[series % COLORS.len()]
}

/// A series' line: where colours come again it has gaps.
fn line(sheet: &mut Sheet, points: &[[f32; 2]], series: usize) {
    match series / COLORS.len() {
        0 => sheet.stroke(points, 2.0, color(series), 1.0),
        again => sheet.dashed(points, if again % 2 == 1 { 16.0 } else { 7.0 }, 2.0, color(series)),
    }
}

/// Which line is which, in as many columns as its labels leave room for.
struct Legend {
    columns: usize,
    rows: usize,
}

impl Legend {
    const ROW: f32 = 22.0;
    const SWATCH: f32 = 30.0;
    /// Rows at most; what is beyond them is counted.
    const ROWS: usize = 25;

    fn of(series: &[Series]) -> Self {
        if series.len() < 2 {
            return Self { columns: 1, rows: 0 };
        }
        let style = Style::new(LABEL, INK);
        let widest = series.iter().map(|one| style.width(&one.label)).fold(0.0, f32::max);
        let columns = (((WIDTH - 48.0) / (widest + Self::SWATCH + 20.0)) as usize).clamp(1, 4);
        Self { columns, rows: series.len().div_ceil(columns).min(Self::ROWS) }
    }

    fn height(&self) -> f32 {
        if self.rows == 0 { 0.0 } else { 12.0 + Self::ROW * self.rows as f32 }
    }

    fn draw(&self, sheet: &mut Sheet, series: &[Series]) {
        if self.rows == 0 {
            return;
        }
        let column = (WIDTH - 48.0) / self.columns as f32;
        let style = Style::new(LABEL, INK);
        let room = self.columns * self.rows;
        for (i, one) in series.iter().enumerate().take(room) {
            let left = 24.0 + column * (i % self.columns) as f32;
            let y = 84.0 + Self::ROW * (i / self.columns) as f32;
            if i + 1 == room && series.len() > room {
                sheet.text(&format!("and {} more", series.len() - i), [left, y + 4.5], style);
                break;
            }
            line(sheet, &[[left + 1.0, y], [left + 21.0, y]], i);
            sheet.text(&clip(&one.label, style, column - Self::SWATCH), [left + Self::SWATCH, y + 4.5], style);
        }
    }
}

/// Where the axes are and what they span.
struct Axes {
    x: std::ops::Range<f64>,
    log_x: bool,
    y: std::ops::Range<f64>,
    top: f32,
    bottom: f32,
}

impl Axes {
    fn at(&self, (x, y): (f64, f64)) -> [f32; 2] {
        let across = ((x - self.x.start) / (self.x.end - self.x.start)) as f32;
        let up = ((y - self.y.start) / (self.y.end - self.y.start)) as f32;
        [LEFT + across * (WIDTH - RIGHT - LEFT), self.bottom - up * (self.bottom - self.top)]
    }

    /// Places of labels along the horizontal axis, and their numbers.
    fn x_ticks(&self) -> Vec<(f64, f64)> {
        if !self.log_x {
            return ticks(self.x.start, self.x.end, 7).into_iter().map(|x| (x, x)).collect();
        }
        let powers = self.x.start.floor() as i32..=self.x.end.ceil() as i32;
        let steps: &[f64] = if self.x.end - self.x.start > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let all = powers.flat_map(|power| steps.iter().map(move |step| step * 10.0_f64.powi(power)));
        all.map(|x| (x.log10(), x)).filter(|(at, _)| (self.x.start..=self.x.end).contains(at)).collect()
    }

    fn draw(&self, sheet: &mut Sheet, [x_label, y_label]: [&str; 2]) {
        let (right, label) = (WIDTH - RIGHT, Style::new(LABEL, INK));
        for y in ticks(self.y.start, self.y.end, 8) {
            let [_, at] = self.at((self.x.start, y));
            sheet.stroke(&[[LEFT, at], [right, at]], 1.0, GRID, 1.0);
            sheet.text(&short_count(y), [LEFT - 10.0, at + 4.5], label.at(Anchor::End));
        }
        for (place, x) in self.x_ticks() {
            let [at, _] = self.at((place, self.y.start));
            sheet.stroke(&[[at, self.top], [at, self.bottom]], 1.0, GRID, 1.0);
            sheet.text(&short_count(x), [at, self.bottom + 20.0], label.at(Anchor::Middle));
        }
        sheet.stroke(&[[LEFT, self.top], [LEFT, self.bottom], [right, self.bottom]], 1.0, QUIET, 1.0);
        let name = Style::new(14.0, QUIET).at(Anchor::Middle);
        let x_label = if x_label.is_empty() { "environment steps" } else { x_label };
        sheet.text(x_label, [(LEFT + right) / 2.0, self.bottom + 46.0], name);
        sheet.text(y_label, [26.0, (self.top + self.bottom) / 2.0], name.upwards());
    }
}

/// The range of values with a margin of 6 %; a flat line gets room on both sides.
fn padded(ys: &[f64]) -> std::ops::Range<f64> {
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

/// A return with about four digits.
fn short_value(value: f64) -> String {
    if value.abs() >= 1e4 {
        return short_count(value);
    }
    let digits = if value.abs() >= 100.0 { 1 } else { 2 };
    format!("{value:.digits$}")
}

/// As much of a label as fits into `room`.
fn clip(label: &str, style: Style, room: f32) -> String {
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
    fn end_labels_do_not_overlap() {
        let mut rows = [(100.0, 0), (95.0, 1), (300.0, 2)];
        spread(&mut rows, 18.0, 400.0);
        assert_eq!(rows, [(95.0, 1), (113.0, 0), (300.0, 2)]);
        spread(&mut rows, 18.0, 290.0);
        assert_eq!(rows[2], (290.0, 2));
        assert_eq!([500.0, -146.25, 9.5, 20_000.0].map(short_value), ["500.0", "-146.2", "9.50", "20k"]);
    }

    #[test]
    fn counts_are_short() {
        for (value, text) in
            [(0.0, "0"), (512.0, "512"), (20_000.0, "20k"), (1.5e6, "1.5M"), (-200.0, "-200"), (0.25, "0.25")]
        {
            assert_eq!(short_count(value), text);
        }
    }

    fn plot() -> Plot {
        let run = |s: f64| {
            (1..200_u32)
                .map(|i| {
                    let x = f64::from(i);
                    (x * 512.0, 500.0 / (1.0 + (-(x - 40.0 - s) / 12.0).exp()) + 8.0 * (x * s).sin())
                })
                .collect()
        };
        Plot {
            title: "CartPole-v1 <&>".into(),
            subtitle: "mean over seeds, 95 % bootstrap interval".into(),
            x_label: "environment steps".into(),
            log_x: false,
            y_label: "mean episode return".into(),
            series: vec![
                Series {
                    label: "ppo".into(),
                    runs: (0..8).map(|s| run(f64::from(s) * 3.0)).collect(),
                    marks: vec![(50_000.0, 450.0)],
                },
                Series { label: "ppo gamma=0.9".into(), runs: vec![run(40.0)], marks: vec![] },
            ],
        }
    }

    #[test]
    fn the_picture_names_what_it_shows() {
        let sheet = draw(&plot()).unwrap();
        let text = sheet.svg();
        for part in
            ["CartPole-v1 &lt;&amp;&gt;", "environment steps", "mean episode return", "gamma=0.9", "100k", "<polygon"]
        {
            assert!(text.contains(part), "{part} is missing");
        }
        assert!(text.ends_with("</svg>\n"), "{}", &text[text.len() - 20..]);
        if let Ok(path) = std::env::var("QUICKSTUDY_SHOW_CURVE") {
            std::fs::write(path, sheet.picture().png().unwrap()).unwrap();
        }
        assert_eq!(draw(&Plot::default()).unwrap_err().code, 2);
    }

    #[test]
    fn powers_of_ten_are_as_far_from_each_other() {
        let points = vec![(0.0, 9.0), (10.0, 1.0), (1000.0, 3.0), (100_000.0, 5.0)];
        let series = vec![Series { label: "a".into(), runs: vec![points], marks: Vec::new() }];
        let plot = Plot { x_label: "seconds".into(), log_x: true, series, ..plot() };
        let axes = Axes { x: 1.0..5.0, log_x: true, y: 0.0..1.0, top: 0.0, bottom: 100.0 };
        assert_eq!(axes.x_ticks(), [10.0_f64, 100.0, 1000.0, 1e4, 1e5].map(|x| (x.log10(), x)));
        let gaps: Vec<f32> =
            axes.x_ticks().windows(2).map(|t| axes.at((t[1].0, 0.0))[0] - axes.at((t[0].0, 0.0))[0]).collect();
        assert!(gaps.iter().all(|gap| (gap - gaps[0]).abs() < 1e-3), "{gaps:?}");
        let svg = draw(&plot).unwrap().svg();
        for part in [">seconds<", ">10<", ">100<", ">1k<", ">10k<", ">100k<"] {
            assert!(svg.contains(part), "{part} is missing");
        }
        // What lies at 0 has no logarithm.
        assert!(!svg.contains("inf") && !svg.contains("NaN"));
    }

    #[test]
    fn legends_have_room_for_their_labels() {
        let of = |label: &str, count: usize| {
            let series = vec![Series { label: label.to_owned(), ..Series::default() }; count];
            let legend = Legend::of(&series);
            (legend.columns, legend.rows)
        };
        assert_eq!([of("ppo", 1), of("ppo", 2), of("ppo", 9)], [(1, 0), (4, 1), (4, 3)]);
        let long = "maml-trpo · point-corner-squared learning_rate=0.001";
        assert_eq!(of(long, 4), (2, 2));
        assert_eq!(of(&long.repeat(3), 4), (1, 4));
        let many = Plot { series: vec![plot().series[1].clone(); 300], ..plot() };
        assert!(draw(&many).unwrap().svg().contains(">and 201 more</text>"));
        let style = Style::new(LABEL, INK);
        let cut = clip(&long.repeat(3), style, 300.0);
        assert!(cut.ends_with('…') && style.width(&cut) <= 300.0 && style.width(&cut) > 270.0, "{cut}");
        assert_eq!(clip(long, style, 800.0), long);
    }
}
