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
