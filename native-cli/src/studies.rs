//! Several trainings in one command: as processes side by side, studies and sweeps.

pub(crate) mod follow;
pub(crate) mod jobs;
pub(crate) mod planned_run;
pub(crate) mod study;
pub(crate) mod sweep;
