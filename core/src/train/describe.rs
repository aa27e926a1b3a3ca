//! What each setting of an algorithm means: the reference that help texts show.

use super::config::ALGORITHMS;
use crate::meta::{Rl2Variant, Variant};
use crate::{Error, Result};

/// An algorithm in one line; nothing for an unknown one.
#[must_use]
pub fn algorithm_doc(algorithm: &str) -> &'static str {
    match algorithm {
        "ppo" => "Proximal Policy Optimization, clipped objective (arXiv:1707.06347)",
        "trpo" => "Trust Region Policy Optimization (arXiv:1502.05477)",
        "promp" => "Proximal Meta-Policy Search: learns to adapt (arXiv:1810.06784)",
        "maml-ppo" => "MAML with a clipped outer objective",
        "maml-vpg" => "MAML, policy gradient inside and outside (arXiv:1703.03400)",
        "maml-trpo" => "MAML with trust-region outer steps (arXiv:1703.03400)",
        "e-maml" => "MAML that is rewarded for exploring (arXiv:1803.01118)",
        "dice-maml" => "MAML with DICE objectives, exact to any order (arXiv:1802.05098)",
        "rl2-ppo" => "RL²: a recurrent policy learns within its memory, by PPO (arXiv:1611.02779)",
        "rl2-trpo" => "RL² with trust-region steps, as in its paper",
        _ => "",
    }
}

/// One setting in words. Its default is in [`Setup`](super::Setup) and in the configuration's `Default`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettingDoc {
    /// Key, as in `--set key=value` and in files.
    pub key: &'static str,
    /// Values that it takes.
    pub range: &'static str,
    /// What it does, in one line.
    pub meaning: &'static str,
}

const fn doc(key: &'static str, range: &'static str, meaning: &'static str) -> SettingDoc {
    SettingDoc { key, range, meaning }
}

const PPO: [SettingDoc; 25] = [
    doc("learning_rate", "> 0", "Adam's step size; lower it if train/approx_kl exceeds about 0.03"),
    doc("learning_rate_schedule", "constant, linear", "linear: towards 0 at the end of the run"),
    doc("clip_eps", "0 to 1", "clip range of the probability ratio; smaller is safer and slower"),
    doc("clip_eps_schedule", "constant, linear", "linear: towards 0 at the end of the run"),
    doc("horizon", "1 or more", "steps per environment between updates (T)"),
    doc("envs", "1 or more", "environments that run side by side (N)"),
    doc("epochs", "1 or more", "passes over each rollout"),
    doc("minibatches", "divides T · N", "parts that each pass is split into"),
    doc("gamma", "0 to 1", "discount of later rewards"),
    doc("gae_lambda", "0 to 1", "λ of the advantages; lower: less variance, more bias"),
    doc("entropy_coef", "0 or more", "weight of the entropy bonus"),
    doc("value_coef", "0 or more", "weight of the value loss ½ (v − R)²"),
    doc("max_grad_norm", "0 or more", "longer gradients are scaled down; 0: never"),
    doc("value_clip", "true, false", "clip the change of the value as well"),
    doc("target_kl", "0 or more", "above 0: stop an iteration's updates at 1.5 times this KL"),
    doc("normalise_observations", "true, false", "by their running mean and deviation"),
    doc("normalise_rewards", "true, false", "by the running deviation of the discounted return"),
    doc("normalise_advantages", "true, false", "in each minibatch"),
    doc("hidden", "list of widths", "hidden layers of policy and value network"),
    doc("activation", "tanh, relu", "of the hidden layers"),
    doc("orthogonal_init", "true, false", "orthogonal first weights; false: uniform as in PyTorch"),
    doc("log_std_init", "-20 to 2", "first ln σ of continuous actions"),
    doc("sde", "true, false", "state-dependent exploration of continuous actions"),
    doc("sde_sample_freq", "0, or divides T", "steps between its noise matrices; 0: one per rollout"),
    doc("adam_eps", "> 0", "Adam's ε"),
];

const TRPO: [SettingDoc; 24] = [
    doc("max_kl", "> 0", "largest KL of the old policy from the new one in a step"),
    doc("cg_iterations", "1 or more", "conjugate-gradient iterations"),
    doc("damping", "0 or more", "added to the diagonal of the KL's Hessian"),
    doc("backtracks", "1 or more", "most steps of the line search"),
    doc("backtrack_ratio", "0 to 1", "factor between its steps"),
    doc("hessian", "exact, finite_differences, one_sided_differences", "products with the KL's Hessian"),
    doc("learning_rate", "> 0", "Adam's step size, of the value function"),
    doc("learning_rate_schedule", "constant, linear", "linear: towards 0 at the end of the run"),
    doc("critic_epochs", "1 or more", "passes over each rollout that fit the value function"),
    doc("minibatches", "divides T · N", "parts that each pass is split into"),
    doc("horizon", "1 or more", "steps per environment between updates (T)"),
    doc("envs", "1 or more", "environments that run side by side (N)"),
    doc("gamma", "0 to 1", "discount of later rewards"),
    doc("gae_lambda", "0 to 1", "λ of the advantages; lower: less variance, more bias"),
    doc("normalise_observations", "true, false", "by their running mean and deviation"),
    doc("normalise_rewards", "true, false", "by the running deviation of the discounted return"),
    doc("normalise_advantages", "true, false", "over each rollout"),
    doc("hidden", "list of widths", "hidden layers of policy and value network"),
    doc("activation", "tanh, relu", "of the hidden layers"),
    doc("orthogonal_init", "true, false", "orthogonal first weights; false: uniform as in PyTorch"),
    doc("log_std_init", "-20 to 2", "first ln σ of continuous actions"),
    doc("sde", "true, false", "state-dependent exploration of continuous actions"),
    doc("sde_sample_freq", "0, or divides T", "steps between its noise matrices; 0: one per rollout"),
    doc("adam_eps", "> 0", "Adam's ε"),
];

const MAML: [SettingDoc; 32] = [
    doc("meta_batch", "1 or more", "tasks per iteration (M)"),
    doc("rollouts", "1 or more", "rollouts per task before and after each inner step (N)"),
    doc("horizon", "0 or more", "steps of a rollout (T); 0: the environment's time limit"),
    doc("train_tasks", "0 or more", "0: fresh tasks each iteration; otherwise a pool of so many"),
    doc("inner_steps", "1 to 16", "gradient steps of adaptation"),
    doc("inner_lr", "> 0", "step size α of adaptation"),
    doc("learn_inner_lr", "true, false", "learn one α per parameter, starting from inner_lr"),
    doc("first_order", "true, false", "take inner gradients as constants"),
    doc("inner_loss", "likelihood_ratio, log_likelihood", "surrogate of adaptation"),
    doc("gamma", "0 to 1", "discount of later rewards"),
    doc("gae_lambda", "0 to 1", "λ of the advantages"),
    doc("baseline", "linear_feature, linear_time, multi_feature, zero", "subtracted from returns, fitted per task"),
    doc("normalise_advantages", "true, false", "per task"),
    doc("positive_advantages", "true, false", "shift them so that the smallest is 0"),
    doc("learning_rate", "> 0", "Adam's step size of outer steps"),
    doc("learning_rate_schedule", "constant, linear", "linear: towards 0 at the end of the run"),
    doc("outer_steps", "1 or more", "outer steps on each batch"),
    doc("clip_eps", "0 to 1", "clip range of the outer objective"),
    doc("inner_kl_coef", "0 or more", "weight of the KL that keeps adaptation near what collected"),
    doc("target_inner_kl", "0 or more", "above 0: adapt inner_kl_coef until the KL is near this"),
    doc("max_kl", "> 0", "largest KL of an outer step"),
    doc("cg_iterations", "1 or more", "conjugate-gradient iterations"),
    doc("damping", "0 or more", "added to the diagonal of the KL's Hessian"),
    doc("backtracks", "1 or more", "most steps of the line search"),
    doc("backtrack_ratio", "0 to 1", "factor between its steps"),
    doc("hessian", "exact, finite_differences, one_sided_differences", "products with the KL's Hessian"),
    doc("max_grad_norm", "0 or more", "longer outer gradients are scaled down; 0: never"),
    doc("hidden", "list of widths", "hidden layers of the policy"),
    doc("activation", "tanh, relu", "of the hidden layers"),
    doc("orthogonal_init", "true, false", "orthogonal first weights; false: uniform as in PyTorch"),
    doc("log_std_init", "-20 to 2", "first ln σ of continuous actions"),
    doc("adam_eps", "> 0", "Adam's ε"),
];

const RL2: [SettingDoc; 31] = [
    doc("meta_batch", "1 or more", "trials per iteration, each on a task of its own (M)"),
    doc("episodes", "1 or more", "episodes of a trial, through which the memory lasts"),
    doc("carry_over", "true, false", "show an episode's last action, reward and end to the next one"),
    doc("train_tasks", "0 or more", "0: fresh tasks each iteration; otherwise a pool of so many"),
    doc("gamma", "0 to 1", "discount of later rewards, also those of later episodes"),
    doc("gae_lambda", "0 to 1", "λ of the advantages; lower: less variance, more bias"),
    doc("critic", "gru, linear_feature, linear_time, zero", "learned value, or a baseline fitted to each batch"),
    doc("advantage_centre", "all, step, none", "standardise over all steps, or at each step over trials"),
    doc("positive_advantages", "true, false", "shift them so that the smallest is 0"),
    doc("entropy_method", "regularized, max, no_entropy", "a term of the objective, or part of each reward"),
    doc("entropy_coef", "0 or more", "weight of the entropy"),
    doc("entropy_softplus", "true, false", "ln(1 + e^H) in place of the entropy H"),
    doc("entropy_neg_log_prob", "true, false", "−ln π of the action taken in place of the entropy"),
    doc("learning_rate", "> 0", "Adam's step size; lower it if train/approx_kl exceeds about 0.03"),
    doc("learning_rate_schedule", "constant, linear", "linear: towards 0 at the end of the run"),
    doc("epochs", "1 or more", "passes over the trials"),
    doc("minibatches", "divides meta_batch", "parts of each pass, in trials"),
    doc("clip_eps", "0 to 1", "clip range of the probability ratio"),
    doc("value_coef", "0 or more", "weight of the value loss ½ (v − R)²"),
    doc("max_grad_norm", "0 or more", "longer gradients are scaled down; 0: never"),
    doc("max_kl", "> 0", "largest KL of a step"),
    doc("cg_iterations", "1 or more", "conjugate-gradient iterations"),
    doc("damping", "0 or more", "added to the diagonal of the KL's Hessian"),
    doc("backtracks", "1 or more", "most steps of the line search"),
    doc("backtrack_ratio", "0 to 1", "factor between its steps"),
    doc("hessian", "exact, finite_differences, one_sided_differences", "products with the KL's Hessian"),
    doc("units", "1 or more", "gated recurrent units of the memory"),
    doc("reset", "after, before", "where the reset gate acts: after or before the product"),
    doc("orthogonal_init", "true, false", "orthogonal first weights; false: Glorot-uniform"),
    doc("log_std_init", "-20 to 2", "first ln σ of continuous actions"),
    doc("adam_eps", "> 0", "Adam's ε"),
];

/// Whether a variant of RL² looks at a setting.
fn used_by_rl2(variant: Rl2Variant, key: &str) -> bool {
    match key {
        "learning_rate"
        | "learning_rate_schedule"
        | "epochs"
        | "minibatches"
        | "clip_eps"
        | "value_coef"
        | "max_grad_norm"
        | "adam_eps" => variant == Rl2Variant::Ppo,
        "max_kl" | "cg_iterations" | "damping" | "backtracks" | "backtrack_ratio" | "hessian" => {
            variant == Rl2Variant::Trpo
        }
        _ => true,
    }
}

/// Whether a variant of MAML looks at a setting.
fn used(variant: Variant, key: &str) -> bool {
    match key {
        "learning_rate" | "learning_rate_schedule" | "max_grad_norm" | "adam_eps" => !variant.trust_region(),
        "clip_eps" => matches!(variant, Variant::ProMp | Variant::MamlPpo),
        "outer_steps" => matches!(variant, Variant::ProMp | Variant::MamlPpo),
        "inner_kl_coef" | "target_inner_kl" => variant == Variant::ProMp,
        "max_kl" | "cg_iterations" | "damping" | "backtracks" | "backtrack_ratio" | "hessian" => variant.trust_region(),
        // DICE is the inner loss and the outer one.
        "inner_loss" => variant != Variant::DiceMaml,
        _ => true,
    }
}

/// What the settings of an algorithm mean, in order of declaration.
///
/// # Errors
/// [`Error::Unknown`] for an unknown algorithm, with the closest one.
pub fn setting_docs(algorithm: &str) -> Result<Vec<SettingDoc>> {
    if let Some(variant) = Variant::parse(algorithm) {
        return Ok(MAML.into_iter().filter(|doc| used(variant, doc.key)).collect());
    }
    if let Some(variant) = Rl2Variant::parse(algorithm) {
        return Ok(RL2.into_iter().filter(|doc| used_by_rl2(variant, doc.key)).collect());
    }
    match algorithm {
        "ppo" => Ok(PPO.to_vec()),
        "trpo" => Ok(TRPO.to_vec()),
        _ => Err(Error::unknown("algorithm", algorithm, ALGORITHMS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::builtin;
    use crate::train::{Layer, Setup};

    /// An environment that the algorithm can work on.
    fn env_of(algorithm: &str) -> crate::env::EnvDef {
        builtin(if ["ppo", "trpo"].contains(&algorithm) { "pendulum" } else { "point-corner" }).unwrap()
    }

    /// Whether an algorithm takes `key = value`.
    fn takes(algorithm: &str, key: &str, value: &str) -> bool {
        let settings = toml::from_str(&format!("{key} = {value}")).unwrap();
        let layer = Layer { origin: "test".into(), settings };
        Setup::resolve(algorithm, env_of(algorithm), &[0], None, &[layer]).is_ok()
    }

    #[test]
    fn every_setting_is_described_in_order() {
        for algorithm in ALGORITHMS {
            let setup = Setup::resolve(algorithm, env_of(algorithm), &[0], None, &[]).unwrap();
            let keys: Vec<&str> = setup.settings.iter().map(|s| s.key.as_str()).collect();
            let described: Vec<&str> = setting_docs(algorithm).unwrap().iter().map(|d| d.key).collect();
            assert_eq!(described, keys);
        }
        // Every field of the configurations belongs to some algorithm, in order of declaration.
        let fields = |json: String, keys: &[&str]| {
            let at: Vec<usize> = keys.iter().map(|k| json.find(&format!("\"{k}\":")).unwrap()).collect();
            assert!(at.is_sorted() && json.matches("\":").count() == keys.len(), "{json} {keys:?}");
        };
        let ppo: Vec<&str> = PPO.iter().map(|d| d.key).collect();
        fields(serde_json::to_string(&crate::algo::PpoConfig::default()).unwrap(), &ppo);
        let trpo: Vec<&str> = TRPO.iter().map(|d| d.key).collect();
        fields(serde_json::to_string(&crate::algo::TrpoConfig::default()).unwrap(), &trpo);
        let maml: Vec<&str> = MAML.iter().map(|d| d.key).collect();
        fields(serde_json::to_string(&crate::meta::MamlConfig::default()).unwrap(), &maml);
        let rl2: Vec<&str> = RL2.iter().map(|d| d.key).collect();
        fields(serde_json::to_string(&crate::meta::Rl2Config::default()).unwrap(), &rl2);
        assert!(RL2.iter().all(|doc| Rl2Variant::ALL.iter().any(|v| used_by_rl2(*v, doc.key))));
        assert!(MAML.iter().all(|doc| Variant::ALL.iter().any(|v| used(*v, doc.key))));
        assert!(setting_docs("pp").unwrap_err().to_string().contains("`ppo`"));
    }

    #[test]
    fn the_ranges_are_those_that_are_checked() {
        let all = ALGORITHMS.iter().flat_map(|a| setting_docs(a).unwrap().into_iter().map(move |doc| (*a, doc)));
        for (algorithm, SettingDoc { key, range, .. }) in all {
            let (good, bad) = match range {
                "> 0" => (vec!["1e-6"], vec!["0", "-1"]),
                "0 to 1" if ["clip_eps", "backtrack_ratio"].contains(&key) => {
                    (vec!["1e-6", "0.999"], vec!["0", "1", "1.1"])
                }
                "0 to 1" => (vec!["0", "1"], vec!["-0.1", "1.1"]),
                "0 or more" if (algorithm, key) == ("rl2-trpo", "entropy_coef") => (vec!["0"], vec!["-1", "1"]),
                "0 or more" => (vec!["0", "7"], vec!["-1"]),
                "1 or more" if ["horizon", "envs"].contains(&key) => (vec!["256", "1024"], vec!["0", "-1"]),
                "1 or more" if (algorithm, key) == ("rl2-ppo", "meta_batch") => (vec!["4", "256"], vec!["0", "-1"]),
                "1 or more" => (vec!["1", "64"], vec!["0", "-1"]),
                "1 to 16" => (vec!["1", "16"], vec!["0", "17"]),
                "true, false" => (vec!["true", "false"], vec!["1", "\"true\""]),
                "constant, linear" => (vec!["\"constant\"", "\"linear\""], vec!["\"cubic\""]),
                "tanh, relu" => (vec!["\"tanh\"", "\"relu\""], vec!["\"gelu\""]),
                "divides meta_batch" => (vec!["1", "64"], vec!["0", "7"]),
                "gru, linear_feature, linear_time, zero" if algorithm == "rl2-trpo" => {
                    (vec!["\"linear_feature\"", "\"linear_time\"", "\"zero\""], vec!["\"gru\""])
                }
                "gru, linear_feature, linear_time, zero" => {
                    (vec!["\"gru\"", "\"linear_feature\"", "\"linear_time\"", "\"zero\""], vec!["\"mlp\""])
                }
                "all, step, none" => (vec!["\"all\"", "\"step\"", "\"none\""], vec!["\"steps\""]),
                // Each of the others needs another setting too.
                "regularized, max, no_entropy" => (vec!["\"regularized\""], vec!["\"maximum\"", "\"max\""]),
                "after, before" => (vec!["\"after\"", "\"before\""], vec!["\"between\""]),
                "likelihood_ratio, log_likelihood" => {
                    (vec!["\"likelihood_ratio\"", "\"log_likelihood\""], vec!["\"dice\"", "\"ratio\""])
                }
                "linear_feature, linear_time, multi_feature, zero" => {
                    (vec!["\"linear_feature\"", "\"linear_time\"", "\"multi_feature\"", "\"zero\""], vec!["\"linear\""])
                }
                "exact, finite_differences, one_sided_differences" => {
                    (vec!["\"exact\"", "\"finite_differences\"", "\"one_sided_differences\""], vec!["\"pearlmutter\""])
                }
                "-20 to 2" => (vec!["-20", "2"], vec!["-21", "3"]),
                "divides T · N" => (vec!["1", "2"], vec!["0", "7"]),
                "0, or divides T" => (vec!["0", "2"], vec!["7"]),
                "list of widths" => (vec!["[]", "[8]", "[8, 16, 32]"], vec!["[0]", "8"]),
                other => panic!("{key}: {other} is not checked here"),
            };
            let refused: Vec<_> = good.iter().filter(|value| !takes(algorithm, key, value)).collect();
            assert!(refused.is_empty(), "{algorithm} {key} {range}: {refused:?} refused");
            let taken: Vec<_> = bad.iter().filter(|value| takes(algorithm, key, value)).collect();
            assert!(taken.is_empty(), "{algorithm} {key} {range}: {taken:?} taken");
        }
    }
}
