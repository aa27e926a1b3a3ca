//! The module that has all but the environments.

use std::cell::RefCell;
use std::sync::{Arc, PoisonError, RwLock};

use super::replay::{TapeValue, replay};
use super::words::{WordReader, WordWriter};
use super::{Question, TapePart, VERSION};
use crate::backend::cpu::simd::isa::Isa;
use crate::env::builtin::Given;
use crate::env::engine::erased::Erased;
use crate::env::engine::graph_rows::{join, parts, rows_of, two};
use crate::env::engine::job::{Block, StepOutputs};
use crate::env::engine::step::{StepRows, SteppedRows};
use crate::env::real::Real;
use crate::env::{EnvDef, EnvSpec, Parameter, Scene, TIME_LIMIT};
#[cfg(feature = "standalone")]
use crate::env::{HostStep, Lanes};
use crate::rng::Key;
use crate::tensor::Tensor;
use crate::{Error, Result};

/// Another module, which has environments.
pub trait Module: Send + Sync {
    /// Passes a question about an environment on to the `Guest` there, and copies as much of its answer as `reply`
    /// has room for. Returns how many words the answer has.
    fn call(&self, request: u32, env: u32, words: &[u32], reply: &mut [u32]) -> usize;
}

/// The environments of a module by their names.
pub(super) struct Entry {
    pub(super) name: &'static str,
    parameters: &'static [Parameter],
    module: Arc<dyn Module>,
}

static ENTRIES: RwLock<Vec<Entry>> = RwLock::new(Vec::new());

/// Makes the environments of a module known: [`builtin`](crate::env::builtin) finds them from then on. A module that
/// is added again takes the place of the one before.
///
/// # Errors
/// [`Error::Environment`] if it is of another version.
pub fn add_module(module: Arc<dyn Module>) -> Result<()> {
    let entries = catalogue(&module)?;
    let mut known = ENTRIES.write().unwrap_or_else(PoisonError::into_inner);
    known.retain(|entry| entries.iter().all(|new| new.name != entry.name));
    known.extend(entries);
    Ok(())
}

pub(super) fn catalogue(module: &Arc<dyn Module>) -> Result<Vec<Entry>> {
    let answer = ask(&**module, Question::Catalogue, 0, &[]);
    let mut words = WordReader::new(&answer);
    let version = words.text();
    if version != VERSION {
        let problem = format!("the module of environments is of version `{version}`, and this is {VERSION}");
        return Err(Error::Environment { name: "bodies".to_owned(), problem });
    }
    // Names and meanings are kept for as long as the program runs: modules are few.
    let text = |words: &mut WordReader<'_>| -> &'static str { words.text().leak() };
    let parameter = |words: &mut WordReader<'_>| Parameter {
        name: text(words),
        default: words.text().into(),
        meaning: text(words),
    };
    let entries = words.list(|words| (text(words), words.list(parameter)));
    if !words.sound() {
        return Err(broken("the catalogue"));
    }
    let entry = |(name, parameters): (_, Vec<_>)| Entry { name, parameters: parameters.leak(), module: module.clone() };
    Ok(entries.into_iter().map(entry).collect())
}

/// The names of environments of modules.
pub fn loaded_names() -> Vec<&'static str> {
    ENTRIES.read().unwrap_or_else(PoisonError::into_inner).iter().map(|entry| entry.name).collect()
}

/// The parameters and the module of an environment by its name, if a module has it.
pub fn loaded(name: &str) -> Option<(&'static [Parameter], Arc<dyn Module>)> {
    let known = ENTRIES.read().unwrap_or_else(PoisonError::into_inner);
    known.iter().find(|entry| entry.name == name).map(|entry| (entry.parameters, entry.module.clone()))
}

/// An environment of a module.
///
/// # Errors
/// [`Error::Config`] for a parameter that cannot be.
pub fn make(module: &Arc<dyn Module>, name: &str, given: &Given<'_>) -> Result<EnvDef> {
    let mut words = WordWriter::default();
    words.text(name);
    words.text(&given.text_without(TIME_LIMIT));
    made(module, name, &ask(&**module, Question::Make, 0, &words.0))
}

/// The environment of an answer to [`Question::Make`].
pub(super) fn made(module: &Arc<dyn Module>, name: &str, answer: &[u32]) -> Result<EnvDef> {
    let mut words = WordReader::new(answer);
    if words.word() == 1 {
        return Err(Error::config(words.text(), words.text()));
    }
    let env = words.word();
    let (spec, names) = (words.spec(), words.list(WordReader::text));
    if !words.sound() {
        return Err(broken(name));
    }
    let spec = Arc::new(spec);
    let loaded = Loaded { module: module.clone(), env, own: spec.clone(), spec: spec.clone(), names: names.into() };
    Ok(EnvDef::of(Arc::new(loaded), spec))
}

fn broken(name: &str) -> Error {
    let problem = "the module of environments answers with words that make no sense".to_owned();
    Error::Environment { name: name.to_owned(), problem }
}

/// A whole answer, however long it is.
fn ask(module: &dyn Module, request: Question, env: u32, words: &[u32]) -> Vec<u32> {
    let mut answer = vec![0; 1 << 10];
    let len = module.call(request as u32, env, words, &mut answer);
    answer.resize(len, 0);
    if len > 1 << 10 {
        module.call(Question::Again as u32, env, &[], &mut answer);
    }
    answer
}

/// An environment of a module.
struct Loaded {
    module: Arc<dyn Module>,
    /// Its number there.
    env: u32,
    /// The environment's own spec, and the one that it is used with.
    own: Arc<EnvSpec>,
    spec: Arc<EnvSpec>,
    names: Arc<[String]>,
}

impl Loaded {
    fn ask(&self, request: Question, words: &[u32]) -> Vec<u32> {
        ask(&*self.module, request, self.env, words)
    }

    /// The tape of a part, played with these values; none if the environment does not have the part.
    fn play<R: Real>(&self, part: TapePart, leaves: Vec<TapeValue<R>>) -> Option<Vec<TapeValue<R>>> {
        let horizon = u32::try_from(self.spec.horizon).unwrap_or(u32::MAX);
        let tape = self.ask(Question::Tape, &[part as u32, horizon]);
        if tape.is_empty() {
            return None;
        }
        let played = replay(&tape, leaves);
        assert!(played.is_some(), "{part:?} of {}: the module answers with no tape", self.spec.name);
        played
    }

    fn step_rows<R: Real>(&self, rows: StepRows<R>) -> Option<SteppedRows<R>> {
        let StepRows { state, steps, action, key, element, task } = rows;
        let width = state.len();
        let words =
            [TapeValue::Bits(steps), TapeValue::Bits(key[0]), TapeValue::Bits(key[1]), TapeValue::Bits(element)];
        let leaves = numbers(&state).chain(numbers(&action)).chain(words).chain(numbers(&task)).collect();
        let after = self.play(TapePart::Step, leaves)?;
        let (state, after) = after.split_at_checked(width)?;
        let [steps, reward, terminated, truncated, seen @ ..] = after else { return None };
        let (last, seen) = seen.split_at_checked(self.spec.observation.len())?;
        Some(SteppedRows {
            state: plain(state),
            steps: steps.bits(),
            reward: reward.number(),
            terminated: terminated.mask(),
            truncated: truncated.mask(),
            last: plain(last),
            seen: plain(seen),
        })
    }

    /// First states and what is seen there.
    fn reset_rows<R: Real>(&self, key: [R::Bits; 2], element: R::Bits, task: &[R]) -> Option<[Vec<R>; 2]> {
        let leaves = key.into_iter().chain([element]).map(TapeValue::Bits).chain(numbers(task)).collect();
        let first = self.play(TapePart::Reset, leaves)?;
        let (state, seen) = first.split_at_checked(self.names.len())?;
        Some([plain(state), plain(seen)])
    }

    fn task_rows<R: Real>(&self, key: [R::Bits; 2], element: R::Bits) -> Vec<R> {
        let leaves = key.into_iter().chain([element]).map(TapeValue::Bits).collect();
        plain(&self.play(TapePart::Tasks, leaves).unwrap_or_default())
    }

    fn success_rows<R: Real>(&self, before: &[R], reward: R, end: R::Mask, task: &[R]) -> Option<R::Mask> {
        let ends = [TapeValue::Number(reward), TapeValue::Mask(end)];
        let leaves = numbers(before).chain(ends).chain(numbers(task)).collect();
        self.play(TapePart::Success, leaves)?.first().map(|value| value.mask())
    }
}

fn numbers<R: Real>(numbers: &[R]) -> impl Iterator<Item = TapeValue<R>> {
    numbers.iter().map(|number| TapeValue::Number(*number))
}

fn plain<R: Real>(values: &[TapeValue<R>]) -> Vec<R> {
    values.iter().map(|value| value.number()).collect()
}

impl Erased for Loaded {
    fn spec(&self) -> EnvSpec {
        (*self.own).clone()
    }

    fn with_spec(&self, spec: Arc<EnvSpec>) -> EnvDef {
        let Loaded { module, env, own, names, .. } = self;
        let (module, own, names) = (module.clone(), own.clone(), names.clone());
        EnvDef::of(Arc::new(Loaded { module, env: *env, own, spec: spec.clone(), names }), spec)
    }

    fn state_len(&self) -> usize {
        self.names.len()
    }

    fn state_names(&self) -> Vec<String> {
        self.names.to_vec()
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        let words: Vec<u32> = state.iter().chain(task).map(|number| number.to_bits()).collect();
        WordReader::new(&self.ask(Question::Draw, &words)).scene()
    }

    fn trace_reset(&self, inputs: &[Tensor]) -> Vec<Tensor> {
        let [key, element, rest @ ..] = inputs else { return Vec::new() };
        let rows = rows_of(*element);
        let task = rest.first().map_or_else(Vec::new, |t| parts(*t));
        let first = self.reset_rows(two(*key), parts(*element)[0], &task);
        first.map_or_else(Vec::new, |first| first.map(|numbers| join(&numbers, &rows)).into())
    }

    fn trace_step(&self, inputs: &[Tensor]) -> Vec<Tensor> {
        let after = StepRows::of(inputs).and_then(|rows| self.step_rows(rows));
        after.map_or_else(Vec::new, |after| after.joined(&rows_of(inputs[1])))
    }

    fn trace_tasks(&self, key: [Tensor; 2], element: Tensor) -> Tensor {
        join(&self.task_rows(key, element), &element.shape())
    }

    fn trace_dense_reward(&self, before: Tensor, action: Tensor, task: Option<Tensor>) -> Option<Tensor> {
        let task = task.map_or_else(Vec::new, parts);
        let leaves = numbers(&parts(before)).chain(numbers(&parts(action))).chain(numbers(&task)).collect();
        self.play(TapePart::DenseReward, leaves)?.first().map(|value| value.number())
    }

    fn trace_success(
        &self,
        before: Tensor,
        reward: Tensor,
        terminated: Tensor,
        task: Option<Tensor>,
    ) -> Option<Tensor> {
        self.success_rows(&parts(before), reward, terminated, &task.map_or_else(Vec::new, parts))
    }

    fn sample_task_f32(&self, key: Key, element: u32) -> Vec<f32> {
        self.ask(Question::Task, &[key[0], key[1], element]).into_iter().map(f32::from_bits).collect()
    }

    fn run(&self, _: Isa, block: Block<'_, '_>) {
        thread_local! {
            /// Room for a question and its answer.
            static ROOM: RefCell<[Vec<u32>; 2]> = RefCell::default();
        }
        let code = block.code();
        assert!(code.is_some(), "{}: a job that modules do not have", self.spec.name);
        // Taken out: a module that fails leaves them lost, and not held.
        let [mut words, mut answer] = ROOM.take();
        {
            words.clear();
            words.extend([code.unwrap_or(0), block.horizon, block.lanes as u32]);
            for input in [block.states, block.counts, block.actions, block.keys, block.elements, block.tasks] {
                words.extend_from_slice(bytemuck::cast_slice(input));
            }
            let mut outputs = vec![block.next_states];
            if let Some(StepOutputs { counts, rewards, terminated, truncated, last_observations }) = block.step {
                outputs.extend([counts, rewards, terminated, truncated, last_observations].map(|output| &mut **output));
            }
            outputs.push(block.observations);
            answer.resize(outputs.iter().map(|output| output.len()).sum(), 0);
            let len = self.module.call(Question::Run as u32, self.env, &words, &mut answer);
            assert!(len == answer.len(), "{}: the module answers with {len} words", self.spec.name);
            let mut numbers: &[f32] = bytemuck::cast_slice(&answer);
            for output in outputs {
                let (own, rest) = numbers.split_at(output.len());
                output.copy_from_slice(own);
                numbers = rest;
            }
        }
        ROOM.set([words, answer]);
    }

    #[cfg(feature = "standalone")]
    fn success(&self, before: &[f32], reward: f32, terminated: bool, task: &[f32]) -> Option<bool> {
        use crate::env::Mask;
        let lanes = |numbers: &[f32]| numbers.iter().map(|x| Lanes([*x])).collect::<Vec<_>>();
        let end = <Lanes<1> as Real>::Mask::splat(terminated);
        self.success_rows(&lanes(before), Lanes([reward]), end, &lanes(task)).map(Mask::any)
    }

    #[cfg(feature = "standalone")]
    fn sample_task_f64(&self, key: Key, element: u32) -> Vec<f64> {
        self.task_rows(key, element)
    }

    #[cfg(feature = "standalone")]
    fn reset_f64(&self, task: &[f64], key: Key, element: u32) -> Vec<f64> {
        self.reset_rows(key, element, task).map(|[state, _]| state).unwrap_or_default()
    }

    #[cfg(feature = "standalone")]
    fn observe_f64(&self, state: &[f64], task: &[f64]) -> Vec<f64> {
        let leaves = numbers(state).chain(numbers(task)).collect();
        plain(&self.play(TapePart::Observe, leaves).unwrap_or_default())
    }

    #[cfg(feature = "standalone")]
    fn step_f64(&self, state: &[f64], action: &[f64], task: &[f64], key: Key, element: u32) -> HostStep<f64> {
        let words = key.into_iter().chain([element]).map(TapeValue::Bits);
        let leaves = numbers(state).chain(numbers(action)).chain(words).chain(numbers(task)).collect();
        let after = self.play::<f64>(TapePart::Bare, leaves).unwrap_or_default();
        let (next, after) = after.split_at(state.len());
        let (ends, seen) = after.split_at(2);
        HostStep { state: plain(next), observation: plain(seen), reward: ends[0].number(), terminated: ends[1].mask() }
    }
}
