//! The settings of any algorithm, and how they become training.

use serde::Serialize;
use toml::Table;

use super::describe::setting_docs;
use super::playground::Playground;
use crate::algo::{ActorCritic, Algorithm, HostPpo, HostTrpo, Ppo, PpoConfig, StateEntry, Trpo, TrpoConfig};
use crate::env::{EnvDef, EnvSpec};
use crate::host::Executor;
use crate::meta::rl2::{MAX_BATCH, Rl2Net};
use crate::meta::{HostMaml, HostRl2, Learner, Maml, MamlConfig, Rl2, Rl2Config, Rl2Variant, Variant};
use crate::nn::Layout;
use crate::program::Plan;
use crate::{Device, Error, Result, State};

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
            Config::Maml(config) => config.validate(),
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

    /// The plan of one iteration for so many seeds.
    pub(super) fn plan(&self, algorithm: &str, env: &EnvDef, seeds: usize) -> Result<Plan> {
        match self {
            Config::Ppo(config) => Ppo::plan(config, env, seeds),
            Config::Trpo(config) => Trpo::plan(config, env, seeds),
            Config::Maml(config) => Maml::plan(variant(algorithm)?, config, env, seeds),
            Config::Rl2(config) => Rl2::plan(rl2(algorithm)?, config, env, seeds),
        }
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

    /// Everything that training changes, for one seed.
    pub(super) fn entries(&self, env: &Playground) -> Vec<StateEntry> {
        match (self, env) {
            (Config::Ppo(config), Playground::Device(env)) => Ppo::entries(config, env),
            (Config::Ppo(config), Playground::Host(spec)) => HostPpo::entries(config, spec),
            (Config::Trpo(config), Playground::Device(env)) => Trpo::entries(config, env),
            (Config::Trpo(config), Playground::Host(spec)) => HostTrpo::entries(config, spec),
            (Config::Maml(config), _) => Maml::entries(config, env.spec()),
            (Config::Rl2(config), _) => Rl2::entries(config, env.spec()),
        }
    }

    /// Which part of θ is what.
    pub(super) fn layout(&self, spec: &EnvSpec) -> Layout {
        match self {
            Config::Ppo(config) => ActorCritic::new(spec, &config.net()).layout,
            Config::Trpo(config) => ActorCritic::new(spec, &config.net()).layout,
            Config::Maml(config) => Learner::new(spec, config).layout,
            Config::Rl2(config) => Rl2Net::new(spec, config).layout,
        }
    }

    /// The entries that a policy consists of: those that [`policy_entries`](Config::policy_entries) names.
    pub(super) fn policy(&self, env: &Playground) -> Vec<StateEntry> {
        let names = self.policy_entries();
        let mut entries = self.entries(env);
        entries.retain(|entry| names.contains(&entry.name));
        entries
    }

    /// As [`Setup::fleet`](super::Setup::fleet).
    pub(super) fn fleet(&self, spec: &EnvSpec, seeds: usize) -> [usize; 3] {
        match self {
            Config::Ppo(config) => [seeds, config.envs, spec.horizon],
            Config::Trpo(config) => [seeds, config.envs, spec.horizon],
            Config::Maml(config) => [seeds * config.meta_batch, config.rollouts, config.steps(spec.horizon)],
            Config::Rl2(config) => [seeds * config.meta_batch, 1, spec.horizon],
        }
    }

    /// Names of what a policy consists of.
    pub(super) fn policy_entries(&self) -> Vec<&'static str> {
        match self {
            Config::Ppo(PpoConfig { normalise_observations: true, .. })
            | Config::Trpo(TrpoConfig { normalise_observations: true, .. }) => vec!["theta", "obs_mean", "obs_var"],
            _ => vec!["theta"],
        }
    }

    /// Fresh training, on the host with the executor that plays it.
    pub(super) fn start(
        &self,
        algorithm: &str,
        device: &Device,
        env: Arena<'_>,
        seeds: &[u64],
    ) -> Result<Box<dyn Algorithm>> {
        Ok(match (self, env) {
            (Config::Ppo(config), Arena::Device(env)) => Box::new(Ppo::new(device, config, env, seeds)?),
            (Config::Ppo(config), Arena::Host(executor)) => Box::new(HostPpo::new(device, config, executor, seeds)?),
            (Config::Trpo(config), Arena::Device(env)) => Box::new(Trpo::new(device, config, env, seeds)?),
            (Config::Trpo(config), Arena::Host(executor)) => Box::new(HostTrpo::new(device, config, executor, seeds)?),
            (Config::Maml(config), Arena::Device(env)) => {
                Box::new(Maml::new(device, variant(algorithm)?, config, env, seeds)?)
            }
            (Config::Maml(config), Arena::Host(executor)) => {
                Box::new(HostMaml::new(device, variant(algorithm)?, config, executor, seeds)?)
            }
            (Config::Rl2(config), Arena::Device(env)) => {
                Box::new(Rl2::new(device, rl2(algorithm)?, config, env, seeds)?)
            }
            (Config::Rl2(config), Arena::Host(executor)) => {
                Box::new(HostRl2::new(device, rl2(algorithm)?, config, executor, seeds)?)
            }
        })
    }

    /// Training that goes on from a state.
    pub(super) fn resume(
        &self,
        algorithm: &str,
        device: &Device,
        env: Arena<'_>,
        seeds: &[u64],
        state: State,
    ) -> Result<Box<dyn Algorithm>> {
        let s = seeds.len();
        Ok(match (self, env) {
            (Config::Ppo(config), Arena::Device(env)) => Box::new(Ppo::resume(device, config, env, s, state)?),
            (Config::Ppo(config), Arena::Host(executor)) => {
                Box::new(HostPpo::resume(device, config, executor, seeds, state)?)
            }
            (Config::Trpo(config), Arena::Device(env)) => Box::new(Trpo::resume(device, config, env, s, state)?),
            (Config::Trpo(config), Arena::Host(executor)) => {
                Box::new(HostTrpo::resume(device, config, executor, seeds, state)?)
            }
            (Config::Maml(config), Arena::Device(env)) => {
                Box::new(Maml::resume(device, variant(algorithm)?, config, env, s, state)?)
            }
            (Config::Maml(config), Arena::Host(executor)) => {
                Box::new(HostMaml::resume(device, variant(algorithm)?, config, executor, seeds, state)?)
            }
            (Config::Rl2(config), Arena::Device(env)) => {
                Box::new(Rl2::resume(device, rl2(algorithm)?, config, env, s, state)?)
            }
            (Config::Rl2(config), Arena::Host(executor)) => {
                Box::new(HostRl2::resume(device, rl2(algorithm)?, config, executor, seeds, state)?)
            }
        })
    }
}

/// What plays the episodes of training.
pub(super) enum Arena<'a> {
    /// The program itself.
    Device(&'a EnvDef),
    /// An executor.
    Host(Box<dyn Executor>),
}
