//! Trained policies: where runs have them, and those that are read to play.

use crate::files::reading;
use crate::folder::{self, file};
use crate::json::eval::Trained;
use crate::outcome::Stop;
use crate::settings::register;
use crate::text::numbers::grouped;
use crate::text::program;
use quickstudy_core::backend::Device;
use quickstudy_core::train::Evaluator;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A policy that was read from a snapshot.
pub(crate) struct TrainedPolicy {
    pub path: PathBuf,
    /// The particle that plays, if one was chosen.
    pub particle: Option<usize>,
    pub evaluator: Evaluator,
    /// True if its actions are drawn, false if deterministic ones are taken.
    pub sampled: bool,
}

impl TrainedPolicy {
    /// Reads a policy. Its actions are drawn if that is asked for, or if it has no deterministic ones.
    pub(crate) fn load(device: &Device, path: &Path, stochastic: bool) -> Result<Self, Stop> {
        let evaluator = Evaluator::load_with(device, register::own(), &reading::read(path)?)
            .map_err(|error| Stop::from(error).about(path.display()))?;
        let sampled = stochastic || evaluator.draws_only();
        Ok(Self { path: path.to_owned(), particle: None, evaluator, sampled })
    }

    /// Lets a particle of it play, if one is chosen.
    pub(crate) fn choose(mut self, particle: Option<usize>) -> Result<Self, Stop> {
        self.particle = particle;
        particle.map_or(Ok(()), |particle| self.evaluator.choose_particle(particle)).map_err(|error| {
            let hint = "without --particle the best particle of a policy is played, or its only policy";
            Stop::user(format!("{}: --{error}", self.path.display())).hint(hint)
        })?;
        Ok(self)
    }

    /// Its environment and its algorithm.
    pub(crate) fn kind(&self) -> [String; 2] {
        [self.evaluator.env().spec().name.clone(), self.evaluator.algorithm().to_owned()]
    }

    /// Its part of a line of JSON.
    pub(crate) fn line(&self) -> Trained {
        let [environment, algorithm] = self.kind();
        let path = self.path.display().to_string();
        let (seed, steps) = (self.evaluator.trained_seed(), self.evaluator.env_steps());
        Trained { path, environment, algorithm, seed, steps }
    }

    /// `cartpole · ppo`, with its particle if one was chosen.
    pub(crate) fn name(&self) -> String {
        self.kind().join(" · ") + &self.particle.map_or_else(String::new, |i| format!(" · particle {i}"))
    }

    /// `seed 0 after 20 480 steps`
    pub(crate) fn training(&self) -> String {
        format!("seed {} after {} steps", self.evaluator.trained_seed(), grouped(self.evaluator.env_steps()))
    }

    /// `sampled actions` or `deterministic actions`.
    pub(crate) fn actions(&self) -> &'static str {
        if self.sampled { "sampled actions" } else { "deterministic actions" }
    }
}

/// The snapshots of the policies of these runs, folders of runs and snapshot files, each once.
pub(crate) fn find(named: &[PathBuf], last: bool, best: bool) -> Result<Vec<PathBuf>, Stop> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for path in named {
        // A folder of runs stands for the runs in it, as for `plot`.
        let is_run = path.is_file() || [file::LAST, file::BEST].iter().any(|name| path.join(name).exists());
        let inside = if is_run { None } else { folder::find_evaluable(path).ok() };
        for run in inside.unwrap_or_else(|| vec![path.clone()]) {
            let path = folder::policy(&run, last, best)?;
            if seen.insert(path.canonicalize().unwrap_or_else(|_| path.clone())) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// A note where best snapshots play that nobody named: their returns are no scores at a budget.
pub(crate) fn note_best(found: &[PathBuf], named: &[PathBuf]) -> Option<String> {
    found.iter().any(|policy| policy.ends_with(file::BEST) && !named.contains(policy)).then(|| {
        let program = program::name();
        format!("note: the best snapshot plays, not the last one (--last); `{program} compare` has scores at a budget")
    })
}

/// The particles that `--particle` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Particles {
    /// The particle of this number, from 0.
    One(usize),
    /// All particles, in order.
    All,
}

impl FromStr for Particles {
    type Err = String;

    fn from_str(text: &str) -> Result<Particles, String> {
        match (text, text.parse()) {
            ("all", _) => Ok(Particles::All),
            (_, Ok(index)) => Ok(Particles::One(index)),
            _ => Err("expected the number of a particle, from 0, or all".to_owned()),
        }
    }
}

impl Particles {
    /// The policies, each with every particle of it that is named.
    pub(crate) fn of(self, device: &Device, policies: &[PathBuf]) -> Result<Vec<(PathBuf, Option<usize>)>, Stop> {
        let mut all = Vec::with_capacity(policies.len());
        for path in policies {
            let policy = TrainedPolicy::load(device, path, false)?;
            let indices = match self {
                Particles::One(index) => index..index.saturating_add(1),
                // Of an algorithm without particles there is no first one either.
                Particles::All => 0..policy.evaluator.particles().max(1),
            };
            policy.choose(Some(indices.start))?;
            all.extend(indices.map(|index| (path.clone(), Some(index))));
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn particles_are_numbers_or_all_of_them() {
        assert_eq!("3".parse(), Ok(Particles::One(3)));
        assert_eq!("all".parse(), Ok(Particles::All));
        for wrong in ["-1", "best", "", "1.5", "All"] {
            assert!(wrong.parse::<Particles>().is_err_and(|problem| problem.contains("from 0, or all")), "{wrong}");
        }
    }
}
