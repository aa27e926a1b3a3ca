//! Points that walk in the plane, step by step against the originals' numbers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::env::EnvDef;
use quickstudy_core::env::point::{PointArena, PointCorner, PointGoal, PointHalfCircle, PointReward, PointWalls};
use quickstudy_tests::golden::{items, load, numbers};
use serde_json::Value;

/// For numbers in f64.
const TOLERANCE: f64 = 1e-9;

fn near(what: &str, got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= TOLERANCE, "{what}: {got} instead of {want}");
    }
}

/// The recorded actions from the recorded start, each step from our own last state.
fn play(env: &EnvDef, task: &[f64], from: &[f64], steps: &Value, check: impl Fn(&Value, &[f64], &[f64], f64, bool)) {
    let mut state = from.to_vec();
    for step in items(steps) {
        let next = env.step(&state, &numbers(&step["action"]), task, [0, 0], 0).unwrap();
        check(step, &next.state, &next.observation, next.reward, next.terminated);
        state = next.state;
    }
}

#[test]
fn promps_points() {
    let file = load("point_envs.json");
    let mut seen = std::collections::BTreeSet::new();
    for run in items(&file["promp"]) {
        let name = run["env"].as_str().unwrap();
        let reward = match name.split("reward_type=").nth(1).or(name.split_once('(').map(|(_, kind)| kind)) {
            Some("dense_squared)") => PointReward::Squared,
            Some("sparse)") => PointReward::Sparse,
            _ => PointReward::Dense,
        };
        let anywhere = name.contains("random goal");
        let env = match name {
            n if n.contains("Corner") => EnvDef::new(PointCorner::with_reward(reward)),
            n if n.contains("Walls") => EnvDef::new(PointWalls::with_reward(reward)),
            _ if anywhere => EnvDef::new(PointGoal::anywhere()),
            n if n.contains("origin goal") => EnvDef::new(PointGoal::origin()),
            other => panic!("no environment for {other}"),
        };
        let task = match &run["task"] {
            Value::Object(parts) if parts.is_empty() => Vec::new(),
            Value::Object(parts) => ["goal", "gap_1", "gap_2"].iter().flat_map(|p| numbers(&parts[*p])).collect(),
            goal => numbers(goal),
        };
        seen.insert(name.to_owned());
        play(&env.unwrap(), &task, &numbers(&run["init_state"]), &run["steps"], |step, _, seen, reward, terminated| {
            near(name, seen, &numbers(&step["obs"]));
            near(name, &[reward], &numbers(&step["reward"]));
            let done = if anywhere {
                // The original looks at the origin, wherever the goal is.
                seen.iter().zip(&task).all(|(x, g)| (x - g).abs() < 0.01)
            } else {
                step["done"].as_bool().unwrap()
            };
            assert_eq!(terminated, done, "{name}");
        });
    }
    assert!(seen.len() >= 6, "{seen:?}");
}

#[test]
fn garages_point() {
    let file = load("point_envs.json");
    // The original's goals and limits of actions are f32.
    let short = |x: f64| f64::from(x as f32);
    for run in items(&file["garage"]) {
        let kwargs = &run["kwargs"];
        let env = PointArena {
            done_bonus: kwargs["done_bonus"].as_f64().unwrap_or(0.0),
            never_done: kwargs["never_done"].as_bool().unwrap_or(false),
            arena_size: kwargs["arena_size"].as_f64().unwrap_or(5.0),
            max_step: short(0.1),
        };
        let (never_done, env) = (env.never_done, EnvDef::new(env).unwrap());
        let goal: Vec<f64> = numbers(&run["goal"]).into_iter().map(short).collect();
        let from: Vec<f64> = env.reset(&goal, [0, 0], 0).unwrap();
        for (got, want) in env.observe(&from, &goal).unwrap().iter().zip(numbers(&run["reset_obs"])) {
            // Recorded as f32.
            assert!((got - want).abs() <= 1e-6, "{got} instead of {want}");
        }
        play(&env, &goal, &from, &run["steps"], |step, _, seen, reward, terminated| {
            near("garage", seen, &numbers(&step["obs"]));
            near("garage", &[reward], &numbers(&step["reward"]));
            assert_eq!(terminated, step["success"].as_bool().unwrap() && !never_done);
            assert_eq!(terminated, step["step_type"].as_u64() == Some(2));
        });
    }
}

/// The original leaves it to a wrapper to limit actions.
const ANY: f64 = 1e9;

#[test]
fn oysters_points() {
    let file = load("point_envs.json");
    let mut sparse_runs = 0;
    for run in items(&file["oyster"]) {
        let (goal, from) = (numbers(&run["goal"]), numbers(&run["init_state"]));
        let sparse = run["env"].as_str().unwrap().starts_with("sparse");
        let env = if sparse {
            EnvDef::new(PointHalfCircle { max_step: ANY, ..PointHalfCircle::dense() })
        } else {
            EnvDef::new(PointGoal { max_step: ANY, ..PointGoal::robot() })
        };
        play(&env.unwrap(), &goal, &from, &run["steps"], |step, _, seen, reward, terminated| {
            near("oyster", seen, &numbers(&step["obs"]));
            near("oyster", &[reward], &numbers(&step["reward"]));
            assert_eq!(terminated, step["done"].as_bool().unwrap());
        });
        if sparse {
            sparse_runs += 1;
            let env = EnvDef::new(PointHalfCircle { max_step: ANY, ..PointHalfCircle::default() }).unwrap();
            play(&env, &goal, &from, &run["steps"], |step, _, _, reward, _| {
                near("oyster, sparse", &[reward], &numbers(&step["sparse_reward"]));
            });
        }
    }
    assert!(sparse_runs > 0);
}
