//! Environments that note their steps, and memories that must hold what was noted.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::rc::Rc;
use std::sync::{Arc, Mutex};

use pollster::block_on as wait;
use quickstudy_core::algo::{Algorithm, Training};
use quickstudy_core::env::{EnvDef, EnvSpec, builtin};
use quickstudy_core::host::{Chance, HostEnv, IterativeExecutor, Transition, Wrapped};
use quickstudy_core::{Device, Result};

use super::all::{fitted, small};

/// The steps of an environment in order.
pub(super) type Notes = Arc<Mutex<Vec<Note>>>;

/// An environment that notes its steps as they are made.
pub(super) struct Noted {
    env: Wrapped,
    obs: Vec<f64>,
    number: usize,
    notes: Notes,
}

/// A noted step: its row in a memory, which ends with its number in its episode, and true if the episode ended with it.
#[derive(Clone, Debug)]
pub(super) struct Note {
    pub row: Vec<f32>,
    pub ended: bool,
}

impl HostEnv for Noted {
    fn spec(&self) -> &EnvSpec {
        self.env.spec()
    }

    fn info(&self) -> &[String] {
        self.env.info()
    }

    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
        self.number = 0;
        self.obs = self.env.reset(chance)?;
        Ok(self.obs.clone())
    }

    fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
        let step = self.env.step(action, chance)?;
        let end = [step.reward, f64::from(u8::from(step.terminated)), self.number as f64];
        let row = [&self.obs[..], action, &step.observation, &end].concat().iter().map(|x| *x as f32).collect();
        self.number += 1;
        let ended = step.terminated || step.truncated || self.number == self.env.spec().horizon;
        self.notes.lock().unwrap().push(Note { row, ended });
        self.obs.clone_from(&step.observation);
        Ok(step)
    }
}

impl Noted {
    pub(super) fn new(env: &EnvDef, notes: Notes) -> Noted {
        Noted { env: Wrapped::new(env), obs: Vec::new(), number: 0, notes }
    }
}

/// The rows of a memory of steps that run on hold what each action led to, also where the episode ended by itself or by
/// the time limit: hindsight takes goals from there.
#[test]
fn each_row_has_the_observation_that_its_action_led_to() {
    let (device, seeds) = (Device::cpu(1), [5, 1 << 33]);
    for (name, env, options) in [
        ("dqn", "bit-flip:bits=3", "hindsight = 0.8\nenvs = 3\ntrain_freq = 4\ngradient_steps = 2"),
        ("dqn", "bit-flip:bits=3", "hindsight = 0.8"),
        ("dql", "bit-flip:bits=2", "hindsight = 0.5\nenvs = 2\nprioritised = true\ntrain_freq = 2"),
        ("sac", "cartpole:time_limit=12", "n_step = 2\nenvs = 2\ntrain_freq = 2"),
        ("dqn", "cartpole:time_limit=9", "n_step = 2\nwarm_up = \"policy\""),
    ] {
        let (settings, def) = (small(options), builtin(env).unwrap());
        let envs = settings.get("envs").map_or(1, |envs| envs.as_integer().unwrap() as usize);
        let algorithm: Rc<dyn Algorithm> = fitted(name, &def, &settings, 400);
        let notes: Vec<Notes> = (0..2 * envs).map(|_| Notes::default()).collect();
        let mut given = notes.iter();
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Noted::new(&def, given.next().unwrap().clone()))) };
        let executor = Box::new(IterativeExecutor::new(2, envs, 0, make).unwrap());
        let mut training = Training::new(&device, algorithm, executor, &seeds).unwrap();
        notes.iter().for_each(|notes| notes.lock().unwrap().clear());
        (0..4).for_each(|done| drop(wait(training.step(done, 4)).unwrap()));
        let rows = wait(device.read(training.state().get("memory").unwrap())).unwrap();
        let [_, all, width] = training.state().get("memory").unwrap().shape[..] else { panic!("three axes") };
        let mut ends = [0, 0];
        for (seed, notes) in notes.chunks(envs).enumerate() {
            let notes: Vec<_> = notes.iter().map(|notes| notes.lock().unwrap()).collect();
            assert!(notes[0].len() >= 50 && notes[0].len() * envs <= all, "{name} {options}");
            for (number, note) in (0..notes[0].len()).flat_map(|t| notes.iter().map(move |notes| &notes[t])).enumerate()
            {
                let held: Vec<f32> = rows[(seed * all + number) * width..][..width].iter().map(|x| *x as f32).collect();
                assert_eq!(held, note.row, "{name} {options}: row {number} of seed {seed}");
                ends[usize::from(note.row[width - 2] > 0.0)] += usize::from(note.ended);
            }
        }
        assert!(ends.iter().all(|count| *count > 3), "{name} {options}: {ends:?} episodes ended in each way");
    }
}
