//! Adaptation as pictures: returns by stage, and paths before and after, in the plane or along a line.

mod distances;
mod paths;

use crate::pictures::sheet::{Anchor, GRID, INK, QUIET, Sheet, Style, ticks};
use crate::statistics;
use crate::text::numbers::{alike, plural, tick_labels};
pub(crate) use distances::distances;
pub(crate) use paths::paths;
use quickstudy_core::env::{Color, EnvSpec};
use quickstudy_core::train::{Adaptation, StageUnit};
use std::collections::BTreeSet;

const MEAN: Color = Color::rgb(0, 114, 178);
const TASK: Color = Color::rgb(200, 200, 208);
const BEFORE: Color = Color::rgb(138, 138, 148);
const AFTER: Color = Color::rgb(213, 94, 0);
const PAPER: Color = Color::rgb(250, 250, 251);
/// Tasks drawn at most.
const PANELS: usize = 12;
const PANEL: f32 = 200.0;
/// From one panel to the next.
const GAP: f32 = 16.0;

/// The label of the horizontal axis.
fn axis(unit: StageUnit) -> String {
    match unit {
        StageUnit::GradientSteps => "gradient steps on the task".to_owned(),
        StageUnit::Episodes => "episode of the trial".to_owned(),
        StageUnit::Steps(1) => "step of the trial".to_owned(),
        StageUnit::Steps(length) => format!("step of the trial, {length} together"),
    }
}

/// The label of the vertical axis.
fn measure(unit: StageUnit) -> String {
    match unit {
        StageUnit::GradientSteps | StageUnit::Episodes => "return of an episode".to_owned(),
        StageUnit::Steps(1) => "reward of a step".to_owned(),
        StageUnit::Steps(length) => format!("return of {length} steps"),
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
pub(crate) fn stage_name(unit: StageUnit, k: usize) -> String {
    match unit {
        StageUnit::GradientSteps if k == 0 => "before".to_owned(),
        StageUnit::GradientSteps => format!("step {k}"),
        StageUnit::Episodes => format!("episode {}", k + 1),
        StageUnit::Steps(_) => format!("to step {}", label(unit, k)),
    }
}

/// Names the first of so many stages, and the last.
fn ends(unit: StageUnit, stages: usize) -> [String; 2] {
    match unit {
        StageUnit::GradientSteps => ["before adaptation".to_owned(), "after it".to_owned()],
        unit => [0, stages.saturating_sub(1)].map(|stage| stage_name(unit, stage)),
    }
}

/// Tells whether each task is drawn as a line of its own: not where chance says more about returns
/// than the task does, as on bandits and tabular processes, and not where returns have so few values
/// that lines would lie on top of each other.
fn shows_tasks(spec: &EnvSpec, means: &[Vec<f64>], unit: StageUnit) -> bool {
    let values: BTreeSet<u64> = means.iter().flatten().map(|value| value.to_bits()).collect();
    let points: usize = means.iter().map(Vec::len).sum();
    (unit == StageUnit::GradientSteps || spec.plane.is_some() || spec.course.is_some())
        && (points < 12 || 4 * values.len() > points)
}

/// Mean return of each stage over tasks with its 95 % interval, and each task as a thin line where that tells
/// something.
pub(crate) fn returns(title: &str, spec: &EnvSpec, adaptation: &Adaptation) -> Sheet {
    let means: Vec<Vec<f64>> = adaptation.stages.iter().map(|stage| stage.task_means()).collect();
    let tasks = shows_tasks(spec, &means, adaptation.unit);
    let mean: Vec<f64> = means.iter().map(|stage| statistics::mean(stage)).collect();
    let intervals: Vec<Option<(f64, f64)>> =
        means.iter().map(|stage| statistics::bootstrap95(stage, statistics::mean)).collect();
    let ends = intervals.iter().flatten().flat_map(|(low, high)| [*low, *high]);
    let shown = means.iter().flatten().copied().filter(|_| tasks);
    let all: Vec<f64> = ends.chain(mean.iter().copied()).chain(shown).filter(|x| x.is_finite()).collect();
    let (mut low, mut high) = all.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(*x), h.max(*x)));
    if all.is_empty() || high <= low {
        (low, high) = if all.is_empty() { (0.0, 1.0) } else { (low - 1.0, high + 1.0) };
    }
    let margin = (high - low) * 0.06;
    (low, high) = (low - margin, high + margin);
    let (width, height) = (880.0, 480.0);
    let (left, right, top, bottom) = (104.0, 72.0, 80.0, 60.0);
    let last = (means.len() - 1).max(1) as f32;
    let x = |k: usize| left + (width - left - right) * k as f32 / last;
    let y = |v: f64| top + (height - top - bottom) * ((high - v) / (high - low)) as f32;
    let mut sheet = headed(width, height, title, &[subtitle(adaptation, tasks)]);
    let number = Style::new(15.0, INK);
    let values = ticks(low, high, 6);
    for (v, text) in values.iter().zip(tick_labels(&values)) {
        sheet.stroke(&[[left, y(*v)], [width - right, y(*v)]], 1.0, GRID, 1.0);
        sheet.text(&text, [left - 12.0, y(*v) + 5.0], number.at(Anchor::End));
    }
    let every = means.len().div_ceil(LABELS);
    for k in (0..means.len()).filter(|k| k % every == 0 || *k + 1 == means.len()) {
        sheet.text(&label(adaptation.unit, k), [x(k), height - bottom + 24.0], number.at(Anchor::Middle));
    }
    let name = Style::new(16.0, QUIET).at(Anchor::Middle);
    sheet.text(&axis(adaptation.unit), [(left + width - right) / 2.0, height - 12.0], name);
    sheet.text(&measure(adaptation.unit), [28.0, (top + height - bottom) / 2.0], name.upwards());
    let line = |values: &[f64]| values.iter().enumerate().map(|(k, v)| [x(k), y(*v)]).collect::<Vec<_>>();
    // Many lines on top of each other would hide what they are the mean of.
    let opacity = if adaptation.tasks.len() > 40 { 0.3 } else { 1.0 };
    for task in 0..if tasks { adaptation.tasks.len().min(THREADS) } else { 0 } {
        let values: Vec<f64> = means.iter().map(|stage| stage[task]).collect();
        sheet.stroke(&line(&values), 1.0, TASK, opacity);
    }
    let side = |of: fn((f64, f64)) -> f64| {
        intervals.iter().enumerate().filter_map(|(k, i)| Some([x(k), y(of((*i)?))])).collect::<Vec<_>>()
    };
    let (lower, mut outline) = (side(|(low, _)| low), side(|(_, high)| high));
    outline.extend(lower.into_iter().rev());
    if !outline.is_empty() {
        sheet.fill(&outline, MEAN, 0.2);
    }
    sheet.stroke(&line(&mean), 3.0, MEAN, 1.0);
    let texts = alike(&mean);
    for (k, v) in mean.iter().enumerate() {
        sheet.disc([x(k), y(*v)], 4.0, MEAN);
        if mean.len() > VALUES && k > 0 && k + 1 < mean.len() {
            continue;
        }
        // The first one below its line, which rises where adaptation helps.
        let above = if k == 0 { -20.0 } else { 8.0 };
        sheet.text(&texts[k], [x(k) + 8.0, y(*v) - above], Style::new(15.0, MEAN).bold());
    }
    sheet
}

/// Rollouts of each task in each stage.
pub(crate) fn rollouts(adaptation: &Adaptation) -> usize {
    adaptation.stages.first().and_then(|stage| stage.returns.first()).map_or(0, Vec::len)
}

/// Explains the lines.
fn subtitle(adaptation: &Adaptation, tasks: bool) -> String {
    let over = match adaptation.tasks.len() {
        1 => "one held-out task".to_owned(),
        many => format!("mean over {many} held-out tasks with its 95 % interval"),
    };
    let grey = if tasks && adaptation.tasks.len() > 1 { "; grey: each task" } else { "" };
    format!("{over}{grey}; {} per task", plural(rollouts(adaptation), "rollout"))
}

/// Tasks drawn at most as lines of their own.
pub(crate) const THREADS: usize = 200;
/// Labels on the horizontal axis at most.
const LABELS: usize = 20;
/// Points whose values are written next to them at most; of more, the first and the last.
const VALUES: usize = 8;

/// A sheet with a title, and lines of explanation below it.
fn headed(width: f32, height: f32, title: &str, lines: &[String]) -> Sheet {
    let mut sheet = Sheet::new(width, height);
    sheet.text(title, [16.0, 34.0], Style::new(22.0, INK).bold());
    for (i, line) in lines.iter().enumerate() {
        sheet.text(line, [16.0, 58.0 + 20.0 * i as f32], Style::new(15.0, QUIET));
    }
    sheet
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use quickstudy_core::env::builtin;
    use quickstudy_core::meta::EpisodeOutcome;
    use quickstudy_core::train::AdaptationStage;

    pub(crate) fn adaptation() -> Adaptation {
        let stage = |a: f64, b: f64| AdaptationStage {
            returns: vec![vec![a, a + 2.0], vec![b, b]],
            paths: vec![Vec::new(); 2],
            outcomes: [false, true, true, true]
                .map(|success| EpisodeOutcome {
                    ret: a,
                    discounted: b,
                    terminated: false,
                    success: Some(success),
                    success_at_end: None,
                    class: None,
                })
                .to_vec(),
        };
        Adaptation {
            tasks: vec![vec![2.0, -2.0], vec![0.5, 1.0]],
            unit: StageUnit::GradientSteps,
            episodes: 1,
            horizon: 10,
            stages: vec![stage(-10.0, -20.0), stage(-1.0, -2.0)],
        }
    }

    /// An adaptation to a single task.
    pub(crate) fn alone() -> Adaptation {
        let mut alone = adaptation();
        alone.tasks.truncate(1);
        for stage in &mut alone.stages {
            stage.returns.truncate(1);
            stage.paths.truncate(1);
            stage.outcomes.truncate(2);
        }
        alone
    }

    #[test]
    fn the_picture_names_its_axes() {
        let svg = returns("a<b", builtin("point-robot").unwrap().spec(), &adaptation()).svg();
        for part in [
            "a&lt;b",
            "mean over 2 held-out",
            "gradient steps",
            ">return of an episode<",
            ">-14.50<",
            ">-1.00<",
            "<polygon",
        ] {
            assert!(svg.contains(part), "{part} is missing");
        }
    }

    #[test]
    fn bandits_have_no_lattice_of_their_rewards() {
        let stage = |k: usize| AdaptationStage {
            returns: (0..20).map(|task| vec![f64::from(u8::from(!(task * 7 + k).is_multiple_of(3)))]).collect(),
            paths: vec![Vec::new(); 20],
            outcomes: Vec::new(),
        };
        let tasks = vec![vec![0.5; 5]; 20];
        let stages: Vec<AdaptationStage> = (0..10).map(stage).collect();
        let adaptation = Adaptation { tasks, unit: StageUnit::Steps(1), episodes: 1, horizon: 10, stages };
        let svg = |env: &str, unit| {
            let of = Adaptation { unit, ..adaptation.clone() };
            returns("a", builtin(env).unwrap().spec(), &of).svg()
        };
        let bandit = svg("bandit", StageUnit::Steps(1));
        assert!(bandit.contains(">reward of a step<") && bandit.contains("<polygon"), "{bandit}");
        // The line of the mean, and no other; nor is there one where few values make a lattice in the plane.
        for text in [bandit, svg("point-robot", StageUnit::Episodes), svg("tabular-mdp", StageUnit::Episodes)] {
            assert!(!text.contains("each task") && text.matches("stroke=\"#c8c8d0\"").count() == 0, "{text}");
        }
    }

    #[test]
    fn a_single_task_has_no_interval() {
        let svg = returns("a", builtin("point-robot").unwrap().spec(), &alone()).svg();
        assert!(svg.contains("one held-out task") && !svg.contains("<polygon"), "{svg}");
    }
}
