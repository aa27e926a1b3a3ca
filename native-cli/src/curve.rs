//! Learning curves as SVG: mean over seeds with a 95 % bootstrap interval.

use crate::outcome::Stop;
use crate::stats;
use plotters::prelude::*;

/// One line of a plot: the same experiment under one or several seeds.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Legend text.
    pub label: String,
    /// Per seed: `(environment steps, return)` in order of steps.
    pub runs: Vec<Vec<(f64, f64)>>,
    /// Marks: `(environment steps, return)` of evaluations; drawn as dots.
    pub marks: Vec<(f64, f64)>,
}

/// A plot.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// Bold first line.
    pub title: String,
    /// Grey second line: what the line and the band are.
    pub subtitle: String,
    /// Label of the vertical axis.
    pub y_label: String,
    /// Lines, in legend order.
    pub series: Vec<Series>,
}

/// Several runs brought onto common steps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Band {
    /// Environment steps.
    pub steps: Vec<f64>,
    /// Mean over runs.
    pub mean: Vec<f64>,
    /// Lower end of the interval.
    pub low: Vec<f64>,
    /// Upper end of the interval.
    pub high: Vec<f64>,
}

/// Points per aggregated line: finer than the eye resolves in the plot.
const GRID: usize = 240;

/// Averages runs over a common grid of steps, by linear interpolation within each run.
///
/// The grid spans the steps that at least half of the runs cover, so that one run that was stopped early does not cut
/// the others short.
#[must_use]
pub fn aggregate(runs: &[Vec<(f64, f64)>]) -> Band {
    let runs: Vec<&Vec<(f64, f64)>> = runs.iter().filter(|run| !run.is_empty()).collect();
    let mut firsts: Vec<f64> = runs.iter().map(|run| run[0].0).collect();
    let mut lasts: Vec<f64> = runs.iter().map(|run| run[run.len() - 1].0).collect();
    firsts.sort_by(f64::total_cmp);
    lasts.sort_by(f64::total_cmp);
    let half = runs.len().div_ceil(2);
    let mut band = Band::default();
    if runs.is_empty() {
        return band;
    }
    let (from, to) = (firsts[half - 1], lasts[runs.len() - half]);
    let longest = runs.iter().map(|run| run.len()).max().unwrap_or(1);
    let points = if to > from { longest.min(GRID) } else { 1 };
    for i in 0..points {
        let fraction = i as f64 / (points - 1).max(1) as f64;
        let steps = from + (to - from) * fraction;
        let values: Vec<f64> = runs.iter().filter_map(|run| at(run, steps)).collect();
        if values.len() < half {
            continue;
        }
        let (low, high) = stats::bootstrap95(&values, stats::mean);
        band.steps.push(steps);
        band.mean.push(stats::mean(&values));
        band.low.push(low);
        band.high.push(high);
    }
    band
}

/// The value of a run at `steps`, or `None` outside of it.
fn at(run: &[(f64, f64)], steps: f64) -> Option<f64> {
    let after = run.partition_point(|(x, _)| *x < steps);
    let (x1, y1) = *run.get(after)?;
    if x1 == steps || after == 0 {
        return (x1 == steps).then_some(y1);
    }
    let (x0, y0) = run[after - 1];
    Some(y0 + (y1 - y0) * (steps - x0) / (x1 - x0))
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

const WIDTH: i32 = 880;
const INK: RGBColor = RGBColor(38, 38, 44);
const QUIET: RGBColor = RGBColor(112, 112, 122);
const GRID_LINE: RGBColor = RGBColor(228, 228, 232);
/// Wong 2011 (Nature Methods 8:441), told apart with every kind of colour vision; yellow left out on white.
const COLORS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(90, 90, 98),
];

/// Draws a plot.
///
/// # Errors
/// [`Stop`] with code 2 if no series has a finite point; with code 1 if drawing fails.
pub fn svg(plot: &Plot) -> Result<String, Stop> {
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
    let y_range = padded(&ys);
    let x_max = bands
        .iter()
        .filter_map(|band| band.steps.last())
        .chain(plot.series.iter().flat_map(|s| s.marks.iter().map(|(x, _)| x)))
        .fold(1.0_f64, |a, b| a.max(*b));
    let mut out = String::new();
    draw(&mut out, plot, &bands, x_max, y_range)
        .map_err(|error| Stop::failure(format!("cannot draw the curve: {error}")))?;
    Ok(out)
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

fn draw(
    out: &mut String,
    plot: &Plot,
    bands: &[Band],
    x_max: f64,
    y_range: std::ops::Range<f64>,
) -> Result<(), Box<dyn std::error::Error>> {
    let legend_rows = if plot.series.len() > 1 { (plot.series.len() as i32 + 2) / 3 } else { 0 };
    let header = 72 + 26 * legend_rows;
    let height = header + 420;
    let root = SVGBackend::with_string(out, (WIDTH as u32, height as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let style = |size: i32, color: &RGBColor| ("sans-serif", size).into_font().color(color);
    let bold = ("sans-serif", 24, FontStyle::Bold).into_font().color(&INK);
    root.draw(&Text::new(plot.title.clone(), (24, 18), bold))?;
    root.draw(&Text::new(plot.subtitle.clone(), (24, 46), style(15, &QUIET)))?;
    if legend_rows > 0 {
        for (i, series) in plot.series.iter().enumerate() {
            let (x, y) = (24 + 280 * (i as i32 % 3), 76 + 22 * (i as i32 / 3));
            let color = COLORS[i % COLORS.len()];
            root.draw(&Rectangle::new([(x, y + 4), (x + 22, y + 8)], color.filled()))?;
            root.draw(&Text::new(clip(&series.label), (x + 30, y), style(15, &INK)))?;
        }
    }

    let body = root.margin(header, 16, 16, 66);
    let mut chart =
        ChartBuilder::on(&body).x_label_area_size(46).y_label_area_size(66).build_cartesian_2d(0.0..x_max, y_range)?;
    chart
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(GRID_LINE)
        .axis_style(QUIET)
        .x_labels(7)
        .y_labels(7)
        .x_label_formatter(&|x| short_count(*x))
        .y_label_formatter(&|y| short_count(*y))
        .label_style(style(15, &INK))
        .axis_desc_style(style(16, &QUIET))
        .x_desc("environment steps")
        .y_desc(plot.y_label.clone())
        .draw()?;

    for (i, (band, series)) in bands.iter().zip(&plot.series).enumerate() {
        let color = COLORS[i % COLORS.len()];
        let upper = band.steps.iter().copied().zip(band.high.iter().copied());
        let lower = band.steps.iter().copied().zip(band.low.iter().copied());
        if series.runs.len() > 1 {
            let outline: Vec<(f64, f64)> = upper.chain(lower.rev()).collect();
            chart.draw_series(std::iter::once(Polygon::new(outline, color.mix(0.2).filled())))?;
        }
        let line = band.steps.iter().copied().zip(band.mean.iter().copied());
        chart.draw_series(LineSeries::new(line, color.stroke_width(2)))?;
        chart.draw_series(series.marks.iter().map(|point| Circle::new(*point, 4, color.filled())))?;
    }
    // The last means, at the ends of their lines.
    let mut ends: Vec<(i32, usize)> = bands
        .iter()
        .enumerate()
        .filter_map(|(i, band)| {
            let last = (*band.steps.last()?, *band.mean.last()?);
            Some((chart.backend_coord(&last).1, i))
        })
        .collect();
    spread(&mut ends, 18);
    for (y, i) in ends {
        let text = bands[i].mean.last().map_or(String::new(), |y| short_value(*y));
        let style = ("sans-serif", 15, FontStyle::Bold).into_font().color(&COLORS[i % COLORS.len()]);
        root.draw(&Text::new(text, (WIDTH - 58, y - 8), style))?;
    }
    root.present()?;
    Ok(())
}

/// Moves pixel rows down until neighbours are at least `gap` apart, keeping their order.
fn spread(rows: &mut [(i32, usize)], gap: i32) {
    rows.sort_unstable();
    for i in 1..rows.len() {
        rows[i].0 = rows[i].0.max(rows[i - 1].0 + gap);
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

/// Labels longer than a legend column are cut.
fn clip(label: &str) -> String {
    if label.chars().count() <= 34 {
        return label.to_owned();
    }
    let mut text: String = label.chars().take(33).collect();
    text.push('…');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aggregation_interpolates_and_averages() {
        let runs = vec![vec![(0.0, 0.0), (100.0, 100.0)], vec![(0.0, 10.0), (50.0, 10.0), (100.0, 30.0)]];
        let band = aggregate(&runs);
        assert_eq!(band.steps, [0.0, 50.0, 100.0]);
        assert_eq!(band.mean, [5.0, 30.0, 65.0]);
        assert_eq!((band.low[2], band.high[2]), (30.0, 100.0));
    }

    #[test]
    fn a_run_that_stopped_early_does_not_cut_the_others() {
        let long: Vec<(f64, f64)> = (0..=10).map(|i| (f64::from(i), 1.0)).collect();
        let band = aggregate(&[long.clone(), long.clone(), long[..3].to_vec(), vec![]]);
        assert_eq!(band.steps.last(), Some(&10.0));
        assert_eq!(aggregate(&[]), Band::default());
        assert_eq!(aggregate(&[vec![(5.0, 2.0)]]).mean, [2.0]);
    }

    #[test]
    fn end_labels_do_not_overlap() {
        let mut rows = [(100, 0), (95, 1), (300, 2)];
        spread(&mut rows, 18);
        assert_eq!(rows, [(95, 1), (113, 0), (300, 2)]);
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
    fn the_svg_names_what_it_shows() {
        let text = svg(&plot()).unwrap();
        for part in
            ["CartPole-v1 &lt;&amp;&gt;", "environment steps", "mean episode return", "gamma=0.9", "100k", "<polygon"]
        {
            assert!(text.contains(part), "{part} is missing");
        }
        assert!(text.ends_with("</svg>\n"), "{}", &text[text.len() - 20..]);
        if let Ok(path) = std::env::var("QUICKSTUDY_SHOW_CURVE") {
            std::fs::write(path, text).unwrap();
        }
        assert_eq!(svg(&Plot::default()).unwrap_err().code, 2);
    }
}
