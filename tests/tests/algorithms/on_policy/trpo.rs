//! TRPO end to end: the parts that a step may and may not change, seeds, resuming, the GPU, and
//! that it learns where a random policy fails.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::algo::ppo::Minibatch;
use quickstudy_core::algo::trpo::{TrpoConfig, kl, surrogate};
use quickstudy_core::algo::{ActorCritic, Sampling};
use quickstudy_core::env::builtin;
use quickstudy_core::grad::value_and_grad;
use quickstudy_core::policy::NetConfig;
use quickstudy_core::rng::Threefry;
use quickstudy_core::settings::Settings as _;
use quickstudy_core::train::Evaluator;
use quickstudy_core::{DType, Device, Program, State, Tensor};
use quickstudy_tests::gpu::{self, Both, both};
use quickstudy_tests::trainings::{distance, mean_returns, stacks_and_resumes, steps, theta, training, value, wait};

const SMALL: &str = "envs = 4\nhorizon = 32\nminibatches = 4\ncritic_epochs = 3\nhidden = [16]\n";

#[test]
fn steps_keep_to_the_trust_region_and_most_are_taken() {
    for (env, more) in [("cartpole", ""), ("pendulum", "sde = true\nsde_sample_freq = 4\nnormalise_rewards = true\n")] {
        for hessian in ["exact", "finite_differences", "one_sided_differences"] {
            let settings = format!("{SMALL}{more}hessian = \"{hessian}\"\n");
            let mut learner = training("trpo", env).seeds(&[1, 2]).set(&settings).session_on(&Device::cpu(2));
            let rows = steps(&mut learner, 10).concat();
            let taken = rows.iter().filter(|row| value(row, "train/step_scale") > 0.0).count();
            for row in &rows {
                let kl = value(row, "train/kl");
                assert!((0.0..=0.01).contains(&kl), "{env}, {hessian}: {kl}");
                assert_eq!(value(row, "train/step_scale") > 0.0, kl > 0.0, "{row:?}");
                assert_eq!(value(row, "train/non_finite"), 0.0);
                // 3 passes of 4 minibatches, and the policy's step.
                let expected = 12.0 + f64::from(u8::from(kl > 0.0));
                assert_eq!(value(row, "train/updates"), expected);
            }
            println!("{env}, {hessian}: {taken} of 20 steps were taken");
            assert!(taken >= 16, "{env}, {hessian}: {taken} of 20 steps were taken");
        }
    }
}

#[test]
fn a_step_leaves_the_value_function_alone_and_its_fit_the_policy() {
    let (env, device) = (builtin("cartpole").unwrap(), Device::cpu(1));
    let config = TrpoConfig::default().with(&toml::from_str(SMALL).unwrap()).unwrap();
    let net = ActorCritic::new(env.spec(), &config.net, &config.sampling);
    let of_value = |i: usize| {
        let slice = net.layout.slices().find(|(_, shape, at)| (*at..at + shape.iter().product::<usize>()).contains(&i));
        slice.unwrap().0.starts_with("value")
    };
    let changed = |settings: &str| {
        let mut learner =
            training("trpo", "cartpole").seeds(&[1]).set(&format!("{SMALL}{settings}")).session_on(&device);
        let before = theta(&learner, 0);
        steps(&mut learner, 1);
        let after = theta(&learner, 0);
        let moved: Vec<bool> = before.iter().zip(&after).map(|(a, b)| (a - b).abs() > 1e-9).collect();
        let any = |value: bool| moved.iter().enumerate().any(|(i, m)| *m && of_value(i) == value);
        [any(false), any(true)]
    };
    assert_eq!(changed(""), [true, true]);
    // Steps of almost no length, once of the value function and once of the policy.
    assert_eq!(changed("learning_rate = 1e-30\n"), [true, false]);
    assert_eq!(changed("max_kl = 1e-30\n"), [false, true]);
}

#[test]
fn seeds_do_not_depend_on_each_other_and_resumed_training_is_that_without_a_stop() {
    let more = "sde = true\nsde_sample_freq = 8\nnormalise_observations = true\nnormalise_rewards = true\n";
    for (env, more) in [("cartpole", ""), ("pendulum", more)] {
        let request = training("trpo", env).seeds(&[7, 8, 9]).steps(4096).set(&format!("{SMALL}{more}"));
        stacks_and_resumes(&request, 3, env);
    }
}

/// Loss, KL, both gradients and a product with the KL's Hessian, away from the old policy, on randomly drawn data.
fn pieces(device: &Device, env: &str) -> Vec<(&'static str, Vec<f64>)> {
    const B: usize = 64;
    let env = builtin(env).unwrap();
    let net = ActorCritic::new(env.spec(), &NetConfig::default(), &Sampling::default());
    let (p, o, a) = (net.layout.len(), net.observations(), net.actions());
    let mut program = Program::new(device, |cx| {
        let mut input = |name: &str, shape: &[usize]| cx.input(name, shape, DType::F32);
        let (theta, old, v) = (input("theta", &[1, p]), input("old", &[1, p]), input("v", &[1, p]));
        let (obs, action, advantage) =
            (input("obs", &[1, B, o]), input("action", &[1, B, a]), input("advantage", &[1, B, 1]));
        let old = net.distribution(&net.layout.split(old), obs).stop_gradient();
        let logp_old = old.log_prob(action);
        let batch = Minibatch {
            obs,
            action,
            logp_old,
            value_old: advantage,
            advantage,
            returns: advantage,
            sequences: None,
            valid: None,
        };
        let parts = net.layout.split(theta);
        let (loss, gradient) = value_and_grad(&parts, |p| surrogate(&net, p, &batch, true).sum_all());
        let of_kl = |parts: &[Tensor]| value_and_grad(parts, |p| kl(&net, p, &batch, &old).sum_all());
        let v = net.layout.split(v);
        let (_, product) = value_and_grad(&parts, |parts| {
            let along = of_kl(parts).1.into_iter().zip(&v).map(|(g, v)| (g * *v).sum_all());
            along.reduce(|a, b| a + b).unwrap()
        });
        let (divergence, of_divergence) = of_kl(&parts);
        cx.output("loss", loss);
        cx.output("gradient of the loss", net.layout.join(&gradient));
        cx.output("KL", divergence);
        cx.output("gradient of the KL", net.layout.join(&of_divergence));
        cx.output("product with the KL's Hessian", net.layout.join(&product));
    })
    .unwrap();
    let mut random = Threefry::new([3, 4]);
    let mut draw =
        |n: usize, scale: f64| -> Vec<f64> { (0..n).map(|_| f64::from((scale * random.normal()) as f32)).collect() };
    let old: Vec<f64> = net.layout.init([1, 2]).iter().map(|x| f64::from(*x as f32)).collect();
    let theta: Vec<f64> = old.iter().zip(draw(p, 0.02)).map(|(x, d)| f64::from((x + d) as f32)).collect();
    let action = match env.spec().action.choices() {
        Some(n) => draw(B * a, 1.0).iter().map(|x| (x.abs() * 10.0).floor() % n as f64).collect(),
        None => draw(B * a, 1.0),
    };
    let (obs, advantage, v) = (draw(B * o, 1.0), draw(B, 1.0), draw(p, 1.0));
    let arrays = [
        ("theta", device.array(&[1, p], &theta).unwrap()),
        ("old", device.array(&[1, p], &old).unwrap()),
        ("v", device.array(&[1, p], &v).unwrap()),
        ("obs", device.array(&[1, B, o], &obs).unwrap()),
        ("action", device.array(&[1, B, a], &action).unwrap()),
        ("advantage", device.array(&[1, B, 1], &advantage).unwrap()),
    ];
    let named: Vec<_> = arrays.iter().map(|(name, array)| (*name, array)).collect();
    let out = program.run(&State::new(), &named, &[]).unwrap();
    let names = ["loss", "gradient of the loss", "KL", "gradient of the KL", "product with the KL's Hessian"];
    names.map(|name| (name, wait(device.read(out.get(name).unwrap())))).to_vec()
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn what_conjugate_gradients_work_on_is_that_of_the_cpu_and_the_reference() {
    pieces_agree("pendulum");
}

#[test]
#[ignore = "a quarter of a minute on a software adapter: scripts/second-tier.sh"]
fn what_conjugate_gradients_of_choices_work_on_is_that_of_the_cpu_and_the_reference() {
    pieces_agree("cartpole");
}

fn pieces_agree(env: &str) {
    let gpu = gpu::device();
    let on_gpu = pieces(&gpu, env);
    for other in [Device::cpu(1), Device::reference()] {
        for ((name, got), (_, want)) in on_gpu.iter().zip(pieces(&other, env)) {
            // The surrogate sums terms of either sign around 1, so its rounding does not shrink with its value.
            let apart = if name == &"loss" { (got[0] - want[0]).abs() } else { distance(got, &want) };
            println!("{env}: {name}: {apart:e} from that of {}", other.caps().name);
            let most = if name == &"KL" { 2e-4 } else { 2e-5 };
            assert!(apart <= most, "{env}: {name}: {apart:e} from that of {}", other.caps().name);
        }
    }
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn an_iteration_on_the_gpu_is_near_that_of_the_cpu() {
    let env = "pendulum";
    let Both { moved, apart, read: [rows, _] } = both(env, distance, |device| {
        let mut learner = training("trpo", env).seeds(&[1, 2]).set(SMALL).session_on(device);
        let first = theta(&learner, 0);
        let rows = steps(&mut learner, 1).concat();
        (first, theta(&learner, 0), rows)
    });
    assert!(rows.iter().all(|row| (0.0..=0.01).contains(&value(row, "train/kl"))), "{rows:?}");
    assert!(apart <= 0.05 * moved, "{env}: {apart:e}");
}

/// The mean of the middle half.
fn iqm(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = sorted.len() / 4;
    let middle = &sorted[cut..sorted.len() - cut];
    middle.iter().sum::<f64>() / middle.len() as f64
}

#[test]
fn trpo_learns_cartpole_and_a_random_policy_does_not() {
    let device = Device::cpu(0);
    // The curvature uses all steps, or a quarter of them.
    for settings in ["", "curvature_share = 0.25\n"] {
        let mut learner =
            training("trpo", "cartpole").seeds(&[0, 1, 2]).steps(40_000).set(settings).session_on(&device);
        let bar = 195.0;
        let bytes = wait(learner.policy_snapshot(0));
        let mut untrained = Evaluator::load(&device, &bytes).unwrap();
        let episodes = wait(untrained.evaluate(100, 0, false));
        let random = episodes.iter().map(|e| e.ret).sum::<f64>() / 100.0;
        assert!((15.0..30.0).contains(&random), "a uniform policy has 22.2 on average, this one {random}");
        while !learner.done() {
            steps(&mut learner, 1);
        }
        let returns = mean_returns(&mut learner, 50);
        println!("{settings}{returns:?}, random {random}");
        assert!(random < bar && iqm(&returns) >= bar, "{settings}{returns:?}");
    }
}
