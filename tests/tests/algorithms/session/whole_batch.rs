//! An executor of one's own that steps its whole batch in one call trains what environments made one by one train.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quickstudy_core::backend::LocalFuture;
use quickstudy_core::env::{ActionSpace, Dim, EnvSpec};
use quickstudy_core::host::{Chance, EnvPlace, Executor, Fleet, FleetSize, HostEnv, SUCCESS, Stepped, Transition};
use quickstudy_core::rng::Key;
use quickstudy_core::train::Session;
use quickstudy_core::{Error, Result};
use quickstudy_tests::crafted::Crafted;
use quickstudy_tests::trainings::{restored, training_on, wait};

const SEEDS: [u64; 2] = [3, 4];
/// A cart that is pushed along a track, in gusts of wind, to a flag. It may leave the track.
fn spec(tasks: bool) -> EnvSpec {
    let observation = vec![Dim::new("place", -1.0, 1.0), Dim::unbounded("speed")];
    let action = ActionSpace::continuous(vec![Dim::new("push", -1.0, 1.0)]);
    let spec = EnvSpec::new("cart", observation, action, 30);
    if tasks { spec.task(vec![Dim::new("flag", -0.8, 0.8)]) } else { spec }
}

/// The place of the flag, if it is no task.
const FLAG: f64 = 0.5;

/// One cart. All carts together count the calls of `step`.
struct Cart {
    spec: EnvSpec,
    info: [String; 1],
    flag: f64,
    place: f64,
    speed: f64,
    calls: Arc<AtomicU64>,
}

impl HostEnv for Cart {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }
    fn info(&self) -> &[String] {
        &self.info
    }
    fn set_task(&mut self, task: &[f64]) -> Result<()> {
        self.flag = task[0];
        Ok(())
    }
    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
        (self.place, self.speed) = (chance.rng().uniform() - 0.5, 0.0);
        Ok(vec![self.place, self.speed])
    }
    fn step(&mut self, action: &[f64], chance: Chance) -> Result<Transition> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let gust = chance.rng().uniform() - 0.5;
        self.speed = (self.speed + 0.2 * (action[0] + gust)).clamp(-1.0, 1.0);
        self.place += 0.25 * self.speed;
        let off = (self.place - self.flag).abs();
        Ok(Transition {
            observation: vec![self.place, self.speed],
            reward: -off,
            terminated: self.place.abs() > 1.0,
            truncated: false,
            info: vec![f64::from(u8::from(off < 0.1))],
        })
    }
    fn save(&self) -> Option<Vec<u8>> {
        Some([self.flag, self.place, self.speed].iter().flat_map(|x| x.to_le_bytes()).collect())
    }
    fn restore(&mut self, state: &[u8]) -> Result<()> {
        let numbers: Vec<f64> = state.as_chunks().0.iter().map(|x| f64::from_le_bytes(*x)).collect();
        [self.flag, self.place, self.speed] = numbers.try_into().unwrap();
        Ok(())
    }
}

/// All carts of a fleet, as a structure of arrays. Its numbers are those of [`Cart`]s.
struct Carts {
    fleet: Fleet,
    /// The flag of each group.
    flags: Vec<f64>,
    places: Vec<f64>,
    speeds: Vec<f64>,
    /// Steps of each running episode.
    steps: Vec<usize>,
    calls: Rc<Cell<u64>>,
}

impl Carts {
    fn new(spec: &EnvSpec, size: FleetSize, calls: Rc<Cell<u64>>) -> Result<Carts> {
        let FleetSize { tasks, envs_per_task, horizon } = size;
        let fleet = Fleet::of(spec.clone(), vec![SUCCESS.to_owned()], tasks, envs_per_task, horizon)?;
        let n = fleet.num_envs();
        Ok(Carts {
            fleet,
            flags: vec![FLAG; tasks],
            places: vec![0.0; n],
            speeds: vec![0.0; n],
            steps: vec![0; n],
            calls,
        })
    }

    /// A random number for each cart.
    fn draws(&self, keys: &[Key]) -> Vec<f64> {
        let of_group = |key: &Key| {
            let key = *key;
            (0..self.fleet.envs_per_task as u32).map(move |element| Chance { key, element }.rng().uniform())
        };
        keys.iter().flat_map(of_group).collect()
    }

    fn observations(&self) -> Vec<f64> {
        self.places.iter().zip(&self.speeds).flat_map(|(place, speed)| [*place, *speed]).collect()
    }
}

impl Executor for Carts {
    fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    fn sample_tasks<'a>(&'a mut self, chances: &'a [Chance]) -> LocalFuture<'a, Result<Vec<Vec<f64>>>> {
        let draw = |chance: &Chance| {
            let mut rng = chance.rng();
            self.fleet.spec.task.iter().map(|dim| dim.low + (dim.high - dim.low) * rng.uniform()).collect()
        };
        let tasks = chances.iter().map(draw).collect();
        Box::pin(async { Ok(tasks) })
    }

    fn set_tasks<'a>(&'a mut self, tasks: &'a [Vec<f64>]) -> LocalFuture<'a, Result<()>> {
        Box::pin(async move {
            self.fleet.expect_tasks(tasks)?;
            self.flags = tasks.iter().map(|task| task[0]).collect();
            Ok(())
        })
    }

    fn reset<'a>(&'a mut self, keys: &'a [Key]) -> LocalFuture<'a, Result<Vec<f64>>> {
        Box::pin(async move {
            self.places = self.draws(keys).into_iter().map(|x| x - 0.5).collect();
            self.speeds.fill(0.0);
            self.steps.fill(0);
            Ok(self.observations())
        })
    }

    fn step<'a>(&'a mut self, actions: &'a [f64], keys: &'a [Key]) -> LocalFuture<'a, Result<Stepped>> {
        Box::pin(async move {
            self.fleet.expect_step(actions, keys)?;
            self.calls.set(self.calls.get() + 1);
            let draws = self.draws(keys);
            for ((speed, push), draw) in self.speeds.iter_mut().zip(actions).zip(&draws) {
                *speed = (*speed + 0.2 * (push + (draw - 0.5))).clamp(-1.0, 1.0);
            }
            self.places.iter_mut().zip(&self.speeds).for_each(|(place, speed)| *place += 0.25 * speed);
            self.steps.iter_mut().for_each(|steps| *steps += 1);
            let flag = |number: usize| self.flags[number / self.fleet.envs_per_task];
            let off: Vec<f64> = self.places.iter().enumerate().map(|(n, place)| (place - flag(n)).abs()).collect();
            let terminated: Vec<bool> = self.places.iter().map(|place| place.abs() > 1.0).collect();
            let late = |(ended, steps): (&bool, &usize)| !ended && *steps >= self.fleet.horizon;
            let truncated: Vec<bool> = terminated.iter().zip(&self.steps).map(late).collect();
            let (last_observations, lengths) = (self.observations(), self.steps.clone());
            // The next episode begins by the random numbers of the step that ended the one before.
            for number in (0..draws.len()).filter(|number| terminated[*number] || truncated[*number]) {
                self.places[number] = draws[number] - 0.5;
                (self.speeds[number], self.steps[number]) = (0.0, 0);
            }
            Ok(Stepped {
                observations: self.observations(),
                last_observations,
                rewards: off.iter().map(|off| -off).collect(),
                info: off.iter().map(|off| f64::from(u8::from(*off < 0.1))).collect(),
                terminated,
                truncated,
                lengths,
            })
        })
    }

    fn save(&self) -> LocalFuture<'_, Result<Option<Vec<Vec<u8>>>>> {
        let each = self.fleet.envs_per_task;
        let of_group = |(group, flag): (usize, &f64)| {
            let carts = group * each..(group + 1) * each;
            let steps = self.steps[carts.clone()].iter().map(|steps| *steps as f64);
            let numbers = self.places[carts.clone()].iter().chain(&self.speeds[carts]).copied().chain(steps);
            std::iter::once(*flag).chain(numbers).flat_map(f64::to_le_bytes).collect()
        };
        let groups = self.flags.iter().enumerate().map(of_group).collect();
        Box::pin(async { Ok(Some(groups)) })
    }

    fn restore<'a>(&'a mut self, groups: &'a [Vec<u8>]) -> LocalFuture<'a, Result<()>> {
        Box::pin(async move {
            self.fleet.expect("saved groups", groups.len(), self.fleet.tasks)?;
            let each = self.fleet.envs_per_task;
            for (group, bytes) in groups.iter().enumerate() {
                let numbers: Vec<f64> = bytes.as_chunks().0.iter().map(|x| f64::from_le_bytes(*x)).collect();
                if numbers.len() != 1 + 3 * each {
                    return Err(Error::Snapshot("no state of carts".to_owned()));
                }
                self.flags[group] = numbers[0];
                for cart in 0..each {
                    let number = group * each + cart;
                    self.places[number] = numbers[1 + cart];
                    self.speeds[number] = numbers[1 + each + cart];
                    self.steps[number] = numbers[1 + 2 * each + cart] as usize;
                }
            }
            Ok(())
        })
    }
}

/// Carts one by one, with a count of the steps that they make.
fn one_by_one(tasks: bool) -> (EnvPlace, Arc<AtomicU64>) {
    let calls = Arc::new(AtomicU64::new(0));
    let counter = calls.clone();
    let make = move |_| -> Result<Box<dyn HostEnv>> {
        let (info, calls) = ([SUCCESS.to_owned()], counter.clone());
        Ok(Box::new(Cart { spec: spec(tasks), info, flag: FLAG, place: 0.0, speed: 0.0, calls }))
    };
    (EnvPlace::of_envs(make).unwrap(), calls)
}

/// All carts at once, with a count of the calls.
fn all_at_once(tasks: bool) -> (EnvPlace, Rc<Cell<u64>>) {
    let calls = Rc::new(Cell::new(0));
    let (spec, counter) = (spec(tasks), calls.clone());
    let place = EnvPlace::host(spec.clone(), move |size| Ok(Box::new(Carts::new(&spec, size, counter.clone())?)));
    (place, calls)
}

fn snapshots(session: &Session) -> Vec<Vec<u8>> {
    let all = wait(session.snapshots());
    (0..SEEDS.len()).map(|seed| wait(all.encode(seed))).collect()
}

/// A snapshot but for the checksum, and for the episodes that iterations continue: each executor saves them in its own
/// way.
fn without_episodes(bytes: &[u8], continued: bool) -> (String, Vec<(String, Vec<u8>)>) {
    let Crafted { header, mut tensors } = Crafted::read(bytes);
    assert_eq!(tensors.remove("environment.host").is_some(), continued);
    let (header, _) = header.split_once("\"checksum\"").unwrap();
    (header.to_owned(), tensors.into_iter().map(|(name, (.., bytes))| (name, bytes)).collect())
}

#[test]
fn an_executor_that_steps_its_whole_batch_in_one_call_trains_what_environments_one_by_one_train() {
    let ppo = "hidden = [8]\nenvs = 3\nhorizon = 16\nminibatches = 2\nnormalise_observations = true";
    let sac = "hidden = [8]\nenvs = 3\nbatch_size = 8\nlearning_starts = 40\niteration_steps = 20";
    let promp = "hidden = [8]\nmeta_batch = 3\nrollouts = 2\nhorizon = 20";
    let rl2 = "units = 8\nmeta_batch = 4\nminibatches = 2";
    // The steps of all environments in an iteration, if each has as many.
    for (algorithm, settings, tasks, each) in [
        ("ppo", ppo, false, Some(16)),
        ("sac", sac, false, Some(20)),
        ("promp", promp, true, None),
        ("rl2-ppo", rl2, true, None),
    ] {
        let (single, steps) = one_by_one(tasks);
        let (whole, calls) = all_at_once(tasks);
        let mut single = training_on(algorithm, single).seeds(&SEEDS).steps(4000).set(settings).session();
        let mut session = training_on(algorithm, whole.clone()).seeds(&SEEDS).steps(4000).set(settings).session();
        let envs = session.setup().fitted().fleet(SEEDS.len());
        let envs = (envs.tasks * envs.envs_per_task) as u64;
        let iterations =
            |session: &mut Session| (0..3).map(|_| format!("{:?}", wait(session.step()))).collect::<Vec<_>>();
        let same = |single: &Session, session: &Session| {
            for (single, whole) in snapshots(single).iter().zip(&snapshots(session)) {
                assert!(without_episodes(single, !tasks) == without_episodes(whole, !tasks), "{algorithm}");
            }
        };
        assert_eq!(iterations(&mut single), iterations(&mut session), "{algorithm}");
        same(&single, &session);
        // Each call steps all environments.
        assert!(calls.get() > 0 && steps.load(Ordering::Relaxed) == calls.get() * envs, "{algorithm}");
        if let Some(each) = each {
            assert_eq!(calls.get(), 3 * each, "{algorithm}");
        }
        let saved = snapshots(&session);
        let mut again = restored(whole, &saved);
        assert!(!again.begins_anew() && snapshots(&again) == saved, "{algorithm}");
        let rows = [&mut single, &mut session, &mut again].map(iterations);
        assert!(rows[0] == rows[1] && rows[1] == rows[2], "{algorithm}");
        same(&single, &session);
        assert!(snapshots(&session) == snapshots(&again), "{algorithm}, resumed");
    }
}
