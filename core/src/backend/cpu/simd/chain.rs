//! Chains of elementwise operations on one scratch: one entry into the instruction set's code for all of them, and for
//! all steps of a loop that does nothing else.

use super::elementwise::{BinaryOp, Code, UnaryOp};
use super::jobs::{Bench, OperandPlace, Operation, READ, SCRATCH, SPLATS, STREAMS, THREEFRY, ValuesAt, WRITE, body};
pub use super::jobs::{Feed, Index, LoopSteps, UntilHolds};
use super::lanes::LANES;
use super::per_isa;
use crate::backend::cpu::simd::isa::Isa;
use std::ops::Range;

/// The operation of a job on its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The first operand as it is.
    Copy,
    /// A function of the first operand.
    Unary(UnaryOp),
    /// A function of the first two.
    Binary(BinaryOp),
    /// The second where the first (u32) is not 0, else the third.
    Select,
    /// Both words of threefry for key and counter, as [`super::elementwise::threefry`].
    Threefry,
    /// The rows of a stream, the last of which fills the other lanes.
    Read(RowNumber),
    /// The first operand to the rows of a stream.
    Write(RowNumber),
}

/// One number of each row of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowNumber {
    /// The stream's number.
    pub stream: u32,
    /// OperandPlace of the first row's number.
    pub at: u32,
    /// The memory may take the place of the register: nobody but the chain reads the register, and rows are next to
    /// each other.
    pub direct: bool,
}

/// Rows in memory outside of the scratch.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// The first.
    pub values: *mut f32,
    /// Distance of rows.
    pub row: usize,
    /// Distance of steps.
    pub delta: isize,
}

/// An operand of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Src {
    /// Values of the scratch from this one on.
    At(u32),
    /// The value of that number, for all.
    Value(u32),
}

/// One operation on `len` values.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The operation.
    pub work: Work,
    /// Where the result is in the scratch; threefry has two.
    pub dst: [u32; 2],
    /// Operands; those that the operation does not have are ignored.
    pub src: [Src; 4],
    /// Number of values, a multiple of 16.
    pub len: u32,
}

impl Job {
    fn operands(&self) -> &[Src] {
        let n = match self.work {
            Work::Read(_) => 0,
            Work::Copy | Work::Unary(_) | Work::Write(_) => 1,
            Work::Binary(_) => 2,
            Work::Select => 3,
            Work::Threefry => 4,
        };
        &self.src[..n]
    }

    /// Tells whether the values from `own` on, which belong to this job, overlap others.
    fn overlaps(&self, own: u32, at: u32, len: u32) -> bool {
        own < at + len && at < own + self.len
    }

    fn results(&self) -> &[u32] {
        &self.dst[..match self.work {
            Work::Write(_) => 0,
            Work::Threefry => 2,
            _ => 1,
        }]
    }

    /// The job with all that it works on as places.
    fn op(&self) -> Operation {
        let code = match self.work {
            Work::Copy => Code::COPY,
            Work::Unary(op) => Code::unary(op),
            Work::Binary(op) => Code::binary(op),
            Work::Select => Code::SELECT,
            Work::Threefry => THREEFRY,
            Work::Read(_) => READ,
            Work::Write(_) => WRITE,
        };
        let mut op = Operation {
            code,
            blocks: self.len / LANES as u32,
            dst: [OperandPlace { base: SCRATCH, at: 0 }; 2],
            src: [OperandPlace { base: SCRATCH, at: 0 }; 4],
        };
        for (place, at) in op.dst.iter_mut().zip(self.results()) {
            place.at = *at;
        }
        for (place, src) in op.src.iter_mut().zip(self.operands()) {
            *place = match src {
                Src::At(at) => OperandPlace { base: SCRATCH, at: *at },
                Src::Value(i) => OperandPlace { base: SPLATS, at: i * LANES as u32 },
            };
        }
        match self.work {
            Work::Read(column) => op.src[0] = column.place(),
            Work::Write(column) => op.dst[0] = column.place(),
            _ => {}
        }
        op
    }
}

impl RowNumber {
    fn place(self) -> OperandPlace {
        OperandPlace { base: STREAMS + self.stream, at: self.at }
    }
}

/// Jobs whose places have been checked.
#[derive(Clone, Debug)]
pub struct Chain {
    ops: Vec<Operation>,
    direct: Option<Direct>,
    scratch: usize,
    values: usize,
    streams: usize,
    work: usize,
}

/// The jobs of a chain for whole blocks of rows, which need no copies.
#[derive(Clone, Debug)]
struct Direct {
    ops: Vec<Operation>,
    /// Rows that there must be.
    rows: usize,
    /// Streams that are read after another is written.
    apart: Vec<[OperandPlace; 2]>,
}

/// Where the jobs of a chain find what is not in the scratch. It can be used again and again.
#[derive(Debug, Default)]
pub struct Streams {
    bases: Vec<ValuesAt>,
    /// Values that change from step to step.
    pub feeds: Vec<Feed>,
}

impl Streams {
    /// Forgets all.
    pub fn clear(&mut self) {
        let none = ValuesAt { values: std::ptr::null_mut(), step: 0, delta: 0 };
        self.bases.clear();
        self.bases.resize(STREAMS as usize, none);
        self.feeds.clear();
    }

    /// Adds the next stream.
    pub fn push(&mut self, Stream { values, row, delta }: Stream) {
        self.bases.push(ValuesAt { values, step: row, delta });
    }
}

impl Chain {
    /// Jobs to be done in this order.
    ///
    /// # Panics
    /// If a length is no multiple of 16, or a result overlaps another result of its job, or an operand but is not in
    /// its place.
    pub fn new(jobs: &[Job]) -> Chain {
        let (mut scratch, mut values, mut streams, mut work) = (0, 0, 0, 0);
        for job in jobs {
            assert!(job.len > 0 && (job.len as usize).is_multiple_of(LANES), "lanes come in groups of 16");
            work += job.len as usize;
            if let Work::Read(column) | Work::Write(column) = job.work {
                streams = streams.max(column.stream as usize + 1);
            }
            for (i, dst) in job.results().iter().enumerate() {
                scratch = scratch.max(*dst as usize + job.len as usize);
                let apart = |at: u32| at.abs_diff(*dst) >= job.len;
                assert!(job.results()[..i].iter().all(|d| apart(*d)), "results overlap");
                let fits = |s: &Src| matches!(s, Src::Value(_)) || matches!(s, Src::At(at) if at == dst || apart(*at));
                assert!(job.operands().iter().all(fits), "a result overlaps an operand");
            }
            for src in job.operands() {
                match src {
                    Src::At(at) => scratch = scratch.max(*at as usize + job.len as usize),
                    Src::Value(i) => values = values.max(*i as usize + 1),
                }
            }
        }
        let ops = jobs.iter().map(Job::op).collect();
        Chain { ops, direct: direct(jobs), scratch, values, streams, work }
    }

    /// Number of jobs.
    pub fn len(&self) -> usize {
        self.ops.len()
    }

    /// Tells whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// Values that all jobs make together.
    pub fn work(&self) -> usize {
        self.work
    }

    /// Do the jobs of those numbers, which have no streams, on `lanes` of every 16 values: where fewer count, they are
    /// next to each other. `values` are those of the jobs, 16 times each.
    ///
    /// # Panics
    /// If the scratch or the values are too few, there are no such jobs or lanes, or jobs have streams.
    pub fn run(&self, isa: Isa, scratch: &mut [f32], values: &mut [f32], jobs: Range<usize>, lanes: usize) {
        assert!(self.streams == 0, "jobs of a part have no streams");
        assert!(lanes <= LANES, "blocks have 16 lanes");
        let mut bases = self.bases(scratch, values);
        let bench = &mut Bench { bases: &mut bases, feeds: &mut [], rows: 0, lanes };
        let (ops, steps) = (&self.ops[jobs], &mut LoopSteps { len: 1, index: None, until: None });
        // SAFETY: all places are in the scratch or the values, which have them.
        unsafe { enter(isa, ops, bench, steps) };
    }

    /// Do all jobs once for each step, with streams of so many rows; returns how many steps were made. Streams, values
    /// that change and the index are then those of the next step.
    ///
    /// # Safety
    /// In all steps, streams and feeds must be valid for reading, and for writing those streams that are written, and
    /// apart from the scratch; the rows of two streams must be the same or apart.
    ///
    /// # Panics
    /// If the scratch, the values, the streams or the rows are too few.
    pub unsafe fn steps(
        &self,
        isa: Isa,
        scratch: &mut [f32],
        values: &mut [f32],
        streams: &mut Streams,
        rows: usize,
        steps: &mut LoopSteps,
    ) -> usize {
        assert!(self.streams + STREAMS as usize <= streams.bases.len() && rows > 0, "the chain has more streams");
        assert!(streams.feeds.iter().all(|f| (f.slot + 1) * LANES <= values.len()), "there are fewer values");
        let last = steps.until.map(|u| u.at + u.blocks * u.lanes).max(steps.index.map(|i| i.at + i.len));
        assert!(last.is_none_or(|last| last <= scratch.len()), "the scratch is shorter");
        streams.bases[..2].copy_from_slice(&self.bases(scratch, values));
        let start = |place: OperandPlace| streams.bases[place.base as usize].values.wrapping_add(place.at as usize);
        let same = |[a, b]: &[OperandPlace; 2]| start(*a) == start(*b);
        let ops = match &self.direct {
            Some(direct) if direct.rows <= rows && !direct.apart.iter().any(same) => &direct.ops,
            _ => &self.ops,
        };
        let bench = &mut Bench { bases: &mut streams.bases, feeds: &mut streams.feeds, rows, lanes: LANES };
        // SAFETY: as above, and the caller's promise for streams and feeds.
        unsafe { enter(isa, ops, bench, steps) }
    }

    fn bases(&self, scratch: &mut [f32], values: &mut [f32]) -> [ValuesAt; 2] {
        let enough = self.scratch <= scratch.len() && self.values * LANES <= values.len();
        assert!(enough, "the chain has more than there is");
        let base = |values: &mut [f32], step| ValuesAt { values: values.as_mut_ptr(), step, delta: 0 };
        [base(scratch, 1), base(values, 0)]
    }
}

/// # Safety
/// `Chain::new` has found the largest places and that results are apart from operands or in their place; the caller
/// has seen that the places exist.
unsafe fn enter(isa: Isa, ops: &[Operation], bench: &mut Bench<'_>, steps: &mut LoopSteps) -> usize {
    per_isa!(isa, body, (ops: &[Operation], bench: &mut Bench<'_>, steps: &mut LoopSteps) -> usize)
}

/// Let jobs read streams instead of what was read from them, and write them instead of what is written to them.
fn direct(jobs: &[Job]) -> Option<Direct> {
    let mut ops: Vec<Option<Operation>> = jobs.iter().map(|job| Some(job.op())).collect();
    let mut rows = 0;
    for (i, job) in jobs.iter().enumerate() {
        let (column, at, first) = match (job.work, job.src[0]) {
            (Work::Read(column), _) if column.direct => (column, job.dst[0], i),
            (Work::Write(column), Src::At(at)) if column.direct => {
                let over = |k: &usize| jobs[*k].results().iter().any(|to| jobs[*k].overlaps(*to, at, job.len));
                let Some(made) = (0..i).rev().find(over) else { continue };
                let fits = jobs[made].results() == [at] && jobs[made].len == job.len;
                // A stream that is the register's already is one of another kind of memory.
                if !fits || ops[made].is_none_or(|op| op.code == READ || op.dst[0].base != SCRATCH) {
                    continue;
                }
                (column, at, made)
            }
            _ => continue,
        };
        let Some(readers) = readers(jobs, first, at, job.len) else { continue };
        for k in readers {
            for (place, src) in ops[k].iter_mut().flat_map(|op| &mut op.src).zip(jobs[k].operands()) {
                if *src == Src::At(at) {
                    *place = column.place();
                }
            }
        }
        if first < i
            && let Some(op) = &mut ops[first]
        {
            op.dst[0] = column.place();
        }
        ops[i] = None;
        rows = rows.max(job.len as usize);
    }
    let ops: Vec<Operation> = ops.into_iter().flatten().collect();
    let mut apart = Vec::new();
    for (i, op) in ops.iter().enumerate().filter(|(_, op)| op.dst[0].base >= STREAMS) {
        let later = ops[i + 1..].iter().flat_map(|op| op.src).filter(|src| src.base >= STREAMS && *src != op.dst[0]);
        apart.extend(later.map(|src| [op.dst[0], src]));
    }
    (rows > 0).then_some(Direct { ops, rows, apart })
}

/// Jobs that read the values which job `made` has put there, if they read all or none of them.
fn readers(jobs: &[Job], made: usize, at: u32, len: u32) -> Option<Vec<usize>> {
    let mut found = Vec::new();
    for (k, job) in jobs.iter().enumerate().skip(made + 1) {
        let over = |to: u32| job.overlaps(to, at, len);
        let whole = |to: u32| to == at && job.len == len;
        let read = |src: &Src| if let Src::At(from) = src { Some(*from) } else { None };
        let read: Vec<u32> = job.operands().iter().filter_map(read).filter(|from| over(*from)).collect();
        if !read.iter().all(|from| whole(*from)) {
            return None;
        }
        if !read.is_empty() {
            found.push(k);
        }
        if job.results().iter().any(|to| over(*to)) {
            return job.results().iter().all(|to| whole(*to) || !over(*to)).then_some(found);
        }
    }
    Some(found)
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
