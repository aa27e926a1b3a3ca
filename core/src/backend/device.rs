//! Handle to a device.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Backend, Buffer, Caps, Executable};
use crate::program::{Array, Plan};
use crate::{DType, Error, Result};

/// Handle to a device. Clones are the same device; a session lives on one thread.
#[derive(Clone, Debug)]
pub struct Device {
    backend: Rc<dyn Backend>,
    caps: Rc<Caps>,
    id: u64,
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Device {
    /// A device of any backend.
    pub fn new(backend: impl Backend + 'static) -> Device {
        let caps = Rc::new(backend.caps());
        Device { backend: Rc::new(backend), caps, id: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// The processor, on `threads` threads (0: all that there are), with its best instruction set.
    pub fn cpu(threads: usize) -> Device {
        Device::new(super::cpu::Cpu::new(super::cpu::CpuOptions { threads, ..Default::default() }))
    }

    /// The f64 reference: slow, and what the others are compared with.
    pub fn reference() -> Device {
        Device::new(super::reference::Reference)
    }

    /// What the device is and can do.
    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    /// Make a plan ready to run.
    pub fn compile(&self, plan: Arc<Plan>) -> Result<Box<dyn Executable>> {
        self.backend.compile(plan)
    }

    /// An array of zeros.
    pub fn zeros(&self, shape: &[usize], dtype: DType) -> Result<Array> {
        let len = shape.iter().product();
        if len == 0 {
            return Err(Error::Program(format!("an array needs at least one element, got shape {shape:?}")));
        }
        let buffer = Buffer { data: self.backend.alloc(dtype, len)?, device: self.id, dtype, len };
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
            let wide: Vec<f64> = values.iter().map(|v| f64::from(*v)).collect();
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
            let narrow: Vec<f32> = values.iter().map(|v| *v as f32).collect();
            self.backend.write(&array.buffer, bytemuck::cast_slice(&narrow))
        }
    }

    fn sized(&self, shape: &[usize], values: usize, dtype: DType) -> Result<Array> {
        if shape.iter().product::<usize>() != values {
            return Err(Error::Program(format!("{values} values do not fill an array of shape {shape:?}")));
        }
        self.zeros(shape, dtype)
    }

    /// Whether the array is on this device.
    pub fn own(&self, array: &Array) -> Result<()> {
        if array.buffer.device == self.id {
            return Ok(());
        }
        Err(Error::Program("an array of another device was passed; read it and write it to this one".to_owned()))
    }

    /// The values of an f32 array, once all work enqueued before is done.
    pub async fn read(&self, array: &Array) -> Result<Vec<f64>> {
        let bytes = self.bytes(array, DType::F32).await?;
        Ok(match self.caps.element_bytes {
            8 => bytemuck::allocation::pod_collect_to_vec(&bytes),
            _ => bytemuck::allocation::pod_collect_to_vec::<u8, f32>(&bytes).into_iter().map(f64::from).collect(),
        })
    }

    /// The values of an f32 array as f32.
    pub async fn read_f32(&self, array: &Array) -> Result<Vec<f32>> {
        let bytes = self.bytes(array, DType::F32).await?;
        Ok(match self.caps.element_bytes {
            8 => bytemuck::allocation::pod_collect_to_vec::<u8, f64>(&bytes).into_iter().map(|v| v as f32).collect(),
            _ => bytemuck::allocation::pod_collect_to_vec(&bytes),
        })
    }

    /// The values of a u32 array.
    pub async fn read_u32(&self, array: &Array) -> Result<Vec<u32>> {
        let bytes = self.bytes(array, DType::U32).await?;
        Ok(match self.caps.element_bytes {
            8 => bytemuck::allocation::pod_collect_to_vec::<u8, u64>(&bytes).into_iter().map(|v| v as u32).collect(),
            _ => bytemuck::allocation::pod_collect_to_vec(&bytes),
        })
    }

    async fn bytes(&self, array: &Array, dtype: DType) -> Result<Vec<u8>> {
        self.own(array)?;
        if array.buffer.dtype != dtype {
            return Err(Error::Program(format!("a {} array was read as {dtype}", array.buffer.dtype)));
        }
        self.backend.read(&array.buffer).await
    }
}
