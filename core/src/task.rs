//! Chooses the tasks that are played: new ones each time, or those of a pool, of which some may be held out.
//!
//! A task is drawn from its environment's distribution by a key and a number, so a pool is a range of numbers and
//! nothing is stored. Host and programs choose and draw the same tasks.
//!
//! ```
//! use quickstudy_core::env::builtin;
//! use quickstudy_core::rng::key_from_seed;
//! use quickstudy_core::task::TaskSource;
//!
//! let env = builtin("point-half-circle")?;
//! // PEARL's 100 goals: 80 to train on, 20 held out.
//! let [train, test] = TaskSource::split(100, 20)?;
//! let key = key_from_seed(0);
//! let batch: Vec<Vec<f64>> = train.sample(&env, key, 1, 16);
//! assert_eq!((batch.len(), batch[0].len()), (16, 2));
//! let held_out: Vec<Vec<f64>> = test.all(&env, key).unwrap_or_default();
//! assert_eq!(held_out.len(), 20);
//! assert!(batch.iter().all(|task| !held_out.contains(task)));
//! # Ok::<(), quickstudy_core::Error>(())
//! ```

mod source;

pub use source::TaskSource;
