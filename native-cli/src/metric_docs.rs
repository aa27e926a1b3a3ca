//! What the columns of `metrics.csv` mean; the same names are in `metrics.jsonl` and in TensorBoard.

/// Name and meaning of each metric, in the order of the columns.
pub const METRIC_DOCS: [(&str, &str); 20] = [
    ("time/env_steps", "environment steps so far, summed over parallel environments"),
    ("time/iterations", "iterations so far: one rollout and its updates each"),
    ("rollout/ep_return_mean", "mean return of the last 100 or more training episodes"),
    ("rollout/ep_len_mean", "their mean length in steps"),
    ("rollout/episodes", "training episodes that ended in this iteration"),
    ("train/policy_loss", "clipped surrogate loss, eq. 7 with its sign turned"),
    ("train/value_loss", "½ (v − R)², mean over the minibatches"),
    ("train/entropy", "of the policy, in nats; falls as it becomes certain"),
    ("train/approx_kl", "KL divergence of the old policy from the new one, estimated"),
    ("train/clip_frac", "share of probability ratios outside of the clip range"),
    ("train/grad_norm", "length of the gradient before it is clipped"),
    ("train/explained_variance", "1: the values predict the returns; 0: no better than their mean"),
    ("train/non_finite", "updates left out because a gradient was not finite"),
    ("train/updates", "minibatch updates made"),
    ("train/learning_rate", "as its schedule has it now"),
    ("train/clip_eps", "as its schedule has it now"),
    ("eval/return_mean", "mean return of the deterministic policy, where evaluated"),
    ("eval/ep_len_mean", "mean length of those episodes"),
    ("time/seconds", "seconds of training so far, over all resumed parts"),
    ("time/sps", "environment steps per second of this process, all seeds together"),
];
