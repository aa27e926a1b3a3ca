//! Shared helpers of the tests.

pub mod golden;
pub mod gpu;
pub mod process;
pub mod random_graph;
pub mod table;

/// The built-in environments without task parameters, which an agent that does not adapt can learn.
#[must_use]
pub fn single_task_names() -> Vec<&'static str> {
    let single = |name: &&str| quickstudy_core::env::builtin(name).is_ok_and(|env| env.spec().task.is_empty());
    quickstudy_core::env::builtin_names().into_iter().filter(single).collect()
}
