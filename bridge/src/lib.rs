//! Environments of Python: any of [Gymnasium](https://gymnasium.farama.org), and the benchmarks of
//! [Meta-World](https://metaworld.farama.org).
//!
//! A [`Recipe`] says which environment and with which interpreter. Its [`place`](Recipe::place) is an
//! [`EnvPlace`](quickstudy_core::host::EnvPlace) like any other of the host: its executors, [`Workers`], step
//! environments in processes of Python, several in each, with one message per process and step. Nothing of Python is
//! linked. A process that dies, hangs or talks nonsense is replaced, and what it was doing counts as cut off.
//!
//! ```no_run
//! use quickstudy_bridge::{Options, Recipe};
//! use quickstudy_core::train::{Session, Setup};
//! use quickstudy_core::Device;
//!
//! let env = Recipe::parse("gymnasium:Pendulum-v1?g=5.0", &Options::default())?.place()?;
//! let setup = Setup::resolve("ppo", env, &[0], Some(100_000), &[])?;
//! let mut session = Session::new(&Device::cpu(0), &setup)?;
//! # Ok::<(), quickstudy_core::Error>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::panic, reason = "a test may"))]

mod deck;
mod interpreter;
mod name;
mod place;
mod probe;
mod spec;

#[cfg(unix)]
mod failure;
#[cfg(unix)]
mod fault_log;
#[cfg(unix)]
mod group;
#[cfg(unix)]
mod member;
#[cfg(unix)]
mod message;
#[cfg(unix)]
mod outcome;
#[cfg(unix)]
mod pool;
#[cfg(unix)]
mod recording;
#[cfg(unix)]
mod standard_error;
#[cfg(unix)]
mod worker;
#[cfg(unix)]
mod workers;

pub use interpreter::{Interpreter, PYTHON};
pub use name::{Options, Recipe, is_name};
#[cfg(unix)]
pub use recording::{Frames, Picture};
#[cfg(unix)]
pub use workers::Workers;
