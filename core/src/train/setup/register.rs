//! The register: every built-in algorithm, once.

use crate::algo::{self, AlgorithmDef, IntoAlgorithm};
use crate::{Error, Result, meta};

/// The built-in algorithms.
pub static ALGORITHMS: &[&AlgorithmDef] = &[
    &algo::PPO,
    &algo::PPO2,
    &algo::A2C,
    &algo::VPG,
    &algo::TRPO,
    &algo::SVPG,
    &algo::DQN,
    &algo::DQL,
    &algo::DDPG,
    &algo::TD3,
    &algo::SAC,
    &algo::CEM,
    &algo::CMA_ES,
    &algo::OPENAI_ES,
    &algo::ARS,
    &algo::NOP,
    &meta::MAML_FAMILY[0],
    &meta::MAML_FAMILY[1],
    &meta::MAML_FAMILY[2],
    &meta::MAML_FAMILY[3],
    &meta::MAML_FAMILY[4],
    &meta::MAML_FAMILY[5],
    &meta::RL2[0],
    &meta::RL2[1],
    &meta::PEARL,
];

/// The built-in algorithm of that name.
///
/// # Errors
/// [`Error::Unknown`] for an unknown name, with the closest one.
pub fn algorithm(name: &str) -> Result<&'static AlgorithmDef> {
    let found = ALGORITHMS.iter().find(|def| def.name == name).copied();
    found.ok_or_else(|| Error::unknown("algorithm", name, ALGORITHMS.iter().map(|def| def.name)))
}

/// Tells whether it is in the register itself, and no other of the same name.
pub(in crate::train) fn is_builtin(def: &AlgorithmDef) -> bool {
    ALGORITHMS.iter().any(|known| std::ptr::eq(*known, def))
}

impl IntoAlgorithm for &str {
    fn definition(self) -> Result<&'static AlgorithmDef> {
        algorithm(self)
    }
}

impl IntoAlgorithm for &String {
    fn definition(self) -> Result<&'static AlgorithmDef> {
        algorithm(self)
    }
}

#[cfg(test)]
mod tests {
    use toml::Value;

    use super::*;
    use crate::algo::Family;
    use crate::env::{EnvDef, builtin};
    use crate::settings::{Range, SettingDoc};

    /// An environment that the algorithm can work on.
    fn env_of(def: &AlgorithmDef) -> EnvDef {
        let names = if def.family == Family::SingleTask { ["pendulum", "cartpole"] } else { ["point-corner"; 2] };
        // By vectors of numbers, or by choices.
        let [first, other] = names.map(|name| builtin(name).unwrap());
        if def.fit(&toml::Table::new(), first.spec()).is_ok() { first } else { other }
    }

    /// Tells whether an algorithm takes `key = value`.
    fn takes(def: &AlgorithmDef, key: &str, value: &str) -> bool {
        def.fit(&toml::from_str(&format!("{key} = {value}")).unwrap(), env_of(def).spec()).is_ok()
    }

    #[test]
    fn names_lead_to_algorithms_with_described_settings_and_defaults_that_work() {
        for def in ALGORITHMS {
            assert_eq!(algorithm(def.name).unwrap().name, def.name);
            assert!(!def.line.is_empty());
            def.fit(&toml::Table::new(), env_of(def).spec()).unwrap();
            assert!(def.settings().all(|doc| !doc.meaning.is_empty()));
            assert_eq!((def.defaults)().len(), def.declared.len(), "{}: groups share a key", def.name);
            // Every declared setting is used by some algorithm that declares it.
            let used =
                |doc: &SettingDoc| ALGORITHMS.iter().any(|other| other.declared.contains(doc) && (other.uses)(doc.key));
            assert!(def.declared.iter().all(used), "{}", def.name);
        }
        assert!(algorithm("pp").unwrap_err().to_string().contains("`ppo`"));
    }

    /// Values that a range takes, and some that it does not.
    fn values(range: &Range) -> [Vec<String>; 2] {
        let of = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        match range {
            Range::Positive => [of(&["1e-6"]), of(&["0", "-1", "nan"])],
            Range::NotNegative => [of(&["0", "7"]), of(&["-1", "inf"])],
            Range::Unit => [of(&["0", "1"]), of(&["-0.1", "1.1"])],
            Range::Share => [of(&["1e-6", "1"]), of(&["0", "-1", "1.1", "nan"])],
            Range::Fraction => [of(&["1e-6", "0.999"]), of(&["0", "1", "1.1"])],
            Range::Between(low, high) => {
                [vec![low.to_string(), high.to_string()], vec![(low - 1.0).to_string(), (high + 1.0).to_string()]]
            }
            Range::Count(least, most) if *most <= 100 => {
                [vec![least.to_string(), most.to_string()], vec![(most + 1).to_string(), "-1".to_owned()]]
            }
            Range::Count(least, _) => [vec![(least + 1).to_string(), "64".to_owned()], of(&["-1", "1.5"])],
            Range::Flag => [of(&["true", "false"]), of(&["1", "\"true\""])],
            Range::Words(words) => {
                [words.iter().map(|word| format!("\"{word}\"")).collect(), of(&["\"no_such_word\"", "1"])]
            }
            Range::Widths => [of(&["[]", "[8]", "[8, 16, 32]"]), of(&["[0]", "8", "[-1]"])],
            Range::Shown(range, _) => values(range),
        }
    }

    /// Values in a setting's range that need another setting too, or that another algorithm takes.
    const NEED_MORE: &[(&str, &str, &str)] = &[
        ("*", "min_std", "7"),
        ("ppo", "minibatches", "2"),
        ("ppo", "horizon", "2"),
        ("ppo", "envs", "2"),
        ("a2c", "minibatches", "64"),
        ("svpg", "minibatches", "64"),
        ("a2c", "sde_sample_freq", "64"),
        ("svpg", "sde_sample_freq", "64"),
        ("trpo", "minibatches", "2"),
        ("trpo", "horizon", "2"),
        ("trpo", "horizon", "64"),
        ("trpo", "cell", "\"gru\""),
        ("trpo", "cell", "\"lstm\""),
        ("trpo", "cell", "\"rnn\""),
        ("ppo", "sde_sample_freq", "1"),
        ("*", "inner_loss", "\"dice\""),
        ("dice-maml", "outer_loss", "\"likelihood_ratio\""),
        ("rl2-ppo", "meta_batch", "2"),
        ("rl2-ppo", "minibatches", "2"),
        ("*", "entropy_method", "\"max\""),
        ("*", "entropy_method", "\"no_entropy\""),
        ("*", "entropy_method", "\"regularized\""),
        ("rl2-trpo", "critic", "\"gru\""),
        ("rl2-trpo", "critic", "\"separate\""),
        ("rl2-ppo", "cell", "\"none\""),
        ("rl2-trpo", "cell", "\"none\""),
        ("rl2-trpo", "entropy_coef", "7"),
        ("promp", "target_inner_kl", "7"),
        ("dqn", "iteration_steps", "2"),
        ("dqn", "epsilon_initial", "0"),
        ("*", "train_freq", "64"),
        ("*", "memory_size", "2"),
        ("*", "memory_size", "64"),
        ("*", "hindsight", "1"),
        ("dql", "iteration_steps", "2"),
        ("dql", "iteration_steps", "64"),
        ("dql", "min_rollouts", "64"),
        ("td3", "policy_delay", "64"),
        ("cem", "best_frac", "1e-6"),
        ("cem", "n_samples", "2"),
        ("cma-es", "n_samples", "2"),
        ("ars", "top_directions", "64"),
        ("pearl", "embedding_batch_size", "2"),
        ("pearl", "embedding_batch_size", "64"),
        ("pearl", "embedding_mini_batch_size", "64"),
    ];

    #[test]
    fn the_ranges_are_those_that_are_checked() {
        for def in ALGORITHMS {
            for SettingDoc { key, range, .. } in def.settings() {
                let [good, bad] = values(range);
                let alone = |value: &&String| {
                    !NEED_MORE.iter().any(|(a, k, v)| ["*", def.name].contains(a) && k == key && v == value)
                };
                let refused: Vec<_> = good.iter().filter(alone).filter(|value| !takes(def, key, value)).collect();
                assert!(refused.is_empty(), "{} {key} {range}: {refused:?} refused", def.name);
                let taken: Vec<_> = bad.iter().filter(|value| takes(def, key, value)).collect();
                assert!(taken.is_empty(), "{} {key} {range}: {taken:?} taken", def.name);
            }
        }
    }

    #[test]
    fn every_schedule_says_all_its_shapes_and_has_the_parameters_of_its_fall() {
        let mut schedules = 0;
        for def in ALGORITHMS {
            let find = |key: &str| def.settings().find(|doc| doc.key == key);
            for doc in def.settings().filter(|doc| doc.key.ends_with("_schedule")) {
                schedules += 1;
                let what = doc.key.trim_end_matches("_schedule");
                let fall = format!("{what}_fall");
                let shapes = format!("linear, cosine: towards 0 at the end of the run; exponential, step: to {fall}");
                assert!(doc.meaning.ends_with(&shapes), "{} {}: {}", def.name, doc.key, doc.meaning);
                assert!(find(&fall).is_some() && find(&format!("{what}_falls")).is_some(), "{} {fall}", def.name);
                // The rate follows them.
                let text = format!("{} = \"step\"\n{fall} = 0.25\n{what}_falls = 1\n", doc.key);
                let more = if def.name == "svpg" { "particle = \"ppo\"" } else { "" };
                let fitted = def.fit(&toml::from_str(&format!("{text}{more}")).unwrap(), env_of(def).spec()).unwrap();
                let rate = |done| {
                    let all = fitted.schedules(fitted.as_planned(done, 10));
                    all.into_iter().find(|(name, _)| *name == format!("train/{what}")).map(|(_, rate)| rate)
                };
                let (first, last) = (rate(0).unwrap(), rate(9).unwrap());
                assert!((last / first - 0.25).abs() < 1e-12, "{} {}: {first} {last}", def.name, doc.key);
            }
        }
        assert!(schedules > 15, "{schedules}");
    }

    #[test]
    fn settings_that_an_algorithm_does_not_use_are_known_but_left_out() {
        let def = algorithm("promp").unwrap();
        let given = toml::from_str("max_kl = 0.5\ngamma = 1").unwrap();
        let checked = def.checked(&given).unwrap();
        assert!(!checked.contains_key("max_kl"));
        assert_eq!(checked["gamma"], Value::Float(1.0));
        assert!(def.checked(&toml::from_str("gama = 1").unwrap()).unwrap_err().to_string().contains("`gamma`"));
    }
}
