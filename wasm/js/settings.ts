// Written by `QUICKSTUDY_WRITE=1 cargo test -p quickstudy-wasm settings`, which also checks
// that it is up to date.

/** Settings of `ppo`: Proximal Policy Optimization, clipped objective (arXiv:1707.06347). */
export interface PpoConfig {
  /** step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default 0.00025. */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "linear".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** rule by which gradients become steps. Values: adam, rms_prop, sgd; default "adam". */
  optimiser?: "adam" | "rms_prop" | "sgd";
  /** Adam's ε. Values: > 0; default 0.00001. */
  adam_eps?: number;
  /** RMSprop: share of the old squares in their average. Values: 0 to 1; default 0.99. */
  rms_decay?: number;
  /** RMSprop's ε. Values: > 0; default 0.00001. */
  rms_eps?: number;
  /** of sgd: share of the last step in the next one. Values: 0 to 0.999999; default 0.9. */
  momentum?: number;
  /** clip range of the probability ratio; smaller is safer and slower. Values: 0 to 1; default 0.2. */
  clip_eps?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to clip_eps_fall. Values: constant, linear,
   * exponential, step, cosine; default "constant".
   */
  clip_eps_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the clip range that exponential and step end with. Values: above 0, to 1; default 0.1. */
  clip_eps_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  clip_eps_falls?: number;
  /** clip the change of the value as well. Values: true, false; default true. */
  value_clip?: boolean;
  /** above 0: stop an iteration's updates at 1.5 times this KL. Values: 0 or more; default 0.0. */
  target_kl?: number;
  /** passes over each rollout. Values: 1 or more; default 4. */
  epochs?: number;
  /** weight of the entropy bonus. Values: 0 or more; default 0.01. */
  entropy_coef?: number;
  /** weight of the value loss ½ (v − R)². Values: 0 or more; default 0.5. */
  value_coef?: number;
  /** longer gradients are scaled down; 0: never. Values: 0 or more; default 0.5. */
  max_grad_norm?: number;
  /** subtract their mean, divide by their deviation. Values: true, false; default true. */
  normalise_advantages?: boolean;
  /** one loss with the policy, or steps of its own before or after. Values: joint, first, last; default "joint". */
  critic?: "joint" | "first" | "last";
  /** first, last: its step size; 0: the policy's. Values: 0 or more; default 0.0. */
  critic_learning_rate?: number;
  /** first, last: passes over each rollout. Values: 1 or more; default 10. */
  critic_epochs?: number;
  /**
   * first, last: steps of its minibatches, as minibatch_size; 0: the policy's minibatches. Values: 0 or more; default
   * 0.
   */
  critic_minibatch_size?: number;
  /**
   * first, last: rule of its steps; policy: that of optimiser. Values: policy, adam, rms_prop, sgd; default "policy".
   */
  critic_optimiser?: "policy" | "adam" | "rms_prop" | "sgd";
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to critic_learning_rate_fall. Values: policy,
   * constant, linear, exponential, step, cosine; default "policy".
   */
  critic_learning_rate_schedule?: "policy" | "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of its rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  critic_learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  critic_learning_rate_falls?: number;
  /** first, last: longer gradients are scaled down; 0: never. Values: 0 or more; default 0.0. */
  critic_max_grad_norm?: number;
  /** what values are fitted to. Values: gae, td_lambda, empirical; default "gae". */
  value_targets?: "gae" | "td_lambda" | "empirical";
  /** λ of the targets td_lambda. Values: 0 to 1; default 0.95. */
  value_lambda?: number;
  /** over what normalise_advantages standardises. Values: minibatch, rollout, running; default "minibatch". */
  advantage_scope?: "minibatch" | "rollout" | "running";
  /**
   * also log the loss before and after, σ, and the gradients' norms of both networks. Values: true, false; default
   * false.
   */
  log_details?: boolean;
  /** steps per environment between updates (T). Values: 1 or more; default 128. */
  horizon?: number;
  /** environments that run side by side (N). Values: 1 or more; default 8. */
  envs?: number;
  /** whole episodes of an iteration at least; above 0: in place of horizon. Values: 0 or more; default 0. */
  min_rollouts?: number;
  /**
   * steps of the whole episodes of an iteration at least; above 0: in place of horizon. Values: 0 or more; default 0.
   */
  min_steps?: number;
  /** parts that each pass is split into. Values: divides T · N; default 4. */
  minibatches?: number;
  /**
   * steps of a minibatch, the last of which has what is left; above 0: in place of minibatches. Values: 0 or more;
   * default 0.
   */
  minibatch_size?: number;
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** λ of the advantages; lower: less variance, more bias. Values: 0 to 1; default 0.95. */
  gae_lambda?: number;
  /** by their running mean and deviation. Values: true, false; default false. */
  normalise_observations?: boolean;
  /** by the running deviation of the discounted return. Values: true, false; default false. */
  normalise_rewards?: boolean;
  /** state-dependent exploration of continuous actions. Values: true, false; default false. */
  sde?: boolean;
  /** steps between its noise matrices; 0: one per rollout. Values: 0, or divides T; default 0. */
  sde_sample_freq?: number;
  /** hidden layers of each network. Values: list of widths; default [64, 64]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
  /** recurrent units, by which the policy remembers. Values: none, gru, lstm, rnn; default "none". */
  cell?: "none" | "gru" | "lstm" | "rnn";
  /** how many recurrent units there are. Values: 1 or more; default 64. */
  units?: number;
  /** gru: where the reset gate acts, after or before the product. Values: after, before; default "after". */
  reset?: "after" | "before";
  /** the first state of the units is learned; false: it is zero. Values: true, false; default false. */
  learned_start?: boolean;
  /** standardise the output of the units, over them. Values: true, false; default false. */
  layer_norm?: boolean;
}

/** Settings of `ppo2`: PPO with one optimiser and empirical returns, as Pyrado's PPO2 (arXiv:1707.06347). */
export interface Ppo2Config {
  /** step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default 0.0005. */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** rule by which gradients become steps. Values: adam, rms_prop, sgd; default "adam". */
  optimiser?: "adam" | "rms_prop" | "sgd";
  /** Adam's ε. Values: > 0; default 0.00001. */
  adam_eps?: number;
  /** RMSprop: share of the old squares in their average. Values: 0 to 1; default 0.99. */
  rms_decay?: number;
  /** RMSprop's ε. Values: > 0; default 0.00001. */
  rms_eps?: number;
  /** of sgd: share of the last step in the next one. Values: 0 to 0.999999; default 0.9. */
  momentum?: number;
  /** clip range of the probability ratio; smaller is safer and slower. Values: 0 to 1; default 0.1. */
  clip_eps?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to clip_eps_fall. Values: constant, linear,
   * exponential, step, cosine; default "constant".
   */
  clip_eps_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the clip range that exponential and step end with. Values: above 0, to 1; default 0.1. */
  clip_eps_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  clip_eps_falls?: number;
  /** clip the change of the value as well. Values: true, false; default true. */
  value_clip?: boolean;
  /** above 0: stop an iteration's updates at 1.5 times this KL. Values: 0 or more; default 0.0. */
  target_kl?: number;
  /** passes over each rollout. Values: 1 or more; default 3. */
  epochs?: number;
  /** weight of the entropy bonus. Values: 0 or more; default 0.001. */
  entropy_coef?: number;
  /** weight of the value loss ½ (v − R)². Values: 0 or more; default 0.5. */
  value_coef?: number;
  /** longer gradients are scaled down; 0: never. Values: 0 or more; default 0.0. */
  max_grad_norm?: number;
  /** subtract their mean, divide by their deviation. Values: true, false; default true. */
  normalise_advantages?: boolean;
  /** one loss with the policy, or steps of its own before or after. Values: joint, first, last; default "joint". */
  critic?: "joint" | "first" | "last";
  /** first, last: its step size; 0: the policy's. Values: 0 or more; default 0.0. */
  critic_learning_rate?: number;
  /** first, last: passes over each rollout. Values: 1 or more; default 10. */
  critic_epochs?: number;
  /**
   * first, last: steps of its minibatches, as minibatch_size; 0: the policy's minibatches. Values: 0 or more; default
   * 0.
   */
  critic_minibatch_size?: number;
  /**
   * first, last: rule of its steps; policy: that of optimiser. Values: policy, adam, rms_prop, sgd; default "policy".
   */
  critic_optimiser?: "policy" | "adam" | "rms_prop" | "sgd";
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to critic_learning_rate_fall. Values: policy,
   * constant, linear, exponential, step, cosine; default "policy".
   */
  critic_learning_rate_schedule?: "policy" | "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of its rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  critic_learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  critic_learning_rate_falls?: number;
  /** first, last: longer gradients are scaled down; 0: never. Values: 0 or more; default 0.0. */
  critic_max_grad_norm?: number;
  /** what values are fitted to. Values: gae, td_lambda, empirical; default "empirical". */
  value_targets?: "gae" | "td_lambda" | "empirical";
  /** λ of the targets td_lambda. Values: 0 to 1; default 0.95. */
  value_lambda?: number;
  /** over what normalise_advantages standardises. Values: minibatch, rollout, running; default "rollout". */
  advantage_scope?: "minibatch" | "rollout" | "running";
  /**
   * also log the loss before and after, σ, and the gradients' norms of both networks. Values: true, false; default
   * true.
   */
  log_details?: boolean;
  /** steps per environment between updates (T). Values: 1 or more; default 128. */
  horizon?: number;
  /** environments that run side by side (N). Values: 1 or more; default 8. */
  envs?: number;
  /** whole episodes of an iteration at least; above 0: in place of horizon. Values: 0 or more; default 0. */
  min_rollouts?: number;
  /**
   * steps of the whole episodes of an iteration at least; above 0: in place of horizon. Values: 0 or more; default 0.
   */
  min_steps?: number;
  /** parts that each pass is split into. Values: divides T · N; default 32. */
  minibatches?: number;
  /**
   * steps of a minibatch, the last of which has what is left; above 0: in place of minibatches. Values: 0 or more;
   * default 0.
   */
  minibatch_size?: number;
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** λ of the advantages; lower: less variance, more bias. Values: 0 to 1; default 0.95. */
  gae_lambda?: number;
  /** by their running mean and deviation. Values: true, false; default false. */
  normalise_observations?: boolean;
  /** by the running deviation of the discounted return. Values: true, false; default false. */
  normalise_rewards?: boolean;
  /** state-dependent exploration of continuous actions. Values: true, false; default false. */
  sde?: boolean;
  /** steps between its noise matrices; 0: one per rollout. Values: 0, or divides T; default 0. */
  sde_sample_freq?: number;
  /** hidden layers of each network. Values: list of widths; default [64, 64]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
  /** recurrent units, by which the policy remembers. Values: none, gru, lstm, rnn; default "none". */
  cell?: "none" | "gru" | "lstm" | "rnn";
  /** how many recurrent units there are. Values: 1 or more; default 64. */
  units?: number;
  /** gru: where the reset gate acts, after or before the product. Values: after, before; default "after". */
  reset?: "after" | "before";
  /** the first state of the units is learned; false: it is zero. Values: true, false; default false. */
  learned_start?: boolean;
  /** standardise the output of the units, over them. Values: true, false; default false. */
  layer_norm?: boolean;
}

/** Settings of `a2c`: Advantage actor-critic, synchronous (arXiv:1602.01783). */
export interface A2cConfig {
  /** step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default 0.0007. */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** rule by which gradients become steps. Values: adam, rms_prop, sgd; default "rms_prop". */
  optimiser?: "adam" | "rms_prop" | "sgd";
  /** Adam's ε. Values: > 0; default 0.00001. */
  adam_eps?: number;
  /** RMSprop: share of the old squares in their average. Values: 0 to 1; default 0.99. */
  rms_decay?: number;
  /** RMSprop's ε. Values: > 0; default 0.00001. */
  rms_eps?: number;
  /** of sgd: share of the last step in the next one. Values: 0 to 0.999999; default 0.9. */
  momentum?: number;
  /** weight of the entropy bonus. Values: 0 or more; default 0.0. */
  entropy_coef?: number;
  /** weight of the value loss ½ (v − R)². Values: 0 or more; default 1.0. */
  value_coef?: number;
  /** longer gradients are scaled down; 0: never. Values: 0 or more; default 0.5. */
  max_grad_norm?: number;
  /** subtract their mean, divide by their deviation. Values: true, false; default false. */
  normalise_advantages?: boolean;
  /** one loss with the policy, or steps of its own before or after. Values: joint, first, last; default "joint". */
  critic?: "joint" | "first" | "last";
  /** first, last: its step size; 0: the policy's. Values: 0 or more; default 0.0. */
  critic_learning_rate?: number;
  /** first, last: passes over each rollout. Values: 1 or more; default 10. */
  critic_epochs?: number;
  /**
   * first, last: steps of its minibatches, as minibatch_size; 0: the policy's minibatches. Values: 0 or more; default
   * 0.
   */
  critic_minibatch_size?: number;
  /**
   * first, last: rule of its steps; policy: that of optimiser. Values: policy, adam, rms_prop, sgd; default "policy".
   */
  critic_optimiser?: "policy" | "adam" | "rms_prop" | "sgd";
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to critic_learning_rate_fall. Values: policy,
   * constant, linear, exponential, step, cosine; default "policy".
   */
  critic_learning_rate_schedule?: "policy" | "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of its rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  critic_learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  critic_learning_rate_falls?: number;
  /** first, last: longer gradients are scaled down; 0: never. Values: 0 or more; default 0.0. */
  critic_max_grad_norm?: number;
  /** what values are fitted to. Values: gae, td_lambda, empirical; default "gae". */
  value_targets?: "gae" | "td_lambda" | "empirical";
  /** λ of the targets td_lambda. Values: 0 to 1; default 0.95. */
  value_lambda?: number;
  /** over what normalise_advantages standardises. Values: minibatch, rollout, running; default "minibatch". */
  advantage_scope?: "minibatch" | "rollout" | "running";
  /**
   * also log the loss before and after, σ, and the gradients' norms of both networks. Values: true, false; default
   * true.
   */
  log_details?: boolean;
  /** steps per environment between updates (T). Values: 1 or more; default 5. */
  horizon?: number;
  /** environments that run side by side (N). Values: 1 or more; default 8. */
  envs?: number;
  /** whole episodes of an iteration at least; above 0: in place of horizon. Values: 0 or more; default 0. */
  min_rollouts?: number;
  /**
   * steps of the whole episodes of an iteration at least; above 0: in place of horizon. Values: 0 or more; default 0.
   */
  min_steps?: number;
  /** parts that each pass is split into. Values: divides T · N; default 1. */
  minibatches?: number;
  /**
   * steps of a minibatch, the last of which has what is left; above 0: in place of minibatches. Values: 0 or more;
   * default 0.
   */
  minibatch_size?: number;
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** λ of the advantages; lower: less variance, more bias. Values: 0 to 1; default 1.0. */
  gae_lambda?: number;
  /** by their running mean and deviation. Values: true, false; default false. */
  normalise_observations?: boolean;
  /** by the running deviation of the discounted return. Values: true, false; default false. */
  normalise_rewards?: boolean;
  /** state-dependent exploration of continuous actions. Values: true, false; default false. */
  sde?: boolean;
  /** steps between its noise matrices; 0: one per rollout. Values: 0, or divides T; default 0. */
  sde_sample_freq?: number;
  /** hidden layers of each network. Values: list of widths; default [64, 64]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
  /** recurrent units, by which the policy remembers. Values: none, gru, lstm, rnn; default "none". */
  cell?: "none" | "gru" | "lstm" | "rnn";
  /** how many recurrent units there are. Values: 1 or more; default 64. */
  units?: number;
  /** gru: where the reset gate acts, after or before the product. Values: after, before; default "after". */
  reset?: "after" | "before";
  /** the first state of the units is learned; false: it is zero. Values: true, false; default false. */
  learned_start?: boolean;
  /** standardise the output of the units, over them. Values: true, false; default false. */
  layer_norm?: boolean;
}

/** Settings of `vpg`: Vanilla policy gradient: REINFORCE with a baseline (doi:10.1007/BF00992696). */
export interface VpgConfig {
  /**
   * predicts returns: the value network, or a baseline fitted to each rollout. Values: network, linear_feature,
   * linear_time, multi_feature, zero; default "network".
   */
  baseline?: "network" | "linear_feature" | "linear_time" | "multi_feature" | "zero";
  /** added to the diagonal of a fitted baseline's equations. Values: > 0; default 0.00001. */
  baseline_regularisation?: number;
  /** a term of the objective, or part of each reward. Values: regularized, max, no_entropy; default "regularized". */
  entropy_method?: "regularized" | "max" | "no_entropy";
  /** step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default 0.01. */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** rule by which gradients become steps. Values: adam, rms_prop, sgd; default "adam". */
  optimiser?: "adam" | "rms_prop" | "sgd";
  /** Adam's ε. Values: > 0; default 0.00001. */
  adam_eps?: number;
  /** RMSprop: share of the old squares in their average. Values: 0 to 1; default 0.99. */
  rms_decay?: number;
  /** RMSprop's ε. Values: > 0; default 0.00001. */
  rms_eps?: number;
  /** of sgd: share of the last step in the next one. Values: 0 to 0.999999; default 0.9. */
  momentum?: number;
  /** weight of the entropy bonus. Values: 0 or more; default 0.0. */
  entropy_coef?: number;
  /** weight of the value loss ½ (v − R)². Values: 0 or more; default 1.0. */
  value_coef?: number;
  /** longer gradients are scaled down; 0: never. Values: 0 or more; default 0.5. */
  max_grad_norm?: number;
  /** subtract their mean, divide by their deviation. Values: true, false; default true. */
  normalise_advantages?: boolean;
  /** one loss with the policy, or steps of its own before or after. Values: joint, first, last; default "last". */
  critic?: "joint" | "first" | "last";
  /** first, last: its step size; 0: the policy's. Values: 0 or more; default 0.001. */
  critic_learning_rate?: number;
  /** first, last: passes over each rollout. Values: 1 or more; default 10. */
  critic_epochs?: number;
  /**
   * first, last: steps of its minibatches, as minibatch_size; 0: the policy's minibatches. Values: 0 or more; default
   * 0.
   */
  critic_minibatch_size?: number;
  /**
   * first, last: rule of its steps; policy: that of optimiser. Values: policy, adam, rms_prop, sgd; default "policy".
   */
  critic_optimiser?: "policy" | "adam" | "rms_prop" | "sgd";
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to critic_learning_rate_fall. Values: policy,
   * constant, linear, exponential, step, cosine; default "policy".
   */
  critic_learning_rate_schedule?: "policy" | "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of its rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  critic_learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  critic_learning_rate_falls?: number;
  /** first, last: longer gradients are scaled down; 0: never. Values: 0 or more; default 0.0. */
  critic_max_grad_norm?: number;
  /** what values are fitted to. Values: gae, td_lambda, empirical; default "gae". */
  value_targets?: "gae" | "td_lambda" | "empirical";
  /** λ of the targets td_lambda. Values: 0 to 1; default 0.95. */
  value_lambda?: number;
  /** over what normalise_advantages standardises. Values: minibatch, rollout, running; default "minibatch". */
  advantage_scope?: "minibatch" | "rollout" | "running";
  /**
   * also log the loss before and after, σ, and the gradients' norms of both networks. Values: true, false; default
   * true.
   */
  log_details?: boolean;
  /** steps per environment between updates (T). Values: 1 or more; default 128. */
  horizon?: number;
  /** environments that run side by side (N). Values: 1 or more; default 8. */
  envs?: number;
  /** whole episodes of an iteration at least; above 0: in place of horizon. Values: 0 or more; default 0. */
  min_rollouts?: number;
  /**
   * steps of the whole episodes of an iteration at least; above 0: in place of horizon. Values: 0 or more; default 0.
   */
  min_steps?: number;
  /** parts that each pass is split into. Values: divides T · N; default 1. */
  minibatches?: number;
  /**
   * steps of a minibatch, the last of which has what is left; above 0: in place of minibatches. Values: 0 or more;
   * default 0.
   */
  minibatch_size?: number;
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** λ of the advantages; lower: less variance, more bias. Values: 0 to 1; default 1.0. */
  gae_lambda?: number;
  /** by their running mean and deviation. Values: true, false; default false. */
  normalise_observations?: boolean;
  /** by the running deviation of the discounted return. Values: true, false; default false. */
  normalise_rewards?: boolean;
  /** state-dependent exploration of continuous actions. Values: true, false; default false. */
  sde?: boolean;
  /** steps between its noise matrices; 0: one per rollout. Values: 0, or divides T; default 0. */
  sde_sample_freq?: number;
  /** hidden layers of each network. Values: list of widths; default [64, 64]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
  /** recurrent units, by which the policy remembers. Values: none, gru, lstm, rnn; default "none". */
  cell?: "none" | "gru" | "lstm" | "rnn";
  /** how many recurrent units there are. Values: 1 or more; default 64. */
  units?: number;
  /** gru: where the reset gate acts, after or before the product. Values: after, before; default "after". */
  reset?: "after" | "before";
  /** the first state of the units is learned; false: it is zero. Values: true, false; default false. */
  learned_start?: boolean;
  /** standardise the output of the units, over them. Values: true, false; default false. */
  layer_norm?: boolean;
}

/** Settings of `trpo`: Trust Region Policy Optimization (arXiv:1502.05477). */
export interface TrpoConfig {
  /** largest KL of the policies before and after a step. Values: > 0; default 0.01. */
  max_kl?: number;
  /** conjugate-gradient iterations. Values: 1 or more; default 15. */
  cg_iterations?: number;
  /** added to the diagonal of the KL's Hessian. Values: 0 or more; default 0.1. */
  damping?: number;
  /** most steps of the line search. Values: 1 or more; default 10. */
  backtracks?: number;
  /** factor between its steps. Values: 0 to 1; default 0.8. */
  backtrack_ratio?: number;
  /** where no step keeps to the limit, make the last one if it lowers the loss. Values: true, false; default false. */
  accept_violation?: boolean;
  /** products with the KL's Hessian. Values: exact, finite_differences, one_sided_differences; default "exact". */
  hessian?: "exact" | "finite_differences" | "one_sided_differences";
  /**
   * above 0: gradients of differences are this over ‖θ‖ times the vector apart; 0: where the error is least. Values: 0
   * or more; default 0.0.
   */
  base_eps?: number;
  /** share of each rollout's steps that the KL's Hessian is of. Values: above 0, to 1; default 1.0. */
  curvature_share?: number;
  /** step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default 0.001. */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** rule by which gradients become steps. Values: adam, rms_prop, sgd; default "adam". */
  optimiser?: "adam" | "rms_prop" | "sgd";
  /** Adam's ε. Values: > 0; default 0.00001. */
  adam_eps?: number;
  /** RMSprop: share of the old squares in their average. Values: 0 to 1; default 0.99. */
  rms_decay?: number;
  /** RMSprop's ε. Values: > 0; default 0.00001. */
  rms_eps?: number;
  /** of sgd: share of the last step in the next one. Values: 0 to 0.999999; default 0.9. */
  momentum?: number;
  /** passes over each rollout in which the value function is fitted. Values: 1 or more; default 10. */
  critic_epochs?: number;
  /** over each rollout. Values: true, false; default true. */
  normalise_advantages?: boolean;
  /** steps per environment between updates (T). Values: 1 or more; default 2048. */
  horizon?: number;
  /** environments that run side by side (N). Values: 1 or more; default 1. */
  envs?: number;
  /** whole episodes of an iteration at least; above 0: in place of horizon. Values: 0 or more; default 0. */
  min_rollouts?: number;
  /**
   * steps of the whole episodes of an iteration at least; above 0: in place of horizon. Values: 0 or more; default 0.
   */
  min_steps?: number;
  /** parts that each pass is split into. Values: divides T · N; default 16. */
  minibatches?: number;
  /**
   * steps of a minibatch, the last of which has what is left; above 0: in place of minibatches. Values: 0 or more;
   * default 0.
   */
  minibatch_size?: number;
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** λ of the advantages; lower: less variance, more bias. Values: 0 to 1; default 0.95. */
  gae_lambda?: number;
  /** by their running mean and deviation. Values: true, false; default false. */
  normalise_observations?: boolean;
  /** by the running deviation of the discounted return. Values: true, false; default false. */
  normalise_rewards?: boolean;
  /** state-dependent exploration of continuous actions. Values: true, false; default false. */
  sde?: boolean;
  /** steps between its noise matrices; 0: one per rollout. Values: 0, or divides T; default 0. */
  sde_sample_freq?: number;
  /** hidden layers of each network. Values: list of widths; default [64, 64]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
  /** recurrent units, by which the policy remembers. Values: none, gru, lstm, rnn; default "none". */
  cell?: "none" | "gru" | "lstm" | "rnn";
  /** how many recurrent units there are. Values: 1 or more; default 64. */
  units?: number;
  /** gru: where the reset gate acts, after or before the product. Values: after, before; default "after". */
  reset?: "after" | "before";
  /** the first state of the units is learned; false: it is zero. Values: true, false; default false. */
  learned_start?: boolean;
  /** standardise the output of the units, over them. Values: true, false; default false. */
  layer_norm?: boolean;
}

/** Settings of `svpg`: Stein Variational Policy Gradient: particles that stay apart (arXiv:1704.02399). */
export interface SvpgConfig {
  /** particles of each seed (n), which play and learn side by side. Values: 1 to 64; default 4. */
  num_particles?: number;
  /** weight of staying apart against the return. Values: > 0; default 10.0. */
  temperature?: number;
  /**
   * the algorithm whose updates they make; limits such as clip_eps are for ppo, such as max_kl for trpo. Values: a2c,
   * ppo, trpo; default "a2c".
   */
  particle?: "a2c" | "ppo" | "trpo";
  /** passes over each rollout. Values: 1 or more; default 1. */
  epochs?: number;
  /** clip range of the probability ratio; smaller is safer and slower. Values: 0 to 1; default 0.2. */
  clip_eps?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to clip_eps_fall. Values: constant, linear,
   * exponential, step, cosine; default "constant".
   */
  clip_eps_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the clip range that exponential and step end with. Values: above 0, to 1; default 0.1. */
  clip_eps_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  clip_eps_falls?: number;
  /** clip the change of the value as well. Values: true, false; default true. */
  value_clip?: boolean;
  /** above 0: stop an iteration's updates at 1.5 times this KL. Values: 0 or more; default 0.0. */
  target_kl?: number;
  /** trpo: share of each rollout that the KL's Hessian is of. Values: above 0, to 1; default 1.0. */
  curvature_share?: number;
  /** largest KL of the policies before and after a step. Values: > 0; default 0.01. */
  max_kl?: number;
  /** conjugate-gradient iterations. Values: 1 or more; default 15. */
  cg_iterations?: number;
  /** added to the diagonal of the KL's Hessian. Values: 0 or more; default 0.1. */
  damping?: number;
  /** most steps of the line search. Values: 1 or more; default 10. */
  backtracks?: number;
  /** factor between its steps. Values: 0 to 1; default 0.8. */
  backtrack_ratio?: number;
  /** where no step keeps to the limit, make the last one if it lowers the loss. Values: true, false; default false. */
  accept_violation?: boolean;
  /** products with the KL's Hessian. Values: exact, finite_differences, one_sided_differences; default "exact". */
  hessian?: "exact" | "finite_differences" | "one_sided_differences";
  /**
   * above 0: gradients of differences are this over ‖θ‖ times the vector apart; 0: where the error is least. Values: 0
   * or more; default 0.0.
   */
  base_eps?: number;
  /** step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default 0.0007. */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** rule by which gradients become steps. Values: adam, rms_prop, sgd; default "rms_prop". */
  optimiser?: "adam" | "rms_prop" | "sgd";
  /** Adam's ε. Values: > 0; default 0.00001. */
  adam_eps?: number;
  /** RMSprop: share of the old squares in their average. Values: 0 to 1; default 0.99. */
  rms_decay?: number;
  /** RMSprop's ε. Values: > 0; default 0.00001. */
  rms_eps?: number;
  /** of sgd: share of the last step in the next one. Values: 0 to 0.999999; default 0.9. */
  momentum?: number;
  /** weight of the entropy bonus. Values: 0 or more; default 0.0. */
  entropy_coef?: number;
  /** weight of the value loss ½ (v − R)². Values: 0 or more; default 1.0. */
  value_coef?: number;
  /** longer gradients are scaled down; 0: never. Values: 0 or more; default 0.5. */
  max_grad_norm?: number;
  /** subtract their mean, divide by their deviation. Values: true, false; default false. */
  normalise_advantages?: boolean;
  /** one loss with the policy, or steps of its own before or after. Values: joint, first, last; default "joint". */
  critic?: "joint" | "first" | "last";
  /** first, last: its step size; 0: the policy's. Values: 0 or more; default 0.0. */
  critic_learning_rate?: number;
  /** first, last: passes over each rollout. Values: 1 or more; default 10. */
  critic_epochs?: number;
  /**
   * first, last: steps of its minibatches, as minibatch_size; 0: the policy's minibatches. Values: 0 or more; default
   * 0.
   */
  critic_minibatch_size?: number;
  /**
   * first, last: rule of its steps; policy: that of optimiser. Values: policy, adam, rms_prop, sgd; default "policy".
   */
  critic_optimiser?: "policy" | "adam" | "rms_prop" | "sgd";
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to critic_learning_rate_fall. Values: policy,
   * constant, linear, exponential, step, cosine; default "policy".
   */
  critic_learning_rate_schedule?: "policy" | "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of its rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  critic_learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  critic_learning_rate_falls?: number;
  /** first, last: longer gradients are scaled down; 0: never. Values: 0 or more; default 0.0. */
  critic_max_grad_norm?: number;
  /** what values are fitted to. Values: gae, td_lambda, empirical; default "gae". */
  value_targets?: "gae" | "td_lambda" | "empirical";
  /** λ of the targets td_lambda. Values: 0 to 1; default 0.95. */
  value_lambda?: number;
  /** over what normalise_advantages standardises. Values: minibatch, rollout, running; default "minibatch". */
  advantage_scope?: "minibatch" | "rollout" | "running";
  /**
   * also log the loss before and after, σ, and the gradients' norms of both networks. Values: true, false; default
   * true.
   */
  log_details?: boolean;
  /** steps per environment between updates (T). Values: 1 or more; default 5. */
  horizon?: number;
  /** environments that run side by side (N). Values: 1 or more; default 8. */
  envs?: number;
  /** whole episodes of an iteration at least; above 0: in place of horizon. Values: 0 or more; default 0. */
  min_rollouts?: number;
  /**
   * steps of the whole episodes of an iteration at least; above 0: in place of horizon. Values: 0 or more; default 0.
   */
  min_steps?: number;
  /** parts that each pass is split into. Values: divides T · N; default 1. */
  minibatches?: number;
  /**
   * steps of a minibatch, the last of which has what is left; above 0: in place of minibatches. Values: 0 or more;
   * default 0.
   */
  minibatch_size?: number;
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** λ of the advantages; lower: less variance, more bias. Values: 0 to 1; default 1.0. */
  gae_lambda?: number;
  /** by their running mean and deviation. Values: true, false; default false. */
  normalise_observations?: boolean;
  /** by the running deviation of the discounted return. Values: true, false; default false. */
  normalise_rewards?: boolean;
  /** state-dependent exploration of continuous actions. Values: true, false; default false. */
  sde?: boolean;
  /** steps between its noise matrices; 0: one per rollout. Values: 0, or divides T; default 0. */
  sde_sample_freq?: number;
  /** hidden layers of each network. Values: list of widths; default [64, 64]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
  /** recurrent units, by which the policy remembers. Values: none, gru, lstm, rnn; default "none". */
  cell?: "none" | "gru" | "lstm" | "rnn";
  /** how many recurrent units there are. Values: 1 or more; default 64. */
  units?: number;
  /** gru: where the reset gate acts, after or before the product. Values: after, before; default "after". */
  reset?: "after" | "before";
  /** the first state of the units is learned; false: it is zero. Values: true, false; default false. */
  learned_start?: boolean;
  /** standardise the output of the units, over them. Values: true, false; default false. */
  layer_norm?: boolean;
}

/** Settings of `dqn`: Deep Q-Networks, also double and dueling (arXiv:1312.5602, 1509.06461, 1511.06581). */
export interface DqnConfig {
  /**
   * Adam's step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default
   * 0.0001.
   */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** Adam's ε. Values: > 0; default 0.00000001. */
  adam_eps?: number;
  /** environments that run side by side (N). Values: 1 or more; default 1. */
  envs?: number;
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** by their running mean and deviation. Values: true, false; default false. */
  normalise_observations?: boolean;
  /** transitions that are remembered; never more than a run makes. Values: 1 or more; default 1000000. */
  memory_size?: number;
  /** transitions of an update. Values: 1 or more; default 32. */
  batch_size?: number;
  /** steps before the first update, in whole iterations. Values: 0 or more; default 100. */
  learning_starts?: number;
  /** who acts until then. Values: random, policy; default "random". */
  warm_up?: "random" | "policy";
  /** whole episodes between updates at least; above 0: in place of train_freq. Values: 0 or more; default 0. */
  min_rollouts?: number;
  /**
   * steps of the whole episodes between updates at least; above 0: in place of train_freq. Values: 0 or more; default
   * 0.
   */
  min_steps?: number;
  /** steps of each environment between updates; not with min_rollouts or min_steps. Values: 1 or more; default 4. */
  train_freq?: number;
  /** updates each time. Values: 1 or more; default 1. */
  gradient_steps?: number;
  /** steps whose rewards are learned from at once. Values: 1 or more; default 1. */
  n_step?: number;
  /** draw what was predicted worst most often. Values: true, false; default false. */
  prioritised?: boolean;
  /** α: power of errors in priorities; 0 draws evenly. Values: 0 to 1; default 0.6. */
  priority_exponent?: number;
  /** β: correction for uneven draws at the start; it becomes 1 at the end of the run. Values: 0 to 1; default 0.4. */
  priority_correction?: number;
  /**
   * share of the transitions whose goal is replaced by one that was reached later; 0: none. Values: 0 to 1; default
   * 0.0.
   */
  hindsight?: number;
  /**
   * steps of each environment in an iteration, which is a row of metrics; not with min_rollouts or min_steps. Values:
   * train_freq divides it; default 100.
   */
  iteration_steps?: number;
  /** share of the run in which ε falls to its end, on a line. Values: 0 to 1; default 0.1. */
  exploration_fraction?: number;
  /**
   * share of what is learned in its target, at each step of the target; small is slow, 1 copies it. Values: above 0, to
   * 1; default 1.0.
   */
  tau?: number;
  /** the network chooses the action whose value the target gives. Values: true, false; default false. */
  double?: boolean;
  /** a value of the state and advantages of choices in place of values. Values: true, false; default false. */
  dueling?: boolean;
  /** probability of an even draw at the start (ε). Values: 0 to 1; default 1.0. */
  epsilon_initial?: number;
  /** ε in the end. Values: 0 to 1; default 0.05. */
  epsilon_final?: number;
  /** updates from one step of the target to the next. Values: 1 or more; default 2500. */
  target_update_interval?: number;
  /** factor of rewards, once. Values: > 0; default 1.0. */
  reward_scale?: number;
  /** longer gradients are scaled down; 0: never. Values: 0 or more; default 10.0. */
  max_grad_norm?: number;
  /** hidden layers of each network. Values: list of widths; default [64, 64]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "relu". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default false. */
  orthogonal_init?: boolean;
}

/** Settings of `dql`: Deep Q-Learning of a network that reads observation and action (Pyrado's). */
export interface DqlConfig {
  /** RMSprop's step size. Values: > 0; default 0.0005. */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** α: share of the old squares in their average. Values: 0 to 1; default 0.99. */
  rms_decay?: number;
  /** RMSprop's ε. Values: > 0; default 0.00000001. */
  rms_eps?: number;
  /** environments that run side by side (N). Values: 1 or more; default 1. */
  envs?: number;
  /** discount of later rewards. Values: 0 to 1; default 0.998. */
  gamma?: number;
  /** by their running mean and deviation. Values: true, false; default false. */
  normalise_observations?: boolean;
  /** transitions that are remembered; never more than a run makes. Values: 1 or more; default 5000. */
  memory_size?: number;
  /** transitions of an update. Values: 1 or more; default 256. */
  batch_size?: number;
  /** steps before the first update, in whole iterations. Values: 0 or more; default 500. */
  learning_starts?: number;
  /** who acts until then. Values: random, policy; default "random". */
  warm_up?: "random" | "policy";
  /** whole episodes between updates at least; above 0: in place of train_freq. Values: 0 or more; default 0. */
  min_rollouts?: number;
  /**
   * steps of the whole episodes between updates at least; above 0: in place of train_freq. Values: 0 or more; default
   * 0.
   */
  min_steps?: number;
  /** steps of each environment between updates; not with min_rollouts or min_steps. Values: 1 or more; default 50. */
  train_freq?: number;
  /** updates each time. Values: 1 or more; default 20. */
  gradient_steps?: number;
  /** steps whose rewards are learned from at once. Values: 1 or more; default 1. */
  n_step?: number;
  /** draw what was predicted worst most often. Values: true, false; default false. */
  prioritised?: boolean;
  /** α: power of errors in priorities; 0 draws evenly. Values: 0 to 1; default 0.6. */
  priority_exponent?: number;
  /** β: correction for uneven draws at the start; it becomes 1 at the end of the run. Values: 0 to 1; default 0.4. */
  priority_correction?: number;
  /**
   * share of the transitions whose goal is replaced by one that was reached later; 0: none. Values: 0 to 1; default
   * 0.0.
   */
  hindsight?: number;
  /**
   * steps of each environment in an iteration, which is a row of metrics; not with min_rollouts or min_steps. Values:
   * train_freq divides it; default 100.
   */
  iteration_steps?: number;
  /** distance of ε to its end after an iteration, in distances before. Values: 0 to 1; default 0.9955. */
  epsilon_decay?: number;
  /** probability of an even draw at the start (ε). Values: 0 to 1; default 0.1286. */
  epsilon_initial?: number;
  /** ε in the end. Values: 0 to 1; default 0.05. */
  epsilon_final?: number;
  /** updates from one step of the target to the next. Values: 1 or more; default 5. */
  target_update_interval?: number;
  /** factor of rewards, once. Values: > 0; default 1.0. */
  reward_scale?: number;
  /** longer gradients are scaled down; 0: never. Values: 0 or more; default 0.5. */
  max_grad_norm?: number;
  /** hidden layers of each network. Values: list of widths; default [32, 32]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default false. */
  orthogonal_init?: boolean;
}

/** Settings of `ddpg`: Deep Deterministic Policy Gradient (arXiv:1509.02971). */
export interface DdpgConfig {
  /**
   * Adam's step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default 0.001.
   */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** Adam's ε. Values: > 0; default 0.00000001. */
  adam_eps?: number;
  /** environments that run side by side (N). Values: 1 or more; default 1. */
  envs?: number;
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** by their running mean and deviation. Values: true, false; default false. */
  normalise_observations?: boolean;
  /** transitions that are remembered; never more than a run makes. Values: 1 or more; default 1000000. */
  memory_size?: number;
  /** transitions of an update. Values: 1 or more; default 64. */
  batch_size?: number;
  /** steps before the first update, in whole iterations. Values: 0 or more; default 100. */
  learning_starts?: number;
  /** who acts until then. Values: random, policy; default "random". */
  warm_up?: "random" | "policy";
  /** whole episodes between updates at least; above 0: in place of train_freq. Values: 0 or more; default 0. */
  min_rollouts?: number;
  /**
   * steps of the whole episodes between updates at least; above 0: in place of train_freq. Values: 0 or more; default
   * 0.
   */
  min_steps?: number;
  /** steps of each environment between updates; not with min_rollouts or min_steps. Values: 1 or more; default 1. */
  train_freq?: number;
  /** updates each time. Values: 1 or more; default 1. */
  gradient_steps?: number;
  /** steps whose rewards are learned from at once. Values: 1 or more; default 1. */
  n_step?: number;
  /** draw what was predicted worst most often. Values: true, false; default false. */
  prioritised?: boolean;
  /** α: power of errors in priorities; 0 draws evenly. Values: 0 to 1; default 0.6. */
  priority_exponent?: number;
  /** β: correction for uneven draws at the start; it becomes 1 at the end of the run. Values: 0 to 1; default 0.4. */
  priority_correction?: number;
  /**
   * share of the transitions whose goal is replaced by one that was reached later; 0: none. Values: 0 to 1; default
   * 0.0.
   */
  hindsight?: number;
  /**
   * steps of each environment in an iteration, which is a row of metrics; not with min_rollouts or min_steps. Values:
   * train_freq divides it; default 100.
   */
  iteration_steps?: number;
  /** noise on actions. Values: gaussian, ornstein_uhlenbeck; default "ornstein_uhlenbeck". */
  noise?: "gaussian" | "ornstein_uhlenbeck";
  /** θ of the process: how strongly it is drawn back to 0. Values: 0 to 2 / noise_dt; default 0.15. */
  noise_theta?: number;
  /** time of a step in the process. Values: > 0; default 1.0. */
  noise_dt?: number;
  /** weight of the squares of the critic's weights in its loss. Values: 0 or more; default 0.01. */
  weight_decay?: number;
  /** Adam's step size of the policy; learning_rate is that of the critics. Values: > 0; default 0.0001. */
  policy_learning_rate?: number;
  /**
   * share of what is learned in its target, at each step of the target; small is slow, 1 copies it. Values: above 0, to
   * 1; default 0.001.
   */
  tau?: number;
  /** σ of the noise on actions, which are from −1 to 1. Values: 0 or more; default 0.2. */
  sigma?: number;
  /** factor of rewards, once. Values: > 0; default 1.0. */
  reward_scale?: number;
  /** longer gradients of the policy are scaled down; 0: never. Values: 0 or more; default 0.0. */
  max_grad_norm?: number;
  /** hidden layers of each network. Values: list of widths; default [400, 300]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "relu". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default false. */
  orthogonal_init?: boolean;
}

/** Settings of `td3`: Twin Delayed Deep Deterministic policy gradient (arXiv:1802.09477). */
export interface Td3Config {
  /**
   * Adam's step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default 0.001.
   */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** Adam's ε. Values: > 0; default 0.00000001. */
  adam_eps?: number;
  /** environments that run side by side (N). Values: 1 or more; default 1. */
  envs?: number;
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** by their running mean and deviation. Values: true, false; default false. */
  normalise_observations?: boolean;
  /** transitions that are remembered; never more than a run makes. Values: 1 or more; default 1000000. */
  memory_size?: number;
  /** transitions of an update. Values: 1 or more; default 256. */
  batch_size?: number;
  /** steps before the first update, in whole iterations. Values: 0 or more; default 100. */
  learning_starts?: number;
  /** who acts until then. Values: random, policy; default "random". */
  warm_up?: "random" | "policy";
  /** whole episodes between updates at least; above 0: in place of train_freq. Values: 0 or more; default 0. */
  min_rollouts?: number;
  /**
   * steps of the whole episodes between updates at least; above 0: in place of train_freq. Values: 0 or more; default
   * 0.
   */
  min_steps?: number;
  /** steps of each environment between updates; not with min_rollouts or min_steps. Values: 1 or more; default 1. */
  train_freq?: number;
  /** updates each time. Values: 1 or more; default 1. */
  gradient_steps?: number;
  /** steps whose rewards are learned from at once. Values: 1 or more; default 1. */
  n_step?: number;
  /** draw what was predicted worst most often. Values: true, false; default false. */
  prioritised?: boolean;
  /** α: power of errors in priorities; 0 draws evenly. Values: 0 to 1; default 0.6. */
  priority_exponent?: number;
  /** β: correction for uneven draws at the start; it becomes 1 at the end of the run. Values: 0 to 1; default 0.4. */
  priority_correction?: number;
  /**
   * share of the transitions whose goal is replaced by one that was reached later; 0: none. Values: 0 to 1; default
   * 0.0.
   */
  hindsight?: number;
  /**
   * steps of each environment in an iteration, which is a row of metrics; not with min_rollouts or min_steps. Values:
   * train_freq divides it; default 100.
   */
  iteration_steps?: number;
  /** d: updates of the critics for one of the policy and the targets. Values: 1 to 64; default 2. */
  policy_delay?: number;
  /** σ of the noise on the target's actions. Values: 0 or more; default 0.2. */
  target_noise?: number;
  /** limit of that noise, c. Values: 0 or more; default 0.5. */
  target_noise_limit?: number;
  /** Adam's step size of the policy; learning_rate is that of the critics. Values: > 0; default 0.001. */
  policy_learning_rate?: number;
  /**
   * share of what is learned in its target, at each step of the target; small is slow, 1 copies it. Values: above 0, to
   * 1; default 0.005.
   */
  tau?: number;
  /** σ of the noise on actions, which are from −1 to 1. Values: 0 or more; default 0.1. */
  sigma?: number;
  /** factor of rewards, once. Values: > 0; default 1.0. */
  reward_scale?: number;
  /** longer gradients of the policy are scaled down; 0: never. Values: 0 or more; default 0.0. */
  max_grad_norm?: number;
  /** hidden layers of each network. Values: list of widths; default [256, 256]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "relu". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default false. */
  orthogonal_init?: boolean;
}

/** Settings of `sac`: Soft Actor-Critic (arXiv:1812.05905, for choices 1910.07207). */
export interface SacConfig {
  /**
   * Adam's step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default
   * 0.0003.
   */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** Adam's ε. Values: > 0; default 0.00000001. */
  adam_eps?: number;
  /** environments that run side by side (N). Values: 1 or more; default 1. */
  envs?: number;
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** by their running mean and deviation. Values: true, false; default false. */
  normalise_observations?: boolean;
  /** transitions that are remembered; never more than a run makes. Values: 1 or more; default 1000000. */
  memory_size?: number;
  /** transitions of an update. Values: 1 or more; default 256. */
  batch_size?: number;
  /** steps before the first update, in whole iterations. Values: 0 or more; default 100. */
  learning_starts?: number;
  /** who acts until then. Values: random, policy; default "random". */
  warm_up?: "random" | "policy";
  /** whole episodes between updates at least; above 0: in place of train_freq. Values: 0 or more; default 0. */
  min_rollouts?: number;
  /**
   * steps of the whole episodes between updates at least; above 0: in place of train_freq. Values: 0 or more; default
   * 0.
   */
  min_steps?: number;
  /** steps of each environment between updates; not with min_rollouts or min_steps. Values: 1 or more; default 1. */
  train_freq?: number;
  /** updates each time. Values: 1 or more; default 1. */
  gradient_steps?: number;
  /** steps whose rewards are learned from at once. Values: 1 or more; default 1. */
  n_step?: number;
  /** draw what was predicted worst most often. Values: true, false; default false. */
  prioritised?: boolean;
  /** α: power of errors in priorities; 0 draws evenly. Values: 0 to 1; default 0.6. */
  priority_exponent?: number;
  /** β: correction for uneven draws at the start; it becomes 1 at the end of the run. Values: 0 to 1; default 0.4. */
  priority_correction?: number;
  /**
   * share of the transitions whose goal is replaced by one that was reached later; 0: none. Values: 0 to 1; default
   * 0.0.
   */
  hindsight?: number;
  /**
   * steps of each environment in an iteration, which is a row of metrics; not with min_rollouts or min_steps. Values:
   * train_freq divides it; default 100.
   */
  iteration_steps?: number;
  /**
   * share of what is learned in its target, at each step of the target; small is slow, 1 copies it. Values: above 0, to
   * 1; default 0.005.
   */
  tau?: number;
  /** updates from one step of the targets to the next. Values: 1 or more; default 1. */
  target_update_interval?: number;
  /** first weight of the entropy, α. Values: > 0; default 1.0. */
  temperature?: number;
  /** learn α, so that the entropy comes to its target. Values: true, false; default true. */
  learn_temperature?: boolean;
  /** target of the entropy for each number of an action that is a vector. Values: -100 to 100; default -1.0. */
  target_entropy?: number;
  /** target of the entropy of choices, as a share of the largest one. Values: 0 to 1; default 0.98. */
  target_entropy_share?: number;
  /**
   * explore by a noise matrix on the policy's features, drawn anew after train_freq steps. Values: true, false; default
   * false.
   */
  sde?: boolean;
  /** α makes its step first, and the others use the new one. Values: true, false; default false. */
  temperature_first?: boolean;
  /** factor of rewards, once. Values: > 0; default 1.0. */
  reward_scale?: number;
  /**
   * divide each batch's rewards by their deviation, after taking off their mean. Values: true, false; default false.
   */
  standardise_rewards?: boolean;
  /** longer gradients of the policy are scaled down; 0: never. Values: 0 or more; default 0.0. */
  max_grad_norm?: number;
  /** hidden layers of each network. Values: list of widths; default [256, 256]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "relu". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default false. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default -3.0. */
  log_std_init?: number;
}

/**
 * Settings of `cem`: Cross-Entropy Method: the mean and deviation of the best candidates (doi:10.1023/A:1010091220143).
 */
export interface CemConfig {
  /** candidates of each iteration (n). Values: 1 or more; default 32. */
  n_samples?: number;
  /** episodes of each candidate; their mean return is its score. Values: 1 or more; default 1. */
  episodes?: number;
  /** candidates take the action that they hold for the best; false: they draw. Values: true, false; default true. */
  deterministic?: boolean;
  /** share of the candidates that the next ones come from. Values: above 0, to 1; default 0.05. */
  best_frac?: number;
  /** first deviation of each parameter. Values: 0 or more; default 1.0. */
  init_std?: number;
  /**
   * deviation that is added to the best ones' at first, so that the search does not end early. Values: 0 or more;
   * default 1.0.
   */
  extra_std?: number;
  /** iterations until none is added any more. Values: > 0; default 100.0. */
  extra_decay_time?: number;
  /** hidden layers of each network. Values: list of widths; default []. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
}

/** Settings of `cma-es`: Covariance Matrix Adaptation Evolution Strategy, full or separable (arXiv:1604.00772). */
export interface CmaEsConfig {
  /** candidates of each iteration (n). Values: 1 or more; default 32. */
  n_samples?: number;
  /** episodes of each candidate; their mean return is its score. Values: 1 or more; default 1. */
  episodes?: number;
  /** candidates take the action that they hold for the best; false: they draw. Values: true, false; default true. */
  deterministic?: boolean;
  /** first deviation of all parameters. Values: > 0; default 1.0. */
  sigma0?: number;
  /**
   * keep variances only, of any number of parameters; false: a matrix, of up to 1,000. Values: true, false; default
   * false.
   */
  separable?: boolean;
  /** hidden layers of each network. Values: list of widths; default []. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
}

/** Settings of `openai-es`: Evolution strategy: gradients from antithetic pairs and ranks (arXiv:1703.03864). */
export interface OpenaiEsConfig {
  /** candidates of each iteration (n). Values: 1 or more; default 32. */
  n_samples?: number;
  /** episodes of each candidate; their mean return is its score. Values: 1 or more; default 1. */
  episodes?: number;
  /** candidates take the action that they hold for the best; false: they draw. Values: true, false; default true. */
  deterministic?: boolean;
  /** deviation of candidates from the policy. Values: > 0; default 0.02. */
  sigma?: number;
  /** what makes the steps: adam, or sgd with momentum. Values: adam, sgd; default "adam". */
  optimiser?: "adam" | "sgd";
  /**
   * Adam's step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default 0.01.
   */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** Adam's ε. Values: > 0; default 0.00000001. */
  adam_eps?: number;
  /** share of the last steps in each of sgd. Values: 0 to 0.999; default 0.9. */
  momentum?: number;
  /** weight of the squares of parameters in what is descended. Values: 0 or more; default 0.005. */
  weight_decay?: number;
  /** hidden layers of each network. Values: list of widths; default []. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
}

/** Settings of `ars`: Augmented Random Search, V1 and V2 (arXiv:1803.07055). */
export interface ArsConfig {
  /** candidates of each iteration (n). Values: 1 or more; default 16. */
  n_samples?: number;
  /** episodes of each candidate; their mean return is its score. Values: 1 or more; default 1. */
  episodes?: number;
  /** candidates take the action that they hold for the best; false: they draw. Values: true, false; default true. */
  deterministic?: boolean;
  /** directions that are learned from (b), the best ones; 0: all. Values: 0 or more; default 0. */
  top_directions?: number;
  /** length of a step (α), in deviations of returns. Values: > 0; default 0.02. */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** deviation of candidates from the policy (ν). Values: > 0; default 0.05. */
  sigma?: number;
  /** by the running mean and deviation of all that were seen: V2; false: V1. Values: true, false; default true. */
  normalise_observations?: boolean;
  /** hidden layers of each network. Values: list of widths; default []. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
}

/** Settings of `nop`: Plays and learns nothing, to compare with. */
export interface NopConfig {
  /** candidates of each iteration (n). Values: 1 or more; default 1. */
  n_samples?: number;
  /** episodes of each candidate; their mean return is its score. Values: 1 or more; default 1. */
  episodes?: number;
  /** candidates take the action that they hold for the best; false: they draw. Values: true, false; default true. */
  deterministic?: boolean;
  /** hidden layers of each network. Values: list of widths; default [64, 64]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
}

/** Settings of `promp`: Proximal Meta-Policy Search: learns to adapt (arXiv:1810.06784). */
export interface PrompConfig {
  /** tasks per iteration (M). Values: 1 or more; default 40. */
  meta_batch?: number;
  /** rollouts per task before and after each inner step (N). Values: 1 or more; default 20. */
  rollouts?: number;
  /** steps of a rollout (T); 0: the environment's time limit. Values: 0 or more; default 0. */
  horizon?: number;
  /** 0: fresh tasks each iteration; otherwise a pool of so many. Values: 0 or more; default 0. */
  train_tasks?: number;
  /** gradient steps of adaptation. Values: 1 to 16; default 1. */
  inner_steps?: number;
  /** step size α of adaptation. Values: > 0; default 0.1. */
  inner_lr?: number;
  /** learn one α per parameter, starting from inner_lr. Values: true, false; default false. */
  learn_inner_lr?: boolean;
  /** take inner gradients as constants. Values: true, false; default false. */
  first_order?: boolean;
  /** surrogate of adaptation. Values: likelihood_ratio, log_likelihood; default "likelihood_ratio". */
  inner_loss?: "likelihood_ratio" | "log_likelihood";
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** λ of the advantages. Values: 0 to 1; default 1.0. */
  gae_lambda?: number;
  /**
   * subtracted from returns, fitted per task. Values: linear_feature, linear_time, multi_feature, zero; default
   * "linear_feature".
   */
  baseline?: "linear_feature" | "linear_time" | "multi_feature" | "zero";
  /** added to the diagonal of a fitted baseline's equations. Values: > 0; default 0.00001. */
  baseline_regularisation?: number;
  /** per task. Values: true, false; default true. */
  normalise_advantages?: boolean;
  /** shift them so that the smallest is 0. Values: true, false; default false. */
  positive_advantages?: boolean;
  /** outer steps on each batch. Values: 1 or more; default 5. */
  outer_steps?: number;
  /** clip range of the outer objective. Values: 0 to 1; default 0.3. */
  clip_eps?: number;
  /** clip_eps is multiplied by this after each iteration. Values: above 0, to 1; default 1.0. */
  clip_eps_factor?: number;
  /** weight of the KL that keeps adaptation near what collected. Values: 0 or more; default 0.0005. */
  inner_kl_coef?: number;
  /** above 0: adapt inner_kl_coef until the KL is near this. Values: 0 or more; default 0.0. */
  target_inner_kl?: number;
  /** longer outer gradients are scaled down; 0: never. Values: 0 or more; default 0.0. */
  max_grad_norm?: number;
  /** λ of ½ λ ‖θ‖² in the outer loss, θ the policy's parameters. Values: 0 or more; default 0.0. */
  weight_decay?: number;
  /** learn ln σ of continuous actions; false: it stays log_std_init. Values: true, false; default true. */
  learn_std?: boolean;
  /**
   * Adam's step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default 0.001.
   */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** Adam's ε. Values: > 0; default 0.00000001. */
  adam_eps?: number;
  /** hidden layers of each network. Values: list of widths; default [64, 64]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
}

/** Settings of `maml-ppo`: MAML with a clipped outer objective. */
export interface MamlPpoConfig {
  /** tasks per iteration (M). Values: 1 or more; default 40. */
  meta_batch?: number;
  /** rollouts per task before and after each inner step (N). Values: 1 or more; default 20. */
  rollouts?: number;
  /** steps of a rollout (T); 0: the environment's time limit. Values: 0 or more; default 0. */
  horizon?: number;
  /** 0: fresh tasks each iteration; otherwise a pool of so many. Values: 0 or more; default 0. */
  train_tasks?: number;
  /** gradient steps of adaptation. Values: 1 to 16; default 1. */
  inner_steps?: number;
  /** step size α of adaptation. Values: > 0; default 0.1. */
  inner_lr?: number;
  /** learn one α per parameter, starting from inner_lr. Values: true, false; default false. */
  learn_inner_lr?: boolean;
  /** take inner gradients as constants. Values: true, false; default false. */
  first_order?: boolean;
  /** surrogate of adaptation. Values: likelihood_ratio, log_likelihood; default "likelihood_ratio". */
  inner_loss?: "likelihood_ratio" | "log_likelihood";
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** λ of the advantages. Values: 0 to 1; default 1.0. */
  gae_lambda?: number;
  /**
   * subtracted from returns, fitted per task. Values: linear_feature, linear_time, multi_feature, zero; default
   * "linear_feature".
   */
  baseline?: "linear_feature" | "linear_time" | "multi_feature" | "zero";
  /** added to the diagonal of a fitted baseline's equations. Values: > 0; default 0.00001. */
  baseline_regularisation?: number;
  /** per task. Values: true, false; default true. */
  normalise_advantages?: boolean;
  /** shift them so that the smallest is 0. Values: true, false; default false. */
  positive_advantages?: boolean;
  /** outer steps on each batch. Values: 1 or more; default 5. */
  outer_steps?: number;
  /** clip range of the outer objective. Values: 0 to 1; default 0.3. */
  clip_eps?: number;
  /** clip_eps is multiplied by this after each iteration. Values: above 0, to 1; default 1.0. */
  clip_eps_factor?: number;
  /** longer outer gradients are scaled down; 0: never. Values: 0 or more; default 0.0. */
  max_grad_norm?: number;
  /** λ of ½ λ ‖θ‖² in the outer loss, θ the policy's parameters. Values: 0 or more; default 0.0. */
  weight_decay?: number;
  /** learn ln σ of continuous actions; false: it stays log_std_init. Values: true, false; default true. */
  learn_std?: boolean;
  /**
   * Adam's step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default 0.001.
   */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** Adam's ε. Values: > 0; default 0.00000001. */
  adam_eps?: number;
  /** hidden layers of each network. Values: list of widths; default [64, 64]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
}

/** Settings of `maml-vpg`: MAML, policy gradient inside and outside (arXiv:1703.03400). */
export interface MamlVpgConfig {
  /** tasks per iteration (M). Values: 1 or more; default 40. */
  meta_batch?: number;
  /** rollouts per task before and after each inner step (N). Values: 1 or more; default 20. */
  rollouts?: number;
  /** steps of a rollout (T); 0: the environment's time limit. Values: 0 or more; default 0. */
  horizon?: number;
  /** 0: fresh tasks each iteration; otherwise a pool of so many. Values: 0 or more; default 0. */
  train_tasks?: number;
  /** gradient steps of adaptation. Values: 1 to 16; default 1. */
  inner_steps?: number;
  /** step size α of adaptation. Values: > 0; default 0.1. */
  inner_lr?: number;
  /** learn one α per parameter, starting from inner_lr. Values: true, false; default false. */
  learn_inner_lr?: boolean;
  /** take inner gradients as constants. Values: true, false; default false. */
  first_order?: boolean;
  /** surrogate of adaptation. Values: likelihood_ratio, log_likelihood; default "log_likelihood". */
  inner_loss?: "likelihood_ratio" | "log_likelihood";
  /** reward the data before adaptation for what came after it. Values: true, false; default false. */
  exploration?: boolean;
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** λ of the advantages. Values: 0 to 1; default 1.0. */
  gae_lambda?: number;
  /**
   * subtracted from returns, fitted per task. Values: linear_feature, linear_time, multi_feature, zero; default
   * "linear_feature".
   */
  baseline?: "linear_feature" | "linear_time" | "multi_feature" | "zero";
  /** added to the diagonal of a fitted baseline's equations. Values: > 0; default 0.00001. */
  baseline_regularisation?: number;
  /** per task. Values: true, false; default true. */
  normalise_advantages?: boolean;
  /** shift them so that the smallest is 0. Values: true, false; default false. */
  positive_advantages?: boolean;
  /** longer outer gradients are scaled down; 0: never. Values: 0 or more; default 0.0. */
  max_grad_norm?: number;
  /** λ of ½ λ ‖θ‖² in the outer loss, θ the policy's parameters. Values: 0 or more; default 0.0. */
  weight_decay?: number;
  /** learn ln σ of continuous actions; false: it stays log_std_init. Values: true, false; default true. */
  learn_std?: boolean;
  /**
   * Adam's step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default 0.001.
   */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** Adam's ε. Values: > 0; default 0.00000001. */
  adam_eps?: number;
  /** hidden layers of each network. Values: list of widths; default [64, 64]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
}

/** Settings of `maml-trpo`: MAML with trust-region outer steps (arXiv:1703.03400). */
export interface MamlTrpoConfig {
  /** tasks per iteration (M). Values: 1 or more; default 40. */
  meta_batch?: number;
  /** rollouts per task before and after each inner step (N). Values: 1 or more; default 20. */
  rollouts?: number;
  /** steps of a rollout (T); 0: the environment's time limit. Values: 0 or more; default 0. */
  horizon?: number;
  /** 0: fresh tasks each iteration; otherwise a pool of so many. Values: 0 or more; default 0. */
  train_tasks?: number;
  /** gradient steps of adaptation. Values: 1 to 16; default 1. */
  inner_steps?: number;
  /** step size α of adaptation. Values: > 0; default 0.1. */
  inner_lr?: number;
  /** learn one α per parameter, starting from inner_lr. Values: true, false; default false. */
  learn_inner_lr?: boolean;
  /** take inner gradients as constants. Values: true, false; default false. */
  first_order?: boolean;
  /** surrogate of adaptation. Values: likelihood_ratio, log_likelihood; default "log_likelihood". */
  inner_loss?: "likelihood_ratio" | "log_likelihood";
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** λ of the advantages. Values: 0 to 1; default 1.0. */
  gae_lambda?: number;
  /**
   * subtracted from returns, fitted per task. Values: linear_feature, linear_time, multi_feature, zero; default
   * "linear_feature".
   */
  baseline?: "linear_feature" | "linear_time" | "multi_feature" | "zero";
  /** added to the diagonal of a fitted baseline's equations. Values: > 0; default 0.00001. */
  baseline_regularisation?: number;
  /** per task. Values: true, false; default true. */
  normalise_advantages?: boolean;
  /** shift them so that the smallest is 0. Values: true, false; default false. */
  positive_advantages?: boolean;
  /** learn ln σ of continuous actions; false: it stays log_std_init. Values: true, false; default true. */
  learn_std?: boolean;
  /** largest KL of the policies before and after a step. Values: > 0; default 0.01. */
  max_kl?: number;
  /** conjugate-gradient iterations. Values: 1 or more; default 10. */
  cg_iterations?: number;
  /** added to the diagonal of the KL's Hessian. Values: 0 or more; default 0.00001. */
  damping?: number;
  /** most steps of the line search. Values: 1 or more; default 15. */
  backtracks?: number;
  /** factor between its steps. Values: 0 to 1; default 0.8. */
  backtrack_ratio?: number;
  /** where no step keeps to the limit, make the last one if it lowers the loss. Values: true, false; default false. */
  accept_violation?: boolean;
  /** products with the KL's Hessian. Values: exact, finite_differences, one_sided_differences; default "exact". */
  hessian?: "exact" | "finite_differences" | "one_sided_differences";
  /**
   * above 0: gradients of differences are this over ‖θ‖ times the vector apart; 0: where the error is least. Values: 0
   * or more; default 0.0.
   */
  base_eps?: number;
  /** hidden layers of each network. Values: list of widths; default [64, 64]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
}

/** Settings of `e-maml`: MAML that is rewarded for exploring (arXiv:1803.01118). */
export interface EMamlConfig {
  /** tasks per iteration (M). Values: 1 or more; default 40. */
  meta_batch?: number;
  /** rollouts per task before and after each inner step (N). Values: 1 or more; default 20. */
  rollouts?: number;
  /** steps of a rollout (T); 0: the environment's time limit. Values: 0 or more; default 0. */
  horizon?: number;
  /** 0: fresh tasks each iteration; otherwise a pool of so many. Values: 0 or more; default 0. */
  train_tasks?: number;
  /** gradient steps of adaptation. Values: 1 to 16; default 1. */
  inner_steps?: number;
  /** step size α of adaptation. Values: > 0; default 0.1. */
  inner_lr?: number;
  /** learn one α per parameter, starting from inner_lr. Values: true, false; default false. */
  learn_inner_lr?: boolean;
  /** take inner gradients as constants. Values: true, false; default false. */
  first_order?: boolean;
  /** surrogate of adaptation. Values: likelihood_ratio, log_likelihood; default "log_likelihood". */
  inner_loss?: "likelihood_ratio" | "log_likelihood";
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** λ of the advantages. Values: 0 to 1; default 1.0. */
  gae_lambda?: number;
  /**
   * subtracted from returns, fitted per task. Values: linear_feature, linear_time, multi_feature, zero; default
   * "linear_feature".
   */
  baseline?: "linear_feature" | "linear_time" | "multi_feature" | "zero";
  /** added to the diagonal of a fitted baseline's equations. Values: > 0; default 0.00001. */
  baseline_regularisation?: number;
  /** per task. Values: true, false; default true. */
  normalise_advantages?: boolean;
  /** shift them so that the smallest is 0. Values: true, false; default false. */
  positive_advantages?: boolean;
  /** learn ln σ of continuous actions; false: it stays log_std_init. Values: true, false; default true. */
  learn_std?: boolean;
  /** largest KL of the policies before and after a step. Values: > 0; default 0.01. */
  max_kl?: number;
  /** conjugate-gradient iterations. Values: 1 or more; default 10. */
  cg_iterations?: number;
  /** added to the diagonal of the KL's Hessian. Values: 0 or more; default 0.00001. */
  damping?: number;
  /** most steps of the line search. Values: 1 or more; default 15. */
  backtracks?: number;
  /** factor between its steps. Values: 0 to 1; default 0.8. */
  backtrack_ratio?: number;
  /** where no step keeps to the limit, make the last one if it lowers the loss. Values: true, false; default false. */
  accept_violation?: boolean;
  /** products with the KL's Hessian. Values: exact, finite_differences, one_sided_differences; default "exact". */
  hessian?: "exact" | "finite_differences" | "one_sided_differences";
  /**
   * above 0: gradients of differences are this over ‖θ‖ times the vector apart; 0: where the error is least. Values: 0
   * or more; default 0.0.
   */
  base_eps?: number;
  /** hidden layers of each network. Values: list of widths; default [64, 64]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
}

/** Settings of `dice-maml`: MAML with DICE objectives, exact to any order (arXiv:1802.05098). */
export interface DiceMamlConfig {
  /** tasks per iteration (M). Values: 1 or more; default 40. */
  meta_batch?: number;
  /** rollouts per task before and after each inner step (N). Values: 1 or more; default 20. */
  rollouts?: number;
  /** steps of a rollout (T); 0: the environment's time limit. Values: 0 or more; default 0. */
  horizon?: number;
  /** 0: fresh tasks each iteration; otherwise a pool of so many. Values: 0 or more; default 0. */
  train_tasks?: number;
  /** gradient steps of adaptation. Values: 1 to 16; default 1. */
  inner_steps?: number;
  /** step size α of adaptation. Values: > 0; default 0.1. */
  inner_lr?: number;
  /** learn one α per parameter, starting from inner_lr. Values: true, false; default false. */
  learn_inner_lr?: boolean;
  /** take inner gradients as constants. Values: true, false; default false. */
  first_order?: boolean;
  /** loss of adapted policies: DICE, or ln π times advantages. Values: dice, log_likelihood; default "dice". */
  outer_loss?: "dice" | "log_likelihood";
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** λ of the advantages. Values: 0 to 1; default 1.0. */
  gae_lambda?: number;
  /**
   * subtracted from returns, fitted per task. Values: linear_feature, linear_time, multi_feature, zero; default
   * "linear_time".
   */
  baseline?: "linear_feature" | "linear_time" | "multi_feature" | "zero";
  /** added to the diagonal of a fitted baseline's equations. Values: > 0; default 0.00001. */
  baseline_regularisation?: number;
  /** per task. Values: true, false; default true. */
  normalise_advantages?: boolean;
  /** shift them so that the smallest is 0. Values: true, false; default false. */
  positive_advantages?: boolean;
  /** longer outer gradients are scaled down; 0: never. Values: 0 or more; default 0.0. */
  max_grad_norm?: number;
  /** λ of ½ λ ‖θ‖² in the outer loss, θ the policy's parameters. Values: 0 or more; default 0.0. */
  weight_decay?: number;
  /** learn ln σ of continuous actions; false: it stays log_std_init. Values: true, false; default true. */
  learn_std?: boolean;
  /**
   * Adam's step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default 0.001.
   */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** Adam's ε. Values: > 0; default 0.00000001. */
  adam_eps?: number;
  /** hidden layers of each network. Values: list of widths; default [64, 64]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "tanh". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
}

/** Settings of `rl2-ppo`: RL²: a recurrent policy learns within its memory, by PPO (arXiv:1611.02779). */
export interface Rl2PpoConfig {
  /** trials per iteration, each on a task of its own (M). Values: 1 or more; default 64. */
  meta_batch?: number;
  /** episodes of a trial, through which the memory lasts. Values: 1 or more; default 2. */
  episodes?: number;
  /** show an episode's last action, reward and end to the next one. Values: true, false; default true. */
  carry_over?: boolean;
  /**
   * show the policy that a time limit ended an episode, as a final state is shown. Values: true, false; default false.
   */
  show_time_limit?: boolean;
  /** 0: fresh tasks each iteration; otherwise a pool of so many. Values: 0 or more; default 0. */
  train_tasks?: number;
  /** discount of later rewards, also those of later episodes. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** λ of the advantages; lower: less variance, more bias. Values: 0 to 1; default 0.95. */
  gae_lambda?: number;
  /**
   * learned value, from the policy's memory or its own; or a baseline fitted to each batch. Values: gru, separate,
   * linear_feature, linear_time, multi_feature, zero; default "gru".
   */
  critic?: "gru" | "separate" | "linear_feature" | "linear_time" | "multi_feature" | "zero";
  /** added to the diagonal of a fitted baseline's equations. Values: > 0; default 0.00001. */
  baseline_regularisation?: number;
  /** standardise over all steps, or at each step over trials. Values: all, step, none; default "all". */
  advantage_centre?: "all" | "step" | "none";
  /** shift them so that the smallest is 0. Values: true, false; default false. */
  positive_advantages?: boolean;
  /** a term of the objective, or part of each reward. Values: regularized, max, no_entropy; default "regularized". */
  entropy_method?: "regularized" | "max" | "no_entropy";
  /** weight of the entropy. Values: 0 or more; default 0.01. */
  entropy_coef?: number;
  /** ln(1 + e^H) in place of the entropy H. Values: true, false; default false. */
  entropy_softplus?: boolean;
  /** −ln π of the action taken in place of the entropy. Values: true, false; default false. */
  entropy_neg_log_prob?: boolean;
  /** passes over the trials. Values: 1 or more; default 4. */
  epochs?: number;
  /** above 0: passes end once one changes the loss over all trials by less. Values: 0 or more; default 0.0. */
  tolerance?: number;
  /** parts of each pass, in trials. Values: divides meta_batch; default 4. */
  minibatches?: number;
  /**
   * trials of a minibatch, the last of which has what is left; above 0: in place of minibatches. Values: 0 or more;
   * default 0.
   */
  minibatch_size?: number;
  /** clip range of the probability ratio. Values: 0 to 1; default 0.2. */
  clip_eps?: number;
  /** weight of the value loss ½ (v − R)². Values: 0 or more; default 0.5. */
  value_coef?: number;
  /** longer gradients are scaled down; 0: never. Values: 0 or more; default 0.5. */
  max_grad_norm?: number;
  /** above 0: stop an iteration's updates at 1.5 times this KL. Values: 0 or more; default 0.0. */
  target_kl?: number;
  /** λ of ½ λ ‖θ‖² in the loss. Values: 0 or more; default 0.0. */
  weight_decay?: number;
  /** learn ln σ of continuous actions; false: it stays log_std_init. Values: true, false; default true. */
  learn_std?: boolean;
  /**
   * Adam's step size; lower it where train/approx_kl, if there is one, is above about 0.03. Values: > 0; default 0.001.
   */
  learning_rate?: number;
  /**
   * linear, cosine: towards 0 at the end of the run; exponential, step: to learning_rate_fall. Values: constant,
   * linear, exponential, step, cosine; default "constant".
   */
  learning_rate_schedule?: "constant" | "linear" | "exponential" | "step" | "cosine";
  /** share of the rate that exponential and step end with. Values: above 0, to 1; default 0.1. */
  learning_rate_fall?: number;
  /** number of the falls of step. Values: 1 or more; default 3. */
  learning_rate_falls?: number;
  /** Adam's ε. Values: > 0; default 0.00001. */
  adam_eps?: number;
  /** recurrent units, by which the policy remembers. Values: none, gru, lstm, rnn; default "gru". */
  cell?: "none" | "gru" | "lstm" | "rnn";
  /** how many recurrent units there are. Values: 1 or more; default 64. */
  units?: number;
  /** gru: where the reset gate acts, after or before the product. Values: after, before; default "after". */
  reset?: "after" | "before";
  /** the first state of the units is learned; false: it is zero. Values: true, false; default false. */
  learned_start?: boolean;
  /** standardise the output of the units, over them. Values: true, false; default false. */
  layer_norm?: boolean;
  /** orthogonal first weights; false: Glorot-uniform. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
}

/** Settings of `rl2-trpo`: RL² with trust-region steps, as in its paper. */
export interface Rl2TrpoConfig {
  /** trials per iteration, each on a task of its own (M). Values: 1 or more; default 64. */
  meta_batch?: number;
  /** episodes of a trial, through which the memory lasts. Values: 1 or more; default 2. */
  episodes?: number;
  /** show an episode's last action, reward and end to the next one. Values: true, false; default true. */
  carry_over?: boolean;
  /**
   * show the policy that a time limit ended an episode, as a final state is shown. Values: true, false; default false.
   */
  show_time_limit?: boolean;
  /** 0: fresh tasks each iteration; otherwise a pool of so many. Values: 0 or more; default 0. */
  train_tasks?: number;
  /** discount of later rewards, also those of later episodes. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** λ of the advantages; lower: less variance, more bias. Values: 0 to 1; default 0.98. */
  gae_lambda?: number;
  /**
   * learned value, from the policy's memory or its own; or a baseline fitted to each batch. Values: gru, separate,
   * linear_feature, linear_time, multi_feature, zero; default "linear_feature".
   */
  critic?: "gru" | "separate" | "linear_feature" | "linear_time" | "multi_feature" | "zero";
  /** added to the diagonal of a fitted baseline's equations. Values: > 0; default 0.00001. */
  baseline_regularisation?: number;
  /** standardise over all steps, or at each step over trials. Values: all, step, none; default "all". */
  advantage_centre?: "all" | "step" | "none";
  /** shift them so that the smallest is 0. Values: true, false; default false. */
  positive_advantages?: boolean;
  /** a term of the objective, or part of each reward. Values: regularized, max, no_entropy; default "no_entropy". */
  entropy_method?: "regularized" | "max" | "no_entropy";
  /** weight of the entropy. Values: 0 or more; default 0.0. */
  entropy_coef?: number;
  /** ln(1 + e^H) in place of the entropy H. Values: true, false; default false. */
  entropy_softplus?: boolean;
  /** −ln π of the action taken in place of the entropy. Values: true, false; default false. */
  entropy_neg_log_prob?: boolean;
  /** learn ln σ of continuous actions; false: it stays log_std_init. Values: true, false; default true. */
  learn_std?: boolean;
  /** largest KL of the policies before and after a step. Values: > 0; default 0.01. */
  max_kl?: number;
  /** conjugate-gradient iterations. Values: 1 or more; default 10. */
  cg_iterations?: number;
  /** added to the diagonal of the KL's Hessian. Values: 0 or more; default 0.00001. */
  damping?: number;
  /** most steps of the line search. Values: 1 or more; default 15. */
  backtracks?: number;
  /** factor between its steps. Values: 0 to 1; default 0.8. */
  backtrack_ratio?: number;
  /** where no step keeps to the limit, make the last one if it lowers the loss. Values: true, false; default false. */
  accept_violation?: boolean;
  /** products with the KL's Hessian. Values: exact, finite_differences, one_sided_differences; default "exact". */
  hessian?: "exact" | "finite_differences" | "one_sided_differences";
  /**
   * above 0: gradients of differences are this over ‖θ‖ times the vector apart; 0: where the error is least. Values: 0
   * or more; default 0.0.
   */
  base_eps?: number;
  /** recurrent units, by which the policy remembers. Values: none, gru, lstm, rnn; default "gru". */
  cell?: "none" | "gru" | "lstm" | "rnn";
  /** how many recurrent units there are. Values: 1 or more; default 64. */
  units?: number;
  /** gru: where the reset gate acts, after or before the product. Values: after, before; default "after". */
  reset?: "after" | "before";
  /** the first state of the units is learned; false: it is zero. Values: true, false; default false. */
  learned_start?: boolean;
  /** standardise the output of the units, over them. Values: true, false; default false. */
  layer_norm?: boolean;
  /** orthogonal first weights; false: Glorot-uniform. Values: true, false; default true. */
  orthogonal_init?: boolean;
  /** first ln σ of continuous actions. Values: -20 to 2; default 0.0. */
  log_std_init?: number;
  /** lowest σ of continuous actions; 0: no limit. Values: 0 or more; default 0.0. */
  min_std?: number;
  /** continuous actions in units in which -1 to 1 are the bounds. Values: true, false; default false. */
  scale_actions?: boolean;
}

/** Settings of `pearl`: PEARL: a belief about the task, inferred from what was seen (arXiv:1903.08254). */
export interface PearlConfig {
  /** numbers of a belief's draw z. Values: 1 or more; default 5. */
  latent_dim?: number;
  /** widths of the encoder's hidden layers. Values: list of widths; default [200, 200, 200]. */
  encoder_hidden_sizes?: number[];
  /**
   * mlp: transitions in any order; gru: one after the other, by as many units as its last hidden layer has. Values:
   * mlp, gru; default "mlp".
   */
  encoder?: "mlp" | "gru";
  /** the belief is a distribution that is held to the prior; otherwise one point. Values: true, false; default true. */
  use_information_bottleneck?: boolean;
  /** show the encoder what a step led to, as well. Values: true, false; default false. */
  use_next_obs_in_context?: boolean;
  /** weight of the belief's divergence from the prior. Values: 0 or more; default 0.1. */
  kl_lambda?: number;
  /** Adam's step size of the policy. Values: > 0; default 0.0003. */
  policy_lr?: number;
  /** Adam's step size of both critics. Values: > 0; default 0.0003. */
  qf_lr?: number;
  /** Adam's step size of the value function. Values: > 0; default 0.0003. */
  vf_lr?: number;
  /** Adam's step size of the encoder. Values: > 0; default 0.0003. */
  context_lr?: number;
  /** Adam's ε. Values: > 0; default 0.00000001. */
  adam_eps?: number;
  /** weight of the square of the policy's means, before they are squashed. Values: 0 or more; default 0.001. */
  policy_mean_reg_coeff?: number;
  /** weight of the square of the logarithms of its deviations. Values: 0 or more; default 0.001. */
  policy_std_reg_coeff?: number;
  /** weight of the square of its draws, before they are squashed. Values: 0 or more; default 0.0. */
  policy_pre_activation_coeff?: number;
  /**
   * share of what is learned in its target, at each step of the target; small is slow, 1 copies it. Values: above 0, to
   * 1; default 0.005.
   */
  tau?: number;
  /** discount of later rewards. Values: 0 to 1; default 0.99. */
  gamma?: number;
  /** factor of the rewards that are learned from: the inverse of a temperature. Values: > 0; default 5.0. */
  reward_scale?: number;
  /**
   * learn from the environment's dense reward; the encoder sees the one that is paid. Values: true, false; default
   * false.
   */
  dense_rewards?: boolean;
  /** training tasks, each with a memory of its own. Values: 1 or more; default 100. */
  train_tasks?: number;
  /** tasks of an update, drawn anew each time. Values: 1 or more; default 16. */
  meta_batch?: number;
  /** updates of an iteration. Values: 1 or more; default 1000. */
  num_steps_per_epoch?: number;
  /** steps on each task before the first update, in whole episodes. Values: 1 or more; default 200. */
  num_initial_steps?: number;
  /** tasks that an iteration collects on. Values: 1 or more; default 5. */
  num_tasks_sample?: number;
  /** steps on each by draws from the prior, in whole episodes; 0: none. Values: 0 or more; default 400. */
  num_steps_prior?: number;
  /** steps on each by draws from the belief, which go into the context; 0: none. Values: 0 or more; default 0. */
  num_steps_posterior?: number;
  /**
   * steps on each by draws from the belief, which do not go into the context; 0: none. Values: 0 or more; default 600.
   */
  num_extra_rl_steps_posterior?: number;
  /** episodes by the belief after which it is inferred again. Values: 1 or more; default 1. */
  update_post_train?: number;
  /** transitions of an update, of each task. Values: 1 or more; default 256. */
  batch_size?: number;
  /** transitions of the context in an update, of each task, drawn with replacement. Values: 1 or more; default 100. */
  embedding_batch_size?: number;
  /**
   * transitions of the context that are read at once; each such part makes an update of its own. Values: it divides
   * embedding_batch_size; default 100.
   */
  embedding_mini_batch_size?: number;
  /** transitions that are remembered of each task; never more than a run makes. Values: 1 or more; default 1000000. */
  memory_size?: number;
  /** episodes on a held-out task before the one that evaluations measure. Values: 0 to 99; default 1. */
  exploration_episodes?: number;
  /** hidden layers of each network. Values: list of widths; default [300, 300, 300]. */
  hidden?: number[];
  /** of the hidden layers. Values: tanh, relu; default "relu". */
  activation?: "tanh" | "relu";
  /** orthogonal first weights; false: uniform as in PyTorch. Values: true, false; default false. */
  orthogonal_init?: boolean;
}

/** Settings by algorithm. */
export interface Configs {
  "ppo": PpoConfig;
  "ppo2": Ppo2Config;
  "a2c": A2cConfig;
  "vpg": VpgConfig;
  "trpo": TrpoConfig;
  "svpg": SvpgConfig;
  "dqn": DqnConfig;
  "dql": DqlConfig;
  "ddpg": DdpgConfig;
  "td3": Td3Config;
  "sac": SacConfig;
  "cem": CemConfig;
  "cma-es": CmaEsConfig;
  "openai-es": OpenaiEsConfig;
  "ars": ArsConfig;
  "nop": NopConfig;
  "promp": PrompConfig;
  "maml-ppo": MamlPpoConfig;
  "maml-vpg": MamlVpgConfig;
  "maml-trpo": MamlTrpoConfig;
  "e-maml": EMamlConfig;
  "dice-maml": DiceMamlConfig;
  "rl2-ppo": Rl2PpoConfig;
  "rl2-trpo": Rl2TrpoConfig;
  "pearl": PearlConfig;
}

/** Names of the algorithms. */
export type AlgorithmName = keyof Configs;
