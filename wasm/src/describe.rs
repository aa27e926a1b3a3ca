//! The catalogue: algorithms, environments, presets, settings, metrics.

use quickstudy_core::algo::{AlgorithmDef, Family};
use quickstudy_core::env::{EnvSpec, Parameter, builtin, builtin_names, builtin_parameters};
use quickstudy_core::train::{ALGORITHMS, METRIC_DOCS, presets};
use serde::Serialize;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::js::plain;
use crate::thrown::{Thrown, thrown};

#[derive(Serialize)]
struct SettingInfo {
    key: &'static str,
    range: String,
    meaning: &'static str,
    default: toml::Value,
}

#[derive(Serialize)]
struct AlgorithmInfo {
    name: &'static str,
    meaning: &'static str,
    family: Family,
    /// Built-in environments that it trains on, with its defaults.
    envs: Vec<&'static str>,
    settings: Vec<SettingInfo>,
}

#[derive(Serialize)]
struct ParameterInfo {
    name: &'static str,
    default: String,
    meaning: &'static str,
}

#[derive(Serialize)]
struct EnvInfo {
    spec: EnvSpec,
    parameters: Vec<ParameterInfo>,
}

#[derive(Serialize)]
struct PresetInfo {
    algorithm: &'static str,
    env: String,
    steps: u64,
    settings: toml::Table,
}

#[derive(Serialize)]
struct MetricInfo {
    name: &'static str,
    meaning: &'static str,
}

#[derive(Serialize)]
struct Everything {
    version: &'static str,
    algorithms: Vec<AlgorithmInfo>,
    envs: Vec<EnvInfo>,
    presets: Vec<PresetInfo>,
    metrics: Vec<MetricInfo>,
}

fn env_info(name: &'static str) -> quickstudy_core::Result<EnvInfo> {
    let info = |p: Parameter| ParameterInfo { name: p.name, default: p.default.into(), meaning: p.meaning };
    let parameters = builtin_parameters(name).into_iter().map(info);
    Ok(EnvInfo { spec: builtin(name)?.spec().clone(), parameters: parameters.collect() })
}

fn everything() -> quickstudy_core::Result<Everything> {
    let names = builtin_names();
    let envs: Vec<EnvInfo> = names.iter().map(|name| env_info(name)).collect::<quickstudy_core::Result<_>>()?;
    let algorithm = |def: &&'static AlgorithmDef| {
        let mut defaults = (def.defaults)();
        let settings = def.settings().filter_map(|doc| {
            let default = defaults.remove(doc.key)?;
            Some(SettingInfo { key: doc.key, range: doc.range.to_string(), meaning: doc.meaning, default })
        });
        let fits = |env: &EnvInfo| def.fit(&toml::Table::new(), &env.spec).is_ok();
        let fitting = names.iter().zip(&envs).filter(|(_, env)| fits(env)).map(|(name, _)| *name).collect();
        let settings = settings.collect();
        AlgorithmInfo { name: def.name, meaning: def.line, family: def.family, envs: fitting, settings }
    };
    let algorithms = ALGORITHMS.iter().map(algorithm).collect();
    let presets = presets()?.into_iter();
    let preset =
        presets.map(|p| PresetInfo { algorithm: p.algorithm, env: p.env, steps: p.steps, settings: p.settings });
    Ok(Everything {
        version: env!("CARGO_PKG_VERSION"),
        algorithms,
        envs,
        presets: preset.collect(),
        metrics: METRIC_DOCS
            .iter()
            .chain(ALGORITHMS.iter().flat_map(|def| def.metrics))
            .map(|(name, meaning)| MetricInfo { name, meaning })
            .collect(),
    })
}

/// All names with what they mean.
///
/// # Errors
/// Never with what is built in.
#[wasm_bindgen]
pub fn describe() -> Thrown<JsValue> {
    plain(&everything().map_err(thrown)?)
}

/// Spaces, time limit and task parameters of a built-in environment, with parameters such as `bandit:arms=10` or
/// `pendulum:time_limit=100`.
///
/// # Errors
/// For an unknown name, with the closest one.
#[wasm_bindgen(js_name = envSpec)]
pub fn env_spec(name: &str) -> Thrown<JsValue> {
    plain(builtin(name).map_err(thrown)?.spec())
}
