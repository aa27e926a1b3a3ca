//! Adaptation as pictures: returns by stage, and paths in the plane before and after.

use crate::stats;
use crate::svg::{Frame, escaped};
use quickstudy_core::env::EnvDef;
use quickstudy_core::train::{Adaptation, PathStep, StageUnit};
use std::fmt::Write;

const BEFORE: &str = "#8a8a94";
const AFTER: &str = "#d55e00";
const INK: &str = "#26262c";
const QUIET: &str = "#70707a";
const FONT: &str = "font-family=\"sans-serif\"";

/// What the horizontal axis counts.
fn axis(unit: StageUnit) -> String {
    match unit {
        StageUnit::GradientSteps => "gradient steps on the task".to_owned(),
        StageUnit::Episodes => "episode of the trial".to_owned(),
        StageUnit::Steps(1) => "step of the trial".to_owned(),
        StageUnit::Steps(length) => format!("step of the trial, {length} together"),
    }
}

/// The label of stage `k` on the axis.
fn label(unit: StageUnit, k: usize) -> String {
    match unit {
        StageUnit::GradientSteps => k.to_string(),
        StageUnit::Episodes => (k + 1).to_string(),
        StageUnit::Steps(length) => ((k + 1) * length).to_string(),
    }
}

/// What stage `k` is called.
#[must_use]
pub fn stage_name(unit: StageUnit, k: usize) -> String {
    match unit {
        StageUnit::GradientSteps if k == 0 => "before".to_owned(),
        StageUnit::GradientSteps => format!("step {k}"),
        StageUnit::Episodes => format!("episode {}", k + 1),
        StageUnit::Steps(_) => format!("to step {}", label(unit, k)),
    }
}

/// Mean return of each stage over tasks with its 95 % interval, and each task as a thin line.
#[must_use]
pub fn returns(title: &str, subtitle: &str, adaptation: &Adaptation) -> String {
    let means: Vec<Vec<f64>> = adaptation.stages.iter().map(|stage| stage.task_means()).collect();
    let all: Vec<f64> = means.iter().flatten().copied().filter(|x| x.is_finite()).collect();
    let (mut low, mut high) = all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
    if all.is_empty() || high <= low {
        (low, high) = if all.is_empty() { (0.0, 1.0) } else { (low - 1.0, high + 1.0) };
    }
    let margin = (high - low) * 0.06;
    (low, high) = (low - margin, high + margin);
    let (width, height) = (880.0, 480.0);
    let (left, right, top, bottom) = (80.0, 60.0, 80.0, 60.0);
    let last = (means.len() - 1).max(1) as f64;
    let x = |k: usize| left + (width - left - right) * k as f64 / last;
    let y = |v: f64| top + (height - top - bottom) * (high - v) / (high - low);
    let mut out = head(width, height, title, subtitle);
    for v in ticks(low, high) {
        _ = writeln!(
            out,
            "<line x1=\"{left}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#e4e4e8\"/>\
             <text x=\"{}\" y=\"{:.1}\" {FONT} font-size=\"15\" fill=\"{INK}\" text-anchor=\"end\">{}</text>",
            width - right,
            left - 10.0,
            y(v) + 5.0,
            short(v),
            y = y(v)
        );
    }
    let every = means.len().div_ceil(LABELS);
    for k in (0..means.len()).filter(|k| k % every == 0 || *k + 1 == means.len()) {
        _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" {FONT} font-size=\"15\" fill=\"{INK}\" text-anchor=\"middle\">{}</text>",
            x(k),
            height - bottom + 24.0,
            label(adaptation.unit, k)
        );
    }
    _ = writeln!(
        out,
        "<text x=\"{:.1}\" y=\"{:.1}\" {FONT} font-size=\"16\" fill=\"{QUIET}\" text-anchor=\"middle\">{}</text>",
        (left + width - right) / 2.0,
        height - 12.0,
        escaped(&axis(adaptation.unit))
    );
    let line = |values: &[f64]| -> String {
        values.iter().enumerate().map(|(k, v)| format!("{:.1},{:.1}", x(k), y(*v))).collect::<Vec<_>>().join(" ")
    };
    // Many lines on top of each other would hide what they are the mean of.
    let opacity = if adaptation.tasks.len() > 40 { 0.3 } else { 1.0 };
    for task in 0..adaptation.tasks.len().min(THREADS) {
        let values: Vec<f64> = means.iter().map(|stage| stage[task]).collect();
        _ = writeln!(
            out,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"#c8c8d0\" stroke-opacity=\"{opacity}\"/>",
            line(&values)
        );
    }
    let mean: Vec<f64> = means.iter().map(|stage| stats::mean(stage)).collect();
    let intervals: Vec<(f64, f64)> = means.iter().map(|stage| stats::bootstrap95(stage, stats::mean)).collect();
    let upper = intervals.iter().enumerate().map(|(k, i)| format!("{:.1},{:.1}", x(k), y(i.1)));
    let lower = intervals.iter().enumerate().rev().map(|(k, i)| format!("{:.1},{:.1}", x(k), y(i.0)));
    let band = upper.chain(lower).collect::<Vec<_>>().join(" ");
    _ = writeln!(out, "<polygon points=\"{band}\" fill=\"#0072b2\" fill-opacity=\"0.2\"/>");
    _ = writeln!(out, "<polyline points=\"{}\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"3\"/>", line(&mean));
    for (k, v) in mean.iter().enumerate() {
        _ = writeln!(out, "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"4\" fill=\"#0072b2\"/>", x(k), y(*v));
        if mean.len() > VALUES && k > 0 && k + 1 < mean.len() {
            continue;
        }
        _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{:.1}\" {FONT} font-size=\"15\" font-weight=\"bold\" fill=\"#0072b2\">{}</text>",
            x(k) + 8.0,
            // The first one below its line, which rises where adaptation helps.
            if k == 0 { y(*v) + 20.0 } else { y(*v) - 8.0 },
            short(*v)
        );
    }
    out + "</svg>\n"
}

/// Tasks drawn at most as lines of their own.
pub const THREADS: usize = 200;
/// Labels on the horizontal axis at most.
const LABELS: usize = 20;
/// Points whose values are written next to them at most; of more, the first and the last.
const VALUES: usize = 8;

/// Tasks drawn at most.
const PANELS: usize = 12;
const PANEL: f32 = 200.0;

/// The first rollout of some tasks, before adaptation and after it; none if the environment has no plane.
#[must_use]
pub fn paths(title: &str, env: &EnvDef, adaptation: &Adaptation) -> Option<String> {
    let [px, py] = env.spec().plane?;
    let (first, last) = (adaptation.stages.first()?, adaptation.stages.last()?);
    let count = adaptation.tasks.len().min(PANELS);
    let columns = count.min(4);
    let rows = count.div_ceil(columns);
    let (gap, top) = (16.0, 76.0);
    let width = (gap + columns as f32 * (PANEL + gap)).max(480.0);
    let height = top + rows as f32 * (PANEL + 30.0 + gap);
    let mut out = head(
        f64::from(width),
        f64::from(height),
        title,
        "first rollout of each task, grey before and orange after adaptation",
    );
    for task in 0..count {
        let left = gap + (task % columns) as f32 * (PANEL + gap);
        let above = top + (task / columns) as f32 * (PANEL + 30.0 + gap);
        let points = |path: &[PathStep]| path.iter().map(|s| [s.state[px], s.state[py]]).collect::<Vec<_>>();
        let (before, after) = (points(&first.paths[task]), points(&last.paths[task]));
        let end = last.paths[task].last()?;
        let scene = env.draw(&end.state, &adaptation.tasks[task]).ok()?;
        let frame = Frame::new(scene.view, [left, above], PANEL);
        _ = writeln!(
            out,
            "<clipPath id=\"panel{task}\"><rect x=\"{left}\" y=\"{above}\" width=\"{PANEL}\" height=\"{PANEL}\"/></clipPath>\
             <rect x=\"{left}\" y=\"{above}\" width=\"{PANEL}\" height=\"{PANEL}\" fill=\"#fafafb\" stroke=\"#e4e4e8\"/>\
             <g clip-path=\"url(#panel{task})\">"
        );
        out += &frame.scene(&scene);
        for (path, color) in [(&before, BEFORE), (&after, AFTER)] {
            out += &frame.stroke(path, 2.0, color);
            if let Some(start) = path.first() {
                out += &frame.dot(*start, 3.0, color);
            }
        }
        let mean = |stage: &quickstudy_core::train::Stage| stats::mean(&stage.returns[task]);
        _ = writeln!(
            out,
            "</g>\n<text x=\"{left}\" y=\"{:.1}\" {FONT} font-size=\"14\" fill=\"{INK}\">{} → {}</text>",
            above + PANEL + 20.0,
            short(mean(first)),
            short(mean(last))
        );
    }
    Some(out + "</svg>\n")
}

fn head(width: f64, height: f64, title: &str, subtitle: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"16\" y=\"34\" {FONT} font-size=\"22\" font-weight=\"bold\" fill=\"{INK}\">{}</text>\n\
         <text x=\"16\" y=\"58\" {FONT} font-size=\"15\" fill=\"{QUIET}\">{}</text>\n",
        escaped(title),
        escaped(subtitle)
    )
}

/// Round values between two others: multiples of 1, 2 or 5 times a power of ten, some five of them.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = 10.0_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough).unwrap_or(rough);
    let first = (low / step).ceil() as i64;
    (first..).map(|i| i as f64 * step).take_while(|v| *v <= high).take(20).collect()
}

/// A return with few digits.
fn short(value: f64) -> String {
    let digits = if value.abs() >= 100.0 { 0 } else { 1 };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::ticks;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(-384.0, -16.0), [-300.0, -200.0, -100.0]);
        assert_eq!(ticks(-0.5, 9.7), [0.0, 5.0]);
        assert_eq!(ticks(0.0, 1.0), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
    }
}
