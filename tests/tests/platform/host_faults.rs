//! Environments that panic, hang, fail and return nonsense a hundred times in a run, and the executor that goes on.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use quickstudy_core::env::EnvSpec;
use quickstudy_core::host::{
    Chance, Executor, Faults, HostEnv, ParallelExecutor, Stepped, Tolerance, Transition, Wrapped,
};
use quickstudy_core::{Error, Result};
use quickstudy_tests::toy_env::ToyEnv;
use quickstudy_tests::trainings::{training_on, wait};

/// Long enough that a busy machine lets every thread take part within it.
const PATIENCE: Tolerance = Tolerance { time_limit: Duration::from_millis(400), in_a_row: 3 };

/// The ways in which a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ill {
    Error,
    Panic,
    Short,
    Long,
    NaN,
    Infinite,
    /// Never returns.
    Hang,
    /// Returns long after the limit, with an answer that nobody wants any more.
    Late,
    /// The reset after this step panics; the step itself is the episode's last.
    PanicInReset,
    /// The reset after this step hangs.
    HangInReset,
}

/// An environment whose calls fail by plan.
struct Patient<E> {
    env: E,
    /// Steps of all that have had this number.
    steps: Arc<AtomicUsize>,
    plan: Arc<dyn Fn(usize) -> Option<Ill> + Send + Sync>,
    next_reset: Option<Ill>,
}

fn hang() -> ! {
    loop {
        std::thread::park();
    }
}

impl<E: HostEnv> HostEnv for Patient<E> {
    fn spec(&self) -> &EnvSpec {
        self.env.spec()
    }

    fn info(&self) -> &[String] {
        self.env.info()
    }

    fn set_task(&mut self, task: &[f64]) -> Result<()> {
        self.env.set_task(task)
    }

    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
        match self.next_reset.take() {
            Some(Ill::PanicInReset) => panic!("no second round"),
            Some(_) => hang(),
            None => self.env.reset(chance),
        }
    }

    fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
        let mut stepped = self.env.step(action, chance)?;
        let ill = (self.plan)(self.steps.fetch_add(1, Ordering::Relaxed));
        match ill {
            None => {}
            Some(Ill::Error) => return Err(Error::Program("the simulator is gone".to_owned())),
            Some(Ill::Panic) => panic!("out of cheese"),
            Some(Ill::Short) => stepped.observation.truncate(1),
            Some(Ill::Long) => stepped.info.push(1.0),
            Some(Ill::NaN) => stepped.reward = f64::NAN,
            Some(Ill::Infinite) => stepped.observation[0] = f64::NEG_INFINITY,
            Some(Ill::Hang) => hang(),
            Some(Ill::Late) => {
                std::thread::sleep(3 * PATIENCE.time_limit);
                stepped.reward = 1e9;
            }
            Some(Ill::PanicInReset | Ill::HangInReset) => {
                stepped.terminated = true;
                self.next_reset = ill;
            }
        }
        Ok(stepped)
    }
}

impl<E> Drop for Patient<E> {
    fn drop(&mut self) {
        // Environments that failed may fail once more as they are dropped.
        let steps = self.steps.load(Ordering::Relaxed);
        assert!(steps == 0 || (self.plan)(steps - 1) != Some(Ill::Panic), "not even that");
    }
}

type Plan = fn(number: usize, step: usize) -> Option<Ill>;

/// A maker of environments, each of which goes on with the plan where the one before it in its place failed.
fn ward<E: HostEnv + 'static>(
    count: usize,
    plan: Plan,
    make: impl Fn() -> E + Send + Sync,
) -> impl Fn(usize) -> Result<Box<dyn HostEnv>> + Send + Sync {
    let steps: Vec<Arc<AtomicUsize>> = (0..count).map(|_| Arc::default()).collect();
    move |number| {
        let (steps, plan) = (Arc::clone(&steps[number]), Arc::new(move |step| plan(number, step)));
        Ok(Box::new(Patient { env: make(), steps, plan, next_reset: None }))
    }
}

/// Panics of environments are no news here, and to print where each came from takes longer than they are waited for.
fn quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if std::thread::current().name() != Some("environments") {
                usual(info);
            }
        }));
    });
}

const ENVS: usize = 8;

/// Fifteen faults of each environment, by turns; each number begins elsewhere. Those that hang do so together, which
/// takes no longer.
fn by_turns(number: usize, step: usize) -> Option<Ill> {
    const QUICK: [Ill; 7] = [Ill::Error, Ill::Panic, Ill::Short, Ill::Long, Ill::NaN, Ill::Infinite, Ill::PanicInReset];
    match step {
        3 | 33 | 63 => Some(Ill::Hang),
        18 => Some(Ill::Late),
        48 => Some(Ill::HangInReset),
        step if step % 5 == 1 && step < 47 => Some(QUICK[(step / 5 + number) % QUICK.len()]),
        _ => None,
    }
}

/// One environment without an executor, as it should look from outside.
struct Expected {
    env: ToyEnv,
    seen: Vec<f64>,
    length: usize,
    task: f64,
}

impl Expected {
    fn new(task: f64) -> Expected {
        let mut env = ToyEnv::default();
        env.set_task(&[task]).unwrap();
        let seen = env.reset(Chance { key: [0, 0], element: 0 }).unwrap();
        Expected { env, seen, length: 0, task }
    }

    /// Observation, last observation, reward, terminated, truncated, length and info.
    fn step(&mut self, action: f64, ill: Option<Ill>) -> (Vec<f64>, Vec<f64>, f64, bool, bool, usize, Vec<f64>) {
        let length = self.length + 1;
        let lost = |ill| !matches!(ill, Ill::PanicInReset | Ill::HangInReset);
        if ill.is_some_and(lost) {
            let last = self.seen.clone();
            *self = Expected::new(self.task);
            return (self.seen.clone(), last, 0.0, false, true, length, vec![0.0; 2]);
        }
        let Transition { observation, reward, terminated, info, .. } =
            self.env.step(&[action], Chance { key: [0, 0], element: 0 }).unwrap();
        let terminated = terminated || ill.is_some();
        let truncated = !terminated && length == 7;
        (self.seen, self.length) = (observation.clone(), length);
        if terminated || truncated {
            *self = Expected::new(self.task);
        }
        (self.seen.clone(), observation, reward, terminated, truncated, length, info)
    }
}

#[test]
fn more_than_a_hundred_faults_cost_the_steps_that_they_hit_and_nothing_else() {
    quiet();
    // Beside each other: most of the time goes into waiting for what hangs.
    let with_threads = |threads| {
        // With three threads, two or three environments of the same one hang at a time.
        let make = ward(ENVS, by_turns, ToyEnv::default);
        let mut executor = ParallelExecutor::tolerant(4, 2, 7, threads, PATIENCE, make).unwrap();
        let tasks: Vec<Vec<f64>> = (0..4).map(|task| vec![f64::from(task)]).collect();
        wait(executor.set_tasks(&tasks));
        let keys = [[0, 0]; 4];
        wait(executor.reset(&keys));
        let mut expected: Vec<Expected> = (0..ENVS).map(|number| Expected::new((number / 2) as f64)).collect();
        let mut faults: HashMap<&str, u64> = HashMap::new();
        for step in 0..70 {
            let actions: Vec<f64> = (0..ENVS).map(|number| (step * ENVS + number) as f64 / 100.0).collect();
            let stepped = wait(executor.step(&actions, &keys));
            let Stepped { observations, last_observations, rewards, terminated, truncated, lengths, info } = stepped;
            for number in 0..ENVS {
                let ill = by_turns(number, step);
                let two = 2 * number..2 * number + 2;
                let got = (
                    observations[two.clone()].to_vec(),
                    last_observations[two.clone()].to_vec(),
                    rewards[number],
                    terminated[number],
                    truncated[number],
                    lengths[number],
                    info[two].to_vec(),
                );
                assert_eq!(got, expected[number].step(actions[number], ill), "{number} at {step}: {ill:?}");
                let kind = match ill {
                    None => continue,
                    Some(Ill::Panic | Ill::PanicInReset) => "panicked",
                    Some(Ill::Error) => "failed",
                    Some(Ill::Hang | Ill::Late | Ill::HangInReset) => "hung",
                    Some(_) => "nonsense",
                };
                *faults.entry(kind).or_default() += 1;
            }
        }
        let Faults { panicked, failed, nonsense, hung, died, last } = executor.faults();
        assert_eq!(died, 0, "environments are on threads");
        let counted = [("panicked", panicked), ("failed", failed), ("nonsense", nonsense), ("hung", hung)];
        assert_eq!(HashMap::from(counted), faults);
        assert_eq!((hung, executor.faults().total()), (40, 120));
        let last = last.unwrap().to_string();
        assert!(last.starts_with("environment toy: number "), "{last}");
        assert!(last.ends_with("step: took longer than 400ms"), "{last}");
    };
    std::thread::scope(|scope| {
        for threads in [0, 3] {
            scope.spawn(move || with_threads(threads));
        }
    });
}

#[test]
fn a_run_with_a_hundred_faults_trains_to_its_end() {
    quiet();
    let env = quickstudy_core::env::builtin("cartpole").unwrap();
    let settings = toml::from_str("hidden = [8]\nenvs = 8\nhorizon = 32\nminibatches = 2").unwrap();
    let inner = env.clone();
    // All are on one thread, where those that hang are waited for one after the other.
    let plan: Plan = |number, step| match by_turns(number, step % 100) {
        Some(Ill::Hang | Ill::Late | Ill::HangInReset) if number > 0 => Some(Ill::Error),
        ill => ill,
    };
    let make = ward(ENVS, plan, move || Wrapped::new(&inner));
    let executor = ParallelExecutor::tolerant(1, ENVS, 0, 0, PATIENCE, make).unwrap();
    let counted = Counted(executor, Arc::default());
    let faults = Arc::clone(&counted.1);
    let mut session = training_on("ppo", Box::new(counted)).seeds(&[1]).steps(8 * 32 * 6).with(settings).session();
    while !session.done() {
        let rows = wait(session.step());
        assert!(rows[0].iter().all(|(name, x)| x.is_finite() || name.contains("return")), "{rows:?}");
    }
    assert_eq!(session.env_steps(), 8 * 32 * 6);
    assert!(faults.load(Ordering::Relaxed) >= 100, "{faults:?}");
    wait(session.policy_snapshot(0));
}

/// Passes all on, and tells how many faults there were.
struct Counted(ParallelExecutor, Arc<AtomicUsize>);

impl Executor for Counted {
    fn fleet(&self) -> &quickstudy_core::host::Fleet {
        self.0.fleet()
    }

    fn sample_tasks<'a>(&'a mut self, chances: &'a [Chance]) -> Later<'a, Vec<Vec<f64>>> {
        self.0.sample_tasks(chances)
    }

    fn set_tasks<'a>(&'a mut self, tasks: &'a [Vec<f64>]) -> Later<'a, ()> {
        self.0.set_tasks(tasks)
    }

    fn reset<'a>(&'a mut self, keys: &'a [[u32; 2]]) -> Later<'a, Vec<f64>> {
        self.0.reset(keys)
    }

    fn step<'a>(&'a mut self, actions: &'a [f64], keys: &'a [[u32; 2]]) -> Later<'a, Stepped> {
        self.1.store(self.0.faults().total() as usize, Ordering::Relaxed);
        self.0.step(actions, keys)
    }
}

type Later<'a, T> = quickstudy_core::backend::LocalFuture<'a, Result<T>>;

#[test]
fn an_environment_that_fails_again_and_again_is_the_executors_error_and_the_others_may_go_on() {
    quiet();
    for (ill, problem) in [
        (Ill::Panic, "number 1 (copy 1 of task 0), step: panicked: out of cheese"),
        (Ill::Hang, "number 1 (copy 1 of task 0), step: took longer than 400ms"),
    ] {
        let always: Plan = match ill {
            Ill::Panic => |number, _| (number == 1).then_some(Ill::Panic),
            _ => |number, _| (number == 1).then_some(Ill::Hang),
        };
        let make = ward(2, always, ToyEnv::default);
        let twice = Tolerance { in_a_row: 2, ..PATIENCE };
        let mut executor = ParallelExecutor::tolerant(1, 2, 0, 0, twice, make).unwrap();
        wait(executor.set_tasks(&[vec![9.0]]));
        for round in 1..=2 {
            wait(executor.reset(&[[0, 0]]));
            for _ in 0..2 {
                let stepped = wait(executor.step(&[1.0; 2], &[[0, 0]]));
                assert_eq!(
                    (stepped.truncated, stepped.observations[2..].to_vec()),
                    (vec![false, true], vec![9.0, 0.0])
                );
            }
            let error = pollster::block_on(executor.step(&[1.0; 2], &[[0, 0]])).unwrap_err();
            assert_eq!(error, Error::Environment { name: "toy".into(), problem: problem.into() });
            assert_eq!(executor.faults().total(), 3 * round);
        }
    }
}

#[test]
fn what_makes_environments_may_fail_and_give_others_than_before() {
    quiet();
    let calls = Arc::new(AtomicUsize::new(0));
    let make = move |_| -> Result<Box<dyn HostEnv>> {
        let mut env = ToyEnv::default();
        match calls.fetch_add(1, Ordering::Relaxed) {
            0 => return Ok(Box::new(ToyEnv::failing(Some(quickstudy_tests::toy_env::Fault::Error)))),
            1 => return Err(Error::Program("no licence left".to_owned())),
            2 => hang(),
            3 => panic!("no memory"),
            4 => env.spec.dt += 1.0,
            _ => {}
        }
        Ok(Box::new(env))
    };
    let five = Tolerance { in_a_row: 5, ..PATIENCE };
    let mut executor = ParallelExecutor::tolerant(1, 1, 0, 0, five, make).unwrap();
    wait(executor.set_tasks(&[vec![3.0]]));
    wait(executor.reset(&[[0, 0]]));
    wait(executor.step(&[1.0], &[[0, 0]]));
    let stepped = wait(executor.step(&[1.0], &[[0, 0]]));
    assert_eq!((stepped.last_observations, stepped.observations), (vec![4.0, 1.0], vec![3.0, 0.0]));
    let Faults { panicked, failed, nonsense, hung, .. } = executor.faults();
    assert_eq!((panicked, failed, nonsense, hung), (1, 3, 0, 1));
    // A task that an environment refuses is the caller's error, not the environment's.
    let refuse = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Picky(ToyEnv::default()))) };
    let mut executor = ParallelExecutor::tolerant(1, 1, 0, 0, five, refuse).unwrap();
    let error = pollster::block_on(executor.set_tasks(&[vec![3.0]])).unwrap_err().to_string();
    assert!(error.ends_with("set_task: not that one"), "{error}");
    assert_eq!(executor.faults(), Faults::default());
    let never = Tolerance { time_limit: Duration::ZERO, in_a_row: 1 };
    let error = ParallelExecutor::tolerant(1, 1, 0, 0, never, refuse).map(|_| ()).unwrap_err().to_string();
    assert_eq!(error, "time_limit: no call can be made in no time; give more than zero");
}

struct Picky(ToyEnv);

impl HostEnv for Picky {
    fn spec(&self) -> &EnvSpec {
        self.0.spec()
    }

    fn info(&self) -> &[String] {
        self.0.info()
    }

    fn set_task(&mut self, _task: &[f64]) -> Result<()> {
        Err(Error::Environment { name: "toy".to_owned(), problem: "not that one".to_owned() })
    }

    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
        self.0.reset(chance)
    }

    fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
        self.0.step(action, chance)
    }
}
