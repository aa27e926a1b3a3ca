//! The returns of runs on an environment: those of evaluations, or those of training.

use super::{Experiment, Run, show};
use crate::metrics::{EPISODE_RETURN, EVAL_RETURN};
use toml::Value;

/// Returns the metric of returns that all runs on an environment have, and a note where only some have evaluations.
/// `verb` has the forms of what is done with them, such as `drawn` and `draws`.
pub(crate) fn returns(all: &[Experiment], env: Option<&Value>, verb: [&str; 2]) -> (&'static str, Option<String>) {
    let runs = || all.iter().filter(|one| one.env() == env).flat_map(|one| &one.runs);
    let evaluated = runs().filter(|run| !run.curve(EVAL_RETURN).is_empty()).count();
    let has_points = |run: &&Run| run.curves.iter().any(|(_, points)| !points.is_empty());
    let measured = runs().filter(has_points).count();
    if evaluated > 0 && evaluated == measured {
        return (EVAL_RETURN, None);
    }
    let on = env.map_or_else(String::new, |env| format!(" on {}", show(env)));
    let [done, does] = verb;
    let note = format!(
        "note: {evaluated} of {measured} runs{on} have evaluations, so returns of training are {done}; \
         --metric {EVAL_RETURN} {does} those"
    );
    (EPISODE_RETURN, (evaluated > 0).then_some(note))
}
