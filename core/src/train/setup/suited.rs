//! Numbers of defaults and presets that are suited to what was chosen.

use super::setting::{Setting, table};
use crate::algo::{Algorithm, AlgorithmDef};
use crate::env::EnvSpec;
use crate::settings::Value;
use crate::{Error, Result};

/// Behind the origin of a value that was changed.
const SUITED: &str = ", suited to the others";

/// Makes the algorithm for an environment. Where it refuses a number that nobody has `chosen`, and names another one
/// that works, that is taken: what a user sets must not be refused because of a default.
pub(super) fn fit(
    algorithm: &AlgorithmDef,
    settings: &mut [Setting],
    spec: &EnvSpec,
    chosen: &dyn Fn(&str) -> bool,
) -> Result<Box<dyn Algorithm>> {
    // A number may give way twice, for two reasons.
    for _ in 0..2 * settings.len() {
        let error = match algorithm.fit(&table(settings), spec) {
            Ok(fitted) => return Ok(fitted),
            Err(error) => error,
        };
        let Error::Config { key, instead: Some(instead), .. } = &error else { return Err(error) };
        let setting = settings.iter_mut().find(|setting| setting.key == *key && !chosen(key));
        let (Some(setting), Ok(instead)) = (setting, i64::try_from(*instead)) else { return Err(error) };
        setting.value = Value::Integer(instead);
        setting.origin = format!("{}{SUITED}", setting.origin.trim_end_matches(SUITED));
    }
    algorithm.fit(&table(settings), spec)
}

#[cfg(test)]
mod tests {
    use crate::env::builtin;
    use crate::train::{ALGORITHMS, Layer, Setup};

    fn resolve(algorithm: &str, env: &str, text: &str) -> crate::Result<Setup> {
        let layer = Layer { origin: "--set".to_owned(), settings: toml::from_str(text).unwrap() };
        Setup::resolve(algorithm, builtin(env).unwrap(), &[0], None, &[layer])
    }

    #[test]
    fn numbers_that_nobody_chose_give_way_to_those_that_were_chosen() {
        for (algorithm, env, text, key, value, origin) in [
            // One environment cannot be divided.
            ("trpo", "cartpole-no-velocities", "cell = \"gru\"", "minibatches", 1, "default, suited to the others"),
            ("ppo2", "cartpole-no-velocities", "cell = \"gru\"", "minibatches", 8, "default, suited to the others"),
            ("ppo", "hopper", "horizon = 100", "minibatches", 25, "preset ppo-hopper, suited to the others"),
            // 32 minibatches of 32 steps have one step each.
            ("ppo", "hopper", "horizon = 32\nenvs = 1", "minibatches", 16, "preset ppo-hopper, suited to the others"),
        ] {
            let setup = resolve(algorithm, env, text).unwrap();
            let setting = setup.settings.iter().find(|setting| setting.key == key).unwrap();
            assert_eq!((setting.value.as_integer().unwrap(), setting.origin.as_str()), (value, origin), "{text}");
            // A choice wins, or is refused.
            let refused = resolve(algorithm, env, &format!("{text}\n{key} = 7")).unwrap_err().to_string();
            assert!(refused.starts_with(&format!("{key}: 7 ")) && refused.contains("try "), "{refused}");
        }
    }

    #[test]
    fn no_default_refuses_what_a_user_sets() {
        let texts = [
            "envs = 1",
            "envs = 3",
            "envs = 7",
            "horizon = 10",
            "horizon = 37",
            "envs = 1\nhorizon = 2",
            "cell = \"gru\"",
            "cell = \"lstm\"\nenvs = 3",
            "cell = \"rnn\"\nenvs = 7\nhorizon = 5",
            "hidden = [8]",
            "meta_batch = 3",
            "meta_batch = 7",
            "batch_size = 7",
            "memory_size = 100",
            "train_freq = 7",
            "learning_starts = 10",
        ];
        for def in ALGORITHMS {
            for env in ["cartpole", "pendulum", "cartpole-no-velocities", "mountain-car-continuous", "point-robot"] {
                for text in texts {
                    let problem = match resolve(def.name, env, text) {
                        Ok(_) => continue,
                        Err(error) => error.to_string(),
                    };
                    // It has no such setting, or is not for such environments.
                    let set = |key: &str| text.lines().any(|line| line.starts_with(&format!("{key} =")));
                    let key = problem.split(": ").next().unwrap_or_default();
                    let fits = problem.starts_with("unknown key") || key == "env" || set(key);
                    assert!(fits, "{} on {env} with {text}: {problem}", def.name);
                }
            }
        }
    }
}
