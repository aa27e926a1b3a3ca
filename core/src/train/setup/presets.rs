//! Presets: settings that are known to work, by algorithm and environment.

use toml::{Table, Value};

use super::without_comments::file;
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
    /// The text of the file: TOML with the origin of each number in comments, which WebAssembly leaves out.
    pub text: &'static str,
    /// The number of environment steps per seed.
    pub steps: u64,
    /// The algorithm's settings.
    pub settings: Table,
}

/// The cheetah of garage's examples of RL².
const GARAGE_CHEETAH: &str = "half-cheetah-vel:velocity_range=0..2,observe_torso=true";

const FILES: &[(&str, &str, &str)] = &[
    ("ppo", "cartpole", file!("ppo-cartpole.toml")),
    ("ppo", "cartpole-no-velocities", file!("ppo-cartpole-no-velocities.toml")),
    ("ppo", "pendulum", file!("ppo-pendulum.toml")),
    ("ppo", "acrobot", file!("ppo-acrobot.toml")),
    ("ppo", "half-cheetah", file!("ppo-half-cheetah.toml")),
    ("ppo", "hopper", file!("ppo-hopper.toml")),
    ("ppo", "walker2d", file!("ppo-walker2d.toml")),
    ("ppo", "swimmer", file!("ppo-swimmer.toml")),
    ("ppo", "reacher", file!("ppo-reacher.toml")),
    ("ppo", "inverted-pendulum", file!("ppo-inverted-pendulum.toml")),
    ("ppo", "inverted-double-pendulum", file!("ppo-inverted-double-pendulum.toml")),
    ("ppo", "qube-swing-up:dt=0.01", file!("ppo-qube-swing-up.toml")),
    ("ppo", "qube-swing-up:dt=0.01,randomised=true", file!("ppo-qube-swing-up.toml")),
    ("ppo", "mountain-car", file!("ppo-mountain-car.toml")),
    ("ppo", "mountain-car-continuous", file!("ppo-mountain-car-continuous.toml")),
    ("ppo2", "cartpole", file!("ppo2-cartpole.toml")),
    ("a2c", "cartpole", file!("a2c-cartpole.toml")),
    ("a2c", "pendulum", file!("a2c-pendulum.toml")),
    ("a2c", "acrobot", file!("a2c-acrobot.toml")),
    ("vpg", "cartpole", file!("vpg-cartpole.toml")),
    ("svpg", "cartpole", file!("svpg-cartpole.toml")),
    ("trpo", "cartpole", file!("trpo-cartpole.toml")),
    ("trpo", "pendulum", file!("trpo-pendulum.toml")),
    ("trpo", "acrobot", file!("trpo-acrobot.toml")),
    ("trpo", "mountain-car-continuous", file!("trpo-mountain-car-continuous.toml")),
    ("dqn", "cartpole", file!("dqn-cartpole.toml")),
    ("dqn", "acrobot", file!("dqn-acrobot.toml")),
    ("dqn", "mountain-car", file!("dqn-mountain-car.toml")),
    ("dql", "cartpole", file!("dql-cartpole.toml")),
    ("ddpg", "pendulum", file!("ddpg-pendulum.toml")),
    ("td3", "pendulum", file!("td3-pendulum.toml")),
    ("sac", "pendulum", file!("sac-pendulum.toml")),
    ("sac", "mountain-car-continuous", file!("sac-mountain-car-continuous.toml")),
    ("sac", "half-cheetah", file!("sac-half-cheetah.toml")),
    ("sac", "hopper", file!("sac-hopper.toml")),
    ("sac", "walker2d", file!("sac-walker2d.toml")),
    ("cem", "cartpole", file!("cem-cartpole.toml")),
    ("cma-es", "cartpole", file!("cma-es-cartpole.toml")),
    ("openai-es", "cartpole", file!("openai-es-cartpole.toml")),
    ("ars", "cartpole", file!("ars-cartpole.toml")),
    ("ars", "half-cheetah", file!("ars-half-cheetah.toml")),
    ("nop", "cartpole", file!("nop-cartpole.toml")),
    ("promp", "point-corner", file!("promp-point-corner.toml")),
    ("promp", "navigation", file!("promp-navigation.toml")),
    ("maml-ppo", "point-corner", file!("maml-ppo-point-corner.toml")),
    ("maml-vpg", "point-corner", file!("maml-vpg-point-corner.toml")),
    ("maml-trpo", "point-corner", file!("maml-trpo-point-corner.toml")),
    ("e-maml", "point-corner", file!("e-maml-point-corner.toml")),
    ("dice-maml", "point-corner", file!("dice-maml-point-corner.toml")),
    ("rl2-ppo", "bandit", file!("rl2-ppo-bandit.toml")),
    ("rl2-ppo", "bandit:arms=10", file!("rl2-ppo-bandit-10.toml")),
    ("rl2-ppo", "bandit:pulls=100", file!("rl2-ppo-bandit-pulls-100.toml")),
    ("rl2-ppo", "bandit:arms=10,pulls=100", file!("rl2-ppo-bandit-10-pulls-100.toml")),
    ("rl2-ppo", "tabular-mdp", file!("rl2-ppo-tabular-mdp.toml")),
    ("pearl", "point-robot", file!("pearl-point-robot.toml")),
    ("pearl", "point-half-circle", file!("pearl-point-half-circle.toml")),
    ("pearl", "point-half-circle-dense", file!("pearl-point-half-circle-dense.toml")),
    ("promp", "half-cheetah-vel", file!("promp-half-cheetah-vel.toml")),
    ("maml-trpo", "half-cheetah-vel", file!("maml-trpo-half-cheetah-vel.toml")),
    ("maml-trpo", "half-cheetah-dir", file!("maml-trpo-half-cheetah-dir.toml")),
    ("rl2-ppo", "half-cheetah-vel", file!("rl2-ppo-half-cheetah-vel.toml")),
    ("pearl", "half-cheetah-vel", file!("pearl-half-cheetah-vel.toml")),
    ("pearl", "half-cheetah-dir", file!("pearl-half-cheetah-dir.toml")),
    ("rl2-ppo", GARAGE_CHEETAH, file!("rl2-ppo-half-cheetah-vel-garage.toml")),
    ("rl2-trpo", GARAGE_CHEETAH, file!("rl2-trpo-half-cheetah-vel-garage.toml")),
    ("rl2-trpo", "bandit", file!("rl2-trpo-bandit.toml")),
];

/// Presets of environments of the host, by the names that they have there. Where the zoo's numbers are those of a
/// built-in environment's preset, that file serves both.
#[cfg(feature = "gymnasium")]
const HOST_FILES: &[(&str, &str, &str)] = &[
    ("ppo", "gymnasium:CartPole-v1", file!("ppo-cartpole.toml")),
    ("dqn", "gymnasium:CartPole-v1", file!("dqn-cartpole.toml")),
    ("ppo", "gymnasium:Acrobot-v1", file!("ppo-acrobot.toml")),
    ("dqn", "gymnasium:Acrobot-v1", file!("dqn-acrobot.toml")),
    ("ppo", "gymnasium:MountainCar-v0", file!("ppo-mountain-car.toml")),
    ("dqn", "gymnasium:MountainCar-v0", file!("dqn-mountain-car.toml")),
    ("sac", "gymnasium:MountainCarContinuous-v0", file!("sac-mountain-car-continuous.toml")),
    ("ppo", "gymnasium:Pendulum-v1", file!("ppo-pendulum.toml")),
    ("sac", "gymnasium:Pendulum-v1", file!("sac-pendulum.toml")),
    ("td3", "gymnasium:Pendulum-v1", file!("td3-pendulum.toml")),
    ("ppo", "gymnasium:HalfCheetah-v5", file!("gymnasium/ppo-half-cheetah.toml")),
    ("sac", "gymnasium:HalfCheetah-v5", file!("gymnasium/sac-mujoco.toml")),
    ("td3", "gymnasium:HalfCheetah-v5", file!("gymnasium/td3-mujoco.toml")),
    ("ppo", "gymnasium:Hopper-v5", file!("gymnasium/ppo-hopper.toml")),
    ("sac", "gymnasium:Hopper-v5", file!("gymnasium/sac-mujoco.toml")),
    ("td3", "gymnasium:Hopper-v5", file!("gymnasium/td3-mujoco.toml")),
    ("ppo", "gymnasium:Walker2d-v5", file!("gymnasium/ppo-walker2d.toml")),
    ("sac", "gymnasium:Walker2d-v5", file!("gymnasium/sac-mujoco.toml")),
    ("td3", "gymnasium:Walker2d-v5", file!("gymnasium/td3-mujoco.toml")),
    ("rl2-ppo", "metaworld:ML1-reach", file!("metaworld/rl2-ppo-ml1.toml")),
    ("rl2-ppo", "metaworld:ML10", file!("metaworld/rl2-ppo-ml10.toml")),
    ("pearl", "metaworld:ML1-reach", file!("metaworld/pearl-ml1.toml")),
    ("pearl", "metaworld:ML1-push", file!("metaworld/pearl-ml1.toml")),
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
