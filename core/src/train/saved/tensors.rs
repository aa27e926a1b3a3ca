//! How snapshots name what training changes: a tensor per layer, the optimiser's moments beside it, all by their meaning.
//!
//! `docs/snapshots.md` explains the layout to those who read the files. Snapshots of format 1 held the arrays of the state
//! as they are in memory, θ as one vector.

use std::borrow::Cow;

use safetensors::tensor::Dtype;

use super::rules::{self, RunLength};
use super::snapshot::{Entry, find, wrong};
use crate::algo::{First, StateEntry};
use crate::backend::room;
use crate::credit::Moments;
use crate::nn::{Layout, Part};
use crate::policy::OBS_LIMIT;
use crate::{DType, Result};

/// Arrays of the state that are one tensor of another name.
const NAMES: &[(&str, &str)] = &[
    ("key", "random.key"),
    ("adam_scale", "optimiser.bias_correction"),
    ("adam_scale_values", "optimiser.bias_correction.values"),
    ("adam_scale_temperature", "optimiser.bias_correction.temperature"),
    ("adam_scale_critics", "optimiser.bias_correction.critics"),
    ("adam_scale_value", "optimiser.bias_correction.value"),
    ("updates_since_target", "target.updates_since"),
    ("memory", "memory.transitions"),
    ("memory_next", "memory.next"),
    ("memory_filled", "memory.filled"),
    ("context_first", "memory.context"),
    ("context_filled", "memory.context_filled"),
    ("priorities", "memory.priorities"),
    ("priority_sums_1", "memory.priority_sums.1"),
    ("priority_sums_2", "memory.priority_sums.2"),
    ("priority_sums_3", "memory.priority_sums.3"),
    ("priority_sums_4", "memory.priority_sums.4"),
    ("priority_largest", "memory.largest_priority"),
    ("disturbance", "exploration.noise"),
    ("task", "environment.task"),
    ("env_state", "environment.state"),
    ("env_steps", "environment.steps"),
    ("obs", "environment.observation"),
    ("ep_return", "environment.episode_return"),
    ("discounted", "environment.discounted_return"),
    ("policy_memory", "environment.policy_memory"),
    ("value_memory", "environment.value_memory"),
    ("obs_mean", "policy.0.mean"),
    ("obs_var", "policy.0.variance"),
    ("obs_count", "policy.0.count"),
    ("advantage_mean", "advantages.mean"),
    ("advantage_var", "advantages.variance"),
    ("advantage_count", "advantages.count"),
    ("baseline_weights", "baseline.weights"),
    ("baseline_range", "baseline.range"),
    ("reward_mean", "rewards.mean"),
    ("reward_var", "rewards.variance"),
    ("reward_count", "rewards.count"),
    ("particle_returns", "particles.returns"),
    ("particle_episodes", "particles.episodes"),
    ("search_std", "search.deviation"),
    ("search_mean", "search.mean"),
    ("search_sigma", "search.sigma"),
    ("search_covariance", "search.covariance"),
    ("search_paths", "search.paths"),
    ("search_generation", "search.generation"),
];

/// An array of the state of one seed, as bits.
#[derive(Debug)]
pub(in crate::train) struct SeedArray<'a> {
    pub entry: StateEntry,
    pub words: Cow<'a, [u32]>,
}

/// The tensors that hold an array of the state; θ is made of the slices of `layout`.
pub(in crate::train) fn parts(entry: &StateEntry, layout: &Layout, format: u32) -> Vec<Part> {
    let of_parameters = |prefix: &str| {
        let mut parts = match entry.first {
            First::Parameters(from) => layout.between(from, from + entry.shape[0]).parts(),
            _ => layout.parts(),
        };
        parts.iter_mut().for_each(|part| part.name.insert_str(0, prefix));
        parts
    };
    match entry.name {
        name if format < 2 => vec![Part::whole(name, &entry.shape)],
        "theta" => of_parameters(""),
        "adam_m" => of_parameters("optimiser.first_moment."),
        "adam_v" => of_parameters("optimiser.second_moment."),
        "target" => of_parameters("target."),
        statistics @ ("obs_mean" | "obs_var" | "obs_count") => {
            let part = name(statistics).trim_start_matches("policy");
            vec![Part::whole(&format!("{}{part}", acting(layout)), &entry.shape)]
        }
        of => vec![Part::whole(name(of), &entry.shape)],
    }
}

/// The name of the network that acts: a policy, or values of choices in its place.
fn acting(layout: &Layout) -> &'static str {
    if layout.slices().any(|(name, ..)| name.starts_with("q.")) { "q" } else { "policy" }
}

/// The name of the tensor that an array of the state is, if it is one.
pub(in crate::train) fn name(of: &str) -> &str {
    NAMES.iter().find(|(ours, _)| *ours == of).map_or(of, |(_, known)| known)
}

/// The tensor that an array of the state is.
pub(in crate::train) fn tensor<'a, 'b>(tensors: &'b [Entry<'a>], entry: &StateEntry) -> Result<&'b Entry<'a>> {
    fitting(tensors, &Part::whole(name(entry.name), &entry.shape), dtype(entry.dtype))
}

/// Names of the tensors that hold these entries in a file of that format, and of those that follow from them.
pub(in crate::train) fn names(entries: &[StateEntry], layout: &Layout, format: u32) -> Vec<String> {
    let zeros =
        |entry: &StateEntry| SeedArray { entry: entry.clone(), words: vec![0; entry.shape.iter().product()].into() };
    let derived = derived(&entries.iter().map(zeros).collect::<Vec<_>>(), layout);
    let parts = entries.iter().flat_map(|entry| parts(entry, layout, format));
    parts.map(|part| part.name).chain(derived.into_iter().map(|entry| entry.name)).collect()
}

/// Checks the shapes of the tensors that hold these entries, as far as a file of that format has them.
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

/// The tensors of a file that holds these arrays.
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

/// The inverse of [`written`]: these arrays of the tensors of a file, whose run has come so far.
pub(in crate::train) fn read(
    tensors: &[Entry<'_>],
    format: u32,
    entries: &[StateEntry],
    layout: &Layout,
    made: RunLength,
) -> Result<Vec<SeedArray<'static>>> {
    let arrays = entries.iter().map(|entry| array(tensors, format, entry, layout)).collect::<Result<Vec<_>>>()?;
    rules::check(&arrays, layout, format, made)?;
    // A number that a file holds twice is the same twice.
    for expected in derived(&arrays, layout).into_iter().filter(|_| format > 1) {
        if *find(tensors, &expected.name)? != expected {
            return Err(wrong(format!("the tensor `{}` does not follow from those of `policy.0`", expected.name)));
        }
    }
    Ok(arrays)
}

fn array(tensors: &[Entry<'_>], format: u32, entry: &StateEntry, layout: &Layout) -> Result<SeedArray<'static>> {
    let parts = parts(entry, layout, format);
    // All are looked at before memory is taken for what the header speaks of.
    let tensors = parts.iter().map(|part| fitting(tensors, part, dtype(entry.dtype))).collect::<Result<Vec<_>>>()?;
    let len = parts.iter().map(|part| part.shape.iter().product::<usize>()).sum();
    let mut words = room(len)?;
    words.resize(len, 0);
    for (part, tensor) in parts.iter().zip(tensors) {
        for (at, bytes) in part.places().zip(tensor.bytes.as_chunks().0) {
            words[at] = u32::from_le_bytes(*bytes);
        }
    }
    Ok(SeedArray { entry: entry.clone(), words: words.into() })
}

/// Derives layer 0 of each network, which normalises, from the statistics of observations, so that a reader needs nothing else.
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
            "the tensor `{}` is {:?} {:?}, expected {:?} {dtype:?}; was it made with another environment or other networks?",
            part.name, entry.shape, entry.dtype, part.shape
        )));
    }
    Ok(entry)
}

/// The same in files.
pub(in crate::train) fn dtype(of: DType) -> Dtype {
    match of {
        DType::F32 => Dtype::F32,
        DType::U32 => Dtype::U32,
    }
}
