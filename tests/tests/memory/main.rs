//! The bytes that training, saving, resuming and adaptation take from the heap, against those that are added up before.
//!
//! These have a program of their own, whose allocator counts.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests may panic")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use peak_alloc::PeakAlloc;
use pollster::block_on;
use quickstudy_core::algo::{AlgorithmDef, Family};
use quickstudy_core::env::builtin;
use quickstudy_core::train::{Evaluator, MetaTest, Own, Saved, Session, Setup, Snapshots, algorithm};
use quickstudy_core::{Device, Error};
use quickstudy_tests::every::of_tier;
use quickstudy_tests::trainings::{training, training_on};
use toml::Table;

#[global_allocator]
static HEAP: PeakAlloc = PeakAlloc;

/// Keeps other tests away while one counts.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most bytes that are allocated at once by some work, beside those that are already.
fn peak<T>(work: impl FnOnce() -> T) -> (T, u64) {
    HEAP.reset_peak_usage();
    let before = HEAP.current_usage();
    let made = work();
    (made, (HEAP.peak_usage() - before) as u64)
}

/// Lists of addresses, names and numbers, which nobody adds up.
const SMALL: u64 = 100_000;

fn named(name: &str, settings: &str, seeds: &[u64]) -> Setup {
    setup(algorithm(name).unwrap(), settings, seeds)
}

fn setup(def: &'static AlgorithmDef, settings: &str, seeds: &[u64]) -> Setup {
    let names = if def.family == Family::SingleTask { ["cartpole", "pendulum"] } else { ["point-corner", "bandit"] };
    let fits = |name: &&str| def.fit(&Table::new(), builtin(name).unwrap().spec()).is_ok();
    let env = builtin(names.iter().find(|name| fits(name)).unwrap()).unwrap();
    // Those who infer make their first visits before they learn.
    let steps = if def.family == Family::Inference { 600 } else { 1 };
    training_on(def, env).seeds(seeds).steps(steps).set(settings).setup()
}

/// Settings with which an iteration takes some megabytes.
fn settings(def: &AlgorithmDef) -> String {
    let declares = |key: &str| def.settings().any(|doc| doc.key == key);
    let values = match def.family {
        Family::SingleTask if declares("learning_starts") => REPLAY,
        Family::SingleTask if declares("n_samples") => "n_samples = 256\nepisodes = 16\nhidden = [128, 128]",
        Family::SingleTask => SAMPLED,
        Family::Gradients => "meta_batch = 8\nrollouts = 8\nhidden = [32, 32]",
        Family::Memory => "meta_batch = 32\nepisodes = 2\nunits = 32\nminibatches = 1\nepochs = 1",
        Family::Inference => PEARL,
    };
    let values: Table = toml::from_str(values).unwrap();
    values.into_iter().filter(|(key, _)| declares(key)).collect::<Table>().to_string()
}

const SAMPLED: &str = "envs = 64\nhorizon = 64\nminibatches = 1\nepochs = 1\ncritic_epochs = 1\nnum_particles = 2\n\
                       hidden = [64, 64]";

const REPLAY: &str = "train_freq = 2\ngradient_steps = 1\niteration_steps = 4\nlearning_starts = 0\nbatch_size = 4096\n\
                      hidden = [256, 256]";

/// One visit and one update.
const PEARL: &str = "train_tasks = 2\nnum_tasks_sample = 2\nnum_initial_steps = 1\nnum_steps_prior = 1\n\
                     num_extra_rl_steps_posterior = 0\nnum_steps_per_epoch = 1\nmeta_batch = 4\n\
                     batch_size = 1024\nmemory_size = 4000\nhidden = [64, 64]\nencoder_hidden_sizes = [32]";

#[test]
fn an_iteration_allocates_no_more_than_was_added_up() {
    iterations_allocate_no_more_than_was_added_up(true);
}

#[test]
#[ignore = "half a minute: scripts/second-tier.sh"]
fn an_iteration_of_all_others_allocates_no_more_than_was_added_up() {
    iterations_allocate_no_more_than_was_added_up(false);
}

fn iterations_allocate_no_more_than_was_added_up(first: bool) {
    let _alone = alone();
    // The strategy of CMA-ES lies on the host, in vectors that nobody adds up: at most some P × P numbers of P ≤ 1000
    // parameters.
    for def in of_tier(first).into_iter().filter(|def| def.name != "cma-es") {
        let algorithm = def.name;
        for seeds in [&[0][..], &[0, 1]] {
            let of = setup(def, &settings(def), seeds);
            let device = Device::cpu(1);
            let all = device.footprint(Arc::new(of.trace().unwrap())).unwrap();
            let mut session = Session::new(&device, &of).unwrap();
            let last = of.fitted().stages() - 1;
            while of.fitted().stage(session.iteration()) < last {
                block_on(session.step()).unwrap();
            }
            let (rows, taken) = peak(|| block_on(session.step()).unwrap());
            assert_eq!(rows.len(), seeds.len());
            assert!(all.own > 8 * SMALL, "{algorithm}: {} bytes show nothing", all.own);
            // Results are arguments; the state, which is so too, is there already.
            // The command line leaves a twentieth for code, among other things, which is linked in the first run.
            let most = all.bytes() + all.bytes() / 20 + SMALL;
            assert!(taken <= most, "{algorithm}: {taken} bytes, {} were added up", all.bytes());
            assert!(taken >= all.own / 2, "{algorithm}: {taken} bytes, {} were added up", all.own);
            // All of it is there now.
            let (_, again) = peak(|| block_on(session.step()).unwrap());
            assert!(again <= taken, "{algorithm}: {again} bytes in the second iteration, {taken} in the first");
        }
    }
}

/// The files of all seeds.
fn files(of: Snapshots<'_>, seeds: usize) -> Vec<Vec<u8>> {
    (0..seeds).map(|seed| block_on(of.encode(seed)).unwrap()).collect()
}

#[test]
fn saving_allocates_no_more_than_was_added_up() {
    let _alone = alone();
    for (algorithm, settings) in [
        ("ppo", "envs = 2\nhorizon = 8\nminibatches = 1\nepochs = 1\nhidden = [256, 256]\northogonal_init = false"),
        ("maml-trpo", "meta_batch = 2\nrollouts = 2\nhidden = [256, 256]"),
        ("rl2-ppo", "meta_batch = 2\nepisodes = 1\nunits = 128\nminibatches = 1\nepochs = 1"),
        ("pearl", PEARL),
    ] {
        for seeds in [&[0][..], &[0, 1, 2]] {
            let of = named(algorithm, settings, seeds);
            let device = Device::cpu(1);
            let run = device.footprint(Arc::new(of.trace().unwrap())).unwrap().bytes();
            let copies = Session::memory(&device, &of).unwrap() - run;
            let session = Session::new(&device, &of).unwrap();
            // The policy of the best evaluation is written with the next snapshot, as the command line does.
            let (files, taken) = peak(|| {
                let best = files(block_on(session.policy_snapshots()).unwrap(), seeds.len());
                (best, files(block_on(session.snapshots()).unwrap(), seeds.len()))
            });
            assert!(files.1[0].len() as u64 > SMALL, "{algorithm}: {} bytes show nothing", files.1[0].len());
            assert!(taken <= copies + SMALL, "{algorithm}: {taken} bytes, {copies} were added up");
        }
    }
}

/// A replay buffer counts by what is on its way at once, and not by what it takes.
#[test]
fn saving_and_restoring_a_replay_memory_takes_a_segment_at_a_time() {
    let _alone = alone();
    let text = "memory_size = 400000\nlearning_starts = 200000\niteration_steps = 200\nenvs = 1000\nhidden = [8]";
    for seeds in [&[0][..], &[0, 1, 2]] {
        let of = training("sac", "pendulum").seeds(seeds).steps(400_000).set(text).setup();
        let device = Device::cpu(1);
        // Both stages share the arrays, and each has its own.
        let stages = of.traces().unwrap().into_iter().map(|trace| device.footprint(Arc::new(trace)).unwrap());
        let run = stages.fold((0, 0), |(args, own), stage| (stage.args.max(args), stage.own + own));
        let copies = Session::memory(&device, &of).unwrap() - run.0 - run.1;
        let mut session = Session::new(&device, &of).unwrap();
        block_on(session.step()).unwrap();
        // An eighth of the rows, of nine numbers each.
        let segment = 50_000 * 9 * 4;
        assert!((2 * segment..2 * segment + 4 * SMALL).contains(&copies), "{copies}");
        let disk = RefCell::new(BTreeMap::new());
        let ((file, rings), taken) = peak(|| {
            let all = block_on(session.snapshots()).unwrap();
            let mut part = all.parts(0, &[]).unwrap();
            while let Some(rows) = block_on(part.rows()).unwrap() {
                // On a disk, which is not counted.
                disk.borrow_mut().insert(rows.segment.clone(), rows.bytes.len() as u64);
            }
            block_on(part.encode()).unwrap()
        });
        assert!(taken <= copies + SMALL, "{taken} bytes, {copies} were added up");
        assert_eq!(rings[0].files().collect::<BTreeMap<_, _>>(), disk.into_inner());
        drop(session);
        // Zeros that fit no checksum: the first segment is read, and the others are not.
        let read = |_: &str, bytes: u64| Ok(vec![0; bytes as usize]);
        let (refused, taken) =
            peak(|| Session::restore_saved(&device, Own::default(), &[Saved::in_parts(&file, &read)]).unwrap_err());
        assert!(refused.to_string().contains("transitions-0.rows is damaged"), "{refused}");
        assert!(taken <= 8 * segment + copies + SMALL, "{taken} bytes");
    }
}

#[test]
fn a_snapshot_that_does_not_fit_is_refused_before_it_is_copied() {
    let _alone = alone();
    let text = "envs = 1\nhorizon = 8\nminibatches = 1\nepochs = 1\nhidden = [512, 512]\northogonal_init = false";
    let session = Session::new(&Device::cpu(1), &named("ppo", text, &[0])).unwrap();
    let file = block_on(session.snapshot(0)).unwrap();
    drop(session);
    let device = Device::cpu(1);
    device.limit_memory(file.len() as u64 - 1);
    let (refused, taken) = peak(|| Session::restore(&device, &[&file]).unwrap_err());
    assert!(matches!(refused, Error::Memory(_)), "{refused}");
    assert!(taken < SMALL, "{taken} bytes of {}", file.len());
    let (refused, taken) = peak(|| Evaluator::load(&device, &file).unwrap_err());
    assert!(matches!(refused, Error::Memory(_)), "{refused}");
    assert!(taken < SMALL, "{taken} bytes of {}", file.len());
    // Where it fits, it is there twice for a while, with the arrays on the device, which are counted by themselves.
    let device = Device::cpu(1);
    let (policy, taken) = peak(|| Evaluator::load(&device, &file).unwrap());
    assert!(taken < file.len() as u64 + SMALL, "{taken} bytes of {}", file.len());
    drop(policy);
}

#[test]
fn adaptation_allocates_no_more_than_was_added_up() {
    let _alone = alone();
    for (algorithm, settings) in [
        ("rl2-ppo", "meta_batch = 2\nepisodes = 2\nunits = 2\nminibatches = 1\nepochs = 1"),
        ("promp", "meta_batch = 2\nrollouts = 2\nhidden = [2]"),
        ("pearl", PEARL),
    ] {
        let session = Session::new(&Device::cpu(1), &named(algorithm, settings, &[0])).unwrap();
        let file = block_on(session.policy_snapshot(0)).unwrap();
        let device = Device::cpu(1);
        let policy = Evaluator::load(&device, &file).unwrap();
        let test = |tasks: usize| MetaTest { tasks, rollouts: Some(1), ..MetaTest::default() };
        let adapt = |tasks: usize| block_on(policy.adapt(test(tasks)));
        // Tracing and planning take the same for any number of tasks.
        let (_, planning) = peak(|| adapt(1).unwrap());
        let (made, taken) = peak(|| adapt(1000).unwrap());
        assert_eq!(made.tasks.len(), 1000);
        drop(made);
        let (mut refused, mut fits) = (0, 1 << 32);
        while fits - refused > SMALL {
            let limit = (refused + fits) / 2;
            device.limit_memory(limit);
            match adapt(1000) {
                Ok(_) => fits = limit,
                Err(Error::Memory(shortage)) => {
                    assert!(shortage.settings.contains(&"tasks"), "{shortage}");
                    refused = limit;
                }
                Err(other) => panic!("{other}"),
            }
        }
        assert!(taken <= fits + planning, "{algorithm}: {taken} bytes, {fits} were added up");
    }
}
