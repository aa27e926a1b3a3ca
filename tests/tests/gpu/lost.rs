//! A GPU that is lost while the command line trains: the run goes on by itself.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy::internals::{
    End, Keep, Pace, RecordedSession, Reopen, RunFolder, SeedRun, file, read_snapshot, record_device,
};
use quickstudy_core::Device;
use quickstudy_core::train::{Evaluation, Session, Setup};
use quickstudy_gpu::{Gpu, GpuOptions};
use quickstudy_tests::gpu::open;
use quickstudy_tests::trainings::training;
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::Duration;

const STEPS: u64 = 640;

fn setup() -> Setup {
    let settings = "envs = 4\nhorizon = 8\nminibatches = 2\nepochs = 2\nhidden = [16]\n";
    training("ppo", "cartpole").seeds(&[1, 2]).steps(STEPS).set(settings).setup()
}

fn pace(save_every: Duration) -> Pace {
    let (evaluation, keep) = (Evaluation::Episodes(1), Keep::Last);
    Pace { save_every, eval_every: 0, evaluation, log_every: 0, keep, pause_at: None }
}

fn start(dir: &Path, device: &Device) -> RecordedSession {
    let session = Session::new(device, &setup()).unwrap();
    let run = |seed: &u64| {
        let folder = RunFolder::create(&dir.join(format!("s{seed}"))).unwrap();
        record_device(&folder, &device.caps().name, 1, 0).unwrap();
        SeedRun::create(folder, "a run".into(), "").unwrap()
    };
    let runs = session.setup().seeds.iter().map(run).collect();
    RecordedSession { session, runs, debug: false }
}

fn folder(name: &str) -> std::path::PathBuf {
    let dir = std::env::temp_dir().join(format!("quickstudy-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    dir
}

/// Environment steps of all rows of a run's metrics.
fn rows(run: &Path) -> Vec<u64> {
    let text = std::fs::read_to_string(run.join(file::CSV)).unwrap();
    text.lines().skip(1).map(|line| line.split(',').next().unwrap().parse::<f64>().unwrap() as u64).collect()
}

fn every_iteration_once(run: &Path) {
    assert_eq!(rows(run), (1..=STEPS / 32).map(|i| 32 * i).collect::<Vec<_>>());
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn a_run_whose_gpu_is_lost_ends_as_if_it_had_not_been() {
    let first = open(&GpuOptions::default());
    let (whole, parts) = (folder("lost-not"), folder("lost"));
    let never = |_| -> Device { panic!("nothing was lost") };
    let end = start(&whole, &Device::new(first.clone())).train(pace(Duration::ZERO), &|| false, 1, &never);
    assert_eq!(end.unwrap().0, End::Finished);

    // Between iterations the loop asks whether to stop: there the device goes, three times.
    let gpu = RefCell::new(open(&GpuOptions::default()));
    let (asked, opened) = (Cell::new(0), Cell::new(0));
    let lose = || {
        asked.set(asked.get() + 1);
        if [3, 9, 15].contains(&asked.get()) {
            gpu.borrow().destroy();
        }
        false
    };
    let reopen = |how| {
        assert!(matches!(how, Reopen::Same), "each device saved something");
        opened.set(opened.get() + 1);
        *gpu.borrow_mut() = open(&GpuOptions::default());
        Device::new(gpu.borrow().clone())
    };
    let device = Device::new(gpu.borrow().clone());
    let run = start(&parts, &device);
    assert_eq!(run.train(pace(Duration::ZERO), &lose, 1, &reopen).unwrap().0, End::Finished);
    assert_eq!(opened.get(), 3);
    for seed in ["s1", "s2"] {
        let last = |dir: &Path| read_snapshot(&dir.join(seed), file::LAST).unwrap();
        assert_eq!(last(&whole), last(&parts), "not the same bytes");
        every_iteration_once(&parts.join(seed));
        let devices = std::fs::read_to_string(parts.join(seed).join(file::VERSION)).unwrap();
        assert_eq!(devices.matches("\"from\"").count(), 1, "the same adapter is the same device: {devices}");
    }
    for dir in [whole, parts] {
        std::fs::remove_dir_all(dir).unwrap();
    }
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn a_gpu_that_is_lost_again_and_again_gives_way_to_the_cpu() {
    let gpu = open(&GpuOptions::default());
    let dir = folder("lost-again");
    let gpus: RefCell<Vec<Gpu>> = RefCell::new(vec![gpu.clone()]);
    // Every GPU is lost before anything but the first snapshot is saved.
    let lose = || {
        gpus.borrow().iter().for_each(Gpu::destroy);
        false
    };
    let asked_again = Cell::new(0);
    let reopen = |how| {
        if matches!(how, Reopen::Cpu) {
            asked_again.set(asked_again.get() + 1);
            return Device::cpu(1);
        }
        let gpu = open(&GpuOptions::default());
        gpus.borrow_mut().push(gpu.clone());
        Device::new(gpu)
    };
    let run = start(&dir, &Device::new(gpu));
    assert_eq!(run.train(pace(Duration::from_secs(1000)), &lose, 1, &reopen).unwrap().0, End::Finished);
    assert_eq!(asked_again.get(), 1);
    every_iteration_once(&dir.join("s1"));
    let version = std::fs::read(dir.join("s1").join(file::VERSION)).unwrap();
    let version: serde_json::Value = serde_json::from_slice(&version).unwrap();
    assert!(version["device"].as_str().unwrap().starts_with("cpu ("), "{version}");
    std::fs::remove_dir_all(dir).unwrap();
}
