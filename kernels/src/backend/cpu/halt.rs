//! Why a run ends before its end.

use crate::{Error, Shortage};

/// Why a run ends before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Halt {
    /// The run was asked to stop.
    Interrupted,
    /// Reports that so many bytes could not be allocated.
    Memory(usize),
}

/// Result of what may end early.
pub type Ran<T> = Result<T, Halt>;

impl Halt {
    /// The error of the core that says this.
    pub fn error(self) -> Error {
        match self {
            Halt::Interrupted => Error::Interrupted,
            Halt::Memory(bytes) => Error::Memory(Box::new(Shortage::new(bytes as u64, None))),
        }
    }
}

/// An empty list with room for `len` elements.
pub fn room<T>(len: usize) -> Ran<Vec<T>> {
    let mut list = Vec::new();
    match list.try_reserve_exact(len) {
        Ok(()) => Ok(list),
        Err(_) => Err(Halt::Memory(len.saturating_mul(size_of::<T>()))),
    }
}

/// A list of `len` zeros.
pub fn zeros<T: Clone + Default>(len: usize) -> Ran<Vec<T>> {
    let mut list = room(len)?;
    list.resize(len, T::default());
    Ok(list)
}

/// A copy of a list.
pub fn copy<T: Copy>(of: &[T]) -> Ran<Vec<T>> {
    let mut list = room(of.len())?;
    list.extend_from_slice(of);
    Ok(list)
}
