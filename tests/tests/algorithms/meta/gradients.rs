//! Meta-gradients against full enumeration of all trajectories of a Markov decision process with 2 states, 2 actions and
//! 3 steps, in f64: the enumeration is plain Rust, its derivative taken by finite differences of fourth order.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::dist::Categorical;
use quickstudy_core::env::{ActionSpace, Dim, EnvSpec};
use quickstudy_core::grad::value_and_grad;
use quickstudy_core::meta::{InnerSteps, Objective, Phase, StepSizes, Surrogate, meta_loss};
use quickstudy_core::nn::Layout;
use quickstudy_core::policy::{Distribution, LayersConfig, NetConfig, PolicyNet};
use quickstudy_core::{DType, Device, Program, State, Tensor};

const STEPS: usize = 3;
const ALPHA: f64 = 0.7;
/// P(next state is 1 | state, action), and rewards by state and action.
const TO_ONE: [[f64; 2]; 2] = [[0.3, 0.8], [0.6, 0.1]];
const REWARD: [[f64; 2]; 2] = [[1.0, -0.5], [0.25, 2.0]];

/// Weights by state and action, then biases by action.
type Theta = [f64; 6];

const START: Theta = [0.3, -0.2, 0.5, 0.1, -0.4, 0.25];

/// π(a | s)
fn pi(theta: &Theta, s: usize) -> [f64; 2] {
    let logit = |a: usize| theta[2 * s + a] + theta[4 + a];
    let p = 1.0 / (1.0 + (logit(1) - logit(0)).exp());
    [p, 1.0 - p]
}

/// ∇ ln π(a | s)
fn score(theta: &Theta, s: usize, a: usize) -> Theta {
    let (p, mut g) = (pi(theta, s), [0.0; 6]);
    for b in 0..2 {
        let d = f64::from(u8::from(a == b)) - p[b];
        g[2 * s + b] += d;
        g[4 + b] += d;
    }
    g
}

/// States and actions, and the probability that the process alone gives them.
#[derive(Clone)]
struct Trajectory {
    s: [usize; STEPS],
    a: [usize; STEPS],
    world: f64,
}

fn trajectories() -> Vec<Trajectory> {
    let mut all = Vec::new();
    for bits in 0..32_usize {
        let bit = |i: usize| bits >> i & 1;
        let (a, s) = ([bit(0), bit(1), bit(2)], [0, bit(3), bit(4)]);
        let to = |t: usize| {
            let p = TO_ONE[s[t]][a[t]];
            if s[t + 1] == 1 { p } else { 1.0 - p }
        };
        all.push(Trajectory { s, a, world: to(0) * to(1) });
    }
    all
}

impl Trajectory {
    fn probability(&self, theta: &Theta) -> f64 {
        (0..STEPS).map(|t| pi(theta, self.s[t])[self.a[t]]).product::<f64>() * self.world
    }

    fn reward(&self, t: usize) -> f64 {
        REWARD[self.s[t]][self.a[t]]
    }

    /// Rewards from t on.
    fn to_go(&self, t: usize) -> f64 {
        (t..STEPS).map(|i| self.reward(i)).sum()
    }
}

/// E[R] under π_θ.
fn expected(theta: &Theta) -> f64 {
    trajectories().iter().map(|x| x.probability(theta) * x.to_go(0)).sum()
}

/// ∇ E[R]
fn gradient(theta: &Theta) -> Theta {
    let mut g = [0.0; 6];
    for x in trajectories() {
        let p = x.probability(theta);
        for t in 0..STEPS {
            let d = score(theta, x.s[t], x.a[t]);
            (0..6).for_each(|i| g[i] += p * x.to_go(t) * d[i]);
        }
    }
    g
}

/// Σ_τ p_old(τ) Σ_t f(ratio_t, A_t), and the gradient of the unclipped sum.
fn ratios(theta: &Theta, old: &Theta, log: bool) -> Theta {
    let mut g = [0.0; 6];
    for x in trajectories() {
        let p = x.probability(old);
        for t in 0..STEPS {
            let (s, a) = (x.s[t], x.a[t]);
            let factor = if log { 1.0 } else { pi(theta, s)[a] / pi(old, s)[a] };
            let d = score(theta, s, a);
            (0..6).for_each(|i| g[i] += p * factor * x.to_go(t) * d[i]);
        }
    }
    g
}

fn clipped(theta: &Theta, old: &Theta, eps: f64) -> f64 {
    let mut sum = 0.0;
    for x in trajectories() {
        for t in 0..STEPS {
            let ratio = pi(theta, x.s[t])[x.a[t]] / pi(old, x.s[t])[x.a[t]];
            let advantage = x.to_go(t);
            sum += x.probability(old) * (ratio * advantage).min(ratio.clamp(1.0 - eps, 1.0 + eps) * advantage);
        }
    }
    sum
}

fn kl(old: &Theta, theta: &Theta) -> f64 {
    let mut sum = 0.0;
    for x in trajectories() {
        for t in 0..STEPS {
            let (p, q) = (pi(old, x.s[t]), pi(theta, x.s[t]));
            sum += x.probability(old) * (0..2).map(|a| p[a] * (p[a] / q[a]).ln()).sum::<f64>();
        }
    }
    sum
}

fn ascend(theta: &Theta, g: &Theta) -> Theta {
    std::array::from_fn(|i| theta[i] + ALPHA * g[i])
}

/// df/dθ by central differences of fourth order.
fn differences(f: &dyn Fn(&Theta) -> f64) -> Theta {
    let h = 2e-3;
    std::array::from_fn(|i| {
        let at = |k: f64| {
            let mut theta = START;
            theta[i] += k * h;
            f(&theta)
        };
        // Sixth order: (45 f₁ − 9 f₂ + f₃ − …) / 60 h.
        (45.0 * (at(1.0) - at(-1.0)) - 9.0 * (at(2.0) - at(-2.0)) + (at(3.0) - at(-3.0))) / (60.0 * h)
    })
}

/// Numbers in the place of adjusted rewards, which only the objectives that reward exploration look at.
fn adjusted(t: usize, x: &Trajectory) -> f64 {
    0.3 * x.reward(t) - 0.1
}

/// An infinite batch under `old`: every trajectory, weighed by its probability. `rewards`: those of each step
/// instead of what follows from it on.
fn phase(old: &Theta, rewards: bool) -> Phase {
    let all = trajectories();
    let rows: Vec<(usize, &Trajectory)> = (0..STEPS).flat_map(|t| all.iter().map(move |x| (t, x))).collect();
    let column = |f: &dyn Fn(usize, &Trajectory) -> f64| {
        let values: Vec<f64> = rows.iter().map(|(t, x)| f(*t, x)).collect();
        Tensor::literal_f32(&values).reshape(&[1, rows.len(), 1])
    };
    let pair = |f: &dyn Fn(usize, &Trajectory) -> [f64; 2]| {
        let values: Vec<f64> = rows.iter().flat_map(|(t, x)| f(*t, x)).collect();
        Tensor::literal_f32(&values).reshape(&[1, rows.len(), 2])
    };
    Phase {
        obs: pair(&|t, x| [f64::from(u8::from(x.s[t] == 0)), f64::from(u8::from(x.s[t] == 1))]),
        action: column(&|t, x| x.a[t] as f64),
        old: Distribution::Choice(Categorical::new(pair(&|t, x| pi(old, x.s[t]).map(f64::ln)))),
        advantage: column(&|t, x| if rewards { x.reward(t) } else { x.to_go(t) }),
        adj_reward: column(&adjusted),
        weight: column(&|_, x| x.probability(old)),
        steps: STEPS,
    }
}

/// The gradient of a meta-objective by the library, with data from these parameters in each phase.
fn library(objective: &dyn Fn() -> Objective, kind: Surrogate, inner_kl: f64, collected: &[Theta]) -> (f64, Vec<f64>) {
    let spec = EnvSpec::new("enumerated", vec![Dim::unbounded("s"); 2], ActionSpace::discrete(&["l", "r"]), STEPS);
    let config = NetConfig {
        layers: LayersConfig { hidden: Vec::new(), orthogonal_init: false, ..LayersConfig::default() },
        ..NetConfig::default()
    };
    let mut layout = Layout::new();
    let net = PolicyNet::new(&mut layout, &spec, &config);
    let device = Device::reference();
    let mut program = Program::new(&device, |cx| {
        let theta = cx.input("theta", &[1, 6], DType::F32);
        let dice =
            |k: usize| kind == Surrogate::Dice && (k + 1 < collected.len() || objective() != Objective::LogLikelihood);
        let phases: Vec<Phase> = collected.iter().enumerate().map(|(k, old)| phase(old, dice(k))).collect();
        let (loss, grads) = value_and_grad(&layout.split(theta), |parts| {
            let step_sizes = &StepSizes::Fixed(ALPHA);
            let steps = InnerSteps { policy: &net, loss: kind, step_sizes, first_order: false, fixed: None };
            let meta = meta_loss(objective(), &steps, parts, &phases);
            let kl = meta.inner_kl.iter().copied().reduce(|a, b| a + b).unwrap();
            (meta.loss + kl * (inner_kl / meta.inner_kl.len() as f64)).sum_all()
        });
        cx.output("loss", loss);
        cx.output("gradient", layout.join(&grads));
    })
    .unwrap();
    let theta = device.array(&[1, 6], &START).unwrap();
    let out = program.run(&State::new(), &[("theta", &theta)], &[]).unwrap();
    let read = |name: &str| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
    (read("loss")[0], read("gradient"))
}

fn near(name: &str, got: (f64, Vec<f64>), value: f64, gradient: &Theta) {
    assert!((got.0 - value).abs() < 1e-12, "{name}: {} instead of {value}", got.0);
    let worst = got.1.iter().zip(gradient).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    println!("{name}: {worst:e}");
    assert!(worst < 1e-9, "{name}: {worst:e}\n{:?}\n{gradient:?}", got.1);
    assert!(gradient.iter().any(|g| g.abs() > 1e-2), "{name}: nothing to compare");
}

#[test]
fn dice_is_the_exact_meta_gradient_of_one_two_and_three_steps() {
    for steps in 1..=3 {
        let chain = |theta: &Theta| (0..steps).fold(*theta, |theta, _| ascend(&theta, &gradient(&theta)));
        let objective = |theta: &Theta| -expected(&chain(theta));
        let mut collected = vec![START];
        (0..steps).for_each(|k| collected.push(ascend(&collected[k], &gradient(&collected[k]))));
        let got = library(&|| Objective::PolicyGradient, Surrogate::Dice, 0.0, &collected);
        near(&format!("DICE, {steps} steps"), got, objective(&START), &differences(&objective));
    }
}

#[test]
fn maml_and_promp_are_the_gradients_of_their_surrogates_through_one_two_and_three_steps() {
    for (kind, log) in [(Surrogate::LogLikelihood, true), (Surrogate::LikelihoodRatio, false)] {
        for steps in 1..=3 {
            // The data of each phase is collected once, at the parameters that the steps before led to.
            let mut collected = vec![START];
            (0..steps).for_each(|k| collected.push(ascend(&collected[k], &ratios(&collected[k], &collected[k], log))));
            let inner: Vec<Theta> = collected[..steps].to_vec();
            let chain = |theta: &Theta| -> Vec<Theta> {
                let mut all = vec![*theta];
                (0..steps).for_each(|k| all.push(ascend(&all[k], &ratios(&all[k], &inner[k], log))));
                all
            };
            // As after some outer steps: the last data is of other parameters, so that ratios are not 1.
            let moved = [0.4, -0.4, -0.3, 0.3, 0.2, -0.1];
            collected[steps] = std::array::from_fn(|i| collected[steps][i] + moved[i]);
            let last = collected[steps];
            // ε so wide that no ratio is cut, and one that cuts some.
            assert_ne!(clipped(&chain(&START)[steps], &last, 0.99), clipped(&chain(&START)[steps], &last, 0.2));
            for (eps, weight) in [(0.99, 0.0), (0.2, 0.0), (0.2, 0.3)] {
                let objective = |theta: &Theta| {
                    let all = chain(theta);
                    let kls: f64 = (0..steps).map(|k| kl(&collected[k], &all[k])).sum();
                    -clipped(&all[steps], &last, eps) + weight * kls / steps as f64
                };
                let got = library(&|| Objective::Clipped(eps), kind, weight, &collected);
                let of_tensors = || Objective::ClippedBy(Tensor::constant_f32(eps));
                let name = format!("{kind:?}, {steps} steps, ε {eps}");
                near(&name, got, objective(&START), &differences(&objective));
                let got = library(&of_tensors, kind, weight, &collected);
                near(&name, got, objective(&START), &differences(&objective));
            }
        }
    }
}

/// Σ p_old ln π A over all that was collected by `old`.
fn likelihood(theta: &Theta, old: &Theta) -> f64 {
    let of = |x: &Trajectory, t: usize| pi(theta, x.s[t])[x.a[t]].ln() * x.to_go(t);
    trajectories().iter().map(|x| x.probability(old) * (0..STEPS).map(|t| of(x, t)).sum::<f64>()).sum()
}

#[test]
fn dice_inside_and_the_likelihood_outside_are_the_exact_gradient_through_the_inner_steps() {
    for steps in 1..=2 {
        let chain = |theta: &Theta| (0..steps).fold(*theta, |theta, _| ascend(&theta, &gradient(&theta)));
        let mut collected = vec![START];
        (0..steps).for_each(|k| collected.push(ascend(&collected[k], &gradient(&collected[k]))));
        let last = collected[steps];
        let objective = |theta: &Theta| -likelihood(&chain(theta), &last);
        let got = library(&|| Objective::LogLikelihood, Surrogate::Dice, 0.0, &collected);
        near(&format!("VPG-DICE, {steps} steps"), got, objective(&START), &differences(&objective));
    }
}

#[test]
fn the_term_that_rewards_exploration_is_that_of_the_formula() {
    for steps in 1..=2 {
        let mut collected = vec![START];
        (0..steps).for_each(|k| collected.push(ascend(&collected[k], &ratios(&collected[k], &collected[k], true))));
        let chain = |theta: &Theta| -> Theta {
            (0..steps).fold(*theta, |theta, k| ascend(&theta, &ratios(&theta, &collected[k], true)))
        };
        let last = collected[steps];
        let sum = |old: &Theta, f: &dyn Fn(usize, &Trajectory) -> f64| -> f64 {
            trajectories().iter().map(|x| x.probability(old) * (0..STEPS).map(|t| f(t, x)).sum::<f64>()).sum()
        };
        let term = |theta: &Theta| sum(&last, &adjusted) * sum(&START, &|t, x| pi(theta, x.s[t])[x.a[t]].ln());
        assert!(term(&START).abs() > 0.1);
        let objective = |theta: &Theta| -likelihood(&chain(theta), &last) - term(theta);
        let got = library(&|| Objective::LogLikelihoodExploring, Surrogate::LogLikelihood, 0.0, &collected);
        near(&format!("exploration, {steps} steps"), got, objective(&START), &differences(&objective));
    }
}
