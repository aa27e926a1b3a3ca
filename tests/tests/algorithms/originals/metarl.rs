//! metarl, ae4825d, `metarl/np/algos`.

use super::{As, Class, Defaults, Not, Same};

const OF_PARTS: &str = "an argument there; here the environment and the settings make it";
const DISCOUNT: &str = "only its logs are discounted";

/// `metarl/np/algos/cem.py`.
const CEM: Class = (
    "CEM",
    &[
        ("env_spec", Not("`--env`")),
        ("policy", As("deterministic", "false", "theirs draws its actions")),
        ("baseline", Not("only its logs use it")),
        ("n_samples", As("n_samples", "20", "needed there; the least that best_frac allows")),
        ("discount=.99", Not(DISCOUNT)),
        ("max_path_length=500", Not("the environment's time limit, 500 steps of CartPole")),
        ("init_std=1", Same("init_std")),
        ("best_frac=.05", Same("best_frac")),
        ("extra_std=1.", Same("extra_std")),
        ("extra_decay_time=100", Same("extra_decay_time")),
    ],
);

/// `metarl/np/algos/cma_es.py`.
const CMA_ES: Class = (
    "CMAES",
    &[
        ("env_spec", Not("`--env`")),
        ("policy", As("deterministic", "false", "theirs draws its actions")),
        ("baseline", Not("only its logs use it")),
        ("n_samples", As("n_samples", "20", "needed there; its test has 20")),
        ("discount=.99", Not(DISCOUNT)),
        ("max_path_length=500", Not("the environment's time limit, 500 steps of CartPole")),
        ("sigma0=1.", Same("sigma0")),
    ],
);

/// `metarl/np/algos/off_policy_rl_algorithm.py`.
const OFF_POLICY: Class = (
    "OffPolicyRLAlgorithm",
    &[
        ("env_spec", Not("`--env`")),
        ("policy", Not(OF_PARTS)),
        ("qf", Not(OF_PARTS)),
        ("replay_buffer", Not("`memory_size`")),
        ("use_target=False", As("target_update_interval", "1", "the target is a copy after each update")),
        ("size of a step of the target=1", As("tau", "1.0", "the target is a copy after each update")),
        ("discount=.99", Same("gamma")),
        ("steps_per_epoch=20", Not("an iteration is one cycle, an epoch of theirs 20 iterations")),
        ("max_path_length=None", Not("the environment's time limit")),
        ("max_eval_path_length=None", Not("the environment's time limit")),
        ("clip_gradient of the Q-function", As("max_grad_norm", "0.0", "none in this class")),
        ("n_train_steps=50", Same("gradient_steps")),
        ("buffer_batch_size=64", Same("batch_size")),
        ("min_buffer_size=10000", Same("learning_starts")),
        ("rollout_batch_size=1", Same("min_rollouts")),
        ("reward_scale=1.", Same("reward_scale")),
        ("smooth_return=True", Not("`rollout/ep_return_mean` is the mean of the last hundred returns, always")),
        ("exploration_policy=None", As("warm_up", "\"policy\"", "who explores fills the memory, too")),
    ],
);

/// `metarl/np/algos/nop.py`: no parameters. The algorithm `nop` plays episodes of its policy, and learns nothing.
const NOP: Class = ("NOP", &[]);

pub const ALL: &[Defaults] = &[
    Defaults { file: Some("metarl-cem"), train: ["cem", "cartpole"], steps: 3000, shortened: "", classes: &[CEM] },
    Defaults {
        file: Some("metarl-cma-es"),
        train: ["cma-es", "cartpole"],
        steps: 1,
        shortened: "",
        classes: &[CMA_ES],
    },
    Defaults {
        file: Some("metarl-off-policy"),
        train: ["dqn", "ball-on-beam-discrete"],
        steps: 11_000,
        shortened: "",
        classes: &[OFF_POLICY],
    },
    Defaults { file: None, train: [""; 2], steps: 0, shortened: "", classes: &[NOP] },
];
