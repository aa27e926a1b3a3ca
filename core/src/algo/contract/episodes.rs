//! Episodes that run on from one iteration to the next.

use super::{First, Held, Numbers, StateEntry};
use crate::DType;
use crate::play::{Iteration, Running};
use crate::tensor::{CompensatedSum, Named};

/// The entries of the returns so far: the sum, and what it lacks.
const EP_RETURN: [&str; 2] = ["ep_return", "ep_return_rest"];

/// The returns so far of the episodes that are running in a state, `[S, N, 1]`; none if it holds no episodes.
pub(in crate::algo) fn running_return(held: &Held) -> Option<CompensatedSum> {
    let [sum, rest] = EP_RETURN.map(|name| held.find(name));
    sum.zip(rest).map(|(sum, rest)| CompensatedSum { sum, rest })
}

/// Episodes that are running when an iteration begins or ends, as the state holds them.
#[derive(Clone, Debug)]
pub(in crate::algo) struct RunningEpisodes {
    /// Their environments: N per seed.
    pub running: Running,
    /// Their returns so far, `[S, N, 1]`.
    pub ep_return: CompensatedSum,
}

crate::tree!(RunningEpisodes: running, ep_return);

impl RunningEpisodes {
    /// Gives the entries of episodes of at most `horizon` steps in N environments, `[N, O, D]`: states of environments,
    /// of the count of numbers that `environment` gives, or none where environments keep theirs to themselves; tasks of
    /// D numbers, one per episode, if there are many; observations of O numbers; steps and returns so far.
    pub fn entries(environment: Option<usize>, horizon: usize, [n, o, d]: [usize; 3]) -> Vec<StateEntry> {
        let of = |name, shape: &[usize]| StateEntry::new(name, shape, DType::F32);
        let mut entries = Vec::new();
        entries.extend(environment.map(|numbers| of("env_state", &[n, numbers]).from(First::EnvState)));
        entries.extend(environment.filter(|_| d > 0).map(|_| of("task", &[n, d]).from(First::Task)));
        // An episode that has made all of its steps is over.
        let steps = Numbers::up_to(horizon.saturating_sub(1) as u64);
        entries.push(StateEntry::new("env_steps", &[n, 1], DType::U32).holding(steps).of_episode());
        entries.push(of("obs", &[n, o]).from(First::Observation));
        entries.extend(EP_RETURN.map(|name| of(name, &[n, 1]).of_episode()));
        entries
    }

    /// Finds the episodes of a state; `memory` is the policy's memory of them.
    #[track_caller]
    pub fn of(held: &Held, memory: Named) -> RunningEpisodes {
        let (obs, steps) = (held.get("obs"), held.get("env_steps"));
        let running = Running {
            state: held.find("env_state").unwrap_or(obs),
            steps: steps.reshape(&[steps.size(0), steps.size(1)]),
            obs,
            memory,
            task: held.find("task"),
        };
        let [sum, rest] = EP_RETURN.map(|name| held.get(name));
        RunningEpisodes { running, ep_return: CompensatedSum { sum, rest } }
    }

    /// Writes the episodes to the state, except for the policy's memory.
    pub fn keep(&self, it: &mut Iteration<'_>) {
        let Running { state, steps, obs, task, .. } = &self.running;
        // On the host, environments keep their states to themselves.
        if it.in_program() {
            it.update("env_state", *state);
        }
        if let Some(task) = task {
            it.update("task", *task);
        }
        it.update("env_steps", steps.unsqueeze(2));
        it.update("obs", *obs);
        let CompensatedSum { sum, rest } = self.ep_return;
        EP_RETURN.into_iter().zip([sum, rest]).for_each(|(name, x)| it.update(name, x));
    }
}
