//! What PPO and TRPO differ in.

use std::fmt::Debug;

use super::{Sampled, Sampling};
use crate::Result;
use crate::algo::{ActorCritic, Held};
use crate::backend::ScalarValue;
use crate::policy::NetConfig;
use crate::program::Context;

/// The settings of an algorithm that learns from rollouts of its own policy, and how it learns from one: those of
/// [`Ppo`](crate::algo::Ppo) and [`Trpo`](crate::algo::Trpo).
pub trait OnPolicy: Clone + Debug {
    /// What an iteration reports, in the order of the `metrics` output `[S, 12]`.
    const METRICS: [&'static str; 12];

    /// Every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) with the first setting that cannot work and what to do about it.
    fn validate(&self) -> Result<()>;

    /// What the networks are made of.
    fn net(&self) -> NetConfig;

    /// How rollouts are made.
    fn sampling(&self) -> Sampling;

    /// Values that follow a schedule, in the iteration after `done` of `total`, by the names of their metrics: `train/` and the
    /// name of the program's scalar.
    fn schedules(&self, done: u64, total: u64) -> Vec<(&'static str, f64)>;

    /// What an iteration makes of its rollout: updates of the state, and the `metrics` output.
    fn learn(&self, cx: &mut Context, net: &ActorCritic, held: &Held, sampled: &Sampled<'_>);

    /// The program's scalars in the iteration after `done` of `total`.
    fn scalars(&self, done: u64, total: u64) -> Vec<(&'static str, ScalarValue)> {
        let scalar = |(name, value): (&'static str, f64)| (name.trim_start_matches("train/"), value.into());
        let iteration = ("iteration", ScalarValue::U32((done + 1) as u32));
        std::iter::once(iteration).chain(self.schedules(done, total).into_iter().map(scalar)).collect()
    }
}
