//! Tests of VPG's rollouts, baselines and entropy, and of settings that exclude each other.

use std::rc::Rc;

use super::super::shared::{RANGE, WEIGHTS};
use super::*;
use crate::algo::{Algorithm, Course, Learned, StateEntry, Training};
use crate::env::cartpole::CartPole;
use crate::env::{Draws, Env, EnvDef, EnvSpec, Real, Step};
use crate::host::FleetSize;
use crate::learn::by_seed;
use crate::nn::Layout;
use crate::policy::{Acting, MemoryKind, Policy};
use crate::{DType, Device, Tensor};

/// CartPole with poles that fall soon and a short time limit.
#[derive(Clone, Debug)]
struct Brief(CartPole);

impl Env for Brief {
    type State<R: Real> = <CartPole as Env>::State<R>;

    fn spec(&self) -> EnvSpec {
        EnvSpec { horizon: LIMIT, ..self.0.spec() }
    }

    fn reset<R: Real>(&self, task: &[R], rng: &mut Draws<R>) -> Self::State<R> {
        self.0.reset(task, rng)
    }

    fn step<R: Real>(&self, s: Self::State<R>, action: &[R], task: &[R], rng: &mut Draws<R>) -> Step<R, Self> {
        let Step { next, reward, terminated } = self.0.step(s, action, task, rng);
        // The reward differs from step to step.
        let reward = reward + next.theta * R::lit(20.0);
        Step { next, reward, terminated }
    }

    fn observe<R: Real>(&self, s: &Self::State<R>, task: &[R], out: &mut [R]) {
        self.0.observe(s, task, out);
    }
}

const LIMIT: usize = 7;
const O: usize = 4;
const T: usize = 12;
const N: usize = 3;
/// The longest span that divides T and is not longer than the time limit.
const SPAN: usize = 6;

/// VPG that also writes what it learned from to entries of its state.
#[derive(Debug)]
struct Telling(Vpg);

const TOLD: [(&str, usize); 7] = [
    ("told_reward", T * N),
    ("told_terminated", T * N),
    ("told_truncated", T * N),
    ("told_log_prob", T * N * 2),
    ("told_seen", (T + T / SPAN + 1) * N * O),
    ("told_advantage", T * N),
    ("told_return", T * N),
];

impl Learned for Telling {
    fn policy(&self) -> Box<dyn Policy + '_> {
        self.0.policy()
    }

    fn course(&self) -> Course {
        self.0.course()
    }

    fn start(&self, held: &Held, tasks: usize) -> Acting {
        self.0.start(held, tasks)
    }
}

impl Algorithm for Telling {
    fn layout(&self) -> &Layout {
        self.0.layout()
    }

    fn entries(&self, environment: Option<usize>) -> Vec<StateEntry> {
        let told = TOLD.iter().map(|(name, width)| StateEntry::new(name, &[*width], DType::F32));
        self.0.entries(environment).into_iter().chain(told).collect()
    }

    fn fleet(&self, seeds: usize) -> FleetSize {
        self.0.fleet(seeds)
    }

    fn batch(&self) -> u64 {
        self.0.batch()
    }

    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        // This rollout is the one that the iteration collects too: random numbers depend on the keys alone.
        let (nets, config) = (self.0.net(), self.0.config());
        let (rollout, _) = config.collect(nets, it, held);
        let credit = rollout.credit(&rollout.values, config.gradient.critic.target_lambda());
        let of = |action: f64| rollout.policy().log_prob(Tensor::full(&[1, T * N, 1], action));
        let told = [
            by_seed(rollout.reward),
            by_seed(rollout.ends.terminated).to_f32(),
            by_seed(rollout.ends.truncated).to_f32(),
            Tensor::concat(&[of(0.0), of(1.0)], 2),
            rollout.all,
            by_seed(credit.advantages),
            by_seed(credit.returns),
        ];
        for ((name, width), told) in TOLD.iter().zip(told) {
            it.update(name, told.reshape(&[1, *width]));
        }
        self.0.iteration(it, held)
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        self.0.schedules(at)
    }
}

/// The policy gradient on rewards that include an entropy of which the settings say nothing.
#[derive(Clone, Debug)]
struct Rewarded {
    vpg: VpgConfig,
    entropy: f64,
}

impl OnPolicy for Rewarded {
    fn parts(&self) -> Parts<'_> {
        self.vpg.parts()
    }

    fn sampling_mut(&mut self) -> &mut Sampling {
        &mut self.vpg.sampling
    }

    fn validate(&self) -> Result<()> {
        self.vpg.validate()
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        self.vpg.schedules(at)
    }

    fn iteration(&self, nets: &ActorCritic, it: &mut Iteration<'_>, held: &Held, turn: Option<&dyn Turn>) -> Metrics {
        let mut rollout = Rollout::collect(&self.vpg.sampling, nets, it, held);
        rollout.reward_entropy(self.entropy);
        let credit = rollout.credit(&rollout.values, None);
        let mut networks = Networks::begin(&rollout, self.vpg.gradient.steps(), held, turn);
        networks.step_policy(it, held, &credit, &|parts, batch, standardised| {
            likelihood_losses(nets, parts, batch, standardised)
        });
        networks.step_critic(it, &credit);
        networks.keep(it, rollout.explained_variance(&credit))
    }
}

/// The features of an observation at a step of its episode, as in Duan et al. 2016.
fn features(baseline: Baseline, obs: &[f64], step: usize) -> Vec<f64> {
    let limited = || obs.iter().map(|x| x.clamp(-10.0, 10.0));
    let tau = step as f64 / 100.0;
    let (of_obs, of_time) = match baseline {
        Baseline::Zero => (false, None),
        Baseline::MultiFeature => (true, Some(0)),
        Baseline::LinearTime => (false, Some(3)),
        Baseline::LinearFeature => (true, Some(3)),
    };
    let own = limited().chain(limited().map(|x| x * x)).filter(|_| of_obs);
    let time = of_time.into_iter().flat_map(|most| (1..=most).chain([0])).map(|power| tau.powi(power));
    own.chain(time).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Computes Σ (F w − y)² + r ‖w‖².
fn misfit(features: &[Vec<f64>], targets: &[f64], regularisation: f64, weights: &[f64]) -> f64 {
    let off: f64 = features.iter().zip(targets).map(|(f, y)| (dot(f, weights) - y).powi(2)).sum();
    off + regularisation * dot(weights, weights)
}

/// Compares rewards, advantages and value targets with a loop over the steps, and the baseline's weights with the best
/// fit.
#[test]
fn rollouts_are_credited_by_the_fit_to_the_one_before_and_by_entropy_as_a_loop_does_it() {
    let device = Device::cpu(1);
    let env = EnvDef::new(Brief(CartPole { theta_limit: 0.07, ..CartPole::default() })).unwrap();
    let words = [VpgBaseline::LinearFeature, VpgBaseline::LinearTime, VpgBaseline::MultiFeature, VpgBaseline::Zero];
    let cases = words.into_iter().flat_map(|baseline| [(baseline, 0.0), (baseline, 0.7)]);
    let plain = cases.map(|(baseline, coef)| (baseline, coef, MemoryKind::None));
    // These policies remember, and their baselines do not.
    let remembering = [(VpgBaseline::LinearFeature, 0.7, MemoryKind::Gru), (VpgBaseline::Zero, 0.0, MemoryKind::Lstm)];
    for (baseline, coef, cell) in plain.chain(remembering) {
        let mut config = VpgConfig {
            baseline,
            baseline_regularisation: 0.05,
            entropy_method: if coef > 0.0 { EntropyMethod::Max } else { EntropyMethod::NoEntropy },
            memory: MemoryConfig { cell, units: 4, ..MemoryConfig::default() },
            ..VpgConfig::default()
        };
        config.gradient.entropy_coef = coef;
        // Entropies are not divided by the deviation of returns.
        config.sampling.normalise_rewards = coef > 0.0;
        config.gradient.normalise_advantages = false;
        config.gradient.optimiser.learning_rate = 0.05;
        config.net.layers.hidden = vec![8];
        config.sampling = Sampling { horizon: T, envs: N, gae_lambda: 0.8, gamma: 0.9, ..config.sampling };
        let fitted = Telling(Vpg::new(&config, env.spec()).unwrap());
        let mut training = Training::new(&device, Rc::new(fitted), &env, &[3]).unwrap();
        let kind = baseline.fitted().unwrap();
        let width = kind.width(O);
        let (mut ends, mut largest, mut limited) = ([0, 0], 0.0, 0);
        for done in 0..4 {
            let read = |training: &Training, name: &str| {
                pollster::block_on(device.read(training.state.get(name).unwrap())).unwrap()
            };
            let fit = |training: &Training| match width {
                0 => [Vec::new(), vec![0.0; 2]],
                _ => [WEIGHTS, RANGE].map(|name| read(training, name)),
            };
            let first = pollster::block_on(device.read_u32(training.state.get("env_steps").unwrap())).unwrap();
            let [before, range] = fit(&training);
            pollster::block_on(training.step(done, 9)).unwrap();
            let told = TOLD.map(|(name, _)| read(&training, name));
            let [reward, terminated, truncated, log_prob, seen, advantage, returns] = told;
            let deviation = if coef > 0.0 { (read(&training, "reward_var")[0] + 1e-8).sqrt() } else { 1.0 };
            let seen = |row: usize| &seen[row * O..(row + 1) * O];
            let mut value = |row: usize, step: usize| {
                let free = dot(&before, &features(kind, seen(row), step));
                limited += usize::from(free < range[0] || free > range[1]);
                free.clamp(range[0], range[1])
            };
            let (mut rows, mut numbers) = (vec![Vec::new(); T * N], vec![0; T * N]);
            for (e, begun) in first.iter().enumerate() {
                let mut step = *begun as usize;
                for t in 0..T {
                    let i = t * N + e;
                    (rows[i], numbers[i]) = (features(kind, seen(i), step), step);
                    step += 1;
                    assert_eq!(truncated[i] > 0.0, terminated[i] == 0.0 && step == LIMIT);
                    ends = [ends[0] + terminated[i] as usize, ends[1] + truncated[i] as usize];
                    if terminated[i] + truncated[i] > 0.0 {
                        step = 0;
                    }
                }
                let mut later = 0.0;
                for t in (0..T).rev() {
                    let i = t * N + e;
                    let (here, on) = (numbers[i], terminated[i] + truncated[i] == 0.0);
                    let entropy: f64 = log_prob[2 * i..2 * i + 2].iter().map(|log| -log.exp() * log).sum();
                    let next = match (on, terminated[i] > 0.0) {
                        (true, _) if t + 1 < T => value(i + N, here + 1),
                        (true, _) => value((T + T / SPAN) * N + e, here + 1),
                        (false, true) => 0.0,
                        (false, false) => value(T * N + t / SPAN * N + e, LIMIT),
                    };
                    let now = value(i, here);
                    let error = reward[i] / deviation + coef * entropy + 0.9 * next - now;
                    later = error + if on { 0.9 * 0.8 * later } else { 0.0 };
                    let at = format!("{baseline:?}, {coef}, {cell:?}, iteration {done}, step {t} of {e}");
                    assert!((advantage[i] - later).abs() < 1e-4, "{at}: {} {later}", advantage[i]);
                    assert!((returns[i] - later - now).abs() < 1e-4, "{at}: {} {}", returns[i], later + now);
                    largest = now.abs().max(largest);
                }
            }
            // The new weights have the least sum of squares: any step away makes it larger.
            let [after, next_range] = fit(&training);
            let least = misfit(&rows, &returns, 0.05, &after);
            for k in 0..width {
                for by in [-1e-2, 1e-2] {
                    let mut other = after.clone();
                    other[k] += by;
                    let more = misfit(&rows, &returns, 0.05, &other);
                    assert!(more > least, "{baseline:?}, weight {k} of {after:?}: {more} {least}");
                }
            }
            let sorted = |returns: &[f64]| {
                let mut all = returns.to_vec();
                all.sort_by(f64::total_cmp);
                vec![all[0], all[T * N - 1]]
            };
            assert!(width == 0 || next_range == sorted(&returns), "{next_range:?}");
            assert_eq!(before.iter().all(|w| *w == 0.0), done == 0 || width == 0);
        }
        assert!(ends.iter().all(|n| *n > 1), "{ends:?}");
        assert_eq!(largest > 0.5, width > 0, "{largest}");
        // A clock of seven steps runs nowhere near the limits.
        assert_eq!(limited > 0, width > 4, "{baseline:?}: {limited} limited");
    }
}

/// Tests that rewards that include the entropy are learned from as by an objective without it.
#[test]
fn entropy_in_rewards_is_not_in_the_objective_too() {
    let (device, env) = (Device::cpu(1), EnvDef::new(Brief(CartPole::default())).unwrap());
    let settings = |entropy_method, entropy_coef| {
        let mut vpg = VpgConfig { entropy_method, ..VpgConfig::default() };
        (vpg.gradient.entropy_coef, vpg.gradient.normalise_advantages) = (entropy_coef, false);
        vpg.net.layers.hidden = vec![8];
        vpg.sampling = Sampling { horizon: T, envs: N, ..vpg.sampling };
        vpg
    };
    let train = |vpg: Rc<dyn Algorithm>| {
        let mut training = Training::new(&device, vpg, &env, &[3]).unwrap();
        for done in 0..3 {
            pollster::block_on(training.step(done, 9)).unwrap();
        }
        pollster::block_on(device.read(training.state.get("theta").unwrap())).unwrap()
    };
    let vpg = |method, coef| train(Rc::new(Vpg::new(&settings(method, coef), env.spec()).unwrap()));
    let by_hand = Rewarded { vpg: settings(EntropyMethod::NoEntropy, 0.0), entropy: 0.7 };
    let rewarded = vpg(EntropyMethod::Max, 0.7);
    assert_eq!(rewarded, train(Rc::new(OnPolicyLearner::new(&by_hand, env.spec()).unwrap())));
    assert_ne!(rewarded, vpg(EntropyMethod::NoEntropy, 0.0));
    assert_ne!(rewarded, vpg(EntropyMethod::Regularized, 0.7));
}

/// Tests that a fit to returns that are not finite is dropped and counted, and so is the policy's step.
#[test]
fn a_fit_that_is_not_finite_leaves_the_one_before() {
    let (device, env) = (Device::cpu(1), EnvDef::new(Brief(CartPole::default())).unwrap());
    let mut vpg = VpgConfig { baseline: VpgBaseline::LinearTime, ..VpgConfig::default() };
    vpg.sampling = Sampling { horizon: T, envs: N, minibatches: 1, ..vpg.sampling };
    vpg.net.layers.hidden = vec![8];
    let vpg = Rc::new(OnPolicyLearner::new(&vpg, env.spec()).unwrap());
    let mut training = Training::new(&device, vpg, &env, &[3]).unwrap();
    let names = training.metric_names(0);
    let dropped = names.iter().position(|name| name == Metrics::NON_FINITE).unwrap();
    let read =
        |training: &Training, name: &str| pollster::block_on(device.read(training.state.get(name).unwrap())).unwrap();
    let step = |training: &mut Training, done: u64| {
        let metrics = pollster::block_on(training.step(done, 9)).unwrap();
        pollster::block_on(device.read(&metrics)).unwrap()[dropped]
    };
    assert_eq!(step(&mut training, 0), 0.0);
    let largest = f64::from(f32::MAX);
    for (name, fit) in [(WEIGHTS, &[largest; 4][..]), (RANGE, &[-largest, largest])] {
        training.state.insert(name, device.array(&[1, fit.len()], fit).unwrap());
    }
    let before = ["theta", WEIGHTS, RANGE].map(|name| read(&training, name));
    assert_eq!(step(&mut training, 1), 2.0);
    assert_eq!(["theta", WEIGHTS, RANGE].map(|name| read(&training, name)), before);
}

#[test]
fn settings_that_exclude_each_other_are_named() {
    let problem = |change: &dyn Fn(&mut VpgConfig)| {
        let mut config = VpgConfig::default();
        change(&mut config);
        config.validate().unwrap_err().to_string()
    };
    for critic in [CriticSteps::Joint, CriticSteps::First] {
        let message = problem(&|c| (c.baseline, c.gradient.critic.critic) = (VpgBaseline::Zero, critic));
        assert_eq!(
            message,
            "critic: a baseline that is fitted to each rollout is so after the policy's step; set it to \"last\", or \
             baseline to \"network\""
        );
    }
    assert_eq!(
        problem(&|c| c.entropy_method = EntropyMethod::Max),
        "entropy_method: max rewards entropy, which standardised advantages would scale away; set normalise_advantages \
         to false"
    );
    let no_entropy = |c: &mut VpgConfig| {
        (c.entropy_method, c.gradient.entropy_coef) = (EntropyMethod::NoEntropy, 0.1);
    };
    assert_eq!(problem(&no_entropy), "entropy_method: no_entropy leaves entropy_coef = 0.1 without a use; set it to 0");
    assert!(problem(&|c| c.baseline_regularisation = 0.0).starts_with("baseline_regularisation: 0 "));
}
