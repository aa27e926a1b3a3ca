//! Tensor programs with their derivatives, kernels for the CPU, and environments: the ground that quickstudy runs on.
//!
//! The crate `quickstudy-core` has all of this under the same names, and adds networks, algorithms and training:
//! depend on that one. Its front page leads through these modules by examples, and says what its features are.
//!
//! The two are apart for the sake of compilation: kernels and environments run fast in one unit of code, which keeps
//! one processor busy, and all else compiles beside it.

pub mod backend;
pub mod env;
mod error;
pub mod grad;
pub mod math;
pub mod program;
pub mod rng;
pub mod settings;
pub mod tensor;
pub use error::aliases::{ALIASES, alias};
pub use error::{Error, Result, Shortage, closest, in_bytes};

pub use backend::Device;
pub use program::{Array, Context, Program, State};
pub use tensor::{DType, Tensor};
