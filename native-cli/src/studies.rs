//! Several trainings in one command: as processes beside each other, studies and sweeps.

pub mod follow;
pub mod jobs;
pub mod planned_run;
pub mod study;
pub mod sweep;
