//! GPUs against the CPU and the reference. Without a GPU, a software one included, these tests say that they were
//! skipped; `QUICKSTUDY_REQUIRE_GPU=1` makes that a failure.

#![forbid(unsafe_code)]

mod dispatches;
mod env;
mod finite;
mod limits;
mod lost;
mod memory;
mod ops;
mod parity;
mod ppo;
mod products;
mod programs;
mod robustness;
mod shaders;
mod stop;
mod until;
