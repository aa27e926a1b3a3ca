//! Checks that an environment's native blocks and its traced sub-graph compute the same bits.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::lockstep::Lockstep;
use crate::backend::cpu::simd::isa::Isa;
use crate::env::EnvDef;
use crate::program::{Array, Program, State};
use crate::rng::{Threefry, fold_in, key_from_seed};
use crate::tensor::{DType, Tensor};
use crate::{Device, Error, Result};

const ROWS: usize = 32;
const STEPS: u32 = 60;

/// Results of the two bodies, in order.
const NAMES: [&str; 9] = [
    "first state",
    "first observation",
    "state",
    "steps",
    "reward",
    "terminated",
    "truncated",
    "last observation",
    "observation",
];

/// Steps random states in native blocks and in a program made of the sub-graph alone; the first difference is the
/// error.
///
/// # Errors
/// Those of tracing and running the program; [`Error::Environment`] where the two differ.
pub(in crate::env) fn check(env: &EnvDef) -> Result<()> {
    let device = Device::cpu(1);
    let mut rows = Lockstep::new(env, Isa::detect(), ROWS);
    let mut graph = GraphTwin::new(env, &device)?;
    let mut rng = Threefry::new(key_from_seed(3));
    rows.sample_tasks(key_from_seed(3));
    rows.reset(key_from_seed(1));
    for t in 0..STEPS {
        rows.random_actions(|| rng.word());
        let key = fold_in(key_from_seed(2), t);
        let got = graph.step(&rows, key)?;
        let mut fresh = rows.clone();
        fresh.reset(key);
        rows.step(key);
        let expected = [
            &fresh.state,
            &fresh.observation,
            &rows.state,
            &rows.steps,
            &rows.reward,
            &rows.terminated,
            &rows.truncated,
            &rows.last_observation,
            &rows.observation,
        ];
        for ((name, got), expected) in NAMES.iter().zip(&got).zip(expected) {
            let width = expected.len() / ROWS;
            for (i, got) in got.iter().enumerate() {
                let native = expected[i % width * ROWS + i / width];
                if !same(f32::from_bits(*got), native) {
                    let got = f32::from_bits(*got);
                    let problem =
                        format!("{name} of step {}: {native:e} in native code, {got:e} in the traced graph", t + 1);
                    return Err(Error::Environment { name: env.spec().name.clone(), problem });
                }
            }
        }
    }
    Ok(())
}

/// Draws `count` tasks on the host and in a program; the first difference is the error.
///
/// # Errors
/// As of [`check`].
pub(in crate::env) fn check_tasks(env: &EnvDef, count: usize) -> Result<()> {
    let device = Device::cpu(1);
    let key = key_from_seed(77);
    let mut program = Program::new(&device, |cx| {
        let element = Tensor::iota(&[1, count], 1);
        cx.output("task", env.trace_tasks(key.map(Tensor::constant_u32), element));
    })?;
    let out = program.run(&State::new(), &[], &[])?;
    let traced = ready(device.read_f32(out.get("task")?))?;
    let width = env.spec().task.len();
    for (i, traced) in traced.chunks(width).enumerate() {
        let native = env.sample_task::<f32>(key, i as u32);
        if let Some(d) = (0..width).find(|&d| !same(traced[d], native[d])) {
            let (native, traced) = (native[d], traced[d]);
            let name = &env.spec().task[d].name;
            let problem = format!("task parameter `{name}`: {native:e} on the host, {traced:e} in the traced graph");
            return Err(Error::Environment { name: env.spec().name.clone(), problem });
        }
    }
    Ok(())
}

/// Equal bits, or both zero or both NaN: the graph drops additions of 0, which turn −0 into 0.
fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || a == b || (a.is_nan() && b.is_nan())
}

/// The sub-graphs of reset and step as a program, without native calls.
struct GraphTwin {
    program: Program,
    device: Device,
    state: State,
    inputs: Vec<(&'static str, DType)>,
}

impl GraphTwin {
    fn new(env: &EnvDef, device: &Device) -> Result<Self> {
        let spec = env.spec();
        let mut inputs = vec![("state", DType::F32, env.state_len()), ("steps", DType::U32, 1)];
        inputs.extend([("action", DType::F32, spec.action.dim()), ("key", DType::U32, 2), ("element", DType::U32, 1)]);
        if !spec.task.is_empty() {
            inputs.push(("task", DType::F32, spec.task.len()));
        }
        let program = Program::new(device, |cx| {
            let step: Vec<Tensor> =
                inputs.iter().map(|(name, dtype, width)| cx.input(name, &[ROWS, *width], *dtype)).collect();
            let results = [env.env.trace_reset(&step[3..]), env.env.trace_step(&step)].concat();
            for (name, result) in NAMES.iter().zip(results) {
                cx.output(name, result.bitcast_u32());
            }
        })?;
        let inputs = inputs.into_iter().map(|(name, dtype, _)| (name, dtype)).collect();
        Ok(Self { program, device: device.clone(), state: State::new(), inputs })
    }

    /// All results for the states and actions of `rows`, row by row.
    fn step(&mut self, rows: &Lockstep, key: [u32; 2]) -> Result<Vec<Vec<u32>>> {
        let key: Vec<f32> = key.iter().flat_map(|k| [f32::from_bits(*k); ROWS]).collect();
        let blocks = [&rows.state, &rows.steps, &rows.action, &key, &rows.element, &rows.task];
        let mut arrays: Vec<(&str, Array)> = Vec::new();
        for ((name, dtype), block) in self.inputs.iter().zip(blocks) {
            let width = block.len() / ROWS;
            let row_major = |i: usize| block[i % width * ROWS + i / width];
            let shape = [ROWS, width];
            let array = match dtype {
                DType::F32 => self.device.array_f32(&shape, &(0..block.len()).map(row_major).collect::<Vec<_>>()),
                DType::U32 => {
                    self.device.array_u32(&shape, &(0..block.len()).map(|i| row_major(i).to_bits()).collect::<Vec<_>>())
                }
            };
            arrays.push((name, array?));
        }
        let inputs: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (*name, array)).collect();
        let out = self.program.run(&self.state, &inputs, &[])?;
        NAMES.iter().map(|name| ready(self.device.read_u32(out.get(name)?))).collect()
    }
}

/// The result of a future that the CPU has completed when it returns it.
fn ready<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => Err(Error::Device("the CPU did not finish a read at once".to_owned())),
    }
}
