//! Environments of a page, many side by side, which may answer later.
//!
//! Each call may answer at once or by a promise; those of one step work side by side. Between steps the thread gets a
//! pause when it has worked for some milliseconds.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Promise, Reflect};
use quickstudy_core::backend::LocalFuture;
use quickstudy_core::host::{Chance, Executor, Fleet, FleetSize, Stepped};
use quickstudy_core::rng::{Key, fold_in};
use quickstudy_core::{Error, Result};
use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::JsValue;
use wasm_bindgen_futures::JsFuture;

use crate::js_env::{JsEnv, JsEnvSource};

/// The value that a page's environment threw last: the cause of the error that names the environment.
pub type Cause = Rc<RefCell<Option<JsValue>>>;

/// An environment and how far its episode is.
struct Member {
    env: JsEnv,
    steps: usize,
}

/// Steps all environments at once: those that return promises work side by side.
pub struct JsExecutor {
    source: JsEnvSource,
    fleet: Fleet,
    members: Vec<Member>,
    cause: Cause,
}

/// The outcome of one step.
struct Answer {
    observation: Vec<f64>,
    reward: f64,
    terminated: bool,
    truncated: bool,
    info: Vec<f64>,
}

impl JsExecutor {
    /// So many environments that `source` makes.
    ///
    /// # Errors
    /// If the spec cannot work or an environment cannot be made.
    pub fn new(source: &JsEnvSource, size: FleetSize, cause: &Cause) -> Result<JsExecutor> {
        let FleetSize { tasks, envs_per_task, horizon } = size;
        let fleet = Fleet::of(source.spec.clone(), source.info.clone(), tasks, envs_per_task, horizon)?;
        let make = |number: usize| {
            let env = source.create(number).map_err(|e| failed(&fleet, cause, number, "create", e))?;
            Ok(Member { env, steps: 0 })
        };
        let members = (0..fleet.num_envs()).map(make).collect::<Result<_>>()?;
        Ok(JsExecutor { source: source.clone(), fleet, members, cause: cause.clone() })
    }

    /// The number of an environment among those of its task, and the words that its call draws from.
    fn seed(&self, number: usize, keys: &[Key]) -> Key {
        let each = self.fleet.envs_per_task;
        fold_in(keys[number / each], (number % each) as u32)
    }

    /// Answers of some environments in order, once all are there.
    async fn answers(
        &self,
        doing: &str,
        calls: Vec<(usize, std::result::Result<JsValue, JsValue>)>,
    ) -> Result<Vec<JsValue>> {
        let mut values = Vec::with_capacity(calls.len());
        let mut later = false;
        for (number, called) in calls {
            let value = called.map_err(|e| failed(&self.fleet, &self.cause, number, doing, e))?;
            later |= value.has_type::<Promise>();
            values.push((number, value));
        }
        if !later {
            return Ok(values.into_iter().map(|(_, value)| value).collect());
        }
        // All are waited for, also when one fails: what goes on in the background would answer a later call.
        let promises: Array = values.iter().map(|(_, value)| value).collect();
        let settled = JsFuture::from(Promise::all_settled(&promises)).await;
        let settled: Array = settled.map(|all| Array::from(&all)).unwrap_or_default();
        let mut all = Vec::with_capacity(values.len());
        for ((number, _), outcome) in values.into_iter().zip(settled.iter()) {
            let get = |name: &str| Reflect::get(&outcome, &name.into()).unwrap_or(JsValue::UNDEFINED);
            if get("status").as_string().as_deref() != Some("fulfilled") {
                return Err(failed(&self.fleet, &self.cause, number, doing, get("reason")));
            }
            all.push(get("value"));
        }
        Ok(all)
    }

    /// First observations of these environments.
    async fn begin(&mut self, numbers: &[usize], keys: &[Key]) -> Result<Vec<Vec<f64>>> {
        let call = |number: &usize| {
            let [low, high] = self.seed(*number, keys);
            (*number, self.members[*number].env.reset(low, high))
        };
        let calls = numbers.iter().map(call).collect();
        let answers = self.answers("reset", calls).await?;
        let width = self.fleet.observations();
        let read =
            |(number, value): (&usize, JsValue)| self.numbers(*number, "reset", "the observation", &value, width);
        let first = numbers.iter().zip(answers).map(read).collect::<Result<_>>()?;
        numbers.iter().for_each(|number| self.members[*number].steps = 0);
        Ok(first)
    }

    /// So many finite numbers.
    fn numbers(&self, number: usize, doing: &str, what: &str, value: &JsValue, expected: usize) -> Result<Vec<f64>> {
        let problem = |problem: String| Err(wrong(&self.fleet, number, doing, &problem));
        let Some(all) = list(value) else {
            return problem(format!("{what} is {}, expected an array of {expected} numbers", kind(value)));
        };
        match all.iter().find(|x| !x.is_finite()) {
            _ if all.len() != expected => problem(format!("{what} has {} numbers, expected {expected}", all.len())),
            Some(x) => problem(format!("{what} holds {x}")),
            None => Ok(all),
        }
    }

    fn answer(&self, number: usize, value: &JsValue) -> Result<Answer> {
        if !value.is_object() {
            let problem = format!("gave {}, expected {{ observation, reward, terminated, truncated }}", kind(value));
            return Err(wrong(&self.fleet, number, "step", &problem));
        }
        let get = |name: &str| Reflect::get(value, &name.into()).unwrap_or(JsValue::UNDEFINED);
        let width = self.fleet.observations();
        let observation = self.numbers(number, "step", "the observation", &get("observation"), width)?;
        let reward = get("reward").as_f64().filter(|x| x.is_finite());
        let reward = reward.ok_or_else(|| {
            let problem = format!("the reward is {}, expected a finite number", kind(&get("reward")));
            wrong(&self.fleet, number, "step", &problem)
        })?;
        let info = match self.fleet.info.len() {
            0 => Vec::new(),
            expected => self.numbers(number, "step", "the info", &get("info"), expected)?,
        };
        let (terminated, truncated) = (get("terminated").is_truthy(), get("truncated").is_truthy());
        Ok(Answer { observation, reward, terminated, truncated, info })
    }
}

/// An array of numbers, typed or not.
fn list(value: &JsValue) -> Option<Vec<f64>> {
    if let Some(typed) = value.dyn_ref::<js_sys::Float64Array>() {
        return Some(typed.to_vec());
    }
    if let Some(typed) = value.dyn_ref::<js_sys::Float32Array>() {
        return Some(typed.to_vec().into_iter().map(f64::from).collect());
    }
    Array::is_array(value).then(|| Array::from(value).iter().map(|x| x.as_f64().unwrap_or(f64::NAN)).collect())
}

/// Describes a value in a word or two.
fn kind(value: &JsValue) -> String {
    match value.as_f64() {
        Some(x) => x.to_string(),
        None if value.is_undefined() => "undefined".to_owned(),
        None if value.is_null() => "null".to_owned(),
        None => value.js_typeof().as_string().map_or_else(|| "something else".to_owned(), |kind| format!("a {kind}")),
    }
}

/// An error that says which environment broke its contract.
fn wrong(fleet: &Fleet, number: usize, doing: &str, problem: &str) -> Error {
    let (task, copy) = (number / fleet.envs_per_task, number % fleet.envs_per_task);
    let problem = format!("number {number} (copy {copy} of task {task}), {doing}: {problem}");
    Error::Environment { name: fleet.spec.name.clone(), problem }
}

/// An error that says which environment threw what.
fn failed(fleet: &Fleet, cause: &Cause, number: usize, doing: &str, thrown: JsValue) -> Error {
    let message = match thrown.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => thrown.as_string().unwrap_or_else(|| kind(&thrown)),
    };
    *cause.borrow_mut() = Some(thrown);
    wrong(fleet, number, doing, &format!("threw: {message}"))
}

impl Executor for JsExecutor {
    fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    fn sample_tasks<'a>(&'a mut self, chances: &'a [Chance]) -> LocalFuture<'a, Result<Vec<Vec<f64>>>> {
        Box::pin(async move {
            let width = self.fleet.spec.task.len();
            let call = |chance: &Chance| {
                let [low, high] = fold_in(chance.key, chance.element);
                (0, self.members[0].env.sample_task(low, high))
            };
            let answers = self.answers("sampleTask", chances.iter().map(call).collect()).await?;
            answers.iter().map(|task| self.numbers(0, "sampleTask", "the task", task, width)).collect()
        })
    }

    fn set_tasks<'a>(&'a mut self, tasks: &'a [Vec<f64>]) -> LocalFuture<'a, Result<()>> {
        Box::pin(async move {
            self.fleet.expect_tasks(tasks)?;
            if self.fleet.spec.task.is_empty() {
                return Ok(());
            }
            let each = self.fleet.envs_per_task;
            let calls = self.members.iter().enumerate();
            let calls = calls.map(|(number, member)| (number, member.env.set_task(&tasks[number / each]))).collect();
            self.answers("setTask", calls).await.map(|_| ())
        })
    }

    fn reset<'a>(&'a mut self, keys: &'a [Key]) -> LocalFuture<'a, Result<Vec<f64>>> {
        Box::pin(async move {
            self.fleet.expect("keys", keys.len(), self.fleet.tasks)?;
            let all: Vec<usize> = (0..self.fleet.num_envs()).collect();
            Ok(self.begin(&all, keys).await?.concat())
        })
    }

    fn step<'a>(&'a mut self, actions: &'a [f64], keys: &'a [Key]) -> LocalFuture<'a, Result<Stepped>> {
        Box::pin(async move {
            self.fleet.expect_step(actions, keys)?;
            let calls = actions.chunks(self.fleet.actions()).enumerate().map(|(number, action)| {
                let [low, high] = self.seed(number, keys);
                (number, self.members[number].env.step(action, low, high))
            });
            let calls = calls.collect();
            let answers = self.answers("step", calls).await?;
            let mut all = Stepped::default();
            let mut ended = Vec::new();
            for (number, value) in answers.iter().enumerate() {
                let Answer { observation, reward, terminated, truncated, info } = self.answer(number, value)?;
                let steps = self.members[number].steps + 1;
                self.members[number].steps = steps;
                let truncated = !terminated && (truncated || steps >= self.fleet.horizon);
                if terminated || truncated {
                    ended.push(number);
                }
                all.observations.extend(&observation);
                all.last_observations.extend(observation);
                all.rewards.push(reward);
                all.terminated.push(terminated);
                all.truncated.push(truncated);
                all.lengths.push(steps);
                all.info.extend(info);
            }
            let width = self.fleet.observations();
            let first = self.begin(&ended, keys).await?;
            for (number, first) in ended.into_iter().zip(first) {
                all.observations[number * width..(number + 1) * width].copy_from_slice(&first);
            }
            // Answers that were there at once leave a page no time to paint.
            let pause = self.source.pause().unwrap_or(JsValue::UNDEFINED);
            if let Ok(pause) = pause.dyn_into::<Promise>() {
                _ = JsFuture::from(pause).await;
            }
            Ok(all)
        })
    }
}
