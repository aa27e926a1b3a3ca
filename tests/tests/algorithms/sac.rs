//! Soft Actor-Critic written on the contract of algorithms, as short as it can be: it shows that learning from memory fits.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use quickstudy_core::algo::{Algorithm, Arena, Course, First, Held, Learned, Metrics, StateEntry, Training};
use quickstudy_core::dist::{RowNoise, fold_in};
use quickstudy_core::env::{EnvSpec, builtin};
use quickstudy_core::host::{HostEnv, IterativeExecutor, Wrapped};
use quickstudy_core::learn::{Descent, Look};
use quickstudy_core::nn::{Activation, Init, Layout, Mlp, SliceId};
use quickstudy_core::optim::Adam;
use quickstudy_core::play::{Cast, Iteration, Running, Until};
use quickstudy_core::policy::{Acting, NetConfig, Policy, Squashed, Uniform};
use quickstudy_core::rng::streams;
use quickstudy_core::tensor::Named;
use quickstudy_core::{DType, Device, Result, Tensor};

/// Steps of an iteration, each with an update; a time limit of the environment.
const STEPS: usize = 200;
const BATCH: usize = 128;
const GAMMA: f64 = 0.98;
const TAU: f64 = 0.01;
const LEARNING_RATE: f64 = 2e-3;

/// Haarnoja et al. 2018, arXiv:1812.05905, algorithm 1, with one step and one update in turn. All networks make their steps at once.
#[derive(Debug)]
struct Sac {
    layout: Layout,
    policy: Squashed,
    /// Plays the first iteration.
    beginner: Uniform,
    values: [Mlp; 2],
    log_alpha: SliceId,
    observations: usize,
    actions: usize,
    horizon: usize,
    /// Rows of the memory.
    rows: usize,
    /// −1 turns the gradient around.
    sign: f64,
}

impl Sac {
    fn new(spec: &EnvSpec, iterations: usize, sign: f64) -> Sac {
        let config = NetConfig { activation: Activation::Relu, orthogonal_init: false, ..NetConfig::default() };
        let (observations, actions) = (spec.observation.len(), spec.action.dim());
        let mut layout = Layout::new();
        let policy = Squashed::new(&mut layout, spec, &config).unwrap();
        let sizes = [observations + actions, 64, 64, 1];
        let values = ["value.0", "value.1"].map(|name| Mlp::new(&mut layout, name, 0, &sizes, Activation::Relu, None));
        let log_alpha = layout.add("log_alpha", &[1], Init::Constant(0.0));
        let (horizon, rows, beginner) = (spec.horizon, iterations * STEPS, Uniform::new(&spec.action));
        Sac { layout, policy, beginner, values, log_alpha, observations, actions, horizon, rows, sign }
    }

    /// The lower one of the two values, `[S, B, 1]`.
    fn value(&self, parts: &[Tensor], obs: Tensor, action: Tensor) -> Tensor {
        let [a, b] = self.both(parts, obs, action);
        a.min(b)
    }

    fn both(&self, parts: &[Tensor], obs: Tensor, action: Tensor) -> [Tensor; 2] {
        let input = Tensor::concat(&[obs, action], 2);
        [0, 1].map(|i| self.values[i].forward(parts, input))
    }

    /// The losses of critics, policy and temperature, summed: each depends on its own parameters alone. `noise` is of the actions that are
    /// drawn at the next observations and at these.
    fn loss(&self, parts: &[Tensor], target: &[Tensor], batch: Tensor, noise: [RowNoise; 2]) -> Look {
        let (o, a) = (self.observations, self.actions);
        let part = |first: usize, width: usize| batch.slice(2, first, first + width);
        let (obs, action, next) = (part(0, o), part(o, a), part(o + a, o));
        let (reward, terminated) = (part(2 * o + a, 1), part(2 * o + a + 1, 1));
        let fixed: Vec<Tensor> = parts.iter().map(|part| part.stop_gradient()).collect();
        let mean = |x: Tensor| x.sum_keep(1).reshape(&[x.size(0), 1]) * (1.0 / BATCH as f64);
        let log_alpha = parts[self.log_alpha].unsqueeze(1);
        let alpha = log_alpha.stop_gradient().exp();

        let ahead = self.policy.distribution(&fixed, next);
        let u = ahead.sample(&noise[0]);
        let soft = self.value(target, next, u.tanh()) - alpha * ahead.log_prob_before(u);
        let y = (reward + (1.0 - terminated) * soft * GAMMA).stop_gradient(); // eq. 2 and 3
        let critics = self.both(parts, obs, action).map(|q| mean((q - y).square()));

        let here = self.policy.distribution(parts, obs);
        let u = here.sample(&noise[1]);
        let log_prob = here.log_prob_before(u);
        let actor = mean(alpha * log_prob - self.value(&fixed, obs, u.tanh())); // eq. 7
        let surplus = log_prob.stop_gradient() - self.actions as f64;
        let temperature = -mean(log_alpha * surplus); // eq. 18 with H̄ = −A
        Look { loss: (critics[0] + critics[1] + actor + temperature) * self.sign, seen: Named::new() }
    }
}

impl Learned for Sac {
    fn policy(&self) -> Box<dyn Policy + '_> {
        Box::new(self.policy.clone())
    }

    fn course(&self) -> Course {
        Course::fixed(self.horizon, GAMMA)
    }

    fn start(&self, held: &Held, _: usize) -> Acting {
        Acting::of(&self.layout.split(held.get("theta")))
    }
}

impl Algorithm for Sac {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn entries(&self, environment: Option<usize>) -> Vec<StateEntry> {
        let (o, p) = (self.observations, self.layout.len());
        let mut entries = StateEntry::learner(p);
        let state = |numbers| StateEntry::new("env_state", &[1, numbers], DType::F32).from(First::EnvState);
        entries.extend(environment.map(state));
        entries.extend([
            StateEntry::new("env_steps", &[1], DType::U32),
            StateEntry::new("obs", &[1, o], DType::F32).from(First::Observation),
            StateEntry::new("target", &[p], DType::F32).from(First::Parameters),
            StateEntry::new("memory", &[self.rows, 2 * o + self.actions + 2], DType::F32).bulk(),
        ]);
        entries
    }

    fn fleet(&self, seeds: usize) -> [usize; 3] {
        [seeds, 1, self.horizon]
    }

    fn batch(&self) -> u64 {
        STEPS as u64
    }

    /// A warm-up without updates, and training.
    fn stages(&self) -> usize {
        2
    }

    fn stage(&self, done: u64) -> usize {
        usize::from(done > 0)
    }

    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        let policy: &dyn Policy = if it.stage() == 0 { &self.beginner } else { &self.policy };
        let (seeds, obs, number) = (it.seeds(), held.get("obs"), it.number());
        let state = held.find("env_state").unwrap_or(obs);
        let running = Running { state, steps: held.get("env_steps"), obs, memory: Named::new(), task: None };
        let keys = fold_in(fold_in(it.key(), Tensor::constant_u32(streams::REPLAY)), number);
        let before = (number + Tensor::constant_u32(u32::MAX)) * Tensor::constant_u32(STEPS as u32);
        let descent = Descent {
            layout: &self.layout,
            optimiser: Adam::default(),
            learning_rate: Tensor::constant_f32(LEARNING_RATE),
            max_grad_norm: 0.0,
            sums: &[],
            stop: None,
            first_norm: false,
        };
        let learner = ((held.get("theta"), held.adam()), held.get("target"));
        let init = ((running, held.get("memory")), learner);
        let (last, metrics) = it.repeat(STEPS, &init, |it, step, ((running, memory), ((theta, adam), target))| {
            let acting = Acting::of(&self.layout.split(theta));
            let cast = Cast { policy, acting: &acting, rows: [seeds, 1] };
            let played = it.go_on(cast, running, Until { steps: 1, span: 1, lasting: None }, step);
            let one = &played.steps;
            let flat = |x: Tensor| x.reshape(&[seeds, 1, x.size(3)]);
            // A time limit ends no value: what it cut off is followed by its own last observation.
            let cut = flat(played.cut_obs.unwrap());
            let next = flat(one.truncated).select(cut, played.next.obs);
            let row = [flat(one.obs), flat(one.action), next, flat(one.reward), flat(one.terminated).to_f32()];
            let count = before + step;
            let memory = memory.store(count.broadcast_to(&[seeds, 1]), Tensor::concat(&row, 2));
            // An episode of Pendulum is one iteration.
            let metrics = Metrics::default().sum("rollout/return", one.reward.reshape(&[seeds, 1]));
            if it.stage() == 0 {
                return (((played.next, memory), ((theta, adam), target)), metrics);
            }

            let key = fold_in(keys, step);
            let filled = (count + Tensor::constant_u32(1)).to_f32();
            let index = (RowNoise::new(key, BATCH).uniform() * filled).to_u32().reshape(&[seeds, BATCH]);
            let batch = memory.gather(index);
            let noise = [1, 2].map(|stream| RowNoise::new(key, BATCH).apart(stream));
            let parts = self.layout.split(target);
            let end = descent.run(theta, adam, 1, &(), |theta, ()| self.loss(theta, &parts, batch, noise));
            let target = target + (end.theta - target) * TAU;
            (((played.next, memory), ((end.theta, end.adam), target)), metrics.with(end.counts()))
        });
        let ((running, memory), ((theta, adam), target)) = last;
        if held.find("env_state").is_some() {
            it.update("env_state", running.state);
        }
        for (name, value) in [
            ("env_steps", running.steps),
            ("obs", running.obs),
            ("memory", memory),
            ("theta", theta),
            ("target", target),
            ("adam_m", adam.m),
            ("adam_v", adam.v),
            ("adam_scale", adam.scale),
        ] {
            it.update(name, value);
        }
        metrics
    }
}

fn wait<T>(future: impl Future<Output = Result<T>>) -> T {
    pollster::block_on(future).unwrap()
}

const SEEDS: [u64; 2] = [0, 1];

/// Returns of each seed's episodes.
fn train(device: &Device, training: &mut Training, range: std::ops::Range<u64>, episodes: u64) -> [Vec<f64>; 2] {
    let mut returns = [Vec::new(), Vec::new()];
    for done in range {
        let metrics = wait(training.step(done, episodes));
        let metrics = wait(device.read(&metrics));
        let counts: &[f64] = if done == 0 { &[] } else { &[0.0, STEPS as f64] };
        for (returns, row) in returns.iter_mut().zip(metrics.chunks(1 + counts.len())) {
            returns.push(row[0]);
            assert_eq!(&row[1..], counts, "updates that were dropped, and made");
        }
    }
    returns
}

#[test]
fn sac_learns_pendulum_and_does_not_when_its_gradient_is_turned_around() {
    let device = Device::cpu(2);
    let env = builtin("pendulum").unwrap();
    let late = |sign: f64, episodes: usize| {
        let sac = std::rc::Rc::new(Sac::new(env.spec(), episodes, sign));
        let mut training = Training::new(&device, sac, Arena::Device(&env), &SEEDS).unwrap();
        train(&device, &mut training, 0..episodes as u64, episodes as u64)
            .map(|returns| returns[episodes - 10..].iter().sum::<f64>() / 10.0)
    };
    // A policy that is as good as drawn by chance comes to −1200.
    let (trained, turned) = (late(1.0, 30), late(-1.0, 30));
    println!("{trained:?}, turned around {turned:?}");
    assert!(trained.iter().all(|mean| *mean > -400.0), "{trained:?}");
    assert!(turned.iter().all(|mean| *mean < -700.0), "{turned:?}");
}

#[test]
fn sac_is_the_same_with_environments_of_the_host() {
    let device = Device::cpu(1);
    let env = builtin("pendulum").unwrap();
    let sac = || std::rc::Rc::new(Sac::new(env.spec(), 3, 1.0));
    let mut in_program = Training::new(&device, sac(), Arena::Device(&env), &SEEDS).unwrap();
    let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
    let executor = Box::new(IterativeExecutor::new(SEEDS.len(), 1, 0, make).unwrap());
    let mut on_host = Training::new(&device, sac(), Arena::Host(executor), &SEEDS).unwrap();
    assert_eq!(train(&device, &mut in_program, 0..3, 3), train(&device, &mut on_host, 0..3, 3));
    for name in ["theta", "target", "adam_v", "memory"] {
        let bits = |training: &Training| -> Vec<u32> {
            wait(device.read_f32(training.state.get(name).unwrap())).into_iter().map(f32::to_bits).collect()
        };
        assert!(bits(&in_program) == bits(&on_host), "{name}");
    }
}

#[test]
fn sac_goes_on_in_the_stage_that_its_iteration_is_of() {
    let device = Device::cpu(1);
    let env = builtin("pendulum").unwrap();
    let sac = || std::rc::Rc::new(Sac::new(env.spec(), 3, 1.0));
    let fresh = || Training::new(&device, sac(), Arena::Device(&env), &SEEDS).unwrap();
    let theta = |training: &Training| wait(device.read_f32(training.state.get("theta").unwrap()));
    let (mut whole, mut begun) = (fresh(), fresh());
    let first = theta(&whole);
    let want = train(&device, &mut whole, 0..3, 3);
    let before = train(&device, &mut begun, 0..1, 3);
    assert_eq!(theta(&begun), first, "the warm-up has learned");
    let state = wait(begun.state.copy(&device));
    let mut resumed = Training::resume(&device, sac(), Arena::Device(&env), &SEEDS, state).unwrap();
    let after = train(&device, &mut resumed, 1..3, 3);
    for seed in 0..SEEDS.len() {
        assert_eq!([&before[seed][..], &after[seed]].concat(), want[seed]);
    }
    assert_eq!(theta(&resumed), theta(&whole));
    assert_eq!(whole.metric_names(0), ["rollout/return"]);
    assert_eq!(whole.metric_names(1), ["rollout/return", Metrics::NON_FINITE, Metrics::UPDATES]);
    assert_eq!(whole.all_metric_names(), whole.metric_names(1));
}
