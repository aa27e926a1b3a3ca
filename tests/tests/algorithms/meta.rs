//! Algorithms whose policies adapt.

mod evaluator;
mod gradients;
mod guesses;
mod maml;
mod outcomes;
mod pearl;
mod rl2;
mod rl2_host;
mod settings;
