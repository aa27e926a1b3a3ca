//! Handle to a device.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::budget::{Budget, Leased, Purpose};
use super::{Backend, Buffer, Caps, Executable, Interrupt, Lease};
use crate::program::{Array, Footprint, Plan};
use crate::{DType, Error, Result, Shortage};

/// Handle to a device. Clones are the same device; a session lives on one thread.
#[derive(Clone, Debug)]
pub struct Device {
    backend: Rc<dyn Backend>,
    caps: Rc<Caps>,
    id: u64,
    budget: Rc<Budget>,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Device {
    /// A device of any backend.
    pub fn new(backend: impl Backend + 'static) -> Device {
        let caps = Rc::new(backend.caps());
        // All that can be addressed; WebAssembly's memory ends at 4 GiB.
        let limit = if caps.is_cpu { usize::MAX as u64 } else { u64::MAX };
        Device { backend: Rc::new(backend), caps, id: NEXT.fetch_add(1, Ordering::Relaxed), budget: Budget::new(limit) }
    }

    /// The processor, on `threads` threads (0: all that there are), with its best instruction set.
    pub fn cpu(threads: usize) -> Device {
        Device::new(super::cpu::Cpu::new(super::cpu::CpuOptions { threads, ..Default::default() }))
    }

    /// The f64 reference: slow, and what the others are compared with.
    pub fn reference() -> Device {
        Device::new(super::reference::Reference)
    }

    /// Properties and limits of the device.
    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    /// Make a plan ready to run.
    ///
    /// # Errors
    /// [`Error::Memory`] if it takes more memory, with all else on the device, than may be taken.
    pub fn compile(&self, plan: Arc<Plan>) -> Result<Box<dyn Executable>> {
        let inner = self.backend.compile(plan.clone())?;
        let _lease = self.budget.admit(&inner.footprint(&plan), &plan)?;
        Ok(Box::new(Leased { inner, _lease }))
    }

    /// The memory that a plan takes, whether there is so much or not.
    pub fn footprint(&self, plan: Arc<Plan>) -> Result<Footprint> {
        Ok(self.backend.compile(plan.clone())?.footprint(&plan))
    }

    /// Arrays and programs may take so many bytes in all, from now on; at first as many as can be addressed.
    pub fn limit_memory(&self, bytes: u64) {
        self.budget.limit.set(bytes);
    }

    /// Counts bytes as taken that the caller will need beside arrays and programs, as long as the lease is kept: what is compiled or
    /// allocated from then on must fit beside them.
    pub fn reserve(&self, bytes: u64) -> Lease {
        self.budget.lease(Purpose::Programs, bytes)
    }

    /// Takes bytes of the host's memory, where the device is a part of it, as long as the lease is kept.
    ///
    /// # Errors
    /// [`Error::Memory`] if it may not have so many beside all else.
    pub(crate) fn take_on_host(&self, bytes: u64) -> Result<Lease> {
        self.budget.take(Purpose::Programs, if self.caps.is_cpu { bytes } else { 0 })
    }

    /// Asks what runs on the device to stop; any thread may do so.
    pub fn interrupt(&self) -> Interrupt {
        self.backend.interrupt()
    }

    /// An array of zeros.
    pub fn zeros(&self, shape: &[usize], dtype: DType) -> Result<Array> {
        let Some(len) = shape.iter().try_fold(1usize, |len, n| len.checked_mul(*n)) else {
            return Err(Error::Memory(Box::new(Shortage::new(u64::MAX, None))));
        };
        if len == 0 {
            return Err(Error::Program(format!("an array needs at least one element, got shape {shape:?}")));
        }
        let bytes = (len as u64).saturating_mul(self.caps.element_bytes as u64);
        let lease = Rc::new(self.budget.take(Purpose::Arrays, bytes)?);
        let buffer = Buffer { data: self.backend.alloc(dtype, len)?, device: self.id, dtype, len, lease };
        Ok(Array { shape: shape.to_vec(), buffer })
    }

    /// An f32 array; the reference device keeps all bits of the values.
    pub fn array(&self, shape: &[usize], values: &[f64]) -> Result<Array> {
        let array = self.sized(shape, values.len(), DType::F32)?;
        self.write(&array, values)?;
        Ok(array)
    }

    /// An f32 array from f32 values.
    pub fn array_f32(&self, shape: &[usize], values: &[f32]) -> Result<Array> {
        let array = self.sized(shape, values.len(), DType::F32)?;
        if self.caps.element_bytes == 8 {
            let mut wide: Vec<f64> = room(values.len())?;
            wide.extend(values.iter().map(|v| f64::from(*v)));
            self.backend.write(&array.buffer, bytemuck::cast_slice(&wide))?;
        } else {
            self.backend.write(&array.buffer, bytemuck::cast_slice(values))?;
        }
        Ok(array)
    }

    /// A u32 array.
    pub fn array_u32(&self, shape: &[usize], values: &[u32]) -> Result<Array> {
        let array = self.sized(shape, values.len(), DType::U32)?;
        if self.caps.element_bytes == 8 {
            let wide: Vec<u64> = values.iter().map(|v| u64::from(*v)).collect();
            self.backend.write(&array.buffer, bytemuck::cast_slice(&wide))?;
        } else {
            self.backend.write(&array.buffer, bytemuck::cast_slice(values))?;
        }
        Ok(array)
    }

    /// Overwrite an f32 array.
    pub fn write(&self, array: &Array, values: &[f64]) -> Result<()> {
        self.own(array)?;
        if values.len() != array.buffer.len || array.buffer.dtype != DType::F32 {
            return Err(Error::Program(format!("{} f32 values do not fit {:?}", values.len(), array.shape)));
        }
        if self.caps.element_bytes == 8 {
            self.backend.write(&array.buffer, bytemuck::cast_slice(values))
        } else {
            let mut narrow: Vec<f32> = room(values.len())?;
            narrow.extend(values.iter().map(|v| *v as f32));
            self.backend.write(&array.buffer, bytemuck::cast_slice(&narrow))
        }
    }

    fn sized(&self, shape: &[usize], values: usize, dtype: DType) -> Result<Array> {
        if shape.iter().try_fold(1usize, |len, n| len.checked_mul(*n)) != Some(values) {
            return Err(Error::Program(format!("{values} values do not fill an array of shape {shape:?}")));
        }
        self.zeros(shape, dtype)
    }

    /// Checks that the array is on this device.
    pub fn own(&self, array: &Array) -> Result<()> {
        if array.buffer.device == self.id {
            return Ok(());
        }
        Err(Error::Program("an array of another device was passed; read it and write it to this one".to_owned()))
    }

    /// The values of an f32 array, once all work enqueued before is done.
    pub async fn read(&self, array: &Array) -> Result<Vec<f64>> {
        let bytes = self.bytes(array, DType::F32).await?;
        match self.caps.element_bytes {
            8 => numbers(&bytes, |v: f64| v),
            _ => numbers(&bytes, |v: f32| f64::from(v)),
        }
    }

    /// The values of an f32 array as f32.
    pub async fn read_f32(&self, array: &Array) -> Result<Vec<f32>> {
        let bytes = self.bytes(array, DType::F32).await?;
        match self.caps.element_bytes {
            8 => numbers(&bytes, |v: f64| v as f32),
            _ => numbers(&bytes, |v: f32| v),
        }
    }

    /// The values of a u32 array.
    pub async fn read_u32(&self, array: &Array) -> Result<Vec<u32>> {
        let bytes = self.bytes(array, DType::U32).await?;
        match self.caps.element_bytes {
            8 => numbers(&bytes, |v: u64| v as u32),
            _ => numbers(&bytes, |v: u32| v),
        }
    }

    async fn bytes(&self, array: &Array, dtype: DType) -> Result<Vec<u8>> {
        self.own(array)?;
        if array.buffer.dtype != dtype {
            return Err(Error::Program(format!("a {} array was read as {dtype}", array.buffer.dtype)));
        }
        self.backend.read(&array.buffer).await
    }
}

/// The numbers that bytes stand for.
fn numbers<T: bytemuck::Pod, U>(bytes: &[u8], f: impl Fn(T) -> U) -> Result<Vec<U>> {
    let all = bytes.chunks_exact(size_of::<T>());
    let mut list = room(all.len())?;
    list.extend(all.map(|bytes| f(bytemuck::pod_read_unaligned(bytes))));
    Ok(list)
}

/// A copy of a list.
///
/// # Errors
/// [`Error::Memory`] if there is no room for it.
pub(crate) fn copied<T: Copy>(of: &[T]) -> Result<Vec<T>> {
    super::cpu::halt::copy(of).map_err(super::cpu::halt::Halt::error)
}

/// An empty list with room for `len` elements.
///
/// # Errors
/// [`Error::Memory`] if there is none.
pub(crate) fn room<T>(len: usize) -> Result<Vec<T>> {
    super::cpu::halt::room(len).map_err(super::cpu::halt::Halt::error)
}
