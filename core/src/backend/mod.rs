//! Devices that run planned tensor programs.

pub mod cpu;
pub mod reference;
