//! `quickstudy adapt`: what a meta-trained policy does on tasks that it has not seen.

use crate::folder::{self, links};
use crate::json::adapt::{AdaptLine, Adapted};
use crate::json::{VERSION, finite};
use crate::machine::device::DeviceArgs;
use crate::metrics::{meta_test, number};
use crate::outcome::Stop;
use crate::pictures::adaptation::rollouts;
use crate::pictures::format::{Format, check_place};
use crate::results::adaptation::{self, controls};
use crate::results::policies::TrainedPolicy;
use crate::settings::parse;
use crate::settings::python::PythonArgs;
use crate::settings::run_settings::MetaTestArgs;
use crate::terminal::json_args::JsonArgs;
use crate::terminal::output::{self, say};
use crate::{files, statistics};
use quickstudy_core::Error;
use quickstudy_core::algo::Family;
use quickstudy_core::backend::Device;
use quickstudy_core::meta::TestSizes;
use quickstudy_core::train::MetaTest;
use std::path::{Path, PathBuf};

/// Arguments of `quickstudy adapt`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Tasks are drawn from the training distribution, on random numbers that training
never uses. Stages are gradient steps or, of policies that adapt by memory or by
inference, the episodes of a trial (of a single one, stretches of it). Where an
environment tells success, its share is shown. Where there are policies that
need no training, such as standing still or an index of bandits, what they earn
on the same tasks is printed too. Writes adapt.csv (one row per task, stage and
rollout), adapt.svg (returns by stage) and, where the agent moves in a plane or
runs along a line, paths.svg; with --steps also steps.csv (one row per step of
each task's first rollout in each stage).
The last line of the output is `before <x> after <y> tasks <n>`.

With --n-exploration-eps, --n-test-episodes or --n-test-tasks it is a meta-test
as garage's MetaEvaluator makes it: the policy explores each task, adapts, and
plays the episodes that are measured, by the names MetaTest/Average/... Writes
meta_test.csv (one row per task and episode); the last line is
`after <y> tasks <n>`.

Examples:
  quickstudy adapt runs/point-corner-promp-s0
  quickstudy adapt runs/point-corner-promp-s0 --tasks 200 --inner-steps 3
  quickstudy adapt runs/point-corner-promp-s0 --stochastic --out pictures
  quickstudy adapt runs/bandit-rl2-ppo-s0 --n-exploration-eps 10 \\
      --n-test-episodes 10 --n-test-tasks 5
  quickstudy adapt runs/point-corner-promp-s0 --json   an object on each line")]
pub(crate) struct AdaptArgs {
    /// Run folder, or a snapshot file
    #[arg(value_name = "DIR")]
    pub run: PathBuf,
    /// Held-out tasks
    #[arg(long, value_name = "N", default_value = "40", value_parser = parse::count, allow_negative_numbers = true)]
    pub tasks: u64,
    /// Rollouts per task and stage [default: as in training]
    #[arg(long, value_name = "N", value_parser = parse::count, allow_negative_numbers = true)]
    pub rollouts: Option<u64>,
    /// Gradient steps, of policies that adapt by these [default: as in training]
    #[arg(long, value_name = "N", value_parser = parse::count, allow_negative_numbers = true)]
    pub inner_steps: Option<u64>,
    /// Episodes of a trial, of policies that adapt by memory or inference [default: as in training]
    #[arg(long, value_name = "N", conflicts_with = "inner_steps", value_parser = parse::count,
          allow_negative_numbers = true)]
    pub episodes: Option<u64>,
    /// The sizes of a meta-test, which is then made instead
    #[command(flatten)]
    pub meta_test: MetaTestArgs,
    /// Seed of the tasks; the same one gives the same tasks
    #[arg(long, value_name = "SEED", default_value = "0", value_parser = parse::seed, allow_negative_numbers = true)]
    pub seed: u64,
    /// Measure sampled actions as training does, instead of the most probable ones; what adapts is always sampled
    #[arg(long)]
    pub stochastic: bool,
    /// The policy at the end of training
    #[arg(long, conflicts_with = "best")]
    pub last: bool,
    /// The policy with the best evaluation during training [default where there is one]
    #[arg(long)]
    pub best: bool,
    /// Folder for the table and the pictures [default: that of the run]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write steps.csv as well: states, actions and rewards of each task's first rollout, stage by stage
    #[arg(long)]
    pub steps: bool,
    /// Results as lines of JSON
    #[command(flatten)]
    pub json: JsonArgs,
    /// Format of the pictures
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Where to compute
    #[command(flatten)]
    pub device: DeviceArgs,
    /// How environments of Python are run
    #[command(flatten)]
    pub python: PythonArgs,
}

/// Runs the verb.
pub(crate) fn run(args: &AdaptArgs) -> Result<(), Stop> {
    args.python.set();
    args.json.reserve([])?;
    let path = folder::policy(&args.run, args.last, args.best)?;
    let device = args.device.open()?;
    let policy = TrainedPolicy::load(&device, &path, args.stochastic)?;
    match args.meta_test.sizes(args.tasks) {
        Some(sizes) => measure(args, policy, &device, sizes),
        None => adapt(args, &policy, &device),
    }
}

/// Adapts and measures, stage by stage.
fn adapt(args: &AdaptArgs, policy: &TrainedPolicy, device: &Device) -> Result<(), Stop> {
    const TABLES: [&str; 2] = ["adapt.csv", "steps.csv"];
    check_stages(args, policy)?;
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let test = MetaTest {
        tasks: count(args.tasks),
        rollouts: args.rollouts.map(count),
        inner_steps: args.inner_steps.map(count),
        episodes: args.episodes.map(count),
        seed: args.seed,
        deterministic: !policy.sampled,
    };
    let picture = |name: &str| format!("{name}.{}", args.format.extension());
    let tables = TABLES.map(str::to_owned).into_iter().take(1 + usize::from(args.steps));
    // Places are checked before the work and not after it.
    let folder = folder(args, adaptation::PICTURES.map(picture).into_iter().chain(tables))?;
    let adaptation = pollster::block_on(policy.evaluator.adapt(test)).map_err(by_flag)?;
    headline(policy, adaptation.tasks.len());
    args.json.write(&AdaptLine::Adaptation {
        version: VERSION,
        policy: adapted(args, policy, device, adaptation.tasks.len()),
        unit: adaptation::unit_name(adaptation.unit).to_owned(),
        rollouts: rollouts(&adaptation),
    })?;
    let env = policy.evaluator.env();
    write(args, &folder, TABLES[0], adaptation::table(&adaptation).as_bytes())?;
    if args.steps {
        write(args, &folder, TABLES[1], adaptation::steps(env, &adaptation).as_bytes())?;
    }
    for (name, sheet) in adaptation::pictures(&policy.name(), env, &adaptation) {
        write(args, &folder, &picture(name), &sheet.encode(args.format)?)?;
    }
    let controls = env.device().ok().map(|env| controls::beside(env, &adaptation, args.seed)).transpose()?;
    let lines = adaptation::lines(&adaptation, env.spec().classes.as_ref(), controls.unwrap_or_default());
    lines.iter().filter_map(adaptation::text).for_each(|line| say(&line));
    lines.iter().try_for_each(|line| args.json.write(line))
}

/// Refuses sizes of stages that other policies have.
fn check_stages(args: &AdaptArgs, policy: &TrainedPolicy) -> Result<(), Stop> {
    let (by, other, misplaced) = match policy.evaluator.family() {
        Family::Memory => ("its memory", "--episodes", args.inner_steps.map(|_| "inner-steps")),
        Family::Inference => ("inferring a belief", "--episodes", args.inner_steps.map(|_| "inner-steps")),
        _ => ("gradient steps", "--inner-steps", args.episodes.map(|_| "episodes")),
    };
    misplaced.map_or(Ok(()), |flag| {
        let message = format!("--{flag}: a policy of {} adapts by {by}", policy.evaluator.algorithm());
        Err(Stop::user(message).hint(format!("use {other}")))
    })
}

/// Explores, adapts and measures, in a meta-test's own sizes.
fn measure(args: &AdaptArgs, mut policy: TrainedPolicy, device: &Device, sizes: TestSizes) -> Result<(), Stop> {
    const FILE: &str = "meta_test.csv";
    let stages = [("rollouts", args.rollouts), ("inner-steps", args.inner_steps), ("episodes", args.episodes)];
    let misplaced = stages.into_iter().find(|(_, value)| value.is_some()).map(|(flag, _)| flag);
    if let Some(flag) = misplaced.or(args.steps.then_some("steps")) {
        let message = format!("--{flag} is of stages of adaptation, which a meta-test does not show");
        let hint = "leave it out, or --n-exploration-eps, --n-test-episodes and --n-test-tasks";
        return Err(Stop::user(message).hint(hint));
    }
    let folder = folder(args, [FILE.to_owned()])?;
    let played = policy.evaluator.evaluate(sizes, args.seed, !policy.sampled);
    let episodes = pollster::block_on(played).map_err(by_flag)?;
    let TestSizes { n_exploration_eps, n_test_episodes, n_test_tasks } = sizes;
    headline(&policy, n_test_tasks);
    say(&format!(
        "{n_exploration_eps} episodes of exploration + {n_test_episodes} that are measured × {n_test_tasks} tasks"
    ));
    args.json.write(&AdaptLine::MetaTest {
        version: VERSION,
        policy: adapted(args, &policy, device, n_test_tasks),
        exploration_episodes: n_exploration_eps,
        test_episodes: n_test_episodes,
    })?;
    write(args, &folder, FILE, meta_test::table(&episodes, sizes).as_bytes())?;
    let classes = policy.evaluator.env().spec().classes.as_ref();
    for (name, value) in meta_test::measures(&episodes, classes) {
        say(&format!("{name:<42}{:>12}", number(value)));
        args.json.write(&AdaptLine::Measure { name, value: finite(value) })?;
    }
    let mean = statistics::mean(&episodes.iter().map(|episode| episode.ret).collect::<Vec<_>>());
    say(&format!("after {mean:.4} tasks {n_test_tasks}"));
    args.json.write(&AdaptLine::Result { before: None, after: finite(mean), tasks: n_test_tasks })
}

/// The folder for what is written, once it is checked that files of these names can be.
fn folder(args: &AdaptArgs, names: impl IntoIterator<Item = String>) -> Result<PathBuf, Stop> {
    let own = || if args.run.is_dir() { Some(&*args.run) } else { args.run.parent() };
    let folder = args.out.as_deref().or_else(own).unwrap_or(Path::new(""));
    files::expect_no_file(folder)?;
    if folder.exists() {
        names
            .into_iter()
            .map(|name| folder.join(name))
            .try_for_each(|path| links::check_unnamed(&path).and_then(|()| check_place(&path)))?;
    }
    Ok(folder.to_owned())
}

/// Writes a file into that folder, which is made if it is not there.
fn write(args: &AdaptArgs, folder: &Path, name: &str, bytes: &[u8]) -> Result<(), Stop> {
    std::fs::create_dir_all(folder).map_err(|error| files::cannot("create", folder, &error))?;
    let path = folder.join(name);
    output::write_own(&path, bytes)?;
    args.json.say_written(&path, "")
}

/// The policy and its tasks, in lines of JSON.
fn adapted(args: &AdaptArgs, policy: &TrainedPolicy, device: &Device, tasks: usize) -> Adapted {
    let device = args.device.describe(device);
    Adapted { policy: policy.line(), sampled: policy.sampled, tasks, task_seed: args.seed, device }
}

fn headline(policy: &TrainedPolicy, tasks: usize) {
    let (name, training, actions) = (policy.name(), policy.training(), policy.actions());
    say(&format!("{name} · {training} · {tasks} held-out tasks · {actions} · {}", policy.path.display()));
}

/// An error about a number names the flag that it was given by.
fn by_flag(error: Error) -> Stop {
    const FLAGS: [&str; 4] = ["tasks", "rollouts", "inner_steps", "episodes"];
    match &error {
        Error::Config { key, problem, .. }
            if FLAGS.contains(&key.as_str()) || TestSizes::KEYS.contains(&key.as_str()) =>
        {
            Stop::user(format!("--{}: {problem}", key.replace('_', "-")))
        }
        _ => error.into(),
    }
}
