//! Tests that no preset loses the kernel that makes its optimiser's steps.

use crate::Device;
use crate::algo::Training;
use crate::backend::Census;
use crate::env::builtin;
use crate::train::{Setup, presets};

/// Algorithms without an optimiser of gradients.
const WITHOUT: [&str; 4] = ["ars", "cem", "cma-es", "nop"];

/// Presets without one: a critic that is solved for beside a trust region, and ten parameters, too few for a kernel.
const OTHERS: [&str; 2] = ["rl2-trpo-half-cheetah-vel", "openai-es-cartpole"];

#[test]
fn presets_make_each_step_of_their_optimiser_in_one_kernel() {
    let device = Device::cpu(1);
    for preset in presets().unwrap().into_iter().filter(|preset| preset.is_builtin()) {
        let setup = Setup::resolve(preset.algorithm, builtin(preset.env).unwrap(), &[0], None, &[]).unwrap();
        let plans = Training::plans(&**setup.fitted(), setup.env.clone(), 1).unwrap();
        let mut census = Census::default();
        plans.into_iter().for_each(|plan| census += device.compile(plan.into()).unwrap().census());
        let steps = census.optimiser_steps;
        println!("{} {census:?}", preset.name);
        let none = WITHOUT.contains(&preset.algorithm) || OTHERS.iter().any(|name| preset.name.starts_with(name));
        assert_eq!(steps == 0, none, "{}: {steps}", preset.name);
    }
}
