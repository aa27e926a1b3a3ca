//! An iteration of an own algorithm, which plays in a loop, remembers, learns, and computes on the host.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::algo::{Algorithm, Course, First, Held, Learned, Metrics, StateEntry, Training};
use quickstudy_core::env::{EnvDef, EnvSpec, builtin};
use quickstudy_core::grad::value_and_grad;
use quickstudy_core::host::{Chance, FleetSize, HostEnv, IterativeExecutor, Transition, Wrapped};
use quickstudy_core::nn::{Activation, Layout, Mlp};
use quickstudy_core::optim::{Adam, Trained};
use quickstudy_core::play::{Cast, Iteration, Running, Until};
use quickstudy_core::policy::{Acting, Disturbed, LayersConfig, NetConfig, Noise, Policy};
use quickstudy_core::tensor::Named;
use quickstudy_core::{Array, DType, Device, Result, Tensor};

const ENVS: usize = 4;
const PASSES: usize = 20;
const ROWS: usize = 5 * PASSES * ENVS;
const BATCH: usize = 16;

/// Learns the reward of a step from a memory of all steps, and takes the action with the highest: one step of
/// each environment and one update alternate.
#[derive(Debug)]
struct Greedy {
    layout: Layout,
    policy: Disturbed,
    value: Mlp,
    observations: usize,
    horizon: usize,
    /// Computes the noise on actions on the host, in each pass.
    asks: bool,
}

impl Greedy {
    fn new(spec: &EnvSpec, asks: bool) -> Greedy {
        let config = NetConfig {
            layers: LayersConfig { hidden: vec![16], orthogonal_init: false, ..LayersConfig::default() },
            ..NetConfig::default()
        };
        let mut layout = Layout::new();
        let policy = Disturbed::new(&mut layout, spec, &config.layers, 0, Noise::Gaussian).unwrap();
        let observations = spec.observation.len();
        let value = Mlp::new(&mut layout, "value", 0, &[observations + 1, 16, 1], Activation::Tanh, None);
        Greedy { layout, policy, value, observations, horizon: spec.horizon, asks }
    }

    /// Makes one update on rows of the memory, `[S, B, O + 2]`.
    fn update(&self, Trained { theta, moments }: Trained, batch: Tensor) -> Trained {
        let o = self.observations;
        let (obs, action, reward) = (batch.slice(2, 0, o), batch.slice(2, o, o + 1), batch.slice(2, o + 1, o + 2));
        let (_, grads) = value_and_grad(&self.layout.split(theta), |parts| {
            let of = |parts: &[Tensor], action: Tensor| self.value.forward(parts, Tensor::concat(&[obs, action], 2));
            let fixed: Vec<Tensor> = parts.iter().map(|part| part.stop_gradient()).collect();
            let best = of(&fixed, self.policy.action(parts, obs));
            (of(parts, action) - reward * 0.1).square().sum_all() - best.sum_all()
        });
        let rate = Tensor::constant_f32(3e-3);
        let (theta, moments) = Adam::default().step(theta, self.layout.join(&grads), moments, rate);
        Trained { theta, moments }
    }
}

impl Learned for Greedy {
    fn policy(&self) -> Box<dyn Policy + '_> {
        Box::new(self.policy.clone())
    }

    fn course(&self) -> Course {
        Course::fixed(self.horizon, 1.0)
    }

    fn start(&self, held: &Held, _: usize) -> Acting {
        let theta = held.theta();
        let sigma = Tensor::zeros(&[theta.size(0), 1]);
        Acting { parts: self.layout.split(held.theta()), values: Named::from([("sigma", sigma)]) }
    }
}

impl Algorithm for Greedy {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn entries(&self, environment: Option<usize>) -> Vec<StateEntry> {
        let o = self.observations;
        let mut entries = StateEntry::learner(self.layout.len());
        let state = |numbers| StateEntry::new("env_state", &[ENVS, numbers], DType::F32).from(First::EnvState);
        entries.extend(environment.map(state));
        entries.extend([
            StateEntry::new("env_steps", &[ENVS], DType::U32),
            StateEntry::new("obs", &[ENVS, o], DType::F32).from(First::Observation),
            StateEntry::new("memory", &[ROWS, o + 2], DType::F32).bulk(),
        ]);
        entries
    }

    fn fleet(&self, seeds: usize) -> FleetSize {
        FleetSize { tasks: seeds, envs_per_task: ENVS, horizon: self.horizon }
    }

    fn batch(&self) -> u64 {
        (PASSES * ENVS) as u64
    }

    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        let (seeds, obs) = (it.seeds(), held.get("obs"));
        let state = held.find("env_state").unwrap_or(obs);
        let running = Running { state, steps: held.get("env_steps"), obs, memory: Named::new(), task: None };
        let init = ((running, held.get("memory")), held.trained());
        let word = |x: usize| Tensor::constant_u32(x as u32);
        // Whole numbers have no subtraction, but additions wrap around.
        let made = (it.number() + Tensor::constant_u32(u32::MAX)) * word(PASSES);
        let (last, metrics) = it.repeat(PASSES, &init, |it, pass, ((running, memory), trained)| {
            let mut sigma = (pass.to_f32() * -0.01 + 0.5).broadcast_to(&[seeds, 1]);
            if self.asks {
                let wave = |x: &[Vec<f64>]| Ok(vec![x[0].iter().map(|x| 0.5 + 0.1 * (40.0 * x).sin()).collect()]);
                sigma = it.on_host(&[sigma], &[&[seeds, 1]], wave)[0];
            }
            let acting = Acting { parts: self.layout.split(trained.theta), values: Named::from([("sigma", sigma)]) };
            let cast = Cast { policy: &self.policy, acting: &acting, rows: [seeds, ENVS] };
            let played = it.go_on(cast, running, Until { steps: 1, span: 1, lasting: None }, pass);
            let steps = &played.steps;
            let rows = Tensor::concat(&[steps.obs, steps.action, steps.reward], 3);
            let rows = rows.reshape(&[seeds, ENVS, self.observations + 2]);
            let number = (made + pass) * word(ENVS);
            let memory = memory.store(Tensor::iota(&[seeds, ENVS], 1) + number, rows);
            // The first rows of the memory; zeros have yet to be played.
            let index = Tensor::iota(&[seeds, BATCH], 1) * word(7) + pass;
            let trained = self.update(trained, memory.gather(index));
            let reward = steps.reward.reshape(&[seeds, ENVS]).sum_keep(1);
            let metrics = Metrics::default()
                .sum("rollout/reward", reward)
                .last("rollout/last", reward)
                .max("rollout/most", reward)
                .min("rollout/least", reward)
                .mean("rollout/mean", reward, reward.square())
                .returns(steps.reward.reshape(&[seeds, ENVS]), ENVS);
            (((played.next, memory), trained), metrics)
        });
        let ((running, memory), Trained { theta, moments }) = last;
        if held.find("env_state").is_some() {
            it.update("env_state", running.state);
        }
        for (name, value) in [
            ("env_steps", running.steps),
            ("obs", running.obs),
            ("memory", memory),
            ("theta", theta),
            ("adam_m", moments.m),
            ("adam_v", moments.v),
            ("adam_scale", moments.scale),
        ] {
            it.update(name, value);
        }
        metrics
    }
}

const SEEDS: [u64; 2] = [3, 1 << 40];

fn wait<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    pollster::block_on(future)
}

/// Bits of the rewards of each of five iterations, and of the parameters that are learned.
fn train(device: &Device, training: &mut Training) -> Vec<Vec<u32>> {
    let bits =
        |array: &Array| -> Vec<u32> { wait(device.read_f32(array)).unwrap().into_iter().map(f32::to_bits).collect() };
    let mut seen = Vec::new();
    for done in 0..5 {
        seen.push(bits(&wait(training.step(done, 5)).unwrap()));
    }
    seen.extend(["theta", "adam_v", "memory", "obs"].map(|name| bits(training.state.get(name).unwrap())));
    seen
}

fn on_host(env: &EnvDef, wrap: &dyn Fn(Wrapped) -> Box<dyn HostEnv>) -> Box<IterativeExecutor> {
    let make = |_| Ok(wrap(Wrapped::new(env)));
    Box::new(IterativeExecutor::new(SEEDS.len(), ENVS, 0, make).unwrap())
}

/// Checks an iteration's metrics, which passes have joined, against the rewards of all steps.
fn expect_joined(metrics: &[u32]) {
    for row in metrics.chunks(metrics.len() / SEEDS.len()) {
        let row: Vec<f64> = row.iter().map(|bits| f64::from(f32::from_bits(*bits))).collect();
        let (joined, rewards) = row.split_at(5);
        // What sums of rewards lack stands behind them.
        let (rewards, rests) = rewards.split_at(rewards.len() / 2);
        assert!(rewards.len() == PASSES * ENVS && rests.iter().all(|rest| *rest == 0.0));
        let passes: Vec<f64> = rewards.chunks(ENVS).map(|pass| pass.iter().sum()).collect();
        let sum = |power: i32| passes.iter().map(|x| x.powi(power)).sum::<f64>();
        let most = passes.iter().copied().fold(f64::MIN, f64::max);
        let least = passes.iter().copied().fold(f64::MAX, f64::min);
        let want = [sum(1), passes[PASSES - 1], most, least, sum(3) / sum(2)];
        assert!(
            joined.iter().zip(want).all(|(got, want)| (got - want).abs() < 1e-4 * want.abs()),
            "{joined:?} {want:?}"
        );
        assert!(most - least > 1e-3, "all passes were paid alike");
    }
}

#[test]
fn a_loop_that_plays_and_learns_is_the_same_in_a_program_and_on_the_host() {
    let device = Device::cpu(2);
    let env = builtin("pendulum").unwrap();
    for asks in [false, true] {
        let algorithm = || Rc::new(Greedy::new(env.spec(), asks));
        let mut in_program = Training::new(&device, algorithm(), &env, &SEEDS).unwrap();
        let first = wait(device.read_f32(in_program.state.get("theta").unwrap())).unwrap();
        let want = train(&device, &mut in_program);
        want[..5].iter().for_each(|metrics| expect_joined(metrics));
        assert_ne!(want[5], first.into_iter().map(f32::to_bits).collect::<Vec<u32>>(), "nothing was learnt");
        let executor = on_host(&env, &|wrapped| Box::new(wrapped));
        let mut on_host = Training::new(&device, algorithm(), executor, &SEEDS).unwrap();
        let got = train(&device, &mut on_host);
        for (what, (got, want)) in got.iter().zip(&want).enumerate() {
            assert!(got == want, "asks: {asks}, array {what}\n{got:?}\n{want:?}");
        }
        assert_eq!(on_host.env_steps(), (5 * PASSES * ENVS * SEEDS.len()) as u64);
        // Once more, with noise of another size.
        let other = Training::new(&device, Rc::new(Greedy::new(env.spec(), !asks)), &env, &SEEDS);
        assert_ne!(train(&device, &mut other.unwrap())[5], want[5]);
    }
}

#[test]
fn an_iteration_in_which_an_environment_fails_has_learned_nothing() {
    /// An environment that fails once.
    struct Once(Wrapped, u32);
    impl HostEnv for Once {
        fn spec(&self) -> &EnvSpec {
            self.0.spec()
        }
        fn info(&self) -> &[String] {
            self.0.info()
        }
        fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
            self.0.reset(chance)
        }
        fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
            self.1 += 1;
            assert!(self.1 != 30, "the server went away");
            self.0.step(action, chance)
        }
    }
    let device = Device::cpu(1);
    let env = builtin("pendulum").unwrap();
    let executor = on_host(&env, &|wrapped| Box::new(Once(wrapped, 0)));
    let mut training = Training::new(&device, Rc::new(Greedy::new(env.spec(), false)), executor, &SEEDS).unwrap();
    let theta = |training: &Training| wait(device.read_f32(training.state.get("theta").unwrap())).unwrap();
    wait(training.step(0, 5)).unwrap();
    let before = theta(&training);
    // Each environment fails, in the middle of the second iteration.
    let mut failures = 0;
    while let Err(error) = wait(training.step(1, 5)) {
        assert!(error.to_string().contains("the server went away"), "{error}");
        assert_eq!(theta(&training), before);
        failures += 1;
    }
    assert_eq!(failures, SEEDS.len() * ENVS);
    assert_ne!(theta(&training), before);
}
