//! Numbers recorded from independent code, read from `tests/golden` or the folder that `QUICKSTUDY_GOLDEN` names.

#![forbid(unsafe_code)]

mod bodies;
mod dqn;
mod envs;
mod executor;
mod machines;
mod meta;
mod off_policy;
mod pearl;
mod policies;
mod population;
mod ppo;
mod processed;
mod recurrent;
mod rl2;
mod sac;
mod samples;
mod snapshots;
mod svpg;
