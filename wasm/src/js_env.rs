//! Environments written in JavaScript.

use js_sys::{Function, Reflect};
use quickstudy_core::env::{ActionSpace, Choice, Dim, EnvSpec};
use serde::Deserialize;
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::js::read;
use crate::thrown::{Thrown, misused};

#[wasm_bindgen]
extern "C" {
    /// One environment, as `js/env.ts` wraps those of users: results that have arrived, or promises of them.
    #[wasm_bindgen(extends = js_sys::Object)]
    #[derive(Clone)]
    pub type JsEnv;

    /// An array of numbers.
    #[wasm_bindgen(method, catch)]
    pub fn reset(this: &JsEnv, seed_low: u32, seed_high: u32) -> Result<JsValue, JsValue>;

    /// `{ observation, reward, terminated, truncated, info }`.
    #[wasm_bindgen(method, catch)]
    pub fn step(this: &JsEnv, action: &[f64], seed_low: u32, seed_high: u32) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(method, catch, js_name = setTask)]
    pub fn set_task(this: &JsEnv, task: &[f64]) -> Result<JsValue, JsValue>;

    /// An array of numbers.
    #[wasm_bindgen(method, catch, js_name = sampleTask)]
    pub fn sample_task(this: &JsEnv, seed_low: u32, seed_high: u32) -> Result<JsValue, JsValue>;
}

/// The page's source of environments: `{ spec, create(number), pause() }`.
#[derive(Clone, Debug)]
pub struct JsEnvSource {
    pub spec: EnvSpec,
    /// Names of what steps report besides rewards.
    pub info: Vec<String>,
    create: Function,
    pause: Function,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum DimRequest {
    /// Unnamed numbers without bounds.
    Count(usize),
    Named(Vec<NamedDim>),
}

#[derive(Deserialize)]
struct NamedDim {
    name: String,
    low: Option<f64>,
    high: Option<f64>,
}

impl NamedDim {
    fn dim(self) -> Dim {
        Dim::new(self.name, self.low.unwrap_or(f64::NEG_INFINITY), self.high.unwrap_or(f64::INFINITY))
    }
}

#[derive(Deserialize)]
struct NamedChoice {
    name: String,
    choices: Vec<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ActionRequest {
    /// One choice.
    Choices {
        choices: Vec<String>,
    },
    Count {
        choices: usize,
    },
    /// Several choices at once.
    Counts {
        choices: Vec<usize>,
    },
    Several {
        choices: Vec<NamedChoice>,
    },
    Vector {
        vector: Vec<NamedDim>,
    },
}

#[derive(Deserialize)]
struct SpecRequest {
    name: String,
    observation: DimRequest,
    action: ActionRequest,
    horizon: usize,
    #[serde(default)]
    task: Vec<NamedDim>,
    #[serde(default)]
    info: Vec<String>,
    dt: Option<f64>,
}

/// Most numbers of an observation, and most choices: what is larger is a mistake.
const MOST: usize = 1 << 20;

fn counted(what: &str, count: usize, name: impl Fn(usize) -> String) -> Thrown<Vec<String>> {
    match count <= MOST {
        true => Ok((0..count).map(name).collect()),
        false => Err(misused(&format!("env.spec.{what}: {count} is more than {MOST}"))),
    }
}

impl JsEnvSource {
    /// An environment of an object as `js/env.ts` makes it.
    ///
    /// # Errors
    /// If the spec lacks something or `create` is no function.
    pub fn new(source: &JsValue) -> Thrown<JsEnvSource> {
        let get = |name: &str| Reflect::get(source, &name.into()).unwrap_or(JsValue::UNDEFINED);
        let request: SpecRequest = read("env.spec", get("spec"))?;
        let observation = match request.observation {
            DimRequest::Named(dims) => dims.into_iter().map(NamedDim::dim).collect(),
            DimRequest::Count(n) => {
                counted("observation", n, |i| format!("o{i}"))?.into_iter().map(Dim::unbounded).collect()
            }
        };
        let action = match request.action {
            ActionRequest::Choices { choices } => ActionSpace::Discrete { names: choices },
            ActionRequest::Count { choices } => {
                ActionSpace::Discrete { names: counted("action.choices", choices, |i| format!("choice {i}"))? }
            }
            ActionRequest::Counts { choices } => {
                let one = |(i, count): (usize, usize)| {
                    let names = counted("action.choices", count, |option| format!("option {option}"))?;
                    Ok(Choice { name: format!("choice {i}"), names })
                };
                let choices = choices.into_iter().enumerate().map(one).collect::<Thrown<Vec<_>>>()?;
                ActionSpace::MultiDiscrete { choices }
            }
            ActionRequest::Several { choices } => {
                let one = |NamedChoice { name, choices }| Choice { name, names: choices };
                ActionSpace::MultiDiscrete { choices: choices.into_iter().map(one).collect() }
            }
            ActionRequest::Vector { vector } => {
                ActionSpace::Box { dims: vector.into_iter().map(NamedDim::dim).collect() }
            }
        };
        let mut spec = EnvSpec::new(request.name, observation, action, request.horizon)
            .task(request.task.into_iter().map(NamedDim::dim).collect());
        if let Some(dt) = request.dt {
            spec = spec.dt(dt);
        }
        let function = |name: &str| {
            get(name).dyn_into::<Function>().map_err(|_| misused(&format!("env.{name}: expected a function")))
        };
        let (create, pause) = (function("create")?, function("pause")?);
        Ok(JsEnvSource { spec, info: request.info, create, pause })
    }

    /// A chance for the thread to do something else: a promise when it is time for that.
    ///
    /// # Errors
    /// Whatever the function throws.
    pub fn pause(&self) -> Thrown<JsValue> {
        self.pause.call0(&JsValue::NULL)
    }

    /// Environment `number`.
    ///
    /// # Errors
    /// Whatever the page's function throws.
    pub fn create(&self, number: usize) -> Thrown<JsEnv> {
        let made = self.create.call1(&JsValue::NULL, &(number as u32).into())?;
        if !made.is_object() {
            return Err(misused("env.create: expected an object with `reset` and `step`"));
        }
        Ok(JsEnv::from(made))
    }
}
