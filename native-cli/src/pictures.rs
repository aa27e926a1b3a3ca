//! Pictures: drawings as SVG and PNG, scenes, and animations of episodes.

pub mod adaptation;
pub mod format;
pub mod gif;
mod lettering;
mod raster;
pub mod recording;
mod scene;
pub mod sheet;
