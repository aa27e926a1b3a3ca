//! Pull one of k arms n times: the Bernoulli bandits of RL² (arXiv:1611.02779).
//!
//! Arm i pays 1 with chance pᵢ, else 0; a task is the k chances, each U(0, 1). There is nothing to see: the observation
//! is the constant 0, and what was pulled and paid must be remembered. The paper calls one pull an episode and n of
//! them a trial; here a trial is one episode of n steps.
//!
//! Returns: pulling at random n/2; knowing the best arm n·k/(k + 1). The finite-horizon Gittins index earns 6.66 (k =
//! 5, n = 10), 6.70 (10, 10), 78.6 (5, 100) and 83.9 (10, 100).

use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Mask, Real, Scene, Shape, Step};

/// Arms that pay or do not.
#[derive(Clone, Debug, PartialEq)]
pub struct Bandit {
    /// k, the number of arms.
    pub arms: usize,
    /// n, the number of pulls.
    pub pulls: usize,
}

impl Default for Bandit {
    fn default() -> Self {
        Self { arms: 5, pulls: 10 }
    }
}

crate::fields! {
    /// The last pull, kept for pictures only.
    pub struct LastPull {
        /// The arm that was pulled; −1 before the first.
        arm,
        /// Its reward.
        paid,
    }
}

impl Env for Bandit {
    type State<R: Real> = LastPull<R>;

    fn spec(&self) -> EnvSpec {
        let standard = Self::default();
        let name = super::parameters::full_name(
            "bandit",
            &[("arms", self.arms, standard.arms), ("pulls", self.pulls, standard.pulls)],
        );
        let names: Vec<String> = (0..self.arms).map(|i| format!("arm {i}")).collect();
        let task = (0..self.arms).map(|i| Dim::new(format!("chance_{i}"), 0.0, 1.0)).collect();
        EnvSpec::new(name, vec![Dim::new("nothing", 0.0, 1.0)], ActionSpace::Discrete { names }, self.pulls)
            .dt(1.0 / 6.0)
            .task(task)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], _rng: &mut Draws<R>) -> LastPull<R> {
        LastPull { arm: R::lit(-1.0), paid: R::lit(0.0) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, _s: LastPull<R>, action: &[R], task: &[R], rng: &mut Draws<R>) -> Step<R, Self> {
        let (mut arm, mut chance) = (R::lit(0.0), task[0]);
        for (i, other) in task.iter().enumerate().skip(1) {
            let pulled = action[0].gt(R::lit(i as f64 - 0.5));
            arm = R::select(pulled, R::lit(i as f64), arm);
            chance = R::select(pulled, *other, chance);
        }
        let paid = R::from_mask(rng.uniform().lt(chance));
        Step { next: LastPull { arm, paid }, reward: paid, terminated: R::Mask::splat(false) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, _s: &LastPull<R>, _task: &[R], out: &mut [R]) {
        out[0] = R::lit(0.0);
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        let width = self.arms as f32;
        let mut scene = Scene::new([-0.2, width + 0.2, -0.2 * width, width]).with(Shape::line(
            [0.0, 0.0],
            [width, 0.0],
            0.01 * width,
            Color::GREY,
        ));
        for (i, chance) in task.iter().enumerate() {
            let (left, right) = (i as f32 + 0.15, i as f32 + 0.85);
            scene = scene
                .with(Shape::rect([left, right, 0.0, 0.9 * width], Color::PALE))
                .with(Shape::rect([left, right, 0.0, (0.9 * width * chance).max(0.001)], Color::BLUE));
        }
        if state[0] >= 0.0 {
            let color = if state[1] > 0.5 { Color::GREEN } else { Color::ORANGE };
            scene = scene.with(Shape::circle([state[0] + 0.5, -0.1 * width], 0.06 * width, color));
        }
        scene
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::EnvDef;

    #[test]
    fn an_arm_pays_with_its_chance() {
        let env = EnvDef::new(Bandit::default()).unwrap();
        let task = [0.0, 1.0, 0.25, 0.5, 0.75];
        for (action, arm, chance) in [(0.0, 0.0, 0.0), (1.2, 1.0, 1.0), (2.0, 2.0, 0.25), (9.0, 4.0, 0.75)] {
            let mut paid = 0.0;
            for element in 0..4000 {
                let step = env.step(&[-1.0, 0.0], &[action], &task, [5, 6], element).unwrap();
                assert!(step.state[0] == arm && step.state[1] == step.reward && !step.terminated);
                assert_eq!(step.observation, [0.0]);
                paid += step.reward;
            }
            let paid = paid / 4000.0;
            // Four standard errors.
            assert!((paid - chance).abs() <= 0.0317 * f64::from(u8::from(chance % 1.0 > 0.0)), "{action}: {paid}");
        }
    }

    /// Mean return of episodes in which `arm(task, t)` is pulled.
    fn mean(bandit: Bandit, tasks: u32, arm: impl Fn(&[f64], usize) -> usize) -> f64 {
        let env = EnvDef::new(bandit).unwrap();
        let mut total = 0.0;
        for element in 0..tasks {
            let task: Vec<f64> = env.sample_task([1, 2], element);
            for t in 0..env.spec().horizon {
                let step = env.step(&[0.0, 0.0], &[arm(&task, t) as f64], &task, [3, t as u32], element).unwrap();
                total += step.reward / f64::from(tasks);
            }
        }
        total
    }

    #[test]
    fn the_best_arm_and_any_arm_earn_what_theory_says() {
        let best = |task: &[f64], _| (0..task.len()).max_by(|a, b| task[*a].total_cmp(&task[*b])).unwrap();
        // Standard errors: 100 · √(1/252) / √2000 = 0.14 and 100 · √(1/60) / √2000 = 0.29.
        let oracle = mean(Bandit { arms: 5, pulls: 100 }, 2000, best);
        assert!((oracle - 83.33).abs() < 1.4, "{oracle}");
        let any = mean(Bandit { arms: 5, pulls: 100 }, 2000, |_, t| t % 5);
        assert!((any - 50.0).abs() < 1.3, "{any}");
        let ten = mean(Bandit { arms: 10, pulls: 10 }, 4000, best);
        assert!((ten - 9.09).abs() < 0.1, "{ten}");
    }
}
