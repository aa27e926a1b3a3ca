//! `quickstudy train`: start or resume training runs.

use crate::json::train::TrainLine;
use crate::outcome::Stop;
use crate::settings::{catalogue, register};
use crate::studies::study;
use crate::studies::study::parts::pairs;
use crate::terminal::output;
use crate::terminal::signals;
use crate::text::{program, wrap};
use crate::training::args::TrainArgs;
use crate::training::{resume, start};
use crate::{json, ranks};
use std::ffi::OsString;

const EXAMPLES: &str = "\
Settings, later ones winning: algorithm defaults < preset < --config < --set <
flags. --print-config shows each with the layer it came from.

Examples:
  quickstudy train ppo --env cartpole
  quickstudy train ppo --env cartpole --seed 0..10 --steps 100k
  quickstudy train ppo,a2c --env cartpole,acrobot --seed 0..10
      each algorithm on each environment; the same command continues when it
      was stopped or killed
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
      resumes where it stopped
  quickstudy train --resume runs/cartpole-ppo-s0/snapshots/20480.safetensors
      resumes from there in a new folder";

/// The settings of the algorithm among the arguments, otherwise of the first one, with their defaults, what they do and
/// their values; then the examples.
pub(crate) fn help(arguments: &[OsString]) -> String {
    let asked = register::algorithms().find(|def| arguments.iter().any(|argument| argument == def.name));
    let table = asked.or(register::algorithms().next()).map(catalogue::settings).unwrap_or_default().join("\n");
    let is_other = |name: &&str| asked.is_none_or(|def| def.name != *name);
    let others = register::algorithm_names().into_iter().filter(is_other).collect::<Vec<_>>().join(", ");
    let of_others = match asked {
        Some(_) => format!("Other algorithms: {others}"),
        None => format!("Algorithms: {others}"),
    };
    let of_others = wrap(&of_others, 81, "").join("\n");
    format!("{table}\n\n{of_others}\nTheir settings: `quickstudy train promp --help`, for example\n\n{EXAMPLES}")
}

/// Runs the verb.
pub(crate) fn run(args: &TrainArgs) -> Result<(), Stop> {
    if !(0.0..1e9).contains(&args.save_every) {
        return Err(Stop::user(format!("--save-every: {} is no number of seconds", args.save_every)));
    }
    args.python.set();
    if args.json {
        output::take_json();
        output::say_line(&TrainLine::Train { version: json::VERSION, quickstudy: program::VERSION.to_owned() });
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
        true => study::train(args, &pairs),
        false => start::start(args),
    }
}

/// Tells whether a command has several seeds.
fn several_seeds(args: &TrainArgs) -> Result<bool, Stop> {
    Ok(args.request().run()?.seed.is_some_and(|seeds| seeds.len() > 1))
}
