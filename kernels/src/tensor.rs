//! Tensors: handles to the expression graph that is being traced.
//!
//! The primitives are in [`op`]; their checks in `handle`, `view`, `contract` and `control`; everything else is
//! composed of them in `compose`.
//!
//! Reductions have one axis each. A sum over several is composed from the innermost outwards, because the
//! order of summation is part of what a sum means here. There is no division: `a / b` is `a · recip(b)`
//! everywhere, in environments too, so that native code and traced graph agree bit for bit. A node's scope is
//! the innermost of its operands', so what does not change in a loop stays outside of it. Every node keeps the
//! place in the source that asked for it, also in copies and derivatives, so that debug mode can name the
//! operation that first gave a NaN or an infinity.
//!
//! Operations broadcast, and [`scan`] is the loop. The first mistake ends the trace with an error that names its place
//! in the source.
//!
//! ```
//! use quickstudy_core::tensor::{Loop, scan};
//! use quickstudy_core::{DType, Device, Program, State, Tensor};
//!
//! let device = Device::cpu(1);
//! let mut discount = Program::new(&device, |cx| {
//!     let rewards = cx.input("rewards", &[3, 2], DType::F32);
//!     // G_t = r_t + 0.5 · G_t+1, from the last row to the first.
//!     let (_, returns) = scan(3, true, &[Tensor::zeros(&[2])], &[rewards], |_, later, reward| {
//!         let sum = reward[0] + later[0] * 0.5;
//!         Loop { carry: vec![sum], ys: vec![sum] }
//!     });
//!     cx.output("returns", returns[0]);
//! })?;
//! let rewards = device.array(&[3, 2], &[1.0, 0.0, 1.0, 0.0, 1.0, 4.0])?;
//! let outputs = discount.run(&State::new(), &[("rewards", &rewards)], &[])?;
//! let returns = pollster::block_on(device.read(outputs.get("returns")?))?;
//! assert_eq!(returns, [1.75, 1.0, 1.5, 2.0, 1.0, 4.0]);
//!
//! let wrong = Program::new(&device, |cx| {
//!     let x = cx.input("x", &[3, 2], DType::F32);
//!     cx.output("y", x.matmul(x));
//! });
//! let message = wrong.unwrap_err().to_string();
//! assert!(message.starts_with("matmul") && message.contains(file!()), "{message}");
//! # Ok::<(), quickstudy_core::Error>(())
//! ```

mod bits;
mod compensated_sum;
mod compose;
mod contract;
mod control;
mod dtype;
pub mod graph;
mod handle;
mod noise;
pub mod op;
mod tree;
mod view;

pub use compensated_sum::CompensatedSum;
pub use control::{Loop, call, rows_of, run_if, scan, scan_until};
pub use dtype::DType;
pub use graph::{Graph, Node};
pub(crate) use handle::push;
pub use handle::{Tensor, fail, require};
pub use noise::{RowNoise, fold_in};
pub use op::{Binary, NodeId, Op, Unary};
pub use tree::{Named, Tree, run_tree_if, scan_tree, scan_tree_back, scan_tree_until};
