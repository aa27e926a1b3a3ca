//! Search by populations, without gradients: one file each, named as their papers, and what they share.

pub mod ars;
pub mod cem;
pub mod cma_es;
pub mod nop;
pub mod openai_es;
mod shared;

pub use shared::*;
