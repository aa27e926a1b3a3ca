//! Adaptation as pictures: returns by stage, and paths in the plane before and after.

use crate::sheet::{Anchor, Frame, GRID, INK, QUIET, Sheet, Style, ticks};
use crate::stats;
use quickstudy_core::env::{Color, EnvDef};
use quickstudy_core::train::{Adaptation, PathStep, StageUnit};

const BEFORE: Color = Color::rgb(138, 138, 148);
const AFTER: Color = Color::rgb(213, 94, 0);
const MEAN: Color = Color::rgb(0, 114, 178);
const TASK: Color = Color::rgb(200, 200, 208);
const PAPER: Color = Color::rgb(250, 250, 251);

/// The label of the horizontal axis.
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

/// The name of stage `k`.
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
pub fn returns(title: &str, subtitle: &str, adaptation: &Adaptation) -> Sheet {
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
    let last = (means.len() - 1).max(1) as f32;
    let x = |k: usize| left + (width - left - right) * k as f32 / last;
    let y = |v: f64| top + (height - top - bottom) * ((high - v) / (high - low)) as f32;
    let mut sheet = headed(width, height, title, subtitle);
    let number = Style::new(15.0, INK);
    for v in ticks(low, high, 5) {
        sheet.stroke(&[[left, y(v)], [width - right, y(v)]], 1.0, GRID, 1.0);
        sheet.text(&short(v), [left - 10.0, y(v) + 5.0], number.at(Anchor::End));
    }
    let every = means.len().div_ceil(LABELS);
    for k in (0..means.len()).filter(|k| k % every == 0 || *k + 1 == means.len()) {
        sheet.text(&label(adaptation.unit, k), [x(k), height - bottom + 24.0], number.at(Anchor::Middle));
    }
    let middle = [(left + width - right) / 2.0, height - 12.0];
    sheet.text(&axis(adaptation.unit), middle, Style::new(16.0, QUIET).at(Anchor::Middle));
    let line = |values: &[f64]| values.iter().enumerate().map(|(k, v)| [x(k), y(*v)]).collect::<Vec<_>>();
    // Many lines on top of each other would hide what they are the mean of.
    let opacity = if adaptation.tasks.len() > 40 { 0.3 } else { 1.0 };
    for task in 0..adaptation.tasks.len().min(THREADS) {
        let values: Vec<f64> = means.iter().map(|stage| stage[task]).collect();
        sheet.stroke(&line(&values), 1.0, TASK, opacity);
    }
    let mean: Vec<f64> = means.iter().map(|stage| stats::mean(stage)).collect();
    let intervals: Vec<(f64, f64)> = means.iter().map(|stage| stats::bootstrap95(stage, stats::mean)).collect();
    let upper = intervals.iter().enumerate().map(|(k, i)| [x(k), y(i.1)]);
    let lower = intervals.iter().enumerate().rev().map(|(k, i)| [x(k), y(i.0)]);
    sheet.fill(&upper.chain(lower).collect::<Vec<_>>(), MEAN, 0.2);
    sheet.stroke(&line(&mean), 3.0, MEAN, 1.0);
    for (k, v) in mean.iter().enumerate() {
        sheet.disc([x(k), y(*v)], 4.0, MEAN);
        if mean.len() > VALUES && k > 0 && k + 1 < mean.len() {
            continue;
        }
        // The first one below its line, which rises where adaptation helps.
        let above = if k == 0 { -20.0 } else { 8.0 };
        sheet.text(&short(*v), [x(k) + 8.0, y(*v) - above], Style::new(15.0, MEAN).bold());
    }
    sheet
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
pub fn paths(title: &str, env: &EnvDef, adaptation: &Adaptation) -> Option<Sheet> {
    let [px, py] = env.spec().plane?;
    let (first, last) = (adaptation.stages.first()?, adaptation.stages.last()?);
    let count = adaptation.tasks.len().min(PANELS);
    let columns = count.min(4);
    let rows = count.div_ceil(columns);
    let (gap, top) = (16.0, 76.0);
    let width = (gap + columns as f32 * (PANEL + gap)).max(480.0);
    let height = top + rows as f32 * (PANEL + 30.0 + gap);
    let subtitle = "first rollout of each task, grey before and orange after adaptation";
    let mut sheet = headed(width, height, title, subtitle);
    for task in 0..count {
        let left = gap + (task % columns) as f32 * (PANEL + gap);
        let above = top + (task / columns) as f32 * (PANEL + 30.0 + gap);
        let [right, below] = [left + PANEL, above + PANEL];
        let points = |path: &[PathStep]| path.iter().map(|s| [s.state[px], s.state[py]]).collect::<Vec<_>>();
        let (before, after) = (points(&first.paths[task]), points(&last.paths[task]));
        let end = last.paths[task].last()?;
        let scene = env.draw(&end.state, &adaptation.tasks[task]).ok()?;
        let frame = Frame::new(scene.view, [left, above], PANEL);
        sheet.rect([left, above, right, below], PAPER);
        sheet.clip(Some([left, above, right, below]));
        sheet.scene(&scene, &frame);
        for (path, color) in [(&before, BEFORE), (&after, AFTER)] {
            let path: Vec<[f32; 2]> = path.iter().map(|point| frame.at(*point)).collect();
            sheet.stroke(&path, 2.0, color, 1.0);
            if let Some(start) = path.first() {
                sheet.disc(*start, 3.0, color);
            }
        }
        sheet.clip(None);
        let outline = [[left, above], [right, above], [right, below], [left, below], [left, above]];
        sheet.stroke(&outline, 1.0, GRID, 1.0);
        let mean = |stage: &quickstudy_core::train::AdaptationStage| stats::mean(&stage.returns[task]);
        let text = format!("{} → {}", short(mean(first)), short(mean(last)));
        sheet.text(&text, [left, below + 20.0], Style::new(14.0, INK));
    }
    Some(sheet)
}

/// A sheet with a title.
fn headed(width: f32, height: f32, title: &str, subtitle: &str) -> Sheet {
    let mut sheet = Sheet::new(width, height);
    sheet.text(title, [16.0, 34.0], Style::new(22.0, INK).bold());
    sheet.text(subtitle, [16.0, 58.0], Style::new(15.0, QUIET));
    sheet
}

/// A return with few digits.
fn short(value: f64) -> String {
    let digits = if value.abs() >= 100.0 { 0 } else { 1 };
    format!("{value:.digits$}")
}
