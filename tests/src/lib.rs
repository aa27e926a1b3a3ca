//! Shared helpers of the tests.

#![forbid(unsafe_code)]

pub mod costly;
pub mod crafted;
pub mod every;
pub mod golden;
pub mod gpu;
pub mod hosted;
pub mod inputs;
pub mod json_schema;
pub mod panel;
pub mod process;
pub mod python;
pub mod random_graph;
pub mod ranks;
pub mod rooms;
pub mod scratch;
pub mod table;
pub mod toy_env;
pub mod trainings;
pub mod turned;

/// Pages whose examples are tests: they compile and run as those of the documentation do.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../README.md")]
    struct Readme;

    #[doc = include_str!("../../core/README.md")]
    struct Core;

    #[doc = include_str!("../../gpu/README.md")]
    struct Gpu;

    #[doc = include_str!("../../bridge/README.md")]
    struct Bridge;

    #[doc = include_str!("../../native-cli/README.md")]
    struct CommandLine;

    #[doc = include_str!("../../docs/tutorials/1-first-agent.md")]
    struct FirstAgent;

    #[doc = include_str!("../../docs/tutorials/2-your-environment.md")]
    struct YourEnvironment;

    #[doc = include_str!("../../docs/tutorials/3-your-algorithm.md")]
    struct YourAlgorithm;

    #[doc = include_str!("../../docs/tutorials/4-tasks-and-adaptation.md")]
    struct TasksAndAdaptation;

    #[doc = include_str!("../../docs/tutorials/5-in-the-browser.md")]
    struct InTheBrowser;

    #[doc = include_str!("../../docs/tutorials/6-learning-from-memory.md")]
    struct LearningFromMemory;

    #[doc = include_str!("../../docs/tutorials/7-your-body.md")]
    struct YourBody;
}

/// The built-in environments without those that differ from another one in the kind of reward or the body only, for
/// tests that compile shaders.
#[must_use]
pub fn distinct_names() -> Vec<&'static str> {
    let others = ["-sparse", "-squared", "-dense", "-dir", "walker2d-vel", "swimmer-vel", "walker2d-rand-params"];
    let variant = |name: &&str| others.iter().any(|end| name.ends_with(end));
    quickstudy_core::env::builtin_names().into_iter().filter(|name| !variant(name)).collect()
}

/// The built-in environments without task parameters, which an agent that does not adapt can learn.
#[must_use]
pub fn single_task_names() -> Vec<&'static str> {
    let single = |name: &&str| quickstudy_core::env::builtin(name).is_ok_and(|env| env.spec().task.is_empty());
    quickstudy_core::env::builtin_names().into_iter().filter(single).collect()
}
