//! Shared helpers of the tests.

pub mod golden;
pub mod gpu;
pub mod process;
pub mod random_graph;
pub mod table;
