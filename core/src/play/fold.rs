//! Sums over the steps of episodes, which keep no step.

use super::ask::Request;
use super::{Amount, Cast, Iteration, Keys, Play, Running, Steps, Totals, replay};
use crate::dist::fold_in;
use crate::host::EnvPlace;
use crate::policy::How;
use crate::rng::streams;
use crate::tensor::{Named, Tree, fail, scan_tree, scan_tree_until};
use crate::{Error, Tensor};

impl Iteration<'_> {
    /// Folds `add` over the steps of one new episode in each environment, beginning with `init`, `[K, N, …]`: at most
    /// `steps` steps, in which the policy acts as `how` says. No step is kept; if environments are in the program, the
    /// loop ends once all are done. If there are many tasks, each episode has its own.
    ///
    /// The trace fails if an executor has many tasks.
    #[track_caller]
    pub fn fold<C: Tree>(
        &mut self,
        (cast, how): (Cast<'_>, How),
        key: [Tensor; 2],
        steps: usize,
        init: &C,
        add: impl FnOnce(&C, &Steps) -> C,
    ) -> C {
        let (Cast { policy, acting, rows }, keys) = (cast, Keys::of(key));
        match self.place {
            EnvPlace::Device(env) => {
                let tasks = (!env.spec().task.is_empty()).then(|| {
                    // Tasks are drawn at the reset, as by `host::TaskPerEpisode`.
                    let key = [0, streams::TASK].map(Tensor::constant_u32).into_iter().fold(keys.env, fold_in);
                    env.trace_tasks(key, Tensor::iota(&rows, 1))
                });
                Play { env, policy, acting, how, rows, tasks, keys }.fold(steps, init, add)
            }
            EnvPlace::Host(host) => {
                if !host.spec().task.is_empty() {
                    fail(Error::ManyTasks(host.spec().name.clone()));
                    return init.with(&init.flat());
                }
                let amount = Amount::Episodes(1);
                let request = Request { how, steps: steps.into(), episodes: Some(amount), lasting: None, tasks: None };
                let (first, recorded) = self.ask(host.spec(), cast, keys, &Named::new(), request);
                let first = first.first().copied().unwrap_or(Tensor::poison());
                fold_recorded(&replay(policy, acting, amount, first, &recorded).steps, init, add)
            }
        }
    }
}

impl Play<'_> {
    /// Sums over one whole episode in each environment: at most `steps` steps, and fewer if all environments are done
    /// before.
    #[track_caller]
    pub fn totals(&self, steps: usize) -> Totals {
        self.fold(steps, &Totals::none(&self.rows), Totals::add)
    }

    /// Folds `add` over the steps of one whole episode in each environment, beginning with `init`, `[K, N, …]`: at most
    /// `steps` steps, and fewer if all environments are done before. No step is kept.
    #[track_caller]
    pub fn fold<C: Tree>(&self, steps: usize, init: &C, add: impl FnOnce(&C, &Steps) -> C) -> C {
        let (_, folded) =
            scan_tree_until(steps, &(self.begin(), init.with(&init.flat())), |t, (running, sum): (Running, C)| {
                let one = self.stepped(t + self.keys.first, &running, None, None);
                let sum = add(&sum, &one.steps);
                ((one.next, sum), one.ended.reshape(&self.rows))
            });
        folded
    }
}

/// Folds `add` over the steps of a recorded episode, like [`Play::fold`]. Steps after its end, which [`replay`] gives
/// as well, are left out.
#[track_caller]
pub(super) fn fold_recorded<C: Tree>(steps: &Steps, init: &C, add: impl FnOnce(&C, &Steps) -> C) -> C {
    let (folded, _) = scan_tree(steps.reward.size(0), init, steps, |_, sum: C, step: Steps| {
        let next = add(&sum, &step);
        let kept = next.flat().into_iter().zip(sum.flat()).map(|(new, old)| {
            let mut shape = step.valid.shape();
            shape.resize(old.rank(), 1);
            step.valid.reshape(&shape[..old.rank()]).select(new, old)
        });
        (sum.with(&kept.collect::<Vec<_>>()), ())
    });
    folded
}
