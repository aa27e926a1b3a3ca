//! The kernel of a [`super::chain::Chain`]: works off operations whose operands are all addresses, for steps of a loop.

use std::marker::PhantomData;

use super::elementwise::{BinaryOp, Code, code_body, threefry_body};
use super::lanes::{Block, Contiguous, LANES, LaneSource, Map2, Spaced, keep_blocks, lanes2, store};
use super::reduce::{Reduction, finish};
use super::{ops, per_isa};
use crate::backend::cpu::simd::isa::Isa;

/// Number of the scratch among the bases.
pub(super) const SCRATCH: u32 = 0;
/// Number of the splats.
pub(super) const SPLATS: u32 = 1;
/// Number of the first stream.
pub(super) const STREAMS: u32 = 2;

/// Threefry, which has two results.
pub(super) const THREEFRY: Code = Code(Code::OTHERS);
/// Rows of a stream to the scratch; the last row is repeated.
pub(super) const READ: Code = Code(Code::OTHERS + 1);
/// The first operand to rows of a stream.
pub(super) const WRITE: Code = Code(Code::OTHERS + 2);
/// Sums of the rows of the first operand.
pub(super) const SUMS: Code = Code(Code::OTHERS + 3);
/// An operation that goes over rows one by one.
pub(super) const BY_ROW: Code = Code(Code::OTHERS + 4);

/// A position relative to a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OperandPlace {
    pub base: u32,
    pub at: u32,
}

/// An operation ready to be done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub code: Code,
    /// `each` is numbers of a row, of those rows that there are, and not blocks of 16 values.
    pub of_rows: bool,
    /// How much there is to do; of [`SUMS`] and [`BY_ROW`], which of the lists of rows.
    pub each: u32,
    pub dst: [OperandPlace; 2],
    /// Operands; those that the operation does not have are places that exist.
    pub src: [OperandPlace; 4],
}

/// Rows that an operation sums up or goes over one by one.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowList {
    /// The operation, of [`BY_ROW`].
    pub code: Code,
    /// Numbers of a row.
    pub numbers: u32,
    /// Distance of the results' rows; of sums, the lanes of the result.
    pub dst: u32,
    /// Distances of the operands' rows; 0 for what is the same for all.
    pub src: [u32; 4],
    /// A bit for each operand that has one number for a row.
    pub single: u8,
    /// A bit for each operand that is the same for all rows and differs along them.
    pub along: u8,
}

/// Where values start, how far they are apart, and how far the next step's are.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValuesAt {
    pub values: *mut f32,
    pub step: usize,
    pub delta: isize,
}

/// A value that all lanes share, and how far the next step's is.
#[derive(Clone, Copy, Debug)]
pub struct Feed {
    /// Its index among the values.
    pub slot: usize,
    /// Its address.
    pub value: *const f32,
    /// The distance of steps.
    pub delta: isize,
}

/// The number of the step, as u32 in so many lanes of the scratch.
#[derive(Clone, Copy, Debug)]
pub struct Index {
    /// The first lane.
    pub at: usize,
    /// The number of lanes, a multiple of 16.
    pub len: usize,
    /// The number of the next step.
    pub next: u32,
    /// 1, or −1 for a loop that runs backwards.
    pub delta: i32,
}

/// Blocks of the scratch of which no element of any row must be 0 for a loop to end.
#[derive(Clone, Copy, Debug)]
pub struct UntilHolds {
    /// The first.
    pub at: usize,
    /// How many.
    pub blocks: usize,
    /// Their lanes.
    pub lanes: usize,
}

impl UntilHolds {
    /// # Safety
    /// The scratch has the blocks, and these the rows.
    #[inline(always)]
    unsafe fn holds(self, scratch: *const f32, rows: usize) -> bool {
        for block in 0..self.blocks {
            for row in 0..rows.min(self.lanes) {
                // SAFETY: by the caller's promise.
                if unsafe { *scratch.add(self.at + block * self.lanes + row) }.to_bits() == 0 {
                    return false;
                }
            }
        }
        true
    }
}

/// Steps of a loop.
#[derive(Clone, Copy, Debug)]
pub struct LoopSteps {
    /// How many to make.
    pub len: usize,
    /// The index, if it is read.
    pub index: Option<Index>,
    /// When to end early.
    pub until: Option<UntilHolds>,
}

/// The rows that operations name, which have kernels of their own: within that of all operations they would take
/// registers from it.
#[derive(Clone, Copy)]
pub(super) struct Lists<'a> {
    pub isa: Isa,
    pub rows: &'a [RowList],
}

/// Where jobs find what they work on.
pub(super) struct Bench<'a> {
    /// Scratch, splats and streams.
    pub bases: &'a mut [ValuesAt],
    pub feeds: &'a mut [Feed],
    /// The lists that operations name.
    pub lists: Lists<'a>,
    /// Rows of each stream.
    pub rows: usize,
    /// How many of the 16 lanes count; where fewer do, they are next to each other.
    pub lanes: usize,
}

/// Do the operations once for each step; returns how many steps were made.
///
/// # Safety
/// All places must exist, for each step, and results must be apart from operands or in their place.
#[inline(always)]
pub(super) unsafe fn body(ops: &[Operation], bench: &mut Bench<'_>, steps: &mut LoopSteps) -> usize {
    let Bench { bases, feeds, lists, rows, lanes } = bench;
    // SAFETY: by the caller's promise.
    unsafe {
        let (scratch, splats) = (bases[SCRATCH as usize].values, bases[SPLATS as usize].values);
        let counts = [*lanes, *rows];
        for step in 0..steps.len {
            if steps.until.is_some_and(|until| until.holds(scratch, *rows)) {
                return step;
            }
            for feed in feeds.iter_mut() {
                splats.add(feed.slot * LANES).cast::<Block>().write([*feed.value; LANES]);
                feed.value = feed.value.wrapping_offset(feed.delta);
            }
            if let Some(index) = &mut steps.index {
                let block = [f32::from_bits(index.next); LANES];
                store(scratch.add(index.at), Spaced { values: block.as_ptr(), step: 0 }, index.len);
                index.next = index.next.wrapping_add_signed(index.delta);
            }
            for op in ops {
                one(op, bases, *lists, counts);
            }
            for stream in &mut bases[STREAMS as usize..] {
                stream.values = stream.values.wrapping_offset(stream.delta);
            }
        }
    }
    steps.len
}

#[inline(always)]
unsafe fn one(op: &Operation, bases: &[ValuesAt], lists: Lists<'_>, counts: [usize; 2]) {
    // SAFETY: by the promise of `body`; what is past the lanes that count belongs to the same blocks.
    unsafe {
        let rows = counts[1];
        let len = (op.each as usize * counts[usize::from(op.of_rows)]).next_multiple_of(LANES);
        let (dst, a, b, c) = (at(op.dst[0], bases), at(op.src[0], bases), at(op.src[1], bases), at(op.src[2], bases));
        let to = dst.values.cast_mut();
        match op.code {
            THREEFRY => threefry_body(to, at(op.dst[1], bases).values.cast_mut(), [a, b, c, at(op.src[3], bases)], len),
            READ => read(to, a, rows.min(len), len),
            WRITE => write(to, dst.step, a, rows.min(len)),
            SUMS => sums(lists.isa, to, a.values, rows, lists.rows.get_unchecked(op.each as usize)),
            BY_ROW => by_row(lists.isa, op, bases, rows, lists.rows.get_unchecked(op.each as usize)),
            code => code_body(code, to, [a, b, c], len),
        }
    }
}

/// Does an operation row by row.
#[inline(never)]
unsafe fn by_row(isa: Isa, op: &Operation, bases: &[ValuesAt], rows: usize, list: &RowList) {
    per_isa!(isa, by_row_body, (op: &Operation, bases: &[ValuesAt], rows: usize, list: &RowList));
}

#[inline(always)]
unsafe fn by_row_body(op: &Operation, bases: &[ValuesAt], rows: usize, list: &RowList) {
    let RowList { code, numbers, dst, src, single, along } = *list;
    let len = numbers as usize;
    // SAFETY: rows exist by the promise of `body`.
    unsafe {
        let mut splats = [[0.0; LANES]; 4];
        for row in 0..rows {
            let mut operands = [Spaced { values: std::ptr::null(), step: 0 }; 4];
            for (i, (operand, splat)) in operands.iter_mut().zip(&mut splats).enumerate() {
                let whole = at(op.src[i], bases);
                let values = whole.values.wrapping_add(row * src[i] as usize);
                *operand = if single & 1 << i != 0 {
                    *splat = [*values; LANES];
                    Spaced { values: splat.as_ptr(), step: 0 }
                } else {
                    Spaced { values, step: if along & 1 << i != 0 { 1 } else { whole.step } }
                };
            }
            let to = op.dst.map(|place| at(place, bases).values.cast_mut().wrapping_add(row * dst as usize));
            let [a, b, ..] = operands;
            match code {
                THREEFRY => threefry_body(to[0], to[1], operands, len),
                code if code == const { Code::binary(BinaryOp::Add) } => {
                    store(to[0], Map2::<ops::Add, _, _>(a, b, PhantomData), len);
                }
                code if code == const { Code::binary(BinaryOp::Mul) } => {
                    store(to[0], Map2::<ops::Mul, _, _>(a, b, PhantomData), len);
                }
                _ => store(to[0], a, len),
            }
        }
    }
}

/// The sums of `n` rows; the last fills the other lanes.
#[inline(never)]
unsafe fn sums(isa: Isa, to: *mut f32, x: *const f32, n: usize, list: &RowList) {
    per_isa!(isa, sums_body, (to: *mut f32, x: *const f32, n: usize, list: &RowList));
}

#[inline(always)]
unsafe fn sums_body(to: *mut f32, x: *const f32, n: usize, list: &RowList) {
    let (m, lanes) = (list.numbers as usize, list.dst as usize);
    // SAFETY: there are `n` rows, and as many lanes or more.
    unsafe {
        let sum = |row: usize| {
            let mut acc = [0.0; LANES];
            for i in (0..m).step_by(LANES) {
                keep_blocks();
                acc = lanes2::<ops::Add>(acc, Contiguous(x.add(row * m)).block(i));
            }
            finish(Reduction::Sum, &acc)
        };
        let filled = if cfg!(not(target_arch = "wasm32")) && n <= 4 {
            // A block put together in a register, as in `first`.
            let some: [f32; 4] = std::array::from_fn(|row| sum(row.min(n - 1)));
            let block: Block = std::array::from_fn(|lane| some[lane.min(3)]);
            to.cast::<Block>().write(block);
            LANES
        } else {
            (0..n).for_each(|row| *to.add(row) = sum(row));
            n
        };
        let last = *to.add(n - 1);
        (filled..lanes).for_each(|lane| *to.add(lane) = last);
    }
}

#[inline(always)]
unsafe fn at(place: OperandPlace, bases: &[ValuesAt]) -> Spaced {
    // SAFETY: by the promise of `body`.
    unsafe {
        let base = bases.get_unchecked(place.base as usize);
        Spaced { values: base.values.add(place.at as usize), step: base.step }
    }
}

/// `n` rows to `len` lanes.
#[inline(always)]
unsafe fn read(dst: *mut f32, rows: Spaced, n: usize, len: usize) {
    let mut i = 0;
    while i < len {
        // SAFETY: i + 16 <= len, and no row past the last is read.
        unsafe {
            let block = match n.saturating_sub(i) {
                LANES.. if rows.step == 1 => rows.block(i),
                0..=4 => first::<4>(rows, i, n),
                5..=8 => first::<8>(rows, i, n),
                _ => first::<LANES>(rows, i, n),
            };
            dst.add(i).cast::<Block>().write(block);
        }
        i += LANES;
    }
}

/// The `N` rows from `i` on, the rest as the last of them; past row `n` they are that.
///
/// A block put together in a register: one that was written to memory lane by lane, and is read whole, would make the
/// processor wait.
#[inline(always)]
unsafe fn first<const N: usize>(rows: Spaced, i: usize, n: usize) -> Block {
    let (mut some, mut block) = ([0.0; N], [0.0; LANES]);
    for (j, x) in some.iter_mut().enumerate() {
        // SAFETY: one of the `n` rows.
        *x = unsafe { *rows.values.add((i + j).min(n - 1) * rows.step) };
    }
    for j in 0..LANES {
        block[j] = some[if j < N { j } else { N - 1 }];
    }
    block
}

/// The first `n` lanes to rows `step` apart.
#[inline(always)]
unsafe fn write(to: *mut f32, step: usize, from: Spaced, n: usize) {
    // SAFETY: `n` lanes and rows exist.
    unsafe {
        if step != 1 {
            for row in 0..n {
                *to.add(row * step) = *from.values.add(row / LANES * LANES * from.step + row % LANES);
            }
            return;
        }
        let (whole, rest) = (n / LANES * LANES, n % LANES);
        store(to, from, whole);
        let (to, from) = (to.add(whole), from.values.add(whole * from.step));
        // No call for a few values.
        macro_rules! some {
            ($($size:literal)*) => {$(
                if rest & $size != 0 {
                    let at = rest & !(2 * $size - 1);
                    to.add(at).cast::<[f32; $size]>().write(from.add(at).cast::<[f32; $size]>().read());
                }
            )*};
        }
        some!(8 4 2 1);
    }
}
