//! Tensors of snapshots, with names for all that training changes: a tensor per layer, and the optimiser's moments
//! beside it.
//!
//! `docs/snapshots.md` explains the tensors to readers of the files. Snapshots of format 1 held the arrays of the state
//! as they are in memory, with θ as one vector.

use safetensors::tensor::Dtype;

use super::rules::{self, RunLength};
use super::seed_array::{SeedArray, acting, name, parts};
use super::snapshot::{Entry, find};
use super::wrong::wrong;
use crate::algo::StateEntry;
use crate::backend::room;
use crate::credit::Moments;
use crate::nn::{Layout, Part};
use crate::policy::OBS_LIMIT;
use crate::{DType, Result};

/// Finds the tensor for an array of the state that is held by a single one.
pub(in crate::train) fn tensor<'a, 'b>(tensors: &'b [Entry<'a>], entry: &StateEntry) -> Result<&'b Entry<'a>> {
    fitting(tensors, &Part::of_array(name(entry.name), &entry.shape), dtype(entry.dtype))
}

/// The names of the tensors that hold these entries in a file of format `format`, and of those that are derived from
/// them.
pub(in crate::train) fn names(entries: &[StateEntry], layout: &Layout, format: u32) -> Vec<String> {
    let zeros =
        |entry: &StateEntry| SeedArray { entry: entry.clone(), words: vec![0; entry.shape.iter().product()].into() };
    let derived = derived(&entries.iter().map(zeros).collect::<Vec<_>>(), layout);
    let parts = entries.iter().flat_map(|entry| parts(entry, layout, format));
    parts.map(|part| part.name).chain(derived.into_iter().map(|entry| entry.name)).collect()
}

/// Checks the shapes of the tensors that hold these entries, as far as a file of format `format` has them.
pub(in crate::train) fn check_shapes(
    tensors: &[Entry<'_>],
    format: u32,
    entries: &[StateEntry],
    layout: &Layout,
) -> Result<()> {
    for entry in entries {
        let there = |part: &Part| tensors.iter().any(|tensor| tensor.name == part.name);
        let mut parts = parts(entry, layout, format).into_iter().filter(there);
        parts.try_for_each(|part| fitting(tensors, &part, dtype(entry.dtype)).map(|_| ()))?;
    }
    Ok(())
}

/// The tensors of a file with these arrays.
///
/// # Errors
/// [`Error::Memory`](crate::Error::Memory) if there is no room for them.
pub(in crate::train) fn written(arrays: &[SeedArray<'_>], layout: &Layout) -> Result<Vec<Entry<'static>>> {
    let mut entries = Vec::new();
    for SeedArray { entry, words } in arrays {
        for part in parts(entry, layout, u32::MAX) {
            let mut bytes = room(4 * part.shape.iter().product::<usize>())?;
            part.places().for_each(|at| bytes.extend(words[at].to_le_bytes()));
            entries.push(Entry { name: part.name, dtype: dtype(entry.dtype), shape: part.shape, bytes: bytes.into() });
        }
    }
    entries.extend(derived(arrays, layout));
    Ok(entries)
}

/// The inverse of [`written`]: reads these arrays from the tensors of a file, and checks them by the length of its run.
pub(in crate::train) fn read(
    tensors: &[Entry<'_>],
    format: u32,
    entries: &[StateEntry],
    layout: &Layout,
    made: RunLength,
) -> Result<Vec<SeedArray<'static>>> {
    let arrays = entries.iter().map(|entry| array(tensors, format, entry, layout)).collect::<Result<Vec<_>>>()?;
    rules::check(&arrays, layout, format, made)?;
    // A number that a file holds twice must be the same in both places.
    for expected in derived(&arrays, layout).into_iter().filter(|_| format > 1) {
        if *find(tensors, &expected.name)? != expected {
            return Err(wrong(format!("the tensor `{}` does not follow from those of `policy.0`", expected.name)));
        }
    }
    Ok(arrays)
}

fn array(tensors: &[Entry<'_>], format: u32, entry: &StateEntry, layout: &Layout) -> Result<SeedArray<'static>> {
    let parts = parts(entry, layout, format);
    // All tensors are checked before memory is taken by the header's sizes.
    let tensors = parts.iter().map(|part| fitting(tensors, part, dtype(entry.dtype))).collect::<Result<Vec<_>>>()?;
    let len = entry.shape.iter().product();
    let mut words = room(len)?;
    words.resize(len, 0);
    for (part, tensor) in parts.iter().zip(tensors) {
        for (at, bytes) in part.places().zip(tensor.bytes.as_chunks().0) {
            words[at] = u32::from_le_bytes(*bytes);
        }
    }
    Ok(SeedArray { entry: entry.clone(), words: words.into() })
}

/// Derives layer 0 of each network, which normalises, from the statistics of observations, so that a reader needs
/// nothing else.
fn derived(arrays: &[SeedArray<'_>], layout: &Layout) -> Vec<Entry<'static>> {
    let find = |name| arrays.iter().find(|array| array.entry.name == name);
    let (Some(mean), Some(variance)) = (find("obs_mean"), find("obs_var")) else { return Vec::new() };
    let of = |name: String, numbers: &[f32]| Entry {
        name,
        dtype: Dtype::F32,
        shape: vec![numbers.len()],
        bytes: numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
    };
    let numbers = |array: &SeedArray<'_>| array.words.iter().map(|word| f32::from_bits(*word)).collect::<Vec<_>>();
    let mean = numbers(mean);
    let std: Vec<f32> = numbers(variance).into_iter().map(Moments::deviation).collect();
    let layer = |net: &str| {
        let name = |what: &str| format!("{net}.0.{what}");
        [of(name("mean"), &mean), of(name("std"), &std), of(name("clip"), &[OBS_LIMIT as f32])]
    };
    let [_, std, clip] = layer(acting(layout));
    // A value function has a layer 0 of its own; critics, which read actions too, count their linear layers from 0.
    let of_value = |prefix: &str| layout.slices().any(|(name, ..)| name.starts_with(prefix));
    let of_value = of_value("value.") && !of_value("value.0.");
    [[std, clip].to_vec(), if of_value { layer("value").to_vec() } else { Vec::new() }].concat()
}

fn fitting<'a, 'b>(entries: &'b [Entry<'a>], part: &Part, dtype: Dtype) -> Result<&'b Entry<'a>> {
    let entry = find(entries, &part.name)?;
    if entry.dtype != dtype || entry.shape != part.shape {
        return Err(wrong(format!(
            "the tensor `{}` is {:?} {:?}, expected {:?} {dtype:?}; was it made with another environment or other \
             networks?",
            part.name, entry.shape, entry.dtype, part.shape
        )));
    }
    Ok(entry)
}

/// The data type of a tensor in a file.
pub(in crate::train) fn dtype(of: DType) -> Dtype {
    match of {
        DType::F32 => Dtype::F32,
        DType::U32 => Dtype::U32,
    }
}
