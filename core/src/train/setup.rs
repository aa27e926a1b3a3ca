//! Setups: requests for training, with algorithm, environment, seeds, and every setting with the layer that it comes
//! from.

pub(super) mod length;
pub(super) mod metric_docs;
pub(super) mod own;
pub(super) mod presets;
pub(super) mod register;
mod setting;
#[cfg(any(test, feature = "debug"))]
pub(super) mod small;
mod suited;

use std::rc::Rc;

use toml::Table;

use self::length::Length;
use self::presets::{preset, preset_on_host};
use self::register::is_builtin;
pub use self::setting::Setting;
use self::setting::table;
use crate::algo::{Algorithm, AlgorithmDef, IntoAlgorithm, StateEntry, Together, Training};
use crate::env::{ActionSpace, Dim};
use crate::host::{EnvPlace, FleetSize};
use crate::program::Trace;
use crate::train::saved::segments::Ring;
use crate::{Error, Result};

/// Settings from one source, which override those of earlier layers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    /// The name of the source, such as a file's name or `--set`.
    pub origin: String,
    /// Keys and values of the settings.
    pub settings: Table,
}

/// A resolved, valid request for training.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The algorithm.
    pub algorithm: &'static AlgorithmDef,
    /// The environment.
    pub env: EnvPlace,
    /// The seeds. Each has a run, and all are stacked on one device.
    pub seeds: Vec<u64>,
    /// The number of environment steps per seed; of a run that is as long as iterations say, those that are planned.
    pub steps: u64,
    /// The number of iterations per seed, if the run is as long as these say.
    pub iterations: Option<u64>,
    /// The algorithm's settings with their origins, in order of declaration.
    pub settings: Vec<Setting>,
    /// The name of the preset among the layers.
    pub preset: Option<String>,
    /// The algorithm with these settings.
    fitted: Rc<dyn Algorithm>,
    /// R, the number of ranks that train together.
    ranks: usize,
}

/// The sizes of the larger bound of an action's number for which a Gaussian policy needs no other units.
const SIZES_OF_ACTIONS: (f64, f64) = (0.5, 2.0);

impl Setup {
    /// Resolves a request. Defaults are overridden by the preset for the environment, and that by `layers`, later ones
    /// last. A number of defaults or preset that does not go with `layers`, such as one of minibatches that does not
    /// divide the environments, becomes the nearest one that does. `length` is a number of environment steps,
    /// `Option<u64>`, or a [`Length`]; without one, the run is as long as the preset says, or 100,000 steps.
    /// `algorithm` is the name of a built-in one, or the definition of another.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an unknown algorithm or key, with the closest one; [`Error::Config`] for a value of the
    /// wrong type or range, for no seeds or a seed given twice.
    pub fn resolve(
        algorithm: impl IntoAlgorithm,
        env: impl Into<EnvPlace>,
        seeds: &[u64],
        length: impl Into<Length>,
        layers: &[Layer],
    ) -> Result<Setup> {
        Setup::resolved(algorithm.definition()?, env.into(), seeds, length.into(), layers)
    }

    fn resolved(
        algorithm: &'static AlgorithmDef,
        env: EnvPlace,
        seeds: &[u64],
        length: Length,
        layers: &[Layer],
    ) -> Result<Setup> {
        check_seeds(seeds)?;
        // Presets are for built-in algorithms; others may have the same names. Environments of the host have their own.
        let preset = match &env {
            _ if !is_builtin(algorithm) => None,
            EnvPlace::Device(env) => preset(algorithm.name, &env.spec().name)?,
            EnvPlace::Host(env) => preset_on_host(algorithm.name, &env.spec().name)?,
        };
        let mut settings = defaults(algorithm);
        if let Some(p) = &preset {
            apply(algorithm, &mut settings, &p.settings, &format!("preset {}", p.name))?;
        }
        for layer in layers {
            apply(algorithm, &mut settings, &layer.settings, &layer.origin)?;
        }
        let chosen = |key: &str| layers.iter().any(|layer| layer.settings.contains_key(key));
        let fitted = suited::fit(algorithm, &mut settings, env.spec(), &chosen)?.into();
        let (steps, preset) = preset.map(|preset| (preset.steps, preset.name)).unzip();
        let setup = Setup {
            algorithm,
            env,
            seeds: seeds.to_vec(),
            steps: 0,
            iterations: None,
            settings,
            preset,
            fitted,
            ranks: 1,
        };
        setup.for_length(length.or_steps(steps), 0)
    }

    /// The settings of an algorithm without preset or layers, in order of declaration.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an unknown algorithm, with the closest one.
    pub fn defaults(algorithm: impl IntoAlgorithm) -> Result<Vec<Setting>> {
        Ok(defaults(algorithm.definition()?))
    }

    /// The keys and values of the algorithm's settings.
    pub fn table(&self) -> Table {
        table(&self.settings)
    }

    /// The environments that all seeds play, which an executor of the host must have.
    pub fn fleet(&self) -> FleetSize {
        self.fitted.fleet(self.seeds.len())
    }

    /// The algorithm with these settings, fitted to this environment.
    pub fn fitted(&self) -> &Rc<dyn Algorithm> {
        &self.fitted
    }

    /// A note where a Gaussian policy begins with numbers of another size than the environment takes, and nobody has
    /// chosen its units: neither the caller nor a preset, whose numbers suit the environment.
    pub fn note(&self) -> Option<String> {
        let unset = |setting: &&Setting| setting.key == "scale_actions" && setting.origin == "default";
        let ActionSpace::Box { dims } = &self.env.spec().action else { return None };
        self.settings.iter().find(unset).filter(|_| self.preset.is_none())?;
        let size = |dim: &Dim| dim.low.abs().max(dim.high.abs());
        let dim = dims.iter().find(|dim| !(SIZES_OF_ACTIONS.0..=SIZES_OF_ACTIONS.1).contains(&size(dim)))?;
        Some(format!(
            "`{}` is in {:?} to {:?}, and the policy begins with actions of about 1 in size; with scale_actions = true \
             it acts in units in which -1 to 1 are the bounds, which is often better",
            dim.name, dim.low, dim.high
        ))
    }

    /// Traces one iteration, without a device.
    ///
    /// # Errors
    /// If it cannot be traced.
    pub fn trace(&self) -> Result<Trace> {
        Training::trace(&*self.fitted, &self.env, self.seeds.len())
    }

    /// Traces an iteration of each stage of the algorithm, without a device.
    ///
    /// # Errors
    /// As [`trace`](Setup::trace).
    pub fn traces(&self) -> Result<Vec<Trace>> {
        Training::traces(&*self.fitted, &self.env, self.seeds.len())
    }

    /// Settings that take less memory at lower values.
    pub fn memory_settings(&self) -> Vec<&'static str> {
        let above_least = |(key, value): (&'static str, usize)| (value > 1).then_some(key);
        let mut keys: Vec<_> = self.fitted.sizes().into_iter().filter_map(above_least).collect();
        if self.seeds.len() > 1 {
            keys.push("number of seeds");
        }
        keys
    }

    /// Bytes that are held at once while all seeds are saved in parts: the words of the state, the entries of one seed,
    /// and each seed's file and the policy of its best evaluation. Bulk entries are copied seed by seed, rings segment
    /// by segment.
    pub(in crate::train) fn bytes_of_copies(&self) -> u64 {
        let elements = |entry: &StateEntry| entry.shape.iter().map(|n| *n as u64).fold(1, u64::saturating_mul);
        let all = |entries: &[StateEntry]| entries.iter().map(elements).fold(0, u64::saturating_add);
        let (rings, entries): (Vec<_>, Vec<_>) =
            self.fitted.entries(self.env.state_len()).into_iter().partition(|entry| entry.ring.is_some());
        let (bulk, small): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| entry.bulk);
        let (small, bulk, policy) = (all(&small), all(&bulk), all(&self.fitted.policy_state()));
        let seeds = self.seeds.len() as u64;
        let words = small.saturating_mul(2 * seeds + 1).saturating_add(policy.saturating_mul(seeds));
        let words = words.saturating_add(bulk.saturating_mul(seeds + 2));
        // Rows are held as the device gives them, as numbers, and as bytes of a segment: two of these at a time.
        let rows = rings.iter().map(|ring| 2 * Ring::bytes_at_once(&ring.shape)).max().unwrap_or(0);
        words.saturating_mul(4).saturating_add(rows)
    }

    /// The number of environment steps of an iteration of one seed, those of all ranks.
    pub fn batch(&self) -> u64 {
        self.fitted.batch().saturating_mul(self.sharers())
    }

    /// The length of the run.
    #[must_use]
    pub fn length(&self) -> Length {
        self.iterations.map_or(Length::Steps(self.steps), Length::Iterations)
    }

    /// Makes the setup of a run of another length, `made` steps of which are already made.
    pub(in crate::train) fn for_length(&self, length: Length, made: u64) -> Result<Setup> {
        let length = length.or_steps(Some(self.steps));
        let (steps, fitted) = (length.steps(&*self.fitted)?, length.fit(self.fitted.clone(), made)?);
        let iterations = if let Length::Iterations(iterations) = length { Some(iterations) } else { None };
        Ok(Setup { steps, iterations, fitted, ..self.clone() }.among(self.ranks))
    }

    /// The setup of this number of ranks, which train together.
    #[must_use]
    pub(in crate::train) fn among(self, ranks: usize) -> Setup {
        let setup = Setup { ranks, ..self };
        // As many iterations make more steps, the more ranks play.
        let steps = setup.iterations.map_or(setup.steps, |iterations| setup.planned(iterations));
        Setup { steps, ..setup }
    }

    /// R, the number of ranks that train together.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The number of ranks that play as many environment steps as the settings say, each.
    pub(in crate::train) fn sharers(&self) -> u64 {
        if self.fitted.together() == Together::Gradients { self.ranks as u64 } else { 1 }
    }

    /// The number of environment steps that the first `iterations` iterations are planned to make.
    pub(in crate::train) fn planned(&self, iterations: u64) -> u64 {
        self.fitted.planned(iterations).saturating_mul(self.sharers())
    }

    /// The number of iterations that are planned to make this number of environment steps.
    pub(in crate::train) fn iterations(&self, steps: u64) -> u64 {
        self.fitted.iterations(steps.div_ceil(self.sharers()))
    }

    /// The budget of the run: whole iterations, as they are planned.
    pub(in crate::train) fn budget(&self) -> u64 {
        self.planned(self.iterations(self.steps))
    }

    /// Makes the setup of settings that were resolved before, as a snapshot holds them, for a run of this length;
    /// `made` gives the number of steps already made.
    pub(in crate::train) fn of_snapshot(
        algorithm: &'static AlgorithmDef,
        env: EnvPlace,
        seeds: &[u64],
        length: Length,
        config: &Table,
        made: &dyn Fn(&dyn Algorithm) -> u64,
    ) -> Result<Setup> {
        check_seeds(seeds)?;
        let fitted: Rc<dyn Algorithm> = algorithm.fit(config, env.spec())?.into();
        let mut settings = defaults(algorithm);
        apply(algorithm, &mut settings, config, "snapshot")?;
        let (seeds, made) = (seeds.to_vec(), made(&*fitted));
        let setup =
            Setup { algorithm, env, seeds, steps: 0, iterations: None, settings, preset: None, fitted, ranks: 1 };
        setup.for_length(length, made)
    }
}

/// The most seeds that a session stacks.
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

/// The default settings of an algorithm, in order of declaration.
fn defaults(algorithm: &AlgorithmDef) -> Vec<Setting> {
    let mut values = (algorithm.defaults)();
    let setting =
        |key: &str| Some(Setting { key: key.to_owned(), value: values.remove(key)?, origin: "default".to_owned() });
    algorithm.settings().map(|doc| doc.key).filter_map(setting).collect()
}

/// Replaces the values of settings by those of a layer.
fn apply(algorithm: &AlgorithmDef, settings: &mut [Setting], layer: &Table, origin: &str) -> Result<()> {
    for (key, value) in layer {
        let Some(i) = settings.iter().position(|setting| setting.key == *key) else {
            return Err(Error::unknown("key", key, settings.iter().map(|setting| setting.key.as_str())));
        };
        settings[i].value = (algorithm.value)(key, value)?;
        settings[i].origin = origin.to_owned();
    }
    Ok(())
}

#[cfg(test)]
mod census_tests;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::PpoConfig;
    use crate::env::{EnvSpec, builtin};
    use crate::settings::Settings as _;
    use crate::train::presets;
    #[cfg(feature = "gymnasium")]
    use crate::train::{ALGORITHMS, Preset};

    fn layer(origin: &str, text: &str) -> Layer {
        Layer { origin: origin.to_owned(), settings: toml::from_str(text).unwrap() }
    }

    fn resolve(layers: &[Layer]) -> Result<Setup> {
        Setup::resolve("ppo", builtin("cartpole").unwrap(), &[0], None, layers)
    }

    #[test]
    fn later_layers_win_and_origins_are_kept() {
        let setup = resolve(&[layer("a.toml", "gamma = 0.9\nepochs = 3"), layer("--set", "gamma = 1")]).unwrap();
        let config = PpoConfig::default().with(&setup.table()).unwrap();
        assert_eq!((config.sampling.gamma, config.epochs, setup.steps), (1.0, 3, 100_000));
        let origin = |key: &str| setup.settings.iter().find(|s| s.key == key).unwrap().origin.clone();
        assert_eq!(origin("gamma"), "--set");
        assert_eq!(origin("epochs"), "a.toml");
        assert_eq!(origin("horizon"), "preset ppo-cartpole");
        assert_eq!(origin("activation"), "default");
        assert_eq!(setup.settings[0].key, "learning_rate");
        let again = Table::from_iter(setup.settings.iter().map(|s| (s.key.clone(), s.value.clone())));
        let again = resolve(&[Layer { origin: "config.toml".into(), settings: again }]).unwrap();
        assert_eq!(again.table(), setup.table());
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
        let exponent = "epochs: expected a whole number without point or exponent, got 10.0";
        assert_eq!(problem("epochs = 1e1"), exponent);
        assert_eq!(problem("value_clip = 1"), "value_clip: expected true or false, got 1");
        assert_eq!(problem("activation = 3"), "activation: expected a word, got 3");
        assert!(problem("activation = \"gelu\"").starts_with("activation: "));
        assert_eq!(problem("gamma = 2"), "gamma: 2 is not in 0 to 1");
        assert!(problem("sde = true").starts_with("sde: `cartpole` takes discrete actions"));
        let env = || builtin("cartpole").unwrap();
        assert!(Setup::resolve("pop", env(), &[0], None, &[]).unwrap_err().to_string().contains("`ppo`"));
        assert!(Setup::resolve("ppo", env(), &[], None, &[]).is_err());
        assert!(Setup::resolve("ppo", env(), &[1, 2, 1], None, &[]).unwrap_err().to_string().contains("1 is given"));
        assert!(Setup::resolve("ppo", env(), &[1], Some(0), &[]).is_err());
    }

    /// A built-in environment whose spaces are those of an environment of Gymnasium.
    fn like(name: &str) -> &'static str {
        match name.trim_start_matches("gymnasium:").split('-').next().unwrap() {
            "CartPole" => "cartpole",
            "Acrobot" => "acrobot",
            "MountainCar" => "mountain-car",
            "MountainCarContinuous" => "mountain-car-continuous",
            "Pendulum" => "pendulum",
            "HalfCheetah" => "half-cheetah",
            "Hopper" => "hopper",
            "Walker2d" => "walker2d",
            other => panic!("{other} is like no built-in environment"),
        }
    }

    /// The place of a preset's environment; where that is none of the built-in ones, without what plays it.
    fn place(name: &str) -> EnvPlace {
        if name.starts_with("metaworld:") {
            let dims =
                |count: usize, bound: f64| (0..count).map(|i| Dim::new(format!("x{i}"), -bound, bound)).collect();
            let action = ActionSpace::continuous(dims(4, 1.0));
            let spec = EnvSpec::new(name, dims(39, f64::INFINITY), action, 500).task(dims(2, 50.0));
            return EnvPlace::host(spec, |_| Err(Error::config("env", "it has only a spec")));
        }
        if name.starts_with("gymnasium:") {
            let spec = EnvSpec { name: name.to_owned(), ..builtin(like(name)).unwrap().spec().clone() };
            return EnvPlace::host(spec, |_| Err(Error::config("env", "it has only a spec")));
        }
        builtin(name).unwrap().into()
    }

    #[test]
    fn every_preset_is_valid_for_its_environment() {
        let all = presets().unwrap();
        // Every table of a room's file is a preset of one algorithm; WebAssembly has no keys for people.
        #[cfg(feature = "gymnasium")]
        for def in ALGORITHMS {
            let file: Table = toml::from_str(def.presets).unwrap();
            for table in file["preset"].as_array().unwrap() {
                let of = table.get("algorithm").map_or(def.name, |name| name.as_str().unwrap());
                let env = table["env"].as_array().map_or(&table["env"], |all| &all[0]);
                let found = |p: &&Preset| p.algorithm == of && p.env == env.as_str().unwrap();
                let preset = all.iter().find(found).unwrap_or_else(|| panic!("{of} has no preset for {env}"));
                assert_eq!(toml::from_str::<Table>(preset.text).unwrap(), *table.as_table().unwrap());
                assert!(cfg!(target_arch = "wasm32") || preset.origin.len() > 12, "{}", preset.name);
            }
        }
        for p in all {
            let setup = Setup::resolve(p.algorithm, place(&p.env), &[0], None, &[]).unwrap();
            assert_eq!((setup.preset, setup.steps), (Some(p.name), p.steps));
            for setting in &setup.settings {
                let from_preset = p.settings.contains_key(&setting.key);
                assert_eq!(from_preset, setting.origin.starts_with("preset"), "{}", setting.key);
            }
        }
    }

    #[test]
    #[cfg(feature = "gymnasium")]
    fn environments_of_gymnasium_have_presets_by_their_id() {
        let named = |name: &str| {
            let spec = EnvSpec { name: name.to_owned(), ..builtin("pendulum").unwrap().spec().clone() };
            let place = EnvPlace::host(spec, |_| Err(Error::config("env", "it has only a spec")));
            Setup::resolve("sac", place, &[0], None, &[]).unwrap().preset
        };
        let pendulum = Some("sac-Pendulum-v1".to_owned());
        assert_eq!(named("gymnasium:Pendulum-v1"), pendulum);
        assert_eq!(named("gymnasium:Pendulum-v1?g=5.0"), pendulum);
        // An environment of one's own on the host is not the built-in one, whatever its name.
        for other in ["pendulum", "Pendulum-v1", "gymnasium:Pendulum-v0", "gymnasium:own:Pendulum-v1"] {
            assert_eq!(named(other), None, "{other}");
        }
        assert_eq!(preset("sac", "gymnasium:Pendulum-v1?g=5.0").unwrap().map(|preset| preset.name), pendulum);
    }
}
