//! `quickstudy adapt`: what a meta-trained policy does on tasks that it has not seen.

use crate::files::{self, reading};
use crate::folder::{self, links};
use crate::json::adapt::{AdaptLine, Adapted, Returns};
use crate::json::{VERSION, finite};
use crate::machine::device::DeviceArgs;
use crate::metrics::{meta_test, number};
use crate::outcome::Stop;
use crate::pictures::adaptation;
use crate::pictures::format::{Format, check_place};
use crate::pictures::sheet::Sheet;
use crate::settings::meta_test::MetaTestArgs;
use crate::settings::python::PythonArgs;
use crate::settings::{parse, register};
use crate::statistics;
use crate::terminal::json_args::JsonArgs;
use crate::terminal::output::{self, say};
use crate::text::numbers::grouped;
use crate::verbs::adapt::controls::{controls, play};
use quickstudy_core::Error;
use quickstudy_core::algo::Family;
use quickstudy_core::backend::Device;
use quickstudy_core::env::EnvDef;
use quickstudy_core::host::EnvPlace;
use quickstudy_core::meta::TestSizes;
use quickstudy_core::train::{Adaptation, Evaluator, MetaTest};
use std::path::{Path, PathBuf};
use summary::{interval, results, summary, unit_name};

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
    let bytes = reading::read(&path)?;
    let device = args.device.open()?;
    let mut policy = Evaluator::load_with(&device, register::own(), &bytes).map_err(|error| {
        let stop = Stop::from(error);
        Stop { message: format!("{}: {}", path.display(), stop.message), ..stop }
    })?;
    if let Some(sizes) = args.meta_test.sizes(args.tasks) {
        return measure(args, &path, &mut policy, &device, sizes);
    }
    let count = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let (by, other, misplaced) = match policy.family() {
        Family::Memory => ("its memory", "--episodes", args.inner_steps.map(|_| "inner-steps")),
        Family::Inference => ("inferring a belief", "--episodes", args.inner_steps.map(|_| "inner-steps")),
        _ => ("gradient steps", "--inner-steps", args.episodes.map(|_| "episodes")),
    };
    if let Some(flag) = misplaced {
        let message = format!("--{flag}: a policy of {} adapts by {by}", policy.algorithm());
        return Err(Stop::user(message).hint(format!("use {other}")));
    }
    let test = MetaTest {
        tasks: count(args.tasks),
        rollouts: args.rollouts.map(count),
        inner_steps: args.inner_steps.map(count),
        episodes: args.episodes.map(count),
        seed: args.seed,
        deterministic: !args.stochastic && !policy.draws_only(),
    };
    // Places are checked before the work and not after it.
    let folder = folder(args);
    files::expect_no_file(&folder)?;
    if folder.exists() {
        let pictures = ["adapt", "paths"].map(|name| format!("{name}.{}", args.format.extension()));
        pictures
            .iter()
            .map(String::as_str)
            .chain(["adapt.csv"])
            .chain(args.steps.then_some("steps.csv"))
            .map(|name| folder.join(name))
            .try_for_each(|path| links::check_unnamed(&path).and_then(|()| check_place(&path)))?;
    }
    let adaptation = pollster::block_on(policy.adapt(test)).map_err(by_flag)?;

    // Of environments of the host nobody knows the states, and so nothing is drawn of them but returns.
    let (spec, env) = (policy.env().spec(), policy.env().device().ok());
    let title = title(&policy);
    headline(args, &path, &policy, adaptation.tasks.len());
    std::fs::create_dir_all(&folder).map_err(|error| files::cannot("create", &folder, &error))?;
    let rollouts = adaptation.stages[0].returns[0].len();
    args.json.write(&AdaptLine::Adaptation {
        version: VERSION,
        policy: adapted(args, &path, &policy, &device, adaptation.tasks.len()),
        unit: unit_name(adaptation.unit).to_owned(),
        rollouts,
    })?;
    let picture = |name: &str, sheet: &Sheet| -> Result<(String, Vec<u8>), Stop> {
        Ok((format!("{name}.{}", args.format.extension()), sheet.encode(args.format)?))
    };
    let mut files = vec![("adapt.csv".to_owned(), table(&adaptation).into_bytes())];
    if args.steps {
        files.push(("steps.csv".to_owned(), steps(policy.env(), &adaptation).into_bytes()));
    }
    files.push(picture("adapt", &adaptation::returns(&title, spec, &adaptation))?);
    let along = env.and_then(|env| adaptation::distances(&title, env.spec(), &adaptation));
    if let Some(sheet) = along.or_else(|| adaptation::paths(&title, env?, &adaptation)) {
        files.push(picture("paths", &sheet)?);
    }
    for (name, bytes) in &files {
        let path = folder.join(name);
        output::write_own(&path, bytes)?;
        output::say_written(&path, "");
        args.json.write_file(&path)?;
    }
    let classes = policy.env().spec().classes.as_ref();
    let mut results = results(&adaptation, classes);
    let mut lines = summary(&adaptation, classes);
    // The last line is for programs.
    let (last, result) = (lines.pop(), results.pop());
    for (name, returns) in env.map(|env| beside(env, &adaptation, rollouts, args.seed)).transpose()?.unwrap_or_default()
    {
        let mean = statistics::mean(&returns);
        lines.push(format!("beside it    return {mean:>9.3}   {}   {name}", interval(&returns, 3)));
        results.push(AdaptLine::Control { name, returns: Returns::of(&returns) });
    }
    for line in lines.into_iter().chain(last) {
        say(&line);
    }
    results.iter().chain(&result).try_for_each(|line| args.json.write(line))
}

/// The folder for what is written.
fn folder(args: &AdaptArgs) -> PathBuf {
    args.out.clone().unwrap_or_else(|| match args.run.is_dir() {
        true => args.run.clone(),
        false => args.run.parent().map(Path::to_path_buf).unwrap_or_default(),
    })
}

/// The policy and its tasks, in lines of JSON.
fn adapted(args: &AdaptArgs, path: &Path, policy: &Evaluator, device: &Device, tasks: usize) -> Adapted {
    Adapted {
        path: path.display().to_string(),
        environment: policy.env().spec().name.clone(),
        algorithm: policy.algorithm().to_owned(),
        seed: policy.trained_seed(),
        steps: policy.env_steps(),
        sampled: args.stochastic || policy.draws_only(),
        tasks,
        task_seed: args.seed,
        device: args.device.describe(device),
    }
}

fn title(policy: &Evaluator) -> String {
    format!("{} · {}", policy.env().spec().name, policy.algorithm())
}

fn headline(args: &AdaptArgs, path: &Path, policy: &Evaluator, tasks: usize) {
    say(&format!(
        "{} · seed {} after {} steps · {tasks} held-out tasks · {} actions · {}",
        title(policy),
        policy.trained_seed(),
        grouped(policy.env_steps()),
        if args.stochastic || policy.draws_only() { "sampled" } else { "most probable" },
        path.display(),
    ));
}

/// Explores, adapts and measures, in a meta-test's own sizes.
fn measure(
    args: &AdaptArgs,
    path: &Path,
    policy: &mut Evaluator,
    device: &Device,
    sizes: TestSizes,
) -> Result<(), Stop> {
    const FILE: &str = "meta_test.csv";
    let stages = [("rollouts", args.rollouts), ("inner-steps", args.inner_steps), ("episodes", args.episodes)];
    let misplaced = stages.into_iter().find(|(_, value)| value.is_some()).map(|(flag, _)| flag);
    if let Some(flag) = misplaced.or(args.steps.then_some("steps")) {
        let message = format!("--{flag} is of stages of adaptation, which a meta-test does not show");
        let hint = "leave it out, or --n-exploration-eps, --n-test-episodes and --n-test-tasks";
        return Err(Stop::user(message).hint(hint));
    }
    let folder = folder(args);
    files::expect_no_file(&folder)?;
    if folder.exists() {
        links::check_unnamed(&folder.join(FILE))?;
        check_place(&folder.join(FILE))?;
    }
    let played = policy.evaluate(sizes, args.seed, !args.stochastic && !policy.draws_only());
    let episodes = pollster::block_on(played).map_err(by_flag)?;
    headline(args, path, policy, sizes.n_test_tasks);
    let TestSizes { n_exploration_eps, n_test_episodes, n_test_tasks } = sizes;
    say(&format!(
        "{n_exploration_eps} episodes of exploration + {n_test_episodes} that are measured × {n_test_tasks} tasks"
    ));
    args.json.write(&AdaptLine::MetaTest {
        version: VERSION,
        policy: adapted(args, path, policy, device, n_test_tasks),
        exploration_episodes: n_exploration_eps,
        test_episodes: n_test_episodes,
    })?;
    std::fs::create_dir_all(&folder).map_err(|error| files::cannot("create", &folder, &error))?;
    let file = folder.join(FILE);
    output::write_own(&file, meta_test::table(&episodes, sizes).as_bytes())?;
    output::say_written(&file, "");
    args.json.write_file(&file)?;
    let classes = policy.env().spec().classes.as_ref();
    meta_test::lines(&episodes, classes).iter().for_each(|line| say(line));
    for (name, value) in meta_test::measures(&episodes, classes) {
        args.json.write(&AdaptLine::Measure { name, value: finite(value) })?;
    }
    let mean = statistics::mean(&episodes.iter().map(|episode| episode.ret).collect::<Vec<_>>());
    say(&format!("after {mean:.4} tasks {n_test_tasks}"));
    args.json.write(&AdaptLine::Result { before: None, after: finite(mean), tasks: n_test_tasks })
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

/// Policies that need no training, each with its returns on the same tasks.
fn beside(env: &EnvDef, adaptation: &Adaptation, rollouts: usize, seed: u64) -> Result<Vec<(String, Vec<f64>)>, Stop> {
    let mut all = Vec::new();
    let sizes = [rollouts, adaptation.episodes, adaptation.horizon];
    for mut control in controls(env) {
        let returns = play(&mut *control, env, &adaptation.tasks, sizes, seed).map_err(Stop::from)?;
        all.push((control.name(), returns));
    }
    Ok(all)
}

/// One row per task, stage and rollout.
fn table(adaptation: &Adaptation) -> String {
    let width = adaptation.tasks.first().map_or(0, Vec::len);
    let parameters: String = (0..width).map(|i| format!(",task_{i}")).collect();
    let mut text = format!("task,stage,rollout,return{parameters}\n");
    for (task, values) in adaptation.tasks.iter().enumerate() {
        let parameters: String = values.iter().map(|v| format!(",{}", number(f64::from(*v)))).collect();
        for (k, stage) in adaptation.stages.iter().enumerate() {
            for (i, ret) in stage.returns[task].iter().enumerate() {
                text += &format!("{task},{k},{i},{}{parameters}\n", number(*ret));
            }
        }
    }
    text
}

/// One row per step of each task's first rollout in each stage: numbers of the environment's state (on the host, of
/// what was seen of it), of the action that it got, and the reward.
fn steps(env: &EnvPlace, adaptation: &Adaptation) -> String {
    let names = |prefix: &str, width: usize| (0..width).map(|i| format!(",{prefix}_{i}")).collect::<String>();
    let [states, actions] = [
        names("state", env.state_len().unwrap_or(env.spec().observation.len())),
        names("action", env.spec().action.dim()),
    ];
    let mut text = format!("task,stage,step{states}{actions},reward\n");
    for task in 0..adaptation.tasks.len() {
        for (k, stage) in adaptation.stages.iter().enumerate() {
            for (t, step) in stage.paths[task].iter().enumerate() {
                let all = step.state.iter().chain(&step.action).map(|v| f64::from(*v)).chain([step.reward]);
                let numbers: String = all.map(|v| format!(",{}", number(v))).collect();
                text += &format!("{task},{k},{t}{numbers}\n");
            }
        }
    }
    text
}

mod controls;
mod summary;

#[cfg(test)]
mod tests {
    use super::*;
    use quickstudy_core::env::{Classes, builtin};
    use quickstudy_core::meta::EpisodeOutcome;
    use quickstudy_core::train::{AdaptationStage, PathStep, StageUnit};

    fn adaptation() -> Adaptation {
        let stage = |a: f64, b: f64| AdaptationStage {
            returns: vec![vec![a, a + 2.0], vec![b, b]],
            paths: vec![Vec::new(); 2],
            outcomes: [false, true, true, true]
                .map(|success| EpisodeOutcome {
                    ret: a,
                    discounted: b,
                    terminated: false,
                    success: Some(success),
                    success_at_end: None,
                    class: None,
                })
                .to_vec(),
        };
        Adaptation {
            tasks: vec![vec![2.0, -2.0], vec![0.5, 1.0]],
            unit: StageUnit::GradientSteps,
            episodes: 1,
            horizon: 10,
            stages: vec![stage(-10.0, -20.0), stage(-1.0, -2.0)],
        }
    }

    #[test]
    fn the_last_line_is_the_promised_one() {
        let lines = summary(&adaptation(), None);
        assert_eq!(lines.last().unwrap(), "before -14.5000 after -1.0000 tasks 2");
        assert!(lines[0].starts_with("before       return    -14.50"), "{}", lines[0]);
        assert!(lines[1].contains("worst task -2.00   success 75 %"), "{}", lines[1]);
    }

    #[test]
    fn each_class_of_tasks_has_a_line_of_its_own_in_each_stage() {
        let mut adaptation = adaptation();
        for stage in &mut adaptation.stages {
            let outcomes = stage.outcomes.iter_mut().zip([0, 0, 1, 1]);
            outcomes.for_each(|(outcome, class)| outcome.class = Some(class));
        }
        let classes = Classes { names: ["reach", "push"].map(str::to_owned).to_vec(), held_out: 0 };
        let lines = results(&adaptation, Some(&classes));
        let is_push = |line: &&AdaptLine| matches!(line, AdaptLine::Class { class, .. } if class == "push");
        let found: Vec<String> = lines.iter().filter(is_push).map(|line| crate::json::text(line).unwrap()).collect();
        let line = |stage: usize, mean: &str| {
            format!(
                "{{\"type\":\"class\",\"stage\":{stage},\"class\":\"push\",\"return_mean\":{mean},\
                 \"success_rate\":1.0,\"success_at_end_rate\":null}}\n"
            )
        };
        assert_eq!(found, [line(0, "-10.0"), line(1, "-1.0")]);
        assert_eq!(lines.len(), 2 * 3 + 1);
    }

    #[test]
    fn the_table_has_a_row_per_rollout() {
        let text = table(&adaptation());
        assert_eq!(text.lines().count(), 1 + 8);
        assert!(text.starts_with("task,stage,rollout,return,task_0,task_1\n0,0,0,-10,2,-2\n0,0,1,-8,2,-2\n"), "{text}");
    }

    #[test]
    fn steps_are_rows_with_all_numbers_of_a_step() {
        let mut adaptation = adaptation();
        let step = PathStep { state: vec![0.5, -1.0], action: vec![0.1, 0.0], reward: -2.5 };
        adaptation.stages[1].paths[0] = vec![step.clone(), step];
        let text = steps(&builtin("point-robot").unwrap().into(), &adaptation);
        let rows = ["task,stage,step,state_0,state_1,action_0,action_1,reward", "0,1,0,0.5,-1,0.1,0,-2.5"];
        assert!(text.starts_with(&rows.join("\n")), "{text}");
        assert_eq!(text.lines().count(), 3);
    }

    #[test]
    fn the_picture_names_its_axes() {
        let svg = adaptation::returns("a<b", builtin("point-robot").unwrap().spec(), &adaptation()).svg();
        for part in [
            "a&lt;b",
            "mean over 2 held-out",
            "gradient steps",
            ">return of an episode<",
            ">-14.50<",
            ">-1.00<",
            "<polygon",
        ] {
            assert!(svg.contains(part), "{part} is missing");
        }
    }

    #[test]
    fn bandits_have_no_lattice_of_their_rewards() {
        let stage = |k: usize| AdaptationStage {
            returns: (0..20).map(|task| vec![f64::from(u8::from(!(task * 7 + k).is_multiple_of(3)))]).collect(),
            paths: vec![Vec::new(); 20],
            outcomes: Vec::new(),
        };
        let tasks = vec![vec![0.5; 5]; 20];
        let stages: Vec<AdaptationStage> = (0..10).map(stage).collect();
        let adaptation = Adaptation { tasks, unit: StageUnit::Steps(1), episodes: 1, horizon: 10, stages };
        let svg = |env: &str, unit| {
            let of = Adaptation { unit, ..adaptation.clone() };
            adaptation::returns("a", builtin(env).unwrap().spec(), &of).svg()
        };
        let bandit = svg("bandit", StageUnit::Steps(1));
        assert!(bandit.contains(">reward of a step<") && bandit.contains("<polygon"), "{bandit}");
        // The line of the mean, and no other; nor is there one where few values make a lattice in the plane.
        for text in [bandit, svg("point-robot", StageUnit::Episodes), svg("tabular-mdp", StageUnit::Episodes)] {
            assert!(!text.contains("each task") && text.matches("stroke=\"#c8c8d0\"").count() == 0, "{text}");
        }
    }

    #[test]
    fn a_single_task_has_no_interval() {
        let mut alone = adaptation();
        alone.tasks.truncate(1);
        for stage in &mut alone.stages {
            stage.returns.truncate(1);
            stage.paths.truncate(1);
            stage.outcomes.truncate(2);
        }
        assert!(summary(&alone, None)[0].contains("95 % interval –   worst"), "{:?}", summary(&alone, None));
        let svg = adaptation::returns("a", builtin("point-robot").unwrap().spec(), &alone).svg();
        assert!(svg.contains("one held-out task") && !svg.contains("<polygon"), "{svg}");
    }
}
