//! Origins: rl-baselines3-zoo 2.9.2, the package `rl_zoo3`, whose settings are in `hyperparams/`, and the defaults of
//! Stable-Baselines3 2.9.0 and `sb3_contrib` 2.9.2, which it leaves where it says nothing. `batch_size` is
//! `minibatches` here, which divide a rollout; `vf_coef` weighs a loss without the ½ of `value_coef`. Then CleanRL.

use super::{Origin, departs};

/// `PPO.__init__`, `ActorCriticPolicy.__init__`: `ppo/ppo.py`, `common/policies.py`.
const PPO: &str = "learning_rate=3e-4 learning_rate_schedule=constant epochs=10 gamma=0.99 gae_lambda=0.95 \
     clip_eps=0.2 clip_eps_schedule=constant value_clip=false normalise_advantages=true entropy_coef=0.0 \
     value_coef=1.0 max_grad_norm=0.5 sde=false sde_sample_freq=0 target_kl=0.0 hidden=[64,64] activation=tanh \
     orthogonal_init=true log_std_init=0.0 optimiser=adam adam_eps=1e-5 normalise_observations=false \
     normalise_rewards=false";

/// `A2C.__init__`: `a2c/a2c.py`.
const A2C: &str = "learning_rate=7e-4 learning_rate_schedule=constant horizon=5 minibatches=1 gamma=0.99 \
     gae_lambda=1.0 entropy_coef=0.0 value_coef=1.0 max_grad_norm=0.5 rms_eps=1e-5 rms_decay=0.99 \
     optimiser=rms_prop normalise_advantages=false sde=false hidden=[64,64] activation=tanh orthogonal_init=true \
     log_std_init=0.0 normalise_observations=false normalise_rewards=false";

/// `TRPO.__init__` of `sb3_contrib`: `trpo/trpo.py`.
const TRPO: &str = "learning_rate=1e-3 horizon=2048 gamma=0.99 cg_iterations=15 damping=0.1 backtrack_ratio=0.8 \
     backtracks=10 critic_epochs=10 gae_lambda=0.95 normalise_advantages=true max_kl=0.01 curvature_share=1.0 \
     sde=false hidden=[64,64] activation=tanh orthogonal_init=true log_std_init=0.0 normalise_observations=false \
     normalise_rewards=false";

/// `DQN.__init__`: `dqn/dqn.py`.
const DQN: &str = "learning_rate=1e-4 memory_size=1_000_000 learning_starts=100 batch_size=32 tau=1.0 gamma=0.99 \
     train_freq=4 gradient_steps=1 n_step=1 exploration_fraction=0.1 epsilon_initial=1.0 epsilon_final=0.05 \
     max_grad_norm=10.0 hidden=[64,64] activation=relu orthogonal_init=false";

/// `TD3.__init__`, which `DDPG` shares but for the last two lines: `td3/td3.py`, `td3/policies.py`.
const DETERMINISTIC: &str = "learning_rate=1e-3 policy_learning_rate=1e-3 memory_size=1_000_000 \
     learning_starts=100 batch_size=256 tau=0.005 gamma=0.99 train_freq=1 gradient_steps=1 n_step=1 \
     hidden=[400,300] activation=relu orthogonal_init=false";
const TD3: &str = "policy_delay=2 target_noise=0.2 target_noise_limit=0.5";

/// `SAC.__init__`: `sac/sac.py`, `sac/policies.py`.
const SAC: &str = "learning_rate=3e-4 memory_size=1_000_000 learning_starts=100 batch_size=256 tau=0.005 \
     gamma=0.99 train_freq=1 gradient_steps=1 n_step=1 temperature=1.0 learn_temperature=true target_entropy=-1.0 \
     sde=false log_std_init=-3.0 hidden=[256,256] activation=relu orthogonal_init=false";

/// `ppo_continuous_action.py` of CleanRL, its `Args`.
const CLEANRL_CONTINUOUS: &str = "steps=1_000_000 learning_rate=3e-4 envs=1 horizon=2048 \
     learning_rate_schedule=linear gamma=0.99 gae_lambda=0.95 minibatches=32 epochs=10 normalise_advantages=true \
     clip_eps=0.2 value_clip=true entropy_coef=0.0 value_coef=0.5 max_grad_norm=0.5 normalise_observations=true \
     normalise_rewards=true hidden=[64,64] log_std_init=0.0";

const NEAR: &str = "numbers of our own, near those of CleanRL";

const fn zoo(
    of: &'static [&'static str],
    source: &'static str,
    numbers: &'static [&'static str],
    own: &'static str,
    departures: &'static [super::Departure],
) -> Origin {
    Origin { of, source, numbers, own, departures }
}

pub const ORIGINS: &[Origin] = &[
    zoo(
        &["ppo-cartpole", "ppo-CartPole-v1"],
        "rl_zoo3 2.9.2, ppo.yml, CartPole-v1",
        &[
            PPO,
            "steps=100_000 envs=8 horizon=32 minibatches=1 gae_lambda=0.8 gamma=0.98 epochs=20 entropy_coef=0.0 \
             learning_rate=0.001 learning_rate_schedule=linear clip_eps=0.2 clip_eps_schedule=linear",
        ],
        "",
        &[],
    ),
    zoo(
        &["ppo-pendulum", "ppo-Pendulum-v1"],
        "rl_zoo3 2.9.2, ppo.yml, Pendulum-v1",
        &[
            PPO,
            "steps=100_000 envs=4 horizon=1024 minibatches=64 gae_lambda=0.95 gamma=0.9 epochs=10 entropy_coef=0.0 \
             learning_rate=1e-3 clip_eps=0.2 sde=true sde_sample_freq=4",
        ],
        "",
        &[],
    ),
    zoo(
        &["ppo-acrobot", "ppo-Acrobot-v1"],
        "rl_zoo3 2.9.2, ppo.yml, Acrobot-v1",
        &[
            PPO,
            "steps=1_000_000 envs=16 horizon=256 minibatches=64 gae_lambda=0.94 gamma=0.99 epochs=4 entropy_coef=0.0 \
             normalise_observations=true normalise_rewards=true",
        ],
        "",
        &[],
    ),
    zoo(
        &["ppo-mountain-car", "ppo-MountainCar-v0"],
        "rl_zoo3 2.9.2, ppo.yml, MountainCar-v0",
        &[
            PPO,
            "steps=1_000_000 envs=16 horizon=16 minibatches=4 gae_lambda=0.98 gamma=0.99 epochs=4 entropy_coef=0.0 \
             normalise_observations=true normalise_rewards=true",
        ],
        "",
        &[],
    ),
    zoo(
        &["ppo-mountain-car-continuous"],
        "rl_zoo3 2.9.2, ppo.yml, MountainCarContinuous-v0",
        &[
            PPO,
            "steps=20_000 envs=1 horizon=8 gamma=0.9999 learning_rate=7.77e-5 entropy_coef=0.00429 clip_eps=0.1 \
             epochs=10 gae_lambda=0.9 max_grad_norm=5 value_coef=0.38 sde=true log_std_init=-3.29 \
             orthogonal_init=false normalise_observations=true normalise_rewards=true",
        ],
        "minibatches",
        &[
            departs("envs", "1", "8", "reach the goal with about half of the seeds here"),
            departs("horizon", "8", "128", "one noise matrix per environment for 128 steps"),
            departs("learning_rate", "7.77e-5", "3e-4", "SB3"),
            departs("log_std_init", "-3.29", "0.0", "ours; the zoo has −3.29"),
        ],
    ),
    zoo(
        &["ppo-cartpole-no-velocities"],
        "rl_zoo3 2.9.2, ppo_lstm.yml, CartPoleNoVel-v1",
        &[
            PPO,
            "steps=100_000 envs=8 horizon=32 minibatches=1 gae_lambda=0.8 gamma=0.98 epochs=20 entropy_coef=0.0 \
             learning_rate=0.001 learning_rate_schedule=linear clip_eps=0.2 clip_eps_schedule=linear cell=lstm \
             units=64 hidden=[64] activation=relu orthogonal_init=false normalise_observations=true \
             normalise_rewards=true",
        ],
        "",
        &[
            departs("cell", "lstm", "gru", "with a GRU in place of the LSTM"),
            departs("activation", "relu", "tanh", "relu, with which 1 to 2 of 10 seeds stay below 200"),
            departs("orthogonal_init", "false", "true", "false, with which fewer seeds get to 450"),
            departs("horizon", "32", "64", "n_steps 32, with which fewer seeds get to 500"),
            departs("minibatches", "1", "2", "of 256 steps; zoo: batch_size 256"),
            departs("normalise_rewards", "true", "false", "zoo: true, by normalize; this preset was measured without"),
        ],
    ),
    zoo(
        &["a2c-cartpole"],
        "rl_zoo3 2.9.2, a2c.yml, CartPole-v1",
        &[A2C, "steps=500_000 envs=8 entropy_coef=0.0"],
        "",
        &[],
    ),
    zoo(
        &["svpg-cartpole"],
        "rl_zoo3 2.9.2, a2c.yml, CartPole-v1, for each particle",
        &[A2C, "envs=8 entropy_coef=0.0"],
        "steps num_particles temperature particle",
        &[],
    ),
    zoo(
        &["a2c-acrobot"],
        "rl_zoo3 2.9.2, a2c.yml, Acrobot-v1",
        &[A2C, "steps=500_000 envs=16 entropy_coef=0.0 normalise_observations=true normalise_rewards=true"],
        "",
        &[],
    ),
    zoo(
        &["a2c-pendulum"],
        "rl_zoo3 2.9.2, a2c.yml, Pendulum-v1",
        &[
            A2C,
            "steps=1_000_000 envs=8 entropy_coef=0.0 max_grad_norm=0.5 horizon=8 gae_lambda=0.9 value_coef=0.8 \
             gamma=0.9 optimiser=rms_prop normalise_advantages=false learning_rate=7e-4 learning_rate_schedule=linear \
             sde=true log_std_init=-2.0 orthogonal_init=false normalise_observations=true normalise_rewards=true",
        ],
        "",
        &[],
    ),
    zoo(
        &["trpo-cartpole"],
        "rl_zoo3 2.9.2, trpo.yml, CartPole-v1",
        &[
            TRPO,
            "steps=100_000 envs=2 horizon=512 minibatches=2 damping=1e-3 gae_lambda=0.98 gamma=0.99 \
             learning_rate=1e-3 critic_epochs=20",
        ],
        "",
        &[],
    ),
    zoo(
        &["trpo-pendulum"],
        "rl_zoo3 2.9.2, trpo.yml, Pendulum-v1",
        &[
            TRPO,
            "steps=100_000 envs=2 horizon=1024 minibatches=16 gamma=0.9 critic_epochs=15 sde=true sde_sample_freq=4",
        ],
        "",
        &[],
    ),
    zoo(
        &["trpo-acrobot"],
        "rl_zoo3 2.9.2, trpo.yml, Acrobot-v1",
        &[TRPO, "steps=100_000 envs=2 horizon=1024 minibatches=16 normalise_observations=true normalise_rewards=true"],
        "",
        &[],
    ),
    zoo(
        &["trpo-mountain-car-continuous"],
        "rl_zoo3 2.9.2, trpo.yml, MountainCarContinuous-v0",
        &[
            TRPO,
            "steps=50_000 envs=2 minibatches=32 sde=true sde_sample_freq=4 normalise_observations=true \
             normalise_rewards=true",
        ],
        "",
        &[],
    ),
    zoo(
        &["dqn-cartpole", "dqn-CartPole-v1"],
        "rl_zoo3 2.9.2, dqn.yml, CartPole-v1",
        &[
            DQN,
            "steps=50_000 learning_rate=2.3e-3 batch_size=64 memory_size=100_000 learning_starts=1000 gamma=0.99 \
             target_update_interval=10 train_freq=256 gradient_steps=128 exploration_fraction=0.16 epsilon_final=0.04 \
             hidden=[256,256]",
        ],
        "iteration_steps",
        &[departs("target_update_interval", "10", "128", "every 10 steps, which means once between blocks of updates")],
    ),
    zoo(
        &["dqn-mountain-car", "dqn-MountainCar-v0"],
        "rl_zoo3 2.9.2, dqn.yml, MountainCar-v0",
        &[
            DQN,
            "steps=120_000 learning_rate=4e-3 batch_size=128 memory_size=10_000 learning_starts=1000 gamma=0.98 \
             target_update_interval=600 train_freq=16 gradient_steps=8 exploration_fraction=0.2 epsilon_final=0.07 \
             hidden=[256,256]",
        ],
        "iteration_steps",
        &[departs("target_update_interval", "600", "300", "every 600 steps, in which it makes as many updates")],
    ),
    zoo(
        &["dqn-acrobot", "dqn-Acrobot-v1"],
        "rl_zoo3 2.9.2, dqn.yml, Acrobot-v1; its gradient_steps of −1 are as many as train_freq",
        &[
            DQN,
            "steps=100_000 learning_rate=6.3e-4 batch_size=128 memory_size=50_000 learning_starts=0 gamma=0.99 \
             target_update_interval=250 train_freq=4 gradient_steps=4 exploration_fraction=0.12 epsilon_final=0.1 \
             hidden=[256,256]",
        ],
        "iteration_steps",
        &[],
    ),
    zoo(
        &["ddpg-pendulum"],
        "rl_zoo3 2.9.2, ddpg.yml, Pendulum-v1",
        &[
            DETERMINISTIC,
            "weight_decay=0.0 steps=20_000 gamma=0.98 memory_size=200_000 learning_starts=10_000 noise=gaussian \
             sigma=0.1 gradient_steps=1 train_freq=1 learning_rate=1e-3 policy_learning_rate=1e-3 hidden=[400,300]",
        ],
        "",
        &[],
    ),
    zoo(
        &["td3-pendulum", "td3-Pendulum-v1"],
        "rl_zoo3 2.9.2, td3.yml, Pendulum-v1",
        &[
            DETERMINISTIC,
            TD3,
            "steps=20_000 gamma=0.98 memory_size=200_000 learning_starts=10_000 sigma=0.1 gradient_steps=1 \
             train_freq=1 learning_rate=1e-3 policy_learning_rate=1e-3 hidden=[400,300]",
        ],
        "",
        &[],
    ),
    zoo(
        &["td3-HalfCheetah-v5", "td3-Hopper-v5", "td3-Walker2d-v5"],
        "rl_zoo3 2.9.2, td3.yml, HalfCheetah-v4, which Hopper-v4 and Walker2d-v4 repeat",
        &[
            DETERMINISTIC,
            TD3,
            "steps=1_000_000 learning_starts=10_000 sigma=0.1 train_freq=1 gradient_steps=1 learning_rate=1e-3 \
             policy_learning_rate=1e-3 batch_size=256 hidden=[400,300]",
        ],
        "",
        &[],
    ),
    zoo(
        &["sac-pendulum", "sac-Pendulum-v1"],
        "rl_zoo3 2.9.2, sac.yml, Pendulum-v1",
        &[SAC, "steps=20_000 learning_rate=1e-3"],
        "",
        &[],
    ),
    zoo(
        &["sac-mountain-car-continuous", "sac-MountainCarContinuous-v0"],
        "rl_zoo3 2.9.2, sac.yml, MountainCarContinuous-v0",
        &[
            SAC,
            "steps=50_000 learning_rate=3e-4 memory_size=50_000 batch_size=512 temperature=0.1 \
             learn_temperature=false train_freq=32 gradient_steps=32 gamma=0.9999 tau=0.01 learning_starts=0 sde=true \
             log_std_init=-3.67 hidden=[64,64]",
        ],
        "iteration_steps",
        &[],
    ),
    zoo(
        &["sac-HalfCheetah-v5", "sac-Hopper-v5", "sac-Walker2d-v5"],
        "rl_zoo3 2.9.2, sac.yml, HalfCheetah-v4, which Hopper-v4 and Walker2d-v4 repeat",
        &[SAC, "steps=1_000_000 learning_starts=10_000"],
        "",
        &[],
    ),
    zoo(
        &["sac-half-cheetah", "sac-hopper", "sac-walker2d"],
        "rl_zoo3 2.9.2, sac.yml, HalfCheetah-v4, which Hopper-v4 and Walker2d-v4 repeat",
        &[SAC, "steps=1_000_000 learning_starts=10_000"],
        "",
        &[departs("steps", "1_000_000", "300_000", "for 300k of its 1M steps")],
    ),
    zoo(
        &["ppo-HalfCheetah-v5"],
        "rl_zoo3 2.9.2, ppo.yml, HalfCheetah-v4",
        &[
            PPO,
            "steps=1_000_000 envs=1 horizon=512 minibatches=8 gamma=0.98 learning_rate=2.0633e-5 \
             entropy_coef=0.000401762 clip_eps=0.1 epochs=20 gae_lambda=0.92 max_grad_norm=0.8 value_coef=1.16192 \
             log_std_init=-2 orthogonal_init=false activation=relu hidden=[256,256] normalise_observations=true \
             normalise_rewards=true",
        ],
        "",
        &[],
    ),
    zoo(
        &["ppo-Hopper-v5"],
        "rl_zoo3 2.9.2, ppo.yml, Hopper-v4",
        &[
            PPO,
            "steps=1_000_000 envs=1 horizon=512 minibatches=16 gamma=0.999 learning_rate=9.80828e-5 \
             entropy_coef=0.00229519 clip_eps=0.2 epochs=5 gae_lambda=0.99 max_grad_norm=0.7 value_coef=1.671342 \
             log_std_init=-2 orthogonal_init=false activation=relu hidden=[256,256] normalise_observations=true \
             normalise_rewards=true",
        ],
        "",
        &[],
    ),
    zoo(
        &["ppo-Walker2d-v5"],
        "rl_zoo3 2.9.2, ppo.yml, Walker2d-v4",
        &[
            PPO,
            "steps=1_000_000 envs=1 horizon=512 minibatches=16 gamma=0.99 learning_rate=5.05041e-5 \
             entropy_coef=0.000585045 clip_eps=0.1 epochs=20 gae_lambda=0.95 max_grad_norm=1 value_coef=1.743846 \
             normalise_observations=true normalise_rewards=true",
        ],
        "",
        &[],
    ),
    zoo(
        &["ppo-half-cheetah", "ppo-hopper", "ppo-walker2d", "ppo-reacher", "ppo-inverted-pendulum"],
        "CleanRL, ppo_continuous_action.py",
        &[CLEANRL_CONTINUOUS],
        "",
        &[
            departs("envs", "1", "4", NEAR),
            departs("horizon", "2048", "512", NEAR),
            departs("learning_rate", "3e-4", "1e-3", "with a larger step"),
            departs("log_std_init", "0.0", "-1.0", NEAR),
        ],
    ),
    zoo(
        &["ppo-inverted-double-pendulum"],
        "CleanRL, ppo_continuous_action.py",
        &[CLEANRL_CONTINUOUS],
        "",
        &[
            departs("envs", "1", "8", NEAR),
            departs("horizon", "2048", "512", NEAR),
            departs("learning_rate", "3e-4", "5e-4", NEAR),
            departs("log_std_init", "0.0", "-1.0", NEAR),
        ],
    ),
    zoo(
        &["ppo-swimmer"],
        "arXiv:2208.07587, table 1",
        &["gamma=0.9999"],
        "steps envs horizon minibatches epochs learning_rate gae_lambda entropy_coef normalise_observations \
         normalise_rewards",
        &[],
    ),
    zoo(&["a2c"], "Stable-Baselines3 2.9.0, a2c/a2c.py", &[A2C], "", &[]),
    zoo(&["td3"], "Stable-Baselines3 2.9.0, td3/td3.py", &[TD3, "batch_size=256 tau=0.005 gamma=0.99"], "", &[]),
    zoo(&["sac"], "Stable-Baselines3 2.9.0, sac/sac.py", &[SAC], "", &[]),
    zoo(&["dqn"], "Stable-Baselines3 2.9.0, dqn/dqn.py", &[DQN], "", &[]),
    zoo(&["trpo"], "sb3_contrib 2.9.2, trpo/trpo.py", &[TRPO, "minibatches=16"], "", &[]),
    zoo(
        &["ppo"],
        "CleanRL, ppo.py, but for its 4 environments",
        &["learning_rate=2.5e-4 learning_rate_schedule=linear horizon=128 gamma=0.99 gae_lambda=0.95 minibatches=4 \
           epochs=4 normalise_advantages=true clip_eps=0.2 value_clip=true entropy_coef=0.01 value_coef=0.5 \
           max_grad_norm=0.5 target_kl=0.0 adam_eps=1e-5 hidden=[64,64] activation=tanh orthogonal_init=true"],
        "",
        &[],
    ),
];
