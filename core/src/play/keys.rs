//! Keys of the random numbers of a play.

use crate::Tensor;
use crate::dist::fold_in;
use crate::rng::streams;

/// The keys of the random numbers of a play, words `[K, 1]`: one key of each kind per group of environments.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// The key of environments' random numbers.
    pub env: [Tensor; 2],
    /// The key of random actions.
    pub action: [Tensor; 2],
    /// The key of noise that lasts for several steps.
    pub lasting: [Tensor; 2],
    /// The number by which the first step draws, u32 `[]`; each later step draws by the next number.
    pub first: Tensor,
}

impl Keys {
    /// The keys of a play that begins with new episodes, which are streams of `key`. The first states are drawn by the
    /// number 0, the first step by 1.
    #[track_caller]
    pub fn of(key: [Tensor; 2]) -> Keys {
        let stream = |name: u32| fold_in(key, Tensor::constant_u32(name));
        Keys {
            env: stream(streams::ENV),
            action: stream(streams::ACTION),
            lasting: stream(streams::EXPLORATION),
            first: Tensor::constant_u32(1),
        }
    }

    /// The keys of a play that continues from one iteration to the next: streams of `key`, and in each a key for the
    /// iteration.
    #[track_caller]
    pub fn of_iteration(key: [Tensor; 2], iteration: Tensor) -> Keys {
        let stream = |name: u32| fold_in(fold_in(key, Tensor::constant_u32(name)), iteration);
        Keys {
            env: stream(streams::ENV),
            action: stream(streams::ACTION),
            lasting: stream(streams::EXPLORATION),
            first: Tensor::constant_u32(0),
        }
    }
}

/// The keys of each seed's groups of environments, words `[S, 1]` → `[S · n, 1]`; the seed's own key if there is one
/// group.
#[track_caller]
pub fn group_keys(key: [Tensor; 2], n: usize) -> [Tensor; 2] {
    match n {
        1 => key,
        n => row_keys(fold_in(key, Tensor::constant_u32(streams::PARTICLE)), n),
    }
}

/// The keys of rows from the keys of seeds, words `[S, 1]` → `[S · M, 1]`.
#[track_caller]
pub fn row_keys(key: [Tensor; 2], rows: usize) -> [Tensor; 2] {
    let seeds = key[0].size(0);
    let number = Tensor::iota(&[seeds, rows], 1);
    fold_in(key, number).map(|word| word.reshape(&[seeds * rows, 1]))
}
