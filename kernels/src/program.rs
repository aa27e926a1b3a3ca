//! Tensor programs: traced once, compiled for a device, then replayed.
//!
//! [`Program::new`] calls a function once with a [`Context`], which declares what the program reads and writes. Each
//! run then reads its inputs, changes a [`State`] in place and gives its outputs in arrays of their own.
//!
//! ```
//! use quickstudy_core::{DType, Device, Program, State};
//!
//! let device = Device::cpu(1);
//! let mut add = Program::new(&device, |cx| {
//!     let total = cx.state("total", &[2], DType::F32);
//!     let x = cx.input("x", &[2], DType::F32);
//!     let total = total + x * cx.scalar_f32("factor");
//!     cx.update("total", total);
//!     cx.output("largest", total.max_over(&[0]));
//! })?;
//!
//! let mut state = State::new();
//! state.insert("total", device.zeros(&[2], DType::F32)?);
//! let x = device.array(&[2], &[1.0, 2.0])?;
//! add.run(&state, &[("x", &x)], &[("factor", 1.0.into())])?;
//! let outputs = add.run(&state, &[("x", &x)], &[("factor", 10.0.into())])?;
//!
//! let read = |array| pollster::block_on(device.read(array));
//! assert_eq!(read(state.get("total")?)?, [11.0, 22.0]);
//! assert_eq!(read(outputs.get("largest")?)?, [22.0]);
//! # Ok::<(), quickstudy_core::Error>(())
//! ```

mod arg;
mod ask;
#[cfg(feature = "debug")]
mod bulk;
pub mod chains;
mod context;
mod cut;
mod division;
mod flops;
mod footprint;
pub(crate) mod layout;
mod marks;
mod native;
mod part;
mod places;
mod print;
#[allow(clippy::module_inception, reason = "the noun of the module")]
mod program;
#[cfg(not(target_arch = "wasm32"))]
mod rank_join;
mod row_numbers;
mod segments;
mod state;
mod trace;
#[cfg(not(target_arch = "wasm32"))]
mod variants;
mod versions;
mod views;

pub use crate::backend::Array;
pub use arg::{Arg, Role, ScalarSpec};
pub use context::Context;
pub use flops::Flops;
pub use footprint::{Footprint, Holds};
pub use layout::Access;
pub use native::NativeCall;
pub use print::{describe, operand};
pub use program::{Outputs, Program};
pub use row_numbers::RowNumbers;
pub use segments::{Host, Segments};
pub use state::State;
pub use trace::Trace;
pub(crate) use views::constant;
pub use views::{fold, is_constant, is_leaf, is_view};
