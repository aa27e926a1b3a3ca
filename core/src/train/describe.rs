//! What each setting of an algorithm means: the reference that help texts show.

use super::setup::ALGORITHMS;
use crate::{Error, Result};

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
    doc("max_grad_norm", "> 0", "longer gradients are scaled down to this length"),
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

/// What the settings of an algorithm mean, in order of declaration.
///
/// # Errors
/// [`Error::Unknown`] for an unknown algorithm, with the closest one.
pub fn setting_docs(algorithm: &str) -> Result<&'static [SettingDoc]> {
    match algorithm {
        "ppo" => Ok(&PPO),
        _ => Err(Error::unknown("algorithm", algorithm, ALGORITHMS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::builtin;
    use crate::train::{Layer, Setup};

    /// Whether `ppo` on the pendulum takes `key = value`.
    fn takes(key: &str, value: &str) -> bool {
        let settings = toml::from_str(&format!("{key} = {value}")).unwrap();
        let layer = Layer { origin: "test".into(), settings };
        Setup::resolve("ppo", builtin("pendulum").unwrap(), &[0], None, &[layer]).is_ok()
    }

    #[test]
    fn every_setting_is_described_in_order() {
        for algorithm in ALGORITHMS {
            let setup = Setup::resolve(algorithm, builtin("pendulum").unwrap(), &[0], None, &[]).unwrap();
            let keys: Vec<&str> = setup.settings.iter().map(|s| s.key.as_str()).collect();
            let described: Vec<&str> = setting_docs(algorithm).unwrap().iter().map(|d| d.key).collect();
            assert_eq!(described, keys);
        }
        assert!(setting_docs("pp").unwrap_err().to_string().contains("`ppo`"));
    }

    #[test]
    fn the_ranges_are_those_that_are_checked() {
        for SettingDoc { key, range, .. } in PPO {
            let (good, bad) = match range {
                "> 0" => (vec!["1e-6"], vec!["0", "-1"]),
                "0 to 1" if key == "clip_eps" => (vec!["1e-6", "0.999"], vec!["0", "1", "1.1"]),
                "0 to 1" => (vec!["0", "1"], vec!["-0.1", "1.1"]),
                "0 or more" => (vec!["0", "7"], vec!["-1"]),
                "1 or more" => (vec!["256", "1024"], vec!["0", "-1"]),
                "true, false" => (vec!["true", "false"], vec!["1", "\"true\""]),
                "constant, linear" => (vec!["\"constant\"", "\"linear\""], vec!["\"cubic\""]),
                "tanh, relu" => (vec!["\"tanh\"", "\"relu\""], vec!["\"gelu\""]),
                "-20 to 2" => (vec!["-20", "2"], vec!["-21", "3"]),
                "divides T · N" => (vec!["1", "2"], vec!["0", "7"]),
                "0, or divides T" => (vec!["0", "2"], vec!["7"]),
                "list of widths" => (vec!["[]", "[8]", "[8, 16, 32]"], vec!["[0]", "8"]),
                other => panic!("{key}: {other} is not checked here"),
            };
            assert!(good.iter().all(|value| takes(key, value)), "{key} {range}: one of {good:?} is refused");
            assert!(!bad.iter().any(|value| takes(key, value)), "{key} {range}: one of {bad:?} is taken");
        }
    }
}
