//! Optimisers on flat parameters `[S, P]`, one row per stacked seed, and schedules.
//!
//! ```
//! use quickstudy_core::optim::{Adam, GradientMoments};
//! use quickstudy_core::{DType, Device, Program, State, Tensor, grad::grad};
//!
//! // min (θ − 3)², for one seed with one parameter.
//! let device = Device::cpu(1);
//! let mut step = Program::new(&device, |cx| {
//!     let theta = cx.state("theta", &[1, 1], DType::F32);
//!     let [m, v] = ["m", "v"].map(|name| cx.state(name, &[1, 1], DType::F32));
//!     let before = GradientMoments { m, v, scale: cx.state("scale", &[1, 2], DType::F32) };
//!     let slope = grad((theta - 3.0).square().sum_all(), &[theta])[0];
//!     let (theta, after) = Adam::default().step(theta, slope, before, Tensor::constant_f32(0.1));
//!     for (name, value) in [("theta", theta), ("m", after.m), ("v", after.v), ("scale", after.scale)] {
//!         cx.update(name, value);
//!     }
//! })?;
//! let mut state = State::new();
//! for (name, numbers) in [("theta", 1), ("m", 1), ("v", 1), ("scale", 2)] {
//!     state.insert(name, device.zeros(&[1, numbers], DType::F32)?);
//! }
//! for _ in 0..300 {
//!     step.run(&state, &[], &[])?;
//! }
//! let theta = pollster::block_on(device.read(state.get("theta")?))?;
//! assert!((theta[0] - 3.0).abs() < 0.01, "{theta:?}");
//! # Ok::<(), quickstudy_core::Error>(())
//! ```

mod adam;
mod conjugate_gradient;
#[cfg(test)]
mod kernel_tests;
mod optimiser;
mod rms_prop;
mod schedule;
mod trained;
mod trust_region;

pub use adam::{Adam, AdamConfig, GradientMoments, clip_by_norm, norm, weight_decay};
pub use conjugate_gradient::{conjugate_gradient, dot};
pub use optimiser::{Optimiser, OptimiserConfig, OptimiserKind};
pub use rms_prop::RmsPropConfig;
pub use schedule::{ClipFall, Decay, Fall, Progress, RateSchedule, Schedule};
pub use trained::Trained;
pub use trust_region::{Hessian, TrustProblem, TrustRegion, TrustStep};
