//! Trained policies, for evaluation on random numbers that training never touches.

use std::rc::Rc;

use toml::Table;

use super::episode_program::EpisodeProgram;
use super::evaluation::{Episode, Evaluation, eval_key};
use super::under_test::PolicyArrays;
use crate::algo::{Algorithm, AlgorithmDef, Family};
use crate::host::EnvPlace;
use crate::meta::Adaptive;
use crate::train::saved::rules::RunLength;
use crate::train::saved::seed_array::SeedArray;
use crate::train::saved::snapshot::{self, Header, SnapshotKind};
use crate::train::saved::tensors;
use crate::train::saved::wrong::wrong;
use crate::train::setup::Setup;
use crate::train::setup::own::Own;
use crate::{Device, Error, Result};

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
    /// [`Error::Snapshot`] if the bytes are not a snapshot that this version can read; [`Error::Memory`] for more than
    /// fit.
    pub fn load(device: &Device, bytes: &[u8]) -> Result<Evaluator> {
        Evaluator::load_with(device, Own::default(), bytes)
    }

    /// The policy of a snapshot that may have been made with environments and algorithms of the caller's.
    ///
    /// # Errors
    /// As [`Evaluator::load`].
    pub fn load_with<'a>(device: &Device, own: impl Into<Own<'a>>, bytes: &[u8]) -> Result<Evaluator> {
        let own = own.into();
        let _copy = device.take_on_host(bytes.len() as u64)?;
        let (header, def, tensors) = snapshot::decode(bytes, own.algorithms)?;
        let env = own.environment(&header)?;
        let fitted = def.fit(&header.config, env.spec()).map_err(|e| wrong(e.to_string()))?;
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

    /// The policy as [`MetaEvaluator`](crate::meta::MetaEvaluator) takes it, for meta-tests on environments of the
    /// host.
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
