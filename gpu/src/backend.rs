//! The backend: what the core asks of a GPU.

use std::rc::Rc;
use std::sync::Arc;

use quickstudy_core::backend::{Backend, Buffer, BufferData, Caps, Executable, ReadFuture};
use quickstudy_core::program::Plan;
use quickstudy_core::{DType, Device, Error, Result};

use crate::adapter::AdapterInfo;
use crate::buffer::{self, GpuBuffer};
use crate::compile::{self, KernelLimits};
use crate::context::Context;
use crate::exec::GpuExecutable;
use crate::read::Read;

/// Which GPU, and how much of it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// Number of the adapter; none for the fastest one.
    pub adapter: Option<usize>,
    /// Ask for WebGPU's default limits only, as a browser may offer no more.
    pub default_limits: bool,
    /// Share the operands of large products in workgroup memory; none for doing so where it is faster, on all but
    /// software adapters.
    pub tiled: Option<bool>,
}

/// A GPU. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Gpu {
    context: Rc<Context>,
    tiled: bool,
}

impl Gpu {
    /// Open a GPU.
    ///
    /// # Errors
    /// [`Error::Device`] if there is none or it cannot be used.
    pub async fn open(options: &GpuOptions) -> Result<Gpu> {
        let context = Context::new(options).await?;
        let tiled = options.tiled.unwrap_or(!context.info.software);
        Ok(Gpu { context, tiled })
    }

    /// The same as a device.
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub async fn device(options: &GpuOptions) -> Result<Device> {
        Ok(Device::new(Gpu::open(options).await?))
    }

    /// Give the device up, as a driver that is reset does: everything on it fails from then on.
    pub fn destroy(&self) {
        self.context.device.destroy();
    }

    /// Buffers made so far; those that are used again do not count again.
    pub fn buffers_made(&self) -> usize {
        self.context.pool.borrow().made
    }

    fn limits(&self) -> KernelLimits {
        let bindings = self.context.limits.max_storage_buffers_per_shader_stage as usize;
        let trips =
            if self.context.info.software { KernelLimits::SOFTWARE_TRIPS } else { KernelLimits::default().trips };
        let limits = &self.context.limits;
        let words = (limits.max_storage_buffer_binding_size.min(limits.max_buffer_size) / 4) as usize;
        KernelLimits { bindings, words, trips, tiled: self.tiled }
    }

    /// What it is.
    pub fn info(&self) -> &AdapterInfo {
        &self.context.info
    }
}

impl Backend for Gpu {
    fn caps(&self) -> Caps {
        Caps {
            name: format!("{} ({})", self.context.info.name, self.context.info.backend),
            is_cpu: false,
            element_bytes: 4,
            max_bindings: self.context.limits.max_storage_buffers_per_shader_stage as usize,
        }
    }

    fn alloc(&self, _dtype: DType, len: usize) -> Result<Rc<dyn BufferData>> {
        Ok(Rc::new(GpuBuffer::zeros(&self.context, len)?))
    }

    fn write(&self, buffer: &Buffer, bytes: &[u8]) -> Result<()> {
        let to = buffer::of(buffer)?;
        if to.bytes != bytes.len() as u64 {
            return Err(Error::Device(format!("{} bytes do not fill a buffer of {}", bytes.len(), to.bytes)));
        }
        // What is recorded comes first.
        self.context.submit();
        self.context.queue.write_buffer(&to.buffer, 0, bytes);
        self.context.check()
    }

    fn read(&self, buffer: &Buffer) -> ReadFuture {
        match buffer::of(buffer) {
            Ok(buffer) => Box::pin(Read::new(&self.context, buffer)),
            Err(e) => Box::pin(std::future::ready(Err(e))),
        }
    }

    fn compile(&self, plan: Arc<Plan>) -> Result<Box<dyn Executable>> {
        let compiled = compile::compile(&plan, self.limits())?;
        Ok(Box::new(GpuExecutable::new(&self.context, &plan, compiled)?))
    }
}
