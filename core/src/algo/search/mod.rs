//! Search by populations, without gradients: one file each, named as their papers, and what they share.

pub mod ars;
pub mod cem;
pub mod cma_es;
pub mod nop;
pub mod openai_es;
mod shared;

pub use ars::{ARS, Ars, ArsConfig};
pub use cem::{CEM, Cem, CemConfig};
pub use cma_es::{CMA_ES, CmaEs, CmaEsConfig};
pub use nop::{NOP, Nop, NopConfig};
pub use openai_es::{OPENAI_ES, OpenAiEs, OpenAiEsConfig};
pub use shared::*;
