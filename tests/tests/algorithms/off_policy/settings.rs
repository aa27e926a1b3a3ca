//! Settings of algorithms that learn from a memory, in combination: pairs of them train, and the ends of all ranges and
//! many draws are planned in a time and a number of nodes that do not grow with repetitions.
//!
//! `cargo test -p quickstudy-tests --test algorithms off_policy_settings -- --nocapture` prints milliseconds of set-up.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::time::Instant;

use quickstudy_core::algo::{Algorithm, Training};
use quickstudy_core::env::{ActionSpace, Dim, Draws, Env, EnvDef, EnvSpec, Goal, Real, Step, builtin};
use quickstudy_core::settings::Range;
use quickstudy_core::train::algorithm;
use quickstudy_core::{Device, Error, Result};
use quickstudy_gpu::{KernelSchedule, Plan, PlanOptions};
use quickstudy_tests::every::replaying;
use toml::{Table, Value};

quickstudy_core::fields! {
    /// A place on a line, and the goal.
    struct Line {
        /// The place.
        x,
        /// The goal.
        goal,
    }
}

/// A line with a goal, for algorithms that take vectors as actions.
struct Reach;

impl Env for Reach {
    type State<R: Real> = Line<R>;

    fn spec(&self) -> EnvSpec {
        let actions = ActionSpace::continuous(vec![Dim::new("move", -1.0, 1.0)]);
        let goal = Goal { achieved: 0..1, desired: 1..2, tolerance: 0.2 };
        EnvSpec::new("reach", vec![Dim::unbounded("x"), Dim::unbounded("goal")], actions, 6).goal(goal)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _: &[R], rng: &mut Draws<R>) -> Line<R> {
        Line { x: R::lit(0.0), goal: rng.range(-2.0, 2.0) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: Line<R>, action: &[R], _: &[R], _: &mut Draws<R>) -> Step<R, Self> {
        let next = Line { x: s.x + action[0], goal: s.goal };
        let reached = (next.x - next.goal).abs().lt(R::lit(0.2));
        Step { next, reward: R::select(reached, R::lit(0.0), R::lit(-1.0)), terminated: reached }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &Line<R>, _: &[R], out: &mut [R]) {
        (out[0], out[1]) = (s.x, s.goal);
    }
}

/// The names of all algorithms of this kind.
fn names() -> Vec<&'static str> {
    replaying().into_iter().map(|def| def.name).collect()
}

/// An environment with goals that fits the actions of an algorithm.
fn env_of(name: &str) -> EnvDef {
    let reach = EnvDef::new(Reach).unwrap();
    let fits = algorithm(name).unwrap().fit(&Table::new(), reach.spec()).is_ok();
    if fits { reach } else { builtin("bit-flip:bits=3").unwrap() }
}

/// Updates after which those of an algorithm repeat, by default.
fn period(name: &str) -> u64 {
    let defaults = (algorithm(name).unwrap().defaults)();
    count(&defaults, "policy_delay", 1)
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn count(settings: &Table, key: &str, or: u64) -> u64 {
    settings.get(key).map_or(or, |value| value.as_integer().unwrap() as u64)
}

/// Completes settings by small networks, and by an iteration of one period if none is given.
fn completed(name: &str, mut settings: Table) -> Table {
    let default = |key: &str, value: Value, settings: &mut Table| {
        settings.entry(key).or_insert(value);
    };
    default("hidden", Value::Array(vec![Value::Integer(4)]), &mut settings);
    default("batch_size", Value::Integer(4), &mut settings);
    default("train_freq", Value::Integer(1), &mut settings);
    default("gradient_steps", Value::Integer(1), &mut settings);
    let delay = count(&settings, "policy_delay", period(name));
    let passes = delay / gcd(delay, count(&settings, "gradient_steps", 1));
    let steps = passes * count(&settings, "train_freq", 1);
    default("iteration_steps", Value::Integer(steps as i64), &mut settings);
    settings
}

fn fitted(name: &str, env: &EnvDef, settings: &Table, steps: u64) -> Result<Box<dyn Algorithm>> {
    let fitted = algorithm(name)?.fit(settings, env.spec())?;
    Ok(fitted.for_steps(steps)?.unwrap_or(fitted))
}

/// The plans of all stages of the longest possible run, as GPUs make them.
fn plans(name: &str, settings: &Table) -> Result<Vec<Plan>> {
    let env = env_of(name);
    let traces = Training::traces(&*fitted(name, &env, settings, 1 << 40)?, &env, 1)?;
    traces.into_iter().map(|trace| Plan::new(trace, &PlanOptions::default())).collect()
}

/// The number of nodes that all kernels of a schedule compute.
fn nodes(schedule: &KernelSchedule) -> usize {
    schedule.kernels.iter().map(|kernel| kernel.nodes.len() + kernel.body.as_ref().map_or(0, |body| nodes(body))).sum()
}

fn table(values: &[(&str, u64)]) -> Table {
    values.iter().map(|(key, value)| ((*key).to_owned(), Value::Integer(*value as i64))).collect()
}

/// Rows of five columns of four values each. Any two columns have all pairs among them: lines over a field of four
/// numbers.
fn pairs() -> Vec<[usize; 5]> {
    const TIMES: [[usize; 4]; 4] = [[0, 0, 0, 0], [0, 1, 2, 3], [0, 2, 3, 1], [0, 3, 1, 2]];
    let row = |i: usize| {
        let (a, b) = (i / 4, i % 4);
        [a, b, a ^ b, a ^ TIMES[2][b], a ^ TIMES[3][b]]
    };
    let rows: Vec<[usize; 5]> = (0..16).map(row).collect();
    for (i, j) in (0..5).flat_map(|i| (0..i).map(move |j| (i, j))) {
        let all: std::collections::BTreeSet<_> = rows.iter().map(|row| (row[i], row[j])).collect();
        assert_eq!(all.len(), 16, "columns {i} and {j}");
    }
    rows
}

/// Makes one iteration with updates for all pairs of these settings.
fn trains_with_all_pairs(name: &str) {
    const VALUES: [u64; 4] = [1, 2, 3, 5];
    let (device, env) = (Device::cpu(1), env_of(name));
    for row in pairs() {
        for (prioritised, hindsight) in [(false, false), (true, false), (false, true), (true, true)] {
            let [n_step, envs, train_freq, gradient_steps, policy_delay] = row.map(|i| VALUES[i]);
            let n_step = if hindsight { 1 } else { n_step };
            let mut settings = table(&[
                ("n_step", n_step),
                ("envs", envs),
                ("train_freq", train_freq),
                ("gradient_steps", gradient_steps),
                ("learning_starts", 0),
            ]);
            if period(name) > 1 {
                settings.extend(table(&[("policy_delay", policy_delay)]));
            }
            settings.insert("prioritised".into(), prioritised.into());
            settings.insert("hindsight".into(), (if hindsight { 0.5 } else { 0.0 }).into());
            let settings = completed(name, settings);
            let run = || -> Result<(Vec<f64>, Vec<String>, bool)> {
                let algorithm = fitted(name, &env, &settings, 1000)?;
                let mut training = Training::new(&device, algorithm.into(), &env, &[3])?;
                let theta = |training: &Training| pollster::block_on(device.read(training.state().get("theta")?));
                let first = theta(&training)?;
                let metrics = pollster::block_on(training.step(0, 10))?;
                let moved = theta(&training)?.iter().zip(&first).any(|(new, old)| new != old);
                Ok((pollster::block_on(device.read(&metrics))?, training.metric_names(0).to_vec(), moved))
            };
            let (metrics, names, moved) = run().unwrap_or_else(|e| panic!("{name} with {settings}: {e}"));
            let passes = count(&settings, "iteration_steps", 1) / train_freq;
            let updates = metrics[names.iter().position(|name| name == "train/updates").unwrap()];
            assert_eq!(updates, (passes * gradient_steps) as f64, "{name} with {settings}");
            assert!(
                moved && metrics[..names.len()].iter().all(|x| x.is_finite()),
                "{name} with {settings}: {metrics:?}"
            );
        }
    }
}

#[test]
fn all_train_with_all_pairs_of_settings() {
    names().into_iter().for_each(trains_with_all_pairs);
}

/// The ends of a range, or all of its values if they are few.
fn ends(range: &Range) -> Vec<Value> {
    let floats = |all: &[f64]| all.iter().map(|x| Value::Float(*x)).collect();
    match range {
        Range::Positive => floats(&[1e-30, 1e30]),
        Range::NotNegative => floats(&[0.0, 1e30]),
        Range::Unit => floats(&[0.0, 1.0]),
        Range::Fraction => floats(&[1e-30, 1.0 - 1e-12]),
        Range::Share => floats(&[1e-30, 1.0]),
        Range::Between(low, high) => floats(&[*low, *high]),
        Range::Count(least, most) => [*least, *most].map(|n| Value::Integer(n as i64)).to_vec(),
        Range::Flag => vec![true.into(), false.into()],
        Range::Words(words) => words.iter().map(|word| (*word).into()).collect(),
        Range::Widths => vec![Value::Array(Vec::new()), vec![Value::Integer(1); 8].into()],
        Range::Shown(range, _) => ends(range),
    }
}

/// The settings that a value needs beside it, to fit the others.
fn with_others(name: &str, key: &str, value: &Value) -> Table {
    let mut settings = Table::new();
    match (key, value.as_integer()) {
        ("memory_size", Some(1)) => settings.extend(table(&[("batch_size", 1)])),
        ("envs" | "train_freq", Some(_)) => settings.extend(table(&[("memory_size", 1 << 20)])),
        ("epsilon_initial", None) => _ = settings.insert("epsilon_final".into(), 0.0.into()),
        // Noise that is drawn back by twice itself or more grows.
        ("noise_theta", None) => _ = settings.insert("noise_dt".into(), 1e-30.into()),
        ("noise_dt", None) => _ = settings.insert("noise_theta".into(), 0.0.into()),
        ("batch_size", Some(most)) => settings.extend(table(&[("memory_size", most as u64)])),
        ("iteration_steps", Some(1)) if period(name) > 1 => settings.extend(table(&[("policy_delay", 1)])),
        _ => {}
    }
    settings.insert(key.to_owned(), value.clone());
    completed(name, settings)
}

#[test]
fn the_ends_of_all_ranges_are_planned() {
    let (mut planned, mut problems) = (0, Vec::new());
    for name in names() {
        let def = algorithm(name).unwrap();
        for doc in def.settings() {
            for value in ends(&doc.range) {
                let settings = with_others(name, doc.key, &value);
                let clock = Instant::now();
                match plans(name, &settings) {
                    Ok(_) => planned += 1,
                    // Values may only be refused because they need another setting too.
                    Err(Error::Config { .. }) if matches!(doc.range, Range::Flag | Range::Words(_)) => {}
                    // Episodes as long as the time limit allows need more room than a memory has.
                    Err(Error::Config { .. }) if ["min_rollouts", "min_steps"].contains(&doc.key) => {}
                    Err(error) => problems.push(format!("{name}: {} = {value}: {error}", doc.key)),
                }
                let seconds = clock.elapsed().as_secs_f64();
                if seconds > 10.0 {
                    problems.push(format!("{name}: {} = {value} took {seconds:.1} s", doc.key));
                }
            }
        }
    }
    assert!(problems.is_empty() && planned > 200, "{planned} planned; {problems:#?}");
}

#[test]
fn planned_nodes_do_not_grow_with_what_is_repeated() {
    // A run of one update after another, as small as a plan of its kind is, and runs whose settings lead to the most
    // repetitions.
    let cases: [(&str, &str, &[u64]); 9] = [
        ("td3", "gradient_steps", &[3, 4, 33, 1000, 65_535, 65_536]),
        ("td3", "policy_delay", &[3, 5, 50, 63, 64]),
        ("td3", "n_step", &[3, 4, 20, 100, 1000]),
        ("dqn", "gradient_steps", &[3, 33, 65_536]),
        ("dqn", "n_step", &[3, 20, 1000]),
        ("dql", "n_step", &[3, 1000]),
        ("ddpg", "gradient_steps", &[3, 65_536]),
        ("sac", "gradient_steps", &[3, 65_536]),
        ("sac", "n_step", &[3, 1000]),
    ];
    for (name, key, values) in cases {
        for prioritised in [false, true] {
            let sizes: Vec<usize> = values
                .iter()
                .map(|value| {
                    let mut settings = table(&[(key, *value)]);
                    settings.insert("prioritised".into(), prioritised.into());
                    let clock = Instant::now();
                    let plans = plans(name, &completed(name, settings)).unwrap();
                    let ms = clock.elapsed().as_secs_f64() * 1e3;
                    let nodes = plans.iter().map(|plan| nodes(&plan.schedule)).sum();
                    println!("{name}, {key} = {value}, prioritised {prioritised}: {nodes} nodes, {ms:.1} ms");
                    nodes
                })
                .collect();
            // Remainders by a number that is no power of two take some more nodes.
            assert!(sizes.iter().all(|size| *size <= sizes[0] + 24), "{name}, {key}: {sizes:?}");
        }
    }
}

/// Random numbers that follow from a seed (SplitMix64).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Draws a count whose logarithm is even.
    fn count(&mut self, least: u64, most: u64) -> u64 {
        let (low, high) = ((least.max(1) as f64).ln(), (most as f64 + 1.0).ln());
        ((low + (high - low) * self.unit()).exp() as u64).clamp(least, most)
    }

    fn value(&mut self, range: &Range) -> Value {
        match range {
            Range::Count(least, most) => Value::Integer(self.count(*least, *most) as i64),
            Range::Widths => {
                Value::Array((0..self.next() % 3).map(|_| Value::Integer(self.count(1, 32) as i64)).collect())
            }
            Range::Shown(range, _) => self.value(range),
            range => {
                let ends = ends(range);
                match (ends[0].as_float(), ends[ends.len() - 1].as_float()) {
                    (Some(low), Some(high)) => {
                        Value::Float(low.max(1e-3) + (high.min(1.0) - low.max(1e-3)) * self.unit())
                    }
                    _ => ends[self.next() as usize % ends.len()].clone(),
                }
            }
        }
    }
}

#[test]
fn draws_of_all_settings_are_planned_or_refused_by_name() {
    let (mut numbers, mut planned, names) = (Numbers(20), 0, names());
    for draw in 0..200 {
        let name = names[draw % names.len()];
        let def = algorithm(name).unwrap();
        let mut settings = Table::new();
        for doc in def.settings() {
            if numbers.unit() < 0.5 {
                settings.insert(doc.key.to_owned(), numbers.value(&doc.range));
            }
        }
        // Settings that would be refused in nearly every draw are made to fit; two of three draws go without hindsight.
        let size = count(&settings, "memory_size", 1_000_000);
        settings.insert("batch_size".into(), Value::Integer(numbers.count(1, size.min(1 << 20)) as i64));
        settings.remove("iteration_steps");
        if draw % 3 > 0 {
            settings.remove("hindsight");
        } else {
            settings.remove("n_step");
        }
        let settings = completed(name, settings);
        match plans(name, &settings) {
            Ok(_) => planned += 1,
            Err(Error::Config { .. }) => {}
            Err(error) => panic!("{name} with {settings}: {error}"),
        }
    }
    assert!(planned >= 100, "{planned} of 200 were planned");
}
