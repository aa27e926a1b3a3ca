//! How much memory the arrays and programs of a device take, and may take.
//!
//! A compiled program knows its `Footprint`: arguments, temporaries of all schedules, scratch of the threads.
//! `Device::compile` adds what is taken already, and refuses with `Error::Memory` what is too much; the first run
//! allocates. The core asks no system how much there is: the command line does and hands it over, in WebAssembly it is
//! 4 GiB. Training takes what it needs on the host beforehand, such as copies of the state while it is saved.

use std::cell::Cell;
use std::rc::Rc;

use crate::program::{Footprint, Trace};
use crate::{Error, Result, Shortage};

/// Bytes that are taken on a device, and how many may be.
#[derive(Debug)]
pub(super) struct Budget {
    pub limit: Cell<u64>,
    arrays: Cell<u64>,
    programs: Cell<u64>,
}

/// The purpose that bytes are taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Arrays, which programs take as arguments.
    Arrays,
    /// All else.
    Programs,
}

/// Bytes that stay taken until this is dropped.
#[derive(Debug)]
pub struct Lease {
    budget: Rc<Budget>,
    purpose: Purpose,
    bytes: u64,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let of = self.budget.of(self.purpose);
        of.set(of.get().saturating_sub(self.bytes));
    }
}

impl Budget {
    pub fn new(limit: u64) -> Rc<Budget> {
        Rc::new(Budget { limit: Cell::new(limit), arrays: Cell::new(0), programs: Cell::new(0) })
    }

    fn of(&self, purpose: Purpose) -> &Cell<u64> {
        match purpose {
            Purpose::Arrays => &self.arrays,
            Purpose::Programs => &self.programs,
        }
    }

    /// Takes bytes.
    pub fn take(self: &Rc<Self>, purpose: Purpose, bytes: u64) -> Result<Lease> {
        let all = self.arrays.get().saturating_add(self.programs.get()).saturating_add(bytes);
        if all > self.limit.get() {
            return Err(Error::Memory(Box::new(Shortage::new(all, Some(self.limit.get())))));
        }
        Ok(self.lease(purpose, bytes))
    }

    /// Takes bytes, even where there are not so many left.
    pub fn lease(self: &Rc<Self>, purpose: Purpose, bytes: u64) -> Lease {
        let of = self.of(purpose);
        of.set(of.get().saturating_add(bytes));
        Lease { budget: self.clone(), purpose, bytes }
    }

    /// Takes what a program keeps beside its arguments. These are arrays that there are already, as a rule, or will be.
    pub fn admit(self: &Rc<Self>, footprint: &Footprint, trace: &Trace) -> Result<Lease> {
        let before = self.programs.get();
        let arrays = self.arrays.get().max(footprint.args);
        let all = before.saturating_add(arrays).saturating_add(footprint.own);
        if all > self.limit.get() {
            let largest = footprint.describe(trace);
            return Err(Error::Memory(Box::new(Shortage { largest, ..Shortage::new(all, Some(self.limit.get())) })));
        }
        Ok(self.lease(Purpose::Programs, footprint.own))
    }
}
