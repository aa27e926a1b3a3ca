//! What to train: algorithm, environment, seeds, and every setting with the layer that it comes from.

use toml::{Table, Value};

use super::config::{ALGORITHMS, Config};
use super::playground::Playground;
use super::presets::preset;
use super::snapshot::check_steps;
use crate::algo::{Algorithm, StateEntry, Training};
use crate::program::Plan;
use crate::{Error, Result};

/// Settings from one source, stronger than those of the layers before it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    /// What to call the source: a file's name, `--set`.
    pub origin: String,
    /// Keys and values.
    pub settings: Table,
}

/// One resolved setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Key.
    pub key: String,
    /// Value.
    pub value: Value,
    /// `default`, `preset …`, or the origin of its layer.
    pub origin: String,
}

/// A resolved, valid request for training.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Name of the algorithm.
    pub algorithm: String,
    /// The environment.
    pub env: Playground,
    /// One run per seed, stacked on one device.
    pub seeds: Vec<u64>,
    /// Environment steps per seed.
    pub steps: u64,
    /// The algorithm's settings.
    pub config: Config,
    /// The same with their origins, in order of declaration.
    pub settings: Vec<Setting>,
    /// Name of the preset that is among the layers.
    pub preset: Option<String>,
}

/// Environment steps per seed where neither the caller nor a preset says.
pub const DEFAULT_STEPS: u64 = 100_000;

/// Most environment steps per seed: every whole number up to it is exact in f64.
pub(super) const MAX_STEPS: u64 = 1_000_000_000_000_000;

impl Setup {
    /// Defaults < preset for this environment < `layers`, later ones winning. `steps: None`: the preset's, or 100,000.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an unknown algorithm or key, with the closest one; [`Error::Config`] for a value of the
    /// wrong type or range, for no seeds or a seed given twice.
    pub fn resolve(
        algorithm: &str,
        env: impl Into<Playground>,
        seeds: &[u64],
        steps: Option<u64>,
        layers: &[Layer],
    ) -> Result<Setup> {
        let env = env.into();
        if !ALGORITHMS.contains(&algorithm) {
            return Err(Error::unknown("algorithm", algorithm, ALGORITHMS));
        }
        check_seeds(seeds)?;
        // An environment of the host may have the name of a built-in one and be another.
        let preset = match &env {
            Playground::Device(env) => preset(algorithm, &env.spec().name)?,
            Playground::Host(_) => None,
        };
        let mut settings = defaults(algorithm)?;
        if let Some(p) = &preset {
            apply(algorithm, &mut settings, &p.settings, &format!("preset {}", p.name))?;
        }
        for layer in layers {
            apply(algorithm, &mut settings, &layer.settings, &layer.origin)?;
        }
        let config = config_of(algorithm, &settings)?;
        config.validate(algorithm)?;
        config.check_fit(algorithm, &env)?;
        let steps = steps.or(preset.as_ref().map(|p| p.steps)).unwrap_or(DEFAULT_STEPS);
        check_steps(steps)?;
        Ok(Setup {
            algorithm: algorithm.to_owned(),
            env,
            seeds: seeds.to_vec(),
            steps,
            config,
            settings,
            preset: preset.map(|p| p.name),
        })
    }

    /// The settings of an algorithm without preset or layers, in order of declaration.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an unknown algorithm, with the closest one.
    pub fn defaults(algorithm: &str) -> Result<Vec<Setting>> {
        defaults(algorithm)
    }

    /// What an executor must play for a run on the host: groups (tasks), environments of each, and the steps after which an
    /// episode is cut off.
    ///
    /// # Errors
    /// If the settings do not fit the environment.
    pub fn fleet(&self) -> Result<[usize; 3]> {
        Ok(self.fit()?.fleet(self.seeds.len()))
    }

    /// The algorithm, fitted to the environment.
    pub(super) fn fit(&self) -> Result<Box<dyn Algorithm>> {
        self.config.fit(&self.algorithm, self.env.spec())
    }

    /// The plan of one iteration, without a device.
    ///
    /// # Errors
    /// If the environment is on the host, or a setting is invalid.
    pub fn plan(&self) -> Result<Plan> {
        Training::plan(&*self.fit()?, self.env.device()?, self.seeds.len())
    }

    /// Settings of which lower values take less memory.
    pub fn memory_settings(&self) -> Vec<&'static str> {
        let mut keys = self.config.memory_settings(self.env.spec());
        if self.seeds.len() > 1 {
            keys.push("number of seeds");
        }
        keys
    }

    /// Bytes that are there at once while all seeds are saved: the words of the state, the entries of one seed, and of each seed
    /// its file and the policy of its best evaluation.
    pub(super) fn bytes_of_copies(&self) -> u64 {
        let elements = |entry: &StateEntry| entry.shape.iter().map(|n| *n as u64).fold(1, u64::saturating_mul);
        let all = |entries: Vec<StateEntry>| entries.iter().map(elements).fold(0, u64::saturating_add);
        // A setup that does not fit is refused elsewhere.
        let entries = self.fit().map_or_else(|_| Vec::new(), |algorithm| algorithm.entries(self.env.state_len()));
        let (state, policy) = (all(entries.clone()), all(self.config.policy(entries)));
        let seeds = self.seeds.len() as u64;
        let words = state.saturating_mul(2 * seeds + 1).saturating_add(policy.saturating_mul(seeds));
        words.saturating_mul(4)
    }

    /// Environment steps of one iteration and seed.
    pub fn batch(&self) -> u64 {
        self.config.batch(self.env.spec())
    }

    /// The setup of settings that were resolved before, as a snapshot holds them.
    pub(super) fn of_config(
        algorithm: &str,
        env: Playground,
        seeds: &[u64],
        steps: u64,
        config: Config,
    ) -> Result<Setup> {
        config.validate(algorithm)?;
        config.check_fit(algorithm, &env)?;
        check_seeds(seeds)?;
        let mut table = config.table()?;
        let mut settings = defaults(algorithm)?;
        table.retain(|key, _| settings.iter().any(|s| s.key == *key));
        apply(algorithm, &mut settings, &table, "snapshot")?;
        let seeds = seeds.to_vec();
        Ok(Setup { algorithm: algorithm.to_owned(), env, seeds, steps, config, settings, preset: None })
    }
}

/// Most seeds that one session stacks.
const MAX_SEEDS: usize = 1 << 16;

fn check_seeds(seeds: &[u64]) -> Result<()> {
    if seeds.is_empty() || seeds.len() > MAX_SEEDS {
        return Err(Error::config("seed", format!("{} seeds are not in 1 to {MAX_SEEDS}", seeds.len())));
    }
    let mut sorted = seeds.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|w| w[0] == w[1]) {
        Some(twice) => Err(Error::config("seed", format!("{} is given twice", twice[0]))),
        None => Ok(()),
    }
}

fn defaults(algorithm: &str) -> Result<Vec<Setting>> {
    let setting = |(key, value)| Setting { key, value, origin: "default".to_owned() };
    Ok(Config::defaults(algorithm)?.into_iter().map(setting).collect())
}

/// Replace values.
fn apply(algorithm: &str, settings: &mut [Setting], layer: &Table, origin: &str) -> Result<()> {
    let before = settings.to_vec();
    for (key, value) in layer {
        replace(settings, key, value, origin)?;
    }
    if config_of(algorithm, settings).is_ok() {
        return Ok(());
    }
    // Once more one by one, so that the error names its key.
    settings.clone_from_slice(&before);
    for (key, value) in layer {
        replace(settings, key, value, origin)?;
        config_of(algorithm, settings).map_err(|e| match e {
            Error::Config { problem, .. } => Error::config(key, problem),
            other => other,
        })?;
    }
    Ok(())
}

fn replace(settings: &mut [Setting], key: &str, value: &Value, origin: &str) -> Result<()> {
    let Some(i) = settings.iter().position(|s| s.key == *key) else {
        return Err(Error::unknown("key", key, settings.iter().map(|s| s.key.as_str())));
    };
    if let Some(problem) = wrong_type(&settings[i].value, value) {
        return Err(Error::config(key, problem));
    }
    settings[i].value = match (&settings[i].value, value) {
        // A whole number where a float belongs, so that the resolved file shows one type.
        (Value::Float(_), Value::Integer(n)) => Value::Float(*n as f64),
        _ => value.clone(),
    };
    settings[i].origin = origin.to_owned();
    Ok(())
}

/// What is wrong with the type of a value that replaces `default`.
fn wrong_type(default: &Value, value: &Value) -> Option<String> {
    let whole = |value: &Value| value.as_integer().is_some_and(|n| n >= 0);
    let (fits, expected) = match default {
        Value::Integer(_) => (whole(value), "a whole number of at least 0"),
        Value::Float(_) => (value.is_float() || value.is_integer(), "a number"),
        Value::Boolean(_) => (value.is_bool(), "true or false"),
        Value::Array(_) => {
            (value.as_array().is_some_and(|all| all.iter().all(whole)), "a list of whole numbers such as [64,64]")
        }
        // A word: which ones there are is checked where they mean something.
        _ => (value.is_str(), "a word"),
    };
    (!fits).then(|| format!("expected {expected}, got {value}"))
}

fn config_of(algorithm: &str, settings: &[Setting]) -> Result<Config> {
    Config::with(algorithm, settings.iter().map(|s| (s.key.clone(), s.value.clone())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::builtin;
    use crate::train::presets;

    fn layer(origin: &str, text: &str) -> Layer {
        Layer { origin: origin.to_owned(), settings: toml::from_str(text).unwrap() }
    }

    fn resolve(layers: &[Layer]) -> Result<Setup> {
        Setup::resolve("ppo", builtin("cartpole").unwrap(), &[0], None, layers)
    }

    #[test]
    fn later_layers_win_and_origins_are_kept() {
        let setup = resolve(&[layer("a.toml", "gamma = 0.9\nepochs = 3"), layer("--set", "gamma = 1")]).unwrap();
        let config = setup.config.ppo().unwrap();
        assert_eq!((config.gamma, config.epochs, setup.steps), (1.0, 3, 100_000));
        let origin = |key: &str| setup.settings.iter().find(|s| s.key == key).unwrap().origin.clone();
        assert_eq!(origin("gamma"), "--set");
        assert_eq!(origin("epochs"), "a.toml");
        assert_eq!(origin("horizon"), "preset ppo-cartpole");
        assert_eq!(origin("activation"), "default");
        assert_eq!(setup.settings[0].key, "learning_rate");
        let again = Table::from_iter(setup.settings.iter().map(|s| (s.key.clone(), s.value.clone())));
        let again = resolve(&[Layer { origin: "config.toml".into(), settings: again }]).unwrap();
        assert_eq!(again.config, setup.config);
    }

    #[test]
    fn mistakes_name_the_key() {
        let problem = |text: &str| resolve(&[layer("--set", text)]).unwrap_err().to_string();
        assert_eq!(problem("clip_esp = 0.1"), "unknown key `clip_esp`, did you mean `clip_eps`?");
        assert_eq!(problem("gamma = \"high\""), "gamma: expected a number, got \"high\"");
        assert_eq!(
            problem("hidden = [64, -1]"),
            "hidden: expected a list of whole numbers such as [64,64], got [64, -1]"
        );
        assert_eq!(problem("hidden = 64"), "hidden: expected a list of whole numbers such as [64,64], got 64");
        assert_eq!(problem("epochs = 2.5"), "epochs: expected a whole number of at least 0, got 2.5");
        assert_eq!(problem("value_clip = 1"), "value_clip: expected true or false, got 1");
        assert_eq!(problem("activation = 3"), "activation: expected a word, got 3");
        assert!(problem("activation = \"gelu\"").starts_with("activation: "));
        assert_eq!(problem("gamma = 2"), "gamma: 2 is not in 0 to 1");
        assert!(problem("sde = true").starts_with("sde: the actions of `cartpole` are choices"));
        let env = || builtin("cartpole").unwrap();
        assert!(Setup::resolve("pop", env(), &[0], None, &[]).unwrap_err().to_string().contains("`ppo`"));
        assert!(Setup::resolve("ppo", env(), &[], None, &[]).is_err());
        assert!(Setup::resolve("ppo", env(), &[1, 2, 1], None, &[]).unwrap_err().to_string().contains("1 is given"));
        assert!(Setup::resolve("ppo", env(), &[1], Some(0), &[]).is_err());
    }

    #[test]
    fn every_preset_is_valid_for_its_environment() {
        let all = presets().unwrap();
        assert!(all.len() >= 15);
        for p in all {
            let setup = Setup::resolve(p.algorithm, builtin(p.env).unwrap(), &[0], None, &[]).unwrap();
            assert_eq!((setup.preset, setup.steps), (Some(p.name), p.steps));
            for setting in &setup.settings {
                let from_preset = p.settings.contains_key(&setting.key);
                assert_eq!(from_preset, setting.origin.starts_with("preset"), "{}", setting.key);
            }
        }
    }
}
