//! Device memory: whole buffers, taken from a pool and given back when their last handle goes.

use std::any::Any;
use std::ops::Range;
use std::rc::Rc;

use quickstudy_kernels::backend::{Buffer, BufferData};
use quickstudy_kernels::{Error, Result};

use crate::context::Context;
use crate::large;

/// A buffer of the GPU.
#[derive(Debug)]
pub(crate) struct GpuBuffer {
    pub buffer: wgpu::Buffer,
    /// Tells buffers apart in caches of bind groups.
    pub number: u64,
    /// Size in bytes.
    pub bytes: u64,
    context: Rc<Context>,
}

impl BufferData for GpuBuffer {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for GpuBuffer {
    fn drop(&mut self) {
        self.context.pool.borrow_mut().give(self.bytes, self.buffer.clone(), self.number);
    }
}

impl GpuBuffer {
    /// A buffer of `len` words, of any content.
    pub fn new(context: &Rc<Context>, len: usize) -> Result<GpuBuffer> {
        Ok(GpuBuffer::take(context, len)?.0)
    }

    /// A buffer of zeros.
    pub fn zeros(context: &Rc<Context>, len: usize) -> Result<GpuBuffer> {
        let (buffer, used) = GpuBuffer::take(context, len)?;
        if used {
            context.record(|encoder| encoder.clear_buffer(&buffer.buffer, 0, None));
        }
        Ok(buffer)
    }

    /// The bytes of some elements.
    pub fn range(&self, elements: Range<usize>) -> Result<Range<u64>> {
        let bytes = (elements.start as u64).saturating_mul(4)..(elements.end as u64).saturating_mul(4);
        match bytes.start < bytes.end && bytes.end <= self.bytes {
            true => Ok(bytes),
            false => {
                Err(Error::Device(format!("elements {elements:?} of a buffer of {} were asked for", self.bytes / 4)))
            }
        }
    }

    /// A buffer, and whether it has been used before.
    fn take(context: &Rc<Context>, len: usize) -> Result<(GpuBuffer, bool)> {
        let bytes = len as u64 * 4;
        large::check(context, bytes, || format!("a tensor of {len} elements"))?;
        let context = context.clone();
        let pooled = context.pool.borrow_mut().take(bytes);
        if let Some((buffer, number)) = pooled {
            return Ok((GpuBuffer { buffer, number, bytes, context }, true));
        }
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        let descriptor = wgpu::BufferDescriptor { label: None, size: bytes, usage, mapped_at_creation: false };
        let buffer = context.device.create_buffer(&descriptor);
        context.pool.borrow_mut().made += 1;
        let number = context.number();
        context.check()?;
        Ok((GpuBuffer { buffer, number, bytes, context }, false))
    }
}

/// The GPU's side of a buffer.
pub(crate) fn of(buffer: &Buffer) -> Result<&GpuBuffer> {
    let found = buffer.data.as_any().downcast_ref::<GpuBuffer>();
    found.ok_or_else(|| Error::Device("a buffer of another device was passed to the GPU".to_owned()))
}
