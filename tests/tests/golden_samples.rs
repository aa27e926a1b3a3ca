//! Returns, baselines and advantages of whole episodes against numbers of independent implementations, on the f64
//! reference device and on the CPU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::sample::{Baseline, Paths, Processor, adjusted_rewards};
use quickstudy_core::{DType, Device, Program, State, Tensor};
use quickstudy_tests::golden::{items, load, number, numbers};
use serde_json::Value;

/// Lists of paths of several tasks, padded to one block.
struct Block {
    t: usize,
    k: usize,
    n: usize,
    o: usize,
    lengths: Vec<Vec<usize>>,
    obs: Vec<f64>,
    rewards: Vec<f64>,
    valid: Vec<u32>,
}

impl Block {
    fn new(tasks: &[&[Value]]) -> Block {
        let lengths: Vec<Vec<usize>> =
            tasks.iter().map(|paths| paths.iter().map(|p| items(&p["rewards"]).len()).collect()).collect();
        let t = *lengths.iter().flatten().max().unwrap();
        let n = lengths.iter().map(Vec::len).max().unwrap();
        let k = tasks.len();
        let o = numbers(&items(&tasks[0][0]["observations"])[0]).len();
        let mut block = Block {
            t,
            k,
            n,
            o,
            lengths,
            obs: vec![0.0; t * k * n * o],
            rewards: vec![0.0; t * k * n],
            valid: vec![0; t * k * n],
        };
        for (i, paths) in tasks.iter().enumerate() {
            for (j, path) in paths.iter().enumerate() {
                let (obs, rewards) = (numbers(&path["observations"]), numbers(&path["rewards"]));
                for s in 0..rewards.len() {
                    let at = (s * k + i) * n + j;
                    block.rewards[at] = rewards[s];
                    block.valid[at] = 1;
                    block.obs[at * o..(at + 1) * o].copy_from_slice(&obs[s * o..(s + 1) * o]);
                }
            }
        }
        block
    }

    /// Results `[T, K, N, 1]` of a function of the paths, each as what belongs to valid steps: by task, path and time.
    fn run(&self, device: &Device, f: impl Fn(&Paths) -> Vec<Tensor>) -> Vec<Vec<Vec<f64>>> {
        let shape = [self.t, self.k, self.n, 1];
        let mut program = Program::new(device, |cx| {
            let obs = cx.input("obs", &[self.t, self.k, self.n, self.o], DType::F32);
            let reward = cx.input("reward", &shape, DType::F32);
            let valid = cx.input("valid", &shape, DType::U32);
            let paths = Paths { obs, action: reward, reward, valid };
            for (i, y) in f(&paths).into_iter().enumerate() {
                cx.output(&i.to_string(), y);
            }
        })
        .unwrap();
        let obs = device.array(&[self.t, self.k, self.n, self.o], &self.obs).unwrap();
        let reward = device.array(&shape, &self.rewards).unwrap();
        let valid = device.array_u32(&shape, &self.valid).unwrap();
        let out = program.run(&State::new(), &[("obs", &obs), ("reward", &reward), ("valid", &valid)], &[]).unwrap();
        let all = out.iter().map(|(_, array)| pollster::block_on(device.read(array)).unwrap());
        all.map(|values| {
            let of_task = |i: usize| {
                let paths = self.lengths[i].iter().enumerate();
                paths
                    .flat_map(|(j, len)| (0..*len).map(move |s| (s * self.k + i) * self.n + j))
                    .map(|at| values[at])
                    .collect()
            };
            (0..self.k).map(of_task).collect()
        })
        .collect()
    }
}

fn devices() -> [Device; 2] {
    [Device::reference(), Device::cpu(1)]
}

/// Within 1e-9 on the reference; in f32 within 2e-3 of the deviation of what is compared with.
fn near(name: &str, device: &Device, got: &[f64], want: &[f64], scale: f64) {
    let most = if device.caps().name.contains("reference") { 1e-9_f64.max(1e-9 * scale) } else { 2e-3 * scale };
    assert_eq!(got.len(), want.len(), "{name}");
    let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= most, "{name} on {}: {worst:e}, allowed {most:e}\n{got:?}\n{want:?}", device.caps().name);
}

fn deviation(x: &[f64]) -> f64 {
    let n = x.len() as f64;
    let mean = x.iter().sum::<f64>() / n;
    (x.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / n).sqrt().max(1e-3)
}

fn baseline(name: &Value) -> Baseline {
    match name.as_str().unwrap() {
        "zero" => Baseline::Zero,
        "linear_time" => Baseline::LinearTime,
        "linear_feature" => Baseline::LinearFeature,
        other => panic!("unknown baseline {other}"),
    }
}

fn processor(config: &Value) -> Processor {
    Processor {
        gamma: number(&config["discount"]),
        gae_lambda: config.get("gae_lambda").map_or(1.0, number),
        baseline: baseline(&config["baseline"]),
        normalise: number(&config["normalize_adv"]) != 0.0,
        positive: config.get("positive_adv").is_some_and(|v| number(v) != 0.0),
    }
}

#[test]
fn golden_linear_baselines_predict_what_the_originals_do() {
    for case in items(&load("linear_feature_baseline.json")["cases"]) {
        let block = Block::new(&[items(&case["paths"])]);
        let gamma = number(&case["discount"]);
        for device in devices() {
            let got = block.run(&device, |paths| {
                let zero =
                    Processor { gamma, gae_lambda: 1.0, baseline: Baseline::Zero, normalise: false, positive: false };
                let returns = zero.process(paths).returns;
                let t = paths.reward.size(0);
                let discounts: Vec<f64> = (0..t).map(|i| gamma.powi(i as i32)).collect();
                let discounted = paths.reward * Tensor::literal_f32(&discounts).reshape(&[t, 1, 1, 1]);
                vec![
                    Baseline::LinearFeature.fit_predict(paths, returns),
                    Baseline::LinearTime.fit_predict(paths, discounted),
                    returns,
                ]
            });
            let returns: Vec<f64> = items(&case["paths"]).iter().flat_map(|p| numbers(&p["returns"])).collect();
            let scale = deviation(&returns);
            near("returns", &device, &got[2][0], &returns, scale);
            near("features", &device, &got[0][0], &numbers(&case["feature_baseline"]["predictions"]), scale);
            let time = &case["time_baseline"];
            assert_eq!(time["target"], "discounted_rewards");
            let rewards: Vec<f64> =
                items(&case["paths"]).iter().flat_map(|p| numbers(&p["discounted_rewards"])).collect();
            near("time", &device, &got[1][0], &numbers(&time["predictions"]), deviation(&rewards));
        }
    }
}

#[test]
fn golden_sample_processor() {
    let file = load("promp_sample_processor.json");
    let block = Block::new(&[items(&file["paths"])]);
    for case in items(&file["cases"]) {
        let processor = processor(&case["config"]);
        for device in devices() {
            let got = block.run(&device, |paths| {
                let processed = processor.process(paths);
                vec![processed.returns, processed.advantages]
            });
            for (i, key) in ["returns", "advantages"].into_iter().enumerate() {
                let want = numbers(&case["out"][key]);
                near(&format!("{}: {key}", case["config"]), &device, &got[i][0], &want, deviation(&want));
            }
        }
    }
}

#[test]
fn golden_meta_sample_processor() {
    let file = load("promp_meta_sample_processor.json");
    let tasks: Vec<&[Value]> = ["0", "1", "2"].iter().map(|k| items(&file["paths_meta_batch"][*k])).collect();
    let block = Block::new(&tasks);
    for case in items(&file["cases"]) {
        let processor = processor(&case["config"]);
        for device in devices() {
            let got = block.run(&device, |paths| {
                let processed = processor.process(paths);
                vec![processed.returns, processed.advantages, adjusted_rewards(paths, 1)]
            });
            for (task, out) in items(&case["out"]).iter().enumerate() {
                for (i, key) in ["returns", "advantages", "adj_avg_rewards"].into_iter().enumerate() {
                    let want = numbers(&out[key]);
                    near(&format!("task {task}: {key}"), &device, &got[i][task], &want, deviation(&want).max(1.0));
                }
            }
        }
    }
}

#[test]
fn golden_dice_rewards_less_their_baseline() {
    let file = load("promp_dice_sample_processor.json");
    let block = Block::new(&[items(&file["paths"])]);
    for case in items(&file["cases"]) {
        // The original standardises over padding as well, which makes padding count: before that, numbers agree.
        let processor = Processor { normalise: false, positive: false, ..processor(&case["config"]) };
        for device in devices() {
            let got = block.run(&device, |paths| vec![processor.process_dice(paths).advantages]);
            let want: Vec<f64> = numbers(&case["per_path_adjusted_rewards"]);
            near("adjusted rewards", &device, &got[0][0], &want, deviation(&want));
        }
    }
}

#[test]
fn golden_discounted_sums() {
    for case in items(&load("discount_cumsum.json")["cases"]) {
        let (x, want) = (numbers(&case["x"]), numbers(&case["out"]));
        let t = x.len();
        let block =
            Block { t, k: 1, n: 1, o: 1, lengths: vec![vec![t]], obs: vec![0.0; t], rewards: x, valid: vec![1; t] };
        let gamma = number(&case["discount"]);
        let processor =
            Processor { gamma, gae_lambda: 1.0, baseline: Baseline::Zero, normalise: false, positive: false };
        for device in devices() {
            let got = block.run(&device, |paths| vec![processor.process(paths).returns]);
            near("sums", &device, &got[0][0], &want, deviation(&want).max(1.0));
        }
    }
}
