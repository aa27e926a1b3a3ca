//! Policies at play in environments.

use super::*;
use crate::env::{ActionSpace, Choice, EnvDef, EnvSpec, builtin};
use crate::nn::{Layout, Reset};
use crate::play::{Amount, Keys, Play, Steps};
use crate::tensor::Named;
use crate::{DType, Device, Program, State};

fn config() -> NetConfig {
    NetConfig {
        layers: LayersConfig { hidden: vec![8], orthogonal_init: false, ..LayersConfig::default() },
        ..NetConfig::default()
    }
}

/// The setting of a play: K groups of N environments.
struct Scene<'a> {
    env: &'a EnvDef,
    policy: &'a dyn Policy,
    how: How,
    rows: [usize; 2],
    theta: &'a [f64],
    layout: &'a Layout,
}

impl Scene<'_> {
    /// Plays episodes with equal parameters in each group, and reads values back by the names in `read`.
    fn episodes(
        &self,
        episodes: usize,
        steps: usize,
        values: &[(&'static str, &[f64])],
        read: impl FnOnce(&Steps) -> Vec<(&'static str, Tensor)>,
    ) -> Vec<(String, Vec<f64>)> {
        let (device, [k, _], p) = (Device::cpu(1), self.rows, self.layout.len());
        let mut program = Program::new(&device, |cx| {
            let parts = match p {
                0 => Vec::new(),
                _ => self.layout.split(cx.input("theta", &[k, p], DType::F32)),
            };
            let values: Named =
                values.iter().map(|(name, x)| (*name, Tensor::literal_f32(x).reshape(&[k, 1]))).collect();
            let keys = Keys::of([3, 4].map(Tensor::constant_u32).map(|word| word + Tensor::iota(&[k, 1], 0)));
            let acting = Acting { parts, values };
            let (env, policy, how, rows) = (self.env, self.policy, self.how, self.rows);
            let play = Play { env, policy, acting: &acting, how, rows, tasks: None, keys };
            for (name, x) in read(&play.episodes(Amount::Episodes(episodes), steps).steps) {
                cx.output(name, x);
            }
        })
        .unwrap();
        let mut inputs = Vec::new();
        let theta = (p > 0).then(|| device.array(&[k, p], &self.theta.repeat(k)).unwrap());
        inputs.extend(theta.iter().map(|theta| ("theta", theta)));
        let out = program.run(&State::new(), &inputs, &[]).unwrap();
        out.iter().map(|(name, array)| (name.to_owned(), pollster::block_on(device.read(array)).unwrap())).collect()
    }
}

fn moments(x: impl Iterator<Item = f64> + Clone) -> (f64, f64, f64) {
    let n = x.clone().count() as f64;
    let mean = x.clone().sum::<f64>() / n;
    (n, mean, (x.map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt())
}

#[test]
fn even_draws_reach_all_of_the_action_space() {
    let layout = Layout::new();
    for (name, choices, low, high) in [("mountain-car", 3, 0.0, 2.0), ("pendulum", 0, -2.0, 2.0)] {
        let env = builtin(name).unwrap();
        let policy = Uniform::new(&env.spec().action);
        let scene = Scene { env: &env, policy: &policy, how: How::Explore, rows: [2, 50], theta: &[], layout: &layout };
        let played = &scene.episodes(1, 100, &[], |steps| vec![("played", steps.played)])[0].1;
        assert!(played.iter().all(|x| (low..=high).contains(x)), "{name}");
        let (n, mean, deviation) = moments(played.iter().copied());
        // A discrete and a continuous even distribution.
        let expected = match choices {
            0 => (high - low) / 12f64.sqrt(),
            count => ((f64::from(count).powi(2) - 1.0) / 12.0).sqrt(),
        };
        assert!((mean - 0.5 * (low + high)).abs() < 4.0 * expected / n.sqrt(), "{name}: {mean}");
        assert!((deviation / expected - 1.0).abs() < 0.02, "{name}: {deviation} {expected}");
    }
}

#[test]
fn even_draws_of_several_choices_reach_each_option_of_each() {
    let draw = |counts: &[usize]| {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let key = [3, 4].map(|word| Tensor::constant_u32(word).broadcast_to(&[1, 1]));
            cx.output("drawn", Bounds::Choices(counts.to_vec()).uniform(&crate::dist::RowNoise::new(key, 6000)));
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        pollster::block_on(device.read(out.get("drawn").unwrap())).unwrap()
    };
    let counts = [3, 2, 5];
    let drawn = draw(&counts);
    assert_eq!(drawn.len(), 3 * 6000);
    for (choice, count) in counts.into_iter().enumerate() {
        let column = || drawn.iter().skip(choice).step_by(3);
        for option in 0..count {
            let (share, p) = (column().filter(|x| **x == option as f64).count() as f64 / 6000.0, 1.0 / count as f64);
            assert!((share - p).abs() < 4.0 * (p * (1.0 - p) / 6000.0).sqrt(), "{choice} {option}: {share}");
        }
    }
    assert_eq!(draw(&[3]), drawn.iter().step_by(3).copied().collect::<Vec<_>>(), "one choice is the first of several");
}

#[test]
fn exploring_by_epsilon_takes_another_choice_as_often_as_it_says() {
    let env = builtin("acrobot").unwrap();
    let mut layout = Layout::new();
    let policy = EpsilonGreedy::new(&mut layout, env.spec(), &config().layers, 0).unwrap();
    let theta = layout.init([1, 2]);
    let read = |how, epsilon: &[f64]| {
        let scene = Scene { env: &env, policy: &policy, how, rows: [3, 40], theta: &theta, layout: &layout };
        let out = scene.episodes(1, 100, &[("epsilon", epsilon)], |steps| {
            let best = crate::dist::best(steps.extras.get("values").reshape(&[1, 100 * 3 * 40, 3]));
            vec![("action", steps.action), ("best", best)]
        });
        let pairs = out[0].1.iter().zip(&out[1].1).map(|(action, best)| (action != best, *action)).collect::<Vec<_>>();
        let share = |group: usize| {
            let other = pairs.iter().enumerate().filter(|(i, _)| i / 40 % 3 == group).map(|(_, pair)| pair.0);
            other.clone().filter(|other| *other).count() as f64 / other.count() as f64
        };
        [share(0), share(1), share(2)]
    };
    let n: f64 = 100.0 * 40.0;
    // Two thirds of the draws are another choice than the best one.
    for (got, epsilon) in read(How::Explore, &[0.0, 0.3, 1.0]).into_iter().zip([0.0, 0.3, 1.0]) {
        let expected = epsilon * 2.0 / 3.0;
        assert!((got - expected).abs() <= 4.0 * (expected * (1.0 - expected) / n).sqrt(), "{epsilon}: {got}");
    }
    assert_eq!(read(How::Exploit, &[1.0; 3]), [0.0; 3]);
    assert!(read(How::Uniform, &[0.0; 3]).iter().all(|got| (got - 2.0 / 3.0).abs() < 4.0 * 0.47 / n.sqrt()));
}

/// Plays a policy whose network gives 0 everywhere for two episodes, and returns its actions, `[T][N]`.
fn disturbances(noise: Noise, sigma: f64, how: How) -> Vec<Vec<f64>> {
    let env = builtin("pendulum").unwrap();
    let mut layout = Layout::new();
    let policy = Disturbed::new(&mut layout, env.spec(), &config().layers, 0, noise).unwrap();
    let theta = vec![0.0; layout.len()];
    let scene = Scene { env: &env, policy: &policy, how, rows: [1, 64], theta: &theta, layout: &layout };
    let out = scene.episodes(2, 400, &[("sigma", &[sigma])], |steps| {
        vec![("action", steps.action), ("played", steps.played), ("episode", steps.episode.to_f32())]
    });
    assert!(out[0].1.iter().zip(&out[1].1).all(|(action, played)| (2.0 * action - played).abs() < 1e-6));
    assert!(out[2].1[..200 * 64].iter().all(|episode| *episode == 0.0), "two episodes of 200 steps");
    assert!(out[2].1[200 * 64..].iter().all(|episode| *episode == 1.0), "two episodes of 200 steps");
    out[0].1.chunks(64).map(<[f64]>::to_vec).collect()
}

#[test]
fn gaussian_noise_has_its_deviation_and_keeps_to_the_action_space() {
    let actions = disturbances(Noise::Gaussian, 0.2, How::Explore);
    let (n, mean, deviation) = moments(actions.iter().flatten().copied());
    assert!(mean.abs() < 4.0 * 0.2 / n.sqrt() && (deviation / 0.2 - 1.0).abs() < 0.02, "{mean} {deviation}");
    // Numbers of successive steps are uncorrelated.
    let products = actions.windows(2).flat_map(|pair| pair[0].iter().zip(&pair[1]).map(|(x, y)| x * y));
    assert!(moments(products.collect::<Vec<_>>().into_iter()).1.abs() < 4.0 * 0.04 / n.sqrt());
    let wide = disturbances(Noise::Gaussian, 5.0, How::Explore);
    assert!(wide.iter().flatten().all(|x| x.abs() <= 1.0) && wide.iter().flatten().any(|x| *x == 1.0));
    assert!(disturbances(Noise::Gaussian, 5.0, How::Exploit).iter().flatten().all(|x| *x == 0.0));
}

#[test]
fn ornstein_uhlenbeck_noise_drifts_back_and_begins_at_zero_in_each_episode() {
    let (theta, dt, sigma) = (4.0, 0.05, 0.3);
    let actions = disturbances(Noise::OrnsteinUhlenbeck { theta, dt }, sigma, How::Explore);
    let step = sigma * f64::sqrt(dt);
    for first in [0, 200] {
        let (n, mean, deviation) = moments(actions[first].iter().copied());
        assert!(mean.abs() < 4.0 * step / n.sqrt() && (deviation / step - 1.0).abs() < 4.0 / (2.0 * n).sqrt());
    }
    // Within an episode: x' = (1 − θ dt) x + σ √dt z.
    let inside = actions[..200].windows(2).chain(actions[200..].windows(2));
    let rest = inside.flat_map(|pair| pair[0].iter().zip(&pair[1]).map(|(x, y)| y - (1.0 - theta * dt) * x));
    let (n, mean, deviation) = moments(rest.collect::<Vec<_>>().into_iter());
    assert!(mean.abs() < 4.0 * step / n.sqrt() && (deviation / step - 1.0).abs() < 0.02, "{mean} {deviation}");
    let settled = actions[50..200].iter().flatten().copied();
    let expected = step / (1.0 - (1.0 - theta * dt).powi(2)).sqrt();
    assert!((moments(settled).2 / expected - 1.0).abs() < 0.05);
}

#[test]
fn squashed_actions_reach_the_bounds_of_the_environment() {
    let env = builtin("pendulum").unwrap();
    let mut layout = Layout::new();
    let policy = Squashed::new(&mut layout, env.spec(), &config().layers, 0).unwrap();
    let mut theta = vec![0.0; layout.len()];
    // Biases of the last layer: the mean 0.5 and σ = e^0.7.
    let biases = layout.len() - 2;
    theta[biases..].copy_from_slice(&[0.5, 0.7]);
    let run = |how| {
        let scene = Scene { env: &env, policy: &policy, how, rows: [1, 64], theta: &theta, layout: &layout };
        scene.episodes(1, 100, &[], |steps| {
            let extra = |name| steps.extras.get(name);
            vec![
                ("action", steps.action),
                ("played", steps.played),
                ("u", extra("pre_squash")),
                ("p", extra("log_prob")),
            ]
        })
    };
    let drawn = run(How::Explore);
    let (n, mean, deviation) = moments(drawn[2].1.iter().copied());
    let std = 0.7f64.exp();
    assert!((mean - 0.5).abs() < 4.0 * std / n.sqrt() && (deviation / std - 1.0).abs() < 0.03, "{mean} {deviation}");
    for (i, u) in drawn[2].1.iter().enumerate() {
        let action = u.tanh();
        let z = (u - 0.5) / std;
        let normal = -0.5 * z * z - 0.7 - 0.5 * std::f64::consts::TAU.ln();
        let expected = normal - (1.0 - action * action + 1e-6).ln();
        assert!((drawn[0].1[i] - action).abs() < 1e-5 && (drawn[1].1[i] - 2.0 * action).abs() < 2e-5);
        assert!((drawn[3].1[i] - expected).abs() < 2e-3, "{u}: {} {expected}", drawn[3].1[i]);
    }
    assert!(drawn[1].1.iter().all(|x| x.abs() <= 2.0) && drawn[1].1.iter().any(|x| *x > 1.99));
    assert!(run(How::Exploit)[1].1.iter().all(|x| (x - 2.0 * 0.5f64.tanh()).abs() < 1e-5));
    let any = run(How::Uniform);
    assert!((moments(any[1].1.iter().copied()).2 * 3f64.sqrt() / 2.0 - 1.0).abs() < 0.02);
}

#[test]
fn a_recurrent_policy_forgets_an_episode_when_the_next_one_begins() {
    let env = builtin("pendulum").unwrap();
    let mut layout = Layout::new();
    let gru = MemoryConfig { cell: MemoryKind::Gru, units: 5, reset: Reset::Before, ..MemoryConfig::default() };
    let config = RecurrentConfig { memory: gru, orthogonal_init: false, ..RecurrentConfig::default() };
    let policy = RecurrentPolicy::new(&mut layout, 3, &env.spec().action, &config);
    let theta = layout.init([1, 2]);
    let scene = Scene { env: &env, policy: &policy, how: How::Explore, rows: [2, 3], theta: &theta, layout: &layout };
    let out = scene.episodes(2, 400, &[], |steps| {
        let parts = layout.split(Tensor::literal_f32(&theta.repeat(2)).reshape(&[2, layout.len()]));
        let at_once = |starts: Option<Tensor>| {
            let h0 = policy.cell().initial(&parts, [2, 3]);
            policy.distributions(&parts, steps.obs, h0, starts).log_prob(RecurrentPolicy::by_rows(steps.action))
        };
        // Episodes have 200 steps.
        let starts = Tensor::iota(&[400, 2, 3, 1], 0).eq(Tensor::constant_u32(200));
        let played = RecurrentPolicy::by_rows(steps.extras.get("log_prob"));
        vec![("played", played), ("forgets", at_once(Some(starts))), ("remembers", at_once(None))]
    });
    let largest = |other: usize, range: std::ops::Range<usize>| {
        let differences = out[0].1.chunks(1200).zip(out[other].1.chunks(1200)).flat_map(|(played, other)| {
            played[range.clone()].iter().zip(&other[range.clone()]).map(|(x, y)| (x - y).abs()).collect::<Vec<_>>()
        });
        differences.fold(0.0, f64::max)
    };
    assert!(largest(1, 0..1200) < 1e-4, "{}", largest(1, 0..1200));
    assert!(largest(2, 0..600) < 1e-4 && largest(2, 600..630) > 1e-2, "{}", largest(2, 600..630));
}

#[test]
fn deviations_stop_at_the_lowest_one_and_have_a_gradient_above_it() {
    let env = builtin("pendulum").unwrap();
    // The deviation by which a policy draws, and the derivative of its logarithm by the parameter.
    let of = |recurrent: bool, min_std: f64, log_std: f64| {
        let mut layout = Layout::new();
        let memoryless = PolicyNet::new(
            &mut layout,
            env.spec(),
            &NetConfig { gaussian: GaussianConfig { min_std, ..GaussianConfig::default() }, ..config() },
        );
        let from = layout.len();
        let units = RecurrentConfig::default();
        let units = RecurrentConfig {
            memory: MemoryConfig { units: 2, ..units.memory },
            gaussian: GaussianConfig { min_std, ..units.gaussian },
            ..units
        };
        let remembering = RecurrentPolicy::new(&mut layout, 3, &env.spec().action, &units);
        let at = if recurrent { layout.len() - 1 } else { from - 1 };
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let theta = cx.input("theta", &[1, layout.len()], DType::F32);
            let log_std = |theta: Tensor| {
                let parts = layout.split(theta);
                let distribution = match recurrent {
                    false => memoryless.distribution(&parts, Tensor::zeros(&[1, 1, 3])),
                    true => remembering.at(&parts, Tensor::zeros(&[1, 1, 2])),
                };
                let Distribution::Vector(gaussian) = distribution else { return Tensor::poison() };
                gaussian.log_std().sum_all()
            };
            let (value, gradient) = crate::grad::value_and_grad(&[theta], |x| log_std(x[0]));
            cx.output("std", value.exp());
            cx.output("gradient", gradient[0].slice(1, at, at + 1));
        })
        .unwrap();
        let mut theta = vec![0.0; layout.len()];
        theta[at] = log_std;
        let theta = device.array(&[1, layout.len()], &theta).unwrap();
        let out = program.run(&State::new(), &[("theta", &theta)], &[]).unwrap();
        ["std", "gradient"].map(|name| pollster::block_on(device.read(out.get(name).unwrap())).unwrap()[0])
    };
    for recurrent in [false, true] {
        for (min_std, log_std, expected) in
            [(0.1, -3.0, [0.1, 0.0]), (0.1, -2.0, [(-2f64).exp(), 1.0]), (0.0, -3.0, [(-3f64).exp(), 1.0])]
        {
            let got = of(recurrent, min_std, log_std);
            assert!((got[0] - expected[0]).abs() < 1e-6 && got[1] == expected[1], "{min_std} {log_std}: {got:?}");
        }
    }
}

#[test]
fn a_policy_says_which_environments_it_cannot_act_in() {
    let (mut layout, config) = (Layout::new(), config());
    let (choices, vectors) = (builtin("cartpole").unwrap(), builtin("pendulum").unwrap());
    let choice = Choice::new("gear", &["1", "2"]);
    let action = ActionSpace::multi_discrete(vec![choice.clone(), choice]);
    let several = EnvSpec { action, name: "car".into(), ..choices.spec().clone() };
    let errors = [
        Squashed::new(&mut layout, choices.spec(), &config.layers, 0).unwrap_err(),
        Disturbed::new(&mut layout, choices.spec(), &config.layers, 0, Noise::Gaussian).unwrap_err(),
        EpsilonGreedy::new(&mut layout, vectors.spec(), &config.layers, 0).unwrap_err(),
        Squashed::new(&mut layout, &several, &config.layers, 0).unwrap_err(),
        EpsilonGreedy::new(&mut layout, &several, &config.layers, 0).unwrap_err(),
    ];
    let parts = [
        "`cartpole` takes discrete actions",
        "`cartpole` takes discrete actions",
        "`pendulum` takes continuous actions",
        "`car` takes multi-discrete actions, and this policy needs continuous ones",
        "`car` takes multi-discrete actions, and this policy needs discrete ones",
    ];
    for (error, part) in errors.iter().zip(parts) {
        assert!(error.to_string().contains(part), "{error}");
    }
}
