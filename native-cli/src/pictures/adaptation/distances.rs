//! Ways along a line over time, before adaptation and after it, beside the velocity that is asked for.

use super::{AFTER, BEFORE, GAP, PANEL, PANELS, PAPER, ends, headed};
use crate::pictures::sheet::{Anchor, GRID, INK, QUIET, Sheet, Style, ticks};
use crate::statistics;
use crate::text::numbers::{alike, tick_labels};
use quickstudy_core::env::{Color, EnvSpec};
use quickstudy_core::train::{Adaptation, AdaptationStage, PathStep};

const ASKED: Color = Color::GREEN;
/// Room for the labels of the axis of distances.
const LABELS: f32 = 44.0;

/// The distance over time of the first rollout of some tasks, before adaptation and after it, beside what is asked for;
/// none if the environment has no [`course`](EnvSpec::course).
pub(crate) fn distances(title: &str, spec: &EnvSpec, adaptation: &Adaptation) -> Option<Sheet> {
    let place = spec.course?;
    let (first, last) = (adaptation.stages.first()?, adaptation.stages.last()?);
    let count = adaptation.tasks.len().min(PANELS);
    let way = |path: &[PathStep]| -> Vec<[f64; 2]> {
        let from = path.first().map_or(0.0, |step| f64::from(step.state[place]));
        let at = |(t, step): (usize, &PathStep)| [t as f64 * spec.dt, f64::from(step.state[place]) - from];
        path.iter().enumerate().map(at).collect()
    };
    let is_velocity = spec.task.first().is_some_and(|dim| dim.name == "velocity");
    let ways: Vec<[Vec<[f64; 2]>; 2]> =
        (0..count).map(|task| [way(&first.paths[task]), way(&last.paths[task])]).collect();
    let seconds = adaptation.horizon as f64 * spec.dt;
    let asked = |task: usize| f64::from(adaptation.tasks[task].first().copied().unwrap_or_default());
    let last_asked = (0..count).map(|task| if is_velocity { asked(task) * seconds } else { 0.0 });
    let reached = ways.iter().flatten().flatten().map(|[_, metres]| *metres).filter(|metres| metres.is_finite());
    let (low, high) =
        last_asked.chain(reached).fold((0.0_f64, 1e-3_f64), |(l, h), metres| (l.min(metres), h.max(metres)));
    let (low, high) = (low - 0.05 * (high - low), high + 0.05 * (high - low));
    let columns = count.min(4);
    let [before, after] = ends(adaptation.unit, adaptation.stages.len());
    let asks = if is_velocity { ", green what is asked for" } else { "" };
    let lines = [
        format!("distance in m over {seconds:.0} s, first rollout of each task: grey {before}, orange {after}{asks}"),
        "below: what is asked for, and return before → after".to_owned(),
    ];
    let top = 62.0 + 20.0 * lines.len() as f32;
    let widest = lines.iter().map(|line| Style::new(15.0, QUIET).width(line)).fold(0.0, f32::max);
    let width = (LABELS + GAP + columns as f32 * (PANEL + GAP)).max(widest + 2.0 * GAP);
    let height = top + count.div_ceil(columns) as f32 * (PANEL + 30.0 + GAP);
    let mut sheet = headed(width, height, title, &lines);
    let mean = |stage: &AdaptationStage, task: usize| statistics::mean(&stage.returns[task]);
    let returns: Vec<f64> = (0..count).flat_map(|task| [mean(first, task), mean(last, task)]).collect();
    let returns = alike(&returns);
    let marks = ticks(low, high, 5);
    for (task, [before, after]) in ways.iter().enumerate() {
        let left = LABELS + GAP + (task % columns) as f32 * (PANEL + GAP);
        let above = top + (task / columns) as f32 * (PANEL + 30.0 + GAP);
        let [right, below] = [left + PANEL, above + PANEL];
        let at = |[t, metres]: [f64; 2]| {
            let x = left + PANEL * (t / seconds) as f32;
            [x, above + PANEL * ((high - metres) / (high - low)) as f32]
        };
        sheet.rect([left, above, right, below], PAPER);
        for (mark, text) in marks.iter().zip(tick_labels(&marks)) {
            let y = at([0.0, *mark])[1];
            sheet.stroke(&[[left, y], [right, y]], 1.0, GRID, 1.0);
            if task % columns == 0 {
                sheet.text(&text, [left - 6.0, y + 4.0], Style::new(12.0, QUIET).at(Anchor::End));
            }
        }
        sheet.clip(Some([left, above, right, below]));
        if is_velocity {
            sheet.dashed(&[at([0.0, 0.0]), at([seconds, asked(task) * seconds])], 8.0, 2.5, ASKED);
        }
        for (way, color, line) in [(before, BEFORE, 3.0), (after, AFTER, 2.5)] {
            let points: Vec<[f32; 2]> = way.iter().map(|point| at(*point)).collect();
            sheet.stroke(&points, line, color, 1.0);
        }
        sheet.clip(None);
        let outline = [[left, above], [right, above], [right, below], [left, below], [left, above]];
        sheet.stroke(&outline, 1.0, GRID, 1.0);
        let asked = match is_velocity {
            true => format!("{:.2} m/s", asked(task)),
            false if asked(task) < 0.0 => "backwards".to_owned(),
            false => "forwards".to_owned(),
        };
        let text = format!("{asked}: {} → {}", returns[2 * task], returns[2 * task + 1]);
        sheet.text(&text, [left, below + 20.0], Style::new(14.0, INK));
    }
    Some(sheet)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickstudy_core::env::builtin;
    use quickstudy_core::train::StageUnit;

    fn adaptation(asked: f32, before: f32, after: f32) -> Adaptation {
        let steps = |speed: f32| {
            let at = |t: usize| PathStep { state: vec![2.0 + speed * 0.05 * t as f32], action: vec![], reward: 0.0 };
            (0..20).map(at).collect()
        };
        let stage = |ret: f64, speed: f32| AdaptationStage {
            returns: vec![vec![ret]],
            paths: vec![steps(speed)],
            outcomes: Vec::new(),
        };
        Adaptation {
            tasks: vec![vec![asked]],
            unit: StageUnit::GradientSteps,
            episodes: 1,
            horizon: 20,
            stages: vec![stage(-30.0, before), stage(-2.0, after)],
        }
    }

    #[test]
    fn ways_are_drawn_from_0_beside_the_velocity_that_is_asked_for() {
        let env = builtin("half-cheetah-vel").unwrap();
        let svg = distances("a", env.spec(), &adaptation(1.5, 0.0, 1.5)).unwrap().svg();
        for part in ["1.50 m/s: -30.00 → -2.00", "distance in m over 1 s", "grey before adaptation, orange after it"]
        {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        // Both ways begin at 0, which is where the dashed line begins, wherever the body begins.
        let start = |color: &str| {
            let line = svg.lines().find(|line| line.starts_with("<polyline") && line.contains(color)).unwrap();
            line.split('"').nth(1).unwrap().split(' ').next().unwrap()
        };
        assert!(start("#2e965c") == start("#8a8a94") && start("#8a8a94") == start("#d55e00"), "{svg}");
        let dir = builtin("half-cheetah-dir").unwrap();
        let svg = distances("a", dir.spec(), &adaptation(-1.0, 0.5, -1.5)).unwrap().svg();
        assert!(svg.contains("backwards: -30.00 → -2.00") && !svg.contains("green"), "{svg}");
        assert!(distances("a", builtin("navigation").unwrap().spec(), &adaptation(1.0, 0.0, 0.0)).is_none());
    }
}
