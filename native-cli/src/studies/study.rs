//! Studies: several algorithms and environments in one `train`, each pair with the same seeds and settings.
//!
//! A pair's seeds are one job, stacked as rows of one program. What is there already is not made again: a study that
//! was stopped or killed goes on by its own command.

pub(crate) mod arguments;
pub(crate) mod parts;

use crate::files::lock::Lock;
use crate::folder::{self, default_name, links};
use crate::metrics::ENV_STEPS;
use crate::outcome::Stop;
use crate::ranks::message::{Job, JobEnd};
use crate::results::comparison::task::Task;
use crate::results::comparison::tasks::tasks;
use crate::results::experiments::{Experiment, Run};
use crate::results::score::phrase;
use crate::settings::request::{Plan, Request};
use crate::settings::values::{Kind as _, Seeds};
use crate::statistics::aggregate::Aggregate;
use crate::statistics::{NONE, interval_text};
use crate::studies::jobs::{self, Board};
use crate::studies::planned_run::{PlannedRun, RunStage};
use crate::terminal::output::{self, say};
use crate::text::numbers::plural;
use crate::text::quote::shell_quote;
use crate::text::{aligned, program};
use crate::training::args::TrainArgs;
use crate::{files, ranks};
use arguments::{Common, Machine};
use parts::Pair;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// An algorithm on an environment, with its runs.
#[derive(Debug)]
pub(crate) struct StudyPart {
    /// Algorithm, environment and settings.
    pub plan: Rc<Plan>,
    /// A run per seed.
    pub runs: Vec<PlannedRun>,
    /// How far each run has come.
    pub stages: Vec<RunStage>,
}

impl StudyPart {
    /// The pair as it was asked for, with its runs in folders below `out`.
    pub(crate) fn resolve(request: &Request, pair: &Pair, out: &Path) -> Result<Self, Stop> {
        let plan = Plan::resolve(&pair.request(request))
            .map_err(|stop| stop.about(format_args!("{} on {}", pair.algorithm, pair.env)))?;
        let plan = Rc::new(plan);
        let setup = &plan.setup;
        let folder = |seed: u64| out.join(default_name(&setup.env.spec().name, setup.algorithm.name, seed));
        let runs: Vec<PlannedRun> =
            setup.seeds.iter().map(|seed| PlannedRun::of(&plan, *seed, folder(*seed))).collect();
        Ok(Self { plan, stages: vec![RunStage::Missing; runs.len()], runs })
    }

    /// Finds out how far the runs have come.
    pub(crate) fn look(&mut self) -> Result<(), Stop> {
        self.stages = self.runs.iter().map(PlannedRun::stage).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// `cartpole · ppo`
    pub(crate) fn name(&self) -> String {
        format!("{} · {}", self.plan.setup.env.spec().name, self.plan.setup.algorithm.name)
    }

    /// The number of runs that have made all their steps.
    pub(crate) fn finished(&self) -> usize {
        self.stages.iter().filter(|stage| **stage == RunStage::Finished).count()
    }

    /// Jobs that make what is missing, for runs that go on and for runs that begin: each kind is divided into at most
    /// so many `pieces`.
    pub(crate) fn jobs(&self, pair: &Pair, out: &Path, common: &Common, pieces: usize) -> Vec<Job> {
        let of = |begun: bool| -> Vec<&PlannedRun> {
            let all = self.runs.iter().zip(&self.stages);
            let wanted = all.filter(|(_, stage)| match stage {
                RunStage::Finished => false,
                RunStage::Begun(_) => begun,
                RunStage::Missing => !begun,
            });
            wanted.map(|(run, _)| run).collect()
        };
        let (begun, missing) = (of(true), of(false));
        let job = |runs: &[&PlannedRun], arguments| Job {
            name: self.name(),
            algorithm: self.plan.setup.algorithm.name.to_owned(),
            environment: self.plan.setup.env.spec().name.clone(),
            runs: runs.len(),
            steps: self.plan.setup.steps,
            pauses: false,
            arguments,
        };
        let mut jobs = Vec::new();
        let chunk = |runs: &[&PlannedRun]| runs.len().div_ceil(pieces.max(1)).max(1);
        for begun in begun.chunks(chunk(&begun)) {
            let folders: Vec<&PathBuf> = begun.iter().map(|run| &run.folder).collect();
            jobs.push(job(begun, common.resume(&folders)));
        }
        for missing in missing.chunks(chunk(&missing)) {
            let Some(first) = missing.first() else { continue };
            let seeds: Vec<u64> = missing.iter().map(|run| run.seed).collect();
            // One seed's folder is named itself, several have theirs below.
            let place = if seeds.len() == 1 { &first.folder } else { out };
            jobs.push(job(missing, common.begin(pair, &seeds, place)));
        }
        jobs
    }
}

/// Checks that no two parts are of one algorithm on one environment, which may be written in several ways.
pub(crate) fn check_apart(parts: &[StudyPart]) -> Result<(), Stop> {
    for (number, part) in parts.iter().enumerate() {
        if parts[..number].iter().any(|other| other.name() == part.name()) {
            let message = format!("{} is there twice: two of the environments are the same one", part.name());
            return Err(
                Stop::user(message).hint("name each environment once; parameters may have these values by default")
            );
        }
    }
    Ok(())
}

/// Refuses links in the folders of these runs, and on the way there from the folder that was named; and checks that as
/// many folders can be open as a part has runs.
pub(crate) fn check_folders<'a>(parts: impl Iterator<Item = &'a StudyPart> + Clone, out: &Path) -> Result<(), Stop> {
    parts.clone().flat_map(|part| &part.runs).try_for_each(|run| {
        links::check_below(out, &run.folder)?;
        // A file in its place is told of by the training.
        if run.folder.is_dir() { folder::check_plain(&run.folder) } else { Ok(()) }
    })?;
    folder::check_descriptors(parts.map(|part| part.runs.len()).max().unwrap_or(0))
}

/// Takes the runs of these parts, so that an equal command does not make them meanwhile. Others may be at work in the
/// same folder, with other algorithms, environments or seeds.
pub(crate) fn take(parts: &[StudyPart], out: &Path) -> Result<Vec<Lock>, Stop> {
    let places = parts.iter().map(|part| {
        let setup = &part.plan.setup;
        let seeds = Seeds::write(&setup.seeds).to_string().replace(['"', ' '], "");
        let name = folder::seeds_name(&setup.env.spec().name, setup.algorithm.name, &seeds);
        // A list of many seeds, or an environment with many parameters, would be no name of a file.
        (out.join(format!(".study-{:016x}.lock", fnv(&name))), out.join(name))
    });
    let places: Vec<(PathBuf, PathBuf)> = places.collect();
    places.iter().try_for_each(|(path, _)| links::check_unnamed(path))?;
    files::make_folder(out)?;
    places.iter().map(|(path, place)| Lock::take(path, place)).collect()
}

/// The hash of a text by FNV-1a, the same in every version.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Waits for processes that still write in folders of these runs.
pub(crate) fn settle<'a>(parts: impl IntoIterator<Item = &'a StudyPart>) -> Result<(), Stop> {
    parts.into_iter().flat_map(|part| &part.runs).try_for_each(PlannedRun::wait)
}

/// Trains each pair with all seeds, and goes on with what is there.
pub(crate) fn train(args: &TrainArgs, pairs: &[Pair]) -> Result<(), Stop> {
    if args.run.from.is_some() && pairs.len() > 1 {
        let message = "--from: the parameters of one run fit one algorithm on one environment";
        return Err(Stop::user(message).hint("begin each pair with its own --from, in a command of its own"));
    }
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from("runs"));
    let request = args.request();
    let resolve = |pair: &Pair| StudyPart::resolve(&request, pair, &out);
    let mut parts = pairs.iter().map(resolve).collect::<Result<Vec<_>, _>>()?;
    check_apart(&parts)?;
    if args.print_config {
        for part in &parts {
            say(&format!("# {}", part.name()));
            output::say_text(&(part.plan.config_toml(part.plan.setup.seeds[0]) + "\n"));
        }
        return Ok(());
    }
    check_folders(parts.iter(), &out)?;
    // What is finished is shown, also where nothing can be written.
    let is_done = |part: &mut StudyPart| part.look().is_ok() && part.finished() == part.runs.len();
    let _locks = match parts.iter_mut().all(is_done) {
        true => Vec::new(),
        false => take(&parts, &out)?,
    };
    settle(&parts)?;
    parts.iter_mut().try_for_each(StudyPart::look)?;
    // However many jobs there will be, each gets its share of the machine.
    let missing = parts.iter().filter(|part| part.finished() < part.runs.len()).count();
    let at_once = Machine::of(args).at_once(missing);
    let common = Common::of(args, at_once);
    // Where there are more ranks than pairs, seeds are divided among them.
    let pieces = (at_once * ranks::count()).div_ceil(missing.max(1));
    let made = |(part, pair): (&StudyPart, &Pair)| part.jobs(pair, &out, &common, pieces);
    let jobs: Vec<Job> = parts.iter().zip(pairs).flat_map(made).collect();
    say(&headline(&parts, &jobs, (at_once * ranks::count()).min(jobs.len().max(1)), &out));
    let ends = jobs::run(&jobs, at_once, Machine::of(args).threads(), &mut Board::new(&jobs))?;
    parts.iter_mut().try_for_each(StudyPart::look)?;
    summary(&parts).iter().for_each(|line| say(line));
    jobs::check(&jobs, &ends, "the same command tries again what is missing")?;
    if ends.iter().any(|end| matches!(end, JobEnd::Stopped)) {
        say("stopped; the same command continues with what is missing");
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
    format!(
        "{} in {}{there}; {} to do, {at_once} at once",
        plural(runs, "run"),
        shell_quote(out),
        plural(jobs.len(), "training"),
    )
}

/// The lines of the table: for each part its runs, and the mean of their scores with a 95 % bootstrap interval. Scores
/// are those of `compare`: below the table is what they are on each environment.
pub(crate) fn summary(parts: &[StudyPart]) -> Vec<String> {
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
