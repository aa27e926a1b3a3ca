//! Places of environments of Python.

use quickstudy_core::Result;
use quickstudy_core::env::EnvSpec;
use quickstudy_core::host::EnvPlace;

use crate::name::Recipe;

#[cfg(unix)]
mod unix {
    use std::rc::Rc;

    use quickstudy_core::host::Executor;

    use super::{EnvPlace, EnvSpec, Recipe, Result};
    use crate::pool::Pool;
    use crate::workers::{Use, Workers};

    impl Recipe {
        /// The environment's place. Python is started to learn its spaces; that process goes on as the first worker.
        ///
        /// # Errors
        /// [`Error::Config`](quickstudy_core::Error::Config) if there is no interpreter, package or environment, or if
        /// its spaces cannot be used.
        pub fn place(self) -> Result<EnvPlace> {
            let (pool, spec) = Pool::probed(self)?;
            Ok(place(&Rc::new(pool), spec))
        }

        /// The environment's place, where its spec is known already: Python is started when environments are played.
        #[must_use]
        pub fn place_with(self, spec: EnvSpec) -> EnvPlace {
            place(&Rc::new(Pool::new(self)), spec)
        }
    }

    /// The place of environments that a pool's workers run.
    fn place(pool: &Rc<Pool>, spec: EnvSpec) -> EnvPlace {
        let known = spec.clone();
        let make = |held_out: bool| {
            let (pool, known) = (Rc::clone(pool), known.clone());
            move |size| {
                Ok(Box::new(Workers::new(&pool, &known, size, Use { held_out, render: false })?) as Box<dyn Executor>)
            }
        };
        EnvPlace::host_with_held_out(spec, make(false), make(true))
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use quickstudy_core::Error;

    use super::{EnvPlace, EnvSpec, Recipe, Result};

    impl Recipe {
        /// Fails: processes are handled for Unix only.
        ///
        /// # Errors
        /// Always.
        pub fn place(self) -> Result<EnvPlace> {
            Err(unsupported(&self.name))
        }

        /// A place that cannot be played.
        #[must_use]
        pub fn place_with(self, spec: EnvSpec) -> EnvPlace {
            let name = self.name;
            EnvPlace::host(spec, move |_| Err(unsupported(&name)))
        }
    }

    fn unsupported(name: &str) -> Error {
        let problem = "environments of Python run on Linux and macOS only; the Linux program works in WSL";
        Error::config("env", format!("{name}: {problem}"))
    }
}
