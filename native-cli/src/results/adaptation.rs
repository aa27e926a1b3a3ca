//! Adaptations of policies to tasks: their returns by stage, as lines for people and of JSON, tables and pictures.

pub(crate) mod controls;

use crate::json::adapt::{AdaptLine, Returns};
use crate::json::finite;
use crate::metrics::number;
use crate::pictures::adaptation::{distances, paths, returns, stage_name};
use crate::pictures::sheet::Sheet;
use crate::statistics;
use quickstudy_core::env::Classes;
use quickstudy_core::host::EnvPlace;
use quickstudy_core::meta::{Performance, by_class};
use quickstudy_core::train::{Adaptation, StageUnit};

/// The unit of stages in lines of JSON.
pub(crate) fn unit_name(unit: StageUnit) -> &'static str {
    match unit {
        StageUnit::GradientSteps => "gradient_steps",
        StageUnit::Episodes => "episodes",
        StageUnit::Steps(_) => "steps",
    }
}

/// The stages, whole trials and controls, each of these a name with its return on each task; then the result.
pub(crate) fn lines(
    adaptation: &Adaptation,
    classes: Option<&Classes>,
    controls: Vec<(String, Vec<f64>)>,
) -> Vec<AdaptLine> {
    let mut lines = Vec::new();
    let mut ends = Vec::new();
    for (k, stage) in adaptation.stages.iter().enumerate() {
        let (means, performance) = (stage.task_means(), stage.performance(0));
        lines.push(AdaptLine::Stage {
            stage: k,
            name: stage_name(adaptation.unit, k),
            returns: Returns::of(&means),
            worst_task: finite(means.iter().copied().fold(f64::INFINITY, f64::min)),
            success_rate: finite(performance.success_rate),
            success_at_end_rate: finite(performance.success_at_end_rate),
        });
        let of_classes = classes.map(|classes| by_class(classes, &stage.outcomes)).unwrap_or_default();
        lines.extend(of_classes.into_iter().map(|(class, outcomes)| {
            let of = Performance::of(0, &outcomes);
            let [return_mean, success_rate, success_at_end_rate] =
                [of.mean, of.success_rate, of.success_at_end_rate].map(finite);
            AdaptLine::Class { stage: k, class: class.to_owned(), return_mean, success_rate, success_at_end_rate }
        }));
        ends.push(statistics::mean(&means));
    }
    if adaptation.unit != StageUnit::GradientSteps {
        lines.push(AdaptLine::Trial { returns: Returns::of(&trials(adaptation)) });
    }
    lines.extend(
        controls.into_iter().map(|(name, returns)| AdaptLine::Control { name, returns: Returns::of(&returns) }),
    );
    let [before, after] = [ends.first(), ends.last()].map(|mean| mean.copied().and_then(finite));
    lines.push(AdaptLine::Result { before, after, tasks: adaptation.tasks.len() });
    lines
}

/// The return of each task's whole trial: that of all stages.
fn trials(adaptation: &Adaptation) -> Vec<f64> {
    let mut trials = vec![0.0; adaptation.tasks.len()];
    for stage in &adaptation.stages {
        trials.iter_mut().zip(stage.task_means()).for_each(|(sum, mean)| *sum += mean);
    }
    trials
}

/// One of these lines for people; none for lines that people do not read.
pub(crate) fn text(line: &AdaptLine) -> Option<String> {
    let number = |value: &Option<f64>| value.unwrap_or(f64::NAN);
    Some(match line {
        AdaptLine::Stage { name, returns, worst_task, success_rate, success_at_end_rate, .. } => format!(
            "{name:<12} return {:>9.2}   {}   worst task {:.2}{}",
            number(&returns.return_mean),
            interval(returns, 2),
            number(worst_task),
            success(*success_rate, *success_at_end_rate)
        ),
        AdaptLine::Class { class, return_mean, success_rate, success_at_end_rate, .. } => {
            let success = success(*success_rate, *success_at_end_rate);
            format!("  {class:<24} return {:>9.2}{success}", number(return_mean))
        }
        AdaptLine::Trial { returns } => {
            format!("whole trial  return {:>9.3}   {}", number(&returns.return_mean), interval(returns, 3))
        }
        AdaptLine::Control { name, returns } => {
            format!("beside it    return {:>9.3}   {}   {name}", number(&returns.return_mean), interval(returns, 3))
        }
        AdaptLine::Result { before, after, tasks } => {
            format!("before {:.4} after {:.4} tasks {tasks}", number(before), number(after))
        }
        AdaptLine::Adaptation { .. } | AdaptLine::MetaTest { .. } | AdaptLine::Measure { .. } => return None,
    })
}

/// The interval of the mean over tasks; a single task has none.
fn interval(returns: &Returns, digits: usize) -> String {
    match (returns.low, returns.high) {
        (Some(low), Some(high)) => format!("95 % interval {low:.digits$} to {high:.digits$}"),
        _ => format!("95 % interval {}", statistics::NONE),
    }
}

/// The share of episodes with a success, and of those that end with one; nothing where it is not known.
fn success(rate: Option<f64>, at_end: Option<f64>) -> String {
    let part = |rate: Option<f64>, what: &str| rate.map(|rate| format!("{what} {:.0} %", 100.0 * rate));
    part(rate, "   success").unwrap_or_default() + &part(at_end, ", at the end").unwrap_or_default()
}

/// The names of the pictures.
pub(crate) const PICTURES: [&str; 2] = ["adapt", "paths"];

/// The pictures, each with its name: returns, and paths where the agent moves in a plane or along a line.
pub(crate) fn pictures(title: &str, place: &EnvPlace, adaptation: &Adaptation) -> Vec<(&'static str, Sheet)> {
    let returns = returns(title, place.spec(), adaptation);
    // Of environments of the host nobody knows the states.
    let env = place.device().ok();
    let along = env.and_then(|env| distances(title, env.spec(), adaptation));
    let paths = along.or_else(|| paths(title, env?, adaptation));
    PICTURES.into_iter().zip([Some(returns), paths]).filter_map(|(name, sheet)| Some((name, sheet?))).collect()
}

/// One row per task, stage and rollout.
pub(crate) fn table(adaptation: &Adaptation) -> String {
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
pub(crate) fn steps(env: &EnvPlace, adaptation: &Adaptation) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pictures::adaptation::tests::{adaptation, alone};
    use quickstudy_core::env::builtin;
    use quickstudy_core::train::PathStep;

    fn texts(adaptation: &Adaptation) -> Vec<String> {
        lines(adaptation, None, Vec::new()).iter().filter_map(text).collect()
    }

    #[test]
    fn the_last_line_is_the_promised_one() {
        let lines = texts(&adaptation());
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
        let lines = lines(&adaptation, Some(&classes), Vec::new());
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
    fn a_single_task_has_no_interval() {
        assert!(texts(&alone())[0].contains("95 % interval –   worst"), "{:?}", texts(&alone()));
    }
}
