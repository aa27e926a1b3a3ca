//! Asking running work to stop, and seeing how far it is, from any thread.
//!
//! The CPU looks between steps, tiles and steps of loops, a GPU between submissions. What the program was to change is
//! then half changed, so a session that was interrupted neither saves nor goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Asks the work of a device to stop. Clones share the request; any thread may hold one.
///
/// A program that is asked to stop ends between two kernels, tiles or steps of a loop, with
/// [`Error::Interrupted`](crate::Error::Interrupted), and leaves what it was to change half changed.
/// The request stays until it is taken back.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<InterruptState>);

#[derive(Debug, Default)]
struct InterruptState {
    asked: AtomicBool,
    at: AtomicReached,
}

/// How far a program is, in a cache line that only one thread writes: what all threads look at stays in their caches.
#[derive(Debug, Default)]
#[repr(align(128))]
struct AtomicReached {
    part: AtomicUsize,
    parts: AtomicUsize,
    step: AtomicUsize,
    steps: AtomicUsize,
}

/// How far the running program is. What is not known is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// The part that runs, from 1.
    pub part: usize,
    /// Parts of the program.
    pub parts: usize,
    /// Steps that the part's outermost loop has made.
    pub step: usize,
    /// Steps that it makes.
    pub steps: usize,
}

impl Interrupt {
    /// Asks for a stop.
    pub fn ask(&self) {
        self.0.asked.store(true, Ordering::Relaxed);
    }

    /// Takes the request back.
    pub fn clear(&self) {
        self.0.asked.store(false, Ordering::Relaxed);
    }

    /// Tells whether a stop was asked for.
    #[inline]
    pub fn asked(&self) -> bool {
        self.0.asked.load(Ordering::Relaxed)
    }

    /// How far the program is that runs, or ran last.
    pub fn reached(&self) -> Reached {
        let AtomicReached { part, parts, step, steps } = &self.0.at;
        let [part, parts, step, steps] = [part, parts, step, steps].map(|of| of.load(Ordering::Relaxed));
        Reached { part, parts, step, steps }
    }

    /// Notes that a part of a program begins.
    pub fn enter(&self, part: usize, parts: usize) {
        self.0.at.part.store(part, Ordering::Relaxed);
        self.0.at.parts.store(parts, Ordering::Relaxed);
        self.at_step(0, 0);
    }

    /// Notes how many steps the part's outermost loop has made.
    #[inline]
    pub fn at_step(&self, step: usize, steps: usize) {
        self.0.at.step.store(step, Ordering::Relaxed);
        self.0.at.steps.store(steps, Ordering::Relaxed);
    }
}
