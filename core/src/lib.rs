//! The core of quickstudy: tensor programs, environments and algorithms.
//!
//! No files, no clocks, no printing: callers pass bytes in and get bytes and metrics out, so that the same code
//! trains natively and in a browser.

pub mod algo;
pub mod backend;
pub mod dist;
pub mod env;
mod error;
pub mod grad;
pub mod host;
pub mod learn;
pub mod math;
pub mod meta;
pub mod nn;
pub mod optim;
pub mod play;
pub mod policy;
pub mod program;
pub mod rng;
pub mod sample;
pub mod settings;
pub mod task;
pub mod tensor;
pub mod train;
pub use error::{Error, Result, Shortage, closest, in_bytes};

pub use backend::Device;
pub use program::{Array, Context, Program, State};
pub use tensor::{DType, Tensor};
