//! The CPU backend.

pub mod simd;
