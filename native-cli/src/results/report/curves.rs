//! Learning curves of a report: a panel for each environment, under one legend.

use super::compared::Compared;
use super::page;
use crate::curve::{self, Plot};
use crate::metrics::names::axis_title;
use crate::results::curves::series;
use crate::results::experiments::{self, Experiment};
use crate::results::score::phrase;
use crate::text::quote::markup;
use toml::Value;

/// Size of a panel; pages make it as wide as there is room.
const SIZE: [f32; 2] = [420.0, 290.0];

/// A panel for each environment.
pub(super) fn section(report: &Compared<'_>) -> String {
    let panels: String =
        experiments::environments(report.all).into_iter().enumerate().map(|(i, env)| panel(report, env, i)).collect();
    let most = report.all.iter().map(|one| one.runs.len()).max().unwrap_or(0);
    let what = match most {
        0 | 1 => "Each line is a single run.",
        _ => {
            "Lines are means over seeds, bands their 95 % bootstrap intervals. A line is thin behind a bar where its \
             first seed ends."
        }
    };
    page::section(
        "Learning curves",
        &format!("{}<div class=\"panels\">\n{panels}</div>\n<p>{what}</p>\n", legend(report)),
    )
}

/// Which line is which; a single one needs no legend.
fn legend(report: &Compared<'_>) -> String {
    let methods = &report.comparison.methods;
    if methods.len() < 2 {
        return String::new();
    }
    let entry = |(i, label): (usize, &String)| format!("<li>{}{}</li>", page::key(i), markup(label));
    format!("<ul class=\"legend\">{}</ul>\n", methods.iter().enumerate().map(entry).collect::<String>())
}

fn panel(report: &Compared<'_>, env: Option<&Value>, number: usize) -> String {
    let name = experiments::env_name(env);
    let (default, _) = experiments::returns(report.all, env, ["drawn", "draws"]);
    let metric = report.metric.unwrap_or(default);
    let here = report.all.iter().zip(&report.comparison.places).filter(|(one, _)| one.env() == env);
    let task = report.comparison.tasks.iter().find(|task| task.name == name && task.metric == metric);
    let line = |(one, place): (&Experiment, &usize)| {
        series(one, metric, &report.comparison.methods[*place], *place, task.map(|task| task.at_budget(*place)))
    };
    let plot = Plot { y_label: axis_title(metric), series: here.map(line).collect(), ..Plot::default() };
    let label = format!("{} over environment steps on {name}", plot.y_label);
    let drawn = match curve::draw_alone(&plot, SIZE) {
        Some(sheet) => sheet.svg_in_page(&label, &format!("curve{number}")),
        None => format!("<p class=\"none\">No run has a value of {} yet.</p>\n", markup(metric)),
    };
    let score = task.map_or_else(String::new, |task| format!("; numbers: {}", phrase(metric, task.budget.steps)));
    let name = format!("{name}{score}");
    format!("<figure><figcaption>{}</figcaption>\n{drawn}</figure>\n", markup(&name))
}
