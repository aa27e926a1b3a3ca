//! Arrays of the state of one seed, and the names of tensors for them in a file.

use std::borrow::Cow;

use crate::algo::{First, StateEntry};
use crate::nn::{Layout, Part};

/// Arrays of the state that are one tensor each, with its name.
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
    ("ep_return_rest", "environment.episode_return_rest"),
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

/// Arrays that files of earlier formats do not have, with the first format that has them. They were zeros.
const ADDED: &[(&str, u32)] = &[("ep_return_rest", 6)];

/// An array of the state of one seed, as bits.
#[derive(Debug)]
pub(in crate::train) struct SeedArray<'a> {
    pub entry: StateEntry,
    pub words: Cow<'a, [u32]>,
}

/// The tensors that hold an array of the state in a file of this format; none if it is [`ADDED`] later. θ is held by
/// the slices of `layout`.
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
        name if ADDED.iter().any(|(added, since)| *added == name && format < *since) => Vec::new(),
        name if format < 2 => vec![Part::of_array(name, &entry.shape)],
        "theta" => of_parameters(""),
        "adam_m" => of_parameters("optimiser.first_moment."),
        "adam_v" => of_parameters("optimiser.second_moment."),
        "target" => of_parameters("target."),
        statistics @ ("obs_mean" | "obs_var" | "obs_count") => {
            let part = name(statistics).trim_start_matches("policy");
            vec![Part::of_array(&format!("{}{part}", acting(layout)), &entry.shape)]
        }
        of => vec![Part::of_array(name(of), &entry.shape)],
    }
}

/// The name of the acting network: a policy, or values of choices.
pub(in crate::train) fn acting(layout: &Layout) -> &'static str {
    if layout.slices().any(|(name, ..)| name.starts_with("q.")) { "q" } else { "policy" }
}

/// The name of the tensor for an array of the state that is held by a single one.
pub(in crate::train) fn name(of: &str) -> &str {
    NAMES.iter().find(|(ours, _)| *ours == of).map_or(of, |(_, known)| known)
}
