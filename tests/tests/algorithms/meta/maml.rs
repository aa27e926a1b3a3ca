//! MAML's family end to end: every variant makes iterations, stacked seeds equal seeds alone, resuming is exact, and
//! ProMP learns to adapt where an untrained policy does not.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::dist::fold_in;
use quickstudy_core::grad::value_and_grad;
use quickstudy_core::meta::{Learner, MamlConfig, Objective, Variant};
use quickstudy_core::play::{Amount, Keys, Play, row_keys};
use quickstudy_core::policy::{Acting, How};
use quickstudy_core::rng::Threefry;
use quickstudy_core::settings::Settings as _;
use quickstudy_core::train::{Evaluator, MetaTest};
use quickstudy_core::{DType, Device, Program, State, Tensor};
use quickstudy_tests::gpu::{self, Both, both};
use quickstudy_tests::trainings::{distance, finish, resumes, snapshot, theta, training, wait};

const SMALL: &str = "meta_batch = 3\nrollouts = 4\nhorizon = 12\nhidden = [16]\nlog_std_init = -1.2\n";

fn family() -> impl Iterator<Item = &'static str> {
    Variant::ALL.into_iter().map(Variant::name)
}

#[test]
fn every_variant_makes_finite_iterations_and_seeds_do_not_depend_on_each_other() {
    let device = Device::cpu(2);
    for algorithm in family() {
        let request = training(algorithm, "point-corner").set(SMALL).batches(3);
        let start = |seeds: &[u64]| request.clone().seeds(seeds).session_on(&device);
        let mut stacked = start(&[1, 2, 3]);
        let first = theta(&stacked, 1);
        let rows = finish(&mut stacked).pop().unwrap();
        for (name, value) in rows.iter().flatten() {
            let finite = value.is_finite() || name.starts_with("eval/");
            assert!(finite, "{algorithm}: {name} is {value}");
        }
        // The line search of a trust region may refuse every step; of three, some must be taken.
        assert_ne!(theta(&stacked, 1), first, "{algorithm}: nothing was learnt");
        for (index, seed) in [1, 2, 3].into_iter().enumerate() {
            let mut alone = start(&[seed]);
            finish(&mut alone);
            assert!(snapshot(&alone, 0) == snapshot(&stacked, index), "{algorithm}: seed {seed} depends on others");
        }
    }
}

#[test]
fn resumed_meta_training_is_that_without_a_stop() {
    let settings = "meta_batch = 2\nrollouts = 3\nhorizon = 8\nhidden = [8]\ninner_steps = 2\ntrain_tasks = 5\n\
                    learn_inner_lr = true\n";
    let adaptive = family().map(|name| (name, "")).chain([("promp", "inner_kl_coef = 0.5\ntarget_inner_kl = 0.01\n")]);
    for (algorithm, more) in adaptive {
        let settings = format!("{settings}{more}");
        let request = training(algorithm, "point-corner").seeds(&[7]).set(&settings).batches(4);
        resumes(&request, 2, &format!("{algorithm} {more}"));
    }
}

#[test]
fn the_weight_of_the_inner_kl_follows_its_target() {
    let device = Device::cpu(1);
    // A target far above the KL of such steps, one far below, and none.
    for (target, factor) in [("10.0", 0.5), ("1e-9", 2.0), ("0.0", 1.0)] {
        let settings = format!("{SMALL}inner_steps = 2\ninner_kl_coef = 0.25\ntarget_inner_kl = {target}\n");
        let steps = training("promp", "point-corner").seeds(&[1, 2]).steps(1).set(&settings).setup().batch() * 3;
        let mut session =
            training("promp", "point-corner").seeds(&[1, 2]).steps(steps).set(&settings).session_on(&device);
        for k in 0..3 {
            for row in wait(session.step()) {
                let coef = row.iter().find(|(name, _)| name == "train/inner_kl_coef").map(|(_, value)| *value);
                let expected = 0.25 * f64::powi(factor, k);
                assert_eq!(coef, (factor != 1.0).then_some(expected), "target {target}, iteration {k}");
            }
        }
    }
}

/// Loss, KL, both gradients and a product with the KL's Hessian, for a trust region's outer step at
/// parameters other than those that collected.
fn pieces(device: &Device, algorithm: &str, objective: Objective) -> Vec<(&'static str, Vec<f64>)> {
    const TASKS: usize = 3;
    // The algorithms' defaults, whatever presets say: with a preset's settings E-MAML's loss is a difference of nearly
    // equal numbers.
    let defaults = format!("{SMALL}learn_inner_lr = false\ngae_lambda = 1.0\n");
    let setup = training(algorithm, "point-corner").seeds(&[1, 2]).steps(1).set(&defaults).setup();
    let variant = Variant::ALL.into_iter().find(|variant| variant.name() == algorithm).unwrap();
    let config = &MamlConfig::of(variant).with(&setup.table()).unwrap();
    let learner = Learner::new(setup.env.spec(), config);
    let p = learner.layout.len();
    let mut program = Program::new(device, |cx| {
        let mut input = |name: &str| cx.input(name, &[2, p], DType::F32);
        let (collected, theta, v) = (input("collected"), input("theta"), input("v"));
        let key = cx.input("key", &[2, 2], DType::U32);
        let key = [key.slice(1, 0, 1), key.slice(1, 1, 2)];
        let tasks = config.task_source().trace(setup.env.device().unwrap(), key, Tensor::constant_u32(1), TASKS);
        let (mut parts, step_sizes) = learner.start(collected, TASKS);
        let mut phases = Vec::new();
        for k in 0..2 {
            let play = Play {
                env: setup.env.device().unwrap(),
                policy: &learner.policy,
                acting: &Acting::of(&parts),
                how: How::Explore,
                rows: [2 * TASKS, config.rollouts],
                tasks: Some(tasks.reshape(&[2 * TASKS, tasks.size(2)])),
                keys: Keys::of(row_keys(fold_in(key, Tensor::constant_u32(k)), TASKS)),
            };
            let paths = play.episodes(Amount::Episodes(1), config.horizon).steps.paths();
            phases.push(learner.phase(config, &parts, &paths, 2));
            parts = learner.adapt(&parts, &phases[phases.len() - 1], &step_sizes);
        }
        let meta = |parts: &[Tensor]| learner.meta_loss(objective, parts, &phases);
        let parts = learner.layout.split(theta);
        let (loss, gradient) = value_and_grad(&parts, |p| meta(p).loss.sum_all());
        let of_kl = |parts: &[Tensor]| value_and_grad(parts, |p| meta(p).outer_kl.sum_all());
        let v = learner.layout.split(v);
        let (_, product) = value_and_grad(&parts, |parts| {
            let along = of_kl(parts).1.into_iter().zip(&v).map(|(g, v)| (g * *v).sum_all());
            along.reduce(|a, b| a + b).unwrap()
        });
        let (divergence, of_divergence) = of_kl(&parts);
        cx.output("loss", loss);
        cx.output("gradient", learner.layout.join(&gradient));
        cx.output("KL", divergence);
        cx.output("gradient of the KL", learner.layout.join(&of_divergence));
        cx.output("product with the KL's Hessian", learner.layout.join(&product));
    })
    .unwrap();
    let mut random = Threefry::new([3, 4]);
    let mut draw =
        |scale: f64| -> Vec<f64> { (0..2 * p).map(|_| f64::from((scale * random.normal()) as f32)).collect() };
    let first: Vec<f64> = [learner.layout.init([1, 2]), learner.layout.init([3, 4])].concat();
    let first: Vec<f64> = first.iter().map(|x| f64::from(*x as f32)).collect();
    let moved: Vec<f64> = first.iter().zip(draw(0.05)).map(|(x, d)| f64::from((x + d) as f32)).collect();
    let array = |values: &[f64]| device.array(&[2, p], values).unwrap();
    let (collected, theta, v) = (array(&first), array(&moved), array(&draw(1.0)));
    let key = device.array_u32(&[2, 2], &[5, 6, 7, 8]).unwrap();
    let inputs = [("collected", &collected), ("theta", &theta), ("v", &v), ("key", &key)];
    let out = program.run(&State::new(), &inputs, &[]).unwrap();
    let names = ["loss", "gradient", "KL", "gradient of the KL", "product with the KL's Hessian"];
    names.map(|name| (name, wait(device.read(out.get(name).unwrap())))).to_vec()
}

/// Software adapters compile shaders for most of a minute per algorithm: [`outer_pieces`] and [`iterations`] are of few
/// algorithms by default, and of all others where ignored tests are asked for.
const BY_DEFAULT: [&str; 2] = ["promp", "dice-maml"];

fn outer_pieces(algorithm: &str, objective: Objective) {
    let gpu = gpu::device();
    for ((name, got), (_, want)) in
        pieces(&gpu, algorithm, objective).iter().zip(pieces(&Device::cpu(1), algorithm, objective))
    {
        let apart = distance(got, &want);
        println!("{algorithm}: {name}: {apart:e}");
        assert!(apart <= 1e-4, "{algorithm}: {name}: {apart:e}");
    }
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn what_outer_conjugate_gradients_work_on_is_that_of_the_cpu() {
    outer_pieces("maml-trpo", Objective::Ratio);
}

#[test]
#[ignore = "half a minute: scripts/second-tier.sh"]
fn what_outer_conjugate_gradients_of_e_maml_work_on_is_that_of_the_cpu() {
    outer_pieces("e-maml", Objective::RatioExploring);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn an_iteration_on_the_gpu_is_that_of_the_cpu() {
    iterations(BY_DEFAULT.into_iter());
}

#[test]
#[ignore = "minutes on a software adapter: scripts/second-tier.sh"]
fn an_iteration_of_all_others_on_the_gpu_is_that_of_the_cpu() {
    iterations(family().filter(|algorithm| !BY_DEFAULT.contains(algorithm)));
}

fn iterations(algorithms: impl Iterator<Item = &'static str>) {
    for algorithm in algorithms {
        let Both { moved, apart, .. } = both(algorithm, distance, |device| {
            let mut session =
                training(algorithm, "point-corner").seeds(&[1, 2]).set(SMALL).batches(1).session_on(device);
            let first = theta(&session, 0);
            finish(&mut session);
            (first, theta(&session, 0), ())
        });
        // Ten iterations of conjugate gradients multiply rounding by the condition of the Hessian. So their inputs are
        // compared above, and here only that the steps are alike: two unrelated steps are 1.4 times their length apart.
        let most = if matches!(algorithm, "maml-trpo" | "e-maml") { 0.5 * moved } else { 1e-5 };
        assert!(apart <= most, "{algorithm}: {apart:e}");
    }
}

#[test]
fn promp_learns_to_adapt_and_an_untrained_policy_does_not() {
    let settings = "meta_batch = 16\nrollouts = 10\nhorizon = 50\nlearning_rate = 3e-3\nlog_std_init = -1.2\n\
                    learn_inner_lr = true\nhidden = [32, 32]\n";
    let device = Device::cpu(2);
    let adapted = |steps: u64| {
        let mut session = training("promp", "point-corner").seeds(&[5]).steps(steps).set(settings).session_on(&device);
        if steps > 1 {
            finish(&mut session);
        }
        let bytes = wait(session.policy_snapshot(0));
        let policy = Evaluator::load(&device, &bytes).unwrap();
        let test = MetaTest { seed: 1, ..MetaTest::default() };
        let adaptation = wait(policy.adapt(test));
        let mean = |k: usize| adaptation.stages[k].task_means().iter().sum::<f64>() / 40.0;
        (mean(0), mean(1))
    };
    let (untrained, trained) = (adapted(1), adapted(640_000));
    println!("untrained {untrained:?}, trained {trained:?}; standing still about -141");
    assert!(trained.1 > -45.0, "{trained:?}");
    assert!(untrained.1 < -70.0, "{untrained:?}");
    // Without having seen the task, nothing is known about it.
    assert!(trained.0 < -110.0, "{trained:?}");
}
