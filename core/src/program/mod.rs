//! Tensor programs: traced once, planned, compiled for a device, then replayed.

mod array;
mod context;
mod cut;
mod division;
mod flops;
mod footprint;
mod marks;
mod native;
mod part;
mod places;
mod plan;
mod planner;
mod print;
#[allow(clippy::module_inception, reason = "the noun of the module")]
mod program;
mod segments;
mod versions;

pub use array::{Array, State};
pub use context::Context;
pub use flops::Flops;
pub use footprint::{Footprint, Holds};
pub use native::NativeCall;
pub use plan::{Arg, Kernel, Kind, Place, Plan, Role, ScalarSpec, Schedule, is_long_product, is_long_sum};
pub use planner::{PlanOptions, is_leaf, is_view};
pub use program::{Outputs, Program};
pub use segments::{Host, Segments};
