//! Handle to a device.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::array::Array;
use super::budget::{Budget, Purpose};
#[cfg(not(target_arch = "wasm32"))]
use super::ranks::Ranks;
use super::{Backend, Buffer, Caps, Census, Counters, Executable, Interrupt, Lease, ScalarValue};
use crate::program::{Footprint, Trace};
use crate::{DType, Error, Result, Shortage};

/// Handle to a device. Clones are the same device; a session lives on one thread.
#[derive(Clone, Debug)]
pub struct Device {
    backend: Rc<dyn Backend>,
    caps: Rc<Caps>,
    id: u64,
    budget: Rc<Budget>,
    #[cfg(not(target_arch = "wasm32"))]
    ranks: Option<Rc<dyn Ranks>>,
}

/// A program and the memory that it takes.
struct Leased {
    inner: Box<dyn Executable>,
    _lease: Lease,
}

impl Executable for Leased {
    fn run(&mut self, args: &[Buffer], scalars: &[ScalarValue]) -> Result<()> {
        self.inner.run(args, scalars)
    }

    fn counters(&self) -> Counters {
        self.inner.counters()
    }

    fn census(&self) -> Census {
        self.inner.census()
    }

    fn footprint(&self, trace: &Trace) -> Footprint {
        self.inner.footprint(trace)
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn print(&self, trace: &Trace) -> String {
        self.inner.print(trace)
    }
}

static NEXT: AtomicU64 = AtomicU64::new(1);

impl Device {
    /// A device of any backend.
    pub fn new(backend: impl Backend + 'static) -> Device {
        let caps = Rc::new(backend.caps());
        // All that can be addressed; WebAssembly's memory ends at 4 GiB.
        let limit = if caps.is_cpu { usize::MAX as u64 } else { u64::MAX };
        Device {
            backend: Rc::new(backend),
            caps,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
            budget: Budget::new(limit),
            #[cfg(not(target_arch = "wasm32"))]
            ranks: None,
        }
    }

    /// Makes the device that of one rank among several, which train together.
    #[cfg(not(target_arch = "wasm32"))]
    #[must_use]
    pub fn among(self, ranks: Rc<dyn Ranks>) -> Device {
        let ranks = (ranks.count() > 1).then_some(ranks);
        Device { ranks, ..self }
    }

    /// The ranks that train together, if there are several.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn ranks(&self) -> Option<&dyn Ranks> {
        self.ranks.as_deref()
    }

    /// This rank's number and R, the number of ranks: 0 and 1, unless several train together.
    pub fn rank(&self) -> [usize; 2] {
        #[cfg(not(target_arch = "wasm32"))]
        return self.ranks.as_ref().map_or([0, 1], |ranks| [ranks.rank(), ranks.count()]);
        #[cfg(target_arch = "wasm32")]
        [0, 1]
    }

    /// The processor, on `threads` threads (0: all of the processor), with its best instruction set.
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

    /// Makes a program ready to run.
    ///
    /// # Errors
    /// [`Error::Memory`] if it takes more memory, with all else on the device, than may be taken.
    pub fn compile(&self, trace: Arc<Trace>) -> Result<Box<dyn Executable>> {
        let inner = self.backend.compile(trace.clone())?;
        let _lease = self.budget.admit(&inner.footprint(&trace), &trace)?;
        Ok(Box::new(Leased { inner, _lease }))
    }

    /// The memory that a program takes, whether there is so much or not.
    pub fn footprint(&self, trace: Arc<Trace>) -> Result<Footprint> {
        Ok(self.backend.compile(trace.clone())?.footprint(&trace))
    }

    /// Arrays and programs may take so many bytes in all, from now on; at first as many as can be addressed.
    pub fn limit_memory(&self, bytes: u64) {
        self.budget.limit.set(bytes);
    }

    /// Counts bytes as taken that the caller will need beside arrays and programs, as long as the lease is kept: what
    /// is compiled or allocated from then on must fit beside them.
    pub fn reserve(&self, bytes: u64) -> Lease {
        self.budget.lease(Purpose::Programs, bytes)
    }

    /// Takes bytes of the host's memory, where the device is a part of it, as long as the lease is kept.
    ///
    /// # Errors
    /// [`Error::Memory`] if it may not have so many beside all else.
    pub fn take_on_host(&self, bytes: u64) -> Result<Lease> {
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
            self.backend.write(&array.buffer, 0, bytemuck::cast_slice(&wide))?;
        } else {
            self.backend.write(&array.buffer, 0, bytemuck::cast_slice(values))?;
        }
        Ok(array)
    }

    /// A u32 array.
    pub fn array_u32(&self, shape: &[usize], values: &[u32]) -> Result<Array> {
        let array = self.sized(shape, values.len(), DType::U32)?;
        if self.caps.element_bytes == 8 {
            let wide: Vec<u64> = values.iter().map(|v| u64::from(*v)).collect();
            self.backend.write(&array.buffer, 0, bytemuck::cast_slice(&wide))?;
        } else {
            self.backend.write(&array.buffer, 0, bytemuck::cast_slice(values))?;
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
            self.backend.write(&array.buffer, 0, bytemuck::cast_slice(values))
        } else {
            let mut narrow: Vec<f32> = room(values.len())?;
            narrow.extend(values.iter().map(|v| *v as f32));
            self.backend.write(&array.buffer, 0, bytemuck::cast_slice(&narrow))
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
        let bytes = self.bytes(array, DType::F32, 0..array.buffer.len).await?;
        match self.caps.element_bytes {
            8 => numbers(&bytes, |v: f64| v),
            _ => numbers(&bytes, |v: f32| f64::from(v)),
        }
    }

    /// The values of an f32 array as f32.
    pub async fn read_f32(&self, array: &Array) -> Result<Vec<f32>> {
        let bytes = self.bytes(array, DType::F32, 0..array.buffer.len).await?;
        match self.caps.element_bytes {
            8 => numbers(&bytes, |v: f64| v as f32),
            _ => numbers(&bytes, |v: f32| v),
        }
    }

    /// The values of a u32 array.
    pub async fn read_u32(&self, array: &Array) -> Result<Vec<u32>> {
        let bytes = self.bytes(array, DType::U32, 0..array.buffer.len).await?;
        match self.caps.element_bytes {
            8 => numbers(&bytes, |v: u64| v as u32),
            _ => numbers(&bytes, |v: u32| v),
        }
    }

    /// The bits of some elements of an array, as 32-bit numbers, once all work enqueued before is done.
    ///
    /// # Errors
    /// If there are no such elements, or the device fails.
    pub async fn read_part(&self, array: &Array, elements: Range<usize>) -> Result<Vec<u32>> {
        let mut words = room(elements.len())?;
        self.append_part(array, elements, &mut words).await?;
        Ok(words)
    }

    /// As [`Device::read_part`], behind what a list has.
    pub(crate) async fn append_part(&self, array: &Array, elements: Range<usize>, words: &mut Vec<u32>) -> Result<()> {
        check_part(array, &elements)?;
        if elements.is_empty() {
            return Ok(());
        }
        let dtype = array.buffer.dtype;
        let bytes = self.bytes(array, dtype, elements).await?;
        match (self.caps.element_bytes, dtype) {
            (8, DType::F32) => words.extend(numbers(&bytes, |v: f64| (v as f32).to_bits())?),
            (8, DType::U32) => words.extend(numbers(&bytes, |v: u64| v as u32)?),
            _ => match bytemuck::try_cast_slice(&bytes) {
                Ok(all) => words.extend_from_slice(all),
                Err(_) => words.extend(numbers(&bytes, |v: u32| v)?),
            },
        }
        Ok(())
    }

    /// Overwrite the elements of an array from number `first` on by those of these bits.
    ///
    /// # Errors
    /// If it has not so many, or the device fails.
    pub fn write_part(&self, array: &Array, first: usize, words: &[u32]) -> Result<()> {
        self.own(array)?;
        check_part(array, &(first..first.saturating_add(words.len())))?;
        if words.is_empty() {
            return Ok(());
        }
        if self.caps.element_bytes == 4 {
            return self.backend.write(&array.buffer, first, bytemuck::cast_slice(words));
        }
        let wide: Vec<u64> = match array.buffer.dtype {
            DType::F32 => words.iter().map(|word| f64::from(f32::from_bits(*word)).to_bits()).collect(),
            DType::U32 => words.iter().map(|word| u64::from(*word)).collect(),
        };
        self.backend.write(&array.buffer, first, bytemuck::cast_slice(&wide))
    }

    async fn bytes(&self, array: &Array, dtype: DType, elements: Range<usize>) -> Result<Vec<u8>> {
        self.own(array)?;
        if array.buffer.dtype != dtype {
            return Err(Error::Program(format!("a {} array was read as {dtype}", array.buffer.dtype)));
        }
        self.backend.read(&array.buffer, elements).await
    }
}

/// Checks that an array has these elements.
fn check_part(array: &Array, elements: &Range<usize>) -> Result<()> {
    match elements.start <= elements.end && elements.end <= array.buffer.len {
        true => Ok(()),
        false => Err(Error::Program(format!("an array of {} elements has no elements {elements:?}", array.buffer.len))),
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
pub fn copied<T: Copy>(of: &[T]) -> Result<Vec<T>> {
    super::cpu::halt::copy(of).map_err(super::cpu::halt::Halt::error)
}

/// An empty list with room for `len` elements.
///
/// # Errors
/// [`Error::Memory`] if there is none.
pub fn room<T>(len: usize) -> Result<Vec<T>> {
    super::cpu::halt::room(len).map_err(super::cpu::halt::Halt::error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_arrays_are_read_and_written_where_they_are() {
        for device in [Device::cpu(1), Device::reference()] {
            let wait = |array: &Array, elements| pollster::block_on(device.read_part(array, elements));
            let floats = device.array(&[2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
            let bits = |of: &[f32]| of.iter().map(|x| x.to_bits()).collect::<Vec<u32>>();
            assert_eq!(wait(&floats, 2..5).unwrap(), bits(&[2.0, 3.0, 4.0]));
            device.write_part(&floats, 4, &bits(&[-4.0, -5.0])).unwrap();
            assert_eq!(pollster::block_on(device.read(&floats)).unwrap(), [0.0, 1.0, 2.0, 3.0, -4.0, -5.0]);
            let words = device.array_u32(&[4], &[7, 8, 9, u32::MAX]).unwrap();
            device.write_part(&words, 1, &[80]).unwrap();
            assert_eq!(wait(&words, 0..4).unwrap(), [7, 80, 9, u32::MAX]);
            assert_eq!(wait(&words, 4..4).unwrap(), [0; 0]);
            device.write_part(&words, 4, &[]).unwrap();
            assert!(wait(&words, 3..5).is_err() && wait(&words, 5..5).is_err());
            assert!(device.write_part(&words, 3, &[1, 2]).is_err());
            assert_eq!(pollster::block_on(device.read_u32(&words)).unwrap(), [7, 80, 9, u32::MAX]);
        }
    }
}
