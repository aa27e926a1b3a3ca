//! The platform: operations, gradients, plans, environments, and who may import whom.

#![forbid(unsafe_code)]

mod debug;
mod documents;
mod environments;
mod fuzz;
mod gate;
mod gradients;
mod host;
mod host_faults;
mod inputs;
mod layering;
mod names;
mod names_page;
mod networks;
mod op_table;
mod origins;
mod places;
mod plans;
mod play;
mod prose;
mod tasks;
