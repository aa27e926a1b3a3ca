//! The machine: devices that compute, and its memory.

mod auto;
pub(crate) mod device;
pub(crate) mod gpus;
pub(crate) mod memory;
