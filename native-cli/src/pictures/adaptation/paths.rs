//! Ways through the plane, before adaptation and after it.

use super::{AFTER, BEFORE, GAP, PANEL, PANELS, PAPER, ends, headed};
use crate::pictures::sheet::{Frame, GRID, INK, QUIET, Sheet, Style};
use crate::statistics;
use crate::text::numbers::alike;
use quickstudy_core::env::{EnvDef, Scene};
use quickstudy_core::train::{Adaptation, AdaptationStage, PathStep, StageUnit};

/// The view is widened for ways that leave it, to this many times its size at most.
const WIDEST: f32 = 4.0;

/// The first rollout of some tasks, before adaptation and after it; none if the environment has no plane.
pub(crate) fn paths(title: &str, env: &EnvDef, adaptation: &Adaptation) -> Option<Sheet> {
    let [px, py] = env.spec().plane?;
    let (first, last) = (adaptation.stages.first()?, adaptation.stages.last()?);
    let count = adaptation.tasks.len().min(PANELS);
    let points = |path: &[PathStep]| path.iter().map(|s| [s.state[px], s.state[py]]).collect::<Vec<_>>();
    let ways: Vec<[Vec<[f32; 2]>; 2]> =
        (0..count).map(|task| [points(&first.paths[task]), points(&last.paths[task])]).collect();
    let scene = |task: usize| env.draw(&last.paths[task].last()?.state, &adaptation.tasks[task]).ok();
    let scenes: Vec<Scene> = (0..count).map(scene).collect::<Option<_>>()?;
    let (view, cut) = view_of(scenes.first()?.view, ways.iter().flatten().flatten());
    let columns = count.min(4);
    let lines = explanation(adaptation.unit, adaptation.stages.len(), &env.spec().legend, cut);
    let top = 56.0 + 20.0 * lines.len() as f32;
    let widest = lines.iter().map(|line| Style::new(15.0, QUIET).width(line)).fold(0.0, f32::max);
    let width = (GAP + columns as f32 * (PANEL + GAP)).max(widest + 2.0 * GAP);
    let height = top + count.div_ceil(columns) as f32 * (PANEL + 30.0 + GAP);
    let mut sheet = headed(width, height, title, &lines);
    let mean = |stage: &AdaptationStage, task: usize| statistics::mean(&stage.returns[task]);
    let returns: Vec<f64> = (0..count).flat_map(|task| [mean(first, task), mean(last, task)]).collect();
    let returns = alike(&returns);
    for (task, ([before, after], scene)) in ways.iter().zip(scenes).enumerate() {
        let left = GAP + (task % columns) as f32 * (PANEL + GAP);
        let above = top + (task / columns) as f32 * (PANEL + 30.0 + GAP);
        let [right, below] = [left + PANEL, above + PANEL];
        let frame = Frame::new(view, [left, above], PANEL);
        sheet.rect([left, above, right, below], PAPER);
        sheet.clip(Some([left, above, right, below]));
        sheet.scene(&scene, &frame);
        // What is drawn first is the wider one, so that both are seen where they go the same way or stand still.
        for (path, color, line, disc) in [(before, BEFORE, 3.5, 5.5), (after, AFTER, 2.0, 3.5)] {
            let path: Vec<[f32; 2]> = path.iter().map(|point| frame.at(*point)).collect();
            sheet.stroke(&path, line, color, 1.0);
            if let Some(end) = path.last() {
                sheet.disc(*end, disc, color);
            }
        }
        sheet.clip(None);
        let outline = [[left, above], [right, above], [right, below], [left, below], [left, above]];
        sheet.stroke(&outline, 1.0, GRID, 1.0);
        let text = format!("{} → {}", returns[2 * task], returns[2 * task + 1]);
        sheet.text(&text, [left, below + 20.0], Style::new(14.0, INK));
    }
    Some(sheet)
}

/// Names what is drawn, in words.
fn explanation(unit: StageUnit, stages: usize, legend: &str, cut: bool) -> Vec<String> {
    let [before, after] = ends(unit, stages);
    let cut = if cut { ", or leaves the frame" } else { "" };
    let ways = format!("first rollout of each task, grey {before}, orange {after}, with a disc where it ends{cut}");
    let below = "below: return before → after".to_owned();
    let legend = if legend.is_empty() { below } else { format!("{legend}; {below}") };
    vec![ways, legend]
}

/// The view, made large enough for all points, and whether some are too far away for that.
fn view_of<'a>([left, right, low, high]: [f32; 4], points: impl Iterator<Item = &'a [f32; 2]>) -> ([f32; 4], bool) {
    let size = (right - left).max(high - low);
    let more = (WIDEST - 1.0) / 2.0 * size;
    let bounds = [left - more, right + more, low - more, high + more];
    // How far ways go to each side, within these bounds.
    let (mut most, mut cut) = ([right, left, high, low], false);
    for [x, y] in points.filter(|point| point.iter().all(|x| x.is_finite())) {
        let inside = [x.clamp(bounds[0], bounds[1]), y.clamp(bounds[2], bounds[3])];
        cut |= inside != [*x, *y];
        let [x, y] = inside;
        most = [most[0].min(x), most[1].max(x), most[2].min(y), most[3].max(y)];
    }
    // A line and a disc are wider than their points.
    let wide = (right.max(most[1]) - left.min(most[0])).max(high.max(most[3]) - low.min(most[2]));
    let margin = 0.04 * wide;
    let view = [
        left.min(most[0] - margin),
        right.max(most[1] + margin),
        low.min(most[2] - margin),
        high.max(most[3] + margin),
    ];
    (view, cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickstudy_core::env::builtin;

    fn adaptation(before: &[[f32; 2]], after: &[[f32; 2]]) -> Adaptation {
        let steps = |points: &[[f32; 2]]| {
            points.iter().map(|at| PathStep { state: at.to_vec(), action: vec![0.0; 2], reward: -1.0 }).collect()
        };
        let stage = |ret: f64, path: &[[f32; 2]]| AdaptationStage {
            returns: vec![vec![ret]],
            paths: vec![steps(path)],
            outcomes: Vec::new(),
        };
        Adaptation {
            tasks: vec![vec![2.0, -2.0]],
            unit: StageUnit::GradientSteps,
            episodes: 1,
            horizon: 10,
            stages: vec![stage(-100.0, before), stage(-50.0, after)],
        }
    }

    #[test]
    fn ways_are_not_cut_off_and_all_that_is_drawn_is_named() {
        let env = builtin("point-corner").unwrap();
        let svg = paths("a", &env, &adaptation(&[[0.0, 0.0], [3.5, 3.9]], &[[0.0, 0.0], [2.0, -2.0]])).unwrap().svg();
        for part in ["grey before adaptation", "orange after it", "grey square: where episodes begin", "-100.0 → -50.0"]
        {
            assert!(svg.contains(part), "{part}: {svg}");
        }
        assert!(!svg.contains("leaves the frame"));
        // The disc at the end of the grey way lies inside of the only panel.
        let disc = svg.lines().find(|line| line.contains("r=\"5.5\"")).unwrap();
        let number = |name: &str| {
            disc.split(&format!("{name}=\"")).nth(1).unwrap().split('"').next().unwrap().parse::<f32>().unwrap()
        };
        let (x, y) = (number("cx"), number("cy"));
        assert!(x + 5.5 <= GAP + PANEL && y - 5.5 >= 96.0, "{disc}");
        // Nor is the disc of one that ends just inside of the scene, which reaches to 2.6.
        let (view, cut) = view_of([-2.6, 2.6, -2.6, 2.6], [[0.0, 2.55]].iter());
        assert!(view[3] > 2.74 && view[..3] == [-2.6, 2.6, -2.6] && !cut, "{view:?}");
        let far = paths("a", &env, &adaptation(&[[0.0, 0.0], [1e4, 0.0]], &[[0.0, 0.0]])).unwrap().svg();
        assert!(far.contains("or leaves the frame"), "{far}");
    }

    #[test]
    fn a_way_that_stands_still_is_seen_below_one_that_leaves_from_there() {
        let env = builtin("navigation").unwrap();
        let svg = paths("a", &env, &adaptation(&[[0.0, 0.0], [0.01, 0.0]], &[[0.0, 0.0], [0.4, 0.3]])).unwrap().svg();
        let places = |color: &str, radius: &str| {
            let disc = |line: &&str| line.contains(&format!("r=\"{radius}\" fill=\"{color}\""));
            svg.lines().filter(disc).count()
        };
        assert_eq!((places("#8a8a94", "5.5"), places("#d55e00", "3.5")), (1, 1), "{svg}");
        assert!(svg.contains("green: the goal"));
    }
}
