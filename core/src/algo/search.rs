//! Search by populations, without gradients: one file each, named as their papers, and the common part.
//!
//! CEM, CMA-ES, OpenAI's evolution strategy, ARS and NOP share their iteration, [`PopulationLearner`]; each is a
//! [`CandidateSearch`].
//!
//! # From candidates to a mean
//!
//! 1. **The candidates.** [`CandidateSearch::ask`] gives n parameter vectors around θ for each seed, `[S, n, P]`.
//! 2. **The episodes.** [`Iteration::fold`](crate::play::Iteration::fold) plays them as S · n groups and keeps sums
//!    instead of steps. In a program its loop ends once all rows of a tile are done.
//! 3. **The step.** [`CandidateSearch::tell`] gets mean returns and gives the new θ. Ranks are comparisons of all pairs
//!    (`shared/rank.rs`).
//! 4. **The host.** CMA-ES asks and tells in f64 by [`Iteration::on_host`](crate::play::Iteration::on_host)
//!    (`cma_es/strategy.rs`); its state keeps an f64 as the sum of two f32.

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
