//! Chains of elementwise operations on one scratch: one entry into the instruction set's code for all of them, and for
//! all steps of a loop that does nothing else.

use super::elementwise::{BinaryOp, Code, UnaryOp};
use super::jobs::{
    BY_ROW, Bench, Lists, OperandPlace, Operation, READ, RowList, SCRATCH, SPLATS, STREAMS, SUMS, THREEFRY, ValuesAt,
    WRITE, body,
};
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
    /// The sum of each row of the first operand, whose rows of so many numbers lie one after the other, in the order of
    /// [`super::reduce`]; the last fills the other lanes.
    Sums(u32),
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
    /// Numbers of the scratch from this one on, of rows so far apart: for jobs that go row by row, as all that follow.
    Row(u32, u32),
    /// One number of the scratch for each row, from this one on.
    Number(u32),
    /// Numbers of a stream from this one on, the same for all rows.
    Along(RowNumber),
}

/// How a job goes over rows that lie one after the other, and not on lanes. Row by row go copies, sums, products and
/// threefry only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowWalk {
    /// It does not: a row is a lane.
    Lanes,
    /// At once: all rows, of so many numbers each, a multiple of 16.
    Whole(u32),
    /// One after the other: rows of the result are so far apart, and there are at most so many.
    Apart(u32, u32),
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
    /// Number of values, or of those of a row where a job goes row by row; a multiple of 16.
    pub len: u32,
    /// How rows lie.
    pub rows: RowWalk,
}

impl Job {
    fn operands(&self) -> &[Src] {
        let n = match self.work {
            Work::Read(_) => 0,
            Work::Copy | Work::Unary(_) | Work::Write(_) | Work::Sums(_) => 1,
            Work::Binary(_) => 2,
            Work::Select => 3,
            Work::Threefry => 4,
        };
        &self.src[..n]
    }

    /// Scratch that a result takes.
    fn written(&self, dst: u32) -> Range<u32> {
        match self.rows {
            RowWalk::Apart(distance, most) => dst..dst + (most - 1) * distance + self.len,
            _ => dst..dst + self.len,
        }
    }

    /// Scratch that an operand takes.
    fn read(&self, src: &Src) -> Option<Range<u32>> {
        let most = if let RowWalk::Apart(_, most) = self.rows { most } else { 1 };
        match (*src, self.work) {
            (Src::At(at), Work::Sums(m)) => Some(at..at + self.len * m),
            (Src::At(at), _) => Some(at..at + self.len),
            (Src::Row(at, distance), _) => Some(at..at + (most - 1) * distance + self.len),
            (Src::Number(at), _) => Some(at..at + most),
            (Src::Value(_) | Src::Along(_), _) => None,
        }
    }

    /// Tells whether an operand is in the place of a result, so that each value is read before it is written.
    fn in_place(&self, src: &Src, dst: u32) -> bool {
        match (*src, self.rows) {
            (Src::Row(at, distance), RowWalk::Apart(own, _)) => at == dst && distance == own,
            (Src::At(at), _) => at == dst && !matches!(self.work, Work::Sums(_)),
            _ => false,
        }
    }

    fn results(&self) -> &[u32] {
        &self.dst[..match self.work {
            Work::Write(_) => 0,
            Work::Threefry => 2,
            _ => 1,
        }]
    }

    /// The job with all that it works on as places; what it does to rows is added to the lists.
    fn op(&self, lists: &mut Vec<RowList>) -> Operation {
        let code = match self.work {
            Work::Copy => Code::COPY,
            Work::Unary(op) => Code::unary(op),
            Work::Binary(op) => Code::binary(op),
            Work::Select => Code::SELECT,
            Work::Threefry => THREEFRY,
            Work::Read(_) => READ,
            Work::Write(_) => WRITE,
            Work::Sums(_) => SUMS,
        };
        let (of_rows, each) = match self.rows {
            RowWalk::Whole(row) => (true, row),
            _ => (false, self.len / LANES as u32),
        };
        let none = OperandPlace { base: SCRATCH, at: 0 };
        let mut op = Operation { code, of_rows, each, dst: [none; 2], src: [none; 4] };
        for (place, at) in op.dst.iter_mut().zip(self.results()) {
            place.at = *at;
        }
        for (place, src) in op.src.iter_mut().zip(self.operands()) {
            *place = match src {
                Src::At(at) | Src::Row(at, _) | Src::Number(at) => OperandPlace { base: SCRATCH, at: *at },
                Src::Value(i) => OperandPlace { base: SPLATS, at: i * LANES as u32 },
                Src::Along(column) => column.place(),
            };
        }
        match self.work {
            Work::Read(column) => op.src[0] = column.place(),
            Work::Write(column) => op.dst[0] = column.place(),
            _ => {}
        }
        if let Some(list) = self.list(code) {
            (op.code, op.each) = (if code == SUMS { SUMS } else { BY_ROW }, lists.len() as u32);
            lists.push(list);
        }
        op
    }

    fn list(&self, code: Code) -> Option<RowList> {
        let mut list = RowList { code, numbers: self.len, dst: self.len, src: [0; 4], single: 0, along: 0 };
        match (self.rows, self.work) {
            (_, Work::Sums(numbers)) => return Some(RowList { numbers, ..list }),
            (RowWalk::Apart(distance, _), _) => list.dst = distance,
            _ => return None,
        }
        for (i, src) in self.operands().iter().enumerate() {
            match src {
                Src::Row(_, distance) => list.src[i] = *distance,
                Src::Number(_) => (list.src[i], list.single) = (1, list.single | 1 << i),
                Src::Along(_) => list.along |= 1 << i,
                Src::At(_) | Src::Value(_) => {}
            }
        }
        Some(list)
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
    /// The most rows of a block.
    rows: usize,
    /// Rows that operations sum up or go over one by one.
    lists: Vec<RowList>,
}

/// The jobs of a chain for whole blocks of rows, which need no copies.
#[derive(Clone, Debug)]
struct Direct {
    ops: Vec<Operation>,
    /// The exact number of rows of a block.
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
        let (mut scratch, mut values, mut streams, mut work, mut rows) = (0, 0, 0, 0, usize::MAX);
        for job in jobs {
            assert!(job.len > 0 && (job.len as usize).is_multiple_of(LANES), "lanes come in groups of 16");
            work += job.len as usize;
            rows = rows.min(match job.rows {
                RowWalk::Lanes => usize::MAX,
                RowWalk::Whole(row) => (job.len / row) as usize,
                RowWalk::Apart(_, most) => most as usize,
            });
            if let Work::Sums(_) = job.work {
                rows = rows.min(job.len as usize);
            }
            if let Work::Read(column) | Work::Write(column) = job.work {
                streams = streams.max(column.stream as usize + 1);
            }
            let apart = |a: &Range<u32>, b: &Range<u32>| a.end <= b.start || b.end <= a.start;
            for (i, dst) in job.results().iter().enumerate() {
                let own = job.written(*dst);
                scratch = scratch.max(own.end as usize);
                assert!(job.results()[..i].iter().all(|d| apart(&job.written(*d), &own)), "results overlap");
                let free = |s: &Src| job.read(s).is_none_or(|read| apart(&read, &own));
                let fits = |s: &Src| free(s) || job.in_place(s, *dst);
                assert!(job.operands().iter().all(fits), "a result overlaps an operand");
            }
            for src in job.operands() {
                scratch = scratch.max(job.read(src).map_or(0, |read| read.end as usize));
                match src {
                    Src::Value(i) => values = values.max(*i as usize + 1),
                    Src::Along(column) => streams = streams.max(column.stream as usize + 1),
                    _ => {}
                }
            }
        }
        let mut lists = Vec::new();
        let ops: Vec<Operation> = jobs.iter().map(|job| job.op(&mut lists)).collect();
        Chain { direct: direct(jobs, &ops), ops, lists, scratch, values, streams, work, rows }
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
        assert!(self.streams == 0 && self.rows == usize::MAX, "jobs of a part have no streams or rows");
        assert!(lanes <= LANES, "blocks have 16 lanes");
        let mut bases = self.bases(scratch, values);
        let bench = &mut Bench { bases: &mut bases, feeds: &mut [], lists: Lists { isa, rows: &[] }, rows: 0, lanes };
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
        assert!(rows <= self.rows, "rows of the chain are fewer");
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
        let bench = &mut Bench {
            bases: &mut streams.bases,
            feeds: &mut streams.feeds,
            lists: Lists { isa, rows: &self.lists },
            rows,
            lanes: LANES,
        };
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
fn direct(jobs: &[Job], ops: &[Operation]) -> Option<Direct> {
    let mut ops: Vec<Option<Operation>> = ops.iter().copied().map(Some).collect();
    let mut rows = 0;
    for (i, job) in jobs.iter().enumerate() {
        let (column, at, first) = match (job.work, job.src[0]) {
            (Work::Read(column), _) if column.direct => (column, job.dst[0], i),
            (Work::Write(column), Src::At(at)) if column.direct => {
                let all = at..at + job.len;
                let over = |k: &usize| jobs[*k].results().iter().any(|to| overlap(&jobs[*k].written(*to), &all));
                let Some(made) = (0..i).rev().find(over) else { continue };
                let maker = &jobs[made];
                let fits = maker.results() == [at] && maker.len == job.len && maker.rows == RowWalk::Lanes;
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
    let all = at..at + len;
    for (k, job) in jobs.iter().enumerate().skip(made + 1) {
        let whole = |to: u32| to == at && job.len == len && job.rows == RowWalk::Lanes;
        let over = |src: &&Src| job.read(src).is_some_and(|read| overlap(&read, &all));
        let read: Vec<&Src> = job.operands().iter().filter(over).collect();
        if !read.iter().all(|src| matches!(src, Src::At(from) if whole(*from)) && !matches!(job.work, Work::Sums(_))) {
            return None;
        }
        if !read.is_empty() {
            found.push(k);
        }
        let over = |to: &u32| overlap(&job.written(*to), &all);
        if job.results().iter().any(over) {
            return job.results().iter().all(|to| whole(*to) || !over(to)).then_some(found);
        }
    }
    Some(found)
}

fn overlap(a: &Range<u32>, b: &Range<u32>) -> bool {
    a.start < b.end && b.start < a.end
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
