//! Steps of optimisers and of averages: a whole formula in registers, from memory to memory.
//!
//! Each operation rounds as the elementwise one that it stands for, in the order of the formulas of `optim`
//! and `learn` in the core: the bits are those of one operation after the other.

use super::lanes::{Block, Contiguous, LANES, Lane1, LaneSource, choose, keep_blocks, lanes1, lanes2};
use super::{ops, per_isa};
use crate::backend::cpu::simd::isa::Isa;

/// A formula, with what it reads and the numbers that all its rows share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², θ ← θ − α m / (√(c v) + ε), where g is scaled and subnormal m and
    /// v are 0: it reads g, m, v and θ, with the scale of g, α, c, ε, β₂, 1 − β₂, β₁ and 1 − β₁.
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
/// The shared numbers, and a last one whose bits are not 0 where Adam's m is the gradient.
const NUMBERS: usize = SHARED + 1;

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
    let own = f32::from_bits(u32::from(rule == Rule::RmsProp));
    // SAFETY: the caller's promise.
    unsafe {
        match rule {
            Rule::Adam | Rule::RmsProp => rows::<AdamFormula, 4, 3>(src, dst, shared, own, len),
            Rule::Momentum => rows::<MomentumFormula, 3, 2>(src, dst, shared, own, len),
            Rule::Descent => rows::<DescentFormula, 2, 1>(src, dst, shared, own, len),
            Rule::Average => rows::<AverageFormula, 2, 1>(src, dst, shared, own, len),
        }
    }
}

/// A formula on 16 rows, of what is read and what all rows share.
trait Formula<const R: usize, const W: usize> {
    fn apply(src: [Block; R], shared: &[Block; NUMBERS]) -> [Block; W];
}

#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
unsafe fn rows<F: Formula<R, W>, const R: usize, const W: usize>(
    src: [*const f32; READS],
    dst: [*mut f32; WRITES],
    shared: &SharedNumbers,
    own: f32,
    len: usize,
) {
    let shared: [Block; NUMBERS] = std::array::from_fn(|i| [shared.get(i).copied().unwrap_or(own); LANES]);
    let mut i = 0;
    while i + LANES <= len {
        keep_blocks();
        // SAFETY: i + 16 <= len.
        unsafe { block::<F, R, W>(src.map(|x| x.wrapping_add(i)), dst.map(|y| y.wrapping_add(i)), &shared) };
        i += LANES;
    }
    if i < len {
        let (mut x, mut y) = ([[0.0; LANES]; READS], [[0.0; LANES]; WRITES]);
        for r in 0..R {
            // SAFETY: len - i < 16 values remain.
            x[r] = unsafe { Contiguous(src[r]).part(i, len - i) };
        }
        // SAFETY: blocks of 16.
        unsafe { block::<F, R, W>(x.each_ref().map(|x| x.as_ptr()), y.each_mut().map(|y| y.as_mut_ptr()), &shared) };
        for w in 0..W {
            // SAFETY: as above.
            unsafe { dst[w].add(i).copy_from_nonoverlapping(y[w].as_ptr(), len - i) };
        }
    }
}

/// The step of 16 rows. In WebAssembly a function of its own, for whole blocks and the last one.
#[cfg_attr(target_arch = "wasm32", inline(never))]
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
unsafe fn block<F: Formula<R, W>, const R: usize, const W: usize>(
    src: [*const f32; READS],
    dst: [*mut f32; WRITES],
    shared: &[Block; NUMBERS],
) {
    let mut x = [[0.0; LANES]; R];
    for r in 0..R {
        // SAFETY: 16 values are there by the caller's promise.
        x[r] = unsafe { Contiguous(src[r]).block(0) };
    }
    let y = F::apply(x, shared);
    for w in 0..W {
        // SAFETY: as above.
        unsafe { dst[w].cast::<Block>().write(y[w]) };
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

/// x, but 0 where it is subnormal.
struct OrZero;

impl Lane1 for OrZero {
    #[inline(always)]
    fn apply(x: f32) -> f32 {
        if x.abs() < f32::MIN_POSITIVE { 0.0 } else { x }
    }
}

#[inline(always)]
fn normal(x: Block) -> Block {
    lanes1::<OrZero>(x)
}

struct AdamFormula;
struct MomentumFormula;
struct DescentFormula;
struct AverageFormula;

impl Formula<4, 3> for AdamFormula {
    #[inline(always)]
    fn apply([g, m, v, theta]: [Block; 4], shared: &[Block; NUMBERS]) -> [Block; 3] {
        let [scale, rate, correction, eps, keep_v, gain_v, keep_m, gain_m, is_gradient] = *shared;
        let g = mul(g, scale);
        let m = choose(is_gradient, g, normal(add(mul(m, keep_m), mul(g, gain_m))));
        let v = normal(add(mul(v, keep_v), mul(mul(g, g), gain_v)));
        let root = lanes1::<ops::Sqrt>(mul(v, correction));
        let step = mul(mul(m, rate), lanes1::<ops::Recip>(add(root, eps)));
        [m, v, sub(theta, step)]
    }
}

impl Formula<3, 2> for MomentumFormula {
    #[inline(always)]
    fn apply([g, m, theta]: [Block; 3], shared: &[Block; NUMBERS]) -> [Block; 2] {
        let [scale, rate, keep, ..] = *shared;
        let m = normal(add(mul(m, keep), mul(g, scale)));
        [m, sub(theta, mul(m, rate))]
    }
}

impl Formula<2, 1> for DescentFormula {
    #[inline(always)]
    fn apply([g, theta]: [Block; 2], shared: &[Block; NUMBERS]) -> [Block; 1] {
        [sub(theta, mul(mul(g, shared[0]), shared[1]))]
    }
}

impl Formula<2, 1> for AverageFormula {
    #[inline(always)]
    fn apply([x, y]: [Block; 2], shared: &[Block; NUMBERS]) -> [Block; 1] {
        [add(y, mul(sub(x, y), shared[0]))]
    }
}
