//! Points in the plane: standing still, and going straight to the goal.

use super::{Control, Seen};
use quickstudy_core::env::{ActionSpace, EnvSpec};

pub(super) fn controls(spec: &EnvSpec) -> Vec<Box<dyn Control>> {
    let ActionSpace::Box { dims } = &spec.action else { return Vec::new() };
    let (Some(plane), 2) = (spec.plane, dims.len()) else { return Vec::new() };
    let still = Still { dims: dims.len() };
    // Walls and momentum need more than the straight way.
    let straight = ["point-momentum", "point-walls"].iter().all(|name| !spec.name.starts_with(name));
    let goal = ["goal_x", "goal_y"].map(|name| spec.task.iter().position(|dim| dim.name == name));
    match goal {
        [Some(x), Some(y)] if straight => {
            let limits = [dims[0].high, dims[1].high];
            vec![Box::new(still), Box::new(Straight { plane, goal: [x, y], limits, target: [0.0; 2] })]
        }
        _ => vec![Box::new(still)],
    }
}

struct Still {
    dims: usize,
}

impl Control for Still {
    fn name(&self) -> String {
        "standing still".to_owned()
    }
    fn begin(&mut self, _task: &[f64]) {}
    fn act(&mut self, _seen: Seen<'_>, _uniform: f64) -> Vec<f64> {
        vec![0.0; self.dims]
    }
}

/// As far towards the goal as an action goes, along each axis.
struct Straight {
    plane: [usize; 2],
    /// Where the goal stands in a task.
    goal: [usize; 2],
    limits: [f64; 2],
    target: [f64; 2],
}

impl Control for Straight {
    fn name(&self) -> String {
        "knowing the goal".to_owned()
    }

    fn begin(&mut self, task: &[f64]) {
        self.target = self.goal.map(|i| task[i]);
    }

    fn act(&mut self, seen: Seen<'_>, _uniform: f64) -> Vec<f64> {
        let towards = |i: usize| self.target[i] - seen.state[self.plane[i]];
        (0..2).map(|i| towards(i).clamp(-self.limits[i], self.limits[i])).collect()
    }
}
