//! Where environments are.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use super::{Executor, FleetSize, HostEnv, IterativeExecutor};
use crate::env::{EnvDef, EnvSpec, find, own_name, time_limit};
use crate::{Error, Result};

/// Where the environments of training, evaluation and adaptation are: in programs, or on the host.
///
/// All that plays takes one, and tells the two apart nowhere else.
#[derive(Clone, Debug)]
pub enum EnvPlace {
    /// Stepped inside of programs, on the device.
    Device(EnvDef),
    /// Stepped outside of programs by an [`Executor`]: a simulator, a game, a page's script.
    Host(HostPlace),
}

/// An environment of the host: its spec, and a maker of executors that run it.
#[derive(Clone)]
pub struct HostPlace {
    spec: EnvSpec,
    make: Rc<MakeExecutor>,
}

/// Makes an executor that runs so many environments.
type MakeExecutor = dyn Fn(FleetSize) -> Result<Box<dyn Executor>>;

impl fmt::Debug for HostPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HostPlace").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl From<EnvDef> for EnvPlace {
    fn from(env: EnvDef) -> EnvPlace {
        EnvPlace::Device(env)
    }
}

impl From<&EnvDef> for EnvPlace {
    fn from(env: &EnvDef) -> EnvPlace {
        EnvPlace::Device(env.clone())
    }
}

impl From<&EnvPlace> for EnvPlace {
    fn from(place: &EnvPlace) -> EnvPlace {
        place.clone()
    }
}

/// An executor that was made beforehand: whoever asks first gets it, and nobody else.
impl From<Box<dyn Executor>> for EnvPlace {
    fn from(executor: Box<dyn Executor>) -> EnvPlace {
        let spec = executor.fleet().spec.clone();
        let only = RefCell::new(Some(executor));
        EnvPlace::host(spec, move |_| {
            let taken = || Error::config("executor", "the only one is taken; give a maker of executors");
            only.take().ok_or_else(taken)
        })
    }
}

impl<E: Executor + 'static> From<Box<E>> for EnvPlace {
    fn from(executor: Box<E>) -> EnvPlace {
        EnvPlace::from(executor as Box<dyn Executor>)
    }
}

impl EnvPlace {
    /// Environments of the host with this spec, which executors of `make` run: as many as each call asks for.
    ///
    /// An [`Executor`] of one's own may step all of its environments in a single call, as a vectorised simulator or a pool of processes
    /// does.
    pub fn host(spec: EnvSpec, make: impl Fn(FleetSize) -> Result<Box<dyn Executor>> + 'static) -> EnvPlace {
        EnvPlace::Host(HostPlace { spec, make: Rc::new(make) })
    }

    /// Environments of the host that `make` gives one by one, for their numbers; they are stepped one after the other.
    ///
    /// # Errors
    /// If `make` fails, which is called here for the spec.
    pub fn of_envs(make: impl Fn(usize) -> Result<Box<dyn HostEnv>> + 'static) -> Result<EnvPlace> {
        let spec = make(0)?.spec().clone();
        Ok(EnvPlace::host(spec, move |FleetSize { tasks, envs_per_task, horizon }| {
            Ok(Box::new(IterativeExecutor::new(tasks, envs_per_task, horizon, &make)?))
        }))
    }

    /// The place of the environment of that name: one of `own`, or a built-in environment. Behind its name, and a colon, each takes
    /// `time_limit`.
    ///
    /// # Errors
    /// As [`env::find`](crate::env::find).
    pub fn find(name: &str, own: &[EnvPlace]) -> Result<EnvPlace> {
        let mut programs = Vec::new();
        for place in own {
            match place {
                EnvPlace::Device(env) => programs.push(env.clone()),
                EnvPlace::Host(_) => {
                    if let Some(found) = place.named(name)? {
                        return Ok(found);
                    }
                }
            }
        }
        find(name, &programs).map(EnvPlace::Device)
    }

    /// This environment under `name`, which may ask for a time limit; none if it is the name of another.
    ///
    /// # Errors
    /// [`Error::Config`] for a time limit that cannot be.
    pub fn named(&self, name: &str) -> Result<Option<EnvPlace>> {
        if self.spec().name == name {
            return Ok(Some(self.clone()));
        }
        let Some(limit) = time_limit(name).filter(|_| self.spec().name == own_name(name)) else { return Ok(None) };
        Ok(Some(match self {
            EnvPlace::Device(env) => EnvPlace::Device(env.with_time_limit(limit)?),
            EnvPlace::Host(HostPlace { spec, make }) => {
                EnvPlace::Host(HostPlace { spec: spec.clone().with_time_limit(limit)?, make: make.clone() })
            }
        }))
    }

    /// Spaces, time limit and task parameters.
    #[must_use]
    pub fn spec(&self) -> &EnvSpec {
        match self {
            EnvPlace::Device(env) => env.spec(),
            EnvPlace::Host(host) => &host.spec,
        }
    }

    /// Numbers of an environment's state; none where environments keep their states to themselves, on the host.
    #[must_use]
    pub fn state_len(&self) -> Option<usize> {
        match self {
            EnvPlace::Device(env) => Some(env.state_len()),
            EnvPlace::Host(_) => None,
        }
    }

    /// True where environments are on the host.
    #[must_use]
    pub fn on_host(&self) -> bool {
        matches!(self, EnvPlace::Host(_))
    }

    /// The environment of programs.
    ///
    /// # Errors
    /// [`Error::Config`] if it is one of the host.
    pub fn device(&self) -> Result<&EnvDef> {
        match self {
            EnvPlace::Device(env) => Ok(env),
            EnvPlace::Host(host) => {
                let problem = format!("`{}` is played on the host, and this needs one of programs", host.spec.name);
                Err(Error::config("env", problem))
            }
        }
    }

    /// An executor that runs so many environments; none where they are in programs.
    ///
    /// # Errors
    /// If it cannot be made, or its environments have other spaces.
    pub fn executor(&self, size: FleetSize) -> Result<Option<Box<dyn Executor>>> {
        match self {
            EnvPlace::Device(_) => Ok(None),
            EnvPlace::Host(host) => host.executor(size).map(Some),
        }
    }
}

impl HostPlace {
    /// Spaces, time limit and task parameters.
    #[must_use]
    pub fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    /// An executor that runs so many environments.
    ///
    /// # Errors
    /// If it cannot be made, or its environments have other spaces.
    pub fn executor(&self, size: FleetSize) -> Result<Box<dyn Executor>> {
        let executor = (self.make)(size)?;
        let fleet = executor.fleet();
        let (own, other) = (&self.spec, &fleet.spec);
        let alike = own.observation.len() == other.observation.len()
            && own.action == other.action
            && own.task.len() == other.task.len();
        if !alike {
            let problem = format!("the executor plays `{}`, whose spaces are not those of `{}`", other.name, own.name);
            return Err(Error::config("executor", problem));
        }
        Ok(executor)
    }
}
