//! The platform: operations, gradients, plans, environments, and who may import whom.

mod debug;
mod environments;
mod fuzz;
mod gradients;
mod host;
mod layering;
mod op_table;
mod plans;
mod tasks;
