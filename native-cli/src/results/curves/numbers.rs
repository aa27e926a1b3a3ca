//! The numbers of learning curves: a table for people, and lines of JSON.

use super::{Curves, Panel};
use crate::curve::Series;
use crate::json::plot::PlotLine;
use crate::json::{VERSION, ends, finite};
use crate::metrics::ENV_STEPS;
use crate::results::score::phrase;
use crate::statistics::aggregate::Aggregate;
use crate::statistics::{self, band};
use crate::text::numbers::short_count;
use std::path::Path;

impl Curves {
    /// For each panel a line per series, with its scores, or its values at its end.
    pub(crate) fn table(&self) -> Vec<String> {
        let labels = self.panels.iter().flat_map(|panel| &panel.plot.series).map(|one| one.label.chars().count());
        let width = labels.max().unwrap_or(0).max(10);
        let (over, x) = (self.request.over(), &self.request.x);
        let last = x.rsplit('/').next().filter(|_| x != ENV_STEPS).unwrap_or("steps");
        let head = format!("{:<width$}  {over:>5}  {last:>6}      mean  95 % of the mean           IQM", "experiment");
        let mut lines = Vec::new();
        for panel in &self.panels {
            lines.extend([self.heading(panel), head.clone()]);
            lines.extend(panel.plot.series.iter().map(|one| row(one, width)));
            for one in &panel.plot.series {
                if let Some(band::CurveEnd { values, first_end: Some(first), .. }) = band::end(&one.runs) {
                    let (label, first) = (&one.label, short_count(first));
                    let (all, left) = (band::measured(&one.runs), values.len());
                    let line =
                        format!("  {label}: the first of {all} {over} ends at {first}; {left} at the end of the line");
                    lines.push(line);
                }
            }
        }
        lines
    }

    /// Says of which numbers the table of a panel is.
    fn heading(&self, Panel { metric, plot, .. }: &Panel) -> String {
        let of = if plot.title.is_empty() { String::new() } else { format!("{}: ", plot.title) };
        let smooth = self.request.smooth.map(|width| format!(", smoothed over {}", short_count(width as f64)));
        match plot.series.iter().find_map(|one| one.score.as_ref()) {
            Some(score) => format!("{of}score, {}:", phrase(metric, score.budget)),
            None => format!("{of}{metric} at the end of each line{}:", smooth.unwrap_or_default()),
        }
    }

    /// The line of JSON of the picture.
    pub(crate) fn line(&self, out: &Path) -> PlotLine {
        PlotLine::Plot {
            version: VERSION,
            path: out.display().to_string(),
            title: self.title.clone(),
            x: self.request.x.clone(),
            smooth: self.request.smooth,
        }
    }

    /// The lines of JSON of all series.
    pub(crate) fn series_lines(&self) -> impl Iterator<Item = PlotLine> {
        self.panels.iter().flat_map(|panel| panel.plot.series.iter().map(|one| series_line(panel, one)))
    }
}

/// The numbers of a series: those of the picture.
fn row(one: &Series, width: usize) -> String {
    let label = &one.label;
    let found = one.scores().and_then(|scores| {
        let (mean, iqm) = (scores.statistic(Aggregate::Mean)?, scores.statistic(Aggregate::Iqm)?);
        Some((scores.values.len(), short_count(scores.budget), mean, iqm.value))
    });
    let Some((runs, steps, mean, iqm)) = found else {
        return format!("{label:<width$}  {:>5}  {1:>6}  {1:>8}  {1:<22}  {1:>8}", 0, statistics::NONE);
    };
    let interval = statistics::interval_text(mean.interval, 2);
    format!("{label:<width$}  {runs:>5}  {steps:>6}  {:>8.2}  {interval:<22}  {iqm:>8.2}", mean.value)
}

fn series_line(panel: &Panel, series: &Series) -> PlotLine {
    let end = band::end(&series.runs);
    let scores = series.scores().unwrap_or_default();
    let mean = scores.statistic(Aggregate::Mean);
    let [low, high] = ends(mean.and_then(|mean| mean.interval));
    PlotLine::Curve {
        environment: panel.env.clone(),
        metric: panel.metric.clone(),
        experiment: series.label.clone(),
        runs: series.runs.len(),
        runs_at_end: end.as_ref().map_or(0, |end| end.values.len()),
        end: end.as_ref().and_then(|end| finite(end.steps)),
        first_end: end.as_ref().and_then(|end| end.first_end),
        budget: series.score.as_ref().map(|score| score.budget),
        mean: mean.and_then(|mean| finite(mean.value)),
        low,
        high,
        iqm: scores.statistic(Aggregate::Iqm).and_then(|iqm| finite(iqm.value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::file;
    use crate::folder::tests::scratch;
    use crate::metrics::EPISODE_RETURN;
    use crate::outcome::Stop;
    use crate::results::curves::CurvesRequest;
    use std::fs;

    fn make_run(dir: &Path, name: &str, config: &str, last: f64) {
        let dir = dir.join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join(file::CONFIG), config).unwrap();
        let csv = format!("time/env_steps,{EPISODE_RETURN},train/entropy\n100,1,0.5\n200,{last},0.4\n");
        fs::write(dir.join(file::CSV), csv).unwrap();
    }

    fn curves(dir: &Path, metric: &str, labels: &[&str]) -> Result<Curves, Stop> {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        let request = CurvesRequest { metrics: vec![metric.into()], x: ENV_STEPS.into(), labels, ..Default::default() };
        Curves::read(&[dir.to_owned()], request)
    }

    #[test]
    fn seeds_share_a_line_and_labels_say_what_differs() {
        let dir = scratch("plot");
        for seed in 0..4 {
            let config = format!("algorithm = \"ppo\"\nenv = \"cartpole\"\nseed = {seed}\ngamma = 0.99\n");
            make_run(&dir, &format!("a{seed}"), &config, 10.0 + f64::from(seed));
        }
        make_run(&dir, "b", "algorithm = \"ppo\"\nenv = \"cartpole\"\nseed = 0\ngamma = 0.9\n", 5.0);
        let drawn = curves(&dir, EPISODE_RETURN, &[]).unwrap();
        let svg = drawn.sheet().unwrap().svg();
        for text in [">ppo · cartpole<", "mean over 1 to 4 seeds", ">gamma=0.99<", ">gamma=0.9<", ">training return<"]
        {
            assert!(svg.contains(text), "{text} is missing");
        }
        let lines = drawn.table();
        assert_eq!(lines.len(), 4);
        assert!(lines[1].contains("mean  95 % of the mean"), "{}", lines[1]);
        // Mean of 10, 11, 12, 13, and its interval; their middle half is 11 and 12. One seed has no interval.
        assert!(lines[2].contains("   11.50  [10.50, 12.50]             11.50"), "{}", lines[2]);
        assert!(lines[3].contains("    1     200      5.00  –                           5.00"), "{}", lines[3]);
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
        // Labels of the caller's.
        let named = curves(&dir, EPISODE_RETURN, &["far-sighted", "near-sighted"]).unwrap();
        assert!(named.sheet().unwrap().svg().contains(">near-sighted<"));
        let error = curves(&dir, EPISODE_RETURN, &["one"]).unwrap_err();
        assert_eq!((error.code, error.hint.as_str()), (2, "give a --label for each of: gamma=0.99; gamma=0.9"));
    }

    #[test]
    fn a_picture_has_a_panel_for_each_environment_and_metric_up_to_a_limit() {
        let dir = scratch("plot-panels");
        for i in 0..=36 {
            make_run(&dir, &format!("{i}"), &format!("algorithm = \"ppo\"\nenv = \"e{i}\"\nseed = 0\n"), 1.0);
        }
        let error = curves(&dir, EPISODE_RETURN, &[]).unwrap_err();
        assert!(error.to_string().starts_with("37 environments and 1 metrics would be 37 panels"), "{error}");
        fs::remove_dir_all(dir.join("0")).unwrap();
        let svg = curves(&dir, EPISODE_RETURN, &[]).unwrap().sheet().unwrap().svg();
        assert_eq!((svg.matches(">training return<").count(), svg.matches(">e7<").count()), (36, 1));
    }

    #[test]
    fn wrong_metrics_and_folders_are_user_errors() {
        let dir = scratch("plot-wrong");
        make_run(&dir, "a", "env = \"cartpole\"\n", 1.0);
        let error = curves(&dir, "train/entrpy", &[]).unwrap_err();
        assert_eq!((error.code, error.hint.as_str()), (2, "did you mean `train/entropy`?"));
        fs::write(dir.join("a").join(file::CONFIG), "env = [").unwrap();
        assert_eq!(curves(&dir, EPISODE_RETURN, &[]).unwrap_err().code, 2);
        fs::remove_file(dir.join("a").join(file::CONFIG)).unwrap();
        curves(&dir, EPISODE_RETURN, &[]).unwrap();
    }
}
