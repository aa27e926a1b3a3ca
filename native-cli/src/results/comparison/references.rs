//! Scores between which others are normalised: that of a random policy, and a published one, each with its origin.
//!
//! The published one is the best in the table of rl-baselines3-zoo (`benchmark.md` at commit 22e3ff2, 2026-04-23): one
//! agent, its deterministic policy over some 150,000 steps. So 1 is no bound. An environment that is not here is left
//! out of normalised aggregates.

/// Scores of an environment that stand for 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reference {
    /// Its names: of this project, and as Gymnasium's. Parameters make another environment of it.
    pub names: [&'static str; 2],
    /// The mean return of a random policy: `BENCHMARKS.md`.
    pub random: f64,
    /// A published mean return.
    pub published: f64,
    /// Who reached it, and in how many steps.
    pub by: &'static str,
}

/// All that are known.
pub const REFERENCES: [Reference; 5] = [
    Reference {
        names: ["cartpole", "gymnasium:CartPole-v1"],
        random: 22.3,
        published: 500.0,
        by: "PPO, 100k steps, 500.0 ± 0.0 over episodes",
    },
    Reference {
        names: ["pendulum", "gymnasium:Pendulum-v1"],
        random: -1233.9,
        published: -151.3,
        by: "TQC, 20k steps, -151.3 ± 87.9 over episodes",
    },
    Reference {
        names: ["acrobot", "gymnasium:Acrobot-v1"],
        random: -500.0,
        published: -69.1,
        by: "QR-DQN, 100k steps, -69.1 ± 10.0 over episodes",
    },
    Reference {
        names: ["mountain-car", "gymnasium:MountainCar-v0"],
        random: -200.0,
        published: -100.8,
        by: "DQN, 120k steps, -100.8 ± 9.9 over episodes",
    },
    Reference {
        names: ["mountain-car-continuous", "gymnasium:MountainCarContinuous-v0"],
        random: -33.1,
        published: 96.7,
        by: "ARS, 500k steps, 96.7 ± 0.8 over episodes",
    },
];

impl Reference {
    /// The origin of the random score.
    pub const RANDOM: &'static str = "BENCHMARKS.md of quickstudy, a random policy";

    /// The scores of this environment, if they are known.
    pub fn of(env: &str) -> Option<Self> {
        REFERENCES.into_iter().find(|known| known.names.contains(&env))
    }

    /// A score on the scale where a random policy has 0 and the published one 1.
    pub fn normalise(&self, score: f64) -> f64 {
        (score - self.random) / (self.published - self.random)
    }

    /// The origin of the published score.
    pub fn origin(&self) -> String {
        format!("rl-baselines3-zoo 22e3ff2, benchmark.md, {}", self.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_lie_between_chance_and_the_published_one() {
        let known = Reference::of("pendulum").unwrap();
        assert_eq!((known.normalise(-1233.9), known.normalise(-151.3)), (0.0, 1.0));
        assert!((known.normalise(-692.6) - 0.5).abs() < 1e-12);
        assert_eq!(Reference::of("gymnasium:Pendulum-v1"), Some(known));
        assert_eq!((Reference::of("pendulum:time_limit=100"), Reference::of("point")), (None, None));
        for known in REFERENCES {
            assert!(known.published > known.random && known.by.contains(&format!("{:.1} ±", known.published)));
            assert!(quickstudy_core::env::builtin(known.names[0]).is_ok(), "{}", known.names[0]);
        }
    }
}
