//! Meta-gradients, of second order, and trust-region steps against numbers of independent implementations, on the f64
//! reference device and on the CPU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::dist::Gaussian;
use quickstudy_core::env::{ActionSpace, Dim, EnvSpec};
use quickstudy_core::grad::value_and_grad;
use quickstudy_core::meta::{InnerSteps, Objective, Phase, StepSizes, Surrogate, meta_loss};
use quickstudy_core::nn::{Init, Layout};
use quickstudy_core::optim::{Adam, GradientMoments, TrustRegion, conjugate_gradient};
use quickstudy_core::policy::{Distribution, LayersConfig, NetConfig, PolicyNet};
use quickstudy_core::{DType, Device, Program, State, Tensor};
use quickstudy_tests::golden::{items, load, number, numbers};
use quickstudy_tests::trainings::{distance, wait};
use serde_json::Value;

/// The policy of the file: 2 → 3 tanh → 1, and ln σ.
fn policy() -> (Layout, PolicyNet) {
    let action = ActionSpace::continuous(vec![Dim::new("a", -1.0, 1.0)]);
    let spec = EnvSpec::new("golden", vec![Dim::unbounded("x"); 2], action, 3);
    let config = NetConfig {
        layers: LayersConfig { hidden: vec![3], orthogonal_init: false, ..LayersConfig::default() },
        ..NetConfig::default()
    };
    let mut layout = Layout::new();
    let net = PolicyNet::new(&mut layout, &spec, &config);
    (layout, net)
}

/// Parameters in the order of the layout.
fn flat(theta: &Value) -> Vec<f64> {
    let names = ["hidden_0/kernel", "hidden_0/bias", "output/kernel", "output/bias"];
    let mut all: Vec<f64> = names.iter().flat_map(|n| numbers(&theta[format!("mean_network/{n}")])).collect();
    all.extend(numbers(&theta["log_std_network/log_std_var"]));
    all
}

fn array(values: Vec<f64>, shape: &[usize]) -> Tensor {
    Tensor::literal_f32(&values).reshape(shape)
}

/// The data of all tasks in one phase, as constants of the trace.
fn phase(tasks: &[Value]) -> Phase {
    let dice = tasks[0].get("mask").is_some();
    let steps = if dice { items(&items(&tasks[0]["mask"])[0]).len() } else { 1 };
    let rows = numbers(&tasks[0]["actions"]).len();
    let k = tasks.len();
    // Of lists of rollouts, each a list of steps, to rows in order of time.
    let by_time = |values: Vec<f64>, width: usize| -> Vec<f64> {
        let n = rows / steps;
        let row = |t: usize, i: usize| (i * steps + t) * width;
        (0..steps)
            .flat_map(|t| (0..n).flat_map(move |i| (0..width).map(move |w| (t, i, w))))
            .map(|(t, i, w)| values[row(t, i) + w])
            .collect()
    };
    let column = |pick: &dyn Fn(&Value) -> Vec<f64>, width: usize| {
        array(tasks.iter().flat_map(|t| by_time(pick(t), width)).collect(), &[k, rows, width])
    };
    let of = |name: &'static str, width: usize| column(&|t| numbers(&t[name]), width);
    let info = |name: &'static str| column(&|t| numbers(&t["agent_infos"][name]), 1);
    let uniform = Tensor::constant_f32(1.0 / rows as f64).broadcast_to(&[k, rows, 1]);
    Phase {
        obs: of("observations", 2),
        action: of("actions", 1),
        old: Distribution::Vector(Gaussian::with_variance(info("mean"), (info("log_std") * 2.0).exp())),
        advantage: if dice { of("adjusted_rewards", 1) } else { of("advantages", 1) },
        adj_reward: if dice { Tensor::zeros(&[k, rows, 1]) } else { of("adj_avg_rewards", 1) },
        weight: if dice { of("mask", 1) * (1.0 / rows as f64) } else { uniform },
        steps,
    }
}

fn read(device: &Device, array: &quickstudy_core::Array) -> Vec<f64> {
    wait(device.read(array))
}

fn near(name: &str, device: &Device, got: &[f64], want: &[f64], each: f64) {
    if device.caps().name.contains("reference") {
        let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(got.len() == want.len() && worst <= each, "{name}: {worst:e}\n{got:?}\n{want:?}");
    } else {
        assert!(distance(got, want) <= 2e-5, "{name}: {:e}\n{got:?}\n{want:?}", distance(got, want));
    }
}

struct Kind {
    objective: Objective,
    surrogate: Surrogate,
    /// Weight of the KL to what collected the data before each inner step.
    inner_kl: f64,
    /// Step size and number of steps of Adam.
    adam: Option<(f64, usize)>,
}

fn kind(case: &Value) -> Kind {
    let config = &case["config"];
    let of = |objective, surrogate, inner_kl, adam| Kind { objective, surrogate, inner_kl, adam };
    match case["kind"].as_str().unwrap() {
        "promp" | "promp_2_inner_steps" => of(
            Objective::Clipped(number(&config["clip_eps"])),
            Surrogate::LikelihoodRatio,
            number(&config["init_inner_kl_penalty"]),
            Some((number(&config["learning_rate"]), number(&config["num_ppo_steps"]) as usize)),
        ),
        "trpo_maml" => of(Objective::Ratio, Surrogate::LikelihoodRatio, 0.0, None),
        "trpo_maml_log_likelihood" => of(Objective::Ratio, Surrogate::LogLikelihood, 0.0, None),
        "emaml_trpo" => of(Objective::RatioExploring, Surrogate::LogLikelihood, 0.0, None),
        "vpg_maml" => of(Objective::PolicyGradient, Surrogate::LikelihoodRatio, 0.0, Some((0.01, 1))),
        "dice_maml" => of(Objective::PolicyGradient, Surrogate::Dice, 0.0, Some((0.01, 1))),
        other => panic!("unknown kind {other}"),
    }
}

#[test]
fn golden_meta_gradients_and_optimised_parameters() {
    let file = load("promp_meta_algos.json");
    for case in items(&file["cases"]) {
        for device in [Device::reference(), Device::cpu(1)] {
            let name = case["kind"].as_str().unwrap();
            let kind = kind(case);
            let (layout, net) = policy();
            let step_sizes = StepSizes::Fixed(number(&case["inner_lr"]));
            let theta = flat(&case["theta"]);
            let mut program = Program::new(&device, |cx| {
                let theta = cx.input("theta", &[1, theta.len()], DType::F32);
                let phases: Vec<Phase> = items(&case["samples"]).iter().map(|tasks| phase(items(tasks))).collect();
                let loss = kind.surrogate;
                let steps = InnerSteps { policy: &net, loss, step_sizes: &step_sizes, first_order: false, fixed: None };
                let value = |parts: &[Tensor]| meta_loss(kind.objective, &steps, parts, &phases);
                let total = |parts: &[Tensor]| {
                    let meta = value(parts);
                    let n = 1.0 / meta.inner_kl.len() as f64;
                    meta.inner_kl.iter().fold(meta.loss, |sum, kl| sum + *kl * (kind.inner_kl * n))
                };
                let parts = layout.split(theta);
                let meta = value(&parts);
                for (k, parts) in meta.adapted.parts.iter().enumerate().skip(1) {
                    cx.output(&format!("adapted {k}"), layout.join(parts));
                }
                let (loss, grads) = value_and_grad(&parts, |parts| total(parts).sum_all());
                cx.output("loss", loss);
                cx.output("gradient", layout.join(&grads));
                cx.output("inner kl", Tensor::concat(&meta.inner_kl, 1));
                cx.output("outer kl", meta.outer_kl);
                let mut after = theta;
                match kind.adam {
                    Some((rate, steps)) => {
                        let zero = Tensor::zeros(&theta.shape());
                        let mut adam = GradientMoments { m: zero, v: zero, scale: Tensor::zeros(&[1, 2]) };
                        for _ in 0..steps {
                            let (_, grads) = value_and_grad(&layout.split(after), |p| total(p).sum_all());
                            let grad = layout.join(&grads);
                            (after, adam) = Adam::default().step(after, grad, adam, Tensor::constant_f32(rate));
                        }
                    }
                    None => {
                        let region = TrustRegion { max_kl: 0.01, ..TrustRegion::default() };
                        after = region.step(&layout, theta, |p| value(p).loss, |p| value(p).outer_kl).theta;
                    }
                }
                cx.output("after", after);
                cx.output("loss after", total(&layout.split(after)));
            })
            .unwrap();
            let input = device.array(&[1, theta.len()], &theta).unwrap();
            let out = program.run(&State::new(), &[("theta", &input)], &[]).unwrap();
            let get = |what: &str| read(&device, out.get(what).unwrap());
            // The file was made in f32.
            let check =
                |what: &str, got: &[f64], want: &[f64]| near(&format!("{name}: {what}"), &device, got, want, 1e-5);
            for (k, tasks) in items(&case["adapted_params"]).iter().enumerate() {
                let want: Vec<f64> = items(tasks).iter().flat_map(flat).collect();
                check("adapted", &get(&format!("adapted {}", k + 1)), &want);
            }
            check("loss", &get("loss"), &[number(&case["meta_loss"])]);
            check("gradient", &get("gradient"), &flat(&case["meta_grad"]));
            if case.get("inner_kls").is_some() {
                check("inner kl", &get("inner kl"), &numbers(&case["inner_kls"]));
            }
            for key in ["outer_kl", "constraint"] {
                if case.get(key).is_some() {
                    check(key, &get("outer kl"), &[number(&case[key])]);
                }
            }
            check("after", &get("after"), &flat(&case["params_after_optimize_policy"]));
        }
    }
}

#[test]
fn golden_conjugate_gradients() {
    let file = load("conjugate_gradient.json");
    for case in items(&file["solves"]) {
        for device in [Device::reference(), Device::cpu(1)] {
            let (a, b) = (numbers(&case["A"]), numbers(&case["b"]));
            let n = b.len();
            let mut program = Program::new(&device, |cx| {
                let a = cx.input("a", &[1, n, n], DType::F32);
                let b = cx.input("b", &[1, n], DType::F32);
                let product = |v: Tensor| v.unsqueeze(1).matmul(a).reshape(&[1, n]);
                cx.output("x", conjugate_gradient(b, number(&case["cg_iters"]) as usize, product));
            })
            .unwrap();
            let (a, b) = (device.array(&[1, n, n], &a).unwrap(), device.array(&[1, n], &b).unwrap());
            let out = program.run(&State::new(), &[("a", &a), ("b", &b)], &[]).unwrap();
            near("solve", &device, &read(&device, out.get("x").unwrap()), &numbers(&case["x"]), 1e-9);
        }
    }
}

#[test]
fn golden_trust_region_steps() {
    let file = load("conjugate_gradient.json");
    for case in items(&file["steps"]) {
        for device in [Device::reference(), Device::cpu(1)] {
            let mut layout = Layout::new();
            let rows = items(&case["X"]).len();
            layout.add("w", &[2, 3], Init::Constant(0.0));
            layout.add("b", &[2], Init::Constant(0.0));
            let start = [numbers(&case["W0"]), numbers(&case["b0"])].concat();
            let mut program = Program::new(&device, |cx| {
                let theta = cx.input("theta", &[1, 8], DType::F32);
                let (x, y) = (cx.input("x", &[1, rows, 3], DType::F32), cx.input("y", &[1, rows, 2], DType::F32));
                let model = |p: &[Tensor]| (x.matmul_with(p[0], false, true) + p[1].unsqueeze(1)).tanh();
                let old = model(&layout.split(theta));
                let sum = |e: Tensor| e.reshape(&[1, rows * 2]).sum_keep(1);
                let loss = |p: &[Tensor]| sum((model(p) - y).square()) * (0.5 / rows as f64);
                let constraint = |p: &[Tensor]| sum((model(p) - old).square()) * (0.5 / rows as f64);
                let region = TrustRegion { max_kl: number(&case["max_constraint_value"]), ..TrustRegion::default() };
                let step = region.step(&layout, theta, loss, constraint);
                cx.output("after", step.theta);
                cx.output("loss", Tensor::concat(&[step.loss_before, step.loss_after, step.constraint], 1));
            })
            .unwrap();
            let theta = device.array(&[1, 8], &start).unwrap();
            let x = device.array(&[1, rows, 3], &numbers(&case["X"])).unwrap();
            let y = device.array(&[1, rows, 2], &numbers(&case["Y"])).unwrap();
            let out = program.run(&State::new(), &[("theta", &theta), ("x", &x), ("y", &y)], &[]).unwrap();
            let want = [numbers(&case["W1"]), numbers(&case["b1"])].concat();
            let values: Vec<f64> =
                ["loss_before", "loss_after", "constraint_after"].iter().map(|k| number(&case[*k])).collect();
            if device.caps().name.contains("reference") {
                // As the file's own check: its conjugate gradients stop where rounding decides.
                near("after", &device, &read(&device, out.get("after").unwrap()), &want, 1e-6);
                near("values", &device, &read(&device, out.get("loss").unwrap()), &values, 1e-6);
            } else {
                // Near the residual at which the iterations stop, f32 has other directions.
                let apart = distance(&read(&device, out.get("after").unwrap()), &want);
                assert!(apart < 1e-2, "{apart:e}");
            }
        }
    }
}
