//! A training from its first step on.

use crate::folder::{self, Begun, RunFolder, default_name, file, links, provenance};
use crate::json::train::TrainLine;
use crate::machine::device::time_of_training;
use crate::outcome::{EXISTS, Stop};
use crate::settings::keep_snapshots::Keep;
use crate::settings::request::Plan;
use crate::terminal::activity::{self, Work};
use crate::terminal::output::{self, say};
use crate::terminal::signals;
use crate::terminal::ticker::Ticker;
use crate::text::numbers::{duration, grouped, short_count};
use crate::text::{program, quote};
use crate::training::args::TrainArgs;
use crate::training::recover::RecordedSession;
use crate::training::run::{End, Pace, SeedRun, resume_command};
use crate::training::smaller::with_smaller;
use crate::training::warm_start;
use quickstudy_core::Error;
use quickstudy_core::algo::Family;
use quickstudy_core::backend::Device;
use quickstudy_core::meta::TestSizes;
use quickstudy_core::train::{Evaluation, Session, Setup, preset};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Trains a new run of each seed, stacked.
pub(crate) fn start(args: &TrainArgs) -> Result<(), Stop> {
    let mut plan = Plan::resolve(&args.request())?;
    if args.print_config {
        output::say_text(&plan.config_toml(plan.setup.seeds[0]));
        return Ok(());
    }
    folder::check_descriptors(plan.setup.seeds.len())?;
    activity::begin(Work::SettingUp);
    let ticker = Ticker::new(None);
    let (device, why) = args.device.open_for(&mut |device| time_of_training(device, &plan.setup))?;
    activity::watch(device.interrupt());
    let mut session = Session::new(&device, &plan.setup).map_err(|error| with_smaller(error, &device, &plan.setup))?;
    let from = plan.run.from.clone().unwrap_or_default();
    plan.set_sources(warm_start::begin_with(&mut session, &from)?);
    session.set_debug(args.debug);
    let pace = args.pace(&plan.run, &plan.setup);
    prepare(&mut session, &pace)?;
    drop(ticker);
    activity::begin(Work::Saving);
    let folders = open_folders(args, &plan.setup)?;
    // All configurations are there before the first snapshot: after a kill, a resume can begin anew what has none yet.
    folders.iter().try_for_each(|folder| record(folder, args, &device, 0))?;
    let configs: Vec<String> = plan.setup.seeds.iter().map(|seed| plan.config_toml(*seed)).collect();
    let mut each = folders.iter().zip(&configs);
    each.try_for_each(|(folder, config)| folder.write_unsynced(file::CONFIG, config.as_bytes()))?;
    let each = plan.setup.seeds.iter().zip(folders).zip(&configs);
    let create = |((seed, folder), config): ((&u64, RunFolder), &String)| {
        SeedRun::create(folder, title(&plan.setup, *seed), config)
    };
    let runs = each.map(create).collect::<Result<Vec<_>, _>>()?;
    headline(&plan.setup, &args.device.describe(&device), folders_of(&runs));
    why.iter().for_each(|why| say(why));
    from.iter().for_each(|path| say(&format!("begins with the parameters of {}", path.display())));
    let (algorithm, env) = (plan.setup.algorithm.name, &plan.setup.env.spec().name);
    match preset(algorithm, env)?.filter(|preset| plan.setup.preset.as_ref() == Some(&preset.name)) {
        Some(preset) => say(&format!("preset {}: {}", preset.name, preset.origin)),
        None => {
            say(&format!("no preset of {algorithm} is for {env}: what nobody sets has the defaults of {algorithm}"))
        }
    }
    plan.setup.note().iter().for_each(|note| say(&format!("note: {note}")));
    train(args, session, runs, pace)
}

/// Finds what cannot be evaluated before a folder is made or changed, and not after a tenth of the training.
pub(crate) fn prepare(session: &mut Session, pace: &Pace) -> Result<(), Stop> {
    if pace.eval_every == 0 {
        return Ok(());
    }
    session.prepare_evaluation(pace.evaluation).map_err(|error| {
        // A size that cannot be says itself what fits.
        let named = matches!(&error, Error::Config { key, .. } if TestSizes::KEYS.contains(&key.as_str()));
        let stop = Stop::from(error);
        if named {
            return stop;
        }
        let flags = match pace.evaluation {
            Evaluation::Episodes(_) => "--eval-episodes",
            Evaluation::MetaTest(_) => "--n-exploration-eps, --n-test-episodes or --n-test-tasks",
        };
        let own = format!("lower {flags}, or train with --eval-every 0 and evaluate later");
        let hint = if stop.hint.is_empty() { own } else { format!("{own}; {}", stop.hint) };
        stop.about(format_args!("an evaluation of {} episodes", pace.evaluation.episodes())).hint(hint)
    })
}

/// One folder per seed: `--out` itself for one seed, folders below it for several, numbered names below `runs` without.
fn open_folders(args: &TrainArgs, setup: &Setup) -> Result<Vec<RunFolder>, Stop> {
    let name = |seed: u64| default_name(&setup.env.spec().name, setup.algorithm.name, seed);
    let begun = match (&args.out, setup.seeds.as_slice()) {
        (None, seeds) => seeds.iter().try_fold(Begun::default(), |begun, seed| {
            begun.add(Path::new("runs"), |runs| RunFolder::create_numbered(runs, &name(*seed)))
        }),
        (Some(out), [_]) => Begun::default().add(out, RunFolder::create),
        (Some(out), seeds) => {
            let all = quote::shell_quote(out);
            let hint = |stop: Stop| match stop.kind == EXISTS {
                true => {
                    stop.hint(format!("continue all with `quickstudy train --resume {all}`, or choose another --out"))
                }
                false => stop,
            };
            let folders: Vec<PathBuf> = seeds.iter().map(|seed| out.join(name(*seed))).collect();
            folders.iter().try_for_each(|folder| links::check_below(out, folder))?;
            folders.iter().filter(|folder| folder.is_dir()).try_for_each(|folder| folder::check_plain(folder))?;
            let add = |begun: Begun, folder: &PathBuf| begun.add(folder, RunFolder::create).map_err(hint);
            folders.iter().try_fold(Begun::default(), add)
        }
    };
    Ok(begun?.all())
}

/// Says what is trained, and where.
pub(crate) fn headline(setup: &Setup, device: &str, folders: Vec<String>) {
    let line = TrainLine::Training {
        algorithm: setup.algorithm.name.to_owned(),
        environment: setup.env.spec().name.clone(),
        seeds: setup.seeds.clone(),
        steps: setup.steps,
        device: device.to_owned(),
        folders,
    };
    output::say_line(&line);
    let seeds = match setup.seeds.as_slice() {
        [seed] => format!("seed {seed}"),
        [first, .., last] => format!("{} seeds ({first} to {last})", setup.seeds.len()),
        [] => String::new(),
    };
    say(&format!("{} · {} · {seeds} · {device}", setup.env.spec().name, setup.algorithm.name));
}

/// The run folders, as they are shown.
pub(crate) fn folders_of(runs: &[SeedRun]) -> Vec<String> {
    runs.iter().map(|run| run.folder.path().display().to_string()).collect()
}

/// The heading of a run's learning curve.
pub(crate) fn title(setup: &Setup, seed: u64) -> String {
    format!("{} · {} · seed {seed}", setup.env.spec().name, setup.algorithm.name)
}

/// Writes `command.txt` and `version.json`.
pub(crate) fn record(folder: &RunFolder, args: &TrainArgs, device: &Device, env_steps: u64) -> Result<(), Stop> {
    // A command for people, also where another one of this program gave it.
    let of_parent = |argument: &OsString| args.follow_input && (argument == "--json" || argument == "--follow-input");
    let arguments: Vec<OsString> = std::env::args_os().filter(|argument| !of_parent(argument)).collect();
    folder.record_command(&arguments)?;
    provenance::record(folder, &device.caps().name, args.device.threads(), env_steps)
}

/// Trains until all steps are made or a stop is asked for, and says how the runs ended.
pub(crate) fn train(args: &TrainArgs, session: Session, runs: Vec<SeedRun>, pace: Pace) -> Result<(), Stop> {
    let all_made = |session: &Session| (0..runs.len()).map(|index| session.steps_made(index)).sum::<u64>();
    let (start, before) = (Instant::now(), all_made(&session));
    let recorded = RecordedSession { session, runs, debug: args.debug };
    let reopen = |how| args.device.reopen(how);
    let (end, trained) = recorded.train(pace, &signals::stop_asked, args.device.threads(), &reopen)?;
    let RecordedSession { session, runs, .. } = trained;
    let seconds = start.elapsed().as_secs_f64();
    let made = (0..runs.len()).map(|index| session.steps_made(index)).sum::<u64>() - before;
    say(&format!(
        "{} environment steps in {} ({} steps/s)",
        grouped(made),
        duration(seconds),
        short_count((made as f64 / seconds.max(1e-9)).round()),
    ));
    for (index, run) in runs.iter().enumerate() {
        let (seed, steps) = (session.setup().seeds[index], session.steps_made(index));
        output::say_line(&run.ended(seed, steps, session.is_done(index)));
        say(&format!("saved {}", run.folder.path().display()));
        if let Some(line) = run.ended_at(pace.evaluation) {
            say(&format!("  {line}"));
        }
    }
    if pace.keep == Keep::None {
        say("no snapshot is kept: the run can be neither resumed nor evaluated");
    } else if end == End::Interrupted {
        say(&format!("stopped at {} steps; continue with", steps_of(&session, runs.len())));
        say(&format!("  {}", resume_command(&runs)));
    } else if let Some(first) = runs.first() {
        let path = quote::shell_quote(first.folder.path());
        // Without adaptation, a policy that adapts is measured at what it begins with.
        let verb = if session.setup().algorithm.family == Family::SingleTask { "eval" } else { "adapt" };
        say(&format!("next: {} {verb} {path}", program::name()));
    }
    Ok(())
}

/// The environment steps that so many seeds have made: `5 120`, or `4 800 to 5 120`.
pub(crate) fn steps_of(session: &Session, seeds: usize) -> String {
    let made = || (0..seeds).map(|index| session.steps_made(index));
    let [least, most] = [made().min(), made().max()].map(|steps| grouped(steps.unwrap_or(0)));
    if least == most { least } else { format!("{least} to {most}") }
}
