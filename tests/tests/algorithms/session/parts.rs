//! Snapshots in parts: they cost only what is new, and together with their segments they are whole snapshots.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::cell::RefCell;
use std::collections::BTreeMap;

use pollster::block_on as wait;
use quickstudy_core::train::{self, Evaluator, Own, Ring, Saved, Session, Setup};
use quickstudy_core::{Device, Error};
use quickstudy_tests::crafted::Crafted;
use quickstudy_tests::trainings::{finish, training};

const SAC: &str = "batch_size = 16\nhidden = [8]\nlearning_starts = 200\nmemory_size = 450";
const DQN: &str = "batch_size = 16\nhidden = [8]\ntrain_freq = 4\nlearning_starts = 64\niteration_steps = 64\n\
                   memory_size = 200\nenvs = 2";
/// Settings of whole episodes: iterations add other numbers of rows than planned, and each seed its own.
const EPISODES: &str = "batch_size = 16\nhidden = [8]\nmin_rollouts = 3\nenvs = 2\nlearning_starts = 64\n\
                        memory_size = 200\nn_step = 2\nprioritised = true";

fn setup(algorithm: &str, seeds: &[u64], steps: u64) -> Setup {
    let (env, text) = match algorithm {
        "sac" => ("pendulum", SAC),
        "dqn" => ("cartpole", DQN),
        _ => ("cartpole:time_limit=40", EPISODES),
    };
    let algorithm = if algorithm == "episodes" { "dqn" } else { algorithm };
    training(algorithm, env).seeds(seeds).steps(steps).set(text).setup()
}

/// The place of one seed's snapshots.
#[derive(Clone, Default)]
struct Folder {
    file: Vec<u8>,
    rings: Vec<Ring>,
    segments: BTreeMap<String, Vec<u8>>,
    /// The bytes of rows that came with the last snapshot.
    new: usize,
}

impl Folder {
    fn read(&self, name: &str, bytes: u64) -> quickstudy_core::Result<Vec<u8>> {
        let found = self.segments.get(name).ok_or_else(|| Error::Snapshot(format!("{name} is gone")))?;
        Ok(found[..found.len().min(bytes as usize)].to_vec())
    }
}

fn save(session: &Session, folders: &mut [Folder]) {
    let all = wait(session.snapshots()).unwrap();
    for (index, folder) in folders.iter_mut().enumerate() {
        let mut part = all.parts(index, &folder.rings).unwrap();
        folder.new = 0;
        while let Some(rows) = wait(part.rows()).unwrap() {
            let segment = folder.segments.entry(rows.segment).or_default();
            assert!(segment.len() as u64 >= rows.offset);
            segment.truncate(rows.offset as usize);
            segment.extend(&rows.bytes);
            folder.new += rows.bytes.len();
        }
        (folder.file, folder.rings) = wait(part.encode()).unwrap();
        let named: Vec<String> = folder.rings.iter().flat_map(Ring::files).map(|(name, _)| name).collect();
        folder.segments.retain(|name, _| named.contains(name));
    }
}

fn restore(device: &Device, folders: &[Folder]) -> quickstudy_core::Result<Session> {
    let readers: Vec<_> = folders.iter().map(|folder| |name: &str, bytes: u64| folder.read(name, bytes)).collect();
    let saved: Vec<Saved<'_>> =
        folders.iter().zip(&readers).map(|(folder, read)| Saved::in_parts(&folder.file, read)).collect();
    Session::restore_saved(device, Own::default(), &saved)
}

fn whole(folder: &Folder) -> quickstudy_core::Result<Vec<u8>> {
    train::joined(Own::default(), Saved::in_parts(&folder.file, &|name, bytes| folder.read(name, bytes)))
}

#[test]
fn a_run_goes_on_from_parts_as_from_whole_snapshots_alone_or_stacked() {
    // The rows of an iteration, and the bytes of a row.
    for (algorithm, batch, width) in [("sac", 100, 4 * 9), ("dqn", 128, 4 * 11)] {
        let device = Device::cpu(1);
        let mut session = Session::new(&device, &setup(algorithm, &[3, 4], 1600)).unwrap();
        let mut folders = [Folder::default(), Folder::default()];
        save(&session, &mut folders);
        assert!(folders.iter().all(|folder| folder.new == 0 && folder.segments.is_empty()));
        // Snapshots come often at first, and then more rarely than the memory goes round.
        let mut before = 0;
        for iterations in [1, 2, 3, 5, 8, 9] {
            while session.iteration() < iterations {
                wait(session.step()).unwrap();
            }
            save(&session, &mut folders);
            let rows =
                session.setup().fitted().entries(None).iter().find(|entry| entry.name == "memory").unwrap().shape[0];
            let new = ((iterations - before) as usize * batch).min(rows) * width;
            assert!(folders.iter().all(|folder| folder.new == new), "{} for {new}", folders[0].new);
            before = iterations;
            for (index, folder) in folders.iter().enumerate() {
                let all = wait(session.snapshot(index)).unwrap();
                assert!(whole(folder).unwrap() == all, "{algorithm} after {iterations} iterations");
                assert!(folder.file.len() + rows * width < all.len() + 4000, "{}", folder.file.len());
                Evaluator::load(&device, &folder.file).unwrap();
                let alone = restore(&device, &folders[index..=index]).unwrap();
                assert!(wait(alone.snapshot(0)).unwrap() == all);
            }
        }
        let mut stacked = restore(&Device::cpu(2), &folders).unwrap();
        let mut alone = restore(&device, &folders[1..]).unwrap();
        assert_eq!(alone.segments(0), folders[1].rings);
        for session in [&mut session, &mut stacked, &mut alone] {
            finish(session);
        }
        let last = [0, 1].map(|index| wait(session.snapshot(index)).unwrap());
        assert!([0, 1].map(|index| wait(stacked.snapshot(index)).unwrap()) == last);
        assert!(wait(alone.snapshot(0)).unwrap() == last[1]);
        // A run that goes on in other segments ends in an equal file.
        let mut own = folders[1].clone();
        save(&alone, std::slice::from_mut(&mut own));
        assert!(whole(&own).unwrap() == last[1]);
    }
}

#[test]
fn a_run_of_whole_episodes_goes_on_from_parts_alone_or_stacked() {
    let device = Device::cpu(1);
    let mut session = Session::new(&device, &setup("episodes", &[3, 4], 1200)).unwrap();
    let mut folders = [Folder::default(), Folder::default()];
    let (mut before, mut apart, mut middle) = ([0; 2], 0, Vec::new());
    while !session.done() {
        wait(session.step()).unwrap();
        if !session.iteration().is_multiple_of(3) && !session.done() {
            continue;
        }
        save(&session, &mut folders);
        let made = [0, 1].map(|index| session.steps_made(index));
        apart += u32::from(made[0] != made[1]);
        for (index, folder) in folders.iter().enumerate() {
            // A row has twelve numbers: two observations, a choice, reward, end, and the number in its episode.
            assert_eq!(folder.new as u64, (made[index] - before[index]).min(200) * 48);
            let all = wait(session.snapshot(index)).unwrap();
            assert!(whole(folder).unwrap() == all);
        }
        if middle.is_empty() && made.iter().all(|made| *made > 300) {
            middle = folders.to_vec();
        }
        before = made;
    }
    assert!(apart > 3, "seeds add other numbers of rows");
    let last = [0, 1].map(|index| wait(session.snapshot(index)).unwrap());
    let mut stacked = restore(&Device::cpu(2), &middle).unwrap();
    let mut alone = restore(&device, &middle[1..]).unwrap();
    for session in [&mut stacked, &mut alone] {
        finish(session);
    }
    assert!([0, 1].map(|index| wait(stacked.snapshot(index)).unwrap()) == last);
    assert!(wait(alone.snapshot(0)).unwrap() == last[1]);
    let mut own = middle[1].clone();
    save(&alone, std::slice::from_mut(&mut own));
    assert!(whole(&own).unwrap() == last[1]);
    // Segments must have as many rows as steps were made.
    let mut other = folders[0].clone();
    let (made, less) = (before[0], before[0] - 1);
    other.file = Crafted::read(&other.file).header(&format!("\"added\":{made}"), &format!("\"added\":{less}")).bytes();
    let problem = restore(&device, &[other]).unwrap_err().to_string();
    assert!(problem.contains(&format!("had {less} rows, and {made} steps were made")), "{problem}");
}

#[test]
fn a_memory_that_grows_with_a_longer_run_goes_on_in_its_segments() {
    let device = Device::cpu(1);
    let mut long = Session::new(&device, &setup("sac", &[3], 800)).unwrap();
    finish(&mut long);
    let want = wait(long.snapshot(0)).unwrap();
    for ended_at in [200, 300, 400] {
        // A memory as large as the run.
        let mut session = Session::new(&device, &setup("sac", &[3], 400)).unwrap();
        let mut folders = [Folder::default()];
        while session.env_steps() < ended_at {
            wait(session.step()).unwrap();
            save(&session, &mut folders);
        }
        let mut session = restore(&device, &folders).unwrap();
        session.set_steps(800).unwrap();
        save(&session, &mut folders);
        assert_eq!(folders[0].new, 0, "no row is written twice");
        finish(&mut session);
        save(&session, &mut folders);
        assert!(whole(&folders[0]).unwrap() == want, "from {ended_at} steps");
    }
}

#[test]
fn a_whole_snapshot_goes_on_in_parts() {
    let device = Device::cpu(1);
    let mut session = Session::new(&device, &setup("sac", &[3], 800)).unwrap();
    for _ in 0..6 {
        wait(session.step()).unwrap();
    }
    let mut session = Session::restore(&device, &[&wait(session.snapshot(0)).unwrap()]).unwrap();
    assert!(session.segments(0).is_empty());
    let mut folders = [Folder::default()];
    save(&session, &mut folders);
    assert_eq!(folders[0].new, 450 * 36, "all rows, once");
    finish(&mut session);
    save(&session, &mut folders);
    assert_eq!(folders[0].new, 200 * 36);
    assert!(whole(&folders[0]).unwrap() == wait(session.snapshot(0)).unwrap());
}

#[test]
fn an_algorithm_without_a_memory_has_the_same_file_either_way() {
    let session = training("ppo", "cartpole").seeds(&[1]).steps(512).set("hidden = [4]").session();
    let mut folders = [Folder::default()];
    save(&session, &mut folders);
    assert!(folders[0].file == wait(session.snapshot(0)).unwrap() && folders[0].segments.is_empty());
    assert!(whole(&folders[0]).unwrap() == folders[0].file);
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = Device::cpu(1);
    let mut session = Session::new(&device, &setup("sac", &[3], 800)).unwrap();
    for _ in 0..6 {
        wait(session.step()).unwrap();
    }
    let mut folders = [Folder::default()];
    save(&session, &mut folders);
    let [good] = &folders;
    assert!(restore(&device, &folders).is_ok());
    let problem = |change: &dyn Fn(&mut Folder)| {
        let mut folder = good.clone();
        change(&mut folder);
        let error = restore(&device, std::slice::from_ref(&folder)).unwrap_err();
        assert!(matches!(error, Error::Snapshot(_) | Error::NewerSnapshot { .. }), "{error}");
        assert_eq!(whole(&folder).is_err(), !error.to_string().contains("`memory.next` holds"), "{error}");
        error.to_string()
    };
    let name = good.segments.keys().next().unwrap().clone();
    assert_eq!(name, "memory.transitions-150.rows");
    assert!(problem(&|folder| drop(folder.segments.remove(&name))).contains("150.rows is gone"));
    assert!(problem(&|folder| folder.segments.get_mut(&name).unwrap()[7] ^= 1).contains("150.rows is damaged"));
    assert!(problem(&|folder| folder.segments.get_mut(&name).unwrap().truncate(9)).contains("has 9 bytes"));
    let crafted = |old: &str, new: &str| {
        let file = Crafted::read(&good.file).header(old, new).bytes();
        problem(&|folder| folder.file.clone_from(&file))
    };
    assert!(crafted("\"shape\":[450,9]", "\"shape\":[450,8]").contains("expected [450, 9]"));
    assert!(crafted("\"added\":600", "\"added\":700").contains("had 700 rows, and 600 steps were made"));
    assert!(crafted("\"first\":150", "\"first\":151").contains("do not hold its rows 150..600"));
    assert!(
        crafted("\"tensor\":\"memory.transitions\"", "\"tensor\":\"memory.next\"")
            .contains("`memory.next` is no replay buffer")
    );
    assert!(crafted("\"format\":6", "\"format\":2").contains("the header is damaged"));
    assert!(crafted("\"format\":6", "\"format\":7").contains("newer version"));
    let mut other = Crafted::read(&good.file);
    other.tensors.get_mut("memory.next").unwrap().2 = 149u32.to_le_bytes().to_vec();
    let next = problem(&|folder| folder.file = other.bytes());
    assert!(next.contains("`memory.next` holds 149, and after 600 rows it is 150"), "{next}");
    // A file alone has no segments.
    let error = Session::restore(&device, &[&good.file]).unwrap_err().to_string();
    assert!(error.contains("`memory.transitions` is in segments") && error.contains("quickstudy export"), "{error}");
    // Segments of a training that has come further belong to another file.
    let mut fresh = Session::new(&device, &setup("sac", &[3], 800)).unwrap();
    wait(fresh.step()).unwrap();
    let all = wait(fresh.snapshots()).unwrap();
    assert!(all.parts(0, &good.rings).unwrap_err().to_string().contains("not of this training"));
    // The file comes last.
    let mut part = all.parts(0, &[]).unwrap();
    wait(part.rows()).unwrap();
    assert!(wait(part.encode()).unwrap_err().to_string().contains("come before"));
}

#[test]
fn rows_are_read_one_segment_at_a_time() {
    let device = Device::cpu(1);
    let mut session = Session::new(&device, &setup("sac", &[3], 800)).unwrap();
    finish(&mut session);
    let mut folders = [Folder::default()];
    save(&session, &mut folders);
    let asked = RefCell::new(Vec::new());
    let read = |name: &str, bytes: u64| {
        asked.borrow_mut().push((name.to_owned(), bytes));
        folders[0].read(name, bytes)
    };
    Session::restore_saved(&device, Own::default(), &[Saved::in_parts(&folders[0].file, &read)]).unwrap();
    let named: Vec<(String, u64)> = folders[0].rings.iter().flat_map(Ring::files).collect();
    assert_eq!(*asked.borrow(), named);
    // An eighth of 450 rows of 9 numbers each, rounded up.
    assert!(named.len() == 9 && named.iter().all(|(_, bytes)| *bytes <= 57 * 36), "{named:?}");
}
