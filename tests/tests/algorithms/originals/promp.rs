//! ProMP, master 93ae339: `meta_policy_search`, and `pro-mp_run_point_mass.py` for what has no default.

use super::{As, Class, Defaults, Not, Same};

const OF_PARTS: &str = "an argument there; here the environment and the settings make it";
const RUN: &str = "needed there; of its run script";

/// `samplers/base.py` and `samplers/meta_sampler.py`, and the executors of `samplers/vectorized_env_executor.py`.
const SAMPLERS: Class = (
    "Sampler, MetaSampler, MetaIterativeEnvExecutor and MetaParallelEnvExecutor",
    &[
        ("env", Not("`--env`")),
        ("policy", Not(OF_PARTS)),
        ("batch_size", Not("`host::Sampler`; in an algorithm it is `rollouts`")),
        ("max_path_length", As("horizon", "100", RUN)),
        ("rollouts_per_meta_task", As("rollouts", "20", RUN)),
        ("meta_batch_size", As("meta_batch", "20", "needed there; the algorithms' own default")),
        ("envs_per_task=None", Not("each rollout has an environment of its own; `host::Fleet::envs_per_task`")),
        ("parallel=False", Not("`--threads`, on which no result depends; on the host the executor that is passed")),
    ],
);

/// `samplers/base.py`, class SampleProcessor, and MetaSampleProcessor, which has the same parameters.
const SAMPLE_PROCESSOR: Class = (
    "SampleProcessor",
    &[
        ("baseline", As("baseline", "\"linear_feature\"", RUN)),
        ("reg_coeff=1e-5", Same("baseline_regularisation")),
        ("discount=.99", Same("gamma")),
        ("gae_lambda=1", Same("gae_lambda")),
        ("normalize_adv=False", Same("normalise_advantages")),
        ("positive_adv=False", Same("positive_advantages")),
    ],
);

/// `samplers/dice_sample_processor.py`, classes DiceSampleProcessor and DiceMetaSampleProcessor.
const DICE_SAMPLE_PROCESSOR: Class = (
    "DiceSampleProcessor",
    &[
        ("baseline", As("baseline", "\"linear_time\"", "LinearTimeBaseline, as its documentation intends")),
        ("max_path_length", As("horizon", "100", RUN)),
        ("discount=.99", Same("gamma")),
        ("gae_lambda=1", Same("gae_lambda")),
        ("normalize_adv=True", Same("normalise_advantages")),
        ("positive_adv=False", Same("positive_advantages")),
        ("return_baseline=None", Not("`dice-maml` with outer_loss = \"log_likelihood\" has it")),
    ],
);

/// `meta_algos/pro_mp.py`.
const PRO_MP: Class = (
    "ProMP",
    &[
        ("policy", As("hidden", "[64, 64]", RUN)),
        ("hidden_nonlinearity=tanh", As("activation", "\"tanh\"", "a word here")),
        ("inner_lr=.1", Same("inner_lr")),
        ("meta_batch_size=20", Same("meta_batch")),
        ("num_inner_grad_steps=1", Same("inner_steps")),
        ("trainable_inner_step_size=False", Same("learn_inner_lr")),
        ("learning_rate=1e-3", Same("learning_rate")),
        ("num_ppo_steps=5", Same("outer_steps")),
        ("num_minibatches=1", Not("each outer step is by the whole batch")),
        ("clip_eps=.2", Same("clip_eps")),
        ("target_inner_step=.01", Same("target_inner_kl")),
        ("init_inner_kl_penalty=1e-2", Same("inner_kl_coef")),
        ("adaptive_inner_kl_penalty=True", Not("target_inner_kl above 0 says so")),
        ("anneal_factor=1.0", Not("clip_eps_factor, which is 1 by default")),
    ],
);

/// `meta_algos/dice_maml.py`.
const DICE_MAML: Class = (
    "DICEMAML",
    &[
        ("policy", As("hidden", "[64, 64]", RUN)),
        ("hidden_nonlinearity=tanh", As("activation", "\"tanh\"", "a word here")),
        ("inner_lr=.1", Same("inner_lr")),
        ("max_path_length", As("horizon", "100", RUN)),
        ("meta_batch_size=20", Same("meta_batch")),
        ("num_inner_grad_steps=1", Same("inner_steps")),
        ("trainable_inner_step_size=False", Same("learn_inner_lr")),
        ("learning_rate=1e-3", Same("learning_rate")),
    ],
);

/// `meta_algos/base.py`, class MAMLAlgo, as TRPOMAML and VPGMAML have it.
const MAML: Class = (
    "MAMLAlgo",
    &[
        ("policy", As("hidden", "[64, 64]", RUN)),
        ("hidden_nonlinearity=tanh", As("activation", "\"tanh\"", "a word here")),
        ("inner_lr=.1", Same("inner_lr")),
        ("meta_batch_size=20", Same("meta_batch")),
        ("num_inner_grad_steps=1", Same("inner_steps")),
        ("trainable_inner_step_size=False", Same("learn_inner_lr")),
    ],
);

/// `meta_algos/trpo_maml.py`; with exploration=True it is `e-maml`.
const TRPO_MAML: Class = (
    "TRPOMAML",
    &[
        ("step_size=.01", Same("max_kl")),
        ("inner_type='likelihood_ratio'", As("inner_loss", "\"likelihood_ratio\"", "quoted as TOML does")),
        ("exploration=False", Not("`e-maml` is the other one")),
    ],
);

/// `meta_algos/vpg_maml.py`.
const VPG_MAML: Class = (
    "VPGMAML",
    &[
        ("learning_rate=1e-3", Same("learning_rate")),
        ("inner_type='likelihood_ratio'", As("inner_loss", "\"likelihood_ratio\"", "quoted as TOML does")),
        ("exploration=False", Same("exploration")),
    ],
);

/// `envs/normalized_env.py`.
const NORMALIZE: Class = (
    "normalize",
    &[
        ("env", Not("`--env`")),
        ("scale_reward=1.", Not("ignored there")),
        ("normalize_obs=False", Not("not in these algorithms, whose phases see one input")),
        ("normalize_reward=False", Not("`normalise_advantages` takes the scale off")),
        ("obs_alpha=.001", Not("not in these algorithms")),
        ("reward_alpha=.001", Not("not in these algorithms")),
        ("normalization_scale=10.", Not("`scale_actions` acts in −1 to 1")),
    ],
);

pub const ALL: &[Defaults] = &[
    Defaults {
        file: Some("promp-promp"),
        train: ["promp", "point-corner"],
        steps: 1,
        shortened: "",
        classes: &[SAMPLERS, SAMPLE_PROCESSOR, PRO_MP],
    },
    Defaults {
        file: Some("promp-dice"),
        train: ["dice-maml", "point-corner"],
        steps: 1,
        shortened: "",
        classes: &[SAMPLERS, DICE_SAMPLE_PROCESSOR, DICE_MAML],
    },
    Defaults {
        file: Some("promp-trpo-maml"),
        train: ["maml-trpo", "point-walls"],
        steps: 1,
        shortened: "",
        classes: &[SAMPLERS, SAMPLE_PROCESSOR, MAML, TRPO_MAML],
    },
    Defaults {
        file: Some("promp-vpg-maml"),
        train: ["maml-vpg", "point-walls"],
        steps: 1,
        shortened: "",
        classes: &[SAMPLERS, SAMPLE_PROCESSOR, MAML, VPG_MAML],
    },
    Defaults { file: None, train: [""; 2], steps: 0, shortened: "", classes: &[NORMALIZE] },
];
