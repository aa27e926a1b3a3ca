//! GPUs against the CPU and the reference. Without a driver, that of a software one included, these tests are ignored;
//! `QUICKSTUDY_REQUIRE_GPU=1` makes that a failure.

#![forbid(unsafe_code)]

mod chains;
mod dispatches;
mod env;
mod finite;
mod limits;
mod lost;
mod memory;
mod ops;
mod parity;
mod ppo;
mod predictions;
mod products;
mod programs;
mod robustness;
mod runs;
mod shaders;
mod stop;
mod until;
