//! Which particles of a policy `eval` plays.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use quickstudy_core::train::Evaluator;

use crate::outcome::Stop;

/// The particles that `--particle` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Particles {
    /// The one of this number, from 0.
    One(usize),
    /// Each, one after the other.
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

/// The runs, each with the particle of it that is played, if one is chosen.
pub(super) fn of_runs(
    particles: Option<Particles>,
    runs: &[PathBuf],
    load: impl Fn(&Path) -> Result<Evaluator, Stop>,
) -> Result<Vec<(PathBuf, Option<usize>)>, Stop> {
    let Some(particles) = particles else { return Ok(runs.iter().map(|run| (run.clone(), None)).collect()) };
    let mut played = Vec::with_capacity(runs.len());
    for run in runs {
        let mut policy = load(run)?;
        let indices = match particles {
            Particles::One(index) => index..index.saturating_add(1),
            // Of an algorithm without particles there is no first one either.
            Particles::All => 0..policy.particles().max(1),
        };
        choose(&mut policy, indices.start, run)?;
        played.extend(indices.map(|index| (run.clone(), Some(index))));
    }
    Ok(played)
}

/// Makes a particle of the policy at this path the one that plays.
pub(super) fn choose(policy: &mut Evaluator, index: usize, path: &Path) -> Result<(), Stop> {
    policy.choose_particle(index).map_err(|error| {
        let hint = "without --particle the best particle of a policy is played, or its only policy";
        Stop::user(format!("{}: --{error}", path.display())).hint(hint)
    })
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
