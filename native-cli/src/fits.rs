//! The environments and algorithms that fit each other, for the hints of refusals.

use crate::known;
use quickstudy_core::Error;
use quickstudy_core::algo::AlgorithmDef;
use quickstudy_core::env::EnvSpec;
use quickstudy_core::train::Layer;
use toml::Table;

/// Names what would fit where an algorithm with the settings of these layers refuses an environment: environments that
/// it takes, and algorithms that take the environment. None if the refusal is not about the environment, or nothing
/// else fits either.
#[must_use]
pub fn instead(error: &Error, algorithm: &AlgorithmDef, env: &EnvSpec, layers: &[Layer]) -> Option<String> {
    let Error::Config { key, .. } = error else { return None };
    let settings: Table = layers.iter().flat_map(|layer| layer.settings.clone()).collect();
    if algorithm.fit(&settings, env).is_ok() {
        return None;
    }
    let takes = |name: &&str| known::environment(name).is_ok_and(|env| algorithm.fit(&settings, env.spec()).is_ok());
    let environments: Vec<&str> = known::environment_names().into_iter().filter(takes).collect();
    // With another algorithm, its settings would be others.
    let is_env = key == "env";
    let algorithms = known::algorithms().filter(|def| is_env && def.fit(&Table::new(), env).is_ok());
    let algorithms: Vec<&str> = algorithms.map(|def| def.name).collect();
    let (name, place) = (algorithm.name, &env.name);
    let with = if is_env { String::new() } else { format!(" with {key} = {}", settings.get(key)?) };
    let of_environments = (!environments.is_empty()).then(|| format!("{name}{with} takes {}", environments.join(", ")));
    let of_algorithms = (!algorithms.is_empty()).then(|| format!("{place} is for {}", algorithms.join(", ")));
    let all: Vec<String> = [of_environments, of_algorithms].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join("; "))
}
