//! Devices that run tensor programs. [`Backend`] is the tensor trait: what it takes to run a [`Trace`].

mod array;
mod budget;
mod census;
mod counters;
pub mod cpu;
mod device;
mod interrupt;
#[cfg(not(target_arch = "wasm32"))]
pub mod ranks;
pub mod reference;

use std::any::Any;
use std::fmt::Debug;
use std::future::Future;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use crate::program::{Footprint, Trace};
use crate::{DType, Result};

pub use array::Array;
pub use budget::Lease;
pub use census::Census;
pub use counters::Counters;
pub use device::Device;
pub use device::{copied, room};
pub use interrupt::{Interrupt, Reached};
#[cfg(not(target_arch = "wasm32"))]
pub use ranks::{Ranks, ThreadRanks};

/// Properties and limits of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Name for people.
    pub name: String,
    /// Runs on the processor.
    pub is_cpu: bool,
    /// Bytes of one element of a buffer: 4, or 8 on the f64 reference.
    pub element_bytes: usize,
    /// Storage buffers that one kernel may bind.
    pub max_bindings: usize,
}

/// A backend's memory.
pub trait BufferData: Any + Debug {
    /// The memory as `Any`, for the backend to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// Device memory of `len` elements, shared by its handles.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// The memory.
    pub data: Rc<dyn BufferData>,
    /// Number of the device that it belongs to.
    pub device: u64,
    /// Data type of the elements.
    pub dtype: DType,
    /// Number of elements.
    pub len: usize,
    /// Counts the bytes that the device takes for it.
    pub lease: Rc<Lease>,
}

/// A future of one thread.
pub type LocalFuture<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Bytes that a device is still to deliver.
pub type ReadFuture = Pin<Box<dyn Future<Output = Result<Vec<u8>>>>>;

/// Runs tensor programs on one device. Nothing here blocks; a read is the only wait.
pub trait Backend: Debug {
    /// Properties and limits of the device.
    fn caps(&self) -> Caps;
    /// Memory of `len` elements, all zero.
    fn alloc(&self, dtype: DType, len: usize) -> Result<Rc<dyn BufferData>>;
    /// Overwrite the elements of a buffer from number `first` on; `bytes` are elements of
    /// `caps().element_bytes` in native byte order.
    fn write(&self, buffer: &Buffer, first: usize, bytes: &[u8]) -> Result<()>;
    /// The bytes of some elements of a buffer, at least one, as they are after all work enqueued before this call.
    fn read(&self, buffer: &Buffer, elements: Range<usize>) -> ReadFuture;
    /// Makes a program ready to run. Its memory is allocated by the first run.
    fn compile(&self, trace: Arc<Trace>) -> Result<Box<dyn Executable>>;
    /// Asks its running programs to stop.
    fn interrupt(&self) -> Interrupt {
        Interrupt::default()
    }
}

/// A program that is ready to run.
pub trait Executable {
    /// Enqueue one run. `args` are the trace's arguments in order; `scalars` the bits of its run-time scalars.
    fn run(&mut self, args: &[Buffer], scalars: &[ScalarValue]) -> Result<()>;

    /// The host's costs of all runs so far.
    fn counters(&self) -> Counters {
        Counters::default()
    }

    /// Numbers of what it was compiled to.
    fn census(&self) -> Census {
        Census::default()
    }

    /// The memory that it takes.
    fn footprint(&self, trace: &Trace) -> Footprint {
        Footprint::of_arguments(trace, 4)
    }

    /// Prints the kernels or steps that the trace was compiled to, in their order, each in a line or several.
    #[cfg(not(target_arch = "wasm32"))]
    fn print(&self, _trace: &Trace) -> String {
        String::new()
    }
}

/// The value of a run-time scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScalarValue {
    /// A number for an f32 scalar; rounded by devices that work in f32.
    F32(f64),
    /// A number for a u32 scalar.
    U32(u32),
}

impl From<f64> for ScalarValue {
    fn from(v: f64) -> Self {
        ScalarValue::F32(v)
    }
}

impl From<u32> for ScalarValue {
    fn from(v: u32) -> Self {
        ScalarValue::U32(v)
    }
}

impl ScalarValue {
    /// Its 32 bits on a device that works in f32.
    pub fn bits(self) -> u32 {
        match self {
            ScalarValue::F32(v) => (v as f32).to_bits(),
            ScalarValue::U32(v) => v,
        }
    }
}
