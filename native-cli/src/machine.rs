//! The machine: devices that compute, and its memory.

mod auto;
pub mod device;
pub mod gpus;
pub mod memory;
