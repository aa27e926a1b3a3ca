//! The command by which runs go on, where an error names it.

use super::SeedRun;
use crate::outcome::{NON_FINITE, Stop};
use crate::text::program;
use crate::text::quote::shell_quote;

/// `quickstudy train --resume DIR…` for these runs.
pub(crate) fn resume_command<'a>(runs: impl IntoIterator<Item = &'a SeedRun>) -> String {
    let mut command = format!("{} train --resume", program::name());
    for run in runs {
        command.push(' ');
        command.push_str(&shell_quote(run.folder.path()));
    }
    command
}

/// Says how to go on from the snapshots that there are.
pub(super) fn with_resume_hint(mut stop: Stop, runs: &[SeedRun]) -> Stop {
    let intact: Vec<&SeedRun> = runs.iter().filter(|run| run.folder.resumable() && run.segments.whole()).collect();
    if intact.is_empty() {
        return stop;
    }
    let first = match (stop.hint.is_empty(), intact.len() == runs.len()) {
        (false, _) => stop.hint.clone(),
        (true, true) => "the last snapshot is intact".to_owned(),
        (true, false) => format!("{} of {} runs still have their last snapshot", intact.len(), runs.len()),
    };
    let command = resume_command(intact);
    stop.hint = if stop.code == NON_FINITE {
        format!("{first}; `{command} --debug` names the operation where it begins")
    } else {
        format!("{first}; continue with `{command}`")
    };
    stop
}
