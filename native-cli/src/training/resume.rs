//! Runs that go on: from the last snapshots in their folders, or from kept ones in new folders.
//!
//! All that the command asks for is checked and then written into the configurations of all runs, before the first of
//! them goes on: whatever happens later, `--resume` alone does the rest.

mod plan;
mod source;
mod unbegun;

use crate::folder::{self, file, links, segments};
use crate::machine::device::time_of_training;
use crate::metrics::agreement;
use crate::outcome::Stop;
use crate::settings::register;
use crate::terminal::activity::{self, Work};
use crate::terminal::output::say;
use crate::terminal::signals;
use crate::terminal::ticker::Ticker;
use crate::text::numbers::grouped;
use crate::training::args::TrainArgs;
use crate::training::kept_snapshot::Kept;
use crate::training::start::{folders_of, headline, steps_of, train};
use plan::{Ready, Stack, plan};
use quickstudy_core::backend::Device;
use quickstudy_core::train::{Saved, Session, stacks, trial_stacks};
use source::{Opened, Source};
use std::collections::HashSet;
use std::path::PathBuf;

/// Resumes the folders together where their snapshots allow it, otherwise one after the other.
pub(crate) fn resume(args: &TrainArgs) -> Result<(), Stop> {
    activity::begin(Work::SettingUp);
    let paths = named(args)?;
    folder::check_descriptors(paths.len())?;
    // All of them before one is locked.
    for path in &paths {
        if path.is_dir() {
            folder::check_plain(path)?;
            agreement::check(path, &path.join(file::LAST))?;
        } else if let Ok(kept) = Kept::find(path) {
            agreement::check(kept.run(), path)?;
        }
    }
    let ticker = Ticker::new(None);
    let Opened { mut sources, unbegun } = source::open(&paths)?;
    let first = sources.first().map(|(_, source)| source.read().map(|file| (file, reader(source)))).transpose()?;
    let (device, why) = args.device.open_for(&mut |device| {
        // All run folders of a command are of one kind, as a rule; one of them stands for them.
        match (unbegun.first(), &first) {
            (Some((_, run)), _) => time_of_training(device, run.setup()),
            (None, Some((file, read))) => {
                let session = Session::restore_saved(device, register::own(), &[Saved::in_parts(file, read)])?;
                time_of_training(device, session.setup())
            }
            (None, None) => Err(Stop::user("no run was named")),
        }
    })?;
    drop(first);
    why.iter().for_each(|why| say(why));
    let begun = unbegun::begin(args, &device, unbegun)?;
    sources.extend(begun.into_iter().map(|(place, folder)| (place, Source::Last(folder))));
    sources.sort_by_key(|(place, _)| *place);
    let runs = restore(&device, sources.into_iter().map(|(_, source)| source).collect(), args.stack_trials)?;
    activity::watch(device.interrupt());
    drop(ticker);
    let mut stacks: Vec<Stack> = plan(args, runs)?;
    activity::begin(Work::Saving);
    stacks.iter_mut().try_for_each(|stack| stack.begin_copies(args))?;
    stacks.iter().try_for_each(Stack::copy)?;
    stacks.iter().try_for_each(Stack::end_copies)?;
    stacks.iter().try_for_each(Stack::write_configurations)?;
    let ready: Vec<Option<Ready>> =
        stacks.into_iter().map(|stack| stack.go_back(args, &device)).collect::<Result<_, _>>()?;
    for Ready { session, runs, pace, extended } in ready.into_iter().flatten() {
        headline(session.setup(), &args.device.describe(&device), folders_of(&runs));
        say(&goes_on(&session, runs.len()));
        if session.begins_anew() {
            say(crate::training::recover::NEW_EPISODES);
        }
        if extended {
            say("note: linear schedules now end at the new number of steps");
        }
        train(args, session, runs, pace)?;
        if signals::stop_asked() {
            break;
        }
    }
    Ok(())
}

/// The run folders and kept snapshots that `--resume` names. A folder of runs stands for the runs directly in it.
fn named(args: &TrainArgs) -> Result<Vec<PathBuf>, Stop> {
    let mut runs = Vec::new();
    let mut seen = HashSet::new();
    for path in &args.resume {
        for run in folder::find_started(path).unwrap_or_else(|_| vec![path.clone()]) {
            links::check_below(path, &run)?;
            if args.out.is_some() && !run.is_file() {
                let message = format!("{} resumes where it is, and --out names another folder", run.display());
                return Err(Stop::user(message)
                    .hint("leave --out out; kept snapshots, RUN/snapshots/N.safetensors, resume in a new folder"));
            }
            if seen.insert(run.canonicalize().unwrap_or_else(|_| run.clone())) {
                runs.push(run);
            }
        }
    }
    Ok(runs)
}

/// Reads the segments of a run.
fn reader(source: &Source) -> impl Fn(&str, u64) -> quickstudy_core::Result<Vec<u8>> + use<> {
    let run = source.run().to_owned();
    move |name: &str, bytes: u64| segments::read(&run, name, bytes)
}

/// The sessions of these runs, stacked where their snapshots allow it: a killed stack may leave folders one snapshot
/// apart, and any folders may be named together. With `trials`, runs that differ in settings may be stacked, too.
fn restore(device: &Device, sources: Vec<Source>, trials: bool) -> Result<Vec<(Session, Vec<Source>)>, Stop> {
    let files = sources.iter().map(Source::read).collect::<Result<Vec<_>, _>>()?;
    let readers: Vec<_> = sources.iter().map(reader).collect();
    let all: Vec<Saved<'_>> = files.iter().zip(&readers).map(|(file, read)| Saved::in_parts(file, read)).collect();
    let mut sources: Vec<Option<Source>> = sources.into_iter().map(Some).collect();
    let mut take = |numbers: &[usize]| numbers.iter().filter_map(|number| sources[*number].take()).collect::<Vec<_>>();
    let mut sessions = Vec::new();
    let mut waiting: Vec<Vec<usize>> = Vec::new();
    if trials {
        for stack in trial_stacks(register::own(), &files.iter().map(Vec::as_slice).collect::<Vec<_>>()) {
            let saved: Vec<Saved<'_>> = stack.iter().map(|number| all[*number]).collect();
            match Session::restore_trials(device, register::own(), &saved) {
                Ok(session) => sessions.push((session, take(&stack))),
                Err(_) => waiting.push(stack),
            }
        }
    } else {
        waiting.push((0..files.len()).collect());
    }
    for numbers in waiting {
        let of_numbers: Vec<&[u8]> = numbers.iter().map(|number| &files[*number][..]).collect();
        for stack in stacks(register::own(), &of_numbers) {
            let stack: Vec<usize> = stack.iter().map(|place| numbers[*place]).collect();
            let saved: Vec<Saved<'_>> = stack.iter().map(|number| all[*number]).collect();
            if stack.len() > 1
                && let Ok(session) = Session::restore_saved(device, register::own(), &saved)
            {
                sessions.push((session, take(&stack)));
                continue;
            }
            // Together they may take too much memory; alone, an error names its file.
            for (number, saved) in stack.iter().zip(&saved) {
                let source = take(&[*number]);
                let session = Session::restore_saved(device, register::own(), &[*saved]).map_err(|error| {
                    let path = source.first().map(|source| source.snapshot().display().to_string());
                    Stop::from(error).about(path.unwrap_or_default())
                })?;
                sessions.push((session, source));
            }
        }
    }
    Ok(sessions)
}

/// Says from which environment step so many runs go on.
fn goes_on(session: &Session, runs: usize) -> String {
    let steps = steps_of(session, runs);
    match session.setup().iterations {
        Some(all) => format!("resuming from step {steps}, after iteration {} of {all}", session.iteration()),
        None => format!("resuming from step {steps} of {}", grouped(session.setup().steps)),
    }
}
