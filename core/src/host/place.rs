//! The place of environments: inside of programs, or on the host.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use super::{Executor, FleetSize, HostEnv, IterativeExecutor};
use crate::env::{EnvDef, EnvSpec, find, own_name, time_limit};
use crate::{Error, Result};

/// The environments of training, evaluation and adaptation, and the place where they are stepped: a program, or the
/// host.
///
/// Code that plays takes one, and tells the two apart nowhere else.
#[derive(Clone, Debug)]
pub enum EnvPlace {
    /// Stepped inside of programs, on the device.
    Device(EnvDef),
    /// Stepped outside of programs by an [`Executor`]: a simulator, a game, a page's script.
    Host(HostPlace),
}

/// An environment of the host: its spec, and a function that makes executors of it.
#[derive(Clone)]
pub struct HostPlace {
    spec: Rc<EnvSpec>,
    make: Rc<MakeExecutor>,
    /// Makes executors whose tasks are held out, where these are others than those of training.
    make_held_out: Option<Rc<MakeExecutor>>,
}

/// Makes an executor of the size that is asked for.
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

/// Wraps an executor that was made beforehand: the first request gets it, and later ones an error.
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
    /// Environments of the host with this spec. `make` makes an executor of the size that each call asks for.
    ///
    /// An [`Executor`] of one's own may step all of its environments in a single call, as a vectorised simulator or a
    /// pool of processes does.
    pub fn host(spec: EnvSpec, make: impl Fn(FleetSize) -> Result<Box<dyn Executor>> + 'static) -> EnvPlace {
        EnvPlace::Host(HostPlace { spec: Rc::new(spec), make: Rc::new(make), make_held_out: None })
    }

    /// Environments of the host whose tests have tasks of their own: `make_held_out` makes executors whose
    /// [`sample_tasks`](Executor::sample_tasks) draws tasks that training never plays. Otherwise held-out tasks are
    /// further draws from the same distribution.
    pub fn host_with_held_out(
        spec: EnvSpec,
        make: impl Fn(FleetSize) -> Result<Box<dyn Executor>> + 'static,
        make_held_out: impl Fn(FleetSize) -> Result<Box<dyn Executor>> + 'static,
    ) -> EnvPlace {
        EnvPlace::Host(HostPlace {
            spec: Rc::new(spec),
            make: Rc::new(make),
            make_held_out: Some(Rc::new(make_held_out)),
        })
    }

    /// Environments of the host that `make` makes one by one from their numbers; they are stepped one after the other.
    ///
    /// # Errors
    /// If `make` fails, which is called here once to learn the spec.
    pub fn of_envs(make: impl Fn(usize) -> Result<Box<dyn HostEnv>> + 'static) -> Result<EnvPlace> {
        let spec = make(0)?.spec().clone();
        Ok(EnvPlace::host(spec, move |FleetSize { tasks, envs_per_task, horizon }| {
            Ok(Box::new(IterativeExecutor::new(tasks, envs_per_task, horizon, &make)?))
        }))
    }

    /// Finds an environment by name: a place among `own`, or a built-in environment. A name may end with a
    /// time limit, as in `walk:time_limit=50`.
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

    /// This environment, with the time limit that `name` may ask for; none if `name` is that of another environment.
    ///
    /// # Errors
    /// [`Error::Config`] for an invalid time limit.
    pub fn named(&self, name: &str) -> Result<Option<EnvPlace>> {
        if self.spec().name == name {
            return Ok(Some(self.clone()));
        }
        let Some(limit) = time_limit(name).filter(|_| self.spec().name == own_name(name)) else { return Ok(None) };
        Ok(Some(match self {
            EnvPlace::Device(env) => EnvPlace::Device(env.with_time_limit(limit)?),
            EnvPlace::Host(host) => EnvPlace::Host(HostPlace {
                spec: Rc::new((*host.spec).clone().with_time_limit(limit)?),
                ..host.clone()
            }),
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

    /// The numbers of an environment's state; none on the host, where environments keep their states to themselves.
    #[must_use]
    pub fn state_len(&self) -> Option<usize> {
        match self {
            EnvPlace::Device(env) => Some(env.state_len()),
            EnvPlace::Host(_) => None,
        }
    }

    /// The names of these numbers; empty on the host.
    #[must_use]
    pub fn state_names(&self) -> Vec<String> {
        match self {
            EnvPlace::Device(env) => env.state_names(),
            EnvPlace::Host(_) => Vec::new(),
        }
    }

    /// True where environments are on the host.
    #[must_use]
    pub fn on_host(&self) -> bool {
        matches!(self, EnvPlace::Host(_))
    }

    /// The definition of an environment that is stepped in programs.
    ///
    /// # Errors
    /// [`Error::Config`] if the environment is one of the host.
    pub fn device(&self) -> Result<&EnvDef> {
        match self {
            EnvPlace::Device(env) => Ok(env),
            EnvPlace::Host(host) => {
                let problem = format!("`{}` is played on the host, and this needs one of programs", host.spec.name);
                Err(Error::config("env", problem))
            }
        }
    }

    /// Makes an executor of this size; none for environments that are stepped in programs.
    ///
    /// # Errors
    /// If it cannot be made, or if its environments have other spaces than the spec.
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

    /// Makes an executor of this size.
    ///
    /// # Errors
    /// If it cannot be made, or if its environments have other spaces than the spec.
    pub fn executor(&self, size: FleetSize) -> Result<Box<dyn Executor>> {
        self.made(&*self.make, size)
    }

    /// Makes an executor of this size for tests on held-out tasks.
    ///
    /// # Errors
    /// As [`executor`](HostPlace::executor).
    pub fn held_out_executor(&self, size: FleetSize) -> Result<Box<dyn Executor>> {
        self.made(self.make_held_out.as_deref().unwrap_or(&*self.make), size)
    }

    fn made(&self, make: &MakeExecutor, size: FleetSize) -> Result<Box<dyn Executor>> {
        let executor = make(size)?;
        let fleet = executor.fleet();
        let (own, other) = (&self.spec, &fleet.spec);
        if !own.is_like(other) {
            let moved = own.moved(other);
            let sizes = |spec: &EnvSpec| {
                let order = moved.map(|i| format!(" (number {i} is `{}`)", spec.observation[i].name));
                let form = spec.action_form.as_ref().map(|form| format!(" {form}"));
                let [order, form] = [order, form].map(Option::unwrap_or_default);
                format!("{} numbers seen{order}, {}{form}", spec.observation.len(), spec.action.kind())
            };
            let (of, instead) = (sizes(other), sizes(own));
            let problem = format!(
                "the executor plays `{}`, whose spaces are not those of `{}`: {of}, instead of {instead}",
                other.name, own.name
            );
            return Err(Error::config("executor", problem));
        }
        Ok(executor)
    }
}
