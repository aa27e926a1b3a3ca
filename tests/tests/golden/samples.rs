//! Returns, baselines and advantages of whole episodes against numbers of independent implementations, on the f64
//! reference device and on the CPU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::credit::{Baseline, Feature, Paths, Processor, adjusted_rewards, multi_feature};
use quickstudy_core::{DType, Device, Program, State, Tensor};
use quickstudy_tests::golden::{items, load, number, numbers};
use serde_json::Value;

/// Lists of paths of several tasks, padded to one block.
struct Block {
    t: usize,
    k: usize,
    n: usize,
    o: usize,
    a: usize,
    lengths: Vec<Vec<usize>>,
    obs: Vec<f64>,
    actions: Vec<f64>,
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
        // Of those files that have actions.
        let a = tasks[0][0].get("actions").map_or(0, |actions| numbers(&items(actions)[0]).len());
        let mut block = Block {
            t,
            k,
            n,
            o,
            a,
            lengths,
            obs: vec![0.0; t * k * n * o],
            actions: vec![0.0; t * k * n * a],
            rewards: vec![0.0; t * k * n],
            valid: vec![0; t * k * n],
        };
        for (i, paths) in tasks.iter().enumerate() {
            for (j, path) in paths.iter().enumerate() {
                let (obs, rewards) = (numbers(&path["observations"]), numbers(&path["rewards"]));
                let actions = path.get("actions").map_or(Vec::new(), numbers);
                for s in 0..rewards.len() {
                    let at = (s * k + i) * n + j;
                    block.rewards[at] = rewards[s];
                    block.valid[at] = 1;
                    block.obs[at * o..(at + 1) * o].copy_from_slice(&obs[s * o..(s + 1) * o]);
                    block.actions[at * a..(at + 1) * a].copy_from_slice(&actions[s * a..(s + 1) * a]);
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
            let action = match self.a {
                0 => reward,
                a => cx.input("action", &[self.t, self.k, self.n, a], DType::F32),
            };
            let paths = Paths { obs, next_obs: obs, action, reward, valid, env_infos: None, agent_infos: None };
            for (i, y) in f(&paths).into_iter().enumerate() {
                cx.output(&i.to_string(), y);
            }
        })
        .unwrap();
        let obs = device.array(&[self.t, self.k, self.n, self.o], &self.obs).unwrap();
        let reward = device.array(&shape, &self.rewards).unwrap();
        let valid = device.array_u32(&shape, &self.valid).unwrap();
        let action = (self.a > 0).then(|| device.array(&[self.t, self.k, self.n, self.a], &self.actions).unwrap());
        let mut inputs = vec![("obs", &obs), ("reward", &reward), ("valid", &valid)];
        inputs.extend(action.iter().map(|action| ("action", action)));
        let out = program.run(&State::new(), &inputs, &[]).unwrap();
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

/// The features of those names.
fn features(names: &Value, paths: &Paths) -> Vec<Feature<'static>> {
    let of = |name: &Value| match name.as_str().unwrap() {
        "observations" => Feature { name: "observations", values: paths.obs },
        "actions" => Feature { name: "actions", values: paths.action },
        other => panic!("unknown feature {other}"),
    };
    items(names).iter().map(of).collect()
}

fn processor(config: &Value) -> Processor {
    Processor {
        gamma: number(&config["discount"]),
        gae_lambda: config.get("gae_lambda").map_or(1.0, number),
        baseline: baseline(&config["baseline"]),
        normalise_advantages: number(&config["normalize_adv"]) != 0.0,
        positive_advantages: config.get("positive_adv").is_some_and(|v| number(v) != 0.0),
        ..Processor::default()
    }
}

#[test]
fn golden_linear_baselines_predict_what_the_originals_do() {
    for case in items(&load("linear_feature_baseline.json")["cases"]) {
        let block = Block::new(&[items(&case["paths"])]);
        let gamma = number(&case["discount"]);
        for device in devices() {
            let got = block.run(&device, |paths| {
                let returns = Processor { gamma, ..Processor::default() }.returns(paths);
                let t = paths.reward.size(0);
                let discounts: Vec<f64> = (0..t).map(|i| gamma.powi(i as i32)).collect();
                let discounted = paths.reward * Tensor::literal_f32(&discounts).reshape(&[t, 1, 1, 1]);
                vec![
                    Baseline::LinearFeature.fit_predict(paths, returns),
                    Baseline::LinearTime.fit_predict(paths, discounted),
                    returns,
                    multi_feature(paths, &features(&case["multi_feature_baseline"]["features"], paths), returns),
                ]
            });
            let returns: Vec<f64> = items(&case["paths"]).iter().flat_map(|p| numbers(&p["returns"])).collect();
            let scale = deviation(&returns);
            near("returns", &device, &got[2][0], &returns, scale);
            near("features", &device, &got[0][0], &numbers(&case["feature_baseline"]["predictions"]), scale);
            near("multi", &device, &got[3][0], &numbers(&case["multi_feature_baseline"]["predictions"]), scale);
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
        let processor =
            Processor { normalise_advantages: false, positive_advantages: false, ..processor(&case["config"]) };
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
        let block = Block {
            t,
            k: 1,
            n: 1,
            o: 1,
            a: 0,
            lengths: vec![vec![t]],
            obs: vec![0.0; t],
            actions: Vec::new(),
            rewards: x,
            valid: vec![1; t],
        };
        let gamma = number(&case["discount"]);
        let processor =
            Processor { gamma, baseline: Baseline::Zero, normalise_advantages: false, ..Processor::default() };
        for device in devices() {
            let got = block.run(&device, |paths| vec![processor.process(paths).returns]);
            near("sums", &device, &got[0][0], &want, deviation(&want).max(1.0));
        }
    }
}

#[test]
fn multi_feature_baseline_solves_the_normal_equations() {
    // Three features of noise, so that the normal equations are well conditioned: solved here in f64 by elimination.
    let (t, n) = (6, 5);
    let noise = |i: usize, salt: f64| ((i as f64 + salt) * 12.9898).sin() * 7.0 % 3.0;
    let lengths = vec![6, 2, 4, 6, 1];
    let mut block = Block {
        t,
        k: 1,
        n,
        o: 2,
        a: 1,
        obs: (0..t * n * 2).map(|i| noise(i, 0.1)).collect(),
        actions: (0..t * n).map(|i| noise(i, 0.7)).collect(),
        rewards: (0..t * n).map(|i| noise(i, 0.4)).collect(),
        valid: vec![0; t * n],
        lengths: vec![lengths.clone()],
    };
    (0..t * n).for_each(|i| block.valid[i] = u32::from(i / n < lengths[i % n]));
    // Limited to 10 before it is squared.
    (block.obs[0], block.obs[5]) = (25.0, -11.0);
    let limit = |x: f64| x.clamp(-10.0, 10.0);
    let row = |at: usize| {
        let x = [block.obs[2 * at], block.obs[2 * at + 1], block.actions[at]].map(limit);
        [x[0], x[1], x[0] * x[0], x[1] * x[1], x[2], x[2] * x[2], 1.0]
    };
    let rows: Vec<usize> = lengths.iter().enumerate().flat_map(|(j, l)| (0..*l).map(move |s| s * n + j)).collect();
    let mut system = [[0.0; 8]; 7];
    for (i, equation) in system.iter_mut().enumerate() {
        for at in &rows {
            let x = row(*at);
            x.iter().enumerate().for_each(|(j, xj)| equation[j] += x[i] * xj);
            equation[7] += x[i] * block.rewards[*at];
        }
        equation[i] += 1e-5;
    }
    for i in 0..7 {
        let pivot = (i..7).max_by(|a, b| system[*a][i].abs().total_cmp(&system[*b][i].abs())).unwrap();
        system.swap(i, pivot);
        for j in (0..7).filter(|j| *j != i) {
            let factor = system[j][i] / system[i][i];
            let from = system[i];
            system[j].iter_mut().zip(from).for_each(|(x, y)| *x -= factor * y);
        }
    }
    let weights: Vec<f64> = (0..7).map(|i| system[i][7] / system[i][i]).collect();
    let want: Vec<f64> = rows.iter().map(|at| row(*at).iter().zip(&weights).map(|(x, w)| x * w).sum()).collect();
    for device in devices() {
        let got = block.run(&device, |paths| {
            let named = |name, values| Feature { name, values };
            let both = [named("obs", paths.obs), named("action", paths.action)];
            vec![multi_feature(paths, &both, paths.reward), Baseline::MultiFeature.fit_predict(paths, paths.reward)]
        });
        near("predictions", &device, &got[0][0], &want, deviation(&want));
        // Of observations alone it fits worse.
        let error = |x: &[f64]| rows.iter().zip(x).map(|(at, x)| (block.rewards[*at] - x).powi(2)).sum::<f64>();
        assert!(error(&got[1][0]) > error(&got[0][0]) + 1e-3, "{} {}", error(&got[1][0]), error(&got[0][0]));
    }
    let error = Program::new(&devices()[0], |_| {
        let x = Tensor::zeros(&[3, 1, 2, 1]);
        let valid = Tensor::constant_u32(1).broadcast_to(&[3, 1, 2, 1]);
        let paths = Paths { obs: x, next_obs: x, action: x, reward: x, valid, env_infos: None, agent_infos: None };
        multi_feature(&paths, &[Feature { name: "speed", values: Tensor::zeros(&[3, 2, 2, 1]) }], x);
    });
    let message = error.unwrap_err().to_string();
    assert!(
        message.starts_with("multi_feature: expected [3, 1, 2] and its width, got [3, 2, 2, 1] as feature `speed`")
    );
}

#[test]
fn golden_advantages_over_given_values() {
    for case in items(&load("garage_tf_advantages.json")["cases"]) {
        let lengths: Vec<usize> = items(&case["lengths"]).iter().map(|l| number(l) as usize).collect();
        let (t, n) = (number(&case["max_len"]) as usize, lengths.len());
        // Theirs are rows of paths, ours of time.
        let by_time = |key: &str| {
            let x = numbers(&case[key]);
            (0..t * n).map(|at| x[at % n * t + at / n]).collect::<Vec<f64>>()
        };
        let valid = (0..t * n).map(|at| u32::from(at / n < lengths[at % n])).collect();
        let block = Block {
            t,
            k: 1,
            n,
            o: 1,
            a: 0,
            lengths: vec![lengths.clone()],
            obs: by_time("baselines"),
            actions: Vec::new(),
            rewards: by_time("rewards"),
            valid,
        };
        let processor = |normalise_advantages, positive_advantages| Processor {
            gamma: number(&case["discount"]),
            gae_lambda: number(&case["gae_lambda"]),
            baseline: Baseline::Zero,
            normalise_advantages,
            positive_advantages,
            ..Processor::default()
        };
        let rows = |key: &str| -> Vec<f64> {
            let x = numbers(&case[key]);
            lengths.iter().enumerate().flat_map(|(j, l)| x[j * t..j * t + l].to_vec()).collect()
        };
        for device in devices() {
            let got = block.run(&device, |paths| {
                let of = |normalise, positive| processor(normalise, positive).advantages(paths, paths.obs);
                vec![of(false, false), of(false, true), of(true, false), processor(false, false).returns(paths)]
            });
            let close = |what: &str, got: &[f64], want: &[f64]| {
                let worst = got.iter().zip(want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(got.len() == want.len() && worst < 1e-5, "{what} on {}: {worst:e}", device.caps().name);
            };
            let raw = rows("advantages");
            close("advantages", &got[0][0], &raw);
            close("returns", &got[3][0], &rows("returns"));
            // The originals look at padding too. It is 0, and not the least where an advantage is below.
            let least = raw.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(least < 0.0, "shifted numbers agree in such cases only");
            close("positive", &got[1][0], &rows("positive"));
            // They standardise each time step by itself, over padding too; here it is the whole task, over valid steps.
            let mean = raw.iter().sum::<f64>() / raw.len() as f64;
            let standard: Vec<f64> = raw.iter().map(|x| (x - mean) / (deviation(&raw) + 1e-8)).collect();
            close("standardised", &got[2][0], &standard);
        }
    }
}
