//! Every algorithm trains: alone as in a stack, in programs as on the host, resumed and extended as without a break.

use quickstudy_core::train::{Evaluator, MetaTest, Session};
use quickstudy_tests::crafted::Crafted;
use quickstudy_tests::every::{every, of_tier, own};
use quickstudy_tests::hosted::hosted;
use quickstudy_tests::trainings::{finish, restored, snapshots, steps, wait};
use toml::Value;

use super::{LONG, SEEDS, SmallRun, device};

fn session(run: &SmallRun, seeds: &[u64]) -> Session {
    let setup = run.setup(run.env.clone(), seeds);
    Session::new(&device(), &setup.unwrap_or_else(|error| panic!("{}: {error}", run.def.name))).unwrap()
}

fn parameters(session: &Session, index: usize) -> Vec<f32> {
    wait(session.parameters(index))
}

fn seeds_train_alone_as_stacked(first: bool) {
    for run in of_tier(first).into_iter().map(SmallRun::of) {
        let name = run.def.name;
        let mut stacked = session(&run, &SEEDS);
        finish(&mut stacked);
        let whole = snapshots(&stacked);
        // The first and the last row of the stack.
        for (index, seed) in SEEDS.into_iter().enumerate().step_by(2) {
            let mut alone = session(&run, &[seed]);
            finish(&mut alone);
            assert!(snapshots(&alone)[0] == whole[index], "{name}: seed {seed} alone");
        }
        for stop in [1, 2] {
            let mut killed = session(&run, &SEEDS);
            steps(&mut killed, stop);
            let mut resumed = restored(own(None), &snapshots(&killed));
            finish(&mut resumed);
            assert!(snapshots(&resumed) == whole, "{name}: resumed after {stop} iterations");
        }
        // Further, from the end.
        let further = 2 * (0..SEEDS.len()).map(|index| stacked.steps_made(index)).max().unwrap();
        let mut resumed = restored(own(None), &whole);
        for session in [&mut stacked, &mut resumed] {
            session.set_steps(further).unwrap();
            finish(session);
        }
        assert!(snapshots(&resumed) == snapshots(&stacked), "{name}: resumed and extended");
    }
}

#[test]
fn seeds_train_as_if_alone_and_go_on_as_without_a_break() {
    seeds_train_alone_as_stacked(true);
}

#[test]
#[ignore = "half a minute: scripts/second-tier.sh"]
fn seeds_of_all_others_train_as_if_alone_and_go_on_as_without_a_break() {
    seeds_train_alone_as_stacked(false);
}

fn hosts_train_the_same_parameters(first: bool) {
    for run in of_tier(first).into_iter().map(|def| SmallRun::of(def).with_preset()) {
        let name = run.def.name;
        let mut inside = session(&run, &SEEDS);
        let setup = run.setup(hosted(&run.env), &SEEDS).unwrap();
        let mut outside = Session::new(&device(), &setup).unwrap();
        wait(outside.step());
        let saved = snapshots(&outside);
        let mut resumed = restored(own(Some(hosted(&run.env))), &saved);
        for session in [&mut inside, &mut outside, &mut resumed] {
            finish(session);
        }
        for index in 0..SEEDS.len() {
            assert!(parameters(&outside, index) == parameters(&inside, index), "{name}: on the host, seed {index}");
            assert!(parameters(&resumed, index) == parameters(&inside, index), "{name}: resumed there, seed {index}");
        }
    }
}

#[test]
fn environments_of_the_host_train_the_same_parameters() {
    hosts_train_the_same_parameters(true);
}

#[test]
#[ignore = "half a minute: scripts/second-tier.sh"]
fn environments_of_the_host_train_the_same_parameters_of_all_others() {
    hosts_train_the_same_parameters(false);
}

#[test]
fn policies_are_read_from_files_and_played_or_adapted() {
    for run in every().into_iter().map(SmallRun::of) {
        let name = run.def.name;
        let mut trained = session(&run, &SEEDS[..1]);
        finish(&mut trained);
        let file = wait(trained.policy_snapshot(0));
        let mut policy = Evaluator::load_with(&device(), own(None), &file).unwrap();
        let played = wait(policy.evaluate(4, 7, true));
        let again = wait(Evaluator::load_with(&device(), own(None), &file).unwrap().evaluate(4, 7, true));
        assert!(played.len() == 4 && played == again, "{name}: {played:?} {again:?}");
        if run.def.family.in_rounds() {
            let test = || MetaTest { tasks: 2, rollouts: Some(1), ..MetaTest::default() };
            assert_eq!(wait(policy.adapt(test())).tasks.len(), 2, "{name}");
        }
    }
}

/// True of tensors that another run gives.
fn is_learned(name: &str) -> bool {
    let others = [
        "optimiser.",
        "search.",
        "random.",
        "memory.",
        "environment.",
        "exploration.",
        "finished_",
        "target.updates_since",
    ];
    !others.iter().any(|other| name.starts_with(other))
}

/// Checks that a run which begins with another one's parameters has these, and all else anew.
fn begins_with_what_was_learned(run: &SmallRun) {
    let name = run.def.name;
    let anew_of = |seeds: [u64; 2]| session(run, &seeds);
    let mut source = anew_of([3, 4]);
    steps(&mut source, 3);
    let files = snapshots(&source);
    let (mut begun, anew) = (anew_of([4, 3]), anew_of([4, 3]));
    begun.start_from(own(None), &[&files[0], &files[1]]).unwrap();
    let (got, first) = (snapshots(&begun), snapshots(&anew));
    for (index, number) in [(0, 1), (1, 0)] {
        assert_eq!(parameters(&begun, index), parameters(&source, number), "{name}");
        let [got, want, first] = [&got[index], &files[number], &first[index]].map(|file| Crafted::read(file));
        for (tensor, value) in &got.tensors {
            let expected = if is_learned(tensor) { &want } else { &first };
            let rule = if is_learned(tensor) {
                "mark its entry `StateEntry::statistics`, or name it as what begins anew"
            } else {
                "it begins anew"
            };
            assert!(expected.tensors[tensor] == *value, "{name}: {tensor} does not begin as it should: {rule}");
        }
        // Who learns nothing has the first parameters of its seed, in both runs.
        let learns = parameters(&source, number) != parameters(&anew, index);
        let changed = |tensor: &&String| want.tensors[*tensor] != first.tensors[*tensor];
        let changed: Vec<_> = got.tensors.keys().filter(|tensor| is_learned(tensor)).filter(changed).collect();
        assert!(learns == changed.iter().any(|tensor| tensor.contains("weight")), "{name}: {changed:?}");
    }
    assert_eq!((begun.iteration(), begun.env_steps()), (0, 0));
    wait(begun.step());
    assert!(begun.start_from(own(None), &[&files[0]]).is_err(), "{name}: it has begun");
}

#[test]
fn runs_begin_with_the_parameters_of_others_and_all_else_anew() {
    for def in every() {
        let mut run = SmallRun::of(def);
        begins_with_what_was_learned(&run);
        // With statistics of what was seen, where there are such.
        let statistics = ["normalise_observations", "normalise_rewards"];
        let keys: Vec<_> = def.settings().map(|doc| doc.key).filter(|key| statistics.contains(key)).collect();
        if !keys.is_empty() {
            run.settings.extend(keys.into_iter().map(|key| (key.to_owned(), Value::Boolean(true))));
            begins_with_what_was_learned(&run);
        }
    }
}

/// The bytes that a run with these settings takes; none if they do not fit each other.
fn memory(run: &SmallRun, seeds: &[u64]) -> Option<u64> {
    let setup = run.resolve(run.env.clone(), seeds, LONG).ok()?;
    Some(Session::memory(&device(), &setup).unwrap())
}

fn times(value: &Value, factor: i64) -> Value {
    match value {
        Value::Integer(n) => Value::Integer(n * factor),
        Value::Array(all) => Value::Array(all.iter().map(|value| times(value, factor)).collect()),
        other => panic!("{other} cannot be multiplied"),
    }
}

fn higher_values_take_more_memory(first: bool) {
    for run in of_tier(first).into_iter().map(SmallRun::of) {
        let name = run.def.name;
        let setup = run.resolve(run.env.clone(), &SEEDS[..1], LONG).unwrap();
        let (keys, all) = (setup.memory_settings(), setup.table());
        assert!(keys.len() >= 3, "{name}: {keys:?}");
        let needed = memory(&run, &SEEDS[..1]).unwrap();
        assert!(memory(&run, &SEEDS[..2]).is_some_and(|more| more > needed), "{name}: two seeds");
        for key in keys.into_iter().filter(|key| *key != "number of seeds") {
            // Where another part of an iteration takes the most, a few times as much changes nothing.
            let with = |factor| {
                let mut settings = run.settings.clone();
                settings.insert(key.to_owned(), times(&all[key], factor));
                memory(&SmallRun { settings, env: run.env.clone(), ..run }, &SEEDS[..1])
            };
            let takes: Vec<Option<u64>> = [2, 8, 64].map(with).to_vec();
            assert!(takes.iter().flatten().all(|more| *more >= needed), "{name}: {key}: {takes:?}, {needed} before");
            assert!(takes.iter().flatten().any(|more| *more > needed), "{name}: {key}: {takes:?}, {needed} before");
        }
    }
}

#[test]
fn higher_values_of_the_settings_that_are_named_take_more_memory() {
    higher_values_take_more_memory(true);
}

#[test]
#[ignore = "a quarter of a minute: scripts/second-tier.sh"]
fn higher_values_of_the_settings_that_are_named_take_more_memory_in_all_others() {
    higher_values_take_more_memory(false);
}
