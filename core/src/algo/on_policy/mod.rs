//! Algorithms that learn from rollouts of their own policy: one file each, named as their papers, and what they share.

pub mod a2c;
pub mod ppo;
mod shared;
pub mod svpg;
pub mod trpo;
pub mod vpg;

pub use shared::*;
