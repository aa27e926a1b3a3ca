//! Environments of a module are those that are built in, to the bit.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Arc, Mutex};

use super::guest::{Boxed, Guest};
use super::loaded::{catalogue, made, make};
use super::words::WordWriter;
use super::{Module, Question, TapePart};
use crate::backend::cpu::simd::isa::Isa;
use crate::env::builtin::acrobot::Acrobot;
use crate::env::builtin::bandit::Bandit;
use crate::env::builtin::dark_room::DarkRoom;
use crate::env::builtin::point::{PointHalfCircle, PointWalls};
use crate::env::builtin::{Take, guest_names, parse};
use crate::env::engine::agree;
use crate::env::{Env, EnvDef, Lockstep, builtin, builtin_parameters};
use crate::{DType, Device, Program, State};

/// A module that is no module: its guest is in the same memory.
struct Near(Mutex<Guest>);

impl Module for Near {
    fn call(&self, request: u32, env: u32, words: &[u32], reply: &mut [u32]) -> usize {
        let mut guest = self.0.lock().unwrap();
        let answer = guest.call(request, env, words);
        let shared = answer.len().min(reply.len());
        reply[..shared].copy_from_slice(&answer[..shared]);
        answer.len()
    }
}

fn near() -> Arc<dyn Module> {
    Arc::new(Near(Mutex::default()))
}

/// An environment with a module between it and its user.
fn behind<E: Env>(env: E) -> EnvDef {
    let (mut guest, mut answer) = (Guest::default(), WordWriter::default());
    guest.keep("behind".to_owned(), Boxed.take(env).unwrap(), &mut answer);
    let module: Arc<dyn Module> = Arc::new(Near(Mutex::new(guest)));
    made(&module, "behind", &answer.0).unwrap()
}

fn body(module: &Arc<dyn Module>, name: &str) -> crate::Result<EnvDef> {
    let (own, text) = name.split_once(':').map_or((name, None), |(own, text)| (own, Some(text)));
    make(module, own, &parse(own, text, &builtin_parameters(own))?)
}

/// States, rewards and observations of some steps of environments side by side, as bits.
fn played(env: &EnvDef, steps: u32) -> Vec<u32> {
    let mut envs = Lockstep::new(env, Isa::Baseline, 16);
    envs.sample_tasks([7, 7]);
    envs.reset([1, 2]);
    let mut all = Vec::new();
    for step in 0..steps {
        for (i, action) in envs.action.iter_mut().enumerate() {
            *action = ((i as f32 + step as f32) * 0.7).sin();
        }
        envs.step([3, step]);
        let parts = [&envs.state, &envs.reward, &envs.terminated, &envs.truncated, &envs.observation];
        all.extend(parts.into_iter().flatten().map(|x| x.to_bits()));
    }
    all
}

#[test]
fn bodies_of_a_module_are_those_that_are_built_in() {
    let module = near();
    let names: Vec<&str> = catalogue(&module).unwrap().iter().map(|entry| entry.name).collect();
    assert_eq!(names, guest_names());
    for name in names.into_iter().chain(["hopper:terminate_when_unhealthy=false", "swimmer:reset_noise_scale=0.5"]) {
        let (there, here) = (body(&module, name).unwrap(), builtin(name).unwrap());
        assert_eq!((there.spec(), there.state_names()), (here.spec(), here.state_names()));
        assert!(played(&there, 40) == played(&here, 40), "{name}");
        let short = [&there, &here].map(|env| played(&env.with_time_limit(7).unwrap(), 10));
        assert!(short[0] == short[1], "{name}");
        assert_eq!(body(&module, name).unwrap().spec(), here.spec(), "asked for again");
        assert!(name != "half-cheetah" || short[0] != played(&here, 10), "its episodes end");
        let task = here.sample_task::<f64>([7, 8], 2);
        assert_eq!(there.sample_task::<f64>([7, 8], 2), task);
        let state = here.reset::<f64>(&task, [5, 6], 3).unwrap();
        let [narrow, short] = [&state, &task].map(|wide| wide.iter().map(|x| *x as f32).collect::<Vec<f32>>());
        assert_eq!(there.draw(&narrow, &short).unwrap(), here.draw(&narrow, &short).unwrap());
        let action = vec![0.3; here.spec().action.dim()];
        let [a, b] = [&there, &here].map(|env| env.step::<f64>(&state, &action, &task, [1, 1], 0).unwrap());
        assert_eq!((a.state, a.observation, a.reward, a.terminated), (b.state, b.observation, b.reward, b.terminated));
    }
}

#[test]
fn tapes_do_what_lanes_do() {
    let module = near();
    let bodies =
        ["half-cheetah", "inverted-double-pendulum", "hopper-rand-params"].map(|name| body(&module, name).unwrap());
    let others = [
        behind(Acrobot::default()),
        behind(Bandit::default()),
        behind(DarkRoom { size: 5 }),
        behind(PointHalfCircle::default()),
        behind(PointWalls::default()),
    ];
    for env in bodies.iter().chain(&others) {
        agree::check(env).unwrap();
        if !env.spec().task.is_empty() {
            agree::check_tasks(env, 9).unwrap();
        }
    }
}

#[test]
fn tasks_success_and_dense_rewards_are_asked_for() {
    let (there, here) = (behind(PointHalfCircle::default()), EnvDef::new(PointHalfCircle::default()).unwrap());
    assert_eq!(there.sample_task::<f64>([4, 4], 2), here.sample_task::<f64>([4, 4], 2));
    let task = here.sample_task::<f32>([4, 4], 2);
    assert_eq!(there.sample_task::<f32>([4, 4], 2), task);
    let (far, near) = (here.reset::<f32>(&task, [1, 2], 0).unwrap(), [task.clone(), vec![0.0; 2]].concat());
    for (state, reward) in [(&far[..], 0.0), (&near[..far.len()], 1.0)] {
        let [a, b] = [&there, &here].map(|env| env.success(state, reward, false, &task).unwrap());
        assert!(a == b && b == Some(reward > 0.0));
    }
    let device = Device::cpu(1);
    let numbers = |len: usize| (0..3 * len).map(|i| (i as f32).sin()).collect::<Vec<_>>();
    let spec = here.spec();
    let widths = [here.state_len(), spec.action.dim(), spec.task.len()];
    let [a, b] = [&there, &here].map(|env| {
        let mut program = Program::new(&device, |cx| {
            let names = ["state", "action", "task"];
            let [state, action, task] = std::array::from_fn(|i| cx.input(names[i], &[3, widths[i]], DType::F32));
            let dense = env.trace_dense_reward(state, action, Some(task)).unwrap();
            let success = env.trace_success(state, dense, (dense * 0.0).to_u32(), Some(task)).unwrap();
            cx.output("both", dense + success.to_f32());
        })
        .unwrap();
        let arrays = widths.map(|width| device.array_f32(&[3, width], &numbers(width)).unwrap());
        let inputs = [("state", &arrays[0]), ("action", &arrays[1]), ("task", &arrays[2])];
        let out = program.run(&State::new(), &inputs, &[]).unwrap();
        pollster::block_on(device.read(out.get("both").unwrap())).unwrap()
    });
    assert!(a == b && a[0] != a[1], "{a:?}");
    let none = behind(DarkRoom { size: 5 });
    let program = Program::new(&device, |cx| {
        let state = cx.input("state", &[3, none.state_len()], DType::F32);
        let action = cx.input("action", &[3, 1], DType::F32);
        let task = cx.input("task", &[3, none.spec().task.len()], DType::F32);
        assert!(none.trace_dense_reward(state, action, Some(task)).is_none());
        cx.output("x", action);
    });
    assert!(program.is_ok());
}

#[test]
fn what_is_wrong_is_said() {
    let module = near();
    let refused = |name: &str| body(&module, name).unwrap_err().to_string();
    for name in ["hopper:terminate_when_unhealthy=no", "hopper:reset_noise_scale=-1", "reacher:weight=1"] {
        assert_eq!(refused(name), builtin(name).unwrap_err().to_string());
    }
    let mut guest = Guest::default();
    let mut asked = WordWriter::default();
    ["hopper", ""].iter().for_each(|text| asked.text(text));
    let mut number = || guest.call(Question::Make as u32, 0, &asked.0)[1];
    assert_eq!([number(), number()], [0, 0], "one environment for all who ask");
    let mut guest = Guest::default();
    assert!(guest.call(99, 0, &[]).is_empty() && guest.call(Question::Run as u32, 5, &[1, 2, 3]).is_empty());
    assert!(guest.call(Question::Tape as u32, 0, &[TapePart::Step as u32, 10]).is_empty());
    let other: Arc<dyn Module> = Arc::new(Old);
    let problem = catalogue(&other).err().unwrap().to_string();
    assert!(problem.contains("of version `0.0.9`, and this is"), "{problem}");
}

/// A module of another version.
struct Old;

impl Module for Old {
    fn call(&self, _: u32, _: u32, _: &[u32], reply: &mut [u32]) -> usize {
        let mut words = WordWriter::default();
        words.text("0.0.9");
        reply[..words.0.len()].copy_from_slice(&words.0);
        words.0.len()
    }
}
