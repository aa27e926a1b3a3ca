//! garage: PEARL and RL² as of release 2020.06, the others as of master 2d594803; and the authors' PEARL, oyster
//! ee4fe88.

use super::{As, Class, Defaults, Not, Same};

const OF_PARTS: &str = "an argument there; here the environment and the settings make it";
const WIDTHS: &str = "of the example of a cheetah's velocities: three layers of 300 in each network";
const NEEDED: &str = "needed there; as in the example of a cheetah's velocities";

/// `garage/torch/algos/pearl.py`, class PEARL.
const PEARL: Class = (
    "PEARL",
    &[
        ("env", Not("`--env`, whose tasks are drawn")),
        ("inner_policy", As("hidden", "[300, 300, 300]", WIDTHS)),
        ("qf", As("hidden", "[300, 300, 300]", WIDTHS)),
        ("vf", As("hidden", "[300, 300, 300]", WIDTHS)),
        ("sampler", Not(OF_PARTS)),
        ("num_train_tasks", As("train_tasks", "100", NEEDED)),
        ("num_test_tasks", Not("tasks of a test are drawn by it: `--n-test-tasks`")),
        ("latent_dim", As("latent_dim", "5", NEEDED)),
        ("encoder_hidden_sizes", As("encoder_hidden_sizes", "[200, 200, 200]", NEEDED)),
        ("test_env_sampler", Not("held-out tasks are drawn by the environment")),
        ("policy_class=ContextConditionedPolicy", Not("the policy reads the belief, always")),
        ("encoder_class=MLPEncoder", As("encoder", "\"mlp\"", "a word here")),
        ("policy_lr=3e-4", Same("policy_lr")),
        ("qf_lr=3e-4", Same("qf_lr")),
        ("vf_lr=3e-4", Same("vf_lr")),
        ("context_lr=3e-4", Same("context_lr")),
        ("policy_mean_reg_coeff=1e-3", Same("policy_mean_reg_coeff")),
        ("policy_std_reg_coeff=1e-3", Same("policy_std_reg_coeff")),
        ("policy_pre_activation_coeff=0", Same("policy_pre_activation_coeff")),
        ("soft_target_tau=.005", Same("tau")),
        ("kl_lambda=.1", Same("kl_lambda")),
        ("optimizer_class=Adam", Not("Adam, always")),
        ("use_information_bottleneck=True", Same("use_information_bottleneck")),
        ("use_next_obs_in_context=False", Same("use_next_obs_in_context")),
        ("meta_batch_size=64", Same("meta_batch")),
        ("num_steps_per_epoch=1000", Same("num_steps_per_epoch")),
        ("num_initial_steps=100", Same("num_initial_steps")),
        ("num_tasks_sample=100", Same("num_tasks_sample")),
        ("num_steps_prior=100", Same("num_steps_prior")),
        ("num_steps_posterior=0", Same("num_steps_posterior")),
        ("num_extra_rl_steps_posterior=100", Same("num_extra_rl_steps_posterior")),
        ("batch_size=1024", Same("batch_size")),
        ("embedding_batch_size=1024", Same("embedding_batch_size")),
        ("embedding_mini_batch_size=1024", Same("embedding_mini_batch_size")),
        ("max_path_length=1000", Not("the environment's time limit: `point-robot:time_limit=1000`")),
        ("discount=.99", Same("gamma")),
        ("replay_buffer_size=1_000_000", Same("memory_size")),
        ("reward_scale=1", Same("reward_scale")),
        ("update_post_train=1", Same("update_post_train")),
    ],
);

/// `garage/torch/algos/pearl.py`, class PEARLWorker.
const PEARL_WORKER: Class = (
    "PEARLWorker",
    &[
        ("seed", Not("`--seed`")),
        ("max_path_length", Not("the environment's time limit")),
        ("worker_number", Not("rows of one program play side by side")),
        (
            "deterministic=False",
            Not("measured episodes take the deterministic actions, others draw them: `--stochastic`"),
        ),
        ("accum_context=False", Not("the belief is inferred from all that exploration saw, always")),
    ],
);

/// `oyster/configs/sparse-point-robot.json` over `configs/default.py`.
const OYSTER_SPARSE: Class = (
    "sparse-point-robot.json",
    &[
        ("env_name=sparse-point-robot", Not("`--env point-half-circle`")),
        ("n_train_tasks=80", Same("train_tasks")),
        ("n_eval_tasks=20", Not("`--n-test-tasks 20`")),
        ("n_tasks=100", Not("tasks are drawn, not listed")),
        ("randomize_tasks=True", Not("tasks are drawn, always")),
        ("path_to_weights=None", Not("`--from RUN`")),
        ("latent_size=5", Same("latent_dim")),
        ("net_size=300", As("hidden", "[300, 300, 300]", "three layers there")),
        ("encoder_hidden_sizes", As("encoder_hidden_sizes", "[200, 200, 200]", "of its launcher")),
        ("meta_batch=16", Same("meta_batch")),
        ("num_iterations=500", Not("`--iterations`")),
        ("num_initial_steps=200", Same("num_initial_steps")),
        ("num_tasks_sample=10", Same("num_tasks_sample")),
        ("num_steps_prior=100", Same("num_steps_prior")),
        ("num_steps_posterior=900", Same("num_steps_posterior")),
        ("num_extra_rl_steps_posterior=0", Same("num_extra_rl_steps_posterior")),
        ("num_train_steps_per_itr=1000", Same("num_steps_per_epoch")),
        ("num_evals=2", Not("`--n-test-tasks` says how many tasks are tested")),
        ("num_steps_per_eval=400", Not("follows from exploration_episodes and the time limit")),
        ("batch_size=256", Same("batch_size")),
        ("embedding_batch_size=1024", Same("embedding_batch_size")),
        ("embedding_mini_batch_size=1024", Same("embedding_mini_batch_size")),
        ("max_path_length=20", Not("the environment's time limit, 20 steps")),
        ("discount=.9", Same("gamma")),
        ("soft_target_tau=.005", Same("tau")),
        ("policy_lr=3e-4", Same("policy_lr")),
        ("qf_lr=3e-4", Same("qf_lr")),
        ("vf_lr=3e-4", Same("vf_lr")),
        ("context_lr=3e-4", Same("context_lr")),
        ("reward_scale=100", Same("reward_scale")),
        ("sparse_rewards=1", As("dense_rewards", "true", "the reward that is learned from is named here")),
        ("kl_lambda=1", Same("kl_lambda")),
        ("use_information_bottleneck=True", Same("use_information_bottleneck")),
        ("use_next_obs_in_context=False", Same("use_next_obs_in_context")),
        ("update_post_train=1", Same("update_post_train")),
        ("num_exp_traj_eval=5", Same("exploration_episodes")),
        ("recurrent=False", As("encoder", "\"mlp\"", "a word here")),
        ("use_traj_context=False", Not("of the recurrent encoder alone, which reads transitions in order, always")),
        ("dump_eval_paths=False", Not("`adapt` writes the ways of each episode")),
    ],
);

const GLOROT: &str = "Glorot-uniform, the other first weights of recurrent policies";

/// `garage/tf/algos/rl2ppo.py` and `rl2npo.py`, what RL2PPO and RL2TRPO have in common.
const RL2: Class = (
    "RL2PPO and RL2TRPO",
    &[
        ("meta_batch_size", As("meta_batch", "10", NEEDED)),
        ("task_sampler", Not("the environment draws tasks; `train_tasks` says of how many")),
        ("env_spec", Not("`--env`")),
        ("policy", Not(OF_PARTS)),
        ("baseline", As("critic", "\"linear_feature\"", "the example's LinearFeatureBaseline")),
        ("sampler", Not(OF_PARTS)),
        ("episodes_per_trial", As("episodes", "4", NEEDED)),
        ("discount=.99", Same("gamma")),
        ("center_adv=True", As("advantage_centre", "\"step\"", "over the trials at each step, as there")),
        ("positive_adv=False", Same("positive_advantages")),
        ("fixed_horizon=False", Not("a trial ends with its last episode")),
        ("policy_ent_coeff=0", Same("entropy_coef")),
        ("use_softplus_entropy=False", Same("entropy_softplus")),
        ("use_neg_logli_entropy=False", Same("entropy_neg_log_prob")),
        ("stop_entropy_gradient=False", Not("follows from entropy_method")),
        ("entropy_method='no_entropy'", As("entropy_method", "\"no_entropy\"", "quoted as TOML does")),
        ("meta_evaluator=None", Not("`--n-exploration-eps` and the like")),
        ("n_epochs_per_eval=10", Not("`--eval-every`, in steps")),
    ],
);

/// `garage/tf/algos/rl2.py`, classes RL2Env and RL2Worker.
const RL2_PARTS: Class = (
    "RL2Env and RL2Worker",
    &[
        ("env", As("carry_over", "false", "RL2Env shows zeros at the start of each episode")),
        ("seed", Not("`--seed`")),
        ("max_episode_length", Not("the environment's time limit")),
        ("worker_number", Not("rows of one program play side by side")),
        ("n_episodes_per_trial=2", Not("`episodes`, which RL2PPO gives it as episodes_per_trial")),
    ],
);

/// `garage/tf/algos/rl2ppo.py`, class RL2PPO.
const RL2_PPO: Class = (
    "RL2PPO",
    &[
        ("gae_lambda=1", Same("gae_lambda")),
        ("lr_clip_range=.01", Same("clip_eps")),
        ("max_kl_step=.01", Not("its optimiser, FirstOrderOptimizer, has no use for it")),
        ("optimizer_args=None", Not("the keys of FirstOrderOptimizer")),
    ],
);

/// `garage/tf/optimizers/first_order_optimizer.py`.
const FIRST_ORDER: Class = (
    "FirstOrderOptimizer",
    &[
        ("optimizer=AdamOptimizer", Not("Adam, always")),
        ("learning_rate=1e-3", Same("learning_rate")),
        ("max_optimization_epochs=1000", Same("epochs")),
        ("tolerance=1e-6", Same("tolerance")),
        ("batch_size=32", Same("minibatch_size")),
        ("epsilon of AdamOptimizer=1e-8", Same("adam_eps")),
        ("max_grad_norm", As("max_grad_norm", "0.0", "there is none there")),
    ],
);

/// `garage/tf/algos/rl2trpo.py`, class RL2TRPO.
const RL2_TRPO: Class = (
    "RL2TRPO",
    &[
        ("gae_lambda=.98", Same("gae_lambda")),
        ("lr_clip_range=.01", Not("its loss is not clipped")),
        ("max_kl_step=.01", Same("max_kl")),
        ("optimizer=None", Not("the conjugate gradient, always")),
        ("optimizer_args=None", Not("the keys of ConjugateGradientOptimizer")),
        ("kl_constraint='hard'", Not("hard, always; a soft one would be another optimiser")),
    ],
);

/// `garage/tf/optimizers/conjugate_gradient_optimizer.py`, its classes ConjugateGradientOptimizer and
/// FiniteDifferenceHVP.
const CONJUGATE_GRADIENT: Class = (
    "ConjugateGradientOptimizer and FiniteDifferenceHVP",
    &[
        ("cg_iters=10", Same("cg_iterations")),
        ("reg_coeff=1e-5", Same("damping")),
        ("subsample_factor=1", Not("`curvature_share` of trpo; of rl2-trpo all trials")),
        ("backtrack_ratio=.8", Same("backtrack_ratio")),
        ("max_backtracks=15", Same("backtracks")),
        ("accept_violation=False", Same("accept_violation")),
        ("hvp_approach=None", As("hessian", "\"exact\"", "PearlmutterHVP, which differentiates twice")),
        (
            "base_eps=1e-8",
            Not("of hessian = \"finite_differences\"; drowned by rounding in f32, `base_eps = 1e-5` is the example's"),
        ),
        ("symmetric=True", Not("hessian = \"finite_differences\" or \"one_sided_differences\"")),
        ("num_slices=1", Not("a product takes all trials at once")),
    ],
);

/// `garage/tf/policies/gaussian_gru_policy.py`.
const GRU_POLICY: Class = (
    "GaussianGRUPolicy",
    &[
        ("env_spec", Not("`--env`")),
        ("hidden_dim=32", Same("units")),
        ("hidden_nonlinearity=tanh", Not("tanh, always")),
        ("recurrent_nonlinearity=sigmoid", Not("the logistic function, always")),
        ("recurrent_layer", As("cell", "\"gru\"", "the class says it there")),
        ("reset_after", As("reset", "\"after\"", "the default of Keras' GRU")),
        ("hidden_w_init=glorot_uniform", As("orthogonal_init", "false", GLOROT)),
        ("recurrent_w_init=glorot_uniform", As("orthogonal_init", "false", GLOROT)),
        ("output_w_init=glorot_uniform", As("orthogonal_init", "false", GLOROT)),
        ("hidden_b_init=zeros", Not("0, always")),
        ("output_b_init=zeros", Not("0, always")),
        ("hidden_state_init=zeros", Not("0, where it is not learned")),
        ("hidden_state_init_trainable=False", Same("learned_start")),
        ("learn_std=True", Same("learn_std")),
        ("std_share_network=False", Not("one deviation for all states")),
        ("init_std=1", As("log_std_init", "0.0", "ln 1")),
        ("layer_normalization=False", Same("layer_norm")),
        (
            "state_include_action=True",
            Not("the last action is shown once: RL2Env does it, and its examples turn this off"),
        ),
    ],
);

/// `garage/np/baselines/linear_feature_baseline.py`.
const LINEAR_FEATURES: Class =
    ("LinearFeatureBaseline", &[("env_spec", Not("`--env`")), ("reg_coeff=1e-5", Same("baseline_regularisation"))]);

/// `garage/experiment/meta_evaluator.py`.
const META_EVALUATOR: Class = (
    "MetaEvaluator",
    &[
        ("test_task_sampler", Not("held-out tasks are drawn by the environment")),
        ("n_exploration_eps=10", Not("`--n-exploration-eps`, with the same default")),
        ("n_test_tasks=None", Not("`--n-test-tasks`")),
        ("n_test_episodes=1", Not("`--n-test-episodes`, with the same default")),
        ("prefix='MetaTest'", Not("`meta::MetaEvaluator::prefix`, with the same default")),
        ("test_task_names=None", Not("`meta::MetaEvaluator::test_task_names`")),
        ("worker_class=DefaultWorker", Not("the policy plays its own episodes")),
        ("worker_args=None", Not("the policy plays its own episodes")),
        (
            "test_episodes_per_task=None",
            Not("of `evaluate`: `meta::MetaEvaluator::n_test_episodes` may change between calls"),
        ),
    ],
);

/// `garage/envs/normalized_env.py`, as DefaultWorker meets it.
const NORMALIZE: Class = (
    "normalize",
    &[
        ("env", Not("`--env`")),
        ("expected_action_scale=1", Not("`scale_actions`")),
        ("scale_reward=1", Not("`reward_scale` of algorithms with a memory; the scale of others cancels")),
        ("normalize_obs=False", Not("`normalise_observations`")),
        ("normalize_reward=False", Not("`normalise_rewards`")),
        ("obs_alpha=.001", Not("moments are of all that was seen, not of a sliding average")),
        ("reward_alpha=.001", Not("moments are of all that was seen, not of a sliding average")),
    ],
);

/// `garage/torch/algos/maml.py`, which MAMLPPO, MAMLVPG and MAMLTRPO have in common.
const MAML: Class = (
    "MAMLPPO, MAMLVPG and MAMLTRPO",
    &[
        ("env", Not("`--env`, whose tasks are drawn")),
        ("policy", Not(OF_PARTS)),
        ("value_function", As("baseline", "\"linear_feature\"", "LinearFeatureBaseline in its examples")),
        ("task_sampler", Not("the environment draws tasks; `train_tasks` says of how many")),
        ("inner_lr=.1", Same("inner_lr")),
        ("max_episode_length=100", Same("horizon")),
        ("discount=.99", Same("gamma")),
        ("gae_lambda=1", Same("gae_lambda")),
        ("center_adv=True", Same("normalise_advantages")),
        ("positive_adv=False", Same("positive_advantages")),
        ("policy_ent_coeff=0", Not("none, as there by default")),
        ("use_softplus_entropy=False", Not("no entropy in these losses")),
        ("stop_entropy_gradient=False", Not("no entropy in these losses")),
        ("entropy_method='no_entropy'", Not("no entropy in these losses")),
        ("meta_batch_size=20", Same("meta_batch")),
        ("num_grad_updates=1", Same("inner_steps")),
        ("meta_evaluator=None", Not("`--n-exploration-eps` and the like")),
        ("evaluate_every_n_epochs=1", Not("`--eval-every`, in steps")),
    ],
);

/// `garage/torch/algos/maml_ppo.py` and `maml_vpg.py`.
const OUTER_ADAM: Class = ("the outer steps of MAMLPPO and MAMLVPG", &[("outer_lr=1e-3", Same("learning_rate"))]);

/// `garage/torch/algos/maml_ppo.py`.
const MAML_PPO: Class = ("MAMLPPO", &[("lr_clip_range=.5", Same("clip_eps"))]);

/// `garage/torch/algos/maml_trpo.py`.
const MAML_TRPO: Class =
    ("MAMLTRPO", &[("outer_lr=1e-3", Not("a trust region has no rate")), ("max_kl_step=.01", Same("max_kl"))]);

/// `garage/experiment/task_sampler.py`.
const TASK_SAMPLERS: Class = (
    "SetTaskSampler, ConstructEnvsSampler, EnvPoolSampler and MetaWorldTaskSampler",
    &[
        ("env_constructor", Not("`--env`")),
        ("env=None", Not("`--env`")),
        ("wrapper=None", Not("an environment of its own")),
        ("constructors", Not("`host::OneOf`")),
        ("envs", Not("`train_tasks`, whose tasks are known by their numbers")),
        ("benchmark", Not("`--env metaworld:ML10`")),
        ("kind", Not("training and held-out tasks are apart in `--env metaworld:ML10`")),
        ("add_env_onehot=False", Not("`host::OneOf` can show it")),
    ],
);

pub const ALL: &[Defaults] = &[
    Defaults {
        file: Some("garage-pearl"),
        train: ["pearl", "point-robot:time_limit=1000"],
        steps: 100_001,
        shortened: "num_steps_per_epoch = 1",
        classes: &[PEARL],
    },
    Defaults {
        file: Some("oyster-sparse-point-robot"),
        train: ["pearl", "point-half-circle"],
        steps: 16_001,
        shortened: "num_steps_per_epoch = 1",
        classes: &[OYSTER_SPARSE],
    },
    Defaults {
        file: Some("garage-rl2-ppo"),
        train: ["rl2-ppo", "point-robot"],
        steps: 1,
        shortened: "",
        classes: &[RL2, RL2_PARTS, RL2_PPO, FIRST_ORDER, GRU_POLICY, LINEAR_FEATURES],
    },
    Defaults {
        file: Some("garage-rl2-trpo"),
        train: ["rl2-trpo", "point-robot"],
        steps: 1,
        shortened: "",
        classes: &[RL2, RL2_PARTS, RL2_TRPO, CONJUGATE_GRADIENT, GRU_POLICY, LINEAR_FEATURES],
    },
    Defaults {
        file: Some("garage-maml-ppo"),
        train: ["maml-ppo", "point-walls"],
        steps: 1,
        shortened: "",
        classes: &[MAML, OUTER_ADAM, MAML_PPO],
    },
    Defaults {
        file: Some("garage-maml-vpg"),
        train: ["maml-vpg", "point-walls"],
        steps: 1,
        shortened: "",
        classes: &[MAML, OUTER_ADAM],
    },
    Defaults {
        file: Some("garage-maml-trpo"),
        train: ["maml-trpo", "point-walls"],
        steps: 1,
        shortened: "",
        classes: &[MAML, MAML_TRPO],
    },
    Defaults {
        file: None,
        train: [""; 2],
        steps: 0,
        shortened: "",
        classes: &[PEARL_WORKER, META_EVALUATOR, TASK_SAMPLERS, NORMALIZE],
    },
];
