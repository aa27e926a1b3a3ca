//! Networks as functions of `(θ, x)`.
//!
//! θ is one flat vector per stacked seed, `[S, P]`. A [`Layout`] names its slices and says how each is initialised; a
//! network such as [`Mlp`] or [`MemoryCell`] remembers which slices are its own. So an optimiser is one elementwise
//! program for any network, and everything that takes parameters takes one tensor.
//!
//! ```
//! use quickstudy_core::nn::{Activation, Layout, Mlp};
//! use quickstudy_core::{DType, Device, Program, State};
//!
//! let mut layout = Layout::new();
//! let net = Mlp::new(&mut layout, "net", 0, &[4, 8, 1], Activation::Tanh, Some(1.0));
//! assert_eq!(layout.len(), 4 * 8 + 8 + 8 + 1);
//!
//! // Two seeds at once, a batch of three rows each.
//! let device = Device::cpu(1);
//! let mut forward = Program::new(&device, |cx| {
//!     let theta = cx.input("theta", &[2, layout.len()], DType::F32);
//!     let x = cx.input("x", &[2, 3, 4], DType::F32);
//!     cx.output("y", net.forward(&layout.split(theta), x));
//! })?;
//! let theta = layout.first(&device, &[0, 1])?;
//! let x = device.array(&[2, 3, 4], &[1.0; 24])?;
//! let outputs = forward.run(&State::new(), &[("theta", &theta), ("x", &x)], &[])?;
//! let y = pollster::block_on(device.read(outputs.get("y")?))?;
//! assert_eq!(outputs.get("y")?.shape, [2, 3, 1]);
//! assert!(y[0] == y[1] && y[0] != y[3], "equal rows of a seed give the same, another seed has other parameters");
//! # Ok::<(), quickstudy_core::Error>(())
//! ```

mod gru;
mod init;
mod layout;
mod lstm;
mod memory_cell;
mod mlp;
mod recurrent_init;
mod rnn;

pub use gru::{Gru, Reset};
pub use init::{Init, orthogonal};
pub use layout::{Layout, Part, SliceId};
pub use lstm::Lstm;
pub use memory_cell::{CellKind, CellShape, CellSlices, MemoryCell};
pub use mlp::{Activation, Mlp};
pub use recurrent_init::RecurrentInit;
pub use rnn::Rnn;
