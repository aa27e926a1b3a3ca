//! Words of other libraries, for messages that answer them with the name here.

/// Names in other libraries (Stable-Baselines3, CleanRL, garage, ProMP, Pyrado, RLlib and others), each with the names
/// here, the likeliest first. Values may have another meaning, which `docs/names.md` tells.
pub const ALIASES: &[(&str, &[&str])] = &[
    ("activation_fn", &["activation"]),
    ("actor_lr", &["policy_learning_rate", "policy_lr", "learning_rate"]),
    ("alpha", &["temperature"]),
    ("batch_size", &["minibatch_size"]),
    ("buffer_size", &["memory_size"]),
    ("capacity", &["memory_size"]),
    ("checkpoint", &["resume"]),
    ("checkpoint_freq", &["save-every"]),
    ("clip_coef", &["clip_eps"]),
    ("clip_param", &["clip_eps"]),
    ("clip_range", &["clip_eps"]),
    ("clip_range_vf", &["value_clip"]),
    ("cuda", &["device"]),
    ("discount", &["gamma"]),
    ("discount_factor", &["gamma"]),
    ("ent_coef", &["entropy_coef", "temperature"]),
    ("entropy_coeff", &["entropy_coef"]),
    ("env_id", &["env"]),
    ("eps_clip", &["clip_eps"]),
    ("eval_freq", &["eval-every"]),
    ("exploration_final_eps", &["epsilon_final"]),
    ("exploration_initial_eps", &["epsilon_initial"]),
    ("hidden_size", &["units", "hidden"]),
    ("hidden_sizes", &["hidden"]),
    ("lam", &["gae_lambda"]),
    ("lambda", &["gae_lambda"]),
    ("load", &["resume"]),
    ("log_dir", &["out"]),
    ("log_interval", &["log-every"]),
    ("lr", &["learning_rate"]),
    ("lr_clip_range", &["clip_eps"]),
    ("meta_batch_size", &["meta_batch"]),
    ("minibatch_size", &["batch_size"]),
    ("n_envs", &["envs"]),
    ("n_epochs", &["epochs"]),
    ("n_eval_episodes", &["eval-episodes", "episodes"]),
    ("n_steps", &["horizon", "n_step"]),
    ("net_arch", &["hidden"]),
    ("normalize_advantage", &["normalise_advantages"]),
    ("num_env", &["envs"]),
    ("num_envs", &["envs"]),
    ("num_epochs", &["epochs"]),
    ("num_minibatches", &["minibatches"]),
    ("num_steps", &["horizon"]),
    ("num_timesteps", &["steps"]),
    ("replay_size", &["memory_size"]),
    ("rollout_length", &["horizon"]),
    ("save_freq", &["save-every"]),
    ("step_size", &["max_kl", "learning_rate"]),
    ("timesteps", &["steps"]),
    ("total_timesteps", &["steps"]),
    ("update_epochs", &["epochs"]),
    ("vf_coef", &["value_coef"]),
];

/// The name among `known` of what other libraries call `name`, with hyphens or underscores.
pub fn alias<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let (_, ours) = ALIASES.iter().find(|(theirs, _)| *theirs == name)?;
    known
        .into_iter()
        .filter_map(|known| Some((ours.iter().position(|one| *one == known)?, known)))
        .min_by_key(|(at, _)| *at)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::alias;

    #[test]
    fn the_first_name_that_is_known_is_meant() {
        assert_eq!(alias("n_steps", ["n_step", "gamma"]), Some("n_step"));
        assert_eq!(alias("n_steps", ["n_step", "horizon"]), Some("horizon"));
        assert_eq!(alias("total-timesteps", ["seed", "steps"]), Some("steps"));
        assert_eq!(alias("gamma", ["gamma"]), None);
    }
}
