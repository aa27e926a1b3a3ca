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

    #[test]
    fn names_lead_to_algorithms() {
        assert!(ALGORITHMS.iter().all(|def| std::ptr::eq(algorithm(def.name).unwrap(), *def)));
        assert!(algorithm("pp").unwrap_err().to_string().contains("`ppo`"));
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
