//! Algorithms: they learn, resume bit for bit, give the same on device and host, and their gradients are right.

#![forbid(unsafe_code)]

mod baselines;
mod budgets;
mod determinism;
mod dqn;
mod guesses;
mod host_session;
mod host_training;
mod interrupt;
mod iteration;
mod learning;
mod many_tasks;
mod memory;
mod meta;
mod meta_evaluator;
mod meta_gradients;
mod meta_settings;
mod off_policy;
mod off_policy_settings;
mod one_of;
mod outcomes;
mod parts;
mod pearl;
mod policy_gradient;
mod population;
mod recurrent;
mod resume;
mod rl2;
mod rl2_host;
mod sac;
mod snapshots;
mod steps_made;
mod svpg;
mod time_limit;
mod trpo;
mod warm_start;
mod whole_episodes;
mod whole_replay;
