//! `quickstudy sweep`: trainings that differ in settings.

use crate::files::lock::Lock;
use crate::files::make_folder;
use crate::files::reading::read_text;
use crate::folder::links;
use crate::json;
use crate::json::sweep::SweepLine;
use crate::machine::device::DeviceArgs;
use crate::metrics::{EPISODE_RETURN, EVAL_RETURN};
use crate::outcome::Stop;
use crate::results::experiments::show;
use crate::results::score::phrase;
use crate::settings::python::PythonArgs;
use crate::settings::request::Request;
use crate::settings::values::{Kind as _, Seeds};
use crate::settings::{parse, register};
use crate::statistics::{NONE, interval_text};
use crate::studies::study::arguments::Machine;
use crate::studies::study::parts::pairs;
use crate::studies::study::{StudyPart, check_descriptors, check_links, settle};
use crate::studies::sweep::file::SweepFile;
use crate::studies::sweep::halving::ranked;
use crate::studies::sweep::score::{Score, Scorer};
use crate::studies::sweep::trial::{Trial, shown, trials};
use crate::studies::sweep::{SweepEnd, coordinates, run as run_trials};
use crate::terminal::activity::{self, Work};
use crate::terminal::output::{self, say};
use crate::terminal::signals;
use crate::terminal::ticker::Ticker;
use crate::text::columns::aligned;
use crate::text::numbers::grouped;
use crate::text::program;
use crate::text::quote::shell_quote;
use clap::value_parser;
use std::path::{Path, PathBuf};
use toml::Value;

/// Arguments of `quickstudy sweep`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A file holds the settings of all trials, as a configuration does, and tables of
those that are tried:
  algorithm = \"ppo\"
  env = \"cartpole\"
  seed = \"0..3\"
  [grid]                       each value with each other one
  learning_rate = [1e-4, 3e-4, 1e-3]
  [random]                     so many draws, from ranges or lists
  trials = 24
  gamma = { low = 0.9, high = 0.999 }
  entropy_coef = { low = 1e-4, high = 1e-1, scale = \"log\" }
  [halving]                    the best third goes on with three times the steps
  eta = 3
  first_steps = \"10k\"

A trial's runs lie in a folder of its own, such as t07. Beside them are
trials.csv, sweep.svg (parallel coordinates) and sweep.toml. The same command
goes on when it was stopped or killed. Trials that differ in numbers alone, such
as gamma or a learning rate, are rows of one program.

Examples:
  quickstudy sweep sweep.toml
  quickstudy sweep --algorithm ppo --env cartpole --set gamma=0.9,0.98,0.99
  quickstudy sweep sweep.toml --set epochs=10 --steps 50k --jobs 4
  quickstudy sweep sweep.toml --list            the trials, training nothing
  quickstudy compare runs/sweep --by gamma      over all that was trained")]
pub(crate) struct SweepArgs {
    /// TOML file of the sweep
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Algorithm
    #[arg(long, value_name = "NAME")]
    pub algorithm: Option<String>,
    /// Environment
    #[arg(long, value_name = "NAME")]
    pub env: Option<String>,
    /// Seeds of each trial: 3, 0..10, 1,5,7
    #[arg(long, value_parser = parse::seeds, allow_negative_numbers = true)]
    pub seed: Option<std::vec::Vec<u64>>,
    /// Environment steps of each seed
    #[arg(long, value_name = "N", value_parser = parse::count, allow_negative_numbers = true)]
    pub steps: Option<u64>,
    /// Iterations of each seed, in place of --steps
    #[arg(
        long,
        value_name = "N",
        value_parser = parse::count,
        allow_negative_numbers = true,
        conflicts_with = "steps"
    )]
    pub iterations: Option<u64>,
    /// A setting of all trials, gamma=0.9, or the values of one that is tried, gamma=0.9,0.98,0.99; repeatable
    #[arg(long = "set", value_name = "KEY=VALUES")]
    pub settings: Vec<String>,
    /// Column of metrics.csv whose value at the budget is a trial's score [default: eval/return_mean, or
    /// rollout/ep_return_mean without evaluations]
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// Folder of the trials [default: runs and the name of the file, or runs/sweep]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Trainings at once: each is a process with its share of threads and memory [default: one per thread of the CPU,
    /// 1 on a GPU]
    #[arg(long, value_name = "N", value_parser = value_parser!(u16).range(1..=1024), allow_negative_numbers = true)]
    pub jobs: Option<u16>,
    /// Train each trial in a process of its own, also those that could be rows of one program
    #[arg(long)]
    pub apart: bool,
    /// Where to compute
    #[command(flatten)]
    pub device: DeviceArgs,
    /// How environments of Python are run
    #[command(flatten)]
    pub python: PythonArgs,
    /// Seconds between snapshots
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0, allow_negative_numbers = true)]
    pub save_every: f64,
    /// Show the trials, and train nothing
    #[arg(long)]
    pub list: bool,
    /// Write results to standard output as JSON, an object on each line; lines for people go to standard error
    #[arg(long)]
    pub json: bool,
}

/// The file that is locked by the process of a sweep.
const LOCK: &str = "sweep.lock";
/// The files of a sweep beside its trials.
const FILES: [&str; 4] = ["sweep.toml", "trials.csv", "sweep.svg", LOCK];

/// Runs the verb.
pub(crate) fn run(args: &SweepArgs) -> Result<(), Stop> {
    if !(0.0..1e9).contains(&args.save_every) {
        return Err(Stop::user(format!("--save-every: {} is no number of seconds", args.save_every)));
    }
    args.python.set();
    if args.json {
        output::take_json();
    }
    let (file, text) = read(args)?;
    let request = Request {
        settings: file.fixed.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        ..Request::default()
    };
    let pair = match pairs(&request)?.as_slice() {
        [pair] => pair.clone(),
        [] => {
            let message = "a sweep needs an algorithm and an environment";
            return Err(Stop::user(message).hint("name them in the file, or by --algorithm and --env"));
        }
        _ => {
            let message = "a sweep has one algorithm and one environment";
            return Err(Stop::user(message).hint("make a sweep for each of them"));
        }
    };
    let out = args.out.clone().unwrap_or_else(|| default_out(args.file.as_deref()));
    activity::begin(Work::SettingUp);
    let ticker = Ticker::new(None);
    let mut trials = trials(&file, &pair, &out)?;
    drop(ticker);
    let scorer = scorer(args, &file, &trials)?;
    output::say_line(&first_line(&trials, &out, &scorer));
    if args.list {
        list(&trials);
        return Ok(());
    }
    signals::install();
    check_rungs(&file, &trials)?;
    FILES.iter().try_for_each(|name| links::check_unnamed(&out.join(name)))?;
    check_links(trials.iter().map(|trial| &trial.part), &out)?;
    check_descriptors(trials.iter().map(|trial| &trial.part))?;
    make_folder(&out)?;
    let _lock = Lock::take(&out.join(LOCK), &out)?;
    settle(trials.iter().map(|trial| &trial.part))?;
    trials.iter_mut().try_for_each(|trial| trial.part.look())?;
    say(&headline(&trials, &out));
    if let Some(text) = text {
        output::write_own(&out.join("sweep.toml"), text.as_bytes())?;
    }
    let SweepArgs { device, python, save_every, jobs, .. } = args;
    let machine = Machine { device, python, save_every: *save_every, debug: false, jobs: *jobs };
    let (end, scores) = run_trials(&file, &mut trials, &scorer, machine, args.apart)?;
    let order = ranked(&(0..trials.len()).collect::<Vec<_>>(), &scores, file.goal);
    output::write_own(&out.join("trials.csv"), csv(&trials, &scores, &scorer).as_bytes())?;
    let title = format!("{} · {} trials", trials[0].part.name(), trials.len());
    let sheet = coordinates::draw(&title, &scorer.metric, &trials, &scores, file.goal);
    output::write_own(&out.join("sweep.svg"), sheet.svg().as_bytes())?;
    table(&trials, &scores, &order, &scorer).iter().for_each(|line| say(line));
    order.iter().for_each(|trial| output::say_line(&line(&trials[*trial], &scores[*trial])));
    let place = shell_quote(&out);
    match end {
        SweepEnd::Stopped => say("stopped; the same command goes on with what is missing"),
        SweepEnd::Done => say(&format!("next: {} compare {place}, and look at {place}/sweep.svg", program::name())),
    }
    Ok(())
}

/// Reads the file with the flags over it; gives its text, too.
fn read(args: &SweepArgs) -> Result<(SweepFile, Option<String>), Stop> {
    let (mut file, mut text) = (SweepFile::default(), None);
    if let Some(path) = &args.file {
        let bytes = read_text(path)?;
        let whole = String::from_utf8(bytes).map_err(|_| Stop::user(format!("{} is no text file", path.display())))?;
        file = SweepFile::parse(&whole).map_err(|problem| Stop::user(format!("{}: {problem}", path.display())))?;
        text = Some(whole);
    }
    if args.steps.is_some() || args.iterations.is_some() {
        ["steps", "iterations"].iter().for_each(|key| drop(file.fixed.remove(*key)));
    }
    let mut fixed = |key: &str, value: Option<Value>| value.map(|value| file.fixed.insert(key.to_owned(), value));
    fixed("algorithm", args.algorithm.clone().map(Value::String));
    fixed("env", args.env.clone().map(Value::String));
    fixed("seed", args.seed.as_ref().map(Seeds::write));
    for (key, count) in [("steps", args.steps), ("iterations", args.iterations)] {
        fixed(key, count.and_then(|count| i64::try_from(count).ok()).map(Value::Integer));
    }
    args.settings.iter().try_for_each(|setting| file.set(setting))?;
    if let (Some(halving), false) = (file.halving, file.fixed.contains_key("eval_every")) {
        // Each rung ends with an evaluation.
        let steps = i64::try_from(halving.first_steps).unwrap_or(i64::MAX);
        file.fixed.insert("eval_every".to_owned(), Value::Integer(steps));
    }
    Ok((file, text))
}

fn default_out(file: Option<&Path>) -> PathBuf {
    let stem = file.and_then(Path::file_stem).filter(|stem| !stem.is_empty());
    Path::new("runs").join(stem.unwrap_or("sweep".as_ref()))
}

fn scorer(args: &SweepArgs, file: &SweepFile, trials: &[Trial]) -> Result<Scorer, Stop> {
    let evaluated = trials.iter().all(|trial| {
        let plan = &trial.part.plan;
        plan.run.eval_every(&plan.setup) > 0
    });
    let default = if evaluated { EVAL_RETURN } else { EPISODE_RETURN };
    let asked = args.metric.clone().or(file.metric.clone());
    if let Some(metric) = &asked
        && !metric.contains('/')
    {
        let near = quickstudy_core::closest(metric, register::metrics().map(|(name, _)| name));
        let hint = near.map_or_else(|| format!("such as {EVAL_RETURN}"), |near| format!("did you mean `{near}`?"));
        return Err(Stop::user(format!("there is no metric `{metric}`")).hint(hint));
    }
    Ok(Scorer { metric: asked.unwrap_or_else(|| default.to_owned()) })
}

/// Checks that scores are there at the end of each rung.
fn check_rungs(file: &SweepFile, trials: &[Trial]) -> Result<(), Stop> {
    let Some(halving) = file.halving else { return Ok(()) };
    for trial in trials {
        let plan = &trial.part.plan;
        let every = plan.run.eval_every(&plan.setup);
        if every == 0 || halving.first_steps % every != 0 {
            let first = grouped(halving.first_steps);
            let message =
                format!("eval_every = {every}: a rung of [halving] ends after {first} steps with no evaluation");
            return Err(
                Stop::user(message).hint("let first_steps be a multiple of eval_every, or leave eval_every out")
            );
        }
    }
    Ok(())
}

fn headline(trials: &[Trial], out: &Path) -> String {
    let runs: usize = trials.iter().map(|trial| trial.part.runs.len()).sum();
    let done: usize = trials.iter().map(|trial| trial.part.finished()).sum();
    let there = if done > 0 { format!(", {done} of them finished") } else { String::new() };
    format!("{} trials with {runs} runs{there} in {}", trials.len(), shell_quote(out))
}

fn list(trials: &[Trial]) {
    for trial in trials {
        say(&format!("{}  {}", trial.name, shown(&trial.tried)));
        output::say_line(&line(trial, &Score::default()));
    }
}

fn first_line(trials: &[Trial], out: &Path, scorer: &Scorer) -> SweepLine {
    let setup = &trials[0].part.plan.setup;
    SweepLine::Sweep {
        version: json::VERSION,
        algorithm: setup.algorithm.name.to_owned(),
        environment: setup.env.spec().name.clone(),
        trials: trials.len(),
        folder: out.display().to_string(),
        metric: scorer.metric.clone(),
    }
}

fn line(trial: &Trial, score: &Score) -> SweepLine {
    let setting = |(key, value): &(String, Value)| Some((key.clone(), serde_json::to_value(value).ok()?));
    let [low, high] = json::ends(score.interval());
    SweepLine::Trial {
        trial: trial.name.clone(),
        settings: trial.tried.iter().filter_map(setting).collect(),
        score: score.value(),
        low,
        high,
        budget: (!score.at.values.is_empty()).then_some(score.at.budget),
        scores: score.at.values.clone(),
        steps: score.steps,
        failed: score.failed.clone(),
        folders: folders(&trial.part),
    }
}

fn folders(part: &StudyPart) -> Vec<String> {
    part.runs.iter().map(|run| run.folder.display().to_string()).collect()
}

/// Rows in order of the trials: settings, then scores.
fn csv(trials: &[Trial], scores: &[Score], scorer: &Scorer) -> String {
    let quoted = |text: String| match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    };
    let keys: Vec<&String> = trials[0].tried.iter().map(|(key, _)| key).collect();
    let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let head = keys.iter().map(|key| (*key).clone());
    let head = std::iter::once("trial".to_owned()).chain(head);
    let tail = ["steps".to_owned(), "seeds".to_owned(), scorer.metric.clone(), "low".to_owned(), "high".to_owned()];
    let mut rows = vec![head.chain(tail).chain(["failed".to_owned()]).collect::<Vec<_>>()];
    for (trial, score) in trials.iter().zip(scores) {
        let interval = score.interval();
        let mut row = vec![trial.name.clone()];
        row.extend(
            trial.tried.iter().map(|(_, value)| value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
        );
        row.extend([score.steps.to_string(), score.at.values.len().to_string(), number(score.value())]);
        row.extend([number(interval.map(|(low, _)| low)), number(interval.map(|(_, high)| high))]);
        row.push(score.failed.clone().unwrap_or_default());
        rows.push(row);
    }
    rows.into_iter().map(|row| row.into_iter().map(quoted).collect::<Vec<_>>().join(",") + "\n").collect()
}

/// Lines of the table, the best trial first.
fn table(trials: &[Trial], scores: &[Score], order: &[usize], scorer: &Scorer) -> Vec<String> {
    let keys: Vec<&String> = trials[0].tried.iter().map(|(key, _)| key).collect();
    let mut rows = vec![vec!["trial".to_owned()]];
    rows[0].extend(keys.iter().map(|key| (*key).clone()));
    rows[0].extend(["steps".to_owned(), scorer.metric.clone(), "95 % interval".to_owned()]);
    for number in order {
        let (trial, score) = (&trials[*number], &scores[*number]);
        let mut row = vec![trial.name.clone()];
        row.extend(trial.tried.iter().map(|(_, value)| show(value)));
        row.push(grouped(score.steps));
        match &score.failed {
            Some(message) => row.extend(["failed".to_owned(), message.clone()]),
            None => {
                row.push(score.value().map_or_else(|| NONE.to_owned(), |value| format!("{value:.2}")));
                row.push(interval_text(score.interval(), 2));
            }
        }
        rows.push(row);
    }
    let mut lines = aligned(&rows, |_| true);
    lines.extend(budgets(scores, scorer));
    lines
}

/// The scores in words; with rungs of several budgets one line for each.
fn budgets(scores: &[Score], scorer: &Scorer) -> Vec<String> {
    let mut all: Vec<f64> = scores.iter().filter(|one| one.value().is_some()).map(|one| one.at.budget).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    let several = all.len() > 1;
    let line = |budget: f64| {
        let count = scores.iter().filter(|one| one.value().is_some() && one.at.budget == budget).count();
        let of = if several { format!(" of {count} trials") } else { String::new() };
        format!("score{of}: {}", phrase(&scorer.metric, budget))
    };
    all.into_iter().map(line).collect()
}
