//! The outcome of a step on the host.

/// The outcome of a step of one environment, without any reset.
#[derive(Clone, Debug, PartialEq)]
pub struct HostStep<T> {
    /// The next state, also where the episode ended.
    pub state: Vec<T>,
    /// The agent's observation of that state.
    pub observation: Vec<T>,
    /// The step's reward.
    pub reward: T,
    /// True if the episode ended in a final state.
    pub terminated: bool,
}
