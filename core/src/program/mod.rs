//! Tensor programs: traced once, planned, compiled for a device, then replayed.

mod native;

pub use native::NativeCall;
