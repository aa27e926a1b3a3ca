//! Episodes of a trained policy, on random numbers that training never touches.

mod trajectory;

use std::fmt::Debug;
use std::rc::Rc;

use toml::Table;

use super::adapted::{Adaptation, MetaTest};
use super::meta_test;
use crate::algo::{Algorithm, AlgorithmDef, Family};
use crate::dist::fold_in;
use crate::env::EnvDef;
use crate::host::EnvPlace;
use crate::meta::{Adaptive, EpisodeOutcome, TestSizes};
use crate::play::{Amount, BROKEN, Keys, Play};
use crate::policy::How;
use crate::program::{Plan, PlanOptions};
use crate::rng::{self, Key, key_from_seed, streams};
use crate::task::TaskSource;
use crate::train::saved::rules::RunLength;
use crate::train::saved::snapshot::{self, Header, SnapshotKind};
use crate::train::saved::tensors::{self, SeedArray};
use crate::train::setup::Setup;
use crate::train::setup::own::Own;
use crate::{Array, Context, DType, Device, Error, Program, Result, State, Tensor};

pub use trajectory::Trajectory;

/// One evaluation episode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Episode {
    /// Sum of rewards.
    pub ret: f64,
    /// Steps.
    pub length: u32,
    /// True if it ended by itself and not by the time limit.
    pub terminated: bool,
    /// Of policies that adapt, in programs: the episode after adaptation, which is the last one of a trial, as
    /// [`MetaEvaluator`](crate::meta::MetaEvaluator) measures it.
    pub adapted: Option<EpisodeOutcome>,
}

/// The arrays of policies, stacked over seeds: inputs of evaluation programs.
#[derive(Clone, Debug)]
pub(in crate::train) struct PolicyArrays {
    /// As [`Algorithm::policy_entries`] names them, with a leading axis of seeds.
    pub arrays: Vec<(&'static str, Array)>,
}

/// Sizes of a program of episodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::train) struct Episodes {
    /// Stacked policies (S).
    pub seeds: usize,
    /// Episodes of each (E).
    pub episodes: usize,
    /// The most probable actions instead of draws.
    pub deterministic: bool,
    /// Keep every step.
    pub record: bool,
    /// Those of a meta-test whose test episodes these are.
    pub sizes: Option<TestSizes>,
}

/// A policy made ready to run episodes.
#[derive(Debug)]
pub(in crate::train) struct EpisodeProgram {
    program: Program,
    pub of: Episodes,
    env: EnvDef,
    /// The episodes are played after adaptation.
    adapts: bool,
}

/// The episodes that an evaluation plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluation {
    /// A number of episodes; of policies that adapt, a number of tasks, each with one episode or trial after adaptation
    /// as in training.
    Episodes(usize),
    /// The test episodes of a meta-test, task by task, in its own sizes.
    MetaTest(TestSizes),
}

impl From<usize> for Evaluation {
    fn from(episodes: usize) -> Self {
        Evaluation::Episodes(episodes)
    }
}

impl From<TestSizes> for Evaluation {
    fn from(sizes: TestSizes) -> Self {
        Evaluation::MetaTest(sizes)
    }
}

impl Evaluation {
    /// How many episodes are measured.
    #[must_use]
    pub fn episodes(self) -> usize {
        match self {
            Evaluation::Episodes(episodes) => episodes,
            Evaluation::MetaTest(sizes) => sizes.episodes(),
        }
    }

    /// Its program's sizes for so many stacked policies.
    pub(in crate::train) fn of(self, seeds: usize, deterministic: bool) -> Episodes {
        let sizes = match self {
            Evaluation::Episodes(_) => None,
            Evaluation::MetaTest(sizes) => Some(sizes),
        };
        Episodes { seeds, episodes: self.episodes(), deterministic, record: false, sizes }
    }
}

/// Most episodes of one evaluation.
pub const MAX_EPISODES: usize = 1 << 20;

impl EpisodeProgram {
    pub fn new(device: &Device, env: &EnvDef, algorithm: &dyn Algorithm, of: Episodes) -> Result<EpisodeProgram> {
        if let Some(sizes) = of.sizes {
            sizes.validate()?;
            if algorithm.course().family == Family::SingleTask {
                return Err(no_meta_test());
            }
        }
        if of.episodes == 0 || of.episodes > MAX_EPISODES {
            return Err(bad_count(of.episodes));
        }
        let program = Program::new(device, |cx| trace(cx, env, algorithm, of))?;
        let adapts = algorithm.course().family != Family::SingleTask;
        Ok(EpisodeProgram { program, of, env: env.clone(), adapts })
    }

    fn run(&mut self, device: &Device, policy: &PolicyArrays, keys: &[Key]) -> Result<crate::program::Outputs> {
        let key = device.array_u32(&[self.of.seeds, 2], keys.as_flattened())?;
        let mut inputs = vec![("key", &key)];
        inputs.extend(policy.arrays.iter().map(|(name, array)| (*name, array)));
        self.program.run(&State::new(), &inputs, &[])
    }

    /// All episodes of each stacked policy.
    pub async fn episodes(
        &mut self,
        device: &Device,
        policy: &PolicyArrays,
        keys: &[Key],
    ) -> Result<Vec<Vec<Episode>>> {
        let out = self.run(device, policy, keys)?;
        let returns = device.read(out.get("returns")?).await?;
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

/// An error for the first row in which something was [lost](crate::play::Steps::lost), or whose return is no number.
pub(in crate::train) fn expect_finite(lost: &[f64], returns: &[f64], place: impl Fn(usize) -> String) -> Result<()> {
    for (row, (code, ret)) in lost.iter().zip(returns).enumerate() {
        let problem = match (*code, ret.is_finite()) {
            (0.0, true) => continue,
            (0.0, false) => "the return is not finite; look at the environment's rewards",
            (2.0, _) => BROKEN,
            _ => "the environment shows NaN or infinite observations; try `check_env` on it",
        };
        return Err(Error::NonFinite(format!("{}: {problem}", place(row))));
    }
    Ok(())
}

/// The error that a policy which does not adapt has no meta-test.
pub(in crate::train) fn no_meta_test() -> Error {
    let problem = "the algorithm does not adapt to tasks, so that there is no meta-test; leave it out";
    Error::config("n_test_tasks", problem)
}

pub(in crate::train) fn bad_count(episodes: usize) -> Error {
    Error::config("episodes", format!("{episodes} is not in 1 to {MAX_EPISODES}"))
}

/// How `episodes` episodes of each of `seeds` policies would be run side by side, without a device.
///
/// # Errors
/// If the environment or the settings do not fit.
pub fn evaluation_plan(setup: &Setup, episodes: usize, deterministic: bool) -> Result<Plan> {
    let of = Evaluation::Episodes(episodes).of(setup.seeds.len(), deterministic);
    let env = setup.env.device()?;
    Program::plan_of(PlanOptions::default(), |cx| trace(cx, env, &**setup.fitted(), of))
}

/// `[S, E]` episodes; of policies that adapt, each on a held-out task of its own, after they have adapted to it.
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
        cx.output("returns", paths.path_returns());
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
        cx.output("returns", totals.returns);
        cx.output("lengths", totals.lengths);
        cx.output("terminated", totals.terminated);
        cx.output("lost", totals.lost);
    }
}

/// A policy and held-out tasks for it.
#[derive(Clone, Copy, Debug)]
pub(in crate::train) struct UnderTest<'a> {
    pub device: &'a Device,
    pub env: &'a EnvDef,
    pub policy: &'a PolicyArrays,
    /// Names episodes, and tasks where none are given.
    pub key: Key,
    /// Tasks `[M, D]`.
    pub given: Option<&'a Array>,
}

impl UnderTest<'_> {
    /// Runs a program on the policy, its key and the tasks.
    pub fn run(&self, program: &mut Program) -> Result<crate::program::Outputs> {
        let key = self.device.array_u32(&[1, 2], &self.key)?;
        let mut inputs = vec![("key", &key)];
        inputs.extend(self.policy.arrays.iter().map(|(name, array)| (*name, array)));
        inputs.extend(self.given.map(|tasks| ("given", tasks)));
        program.run(&State::new(), &inputs, &[])
    }

    /// The given tasks, if any, in a trace.
    pub fn declare(&self, cx: &mut Context) -> Option<Tensor> {
        self.given.map(|tasks| cx.input("given", &tasks.shape, DType::F32))
    }
}

/// The policy of a snapshot, for evaluation. Nothing here trains or changes it.
#[derive(Debug)]
pub struct Evaluator {
    device: Device,
    env: EnvPlace,
    header: Header,
    def: &'static AlgorithmDef,
    algorithm: Rc<dyn Algorithm>,
    env_steps: u64,
    policy: PolicyArrays,
    program: Option<EpisodeProgram>,
}

impl Evaluator {
    /// The policy of a snapshot of either kind, of a built-in algorithm on a built-in environment.
    ///
    /// # Errors
    /// [`Error::Snapshot`] if the bytes are not a snapshot that this version can read; [`Error::Memory`] for more than fit.
    pub fn load(device: &Device, bytes: &[u8]) -> Result<Evaluator> {
        Evaluator::load_with(device, Own::default(), bytes)
    }

    /// The same with environments and algorithms of the caller's.
    ///
    /// # Errors
    /// As [`Evaluator::load`].
    pub fn load_with<'a>(device: &Device, own: impl Into<Own<'a>>, bytes: &[u8]) -> Result<Evaluator> {
        let own = own.into();
        let _copy = device.take_on_host(bytes.len() as u64)?;
        let (header, def, tensors) = snapshot::decode(bytes, own.algorithms)?;
        let env = own.environment(&header)?;
        let fitted = def.fit(&header.config, env.spec()).map_err(|e| snapshot::wrong(e.to_string()))?;
        let algorithm: Rc<dyn Algorithm> = fitted.into();
        let env_steps = snapshot::steps_made(&header, &*algorithm)?;
        let array = |SeedArray { entry, words }| {
            let shape = [&[1], &entry.shape[..]].concat();
            Ok((entry.name, device.array_f32(&shape, bytemuck::cast_slice(&words))?))
        };
        let made = RunLength { iteration: header.iteration, made: env_steps };
        let arrays = tensors::read(&tensors, header.format, &algorithm.policy_state(), algorithm.layout(), made)?;
        let arrays = arrays.into_iter().map(array).collect::<Result<_>>()?;
        let (device, policy) = (device.clone(), PolicyArrays { arrays });
        Ok(Evaluator { device, env, header, def, algorithm, env_steps, policy, program: None })
    }

    /// The policy that a seed of a session has now, without what only its snapshot tells.
    pub(in crate::train) fn of_session(device: &Device, setup: &Setup, seed: u64, policy: PolicyArrays) -> Evaluator {
        let (def, env) = (setup.algorithm, setup.env.clone());
        let header = Header::new(SnapshotKind::Policy, def.name, &env.spec().name, seed, setup.table());
        let (device, algorithm) = (device.clone(), setup.fitted().clone());
        Evaluator { device, env, header, def, algorithm, env_steps: 0, policy, program: None }
    }

    /// The environment.
    pub fn env(&self) -> &EnvPlace {
        &self.env
    }

    /// The device that it is on.
    pub(in crate::train) fn on(&self) -> &Device {
        &self.device
    }

    /// The settings that the algorithm looks at.
    pub fn config(&self) -> &Table {
        &self.header.config
    }

    /// The algorithm, fitted to the environment.
    pub(in crate::train) fn fitted(&self) -> &dyn Algorithm {
        &*self.algorithm
    }

    /// Its arrays.
    pub(in crate::train) fn policy(&self) -> &PolicyArrays {
        &self.policy
    }

    /// Name of the algorithm that trained it.
    pub fn algorithm(&self) -> &str {
        self.def.name
    }

    /// The family of its algorithm: the means by which it comes to a task.
    pub fn family(&self) -> Family {
        self.def.family
    }

    /// The number of policies that were trained side by side as particles; 0 if there is a single policy.
    pub fn particles(&self) -> usize {
        self.algorithm.particles().len()
    }

    /// From now on plays this particle, counted from 0, and not the one that its algorithm holds for the best.
    ///
    /// # Errors
    /// [`Error::Config`] if there is no such particle, or there are none.
    pub fn choose_particle(&mut self, index: usize) -> Result<()> {
        let particles = self.algorithm.particles();
        let (name, last) = (self.def.name, particles.len().saturating_sub(1));
        let chosen = particles.into_iter().nth(index).ok_or_else(|| {
            let problem = match self.particles() {
                0 => format!("a policy of {name} has no particles"),
                1 => format!("there is no number {index}; the only particle of this policy is 0"),
                _ => format!("there is no number {index}; this policy of {name} has the particles 0 to {last}"),
            };
            Error::config("particle", problem)
        })?;
        (self.algorithm, self.program) = (chosen, None);
        Ok(())
    }

    /// The seed that it was trained with.
    pub fn trained_seed(&self) -> u64 {
        self.header.seed
    }

    /// Environment steps that it was trained for.
    pub fn env_steps(&self) -> u64 {
        self.env_steps
    }

    /// Episodes from first states that `seed` names, or those of a meta-test; the most probable actions if
    /// `deterministic`.
    ///
    /// # Errors
    /// [`Error::Config`] for no episodes or too many, and for a meta-test of a policy that does not adapt; or if the
    /// device fails.
    pub async fn evaluate(
        &mut self,
        played: impl Into<Evaluation>,
        seed: u64,
        deterministic: bool,
    ) -> Result<Vec<Episode>> {
        let played = played.into();
        if let EnvPlace::Host(host) = &self.env {
            return self.evaluate_on_host(host, played, eval_key(seed), deterministic).await;
        }
        let of = played.of(1, deterministic);
        let mut program = match self.program.take().filter(|program| program.of == of) {
            Some(program) => program,
            None => EpisodeProgram::new(&self.device, self.env.device()?, self.fitted(), of)?,
        };
        let mut all = program.episodes(&self.device, &self.policy, &[eval_key(seed)]).await?;
        self.program = Some(program);
        Ok(all.pop().unwrap_or_default())
    }

    /// Tests the policy on held-out tasks: before adaptation and after each gradient step of it, or episode by episode
    /// of trials in which its memory adapts.
    ///
    /// # Errors
    /// [`Error::Config`] if the policy does not adapt, or for no tasks or rollouts; or if the device fails.
    pub async fn adapt(&self, test: MetaTest) -> Result<Adaptation> {
        match &self.env {
            EnvPlace::Device(_) => self.adapt_on(test, None).await,
            EnvPlace::Host(host) => self.adapt_in(host.executor(self.test_fleet(&test)?)?, None, test).await,
        }
    }

    /// Tests the policy on tasks of the caller's, `[D]` each, instead of `test.tasks` that `test.seed` names.
    ///
    /// # Errors
    /// As [`adapt`](Self::adapt), or if a task has not one number for each of the environment's parameters.
    pub async fn adapt_to<T: Copy + Debug + Into<f64>>(&self, tasks: &[Vec<T>], test: MetaTest) -> Result<Adaptation> {
        let width = self.env.spec().task.len();
        self.expect_tasks(tasks)?;
        let test = MetaTest { tasks: tasks.len(), ..test };
        let tasks: Vec<Vec<f64>> = tasks.iter().map(|task| task.iter().map(|x| (*x).into()).collect()).collect();
        if let EnvPlace::Host(host) = &self.env {
            return self.adapt_in(host.executor(self.test_fleet(&test)?)?, Some(tasks), test).await;
        }
        let given = self.device.array(&[tasks.len(), width], &tasks.concat())?;
        self.adapt_on(test, Some(&given)).await
    }

    /// Checks that tasks of the caller's are such.
    pub(in crate::train) fn expect_tasks<T: Copy + Debug + Into<f64>>(&self, tasks: &[Vec<T>]) -> Result<()> {
        let spec = self.env.spec();
        let width = spec.task.len();
        let fits = |task: &&Vec<T>| task.len() == width && task.iter().all(|x| (*x).into().is_finite());
        match tasks.iter().find(|task| !fits(task)) {
            None => Ok(()),
            Some(task) => {
                let problem = format!("{task:?} is no task of `{}`, which has {width} finite numbers", spec.name);
                Err(Error::config("tasks", problem))
            }
        }
    }

    async fn adapt_on(&self, test: MetaTest, given: Option<&Array>) -> Result<Adaptation> {
        let trial = self.trial(&test, false)?;
        let device = &self.device;
        let (env, policy, key) = (self.env.device()?, &self.policy, eval_key(test.seed));
        meta_test::adapt(UnderTest { device, env, policy, key, given }, self.fitted(), trial).await
    }

    /// The policy as [`MetaEvaluator`](crate::meta::MetaEvaluator) takes it, for meta-tests on environments of the host.
    ///
    /// # Errors
    /// [`Error::Config`] if the policy does not adapt.
    pub fn meta_algorithm(&self) -> Result<Adaptive> {
        match self.family() {
            Family::SingleTask => Err(self.fixed()),
            _ => Ok(self.adaptive()),
        }
    }

    /// The policy, for environments of the host.
    pub(in crate::train) fn adaptive(&self) -> Adaptive {
        Adaptive::new(&self.device, self.algorithm.clone(), self.policy.arrays.clone())
    }

    /// The error that it does not adapt.
    pub(in crate::train) fn fixed(&self) -> Error {
        let problem = format!("a policy of {} does not adapt; evaluate it instead", self.header.algorithm);
        Error::config("algorithm", problem)
    }
}

pub(in crate::train) fn eval_key(seed: u64) -> Key {
    rng::fold_in(key_from_seed(seed), streams::EVAL)
}
