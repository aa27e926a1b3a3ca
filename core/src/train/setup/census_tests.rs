//! Tests that no preset loses the kernels that make its speed.

use crate::Device;
use crate::algo::Training;
use crate::backend::Census;
use crate::env::builtin;
use crate::train::{Setup, presets};

/// Algorithms without an optimiser of gradients.
const WITHOUT: [&str; 4] = ["ars", "cem", "cma-es", "nop"];

/// Presets without one: ten parameters are too few for a kernel.
const OTHERS: [&str; 1] = ["openai-es-cartpole"];

/// Presets without wide layers, or whose candidates have matrices of their own.
const NARROW: [&str; 4] = ["ars", "cem", "cma-es", "openai-es"];

/// Beginnings of the names of presets some of whose wide layers stay on lanes, and how many at most: of widths that
/// fill no registers (DDPG's and TD3's 400 and 300, PEARL's 300), of the gates of recurrent units and of rows that
/// episodes mask, and products of statistics.
const LANES: [(&str, usize); 9] = [
    ("ppo-cartpole-no-velocities", 22),
    ("ddpg-pendulum", 8),
    ("td3-pendulum", 11),
    ("sac-half-cheetah", 2),
    ("sac-walker2d", 2),
    ("ars-half-cheetah", 1),
    ("dice-maml-point-corner", 6),
    ("rl2-", 62),
    ("pearl-", 15),
];

/// Beginnings of the names of presets that play step by step: between steps they learn, or draw a new machine where an
/// episode ends. All others play a rollout in one tile.
const BY_STEPS: [&str; 6] = ["dqn-", "dql-", "ddpg-", "td3-", "sac-", "ppo-qube-swing-up:dt=0.01,randomised"];

/// Beginnings of the names of presets whose norm of gradients, if they have one, is not summed by the tile that writes
/// the last of them: that is a product too wide for a tile, or parts of the gradient are known to be 0.
const NORM_APART: [&str; 9] = [
    "openai-es-",
    "vpg-",
    "dqn-",
    "ddpg-",
    "td3-",
    "pearl-",
    "sac-half-cheetah",
    "sac-walker2d",
    "rl2-ppo-tabular-mdp",
];

#[test]
fn presets_have_the_kernels_that_make_their_speed() {
    let device = Device::cpu(1);
    for preset in presets().unwrap().into_iter().filter(|preset| preset.is_builtin()) {
        let setup = Setup::resolve(preset.algorithm, builtin(preset.env).unwrap(), &[0], None, &[]).unwrap();
        let plans = Training::plans(&**setup.fitted(), setup.env.clone(), 1).unwrap();
        let mut census = Census::default();
        plans.into_iter().for_each(|plan| census += device.compile(plan.into()).unwrap().census());
        let name = &preset.name;
        let none = WITHOUT.contains(&preset.algorithm) || OTHERS.iter().any(|other| name.starts_with(other));
        assert_eq!(census.optimiser_steps == 0, none, "{name}: {census:?}");
        assert_eq!(census.row_layers == 0, NARROW.contains(&preset.algorithm), "{name}: {census:?}");
        let most = LANES.iter().find(|(start, _)| name.starts_with(start)).map_or(0, |(_, most)| *most);
        assert!(census.lane_layers <= most, "{name}: {census:?}");
        let apart = WITHOUT.contains(&preset.algorithm) || NORM_APART.iter().any(|start| name.starts_with(start));
        assert_eq!(census.gradient_norms == 0, apart, "{name}: {census:?}");
        let by_steps = BY_STEPS.iter().any(|start| name.starts_with(start));
        assert_eq!(census.plays_by_steps > 0, by_steps, "{name}: {census:?}");
        assert!(by_steps || census.plays_in_tiles > 0, "{name}: {census:?}");
    }
}
