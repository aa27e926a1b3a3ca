//! Presets that name no origin.

/// Words by which they say so.
pub const SAID: &[&str] = &["our own", "It learns nothing", "the preset of PEARL on point-robot, as it is"];

/// Words that would name one.
pub const ORIGINS: &[&str] = &[
    "zoo",
    "SB3",
    "Stable-Baselines3",
    "CleanRL",
    "garage",
    "Pyrado",
    "ProMP's",
    "authors' code",
    "pycma",
    "paper's n",
];

/// The presets.
pub const OWN: &[&str] = &[
    "ars-cartpole",
    "ars-half-cheetah",
    "nop-cartpole",
    "openai-es-cartpole",
    "pearl-point-half-circle-dense",
    "rl2-ppo-half-cheetah-vel",
    "rl2-ppo-bandit",
    "rl2-ppo-bandit:arms=10",
    "rl2-ppo-bandit:pulls=100",
    "rl2-ppo-bandit:arms=10,pulls=100",
    "rl2-ppo-ML1-reach",
];
