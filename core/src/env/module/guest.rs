//! The module that has environments.

use super::recorder::{Noted, record};
use super::words::{WordReader, WordWriter};
use super::{Question, TapePart, VERSION};
use crate::backend::cpu::simd::isa::Isa;
use crate::env::builtin::{Take, guest, guest_names, guest_parameters};
use crate::env::engine::block::block_any;
use crate::env::engine::job::{Block, Job};
#[cfg(feature = "standalone")]
use crate::env::engine::step::numbers_of;
use crate::env::engine::step::{StepRows, whole_step};
use crate::env::engine::traced::whole_reset;
use crate::env::engine::{LaneBits, Lanes};
use crate::env::fields::Fields;
use crate::env::{Draws, Env, EnvSpec, Parameter, TASK_BLOCK};
use crate::{Error, Result};

/// Environments of bodies and machines for another module, and the answers to its questions.
#[derive(Default)]
pub struct Guest {
    /// Environments by the names and parameters that they were asked for with: a page asks for one again and again.
    made: Vec<(String, Box<dyn GuestEnv>)>,
    reply: Vec<u32>,
}

impl Guest {
    /// The answer to a question `request` about environment `env`, as words. A question that is none has no answer.
    pub fn call(&mut self, request: u32, env: u32, words: &[u32]) -> &[u32] {
        let Some(request) = Question::ALL.get(request as usize) else { return &[] };
        let mut answer = WordWriter(std::mem::take(&mut self.reply));
        if *request != Question::Again {
            answer.0.clear();
        }
        match (request, self.made.get_mut(env as usize).map(|(_, env)| env)) {
            (Question::Again, _) => {}
            (Question::Catalogue, _) => {
                answer.text(VERSION);
                answer.list(&guest_names(), |answer, name| {
                    answer.text(name);
                    let parameters = guest_parameters(name).map_or_else(Vec::new, |(_, parameters)| parameters);
                    answer.list(&parameters, |answer, parameter| {
                        let Parameter { name, default, meaning } = parameter;
                        [name, &**default, meaning].iter().for_each(|text| answer.text(text));
                    });
                });
            }
            (Question::Make, _) => self.make(&mut WordReader::new(words), &mut answer),
            (Question::Draw, Some(env)) => env.draw(words, &mut answer),
            (Question::Run, Some(env)) => env.run(words, &mut answer.0),
            (Question::Task, Some(env)) => env.task(words, &mut answer),
            (Question::Tape, Some(env)) => env.tape(words, &mut answer),
            (_, None) => {}
        }
        self.reply = answer.0;
        &self.reply
    }

    /// Keeps an environment, and answers which number it has and what is fixed about it.
    pub(super) fn keep(&mut self, asked: String, env: Box<dyn GuestEnv>, answer: &mut WordWriter) {
        self.made.push((asked, env));
        self.answer_made(self.made.len() - 1, answer);
    }

    fn answer_made(&self, number: usize, answer: &mut WordWriter) {
        answer.word(0);
        answer.len(number);
        self.made[number].1.describe(answer);
    }

    fn make(&mut self, words: &mut WordReader<'_>, answer: &mut WordWriter) {
        let (name, parameters) = (words.text(), words.text());
        let asked = format!("{name}:{parameters}");
        if let Some(number) = self.made.iter().position(|(known, _)| *known == asked) {
            return self.answer_made(number, answer);
        }
        match guest(&name, (!parameters.is_empty()).then_some(&parameters), Boxed) {
            Ok(env) => self.keep(asked, env, answer),
            Err(error) => {
                answer.word(1);
                let (key, problem) = match error {
                    Error::Config { key, problem, .. } => (key, problem),
                    other => ("env".to_owned(), other.to_string()),
                };
                answer.text(&key);
                answer.text(&problem);
            }
        }
    }
}

/// An environment without its type.
pub(super) trait GuestEnv: Send {
    fn describe(&self, answer: &mut WordWriter);
    fn draw(&self, words: &[u32], answer: &mut WordWriter);
    fn run(&mut self, words: &[u32], answer: &mut Vec<u32>);
    fn task(&self, words: &[u32], answer: &mut WordWriter);
    fn tape(&self, words: &[u32], answer: &mut WordWriter);
}

struct KeptEnv<E> {
    env: E,
    spec: EnvSpec,
}

/// Takes environments into boxes.
pub(super) struct Boxed;

impl Take for Boxed {
    type Made = Box<dyn GuestEnv>;
    fn take<E: Env>(self, env: E) -> Result<Box<dyn GuestEnv>> {
        let spec = env.spec();
        Ok(Box::new(KeptEnv { env, spec }))
    }
}

impl<E: Env> GuestEnv for KeptEnv<E> {
    fn describe(&self, answer: &mut WordWriter) {
        // Blocks may have been run with another time limit.
        answer.spec(&self.env.spec());
        answer.list(&<E::State<f64> as Fields<f64>>::names(""), |answer, name| answer.text(name));
    }

    fn draw(&self, words: &[u32], answer: &mut WordWriter) {
        let numbers: Vec<f32> = words.iter().map(|word| f32::from_bits(*word)).collect();
        if let Some((state, task)) = numbers.split_at_checked(<E::State<f64> as Fields<f64>>::N) {
            answer.scene(&self.env.draw(state, task));
        }
    }

    fn run(&mut self, words: &[u32], answer: &mut Vec<u32>) {
        let [job, horizon, lanes, words @ ..] = words else { return };
        let Some(job) = Job::of(*job) else { return };
        self.spec.horizon = *horizon as usize;
        let lanes = *lanes as usize;
        let [state, seen] = [<E::State<f64> as Fields<f64>>::N, self.spec.observation.len()];
        let (acted, told) = (self.spec.action.dim(), self.spec.task.len());
        // The widths of inputs and outputs in order, as the job has them.
        let (before, after) = match job {
            Job::Reset => (&[2, 1, told][..], &[state, seen][..]),
            _ => (&[state, 1, acted, 2, 1, told][..], &[state, 1, 1, 1, 1, seen, seen][..]),
        };
        answer.resize(after.iter().sum::<usize>() * lanes, 0);
        let mut words: &[f32] = bytemuck::cast_slice(words);
        let inputs: Vec<&[f32]> = before
            .iter()
            .filter(|width| **width > 0)
            .map(|width| words.split_off(..width * lanes).unwrap_or_default())
            .collect();
        let mut rest: &mut [f32] = bytemuck::cast_slice_mut(answer);
        let mut outputs: Vec<&mut [f32]> =
            after.iter().map(|width| rest.split_off_mut(..width * lanes).unwrap_or_default()).collect();
        let env = &self.env;
        Block::with(&self.spec, job, [lanes, state], &inputs, &mut outputs, |block| {
            block_any(Isa::detect(), env, block);
        });
    }

    fn task(&self, words: &[u32], answer: &mut WordWriter) {
        let [first, second, element] = *words else { return };
        let mut task = vec![Lanes([0.0]); self.spec.task.len()];
        let key = [first, second].map(|word| LaneBits([word]));
        self.env.sample_task(&mut Draws::new(key, LaneBits([element]), TASK_BLOCK), &mut task);
        task.iter().for_each(|Lanes([number])| answer.float(*number));
    }

    fn tape(&self, words: &[u32], answer: &mut WordWriter) {
        let [part, horizon] = *words else { return };
        let Some(part) = TapePart::ALL.get(part as usize) else { return };
        let spec = EnvSpec { horizon: horizon as usize, ..self.spec.clone() };
        let [state, acted, told] = [<E::State<f64> as Fields<f64>>::N, spec.action.dim(), spec.task.len()];
        let before = |leaves: &[Noted]| <E::State<Noted> as Fields<Noted>>::from_fn(|i| leaves[i]);
        let mut known = true;
        let mut found = |value: Option<Noted>| {
            known = value.is_some();
            value.into_iter().collect()
        };
        let env = &self.env;
        let tape = match part {
            TapePart::Reset => record(3 + told, |leaves| {
                whole_reset::<Noted, E>(env, &spec, [leaves[0], leaves[1]], leaves[2], &leaves[3..]).concat()
            }),
            TapePart::Step => record(state + acted + told + 4, |leaves| {
                let (state, leaves) = leaves.split_at(state);
                let (action, leaves) = leaves.split_at(acted);
                let [steps, first, second, element, ref task @ ..] = *leaves else { return Vec::new() };
                let (state, action, task) = (state.to_vec(), action.to_vec(), task.to_vec());
                let rows = StepRows { state, steps, action, key: [first, second], element, task };
                let after = whole_step(env, &spec, &rows);
                let single = [after.steps, after.reward, after.terminated, after.truncated];
                [&after.state[..], &single, &after.last, &after.seen].concat()
            }),
            TapePart::Tasks => record(3, |leaves| {
                let mut task: Vec<Noted> = (0..told).map(|_| leaves[0]).collect();
                env.sample_task(&mut Draws::new([leaves[0], leaves[1]], leaves[2], TASK_BLOCK), &mut task);
                task
            }),
            TapePart::Success => record(state + 2 + told, |leaves| {
                let [reward, terminated, ref task @ ..] = leaves[state..] else { return Vec::new() };
                found(env.success(&before(leaves), reward, terminated, task))
            }),
            TapePart::DenseReward => record(state + acted + told, |leaves| {
                let (action, task) = leaves[state..].split_at(acted);
                found(env.dense_reward(&before(leaves), action, task))
            }),
            #[cfg(feature = "standalone")]
            TapePart::Bare => record(state + acted + 3 + told, |leaves| {
                let (action, leaves_after) = leaves[state..].split_at(acted);
                let [first, second, element, ref task @ ..] = *leaves_after else { return Vec::new() };
                let mut draws = Draws::new([first, second], element, crate::env::STEP_BLOCK);
                let after = env.step(before(leaves), action, task, &mut draws);
                let mut seen = vec![first; spec.observation.len()];
                env.observe(&after.next, task, &mut seen);
                [&numbers_of::<Noted, E>(&after.next)[..], &[after.reward, after.terminated], &seen].concat()
            }),
            #[cfg(feature = "standalone")]
            TapePart::Observe => record(state + told, |leaves| {
                let mut seen = vec![leaves[0]; spec.observation.len()];
                env.observe(&before(leaves), &leaves[state..], &mut seen);
                seen
            }),
            #[cfg(not(feature = "standalone"))]
            TapePart::Bare | TapePart::Observe => return,
        };
        if known {
            *answer = tape;
        }
    }
}
