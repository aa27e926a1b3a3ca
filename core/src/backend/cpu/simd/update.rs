//! Steps of optimisers and of averages: a whole formula in registers, from memory to memory.
//!
//! Each operation rounds as the elementwise one that it stands for, in the order of the formulas of
//! [`crate::optim`] and [`crate::learn`]: the bits are those of one operation after the other.

use super::lanes::{Block, Contiguous, LANES, LaneSource, keep_blocks, lanes1, lanes2};
use super::{ops, per_isa};
use crate::backend::cpu::simd::isa::Isa;

/// A formula, with what it reads and the numbers that all its rows share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², θ ← θ − α m / (√(c v) + ε), where g is scaled: it reads g, m, v
    /// and θ, with the scale of g, α, c, ε, β₂, 1 − β₂, β₁ and 1 − β₁.
    Adam,
    /// As Adam, with m ← g.
    RmsProp,
    /// m ← μ m + g, θ ← θ − α m, where g is scaled: it reads g, m and θ, with the scale of g, α and μ.
    Momentum,
    /// θ ← θ − α g, where g is scaled: it reads g and θ, with the scale of g and α.
    Descent,
    /// y ← y + (x − y) τ: it reads x and y, with τ.
    Average,
}

/// Values that a rule reads, at most.
const READS: usize = 4;
/// Values that a rule writes, at most.
const WRITES: usize = 3;
/// Numbers that all rows share, at most.
const SHARED: usize = 8;

/// Numbers that all rows share; those that a rule does not have are of no value.
pub type SharedNumbers = [f32; SHARED];

impl Rule {
    /// How many values it reads and writes, and how many numbers all rows share. It writes new values of the last that
    /// it reads.
    pub const fn sizes(self) -> [usize; 3] {
        match self {
            Rule::Adam => [4, 3, 8],
            Rule::RmsProp => [4, 3, 6],
            Rule::Momentum => [3, 2, 3],
            Rule::Descent => [2, 1, 2],
            Rule::Average => [2, 1, 1],
        }
    }
}

/// Make the step of `len` rows.
///
/// # Safety
/// All that the rule reads and writes must be valid for `len` values. What it writes may be what it reads, from the
/// same place on, and else is apart from that.
pub unsafe fn update(
    isa: Isa,
    rule: Rule,
    src: [*const f32; READS],
    dst: [*mut f32; WRITES],
    shared: &SharedNumbers,
    len: usize,
) {
    per_isa!(
        isa,
        body,
        (rule: Rule, src: [*const f32; READS], dst: [*mut f32; WRITES], shared: &SharedNumbers, len: usize)
    );
}

#[inline(always)]
unsafe fn body(rule: Rule, src: [*const f32; READS], dst: [*mut f32; WRITES], shared: &SharedNumbers, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        match rule {
            Rule::Adam => rows::<AdamFormula, 4, 3>(src, dst, shared, len),
            Rule::RmsProp => rows::<RmsPropFormula, 4, 3>(src, dst, shared, len),
            Rule::Momentum => rows::<MomentumFormula, 3, 2>(src, dst, shared, len),
            Rule::Descent => rows::<DescentFormula, 2, 1>(src, dst, shared, len),
            Rule::Average => rows::<AverageFormula, 2, 1>(src, dst, shared, len),
        }
    }
}

/// A formula on 16 rows, of what is read and what all rows share.
trait Formula<const R: usize, const W: usize> {
    fn apply(src: [Block; R], shared: &[Block; SHARED]) -> [Block; W];
}

#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
unsafe fn rows<F: Formula<R, W>, const R: usize, const W: usize>(
    src: [*const f32; READS],
    dst: [*mut f32; WRITES],
    shared: &SharedNumbers,
    len: usize,
) {
    let shared = shared.map(|x| [x; LANES]);
    let mut x = [[0.0; LANES]; R];
    let mut i = 0;
    while i + LANES <= len {
        keep_blocks();
        for r in 0..R {
            // SAFETY: i + 16 <= len.
            x[r] = unsafe { Contiguous(src[r]).block(i) };
        }
        let y = F::apply(x, &shared);
        for w in 0..W {
            // SAFETY: as above.
            unsafe { dst[w].add(i).cast::<Block>().write(y[w]) };
        }
        i += LANES;
    }
    if i < len {
        for r in 0..R {
            // SAFETY: len - i < 16 values remain.
            x[r] = unsafe { Contiguous(src[r]).part(i, len - i) };
        }
        let y = F::apply(x, &shared);
        for w in 0..W {
            // SAFETY: as above.
            unsafe { dst[w].add(i).copy_from_nonoverlapping(y[w].as_ptr(), len - i) };
        }
    }
}

#[inline(always)]
fn add(a: Block, b: Block) -> Block {
    lanes2::<ops::Add>(a, b)
}

#[inline(always)]
fn mul(a: Block, b: Block) -> Block {
    lanes2::<ops::Mul>(a, b)
}

#[inline(always)]
fn sub(a: Block, b: Block) -> Block {
    add(a, lanes1::<ops::Neg>(b))
}

struct AdamFormula;
struct RmsPropFormula;
struct MomentumFormula;
struct DescentFormula;
struct AverageFormula;

/// The second half of Adam: the new v and θ.
#[inline(always)]
fn second(g: Block, m: Block, v: Block, theta: Block, shared: &[Block; SHARED]) -> [Block; 3] {
    let [_, rate, correction, eps, keep, gain, ..] = *shared;
    let v = add(mul(v, keep), mul(mul(g, g), gain));
    let root = lanes1::<ops::Sqrt>(mul(v, correction));
    let step = mul(mul(m, rate), lanes1::<ops::Recip>(add(root, eps)));
    [m, v, sub(theta, step)]
}

impl Formula<4, 3> for AdamFormula {
    #[inline(always)]
    fn apply([g, m, v, theta]: [Block; 4], shared: &[Block; SHARED]) -> [Block; 3] {
        let [scale, .., keep, gain] = *shared;
        let g = mul(g, scale);
        second(g, add(mul(m, keep), mul(g, gain)), v, theta, shared)
    }
}

impl Formula<4, 3> for RmsPropFormula {
    #[inline(always)]
    fn apply([g, _, v, theta]: [Block; 4], shared: &[Block; SHARED]) -> [Block; 3] {
        let g = mul(g, shared[0]);
        second(g, g, v, theta, shared)
    }
}

impl Formula<3, 2> for MomentumFormula {
    #[inline(always)]
    fn apply([g, m, theta]: [Block; 3], shared: &[Block; SHARED]) -> [Block; 2] {
        let [scale, rate, keep, ..] = *shared;
        let m = add(mul(m, keep), mul(g, scale));
        [m, sub(theta, mul(m, rate))]
    }
}

impl Formula<2, 1> for DescentFormula {
    #[inline(always)]
    fn apply([g, theta]: [Block; 2], shared: &[Block; SHARED]) -> [Block; 1] {
        [sub(theta, mul(mul(g, shared[0]), shared[1]))]
    }
}

impl Formula<2, 1> for AverageFormula {
    #[inline(always)]
    fn apply([x, y]: [Block; 2], shared: &[Block; SHARED]) -> [Block; 1] {
        [add(y, mul(sub(x, y), shared[0]))]
    }
}
