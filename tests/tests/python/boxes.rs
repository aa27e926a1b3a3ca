//! Actions of a `Box` of each type: they are in the space, and whole numbers are the nearest ones.

use quickstudy_core::env::{ActionSpace, Dim};

use crate::command_line::sandbox;
use crate::{executor, keys, options, place};

/// The space of an environment of `Within`, and the first number that each action arrives as.
fn arrived(action: &str, given: &[f64]) -> (Vec<Dim>, Vec<f64>) {
    let options = options(1);
    let place = place(&format!("Within-v0?action={action}"), &options).unwrap();
    let ActionSpace::Box { dims } = place.spec().action.clone() else { panic!("a vector") };
    let mut envs = executor(&place, 1);
    pollster::block_on(envs.reset(&keys(1, 0))).unwrap();
    let mut step = |(number, x): (usize, &f64)| {
        let row = vec![*x; dims.len()];
        let stepped = pollster::block_on(envs.step(&row, &keys(1, number as u32 + 1))).unwrap();
        // A fault would cut the episode off.
        assert!(!stepped.ended(0), "{action}: {x} is refused");
        stepped.observations[0]
    };
    let seen = given.iter().enumerate().map(&mut step).collect();
    (dims, seen)
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn numbers_are_within_bounds_that_single_precision_rounds_outwards() {
    // The nearest numbers of single precision to the bounds, which are outside, and further ones.
    let tenth = f64::from(0.1f32);
    let (dims, seen) = arrived("tenth", &[tenth, -tenth, 1.0, 0.05]);
    assert_eq!((dims[0].low, dims[0].high, dims[0].whole), (-0.1, 0.1, false));
    let inside = f64::from(0.1f32.next_down());
    assert_eq!(seen, [inside, -inside, inside, 0.05]);
    let (_, seen) = arrived("uneven", &[f64::from(0.3f32)]);
    assert_eq!(seen, [f64::from(0.3f32)]);
    // Half precision holds its own bounds.
    let half = 0.0999755859375; // numpy.float16(0.1)
    let (dims, seen) = arrived("half", &[half, -half, 0.05]);
    assert_eq!((dims[0].low, dims[0].high), (-half, half));
    assert_eq!(seen[..2], [half, -half]);
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn whole_numbers_are_the_nearest_ones_and_reach_both_ends() {
    for (action, given, expected) in [
        ("few", &[-2.0, 2.0, 1.6, 0.4, -1.7, 9.0][..], &[-2.0, 2.0, 2.0, 0.0, -2.0, 2.0][..]),
        ("int8", &[-128.0, 127.0, 126.6], &[-128.0, 127.0, 127.0]),
        ("uint8", &[0.0, 255.0, 254.7], &[0.0, 255.0, 255.0]),
        // The largest numbers of single precision that these types hold.
        ("int32", &[-2147483648.0, 2147483648.0], &[-2147483648.0, 2147483520.0]),
        ("int64", &[-9223372036854775808.0, 9223372036854775808.0], &[-9223372036854775808.0, 9223371487098961920.0]),
        ("uint64", &[0.0, 18446744073709551616.0], &[0.0, 18446742974197923840.0]),
    ] {
        let (dims, seen) = arrived(action, given);
        assert_eq!(seen, expected, "{action}");
        assert!(dims.iter().all(|dim| dim.whole), "{action}");
    }
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn bounds_that_policies_cannot_act_in_are_refused_with_a_remedy() {
    let (dir, python) = sandbox();
    for (action, parts) in [
        ("huge", &["action[0] of Box(-1e+300, 1e+300", "wider than the numbers of single precision"][..]),
        ("widest", &["action[0] of Box(-3.4028235e+38", "wider than the numbers of single precision"]),
        ("narrow", &["action[0] of Box(", "single precision, in which policies act, has no number"]),
        ("unbounded", &["infinite bounds, Box(-inf, inf, (2,), float32)"]),
        ("fixed", &["action[1] of Box(", "there is nothing to choose"]),
        ("fixed_byte", &["action[0] of Box(3, 3, (1,), uint8)", "there is nothing to choose"]),
        ("lonely", &["action[0] of Box(9007199254740992, ", "policies act, has only one number"]),
        ("lonely_float", &["action[0] of Box(1.0, ", "policies act, has only one number"]),
    ] {
        let train = format!("train ppo --steps 64 --set envs=2 --set horizon=32 --set minibatches=2 {python} --env");
        let done = dir.run(&format!("{train} gymnasium:envs_under_test:Within-v0?action={action} --out {action}"));
        assert_eq!(done.code, Some(2), "{action}: {done:?}");
        for part in parts {
            assert!(done.err.contains(part), "{action}: {}", done.err);
        }
        assert!(!dir.join(action).exists(), "nothing was begun");
        // The remedy works as it stands there.
        let remedy = done.err.split_once("in a module of your own, for example ").unwrap().1.lines().next().unwrap();
        let module = format!(
            "import envs_under_test\nimport gymnasium\n\n\ndef make():\n    \
             env = envs_under_test.Within(\"{action}\")\n    return {remedy}\n\n\n\
             gymnasium.register(\"Remedied-v0\", make, max_episode_steps=20)\n"
        );
        std::fs::write(dir.join(&format!("with_{action}.py")), module).unwrap();
        let done = dir.run(&format!("{train} gymnasium:with_{action}:Remedied-v0 --out {action}"));
        assert_eq!(done.code, Some(0), "{action}: {remedy}: {done:?}");
        assert!(!(done.err + &done.out).contains(" fault"), "{action}: {remedy}");
    }
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn training_and_evaluation_stay_in_boxes_of_each_type() {
    let (dir, python) = sandbox();
    let ppo = "ppo --steps 256 --set envs=2 --set horizon=64 --set minibatches=2 --set log_std_init=1";
    let runs = [
        (ppo.to_owned(), &["tenth", "uneven", "half", "few", "int8", "uint8", "int64", "uint64"][..]),
        (format!("{ppo} --set scale_actions=true"), &["tenth", "half", "few", "uint8", "int64"]),
        ("td3 --steps 300 --set learning_starts=100".to_owned(), &["tenth", "uneven", "int8"]),
        ("sac --steps 300 --set learning_starts=100".to_owned(), &["half", "few", "uint8"]),
    ];
    for (number, (train, actions)) in runs.iter().enumerate() {
        for action in *actions {
            let env = format!("gymnasium:envs_under_test:Within-v0?action={action}&max_episode_steps=20");
            let out = format!("{action}-{number}");
            let done = dir.run(&format!(
                "train {train} --env {env} --set hidden=[4] --eval-every 128 --eval-episodes 2 --out {out} {python}"
            ));
            assert_eq!(done.code, Some(0), "{train} {action}: {done:?}");
            assert!(!done.err.contains(" fault") && !done.out.contains(" fault"), "{train} {action}: {done:?}");
            let note = done.out.contains("note: `action[");
            let far = !["few"].contains(action);
            assert_eq!(note, far && train == ppo, "{train} {action}: {}", done.out);
        }
    }
}
