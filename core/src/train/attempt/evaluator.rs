//! Evaluation of trained policies, on random numbers that training never touches.

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

/// The policy of a snapshot, for evaluation. No function trains or changes it.
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
    /// Loads the policy of a snapshot of either kind, of a built-in algorithm on a built-in environment.
    ///
    /// # Errors
    /// [`Error::Snapshot`] if the bytes are not a snapshot that this version can read; [`Error::Memory`] for more than
    /// fit.
    pub fn load(device: &Device, bytes: &[u8]) -> Result<Evaluator> {
        Evaluator::load_with(device, Own::default(), bytes)
    }

    /// Loads the policy of a snapshot that may be of environments and algorithms in `own`.
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

    /// Makes an evaluator of a seed's policy in a session. It does not know how many steps the policy was trained for.
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

    /// The device that the policy is on.
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

    /// The policy's arrays.
    pub(in crate::train) fn policy(&self) -> &PolicyArrays {
        &self.policy
    }

    /// The name of the algorithm that trained the policy.
    pub fn algorithm(&self) -> &str {
        self.def.name
    }

    /// The family of the algorithm: the way in which its policy adapts to a task.
    pub fn family(&self) -> Family {
        self.def.family
    }

    /// The number of policies that were trained side by side as particles; 0 if there is a single policy.
    pub fn particles(&self) -> usize {
        self.algorithm.particles().len()
    }

    /// Chooses the particle that is played from now on, counted from 0, instead of the one that its algorithm considers
    /// the best.
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

    /// The seed that the policy was trained with.
    pub fn trained_seed(&self) -> u64 {
        self.header.seed
    }

    /// The number of environment steps that the policy was trained for.
    pub fn env_steps(&self) -> u64 {
        self.env_steps
    }

    /// Plays episodes whose first states `seed` names, or those of a meta-test; by the deterministic actions if
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

    /// The policy in the form that [`MetaEvaluator`](crate::meta::MetaEvaluator) takes, for meta-tests on environments
    /// of the host.
    ///
    /// # Errors
    /// [`Error::Config`] if the policy does not adapt.
    pub fn meta_algorithm(&self) -> Result<Adaptive> {
        match self.family() {
            Family::SingleTask => Err(self.fixed()),
            _ => Ok(self.adaptive()),
        }
    }

    /// The policy in the form that environments of the host take.
    pub(in crate::train) fn adaptive(&self) -> Adaptive {
        Adaptive::new(&self.device, self.algorithm.clone(), self.policy.arrays.clone())
    }

    /// The error about a policy that does not adapt.
    pub(in crate::train) fn fixed(&self) -> Error {
        let problem = format!("a policy of {} does not adapt; evaluate it instead", self.header.algorithm);
        Error::config("algorithm", problem)
    }
}
