//! Algorithms that learn from a replay buffer.

mod all;
mod dqn;
mod learning;
mod noted;
mod rewards;
mod sac;
mod settings;
mod statistics;
mod whole_episodes;
