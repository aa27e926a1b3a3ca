use super::saving::side_by_side;
use super::*;
use crate::folder::read_snapshot;
use crate::folder::tests::scratch;
use crate::metrics::{ENV_STEPS, EPISODE_RETURN};
use crate::settings::keep_snapshots::Keep;
use std::cell::Cell;
use std::fs;
use std::path::Path;

/// A session whose state is one counter per seed, so that files can be compared byte by byte.
struct Counter {
    seeds: Vec<u64>,
    steps: u64,
    fail_at: u64,
    infinite_at: u64,
    /// How often the state was copied.
    reads: Cell<usize>,
}

const TOTAL: u64 = 4000;

impl Counter {
    fn new(seeds: &[u64], steps: u64) -> Self {
        Self { seeds: seeds.to_vec(), steps, fail_at: u64::MAX, infinite_at: u64::MAX, reads: Cell::new(0) }
    }

    fn score(&self, index: usize) -> f64 {
        // Rises, then falls: the best evaluation is neither the first nor the last.
        let x = self.steps as f64;
        x * (3000.0 - x) / 7.0 + self.seeds[index] as f64 / 3.0
    }
}

impl Training for Counter {
    fn step(&mut self) -> Result<Vec<(usize, Row)>, Stop> {
        self.steps += 100;
        if self.steps >= self.fail_at {
            return Err(Stop::failure("the device is gone"));
        }
        let loss = if self.steps >= self.infinite_at { f64::INFINITY } else { 0.1 };
        Ok((0..self.seeds.len())
            .map(|i| {
                let row = vec![
                    (ENV_STEPS.into(), self.steps as f64),
                    (EPISODE_RETURN.into(), self.score(i)),
                    ("train/policy_loss".into(), loss),
                ];
                (i, row)
            })
            .collect())
    }
    fn steps_made(&self, _member: usize) -> u64 {
        self.steps
    }
    fn adapts(&self) -> bool {
        false
    }
    fn total_steps(&self) -> u64 {
        TOTAL
    }
    fn is_done(&self, _member: usize) -> bool {
        self.steps >= TOTAL
    }
    fn snapshots(&self, _: &[usize]) -> Result<Box<dyn Copied + '_>, Stop> {
        self.reads.set(self.reads.get() + 1);
        Ok(Box::new(self))
    }
    fn policy_snapshots(&self, _: &[usize]) -> Result<Encode<'_>, Stop> {
        self.reads.set(self.reads.get() + 1);
        Ok(Box::new(|index| Ok(format!("policy {} {}", self.seeds[index], self.steps).into_bytes())))
    }
    fn evaluate(&mut self, seeds: &[usize], played: Evaluation) -> Result<Vec<Vec<Episode>>, Stop> {
        let Evaluation::Episodes(episodes) = played else { return Ok(Vec::new()) };
        let episode = |i| Episode { ret: self.score(i), length: 7, terminated: true, adapted: None };
        Ok(seeds.iter().map(|i| vec![episode(*i); episodes]).collect())
    }
}

impl Copied for &Counter {
    fn parts(&self, index: usize, _: &mut SegmentFolder) -> Result<Vec<u8>, Stop> {
        Ok(format!("{} {}", self.seeds[index], self.steps).into_bytes())
    }
    fn whole(&self, index: usize) -> Result<Vec<u8>, Stop> {
        Ok(format!("whole {} {}", self.seeds[index], self.steps).into_bytes())
    }
}

const PACE: Pace = Pace {
    save_every: Duration::ZERO,
    eval_every: 500,
    evaluation: Evaluation::Episodes(3),
    log_every: 0,
    keep: Keep::Last,
    pause_at: None,
};

fn create(dir: &Path, seeds: &[u64]) -> Vec<SeedRun> {
    let one = |seed: &u64| {
        let folder = RunFolder::create(&dir.join(format!("s{seed}"))).unwrap();
        SeedRun::create(folder, "title".into(), "c").unwrap()
    };
    seeds.iter().map(one).collect()
}

/// A CSV without its wall-clock columns, which are the last two.
fn csv(dir: &Path) -> Vec<String> {
    let text = fs::read_to_string(dir.join(file::CSV)).unwrap();
    text.lines().map(|l| l.rsplitn(3, ',').nth(2).unwrap().to_owned()).collect()
}

#[test]
fn a_stopped_and_resumed_seed_makes_the_same_files() {
    let (whole, parts) = (scratch("run-whole"), scratch("run-parts"));
    let end = run(&mut Counter::new(&[1, 2], 0), &mut create(&whole, &[1, 2]), PACE, &|| false);
    assert_eq!(end.unwrap(), End::Finished);

    let polls = Cell::new(0);
    let stop = || polls.replace(polls.get() + 1) >= 17;
    let mut runs = create(&parts, &[1, 2]);
    let end = run(&mut Counter::new(&[1, 2], 0), &mut runs, PACE, &stop);
    assert_eq!(end.unwrap(), End::Interrupted);
    assert!(resume_command(&runs).starts_with("quickstudy train --resume /"));
    drop(runs);

    // Seed 2 of the stack resumes alone, from its own folder.
    let dir = parts.join("s2");
    let snapshot = String::from_utf8(read_snapshot(&dir, file::LAST).unwrap()).unwrap();
    assert_eq!(snapshot, "2 1700");
    let resumed = SeedRun::resume(RunFolder::open(&dir).unwrap(), "title".into(), "c", 1700, &[]).unwrap();
    // The best so far was at 1500 steps and stays known.
    assert_eq!(resumed.best(), Some((1500.0_f64 * 1500.0 / 7.0 + 2.0 / 3.0) as f32));
    run(&mut Counter::new(&[2], 1700), &mut [resumed], PACE, &|| false).unwrap();

    for name in [file::LAST, file::BEST, file::CURVE] {
        assert_eq!(fs::read(whole.join("s2").join(name)).unwrap(), fs::read(dir.join(name)).unwrap(), "{name}");
    }
    assert_eq!(csv(&whole.join("s2")), csv(&dir));
    assert_eq!(fs::read(dir.join(file::BEST)).unwrap(), b"policy 2 1500");
    assert_eq!(
        csv(&dir)[0],
        "time/env_steps,rollout/ep_return_mean,train/policy_loss,eval/return_mean,eval/ep_len_mean"
    );
    assert!(csv(&dir)[5].ends_with(",7") && csv(&dir)[4].ends_with(",,"));
}

#[test]
fn snapshots_exist_from_the_start_and_survive_failures() {
    let dir = scratch("run-failure");
    let mut session = Counter::new(&[3], 0);
    session.fail_at = 100;
    let error = run(&mut session, &mut create(&dir, &[3]), PACE, &|| false).unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (1, "the device is gone"));
    assert!(error.hint.contains("--resume"), "{}", error.hint);
    assert_eq!(read_snapshot(&dir.join("s3"), file::LAST).unwrap(), b"3 0");
}

#[test]
fn an_infinite_metric_stops_with_code_3_before_it_is_saved() {
    let dir = scratch("run-infinite");
    let mut session = Counter::new(&[3], 0);
    session.infinite_at = 1000;
    let error = run(&mut session, &mut create(&dir, &[3]), PACE, &|| false).unwrap_err();
    assert_eq!(error.code, 3);
    assert!(error.message.contains("train/policy_loss"), "{}", error.message);
    assert!(error.hint.contains("--resume") && error.hint.contains("--debug"), "{}", error.hint);
    assert_eq!(read_snapshot(&dir.join("s3"), file::LAST).unwrap(), b"3 900");
}

#[test]
fn a_rare_snapshot_pace_still_saves_the_end() {
    let dir = scratch("run-pace");
    let pace = Pace {
        save_every: Duration::from_secs(3600),
        eval_every: 0,
        evaluation: Evaluation::Episodes(1),
        log_every: 0,
        keep: Keep::Last,
        pause_at: None,
    };
    run(&mut Counter::new(&[3], 0), &mut create(&dir, &[3]), pace, &|| false).unwrap();
    assert_eq!(read_snapshot(&dir.join("s3"), file::LAST).unwrap(), b"3 4000");
    assert!(!dir.join("s3").join(file::BEST).exists(), "no evaluation, no best");
}

#[test]
fn the_state_is_copied_once_however_many_seeds_there_are() {
    let dir = scratch("run-reads");
    let seeds: Vec<u64> = (0..70).collect();
    let mut session = Counter::new(&seeds, TOTAL - 100);
    let pace = Pace { save_every: Duration::from_secs(3600), ..PACE };
    run(&mut session, &mut create(&dir, &seeds), pace, &|| false).unwrap();
    // At the start, for the best policies of the only evaluation, and at the end.
    assert_eq!(session.reads.get(), 3);
    assert_eq!(read_snapshot(&dir.join("s69"), file::LAST).unwrap(), b"69 4000");
}

#[test]
fn snapshots_are_kept_beside_the_last_one_as_asked_for() {
    let names = |dir: &Path| {
        let entries = fs::read_dir(dir.join("s1").join(file::KEPT)).into_iter().flatten();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_by_key(|name| (name.len(), name.clone()));
        names
    };
    let kept = |keep: Keep| {
        let dir = scratch(&format!("run-keep-{keep}"));
        // Which are kept does not depend on how often the last one is written.
        let pace = Pace { save_every: Duration::from_secs(3600), keep, ..PACE };
        run(&mut Counter::new(&[1], 0), &mut create(&dir, &[1]), pace, &|| false).unwrap();
        dir
    };
    let some = kept(Keep::Every(1500));
    assert_eq!(names(&some), ["1500.safetensors", "3000.safetensors"]);
    assert_eq!(fs::read(some.join("s1").join(file::KEPT).join("3000.safetensors")).unwrap(), b"whole 1 3000");
    assert_eq!(read_snapshot(&some.join("s1"), file::LAST).unwrap(), b"1 4000");
    assert_eq!(names(&kept(Keep::All)).len(), 40);
    let last = kept(Keep::Last);
    assert!(!last.join("s1").join(file::KEPT).exists() && last.join("s1").join(file::BEST).exists());
    let none = kept(Keep::None);
    for name in [file::KEPT, file::LAST, file::BEST] {
        assert!(!none.join("s1").join(name).exists(), "{name}");
    }
    assert_eq!(csv(&none.join("s1")), csv(&last.join("s1")), "metrics are whole");
}

#[test]
fn rows_get_rarer_in_long_runs_and_evaluations_always_have_theirs() {
    let dir = scratch("run-rows");
    let pace = Pace { log_every: 700, ..PACE };
    run(&mut Counter::new(&[1], 0), &mut create(&dir, &[1]), pace, &|| false).unwrap();
    let steps = |dir: &Path| csv(dir)[1..].iter().map(|l| l.split(',').next().unwrap().to_owned()).collect::<Vec<_>>();
    let expected = "100 500 700 1000 1400 1500 2000 2100 2500 2800 3000 3500 4000";
    assert_eq!(steps(&dir.join("s1")).join(" "), expected);
    // A run that is resumed has the same rows.
    let parts = scratch("run-rows-parts");
    let polls = Cell::new(0);
    let stop = || polls.replace(polls.get() + 1) >= 13;
    run(&mut Counter::new(&[1], 0), &mut create(&parts, &[1]), pace, &stop).unwrap();
    let resumed = SeedRun::resume(RunFolder::open(&parts.join("s1")).unwrap(), "title".into(), "c", 1300, &[]).unwrap();
    assert_eq!(resumed.last_evaluation(), Some(1000.0 * 2000.0 / 7.0 + 1.0 / 3.0));
    run(&mut Counter::new(&[1], 1300), &mut [resumed], pace, &|| false).unwrap();
    for name in [file::CURVE, file::BEST] {
        assert_eq!(
            fs::read(dir.join("s1").join(name)).unwrap(),
            fs::read(parts.join("s1").join(name)).unwrap(),
            "{name}"
        );
    }
    assert_eq!(csv(&dir.join("s1")), csv(&parts.join("s1")));
}

#[test]
fn a_folder_that_is_deleted_during_the_run_is_said_to_be_and_no_snapshot_is_promised() {
    let dir = scratch("run-deleted");
    let polls = Cell::new(0);
    let delete = || {
        if polls.replace(polls.get() + 1) == 5 {
            fs::remove_dir_all(dir.join("s1")).unwrap();
        }
        false
    };
    let error = run(&mut Counter::new(&[1, 2], 0), &mut create(&dir, &[1, 2]), PACE, &delete).unwrap_err();
    assert!(error.code == 1 && error.message.contains("s1 is gone"), "{}", error.message);
    assert!(!error.hint.contains("spelling") && error.hint.contains("s2`"), "the other seed is there: {}", error.hint);
    assert!(!error.hint.contains("s1`") && !error.hint.contains("s1 "), "{}", error.hint);
}

#[test]
fn work_side_by_side_is_all_done_and_its_first_error_counts() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    for threads in [false, true] {
        let done = AtomicUsize::new(0);
        let work = |i: usize| {
            let done = &done;
            move || {
                done.fetch_add(1, Ordering::Relaxed);
                if i == 2 || i == 4 { Err(Stop::failure(format!("number {i}"))) } else { Ok(()) }
            }
        };
        let error = side_by_side((0..6).map(work).collect(), threads).unwrap_err();
        assert_eq!((error.message.as_str(), done.load(Ordering::Relaxed)), ("number 2", 6));
        side_by_side((0..2).map(work).collect(), threads).unwrap();
    }
}
