//! Origins: garage's examples and their classes (v2021.03), and Pyrado.

use super::{Origin, departs};

/// `RL2PPO` and its `GaussianGRUPolicy`, by garage's examples and by default: `gaussian_gru_policy.py`,
/// `rl2ppo.py`, `first_order_optimizer.py`, `linear_feature_baseline.py`. A minibatch has 32 trials, more than there
/// are. The units' reset gate is that of the Keras cell.
const RL2_PPO: &str = "gamma=0.99 gae_lambda=0.95 clip_eps=0.2 epochs=10 tolerance=1e-6 minibatches=1 \
     learning_rate=1e-3 learning_rate_schedule=constant adam_eps=1e-8 max_grad_norm=0.0 target_kl=0.0 \
     entropy_method=max entropy_coef=0.02 entropy_softplus=false entropy_neg_log_prob=false advantage_centre=none \
     positive_advantages=false critic=linear_feature baseline_regularisation=1e-5 carry_over=false \
     show_time_limit=false train_tasks=0 cell=gru units=64 reset=after orthogonal_init=false learned_start=false \
     layer_norm=false learn_std=true log_std_init=0.0 weight_decay=0.0";

/// `RL2TRPO` there: `rl2trpo.py`, `conjugate_gradient_optimizer.py`.
const RL2_TRPO: &str = "gamma=0.99 gae_lambda=0.98 max_kl=0.01 cg_iterations=10 damping=1e-5 backtracks=15 \
     backtrack_ratio=0.8 accept_violation=false hessian=finite_differences base_eps=1e-5 \
     entropy_method=no_entropy entropy_coef=0.0 advantage_centre=step positive_advantages=false \
     critic=linear_feature baseline_regularisation=1e-5 carry_over=false show_time_limit=false train_tasks=0 \
     cell=gru units=64 reset=after orthogonal_init=false learned_start=false layer_norm=false \
     learn_std=true log_std_init=0.0";

/// `PPO2` of Pyrado: `algorithms/step_based/ppo.py`, which standardises advantages over a rollout and fits the value to
/// empirical returns. Its minibatches have 32 steps.
const PPO2: &str = "clip_eps=0.1 clip_eps_schedule=constant value_coef=0.5 entropy_coef=1e-3 max_grad_norm=0.0 \
     value_clip=true value_targets=empirical advantage_scope=rollout normalise_advantages=true critic=joint \
     optimiser=adam adam_eps=1e-5 target_kl=0.0 log_std_init=0.0";

pub const ORIGINS: &[Origin] = &[
    Origin {
        of: &["rl2-ppo-half-cheetah-vel:velocity_range=0..2,observe_torso=true"],
        source: "garage, examples/tf/rl2_ppo_halfcheetah.py",
        numbers: &[RL2_PPO, "meta_batch=10 episodes=4 steps=40_000"],
        own: "",
        departures: &[],
    },
    Origin {
        of: &["rl2-trpo-half-cheetah-vel:velocity_range=0..2,observe_torso=true"],
        source: "garage, examples/tf/rl2_trpo_halfcheetah.py",
        numbers: &[RL2_TRPO, "meta_batch=10 episodes=4 steps=60_000"],
        own: "",
        departures: &[],
    },
    Origin {
        of: &["rl2-ppo-ML10"],
        source: "garage 7ecab12, examples/tf/rl2_ppo_metaworld_ml10.py",
        numbers: &[RL2_PPO, "meta_batch=10 episodes=10 steps=500_000"],
        own: "",
        departures: &[],
    },
    Origin {
        of: &["pearl-ML1-reach", "pearl-ML1-push"],
        source: "garage 091e188, examples/torch/pearl_metaworld_ml1_push.py",
        numbers: &["train_tasks=50 latent_dim=7 hidden=[300,300,300] encoder_hidden_sizes=[200,200,200] encoder=mlp \
                    activation=relu meta_batch=16 num_steps_per_epoch=4000 num_initial_steps=4000 num_tasks_sample=15 \
                    num_steps_prior=750 num_steps_posterior=0 num_extra_rl_steps_posterior=750 batch_size=256 \
                    embedding_batch_size=64 embedding_mini_batch_size=64 gamma=0.99 reward_scale=10.0 kl_lambda=0.1 \
                    policy_lr=3e-4 qf_lr=3e-4 vf_lr=3e-4 context_lr=3e-4 tau=0.005 policy_mean_reg_coeff=1e-3 \
                    policy_std_reg_coeff=1e-3 policy_pre_activation_coeff=0.0 use_information_bottleneck=true \
                    use_next_obs_in_context=false update_post_train=1"],
        own: "steps",
        departures: &[],
    },
    Origin {
        of: &["cem-cartpole"],
        source: "garage, np/algos/cem.py",
        numbers: &["best_frac=0.05 init_std=1.0 extra_std=1.0 extra_decay_time=100"],
        own: "steps n_samples episodes",
        departures: &[
            departs("best_frac", "0.05", "0.125", "numbers of our own"),
            departs("extra_decay_time", "100", "10", "numbers of our own"),
        ],
    },
    Origin {
        of: &["cma-es-cartpole"],
        source: "pycma, whose popsize is 4 + 3 ln 10 for 10 parameters",
        numbers: &["n_samples=10"],
        own: "steps episodes sigma0",
        departures: &[departs("n_samples", "10", "20", "for the 10 parameters of a linear policy, twice")],
    },
    Origin {
        of: &["vpg-cartpole"],
        source: "garage, torch/algos/vpg.py, _train_once: the policy first; center_adv is true",
        numbers: &["critic=last normalise_advantages=true"],
        own: "steps envs horizon minibatches gamma gae_lambda learning_rate learning_rate_schedule \
              critic_learning_rate critic_epochs",
        departures: &[],
    },
    Origin {
        of: &["ppo2"],
        source: "Pyrado, algorithms/step_based/ppo.py and gae.py",
        numbers: &[
            PPO2,
            "gamma=0.99 gae_lambda=0.95 epochs=3 learning_rate=5e-4 learning_rate_schedule=constant minibatches=32",
        ],
        own: "",
        departures: &[],
    },
    Origin {
        of: &["ppo2-cartpole"],
        source: "Pyrado, algorithms/step_based/ppo.py and gae.py; 32 steps of 8 × 64",
        numbers: &[PPO2, "gae_lambda=0.95 minibatches=16"],
        own: "steps envs horizon gamma learning_rate learning_rate_schedule epochs",
        departures: &[],
    },
    Origin {
        of: &["dql-cartpole"],
        source: "Pyrado, algorithms/step_based/dql.py, and scripts/training/bob-d_dql.py for tanh",
        numbers: &["epsilon_final=0.05 activation=tanh"],
        own: "steps learning_rate batch_size memory_size learning_starts gamma train_freq gradient_steps \
              target_update_interval iteration_steps epsilon_initial epsilon_decay hidden max_grad_norm",
        departures: &[],
    },
    Origin {
        of: &["ppo-qube-swing-up:dt=0.01", "ppo-qube-swing-up:dt=0.01,randomised=true"],
        source: "Pyrado ac0a874, scripts/training/qq-su_ppo.py, whose numbers are rounded here; 0.999 each pass is \
                 exponential; σ is 0.7573 of 5 V · 0.9",
        numbers: &["steps=3_600_000 envs=30 horizon=600 minibatches=36 epochs=7 gamma=0.98442 gae_lambda=0.97001 \
                    clip_eps=0.1265 clip_eps_schedule=constant learning_rate=7e-4 \
                    learning_rate_schedule=exponential entropy_coef=0.0 value_clip=false target_kl=0.0 \
                    max_grad_norm=1.0 normalise_advantages=false hidden=[64,64] activation=tanh log_std_init=1.2256"],
        own: "",
        departures: &[
            departs(
                "learning_rate_schedule",
                "exponential",
                "linear",
                "a policy that had stood for a million steps fell",
            ),
            departs("target_kl", "0.0", "0.02", "the same reason, a KL of 0.3 in one iteration"),
            departs("max_grad_norm", "1.0", "0.5", "Pyrado: 1.0; what this preset was measured with"),
            departs("normalise_advantages", "false", "true", "Pyrado: false; what this preset was measured with"),
        ],
    },
];
