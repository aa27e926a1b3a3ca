//! The table at the end of a study: what each algorithm reached on each environment.

use super::StudyPart;
use crate::metrics::ENV_STEPS;
use crate::results::comparison::task::Task;
use crate::results::comparison::tasks::tasks;
use crate::results::experiments::{Experiment, Run};
use crate::results::score::phrase;
use crate::statistics::aggregate::Aggregate;
use crate::statistics::{NONE, interval_text};
use crate::text::columns::aligned;

/// The lines of the table: for each part its runs, and the mean of their scores with a 95 % bootstrap interval. Scores
/// are those of `compare`: below the table is what they are on each environment.
pub(crate) fn table(parts: &[StudyPart]) -> Vec<String> {
    let experiment = |part: &StudyPart| {
        let folders = part.runs.iter().map(|run| run.folder.as_path());
        let runs: Vec<Run> = folders.filter_map(|folder| Run::read(folder, ENV_STEPS, &[]).ok()).collect();
        Experiment { config: runs.first().map(|run| run.config.clone()).unwrap_or_default(), runs }
    };
    let (begun, places): (Vec<Experiment>, Vec<usize>) =
        parts.iter().map(experiment).zip(0..).filter(|(one, _)| !one.runs.is_empty()).unzip();
    let mut notes = Vec::new();
    // A study in which nothing was measured has no scores.
    let tasks = tasks(&begun, &places, parts.len(), None, &mut notes).unwrap_or_default();
    let head = ["environment", "algorithm", "runs", "score", "95 % interval"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (place, part) in parts.iter().enumerate() {
        let setup = &part.plan.setup;
        let mut scores = tasks.iter().map(|task| task.at_budget(place));
        let mean = scores.find_map(|scores| scores.statistic(Aggregate::Mean));
        let value = mean.map_or_else(|| NONE.to_owned(), |mean| format!("{:.2}", mean.value));
        let interval = interval_text(mean.and_then(|mean| mean.interval), 2);
        let runs = format!("{} of {}", part.finished(), part.runs.len());
        rows.push(vec![setup.env.spec().name.clone(), setup.algorithm.name.to_owned(), runs, value, interval]);
    }
    let mut lines = aligned(&rows, |column| column >= 2);
    let score = |task: &Task| format!("score on {}: {}", task.name, phrase(&task.metric, task.budget.steps));
    lines.extend(tasks.iter().map(score));
    lines.extend(notes);
    lines
}
