//! Several environments as a single one, whose task says which of them is played.

use super::episode_state::{cut_off, read_bytes, read_numbers, write_bytes, write_numbers};
use super::{Chance, HostEnv, Transition};
use crate::env::{Dim, EnvSpec};
use crate::{Error, Result};

/// Several environments as one. Its task names the environment that is played: the first number of a task is the
/// environment's number, and the rest is the task of that environment.
///
/// The environments have equal spaces. Tasks are dealt in turn: element n of a batch gets environment n modulo
/// their number, so each gets an equal share of a batch whose size that number divides. With `identity`, an
/// observation ends with one number per environment, 1 for the environment that is played and 0 for all others: a
/// policy then need not find out which one it is in.
pub struct OneOf {
    envs: Vec<Box<dyn HostEnv>>,
    identity: bool,
    now: usize,
    /// Steps of the running episode so far.
    steps: usize,
    spec: EnvSpec,
    info: Vec<String>,
}

impl std::fmt::Debug for OneOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OneOf").field("spec", &self.spec).field("now", &self.now).finish_non_exhaustive()
    }
}

impl OneOf {
    /// Joins the environments `envs` under a name; its time limit is the longest of theirs.
    ///
    /// # Errors
    /// [`Error::Environment`] if there are none, or if one differs from the first in its spaces or the names of its
    /// infos.
    pub fn new(name: &str, envs: Vec<Box<dyn HostEnv>>, identity: bool) -> Result<OneOf> {
        let problem = |problem: String| Error::Environment { name: name.to_owned(), problem };
        let Some(first) = envs.first() else { return Err(problem("is made of no environments".to_owned())) };
        let (spec, info) = (first.spec(), first.info().to_vec());
        for env in &envs {
            let other = env.spec();
            let what = match () {
                () if other.observation.len() != spec.observation.len() => "number of observations",
                () if other.action != spec.action => "action space",
                () if env.info() != info => "info",
                () => continue,
            };
            return Err(problem(format!(
                "`{}` and `{}` differ in their {what}; one policy cannot play both",
                spec.name, other.name
            )));
        }
        let mut observation = spec.observation.clone();
        if identity {
            observation.extend(envs.iter().map(|env| Dim::new(format!("is {}", env.spec().name), 0.0, 1.0)));
        }
        // The range of each of a task's numbers covers that number's ranges in all environments.
        let width = envs.iter().map(|env| env.spec().task.len()).max().unwrap_or(0);
        let mut task = vec![Dim::new("environment", 0.0, (envs.len() - 1) as f64)];
        for at in 0..width {
            let dims = || envs.iter().filter_map(|env| env.spec().task.get(at));
            let low = dims().map(|dim| dim.low).fold(0.0, f64::min);
            let high = dims().map(|dim| dim.high).fold(0.0, f64::max);
            task.push(Dim::new(format!("task {at}"), low, high));
        }
        let horizon = envs.iter().map(|env| env.spec().horizon).max().unwrap_or(1);
        let spec = EnvSpec { task, ..EnvSpec::new(name, observation, spec.action.clone(), horizon) };
        Ok(OneOf { envs, identity, now: 0, steps: 0, spec, info })
    }

    /// The number of the environment that is played at present.
    #[must_use]
    pub fn now(&self) -> usize {
        self.now
    }

    fn seen(&self, mut observation: Vec<f64>) -> Vec<f64> {
        if self.identity {
            observation.extend((0..self.envs.len()).map(|env| f64::from(u8::from(env == self.now))));
        }
        observation
    }
}

impl HostEnv for OneOf {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn info(&self) -> &[String] {
        &self.info
    }

    fn sample_task(&self, chance: Chance) -> Result<Vec<f64>> {
        let number = chance.element as usize % self.envs.len();
        let mut task = vec![number as f64];
        task.extend(self.envs[number].sample_task(chance)?);
        task.resize(self.spec.task.len(), 0.0);
        Ok(task)
    }

    fn set_task(&mut self, task: &[f64]) -> Result<()> {
        let numbers = 0..self.envs.len();
        let number = task.first().copied().filter(|number| numbers.clone().any(|n| n as f64 == *number));
        let (Some(number), true) = (number, task.len() == self.spec.task.len()) else {
            let problem = format!(
                "has tasks of {} numbers, the first of them 0 to {}, and was given {task:?}",
                self.spec.task.len(),
                self.envs.len() - 1
            );
            return Err(Error::Environment { name: self.spec.name.clone(), problem });
        };
        self.now = number as usize;
        let own = self.envs[self.now].spec().task.len();
        self.envs[self.now].set_task(&task[1..=own])
    }

    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
        self.steps = 0;
        let observation = self.envs[self.now].reset(chance)?;
        Ok(self.seen(observation))
    }

    /// Cuts an episode off at the time limit of the environment that is played; the executor applies the longest limit.
    fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
        let step = self.envs[self.now].step(action, chance)?;
        self.steps += 1;
        let cut = !step.terminated && self.steps >= self.envs[self.now].spec().horizon;
        let truncated = step.truncated || (cut && self.steps < self.spec.horizon);
        Ok(Transition { observation: self.seen(step.observation), truncated, ..step })
    }

    fn save(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        write_numbers(&mut bytes, &[self.now as f64, self.steps as f64]);
        for env in &self.envs {
            write_bytes(&mut bytes, &env.save()?);
        }
        Some(bytes)
    }

    fn restore(&mut self, mut state: &[u8]) -> Result<()> {
        let [now, steps] = read_numbers(&mut state)?[..] else { return Err(cut_off()) };
        let counts = |x: f64, end: usize| x.fract() == 0.0 && (0.0..end as f64).contains(&x);
        if !counts(now, self.envs.len()) || !counts(steps, self.spec.horizon) {
            return Err(cut_off());
        }
        (self.now, self.steps) = (now as usize, steps as usize);
        self.envs.iter_mut().try_for_each(|env| env.restore(read_bytes(&mut state)?))?;
        if state.is_empty() { Ok(()) } else { Err(cut_off()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::ActionSpace;

    /// Counts its steps. Its observation, reward and task identify the environment.
    struct Counter(EnvSpec, f64, f64);

    fn counter(name: &str, horizon: usize, tasks: usize, mark: f64) -> Box<dyn HostEnv> {
        let action = ActionSpace::discrete(&["wait", "end"]);
        let task = (0..tasks).map(|i| Dim::new(format!("t{i}"), -mark, mark)).collect();
        let spec = EnvSpec { task, ..EnvSpec::new(name, vec![Dim::unbounded("x")], action, horizon) };
        Box::new(Counter(spec, mark, 0.0))
    }

    impl HostEnv for Counter {
        fn spec(&self) -> &EnvSpec {
            &self.0
        }
        fn set_task(&mut self, task: &[f64]) -> Result<()> {
            assert_eq!(task.len(), self.0.task.len());
            self.2 = task.iter().sum();
            Ok(())
        }
        fn reset(&mut self, _: Chance) -> Result<Vec<f64>> {
            Ok(vec![self.2])
        }
        fn step(&mut self, action: &[f64], _: Chance) -> Result<Transition> {
            let terminated = action[0] == 1.0;
            Ok(Transition { observation: vec![-1.0], reward: self.1, terminated, ..Transition::default() })
        }
        fn save(&self) -> Option<Vec<u8>> {
            Some(self.2.to_le_bytes().to_vec())
        }
        fn restore(&mut self, state: &[u8]) -> Result<()> {
            self.2 = f64::from_le_bytes(state.try_into().map_err(|_| cut_off())?);
            Ok(())
        }
    }

    #[test]
    fn tasks_are_dealt_in_turn_and_each_is_played_in_its_environment() {
        let envs = || vec![counter("a", 3, 0, 1.0), counter("b", 2, 2, 5.0), counter("c", 3, 1, 7.0)];
        let mut one = OneOf::new("abc", envs(), true).unwrap();
        let spec = one.spec().clone();
        assert_eq!((spec.observation.len(), spec.task.len(), spec.horizon), (4, 3, 3));
        assert_eq!((spec.observation[2].name.as_str(), spec.task[1].low, spec.task[1].high), ("is b", -7.0, 7.0));
        for element in 0..7 {
            let chance = Chance { key: [1, 2], element };
            let task = one.sample_task(chance).unwrap();
            let number = element as usize % 3;
            assert_eq!((task.len(), task[0]), (3, number as f64));
            let own = [0, 2, 1][number];
            assert!(task[1..=own].iter().all(|x| *x != 0.0) && task[1 + own..].iter().all(|x| *x == 0.0), "{task:?}");
            one.set_task(&task).unwrap();
            let mut identity = [0.0; 3];
            identity[number] = 1.0;
            assert_eq!(one.reset(chance).unwrap(), [&[task[1..].iter().sum()][..], &identity].concat());
            let ends: Vec<Transition> = (0..2).map(|_| one.step(&[0.0], chance).unwrap()).collect();
            assert_eq!(ends[1].observation, [&[-1.0][..], &identity].concat());
            assert_eq!((ends[0].reward, one.now()), ([1.0, 5.0, 7.0][number], number));
            // The shorter environment ends by its own limit; the executor ends the longer one.
            assert_eq!([ends[0].truncated, ends[1].truncated], [false, number == 1]);
            one.reset(chance).unwrap();
            assert!(!one.step(&[0.0], chance).unwrap().truncated, "an episode counts its own steps");
            let end = one.step(&[1.0], chance).unwrap();
            assert!(end.terminated && !end.truncated);
        }
        let plain = OneOf::new("abc", envs(), false).unwrap();
        assert_eq!(plain.spec().observation.len(), 1);
        for task in [&[3.0, 0.0, 0.0][..], &[0.5, 0.0, 0.0], &[0.0], &[f64::NAN, 0.0, 0.0], &[]] {
            assert!(one.set_task(task).unwrap_err().to_string().contains("tasks of 3 numbers"), "{task:?}");
        }
        let mut wide = counter("wide", 3, 0, 1.0);
        for (other, part) in [(None, "no environments"), (Some(()), "differ in their action space")] {
            let envs = match other {
                None => Vec::new(),
                Some(()) => {
                    let action = ActionSpace::discrete(&["wait"]);
                    wide = Box::new(Counter(EnvSpec { action, ..wide.spec().clone() }, 1.0, 0.0));
                    vec![counter("a", 3, 0, 1.0), std::mem::replace(&mut wide, counter("wide", 3, 0, 1.0))]
                }
            };
            let message = OneOf::new("x", envs, true).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }

    #[test]
    fn a_saved_state_names_an_environment_and_steps_within_the_time_limit() {
        let mut one = OneOf::new("ab", vec![counter("a", 3, 0, 1.0), counter("b", 2, 0, 5.0)], false).unwrap();
        let state = |now: f64, steps: f64| {
            let mut bytes = Vec::new();
            write_numbers(&mut bytes, &[now, steps]);
            (0..2).for_each(|_| write_bytes(&mut bytes, &[0; 8]));
            bytes
        };
        one.restore(&state(1.0, 2.0)).unwrap();
        assert_eq!((one.now(), one.save()), (1, Some(state(1.0, 2.0))));
        for (now, steps) in
            [(2.0, 0.0), (-1.0, 0.0), (0.5, 0.0), (f64::NAN, 0.0), (0.0, 3.0), (0.0, -1.0), (0.0, 1e300)]
        {
            assert!(one.restore(&state(now, steps)).is_err(), "{now} {steps}");
        }
        let whole = state(0.0, 0.0);
        assert!((0..whole.len()).all(|len| one.restore(&whole[..len]).is_err()));
        assert!(one.restore(&[whole, vec![0]].concat()).is_err());
    }
}
