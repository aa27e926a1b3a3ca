//! Chains against the kernels of single operations and plain loops, bit for bit.

use super::super::elementwise::{Operand, binary, select, threefry, unary};
use super::*;

const NONE: Src = Src::Value(0);
const ONCE: LoopSteps = LoopSteps { len: 1, index: None, until: None };

fn job(work: Work, dst: u32, src: &[Src], len: u32) -> Job {
    let mut all = [NONE; 4];
    all[..src.len()].copy_from_slice(src);
    Job { work, dst: [dst, dst + len], src: all, len, rows: RowWalk::Lanes }
}

fn splats(values: &[f32]) -> Vec<f32> {
    values.iter().flat_map(|v| [*v; LANES]).collect()
}

fn same(got: &[f32], want: &[f32], what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let equal = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(equal, "{what}: value {i} is {got:e}, not {want:e}");
    }
}

#[test]
fn jobs_equal_the_kernels_one_by_one() {
    let values = [0.5, -1.25];
    let block = |i: usize| (0..48).map(|j| ((i * 48 + j) as f32 * 0.37).sin()).collect::<Vec<f32>>();
    let (x, y, z) = (block(0), block(1), block(2));
    let at = |i: u32| Src::At(48 * i);
    let job = |work, dst: u32, src: &[Src]| job(work, 48 * dst, src, 48);
    let chain = Chain::new(&[
        job(Work::Unary(UnaryOp::Tanh), 3, &[at(0)]),
        job(Work::Binary(BinaryOp::Add), 4, &[at(3), Src::Value(1)]),
        job(Work::Binary(BinaryOp::Lt), 5, &[at(4), at(1)]),
        job(Work::Select, 6, &[at(5), at(1), at(2)]),
        job(Work::Binary(BinaryOp::TanhGrad), 7, &[at(6), at(3)]),
        job(Work::Threefry, 8, &[Src::Value(0), at(0), at(1), Src::Value(1)]),
        job(Work::Copy, 10, &[at(9)]),
        job(Work::Unary(UnaryOp::Exp), 11, &[Src::Value(0)]),
    ]);
    assert_eq!((chain.len(), chain.is_empty(), chain.work()), (8, false, 8 * 48));
    for isa in Isa::available() {
        let mut expected: Vec<Vec<f32>> = vec![vec![0.0; 48]; 9];
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
        // All lanes, and few of each block: those are next to each other.
        for lanes in [16, 5] {
            let mut scratch = [&x[..], &y[..], &z[..], &[0.0; 48 * 9][..]].concat();
            chain.run(isa, &mut scratch, &mut splats(&values), 0..8, lanes);
            for (i, want) in expected.iter().enumerate() {
                let got = &scratch[48 * (3 + i)..][..3 * lanes];
                same(got, &want[..3 * lanes], &format!("{isa} block {i} of {lanes} lanes"));
            }
        }
    }
}

/// Values of a job's operands at all lanes, with and without streams in their places.
struct Rows {
    rows: usize,
    lanes: usize,
    /// Distance of rows in the streams.
    row: usize,
    direct: bool,
}

impl Rows {
    /// Memory whose rows are in every `row`-th place.
    fn memory(&self, seed: usize) -> Vec<f32> {
        (0..(self.rows - 1) * self.row + 1).map(|i| ((seed * 977 + i * 131) % 997) as f32 / 160.0 - 3.0).collect()
    }

    /// `op` of two streams, which is written to a third and then added to the first one.
    fn run(&self, isa: Isa, work: Work) -> [Vec<f32>; 2] {
        let len = self.lanes as u32;
        let [x, y, z, sum] = [0, 1, 2, 4].map(|i| i * len);
        let column = |stream| RowNumber { stream, at: 0, direct: self.direct };
        let value = Src::Value(1);
        let chain = Chain::new(&[
            job(Work::Read(column(0)), x, &[], len),
            job(Work::Read(column(1)), y, &[], len),
            job(work, z, &[Src::At(x), Src::At(y), value, value], len),
            job(Work::Write(column(2)), 0, &[Src::At(z)], len),
            job(Work::Binary(BinaryOp::AddU), sum, &[Src::At(z), Src::At(x)], len),
            // In place of the first.
            job(Work::Write(column(0)), 0, &[Src::At(sum)], len),
        ]);
        assert_eq!(chain.direct.is_some(), self.direct);
        let mut memory = [self.memory(1), self.memory(2), vec![7.0; self.memory(3).len()]];
        let (mut streams, mut scratch) = (Streams::default(), vec![0.0; 5 * self.lanes]);
        streams.clear();
        for values in &mut memory {
            streams.push(Stream { values: values.as_mut_ptr(), row: self.row, delta: 0 });
        }
        let mut values = splats(&[0.0, 1.5]);
        // SAFETY: three vectors of their own.
        let made = unsafe { chain.steps(isa, &mut scratch, &mut values, &mut streams, self.rows, &mut ONCE.clone()) };
        assert_eq!(made, 1);
        let [x, _, z] = memory;
        [x, z]
    }

    fn expected(&self, isa: Isa, work: Work) -> [Vec<f32>; 2] {
        let pick = |seed| self.memory(seed).into_iter().step_by(self.row).collect::<Vec<f32>>();
        let (x, y, mut z) = (pick(1), pick(2), vec![0.0; self.rows]);
        let (a, b, c) = (Operand::Slice(&x), Operand::Slice(&y), Operand::Splat(1.5));
        match work {
            Work::Unary(op) => unary(isa, op, &mut z, a),
            Work::Binary(op) => binary(isa, op, &mut z, a, b),
            Work::Select => select(isa, &mut z, a, b, c),
            Work::Threefry => threefry(isa, &mut z, &mut x.clone(), [a, b, c, c]),
            _ => z.copy_from_slice(&x),
        }
        let mut sum = vec![0.0; self.rows];
        binary(isa, BinaryOp::AddU, &mut sum, Operand::Slice(&z), a);
        let mut memory = [self.memory(1), vec![7.0; self.memory(3).len()]];
        for (memory, rows) in memory.iter_mut().zip([&sum, &z]) {
            memory.iter_mut().step_by(self.row).zip(rows).for_each(|(to, from)| *to = *from);
        }
        memory
    }
}

fn works() -> Vec<Work> {
    use super::super::elementwise::tests::{BINARY, UNARY};
    let unary = UNARY.map(Work::Unary).into_iter();
    unary.chain(BINARY.map(Work::Binary)).chain([Work::Copy, Work::Select, Work::Threefry]).collect()
}

#[test]
fn rows_of_streams_are_read_and_written_whatever_their_number() {
    let numbers: Vec<usize> = if cfg!(miri) { vec![1, 4, 16, 19] } else { (1..=40).collect() };
    for isa in Isa::available() {
        for rows in numbers.iter().copied() {
            for (lanes, row, direct) in [(rows, 1, true), (48, 1, true), (48, 1, false), (48, 3, false)] {
                let rows = Rows { rows, lanes: usize::next_multiple_of(lanes, 16), row, direct };
                for work in works() {
                    let (got, want) = (rows.run(isa, work), rows.expected(isa, work));
                    let what = format!("{isa} {work:?} on {} rows at {row} of {lanes}, {direct}", rows.rows);
                    got.iter().zip(&want).for_each(|(got, want)| same(got, want, &what));
                }
            }
        }
    }
}

/// A register written to memory in whose place old rows are still to be read.
#[test]
fn streams_in_one_place_are_copied_where_one_is_read_after_the_other_is_written() {
    let column = |stream| RowNumber { stream, at: 0, direct: true };
    let chain = Chain::new(&[
        job(Work::Read(column(0)), 0, &[], 16),
        job(Work::Unary(UnaryOp::Neg), 16, &[Src::At(0)], 16),
        job(Work::Write(column(1)), 0, &[Src::At(16)], 16),
        job(Work::Binary(BinaryOp::Add), 32, &[Src::At(0), Src::At(0)], 16),
        job(Work::Write(column(2)), 0, &[Src::At(32)], 16),
    ]);
    for (isa, apart) in Isa::available().into_iter().flat_map(|isa| [(isa, false), (isa, true)]) {
        let (mut x, mut y, mut z) = ([3.0; 16], [0.0; 16], [0.0; 16]);
        let mut streams = Streams::default();
        streams.clear();
        let x = x.as_mut_ptr();
        for values in [x, if apart { y.as_mut_ptr() } else { x }, z.as_mut_ptr()] {
            streams.push(Stream { values, row: 1, delta: 0 });
        }
        // SAFETY: arrays of their own, two of which may be the same.
        unsafe { chain.steps(isa, &mut [0.0; 48], &mut [], &mut streams, 16, &mut ONCE.clone()) };
        assert_eq!(z, [6.0; 16], "{isa}");
    }
}

#[test]
fn steps_advance_streams_values_and_the_index() {
    let column = |stream| RowNumber { stream, at: 0, direct: true };
    // carry = carry · value + x + index, which is also the output.
    let chain = Chain::new(&[
        job(Work::Read(column(0)), 0, &[], 16),
        job(Work::Binary(BinaryOp::Mul), 16, &[Src::At(48), Src::Value(1)], 16),
        job(Work::Binary(BinaryOp::Add), 16, &[Src::At(16), Src::At(0)], 16),
        job(Work::Unary(UnaryOp::ToF32), 32, &[Src::At(64)], 16),
        job(Work::Binary(BinaryOp::Add), 16, &[Src::At(16), Src::At(32)], 16),
        job(Work::Write(column(1)), 0, &[Src::At(16)], 16),
        job(Work::Copy, 48, &[Src::At(16)], 16),
        job(Work::Binary(BinaryOp::Lt), 80, &[Src::Value(0), Src::At(16)], 16),
    ]);
    const LEN: usize = 20;
    for (isa, rows) in Isa::available().into_iter().flat_map(|isa| (1..=16).map(move |rows| (isa, rows))) {
        let x: Vec<f32> = (0..LEN * rows).map(|i| (i * 37 % 23) as f32 / 8.0).collect();
        let factors: Vec<f32> = (0..LEN).map(|t| 0.5 + t as f32 / 64.0).collect();
        for (backwards, ends) in [(false, None), (true, None), (false, Some(40.0)), (true, Some(40.0))] {
            let (mut carry, mut want, mut wanted) = (vec![0.0f32; rows], vec![-1.0; LEN * rows], 0);
            for step in 0..LEN {
                if step > 0 && ends.is_some_and(|end| carry.iter().all(|c| end < *c)) {
                    break;
                }
                let t = if backwards { LEN - 1 - step } else { step };
                for (r, carry) in carry.iter_mut().enumerate() {
                    *carry = *carry * factors[t] + x[t * rows + r] + t as f32;
                    want[t * rows + r] = *carry;
                }
                wanted += 1;
            }
            let (first, sign) = if backwards { (LEN - 1, -1) } else { (0, 1) };
            let (mut x, mut y) = (x.clone(), vec![-1.0; LEN * rows]);
            let mut streams = Streams::default();
            streams.clear();
            for values in [&mut x, &mut y] {
                let values = values[first * rows..].as_mut_ptr();
                streams.push(Stream { values, row: 1, delta: sign * rows as isize });
            }
            streams.feeds.push(Feed { slot: 1, value: &raw const factors[first], delta: sign });
            let index = Some(Index { at: 64, len: 16, next: first as u32, delta: sign as i32 });
            let until = ends.map(|_| UntilHolds { at: 80, blocks: 1, lanes: 16 });
            let mut steps = LoopSteps { len: 7, index, until };
            let (mut scratch, mut made) = ([0.0; 96], 0);
            while made < LEN {
                steps.len = 7.min(LEN - made);
                let mut values = splats(&[ends.unwrap_or(0.0), 0.0]);
                // SAFETY: vectors of their own, with rows for each step.
                let now = unsafe { chain.steps(isa, &mut scratch, &mut values, &mut streams, rows, &mut steps) };
                made += now;
                if now < steps.len {
                    break;
                }
            }
            assert_eq!((made, y), (wanted, want), "{isa} {rows} rows, backwards {backwards}, until {ends:?}");
            assert!(ends.is_none() || made < LEN);
        }
    }
}

/// Noise, as a policy draws it: words of a key for each row, which become a part of a wider row, multiplied by
/// numbers that all rows share, of which a part is added to that of another row, and summed.
#[test]
fn jobs_on_rows_equal_the_kernels_row_by_row() {
    const M: usize = 32;
    let along = |at| Src::Along(RowNumber { stream: 0, at, direct: false });
    let (most, m) = (16, M as u32);
    let [key, counter, words, others, wide, part, sums] = [0, 16, 528, 1040, 1552, 2576, 3088];
    let jobs = |walk: RowWalk, work, dst: [u32; 2], src: &[Src], len| Job { dst, rows: walk, ..job(work, 0, src, len) };
    let chain = Chain::new(&[
        jobs(
            RowWalk::Apart(m, most),
            Work::Threefry,
            [words, others],
            &[Src::Number(key), Src::Value(0), Src::Row(counter, m), along(3)],
            m,
        ),
        // Words as numbers below 1.
        jobs(RowWalk::Whole(m), Work::Binary(BinaryOp::Shr), [words; 2], &[Src::At(words), Src::Value(1)], m * most),
        jobs(RowWalk::Whole(m), Work::Unary(UnaryOp::ToF32), [words; 2], &[Src::At(words)], m * most),
        jobs(RowWalk::Apart(2 * m, most), Work::Copy, [wide; 2], &[Src::Row(words, m)], m),
        jobs(RowWalk::Apart(2 * m, most), Work::Copy, [wide + m; 2], &[Src::Row(counter, m)], m),
        jobs(
            RowWalk::Apart(2 * m, most),
            Work::Binary(BinaryOp::Mul),
            [wide; 2],
            &[Src::Row(wide, 2 * m), along(0)],
            2 * m,
        ),
        jobs(
            RowWalk::Apart(m, most),
            Work::Binary(BinaryOp::Add),
            [part; 2],
            &[Src::Row(wide + 16, 2 * m), Src::Row(words, m)],
            m,
        ),
        job(Work::Sums(m), sums, &[Src::At(part)], 16),
    ]);
    let shared: Vec<f32> = (0..67).map(|i| (i as f32 * 0.7).sin()).collect();
    let first: Vec<f32> = (0..528).map(|i| (i as f32 * 1.3).cos()).collect();
    for (isa, rows) in Isa::available().into_iter().flat_map(|isa| [1, 3, 4, 5, 16].map(|rows| (isa, rows))) {
        let mut scratch = [&first[..], &[f32::NAN; 3104 - 528]].concat();
        let (mut streams, mut memory) = (Streams::default(), shared.clone());
        streams.clear();
        streams.push(Stream { values: memory.as_mut_ptr(), row: 0, delta: 0 });
        let mut values = splats(&[2.0, f32::from_bits(8)]);
        // SAFETY: the stream has the numbers that all rows share.
        unsafe { chain.steps(isa, &mut scratch, &mut values, &mut streams, rows, &mut ONCE.clone()) };
        for row in 0..rows {
            let counters = &first[16 + row * M..][..M];
            let (mut words, mut unused) = ([0.0; M], [0.0; M]);
            let keys = [Operand::Splat(first[row]), Operand::Splat(2.0)];
            let numbers = [Operand::Slice(counters), Operand::Slice(&shared[3..][..M])];
            threefry(isa, &mut words, &mut unused, [keys[0], keys[1], numbers[0], numbers[1]]);
            words = words.map(|word| (word.to_bits() >> 8) as f32);
            let wide: Vec<f32> = words.iter().chain(counters).zip(&shared).map(|(x, y)| x * y).collect();
            let part: Vec<f32> = wide[16..][..M].iter().zip(&words).map(|(x, y)| x + y).collect();
            let sum = super::super::reduce::reduce(isa, super::super::reduce::Reduction::Sum, &part);
            let what = format!("{isa}, row {row} of {rows}");
            same(&scratch[1552 + row * 2 * M..][..2 * M], &wide, &what);
            same(&scratch[3088 + row..][..1], &[sum], &what);
        }
        let last = scratch[3088 + rows - 1];
        assert!(scratch[3088 + rows..].iter().all(|lane| *lane == last), "{isa}, {rows} rows");
    }
}

#[test]
#[should_panic(expected = "overlaps an operand")]
fn results_over_operands_are_refused() {
    let _ = Chain::new(&[job(Work::Copy, 0, &[Src::At(16)], 48)]);
}

#[test]
#[should_panic(expected = "more streams")]
fn missing_streams_are_refused() {
    let column = RowNumber { stream: 0, at: 0, direct: false };
    let (chain, mut streams) = (Chain::new(&[job(Work::Read(column), 0, &[], 16)]), Streams::default());
    streams.clear();
    // SAFETY: there are no streams.
    unsafe { chain.steps(Isa::Baseline, &mut [0.0; 16], &mut [], &mut streams, 1, &mut ONCE.clone()) };
}
