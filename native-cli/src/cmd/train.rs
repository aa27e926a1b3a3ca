//! `quickstudy train`: start or resume training runs.

use crate::activity::{self, Work};
use crate::args;
use crate::curve::short_count;
use crate::device::{DeviceArgs, time_of_training};
use crate::json;
use crate::json::train::TrainLine;
use crate::keep::Keep;
use crate::known;
use crate::memory;
use crate::outcome::{EXISTS, Stop};
use crate::output;
use crate::plan::{Plan, Request};
use crate::progress::{duration, grouped, say};
use crate::provenance;
use crate::python::PythonArgs;
use crate::ranks;
use crate::recover::RecordedSession;
use crate::run::{End, Pace, SeedRun, resume_command};
use crate::run_folder::{self, Begun, RunFolder, default_name, file, links};
use crate::run_settings::RunSettings;
use crate::signals;
use crate::study::arguments::Machine;
use crate::study::parts::pairs;
use crate::ticker::Ticker;
use crate::warm_start;
use clap::value_parser;
use quickstudy_core::Error;
use quickstudy_core::backend::Device;
use quickstudy_core::meta::TestSizes;
use quickstudy_core::train::{Evaluation, Session, Setup, preset};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use toml::Value;

const EXAMPLES: &str = "\
Settings, later ones winning: algorithm defaults < preset < --config < --set <
flags. --print-config shows each with the layer it came from.

Examples:
  quickstudy train ppo --env cartpole
  quickstudy train ppo --env cartpole --seed 0..10 --steps 100k
  quickstudy train ppo,a2c --env cartpole,acrobot --seed 0..10
      each algorithm on each environment; the same command goes on when it was
      stopped or killed
  quickstudy train ppo --env pendulum --set gamma=0.9 --set learning_rate=1e-3
  quickstudy train promp --env point-corner                    learns to adapt
  quickstudy train rl2-ppo --env bandit                        learns to explore
  quickstudy train ppo --env cartpole --from runs/cartpole-ppo-s0
      a new run that begins with the parameters of another one
  quickstudy train ppo --env cartpole --keep-snapshots 20k
      a snapshot stays for each 20,000 steps
  quickstudy train --config runs/cartpole-ppo-s0/config.toml
      the same run again
  quickstudy train --resume runs/cartpole-ppo-s0
      goes on where it stopped
  quickstudy train --resume runs/cartpole-ppo-s0/snapshots/20480.safetensors
      goes on from there in a new folder";

/// The settings of the algorithm among the arguments, otherwise of the first one, with their defaults, what they do and
/// their values; then the examples.
pub(crate) fn help(arguments: &[OsString]) -> String {
    let asked = known::algorithm_names().into_iter().find(|name| arguments.iter().any(|argument| argument == name));
    // The tables are built in; a test finds each key in the help.
    let table = super::list::settings(asked.unwrap_or(known::algorithm_names()[0])).unwrap_or_default().join("\n");
    let others: Vec<&str> = known::algorithm_names().into_iter().filter(|name| asked != Some(name)).collect();
    let others = others.join(", ");
    let of_others = match asked {
        Some(_) => format!("Other algorithms: {others}"),
        None => format!("Algorithms: {others}"),
    };
    let of_others = super::list::wrap(&of_others, 81).join("\n");
    format!("{table}\n\n{of_others}\nTheir settings: `quickstudy train promp --help`, for example\n\n{EXAMPLES}")
}

/// Arguments of `quickstudy train`.
#[derive(Debug, clap::Args)]
pub struct TrainArgs {
    /// Settings of the run.
    #[command(flatten)]
    pub run: RunSettings,
    /// TOML file of settings, such as the config.toml of another run
    #[arg(long, value_name = "FILE", display_order = RunSettings::behind("steps", 1))]
    pub config: Option<PathBuf>,
    /// One setting, repeatable: gamma=0.9
    #[arg(
        long = "set",
        value_name = "KEY=VALUE",
        value_parser = args::setting,
        display_order = RunSettings::behind("steps", 2)
    )]
    pub settings: Vec<(String, Value)>,
    /// Run folder; with several seeds, the folder of run folders.
    #[arg(
        long,
        value_name = "DIR",
        display_order = RunSettings::behind("steps", 3),
        help = "Run folder; with several seeds, the folder of run folders [default: runs/<env>-<algorithm>-s<seed>]"
    )]
    pub out: Option<PathBuf>,
    /// Continue the runs in these folders, or folders of runs, from their last snapshots; or go on from kept snapshots,
    /// RUN/snapshots/N.safetensors, each in a new folder, which --out names
    #[arg(long, value_name = "DIR", num_args = 1.., display_order = RunSettings::behind("steps", 4))]
    pub resume: Vec<PathBuf>,
    /// Where to compute
    #[command(flatten, next_display_order = RunSettings::behind("from", 1))]
    pub device: DeviceArgs,
    /// How environments of Python are run
    #[command(flatten, next_display_order = RunSettings::behind("from", 5))]
    pub python: PythonArgs,
    /// Seconds between snapshots, 0 for one after each iteration
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 5.0,
        allow_negative_numbers = true,
        display_order = RunSettings::behind("log_every", 1)
    )]
    pub save_every: f64,
    /// Stop at the first gradient that is not finite and name the operation where it began (slower)
    #[arg(long, display_order = RunSettings::behind("keep_snapshots", 1))]
    pub debug: bool,
    /// Trainings at once, of several algorithms or environments: each is a process with its share of threads and
    /// memory [default: one per thread of the CPU, 1 on a GPU]
    #[arg(
        long,
        value_name = "N",
        value_parser = value_parser!(u16).range(1..=1024),
        allow_negative_numbers = true,
        conflicts_with = "resume",
        display_order = RunSettings::behind("from", 4)
    )]
    pub jobs: Option<u16>,
    /// Stop and save after so many environment steps of each seed, as by Ctrl-C: the run goes on with --resume
    #[arg(
        long,
        value_name = "N",
        value_parser = args::count,
        allow_negative_numbers = true,
        display_order = RunSettings::behind("steps", 6)
    )]
    pub pause_at: Option<u64>,
    /// Write progress and results to standard output as JSON, an object on each line; lines for people go to standard
    /// error
    #[arg(long, display_order = RunSettings::behind("keep_snapshots", 3))]
    pub json: bool,
    /// Train resumed runs as rows of one program also where they differ in settings, if only numbers of it differ, such
    /// as gamma: what a sweep does
    #[arg(
        long,
        requires = "resume",
        conflicts_with_all = ["settings", "config"],
        display_order = RunSettings::behind("steps", 5)
    )]
    pub stack_trials: bool,
    /// Take a byte of standard input for a Ctrl-C, and its end too: for the program that started this one
    #[arg(long, hide = true)]
    pub follow_input: bool,
    /// Show the resolved settings and where each comes from, and train nothing
    #[arg(long, conflicts_with = "resume", display_order = RunSettings::behind("keep_snapshots", 2))]
    pub print_config: bool,
}

/// Runs the verb.
///
/// # Errors
/// [`Stop`] with the exit code.
pub fn run(args: &TrainArgs) -> Result<(), Stop> {
    if !(0.0..1e9).contains(&args.save_every) {
        return Err(Stop::user(format!("--save-every: {} is no number of seconds", args.save_every)));
    }
    args.python.set();
    if args.json {
        output::take_json();
        TrainLine::Train { version: json::VERSION, quickstudy: provenance::VERSION.to_owned() }.print();
    }
    // From here on Ctrl-C is a request, so that it never leaves half of the folders.
    if !args.print_config {
        signals::install();
    }
    if args.follow_input {
        signals::follow_input();
    }
    if !args.resume.is_empty() {
        return resume::resume(args);
    }
    let pairs = pairs(&args.request())?;
    // Several seeds are divided among ranks; a single one is trained by all of them together.
    let divided = ranks::count() > 1 && several_seeds(args)?;
    match pairs.len() > 1 || ((args.jobs.is_some() || divided) && !pairs.is_empty()) {
        true => many::train(args, &pairs),
        false => start(args),
    }
}

impl TrainArgs {
    fn pace(&self, run: &RunSettings, setup: &Setup) -> Pace {
        Pace {
            save_every: Duration::from_secs_f64(self.save_every),
            eval_every: run.eval_every(setup),
            evaluation: run.evaluation(setup),
            log_every: run.log_every(setup),
            keep: run.keep_snapshots(setup),
            pause_at: self.pause_at,
        }
    }

    /// Where and how to compute.
    pub(crate) fn machine(&self) -> Machine<'_> {
        let Self { device, python, save_every, debug, jobs, .. } = self;
        Machine { device, python, save_every: *save_every, debug: *debug, jobs: *jobs }
    }

    /// The request, in layers.
    pub(crate) fn request(&self) -> Request {
        Request { flags: self.run.clone(), config: self.config.clone(), settings: self.settings.clone() }
    }
}

/// Tells whether a command has several seeds.
fn several_seeds(args: &TrainArgs) -> Result<bool, Stop> {
    Ok(args.request().run()?.seed.is_some_and(|seeds| seeds.len() > 1))
}

mod many;
mod resume;

/// The environment steps that so many seeds have made: `5 120`, or `4 800 to 5 120`.
fn steps_of(session: &Session, seeds: usize) -> String {
    let made = || (0..seeds).map(|index| session.steps_made(index));
    let [least, most] = [made().min(), made().max()].map(|steps| grouped(steps.unwrap_or(0)));
    if least == most { least } else { format!("{least} to {most}") }
}

fn start(args: &TrainArgs) -> Result<(), Stop> {
    let mut plan = Plan::resolve(&args.request())?;
    if args.print_config {
        output::say_text(&plan.config_toml(plan.setup.seeds[0]));
        return Ok(());
    }
    run_folder::check_descriptors(plan.setup.seeds.len())?;
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
        Some(preset) => say(&format!("preset {}: {}", preset.name, super::list::origin(preset.text))),
        None => {
            say(&format!("no preset of {algorithm} is for {env}: what nobody sets has the defaults of {algorithm}"))
        }
    }
    plan.setup.note().iter().for_each(|note| say(&format!("note: {note}")));
    train(args, session, runs, pace)
}

/// Finds what cannot be evaluated before a folder is made or changed, and not after a tenth of the training.
fn prepare(session: &mut Session, pace: &Pace) -> Result<(), Stop> {
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
        Stop { message: format!("an evaluation of {} episodes: {}", pace.evaluation.episodes(), stop.message), ..stop }
            .hint(hint)
    })
}

/// The error, and if memory is short, settings that would do.
fn with_smaller(error: Error, device: &Device, setup: &Setup) -> Stop {
    let limit = match &error {
        Error::Memory(shortage) => shortage.limit,
        _ => None,
    };
    let smaller = limit.map(|limit| memory::smaller(device, setup, limit)).unwrap_or_default();
    let stop = Stop::from(error);
    match smaller.as_slice() {
        [] => stop,
        some => stop.hint(format!("one of these would do: {}; or allow more with --memory", some.join(", "))),
    }
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
            let all = run_folder::shell_quote(out);
            let hint = |stop: Stop| match stop.kind == EXISTS {
                true => {
                    stop.hint(format!("continue all with `quickstudy train --resume {all}`, or choose another --out"))
                }
                false => stop,
            };
            let folders: Vec<PathBuf> = seeds.iter().map(|seed| out.join(name(*seed))).collect();
            folders.iter().try_for_each(|folder| links::check_below(out, folder))?;
            folders.iter().filter(|folder| folder.is_dir()).try_for_each(|folder| run_folder::check_plain(folder))?;
            let add = |begun: Begun, folder: &PathBuf| begun.add(folder, RunFolder::create).map_err(hint);
            folders.iter().try_fold(Begun::default(), add)
        }
    };
    Ok(begun?.all())
}

fn headline(setup: &Setup, device: &str, folders: Vec<String>) {
    let line = TrainLine::Training {
        algorithm: setup.algorithm.name.to_owned(),
        environment: setup.env.spec().name.clone(),
        seeds: setup.seeds.clone(),
        steps: setup.steps,
        device: device.to_owned(),
        folders,
    };
    line.print();
    let seeds = match setup.seeds.as_slice() {
        [seed] => format!("seed {seed}"),
        [first, .., last] => format!("{} seeds ({first} to {last})", setup.seeds.len()),
        [] => String::new(),
    };
    say(&format!("{} · {} · {seeds} · {device}", setup.env.spec().name, setup.algorithm.name));
}

fn folders_of(runs: &[SeedRun]) -> Vec<String> {
    runs.iter().map(|run| run.folder.path().display().to_string()).collect()
}

fn title(setup: &Setup, seed: u64) -> String {
    format!("{} · {} · seed {seed}", setup.env.spec().name, setup.algorithm.name)
}

/// Writes `command.txt` and `version.json`.
fn record(folder: &RunFolder, args: &TrainArgs, device: &Device, env_steps: u64) -> Result<(), Stop> {
    // A command for people, also where another one of this program gave it.
    let of_parent = |argument: &OsString| args.follow_input && (argument == "--json" || argument == "--follow-input");
    let arguments: Vec<OsString> = std::env::args_os().filter(|argument| !of_parent(argument)).collect();
    folder.record_command(&arguments)?;
    provenance::record(folder, &device.caps().name, args.device.threads(), env_steps)
}

fn train(args: &TrainArgs, session: Session, runs: Vec<SeedRun>, pace: Pace) -> Result<(), Stop> {
    let all_made = |session: &Session| (0..runs.len()).map(|index| session.steps_made(index)).sum::<u64>();
    let (start, before) = (Instant::now(), all_made(&session));
    let mut recorded = RecordedSession { session, runs, debug: args.debug };
    let reopen = |again: bool| args.device.reopen(again);
    let end = recorded.train(pace, &signals::stop_asked, args.device.threads(), &reopen)?;
    let RecordedSession { session, runs, .. } = recorded;
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
        run.ended(seed, steps, session.is_done(index)).print();
        say(&format!("saved {}", run.folder.path().display()));
        if let Some(line) = run.ended_at(pace.evaluation) {
            say(&format!("  {line}"));
        }
    }
    if pace.keep == Keep::None {
        say("no snapshot is kept: the run can neither go on nor be evaluated");
    } else if end == End::Interrupted {
        say(&format!("stopped at {} steps; continue with", steps_of(&session, runs.len())));
        say(&format!("  {}", resume_command(&runs)));
    } else if let Some(first) = runs.first() {
        let path = run_folder::shell_quote(first.folder.path());
        say(&format!("next: {} eval {path}", known::program()));
    }
    Ok(())
}
