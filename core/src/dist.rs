//! Action distributions, traced over rows: `[S, B, …]`, stacked seeds and then rows.
//!
//! An action is a vector of f32; a choice is its index as a float, and several at once are one index each.
//! Log-probabilities and entropies are joint over the action's numbers, `[S, B, 1]`.
//!
//! ```
//! use quickstudy_core::dist::{Categorical, RowNoise};
//! use quickstudy_core::{DType, Device, Program, State};
//!
//! let device = Device::cpu(1);
//! let mut draw = Program::new(&device, |cx| {
//!     let key = cx.input("key", &[1, 2], DType::U32);
//!     let logits = cx.input("logits", &[1, 1, 2], DType::F32);
//!     let coin = Categorical::new(logits.broadcast_to(&[1, 1000, 2]));
//!     let action = coin.sample(&RowNoise::new([key.slice(1, 0, 1), key.slice(1, 1, 2)], 1000));
//!     cx.output("mean", action.mean(&[0, 1, 2]));
//!     cx.output("chance", coin.log_prob(action).exp());
//!     cx.output("action", action);
//! })?;
//! let key = device.array_u32(&[1, 2], &[0, 7])?;
//! let logits = device.array(&[1, 1, 2], &[0.0, 3.0_f64.ln()])?; // chances of 1/4 and 3/4
//! let outputs = draw.run(&State::new(), &[("key", &key), ("logits", &logits)], &[])?;
//! let read = |name| pollster::block_on(device.read(outputs.get(name)?));
//! let (mean, action, chance) = (read("mean")?[0], read("action")?, read("chance")?);
//! assert!((mean - 0.75).abs() < 0.055, "four standard errors of a thousand draws: {mean}");
//! assert!(action.iter().zip(&chance).all(|(a, p)| (p - (0.25 + 0.5 * a)).abs() < 1e-5));
//! # Ok::<(), quickstudy_core::Error>(())
//! ```

mod categorical;
mod gaussian;
mod multi_categorical;
mod squashed;
mod state_dependent;

#[doc(inline)]
pub use crate::tensor::{RowNoise, fold_in};
pub use categorical::{Categorical, at, best};
pub use gaussian::{Gaussian, LOG_STD_RANGE};
pub use multi_categorical::MultiCategorical;
pub use squashed::SquashedGaussian;
pub use state_dependent::StateDependent;
