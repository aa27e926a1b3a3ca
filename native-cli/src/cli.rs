//! The command line: what can be typed, and where each verb goes.

use crate::settings::{parse, python, register};
use crate::studies::follow;
use crate::terminal::{output, signals};
use crate::text::program;
use crate::training::args;
use crate::{json, outcome, ranks, verbs};
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use quickstudy_core::algo::AlgorithmDef;
use quickstudy_core::host::EnvPlace;
use std::ffi::OsString;
use std::process::ExitCode;

/// Reinforcement learning from the command line.
#[derive(Debug, Parser)]
#[command(
    name = "quickstudy",
    bin_name = "quickstudy",
    max_term_width = 80,
    version = program::VERSION,
    about = "Reinforcement learning and meta-reinforcement learning from the command line",
    after_help = EXAMPLES,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    /// The verb, with its arguments.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  quickstudy list                               what can be trained, and on what
  quickstudy train ppo --env cartpole           files go to runs/cartpole-ppo-s0
  quickstudy train ppo --env cartpole --seed 0..10   ten seeds, a folder each
  quickstudy train ppo,a2c --env cartpole,acrobot --seed 0..5   a study
  quickstudy sweep sweep.toml                   settings beside each other
  quickstudy train --resume runs/cartpole-ppo-s0     continue where it stopped
  quickstudy eval runs/cartpole-ppo-s0 --gif out.gif evaluate and record
  quickstudy adapt runs/point-corner-promp-s0   before and after adapting
  quickstudy plot runs/*                        learning curves over seeds
  quickstudy compare runs/*                     which is better, and how sure
  quickstudy report runs/* -o report.html       all of it on one page, to send
  quickstudy watch runs/cartpole-ppo-s0         live curves, and its agent plays
  quickstudy export runs/pendulum-sac-s0 -o sac.safetensors  a run as one file

Exit codes: 0 done, or stopped by Ctrl-C after saving; 1 failure during work;
2 something to change in the command or its files; 3 a value became non-finite;
130 ended by a second Ctrl-C, or by one before training, without saving.";

/// The verbs.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Train an algorithm on an environment, or resume a run
    Train(Box<args::TrainArgs>),
    /// Try settings: grids, random draws, successive halving
    Sweep(Box<verbs::sweep::SweepArgs>),
    /// Evaluate a trained policy, and record it
    Eval(verbs::eval::EvalArgs),
    /// Adapt a meta-trained policy to held-out tasks: returns before and after
    Adapt(verbs::adapt::AdaptArgs),
    /// Draw learning curves of runs, mean and interval over seeds
    Plot(verbs::plot::PlotArgs),
    /// Compare algorithms and settings over seeds: statistics with intervals
    Compare(verbs::compare::CompareArgs),
    /// Write a page of runs: curves, statistics, settings, how to repeat them
    Report(verbs::report::ReportArgs),
    /// Show a run on a page of this machine, while it trains or after it
    Watch(verbs::watch::WatchArgs),
    /// Write a run as one file, or its policy as an ONNX model
    Export(verbs::export::ExportArgs),
    /// List algorithms, environments and presets
    List(verbs::list::ListArgs),
    /// Measure speed, and returns after training, on this machine
    Bench(verbs::bench::BenchArgs),
    /// List what there is to compute on: the CPU and GPUs
    Devices(verbs::devices::DevicesArgs),
    /// Show which Python runs environments of Gymnasium, and what it has
    Python(verbs::python::PythonVerbArgs),
    /// Write a script that lets a shell complete verbs, flags and names
    Completions(verbs::completions::CompletionsArgs),
    /// Write pages of the manual
    Man(verbs::man::ManArgs),
}

/// Suggests the right command where a name stands without its flag, as in `train ppo cartpole`, where a setting is
/// typed as a flag, or where a list is cut at a blank.
fn misplaced(error: &clap::Error, arguments: &[String]) -> Option<String> {
    use clap::error::{ContextKind, ContextValue, ErrorKind};
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    if name.ends_with(']') {
        return Some("write a list without blanks, such as --set hidden=[64,64], or in quotes".to_owned());
    }
    if let Some(flag) = name.strip_prefix("--") {
        let near_flag = error.get(ContextKind::SuggestedArg).is_some();
        let setting =
            as_setting(flag, arguments, near_flag).map(|setting| format!("give settings by `--set {setting}`"));
        return setting.or_else(|| renamed(flag, arguments));
    }
    let env = quickstudy_core::closest(name, register::environment_names())?;
    (!name.starts_with('-')).then(|| format!("name the environment with `--env {env}`"))
}

/// The setting `key=value` that was typed as a flag `--key value` of `train`; without a value, with its default. A key
/// may have a typing error unless that may be one of a flag.
fn as_setting(flag: &str, arguments: &[String], near_flag: bool) -> Option<String> {
    if arguments.get(1).is_none_or(|verb| verb != "train") {
        return None;
    }
    let typed = register::algorithms().find(|def| arguments.iter().any(|argument| argument == def.name));
    let of = |def: &'static AlgorithmDef| def.settings().map(move |doc| (def, doc));
    let all: Vec<_> = match typed {
        Some(def) => of(def).collect(),
        None => register::algorithms().flat_map(of).collect(),
    };
    let key = flag.split('=').next().unwrap_or(flag).replace('-', "_");
    let keys = || all.iter().map(|(_, doc)| doc.key);
    let near = quickstudy_core::alias(&key, keys())
        .or_else(|| quickstudy_core::closest(&key, keys().filter(|_| !near_flag && key.len() > 3)));
    let (def, doc) = all.iter().find(|(_, doc)| doc.key == key || near == Some(doc.key))?;
    let (joined, apart) = (format!("--{flag}="), format!("--{flag}"));
    let given = arguments.iter().enumerate().find_map(|(at, argument)| match argument.strip_prefix(&joined) {
        Some(value) => Some(value),
        None => (*argument == apart).then(|| arguments.get(at + 1)).flatten().map(String::as_str),
    });
    let given = given.filter(|value| !value.starts_with("--") && !value.is_empty()).map(str::to_owned);
    let value = given.or_else(|| (def.defaults)().get(doc.key).map(|value| value.to_string().replace('"', "")))?;
    let value = value.replace(' ', "");
    let brackets = parse::takes_lists(&doc.range) && !value.starts_with('[');
    Some(if brackets { format!("{}=[{value}]", doc.key) } else { format!("{}={value}", doc.key) })
}

/// The flag of the verb that other libraries call `flag`.
fn renamed(flag: &str, arguments: &[String]) -> Option<String> {
    let command = Cli::command();
    let verb = command.find_subcommand(arguments.get(1)?)?;
    let known = verb.get_arguments().filter_map(clap::Arg::get_long);
    let name = quickstudy_core::alias(flag.split('=').next()?, known)?;
    Some(format!("the flag is `--{name}`"))
}

/// The command line, with the names of this program. The help of `train` shows the settings of the algorithm that is
/// typed with it.
fn command(arguments: &[OsString]) -> clap::Command {
    let help = verbs::train::help(arguments);
    let examples = |command: clap::Command| match command.get_after_help().map(ToString::to_string) {
        Some(text) => command.after_help(program::by_name(text)),
        None => command,
    };
    let command = Cli::command().name(program::name()).bin_name(program::name()).version(program::version());
    let command = examples(command.mut_subcommand("train", |train| train.after_help(help)));
    command.mut_subcommands(examples)
}

/// Parses the command line.
fn parsed(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let mut command = command(arguments);
    let found = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&found).map_err(|error| error.format(&mut command))
}

/// The command line of a program of one's own: every verb works with these environments and algorithms,
/// beside the built-in ones. An environment is one of programs, `env.into()`, or one of the host,
/// [`EnvPlace::host`] or [`EnvPlace::of_envs`].
///
/// ```no_run
/// # use quickstudy_core::env::EnvDef;
/// # fn my_environment() -> quickstudy_core::Result<EnvDef> { quickstudy_core::env::builtin("cartpole") }
/// fn main() -> std::process::ExitCode {
///     let env = my_environment().expect("its spec works");
///     quickstudy::cli::main_with(vec![env.into()], vec![])
/// }
/// ```
#[must_use]
pub fn main_with(environments: Vec<EnvPlace>, algorithms: Vec<&'static AlgorithmDef>) -> ExitCode {
    match register::add(environments, algorithms) {
        Ok(()) => main(),
        Err(stop) => ExitCode::from(outcome::report(&stop)),
    }
}

/// Runs a verb that several ranks do together: rank 0 does it, and the others follow.
fn among_ranks(verb: Verb) -> Result<(), outcome::Stop> {
    use quickstudy_core::backend::Ranks as _;
    ranks::meet()?;
    let Some(team) = ranks::team() else { return Ok(()) };
    let done = match (&verb, team.rank()) {
        (Verb::Train(args), 0) => verbs::train::run(args),
        (Verb::Sweep(args), 0) => verbs::sweep::run(args),
        (Verb::Bench(args), _) => verbs::bench::run(args),
        (Verb::Train(args), rank) => {
            args.python.set();
            followed(&team, rank, Some(args))
        }
        (_, rank) => followed(&team, rank, None),
    };
    drop(team);
    ranks::part();
    done
}

/// Follows rank 0. What fails here ends all.
fn followed(team: &ranks::Team, rank: usize, args: Option<&args::TrainArgs>) -> Result<(), outcome::Stop> {
    signals::ignore();
    follow::follow(team, args).or_else(|stop| team.abort(outcome::report(&stop.about(format_args!("rank {rank}")))))
}

/// Parses the command line, runs the verb and returns the exit code.
#[must_use]
pub fn main() -> ExitCode {
    signals::hold_file_size();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let typed: Vec<String> = arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let cli = match parsed(&arguments) {
        Ok(cli) => cli,
        Err(mut error) => {
            let hint = misplaced(&error, &typed);
            if hint.is_some() {
                // Ways to pass flags as names, and flags of similar names, would lead elsewhere.
                error.remove(clap::error::ContextKind::Suggested);
                error.remove(clap::error::ContextKind::SuggestedArg);
            }
            // Help and version are no errors; clap prints to the right stream. A closed pipe is none of ours.
            let printed = error.print();
            if !error.use_stderr()
                && let Err(stop) = output::printed(printed)
            {
                return ExitCode::from(outcome::report(&stop));
            }
            if let Some(hint) = hint {
                outcome::tell(&format!("hint: {hint}"));
            }
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let result = match cli.verb {
        Verb::Train(_) | Verb::Sweep(_) if ranks::launch::ranks() > 1 => among_ranks(cli.verb),
        Verb::Bench(ref args) if args.part == Some(verbs::bench::BenchPart::Ranks) && ranks::launch::ranks() > 1 => {
            among_ranks(cli.verb)
        }
        Verb::Train(args) => verbs::train::run(&args),
        Verb::Sweep(args) => verbs::sweep::run(&args),
        Verb::Eval(args) => verbs::eval::run(&args),
        Verb::Adapt(args) => verbs::adapt::run(&args),
        Verb::Plot(args) => verbs::plot::run(&args),
        Verb::Compare(args) => verbs::compare::run(&args),
        Verb::Report(args) => verbs::report::run(&args),
        Verb::Watch(args) => verbs::watch::run(&args),
        Verb::Export(args) => verbs::export::run(&args),
        Verb::List(args) => verbs::list::run(&args),
        Verb::Bench(args) => verbs::bench::run(&args),
        Verb::Devices(args) => verbs::devices::run(&args),
        Verb::Python(args) => verbs::python::run(&args),
        Verb::Completions(args) => verbs::completions::run(&args, command(&[])),
        Verb::Man(args) => verbs::man::run(&args, command(&[])),
    };
    python::end();
    // An error of the command matters more than one of its output, which most likely is the same.
    match result.and_then(|()| output::check()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => {
            output::say_line(&json::error_line(&stop));
            ExitCode::from(outcome::report(&stop))
        }
    }
}
