//! Environments.

mod scene;

pub use scene::{Color, Scene, Shape};
