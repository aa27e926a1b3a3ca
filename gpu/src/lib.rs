//! Tensor programs on any GPU: WGSL compute shaders through wgpu (Vulkan, Metal, DX12, WebGPU).
//!
//! [`Gpu`] implements [`quickstudy_kernels::backend::Backend`]. `plan` turns the graph of a trace into a [`Plan`]:
//! kernels, their order, and the memory of their operands. Each Map, Reduce and MatMul of a plan becomes one
//! shader, or two where a long sum is cut into slices. A Chain is all that happens to the rows of a minibatch, up to
//! sums over them: workgroups compute it tile by tile (`tile`), and a second dispatch adds their sums. A Scan with
//! independent rows, such as a rollout, is one dispatch with an invocation per row, or with a workgroup for a few rows
//! that have products; any other is a replay of its body's dispatches. Small kernels that follow each other are one
//! dispatch: a workgroup runs them in turn. Nothing is decided while a program runs.
//!
//! `compile` walks a plan once: it finds the buffer behind every place, also through loops, asks `wgsl` for the code of
//! each kernel, and joins runs of small ones. `exec` replays the dispatches; the host only sets the offset of the step
//! index, into one table that all loops share. Buffers are whole and pooled, bind groups are kept per set of arguments,
//! and shaders of the same text share a pipeline. `pace` chooses how much goes into a submission. [`predict`] says what
//! a plan would take on a card that is not there, by the [`work`] that `wgsl` counts for each dispatch.
//!
//! All errors of wgpu end as typed errors at the next call, a lost device before its consequences. What does not fit
//! into a buffer is found before anything is allocated. Shaders run with wgpu's run-time checks, natively too. WGSL
//! leaves more to compilers than Rust does: quotients may be off by 2.5 units in the last place, sums may be
//! reassociated, and NaN, the sign of zero and subnormal numbers may get lost in arithmetic. Tests allow just that;
//! what the library relies on, such as `non_finite`, works on bits.

#![forbid(unsafe_code)]

mod adapter;
mod backend;
mod buffer;
mod clock;
mod compile;
mod context;
mod exec;
mod large;
mod limits;
mod pace;
mod pipeline;
mod plan;
pub mod predict;
mod read;
mod tile;
mod wgsl;
pub mod work;

pub use adapter::{AdapterInfo, GpuOptions, adapters};
pub use backend::Gpu;
pub use compile::{dispatches, shaders};
pub use limits::{DeviceLimits, KernelLimits};
pub use plan::{Kernel, KernelSchedule, Kind, Place, Plan, PlanOptions};
