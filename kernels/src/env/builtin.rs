//! The built-in environments by name.

pub mod acrobot;
pub mod bandit;
pub mod bit_flip;
mod body_parameters;
pub mod cartpole;
pub mod dark_room;
pub mod grid_world;
pub mod inverted_double_pendulum;
pub mod inverted_pendulum;
pub mod key_door;
pub mod locomotion;
pub mod machines;
pub mod mountain_car;
pub mod mountain_car_continuous;
mod parameters;
pub mod pendulum;
pub mod point;
pub mod reacher;
mod reader;
pub mod tabular_mdp;

pub use parameters::Parameter;
use parameters::{BuiltinEntry, Make};
pub(super) use parameters::{Given, parse};

use std::borrow::Cow;

use self::acrobot::Acrobot;
use self::bandit::Bandit;
use self::bit_flip::BitFlip;
use self::body_parameters::BODIES;
use self::cartpole::CartPole;
use self::dark_room::DarkRoom;
use self::grid_world::GridWorld;
use self::key_door::KeyDoor;
use self::machines::MACHINES;
use self::mountain_car::MountainCar;
use self::mountain_car_continuous::MountainCarContinuous;
use self::pendulum::Pendulum;
use self::point::{PointArena, PointCorner, PointGoal, PointHalfCircle, PointMomentum, PointReward, PointWalls};
use self::tabular_mdp::TabularMdp;
use crate::env::time_limit::{self, TIME_LIMIT};
use crate::env::{Env, EnvDef};
use crate::{Error, Result};

const BUILTIN: &[BuiltinEntry] = &[
    ("cartpole", &[], standard::<CartPole>),
    ("cartpole-no-velocities", &[], |_| EnvDef::new(CartPole::without_velocities())),
    ("pendulum", &[], standard::<Pendulum>),
    ("acrobot", &[], standard::<Acrobot>),
    ("mountain-car", &[], standard::<MountainCar>),
    ("mountain-car-continuous", &[], standard::<MountainCarContinuous>),
    ("grid-world", &[MAP], |p| EnvDef::new(GridWorld::map(p.text("map").unwrap_or(&MAP.default))?)),
    ("bit-flip", &[BITS], |p| EnvDef::new(BitFlip { bits: p.whole("bits", BitFlip::default().bits, BitFlip::BITS)? })),
    ("point-origin", &[], |_| EnvDef::new(PointGoal::origin())),
    ("point", &[], |_| EnvDef::new(PointGoal::anywhere())),
    ("navigation", &[], |_| EnvDef::new(PointGoal::navigation())),
    ("navigation-squared", &[], |_| EnvDef::new(PointGoal::navigation_squared())),
    ("point-robot", &[], |_| EnvDef::new(PointGoal::robot())),
    ("point-half-circle", &[], standard::<PointHalfCircle>),
    ("point-half-circle-dense", &[], |_| EnvDef::new(PointHalfCircle::dense())),
    ("point-arena", &[], standard::<PointArena>),
    ("point-corner", &[], standard::<PointCorner>),
    ("point-corner-sparse", &[], |_| EnvDef::new(PointCorner::with_reward(PointReward::Sparse))),
    ("point-corner-squared", &[], |_| EnvDef::new(PointCorner::with_reward(PointReward::Squared))),
    ("point-momentum", &[], standard::<PointMomentum>),
    ("point-momentum-sparse", &[], |_| EnvDef::new(PointMomentum::with_reward(PointReward::Sparse))),
    ("point-momentum-squared", &[], |_| EnvDef::new(PointMomentum::with_reward(PointReward::Squared))),
    ("point-walls", &[], standard::<PointWalls>),
    ("point-walls-sparse", &[], |_| EnvDef::new(PointWalls::with_reward(PointReward::Sparse))),
    ("point-walls-squared", &[], |_| EnvDef::new(PointWalls::with_reward(PointReward::Squared))),
    ("bandit", &[ARMS, PULLS], |p| {
        let Bandit { arms, pulls } = Bandit::default();
        let pulls = p.whole("pulls", pulls, 1..=100_000)?;
        // A trial is an episode, so its time limit is the number of pulls.
        EnvDef::new(Bandit { arms: p.whole("arms", arms, 2..=100)?, pulls: p.whole(TIME_LIMIT, pulls, 1..=100_000)? })
    }),
    ("tabular-mdp", &[], standard::<TabularMdp>),
    ("dark-room", &[SIZE], |p| EnvDef::new(DarkRoom { size: p.whole("size", DarkRoom::default().size, 2..=100)? })),
    ("key-door", &[SIZE], |p| EnvDef::new(KeyDoor { size: p.whole("size", KeyDoor::default().size, 2..=100)? })),
];

const MAP: Parameter = Parameter { name: "map", default: Cow::Borrowed("4x4"), meaning: "4x4, 4x4-safe, 8x8 or chain" };
const BITS: Parameter = Parameter { name: "bits", default: Cow::Borrowed("15"), meaning: "how many bits there are" };
const ARMS: Parameter = Parameter { name: "arms", default: Cow::Borrowed("5"), meaning: "how many arms there are" };
const PULLS: Parameter = Parameter { name: "pulls", default: Cow::Borrowed("10"), meaning: "steps of a trial" };
const SIZE: Parameter = Parameter { name: "size", default: Cow::Borrowed("9"), meaning: "cells along each side" };

fn standard<E: Env + Default>(_: &Given<'_>) -> Result<EnvDef> {
    EnvDef::new(E::default())
}

/// Names of the built-in environments.
#[must_use]
pub fn builtin_names() -> Vec<&'static str> {
    let names = BUILTIN.iter().chain(BODIES).map(|(name, _, _)| *name);
    names.chain(MACHINES.iter().map(|(name, _, _)| *name)).collect()
}

/// An environment's own parameters, and how it is made with some.
fn found(name: &str) -> Option<(Cow<'static, [Parameter]>, Make)> {
    if let Some((_, parameters, make)) = BUILTIN.iter().chain(BODIES).find(|(known, _, _)| *known == name) {
        return Some((Cow::Borrowed(parameters), *make));
    }
    let (_, parameters, make) = MACHINES.iter().find(|(known, _, _)| *known == name)?;
    Some((Cow::Owned(parameters()), *make))
}

/// The parameters that a built-in environment's name may be given with: its own, and `time_limit`, which all have. None
/// for an unknown name.
#[must_use]
pub fn builtin_parameters(name: &str) -> Vec<Parameter> {
    let mut parameters = found(name).map_or_else(Vec::new, |(parameters, _)| parameters.into_owned());
    parameters.extend(builtin(name).map(|env| time_limit::parameter(env.spec().horizon)));
    parameters
}

/// The built-in environment of that name, with parameters after a colon: `bandit:arms=10,pulls=100`.
///
/// The environment's own name is the same with what is not as by default, so that `builtin` finds it again.
///
/// # Errors
/// [`Error::Unknown`] with the closest name, also of a parameter; [`Error::Config`] for a value that cannot be.
pub fn builtin(name: &str) -> Result<EnvDef> {
    let (env, text) = name.split_once(':').map_or((name, None), |(env, text)| (env, Some(text)));
    let (parameters, make) = found(env).ok_or_else(|| Error::unknown("environment", env, builtin_names()))?;
    let own = make(&Given::default())?;
    if text.is_none() {
        return Ok(own);
    }
    let known = [&parameters[..], &[time_limit::parameter(own.spec().horizon)][..]].concat();
    let given = parse(env, text, &known)?;
    given.limited(make(&given)?)
}

/// The environment of that name: one of `others`, or a built-in one. Behind its name, and a colon, each takes
/// `time_limit`.
///
/// # Errors
/// As [`builtin`].
pub fn find(name: &str, others: &[EnvDef]) -> Result<EnvDef> {
    if let Some(env) = others.iter().find(|env| env.spec().name == name) {
        return Ok(env.clone());
    }
    for env in others {
        // A name that has parameters already goes on with a comma.
        let own = env.spec().name.as_str();
        let next = if own.contains(':') { ',' } else { ':' };
        if let Some(text) = name.strip_prefix(own).and_then(|rest| rest.strip_prefix(next)) {
            return parse(own, Some(text), &[time_limit::parameter(env.spec().horizon)])?.limited(env.clone());
        }
    }
    builtin(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_its_spec_and_typing_errors_are_corrected() {
        for name in builtin_names() {
            assert_eq!(builtin(name).unwrap().spec().name, name);
        }
        let message = builtin("cartpol").unwrap_err().to_string();
        assert_eq!(message, "unknown environment `cartpol`, did you mean `cartpole`?");
        assert!(builtin("mountaincar").unwrap_err().to_string().contains("`mountain-car`"));
    }

    #[test]
    fn agents_with_a_place_and_tasks_have_a_plane_that_their_picture_shows() {
        for name in builtin_names() {
            let env = builtin(name).unwrap();
            let moves = ["point", "navigation", "dark-room", "key-door"].iter().any(|start| name.starts_with(start));
            assert_eq!(env.spec().plane, moves.then_some([0, 1]), "{name}");
            if moves {
                let task = env.sample_task::<f32>([1, 2], 0);
                let state = env.reset::<f32>(&task, [3, 4], 0).unwrap();
                let [xmin, xmax, ymin, ymax] = env.draw(&state, &task).unwrap().view;
                let (x, y) = (state[0], state[1]);
                assert!((xmin..=xmax).contains(&x) && (ymin..=ymax).contains(&y), "{name}: {x} {y}");
            }
        }
    }

    #[test]
    fn parameters_are_part_of_the_name() {
        for name in
            ["bandit:arms=10", "bandit:pulls=100", "bandit:arms=50,pulls=500", "grid-world:map=8x8", "dark-room:size=5"]
        {
            assert_eq!(builtin(name).unwrap().spec().name, name);
        }
        let env = builtin("bandit:pulls=100,arms=5").unwrap();
        assert_eq!((env.spec().name.as_str(), env.spec().horizon), ("bandit:pulls=100", 100));
        assert_eq!(builtin("bandit:arms=50").unwrap().spec().task.len(), 50);
        assert_eq!(builtin("grid-world:map=4x4").unwrap().spec().name, "grid-world");
        assert_eq!(builtin_parameters("bandit").len(), 3);
        assert!(builtin_parameters("bandi").is_empty());
        for name in builtin_names() {
            // A default that is written out changes nothing.
            let given: Vec<String> =
                builtin_parameters(name).iter().map(|p| format!("{}={}", p.name, p.default)).collect();
            assert_eq!(builtin(&format!("{name}:{}", given.join(","))).unwrap().spec(), builtin(name).unwrap().spec());
        }
    }

    #[test]
    fn mistakes_in_parameters_say_what_to_write() {
        let problem = |name: &str| builtin(name).unwrap_err().to_string();
        assert_eq!(problem("bandit:arm=3"), "unknown parameter `arm`, did you mean `arms`?");
        assert_eq!(problem("bandit:arms=1"), "env: arms=1: expected a whole number in 2 to 100");
        assert_eq!(problem("bandit:arms=ten"), "env: arms=ten: expected a whole number in 2 to 100");
        assert_eq!(problem("bandit:arms"), "env: `arms` is no parameter; write `bandit:arms=5`");
        assert_eq!(problem("bandit:"), "env: `` is no parameter; write `bandit:arms=5`");
        assert_eq!(problem("bandit:arms=3,arms=4"), "env: `arms` is given twice for `bandit`");
        assert_eq!(problem("grid-world:map=8x9"), "unknown map `8x9`, did you mean `8x8`?");
    }
}
