//! Algorithms that learn from a replay memory.

mod all;
mod dqn;
mod sac;
mod settings;
mod whole_episodes;
