//! Origins: the code and the papers of the authors of PEARL (oyster), ProMP, MAML and RL².

use super::{Departure, Origin, departs};

/// `configs/default.py` of oyster.
const OYSTER: &str = "latent_dim=5 hidden=[300,300,300] encoder_hidden_sizes=[200,200,200] encoder=mlp activation=relu \
                      meta_batch=16 num_steps_per_epoch=2000 num_initial_steps=2000 num_tasks_sample=5 \
                      num_steps_prior=400 num_steps_posterior=0 num_extra_rl_steps_posterior=400 batch_size=256 \
                      embedding_batch_size=64 embedding_mini_batch_size=64 gamma=0.99 tau=0.005 policy_lr=3e-4 \
                      qf_lr=3e-4 vf_lr=3e-4 context_lr=3e-4 reward_scale=5.0 kl_lambda=0.1 \
                      use_information_bottleneck=true use_next_obs_in_context=false update_post_train=1 \
                      dense_rewards=false";

/// ProMP's run scripts, `run_scripts/pro-mp_run_point_mass.py`, `pro-mp_run_mujoco.py`, `maml_run_mujoco.py` and
/// `e-maml_run_mujoco.py`; of DICE `configs/dice_maml_config.json`.
const PROMP_SCRIPTS: &str = "meta_batch=40 rollouts=20 inner_steps=1";

const fn promp(of: &'static [&'static str], numbers: &'static [&'static str], own: &'static str) -> Origin {
    Origin { of, source: "ProMP 2ad4591, run_scripts", numbers, own, departures: &[] }
}

const SMALLER: &str = "smaller networks (128 for 300) and batches (64 for 256)";
const RATES: &str = "rates of 7e-4 for 3e-4";

const fn rate(key: &'static str) -> Departure {
    departs(key, "3e-4", "7e-4", RATES)
}

pub const ORIGINS: &[Origin] = &[
    Origin {
        of: &["pearl-half-cheetah-vel"],
        source: "oyster ee4fe88, configs/cheetah-vel.json",
        numbers: &[
            OYSTER,
            "train_tasks=100 num_initial_steps=2000 num_extra_rl_steps_posterior=600 embedding_batch_size=100 \
             embedding_mini_batch_size=100 reward_scale=5.0",
        ],
        own: "steps",
        departures: &[
            departs("hidden", "[300,300,300]", "[128,128]", "networks of 128 twice (300 three times, encoder 200)"),
            departs(
                "encoder_hidden_sizes",
                "[200,200,200]",
                "[128,128]",
                "networks of 128 twice (300 three times, encoder 200)",
            ),
            departs("meta_batch", "16", "10", "10 tasks of 128 steps per gradient step (16 of 256)"),
            departs("batch_size", "256", "128", "10 tasks of 128 steps per gradient step (16 of 256)"),
            departs("num_steps_per_epoch", "2000", "500", "500 gradient steps per iteration (2,000)"),
            departs("num_initial_steps", "2000", "1000", "1,000 initial steps on each task (2,000)"),
        ],
    },
    Origin {
        of: &["pearl-half-cheetah-dir"],
        source: "oyster ee4fe88, configs/cheetah-dir.json",
        numbers: &[
            OYSTER,
            "train_tasks=2 meta_batch=4 num_initial_steps=2000 num_steps_prior=1000 \
             num_extra_rl_steps_posterior=1000 embedding_batch_size=256 embedding_mini_batch_size=256",
        ],
        own: "steps",
        departures: &[
            departs("hidden", "[300,300,300]", "[128,128]", "networks of 128 twice (300 three times, encoder 200)"),
            departs(
                "encoder_hidden_sizes",
                "[200,200,200]",
                "[128,128]",
                "networks of 128 twice (300 three times, encoder 200)",
            ),
            departs("num_steps_per_epoch", "2000", "500", "500 gradient steps per iteration (2,000)"),
            departs("train_tasks", "2", "10", "10 training tasks, as directions are drawn (2, one of each)"),
        ],
    },
    Origin {
        of: &["pearl-point-robot"],
        source: "oyster ee4fe88, configs/point-robot.json",
        numbers: &[
            OYSTER,
            "train_tasks=80 num_initial_steps=200 num_steps_prior=200 num_extra_rl_steps_posterior=200 \
             num_steps_per_epoch=1000 reward_scale=100.0 kl_lambda=0.1",
        ],
        own: "steps exploration_episodes",
        departures: &[
            departs("encoder", "mlp", "gru", "a recurrent encoder"),
            departs("encoder_hidden_sizes", "[200,200,200]", "[128]", SMALLER),
            departs("hidden", "[300,300,300]", "[128,128]", SMALLER),
            departs("batch_size", "256", "64", SMALLER),
            departs("use_next_obs_in_context", "false", "true", "next observations in contexts"),
            departs("train_tasks", "80", "2000", "more training tasks (2,000 for 80), each with few steps"),
            departs("num_initial_steps", "200", "40", "each with few steps"),
            departs("num_steps_per_epoch", "1000", "50", "short iterations"),
            departs("num_tasks_sample", "5", "20", "20 tasks sampled for 5"),
            departs("num_steps_prior", "200", "20", "contexts of two episodes, one by the prior and one by the belief"),
            departs(
                "num_steps_posterior",
                "0",
                "40",
                "contexts of two episodes, one by the prior and one by the belief",
            ),
            departs(
                "num_extra_rl_steps_posterior",
                "200",
                "0",
                "contexts of two episodes, one by the prior and one by the belief",
            ),
            departs("embedding_batch_size", "64", "40", "in two parts, so that beliefs after one and after two"),
            departs("embedding_mini_batch_size", "64", "20", "in two parts, so that beliefs after one and after two"),
            departs("gamma", "0.99", "0.9", "a discount of 0.9"),
            departs("reward_scale", "100.0", "20.0", "scale of rewards of 20 for 100"),
            rate("policy_lr"),
            rate("qf_lr"),
            rate("vf_lr"),
            rate("context_lr"),
        ],
    },
    Origin {
        of: &["pearl-point-half-circle"],
        source: "oyster ee4fe88, configs/sparse-point-robot.json",
        numbers: &[
            OYSTER,
            "train_tasks=80 num_initial_steps=200 num_tasks_sample=10 num_steps_prior=100 num_steps_posterior=900 \
             num_extra_rl_steps_posterior=0 num_steps_per_epoch=1000 embedding_batch_size=1024 \
             embedding_mini_batch_size=1024 gamma=0.9 reward_scale=100.0 kl_lambda=1.0 dense_rewards=true",
        ],
        own: "steps exploration_episodes",
        departures: &[
            departs("encoder_hidden_sizes", "[200,200,200]", "[128,128]", SMALLER),
            departs("hidden", "[300,300,300]", "[128,128]", SMALLER),
            departs("batch_size", "256", "64", SMALLER),
            departs("use_next_obs_in_context", "false", "true", "next observations in contexts"),
            departs("train_tasks", "80", "200", "200 training tasks for 80"),
            departs("num_steps_posterior", "900", "200", "200 steps by the belief for 900"),
            departs("num_steps_per_epoch", "1000", "100", "100 gradient steps per iteration for 1000"),
            departs("num_tasks_sample", "10", "20", "20 tasks sampled for 10"),
            departs("embedding_batch_size", "1024", "200", "contexts of 200 transitions in two parts for 1024"),
            departs("embedding_mini_batch_size", "1024", "100", "contexts of 200 transitions in two parts for 1024"),
            departs("reward_scale", "100.0", "20.0", "a scale of rewards of 20 for 100"),
            departs("kl_lambda", "1.0", "0.1", "kl_lambda of 0.1 for 1"),
            rate("policy_lr"),
            rate("qf_lr"),
            rate("vf_lr"),
            rate("context_lr"),
        ],
    },
    promp(&["promp-point-corner"], &[PROMP_SCRIPTS, "inner_lr=0.1 outer_steps=5 clip_eps=0.3"], {
        "steps learn_inner_lr gae_lambda inner_kl_coef learning_rate learning_rate_schedule adam_eps log_std_init"
    }),
    promp(
        &["promp-half-cheetah-vel"],
        &["rollouts=20 inner_steps=1 inner_lr=0.1 outer_steps=5 learning_rate=1e-3"],
        "steps meta_batch learn_inner_lr gae_lambda clip_eps inner_kl_coef learning_rate_schedule adam_eps \
         log_std_init",
    ),
    promp(
        &["maml-ppo-point-corner"],
        &[PROMP_SCRIPTS, "inner_lr=0.1 outer_steps=5"],
        "steps learn_inner_lr gae_lambda log_std_init learning_rate learning_rate_schedule adam_eps",
    ),
    promp(
        &["maml-vpg-point-corner"],
        &[PROMP_SCRIPTS, "inner_lr=0.1"],
        "steps learn_inner_lr gae_lambda log_std_init learning_rate learning_rate_schedule adam_eps",
    ),
    promp(&["maml-trpo-point-corner", "e-maml-point-corner"], &[PROMP_SCRIPTS, "inner_lr=0.1 max_kl=0.01"], {
        "steps learn_inner_lr gae_lambda log_std_init"
    }),
    promp(&["maml-trpo-half-cheetah-vel"], &[PROMP_SCRIPTS, "inner_lr=0.1 max_kl=0.01"], {
        "steps learn_inner_lr gae_lambda log_std_init"
    }),
    promp(
        &["maml-trpo-half-cheetah-dir"],
        &["rollouts=20 inner_steps=1 inner_lr=0.1 max_kl=0.01"],
        "steps meta_batch learn_inner_lr gae_lambda log_std_init",
    ),
    Origin {
        of: &["dice-maml-point-corner"],
        source: "ProMP eb02d52, configs/dice_maml_config.json",
        numbers: &[PROMP_SCRIPTS, "inner_lr=0.1 baseline=linear_time normalise_advantages=true"],
        own: "steps learn_inner_lr gae_lambda log_std_init learning_rate learning_rate_schedule adam_eps",
        departures: &[departs("inner_lr", "0.1", "0.003", "the loss sums over time: larger steps diverge")],
    },
    promp(
        &["promp", "maml-ppo"],
        &[
            PROMP_SCRIPTS,
            "inner_lr=0.1 outer_steps=5 clip_eps=0.3 learning_rate=1e-3 gamma=0.99 gae_lambda=1.0 \
          normalise_advantages=true baseline=linear_feature learn_std=true hidden=[64,64]",
        ],
        "",
    ),
    promp(&["promp"], &["inner_kl_coef=5e-4 target_inner_kl=0.0"], ""),
    promp(
        &["maml-trpo", "e-maml"],
        &[
            PROMP_SCRIPTS,
            "inner_lr=0.1 max_kl=0.01 inner_loss=log_likelihood gamma=0.99 gae_lambda=1.0 \
          normalise_advantages=true baseline=linear_feature learn_std=true hidden=[64,64]",
        ],
        "",
    ),
    Origin {
        of: &["promp-navigation"],
        source: "maml_rl, maml_examples/maml_trpo_point.py: fast_batch_size = 20",
        numbers: &["rollouts=20"],
        own: "steps meta_batch inner_steps inner_lr learn_inner_lr gamma gae_lambda outer_steps clip_eps inner_kl_coef \
              learning_rate learning_rate_schedule adam_eps log_std_init",
        departures: &[],
    },
    Origin {
        of: &["rl2-ppo-tabular-mdp"],
        source: "arXiv:1611.02779, section 3.2 and table 5: discount, λ, units of the GRU; trials of n = 10 episodes",
        numbers: &["episodes=10 units=256 gamma=0.99 gae_lambda=0.3 show_time_limit=true"],
        own: "steps meta_batch critic layer_norm advantage_centre minibatches epochs learning_rate entropy_coef",
        departures: &[departs("units", "256", "128", "the paper's GRU has 256")],
    },
    Origin {
        of: &["rl2-trpo-bandit"],
        source: "arXiv:1611.02779, table 5: mean KL",
        numbers: &["max_kl=0.01"],
        own: "steps meta_batch episodes gamma gae_lambda critic",
        departures: &[],
    },
];
