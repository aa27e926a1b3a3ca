//! The settings of any algorithm, and how they become training.

use serde::Serialize;
use toml::Table;

use super::describe::setting_docs;
use super::playground::Playground;
use crate::algo::{Algorithm, Family, Ppo, PpoConfig, StateEntry, Trpo, TrpoConfig};
use crate::env::EnvSpec;
use crate::meta::rl2::MAX_BATCH;
use crate::meta::{Maml, MamlConfig, Rl2, Rl2Config, Rl2Variant, Variant};
use crate::{Error, Result};

/// Names of the algorithms.
pub const ALGORITHMS: [&str; 10] =
    ["ppo", "trpo", "promp", "maml-ppo", "maml-vpg", "maml-trpo", "e-maml", "dice-maml", "rl2-ppo", "rl2-trpo"];

/// Settings of one algorithm.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Config {
    /// `ppo`.
    Ppo(PpoConfig),
    /// `trpo`.
    Trpo(TrpoConfig),
    /// MAML and its family.
    Maml(MamlConfig),
    /// RL², by PPO or TRPO.
    Rl2(Rl2Config),
}

/// The variant of RL² of that name.
fn rl2(algorithm: &str) -> Result<Rl2Variant> {
    Rl2Variant::parse(algorithm).ok_or_else(|| Error::unknown("algorithm", algorithm, ALGORITHMS))
}

/// The variant of MAML of that name.
fn variant(algorithm: &str) -> Result<Variant> {
    Variant::parse(algorithm).ok_or_else(|| Error::unknown("algorithm", algorithm, ALGORITHMS))
}

impl Config {
    /// An algorithm's defaults.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an unknown algorithm, with the closest one.
    pub fn default_of(algorithm: &str) -> Result<Config> {
        match algorithm {
            "ppo" => Ok(Config::Ppo(PpoConfig::default())),
            "trpo" => Ok(Config::Trpo(TrpoConfig::default())),
            _ if Rl2Variant::parse(algorithm).is_some() => Ok(Config::Rl2(Rl2Config::of(rl2(algorithm)?))),
            _ => Ok(Config::Maml(MamlConfig::of(variant(algorithm)?))),
        }
    }

    /// Defaults with some values replaced.
    pub(super) fn with(algorithm: &str, settings: Table) -> Result<Config> {
        let mut table = Config::default_of(algorithm)?.table()?;
        table.extend(settings);
        Config::exactly(algorithm, table)
    }

    /// Settings that are all there.
    pub(super) fn exactly(algorithm: &str, table: Table) -> Result<Config> {
        let wrong = |e: toml::de::Error| Error::config("settings", e.message().trim());
        match Config::default_of(algorithm)? {
            Config::Ppo(_) => table.try_into().map(Config::Ppo).map_err(wrong),
            Config::Trpo(_) => table.try_into().map(Config::Trpo).map_err(wrong),
            Config::Maml(_) => table.try_into().map(Config::Maml).map_err(wrong),
            Config::Rl2(_) => table.try_into().map(Config::Rl2).map_err(wrong),
        }
    }

    pub(super) fn table(&self) -> Result<Table> {
        Table::try_from(self).map_err(|e| Error::config("settings", e.to_string()))
    }

    /// Keys and default values that an algorithm uses, in the order in which they are described.
    pub(super) fn defaults(algorithm: &str) -> Result<Vec<(String, toml::Value)>> {
        let mut table = Config::default_of(algorithm)?.table()?;
        let used = setting_docs(algorithm)?.into_iter().map(|doc| doc.key);
        Ok(used.filter_map(|key| table.remove(key).map(|value| (key.to_owned(), value))).collect())
    }

    /// The settings of PPO, if it is these.
    pub fn ppo(&self) -> Option<&PpoConfig> {
        match self {
            Config::Ppo(config) => Some(config),
            _ => None,
        }
    }

    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] with the first setting that cannot work and what to do about it.
    pub fn validate(&self, algorithm: &str) -> Result<()> {
        match self {
            Config::Ppo(config) => config.validate(),
            Config::Trpo(config) => config.validate(),
            Config::Maml(config) => config.validate(variant(algorithm)?),
            Config::Rl2(config) => config.validate(rl2(algorithm)?),
        }
    }

    /// Whether the algorithm can work on the environment.
    pub(super) fn check_fit(&self, algorithm: &str, env: &Playground) -> Result<()> {
        let spec = env.spec();
        match self {
            Config::Ppo(PpoConfig { sde, .. }) | Config::Trpo(TrpoConfig { sde, .. }) => {
                if !spec.task.is_empty() {
                    let problem =
                        format!("`{}` has task parameters, and {algorithm} trains on a single task", spec.name);
                    return Err(Error::config("env", problem));
                }
                if *sde && spec.action.choices().is_some() {
                    let problem =
                        format!("the actions of `{}` are choices, which have no noise; set it to false", spec.name);
                    return Err(Error::config("sde", problem));
                }
            }
            Config::Maml(config) => {
                if spec.task.is_empty() {
                    let problem = format!("`{}` has a single task, and {algorithm} learns to adapt to many", spec.name);
                    return Err(Error::config("env", problem));
                }
                let steps = config.batch(spec.horizon) / (config.inner_steps + 1);
                if steps > 1 << 24 {
                    let problem = format!("meta_batch × rollouts × horizon is {steps}, more than {}", 1 << 24);
                    return Err(Error::config("rollouts", problem));
                }
            }
            Config::Rl2(config) => {
                let steps = config.batch(spec.horizon);
                if steps > MAX_BATCH {
                    let problem = format!("meta_batch × episodes × time limit is {steps}, more than {MAX_BATCH}");
                    return Err(Error::config("meta_batch", problem));
                }
            }
        }
        Ok(())
    }

    /// How the algorithm's policies come to a task.
    pub fn family(&self) -> Family {
        match self {
            Config::Ppo(_) | Config::Trpo(_) => Family::SingleTask,
            Config::Maml(_) => Family::Gradients,
            Config::Rl2(_) => Family::Memory,
        }
    }

    /// The algorithm, fitted to an environment.
    pub(super) fn fit(&self, algorithm: &str, spec: &EnvSpec) -> Result<Box<dyn Algorithm>> {
        Ok(match self {
            Config::Ppo(config) => Box::new(Ppo::new(config, spec)?),
            Config::Trpo(config) => Box::new(Trpo::new(config, spec)?),
            Config::Maml(config) => Box::new(Maml::new(variant(algorithm)?, config, spec)?),
            Config::Rl2(config) => Box::new(Rl2::new(rl2(algorithm)?, config, spec)?),
        })
    }

    /// Settings of which lower values take less memory, those with the least value left out.
    pub(super) fn memory_settings(&self, spec: &EnvSpec) -> Vec<&'static str> {
        let widest = |hidden: &[usize]| hidden.iter().copied().max().unwrap_or(0);
        let all = match self {
            Config::Ppo(PpoConfig { envs, horizon, hidden, .. })
            | Config::Trpo(TrpoConfig { envs, horizon, hidden, .. }) => {
                vec![("envs", *envs), ("horizon", *horizon), ("hidden", widest(hidden))]
            }
            Config::Maml(config) => vec![
                ("meta_batch", config.meta_batch),
                ("rollouts", config.rollouts),
                ("horizon", config.steps(spec.horizon)),
                ("inner_steps", config.inner_steps),
                ("hidden", widest(&config.hidden)),
            ],
            Config::Rl2(Rl2Config { meta_batch, episodes, units, .. }) => {
                vec![("meta_batch", *meta_batch), ("episodes", *episodes), ("units", *units)]
            }
        };
        all.into_iter().filter(|(_, value)| *value > 1).map(|(key, _)| key).collect()
    }

    /// Environment steps of one iteration and seed.
    pub fn batch(&self, spec: &EnvSpec) -> u64 {
        match self {
            Config::Ppo(config) => config.batch() as u64,
            Config::Trpo(config) => config.batch() as u64,
            Config::Maml(config) => config.batch(spec.horizon) as u64,
            Config::Rl2(config) => config.batch(spec.horizon) as u64,
        }
    }

    /// The entries that a policy consists of, of those of its algorithm.
    pub(super) fn policy(&self, entries: Vec<StateEntry>) -> Vec<StateEntry> {
        let names = self.policy_entries();
        entries.into_iter().filter(|entry| names.contains(&entry.name)).collect()
    }

    /// Names of what a policy consists of.
    pub(super) fn policy_entries(&self) -> Vec<&'static str> {
        match self {
            Config::Ppo(PpoConfig { normalise_observations: true, .. })
            | Config::Trpo(TrpoConfig { normalise_observations: true, .. }) => vec!["theta", "obs_mean", "obs_var"],
            _ => vec!["theta"],
        }
    }
}
