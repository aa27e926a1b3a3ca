//! Bodies that should run at a velocity or in a direction: doing nothing, and acting by chance.

use super::{Control, Seen};
use quickstudy_core::env::{ActionSpace, Dim, EnvSpec};
use quickstudy_core::rng::threefry2x32;

pub(super) fn controls(spec: &EnvSpec) -> Vec<Box<dyn Control>> {
    let ActionSpace::Box { dims } = &spec.action else { return Vec::new() };
    vec![Box::new(Nothing { dims: dims.len() }), Box::new(Chance { dims: dims.clone() })]
}

struct Nothing {
    dims: usize,
}

impl Control for Nothing {
    fn name(&self) -> String {
        "doing nothing".to_owned()
    }
    fn begin(&mut self, _task: &[f64]) {}
    fn act(&mut self, _seen: Seen<'_>, _uniform: f64) -> Vec<f64> {
        vec![0.0; self.dims]
    }
}

/// Uniform actions.
struct Chance {
    dims: Vec<Dim>,
}

impl Control for Chance {
    fn name(&self) -> String {
        "acting by chance".to_owned()
    }
    fn begin(&mut self, _task: &[f64]) {}
    fn act(&mut self, seen: Seen<'_>, uniform: f64) -> Vec<f64> {
        let key = [(uniform * f64::from(1 << 24)) as u32, seen.step as u32];
        let number = |(i, dim): (usize, &Dim)| {
            let share = f64::from(threefry2x32(key, [i as u32, 0])[0]) / 2.0_f64.powi(32);
            dim.low + share * (dim.high - dim.low)
        };
        self.dims.iter().enumerate().map(number).collect()
    }
}
