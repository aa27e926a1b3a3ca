//! Random choices, reproducible from a seed.

use quickstudy_core::rng;

/// A sequence of random words.
pub struct Dice {
    key: rng::Key,
    count: u32,
}

impl Dice {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Dice {
        Dice { key: rng::key_from_seed(seed), count: 0 }
    }

    /// A random word.
    pub fn bits(&mut self) -> u32 {
        self.count += 1;
        rng::threefry2x32(self.key, [self.count, 0])[0]
    }

    /// An index below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u64::from(self.bits()) * n as u64) >> 32) as usize
    }

    /// One of `lo..=hi`.
    pub fn within(&mut self, lo: usize, hi: usize) -> usize {
        lo + self.below(hi - lo + 1)
    }

    /// True `percent` times in a hundred.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent as usize
    }

    /// One of the elements.
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A number in `-scale..scale` that f32 holds.
    pub fn real(&mut self, scale: f32) -> f64 {
        f64::from((rng::uniform(self.bits()) * 2.0 - 1.0) * scale)
    }
}
