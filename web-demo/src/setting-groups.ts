/** Folds of settings, each by the question that it answers. */
export const GROUPS = ["Run", "Learning", "Credit", "Exploration", "Network"] as const;
export type Group = (typeof GROUPS)[number];

/** Settings that stand before all folds. */
const FIRST = new Set(["learning_rate", "policy_lr", "envs", "n_samples", "meta_batch"]);

/** How keys of each fold but `Learning` begin, which has the rest. The first that fits takes a key. */
const BEGINNINGS: [Group, string][] = [
  [
    "Exploration",
    "entropy sde epsilon exploration noise target_noise sigma temperature learn_temperature target_entropy init_std " +
      "extra_ warm_up learning_starts deterministic",
  ],
  [
    "Network",
    "hidden activation orthogonal_init log_std_init min_std scale_actions learn_std cell units reset learned_start " +
      "layer_norm dueling separable latent_dim encoder use_",
  ],
  [
    "Credit",
    "gamma gae_lambda value_ critic advantage normalise_ standardise_ positive_advantages baseline n_step " +
      "reward_scale dense_rewards hindsight",
  ],
  [
    "Run",
    "horizon min_rollouts min_steps iteration_steps log_details memory_size train_freq gradient_steps episodes " +
      "rollouts train_tasks num_steps num_initial num_tasks num_extra carry_over show_time_limit update_post_train",
  ],
];

/** Where a setting stands. */
export function groupOf(key: string): Group | "First" {
  const fits = ([, all]: [Group, string]): boolean => all.split(" ").some((beginning) => key.startsWith(beginning));
  return FIRST.has(key) ? "First" : (BEGINNINGS.find(fits)?.[0] ?? "Learning");
}
