//! Kernels compiled per instruction set.

pub mod isa;
