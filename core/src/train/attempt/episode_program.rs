//! Programs that play whole episodes, of one policy or of several side by side.

use super::evaluation::{Episode, Episodes, Evaluation, MAX_EPISODES, bad_count, expect_finite, no_meta_test};
use super::meta_test;
use super::under_test::PolicyArrays;
use crate::algo::{Algorithm, Family, RowAlgorithms};
use crate::dist::fold_in;
use crate::env::EnvDef;
use crate::play::{Amount, Keys, Play};
use crate::policy::How;
use crate::program::{RowNumbers, Trace};
use crate::rng::{Key, streams};
use crate::task::TaskSource;
use crate::tensor::CompensatedSum;
use crate::train::setup::Setup;
use crate::{Context, DType, Device, Program, Result, State, Tensor};

/// A program that plays episodes of policies.
#[derive(Debug)]
pub(in crate::train) struct EpisodeProgram {
    pub program: Program,
    pub of: Episodes,
    pub env: EnvDef,
    /// True if the episodes are played after adaptation.
    adapts: bool,
    /// The algorithms of the policies, if they were named, and the numbers by which they differ.
    rows: Option<RowAlgorithms>,
    numbers: RowNumbers,
}

impl EpisodeProgram {
    pub fn new(device: &Device, env: &EnvDef, algorithm: &dyn Algorithm, of: Episodes) -> Result<EpisodeProgram> {
        check(algorithm, of)?;
        let program = Program::new(device, |cx| trace(cx, env, algorithm, of))?;
        let adapts = algorithm.course().family != Family::SingleTask;
        Ok(EpisodeProgram { program, of, env: env.clone(), adapts, rows: None, numbers: RowNumbers::default() })
    }

    /// Plays policies of several algorithms, one for each policy, which differ in numbers alone.
    pub fn of_rows(device: &Device, env: &EnvDef, rows: RowAlgorithms, of: Episodes) -> Result<EpisodeProgram> {
        #[cfg(not(target_arch = "wasm32"))]
        if rows.differ() {
            check(&**rows.first(), of)?;
            let sizes = [rows.rows(), rows.variants.len()];
            let (program, numbers) =
                Program::joined(device, sizes, &mut |variant, cx| trace(cx, env, &*rows.variants[variant], of))?;
            let adapts = rows.first().course().family != Family::SingleTask;
            return Ok(EpisodeProgram { program, of, env: env.clone(), adapts, rows: Some(rows), numbers });
        }
        let program = EpisodeProgram::new(device, env, &**rows.first(), of)?;
        Ok(EpisodeProgram { rows: Some(rows), ..program })
    }

    /// Checks that policies of these algorithms can be played by one program.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn check_rows(env: &EnvDef, rows: &RowAlgorithms, of: Episodes) -> Result<()> {
        let trace = &mut |variant: usize, cx: &mut Context| trace(cx, env, &*rows.variants[variant], of);
        Program::join(rows.variants.len(), rows.rows(), trace).map(drop)
    }

    /// Tells whether it plays policies of these algorithms.
    pub fn plays(&self, rows: &RowAlgorithms) -> bool {
        self.rows.as_ref().is_some_and(|own| own.same_as(rows))
    }

    pub fn run(&mut self, device: &Device, policy: &PolicyArrays, keys: &[Key]) -> Result<crate::program::Outputs> {
        let key = device.array_u32(&[self.of.seeds, 2], keys.as_flattened())?;
        let mut inputs = vec![("key", &key)];
        inputs.extend(policy.arrays.iter().map(|(name, array)| (*name, array)));
        let mut state = State::new();
        if let Some(rows) = &self.rows {
            let tables = self.numbers.arrays(device, &rows.of_rows, &[])?;
            tables.into_iter().for_each(|(name, array)| state.insert(name, array));
        }
        self.program.run(&state, &inputs, &[])
    }

    /// Plays all episodes of each stacked policy.
    pub async fn episodes(
        &mut self,
        device: &Device,
        policy: &PolicyArrays,
        keys: &[Key],
    ) -> Result<Vec<Vec<Episode>>> {
        let out = self.run(device, policy, keys)?;
        let returns = CompensatedSum::read(&device.read(out.get("returns")?).await?);
        let lost = device.read(out.get("lost")?).await?;
        expect_finite(&lost, &returns, |row| format!("episode {}", row % self.of.episodes))?;
        let lengths = device.read_u32(out.get("lengths")?).await?;
        let terminated = device.read_u32(out.get("terminated")?).await?;
        let mut all: Vec<Episode> = returns
            .into_iter()
            .zip(lengths)
            .zip(terminated)
            .map(|((ret, length), terminated)| Episode { ret, length, terminated: terminated != 0, adapted: None })
            .collect();
        if self.adapts {
            let outcomes = meta_test::read_outcomes(device, &out, meta_test::ADAPTED).await?;
            all.iter_mut().zip(outcomes).for_each(|(episode, outcome)| episode.adapted = Some(outcome));
        }
        Ok(all.chunks(self.of.episodes).map(<[Episode]>::to_vec).collect())
    }
}

/// Checks that an algorithm's policies can play these episodes.
fn check(algorithm: &dyn Algorithm, of: Episodes) -> Result<()> {
    if let Some(sizes) = of.sizes {
        if algorithm.course().family == Family::SingleTask {
            return Err(no_meta_test());
        }
        sizes.validate(algorithm.course().rounds)?;
    }
    if of.episodes == 0 || of.episodes > MAX_EPISODES {
        return Err(bad_count(of.episodes));
    }
    Ok(())
}

/// Traces the program that plays `episodes` episodes of each of `seeds` policies side by side, without a device.
///
/// # Errors
/// If the environment or the settings do not fit.
pub fn evaluation_trace(setup: &Setup, episodes: usize, deterministic: bool) -> Result<Trace> {
    let of = Evaluation::Episodes(episodes).of(setup.seeds.len(), deterministic);
    let env = setup.env.device()?;
    Program::trace_of(|cx| trace(cx, env, &**setup.fitted(), of))
}

/// Traces `[S, E]` episodes. Policies that adapt play each on a held-out task of its own, after adapting to it.
fn trace(cx: &mut Context, env: &EnvDef, algorithm: &dyn Algorithm, of: Episodes) {
    let held = algorithm.declare_policy(cx, of.seeds);
    let key = cx.input("key", &[of.seeds, 2], DType::U32);
    let key = [key.slice(1, 0, 1), key.slice(1, 1, 2)];
    if algorithm.course().family != Family::SingleTask {
        return meta_test::trace(cx, env, algorithm, (&held, key), of);
    }
    let (policy, acting) = (algorithm.policy(), algorithm.start(&held, of.episodes));
    let how = if of.deterministic { How::Exploit } else { How::Explore };
    let (rows, horizon) = ([of.seeds, of.episodes], env.spec().horizon);
    // Each episode has a task of its own.
    let tasks = (!env.spec().task.is_empty()).then(|| {
        let key = fold_in(key, Tensor::constant_u32(streams::HELD_OUT_TASK));
        TaskSource::Fresh.trace(env, key, Tensor::constant_u32(0), of.episodes)
    });
    let play = Play { env, policy: &*policy, acting: &acting, how, rows, tasks, keys: Keys::of(key) };
    if of.record {
        let steps = play.episodes(Amount::Episodes(1), horizon).steps;
        let paths = steps.paths();
        cx.output("returns", paths.path_return_sums().parts());
        cx.output("lengths", paths.path_lengths().to_u32());
        cx.output("lost", paths.path_most(steps.lost));
        cx.output("terminated", paths.path_most(steps.terminated.to_f32()).to_u32());
        cx.output("states", steps.state);
        cx.output("actions", steps.played);
        cx.output("rewards", steps.reward);
        if let Some(task) = tasks {
            cx.output("task", task);
        }
    } else {
        let totals = play.totals(horizon);
        cx.output("returns", totals.returns.parts());
        cx.output("lengths", totals.lengths);
        cx.output("terminated", totals.terminated);
        cx.output("lost", totals.lost);
    }
}
