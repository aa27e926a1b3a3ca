//! Stacks of a session: seeds with the same number of iterations are trained together.
//!
//! A seed that has made its steps leaves the stack, and the others continue as if they had always been alone: their
//! arrays are copied into smaller ones, for which programs are compiled. Seeds that wait, because they have made other
//! numbers of iterations, are trained once all before them have ended.

use super::Session;
use super::restored::Stack;
use super::seed_progress::SeedProgress;
use crate::train::setup::Setup;
use crate::{Device, Result, State};

impl Session {
    /// The numbers of the seeds of the last iteration, or of the first one before it is made, in order of its rows.
    pub fn running(&self) -> &[usize] {
        &self.stack
    }

    /// Tells whether seed number `index`, from 0, has made all of its steps, or of its iterations, if the run is as
    /// long as these say. A warm-up whose episodes were longer than planned is not the end of a run: an iteration of
    /// the last stage follows.
    pub fn is_done(&self, index: usize) -> bool {
        let fitted = self.setup.fitted();
        let last_stage = |iteration: u64| fitted.stage(iteration.saturating_sub(1)) + 1 >= fitted.stages();
        let ended = |seed: &SeedProgress| match self.setup.iterations {
            Some(iterations) => seed.iteration >= iterations,
            None => seed.made >= self.setup.steps,
        };
        self.seeds.get(index).is_none_or(|seed| ended(seed) && last_stage(seed.iteration))
    }

    /// Prepares the stack that is trained next: the current one without its seeds that are done, or one that waits. If
    /// all seeds are done, the current one stays.
    pub(super) async fn take_turn(&mut self) -> Result<()> {
        let unfinished = |seeds: &[usize]| seeds.iter().any(|seed| !self.is_done(*seed));
        let mut next_episodes = None;
        let (stack, state, episodes) = if unfinished(&self.stack) {
            if self.stack.iter().all(|seed| !self.is_done(*seed)) {
                return Ok(());
            }
            let episodes = self.training.save_episodes().await?;
            (std::mem::take(&mut self.stack), std::mem::take(&mut self.training.state), episodes)
        } else {
            let Some(waiting) = self.parked.iter().position(|stack| unfinished(&stack.seeds)) else { return Ok(()) };
            let episodes = self.training.save_episodes().await?;
            let next = self.parked.remove(waiting);
            let seeds = std::mem::take(&mut self.stack);
            self.parked.push(Stack { seeds, state: std::mem::take(&mut self.training.state), episodes });
            next_episodes.clone_from(&next.episodes);
            (next.seeds, next.state, next.episodes)
        };
        // The state is torn until there are programs for it.
        self.torn = true;
        let (done, rest): (Vec<usize>, Vec<usize>) = (0..stack.len()).partition(|row| self.is_done(stack[*row]));
        let of = |rows: &[usize]| rows.iter().map(|row| stack[*row]).collect::<Vec<_>>();
        let state = if done.is_empty() {
            state
        } else {
            let [rest, done_state] = split(&self.device, state, [&rest, &done]).await?;
            let of_done = |all: Vec<Vec<u8>>| done.iter().map(|row| all[*row].clone()).collect();
            self.parked.push(Stack { seeds: of(&done), state: done_state, episodes: episodes.map(of_done) });
            // The other seeds begin new episodes, as in an executor some of whose groups are left out.
            next_episodes = None;
            rest
        };
        self.stack = of(&rest);
        self.training.restack((&self.setup.seeds, &self.stack), self.trials.algorithms(&self.stack), state)?;
        if let Some(episodes) = next_episodes {
            self.training.restore_episodes(&episodes)?;
        }
        self.evaluations.retain(|program| [1, self.stack.len()].contains(&program.of.seeds));
        self.torn = false;
        Ok(())
    }

    /// The arrays that hold a seed, and its row in them.
    pub(in crate::train) fn place_of(&self, index: usize) -> Result<(&State, usize)> {
        let row = |seeds: &[usize]| seeds.iter().position(|seed| *seed == index);
        let parked = || self.parked.iter().find_map(|stack| Some((&stack.state, row(&stack.seeds)?)));
        let running = row(&self.stack).map(|row| (self.training.state(), row));
        running.or_else(parked).ok_or_else(|| self.no_seed(index))
    }

    /// The running episodes of a stack's seeds on the host, as bytes; none if the environments cannot save them.
    pub(in crate::train) async fn episodes_of(&self, seeds: &[usize]) -> Result<Option<Vec<Vec<u8>>>> {
        match self.parked.iter().find(|stack| stack.seeds == seeds) {
            Some(stack) => Ok(stack.episodes.clone()),
            None => self.training.save_episodes().await,
        }
    }

    /// True if the next iteration begins new episodes because a run on the host continues from snapshots that do not
    /// hold the running ones.
    pub fn begins_anew(&self) -> bool {
        self.iteration() > 0 && self.training.begins_anew()
    }

    /// All stacks, beginning with the one that is trained first.
    pub(in crate::train) fn stacks(&self) -> impl Iterator<Item = (&[usize], &State)> {
        let parked = self.parked.iter().map(|stack| (&stack.seeds[..], &stack.state));
        std::iter::once((&self.stack[..], self.training.state())).chain(parked)
    }
}

/// Splits arrays by rows into arrays of their own, one after the other, so that only one at a time is held twice.
async fn split(device: &Device, state: State, parts: [&[usize]; 2]) -> Result<[State; 2]> {
    let mut split = [State::new(), State::new()];
    for (name, array) in state.into_arrays() {
        let mut one = State::new();
        one.insert(name, array);
        for (state, rows) in split.iter_mut().zip(parts) {
            let part = one.rows(device, rows).await?;
            part.iter().for_each(|(name, array)| state.insert(name, array.clone()));
        }
    }
    Ok(split)
}

impl Setup {
    /// Bytes of the arrays that are held twice while a seed leaves the others.
    pub(in crate::train) fn bytes_of_leaving(&self) -> u64 {
        if self.seeds.len() < 2 || !self.fitted().counts_steps() {
            return 0;
        }
        let elements = |shape: &[usize]| shape.iter().map(|n| *n as u64).fold(1, u64::saturating_mul);
        let largest = self.fitted().entries(self.env.state_len()).iter().map(|entry| elements(&entry.shape)).max();
        largest.unwrap_or(0).saturating_mul(4 * self.seeds.len() as u64)
    }
}
