//! Pictures: drawings as SVG and PNG, scenes, and animations of episodes.

pub(crate) mod adaptation;
pub(crate) mod format;
pub(crate) mod gif;
mod lettering;
mod raster;
pub(crate) mod recording;
mod scene;
pub(crate) mod sheet;
