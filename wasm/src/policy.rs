//! Trained policies.

use quickstudy_core::algo::Family;
use quickstudy_core::host::{Acted, Actor, Fleet, Stepped};
use quickstudy_core::rng::key_from_seed;
use quickstudy_core::train::{Adaptation, Evaluator, Guesses, MetaTest, StageUnit};
use serde::{Deserialize, Serialize};
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::device::RawDevice;
use crate::js::{plain, read};
use crate::js_executor::Cause;
use crate::session::{Episodes, caused, place};
use crate::thrown::{Thrown, misused, thrown};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PolicyInfo<'a> {
    algorithm: &'a str,
    family: Family,
    env: &'a str,
    seed: u64,
    env_steps: u64,
    spec: &'a quickstudy_core::env::EnvSpec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Test {
    tasks: Option<usize>,
    rollouts: Option<usize>,
    inner_steps: Option<usize>,
    episodes: Option<usize>,
    #[serde(default)]
    seed: u64,
    deterministic: Option<bool>,
    /// Tasks of the caller's.
    given: Option<Vec<Vec<f64>>>,
}

#[derive(Deserialize)]
struct Guessing {
    to: Vec<f64>,
    episodes: Option<usize>,
    draws: usize,
    seed: u64,
}

/// One path, flat.
#[derive(Serialize)]
struct PathInfo {
    states: Vec<f32>,
    actions: Vec<f32>,
    rewards: Vec<f64>,
}

#[derive(Serialize)]
struct StageInfo {
    returns: Vec<Vec<f64>>,
    paths: Vec<PathInfo>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AdaptationInfo {
    tasks: Vec<Vec<f32>>,
    unit: &'static str,
    /// Steps of a stage, where stages are stretches of steps.
    stretch: usize,
    episodes: usize,
    horizon: usize,
    stages: Vec<StageInfo>,
}

impl AdaptationInfo {
    fn of(all: Adaptation) -> AdaptationInfo {
        let (unit, stretch) = match all.unit {
            StageUnit::GradientSteps => ("gradient steps", 0),
            StageUnit::Episodes => ("episodes", 0),
            StageUnit::Steps(steps) => ("steps", steps),
        };
        let path = |steps: Vec<quickstudy_core::train::PathStep>| PathInfo {
            states: steps.iter().flat_map(|step| step.state.iter().copied()).collect(),
            actions: steps.iter().flat_map(|step| step.action.iter().copied()).collect(),
            rewards: steps.iter().map(|step| step.reward).collect(),
        };
        let stages = all
            .stages
            .into_iter()
            .map(|stage| StageInfo { returns: stage.returns, paths: stage.paths.into_iter().map(path).collect() });
        let (tasks, episodes, horizon) = (all.tasks, all.episodes, all.horizon);
        AdaptationInfo { tasks, unit, stretch, episodes, horizon, stages: stages.collect() }
    }
}

#[derive(Serialize)]
struct GuessesInfo {
    #[serde(flatten)]
    adaptation: AdaptationInfo,
    /// The x and y of each draw, flat, by stage and steps made in it.
    places: Vec<Vec<Vec<f32>>>,
}

#[derive(Serialize)]
struct TrajectoryInfo {
    states: Vec<f32>,
    actions: Vec<f32>,
    rewards: Vec<f32>,
    task: Vec<f32>,
}

/// A policy that somebody asks what to do.
struct Asked {
    actor: Box<dyn Actor>,
    fleet: Fleet,
    deterministic: bool,
    step: u32,
    /// The last actions.
    acted: Acted,
}

/// The policy of a snapshot.
#[wasm_bindgen]
pub struct RawPolicy {
    evaluator: Evaluator,
    cause: Cause,
    asked: Option<Asked>,
}

#[wasm_bindgen]
impl RawPolicy {
    /// The policy of a snapshot of either kind; `env` makes environments of the page, if it was trained on one.
    ///
    /// # Errors
    /// If the bytes are no snapshot that this version can read.
    pub fn load(device: &RawDevice, bytes: &[u8], env: JsValue) -> Thrown<RawPolicy> {
        let cause = Cause::default();
        let place = place(&env, &cause)?;
        let evaluator = Evaluator::load_with(device.device(), place, bytes).map_err(thrown)?;
        Ok(RawPolicy { evaluator, cause, asked: None })
    }

    /// The policy's algorithm, environment, seed, steps and spec.
    ///
    /// # Errors
    /// Never.
    pub fn info(&self) -> Thrown<JsValue> {
        let spec = self.evaluator.env().spec();
        plain(&PolicyInfo {
            algorithm: self.evaluator.algorithm(),
            family: self.evaluator.family(),
            env: &spec.name,
            seed: self.evaluator.trained_seed(),
            env_steps: self.evaluator.env_steps(),
            spec,
        })
    }

    /// Episodes from first states that `seed` names: `{ returns, lengths, terminated }`.
    ///
    /// # Errors
    /// For no episodes or too many, or if an environment or the device fails.
    pub async fn evaluate(&mut self, episodes: usize, seed: u64, deterministic: Option<bool>) -> Thrown<JsValue> {
        let deterministic = deterministic.unwrap_or(!self.evaluator.draws_only());
        let played = self.evaluator.evaluate(episodes, seed, deterministic).await;
        plain(&Episodes::of(&played.map_err(|e| caused(e, &self.cause))?))
    }

    /// Plays held-out tasks, and reports stage by stage how it adapts to them.
    ///
    /// # Errors
    /// If it does not adapt, for values that cannot be, or if the device fails.
    pub async fn adapt(&self, test: JsValue) -> Thrown<JsValue> {
        let test: Test = read("adapt", test)?;
        let standard = MetaTest::default();
        let meta = MetaTest {
            tasks: test.tasks.unwrap_or(standard.tasks),
            rollouts: test.rollouts,
            inner_steps: test.inner_steps,
            episodes: test.episodes,
            seed: test.seed,
            // Where only draws can be played, it is refused to those who ask for something else.
            deterministic: test.deterministic.unwrap_or(!self.evaluator.draws_only()),
        };
        if test.given.as_ref().is_some_and(Vec::is_empty) {
            return Err(misused("tasks: an empty list has none to adapt to"));
        }
        let adaptation = match &test.given {
            Some(tasks) => self.evaluator.adapt_to(tasks, meta).await,
            None => self.evaluator.adapt(meta).await,
        };
        plain(&AdaptationInfo::of(adaptation.map_err(|e| caused(e, &self.cause))?))
    }

    /// Lets it adapt to one task, and reports beside that where it would go by its belief after each step.
    ///
    /// # Errors
    /// If it infers no belief, for values that cannot be, or if the environment is one of the page or the device fails.
    pub async fn guesses(&self, test: JsValue) -> Thrown<JsValue> {
        let Guessing { to, episodes, draws, seed } = read("guesses", test)?;
        if self.evaluator.env().on_host() {
            return Err(misused(
                "guesses: they are acted out in built-in environments only, not in those of JavaScript",
            ));
        }
        let task: Vec<f32> = to.iter().map(|x| *x as f32).collect();
        let Guesses { adaptation, places } =
            self.evaluator.guesses(&task, episodes, draws, seed).await.map_err(thrown)?;
        let flat = |stage: Vec<Vec<[f32; 2]>>| stage.iter().map(|draws| draws.as_flattened().to_vec()).collect();
        plain(&GuessesInfo {
            adaptation: AdaptationInfo::of(adaptation),
            places: places.into_iter().map(flat).collect(),
        })
    }

    /// The first episode of [`evaluate`](Self::evaluate) with the same seed, step by step.
    ///
    /// # Errors
    /// If the environment is one of the page, or the device fails.
    pub async fn trajectory(&self, seed: u64, deterministic: bool) -> Thrown<JsValue> {
        let path = self.evaluator.trajectory(seed, deterministic).await.map_err(thrown)?;
        plain(&TrajectoryInfo {
            states: path.states.concat(),
            actions: path.actions.concat(),
            rewards: path.rewards,
            task: path.task,
        })
    }

    /// The policy's actions at these observations, one row of numbers each, within the action space's bounds.
    ///
    /// A policy with a memory remembers what it was shown from call to call, as long as there are as many rows; `fresh`
    /// begins anew.
    ///
    /// # Errors
    /// If the numbers do not fit or the device fails.
    pub async fn act(
        &mut self,
        observations: Vec<f64>,
        seed: u64,
        deterministic: bool,
        fresh: bool,
    ) -> Thrown<Vec<f64>> {
        let spec = self.evaluator.env().spec().clone();
        let width = spec.observation.len();
        let rows = observations.len() / width;
        if rows == 0 || rows * width != observations.len() {
            let got = observations.len();
            return Err(misused(&format!("observation: got {got} numbers, expected {width} for each row")));
        }
        if let Some(x) = observations.iter().find(|x| !x.is_finite()) {
            return Err(misused(&format!("observation: expected finite numbers, got {x}")));
        }
        let known = self
            .asked
            .take()
            .filter(|asked| !fresh && asked.fleet.envs_per_task == rows && asked.deterministic == deterministic);
        let mut asked = match known {
            Some(asked) => asked,
            None => {
                let horizon = spec.horizon;
                let fleet = Fleet::of(spec, Vec::new(), 1, rows, horizon).map_err(thrown)?;
                let mut actor = self.evaluator.actor(&fleet, deterministic).await.map_err(thrown)?;
                actor.begin(&[key_from_seed(seed)]).map_err(thrown)?;
                Asked { actor, fleet, deterministic, step: 0, acted: Acted::default() }
            }
        };
        asked.step = asked.step.wrapping_add(1);
        let acted = asked.actor.act(&observations, asked.step).await.map_err(thrown);
        let played = acted.map(|acted| {
            asked.acted = acted;
            asked.acted.played.clone()
        });
        self.asked = Some(asked);
        played
    }

    /// Tells policies with a memory what the last actions led to: rewards and ends of episodes, one per row.
    ///
    /// # Errors
    /// If [`act`](Self::act) was not called before, with as many rows, or the device fails.
    pub async fn observe(&mut self, observations: Vec<f64>, rewards: Vec<f64>, terminated: Vec<u8>) -> Thrown<()> {
        let Some(asked) = &mut self.asked else { return Err(misused("observe: `act` was not called before")) };
        let n = asked.fleet.envs_per_task;
        if observations.len() != n * asked.fleet.observations() || rewards.len() != n || terminated.len() != n {
            return Err(misused(&format!("observe: expected {n} rows, as many as `act` was called with")));
        }
        let stepped = Stepped {
            last_observations: observations.clone(),
            observations,
            rewards,
            terminated: terminated.into_iter().map(|flag| flag != 0).collect(),
            truncated: vec![false; n],
            lengths: vec![asked.step as usize; n],
            info: Vec::new(),
        };
        asked.actor.observe(&asked.acted, &stepped).await.map_err(thrown)
    }
}

impl RawPolicy {
    pub(crate) fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }
}
