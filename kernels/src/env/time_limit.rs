//! The parameter `time_limit`, which every environment takes with its name: `pendulum:time_limit=100`.

use std::ops::RangeInclusive;

use super::builtin::Given;
use super::{EnvDef, EnvSpec, Parameter};
use crate::{Error, Result};

/// Name of the parameter that every environment takes: steps of an episode at most.
pub const TIME_LIMIT: &str = "time_limit";

/// The time limits that there can be: steps are counted as u32.
const LIMITS: RangeInclusive<usize> = 1..=u32::MAX as usize;

/// The parameter of an environment whose own time limit is `steps`.
pub(super) fn parameter(steps: usize) -> Parameter {
    let meaning = "steps of an episode at most";
    Parameter { name: TIME_LIMIT, default: steps.to_string().into(), meaning }
}

impl EnvSpec {
    /// A handle with another time limit, which becomes part of the name: `pendulum:time_limit=100`.
    ///
    /// The return from which an environment counts as solved is that of its own time limit, and left out.
    ///
    /// # Errors
    /// [`Error::Config`] for 0 steps, and for more than 2³² − 1.
    pub fn with_time_limit(self, steps: usize) -> Result<EnvSpec> {
        if !LIMITS.contains(&steps) {
            let (least, most) = LIMITS.into_inner();
            let problem = format!("{TIME_LIMIT}={steps}: expected a whole number in {least} to {most}");
            return Err(Error::config("env", problem));
        }
        let name = own_name(&self.name);
        let name = format!("{name}{}{TIME_LIMIT}={steps}", if name.contains(':') { ',' } else { ':' });
        Ok(EnvSpec { name, horizon: steps, solved_at: None, ..self })
    }
}

impl EnvDef {
    /// The environment with episodes of at most `steps` steps, as [`EnvSpec::with_time_limit`] names it. With its own
    /// time limit it has its own name.
    ///
    /// ```
    /// use quickstudy_core::env::builtin;
    ///
    /// let short = builtin("pendulum")?.with_time_limit(100)?;
    /// assert_eq!((short.spec().name.as_str(), short.spec().horizon), ("pendulum:time_limit=100", 100));
    /// assert_eq!(builtin("pendulum:time_limit=100")?.spec(), short.spec());
    /// assert_eq!(short.with_time_limit(200)?.spec().name, "pendulum");
    /// # Ok::<(), quickstudy_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`EnvSpec::with_time_limit`].
    pub fn with_time_limit(&self, steps: usize) -> Result<EnvDef> {
        let own = self.env.spec();
        let spec = if own.horizon == steps { own } else { own.with_time_limit(steps)? };
        Ok(self.env.with_spec(spec.into()))
    }
}

impl Given<'_> {
    /// The environment with the time limit that was given, if one was.
    pub(super) fn limited(&self, env: EnvDef) -> Result<EnvDef> {
        match self.text(TIME_LIMIT) {
            Some(_) => env.with_time_limit(self.whole(TIME_LIMIT, env.spec().horizon, LIMITS)?),
            None => Ok(env),
        }
    }
}

/// A name without the time limit, which is the last of its parameters, and the text of that limit.
fn split(name: &str) -> Option<(&str, &str)> {
    let (own, last) = name.rsplit_once([':', ','])?;
    let text = last.strip_prefix(TIME_LIMIT)?.strip_prefix('=')?;
    Some((own, text))
}

/// An environment's name without the time limit that it asks for.
pub fn own_name(name: &str) -> &str {
    split(name).map_or(name, |(own, _)| own)
}

/// The time limit that a name asks for, if it is a whole number.
pub fn time_limit(name: &str) -> Option<usize> {
    split(name)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::cpu::simd::isa::Isa;
    use crate::env::{Lockstep, builtin, builtin_names, find};

    /// Steps of the shortest episode that the time limit ended, of some environments side by side.
    fn cut_after(env: &EnvDef) -> u32 {
        let mut envs = Lockstep::new(env, Isa::Baseline, 16);
        // Goals are far from where points stand still.
        envs.task = env.spec().task.iter().flat_map(|dim| vec![dim.low as f32; 16]).collect();
        envs.reset([1, 2]);
        for step in 0..1200 {
            let before: Vec<u32> = envs.steps.iter().map(|x| x.to_bits()).collect();
            envs.step([3, step]);
            if let Some(i) = envs.truncated.iter().position(|cut| cut.to_bits() == 1) {
                return before[i] + 1;
            }
        }
        0
    }

    #[test]
    fn every_environment_takes_a_time_limit_that_ends_its_episodes() {
        for name in builtin_names() {
            let own = builtin(name).unwrap();
            let short = builtin(&format!("{name}:time_limit=3")).unwrap();
            assert_eq!(short.spec().horizon, 3, "{name}");
            assert_eq!(cut_after(&short), 3, "{name}");
            let EnvSpec { observation, action, task, .. } = own.spec().clone();
            let other = short.spec();
            assert_eq!((&other.observation, &other.action, &other.task), (&observation, &action, &task));
            // By its name it is found again, and by its own time limit it has its own name.
            assert_eq!(builtin(&other.name).unwrap().spec(), other, "{name}");
            assert_eq!(short.with_time_limit(own.spec().horizon).unwrap().spec().horizon, own.spec().horizon);
            let written = format!("{name}:time_limit={}", own.spec().horizon);
            assert_eq!(builtin(&written).unwrap().spec(), own.spec());
            assert_eq!(cut_after(&own.with_time_limit(5).unwrap()), 5, "{name}");
        }
        let long = builtin("cartpole:time_limit=1000").unwrap();
        assert_eq!((long.spec().horizon, long.spec().solved_at), (1000, None), "475 was of 500 steps");
    }

    #[test]
    fn it_stands_beside_other_parameters_and_is_the_pulls_of_a_bandit() {
        let spec = |name: &str| builtin(name).unwrap().spec().clone();
        let room = spec("dark-room:time_limit=40,size=5");
        assert_eq!((room.name.as_str(), room.horizon), ("dark-room:size=5,time_limit=40", 40));
        assert_eq!(own_name(&room.name), "dark-room:size=5");
        assert_eq!(own_name("pendulum:time_limit=1"), "pendulum");
        assert_eq!(own_name("bandit:pulls=100"), "bandit:pulls=100");
        assert_eq!(spec("bandit:time_limit=100"), spec("bandit:pulls=100"));
        assert_eq!(spec("bandit:pulls=100,time_limit=50"), spec("bandit:pulls=50"));
        assert_eq!(spec("bit-flip:bits=5,time_limit=9").horizon, 9);
    }

    #[test]
    fn environments_of_the_caller_take_it_too() {
        let own = [crate::env::EnvDef::new(crate::env::builtin::pendulum::Pendulum::default()).unwrap()];
        let spec = |name: &str| find(name, &own).map(|env| env.spec().clone());
        assert_eq!(spec("pendulum:time_limit=7").unwrap().horizon, 7);
        assert_eq!(spec("pendulum").unwrap().horizon, 200);
        assert_eq!(spec("cartpole:time_limit=9").unwrap().horizon, 9, "a built-in one");
        let message = spec("pendulum:size=7").unwrap_err().to_string();
        assert_eq!(message, "env: `pendulum` has no parameter `size`; it takes time_limit");
        assert!(spec("pendulum:time_limit=0").is_err());
    }

    #[test]
    fn lengths_that_cannot_be_are_refused() {
        let problem = |name: &str| builtin(name).unwrap_err().to_string();
        for value in ["0", "-1", "ten", "1.5", "4294967296", ""] {
            let expected = format!("env: time_limit={value}: expected a whole number in 1 to 4294967295");
            assert_eq!(problem(&format!("pendulum:time_limit={value}")), expected);
        }
        assert_eq!(problem("cartpole:time_limits=3"), "unknown parameter `time_limits`, did you mean `time_limit`?");
        assert_eq!(problem("cartpole:length=2"), "env: `cartpole` has no parameter `length`; it takes time_limit");
        assert_eq!(problem("cartpole:"), "env: `` is no parameter; write `cartpole:time_limit=500`");
        let twice = "env: `time_limit` is given twice for `cartpole`";
        assert_eq!(problem("cartpole:time_limit=3,time_limit=4"), twice);
        let message = builtin("cartpole").unwrap().with_time_limit(0).unwrap_err().to_string();
        assert_eq!(message, "env: time_limit=0: expected a whole number in 1 to 4294967295");
    }
}
