//! All that ProMP's processors return of recorded paths, which are packed as samplers of the host leave them, on the
//! f64 reference device and on the CPU; and settings that they refuse.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::credit::{
    Baseline, Paths, Processed, Processor, ValuedSteps, adjusted_rewards, gae, least_squares,
};
use quickstudy_core::host::{BlockShape, HostPath, Padded};
use quickstudy_core::{DType, Device, Program, State, Tensor};
use quickstudy_tests::golden::{items, load, number, numbers};
use serde_json::Value;

/// O, A, I and J of the recorded paths.
const WIDTHS: [usize; 4] = [2, 1, 2, 2];

/// ProMP's keys: recorded ones, then computed ones.
const RECORDED: [&str; 5] = ["observations", "actions", "rewards", "env_infos", "agent_infos"];

/// A recorded path as a sampler leaves it; the actor reports its mean, then its log_std.
fn host_path(path: &Value) -> HostPath {
    let [mean, log_std] = ["mean", "log_std"].map(|name| numbers(&path["agent_infos"][name]));
    let actions = numbers(&path["actions"]);
    HostPath {
        observations: numbers(&path["observations"]),
        played: actions.clone(),
        actions,
        rewards: numbers(&path["rewards"]),
        env_infos: numbers(&path["env_infos"]["e"]),
        agent_infos: mean.into_iter().zip(log_std).flat_map(|(mean, log_std)| [mean, log_std]).collect(),
        last_observation: vec![0.0; WIDTHS[0]],
        ..HostPath::default()
    }
}

fn recorded<'a>(path: &'a HostPath, key: &str) -> &'a [f64] {
    match key {
        "observations" => &path.observations,
        "actions" => &path.actions,
        "rewards" => &path.rewards,
        "env_infos" => &path.env_infos,
        "agent_infos" => &path.agent_infos,
        other => panic!("unknown key {other}"),
    }
}

/// Results by name, and of each the rows of valid steps of every task, path after path.
struct Keys(Vec<(String, Vec<Vec<f64>>)>);

impl Keys {
    fn of(device: &Device, tasks: &[Vec<HostPath>], f: impl Fn(&Paths) -> Processed) -> Keys {
        let [observations, actions, env_infos, agent_infos] = WIDTHS;
        let steps = tasks.iter().flatten().map(HostPath::len).max().unwrap();
        let paths = tasks.iter().map(Vec::len).max().unwrap();
        let shape = BlockShape { steps, tasks: tasks.len(), paths, observations, actions, env_infos, agent_infos };
        let padded = Padded::with_shape(tasks, shape).unwrap();
        let mut program = Program::new(device, |cx| {
            let Processed { paths, returns, advantages } = f(&shape.declare(cx, "of "));
            let given = [Some(paths.obs), Some(paths.action), Some(paths.reward), paths.env_infos, paths.agent_infos];
            let computed = [("returns", returns), ("advantages", advantages)];
            let named = RECORDED.into_iter().zip(given.map(Option::unwrap)).chain(computed);
            named.chain([("adj_avg_rewards", adjusted_rewards(&paths, 1))]).for_each(|(name, x)| cx.output(name, x));
        })
        .unwrap();
        let arrays = padded.upload(device, "of ").unwrap();
        let out = program.run(&State::new(), &arrays.inputs().collect::<Vec<_>>(), &[]).unwrap();
        let rows = |all: &[f64]| {
            let width = all.len() / (steps * tasks.len() * paths);
            let of_task = |(k, task): (usize, &Vec<HostPath>)| {
                let steps = task.iter().enumerate().flat_map(|(n, path)| (0..path.len()).map(move |t| (t, n)));
                let at = |(t, n): (usize, usize)| ((t * tasks.len() + k) * paths + n) * width;
                steps.map(at).flat_map(|at| all[at..at + width].to_vec()).collect()
            };
            tasks.iter().enumerate().map(of_task).collect()
        };
        Keys(
            out.iter().map(|(name, x)| (name.to_owned(), rows(&pollster::block_on(device.read(x)).unwrap()))).collect(),
        )
    }

    fn expect(&self, what: &str, key: &str, task: usize, want: &[f64], most: f64) {
        let got = &self.0.iter().find(|(name, _)| name == key).unwrap().1[task];
        assert_eq!(got.len(), want.len(), "{what}: {key} of task {task}");
        let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(worst <= most, "{what}: {key} of task {task} is {worst:e} off\n{got:?}\n{want:?}");
    }
}

fn processor(config: &Value, base: Processor) -> Processor {
    let baseline = match config["baseline"].as_str().unwrap() {
        "zero" => Baseline::Zero,
        "linear_time" => Baseline::LinearTime,
        "linear_feature" => Baseline::LinearFeature,
        other => panic!("unknown baseline {other}"),
    };
    let flag = |key: &str, otherwise| config.get(key).map_or(otherwise, |value| number(value) != 0.0);
    Processor {
        gamma: number(&config["discount"]),
        gae_lambda: config.get("gae_lambda").map_or(base.gae_lambda, number),
        baseline,
        normalise_advantages: flag("normalize_adv", base.normalise_advantages),
        positive_advantages: flag("positive_adv", base.positive_advantages),
        ..base
    }
}

/// Each device with the error that it may make.
fn devices() -> [(Device, f64); 2] {
    [(Device::reference(), 1e-9), (Device::cpu(1), 4e-3)]
}

#[test]
fn golden_processed_samples_have_the_seven_keys_of_the_original() {
    let single = load("promp_sample_processor.json");
    let meta = load("promp_meta_sample_processor.json");
    let of = |paths: &Value| items(paths).iter().map(host_path).collect::<Vec<_>>();
    for key in items(&single["meta"]["output_keys"]) {
        let key = key.as_str().unwrap();
        assert!(RECORDED.contains(&key) || ["returns", "advantages"].contains(&key), "{key}");
    }
    let batches = [
        (&single, vec![of(&single["paths"])]),
        (&meta, ["0", "1", "2"].iter().map(|k| of(&meta["paths_meta_batch"][*k])).collect()),
    ];
    for (file, tasks) in batches {
        for case in items(&file["cases"]) {
            let processor = processor(&case["config"], Processor::default());
            let outs = if case["out"].is_array() { items(&case["out"]).to_vec() } else { vec![case["out"].clone()] };
            assert_eq!(outs.len(), tasks.len());
            for (device, most) in devices() {
                let keys = Keys::of(&device, &tasks, |paths| processor.process(paths));
                let what = format!("{} on {}", case["config"], device.caps().name);
                for (task, (paths, out)) in tasks.iter().zip(&outs).enumerate() {
                    for key in RECORDED {
                        let want: Vec<f64> = paths.iter().flat_map(|path| recorded(path, key).to_vec()).collect();
                        keys.expect(&what, key, task, &want, most.min(1e-6));
                    }
                    for (key, want) in out.as_object().unwrap() {
                        keys.expect(&what, key, task, &numbers(want), most);
                    }
                }
            }
        }
    }
}

#[test]
fn golden_dice_processor_standardises_by_default_and_keeps_what_was_reported() {
    let file = load("promp_dice_sample_processor.json");
    let tasks = [items(&file["paths"]).iter().map(host_path).collect::<Vec<_>>()];
    for case in items(&file["cases"]) {
        let processor = processor(&case["config"], Processor::dice());
        let raw = numbers(&case["per_path_adjusted_rewards"]);
        let mean = raw.iter().sum::<f64>() / raw.len() as f64;
        let deviation = (raw.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / raw.len() as f64).sqrt();
        // By the statistics of valid steps: the original counts padding too.
        let mut want: Vec<f64> = match processor.normalise_advantages {
            true => raw.iter().map(|x| (x - mean) / (deviation + 1e-8)).collect(),
            false => raw,
        };
        if processor.positive_advantages {
            let least = want.iter().copied().fold(f64::INFINITY, f64::min);
            want.iter_mut().for_each(|x| *x = *x - least + 1e-8);
        }
        for (device, most) in devices() {
            let keys = Keys::of(&device, &tasks, |paths| processor.process_dice(paths));
            let what = format!("{} on {}", case["config"], device.caps().name);
            keys.expect(&what, "advantages", 0, &want, most);
            for key in RECORDED {
                let want: Vec<f64> = tasks[0].iter().flat_map(|path| recorded(path, key).to_vec()).collect();
                keys.expect(&what, key, 0, &want, most.min(1e-6));
            }
        }
    }
}

#[test]
fn processors_begin_with_the_defaults_of_the_originals() {
    // ProMP, samplers/base.py: SampleProcessor(baseline, discount=0.99, gae_lambda=1, normalize_adv=False,
    // positive_adv=False); samplers/dice_sample_processor.py: DiceSampleProcessor(baseline, max_path_length,
    // discount=0.99, gae_lambda=1, normalize_adv=True, positive_adv=False, return_baseline=None).
    let numbers = |x: Processor| (x.gamma, x.gae_lambda, x.normalise_advantages, x.positive_advantages);
    assert_eq!(numbers(Processor::default()), (0.99, 1.0, false, false));
    assert_eq!(numbers(Processor::dice()), (0.99, 1.0, true, false));
    assert_eq!(Processor::dice().baseline, Baseline::LinearTime);
}

/// The error of a trace on paths of three steps.
fn refused(f: impl Fn(&Paths)) -> String {
    let error = Program::new(&Device::cpu(1), |cx| {
        let x = cx.input("x", &[3, 1, 2, 1], DType::F32);
        let valid = Tensor::constant_u32(1).broadcast_to(&[3, 1, 2, 1]);
        f(&Paths { obs: x, next_obs: x, action: x, reward: x, valid, env_infos: None, agent_infos: None });
        cx.output("x", x);
    });
    error.unwrap_err().to_string()
}

#[test]
fn settings_out_of_range_are_errors_of_the_trace_that_name_what_fits() {
    let given = Processor::default();
    let unfit = [
        (Processor { gamma: 5.0, ..given }, "gamma: 5 is not in 0 to 1 (at "),
        (Processor { gamma: f64::NAN, ..given }, "gamma: NaN is not in 0 to 1 (at "),
        (Processor { gae_lambda: -0.1, ..given }, "gae_lambda: -0.1 is not in 0 to 1 (at "),
        (Processor { baseline_regularisation: 0.0, ..given }, "baseline_regularisation: 0 is not above 0 (at "),
    ];
    for (processor, message) in unfit {
        let all: [&dyn Fn(&Paths); 4] = [
            &|paths| _ = processor.process(paths),
            &|paths| _ = processor.process_dice(paths),
            &|paths| _ = processor.returns(paths),
            &|paths| _ = processor.advantages(paths, paths.reward),
        ];
        for f in all {
            let got = refused(f);
            assert!(got.starts_with(message) && got.contains(file!()), "{got}");
        }
    }
    let by_gae = |gamma, gae_lambda| {
        refused(|paths| {
            let none = Tensor::constant_u32(0).broadcast_to(&[3, 1, 2, 1]);
            let steps = ValuedSteps {
                rewards: paths.reward,
                values: paths.reward,
                terminated: none,
                truncated: none,
                cut_values: paths.reward,
                last_value: Tensor::zeros(&[1, 2, 1]),
            };
            gae(&steps, gamma, gae_lambda);
        })
    };
    assert!(by_gae(1.5, 0.9).starts_with("gamma: 1.5 is not in 0 to 1 (at "), "{}", by_gae(1.5, 0.9));
    assert!(by_gae(0.9, 1.5).starts_with("gae_lambda: 1.5 is not in 0 to 1 (at "), "{}", by_gae(0.9, 1.5));
    let by_fit = refused(|paths| _ = least_squares(Paths::rows(paths.obs), Paths::rows(paths.reward), -1.0));
    assert!(by_fit.starts_with("baseline_regularisation: -1 is not above 0 (at "), "{by_fit}");
}
