//! How environments are computed: lanes and vector registers, blocks of rows compiled per instruction set, and
//! sub-graphs of traced programs. Authors of environments need none of it.

// `check_env` measures by the clock, which WebAssembly does not have by itself.
#[cfg(all(feature = "standalone", not(target_arch = "wasm32")))]
pub(super) mod agree;
mod block;
pub(super) mod erased;
mod graph_lanes;
mod graph_rows;
pub(super) mod host_step;
pub(super) mod job;
mod lanes;
#[cfg(feature = "standalone")]
pub(super) mod lockstep;
pub(super) mod native_job;
pub(super) mod one;
mod pack;
#[cfg(feature = "standalone")]
pub(super) mod random;
mod random_actions;
#[cfg(target_arch = "x86_64")]
mod register;
#[cfg(all(test, target_arch = "x86_64"))]
mod register_tests;
#[cfg(feature = "standalone")]
pub(super) mod scalar;
mod step;
mod traced;
#[cfg(test)]
mod traced_tests;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(feature = "standalone")]
pub use host_step::HostStep;
pub use lanes::{LaneBits, LaneMask, Lanes};
#[cfg(feature = "standalone")]
pub use lockstep::Lockstep;
#[cfg(feature = "standalone")]
pub use random::RandomSteps;
#[cfg(feature = "standalone")]
pub use random_actions::Source;
#[cfg(feature = "standalone")]
pub use scalar::Scalar;
pub use step::TracedStep;
pub use traced::TracedReset;
