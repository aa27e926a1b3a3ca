//! A `train` of several algorithms or environments.

use super::TrainArgs;
use crate::jobs::{self, Board};
use crate::outcome::Stop;
use crate::ranks;
use crate::ranks::job::{Job, JobEnd};
use crate::study::arguments::Common;
use crate::study::parts::Pair;
use crate::study::{self, StudyPart, summary};
use crate::terminal::output::{self, say};
use crate::text::program;
use crate::text::quote::shell_quote;
use std::path::{Path, PathBuf};

/// Trains each pair with all seeds, and goes on with what is there.
///
/// # Errors
/// [`Stop`] with code 2 before anything is trained, if something is to be changed in the command; with the code of the
/// first training that failed, after the others are done.
pub(super) fn train(args: &TrainArgs, pairs: &[Pair]) -> Result<(), Stop> {
    if args.run.from.is_some() && pairs.len() > 1 {
        let message = "--from: the parameters of one run fit one algorithm on one environment";
        return Err(Stop::user(message).hint("begin each pair with its own --from, in a command of its own"));
    }
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("runs"));
    let request = args.request();
    let resolve = |pair: &Pair| StudyPart::resolve(&request, pair, &out);
    let mut parts = pairs.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
    study::check_apart(&parts)?;
    if args.print_config {
        for part in &parts {
            say(&format!("# {}", part.name()));
            output::say_text(&(part.plan.config_toml(part.plan.setup.seeds[0]) + "\n"));
        }
        return Ok(());
    }
    study::check_links(&parts, &out)?;
    study::check_descriptors(&parts)?;
    // What is finished is shown, also where nothing can be written.
    let is_done = |part: &mut StudyPart| part.look().is_ok() && part.finished() == part.runs.len();
    let _locks = match parts.iter_mut().all(is_done) {
        true => Vec::new(),
        false => study::take(&parts, &out)?,
    };
    study::settle(&parts)?;
    parts.iter_mut().try_for_each(StudyPart::look)?;
    // However many jobs there will be, each gets its share of the machine.
    let missing = parts.iter().filter(|part| part.finished() < part.runs.len()).count();
    let at_once = args.machine().at_once(missing);
    let common = Common::of(args, at_once);
    // Where there are more ranks than pairs, seeds are divided among them.
    let pieces = (at_once * ranks::count()).div_ceil(missing.max(1));
    let made = |(part, pair): (&StudyPart, &Pair)| part.jobs(pair, &out, &common, pieces);
    let jobs: Vec<Job> = parts.iter().zip(pairs).flat_map(made).collect();
    say(&headline(&parts, &jobs, (at_once * ranks::count()).min(jobs.len().max(1)), &out));
    let ends = jobs::run(&jobs, at_once, &mut Board::new(&jobs))?;
    parts.iter_mut().try_for_each(StudyPart::look)?;
    summary::table(&parts).iter().for_each(|line| say(line));
    jobs::check(&jobs, &ends, "the same command tries again what is missing")?;
    if ends.iter().any(|end| matches!(end, JobEnd::Stopped)) {
        say("stopped; the same command goes on with what is missing");
    } else {
        say(&format!("next: {} compare {}", program::name(), shell_quote(&out)));
    }
    Ok(())
}

/// `40 runs in runs, 12 of them finished; 3 trainings to do, 2 at once`
fn headline(parts: &[StudyPart], jobs: &[Job], at_once: usize, out: &Path) -> String {
    let runs: usize = parts.iter().map(|part| part.runs.len()).sum();
    let done: usize = parts.iter().map(StudyPart::finished).sum();
    let there = if done > 0 { format!(", {done} of them finished") } else { String::new() };
    let plural = |count: usize, one: &str| if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") };
    format!(
        "{} in {}{there}; {} to do, {at_once} at once",
        plural(runs, "run"),
        shell_quote(out),
        plural(jobs.len(), "training"),
    )
}
