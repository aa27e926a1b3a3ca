//! Learning curves of experiments: a panel for each environment and metric, in it a line for each experiment.

mod numbers;

use crate::curve::{self, Plot, Scores, Series, Sheet};
use crate::metrics::ENV_STEPS;
use crate::metrics::names::axis_title;
use crate::outcome::Stop;
use crate::results::comparison::{methods, tasks};
use crate::results::experiments::{self, Experiment};
use crate::statistics::band::{self, smooth};
use crate::text::numbers::{plural, short_count};
use std::path::PathBuf;
use toml::Value;

/// Panels of one picture at most.
const PANELS: usize = 36;

/// The curves that are to be drawn.
#[derive(Clone, Debug, Default)]
pub(crate) struct CurvesRequest {
    /// Columns of metrics, each once; none stands for the returns that all runs of an environment have.
    pub metrics: Vec<String>,
    /// The column that they are drawn over.
    pub x: String,
    /// The horizontal axis is divided by powers of ten.
    pub log_x: bool,
    /// The width of the window that points are means of.
    pub smooth: Option<u64>,
    /// Keys of settings by which runs are grouped, instead of all settings but the seed.
    pub by: Vec<String>,
    /// Labels in place of those that experiments have.
    pub labels: Vec<String>,
}

/// Learning curves as they are drawn.
#[derive(Debug)]
pub(crate) struct Curves {
    request: CurvesRequest,
    title: String,
    subtitle: String,
    panels: Vec<Panel>,
    columns: usize,
    /// Remarks, a line each.
    pub notes: Vec<String>,
}

/// An environment and a metric, and what is drawn of them.
#[derive(Debug)]
struct Panel {
    env: Option<String>,
    metric: String,
    plot: Plot,
}

/// An experiment with the label and the number of its lines.
struct Labelled<'a> {
    of: &'a Experiment,
    label: String,
    color: usize,
}

impl Curves {
    /// Reads all runs in these folders.
    pub(crate) fn read(folders: &[PathBuf], request: CurvesRequest) -> Result<Self, Stop> {
        let (mut runs, mut notes) = experiments::collect(folders, &request.x, &request.metrics)?;
        if let Some(width) = request.smooth {
            let curves = runs.iter_mut().flat_map(|run| &mut run.curves);
            curves.for_each(|(_, points)| *points = smooth(points, width as f64));
        }
        let all = experiments::group(runs, &request.by)?;
        let lines = request.lines(&all, &mut notes)?;
        let metrics = request.metrics(&all, &mut notes)?;
        let several = experiments::environments(&all).len() > 1;
        let panel = |(env, metric)| request.panel(&lines, env, metric, several, &mut notes);
        let panels: Vec<Panel> = metrics.into_iter().map(panel).collect();
        // Metrics beside each other where there are some of each environment.
        let columns = match (request.metrics.len(), panels.len()) {
            (metrics @ (2 | 3), _) if several => metrics,
            (_, 0..=1) => 1,
            (_, 2..=4) => 2,
            _ => 3,
        };
        let shared = experiments::shared(&all);
        let title = if shared.is_empty() { "Learning curves".into() } else { shared.join(" · ") };
        let subtitle = request.subtitle(&all, &panels);
        Ok(Self { request, title, subtitle, panels, columns, notes })
    }

    /// The picture.
    pub(crate) fn sheet(&self) -> Result<Sheet, Stop> {
        let plots: Vec<Plot> = self.panels.iter().map(|panel| panel.plot.clone()).collect();
        curve::draw_panels(&self.title, &self.subtitle, &plots, self.columns)
    }
}

/// An experiment as a line of a plot.
pub(crate) fn series(of: &Experiment, metric: &str, label: &str, color: usize, score: Option<Scores>) -> Series {
    let runs = of.runs.iter().map(|run| run.curve(metric).to_vec()).collect();
    Series { label: label.to_owned(), runs, color: Some(color), score, ..Series::default() }
}

impl CurvesRequest {
    /// Lines are means over these: with `by`, runs may differ in more than their seeds.
    fn over(&self) -> &'static str {
        if self.by.is_empty() { "seeds" } else { "runs" }
    }

    /// Labels and colours: experiments of the same label on different environments share them.
    fn lines<'a>(&self, all: &'a [Experiment], notes: &mut Vec<String>) -> Result<Vec<Labelled<'a>>, Stop> {
        let (labels, hidden) = experiments::labels(all, &self.by);
        let (entries, colors) = methods(all, &labels);
        if self.labels.is_empty() {
            if !hidden.is_empty() {
                let hidden = hidden.join(", ");
                notes.push(format!("note: some lines differ in {hidden} too; --by KEY or --label TEXT says so"));
            }
        } else if self.labels.len() != entries.len() {
            let message = format!("{} for {}", plural(self.labels.len(), "label"), plural(entries.len(), "line"));
            return Err(Stop::user(message).hint(format!("give a --label for each of: {}", entries.join("; "))));
        }
        let line = |((of, own), color): ((&'a Experiment, String), usize)| Labelled {
            of,
            label: self.labels.get(color).cloned().unwrap_or(own),
            color,
        };
        Ok(all.iter().zip(labels).zip(colors).map(line).collect())
    }

    /// The environment and the metric of each panel.
    fn metrics<'a>(
        &self,
        all: &'a [Experiment],
        notes: &mut Vec<String>,
    ) -> Result<Vec<(Option<&'a Value>, String)>, Stop> {
        let environments = experiments::environments(all);
        let (envs, metrics) = (environments.len(), self.metrics.len().max(1));
        let panels = envs * metrics;
        if panels > PANELS {
            let message = format!(
                "{envs} environments and {metrics} metrics would be {panels} panels, and a picture has {PANELS} at most"
            );
            return Err(Stop::user(message).hint("name fewer folders or metrics"));
        }
        let of_env = |env| match &self.metrics[..] {
            [] => {
                let (default, note) = experiments::returns(all, env, ["drawn", "draws"]);
                notes.extend(note);
                vec![(env, default.to_owned())]
            }
            asked => asked.iter().map(|metric| (env, metric.clone())).collect(),
        };
        Ok(environments.into_iter().flat_map(of_env).collect())
    }

    /// The panel of a metric on an environment, with scores where its axes are those of scores.
    fn panel(
        &self,
        lines: &[Labelled<'_>],
        env: Option<&Value>,
        metric: String,
        titled: bool,
        notes: &mut Vec<String>,
    ) -> Panel {
        let here: Vec<&Labelled<'_>> = lines.iter().filter(|line| line.of.env() == env).collect();
        notes.extend(tasks::without_value(here.iter().flat_map(|line| &line.of.runs), &metric));
        let numbered: Vec<(&Experiment, usize)> = here.iter().map(|line| line.of).zip(0..).collect();
        let task = match self.x == ENV_STEPS && self.smooth.is_none() {
            true => tasks::task(&numbered, env, (&metric, self.metrics.is_empty()), notes),
            false => None,
        };
        let series = |(place, line): (usize, &&Labelled<'_>)| {
            let score = task.as_ref().map(|task| task.at_budget(place));
            series(line.of, &metric, &line.label, line.color, score)
        };
        let plot = Plot {
            title: if titled { experiments::env_name(env) } else { String::new() },
            x_label: axis_title(&self.x),
            log_x: self.log_x,
            y_label: axis_title(&metric),
            series: here.iter().enumerate().map(series).collect(),
            ..Plot::default()
        };
        Panel { env: env.map(experiments::show), metric, plot }
    }

    /// The line below the title: how lines are made.
    fn subtitle(&self, all: &[Experiment], panels: &[Panel]) -> String {
        let over = self.over();
        let most = all.iter().map(|one| one.runs.len()).max().unwrap_or(1);
        let fewest = all.iter().map(|one| one.runs.len()).min().unwrap_or(1);
        let count = if fewest == most { most.to_string() } else { format!("{fewest} to {most}") };
        let mut parts = match most > 1 {
            true => vec![format!("mean over {count} {over}, band: 95 % bootstrap interval of the mean")],
            false => vec![format!("one {}", over.trim_end_matches('s'))],
        };
        if let Some(width) = self.smooth {
            parts.push(format!("smoothed over {}", short_count(width as f64)));
        }
        let mut ends = panels.iter().flat_map(|panel| &panel.plot.series).filter_map(|one| band::end(&one.runs));
        if ends.any(|end| end.first_end.is_some()) {
            parts.push(format!("thin behind the bar, where the first of the {over} ends"));
        }
        parts.join("; ")
    }
}
