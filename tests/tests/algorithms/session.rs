//! All algorithms alike: sessions, snapshots, the host, and the policy that plays.

mod boxes;
mod budgets;
mod determinism;
mod every;
mod forged_episodes;
mod host_session;
mod host_training;
mod interrupt;
mod iteration;
mod lengths;
mod many_tasks;
mod memory;
mod one_of;
mod parts;
mod ranks;
mod resume;
mod several_choices;
mod snapshots;
mod steps_made;
mod time_limit;
mod trials;
mod warm_start;
mod whole_batch;
