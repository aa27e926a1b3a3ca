//! A report: what there is to tell of some runs, on one page that needs no other file.
//!
//! Its sections are in files of their own. Whatever comes from a run folder is quoted
//! ([`markup`](crate::text::quote::markup)), and the page's own policy lets it load nothing: no script, no picture, no
//! font.

mod compared;
mod curves;
mod filmstrip;
mod origins;
mod page;
mod settings;
mod statistics;

use crate::outcome::Stop;
use crate::results::comparison::Comparison;
use crate::results::comparison::document::Document;
use crate::results::experiments::Experiment;
use crate::statistics::bootstrap::RESAMPLES;
use compared::Compared;
use filmstrip::Filmstrip;

/// A report of some experiments.
#[derive(Debug)]
pub(crate) struct ReportPage<'a> {
    compared: Compared<'a>,
    films: Vec<Filmstrip>,
}

impl<'a> ReportPage<'a> {
    /// Compares experiments; `by` has the keys by which they were grouped. `notes` are told before those of the
    /// comparison.
    pub(crate) fn new(
        all: &'a [Experiment],
        by: &[String],
        metric: Option<&'a str>,
        baseline: Option<&str>,
        notes: Vec<String>,
    ) -> Result<Self, Stop> {
        let comparison = Comparison::new(all, by, metric, baseline, RESAMPLES, notes)?;
        Ok(Self { compared: Compared { all, comparison, metric }, films: Vec::new() })
    }

    /// Lets a policy of each experiment play, for pictures. What cannot be drawn is said in their place.
    pub(crate) fn add_pictures(&mut self) {
        self.films = filmstrip::films(&self.compared);
    }

    /// Remarks, a line each.
    pub(crate) fn notes(&self) -> &[String] {
        &self.compared.comparison.notes
    }

    /// The page, a file of HTML. Without a title it is called after experiments and environments.
    pub(crate) fn page(&self, title: Option<&str>) -> String {
        let title = title.map_or_else(|| self.title(), str::to_owned);
        let document = Document::of(&self.compared.comparison);
        let lead = document.sections.first().map_or("", |section| section.title.as_str());
        let sections = [
            curves::section(&self.compared),
            statistics::section(&self.compared, &document),
            filmstrip::section(&self.films),
            settings::section(&self.compared),
            origins::repeating(&self.compared),
            origins::runs(&self.compared),
        ];
        page::page(&title, lead, &sections)
    }

    /// Experiments and environments in a few words.
    fn title(&self) -> String {
        let several = |names: &[&str], what: &str| match names {
            [] => String::new(),
            [one] => (*one).to_owned(),
            [rest @ .., last] if rest.len() < 3 => format!("{} and {last}", rest.join(", ")),
            all => format!("{} {what}", all.len()),
        };
        let methods: Vec<&str> = self.compared.comparison.methods.iter().map(String::as_str).collect();
        let tasks: Vec<&str> = self.compared.comparison.tasks.iter().map(|task| task.name.as_str()).collect();
        let (methods, tasks) = (several(&methods, "experiments"), several(&tasks, "environments"));
        // The label of a single experiment may name its environment.
        if methods.ends_with(&tasks) { methods } else { format!("{methods} on {tasks}") }
    }
}
