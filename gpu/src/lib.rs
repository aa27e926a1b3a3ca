//! Tensor programs on any GPU: plans as WGSL compute shaders through wgpu (Vulkan, Metal, DX12, WebGPU).
//!
//! [`Gpu`] implements [`quickstudy_core::backend::Backend`]. Each Map, Reduce and MatMul of a plan becomes one shader,
//! each Scan a replay of its body's dispatches; nothing is decided while a program runs.

#![forbid(unsafe_code)]

mod adapter;
mod backend;
mod buffer;
mod clock;
mod compile;
mod context;
mod exec;
mod large;
mod pace;
mod pipeline;
mod read;
mod wgsl;

pub use adapter::{AdapterInfo, adapters};
pub use backend::{DeviceLimits, Gpu, GpuOptions};
pub use compile::{KernelLimits, dispatches, shaders};
