//! Episodes of many tasks side by side, on environments that run on the device.

use crate::Tensor;
use crate::algo::PolicyNet;
use crate::dist::{RowNoise, fold_in};
use crate::env::EnvDef;
use crate::rng::streams;
use crate::sample::Paths;
use crate::tensor::{Loop, scan};

/// What collects whole episodes: `meta_batch` tasks × `rollouts` of each, per stacked seed.
#[derive(Clone, Copy, Debug)]
pub struct Collector<'a> {
    /// The environment.
    pub env: &'a EnvDef,
    /// The policy.
    pub policy: &'a PolicyNet,
    /// Task parameters of each row, `[K, D]`; none if the environment has a single task.
    pub tasks: Option<Tensor>,
    /// Random words of each row of K, `[K, 1]` each: tasks must not share noise.
    pub key: [Tensor; 2],
    /// N, rollouts per task.
    pub rollouts: usize,
    /// T, the steps after which an episode ends.
    pub steps: usize,
    /// The most probable actions instead of draws.
    pub deterministic: bool,
}

/// Episodes, and the states that they went through where these were asked for.
#[derive(Clone, Copy, Debug)]
pub struct Collected {
    /// What learners use.
    pub paths: Paths,
    /// Environment states acted in, `[T, K, N, F]`.
    pub states: Tensor,
    /// Which steps met a value that is not finite, as [`Distribution::lost`](crate::algo::Distribution::lost) tells it, `[T, K, N, 1]`.
    pub lost: Tensor,
}

/// Keys of rows from keys of seeds: words `[S, 1]` → `[S · M, 1]`.
#[track_caller]
pub fn row_keys(key: [Tensor; 2], rows: usize) -> [Tensor; 2] {
    let seeds = key[0].size(0);
    let number = Tensor::iota(&[seeds, rows], 1);
    fold_in(key, number).map(|word| word.reshape(&[seeds * rows, 1]))
}

impl Collector<'_> {
    /// One episode per rollout and task with the parameters `parts: [K, …]`.
    #[track_caller]
    pub fn collect(&self, parts: &[Tensor]) -> Collected {
        let (k, n) = (self.key[0].size(0), self.rollouts);
        let stream = |name: u32| fold_in(self.key, Tensor::constant_u32(name));
        let (env_key, action_key) = (stream(streams::ENV), stream(streams::ACTION));
        let element = Tensor::iota(&[k, n], 1);
        let width = self.env.spec().task.len();
        let task = self.tasks.map(|t| t.reshape(&[k, 1, width]).broadcast_to(&[k, n, width]));
        let first = self.env.trace_reset(fold_in(env_key, Tensor::constant_u32(0)), element, task);
        let count = |v: u32| Tensor::constant_u32(v).broadcast_to(&[k, n]);
        let init = [first.state, count(0), first.observation, count(1)];
        let (_, ys) = scan(self.steps, false, &init, &[], |t, carry, _| {
            let [state, steps, obs, running] = carry else {
                return Loop::default();
            };
            let t = t + Tensor::constant_u32(1);
            let policy = self.policy.distribution(parts, *obs);
            let action = match self.deterministic {
                true => policy.mode(),
                false => policy.sample(&RowNoise::new(fold_in(action_key, t), n)),
            };
            let limited = self.policy.limit(action);
            let stepped = self.env.trace_step(*state, *steps, limited, fold_in(env_key, t), element, task);
            let goes_on = stepped.terminated.bit_or(stepped.truncated).not();
            let column = |x: Tensor| x.unsqueeze(2);
            let reward = running.select(stepped.reward, Tensor::constant_f32(0.0));
            let ys = vec![*obs, action, column(reward), column(*running), *state, policy.lost(*obs, action)];
            let carry = vec![stepped.state, stepped.steps, stepped.observation, running.bit_and(goes_on)];
            Loop { carry, ys }
        });
        let get = |i: usize| ys.get(i).copied().unwrap_or(Tensor::poison());
        let paths = Paths { obs: get(0), action: get(1), reward: get(2), valid: get(3) };
        Collected { paths, states: get(4), lost: get(5) }
    }
}
