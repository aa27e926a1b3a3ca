//! Environments on the GPU against the CPU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::env::{ActionSpace, EnvDef, builtin};
use quickstudy_core::rng::{Threefry, fold_in};
use quickstudy_core::{Array, DType, Device, Program, State, Tensor};
use quickstudy_tests::{distinct_names, gpu};

const ROWS: usize = 256;
const STEPS: usize = 100;
const KEY: [u32; 2] = [9, 9];

/// Environments after a step: `[ROWS, F]`, and per row.
#[derive(Clone)]
struct Moment {
    state: Vec<f32>,
    steps: Vec<u32>,
    reward: Vec<f32>,
    terminated: Vec<u32>,
    truncated: Vec<u32>,
    last_observation: Vec<f32>,
    observation: Vec<f32>,
}

/// A task of its own for each row.
fn tasks(env: &EnvDef, key: [Tensor; 2]) -> Option<Tensor> {
    (!env.spec().task.is_empty()).then(|| env.trace_tasks(key, Tensor::iota(&[ROWS], 0)))
}

/// Resets and steps of environments on a device.
struct Stepper {
    env: EnvDef,
    device: Device,
    reset: Program,
    step: Program,
}

impl Stepper {
    fn new(env: &EnvDef, device: &Device) -> Stepper {
        let element = || Tensor::iota(&[ROWS], 0);
        let reset = Program::new(device, |cx| {
            let key = [cx.scalar_u32("k0"), cx.scalar_u32("k1")];
            let first = env.trace_reset(key, element(), tasks(env, key));
            cx.output("state", first.state);
            cx.output("observation", first.observation);
        });
        let step = Program::new(device, |cx| {
            let state = cx.input("state", &[ROWS, env.state_len()], DType::F32);
            let steps = cx.input("steps", &[ROWS], DType::U32);
            let action = cx.input("action", &[ROWS, env.spec().action.dim()], DType::F32);
            let key = [cx.scalar_u32("k0"), cx.scalar_u32("k1")];
            let task = [cx.scalar_u32("task0"), cx.scalar_u32("task1")];
            let s = env.trace_step(state, steps, action, key, element(), tasks(env, task));
            let named = [
                ("state", s.state),
                ("steps", s.steps),
                ("reward", s.reward),
                ("terminated", s.terminated),
                ("truncated", s.truncated),
                ("last_observation", s.last_observation),
                ("observation", s.observation),
            ];
            named.into_iter().for_each(|(name, value)| cx.output(name, value));
        });
        Stepper { env: env.clone(), device: device.clone(), reset: reset.unwrap(), step: step.unwrap() }
    }

    fn floats(&self, array: &Array) -> Vec<f32> {
        pollster::block_on(self.device.read_f32(array)).unwrap()
    }

    fn words(&self, array: &Array) -> Vec<u32> {
        pollster::block_on(self.device.read_u32(array)).unwrap()
    }

    fn reset(&mut self) -> Vec<f32> {
        let scalars = [("k0", KEY[0].into()), ("k1", KEY[1].into())];
        let out = self.reset.run(&State::new(), &[], &scalars).unwrap();
        self.floats(out.get("state").unwrap())
    }

    fn step(&mut self, state: &[f32], steps: &[u32], action: &[f32], t: usize) -> Moment {
        let key = fold_in(KEY, t as u32);
        let device = &self.device;
        let state = device.array_f32(&[ROWS, self.env.state_len()], state).unwrap();
        let steps = device.array_u32(&[ROWS], steps).unwrap();
        let action = device.array_f32(&[ROWS, self.env.spec().action.dim()], action).unwrap();
        let inputs = [("state", &state), ("steps", &steps), ("action", &action)];
        let mut scalars = vec![("k0", key[0].into()), ("k1", key[1].into())];
        scalars.extend([("task0", KEY[0].into()), ("task1", KEY[1].into())]);
        let out = self.step.run(&State::new(), &inputs, &scalars).unwrap();
        let floats = |name| self.floats(out.get(name).unwrap());
        let words = |name| self.words(out.get(name).unwrap());
        Moment {
            state: floats("state"),
            steps: words("steps"),
            reward: floats("reward"),
            terminated: words("terminated"),
            truncated: words("truncated"),
            last_observation: floats("last_observation"),
            observation: floats("observation"),
        }
    }
}

/// Actions of a step for each row: any choice, or a little more than the box.
fn actions(env: &EnvDef, random: &mut Threefry) -> Vec<f32> {
    let mut one = |_| match &env.spec().action {
        ActionSpace::Discrete { .. } | ActionSpace::MultiDiscrete { .. } => {
            let counts = env.spec().action.counts().unwrap().into_iter();
            counts.map(|count| (random.uniform() * count as f64).floor() as f32).collect::<Vec<_>>()
        }
        ActionSpace::Box { dims } => {
            dims.iter().map(|d| (1.2 * (d.low + (d.high - d.low) * random.uniform())) as f32).collect()
        }
    };
    (0..ROWS).flat_map(&mut one).collect()
}

/// Steps taken before: a fifth of the rows meet the time limit on the way.
fn first_steps(env: &EnvDef) -> Vec<u32> {
    let late = |i: usize| (env.spec().horizon as u32).saturating_sub(1 + i as u32 % 60);
    (0..ROWS).map(|i| if i % 5 == 0 { late(i) } else { 0 }).collect()
}

/// Differences of two rows. The angles of an acrobot are the same at both ends of their range.
fn apart(env: &EnvDef, a: &[f32], b: &[f32]) -> Vec<f64> {
    let wraps = |k: usize| env.spec().name == "acrobot" && a.len() == env.state_len() && k < 2;
    let turn = std::f64::consts::TAU;
    let one = |k: usize| {
        let difference = f64::from(a[k]) - f64::from(b[k]);
        if wraps(k) { difference - turn * (difference / turn).round() } else { difference }
    };
    (0..a.len()).map(one).collect()
}

/// The largest difference of two rows, relative above 1.
fn off(env: &EnvDef, a: &[f32], b: &[f32]) -> f64 {
    let relative = |(d, y): (f64, &f32)| {
        let d = d.abs() / f64::from(y.abs()).max(1.0);
        if d.is_finite() { d } else { f64::INFINITY }
    };
    apart(env, a, b).into_iter().zip(b).map(relative).fold(0.0, f64::max)
}

/// Tells whether the episode's end, or a reward that is not continuous, depends on the last digits of a state.
fn on_edge(env: &EnvDef, i: usize, state: &[f32], action: &[f32], far: f64) -> bool {
    let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
    let (state, action) = (wide(state), wide(action));
    let task: Vec<f64> = env.sample_task(KEY, i as u32);
    let result = |state: &[f64]| {
        let step = env.step(state, &action, &task, [0, 0], 0).unwrap();
        (step.terminated, step.reward)
    };
    let (ends, reward) = result(&state);
    (0..state.len()).flat_map(|k| [(k, far), (k, -far)]).any(|(k, far)| {
        let mut near = state.clone();
        near[k] += far * near[k].abs().max(1.0);
        let (e, r) = result(&near);
        e != ends || (r - reward).abs() > 1e3 * far * reward.abs().max(1.0)
    })
}

fn row(values: &[f32], i: usize) -> &[f32] {
    let width = values.len() / ROWS;
    &values[i * width..(i + 1) * width]
}

/// Tells whether flags of a row differ between GPU and CPU, and how far its numbers are apart.
fn compare(env: &EnvDef, got: &Moment, want: &Moment, i: usize) -> (bool, f64) {
    let flags = |m: &Moment| (m.terminated[i], m.truncated[i], m.steps[i]);
    let reward = f64::from(got.reward[i] - want.reward[i]).abs() / f64::from(want.reward[i].abs()).max(1.0);
    let parts = [
        (&got.state, &want.state),
        (&got.last_observation, &want.last_observation),
        (&got.observation, &want.observation),
    ];
    let apart = parts.map(|(a, b)| off(env, row(a, i), row(b, i))).into_iter().fold(reward, f64::max);
    (flags(got) == flags(want), apart)
}

/// Bodies in contact amplify what is rounded: they have bounds of their own.
fn is_body(env: &EnvDef) -> bool {
    env.state_names().iter().any(|name| name.ends_with("qvel.0"))
}

fn environments(bodies: bool, test: impl Fn(&EnvDef, Stepper, Stepper)) {
    let gpu = gpu::device();
    let cpu = Device::cpu(1);
    for name in distinct_names() {
        let env = builtin(name).unwrap();
        if is_body(&env) && !bodies {
            continue;
        }
        test(&env, Stepper::new(&env, &gpu), Stepper::new(&env, &cpu));
    }
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn first_states_are_those_of_the_cpu() {
    environments(true, |env, mut gpu, mut cpu| {
        let (a, b) = (gpu.reset(), cpu.reset());
        let apart = (0..ROWS).map(|i| off(env, row(&a, i), row(&b, i))).fold(0.0, f64::max);
        println!("{}: first states {apart:e} apart", env.spec().name);
        assert!(apart <= 1e-6, "{}: first states {apart:e} apart", env.spec().name);
        let first = |i: u32| env.reset(&env.sample_task::<f32>(KEY, i), KEY, i).unwrap();
        let random = (0..ROWS as u32).any(|i| first(i) != first(0));
        assert_eq!((0..ROWS).any(|i| row(&b, i) != row(&b, 0)), random, "{}: rows begin alike", env.spec().name);
    });
}

/// Every step from the CPU's state.
#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn a_step_is_that_of_the_cpu() {
    environments(false, |env, mut gpu, mut cpu| {
        let name = &env.spec().name;
        let mut random = Threefry::new([4, 2]);
        let (mut state, mut steps) = (cpu.reset(), first_steps(env));
        let (mut worst, mut edges, mut ends, mut cuts) = (0.0f64, 0, 0, 0);
        for t in 0..STEPS {
            let action = actions(env, &mut random);
            let got = gpu.step(&state, &steps, &action, t);
            let want = cpu.step(&state, &steps, &action, t);
            for i in 0..ROWS {
                let (same, apart) = compare(env, &got, &want, i);
                if same && apart <= 1e-5 {
                    worst = worst.max(apart);
                } else {
                    let edge = on_edge(env, i, row(&state, i), row(&action, i), 1e-5);
                    assert!(edge, "{name}, step {t}, row {i}: {apart:e} apart, the same flags: {same}");
                    edges += 1;
                }
            }
            ends += want.terminated.iter().sum::<u32>();
            cuts += want.truncated.iter().sum::<u32>();
            (state, steps) = (want.state, want.steps);
        }
        println!("{name}: {worst:e} apart after one step, {ends} ends, {cuts} cut off, {edges} on an edge");
        assert!(edges * 1000 <= ROWS * STEPS, "{name}: {edges} steps on an edge");
        // Who walks at random among holes does not last long.
        assert!(cuts >= 10 || name == "grid-world", "{name}: only {cuts} episodes were cut off");
        assert!(ends > 100 || name != "cartpole", "{name}: only {ends} episodes ended");
    });
}

/// Both go on from their own states. Balanced poles fall to one side or the other by the last digits,
/// so that the bar is for all rows together.
#[test]
#[ignore = "a quarter of a minute on a software adapter: scripts/second-tier.sh"]
fn a_hundred_steps_are_those_of_the_cpu() {
    environments(false, |env, mut gpu, mut cpu| {
        let name = &env.spec().name;
        let mut random = Threefry::new([8, 1]);
        let (mut a, mut b) = (gpu.reset(), cpu.reset());
        let (mut steps_a, mut steps_b) = (first_steps(env), first_steps(env));
        let (mut worst, mut most, mut parted) = (0.0f64, 0.0f64, vec![false; ROWS]);
        for t in 0..STEPS {
            let action = actions(env, &mut random);
            let got = gpu.step(&a, &steps_a, &action, t);
            let want = cpu.step(&b, &steps_b, &action, t);
            let (mut error, mut norm) = (0.0, 0.0);
            for (i, parted) in parted.iter_mut().enumerate().filter(|(_, parted)| !**parted) {
                let (same, off) = compare(env, &got, &want, i);
                if !same {
                    assert!(
                        on_edge(env, i, row(&b, i), row(&action, i), 1e-3),
                        "{name}, step {t}, row {i}: other flags"
                    );
                    *parted = true;
                    continue;
                }
                most = most.max(off);
                error += apart(env, row(&got.state, i), row(&want.state, i)).iter().map(|d| d * d).sum::<f64>();
                norm += row(&want.state, i).iter().map(|x| f64::from(x * x)).sum::<f64>();
            }
            worst = worst.max((error / norm).sqrt());
            (a, steps_a, b, steps_b) = (got.state, got.steps, want.state, want.steps);
        }
        let parted = parted.iter().filter(|p| **p).count();
        println!(
            "{name}: {worst:e} of the norm apart, one row {most:e}, in {STEPS} steps; {parted} rows parted on an edge"
        );
        assert!(worst <= 1e-3, "{name}: {worst:e} of the norm apart");
        assert!(parted * 50 <= ROWS, "{name}: {parted} rows parted");
    });
}

/// Median and largest error of single steps in single precision against f64, of positions, and of speeds relative to
/// 1 + |speed|: twice what another implementation of the same equations had on the CPU.
const BODIES: [(&str, [f64; 2]); 9] = [
    ("half-cheetah", [4e-6, 1.4e-3]),
    ("hopper", [4e-7, 8e-6]),
    ("walker2d", [1e-5, 1e-3]),
    ("hopper-rand-params", [1e-6, 2e-5]),
    ("walker2d-rand-params", [1e-5, 1e-3]),
    ("swimmer", [2e-6, 2e-5]),
    ("reacher", [2e-6, 2e-5]),
    ("inverted-pendulum", [2e-6, 2e-5]),
    ("inverted-double-pendulum", [2e-6, 2e-5]),
];

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn steps_of_bodies_are_those_in_double_precision_but_for_rounding() {
    environments(true, |env, mut gpu, mut cpu| {
        let Some((name, [median, most])) = BODIES.iter().find(|(name, _)| *name == env.spec().name) else { return };
        let joints = env.state_names().iter().filter(|name| name.contains("qvel.")).count();
        let first = env.state_names().iter().position(|name| name.ends_with("qpos.0")).unwrap();
        let mut random = Threefry::new([4, 2]);
        let (mut state, mut steps) = (cpu.reset(), first_steps(env));
        let mut errors = [Vec::new(), Vec::new()];
        for t in 0..30 {
            let action = actions(env, &mut random);
            let moments = [cpu.step(&state, &steps, &action, t), gpu.step(&state, &steps, &action, t)];
            for i in (0..ROWS).step_by(7).filter(|i| moments[0].steps[*i] > 0 && moments[1].steps[*i] > 0) {
                let wide = |x: &[f32]| x.iter().map(|x| f64::from(*x)).collect::<Vec<f64>>();
                let task = wide(&env.sample_task::<f32>(KEY, i as u32));
                let want = env.step(&wide(row(&state, i)), &wide(row(&action, i)), &task, [0, 0], 0).unwrap().state;
                for (errors, moment) in errors.iter_mut().zip(&moments) {
                    let got = row(&moment.state, i);
                    let error = |k: usize, scale: f64| (f64::from(got[first + k]) - want[first + k]).abs() / scale;
                    let places = (0..joints).map(|k| error(k, 1.0));
                    let speeds = (joints..2 * joints).map(|k| error(k, 1.0 + want[first + k].abs()));
                    errors.push(places.chain(speeds).fold(0.0, f64::max));
                }
            }
            let [next, _] = moments;
            (state, steps) = (next.state, next.steps);
        }
        for (errors, device) in errors.iter_mut().zip(["cpu", "gpu"]) {
            errors.sort_by(f64::total_cmp);
            let (middle, last) = (errors[errors.len() / 2], errors[errors.len() - 1]);
            println!("{name} on the {device}: {middle:e}, at most {last:e}, in {} steps", errors.len());
            assert!(middle <= *median && last <= *most, "{name} on the {device}: {middle:e}, at most {last:e}");
        }
    });
}
