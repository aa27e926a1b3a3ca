//! Snapshots whose checksum is right and whose running episodes of the host cannot be: they are refused as they are
//! read, or by the environments that get them, and nothing panics.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::backend::LocalFuture;
use quickstudy_core::env::builtin;
use quickstudy_core::host::{
    Chance, EnvPlace, Executor, Fleet, FleetSize, HostEnv, IterativeExecutor, OneOf, Stepped, TaskPerEpisode, Wrapped,
};
use quickstudy_core::rng::Key;
use quickstudy_core::train::{Saved, Session, joined};
use quickstudy_core::{Device, Error, Result};
use quickstudy_tests::crafted::Crafted;
use quickstudy_tests::hosted::hosted;
use quickstudy_tests::trainings::{steps, training_on, wait};
use safetensors::tensor::Dtype;

const EPISODES: &str = "environment.host";
const PPO: &str = "hidden = [4]\nenvs = 2\nhorizon = 8\nminibatches = 1";
const SVPG: &str = "hidden = [4]\nenvs = 2\nhorizon = 8\nnum_particles = 3";
const PROMP: &str = "hidden = [4]\nmeta_batch = 2\nrollouts = 2\nhorizon = 5";
const DQN: &str = "hidden = [4]\nmemory_size = 24\nbatch_size = 4\nlearning_starts = 8\niteration_steps = 16";
fn trained(algorithm: &str, place: EnvPlace, settings: &str, seed: u64, iterations: usize) -> Session {
    let mut session = training_on(algorithm, place).seeds(&[seed]).steps(4096).set(settings).session();
    steps(&mut session, iterations);
    session
}

fn snapshot(session: &Session) -> Crafted {
    Crafted::read(&wait(session.snapshot(0)))
}

/// The file with other episodes.
fn with(file: &Crafted, episodes: Vec<u8>) -> Crafted {
    let mut file = file.clone();
    file.tensors.insert(EPISODES.to_owned(), (Dtype::U8, vec![episodes.len()], episodes));
    file
}

/// The file with another word at this place among the words of its episodes.
fn word(file: &Crafted, at: usize, word: u64) -> Crafted {
    let mut episodes = file.tensors[EPISODES].2.clone();
    episodes[8 * at..][..8].copy_from_slice(&word.to_le_bytes());
    with(file, episodes)
}

fn restored(place: &EnvPlace, files: &[&Crafted]) -> Result<Session> {
    let files: Vec<Vec<u8>> = files.iter().map(|file| file.bytes()).collect();
    Session::restore_with(&Device::cpu(1), place.clone(), &files.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// The problem with which reading the files ends.
#[track_caller]
fn refused(place: &EnvPlace, files: &[&Crafted]) -> String {
    match restored(place, files) {
        Err(Error::Snapshot(problem)) => {
            let (before, after) = ("the tensor `environment.host` ", "; resume another snapshot of the run");
            let problem = problem.strip_prefix(before).and_then(|problem| problem.strip_suffix(after));
            problem.expect("it says what and what to do").to_owned()
        }
        other => panic!("{:?}", other.map(|_| ())),
    }
}

#[test]
fn forged_episodes_are_refused_when_the_snapshot_is_read() {
    // An observation has 4 numbers. The words: the length of the only group; 1 + 8 of all observations; of each
    // environment its steps, 1 + 4 of its observation, 2 of no task, and its own state.
    let place = hosted(&builtin("cartpole").unwrap());
    let file = snapshot(&trained("ppo", place.clone(), PPO, 3, 1));
    let episodes = file.tensors[EPISODES].2.clone();
    assert!(restored(&place, &[&file]).is_ok());
    let is = |file: Crafted, problem: &str| assert_eq!(refused(&place, &[&file]), problem);
    let mut other = file.clone();
    other.tensors.insert(EPISODES.to_owned(), (Dtype::F32, vec![episodes.len() / 4], episodes.clone()));
    is(other.clone(), &format!("is [{}] F32 instead of bytes", episodes.len() / 4));
    other.tensors.insert(EPISODES.to_owned(), (Dtype::U8, vec![2, episodes.len() / 2], episodes.clone()));
    is(other, &format!("is [2, {}] U8 instead of bytes", episodes.len() / 2));
    is(with(&file, Vec::new()), "has 0 groups of environments, and these settings play 1");
    is(with(&file, episodes.repeat(3)), "has 3 groups of environments, and these settings play 1");
    is(word(&file, 0, u64::MAX), "is cut off");
    is(word(&file, 1, u64::MAX), "is cut off in group 0");
    is(word(&file, 1, 7), "has 7 observed numbers in group 0, and 2 environments observe 8");
    is(word(&file, 4, f64::INFINITY.to_bits()), "holds inf among the observations of group 0");
    let of_0 = |problem: &str| format!("cannot be: in group 0, its environment 0 {problem}");
    is(word(&file, 10, 0), &of_0("is in no episode"));
    is(word(&file, 10, 501), &of_0("has made 500 steps of a running episode, which ends after 500"));
    let many = format!("has made {} steps of a running episode, which ends after 500", u64::MAX - 1);
    is(word(&file, 10, u64::MAX), &of_0(&many));
    is(word(&file, 11, 3), &of_0("is damaged"));
    is(word(&file, 12, f64::NAN.to_bits()), &of_0("has NaN in its observation"));
    is(word(&file, 16, 2), &of_0("is damaged"));
    is(word(&file, 17, 1), &of_0("is damaged"));
    // A byte of the group too many.
    let mut longer = episodes.clone();
    longer.push(0);
    let group = (episodes.len() - 8 + 1) as u64;
    is(word(&with(&file, longer), 0, group), "cannot be: in group 0, it has 1 bytes behind its last environment");
    // Each length.
    for len in 0..episodes.len() {
        refused(&place, &[&with(&file, episodes[..len].to_vec())]);
    }
    // Each length of the group, whose own length says so.
    for len in (0..episodes.len() - 8).step_by(5) {
        refused(&place, &[&word(&with(&file, episodes[..8 + len].to_vec()), 0, len as u64)]);
    }
}

/// Each word is made the largest, which is no length, no count and, as a number, NaN.
#[test]
fn a_forged_word_is_refused_at_once_or_by_the_environment_that_gets_it() {
    let one_of = |_| -> Result<Box<dyn HostEnv>> {
        let envs = ["point-corner"; 2].map(|name| Box::new(Wrapped::new(&builtin(name).unwrap())) as _);
        Ok(Box::new(TaskPerEpisode::new(OneOf::new("two", envs.into(), false)?)))
    };
    for (algorithm, place, settings) in [
        ("ppo", hosted(&builtin("cartpole").unwrap()), PPO),
        ("dqn", hosted(&builtin("cartpole").unwrap()), DQN),
        ("svpg", hosted(&builtin("cartpole").unwrap()), SVPG),
        ("ppo", EnvPlace::of_envs(one_of).unwrap(), PPO),
    ] {
        let name = place.spec().name.clone();
        let file = snapshot(&trained(algorithm, place.clone(), settings, 3, 1));
        let (mut at_once, mut late) = (0, 0);
        for at in 0..file.tensors[EPISODES].2.len() / 8 {
            match restored(&place, &[&word(&file, at, u64::MAX)]) {
                Err(Error::Snapshot(problem)) => {
                    at_once += 1;
                    assert!(problem.contains("`environment.host`") && problem.contains("resume another"), "{problem}");
                }
                Err(other) => panic!("{name}, word {at}: {other}"),
                Ok(mut session) => {
                    late += 1;
                    let error = pollster::block_on(session.step()).unwrap_err().to_string();
                    let begins = format!("environment {name}: cannot go back to the episode of the snapshot: number ");
                    let said = error.starts_with(&begins) && error.contains(", restore: ");
                    assert!(said && error.contains("; resume another snapshot, or with"), "word {at}: {error}");
                    // No new episodes begin unasked.
                    assert!(pollster::block_on(session.step()).is_err(), "{name}, word {at}");
                }
            }
        }
        assert!(at_once > 10 && late > 3, "{name}: {at_once} and {late}");
    }
}

/// Other seeds may play longer, so that it depends on them where its environments are after an iteration.
#[test]
fn episodes_that_no_iteration_continues_are_not_saved() {
    let place = hosted(&builtin("point-arena").unwrap());
    let file = snapshot(&trained("promp", place.clone(), PROMP, 3, 1));
    assert!(!file.tensors.contains_key(EPISODES));
    // An earlier version has saved them.
    let mut session = restored(&place, &[&with(&file, vec![7])]).unwrap();
    assert!(wait(session.snapshot(0)) == file.bytes());
    wait(session.step());
    assert!(snapshot(&session).bytes() == snapshot(&trained("promp", place, PROMP, 3, 2)).bytes());
}

#[test]
fn episodes_of_seeds_that_wait_are_checked_as_well() {
    let place = hosted(&builtin("cartpole").unwrap());
    let [first, later] = [(3, 1), (4, 2)].map(|(seed, made)| snapshot(&trained("ppo", place.clone(), PPO, seed, made)));
    assert!(restored(&place, &[&first, &later]).is_ok());
    let is = "cannot be: in group 0, its environment 0 is in no episode";
    assert_eq!(refused(&place, &[&first, &word(&later, 10, 0)]), is);
    assert_eq!(refused(&place, &[&word(&first, 10, 0), &later]), is);
}

#[test]
fn a_snapshot_in_parts_is_checked_before_its_segments_are_read() {
    let place = hosted(&builtin("cartpole").unwrap());
    let session = trained("dqn", place.clone(), DQN, 3, 1);
    let all = wait(session.snapshots());
    let mut parts = all.parts(0, &[]).unwrap();
    while wait(parts.rows()).is_some() {}
    let file = Crafted::read(&wait(parts.encode()).0);
    let read = |_: &str, _: u64| -> Result<Vec<u8>> { Err(Error::Snapshot("there are no segments".to_owned())) };
    let problem =
        |file: &Crafted| joined(place.clone(), Saved::in_parts(&file.bytes(), &read)).unwrap_err().to_string();
    assert_eq!(problem(&file), "snapshot: there are no segments");
    assert!(problem(&word(&file, 0, 1)).contains("`environment.host` is cut off"), "{}", problem(&word(&file, 0, 1)));
}

/// An executor that saves nothing and checks nothing.
struct Plain(IterativeExecutor);

impl Executor for Plain {
    fn fleet(&self) -> &Fleet {
        self.0.fleet()
    }
    fn sample_tasks<'a>(&'a mut self, chances: &'a [Chance]) -> LocalFuture<'a, Result<Vec<Vec<f64>>>> {
        self.0.sample_tasks(chances)
    }
    fn set_tasks<'a>(&'a mut self, tasks: &'a [Vec<f64>]) -> LocalFuture<'a, Result<()>> {
        self.0.set_tasks(tasks)
    }
    fn reset<'a>(&'a mut self, keys: &'a [Key]) -> LocalFuture<'a, Result<Vec<f64>>> {
        self.0.reset(keys)
    }
    fn step<'a>(&'a mut self, actions: &'a [f64], keys: &'a [Key]) -> LocalFuture<'a, Result<Stepped>> {
        self.0.step(actions, keys)
    }
}

#[test]
fn an_executor_that_cannot_go_back_says_so() {
    let env = builtin("cartpole").unwrap();
    let file = snapshot(&trained("ppo", hosted(&env), PPO, 3, 1));
    let plain = EnvPlace::host(env.spec().clone(), move |FleetSize { tasks, envs_per_task, horizon }| {
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
        Ok(Box::new(Plain(IterativeExecutor::new(tasks, envs_per_task, horizon, make)?)))
    });
    let mut session = restored(&plain, &[&file]).unwrap();
    let error = pollster::block_on(session.step()).unwrap_err().to_string();
    assert_eq!(
        error,
        "environment cartpole: cannot go back to the episode of the snapshot: program: the executor cannot go back to \
         saved episodes; resume another snapshot, or with the environment's code of when this one was made"
    );
}
