//! Arrays with names, which programs change.

use crate::backend::Array;
use crate::{DType, Device, Error, Result};

/// Named arrays that programs update in place: all that training changes. Saved and restored as a whole.
#[derive(Clone, Debug, Default)]
pub struct State {
    entries: Vec<(String, Array)>,
}

impl State {
    /// No arrays.
    pub fn new() -> State {
        State::default()
    }

    /// Add an array, or replace the one of that name.
    pub fn insert(&mut self, name: impl Into<String>, array: Array) {
        let name = name.into();
        match self.entries.iter_mut().find(|(n, _)| *n == name) {
            Some(entry) => entry.1 = array,
            None => self.entries.push((name, array)),
        }
    }

    /// The array of that name.
    ///
    /// # Errors
    /// If there is none.
    pub fn get(&self, name: &str) -> Result<&Array> {
        self.entries
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, a)| a)
            .ok_or_else(|| Error::unknown("state", name, self.entries.iter().map(|(n, _)| n.as_str())))
    }

    /// A copy with memory of its own.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn copy(&self, device: &Device) -> Result<State> {
        let mut copy = State::new();
        for (name, array) in self.iter() {
            let of = &array.shape;
            copy.insert(
                name,
                match array.dtype() {
                    DType::F32 => device.array(of, &device.read(array).await?)?,
                    DType::U32 => device.array_u32(of, &device.read_u32(array).await?)?,
                },
            );
        }
        Ok(copy)
    }

    /// Some rows of each array, in memory of their own.
    ///
    /// # Errors
    /// If an array has no such row, or the device fails.
    pub async fn rows(&self, device: &Device, rows: &[usize]) -> Result<State> {
        /// Numbers that are on the host at once.
        const SOME: usize = 1 << 22;
        let mut some = State::new();
        for (name, array) in self.iter() {
            let mut shape = array.shape.clone();
            let Some(all) = shape.first_mut() else { continue };
            let each = array.len() / (*all).max(1);
            *all = rows.len();
            let new = device.zeros(&shape, array.dtype())?;
            for (to, from) in rows.iter().enumerate() {
                for at in (0..each).step_by(SOME) {
                    let part = at..(at + SOME).min(each);
                    let words = device.read_part(array, from * each + part.start..from * each + part.end).await?;
                    device.write_part(&new, to * each + at, &words)?;
                }
            }
            some.insert(name, new);
        }
        Ok(some)
    }

    /// All names and arrays, in the order in which they were added.
    pub fn into_arrays(self) -> Vec<(String, Array)> {
        self.entries
    }

    /// All names and arrays, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Array)> {
        self.entries.iter().map(|(n, a)| (n.as_str(), a))
    }
}
