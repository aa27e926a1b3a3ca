//! Learning curves: mean over seeds with a 95 % bootstrap interval.

mod axes;
mod ends;
mod legend;

use crate::outcome::Stop;
use crate::pictures::sheet::{INK, QUIET, Sheet, Style};
use crate::statistics;
use crate::statistics::band::{self, Band, aggregate};
use crate::statistics::bootstrap::Scores;
use axes::{Axes, padded};
use ends::EndLabel;
use legend::Legend;
pub(crate) use legend::clip;
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
    /// Number of its colour; its place in the plot if there is none. Lines of the same number in
    /// several plots share an entry of the legend.
    pub color: Option<usize>,
    /// The scores of its runs, whose mean is written at their budget; without them the last value is written at the
    /// line's end.
    pub score: Option<Scores>,
    /// Its line with an interval, where these are not the mean of its runs and that of it.
    pub band: Option<Band>,
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
    /// Ends of the horizontal axis; from 0 to the last point without.
    pub x_range: Option<[f64; 2]>,
    /// Values are not written at the ends of lines.
    pub unlabelled: bool,
    /// Lines, in legend order.
    pub series: Vec<Series>,
}

impl Series {
    /// The scores of its runs, or their values where the line ends.
    #[must_use]
    pub fn scores(&self) -> Option<Scores> {
        let end = || band::end(&self.runs).map(|end| Scores { budget: end.steps, values: end.values });
        self.score.clone().or_else(end)
    }

    /// Its runs where they can be drawn.
    fn drawn(&self, log_x: bool) -> Vec<Vec<(f64, f64)>> {
        let on_axis = |run: &Vec<(f64, f64)>| run.iter().copied().filter(|(x, _)| !log_x || *x > 0.0).collect();
        self.runs.iter().map(on_axis).collect()
    }
}

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
/// Letters of labels.
const LABEL: f32 = 13.0;
/// From a panel's left edge to its axes.
const LEFT: f32 = 84.0;
/// From the axes to the panel's right edge: room for the values at the ends of lines.
const RIGHT: f32 = 66.0;
/// From the axes to the panel's lower edge.
const BELOW: f32 = 62.0;
/// Width of a line, and of its part behind the end of its first run.
const WIDTHS: [f32; 2] = [2.0, 1.2];

/// Draws a plot.
///
/// # Errors
/// [`Stop`] with code 2 if no series has a finite point.
pub fn draw(plot: &Plot) -> Result<Sheet, Stop> {
    let whole = Plot { title: String::new(), ..plot.clone() };
    draw_panels(&plot.title, &plot.subtitle, &[whole], 1)
}

/// The largest number that is drawn or compared: sums of squares, and lengths of axes, are numbers too.
pub(crate) const LARGEST: f64 = 1e100;

/// Draws plots as panels of one picture, row by row in so many columns, with one legend. Their titles are above
/// their axes; their subtitles are left out.
///
/// # Errors
/// [`Stop`] with code 2 if no series of any of them has a finite point, or one is too large for axes. A panel without
/// one stays empty.
pub fn draw_panels(title: &str, subtitle: &str, plots: &[Plot], columns: usize) -> Result<Sheet, Stop> {
    if let Some(value) = plots.iter().find_map(too_large) {
        return Err(Stop::user(format!("a value of {value:e} cannot be drawn: nothing beyond {LARGEST:e} is"))
            .hint("leave that run out, or name another --metric"));
    }
    let (columns, rows) = (columns.clamp(1, plots.len().max(1)), plots.len().div_ceil(columns.max(1)));
    let [width, height] = match columns {
        1 => [880.0, 420.0],
        2 => [580.0, 350.0],
        _ => [470.0, 310.0],
    };
    let mut entries: Vec<(usize, &str)> = Vec::new();
    for (i, series) in plots.iter().flat_map(|plot| plot.series.iter().enumerate()) {
        let number = series.color.unwrap_or(i);
        if !entries.iter().any(|(known, _)| *known == number) {
            entries.push((number, &series.label));
        }
    }
    entries.sort_by_key(|(number, _)| *number);
    let full = columns as f32 * width;
    let legend = Legend::new(entries, full);
    let header = 72.0 + legend.height();
    let named = if plots.iter().any(|plot| !plot.title.is_empty()) { 30.0 } else { 0.0 };
    let mut sheet = Sheet::new(full, header + rows as f32 * (height + named));
    sheet.text(title, [24.0, 38.0], Style::new(20.0, INK).bold());
    sheet.text(&clip(subtitle, Style::new(LABEL, QUIET), full - 48.0), [24.0, 60.0], Style::new(LABEL, QUIET));
    legend.draw(&mut sheet);
    let mut drawn = false;
    for (i, plot) in plots.iter().enumerate() {
        let left = (i % columns) as f32 * width;
        let top = header + (i / columns) as f32 * (height + named) + named;
        let style = Style::new(15.0, INK).bold();
        sheet.text(&clip(&plot.title, style, width - LEFT - 8.0), [left + LEFT, top - 12.0], style);
        drawn |= panel(&mut sheet, plot, [left, top, left + width, top + height]);
    }
    if !drawn {
        return Err(Stop::user("there is nothing to plot yet: no episode has ended"));
    }
    Ok(sheet)
}

/// A value that is too large for axes, if there is one.
fn too_large(plot: &Plot) -> Option<f64> {
    let mut points = plot.series.iter().flat_map(|one| one.runs.iter().flatten().chain(&one.marks));
    points.find(|(x, y)| x.abs().max(y.abs()) > LARGEST).map(|(_, value)| *value)
}

/// Draws a plot without title and legend, for a page that has its own; none if no series has a finite point, or one has
/// a point that is too large for axes.
#[must_use]
pub fn draw_alone(plot: &Plot, [width, height]: [f32; 2]) -> Option<Sheet> {
    if too_large(plot).is_some() {
        return None;
    }
    let mut sheet = Sheet::new(width, height);
    // The number of the highest line of the grid reaches above it.
    panel(&mut sheet, plot, [0.0, 12.0, width, height]).then_some(sheet)
}

/// A piece of the line of this number, for the legend of a page.
#[must_use]
pub fn swatch(number: usize) -> Sheet {
    let mut sheet = Sheet::new(22.0, 10.0);
    line(&mut sheet, &[[2.0, 5.0], [20.0, 5.0]], number, 3.0);
    sheet
}

/// Draws a plot within `[left, top, right, bottom]`; false if it has no point.
fn panel(sheet: &mut Sheet, plot: &Plot, [left, top, right, bottom]: [f32; 4]) -> bool {
    let of = |series: &Series| series.band.clone().unwrap_or_else(|| aggregate(&series.drawn(plot.log_x), plot.log_x));
    let bands: Vec<Band> = plot.series.iter().map(of).collect();
    let mut ys: Vec<f64> = Vec::new();
    for (band, series) in bands.iter().zip(&plot.series) {
        ys.extend(band.interval.iter().flatten().flat_map(|(low, high)| [low, high]).chain(&band.mean));
        ys.extend(series.marks.iter().map(|(_, y)| y));
        ys.extend(series.score.as_ref().map(|score| statistics::mean(&score.values)));
    }
    ys.retain(|y| y.is_finite());
    let marks = plot.series.iter().flat_map(|s| s.marks.iter().map(|(x, _)| *x)).filter(|x| !plot.log_x || *x > 0.0);
    let xs = bands.iter().flat_map(|band| band.steps.iter().copied()).chain(marks);
    let xs: Vec<f64> = xs.map(|x| if plot.log_x { x.log10() } else { x }).collect();
    let x_max = xs.iter().copied().fold(if plot.log_x && !xs.is_empty() { f64::NEG_INFINITY } else { 1.0 }, f64::max);
    let x_min = if plot.log_x { xs.iter().copied().fold(x_max - 0.1, f64::min) } else { 0.0 };
    let [x_min, x_max] = plot.x_range.unwrap_or([x_min, x_max]);
    let axes = Axes {
        x: x_min..x_max,
        log_x: plot.log_x,
        y: if ys.is_empty() { 0.0..1.0 } else { padded(&ys) },
        left: left + LEFT,
        right: right - RIGHT,
        top,
        bottom: bottom - BELOW,
    };
    axes.draw(sheet, [&plot.x_label, &plot.y_label]);
    if ys.is_empty() {
        sheet.text("no episode has ended", [axes.left + 16.0, top + 28.0], Style::new(LABEL, QUIET));
        return false;
    }
    let mut ends = Vec::new();
    for (i, (band, series)) in bands.iter().zip(&plot.series).enumerate() {
        let number = series.color.unwrap_or(i);
        draw_band(sheet, &axes, band, number);
        for mark in series.marks.iter().filter(|(x, _)| !plot.log_x || *x > 0.0) {
            sheet.disc(axes.at(*mark), 4.0, color(number));
        }
        let line_end = band.steps.last().copied().zip(band.mean.last().copied());
        let score = series.score.as_ref().filter(|score| !score.values.is_empty());
        let score = score.map(|score| (score.budget, statistics::mean(&score.values)));
        if let (Some(at), Some((end, _))) = (score, line_end)
            && at.0 < end
        {
            sheet.disc(axes.at(at), 4.0, color(number));
        }
        if let Some((x, value)) = score.or(line_end) {
            ends.push(EndLabel { at: axes.at((x, value)), value, color: number });
        }
    }
    if !plot.unlabelled {
        ends::draw(sheet, &ends, axes.bottom);
    }
    true
}

/// The mean as a line over its interval; thin behind a bar where its first run ends.
fn draw_band(sheet: &mut Sheet, axes: &Axes, band: &Band, number: usize) {
    let at = |i: usize, y: f64| axes.at((band.steps[i], y));
    let all: Vec<usize> = (0..band.steps.len()).collect();
    for part in all.chunk_by(|a, b| band.interval[*a].is_some() == band.interval[*b].is_some()) {
        let side = |of: fn((f64, f64)) -> f64| {
            part.iter().filter_map(|i| Some(at(*i, of(band.interval[*i]?)))).collect::<Vec<_>>()
        };
        let (low, mut outline) = (side(|(low, _)| low), side(|(_, high)| high));
        outline.extend(low.into_iter().rev());
        if outline.len() > 2 {
            sheet.fill(&outline, color(number), 0.2);
        }
    }
    let means: Vec<[f32; 2]> = all.iter().map(|i| at(*i, band.mean[*i])).collect();
    let first = band.first_end.and_then(|end| band.steps.iter().position(|x| *x == end));
    let Some(first) = first else {
        match means[..] {
            // A line of one point would not be seen.
            [only] => sheet.disc(only, 4.0, color(number)),
            _ => line(sheet, &means, number, WIDTHS[0]),
        }
        return;
    };
    line(sheet, &means[..=first], number, WIDTHS[0]);
    line(sheet, &means[first..], number, WIDTHS[1]);
    let [x, y] = means[first];
    sheet.stroke(&[[x, y - 7.0], [x, y + 7.0]], WIDTHS[0], color(number), 1.0);
}

/// The colour of this number.
pub(crate) fn color(number: usize) -> Color {
    COLORS[number % COLORS.len()]
}

/// A line in the colour of this number: where colours come again it has gaps.
fn line(sheet: &mut Sheet, points: &[[f32; 2]], number: usize, width: f32) {
    match number / COLORS.len() {
        0 => sheet.stroke(points, width, color(number), 1.0),
        again => sheet.dashed(points, if again % 2 == 1 { 16.0 } else { 7.0 }, width, color(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
                    ..Series::default()
                },
                Series { label: "ppo gamma=0.9".into(), runs: vec![run(40.0)], ..Series::default() },
            ],
            ..Plot::default()
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
        assert_eq!(text.matches("<polygon").count(), 1, "a single run has no interval");
        if let Ok(path) = std::env::var("QUICKSTUDY_SHOW_CURVE") {
            std::fs::write(path, sheet.picture().png().unwrap()).unwrap();
        }
        assert_eq!(draw(&Plot::default()).unwrap_err().code, 2);
        let many = Plot { series: vec![plot().series[1].clone(); 300], ..plot() };
        assert!(draw(&many).unwrap().svg().contains(">and 201 more</text>"));
    }

    #[test]
    fn logarithms_leave_out_what_lies_at_0() {
        let points = vec![(0.0, 9.0), (10.0, 1.0), (1000.0, 3.0), (100_000.0, 5.0)];
        let series = vec![Series { label: "a".into(), runs: vec![points], ..Series::default() }];
        let plot = Plot { x_label: "seconds".into(), log_x: true, series, ..plot() };
        let svg = draw(&plot).unwrap().svg();
        for part in [">seconds<", ">10<", ">100<", ">1k<", ">10k<", ">100k<"] {
            assert!(svg.contains(part), "{part} is missing");
        }
        assert!(!svg.contains("inf") && !svg.contains("NaN"));
    }

    #[test]
    fn lines_of_several_panels_share_colours_and_a_legend() {
        let one = plot();
        let mut other = Plot { title: "pendulum".into(), y_label: "evaluation return".into(), ..plot() };
        other.series.remove(0);
        other.series[0].color = Some(1);
        let svg = draw_panels("ppo", "two panels", &[one.clone(), other.clone()], 2).unwrap().svg();
        for part in [">ppo<", ">two panels<", ">CartPole-v1 &lt;&amp;&gt;<", ">pendulum<", ">evaluation return<"] {
            assert_eq!(svg.matches(part).count(), if part == ">ppo<" { 2 } else { 1 }, "{part}");
        }
        assert_eq!(svg.matches(">ppo gamma=0.9<").count(), 1, "one legend");
        // The line of the second panel has the colour that it has in the first one.
        assert_eq!(svg.matches("stroke=\"#d55e00\" stroke-width=\"2.0\"").count(), 3);
        let empty = Plot { series: Vec::new(), ..other };
        assert!(draw_panels("", "", &[one, empty.clone()], 2).unwrap().svg().contains(">no episode has ended<"));
        assert_eq!(draw_panels("", "", &[empty], 1).unwrap_err().code, 2);
    }

    #[test]
    fn behind_the_end_of_its_first_run_a_line_is_thin() {
        let run = |last: u32, y: f64| (0..=last).map(|i| (f64::from(i), y)).collect::<Vec<_>>();
        let runs = vec![run(10, 1.0), run(10, 2.0), run(5, 6.0)];
        let plot = Plot { series: vec![Series { runs, ..Series::default() }], ..plot() };
        let svg = draw(&plot).unwrap().svg();
        let widths = |width: &str| svg.matches(&format!("stroke=\"#0072b2\" stroke-width=\"{width}\"")).count();
        assert_eq!((widths("2.0"), widths("1.2")), (2, 1), "a line, its bar, and its thin part: {svg}");
        // The value at the end is the mean of the two that are there.
        assert!(svg.contains(">1.50<"), "{svg}");
    }
}
