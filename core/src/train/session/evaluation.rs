//! Evaluations of a session's policies.

use super::Session;
use crate::host::{EnvPlace, HostPlace};
use crate::meta::TestSizes;
use crate::rng::{Key, fold_in, key_from_seed, streams};
use crate::train::attempt::episode_program::EpisodeProgram;
use crate::train::attempt::evaluation::{Episode, Evaluation};
use crate::train::attempt::evaluator::Evaluator;
use crate::train::attempt::under_test::PolicyArrays;
use crate::{Result, State};

impl Session {
    /// Prepares the program of [`evaluate`](Self::evaluate), so that an evaluation that does not fit fails before
    /// training.
    ///
    /// # Errors
    /// As [`evaluate`](Self::evaluate).
    pub fn prepare_evaluation(&mut self, played: impl Into<Evaluation>) -> Result<()> {
        let played = played.into();
        if self.setup.env.on_host() {
            let none = PolicyArrays { arrays: Vec::new() };
            return Evaluator::of_session(&self.device, &self.setup, 0, none).fleet(played).map(drop);
        }
        let program = self.evaluation_of(&self.stack.clone(), played)?;
        self.evaluations = vec![program];
        Ok(())
    }

    /// The program that evaluates the stacked policies of these seeds, which is the existing one if that has the same
    /// sizes and settings.
    fn evaluation_of(&mut self, seeds: &[usize], played: Evaluation) -> Result<EpisodeProgram> {
        let (policies, rows) = (seeds.len(), self.trials.algorithms(seeds));
        let of = played.of(policies, true);
        let fits = |program: &EpisodeProgram| program.of == of && program.plays(&rows);
        if let Some(known) = self.evaluations.iter().position(fits) {
            return Ok(self.evaluations.swap_remove(known));
        }
        let lower: &[&'static str] = if of.sizes.is_some() { &TestSizes::KEYS } else { &["eval_episodes"] };
        // Programs of other evaluations are no longer needed.
        self.evaluations.retain(|program| program.of.seeds != policies);
        EpisodeProgram::of_rows(&self.device, self.setup.env.device()?, rows, of)
            .map_err(|error| error.lowered_by(lower))
    }

    /// Plays episodes of the deterministic policy of each seed: a number of them, or the test episodes of a meta-test.
    /// Policies that adapt on the host draw their actions.
    ///
    /// Random numbers have a stream of their own, so that evaluating changes nothing about training. They depend on the
    /// seed and the number of iterations that it has made.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) for no episodes or too many; or if an environment or the device fails.
    pub async fn evaluate(&mut self, played: impl Into<Evaluation>) -> Result<Vec<Vec<Episode>>> {
        self.evaluate_seeds(&(0..self.seeds.len()).collect::<Vec<_>>(), played).await
    }

    /// [Evaluates](Session::evaluate) the seeds of these numbers, from 0. The seeds that are now trained are evaluated
    /// together if all of them are among these, and all others one by one. The episodes are the same either way.
    ///
    /// # Errors
    /// As [`evaluate`](Session::evaluate), and if there is no such seed.
    pub async fn evaluate_seeds(
        &mut self,
        seeds: &[usize],
        played: impl Into<Evaluation>,
    ) -> Result<Vec<Vec<Episode>>> {
        self.expect_intact()?;
        let played = played.into();
        let stack = self.stack.clone();
        let mut together = match stack.iter().all(|seed| seeds.contains(seed)) {
            true => self.evaluate_arrays(&stack, self.training.state().clone(), played).await?,
            false => Vec::new(),
        };
        let mut all = Vec::with_capacity(seeds.len());
        for seed in seeds {
            let row = stack.iter().position(|other| other == seed);
            match row.and_then(|row| together.get_mut(row)) {
                Some(episodes) => all.push(std::mem::take(episodes)),
                None => {
                    let policy = self.policy_of(*seed).await?;
                    all.extend(self.evaluate_arrays(&[*seed], policy, played).await?);
                }
            }
        }
        Ok(all)
    }

    /// The arrays of one seed's policy.
    async fn policy_of(&self, seed: usize) -> Result<State> {
        let (state, row) = self.place_of(seed)?;
        let mut policy = State::new();
        for name in self.setup.fitted().policy_entries() {
            policy.insert(name, state.get(name)?.clone());
        }
        policy.rows(&self.device, &[row]).await
    }

    /// Evaluates seeds whose policies are stacked in these arrays.
    async fn evaluate_arrays(
        &mut self,
        seeds: &[usize],
        state: State,
        played: Evaluation,
    ) -> Result<Vec<Vec<Episode>>> {
        let key = |seed: &usize| {
            let key = fold_in(key_from_seed(self.setup.seeds[*seed]), streams::EVAL);
            fold_in(key, self.seeds[*seed].iteration as u32)
        };
        let keys: Vec<Key> = seeds.iter().map(key).collect();
        if let EnvPlace::Host(host) = &self.setup.env {
            return self.evaluate_on_host(host, (seeds, &keys), state, played).await;
        }
        let mut program = self.evaluation_of(seeds, played)?;
        let arrays = self.setup.fitted().policy_entries().into_iter().map(|name| Ok((name, state.get(name)?.clone())));
        let policy = PolicyArrays { arrays: arrays.collect::<Result<_>>()? };
        let result = program.episodes(&self.device, &policy, &keys).await;
        self.evaluations.push(program);
        result
    }

    /// Evaluates seeds in environments of the host, one after the other.
    async fn evaluate_on_host(
        &self,
        host: &HostPlace,
        (seeds, keys): (&[usize], &[Key]),
        state: State,
        played: Evaluation,
    ) -> Result<Vec<Vec<Episode>>> {
        let mut all = Vec::with_capacity(seeds.len());
        for (row, (seed, key)) in seeds.iter().zip(keys).enumerate() {
            let mut policy = State::new();
            for name in self.setup.fitted().policy_entries() {
                policy.insert(name, state.get(name)?.clone());
            }
            let rows = policy.rows(&self.device, &[row]).await?;
            let arrays =
                self.setup.fitted().policy_entries().into_iter().map(|name| Ok((name, rows.get(name)?.clone())));
            let policy = PolicyArrays { arrays: arrays.collect::<Result<_>>()? };
            let policy = Evaluator::of_session(&self.device, self.setup_of(*seed), self.setup.seeds[*seed], policy);
            all.push(policy.evaluate_on_host(host, played, *key, !policy.adapts()).await?);
        }
        Ok(all)
    }
}
