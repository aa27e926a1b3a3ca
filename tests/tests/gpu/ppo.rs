//! PPO on the GPU: a hundred updates, and gradients of its loss, against the CPU and the reference. Skipped without a
//! GPU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::algo::ppo::{Minibatch, PpoConfig, losses};
use quickstudy_core::algo::{ActorCritic, Sampling};
use quickstudy_core::env::{EnvDef, builtin};
use quickstudy_core::grad::value_and_grad;
use quickstudy_core::rng::Threefry;
use quickstudy_core::{DType, Device, Program, State, Tensor};
use quickstudy_tests::gpu::{self, Both, both};
use quickstudy_tests::panel::Panel;
use quickstudy_tests::single_task_names;
use quickstudy_tests::trainings::{distance, theta, training_on, value, wait};

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn a_hundred_updates_are_those_of_the_cpu() {
    let plain = "envs = 8\nhorizon = 20\nepochs = 10\nminibatches = 10\nhidden = [16, 16]\ntarget_kl = 0.0\n";
    let remembers = "envs = 10\nhorizon = 16\nepochs = 10\nminibatches = 10\nhidden = [8]\ncell = \"lstm\"\nunits = 8\n\
                     target_kl = 0.0\nlayer_norm = true\n";
    let builtin = |name| builtin(name).unwrap();
    for (env, settings) in [
        (builtin("cartpole"), plain),
        (builtin("pendulum"), plain),
        (builtin("cartpole-no-velocities"), remembers),
        (Panel::Shown.env(), plain),
    ] {
        let name = &env.spec().name;
        let Both { moved, apart, read: [updates, _] } = both(name, distance, |device| {
            let mut session = training_on("ppo", env.clone()).seeds(&[7]).steps(160).set(settings).session_on(device);
            let first = theta(&session, 0);
            let rows = wait(session.step());
            let updates = value(&rows[0], "train/updates");
            (first, theta(&session, 0), updates)
        });
        assert_eq!(updates, 100.0, "{name}");
        assert!(moved > 0.01, "{name}: nothing was learnt");
        assert!(apart <= 1e-3, "{name}: parameters {apart:e} apart");
    }
}

const BATCH: usize = 64;
const SEEDS: usize = 2;

/// The gradient of PPO's loss with respect to θ, for networks, actions and advantages drawn at random.
fn gradient(device: &Device, env: &EnvDef, config: &PpoConfig) -> Vec<f64> {
    let net = ActorCritic::new(env.spec(), &config.net, &config.sampling);
    let shapes = [
        ("obs", net.observations()),
        ("action", net.actions()),
        ("logp_old", 1),
        ("value_old", 1),
        ("advantage", 1),
        ("returns", 1),
    ];
    let parameters = net.layout.len();
    let mut program = Program::new(device, |cx| {
        let theta = cx.input("theta", &[SEEDS, parameters], DType::F32);
        let x: Vec<Tensor> = shapes.iter().map(|(n, w)| cx.input(n, &[SEEDS, BATCH, *w], DType::F32)).collect();
        let batch = Minibatch {
            obs: x[0],
            action: x[1],
            logp_old: x[2],
            value_old: x[3],
            advantage: x[4],
            returns: x[5],
            sequences: None,
            valid: None,
        };
        let clip_eps = Tensor::constant_f32(0.2);
        let parts = net.layout.split(theta);
        let (loss, grads) = value_and_grad(&parts, |parts| {
            let losses = losses(&net, parts, &batch, clip_eps, config.limits.value_clip, config.normalise_advantages);
            losses.total(Some(config.value_coef), config.entropy_coef).sum_all()
        });
        cx.output("loss", loss);
        cx.output("gradient", net.layout.join(&grads));
    })
    .unwrap();
    let mut random = Threefry::new([11, 12]);
    let mut draw = |n: usize, lo: f64, hi: f64| -> Vec<f64> {
        // Numbers that f32 holds exactly, so that all devices have the same.
        (0..n).map(|_| f64::from((lo + (hi - lo) * random.uniform()) as f32)).collect()
    };
    let theta = [net.layout.init([1, 2]), net.layout.init([3, 4])].concat();
    let theta: Vec<f64> = theta.iter().map(|x| f64::from(*x as f32)).collect();
    let discrete = env.spec().action.choices();
    let mut arrays = vec![("theta", device.array(&[SEEDS, parameters], &theta).unwrap())];
    for (name, width) in shapes {
        let n = SEEDS * BATCH * width;
        let values = match (name, discrete) {
            ("action", Some(choices)) => draw(n, 0.0, choices as f64).iter().map(|x| x.floor()).collect(),
            ("logp_old", Some(choices)) => draw(n, -(choices as f64).ln() - 0.2, -(choices as f64).ln() + 0.2),
            ("logp_old", None) => draw(n, -2.0, -1.0),
            _ => draw(n, -1.0, 1.0),
        };
        arrays.push((name, device.array(&[SEEDS, BATCH, width], &values).unwrap()));
    }
    let named: Vec<_> = arrays.iter().map(|(n, a)| (*n, a)).collect();
    let out = program.run(&State::new(), &named, &[]).unwrap();
    wait(device.read(out.get("gradient").unwrap()))
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn gradients_of_the_loss_are_those_of_the_cpu_and_the_reference() {
    let gpu = gpu::device();
    for name in single_task_names() {
        let env = builtin(name).unwrap();
        let continuous = env.spec().action.choices().is_none();
        for sde in [false, true].into_iter().take(1 + usize::from(continuous)) {
            let config = PpoConfig { sampling: Sampling { sde, ..Sampling::default() }, ..PpoConfig::default() };
            let on_gpu = gradient(&gpu, &env, &config);
            for other in [Device::cpu(1), Device::reference()] {
                let apart = distance(&on_gpu, &gradient(&other, &env, &config));
                println!("{name}, sde {sde}: gradient {apart:e} from that of {}", other.caps().name);
                assert!(apart <= 1e-5, "{name}, sde {sde}: {apart:e} from that of {}", other.caps().name);
            }
        }
    }
}
