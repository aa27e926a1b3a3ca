//! Networks as functions of `(θ, x)`.
//!
//! θ is one flat vector per stacked seed, `[S, P]`. A [`Layout`] names its slices and says how each is initialised; a
//! network such as [`Mlp`] or [`Gru`] remembers which slices are its own. So an optimiser is one elementwise program for any
//! network, and everything that takes parameters takes one tensor.

mod gru;
mod init;
mod layout;
mod mlp;

pub use gru::{Gru, RecurrentInit, Reset};
pub use init::{Init, orthogonal};
pub use layout::{Layout, Part, Slot};
pub use mlp::{Activation, Mlp};
