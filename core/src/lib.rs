//! The core of quickstudy: reinforcement learning as tensor programs.
//!
//! The repeated part of training (playing, advantages, updates) is traced once, compiled, and replayed on a
//! [`Device`]: the CPU, with SIMD and threads, or any GPU through the crate `quickstudy-gpu`. There are four ways in.
//!
//! # Train what is built in
//!
//! [`train`] puts an algorithm on an environment, each by its name. [`env::builtin_names`] lists the environments, and
//! [`train::presets`] the settings that are known to work, with their origins.
//!
//! ```
//! use quickstudy_core::train::{Session, Setup};
//! use quickstudy_core::{Device, env};
//!
//! let device = Device::cpu(0); // as many threads as there are cores
//! // Two seeds side by side, each for 2,048 steps with the preset of this environment.
//! let setup = Setup::resolve("ppo", env::builtin("cartpole")?, &[0, 1], Some(2048), &[])?;
//! let mut session = Session::new(&device, &setup)?;
//! session.run_to_end(|rows| assert_eq!(rows.len(), 2, "named metrics of each seed"))?;
//!
//! // What reads from a device is a future. Here it is waited for; a browser goes on meanwhile.
//! let snapshot = pollster::block_on(session.snapshot(1))?;
//! let resumed = Session::restore(&device, &[&snapshot])?;
//! assert_eq!(resumed.env_steps(), 2048);
//! # Ok::<(), quickstudy_core::Error>(())
//! ```
//!
//! # Write your environment
//!
//! An environment is a value that implements [`env::Env`]: a step in plain Rust over numbers [`env::Real`], which runs
//! in SIMD lanes, on GPUs and in browsers. The page of [`env`](mod@env) has a whole one, [`env::check_env`] tests
//! yours, and `docs/tutorials/2-your-environment.md` in the repository says how a `step` in Python is translated.
//! [`env::EnvDef::new`] makes it what [`train::Setup::resolve`] takes in place of a built-in one. What cannot be
//! written so, such as a simulator or a game, implements [`host::HostEnv`]; [`host`] has an example.
//!
//! # Compute with tensors
//!
//! A [`Program`] is a traced function of [`Tensor`]s: declared inputs and states go in, outputs and changed states
//! come out, and [`grad`](grad::grad) differentiates what is between.
//!
//! ```
//! use quickstudy_core::{DType, Device, Program, State, grad::grad};
//!
//! let device = Device::cpu(1);
//! let mut step = Program::new(&device, |cx| {
//!     let x = cx.input("x", &[32, 4], DType::F32);
//!     let w = cx.state("w", &[4, 2], DType::F32);
//!     let loss = x.matmul(w).tanh().square().mean(&[0, 1]);
//!     cx.update("w", w - grad(loss, &[w])[0] * 0.1);
//!     cx.output("loss", loss);
//! })?;
//! let mut state = State::new();
//! state.insert("w", device.array(&[4, 2], &[0.25; 8])?);
//! let x = device.array(&[32, 4], &[1.0; 128])?;
//! let mut losses = Vec::new();
//! for _ in 0..10 {
//!     let outputs = step.run(&state, &[("x", &x)], &[])?;
//!     losses.extend(pollster::block_on(device.read(outputs.get("loss")?))?);
//! }
//! assert!(losses.windows(2).all(|pair| pair[1] < pair[0]), "{losses:?}");
//! # Ok::<(), quickstudy_core::Error>(())
//! ```
//!
//! Each of these modules shows itself by an example: [`tensor`] operations and loops, [`program`]s and their states,
//! [`grad`](mod@grad) derivatives, [`nn`] networks, [`dist`] distributions, [`optim`] optimisers.
//!
//! # Write your algorithm
//!
//! An algorithm implements [`algo::Algorithm`]: the entries of its state, and one traced iteration, which plays through
//! [`play::Iteration`], learns, and returns [metrics](algo::Metrics) by name; and [`algo::Learned`], which says who
//! acts and how it adapts. Its [definition](algo::AlgorithmDef) gives it a name and [`settings`](mod@settings); with
//! it, a [`train::Session`] trains, saves, resumes and evaluates it, on a device or with environments of the host. It
//! is made of tensors, a [`policy`] that acts, and what algorithms share: [`credit`] for advantages, [`learn`] for
//! gradient steps, [`task`] for the choice of tasks, [`meta`] for adaptation. `native-cli/examples/custom_algorithm.rs`
//! in the repository is REINFORCE with a baseline in some hundred lines.
//!
//! ***
//!
//! The rest of this page is for those who work on the inside. The core does no input or output: no files, clocks or
//! printing, and threads only with the feature `parallel`. Callers pass bytes in and get bytes and metrics out, so that
//! the same code trains natively and in a browser. [`backend`] is what a new device implements, by the plans that
//! [`program`] makes; [`math`] and [`rng`] define functions and random numbers to the bit, for all devices alike;
//! [`tensor::graph`] and [`tensor::op`] are what a trace is made of.

#![forbid(unsafe_code)]

pub mod algo;
pub mod credit;
pub mod dist;
pub mod host;
pub mod learn;
pub mod meta;
pub mod nn;
pub mod optim;
pub mod play;
pub mod policy;
pub mod replay;
pub mod task;
pub mod train;

#[doc(inline)]
pub use quickstudy_kernels::{
    ALIASES, Array, Context, DType, Device, Error, Program, Result, Shortage, State, Tensor, alias, backend, closest,
    env, fields, grad, in_bytes, math, program, rng, settings, tensor, tree, words,
};
