//! Presets: settings that are known to work, by algorithm and environment. They are in the rooms of their algorithms.

use toml::{Table, Value};

use super::register::ALGORITHMS;
use crate::algo::AlgorithmDef;
use crate::env::own_name;
use crate::{Error, Result};

/// Settings that are known to work for an algorithm on an environment.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// The name, such as `ppo-cartpole`; of an environment of Gymnasium `ppo-CartPole-v1`.
    pub name: String,
    /// The name of the algorithm.
    pub algorithm: &'static str,
    /// The name of the environment, such as `cartpole` or `gymnasium:CartPole-v1`.
    pub env: String,
    /// The origin of the numbers. WebAssembly has none.
    pub origin: String,
    /// The text of the preset: TOML with the origin of each number in comments, which WebAssembly leaves out.
    pub text: &'static str,
    /// The number of environment steps per seed.
    pub steps: u64,
    /// The algorithm's settings.
    pub settings: Table,
}

/// How names of environments of Python begin, which are played on the host.
const OF_PYTHON: [&str; 2] = ["gymnasium:", "metaworld:"];

/// The name of an environment of Python, without the word before it; none for others.
fn name_in_python(env: &str) -> Option<&str> {
    OF_PYTHON.iter().find_map(|word| env.strip_prefix(word))
}

impl Preset {
    /// True for presets of built-in environments; others need what plays them: `gymnasium:CartPole-v1` needs Python.
    #[must_use]
    pub fn is_builtin(&self) -> bool {
        name_in_python(&self.env).is_none()
    }

    /// Tells whether this build can have the environment.
    fn has_env(&self) -> bool {
        self.is_builtin() || cfg!(feature = "gymnasium")
    }
}

/// All presets, those of built-in environments first.
///
/// # Errors
/// Never, because a test reads each of the built-in files.
pub fn presets() -> Result<Vec<Preset>> {
    let all: Vec<Preset> = ALGORITHMS.iter().map(|def| presets_of(def)).collect::<Result<Vec<_>>>()?.concat();
    let (builtin, host): (Vec<_>, Vec<_>) = all.into_iter().partition(Preset::is_builtin);
    Ok([builtin, host].concat())
}

/// The preset for an algorithm on an environment, if there is one. It also serves the environment with another time
/// limit, and that of Gymnasium with arguments, `gymnasium:Pendulum-v1?g=5.0`.
///
/// # Errors
/// As [`presets`].
pub fn preset(algorithm: &str, env: &str) -> Result<Option<Preset>> {
    match name_in_python(env) {
        Some(_) => preset_on_host(algorithm, env),
        None => found(algorithm, own_name(env)),
    }
}

/// The preset for an algorithm on an environment of the host, which may have a built-in one's name.
pub(super) fn preset_on_host(algorithm: &str, env: &str) -> Result<Option<Preset>> {
    match name_in_python(env) {
        Some(_) => found(algorithm, env.split('?').next().unwrap_or(env)),
        None => Ok(None),
    }
}

fn found(algorithm: &str, env: &str) -> Result<Option<Preset>> {
    let Some(def) = ALGORITHMS.iter().find(|def| def.name == algorithm) else { return Ok(None) };
    Ok(presets_of(def)?.into_iter().find(|preset| preset.env == env))
}

/// The presets of an algorithm, of which [`AlgorithmDef::presets`] says how they are written.
fn presets_of(def: &AlgorithmDef) -> Result<Vec<Preset>> {
    let mut presets = Vec::new();
    for text in def.presets.split("[[preset]]\n").skip(1) {
        let wrong = |problem: String| Error::config(format!("a preset of {}", def.name), problem);
        let mut settings: Table = toml::from_str(text).map_err(|e| wrong(e.message().to_owned()))?;
        if settings.remove("algorithm").is_some_and(|of| of.as_str() != Some(def.name)) {
            continue;
        }
        let steps = match settings.remove("steps") {
            Some(Value::Integer(steps)) if steps > 0 => steps as u64,
            other => return Err(wrong(format!("steps must be a whole number above 0, got {other:?}"))),
        };
        let origin = settings.remove("origin").and_then(|origin| Some(origin.as_str()?.to_owned())).unwrap_or_default();
        let envs = match settings.remove("env") {
            Some(Value::Array(envs)) => envs,
            one => one.into_iter().collect(),
        };
        // What tests ask of the kernels is no setting.
        settings.remove("kernels");
        presets.extend(envs.iter().filter_map(Value::as_str).map(|env| Preset {
            name: format!("{}-{}", def.name, name_in_python(env).unwrap_or(env)),
            algorithm: def.name,
            env: env.to_owned(),
            origin: origin.clone(),
            text,
            steps,
            settings: settings.clone(),
        }));
    }
    presets.retain(Preset::has_env);
    Ok(presets)
}
