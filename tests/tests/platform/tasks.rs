//! Environments with tasks inside programs: tasks drawn, first states and steps on every device against the host.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::env::{ActionSpace, EnvDef, builtin, builtin_names};
use quickstudy_core::rng::{self, Key, Threefry};
use quickstudy_core::{DType, Device, Program, State, Tensor};
use quickstudy_tests::{distinct_names, gpu};

const SEEDS: usize = 2;
const TASKS: usize = 3;
const PER_TASK: usize = 4;
const ENVS: usize = TASKS * PER_TASK;
const STEPS: usize = 12;

fn with_tasks(names: &[&str]) -> Vec<EnvDef> {
    let all = names.iter().map(|name| builtin(name).unwrap());
    let found: Vec<EnvDef> = all.filter(|env| !env.spec().task.is_empty()).collect();
    assert!(found.len() >= 10);
    found
}

/// Keys of the seeds for what happens at `time`: 0 is the tasks, 1 the first states, then come the steps.
fn key(seed: usize, time: usize) -> Key {
    rng::fold_in(rng::key_from_seed(seed as u64 + 5), time as u32)
}

fn actions(env: &EnvDef) -> Vec<f32> {
    let mut random = Threefry::new([4, 2]);
    let mut one = |_| match &env.spec().action {
        ActionSpace::Discrete { .. } | ActionSpace::MultiDiscrete { .. } => {
            let counts = env.spec().action.counts().unwrap().into_iter();
            counts.map(|count| (random.uniform() * count as f64).floor() as f32).collect::<Vec<_>>()
        }
        ActionSpace::Box { dims } => {
            dims.iter().map(|d| (1.2 * (d.low + (d.high - d.low) * random.uniform())) as f32).collect()
        }
    };
    (0..STEPS * SEEDS * ENVS).flat_map(&mut one).collect()
}

/// Tasks, first states, and states, rewards, ends and observations after each step, all as one list per name.
fn on_device(env: &EnvDef, device: &Device) -> Vec<Vec<f64>> {
    let width = env.spec().action.dim();
    let (rows, action_shape) = ([SEEDS, ENVS], [STEPS, SEEDS, ENVS, width]);
    let mut program = Program::new(device, |cx| {
        let keys = cx.input("keys", &[STEPS + 2, 2, SEEDS, 1], DType::U32);
        let action = cx.input("action", &action_shape, DType::F32);
        let at = |t: usize| [0, 1].map(|word| keys.index(0, t).index(0, word));
        let tasks = env.trace_tasks(at(0), Tensor::iota(&[SEEDS, TASKS], 1));
        let d = env.spec().task.len();
        // Environments of one task stand side by side.
        let spread = tasks.unsqueeze(2).broadcast_to(&[SEEDS, TASKS, PER_TASK, d]).reshape(&[SEEDS, ENVS, d]);
        let element = Tensor::iota(&rows, 1);
        let first = env.trace_reset(at(1), element, Some(spread));
        cx.output("task", tasks);
        cx.output("first", first.state);
        let (mut state, mut steps) = (first.state, Tensor::iota(&rows, 1) * Tensor::constant_u32(0));
        let mut seen = Vec::new();
        for t in 0..STEPS {
            let step = env.trace_step(state, steps, action.index(0, t), at(t + 2), element, Some(spread));
            (state, steps) = (step.state, step.steps);
            let column = |x: Tensor| x.unsqueeze(2);
            let numbers = [step.state, step.last_observation, column(step.reward), column(step.terminated.to_f32())];
            seen.push(Tensor::concat(&numbers, 2));
        }
        cx.output("seen", Tensor::stack(&seen, 0));
    })
    .unwrap();
    let words: Vec<u32> = (0..STEPS + 2)
        .flat_map(|t| (0..2).flat_map(move |word| (0..SEEDS).map(move |seed| key(seed, t)[word])))
        .collect();
    let keys = device.array_u32(&[STEPS + 2, 2, SEEDS, 1], &words).unwrap();
    let action = device.array_f32(&action_shape, &actions(env)).unwrap();
    let out = program.run(&State::new(), &[("keys", &keys), ("action", &action)], &[]).unwrap();
    ["task", "first", "seen"].map(|name| pollster::block_on(device.read(out.get(name).unwrap())).unwrap()).to_vec()
}

fn on_host(env: &EnvDef) -> Vec<Vec<f64>> {
    let (horizon, width) = (env.spec().horizon as u32, env.spec().action.dim());
    let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
    let tasks: Vec<Vec<f32>> =
        (0..SEEDS * TASKS).map(|i| env.sample_task(key(i / TASKS, 0), (i % TASKS) as u32)).collect();
    let rows = || (0..SEEDS * ENVS).map(|i| (i, i / ENVS, (i % ENVS) as u32, &tasks[i / PER_TASK]));
    let mut states: Vec<Vec<f32>> =
        rows().map(|(_, seed, element, task)| env.reset(task, key(seed, 1), element).unwrap()).collect();
    let first = states.iter().flat_map(|s| wide(s)).collect();
    let (mut steps, mut seen, all) = (vec![0; SEEDS * ENVS], Vec::new(), actions(env));
    for t in 0..STEPS {
        for (i, seed, element, task) in rows() {
            let from = (t * SEEDS * ENVS + i) * width;
            let step = env.step(&states[i], &all[from..from + width], task, key(seed, t + 2), element).unwrap();
            steps[i] += 1;
            states[i] = step.state;
            if step.terminated || steps[i] >= horizon {
                states[i] = env.reset(task, key(seed, t + 2), element).unwrap();
                steps[i] = 0;
            }
            seen.extend(wide(&states[i]).into_iter().chain(wide(&step.observation)));
            seen.extend([f64::from(step.reward), f64::from(u8::from(step.terminated))]);
        }
    }
    vec![tasks.iter().flat_map(|t| wide(t)).collect(), first, seen]
}

fn compare(device: &Device, names: &[&str], tolerance: f64) {
    for env in with_tasks(names) {
        let name = &env.spec().name;
        let (got, want) = (on_device(&env, device), on_host(&env));
        let mut worst = 0.0_f64;
        for (got, want) in got.iter().zip(&want) {
            assert_eq!(got.len(), want.len(), "{name}");
            worst = got.iter().zip(want).map(|(a, b)| (a - b).abs() / b.abs().max(1.0)).fold(worst, f64::max);
        }
        println!("{name} on {}: {worst:e}", device.caps().name);
        assert!(worst <= tolerance, "{name} on {}: {worst:e}", device.caps().name);
    }
}

#[test]
fn the_cpu_plays_the_hosts_episodes_bit_for_bit() {
    compare(&Device::cpu(1), &builtin_names(), 0.0);
    compare(&Device::cpu(2), &distinct_names(), 0.0);
}

/// The names without bodies: where these touch something, numbers of another precision are soon another motion. Single
/// steps of theirs are compared with MuJoCo's, and on GPUs too (`gpu/env.rs`).
fn without_bodies(names: Vec<&'static str>) -> Vec<&'static str> {
    let bodies = ["half-cheetah", "hopper", "walker2d", "swimmer"];
    names.into_iter().filter(|name| !bodies.iter().any(|body| name.starts_with(body))).collect()
}

/// In f64, where the host rounds to f32.
#[test]
fn the_reference_plays_the_hosts_episodes() {
    compare(&Device::reference(), &without_bodies(builtin_names()), 1e-5);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn the_gpu_plays_the_hosts_episodes() {
    let device = gpu::device();
    compare(&device, &without_bodies(distinct_names()), 1e-5);
}

#[test]
fn environments_with_a_single_task_have_none_to_draw() {
    let env = builtin("cartpole").unwrap();
    assert!(env.sample_task::<f32>([1, 2], 3).is_empty());
    let key = || [1, 2].map(Tensor::constant_u32);
    let traced =
        Program::new(&Device::cpu(1), |cx| cx.output("task", env.trace_tasks(key(), Tensor::iota(&[2, 3], 1))));
    let message = traced.unwrap_err().to_string();
    assert!(
        message.starts_with("env_tasks: expected an environment with task parameters, got `cartpole`"),
        "{message}"
    );
}
