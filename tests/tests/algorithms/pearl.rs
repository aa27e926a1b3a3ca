//! An epoch of PEARL written on the contract of algorithms, as short as it can be: it shows that adapting by inference fits, with a policy
//! that keeps a belief and a memory per task.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::algo::{
    Algorithm, AlgorithmDef, Arena, Course, Family, Held, Learned, Metrics, StateEntry, Training,
};
use quickstudy_core::credit::Paths;
use quickstudy_core::dist::{RowNoise, SquashedGaussian, fold_in};
use quickstudy_core::env::{EnvSpec, builtin};
use quickstudy_core::host::{HostEnv, IterativeExecutor, MetaSampler, Wrapped};
use quickstudy_core::learn::{Descent, Look};
use quickstudy_core::meta::{Adaptive, MetaAlgorithm as _, Trial, per_task, try_adapting};
use quickstudy_core::nn::{Activation, Layout, Mlp};
use quickstudy_core::optim::Adam;
use quickstudy_core::play::{Cast, Iteration, Steps, row_keys};
use quickstudy_core::policy::{Act, Acting, Bounds, How, Policy};
use quickstudy_core::rng::{self, streams};
use quickstudy_core::task::TaskSource;
use quickstudy_core::tensor::Named;
use quickstudy_core::train::{Adaptation, Evaluator, MetaTest, Own, Session, Setup, StageUnit};
use quickstudy_core::{Array, DType, Device, Program, Result, State, Tensor};

/// Numbers of a belief.
const LATENT: usize = 3;
/// Tasks of the pool, and of an epoch.
const POOL: usize = 6;
const TASKS: usize = 4;
/// Rows of each task's memory.
const ROWS: usize = 256;
/// Rows that a belief is inferred from, and that an update looks at.
const CONTEXT: usize = 16;
const BATCH: usize = 32;
const UPDATES: usize = 10;

/// Acts by an observation and a draw z from a belief, acting values `mean` and `variance` `[K, Z]`: a new one for each episode.
#[derive(Clone, Debug)]
struct Believing {
    net: Mlp,
    bounds: Bounds,
}

impl Believing {
    fn distribution(&self, parts: &[Tensor], obs: Tensor, z: Tensor) -> SquashedGaussian {
        let out = self.net.forward(parts, Tensor::concat(&[obs, z], 2));
        let a = out.size(2) / 2;
        SquashedGaussian::new(out.slice(2, 0, a), out.slice(2, a, 2 * a))
    }
}

impl Policy for Believing {
    fn begin(&self, acting: &Acting, _: [usize; 2], _: Option<&Named>, noise: &RowNoise) -> Named {
        let belief = |name| acting.values.get(name).unsqueeze(1);
        let z = belief("mean") + belief("variance").sqrt() * noise.apart(7).normal(LATENT);
        Named::from([("z", z)])
    }

    fn act(
        &self,
        acting: &Acting,
        observation: Tensor,
        memory: &Named,
        _: Option<Tensor>,
        noise: &RowNoise,
        how: How,
    ) -> Act {
        let distribution = self.distribution(&acting.parts, observation, memory.get("z"));
        let action = match how {
            How::Exploit => distribution.mode(),
            How::Uniform => self.bounds.uniform(noise),
            How::Explore => distribution.sample(noise).tanh(),
            How::Recorded(action) => action,
        };
        Act { action, played: self.bounds.scale(action), memory: memory.clone(), extras: Named::new() }
    }
}

/// Rakelly et al. 2019, arXiv:1903.08254, algorithm 1, with one value and without a value of the next state.
#[derive(Debug)]
struct Pearl {
    layout: Layout,
    policy: Believing,
    value: Mlp,
    encoder: Mlp,
    observations: usize,
    actions: usize,
    horizon: usize,
}

impl Pearl {
    fn new(spec: &EnvSpec) -> Pearl {
        let (o, a) = (spec.observation.len(), spec.action.dim());
        let mut layout = Layout::new();
        let mut net = |name: &str, sizes: [usize; 3]| Mlp::new(&mut layout, name, 0, &sizes, Activation::Tanh, None);
        let policy = Believing { net: net("policy", [o + LATENT, 16, 2 * a]), bounds: Bounds::of(&spec.action) };
        let value = net("value", [o + a + LATENT, 16, 1]);
        let encoder = net("encoder", [o + a + 1, 16, 2 * LATENT]);
        Pearl { layout, policy, value, encoder, observations: o, actions: a, horizon: spec.horizon }
    }

    fn width(&self) -> usize {
        self.observations + self.actions + 1
    }

    /// The belief that contexts `[S, M · C, O + A + 1]` lead to, as a product of normal densities: mean and variance `[S, M, Z]`.
    fn infer(&self, parts: &[Tensor], context: Tensor) -> [Tensor; 2] {
        let (seeds, tasks) = (context.size(0), context.size(1) / CONTEXT);
        let out = self.encoder.forward(parts, context);
        let (mean, precision) = (out.slice(2, 0, LATENT), (-out.slice(2, LATENT, 2 * LATENT)).exp());
        let sum = |x: Tensor| x.reshape(&[seeds, tasks, CONTEXT, LATENT]).sum_keep(2).reshape(&[seeds, tasks, LATENT]);
        let all = sum(precision) + 1.0;
        [sum(mean * precision) / all, all.recip()]
    }

    /// Numbers of `count` rows of each task `[S, M]`, of those that are filled, `[S, M · count]`.
    fn rows(numbers: Tensor, filled: Tensor, key: [Tensor; 2], count: usize) -> Tensor {
        let (seeds, tasks) = (numbers.size(0), numbers.size(1));
        let drawn = RowNoise::new(key, tasks * count).uniform().reshape(&[seeds, tasks, count]);
        let row = (drawn * filled.gather(numbers).to_f32().unsqueeze(2)).to_u32();
        let first = numbers.unsqueeze(2) * Tensor::constant_u32(ROWS as u32);
        (first + row).reshape(&[seeds, tasks * count])
    }

    /// The transitions of all tasks, `[S, M · T, O + A + 1]`.
    fn transitions(&self, steps: &Steps, seeds: usize) -> Tensor {
        let (t, width) = (self.horizon, self.width());
        let all = Tensor::concat(&[steps.obs, steps.action, steps.reward], 3).reshape(&[t, seeds, TASKS, width]);
        all.permute(&[1, 2, 0, 3]).reshape(&[seeds, TASKS * t, width])
    }

    fn loss(&self, parts: &[Tensor], [context, batch]: [Tensor; 2], noise: [RowNoise; 2]) -> Look {
        let (o, a, seeds) = (self.observations, self.actions, batch.size(0));
        let fixed: Vec<Tensor> = parts.iter().map(|part| part.stop_gradient()).collect();
        let [mean, variance] = self.infer(parts, context);
        let z = mean + variance.sqrt() * noise[0].normal(LATENT);
        let wide = |z: Tensor| {
            z.unsqueeze(2).broadcast_to(&[seeds, TASKS, BATCH, LATENT]).reshape(&[seeds, TASKS * BATCH, LATENT])
        };
        let (obs, action, reward) = (batch.slice(2, 0, o), batch.slice(2, o, o + a), batch.slice(2, o + a, o + a + 1));
        let value = |parts: &[Tensor], action: Tensor, z: Tensor| {
            self.value.forward(parts, Tensor::concat(&[obs, action, wide(z)], 2))
        };
        let mean_of = |x: Tensor| x.sum_keep(1).reshape(&[seeds, 1]) * (1.0 / (TASKS * BATCH) as f64);
        // The belief learns from the value, and is held to the prior.
        let critic = mean_of((value(parts, action, z) - reward).square());
        let kl = (mean.square() + variance - variance.log() - 1.0).sum_keep(2).sum_keep(1).reshape(&[seeds, 1]);
        let here = self.policy.distribution(parts, obs, wide(z.stop_gradient()));
        let best = here.sample(&noise[1]).tanh();
        let actor = -mean_of(value(&fixed, best, z.stop_gradient()));
        Look { loss: critic + actor + kl * 0.05, seen: [("critic", critic)].into() }
    }
}

impl Learned for Pearl {
    fn policy(&self) -> Box<dyn Policy + '_> {
        Box::new(self.policy.clone())
    }

    /// One episode by the prior, and one by the belief that it leads to.
    fn course(&self) -> Course {
        Course { family: Family::Inference, rounds: 1, ..Course::fixed(self.horizon, 0.99) }
    }

    fn start(&self, held: &Held, tasks: usize) -> Acting {
        let theta = held.get("theta");
        let zero = Tensor::zeros(&[theta.size(0) * tasks, LATENT]);
        let values = Named::from([("mean", zero), ("variance", zero + 1.0)]);
        Acting { parts: per_task(&self.layout.split(theta), tasks), values }
    }

    fn adapt(&self, held: &Held, acting: &Acting, seen: &Paths) -> Acting {
        let theta = held.get("theta");
        let (seeds, rows) = (theta.size(0), seen.obs.size(1));
        let first = Tensor::concat(&[seen.obs, seen.action, seen.reward], 3).slice(0, 0, CONTEXT).slice(2, 0, 1);
        let context = first.permute(&[1, 0, 2, 3]).reshape(&[seeds, rows / seeds * CONTEXT, self.width()]);
        let belief = self.infer(&self.layout.split(theta), context).map(|x| x.reshape(&[rows, LATENT]));
        Acting { parts: acting.parts.clone(), values: Named::from([("mean", belief[0]), ("variance", belief[1])]) }
    }
}

impl Algorithm for Pearl {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn entries(&self, _: Option<usize>) -> Vec<StateEntry> {
        let mut entries = StateEntry::learner(self.layout.len());
        for (memory, filled) in [("replay", "replay_filled"), ("context", "context_filled")] {
            entries.push(StateEntry::new(memory, &[POOL * ROWS, self.width()], DType::F32).bulk());
            entries.push(StateEntry::new(filled, &[POOL], DType::U32));
        }
        entries
    }

    fn fleet(&self, seeds: usize) -> [usize; 3] {
        [seeds * TASKS, 1, self.horizon]
    }

    fn batch(&self) -> u64 {
        (3 * TASKS * self.horizon) as u64
    }

    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        let (seeds, t, theta) = (it.seeds(), self.horizon, held.get("theta"));
        let tasks = it.tasks(TaskSource::Pool { first: 0, count: POOL as u32 }, TASKS);
        let (numbers, word) = (tasks.numbers, |x: usize| Tensor::constant_u32(x as u32));
        let key = fold_in(it.key(), it.number());
        let of = |stream: usize| fold_in(key, word(stream));
        let parts = self.layout.split(theta);

        // Transitions go behind those that a task has; what is beyond its memory is dropped.
        let add = |memory: Tensor, filled: Tensor, rows: Tensor| {
            let row = filled.gather(numbers).unsqueeze(2) + Tensor::iota(&[1, 1, t], 2);
            let first = numbers.unsqueeze(2) * word(ROWS);
            let index = row.lt(word(ROWS)).select(first + row, Tensor::constant_u32(u32::MAX));
            let count = filled.gather(numbers) + word(t);
            let count = count.lt(word(ROWS)).select(count, word(ROWS));
            (memory.store(index.reshape(&[seeds, TASKS * t]), rows), filled.store(numbers, count))
        };
        let collect = |it: &mut Iteration<'_>, belief: [Tensor; 2], stream: usize| {
            let flat = |x: Tensor| x.reshape(&[seeds * TASKS, LATENT]);
            let values = Named::from([("mean", flat(belief[0])), ("variance", flat(belief[1]))]);
            let acting = Acting { parts: per_task(&parts, TASKS), values };
            let cast = Cast { policy: &self.policy, acting: &acting, rows: [seeds * TASKS, 1] };
            it.episodes(cast, &tasks, row_keys(of(stream), TASKS), 1, t).steps
        };
        let zero = Tensor::zeros(&[seeds, TASKS, LATENT]);
        let none = word(0).broadcast_to(&[seeds, TASKS]);

        // By the prior, into both memories; the context is that of this epoch alone.
        let played = collect(it, [zero, zero + 1.0], 1);
        let rows = self.transitions(&played, seeds);
        let (replay, replay_filled) = add(held.get("replay"), held.get("replay_filled"), rows);
        let cleared = held.get("context_filled").store(numbers, none);
        let (context, context_filled) = add(held.get("context"), cleared, rows);
        // By the belief that follows from it, into both; by the next one into the first alone.
        let inferred = |context: Tensor, filled: Tensor, stream: usize| {
            self.infer(&parts, context.gather(Pearl::rows(numbers, filled, of(stream), CONTEXT)))
        };
        let played = collect(it, inferred(context, context_filled, 2), 3);
        let rows = self.transitions(&played, seeds);
        let (replay, replay_filled) = add(replay, replay_filled, rows);
        let (context, context_filled) = add(context, context_filled, rows);
        let played = collect(it, inferred(context, context_filled, 4), 5);
        let (replay, replay_filled) = add(replay, replay_filled, self.transitions(&played, seeds));

        let descent = Descent {
            layout: &self.layout,
            optimiser: Adam::default(),
            learning_rate: Tensor::constant_f32(3e-3),
            max_grad_norm: 0.0,
            sums: &["critic"],
            stop: None,
            first_norm: false,
        };
        let updates = Tensor::iota(&[UPDATES], 0);
        let end = descent.run(theta, held.adam(), UPDATES, &updates, |parts, update| {
            let key = fold_in(of(6), update);
            let stream = |x: usize| fold_in(key, word(x));
            let context = context.gather(Pearl::rows(numbers, context_filled, stream(0), CONTEXT));
            let batch = replay.gather(Pearl::rows(numbers, replay_filled, stream(1), BATCH));
            let noise = [RowNoise::new(stream(2), TASKS), RowNoise::new(stream(3), TASKS * BATCH)];
            self.loss(parts, [context, batch], noise)
        });
        for (name, value) in [
            ("replay", replay),
            ("replay_filled", replay_filled),
            ("context", context),
            ("context_filled", context_filled),
            ("theta", end.theta),
            ("adam_m", end.adam.m),
            ("adam_v", end.adam.v),
            ("adam_scale", end.adam.scale),
        ] {
            it.update(name, value);
        }
        let paid = played.reward.reshape(&[t, seeds, TASKS]).sum_keep(0).sum_keep(2).reshape(&[seeds, 1]);
        Metrics::default().last("rollout/return", paid).with(descent.means(&end))
    }
}

#[test]
fn an_epoch_of_pearl_is_the_same_in_a_program_and_on_the_host() {
    let device = Device::cpu(2);
    let env = builtin("point-robot").unwrap();
    let seeds = [4, 1 << 35];
    let pearl = || Rc::new(Pearl::new(env.spec()));
    let train = |arena: Arena<'_>| {
        let mut training = Training::new(&device, pearl(), arena, &seeds).unwrap();
        let read = |array: &Array| pollster::block_on(device.read_f32(array)).unwrap();
        let bits = |x: Vec<f32>| x.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
        let mut seen = vec![bits(read(training.state.get("theta").unwrap()))];
        for done in 0..4 {
            let metrics = pollster::block_on(training.step(done, 4)).unwrap();
            seen.push(bits(read(&metrics)));
        }
        seen.extend(["theta", "adam_v", "replay", "context"].map(|name| bits(read(training.state.get(name).unwrap()))));
        let filled = ["replay_filled", "context_filled"];
        seen.extend(filled.map(|name| pollster::block_on(device.read_u32(training.state.get(name).unwrap())).unwrap()));
        seen
    };
    let want = train(Arena::Device(&env));
    assert_ne!(want[0], want[5], "nothing was learnt");
    // Four of the tasks in each epoch, three episodes of 20 steps each, of which the third is no context.
    let (replay, context) = (&want[9], &want[10]);
    assert!(replay.chunks(POOL).all(|rows| rows.iter().sum::<u32>() == 16 * 60), "{replay:?}");
    assert!(replay.iter().all(|rows| rows % 60 == 0), "{replay:?}");
    assert!(context.iter().all(|rows| *rows == 40), "{context:?}");
    let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
    let executor = IterativeExecutor::new(seeds.len() * TASKS, 1, 0, make).unwrap();
    let got = train(Arena::Host(Box::new(executor)));
    for (what, (got, want)) in got.iter().zip(&want).enumerate() {
        assert!(got == want, "array {what}\n{got:?}\n{want:?}");
    }
}

#[test]
fn its_policy_adapts_by_inference_the_same_in_a_program_and_on_the_host() {
    let (device, env) = (Device::cpu(1), builtin("point-robot").unwrap());
    let pearl: Rc<dyn Algorithm> = Rc::new(Pearl::new(env.spec()));
    let theta = pearl.layout().first(&device, &[9]).unwrap();
    let tasks: Vec<Vec<f64>> = (0..TASKS as u32).map(|i| env.sample_task([6, 6], i)).collect();
    let key = [7, 11];
    // One episode by the prior, and one by the belief that follows from it.
    let trial = Trial {
        tasks: TASKS,
        rollouts: 1,
        rounds: 1,
        episodes: 1,
        measured: 0,
        deterministic: false,
        last_only: false,
    };
    let mut program = Program::new(&device, |cx| {
        let held = pearl.declare_policy(cx, 1);
        let key = [0, 1].map(|i| Tensor::constant_u32(key[i]).broadcast_to(&[1, 1]));
        let given = cx.input("tasks", &[TASKS, tasks[0].len()], DType::F32);
        let tried = try_adapting(&*pearl, &env, &held, key, Some(given), trial);
        tried.stages.iter().enumerate().for_each(|(k, steps)| cx.output(&k.to_string(), steps.action));
    })
    .unwrap();
    let given = device.array(&[TASKS, tasks[0].len()], &tasks.concat()).unwrap();
    let out = program.run(&State::new(), &[("theta", &theta), ("tasks", &given)], &[]).unwrap();
    let want = ["0", "1"].map(|stage| pollster::block_on(device.read(out.get(stage).unwrap())).unwrap());

    let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
    let mut sampler = MetaSampler::episodes(Box::new(IterativeExecutor::new(TASKS, 1, 0, make).unwrap()), 1);
    let fleet = sampler.executor().fleet().clone();
    pollster::block_on(sampler.set_tasks(&tasks)).unwrap();
    let mut adaptive = Adaptive::new(&device, pearl.clone(), vec![("theta", theta)]);
    let mut policy = pollster::block_on(adaptive.exploration_policy(&fleet)).unwrap();
    let key = rng::fold_in(key, streams::HELD_OUT_EPISODES);
    let (width, steps) = (env.spec().action.dim(), env.spec().horizon);
    let mut changed = false;
    for (k, want) in want.iter().enumerate() {
        let keys: Vec<_> = (0..TASKS as u32).map(|task| rng::fold_in(rng::fold_in(key, k as u32), task)).collect();
        let samples = pollster::block_on(sampler.obtain(&mut *policy, &keys)).unwrap();
        let mut unadapted = pollster::block_on(adaptive.exploration_policy(&fleet)).unwrap();
        let prior = pollster::block_on(sampler.obtain(&mut *unadapted, &keys)).unwrap();
        for (task, (paths, prior)) in samples.tasks.iter().zip(&prior.tasks).enumerate() {
            let of = |t: usize| &want[(t * TASKS + task) * width..][..width];
            let want: Vec<f64> = (0..steps).flat_map(of).copied().collect();
            assert_eq!(paths[0].actions, want, "stage {k}, task {task}");
            changed |= k == 1 && paths[0].actions != prior[0].actions;
        }
        policy = pollster::block_on(policy.adapt(&samples)).unwrap();
    }
    assert!(changed, "with the same random numbers the belief acts otherwise than the prior");
}

quickstudy_core::settings! {
    /// Settings of the epoch.
    struct PearlSettings {
        /// changes nothing
        unused: f64 = 0.0;
    }
}

static PEARL: AlgorithmDef = AlgorithmDef::new::<PearlSettings>(
    "epoch-of-pearl",
    "an epoch of PEARL (arXiv:1903.08254)",
    Family::Inference,
    |_, spec| Ok(Box::new(Pearl::new(spec))),
);

#[test]
fn a_session_trains_and_tests_an_algorithm_that_infers_episode_by_episode() {
    let (device, env) = (Device::cpu(1), builtin("point-robot").unwrap());
    let algorithms = [&PEARL];
    let own = || Own { algorithms: &algorithms, ..Own::default() };
    let setup = Setup::resolve(&PEARL, env.clone(), &[5], Some(2 * 3 * TASKS as u64 * 20), &[]).unwrap();
    let mut session = Session::new(&device, &setup).unwrap();
    pollster::block_on(session.step()).unwrap();
    let snapshot = pollster::block_on(session.snapshot(0)).unwrap();
    let mut restored = Session::restore_with(&device, own(), &[&snapshot]).unwrap();
    for session in [&mut session, &mut restored] {
        pollster::block_on(session.step()).unwrap();
        assert!(session.done());
    }
    let last = pollster::block_on(session.snapshot(0)).unwrap();
    assert!(last == pollster::block_on(restored.snapshot(0)).unwrap(), "both memories are in the snapshot");

    let policy = Evaluator::load_with(&device, own(), &last).unwrap();
    let test = MetaTest { tasks: 5, episodes: Some(4), deterministic: false, ..MetaTest::default() };
    let in_program = pollster::block_on(policy.adapt(test)).unwrap();
    assert_eq!((in_program.unit, in_program.stages.len(), in_program.episodes), (StageUnit::Episodes, 4, 4));
    let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
    let [tasks, each, _] = policy.test_fleet(&test).unwrap();
    let executor = Box::new(IterativeExecutor::new(tasks, each, 0, make).unwrap());
    let on_host = pollster::block_on(policy.adapt_in(executor, None, test)).unwrap();
    let returns = |of: &Adaptation| of.stages.iter().map(|one| one.returns.concat()).collect::<Vec<_>>();
    assert_eq!((on_host.unit, on_host.episodes), (in_program.unit, 4));
    for (host, program) in returns(&on_host).iter().flatten().zip(returns(&in_program).iter().flatten()) {
        assert!((host - program).abs() < 1e-3, "{host} {program}");
    }
    assert_eq!(pollster::block_on(policy.adapt(MetaTest { episodes: None, ..test })).unwrap().stages.len(), 2);
    let none = pollster::block_on(policy.adapt(MetaTest { episodes: Some(0), ..test })).unwrap_err().to_string();
    assert_eq!(none, "episodes: 0 is too few; give at least 1");
    let many = pollster::block_on(policy.adapt(MetaTest { episodes: Some(1000), ..test })).unwrap_err().to_string();
    assert_eq!(many, "episodes: 1000 is not in 1 to 100");
}
