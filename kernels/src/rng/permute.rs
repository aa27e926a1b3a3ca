//! Random permutations by index: no sort and no buffer, so a shuffled gather is one fused kernel.

use super::{Key, threefry2x32};

/// Rounds of the network. Four, the textbook number, leave single positions of small and odd sizes 20 to 36 % off
/// (measured over a million keys, n = 5, 10, 33); with eight and the offset, pairs are uniform within the noise from
/// n = 8 on, and no position is more than 4 % off below.
const ROUNDS: usize = 8;

/// Second counter word of the block that the round keys come from; draws and `fold_in` never use it.
const ROUND_COUNTER: u32 = u32::MAX - 1;

/// The fraction of the golden ratio: tells the rounds' keys apart.
const GOLDEN: u32 = 0x9E37_79B9;

/// A keyed bijection of `0..n`: a Feistel network on ⌈log₂ n⌉ bits, with cycle walking.
///
/// Every line is arithmetic on `u32` modulo 2³², and the tensor primitive and its shader repeat it word for word:
///
/// ```text
/// bits = ⌈log₂ n⌉                      0 for n = 1
/// low  = ⌊bits / 2⌋, high = bits − low, neither above 16
/// w    = threefry2x32(key, [0, 0xFFFFFFFE])
/// k[j] = mix(w[j mod 2] + j * 0x9E3779B9)                      j = 0..8
/// mix(x): x ^= x >> 16; x *= 0x85EBCA6B; x ^= x >> 13; x *= 0xC2B2AE35; x ^= x >> 16
///
/// network(x):
///     x = (x + w[0]) & (2^bits − 1);  l = x >> low;  r = x & (2^low − 1)
///     for j in 0, 2, 4, 6:
///         l ^= mix(r ^ k[j])     & (2^high − 1)
///         r ^= mix(l ^ k[j + 1]) & (2^low − 1)
///     → (l << low) | r
///
/// permute(i): x = network(min(i, n − 1)); while x ≥ n { x = network(x) }
/// ```
///
/// Adding is a bijection, and a round changes one half by a function of the other and is its own inverse: so `network`
/// is a bijection of `0..2^bits` whatever the widths of the halves, which need not be equal.
///
/// **The walk ends.** Following a bijection from `i < n` comes back to `i`, which is inside; before it does, each
/// of the `2^bits − n` outside values is met at most once. So at most [`max_walk`](Self::max_walk)
/// `= 2^bits − n + 1 ≤ max(1, n − 1)` applications are needed, and first returns of a bijection are a bijection
/// of `0..n`: nothing has to happen at the bound because it is never passed. As `2^bits < 2n`, an application
/// lands outside with a chance below one half: below two on average, about log₂ m for the longest of m elements,
/// and exactly one when n is a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permutation {
    n: u32,
    low: u32,
    low_mask: u32,
    high_mask: u32,
    mask: u32,
    offset: u32,
    keys: [u32; ROUNDS],
}

impl Permutation {
    /// The permutation of `0..n` that `key` names. `n = 0` is taken as 1.
    #[must_use]
    pub const fn new(key: Key, n: u32) -> Self {
        let n = if n == 0 { 1 } else { n };
        let bits = u32::BITS - (n - 1).leading_zeros();
        let low = bits / 2;
        let (low_mask, high_mask) = ((1 << low) - 1, (1 << (bits - low)) - 1);
        let words = threefry2x32(key, [0, ROUND_COUNTER]);
        let mut keys = [0; ROUNDS];
        let mut j = 0;
        while j < ROUNDS {
            keys[j] = mix(words[j % 2].wrapping_add(GOLDEN.wrapping_mul(j as u32)));
            j += 1;
        }
        Self { n, low, low_mask, high_mask, mask: high_mask << low | low_mask, offset: words[0], keys }
    }

    /// The most applications of the network that any element needs: `2^bits − n + 1`.
    #[must_use]
    pub const fn max_walk(&self) -> u32 {
        (self.low_mask + 1).wrapping_mul(self.high_mask + 1).wrapping_sub(self.n).wrapping_add(1)
    }

    /// One application of the network: a bijection of `0..2^bits`.
    #[inline(always)]
    #[must_use]
    pub const fn network(&self, x: u32) -> u32 {
        let x = x.wrapping_add(self.offset) & self.mask;
        let (mut l, mut r) = (x >> self.low, x & self.low_mask);
        let mut j = 0;
        while j < ROUNDS {
            l ^= mix(r ^ self.keys[j]) & self.high_mask;
            r ^= mix(l ^ self.keys[j + 1]) & self.low_mask;
            j += 2;
        }
        l << self.low | r
    }

    /// Where `index` goes. An index of `n` or more is taken as `n − 1`.
    #[inline(always)]
    #[must_use]
    pub const fn apply(&self, index: u32) -> u32 {
        let mut x = self.network(if index < self.n { index } else { self.n - 1 });
        while x >= self.n {
            x = self.network(x);
        }
        x
    }

    /// [`apply`](Self::apply) to `N` lanes at once: all lanes are walked until the last one is inside.
    #[inline(always)]
    #[must_use]
    pub fn apply_lanes<const N: usize>(&self, index: [u32; N]) -> [u32; N] {
        let mut x = index;
        for lane in &mut x {
            *lane = self.network((*lane).min(self.n - 1));
        }
        loop {
            let mut outside = 0;
            for lane in &x {
                outside |= u32::from(*lane >= self.n);
            }
            if outside == 0 {
                return x;
            }
            for lane in &mut x {
                let walked = self.network(*lane);
                *lane = if *lane >= self.n { walked } else { *lane };
            }
        }
    }
}

/// Where `index` goes in the permutation of `0..n` that `key` names, see [`Permutation`].
#[must_use]
pub const fn permute(index: u32, key: Key, n: u32) -> u32 {
    Permutation::new(key, n).apply(index)
}

/// The finaliser of MurmurHash3 (Appleby 2011): a bijection in which every input bit reaches every output bit.
#[inline(always)]
const fn mix(mut x: u32) -> u32 {
    x ^= x >> 16;
    x = x.wrapping_mul(0x85EB_CA6B);
    x ^= x >> 13;
    x = x.wrapping_mul(0xC2B2_AE35);
    x ^ x >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(key: Key, n: u32) -> Vec<u32> {
        let permutation = Permutation::new(key, n);
        (0..n).map(|i| permutation.apply(i)).collect()
    }

    #[test]
    fn every_small_size_is_a_bijection_and_walks_within_the_bound() {
        for n in 1..=1100 {
            for seed in 0..4 {
                let permutation = Permutation::new([seed, n], n);
                let mut seen = vec![false; n as usize];
                for i in 0..n {
                    let (mut x, mut walk) = (permutation.network(i), 1);
                    while x >= n {
                        x = permutation.network(x);
                        walk += 1;
                    }
                    assert!(walk <= permutation.max_walk(), "n {n}");
                    assert_eq!(x, permutation.apply(i));
                    assert!(!std::mem::replace(&mut seen[x as usize], true), "n {n}: {x} twice");
                }
            }
        }
    }

    #[test]
    fn large_and_odd_sizes_are_bijections() {
        for n in [4095, 4096, 4097, 65_537, 100_003, 1 << 20, (1 << 20) + 1] {
            let mut image = image([n, 9], n);
            image.sort_unstable();
            assert!(image.iter().copied().eq(0..n), "n {n}");
        }
        // Too large to enumerate: stays inside, and the network stays invertible at full width.
        for n in [u32::MAX, 1 << 31, (1 << 31) + 1] {
            let permutation = Permutation::new([5, 6], n);
            let images: std::collections::HashSet<_> =
                (0..1000).map(|i| permutation.apply(i * 4_000_037 % n)).collect();
            assert_eq!(images.len(), 1000);
            assert!(images.iter().all(|&x| x < n));
        }
        assert_eq!(Permutation::new([0, 0], 65_536).max_walk(), 1);
        assert_eq!(Permutation::new([0, 0], 65_537).max_walk(), 65_536);
        assert_eq!(Permutation::new([0, 0], (1 << 31) + 1).max_walk(), 1 << 31);
    }

    #[test]
    fn out_of_range_indices_are_clamped_and_sizes_below_two_are_trivial() {
        assert_eq!(permute(7, [1, 2], 5), permute(4, [1, 2], 5));
        assert_eq!(permute(3, [1, 2], 1), 0);
        assert_eq!(permute(3, [1, 2], 0), 0);
    }

    #[test]
    fn lanes_agree_with_single_elements() {
        for n in [1, 2, 3, 17, 1000, 4096] {
            let permutation = Permutation::new([3, n], n);
            for base in (0..n + 32).step_by(16) {
                let lanes: [u32; 16] = std::array::from_fn(|i| base + i as u32);
                assert_eq!(permutation.apply_lanes(lanes), lanes.map(|i| permutation.apply(i)));
            }
        }
    }

    #[test]
    fn a_fixed_permutation_stays_what_it_is() {
        // Computed from the definition above by an independent script; a change here changes every training run.
        assert_eq!(image([0, 0], 10), [4, 1, 9, 6, 8, 0, 3, 5, 2, 7]);
    }

    /// Shares of 100,000 keys that send i to j, and (0, 1) to (a, b): close to even down to the smallest sizes.
    #[test]
    fn positions_and_pairs_are_nearly_uniform() {
        let keys = 100_000;
        for n in [2_u32, 3, 4, 5, 7, 8, 10, 16, 33] {
            let cells = (n * n) as usize;
            let (mut single, mut pair) = (vec![0_u32; cells], vec![0_u32; cells]);
            for seed in 0..keys {
                let image = image([seed, 77], n);
                for (i, &x) in image.iter().enumerate() {
                    single[i * n as usize + x as usize] += 1;
                }
                pair[(image[0] * n + image[1]) as usize] += 1;
            }
            let expected = f64::from(keys) / f64::from(n);
            let worst = single.iter().map(|&c| (f64::from(c) / expected - 1.0).abs()).fold(0.0, f64::max);
            assert!(worst < 0.05 + 5.0 / expected.sqrt(), "n {n}: a position is off by {worst}");
            if n < 8 {
                continue;
            }
            let (expected, dof) = (expected / f64::from(n - 1), f64::from(n * (n - 1) - 1));
            let off_diagonal = (0..cells).filter(|i| i % (n as usize + 1) != 0);
            let chi2: f64 = off_diagonal.map(|i| (f64::from(pair[i]) - expected).powi(2) / expected).sum();
            assert!((chi2 - dof).abs() < 5.0 * (2.0 * dof).sqrt(), "n {n}: chi² {chi2} at {dof} degrees of freedom");
        }
    }
}
