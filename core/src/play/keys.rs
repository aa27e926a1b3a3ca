//! Names of the random numbers of a play.

use crate::Tensor;
use crate::dist::fold_in;
use crate::rng::streams;

/// Keys of the random numbers of a play, words `[K, 1]`, one of each per group of environments.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// The key of environments.
    pub env: [Tensor; 2],
    /// The key of actions.
    pub action: [Tensor; 2],
    /// The key of noise that lasts for several steps.
    pub lasting: [Tensor; 2],
    /// The number by which the first step draws, u32 `[]`; the next one draws by the next number.
    pub first: Tensor,
}

impl Keys {
    /// Keys of a play that begins with new episodes: streams of `key`. The first states are drawn by 0, the first step
    /// by 1.
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

    /// Keys of a play that goes on from one iteration to the next: streams of `key`, and in these a key for each
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

/// Keys of the groups of environments that each seed has: words `[S, 1]` → `[S · n, 1]`, the seed's own where there is
/// one group.
#[track_caller]
pub fn group_keys(key: [Tensor; 2], n: usize) -> [Tensor; 2] {
    match n {
        1 => key,
        n => row_keys(fold_in(key, Tensor::constant_u32(streams::PARTICLE)), n),
    }
}

/// Keys of rows from keys of seeds: words `[S, 1]` → `[S · M, 1]`.
#[track_caller]
pub fn row_keys(key: [Tensor; 2], rows: usize) -> [Tensor; 2] {
    let seeds = key[0].size(0);
    let number = Tensor::iota(&[seeds, rows], 1);
    fold_in(key, number).map(|word| word.reshape(&[seeds * rows, 1]))
}
