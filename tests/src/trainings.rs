//! Trainings for tests: said in one line, with what tests read of them.
#![allow(clippy::unwrap_used, clippy::panic, clippy::missing_panics_doc, reason = "a test fails by panicking")]

use quickstudy_core::algo::{AlgorithmDef, IntoAlgorithm};
use quickstudy_core::env::builtin;
use quickstudy_core::host::EnvPlace;
use quickstudy_core::train::{Episode, Layer, Length, Own, Row, Session, Setup};
use quickstudy_core::{Device, Result};
use toml::Table;

/// A request for training, which nothing has checked yet.
#[derive(Clone, Debug)]
#[must_use]
pub struct Request {
    algorithm: &'static AlgorithmDef,
    env: EnvPlace,
    seeds: Vec<u64>,
    length: Length,
    settings: Table,
}

/// Trains an algorithm on a built-in environment: one seed, 3, for as long as the preset says, with its settings.
pub fn training(algorithm: impl IntoAlgorithm, env: &str) -> Request {
    training_on(algorithm, builtin(env).unwrap())
}

/// As [`training`], on any environment.
pub fn training_on(algorithm: impl IntoAlgorithm, env: impl Into<EnvPlace>) -> Request {
    let algorithm = algorithm.definition().unwrap();
    Request { algorithm, env: env.into(), seeds: vec![3], length: None.into(), settings: Table::new() }
}

impl Request {
    /// Trains these seeds.
    pub fn seeds(self, seeds: &[u64]) -> Request {
        Request { seeds: seeds.to_vec(), ..self }
    }

    /// Trains for a number of steps.
    pub fn steps(self, steps: u64) -> Request {
        self.length(Some(steps))
    }

    /// Trains for a number of steps, of iterations, or for as long as the preset says.
    pub fn length(self, length: impl Into<Length>) -> Request {
        Request { length: length.into(), ..self }
    }

    /// Trains for the steps that a number of iterations with the settings given before are planned to make.
    pub fn batches(self, iterations: u64) -> Request {
        let batch = self.clone().steps(1).resolve().map_or(1, |setup| setup.batch());
        self.steps(batch * iterations)
    }

    /// Adds settings to those given before, as TOML.
    pub fn set(self, settings: &str) -> Request {
        self.with(toml::from_str(settings).unwrap())
    }

    /// Adds settings to those given before.
    pub fn with(mut self, settings: Table) -> Request {
        self.settings.extend(settings);
        self
    }

    /// The setup, if the request is valid.
    ///
    /// # Errors
    /// As [`Setup::resolve`].
    pub fn resolve(self) -> Result<Setup> {
        let layer = Layer { origin: "test".to_owned(), settings: self.settings };
        Setup::resolve(self.algorithm, self.env, &self.seeds, self.length, &[layer])
    }

    /// The setup of a valid request.
    #[must_use]
    pub fn setup(self) -> Setup {
        self.resolve().unwrap()
    }

    /// The error of a request that is not valid.
    #[must_use]
    pub fn refusal(self) -> String {
        self.resolve().unwrap_err().to_string()
    }

    /// The session on one thread of the CPU.
    #[must_use]
    pub fn session(self) -> Session {
        self.session_on(&Device::cpu(1))
    }

    /// The session on a device.
    #[must_use]
    pub fn session_on(self, device: &Device) -> Session {
        Session::new(device, &self.setup()).unwrap()
    }
}

/// Waits for what must not fail.
pub fn wait<T>(future: impl Future<Output = Result<T>>) -> T {
    pollster::block_on(future).unwrap()
}

/// Makes a number of iterations; gives the rows of each.
pub fn steps(session: &mut Session, n: usize) -> Vec<Vec<Row>> {
    (0..n).map(|_| wait(session.step())).collect()
}

/// Makes all iterations that are left; gives the rows of each.
pub fn finish(session: &mut Session) -> Vec<Vec<Row>> {
    let mut rows = Vec::new();
    session.run_to_end(|of_iteration| rows.push(of_iteration.to_vec())).unwrap();
    rows
}

/// Checks that the second seed trains alone as beside the others of a request, and after a break as without one, of so
/// many iterations before and after it. Gives that session, and the rows after the break.
#[track_caller]
pub fn stacks_and_resumes(request: &Request, n: usize, what: &str) -> (Session, Vec<Vec<Row>>) {
    let mut stacked = request.clone().session_on(&Device::cpu(2));
    steps(&mut stacked, 2 * n);
    let (alone, rows) = resumes(&request.clone().seeds(&request.seeds[1..2]), n, what);
    assert!(snapshot(&alone, 0) == snapshot(&stacked, 1), "{what}: seed {} depends on others", request.seeds[1]);
    (alone, rows)
}

/// Checks that a session goes on after a break as without one, of so many iterations before and after it. Gives the one
/// without, and the rows after the break.
#[track_caller]
pub fn resumes(request: &Request, n: usize, what: &str) -> (Session, Vec<Vec<Row>>) {
    let mut whole = request.clone().session();
    steps(&mut whole, n);
    let mut resumed = restored(None, &snapshots(&whole));
    steps(&mut whole, n);
    let rows = steps(&mut resumed, n);
    assert!(snapshots(&whole) == snapshots(&resumed), "{what}: resuming changes training");
    (whole, rows)
}

/// A metric of a row.
#[must_use]
pub fn value(row: &Row, name: &str) -> f64 {
    row.iter().find(|(known, _)| known == name).unwrap_or_else(|| panic!("no {name} in {row:?}")).1
}

/// The snapshot of the seed with this number.
#[must_use]
pub fn snapshot(session: &Session, index: usize) -> Vec<u8> {
    wait(session.snapshot(index))
}

/// The snapshots of all seeds.
#[must_use]
pub fn snapshots(session: &Session) -> Vec<Vec<u8>> {
    (0..session.setup().seeds.len()).map(|index| snapshot(session, index)).collect()
}

/// The session on one thread of the CPU that goes on from the snapshots of its seeds; `own` has what is not built in.
pub fn restored<'a>(own: impl Into<Own<'a>>, snapshots: &[Vec<u8>]) -> Session {
    let files: Vec<&[u8]> = snapshots.iter().map(Vec::as_slice).collect();
    Session::restore_with(&Device::cpu(1), own, &files).unwrap()
}

/// The mean return of each seed's deterministic policy in so many episodes.
pub fn mean_returns(session: &mut Session, episodes: usize) -> Vec<f64> {
    let mean = |all: Vec<Episode>| all.iter().map(|episode| episode.ret).sum::<f64>() / all.len() as f64;
    wait(session.evaluate(episodes)).into_iter().map(mean).collect()
}

/// θ of the seed with this number.
#[must_use]
pub fn theta(session: &Session, index: usize) -> Vec<f64> {
    wait(session.parameters(index)).into_iter().map(f64::from).collect()
}

/// The length of the difference of two vectors.
#[must_use]
pub fn gap(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// Distance of two vectors relative to the norm of the second.
#[must_use]
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    gap(a, b) / gap(b, &vec![0.0; b.len()])
}
