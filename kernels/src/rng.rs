//! Counter-based random numbers: the same integers on the CPU, on a GPU and in a browser.
//!
//! There is no global generator. A [`Key`] names an independent stream; [`fold_in`] derives a new key from a key and a
//! number (a step, a seed index, a [`stream`]); a block of two words is [`threefry2x32`] of a key and a counter. What
//! runs on a device counts by (element, block), see [`crate::env::Draws`]; host code draws in sequence from a
//! [`Threefry`], which is a `rand` generator whose whole state is a key and a position.
//!
//! Salmon, Moraes, Dror and Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3" (threefry2x32 with 20 rounds).

use std::convert::Infallible;

use rand::TryRng;
use serde::{Deserialize, Serialize};

mod permute;

pub use permute::{Permutation, permute};

/// Names an independent stream of random numbers.
pub type Key = [u32; 2];

/// The counter's second word that only [`fold_in`] uses, so that deriving keys from a key and drawing from the same
/// key never meet: draws count their blocks from 0 and stay below it.
pub const FOLD_COUNTER: u32 = u32::MAX;

/// Rotation distances of the four rounds before an even and before an odd key injection.
pub const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];

/// The Skein constant that makes the third key word from the first two.
pub const PARITY: u32 = 0x1BD1_1BDA;

/// One block of threefry2x32 with 20 rounds: two random words from a key and a counter.
///
/// A bijection of the counter for every key.
#[inline(always)]
#[must_use]
pub const fn threefry2x32(key: Key, counter: [u32; 2]) -> [u32; 2] {
    let keys = [key[0], key[1], key[0] ^ key[1] ^ PARITY];
    let mut x0 = counter[0].wrapping_add(keys[0]);
    let mut x1 = counter[1].wrapping_add(keys[1]);
    let mut group = 0;
    while group < 5 {
        let rotations = ROTATIONS[group % 2];
        let mut round = 0;
        while round < 4 {
            x0 = x0.wrapping_add(x1);
            x1 = x1.rotate_left(rotations[round]) ^ x0;
            round += 1;
        }
        x0 = x0.wrapping_add(keys[(group + 1) % 3]);
        x1 = x1.wrapping_add(keys[(group + 2) % 3]).wrapping_add(group as u32 + 1);
        group += 1;
    }
    [x0, x1]
}

/// The key of a 64-bit seed: its low and its high word.
#[must_use]
pub const fn key_from_seed(seed: u64) -> Key {
    [seed as u32, (seed >> 32) as u32]
}

/// A new key from a key and a number: `threefry2x32(key, [data, FOLD_COUNTER])`.
///
/// Different numbers give different keys, and none of them is related to what is drawn from `key` itself.
#[inline(always)]
#[must_use]
pub const fn fold_in(key: Key, data: u32) -> Key {
    threefry2x32(key, [data, FOLD_COUNTER])
}

/// The number of a named stream, for [`fold_in`]: the 32-bit FNV-1a hash of its name.
///
/// Streams are named rather than numbered so that adding one never renumbers, and thus never changes, another.
#[must_use]
pub const fn stream(name: &str) -> u32 {
    let bytes = name.as_bytes();
    let mut hash = 0x811C_9DC5_u32;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u32).wrapping_mul(0x0100_0193);
        i += 1;
    }
    hash
}

/// The streams that a training session uses; each is `stream` of its lower-case name.
pub mod streams {
    use super::stream;

    /// Initial network parameters.
    pub const INIT: u32 = stream("init");
    /// Environment resets and the noise of environment steps.
    pub const ENV: u32 = stream("env");
    /// Actions drawn while collecting.
    pub const ACTION: u32 = stream("action");
    /// Exploration noise that outlives one step.
    pub const EXPLORATION: u32 = stream("exploration");
    /// Order of the samples in minibatches.
    pub const MINIBATCH: u32 = stream("minibatch");
    /// Rows drawn from a replay buffer.
    pub const REPLAY: u32 = stream("replay");
    /// Tasks drawn from a distribution.
    pub const TASK: u32 = stream("task");
    /// The particles of a seed, each of which draws by a key of its own.
    pub const PARTICLE: u32 = stream("particle");
    /// A rank beside others that train the same parameters.
    pub const RANK: u32 = stream("rank");
    /// Rollouts of whole episodes.
    pub const EPISODES: u32 = stream("episodes");
    /// Evaluation episodes.
    pub const EVAL: u32 = stream("eval");
    /// Tasks that training never draws from.
    pub const HELD_OUT_TASK: u32 = stream("held_out_task");
    /// Episodes on them.
    pub const HELD_OUT_EPISODES: u32 = stream("held_out_episodes");
}

/// A uniform number in [0, 1) from one random word: its top 24 bits, exact in `f32`.
#[inline(always)]
#[must_use]
pub const fn uniform(bits: u32) -> f32 {
    (bits >> 8) as f32 * (1.0 / 16_777_216.0)
}

/// A standard normal number from two uniform ones in [0, 1), by Box and Muller: √(−2 ln(1 − u₁)) cos(2π u₂).
///
/// `1 − u₁` lies in (0, 1], so the logarithm is finite.
#[must_use]
pub fn normal(u1: f64, u2: f64) -> f64 {
    (-2.0 * (1.0 - u1).ln()).sqrt() * (std::f64::consts::TAU * u2).cos()
}

/// The index that a uniform number `u` in [0, 1) selects from non-negative weights, by inverting their running sum.
///
/// Weights need not sum to one. An index of weight zero is never selected unless all weights are zero, which selects 0.
#[must_use]
pub fn categorical(weights: &[f64], u: f64) -> usize {
    let threshold = u * weights.iter().sum::<f64>();
    let (mut sum, mut last) = (0.0, 0);
    for (index, &weight) in weights.iter().enumerate() {
        if weight > 0.0 {
            sum += weight;
            last = index;
            if threshold < sum {
                return index;
            }
        }
    }
    last // rounding left the threshold at the total
}

/// A sequential generator for host code: `rand`'s distributions work on it.
///
/// The state is the key and the number of words already drawn, so it saves and resumes exactly.
///
/// ```
/// use quickstudy_core::rng::Threefry;
/// use rand::RngExt;
///
/// let mut rng = Threefry::new([7, 0]);
/// let _: f64 = rng.random();
/// let mut resumed = rng.clone();
/// assert_eq!(rng.random_range(0..100), resumed.random_range(0..100));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Threefry {
    key: Key,
    position: u64,
}

impl Threefry {
    /// A generator at the start of the stream `key`.
    #[must_use]
    pub const fn new(key: Key) -> Self {
        Self { key, position: 0 }
    }

    /// A generator at a saved `position` (words already drawn) of the stream `key`.
    #[must_use]
    pub const fn resume(key: Key, position: u64) -> Self {
        Self { key, position }
    }

    /// The stream's key.
    #[must_use]
    pub const fn key(&self) -> Key {
        self.key
    }

    /// Words already drawn.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The next random word: word `position mod 2` of block `position / 2`.
    pub const fn word(&mut self) -> u32 {
        let block = self.position / 2;
        let words = threefry2x32(self.key, [block as u32, (block >> 32) as u32]);
        let word = words[(self.position % 2) as usize];
        self.position = self.position.wrapping_add(1);
        word
    }

    /// Uniform in [0, 1) with 53 random bits.
    pub const fn uniform(&mut self) -> f64 {
        let (low, high) = (self.word() as u64, self.word() as u64);
        ((high << 32 | low) >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        let (u1, u2) = (self.uniform(), self.uniform());
        normal(u1, u2)
    }

    /// An index drawn in proportion to non-negative weights, see [`categorical`].
    pub fn categorical(&mut self, weights: &[f64]) -> usize {
        let u = self.uniform();
        categorical(weights, u)
    }
}

impl TryRng for Threefry {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.word())
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let (low, high) = (u64::from(self.word()), u64::from(self.word()));
        Ok(high << 32 | low)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(4) {
            chunk.copy_from_slice(&self.word().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, RngExt};

    #[test]
    fn threefry_matches_the_known_answers_of_random123() {
        // Random123 1.14, tests/kat_vectors, "threefry2x32 20": counter, key, result.
        assert_eq!(threefry2x32([0, 0], [0, 0]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry2x32([u32::MAX; 2], [u32::MAX; 2]), [0x1cb9_96fc, 0xbb00_2be7]);
        assert_eq!(threefry2x32([0x1319_8a2e, 0x0370_7344], [0x243f_6a88, 0x85a3_08d3]), [0xc492_3a9c, 0x483d_f7a0]);
    }

    #[test]
    fn streams_have_the_fnv_hash_of_their_name_and_differ() {
        assert_eq!(stream(""), 0x811c_9dc5);
        assert_eq!(stream("a"), 0xe40c_292c); // the FNV authors' test vector
        let all = [
            streams::INIT,
            streams::ENV,
            streams::ACTION,
            streams::EXPLORATION,
            streams::MINIBATCH,
            streams::PARTICLE,
            streams::RANK,
            streams::REPLAY,
            streams::TASK,
            streams::EVAL,
            streams::HELD_OUT_TASK,
            streams::HELD_OUT_EPISODES,
        ];
        let distinct: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
    }

    #[test]
    fn folded_keys_differ_from_each_other_and_from_draws() {
        let key = key_from_seed(0x0123_4567_89ab_cdef);
        assert_eq!(key, [0x89ab_cdef, 0x0123_4567]);
        let mut seen = std::collections::HashSet::new();
        for data in 0..1000 {
            assert!(seen.insert(fold_in(key, data)));
            assert!(seen.insert(threefry2x32(key, [data, 0])));
        }
    }

    #[test]
    fn uniform_spans_the_half_open_unit_interval() {
        assert_eq!(uniform(0), 0.0);
        assert_eq!(uniform(255), 0.0);
        assert_eq!(uniform(u32::MAX), 1.0 - 1.0 / 16_777_216.0);
    }

    #[test]
    fn a_saved_generator_resumes_anywhere_in_a_block() {
        let mut rng = Threefry::new([1, 2]);
        let words: Vec<u32> = (0..9).map(|_| rng.word()).collect();
        assert_eq!(words[..2], threefry2x32([1, 2], [0, 0]));
        for cut in 0..9 {
            let saved = serde_json::to_string(&Threefry::resume([1, 2], cut)).unwrap();
            let mut resumed: Threefry = serde_json::from_str(&saved).unwrap();
            let rest: Vec<u32> = (cut..9).map(|_| resumed.word()).collect();
            assert_eq!(rest, words[cut as usize..]);
        }
        let mut bytes = [0; 7];
        Threefry::new([1, 2]).fill_bytes(&mut bytes);
        assert_eq!(bytes[..4], words[0].to_le_bytes());
        assert_eq!(bytes[4..], words[1].to_le_bytes()[..3]);
    }

    #[test]
    fn moments_of_uniform_normal_and_rand_distributions() {
        let (n, mut rng) = (100_000, Threefry::new([3, 4]));
        let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
        // Standard errors: √(1/12 / n) = 0.0009 and 1/√n = 0.0032, √2/√n = 0.0045.
        assert!((mean(&mut || rng.uniform()) - 0.5).abs() < 0.004);
        assert!(mean(&mut || rng.normal()).abs() < 0.013);
        assert!((mean(&mut || rng.normal().powi(2)) - 1.0).abs() < 0.018);
        assert!((mean(&mut || f64::from(rng.random_range(0..10_u32))) - 4.5).abs() < 0.037);
    }

    #[test]
    fn categorical_inverts_the_running_sum() {
        let weights = [0.0, 1.0, 0.0, 3.0, 0.0];
        assert_eq!(categorical(&weights, 0.0), 1);
        assert_eq!(categorical(&weights, 0.249), 1);
        assert_eq!(categorical(&weights, 0.25), 3);
        assert_eq!(categorical(&weights, 1.0), 3, "a threshold at the total stays in range");
        assert_eq!(categorical(&[0.0, 0.0], 0.5), 0);
        assert_eq!(categorical(&[], 0.5), 0);
    }
}
