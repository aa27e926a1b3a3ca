//! Whole episodes as lists of numbers.

/// One whole episode of T steps, each array row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostPath {
    /// The environment's number among those of its task.
    pub copy: usize,
    /// Observations acted on, `[T · O]`.
    pub observations: Vec<f64>,
    /// Actions as drawn, `[T · A]`.
    pub actions: Vec<f64>,
    /// Actions as the environment got them, `[T · A]`.
    pub played: Vec<f64>,
    /// Rewards, `[T]`.
    pub rewards: Vec<f64>,
    /// Values that the environment reported besides rewards, `[T · I]`, in the order of
    /// [`Fleet::info`](super::Fleet::info).
    pub env_infos: Vec<f64>,
    /// Values that the actor reported, `[T · J]`, in the order of [`Actor::info`](super::Actor::info).
    pub agent_infos: Vec<f64>,
    /// The observation after the last step, `[O]`.
    pub last_observation: Vec<f64>,
    /// True if the episode ended in a final state, false if it was cut off.
    pub terminated: bool,
}

impl HostPath {
    /// T, the number of steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rewards.len()
    }

    /// Tells whether the path has no steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rewards.is_empty()
    }

    /// The discounted return, Σ γᵗ rₜ.
    #[must_use]
    pub fn discounted_return(&self, gamma: f64) -> f64 {
        self.rewards.iter().rev().fold(0.0, |rest, reward| reward + gamma * rest)
    }
}

/// Episodes that a sampler collected.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Whole episodes of each task.
    pub tasks: Vec<Vec<HostPath>>,
    /// Steps that environments made for this collection.
    pub env_steps: u64,
    /// Steps among these that belong to no episode here.
    pub dropped: u64,
}

impl Samples {
    /// The episodes of all tasks.
    pub fn paths(&self) -> impl Iterator<Item = &HostPath> {
        self.tasks.iter().flatten()
    }
}
