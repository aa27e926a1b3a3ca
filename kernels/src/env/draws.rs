//! Random numbers inside environments: counted, one stream per environment and step.

use super::real::{Bits, Real};

/// First block of what a step draws.
pub const STEP_BLOCK: u32 = 0;

/// First block of what a reset draws, so that a step and the reset that follows it can share one key.
pub const RESET_BLOCK: u32 = 1 << 31;

/// First block of what a task draws, so that tasks may share a key with the episodes played on them.
pub const TASK_BLOCK: u32 = 1 << 30;

/// A stream of random numbers per lane.
///
/// Block `b` is `threefry2x32(key, [element, b])`; its two words are used in turn. The key holds the time step, the
/// element is the environment's number, so every step of every environment has numbers of its own, whatever the lane
/// width, the number of threads or the order of evaluation.
#[derive(Clone, Copy, Debug)]
pub struct Draws<R: Real> {
    key: [R::Bits; 2],
    element: R::Bits,
    block: u32,
    // Whether these hold anything is known while compiling: draws are not conditional.
    word: Option<R::Bits>,
    normal: Option<R>,
}

impl<R: Real> Draws<R> {
    /// The stream of `element` under `key`, from block `block` on.
    #[inline(always)]
    #[must_use]
    pub fn new(key: [R::Bits; 2], element: R::Bits, block: u32) -> Self {
        Self { key, element, block, word: None, normal: None }
    }

    /// 32 random bits.
    #[inline(always)]
    pub fn bits(&mut self) -> R::Bits {
        if let Some(word) = self.word.take() {
            return word;
        }
        let [first, second] = R::Bits::threefry(self.key, [self.element, R::Bits::splat(self.block)]);
        self.block = self.block.wrapping_add(1);
        self.word = Some(second);
        first
    }

    /// Uniform in [0, 1).
    #[inline(always)]
    #[cfg_attr(feature = "debug", track_caller)]
    pub fn uniform(&mut self) -> R {
        R::uniform(self.bits())
    }

    /// Uniform in [low, high).
    #[inline(always)]
    #[cfg_attr(feature = "debug", track_caller)]
    pub fn range(&mut self, low: f64, high: f64) -> R {
        self.uniform() * R::lit(high - low) + R::lit(low)
    }

    /// One of 0, 1, …, n − 1 with equal chances (to within n · 2⁻²⁴).
    #[inline(always)]
    #[cfg_attr(feature = "debug", track_caller)]
    pub fn index(&mut self, n: usize) -> R {
        (self.uniform() * R::lit(n as f64)).floor().min(R::lit(n.saturating_sub(1) as f64))
    }

    /// Standard normal, by Box and Muller from two uniform numbers; their second result is the next call's.
    #[inline(always)]
    #[cfg_attr(feature = "debug", track_caller)]
    pub fn normal(&mut self) -> R {
        if let Some(normal) = self.normal.take() {
            return normal;
        }
        let (u1, u2) = (self.uniform(), self.uniform());
        let radius = (R::lit(-2.0) * (R::lit(1.0) - u1).log()).sqrt();
        let (sin, cos) = (R::lit(std::f64::consts::TAU) * u2).sin_cos();
        self.normal = Some(radius * sin);
        radius * cos
    }

    /// An index drawn in proportion to non-negative weights, by inverting their running sum.
    #[inline(always)]
    #[cfg_attr(feature = "debug", track_caller)]
    pub fn categorical(&mut self, weights: &[R]) -> R {
        let mut total = R::lit(0.0);
        for &weight in weights {
            total = total + weight;
        }
        let threshold = self.uniform() * total;
        let (mut sum, mut index) = (R::lit(0.0), R::lit(0.0));
        for &weight in weights {
            sum = sum + weight;
            index = index + R::from_mask(sum.le(threshold));
        }
        index.min(R::lit(weights.len().saturating_sub(1) as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{LaneBits, Lanes};
    use crate::rng;

    #[test]
    fn both_words_of_each_block_are_used_in_turn() {
        let mut draws = Draws::<f64>::new([1, 2], 3, 4);
        let words: Vec<u32> = (0..4).map(|_| draws.bits()).collect();
        assert_eq!(words[..2], rng::threefry2x32([1, 2], [3, 4]));
        assert_eq!(words[2..], rng::threefry2x32([1, 2], [3, 5]));
    }

    #[test]
    fn lanes_draw_what_single_elements_draw() {
        let key = [LaneBits::splat(7), LaneBits::splat(8)];
        let mut lanes = Draws::<Lanes<16>>::new(key, LaneBits::count_from(100), 0);
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            first.push(lanes.normal());
            second.push(lanes.range(-1.0, 3.0));
        }
        for i in 0..16 {
            let mut one = Draws::<Lanes<1>>::new([LaneBits([7]), LaneBits([8])], LaneBits([100 + i as u32]), 0);
            for (normal, range) in first.iter().zip(&second) {
                assert_eq!(one.normal().0[0].to_bits(), normal.0[i].to_bits());
                assert_eq!(one.range(-1.0, 3.0).0[0].to_bits(), range.0[i].to_bits());
            }
        }
    }

    #[test]
    fn normals_have_zero_mean_and_unit_variance_and_pairs_are_uncorrelated() {
        let (n, mut sums) = (100_000, [0.0; 4]);
        for element in 0..n {
            let mut draws = Draws::<f64>::new([11, 12], element, 0);
            let (a, b) = (draws.normal(), draws.normal());
            for (sum, x) in sums.iter_mut().zip([a, b, a * a + b * b, a * b]) {
                *sum += x / f64::from(n);
            }
        }
        // Four standard errors: 4/√n, 4·2/√n, 4/√n.
        assert!(sums[0].abs() < 0.0127 && sums[1].abs() < 0.0127, "{sums:?}");
        assert!((sums[2] - 2.0).abs() < 0.0253 && sums[3].abs() < 0.0127, "{sums:?}");
    }

    #[test]
    fn categories_and_indices_come_in_proportion() {
        let (n, mut by_weight, mut by_index) = (40_000_u32, [0.0_f64; 4], [0.0_f64; 5]);
        for element in 0..n {
            let mut draws = Draws::<f64>::new([1, 1], element, 0);
            by_weight[draws.categorical(&[0.0, 1.0, 0.0, 3.0]) as usize] += 1.0 / f64::from(n);
            by_index[draws.index(5) as usize] += 1.0 / f64::from(n);
        }
        assert_eq!((by_weight[0], by_weight[2]), (0.0, 0.0));
        assert!((by_weight[3] - 0.75).abs() < 0.009, "{by_weight:?}");
        assert!(by_index.iter().all(|p| (p - 0.2).abs() < 0.008), "{by_index:?}");
    }
}
