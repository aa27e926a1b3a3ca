//! The numbers of an adaptation, as lines for people and as lines of JSON.

use crate::json::adapt::{AdaptLine, Returns};
use crate::json::finite;
use crate::pictures::adaptation;
use crate::statistics;
use quickstudy_core::env::Classes;
use quickstudy_core::meta::{Performance, by_class};
use quickstudy_core::train::{Adaptation, StageUnit};

/// The unit of stages in lines of JSON.
pub(super) fn unit_name(unit: StageUnit) -> &'static str {
    match unit {
        StageUnit::GradientSteps => "gradient_steps",
        StageUnit::Episodes => "episodes",
        StageUnit::Steps(_) => "steps",
    }
}

/// The interval of the mean over tasks; a single task has none.
pub(super) fn interval(values: &[f64], digits: usize) -> String {
    match statistics::bootstrap95(values, statistics::mean) {
        Some((low, high)) => format!("95 % interval {low:.digits$} to {high:.digits$}"),
        None => format!("95 % interval {}", statistics::NONE),
    }
}

/// The share of episodes with a success, and of those that end with one; nothing where it is not known.
fn success_text(of: &Performance) -> String {
    let part =
        |rate: f64, what: &str| if rate.is_nan() { String::new() } else { format!("{what} {:.0} %", 100.0 * rate) };
    part(of.success_rate, "   success") + &part(of.success_at_end_rate, ", at the end")
}

/// The return of each task's whole trial: that of all stages.
fn trials(adaptation: &Adaptation) -> Vec<f64> {
    let mut trials = vec![0.0; adaptation.tasks.len()];
    for stage in &adaptation.stages {
        trials.iter_mut().zip(stage.task_means()).for_each(|(sum, mean)| *sum += mean);
    }
    trials
}

/// The numbers of [`summary`], as lines of JSON.
pub(super) fn results(adaptation: &Adaptation, classes: Option<&Classes>) -> Vec<AdaptLine> {
    let mut lines = Vec::new();
    let mut ends = Vec::new();
    for (k, stage) in adaptation.stages.iter().enumerate() {
        let (means, performance) = (stage.task_means(), stage.performance(0));
        lines.push(AdaptLine::Stage {
            stage: k,
            name: adaptation::stage_name(adaptation.unit, k),
            returns: Returns::of(&means),
            worst_task: finite(means.iter().copied().fold(f64::INFINITY, f64::min)),
            success_rate: finite(performance.success_rate),
            success_at_end_rate: finite(performance.success_at_end_rate),
        });
        let of_classes = classes.map(|classes| by_class(classes, &stage.outcomes)).unwrap_or_default();
        let of_class = |(class, outcomes): (_, Vec<_>)| AdaptLine::class(k, class, &Performance::of(0, &outcomes));
        lines.extend(of_classes.into_iter().map(of_class));
        ends.push(statistics::mean(&means));
    }
    if adaptation.unit != StageUnit::GradientSteps {
        lines.push(AdaptLine::Trial { returns: Returns::of(&trials(adaptation)) });
    }
    let [before, after] = [ends.first(), ends.last()].map(|mean| mean.copied().and_then(finite));
    lines.push(AdaptLine::Result { before, after, tasks: adaptation.tasks.len() });
    lines
}

/// Lines about each stage; the last one is the promised one.
pub(super) fn summary(adaptation: &Adaptation, classes: Option<&Classes>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut ends = Vec::new();
    for (k, stage) in adaptation.stages.iter().enumerate() {
        let means = stage.task_means();
        let worst = means.iter().copied().fold(f64::INFINITY, f64::min);
        let name = adaptation::stage_name(adaptation.unit, k);
        let success = success_text(&stage.performance(0));
        lines.push(format!(
            "{name:<12} return {:>9.2}   {}   worst task {worst:.2}{success}",
            statistics::mean(&means),
            interval(&means, 2)
        ));
        for (class, outcomes) in classes.map(|classes| by_class(classes, &stage.outcomes)).unwrap_or_default() {
            let of_class = Performance::of(0, &outcomes);
            let (mean, success) = (of_class.mean, success_text(&of_class));
            lines.push(format!("  {class:<24} return {mean:>9.2}{success}"));
        }
        ends.push(statistics::mean(&means));
    }
    if adaptation.unit != StageUnit::GradientSteps {
        let trials = trials(adaptation);
        lines.push(format!("whole trial  return {:>9.3}   {}", statistics::mean(&trials), interval(&trials, 3)));
    }
    let (first, last) = (ends.first().copied().unwrap_or(f64::NAN), ends.last().copied().unwrap_or(f64::NAN));
    lines.push(format!("before {first:.4} after {last:.4} tasks {}", adaptation.tasks.len()));
    lines
}
