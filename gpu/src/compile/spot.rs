//! Places of values: buffers, and parts of buffers.

use quickstudy_kernels::tensor::NodeId;
use quickstudy_kernels::{Error, Result};

use crate::plan::{Kernel, KernelSchedule};

/// A buffer of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Home {
    /// Bound for a run.
    Arg(usize),
    /// The program's own.
    Own(usize),
}

/// Names a value in the program's own memory, by the same key in every compilation of the same plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// A temporary of the schedule at that address.
    Slot(usize, usize),
    /// A carry of the loop at that address.
    Carry(usize, usize),
    /// A stacked output of the loop at that address.
    Row(usize, usize),
}

impl Key {
    pub fn slot(schedule: &KernelSchedule, i: usize) -> Key {
        Key::Slot(std::ptr::from_ref(schedule).addr(), i)
    }

    pub fn carry(kernel: &Kernel, i: usize) -> Key {
        Key::Carry(std::ptr::from_ref(kernel).addr(), i)
    }

    pub fn row(kernel: &Kernel, i: usize) -> Key {
        Key::Row(std::ptr::from_ref(kernel).addr(), i)
    }
}

/// The place of a value: a buffer, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spot {
    /// The buffer.
    pub home: Home,
    /// Its first word there.
    pub first: usize,
    /// The key of the value and its number of words, if it has a buffer of the program's own for itself.
    pub key: Option<(Key, usize)>,
}

impl Spot {
    pub fn arg(i: usize) -> Spot {
        Spot { home: Home::Arg(i), first: 0, key: None }
    }
}

/// A value to write, where, and the loop level whose step selects the row of a stacked output.
pub(super) type Write = (NodeId, Spot, Option<usize>);

pub(super) fn fault<T>(what: &str) -> Result<T> {
    Err(Error::Device(format!("fault in the plan: {what}")))
}
