//! Runs lowered schedules.

use super::buffer::{CpuBuffer, Words};
use super::footprint;
use super::halt::{Halt, Ran, copy};
use super::memory::{Memory, Span};
use super::node::{self, gather_view};
#[cfg(not(target_arch = "wasm32"))]
use super::print;
use super::run::Run;
use super::simd::isa::Isa;
use super::steps::{Lowered, LoweredStep, ScanStep};
use super::tile::Workspace;
use super::values::{Storage, ValueId, View};
use crate::backend::{Buffer, Census, Counters, Executable, Interrupt, ScalarValue};
use crate::program::{Footprint, Trace};
use crate::{Error, Result};
use std::sync::atomic::{AtomicU64, Ordering};

/// A program compiled for the CPU.
#[derive(Debug)]
pub struct CpuExecutable {
    /// The program's schedule.
    pub root: Lowered,
    /// Instruction set.
    pub isa: Isa,
    /// Threads.
    pub threads: usize,
    /// Asks for a stop.
    pub interrupt: Interrupt,
    /// Words that all runs have copied outside of tiles.
    pub moved: AtomicU64,
}

impl Executable for CpuExecutable {
    fn run(&mut self, args: &[Buffer], scalars: &[ScalarValue]) -> Result<()> {
        let mut borrowed = Vec::with_capacity(args.len());
        let mut first: Vec<usize> = Vec::with_capacity(args.len());
        for (i, arg) in args.iter().enumerate() {
            let Some(buffer) = arg.data.as_any().downcast_ref::<CpuBuffer>() else {
                return Err(Error::Program("an argument is not on the CPU".to_owned()));
            };
            // One array may be bound to several inputs.
            let same = args[..i].iter().position(|b| std::rc::Rc::ptr_eq(&b.data, &arg.data));
            first.push(same.unwrap_or(i));
            borrowed.push(match same {
                Some(_) => None,
                None => Some(
                    buffer
                        .words
                        .try_borrow_mut()
                        .map_err(|_| Error::Program("an argument is still in use by another run".to_owned()))?,
                ),
            });
        }
        let mut spans: Vec<Option<Span>> =
            borrowed.iter_mut().map(|b| b.as_mut().map(|w| Span::of(w.as_mut_slice()))).collect();
        for i in 0..spans.len() {
            spans[i] = spans[first[i]];
        }
        let spans: Vec<Span> = spans.into_iter().flatten().collect();
        let mut bits: Vec<[u32; 1]> = scalars.iter().map(|s| [s.bits()]).collect();
        let scalars: Vec<Span> = bits.iter_mut().map(|b| Span::of(b)).collect();
        let (args, scalars, isa, threads) = (&spans[..], &scalars[..], self.isa, self.threads);
        let run = Run { args, scalars, isa, threads, interrupt: &self.interrupt, outermost: true, moved: &self.moved };
        self.root.run(&run).map_err(Halt::error)
    }

    fn counters(&self) -> Counters {
        Counters { moved: 4 * self.moved.load(Ordering::Relaxed), ..Counters::default() }
    }

    fn census(&self) -> Census {
        self.root.census()
    }

    fn footprint(&self, trace: &Trace) -> Footprint {
        footprint::of(trace, &self.root, self.threads)
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn print(&self, trace: &Trace) -> String {
        print::text(&trace.graph, &self.root)
    }
}

impl Lowered {
    /// Run all steps of a program.
    fn run(&mut self, run: &Run<'_>) -> Ran<()> {
        let mut mem = self.memory(run, None)?;
        Lowered::steps(&mut self.steps, &mut mem, run, &mut self.space)
    }

    /// Addresses of all values.
    #[inline(never)]
    fn memory<'m>(&mut self, run: &Run<'_>, outer: Option<&Memory<'_>>) -> Ran<Memory<'m>> {
        if self.words.is_empty() {
            self.words = self
                .storage
                .iter()
                .map(|s| match s {
                    Storage::Temp(len) => Words::new(*len),
                    Storage::Static(data) => {
                        let mut words = Words::new(data.len())?;
                        words.as_mut_slice().copy_from_slice(data);
                        Ok(words)
                    }
                    Storage::Iota(shape, axis) => {
                        let inner: usize = shape[axis + 1..].iter().product();
                        let mut words = Words::new(shape.iter().product())?;
                        let index = |i: usize| ((i / inner) % shape[*axis]) as u32;
                        words.as_mut_slice().iter_mut().enumerate().for_each(|(i, word)| *word = index(i));
                        Ok(words)
                    }
                    _ => Ok(Words::default()),
                })
                .collect::<Ran<_>>()?;
        }
        let spans: Vec<Span> = self
            .storage
            .iter()
            .zip(&mut self.words)
            .map(|(s, words)| match s {
                Storage::Arg(i) => run.args[*i],
                Storage::Scalar(i) => run.scalars[*i],
                Storage::Outer(v) => outer.map_or_else(|| Span::of(words.as_mut_slice()), |m| m.span(*v)),
                _ => Span::of(words.as_mut_slice()),
            })
            .collect();
        Ok(Memory::new(spans))
    }

    #[inline(never)]
    fn steps(steps: &mut [LoweredStep], mem: &mut Memory<'_>, run: &Run<'_>, space: &mut Workspace) -> Ran<()> {
        let parts = steps.len();
        for (i, step) in steps.iter_mut().enumerate() {
            if run.interrupt.asked() {
                return Err(Halt::Interrupted);
            }
            if run.outermost {
                run.interrupt.enter(i + 1, parts);
            }
            match step {
                LoweredStep::Copy { src, dst } => {
                    if !in_place(mem, src, *dst) {
                        run.moves(2 * src.len());
                        let data = gather_view(mem, src)?;
                        mem.words_mut(*dst).copy_from_slice(&data);
                    }
                }
                LoweredStep::Node(step) => node::run(step, mem, run, space)?,
                LoweredStep::Scan(scan) => scan.run(mem, run)?,
                LoweredStep::Tile(tile) => tile.run(mem, run, space)?,
            }
        }
        Ok(())
    }
}

/// Tells whether a view is the whole of a value's own memory.
fn in_place(mem: &Memory<'_>, src: &View, dst: ValueId) -> bool {
    src.is_contiguous() && mem.span(src.value).part(src.offset, 1).same_start(mem.span(dst))
}

impl ScanStep {
    #[inline(never)]
    fn run(&mut self, mem: &mut Memory<'_>, run: &Run<'_>) -> Ran<()> {
        for carry in &self.carries {
            if !in_place(mem, &carry.init, carry.kept) {
                run.moves(2 * carry.init.len());
                let data = gather_view(mem, &carry.init)?;
                mem.words_mut(carry.kept).copy_from_slice(&data);
            }
        }
        if self.has_ended(mem) {
            return Ok(());
        }
        let mut xs: Vec<Words> = self
            .xs
            .iter()
            .map(|(view, _, _)| {
                run.moves(2 * view.len());
                let mut words = Words::new(view.len())?;
                words.as_mut_slice().copy_from_slice(&gather_view(mem, view)?);
                Ok(words)
            })
            .collect::<Ran<_>>()?;
        let mut index = [0u32];
        let mut inner = self.body.memory(run, Some(mem))?;
        for carry in &self.carries {
            inner.set(carry.param, mem.span(carry.kept));
        }
        for (value, storage) in self.body.storage.iter().enumerate() {
            if let Storage::Same(other) = storage {
                inner.set(value, inner.span(*other));
            }
        }
        inner.set(self.index, Span::of(&mut index));
        let at = Span::of(&mut index);
        let inside = Run { outermost: false, ..*run };
        for step in 0..self.len {
            if run.outermost {
                run.interrupt.at_step(step, self.len);
            }
            let t = if self.reverse { self.len - 1 - step } else { step };
            inner.set(self.index, at);
            inner.words_mut(self.index)[0] = t as u32;
            for ((_, param, row), words) in self.xs.iter().zip(&mut xs) {
                inner.set(*param, Span::of(&mut words.as_mut_slice()[t * row..(t + 1) * row]));
            }
            Lowered::steps(&mut self.body.steps, &mut inner, &inside, &mut self.body.space)?;
            for (value, view) in &self.ys {
                run.moves(2 * view.len());
                let data = gather_view(&inner, view)?;
                mem.words_mut(*value)[t * data.len()..][..data.len()].copy_from_slice(&data);
            }
            for carry in &self.carries {
                if let Some(staged) = carry.staged {
                    run.moves(2 * carry.next.len());
                    let data = gather_view(&inner, &carry.next)?;
                    inner.words_mut(staged).copy_from_slice(&data);
                }
            }
            for carry in self.carries.iter().filter(|c| !c.unchanged) {
                run.moves(2 * carry.next.len());
                let data = match carry.staged {
                    Some(staged) => copy(inner.words(staged))?,
                    None => gather_view(&inner, &carry.next)?,
                };
                mem.words_mut(carry.kept).copy_from_slice(&data);
            }
            if self.has_ended(mem) {
                break;
            }
        }
        Ok(())
    }

    /// Tells whether the steps that are left change nothing, and leave no rows.
    fn has_ended(&self, mem: &Memory<'_>) -> bool {
        let done = |u: usize| mem.words(self.carries[u].kept).iter().all(|word| *word != 0);
        self.ys.is_empty() && self.until.is_some_and(done)
    }
}
