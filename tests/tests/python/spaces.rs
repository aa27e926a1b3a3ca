//! Spaces, arguments and names of Gymnasium.

use quickstudy_bridge::Recipe;
use quickstudy_core::env::{ActionForm, ActionSpace, EnvSpec};
use quickstudy_core::host::FleetSize;

use crate::{executor, keys, options, place, said};

/// The observation that an environment of `Echo` has after an action.
fn echoed(action: &str, given: &[f64]) -> Vec<f64> {
    let options = options(1);
    let place = place(&format!("Echo-v0?action={action}"), &options).unwrap();
    let mut envs = executor(&place, 1);
    pollster::block_on(envs.reset(&keys(1, 0))).unwrap();
    pollster::block_on(envs.step(given, &keys(1, 1))).unwrap().observations
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn actions_arrive_as_their_spaces_want_them() {
    for (action, given, seen) in [
        // The number of the type comes first: 0 a Python int, 1 int64, 2 int8, 3 float32, 4 float64.
        ("discrete", &[2.0][..], &[0.0, 2.0][..]),
        ("shifted", &[0.0], &[0.0, -1.0]),
        ("multidiscrete", &[1.0, 2.0], &[1.0, 1.0, 2.0]),
        ("square", &[1.0, 2.0, 3.0, 4.0], &[1.0, 1.0, 2.0, 3.0, 4.0]),
        ("offset", &[1.0, 2.0], &[1.0, 6.0, 1.0]),
        ("multibinary", &[1.0, 0.0, 1.0], &[2.0, 1.0, 0.0, 1.0]),
        ("box", &[0.5, -1.0, 0.25], &[3.0, 0.5, -1.0, 0.25]),
        ("box64", &[0.1, 0.2, 0.3, 0.4], &[4.0, 0.1, 0.2, 0.3, 0.4]),
    ] {
        let found = echoed(action, given);
        assert_eq!(found, seen, "{action}");
    }
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn action_spaces_are_those_of_gymnasium() {
    let options = options(1);
    let space = |action: &str| place(&format!("Echo-v0?action={action}"), &options).unwrap().spec().action.clone();
    assert_eq!(space("shifted").choices(), Some(3));
    let ActionSpace::MultiDiscrete { choices } = space("square") else { panic!("several choices") };
    assert_eq!(choices.iter().map(|choice| choice.names.len()).collect::<Vec<_>>(), [2, 3, 4, 5]);
    let ActionSpace::Box { dims } = space("box64") else { panic!("a vector") };
    assert!(dims.len() == 4 && dims.iter().all(|dim| (dim.low, dim.high) == (-1.0, 1.0)));
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn the_form_of_actions_is_part_of_the_spec_where_it_is_not_the_plain_one() {
    let options = options(1);
    let form = |start: &[i64], shape: Option<&[usize]>, dtype: Option<&str>| {
        Some(ActionForm { start: start.to_vec(), shape: shape.map(<[_]>::to_vec), dtype: dtype.map(str::to_owned) })
    };
    for (action, expected) in [
        ("discrete", None),
        ("multidiscrete", None),
        ("multibinary", None),
        ("box", None),
        ("tenth", None),
        ("shifted", form(&[-1], None, None)),
        ("offset", form(&[5, -1], None, None)),
        ("square", form(&[], Some(&[2, 2]), None)),
        ("narrow_type", form(&[], None, Some("int32"))),
        ("binaries", form(&[], Some(&[2, 2]), None)),
        ("number", form(&[], Some(&[]), None)),
        ("box64", form(&[], Some(&[2, 2]), None)),
        ("half", form(&[], None, Some("float16"))),
        ("uint8", form(&[], None, Some("uint8"))),
    ] {
        // `Echo` does not know all types.
        let id = if expected.as_ref().is_some_and(|form| form.dtype.is_some()) { "Within" } else { "Echo" };
        let spec = place(&format!("{id}-v0?action={action}"), &options).unwrap().spec().clone();
        assert_eq!(spec.action_form, expected, "{action}");
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(json.contains("action_form"), expected.is_some(), "{action}: {json}");
        assert_eq!(serde_json::from_str::<EnvSpec>(&json).unwrap(), spec, "{action}");
        let names = match &spec.action {
            ActionSpace::Discrete { names } => vec![names.clone()],
            ActionSpace::MultiDiscrete { choices } => choices.iter().map(|choice| choice.names.clone()).collect(),
            ActionSpace::Box { .. } => continue,
        };
        match action {
            "shifted" => assert_eq!(names, [["-1", "0", "1"]]),
            "offset" => assert_eq!(names, [&["5", "6"][..], &["-1", "0", "1"]]),
            _ => assert!(names.iter().all(|names| names[0] == "0"), "{action}: {names:?}"),
        }
    }
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn environments_with_another_form_than_a_snapshot_has_are_refused() {
    let options = options(1);
    let known = |id: &str, change: &dyn Fn(&mut EnvSpec)| {
        let mut spec = place(id, &options).unwrap().spec().clone();
        change(&mut spec);
        let place =
            Recipe::parse(&format!("gymnasium:python.envs_under_test:{id}"), &options).unwrap().place_with(spec);
        let size = FleetSize { tasks: 1, envs_per_task: 1, horizon: place.spec().horizon };
        place.executor(size).map(|_| ()).map_err(|error| error.to_string())
    };
    let shifted = "Echo-v0?action=shifted";
    let old = |spec: &mut EnvSpec| {
        spec.action_form = None;
        spec.action = ActionSpace::discrete(&["0", "1", "2"]);
    };
    assert_eq!(known(shifted, &|_| ()), Ok(()));
    assert_eq!(known(shifted, &old), Ok(()), "files of older versions do not have it");
    let other = |spec: &mut EnvSpec| spec.action_form = Some(ActionForm { start: vec![2], ..ActionForm::default() });
    let error = known(shifted, &other).unwrap_err();
    assert!(error.contains("discrete actions from [-1], instead of") && error.ends_with("actions from [2]"), "{error}");
    let turned = |spec: &mut EnvSpec| spec.observation.rotate_left(3);
    let error = known("Sample-v0?space=dict", &turned).unwrap_err();
    assert!(error.contains("seen (number 0 is `a[0]`)") && error.contains("seen (number 0 is `b[0]`)"), "{error}");
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn observations_are_flattened() {
    let options = options(1);
    for (space, numbers) in [
        ("box64", 4),
        ("discrete", 3),
        ("multibinary", 3),
        ("multidiscrete", 5),
        ("dict", 5),
        ("nested", 5),
        ("tuple", 3),
        ("picture", 48),
    ] {
        let place = place(&format!("Sample-v0?space={space}"), &options).unwrap();
        assert_eq!(place.spec().observation.len(), numbers, "{space}");
        let mut envs = executor(&place, 2);
        assert_eq!(pollster::block_on(envs.reset(&keys(2, 0))).unwrap().len(), 2 * numbers, "{space}");
        pollster::block_on(envs.step(&[0.0, 1.0], &keys(2, 1))).unwrap();
    }
    let names = |space: &str| {
        let place = place(&format!("Sample-v0?space={space}"), &options).unwrap();
        place.spec().observation.iter().map(|dim| dim.name.clone()).collect::<Vec<_>>()
    };
    // A dictionary that is made of a plain one has its keys in order of the alphabet.
    assert_eq!(names("dict"), ["a[0]", "a[1]", "a[2]", "b[0]", "b[1]"]);
    assert_eq!(names("nested"), ["c[0]", "c[1]", "z.a[0]", "z.b[0]", "z.b[1]"]);
    assert!(said().iter().any(|line| line.contains("pictures (4, 4, 3) are taken as vectors of 48")), "{:?}", said());
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn what_is_no_number_is_left_out_with_a_note_that_names_it() {
    let options = options(1);
    let partly = place("Sample-v0?space=partly", &options).unwrap();
    let names: Vec<_> = partly.spec().observation.iter().map(|dim| dim.name.as_str()).collect();
    assert_eq!(names, ["pair[0]", "pair[1]", "pair[2]", "pair[3]", "pair[4]", "z.a[0]", "z.a[1]"]);
    let mut envs = executor(&partly, 1);
    let first = pollster::block_on(envs.reset(&keys(1, 0))).unwrap();
    assert_eq!((first[..2].iter().sum::<f64>(), first[2..5].iter().sum::<f64>()), (1.0, 1.0), "{first:?}");
    pollster::block_on(envs.step(&[1.0], &keys(1, 1))).unwrap();
    // Properties that others have raise, and infos of the names that are looked for are no numbers.
    let strange = place("Strange-v0", &options).unwrap();
    let mut envs = executor(&strange, 1);
    pollster::block_on(envs.reset(&keys(1, 0))).unwrap();
    pollster::block_on(envs.step(&[1.0], &keys(1, 1))).unwrap();
    assert!(envs.fleet().info.is_empty() && envs.faults().total() == 0, "{:?}", envs.faults());
    let said = said().join("\n");
    for part in [
        "left out of observations, as no numbers: `mission` (Mission), `pair.1` (Mission), `z.path` (Sequence)",
        "left out of infos, as no number: `success` (str)",
        "left out of infos, as no number: `is_success` (list)",
    ] {
        assert!(said.contains(part), "`{part}` is missing: {said}");
    }
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn both_ends_at_once_are_a_final_state_and_success_is_seen() {
    let options = options(1);
    let mut envs = executor(&place("Echo-v0?ends=2", &options).unwrap(), 1);
    assert_eq!(envs.fleet().info, ["success"]);
    let first = pollster::block_on(envs.reset(&keys(1, 0))).unwrap();
    let one = pollster::block_on(envs.step(&[1.0], &keys(1, 1))).unwrap();
    assert_eq!((one.lengths[0], one.ended(0), one.info[0]), (1, false, 0.0));
    let two = pollster::block_on(envs.step(&[2.0], &keys(1, 2))).unwrap();
    assert_eq!((two.lengths[0], two.terminated[0], two.truncated[0], two.info[0]), (2, true, false, 1.0));
    assert_eq!((two.rewards[0], &two.last_observations[..]), (2.0, &[0.0, 2.0][..]));
    assert!(two.observations[0] == two.observations[1] && two.observations != first, "a new episode, of another seed");
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn time_limits_are_the_environments_or_a_thousand_steps() {
    let options = options(1);
    let horizon = |id: &str| place(id, &options).unwrap().spec().horizon;
    assert_eq!((horizon("Echo-v0"), horizon("Echo-v0?max_episode_steps=7"), horizon("Unlimited-v0")), (50, 7, 1000));
    assert!(said().iter().any(|line| line.contains("no time limit")), "{:?}", said());
    let mut envs = executor(&place("Echo-v0?max_episode_steps=2", &options).unwrap(), 1);
    pollster::block_on(envs.reset(&keys(1, 0))).unwrap();
    pollster::block_on(envs.step(&[1.0], &keys(1, 1))).unwrap();
    let two = pollster::block_on(envs.step(&[1.0], &keys(1, 2))).unwrap();
    assert_eq!((two.terminated[0], two.truncated[0], two.lengths[0]), (false, true, 2));
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn what_cannot_be_played_says_why() {
    let options = options(1);
    for (id, part) in [
        ("CartPol-v1", "Did you mean: `CartPole`?"),
        ("CartPole-v7", "CartPole"),
        ("CartPole-v1?gravity=3", "unexpected keyword argument 'gravity'"),
        ("HalfCheetah-v3", "ImportError"),
        ("ALE/Pong-v5", "ALE"),
        ("no_such_module:Env-v9", "no_such_module"),
        ("Sample-v0?space=sequence", "the space Sequence"),
        ("Sample-v0?space=large", "pictures (96, 96, 3) of 27648 numbers"),
        // Refused before anything of that size is made, whatever the type of its numbers.
        ("Sample-v0?space=large_floats", "(120, 120, 3), float32) of 43200 numbers, more than 12288; wrap"),
        ("Sample-v0?space=large_vector", "of 20000 numbers, more than 12288"),
        ("Sample-v0?space=huge_discrete", "observations are Discrete(1000000000000) of 1000000000000 numbers"),
        ("Sample-v0?space=huge_multidiscrete", "of 2000000000 numbers"),
        ("Sample-v0?space=huge_multibinary", "of 1000000000 numbers"),
        ("Sample-v0?space=huge_dict", "of 1000000002 numbers"),
        ("Within-v0?action=huge_discrete", "actions are Discrete(1000000000000) of 1000000000000 numbers"),
        ("Within-v0?action=huge_multidiscrete", "of 2000000000 numbers"),
        ("Within-v0?action=huge_multibinary", "of 2000000000 numbers"),
        ("Within-v0?action=large_vector", "actions are Box(0.0, 1.0, (20000,), float32) of 20000 numbers"),
        ("Echo-v0?action=unbounded", "infinite bounds"),
        ("Echo-v0?action=dict", "the space Dict"),
        ("Broken-v0", "the licence has run out"),
        ("OldStep-v0", "step() gave 4 values instead of observation, reward"),
        ("OldReset-v0", "reset() gave ndarray instead of an observation and infos: it is not made for Gymnasium 1.x"),
        ("Sample-v0?space=mission", "the space Mission"),
        ("Sample-v0?space=missions", "the space Dict"),
        ("Within-v0?action=fixed", "action[1] of Box([-1. 0.5], [1. 0.5], (2,), float64) has the range 0.5 to 0.5"),
        ("Unknown-v0?where=reset", "the first observation holds nan"),
        ("Unknown-v0?where=step", "the observation of a step holds inf"),
        ("Unknown-v0?where=reward", "the reward of a step is nan"),
        ("CartPole-v1?max_episode_steps=1e12", "max_episode_steps is 1000000000000, expected 1 to 4294967295"),
        ("CartPole-v1?max_episode_steps=1e300", "expected 1 to 4294967295"),
        ("CartPole-v1?max_episode_steps=0", "positive"),
        // The line of the user's code, and not that of NumPy or Gymnasium, which raised.
        ("Broken-v0", "envs_under_test.py, line"),
        ("Fussy-v0?way=assert", "in __init__: assert self.kinds_of(way) == 3)"),
        ("Fussy-v0?way=numpy", "in __init__: np.zeros(2).reshape(3))"),
        ("Fussy-v0?way=cause", "in __init__: raise TypeError(\"there is no size\") from error)"),
        ("Nowhere-v1", "one that a module registers is named gymnasium:MODULE:Nowhere-v1"),
    ] {
        let error = place(id, &options).unwrap_err().to_string();
        assert!(error.starts_with("env: gymnasium:") && error.contains(part) && error.contains(id), "{id}: {error}");
        assert!(!error.contains('\n'), "one line: {error}");
    }
    let wrong = |python: &str| {
        let options = quickstudy_bridge::Options { python: Some(python.into()), ..options.clone() };
        place("CartPole-v1", &options).unwrap_err().to_string()
    };
    assert!(wrong("/no/such/python").contains("cannot be started"));
    assert!(wrong("/bin/true").contains("python: "), "{}", wrong("/bin/true"));
    assert!(wrong("/bin/ls").contains("is no Python"), "{}", wrong("/bin/ls"));
}
