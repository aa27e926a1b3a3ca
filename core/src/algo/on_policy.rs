//! Algorithms that learn from rollouts of their own policy: one file each, named as their papers, and what they share.

pub mod a2c;
pub mod ppo;
mod shared;
pub mod svpg;
pub mod trpo;
pub mod vpg;

pub use a2c::{A2C, A2c, A2cConfig};
pub use ppo::{ClipConfig, PPO, PPO2, Ppo, PpoConfig};
pub use shared::*;
pub use svpg::{SVPG, Svpg, SvpgConfig};
pub use trpo::{TRPO, Trpo, TrpoConfig};
pub use vpg::{VPG, Vpg, VpgBaseline, VpgConfig};
