//! Snapshot files taken apart and put together again, intact but for what a test changes in them.

use std::collections::BTreeMap;

use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView, serialize};

/// A snapshot whose header and tensors can be changed; [`bytes`](Crafted::bytes) gives it a right checksum again.
///
/// The checksum is computed as `docs/snapshots.md` says and not by the library.
#[derive(Clone, Debug)]
pub struct Crafted {
    /// The header's text.
    pub header: String,
    /// Type, shape and bytes of each tensor.
    pub tensors: BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>,
}

#[allow(clippy::unwrap_used, reason = "called by tests only")]
impl Crafted {
    /// The parts of a file.
    ///
    /// # Panics
    /// If it is no snapshot.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Crafted {
        let (_, metadata) = SafeTensors::read_metadata(bytes).unwrap();
        let header = metadata.metadata().as_ref().unwrap()["quickstudy"].clone();
        let file = SafeTensors::deserialize(bytes).unwrap();
        let of = |view: &TensorView<'_>| (view.dtype(), view.shape().to_vec(), view.data().to_vec());
        Crafted { header, tensors: file.iter().map(|(name, view)| (name.to_owned(), of(&view))).collect() }
    }

    /// The header with one part of its text replaced.
    ///
    /// # Panics
    /// If it is not there.
    #[must_use]
    pub fn header(&self, old: &str, new: &str) -> Crafted {
        assert!(self.header.contains(old), "{old} is not in {}", self.header);
        Crafted { header: self.header.replacen(old, new, 1), ..self.clone() }
    }

    /// One number of a tensor replaced.
    ///
    /// # Panics
    /// If there is no such number.
    #[must_use]
    pub fn number(&self, name: &str, at: usize, value: f64) -> Crafted {
        let mut new = self.clone();
        let (dtype, _, bytes) = new.tensors.get_mut(name).unwrap();
        match dtype {
            Dtype::F32 => bytes[4 * at..][..4].copy_from_slice(&(value as f32).to_le_bytes()),
            Dtype::U32 => bytes[4 * at..][..4].copy_from_slice(&(value as u32).to_le_bytes()),
            _ => bytes[8 * at..][..8].copy_from_slice(&value.to_le_bytes()),
        }
        new
    }

    /// All numbers of some f32 tensors replaced.
    ///
    /// # Panics
    /// If there is no such tensor.
    #[must_use]
    pub fn filled(&self, tensors: &[(&str, f64)]) -> Crafted {
        tensors.iter().fold(self.clone(), |file, (name, value)| {
            (0..file.f32s(name).len()).fold(file, |file, at| file.number(name, at, *value))
        })
    }

    /// The numbers of an f32 tensor.
    ///
    /// # Panics
    /// If there is none of that name.
    #[must_use]
    pub fn f32s(&self, name: &str) -> Vec<f32> {
        let (dtype, _, bytes) = &self.tensors[name];
        assert_eq!(*dtype, Dtype::F32);
        bytes.as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
    }

    /// The file.
    ///
    /// # Panics
    /// If the header has no checksum.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        const KEY: &str = "\"checksum\":";
        // Other libraries write a blank between a key and its value.
        let after = self.header.rfind(KEY).unwrap() + KEY.len();
        let at = after + self.header[after..].find('"').unwrap() + 1;
        let (before, after) = (&self.header[..at], &self.header[at + 16..]);
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |bytes: &[u8]| {
            bytes.iter().for_each(|byte| hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        };
        add(before.as_bytes());
        add(after.as_bytes());
        for (name, (_, shape, bytes)) in &self.tensors {
            add(name.as_bytes());
            shape.iter().for_each(|size| add(&(*size as u64).to_le_bytes()));
            add(bytes);
        }
        let header = format!("{before}{hash:016x}{after}");
        let views = self.tensors.iter().map(|(name, (dtype, shape, bytes))| {
            (name.as_str(), TensorView::new(*dtype, shape.clone(), bytes).unwrap())
        });
        serialize(views, Some([("quickstudy".to_owned(), header)].into_iter().collect())).unwrap()
    }
}
