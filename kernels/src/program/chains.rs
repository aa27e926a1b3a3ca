//! Which nodes run together. Decided from shapes and operations alone, so it is the same for every device.

mod unit;

pub(crate) use unit::{Unit, Units};
