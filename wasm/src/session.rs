//! Training.

use std::cell::RefCell;
use std::rc::Rc;

use quickstudy_core::Error;
use quickstudy_core::env::builtin;
use quickstudy_core::host::EnvPlace;
use quickstudy_core::train::{Episode, Layer, Length, Own, Row, Session, Setup};
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::device::RawDevice;
use crate::js::{plain, read};
use crate::js_env::JsEnvSource;
use crate::js_executor::{Cause, JsExecutor};
use crate::thrown::{Thrown, set, thrown};

/// The training that a page asks for.
#[derive(Deserialize)]
struct Request {
    algorithm: String,
    /// A built-in environment; none for one of the page.
    env: Option<String>,
    seeds: Vec<u64>,
    steps: Option<u64>,
    iterations: Option<u64>,
    #[serde(default)]
    config: toml::Table,
}

#[derive(Serialize)]
struct SettingValue<'a> {
    key: &'a str,
    value: &'a toml::Value,
    origin: &'a str,
}

#[derive(Serialize)]
struct SetupInfo<'a> {
    algorithm: &'a str,
    env: &'a str,
    seeds: &'a [u64],
    steps: u64,
    iterations: Option<u64>,
    preset: Option<&'a str>,
    settings: Vec<SettingValue<'a>>,
}

/// Episodes as columns.
#[derive(Serialize)]
pub struct Episodes {
    returns: Vec<f64>,
    lengths: Vec<u32>,
    terminated: Vec<bool>,
}

impl Episodes {
    pub fn of(episodes: &[Episode]) -> Episodes {
        Episodes {
            returns: episodes.iter().map(|e| e.ret).collect(),
            lengths: episodes.iter().map(|e| e.length).collect(),
            terminated: episodes.iter().map(|e| e.terminated).collect(),
        }
    }
}

/// A training session of one or several seeds.
#[wasm_bindgen]
pub struct RawSession {
    session: Session,
    cause: Cause,
}

/// The environments of the page, if there are any; what they throw is left in `cause`.
pub fn place(env: &JsValue, cause: &Cause) -> Thrown<Option<EnvPlace>> {
    let place = |source: JsEnvSource| {
        let cause = cause.clone();
        EnvPlace::host(source.spec.clone(), move |size| Ok(Box::new(JsExecutor::new(&source, size, &cause)?)))
    };
    Ok(source(env)?.map(place))
}

/// The bytes of files.
fn files(arrays: &js_sys::Array) -> Vec<Vec<u8>> {
    arrays.iter().map(|bytes| js_sys::Uint8Array::new(&bytes).to_vec()).collect()
}

/// Makes environments of the page, if it has any.
fn source(env: &JsValue) -> Thrown<Option<JsEnvSource>> {
    (!env.is_undefined() && !env.is_null()).then(|| JsEnvSource::new(env)).transpose()
}

/// An error with what the page's environment threw as its cause.
pub fn caused(error: Error, cause: &Cause) -> JsValue {
    let cause = cause.borrow_mut().take().filter(|_| matches!(error, Error::Environment { .. }));
    let object = thrown(error);
    if let Some(cause) = cause {
        set(&object, "cause", &cause);
    }
    object
}

#[wasm_bindgen]
impl RawSession {
    /// Fresh training; `env` makes environments of the page, if the request names none. It begins with the parameters
    /// of the snapshots `from`, if there are any.
    ///
    /// # Errors
    /// For a name or value that cannot be, or if the device fails.
    pub fn start(device: &RawDevice, request: JsValue, env: JsValue, from: js_sys::Array) -> Thrown<RawSession> {
        let request: Request = read("train", request)?;
        let cause = Cause::default();
        let layer = Layer { origin: "config".to_owned(), settings: request.config };
        let place = match place(&env, &cause)? {
            Some(place) => Ok(place),
            None => builtin(request.env.as_deref().unwrap_or_default()).map(EnvPlace::from),
        };
        let resolve = |env: EnvPlace| {
            let length = request.iterations.map_or_else(|| request.steps.into(), Length::Iterations);
            Setup::resolve(&request.algorithm, env, &request.seeds, length, std::slice::from_ref(&layer))
        };
        let session = place.and_then(resolve).and_then(|setup| Session::new(device.device(), &setup));
        let begun = |mut session: Session| {
            if from.length() > 0 {
                let bytes = files(&from);
                session.start_from(Own::default(), &bytes.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
            }
            Ok(session)
        };
        match session.and_then(begun) {
            Ok(session) => Ok(RawSession { session, cause }),
            Err(error) => Err(caused(error, &cause)),
        }
    }

    /// Training that goes on from snapshots, one per seed; `env` as for [`start`](Self::start).
    ///
    /// # Errors
    /// If the bytes are no such snapshots, or the device fails.
    pub fn restore(device: &RawDevice, snapshots: js_sys::Array, env: JsValue) -> Thrown<RawSession> {
        let bytes = files(&snapshots);
        let slices: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
        let cause = Rc::new(RefCell::new(None));
        match Session::restore_with(device.device(), place(&env, &cause)?, &slices) {
            Ok(session) => Ok(RawSession { session, cause }),
            Err(error) => Err(caused(error, &cause)),
        }
    }

    /// The algorithm, environment, seeds and steps of the training, with every setting and its origin.
    ///
    /// # Errors
    /// Never.
    pub fn setup(&self) -> Thrown<JsValue> {
        let setup = self.session.setup();
        plain(&SetupInfo {
            algorithm: setup.algorithm.name,
            env: &setup.env.spec().name,
            seeds: &setup.seeds,
            steps: setup.steps,
            iterations: setup.iterations,
            preset: setup.preset.as_deref(),
            settings: setup
                .settings
                .iter()
                .map(|s| SettingValue { key: &s.key, value: &s.value, origin: &s.origin })
                .collect(),
        })
    }

    /// Iterations made, of the seeds that are trained now.
    #[wasm_bindgen(getter)]
    pub fn iteration(&self) -> f64 {
        self.session.iteration() as f64
    }

    /// Environment steps that each seed has made: those of the seed that has made the fewest.
    #[wasm_bindgen(getter, js_name = envSteps)]
    pub fn env_steps(&self) -> f64 {
        self.session.env_steps() as f64
    }

    /// Environment steps to make, per seed.
    #[wasm_bindgen(getter, js_name = totalSteps)]
    pub fn total_steps(&self) -> f64 {
        self.session.total_steps() as f64
    }

    /// Environment steps that all seeds have made together.
    #[wasm_bindgen(getter, js_name = allSteps)]
    pub fn all_steps(&self) -> f64 {
        (0..self.session.setup().seeds.len()).map(|index| self.session.steps_made(index)).sum::<u64>() as f64
    }

    /// Tells whether each seed has made its steps.
    #[wasm_bindgen(getter)]
    pub fn done(&self) -> bool {
        self.session.done()
    }

    /// Make so many environment steps in all.
    ///
    /// # Errors
    /// If a setting does not fit so many, or the device lacks memory for them.
    #[wasm_bindgen(js_name = setSteps)]
    pub fn set_steps(&mut self, steps: f64) -> Thrown<()> {
        self.session.set_steps(steps.max(1.0) as u64).map_err(thrown)
    }

    /// Make so many iterations in all.
    ///
    /// # Errors
    /// As [`set_steps`](Self::set_steps).
    #[wasm_bindgen(js_name = setIterations)]
    pub fn set_iterations(&mut self, iterations: f64) -> Thrown<()> {
        self.session.set_length(Length::Iterations(iterations.max(1.0) as u64)).map_err(thrown)
    }

    /// Dispatches that all iterations so far took on a GPU.
    #[wasm_bindgen(getter)]
    pub fn dispatches(&self) -> f64 {
        self.session.program().counters().dispatches as f64
    }

    /// Seconds that the processor spent on recording and submitting them.
    #[wasm_bindgen(getter, js_name = hostSeconds)]
    pub fn host_seconds(&self) -> f64 {
        self.session.program().counters().host.as_secs_f64()
    }

    /// One iteration: an object of metrics for each seed, none for those that had made their steps.
    ///
    /// # Errors
    /// If an environment or the device fails, or nothing finite is left.
    pub async fn step(&mut self) -> Thrown<JsValue> {
        let rows = self.session.step().await.map_err(|e| caused(e, &self.cause))?;
        let object = |row: Row| row.into_iter().collect::<std::collections::BTreeMap<String, f64>>();
        let mut of_seeds = vec![None; self.session.setup().seeds.len()];
        for (index, row) in self.session.running().iter().zip(rows) {
            of_seeds[*index] = Some(object(row));
        }
        plain(&of_seeds)
    }

    /// Everything needed to go on with the seed of this number, from 0.
    ///
    /// # Errors
    /// If there is no such seed or the device fails.
    pub async fn snapshot(&self, index: usize) -> Thrown<Vec<u8>> {
        self.session.snapshot(index).await.map_err(thrown)
    }

    /// The policy of the seed of this number, from 0.
    ///
    /// # Errors
    /// If there is no such seed or the device fails.
    #[wasm_bindgen(js_name = policySnapshot)]
    pub async fn policy_snapshot(&self, index: usize) -> Thrown<Vec<u8>> {
        self.session.policy_snapshot(index).await.map_err(thrown)
    }

    /// Episodes of the deterministic policy of each seed, `{ returns, lengths, terminated }`.
    ///
    /// # Errors
    /// For no episodes or too many, or if an environment or the device fails.
    pub async fn evaluate(&mut self, episodes: usize) -> Thrown<JsValue> {
        let all = self.session.evaluate(episodes).await.map_err(|e| caused(e, &self.cause))?;
        plain(&all.iter().map(|episodes| Episodes::of(episodes)).collect::<Vec<_>>())
    }
}
