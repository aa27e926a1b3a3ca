//! Snapshots of past formats, kept in `tests/golden/snapshots` and read from then on.
//!
//! `make.sh` there made them, each folder by the first version that wrote its format. They stand in the repository
//! only, so `$QUICKSTUDY_GOLDEN` does not move them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use pollster::block_on;
use quickstudy_core::Device;
use quickstudy_core::algo::AlgorithmDef;
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::train::{Evaluator, Own, Saved, Session, joined, small};
use quickstudy_tests::crafted::Crafted;
use quickstudy_tests::every::every;
use quickstudy_tests::trainings::training_on;

fn folder(format: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/snapshots").join(format)
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns and lengths as `eval` wrote them.
fn recorded(path: &Path) -> Vec<(f64, u32)> {
    let text = String::from_utf8(read(path)).unwrap();
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        (fields[1].parse().unwrap(), fields[2].parse().unwrap())
    };
    text.lines().skip(1).map(row).collect()
}

/// One algorithm's files: they are read, play as they did, and go on to where they went.
fn check(folder: &Path) {
    let device = Device::cpu(1);
    let what = folder.display();
    let mut policy = Evaluator::load(&device, &read(&folder.join("policy.safetensors"))).unwrap();
    let expected = recorded(&folder.join("returns.csv"));
    let played = block_on(policy.evaluate(expected.len(), 5, true)).unwrap();
    // The files were made with fused multiply-adds. Without them episodes drift apart with time.
    let exact = Isa::detect().fuses();
    for (episode, (ret, length)) in played.iter().zip(&expected) {
        let close = if exact { 1e-6 } else { 0.05 };
        assert!((episode.ret - ret).abs() <= close * ret.abs().max(1.0), "{what}: {} for {ret}", episode.ret);
        assert!(!exact || episode.length == *length, "{what}");
    }
    // The policy can be that of an earlier iteration; the session has its own.
    let session = read(&folder.join("session.safetensors"));
    Evaluator::load(&device, &session).unwrap();
    let segment = |name: &str, bytes: u64| {
        let rows = read(&folder.join("segments").join(name));
        assert_eq!(rows.len() as u64, bytes, "{name}");
        Ok(rows)
    };
    let saved = Saved::in_parts(&session, &segment);
    let mut session = Session::restore_saved(&device, Own::default(), &[saved]).unwrap();
    let next = Session::restore(&device, &[&read(&folder.join("next.safetensors"))]).unwrap();
    session.set_steps(next.setup().steps).unwrap();
    while session.iteration() < next.iteration() {
        block_on(session.step()).unwrap();
    }
    // Returns of episodes were once summed in plain f32: what learns from these has others in their last digits.
    let of_sums = folder.ends_with("format-2/ars");
    let parameters = [&session, &next].map(|session| block_on(session.parameters(0)).unwrap());
    for (i, (got, expected)) in parameters[0].iter().zip(&parameters[1]).enumerate() {
        let same = match (exact, of_sums) {
            (true, false) => got.to_bits() == expected.to_bits(),
            (true, true) => (got - expected).abs() < 1e-6,
            (false, _) => (got - expected).abs() < 0.05,
        };
        assert!(same, "{what}: {got} for {expected} at {i}");
    }
}

/// The folders of a format: runs of the algorithms that there were when its first version made them.
fn runs(format: &str) -> Vec<String> {
    let entries = fs::read_dir(folder(format)).unwrap().map(|entry| entry.unwrap().file_name());
    entries.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn golden_snapshots_of_format_2_are_read_and_go_on() {
    let runs = runs("format-2");
    assert!(runs.len() >= 28, "{runs:?}");
    for run in runs {
        check(&folder("format-2").join(run));
    }
}

/// Where there is a replay buffer, its rows are in segments; all else is still format 2.
#[test]
fn golden_snapshots_of_format_3_are_read_with_their_segments_and_go_on() {
    let runs = runs("format-3");
    assert!(runs.len() >= 5, "{runs:?}");
    for algorithm in &runs {
        let [old, new] = check_segments(3, algorithm);
        // This version says by which rule the run ends, and what returns lack; all else is as it was.
        assert_kept(&old, &new, algorithm);
        assert!(new.header.contains("\"budget\":\"made\"") && !old.header.contains("budget"), "{algorithm}");
    }
}

/// Iterations of whole episodes add other numbers of rows than planned.
#[test]
fn golden_snapshots_of_format_4_are_read_with_their_segments_and_go_on() {
    let [old, new] = check_segments(4, "dqn-episodes");
    assert_kept(&old, &new, "dqn-episodes");
    let session = Session::restore(&Device::cpu(1), &[&new.bytes()]).unwrap();
    assert!(session.steps_made(0) < session.setup().fitted().planned(session.iteration()));
}

/// Returns have what f32 lacks of them, memories hold what each action led to, and all files are of one format.
#[test]
fn golden_snapshots_of_format_6_are_read_and_go_on() {
    let runs = runs("format-6");
    assert!(runs.len() >= 32, "{runs:?}");
    for run in runs {
        if folder("format-6").join(&run).join("segments").exists() {
            let [old, new] = check_segments(6, &run);
            // Since then the specs of built-in environments are in the header, too, and in its checksum.
            assert_eq!(old.tensors, new.tensors, "{run}");
            let header = |file: &Crafted| -> serde_json::Map<String, serde_json::Value> {
                let mut header: serde_json::Map<_, _> = serde_json::from_str(&file.header).unwrap();
                header.remove("checksum").unwrap();
                header
            };
            let (old, mut new) = (header(&old), header(&new));
            let spec = new.remove("spec").unwrap();
            assert_eq!((&spec["name"], &old), (&new["env"], &new), "{run}");
        } else {
            check(&folder("format-6").join(run));
        }
    }
}

/// Checks that a newer file has all tensors of an older one, and zeros in those that it lacks.
fn assert_kept(old: &Crafted, new: &Crafted, run: &str) {
    for (name, tensor) in &new.tensors {
        match old.tensors.get(name) {
            Some(known) => assert!(known == tensor, "{run}: {name}"),
            None => assert!(name == "environment.episode_return_rest" && tensor.2.iter().all(|x| *x == 0), "{name}"),
        }
    }
    assert!(old.tensors.keys().all(|name| new.tensors.contains_key(name)), "{run}");
}

/// Checks one run with segments; gives the one file that they make with the small one, and the snapshot of its session.
fn check_segments(format: u32, run: &str) -> [Crafted; 2] {
    let folder = folder(&format!("format-{format}")).join(run);
    check(&folder);
    let file = read(&folder.join("session.safetensors"));
    assert!(Crafted::read(&file).header.contains(&format!("\"format\":{format}")));
    let segment = |name: &str, _: u64| Ok(read(&folder.join("segments").join(name)));
    let one = joined(Own::default(), Saved::in_parts(&file, &segment)).unwrap();
    let session = Session::restore(&Device::cpu(1), &[&one]).unwrap();
    [&one, &block_on(session.snapshot(0)).unwrap()].map(|file| Crafted::read(file))
}

/// Earlier versions ended a run by what its iterations were planned to make.
#[test]
fn a_run_that_was_finished_as_planned_goes_on_until_its_steps_are_made() {
    let device = Device::cpu(1);
    let mut session = Session::restore(&device, &[&read(&folder("planned").join("cem.safetensors"))]).unwrap();
    assert_eq!((session.iteration(), session.iterations(), session.steps_made(0)), (2, 2, 330));
    assert!(!session.done() && session.goes_on_unlike_planned(0));
    while !session.done() {
        assert!(session.steps_made(0) < 8000);
        block_on(session.step()).unwrap();
    }
    assert!(session.steps_made(0) >= 8000 && session.iteration() > 2);
    let finished = block_on(session.snapshot(0)).unwrap();
    session.set_steps(20_000).unwrap();
    // What this version has written goes on as it is used to.
    let mut again = Session::restore(&device, &[&finished]).unwrap();
    assert!(again.done());
    again.set_steps(20_000).unwrap();
    assert!(!again.done() && !again.goes_on_unlike_planned(0));
}

/// Earlier versions kept the next episode's first observation where an episode ended by itself, which hindsight reads.
#[test]
fn memories_of_earlier_versions_have_wrong_goals_for_hindsight_alone() {
    let device = Device::cpu(1);
    let env = quickstudy_core::env::builtin("bit-flip:bits=3").unwrap();
    for (settings, wrong) in
        [("hindsight = 0.8", true), ("hindsight = 0.8\nmin_rollouts = 2", false), ("n_step = 2", false)]
    {
        let settings = format!("hidden = [4]\nbatch_size = 4\nlearning_starts = 10\n{settings}");
        let mut session =
            training_on("dqn", env.clone()).seeds(&[0]).steps(400).with(settings.parse().unwrap()).session_on(&device);
        (0..3).for_each(|_| drop(block_on(session.step()).unwrap()));
        let mut file = Crafted::read(&block_on(session.snapshot(0)).unwrap());
        let restored = |file: &Crafted| Session::restore(&device, &[&file.bytes()]).unwrap();
        assert!(!restored(&file).has_wrong_goals(0), "{settings}");
        file.tensors.remove("environment.episode_return_rest");
        let old = restored(&file.header("\"format\":6", "\"format\":2"));
        assert_eq!(old.has_wrong_goals(0), wrong, "{settings}");
    }
}

/// θ was one vector then, and nothing said what was where.
#[test]
fn golden_snapshots_of_format_1_are_read_and_hold_the_same_parameters() {
    for algorithm in ["ppo", "promp", "rl2-ppo"] {
        check(&folder("format-1").join(algorithm));
        let session = |format: &str| {
            let bytes = read(&folder(format).join(algorithm).join("session.safetensors"));
            Session::restore(&Device::cpu(1), &[&bytes]).unwrap()
        };
        let (old, new) = (session("format-1"), session("format-2"));
        assert!(block_on(old.snapshot(0)).unwrap() == block_on(new.snapshot(0)).unwrap(), "{algorithm}");
    }
}

#[test]
fn snapshots_hold_nothing_that_the_page_on_them_leaves_out() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/snapshots.md");
    let page = String::from_utf8(read(&page)).unwrap();
    let golden = |run: String| (read(&folder("format-2").join(&run).join("session.safetensors")), run);
    // Each algorithm as it is now, one that is newer than the format too.
    let anew = |def: &'static AlgorithmDef| {
        let (env, settings) = small(def).unwrap();
        let session = training_on(def, env).seeds(&[0]).steps(2000).with(settings).session();
        (block_on(session.snapshot(0)).unwrap(), def.name.to_owned())
    };
    for (file, run) in runs("format-2").into_iter().map(golden).chain(every().into_iter().map(anew)) {
        let file = Crafted::read(&file);
        for tensor in file.tensors.keys() {
            let mut name = tensor.clone();
            for prefix in ["optimiser.first_moment.", "optimiser.second_moment.", "inner_lr.", "target."] {
                name = name.strip_prefix(prefix).map_or(name.clone(), str::to_owned);
            }
            // Of one particle of several.
            if page.contains("`particle.I.…`")
                && let Some((number, rest)) = name.strip_prefix("particle.").and_then(|name| name.split_once('.'))
                && number.parse::<usize>().is_ok()
            {
                name = rest.to_owned();
            }
            for gate in ["update", "reset", "input", "forget", "candidate", "output"] {
                name = name
                    .replace(&format!(".gru.{gate}."), ".gru.GATE.")
                    .replace(&format!(".lstm.{gate}."), ".lstm.GATE.");
            }
            // The recurrent layers of an encoder and of a value function are as those of a policy.
            for cell in [".gru.", ".lstm."] {
                for network in ["encoder", "value"] {
                    name = name.replace(&format!("{network}{cell}"), &format!("policy{cell}"));
                }
                for part in ["start", "norm."] {
                    name = name.replace(&format!("policy{cell}{part}"), &format!("policy.CELL.{part}"));
                }
            }
            // The value function has layers like those of the policy.
            let mut parts: Vec<&str> = name.split('.').collect();
            if let ["value" | "critic", "0" | "1", _, _] = parts[..] {
                // One of two critics.
                parts.remove(1);
            }
            if let ["q", _, part] = parts[..] {
                name = format!("q.N.{part}");
            } else if let ["policy" | "value" | "critic" | "encoder", number, part] = parts[..]
                && number.chars().all(|c| c.is_ascii_digit())
            {
                let linear = ["weight", "bias"].contains(&part);
                name = format!("policy.{}.{part}", if linear { "N" } else { number });
            }
            let told = [tensor, &name].iter().any(|name| page.contains(&format!("`{name}`")));
            assert!(told, "{run}: `{tensor}` is not in docs/snapshots.md");
        }
    }
}
