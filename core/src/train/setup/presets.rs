//! Presets: settings that are known to work, by algorithm and environment.

use toml::{Table, Value};

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
    pub env: &'static str,
    /// The text of the file: TOML with the origin of each number in comments.
    pub text: &'static str,
    /// The number of environment steps per seed.
    pub steps: u64,
    /// The algorithm's settings.
    pub settings: Table,
}

const FILES: &[(&str, &str, &str)] = &[
    ("ppo", "cartpole", include_str!("presets/ppo-cartpole.toml")),
    ("ppo", "cartpole-no-velocities", include_str!("presets/ppo-cartpole-no-velocities.toml")),
    ("ppo", "pendulum", include_str!("presets/ppo-pendulum.toml")),
    ("ppo", "acrobot", include_str!("presets/ppo-acrobot.toml")),
    #[cfg(any(feature = "bodies", feature = "modules"))]
    ("ppo", "half-cheetah", include_str!("presets/ppo-half-cheetah.toml")),
    #[cfg(any(feature = "bodies", feature = "modules"))]
    ("ppo", "hopper", include_str!("presets/ppo-hopper.toml")),
    #[cfg(any(feature = "bodies", feature = "modules"))]
    ("ppo", "walker2d", include_str!("presets/ppo-walker2d.toml")),
    #[cfg(any(feature = "bodies", feature = "modules"))]
    ("ppo", "swimmer", include_str!("presets/ppo-swimmer.toml")),
    #[cfg(any(feature = "bodies", feature = "modules"))]
    ("ppo", "reacher", include_str!("presets/ppo-reacher.toml")),
    #[cfg(any(feature = "bodies", feature = "modules"))]
    ("ppo", "inverted-pendulum", include_str!("presets/ppo-inverted-pendulum.toml")),
    #[cfg(any(feature = "bodies", feature = "modules"))]
    ("ppo", "inverted-double-pendulum", include_str!("presets/ppo-inverted-double-pendulum.toml")),
    #[cfg(any(feature = "bodies", feature = "modules"))]
    ("ppo", "qube-swing-up:dt=0.01", include_str!("presets/ppo-qube-swing-up.toml")),
    #[cfg(any(feature = "bodies", feature = "modules"))]
    ("ppo", "qube-swing-up:dt=0.01,randomised=true", include_str!("presets/ppo-qube-swing-up.toml")),
    ("ppo", "mountain-car", include_str!("presets/ppo-mountain-car.toml")),
    ("ppo", "mountain-car-continuous", include_str!("presets/ppo-mountain-car-continuous.toml")),
    ("ppo2", "cartpole", include_str!("presets/ppo2-cartpole.toml")),
    ("a2c", "cartpole", include_str!("presets/a2c-cartpole.toml")),
    ("a2c", "pendulum", include_str!("presets/a2c-pendulum.toml")),
    ("a2c", "acrobot", include_str!("presets/a2c-acrobot.toml")),
    ("vpg", "cartpole", include_str!("presets/vpg-cartpole.toml")),
    ("svpg", "cartpole", include_str!("presets/svpg-cartpole.toml")),
    ("trpo", "cartpole", include_str!("presets/trpo-cartpole.toml")),
    ("trpo", "pendulum", include_str!("presets/trpo-pendulum.toml")),
    ("trpo", "acrobot", include_str!("presets/trpo-acrobot.toml")),
    ("trpo", "mountain-car-continuous", include_str!("presets/trpo-mountain-car-continuous.toml")),
    ("dqn", "cartpole", include_str!("presets/dqn-cartpole.toml")),
    ("dqn", "acrobot", include_str!("presets/dqn-acrobot.toml")),
    ("dqn", "mountain-car", include_str!("presets/dqn-mountain-car.toml")),
    ("dql", "cartpole", include_str!("presets/dql-cartpole.toml")),
    ("ddpg", "pendulum", include_str!("presets/ddpg-pendulum.toml")),
    ("td3", "pendulum", include_str!("presets/td3-pendulum.toml")),
    ("sac", "pendulum", include_str!("presets/sac-pendulum.toml")),
    ("sac", "mountain-car-continuous", include_str!("presets/sac-mountain-car-continuous.toml")),
    #[cfg(any(feature = "bodies", feature = "modules"))]
    ("sac", "half-cheetah", include_str!("presets/sac-half-cheetah.toml")),
    #[cfg(any(feature = "bodies", feature = "modules"))]
    ("sac", "hopper", include_str!("presets/sac-hopper.toml")),
    #[cfg(any(feature = "bodies", feature = "modules"))]
    ("sac", "walker2d", include_str!("presets/sac-walker2d.toml")),
    ("cem", "cartpole", include_str!("presets/cem-cartpole.toml")),
    ("cma-es", "cartpole", include_str!("presets/cma-es-cartpole.toml")),
    ("openai-es", "cartpole", include_str!("presets/openai-es-cartpole.toml")),
    ("ars", "cartpole", include_str!("presets/ars-cartpole.toml")),
    #[cfg(any(feature = "bodies", feature = "modules"))]
    ("ars", "half-cheetah", include_str!("presets/ars-half-cheetah.toml")),
    ("nop", "cartpole", include_str!("presets/nop-cartpole.toml")),
    ("promp", "point-corner", include_str!("presets/promp-point-corner.toml")),
    ("promp", "navigation", include_str!("presets/promp-navigation.toml")),
    ("maml-ppo", "point-corner", include_str!("presets/maml-ppo-point-corner.toml")),
    ("maml-vpg", "point-corner", include_str!("presets/maml-vpg-point-corner.toml")),
    ("maml-trpo", "point-corner", include_str!("presets/maml-trpo-point-corner.toml")),
    ("e-maml", "point-corner", include_str!("presets/e-maml-point-corner.toml")),
    ("dice-maml", "point-corner", include_str!("presets/dice-maml-point-corner.toml")),
    ("rl2-ppo", "bandit", include_str!("presets/rl2-ppo-bandit.toml")),
    ("rl2-ppo", "bandit:arms=10", include_str!("presets/rl2-ppo-bandit-10.toml")),
    ("rl2-ppo", "bandit:pulls=100", include_str!("presets/rl2-ppo-bandit-pulls-100.toml")),
    ("rl2-ppo", "bandit:arms=10,pulls=100", include_str!("presets/rl2-ppo-bandit-10-pulls-100.toml")),
    ("rl2-ppo", "tabular-mdp", include_str!("presets/rl2-ppo-tabular-mdp.toml")),
    ("pearl", "point-robot", include_str!("presets/pearl-point-robot.toml")),
    ("pearl", "point-half-circle", include_str!("presets/pearl-point-half-circle.toml")),
    ("pearl", "point-half-circle-dense", include_str!("presets/pearl-point-half-circle-dense.toml")),
    ("rl2-trpo", "bandit", include_str!("presets/rl2-trpo-bandit.toml")),
];

/// Presets of environments of the host, by the names that they have there. Where the zoo's numbers are those of a
/// built-in environment's preset, that file serves both.
#[cfg(feature = "gymnasium")]
const HOST_FILES: &[(&str, &str, &str)] = &[
    ("ppo", "gymnasium:CartPole-v1", include_str!("presets/ppo-cartpole.toml")),
    ("dqn", "gymnasium:CartPole-v1", include_str!("presets/dqn-cartpole.toml")),
    ("ppo", "gymnasium:Acrobot-v1", include_str!("presets/ppo-acrobot.toml")),
    ("dqn", "gymnasium:Acrobot-v1", include_str!("presets/dqn-acrobot.toml")),
    ("ppo", "gymnasium:MountainCar-v0", include_str!("presets/ppo-mountain-car.toml")),
    ("dqn", "gymnasium:MountainCar-v0", include_str!("presets/dqn-mountain-car.toml")),
    ("sac", "gymnasium:MountainCarContinuous-v0", include_str!("presets/sac-mountain-car-continuous.toml")),
    ("ppo", "gymnasium:Pendulum-v1", include_str!("presets/ppo-pendulum.toml")),
    ("sac", "gymnasium:Pendulum-v1", include_str!("presets/sac-pendulum.toml")),
    ("td3", "gymnasium:Pendulum-v1", include_str!("presets/td3-pendulum.toml")),
    ("ppo", "gymnasium:HalfCheetah-v5", include_str!("presets/gymnasium/ppo-half-cheetah.toml")),
    ("sac", "gymnasium:HalfCheetah-v5", include_str!("presets/gymnasium/sac-mujoco.toml")),
    ("td3", "gymnasium:HalfCheetah-v5", include_str!("presets/gymnasium/td3-mujoco.toml")),
    ("ppo", "gymnasium:Hopper-v5", include_str!("presets/gymnasium/ppo-hopper.toml")),
    ("sac", "gymnasium:Hopper-v5", include_str!("presets/gymnasium/sac-mujoco.toml")),
    ("td3", "gymnasium:Hopper-v5", include_str!("presets/gymnasium/td3-mujoco.toml")),
    ("ppo", "gymnasium:Walker2d-v5", include_str!("presets/gymnasium/ppo-walker2d.toml")),
    ("sac", "gymnasium:Walker2d-v5", include_str!("presets/gymnasium/sac-mujoco.toml")),
    ("td3", "gymnasium:Walker2d-v5", include_str!("presets/gymnasium/td3-mujoco.toml")),
    ("rl2-ppo", "metaworld:ML1-reach", include_str!("presets/metaworld/rl2-ppo-ml1.toml")),
    ("rl2-ppo", "metaworld:ML10", include_str!("presets/metaworld/rl2-ppo-ml10.toml")),
    ("pearl", "metaworld:ML1-reach", include_str!("presets/metaworld/pearl-ml1.toml")),
    ("pearl", "metaworld:ML1-push", include_str!("presets/metaworld/pearl-ml1.toml")),
];

#[cfg(not(feature = "gymnasium"))]
const HOST_FILES: &[(&str, &str, &str)] = &[];

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
        name_in_python(self.env).is_none()
    }
}

/// All presets, those of built-in environments first.
///
/// # Errors
/// Never, because a test reads each of the built-in files.
pub fn presets() -> Result<Vec<Preset>> {
    FILES.iter().chain(HOST_FILES).map(|(algorithm, env, text)| parse(algorithm, env, text)).collect()
}

/// The preset for an algorithm on an environment, if there is one. It also serves the environment with another time
/// limit, and that of Gymnasium with arguments, `gymnasium:Pendulum-v1?g=5.0`.
///
/// # Errors
/// As [`presets`].
pub fn preset(algorithm: &str, env: &str) -> Result<Option<Preset>> {
    match name_in_python(env) {
        Some(_) => preset_on_host(algorithm, env),
        None => found(FILES, algorithm, own_name(env)),
    }
}

/// The preset for an algorithm on an environment of the host, which may have a built-in one's name.
pub(super) fn preset_on_host(algorithm: &str, env: &str) -> Result<Option<Preset>> {
    found(HOST_FILES, algorithm, env.split('?').next().unwrap_or(env))
}

fn found(files: &[(&'static str, &'static str, &'static str)], algorithm: &str, env: &str) -> Result<Option<Preset>> {
    files.iter().find(|(a, e, _)| *a == algorithm && *e == env).map(|(a, e, text)| parse(a, e, text)).transpose()
}

fn parse(algorithm: &'static str, env: &'static str, text: &'static str) -> Result<Preset> {
    let name = format!("{algorithm}-{}", name_in_python(env).unwrap_or(env));
    let wrong = |problem: String| Error::config(format!("preset {name}"), problem);
    let mut settings: Table = toml::from_str(text).map_err(|e| wrong(e.message().to_owned()))?;
    let steps = match settings.remove("steps") {
        Some(Value::Integer(steps)) if steps > 0 => steps as u64,
        other => return Err(wrong(format!("steps must be a whole number above 0, got {other:?}"))),
    };
    Ok(Preset { name, algorithm, env, text, steps, settings })
}
