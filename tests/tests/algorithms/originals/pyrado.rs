//! Pyrado, SimuRLacra 7c48d66, `pyrado/algorithms/step_based`.

use super::{As, Class, Defaults, Not, Same};

const OF_PARTS: &str = "an argument there; here the environment and the settings make it";
const CHOSEN: &str = "needed there: min_rollouts or min_steps";
const UNLIMITED: &str = "0 is none";
const COUNT: &str = "`--iterations`";

/// `actor_critic.py`, and what all algorithms have: `base.py`.
const ACTOR_CRITIC: Class = (
    "ActorCritic and ParallelRolloutSampler",
    &[
        ("save_dir", Not("`--out`")),
        ("env", Not("`--env`")),
        ("actor", As("orthogonal_init", "false", "its FNNPolicy begins with PyTorch's weights")),
        ("critic", Not(OF_PARTS)),
        ("max_iter", Not(COUNT)),
        ("logger=None", Not("the run folder has the metrics")),
        ("num_workers=4", Not("`--threads`, on which no result depends")),
        ("min_rollouts=None", As("min_rollouts", "10", CHOSEN)),
        ("min_steps=None", Not(CHOSEN)),
        ("snapshot_mode='latest'", Not("`--keep-snapshots last`; the best policy is kept too")),
        ("seed", Not("`--seed`")),
        ("meta_info", Not("snapshots hold training alone")),
    ],
);

const FIXED_RATE: &str = "no scheduler by default";
const FALLS: &str = "`learning_rate_fall` and `learning_rate_falls`";

/// `gae.py`, where the critic makes its steps before the policy's.
const GAE: Class = (
    "GAE",
    &[
        ("vfcn", Not(OF_PARTS)),
        ("gamma=.99", Same("gamma")),
        ("lamda=.95", Same("gae_lambda")),
        ("lamda of the value targets=.95", Same("value_lambda")),
        ("num_epoch=10", Same("critic_epochs")),
        ("batch_size=64", Same("critic_minibatch_size")),
        ("optim=Adam", As("critic_optimiser", "\"adam\"", "fixed there")),
        ("standardize_adv=True", Same("normalise_advantages")),
        (
            "standardizer=None",
            As("advantage_scope", "\"rollout\"", "over all that was sampled; \"running\" is its RunningStandardizer"),
        ),
        ("max_grad_norm=None", As("critic_max_grad_norm", "0.0", UNLIMITED)),
        ("lr=5e-4", Same("critic_learning_rate")),
        ("lr_scheduler=None", As("critic_learning_rate_schedule", "\"constant\"", FIXED_RATE)),
        ("lr_scheduler_hparam=None", Not("`critic_learning_rate_fall` and `critic_learning_rate_falls`")),
    ],
);

/// `gae.py`, where the critic's loss is a part of the policy's, so that its own steps are never made.
const GAE_JOINT: Class = (
    "GAE with a joint loss",
    &[
        ("vfcn", Not(OF_PARTS)),
        ("gamma=.99", Same("gamma")),
        ("lamda=.95", Same("gae_lambda")),
        ("num_epoch=10", Not("its own steps are never made")),
        ("batch_size=64", Not("its own steps are never made")),
        ("standardize_adv=True", Same("normalise_advantages")),
        (
            "standardizer=None",
            As("advantage_scope", "\"rollout\"", "over all that was sampled; \"running\" is its RunningStandardizer"),
        ),
        ("max_grad_norm=None", Not("its own steps are never made")),
        ("lr=5e-4", Not("its own steps are never made")),
        ("lr_scheduler=None", Not("its own steps are never made")),
        ("lr_scheduler_hparam=None", Not("its own steps are never made")),
    ],
);

/// `gae.py`, of the particles of SVPG: what `scripts/training/bob_svpg.py` gives it.
const GAE_OF_SVPG: Class = (
    "GAE of SVPG's particles",
    &[
        ("gamma", As("gamma", "0.995", BOB)),
        ("lamda=.95", Same("gae_lambda")),
        ("standardize_adv", As("normalise_advantages", "false", BOB)),
        ("min_steps", As("min_steps", "1000", BOB)),
    ],
);

/// Its policies, `pyrado/policies`.
const POLICIES: Class = (
    "FNNPolicy, LinearPolicy, TwoHeadedFNNPolicy, GRUPolicy, LSTMPolicy and RNNPolicy",
    &[
        ("spec", Not("`--env`")),
        ("hidden_sizes", Not("`hidden`; [] is a linear policy")),
        ("hidden_nonlin", Not("`activation`")),
        ("dropout=0", Not("none")),
        ("feats", Not("an environment shows features in `observe`")),
        ("hidden_size", Not("`units`")),
        ("num_recurrent_layers", Not("one")),
        ("init_param_kwargs=None", Not("`orthogonal_init`")),
        ("use_cuda=False", Not("`--device`")),
    ],
);

/// `ppo.py`, class PPO.
const PPO: Class = (
    "PPO",
    &[
        ("num_epoch=3", Same("epochs")),
        ("eps_clip=.1", Same("clip_eps")),
        ("batch_size=64", Same("minibatch_size")),
        ("std_init=1.0", Not("its exploration strategy; log_std_init = 0 is the default here")),
        ("max_grad_norm=None", As("max_grad_norm", "0.0", UNLIMITED)),
        ("lr=5e-4", Same("learning_rate")),
        ("lr_scheduler=None", As("learning_rate_schedule", "\"constant\"", FIXED_RATE)),
        ("lr_scheduler_hparam=None", Not(FALLS)),
        ("optim", As("optimiser", "\"adam\"", "fixed there")),
        ("optim_eps=1e-5", Same("adam_eps")),
        ("loss of entropy", As("entropy_coef", "0.0", "none there")),
        ("clip of values", As("value_clip", "false", "none there")),
        ("value targets", As("value_targets", "\"td_lambda\"", "fixed there")),
        ("order", As("critic", "\"first\"", "the critic's steps come first, and advantages are by the new values")),
    ],
);

/// `ppo.py`, class PPO2.
const PPO2: Class = (
    "PPO2",
    &[
        ("num_epoch=3", Same("epochs")),
        ("eps_clip=.1", Same("clip_eps")),
        ("vfcn_coeff=.5", Same("value_coef")),
        ("entropy_coeff=1e-3", Same("entropy_coef")),
        ("batch_size=32", Same("minibatch_size")),
        ("std_init=1.0", Not("its exploration strategy; log_std_init = 0 is the default here")),
        ("max_grad_norm=None", As("max_grad_norm", "0.0", UNLIMITED)),
        ("lr=5e-4", Same("learning_rate")),
        ("lr_scheduler=None", Not("`learning_rate_schedule`, which is constant by default")),
        ("lr_scheduler_hparam=None", Not(FALLS)),
        ("optim", As("optimiser", "\"adam\"", "fixed there")),
        ("optim_eps=1e-5", Same("adam_eps")),
        ("clip of values", As("value_clip", "true", "fixed there")),
        ("value targets", As("value_targets", "\"empirical\"", "fixed there")),
        ("order", As("critic", "\"joint\"", "one loss there")),
    ],
);

/// `a2c.py`.
const A2C: Class = (
    "A2C",
    &[
        ("vfcn_coeff=.5", Same("value_coef")),
        ("entropy_coeff=1e-3", Same("entropy_coef")),
        ("batch_size=32", Same("minibatch_size")),
        ("std_init=1.0", Not("its exploration strategy; log_std_init = 0 is the default here")),
        ("max_grad_norm=None", As("max_grad_norm", "0.0", UNLIMITED)),
        ("lr=5e-4", Same("learning_rate")),
        ("lr_scheduler=None", Not("`learning_rate_schedule`, which is constant by default")),
        ("lr_scheduler_hparam=None", Not(FALLS)),
        ("optim", As("optimiser", "\"rms_prop\"", "fixed there")),
        ("optim_eps=1e-5", Same("rms_eps")),
        ("value targets", As("value_targets", "\"empirical\"", "fixed there")),
        ("order", As("critic", "\"joint\"", "one loss there")),
    ],
);

const BOB: &str = "needed there; of its script for a ball on a beam";
const QUBE: &str = "needed there; of its script for the Qube";

/// `value_based.py` and `dql.py`.
const DQL: Class = (
    "ValueBased and DQL",
    &[
        ("save_dir", Not("`--out`")),
        ("env", Not("`--env`")),
        ("policy", Not(OF_PARTS)),
        ("memory_size", As("memory_size", "5000", BOB)),
        ("eps_init", As("epsilon_initial", "0.1286", BOB)),
        ("eps_schedule_gamma", As("epsilon_decay", "0.9955", BOB)),
        ("eps_final=.05", Same("epsilon_final")),
        ("gamma", As("gamma", "0.998", BOB)),
        ("max_iter", Not(COUNT)),
        ("num_updates_per_step", As("gradient_steps", "20", BOB)),
        ("target_update_intvl=5", Same("target_update_interval")),
        ("num_init_memory_steps=None", As("learning_starts", "5000", "a whole memory")),
        ("min_rollouts=None", As("min_rollouts", "1", CHOSEN)),
        ("min_steps=None", Not(CHOSEN)),
        ("batch_size=256", Same("batch_size")),
        ("eval_intvl=100", Not("`--eval-every`, in steps")),
        ("max_grad_norm=.5", Same("max_grad_norm")),
        ("lr=5e-4", Same("learning_rate")),
        ("lr_scheduler=None", Not("`learning_rate_schedule`, which is constant by default")),
        ("lr_scheduler_hparam=None", Not(FALLS)),
        ("num_workers=4", Not("`--threads`, on which no result depends")),
        ("use_trained_policy_for_refill=False", Not("`warm_up = \"policy\"` with `train --from`")),
        ("logger=None", Not("the run folder has the metrics")),
    ],
);

/// `sac.py`.
const SAC: Class = (
    "SAC",
    &[
        ("save_dir", Not("`--out`")),
        ("env", Not("`--env`; its actions are in −1 to 1, always")),
        ("policy", Not(OF_PARTS)),
        ("qfcn_1", Not(OF_PARTS)),
        ("qfcn_2", Not(OF_PARTS)),
        ("memory_size", As("memory_size", "1_000_000", QUBE)),
        ("gamma", As("gamma", "0.9995", QUBE)),
        ("max_iter", Not(COUNT)),
        ("num_updates_per_step=None", As("gradient_steps", "1", "as many as min_rollouts")),
        ("tau=.995", As("tau", "0.005", "1 − τ: the share of what is learned")),
        ("ent_coeff_init=.2", Same("temperature")),
        ("learn_ent_coeff=True", Same("learn_temperature")),
        ("target_update_intvl=1", Same("target_update_interval")),
        ("num_init_memory_steps=None", As("learning_starts", "1_000_000", "a whole memory")),
        ("standardize_rew=True", Same("standardise_rewards")),
        ("rew_scale=1", Same("reward_scale")),
        ("min_rollouts=None", As("min_rollouts", "1", CHOSEN)),
        ("min_steps=None", Not(CHOSEN)),
        ("batch_size=256", Same("batch_size")),
        ("eval_intvl=100", Not("`--eval-every`, in steps")),
        ("max_grad_norm=5", Same("max_grad_norm")),
        ("lr=3e-4", Same("learning_rate")),
        ("optim_eps=1e-5", Same("adam_eps")),
        ("order", As("temperature_first", "true", "α makes its step first there")),
        ("target of the entropy", As("target_entropy", "-1.0", "−dim(A) there, here for each number of an action")),
        ("lr_scheduler=None", Not("`learning_rate_schedule`, which is constant by default")),
        ("lr_scheduler_hparam=None", Not(FALLS)),
        ("num_workers=4", Not("`--threads`, on which no result depends")),
        ("use_trained_policy_for_refill=False", Not("`warm_up = \"policy\"` with `train --from`")),
        ("logger=None", Not("the run folder has the metrics")),
    ],
);

/// `a2c.py`, as particles have it: the script gives its rate.
const A2C_OF_SVPG: Class = (
    "A2C of SVPG's particles",
    &[
        ("vfcn_coeff=.5", Same("value_coef")),
        ("entropy_coeff=1e-3", Same("entropy_coef")),
        ("batch_size=32", Same("minibatch_size")),
        ("max_grad_norm=None", As("max_grad_norm", "0.0", UNLIMITED)),
        ("lr", As("learning_rate", "1e-3", BOB)),
        ("optim", As("optimiser", "\"rms_prop\"", "fixed there")),
        ("optim_eps=1e-5", Same("rms_eps")),
        ("value targets", As("value_targets", "\"empirical\"", "fixed there")),
        ("order", As("critic", "\"joint\"", "one loss there")),
        ("policy", As("orthogonal_init", "false", "its FNNPolicy begins with PyTorch's weights")),
    ],
);

/// `svpg.py`; its numbers are of `scripts/training/bob_svpg.py`.
const SVPG: Class = (
    "SVPG",
    &[
        ("save_dir", Not("`--out`")),
        ("env", Not("`--env`")),
        ("particle", As("particle", "\"a2c\"", BOB)),
        ("max_iter", Not(COUNT)),
        ("num_particles", As("num_particles", "3", BOB)),
        ("temperature", As("temperature", "1.0", BOB)),
        ("horizon", Not("not used by its newer versions")),
        ("logger=None", Not("the run folder has the metrics")),
    ],
);

pub const ALL: &[Defaults] = &[
    Defaults {
        file: Some("pyrado-a2c"),
        train: ["a2c", "mass-spring"],
        steps: 1,
        shortened: "",
        classes: &[ACTOR_CRITIC, GAE_JOINT, A2C],
    },
    Defaults {
        file: Some("pyrado-ppo"),
        train: ["ppo2", "mass-spring"],
        steps: 1,
        shortened: "",
        classes: &[ACTOR_CRITIC, GAE, PPO],
    },
    Defaults {
        file: Some("pyrado-ppo2"),
        train: ["ppo2", "mass-spring"],
        steps: 1,
        shortened: "",
        classes: &[ACTOR_CRITIC, GAE_JOINT, PPO2],
    },
    Defaults {
        file: Some("pyrado-dql"),
        train: ["dql", "ball-on-beam-discrete"],
        steps: 6000,
        shortened: "",
        classes: &[DQL],
    },
    Defaults {
        file: Some("pyrado-sac"),
        train: ["sac", "mass-spring"],
        steps: 600,
        shortened: "learning_starts = 300",
        classes: &[SAC],
    },
    Defaults {
        file: Some("pyrado-svpg"),
        train: ["svpg", "mass-spring"],
        steps: 1,
        shortened: "",
        classes: &[SVPG, A2C_OF_SVPG, GAE_OF_SVPG],
    },
    Defaults { file: None, train: [""; 2], steps: 0, shortened: "", classes: &[POLICIES] },
];
