//! Chains of elementwise operations on one scratch: one entry into the instruction set's code for all of them.

use super::elementwise::{BinaryOp, Raw, UnaryOp, binary_body, select_body, threefry_body, unary_body};
use super::lanes::{Contiguous, LANES, Same, store};
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
    /// The stream of that number; what it lacks is filled with its last value.
    Read(u32),
    /// The first values of the first operand to the stream of that number, as many as that has.
    Write(u32),
}

/// Values in memory outside of the scratch: address and number, at least one.
#[derive(Clone, Copy, Debug)]
pub struct Stream {
    /// The first.
    pub values: *mut f32,
    /// How many.
    pub len: usize,
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

    fn results(&self) -> &[u32] {
        &self.dst[..match self.work {
            Work::Write(_) => 0,
            Work::Threefry => 2,
            _ => 1,
        }]
    }
}

/// Jobs whose places have been checked.
#[derive(Clone, Debug)]
pub struct Chain {
    jobs: Vec<Job>,
    scratch: usize,
    values: usize,
    streams: usize,
}

impl Chain {
    /// Jobs to be done in this order.
    ///
    /// # Panics
    /// If a length is no multiple of 16, or a result overlaps another result of its job, or an operand but is not in
    /// its place.
    pub fn new(jobs: Vec<Job>) -> Chain {
        let (mut scratch, mut values, mut streams) = (0, 0, 0);
        for job in &jobs {
            assert!(job.len > 0 && (job.len as usize).is_multiple_of(LANES), "lanes come in groups of 16");
            if let Work::Read(i) | Work::Write(i) = job.work {
                streams = streams.max(i as usize + 1);
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
        Chain { jobs, scratch, values, streams }
    }

    /// Number of jobs.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Tells whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Do the jobs of those numbers, on `lanes` of every 16 values: where fewer count, they are next to each other.
    ///
    /// # Safety
    /// Streams must be valid for reading, and for writing those that are written, and apart from the scratch.
    ///
    /// # Panics
    /// If the scratch, the values or the streams are too few, a stream has no values, or there are no such jobs or
    /// lanes.
    pub unsafe fn run(
        &self,
        isa: Isa,
        scratch: &mut [f32],
        values: &[f32],
        streams: &[Stream],
        jobs: Range<usize>,
        lanes: usize,
    ) {
        assert!(self.scratch <= scratch.len() && self.values <= values.len(), "the chain has more than there is");
        assert!(self.streams <= streams.len() && streams.iter().all(|s| s.len > 0), "the chain reads more streams");
        assert!(lanes <= LANES, "blocks have 16 lanes");
        let (jobs, base) = (&self.jobs[jobs], scratch.as_mut_ptr());
        per_isa!(isa, body, (jobs: &[Job], base: *mut f32, values: &[f32], streams: &[Stream], lanes: usize));
    }
}

// SAFETY of the body: `new` has found the largest places and that results are apart from operands or in
// their place, and `run` that the places exist.
#[inline(always)]
unsafe fn body(jobs: &[Job], base: *mut f32, values: &[f32], streams: &[Stream], lanes: usize) {
    for job in jobs {
        let len = job.len as usize / LANES * lanes;
        // SAFETY: see above.
        unsafe {
            let dst = base.add(job.dst[0] as usize);
            let [a, b, c, d] = [
                raw(job.src[0], base, values),
                raw(job.src[1], base, values),
                raw(job.src[2], base, values),
                raw(job.src[3], base, values),
            ];
            match job.work {
                Work::Copy => fill(dst, a, len),
                Work::Unary(op) => match a {
                    Raw::Slice(x) => unary_body(op, dst, x, len),
                    Raw::Splat(_) => {
                        fill(dst, a, len);
                        unary_body(op, dst, dst, len);
                    }
                },
                Work::Binary(op) => binary_body(op, dst, a, b, len),
                Work::Select => select_body(dst, a, b, c, len),
                Work::Read(i) => {
                    let Stream { values, len: n } = streams[i as usize];
                    let n = n.min(len);
                    store(dst, Contiguous(values), n);
                    if n < len {
                        let last = *values.add(n - 1);
                        (n..len).for_each(|l| *dst.add(l) = last);
                    }
                }
                Work::Write(i) => {
                    let Stream { values, len: n } = streams[i as usize];
                    fill(values, a, n.min(len));
                }
                Work::Threefry => threefry_body(dst, base.add(job.dst[1] as usize), [a, b, c, d], len),
            }
        }
    }
}

#[inline(always)]
unsafe fn raw(src: Src, base: *const f32, values: &[f32]) -> Raw {
    match src {
        // SAFETY: by the caller's promise; unused operands are not read.
        Src::At(at) => Raw::Slice(base.wrapping_add(at as usize)),
        Src::Value(i) => Raw::Splat(values.get(i as usize).copied().unwrap_or(0.0)),
    }
}

#[inline(always)]
unsafe fn fill(dst: *mut f32, x: Raw, len: usize) {
    unsafe {
        match x {
            Raw::Slice(x) => store(dst, Contiguous(x), len),
            Raw::Splat(x) => store(dst, Same(x), len),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::elementwise::{Operand, binary, select, threefry, unary};
    use super::*;

    const NONE: Src = Src::Value(0);

    fn job(work: Work, dst: u32, src: &[Src]) -> Job {
        let mut all = [NONE; 4];
        all[..src.len()].copy_from_slice(src);
        Job { work, dst: [dst, dst + 48], src: all, len: 48 }
    }

    #[test]
    fn jobs_equal_the_kernels_one_by_one() {
        let values = [0.5, -1.25];
        let block = |i: usize| (0..48).map(|j| ((i * 48 + j) as f32 * 0.37).sin()).collect::<Vec<f32>>();
        let (x, y, z) = (block(0), block(1), block(2));
        let at = |i: u32| Src::At(48 * i);
        let jobs = vec![
            job(Work::Unary(UnaryOp::Tanh), 48 * 3, &[at(0)]),
            job(Work::Binary(BinaryOp::Add), 48 * 4, &[at(3), Src::Value(1)]),
            job(Work::Binary(BinaryOp::Lt), 48 * 5, &[at(4), at(1)]),
            job(Work::Select, 48 * 6, &[at(5), at(1), at(2)]),
            job(Work::Binary(BinaryOp::TanhGrad), 48 * 7, &[at(6), at(3)]),
            job(Work::Threefry, 48 * 8, &[Src::Value(0), at(0), at(1), Src::Value(1)]),
            job(Work::Copy, 48 * 10, &[at(9)]),
            job(Work::Unary(UnaryOp::Exp), 48 * 11, &[Src::Value(0)]),
            job(Work::Read(0), 48 * 12, &[]),
            job(Work::Write(1), 0, &[at(4)]),
            job(Work::Write(2), 0, &[Src::Value(1)]),
        ];
        let chain = Chain::new(jobs);
        assert_eq!((chain.len(), chain.is_empty()), (11, false));
        for isa in Isa::available() {
            let mut scratch = [&x[..], &y[..], &z[..], &[0.0; 48 * 10][..]].concat();
            let (mut read, mut whole, mut part) = (vec![0.25, 3.0, 7.5], vec![0.0; 48], vec![0.0; 19]);
            let streams = [&mut read, &mut whole, &mut part].map(|v| Stream { values: v.as_mut_ptr(), len: v.len() });
            // SAFETY: three vectors of their own.
            unsafe { chain.run(isa, &mut scratch, &values, &streams, 0..11, 16) };
            let mut expected: Vec<Vec<f32>> = vec![vec![0.0; 48]; 10];
            unary(isa, UnaryOp::Tanh, &mut expected[0], Operand::Slice(&x));
            let first = expected[0].clone();
            binary(isa, BinaryOp::Add, &mut expected[1], Operand::Slice(&first), Operand::Splat(-1.25));
            let sum = expected[1].clone();
            binary(isa, BinaryOp::Lt, &mut expected[2], Operand::Slice(&sum), Operand::Slice(&y));
            let mask = expected[2].clone();
            select(isa, &mut expected[3], Operand::Slice(&mask), Operand::Slice(&y), Operand::Slice(&z));
            let chosen = expected[3].clone();
            binary(isa, BinaryOp::TanhGrad, &mut expected[4], Operand::Slice(&chosen), Operand::Slice(&first));
            let (mut u, mut v) = (vec![0.0; 48], vec![0.0; 48]);
            let operands = [Operand::Splat(0.5), Operand::Slice(&x), Operand::Slice(&y), Operand::Splat(-1.25)];
            threefry(isa, &mut u, &mut v, operands);
            (expected[5], expected[6], expected[7]) = (u, v.clone(), v);
            expected[8].fill(crate::math::exp(0.5));
            expected[9].fill(7.5);
            expected[9][..2].copy_from_slice(&[0.25, 3.0]);
            assert_eq!((whole, part), (expected[1].clone(), vec![-1.25; 19]));
            for (i, (got, want)) in scratch[48 * 3..].iter().zip(expected.concat()).enumerate() {
                assert_eq!(got.to_bits(), want.to_bits(), "{isa} block {} value {}", i / 48, i % 48);
            }
        }
    }

    #[test]
    #[should_panic(expected = "overlaps an operand")]
    fn results_over_operands_are_refused() {
        let _ = Chain::new(vec![job(Work::Copy, 0, &[Src::At(16)])]);
    }
}
