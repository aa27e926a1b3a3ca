//! Native blocks against their own sub-graphs, bit for bit, and against single environments.

use crate::Device;
use crate::env::*;
use crate::program::{Program, State};
use crate::rng;
use crate::tensor::{DType, Tensor};

/// Uses all that `Real` and `Draws` offer: tasks, tables, loops, every kind of random number, every function.
struct Everything;

crate::fields! {
    struct Walk { x, y, phase }
}

impl Env for Everything {
    type State<R: Real> = Walk<R>;

    fn spec(&self) -> EnvSpec {
        let observation = (0..5).map(|i| Dim::unbounded(format!("o{i}"))).collect();
        let action = ActionSpace::continuous(vec![Dim::new("a", -1.0, 1.0), Dim::new("b", 0.0, 2.0)]);
        EnvSpec::new("everything", observation, action, 7)
            .task(vec![Dim::new("goal", -1.0, 1.0), Dim::new("wind", 0.0, 1.0)])
    }
    #[inline(always)]
    fn reset<R: Real>(&self, task: &[R], rng: &mut Draws<R>) -> Walk<R> {
        Walk { x: rng.range(-0.5, 0.5), y: rng.normal() * task[1], phase: rng.index(3) }
    }
    #[inline(always)]
    fn step<R: Real>(&self, s: Walk<R>, action: &[R], task: &[R], rng: &mut Draws<R>) -> Step<R, Self> {
        let side = rng.categorical(&[R::lit(0.25), s.x.abs(), action[1].abs()]) - R::lit(1.0);
        let gust = R::lookup(&[0.1, -0.2, 0.3], s.phase + side);
        let [x, y] = R::repeat(3, [s.x, s.y], |[x, y]| {
            [x + R::lit(0.1) * y.tanh() + gust * task[1], (y - x.sin() * R::lit(0.3)) / (R::lit(1.0) + x.square())]
        });
        let x = x
            + R::lit(0.05) * R::lit(0.3) * action[0] * rng.normal()
            + (rng.uniform() + R::lit(0.1)).log() * R::lit(0.01);
        let phase = R::from_count((s.phase + R::lit(1.0)).to_count().and(R::Bits::splat(1))).max(side);
        let far = (x - task[0]).abs();
        let reward = (-far / R::lit(1.1) * R::lit(0.7) * R::lit(0.3)).exp()
            + R::from_mask(far.le(R::lit(0.1)).or(phase.truth())) * far.sqrt().min(y.floor());
        let terminated = far.ge(R::lit(1.5)).and(y.gt(R::lit(0.0)).not().or(y.eq(x)));
        Step { next: Walk { x, y, phase }, reward, terminated }
    }
    #[inline(always)]
    fn observe<R: Real>(&self, s: &Walk<R>, task: &[R], out: &mut [R]) {
        let (sin, cos) = s.y.sin_cos();
        out.copy_from_slice(&[s.x - task[0], sin, cos, s.phase.clamp(-1.0, 1.0), s.x.recip()]);
    }
    fn draw(&self, _state: &[f32], _task: &[f32]) -> Scene {
        Scene::new([-1.0, 1.0, -1.0, 1.0])
    }
}

fn all() -> Vec<EnvDef> {
    let names = builtin_names().into_iter().filter(|name| !cfg!(miri) || *name == "cartpole");
    let mut all: Vec<EnvDef> = names.map(|n| builtin(n).unwrap()).collect();
    if !cfg!(miri) {
        all.push(EnvDef::new(Everything).unwrap());
    }
    all
}

const ROWS: [usize; 2] = [3, 13];
const COUNT: usize = ROWS[0] * ROWS[1];

/// Stacked environments that step in place, with or without native blocks.
struct Stepper {
    program: Program,
    device: Device,
    state: State,
}

impl Stepper {
    fn new(env: &EnvDef, device: &Device, native: bool) -> Self {
        let spec = env.spec().clone();
        let shape = |width: usize| [&ROWS[..], &[width]].concat();
        let (a, d) = (spec.action.dim(), spec.task.len());
        let program = Program::new(device, |cx| {
            let state = cx.state("state", &shape(env.state_len()), DType::F32);
            let steps = cx.state("steps", &ROWS, DType::U32);
            let action = cx.input("action", &shape(a), DType::F32);
            let task = (d > 0).then(|| cx.input("task", &shape(d), DType::F32));
            let key = [cx.scalar_u32("k0"), cx.scalar_u32("k1")];
            let element = Tensor::iota(&[COUNT], 0).reshape(&ROWS);
            let (key_rows, column) = (key.map(|k| k.broadcast_to(&ROWS)), |t: Tensor| t.unsqueeze(2));
            let mut inputs = vec![Tensor::stack(&key_rows, 2), column(element)];
            inputs.extend(task);
            let first = if native {
                let r = env.trace_reset(key, element, task);
                vec![r.state, r.observation]
            } else {
                env.env.trace_reset(&inputs)
            };
            inputs.splice(0..0, [state, column(steps), action]);
            let s = if native {
                let s = env.trace_step(state, steps, action, key, element, task);
                [
                    vec![s.state, column(s.steps)],
                    [s.reward, s.terminated, s.truncated].map(column).to_vec(),
                    vec![s.last_observation, s.observation],
                ]
                .concat()
            } else {
                env.env.trace_step(&inputs)
            };
            cx.output("first_state", first[0]);
            cx.output("first_observation", first[1]);
            cx.update("state", s[0]);
            cx.update("steps", s[1].index(2, 0));
            let names = ["next", "steps_out", "reward", "terminated", "truncated", "last", "seen"];
            for (name, t) in names.into_iter().zip(s) {
                cx.output(name, if t.dtype() == DType::U32 { t } else { t.bitcast_u32() });
            }
        })
        .unwrap();
        let mut state = State::new();
        state.insert("state", device.zeros(&shape(env.state_len()), DType::F32).unwrap());
        state.insert("steps", device.zeros(&ROWS, DType::U32).unwrap());
        Self { program, device: device.clone(), state }
    }

    fn step(&mut self, action: &[f32], task: &[f32], key: rng::Key) -> Vec<(String, Vec<u32>)> {
        let shape = |v: &[f32]| [&ROWS[..], &[v.len() / COUNT]].concat();
        let action = self.device.array_f32(&shape(action), action).unwrap();
        let task = (!task.is_empty()).then(|| self.device.array_f32(&shape(task), task).unwrap());
        let mut inputs = vec![("action", &action)];
        inputs.extend(task.as_ref().map(|t| ("task", t)));
        let scalars = [("k0", key[0].into()), ("k1", key[1].into())];
        let out = self.program.run(&self.state, &inputs, &scalars).unwrap();
        out.iter()
            .map(|(name, array)| {
                let bits = match array.dtype() {
                    DType::U32 => pollster::block_on(self.device.read_u32(array)).unwrap(),
                    DType::F32 => {
                        let floats = pollster::block_on(self.device.read_f32(array)).unwrap();
                        floats.into_iter().map(f32::to_bits).collect()
                    }
                };
                (name.to_owned(), bits)
            })
            .collect()
    }
}

/// `rows` random numbers between the bounds of each dimension.
fn sample(dims: &[(f64, f64)], rng: &mut rng::Threefry) -> Vec<f32> {
    (0..COUNT)
        .flat_map(|_| dims.iter().map(|(l, h)| (l + (h - l) * rng.uniform()) as f32).collect::<Vec<_>>())
        .collect()
}

fn action_bounds(spec: &EnvSpec) -> Vec<(f64, f64)> {
    match &spec.action {
        ActionSpace::Discrete { .. } | ActionSpace::MultiDiscrete { .. } => {
            spec.action.counts().unwrap().into_iter().map(|count| (0.0, count as f64 - 0.01)).collect()
        }
        ActionSpace::Box { dims } => dims.iter().map(|d| (1.5 * d.low, 1.5 * d.high)).collect(),
    }
}

#[test]
fn native_blocks_equal_their_sub_graphs_bit_for_bit() {
    let device = Device::cpu(1);
    for env in all() {
        let (mut native, mut graph) = (Stepper::new(&env, &device, true), Stepper::new(&env, &device, false));
        let mut rng = rng::Threefry::new([4, 2]);
        let bounds = action_bounds(env.spec());
        let task_bounds: Vec<_> = env.spec().task.iter().map(|d| (d.low, d.high)).collect();
        let task = sample(&task_bounds, &mut rng);
        for t in 0..if cfg!(miri) { 1 } else { 40 } {
            let action = sample(&bounds, &mut rng);
            let key = rng::fold_in([9, 9], t);
            let (a, b) = (native.step(&action, &task, key), graph.step(&action, &task, key));
            for ((name, a), (_, b)) in a.iter().zip(&b) {
                assert_eq!(a, b, "{} {name} at step {t}", env.spec().name);
            }
        }
    }
}

#[test]
fn rows_equal_single_environments_with_resets_and_time_limits() {
    let device = Device::cpu(1);
    for env in all() {
        let spec = env.spec();
        let mut rows = Stepper::new(&env, &device, true);
        let mut rng = rng::Threefry::new([1, 3]);
        let bounds = action_bounds(spec);
        let task = sample(&spec.task.iter().map(|d| (d.low, d.high)).collect::<Vec<_>>(), &mut rng);
        let (f, a, o, d) = (env.state_len(), bounds.len(), spec.observation.len(), spec.task.len());
        // Rows begin new episodes, one step before the limit here and there.
        let first = |i: usize| env.reset(&task[i * d..(i + 1) * d], [7, 7], i as u32).unwrap();
        let mut states: Vec<Vec<f32>> = (0..COUNT).map(first).collect();
        let mut steps = vec![0_u32; COUNT];
        let numbers = [&ROWS[..], &[f]].concat();
        rows.state.insert("state", device.array_f32(&numbers, &states.concat()).unwrap());
        for (i, s) in steps.iter_mut().enumerate() {
            *s = if i % 5 == 0 { (spec.horizon as u32 - 1).saturating_sub(i as u32 / 5) } else { 0 };
        }
        rows.state.insert("steps", device.array_u32(&ROWS, &steps).unwrap());
        let mut ends = [0, 0];
        for t in 0..30 {
            let action = sample(&bounds, &mut rng);
            let key = rng::fold_in([9, 9], t);
            let out: std::collections::HashMap<_, _> = rows.step(&action, &task, key).into_iter().collect();
            let floats = |name: &str, i: usize, n: usize| -> Vec<u32> { out[name][i * n..(i + 1) * n].to_vec() };
            let bits = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            for i in 0..COUNT {
                let task = &task[i * d..(i + 1) * d];
                let one = env.step(&states[i], &action[i * a..(i + 1) * a], task, key, i as u32).unwrap();
                steps[i] += 1;
                let truncated = !one.terminated && steps[i] >= spec.horizon as u32;
                assert_eq!(floats("reward", i, 1), bits(&[one.reward]), "{} row {i}", spec.name);
                assert_eq!(floats("terminated", i, 1), [u32::from(one.terminated)]);
                assert_eq!(floats("truncated", i, 1), [u32::from(truncated)]);
                assert_eq!(floats("last", i, o), bits(&one.observation));
                states[i] = one.state;
                if one.terminated || truncated {
                    states[i] = env.reset(task, key, i as u32).unwrap();
                    assert_eq!(floats("first_state", i, f), bits(&states[i]));
                    steps[i] = 0;
                    ends[usize::from(truncated)] += 1;
                }
                assert_eq!(floats("next", i, f), bits(&states[i]));
                assert_eq!(floats("seen", i, o), bits(&env.observe(&states[i], task).unwrap()));
                assert_eq!(floats("steps_out", i, 1), [steps[i]]);
            }
        }
        assert!(ends[1] >= 5, "{}: {ends:?}", spec.name);
        assert!(ends[0] > 0 || !["cartpole", "everything"].contains(&&*spec.name));
    }
}

#[test]
fn wrong_shapes_are_errors_of_the_trace() {
    let env = builtin("cartpole").unwrap();
    let trace = |state: &[usize], action: &[usize], with_task: bool| {
        let result = Program::new(&Device::cpu(1), |cx| {
            let (s, a) = (cx.input("s", state, DType::F32), cx.input("a", action, DType::F32));
            let steps = cx.input("n", &[4], DType::U32);
            let key = [Tensor::constant_u32(1), Tensor::constant_u32(2)];
            let step = env.trace_step(s, steps, a, key, Tensor::iota(&[4], 0), with_task.then_some(a));
            cx.output("reward", step.reward);
        });
        result.map(|_| ()).map_err(|e| e.to_string())
    };
    assert_eq!(trace(&[4, 4], &[4, 1], false), Ok(()));
    let message = trace(&[4, 3], &[4, 1], false).unwrap_err();
    assert!(message.starts_with("env_step: expected state [rows.., 4], got [4, 3]"), "{message}");
    assert!(trace(&[4, 4], &[4, 2], false).unwrap_err().contains("action [rows.., 1]"));
    assert!(trace(&[4, 4], &[4, 1], true).unwrap_err().contains("no task"));
    assert!(trace(&[5, 4], &[4, 1], false).is_err());
}

// WebAssembly ends where it panics.
#[cfg(panic = "unwind")]
#[test]
fn blocks_of_other_lengths_are_refused_before_they_are_read() {
    use crate::backend::cpu::simd::isa::Isa;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    let env = builtin("cartpole").unwrap();
    let reset = |isa: Isa, lanes: usize, rows: [usize; 4]| {
        let [key, element, mut state, mut seen] = rows.map(|len| vec![0.0; len]);
        let run = || env.reset_block().run(isa, lanes, &[&key, &element], &mut [&mut state, &mut seen]);
        catch_unwind(AssertUnwindSafe(run)).is_ok()
    };
    for isa in Isa::available() {
        assert!(reset(isa, 16, [32, 16, 64, 64]), "{isa}");
        for wrong in 0..4 {
            let mut rows = [32, 16, 64, 64];
            rows[wrong] -= 1;
            assert!(!reset(isa, 16, rows), "{isa}: {rows:?}");
        }
        // Not as many lanes as a pack has, or several times that.
        assert!(!reset(isa, 3, [6, 3, 12, 12]), "{isa}");
    }
}
