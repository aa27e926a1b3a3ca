//! A comparison as a picture: intervals, performance profiles and sample efficiency.

use super::Comparison;
use super::document::title;
use super::forest::Forest;
use super::suite::{Suite, Summary};
use crate::curve::{Plot, Series, draw_panels};
use crate::metrics::names::axis_title;
use crate::outcome::Stop;
use crate::pictures::sheet::Sheet;
use crate::statistics::aggregate::Aggregate;
use crate::statistics::band::Band;
use crate::statistics::bootstrap::Estimate;

/// Environments, or groups of these, in a picture at most.
const SUITES: usize = 18;
/// Width of two panels side by side.
const WIDTH: f32 = 1160.0;

/// Draws a comparison.
pub(crate) fn draw(comparison: &Comparison) -> Result<Sheet, Stop> {
    if comparison.suites.len() > SUITES {
        let message =
            format!("{} environments would be more than the {SUITES} that a picture has", comparison.suites.len());
        return Err(Stop::user(message).hint("name fewer folders, or write .md, .csv or .tex"));
    }
    let plots: Vec<Plot> = comparison.suites.iter().flat_map(|suite| plots(comparison, suite)).collect();
    let subtitle = format!(
        "bands and bars: 95 % stratified bootstrap intervals of what the axis or the column names, {} resamples",
        comparison.resamples
    );
    let mut sheets = vec![draw_panels(&heading(comparison), &subtitle, &plots, 2)?];
    sheets.extend(comparison.suites.iter().map(|suite| intervals(comparison, suite).draw(WIDTH)));
    if !comparison.improvements.is_empty() {
        sheets.push(improvements(comparison).draw(WIDTH));
    }
    Ok(Sheet::stacked(sheets))
}

fn heading(comparison: &Comparison) -> String {
    match &comparison.methods[..] {
        [only] => only.clone(),
        methods => format!("{} experiments compared", methods.len()),
    }
}

/// The profile and the efficiency of a suite.
fn plots(comparison: &Comparison, suite: &Suite) -> [Plot; 2] {
    let series = |of: &dyn Fn(&Summary) -> Vec<(f64, Estimate)>| {
        let one = |result: &Summary| {
            let points = of(result);
            Series {
                label: comparison.methods[result.method].clone(),
                color: Some(result.method),
                band: Some(Band {
                    steps: points.iter().map(|(x, _)| *x).collect(),
                    mean: points.iter().map(|(_, found)| found.value).collect(),
                    interval: points.iter().map(|(_, found)| found.interval).collect(),
                    first_end: None,
                }),
                ..Series::default()
            }
        };
        suite.results.iter().map(one).collect::<Vec<_>>()
    };
    let profiles = series(&|result| result.profile.iter().map(|point| (point.tau, point.runs)).collect());
    let taus = || profiles.iter().filter_map(|one| one.band.as_ref()).flat_map(|band| band.steps.iter().copied());
    let ends = [taus().fold(f64::INFINITY, f64::min), taus().fold(f64::NEG_INFINITY, f64::max)];
    let task = suite.tasks.first().map(|task| &comparison.tasks[*task]);
    let score = match task.filter(|_| !suite.normalised) {
        Some(task) => axis_title(&task.metric),
        None => "normalised score".to_owned(),
    };
    let name = match task.filter(|_| !suite.normalised) {
        Some(task) => task.name.clone(),
        None => title(comparison, suite),
    };
    let steps = task.filter(|_| !suite.normalised).map_or(100.0, |task| task.budget.steps);
    let curve = |result: &Summary| result.efficiency.iter().map(|(share, found)| (share * steps, *found)).collect();
    let profile = Plot {
        title: name.clone(),
        x_label: format!("{score} τ"),
        y_label: "share of runs above τ".to_owned(),
        x_range: Some(ends),
        unlabelled: true,
        series: profiles,
        ..Plot::default()
    };
    let efficiency = Plot {
        title: name,
        x_label: if suite.normalised { "% of the steps of each environment".to_owned() } else { String::new() },
        y_label: format!("IQM, {score}"),
        series: series(&curve),
        ..Plot::default()
    };
    [profile, efficiency]
}

fn intervals(comparison: &Comparison, suite: &Suite) -> Forest {
    let all = [Aggregate::Iqm, Aggregate::Mean, Aggregate::Median, Aggregate::RunMedian, Aggregate::OptimalityGap];
    let has = |of: &Aggregate| suite.results.iter().any(|result| result.aggregates.iter().any(|(one, _)| one == of));
    let shown: Vec<Aggregate> = all.into_iter().filter(has).collect();
    let row = |result: &Summary| {
        let of = |wanted: &Aggregate| Some(result.aggregates.iter().find(|(one, _)| one == wanted)?.1);
        let label = format!("{} ({})", comparison.methods[result.method], result.seeds());
        (label, result.method, shown.iter().map(of).collect())
    };
    Forest {
        title: format!("{} (seeds in brackets)", title(comparison, suite)),
        columns: shown.iter().map(|one| (one.title().to_owned(), None)).collect(),
        rows: suite.results.iter().map(row).collect(),
    }
}

fn improvements(comparison: &Comparison) -> Forest {
    let rows = comparison.improvements.iter().map(|one| {
        let [method, over] = [one.method, one.over].map(|method| &comparison.methods[method]);
        (format!("{method} > {over}"), one.method, vec![Some(one.probability)])
    });
    Forest {
        title: "Probability of improvement: a run of the first scores higher than one of the second".to_owned(),
        columns: vec![("probability".to_owned(), Some([0.0, 1.0]))],
        rows: rows.collect(),
    }
}
