//! Tasks drawn from an environment's distribution, on the host and in a traced program.

use std::panic::Location;

#[cfg(feature = "standalone")]
use super::engine::scalar::Scalar;
use super::{Dim, Draws, EnvDef, Real};
use crate::Error;
#[cfg(feature = "standalone")]
use crate::rng::Key;
use crate::tensor::{Tensor, fail};

/// Tasks that are drawn when a handle is made, to see whether they can be.
const PROBES: u32 = 4;

/// Draws each number of a task uniformly in its range. This is compiled once, not for each environment.
#[inline(never)]
pub(super) fn draw_uniform<R: Real>(ranges: &[Dim], rng: &mut Draws<R>, task: &mut [R]) {
    for (number, range) in task.iter_mut().zip(ranges) {
        *number = rng.range(range.low, range.high);
    }
}

impl EnvDef {
    /// Parameters of one task, `[D]`: empty if the spec has none.
    ///
    /// A `key` and an `element` always give the same task, and [`trace_tasks`](Self::trace_tasks) gives the same
    /// numbers. Pools and splits of tasks are therefore ranges of elements; nothing needs to be stored.
    #[cfg(feature = "standalone")]
    #[must_use]
    pub fn sample_task<T: Scalar>(&self, key: Key, element: u32) -> Vec<T> {
        T::sample_task(self, key, element)
    }

    /// Parameters of many tasks, `[rows.., D]`, such as `[S, M, D]` for M tasks of each of S seeds.
    ///
    /// `key`: two u32 words, anything that broadcasts to the rows, such as `[S, 1]`; `element`: u32 `[rows..]`, the
    /// number of each task. Repeat a task's parameters along the axis of environments before a step if several play on
    /// it. An error of the trace if the spec has no task parameters.
    #[track_caller]
    #[must_use]
    pub fn trace_tasks(&self, key: [Tensor; 2], element: Tensor) -> Tensor {
        let at = Location::caller().to_string();
        if self.spec().task.is_empty() {
            let got = format!("`{}`, which has a single task", self.spec().name);
            let expected = "an environment with task parameters".to_owned();
            fail(Error::Shape { op: "env_tasks", expected, got, at });
            return Tensor::poison();
        }
        if element.is_poison() || key.iter().any(|word| word.is_poison()) {
            return Tensor::poison();
        }
        let rows = element.shape();
        self.env.trace_tasks(key.map(|word| word.broadcast_to(&rows)), element)
    }

    /// Draws a few tasks and describes the first number that is not finite, such as one of an unbounded range that the
    /// default [`Env::sample_task`](super::Env::sample_task) cannot draw from.
    pub(super) fn task_problem(&self) -> Option<String> {
        (0..PROBES).find_map(|element| {
            let task = self.env.sample_task_f32([0, 0], element);
            let (dim, number) = self.spec().task.iter().zip(task).find(|(_, number)| !number.is_finite())?;
            let (name, low, high) = (&dim.name, dim.low, dim.high);
            let hint = if low.is_finite() && high.is_finite() {
                "correct `sample_task`".to_owned()
            } else {
                format!("its range is {low} to {high}: give it a finite one, or implement `sample_task`")
            };
            Some(format!("task parameter `{name}` is drawn as {number}; {hint}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::env::{ActionSpace, Dim, Draws, Env, EnvDef, EnvSpec, Mask, Real, Scene, Step};

    /// Has one task parameter of this range.
    struct Ranged(f64, f64);

    impl Env for Ranged {
        type State<R: Real> = [R; 1];
        fn spec(&self) -> EnvSpec {
            EnvSpec::new("ranged", vec![Dim::unbounded("x")], ActionSpace::discrete(&["stay"]), 5)
                .task(vec![Dim::new("goal", self.0, self.1), Dim::new("speed", 0.0, 1.0)])
        }
        #[inline(always)]
        fn reset<R: Real>(&self, task: &[R], _rng: &mut Draws<R>) -> [R; 1] {
            [task[0]]
        }
        #[inline(always)]
        fn step<R: Real>(&self, s: [R; 1], _action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
            Step { next: s, reward: s[0], terminated: R::Mask::splat(false) }
        }
        #[inline(always)]
        fn observe<R: Real>(&self, s: &[R; 1], _task: &[R], out: &mut [R]) {
            out[0] = s[0];
        }
        fn draw(&self, _state: &[f32], _task: &[f32]) -> Scene {
            Scene::new([-1.0, 1.0, -1.0, 1.0])
        }
    }

    #[test]
    fn tasks_are_uniform_in_their_ranges_and_the_same_for_the_same_key_and_element() {
        let env = EnvDef::new(Ranged(-3.0, 5.0)).unwrap();
        let mut sums = [0.0; 2];
        for element in 0..4000 {
            let task: Vec<f64> = env.sample_task([1, 2], element);
            assert!((-3.0..5.0).contains(&task[0]) && (0.0..1.0).contains(&task[1]));
            let short: Vec<f32> = env.sample_task([1, 2], element);
            assert!(task.iter().zip(&short).all(|(a, b)| (a - f64::from(*b)).abs() < 1e-6));
            assert_ne!(task, env.sample_task::<f64>([1, 3], element));
            sums[0] += task[0] / 4000.0;
            sums[1] += task[1] / 4000.0;
        }
        // Four standard errors of uniform numbers: 4 · 8/√12/√4000 and an eighth of it.
        assert!((sums[0] - 1.0).abs() < 0.147 && (sums[1] - 0.5).abs() < 0.0184, "{sums:?}");
    }

    #[test]
    fn ranges_without_bounds_need_a_distribution_of_their_own() {
        let message = EnvDef::new(Ranged(0.0, f64::INFINITY)).unwrap_err().to_string();
        assert_eq!(
            message,
            "environment ranged: task parameter `goal` is drawn as inf; its range is 0 to inf: give it a finite one, \
             or implement `sample_task`"
        );
    }
}
