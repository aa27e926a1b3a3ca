//! Meta-World's benchmarks, in a Python that has it: `scripts/check-metaworld.sh` makes one and runs these tests alone.

use std::path::PathBuf;
use std::process::Command;

use quickstudy_bridge::{Options, Recipe};
use quickstudy_core::host::{Chance, EnvPlace, Executor, FleetSize};
use quickstudy_tests::process::Sandbox;

use crate::{SAID, keys};

/// Environment variable: the interpreter of a virtual environment with Meta-World.
const METAWORLD: &str = "QUICKSTUDY_TEST_METAWORLD";

fn interpreter() -> PathBuf {
    std::env::var_os(METAWORLD).map(PathBuf::from).expect("scripts/check-metaworld.sh names the interpreter")
}

fn place(name: &str, workers: usize) -> quickstudy_core::Result<EnvPlace> {
    let say = |line: &str| SAID.with_borrow_mut(|lines| lines.push(line.to_owned()));
    let options = Options { python: Some(interpreter()), workers: Some(workers), say, ..Options::default() };
    Recipe::parse(&format!("metaworld:{name}"), &options).and_then(Recipe::place)
}

fn executor(place: &EnvPlace, tasks: usize, held_out: bool) -> Box<dyn Executor> {
    let EnvPlace::Host(host) = place else { panic!("on the host") };
    let size = FleetSize { tasks, envs_per_task: 1, horizon: 500 };
    if held_out { host.held_out_executor(size).unwrap() } else { host.executor(size).unwrap() }
}

fn drawn(executor: &mut dyn Executor, count: u32) -> Vec<Vec<f64>> {
    let chances: Vec<Chance> = (0..count).map(|element| Chance { key: [3, 4], element }).collect();
    pollster::block_on(executor.sample_tasks(&chances)).unwrap()
}

/// First observations and those after each of these actions, which all environments get.
fn played(executor: &mut dyn Executor, tasks: &[Vec<f64>], steps: u32) -> Vec<Vec<f64>> {
    let envs = tasks.len();
    pollster::block_on(executor.set_tasks(tasks)).unwrap();
    let mut all = vec![pollster::block_on(executor.reset(&keys(envs, 0))).unwrap()];
    for step in 1..=steps {
        let action = [0.5, -0.5, 0.25, 1.0].repeat(envs);
        let stepped = pollster::block_on(executor.step(&action, &keys(envs, step))).unwrap();
        all.push([stepped.observations, stepped.rewards, stepped.info].concat());
    }
    all
}

#[test]
#[ignore = "needs Python with Meta-World: scripts/check-metaworld.sh"]
fn tasks_are_those_of_the_benchmark() {
    let place = place("ML1-reach?seed=1&standardise=false", 2);
    let place = place.unwrap();
    let spec = place.spec();
    assert_eq!((spec.observation.len(), spec.action.dim(), spec.horizon), (39, 4, 500));
    assert_eq!(
        (&spec.classes.as_ref().unwrap().names[..], spec.task.len(), spec.task[1].high),
        (&["reach-v3".to_owned()][..], 2, 100.0)
    );
    // Meta-World itself: two tasks of training and one of tests.
    let source = "
import metaworld, json
benchmark = metaworld.ML1('reach-v3', seed=1)
out = []
for task in [benchmark.train_tasks[0], benchmark.train_tasks[7], benchmark.test_tasks[3]]:
    env = benchmark.train_classes['reach-v3']()
    env.set_task(task)
    rows = [env.reset()[0].tolist()]
    for _ in range(3):
        seen, reward, _, _, info = env.step([0.5, -0.5, 0.25, 1.0])
        rows.append(seen.tolist() + [reward, info['success']])
    out.append(rows)
print(json.dumps(out))";
    let done =
        Command::new(std::env::var_os(METAWORLD).unwrap()).args(["-W", "ignore", "-c", source]).output().unwrap();
    let theirs: Vec<Vec<Vec<f64>>> = serde_json::from_slice(&done.stdout).unwrap();
    let tasks = [vec![0.0, 0.0], vec![0.0, 7.0], vec![0.0, 53.0]];
    let mut executor = executor(&place, 3, false);
    for _ in 0..2 {
        // Also after other tasks: the same task is the same episode.
        let ours = played(&mut *executor, &tasks, 3);
        for (env, theirs) in theirs.iter().enumerate() {
            for (step, theirs) in theirs.iter().enumerate() {
                let row = &ours[step];
                let own = row[39 * env..39 * (env + 1)].to_vec();
                let rest = if step == 0 { vec![] } else { vec![row[39 * 3 + env], row[39 * 3 + 3 + env]] };
                assert_eq!([own, rest].concat(), *theirs, "environment {env}, step {step}");
            }
        }
        played(&mut *executor, &[vec![0.0, 9.0], vec![0.0, 1.0], vec![0.0, 2.0]], 2);
    }
}

#[test]
#[ignore = "needs Python with Meta-World: scripts/check-metaworld.sh"]
fn held_out_tasks_are_never_trained_on() {
    let place = place("ML1-reach", 1);
    let place = place.unwrap();
    let goals = |held_out: bool| {
        let tasks = drawn(&mut *executor(&place, 2, held_out), 50);
        let mut goals: Vec<usize> = tasks.iter().map(|task| task[1] as usize).collect();
        goals.sort_unstable();
        goals
    };
    assert_eq!((goals(false), goals(true)), ((0..50).collect(), (50..100).collect()));
}

#[test]
#[ignore = "needs Python with Meta-World: scripts/check-metaworld.sh"]
fn classes_of_ml10_keep_their_places() {
    let place = place("ML10", 2);
    let place = place.unwrap();
    let classes = &place.spec().classes.as_ref().unwrap().names;
    assert_eq!((classes.len(), classes[0].as_str(), classes[10].as_str()), (15, "reach-v3", "drawer-open-v3"));
    let mut train = executor(&place, 20, false);
    let tasks = drawn(&mut *train, 20);
    assert!(tasks.iter().enumerate().all(|(i, task)| task[0] == (i % 10) as f64 && task[1] < 50.0), "{tasks:?}");
    let first = played(&mut *train, &tasks, 2);
    assert_eq!(first[0].len(), 20 * 39);
    let tasks = drawn(&mut *executor(&place, 5, true), 5);
    assert!(tasks.iter().enumerate().all(|(i, task)| task[0] == (10 + i) as f64), "{tasks:?}");
}

#[test]
#[ignore = "needs Python with Meta-World: scripts/check-metaworld.sh"]
fn many_tasks_at_once_have_their_class_among_what_is_seen() {
    let place = place("MT10?one_hot=true&reward_scale=0.1", 2);
    let place = place.unwrap();
    assert_eq!((place.spec().observation.len(), place.spec().task.len()), (49, 0));
    let mut executor = executor(&place, 10, false);
    let seen = played(&mut *executor, &vec![Vec::new(); 10], 1);
    for env in 0..10 {
        let row = &seen[0][49 * env..49 * (env + 1)];
        assert_eq!(row[39..].iter().position(|x| *x == 1.0), Some(env));
        assert!(row[36..39].iter().any(|x| *x != 0.0), "the goal is seen");
    }
    assert!(seen[1][490..500].iter().all(|reward| (0.0..=1.0).contains(reward)));
}

#[test]
#[ignore = "needs Python with Meta-World: scripts/check-metaworld.sh"]
fn wrong_names_say_what_there_is() {
    for (name, part) in [
        ("ML1", "ML1-reach"),
        ("ML1-reech", "did you mean reach-v3?"),
        ("ML11", "there are ML1-TASK"),
        ("ML10?horizon=5", "there is no argument `horizon`; there are seed"),
        ("ML10?max_episode_steps=501", "expected 1 to 500"),
    ] {
        let place = place(name, 1);
        let error = place.unwrap_err().to_string();
        assert!(error.contains(part) && error.contains(name), "{error}");
    }
}

#[test]
#[ignore = "needs Python with Meta-World: scripts/check-metaworld.sh"]
fn a_policy_learns_to_learn_and_is_tested_by_class() {
    let python = interpreter();
    let python = python.to_string_lossy().into_owned();
    let dir = Sandbox::new(env!("CARGO_BIN_EXE_quickstudy-under-test"));
    let env = "metaworld:ML10?max_episode_steps=20&reward_scale=0.1";
    let train = format!(
        "train rl2-ppo --env {env} --steps 800 --set meta_batch=10 --set units=8 --set minibatches=1 --eval-every 400 \
         --n-test-tasks 5 --n-exploration-eps 1 --out run --python {python}"
    );
    let done = dir.run(&train);
    assert_eq!(done.code, Some(0), "{done:?}");
    let metrics = std::fs::read_to_string(dir.join("run/metrics.csv")).unwrap();
    for column in ["MetaTest/drawer-open-v3/SuccessRate", "MetaTest/Average/SuccessAtEndRate"] {
        assert!(metrics.lines().next().unwrap().contains(column), "{column}: {metrics}");
    }
    let done = dir.run(&format!("adapt run --tasks 5 --python {python}"));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("door-close-v3") && done.out.contains("at the end"), "{}", done.out);
}
