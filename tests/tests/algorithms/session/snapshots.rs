//! The content of snapshots, and the refusal of snapshots with impossible values.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use pollster::block_on;
use quickstudy_core::env::{ActionSpace, Dim, Draws, Env, EnvDef, EnvSpec, Mask, Real, Scene, Step};
use quickstudy_core::train::{Evaluator, MetaTest, Session, Snapshots};
use quickstudy_core::{Device, Error, env};
use quickstudy_tests::crafted::Crafted;
use quickstudy_tests::trainings::{training, training_on};

fn session(algorithm: &str, name: &str, settings: &str) -> Session {
    let mut session = training(algorithm, name).steps(4096).set(settings).session();
    block_on(session.step()).unwrap();
    session
}

/// The snapshots of a session and of its policy.
fn files(session: &Session) -> [Crafted; 2] {
    let read = |snapshots: Snapshots<'_>| Crafted::read(&block_on(snapshots.encode(0)).unwrap());
    [read(block_on(session.snapshots()).unwrap()), read(block_on(session.policy_snapshots()).unwrap())]
}

const PPO: &str = "envs = 2\nhorizon = 8\nminibatches = 2\nepochs = 1\nhidden = [4]\nnormalise_observations = true\n\
                   normalise_rewards = true\nsde = true";

fn restored(file: &Crafted) -> quickstudy_core::Result<Session> {
    Session::restore(&Device::cpu(1), &[&file.bytes()])
}

fn loaded(file: &Crafted) -> quickstudy_core::Result<Evaluator> {
    Evaluator::load(&Device::cpu(1), &file.bytes())
}

/// Names and shapes, one word per tensor.
fn listed(file: &Crafted) -> Vec<String> {
    file.tensors.iter().map(|(name, (_, shape, _))| format!("{name}{shape:?}").replace(' ', "")).collect()
}

#[test]
fn tensors_are_named_by_layer_and_a_normaliser_is_layer_0() {
    let [all, policy] = files(&session("ppo", "pendulum", PPO));
    let of_policy = "policy.0.clip[1] policy.0.mean[3] policy.0.std[3] policy.0.variance[3] policy.1.bias[4] \
                     policy.1.weight[4,3] policy.2.bias[1] policy.2.weight[1,4] policy.log_std[1,4] value.0.clip[1] \
                     value.0.mean[3] value.0.std[3] value.1.bias[4] value.1.weight[4,3] value.2.bias[1] \
                     value.2.weight[1,4]";
    assert_eq!(listed(&policy).join(" "), of_policy);
    let rest: Vec<String> = listed(&all).into_iter().filter(|name| !listed(&policy).contains(name)).collect();
    let (moments, rest): (Vec<String>, Vec<String>) = rest.into_iter().partition(|name| name.contains("_moment."));
    assert_eq!(
        rest.join(" "),
        "environment.discounted_return[2,1] environment.episode_return[2,1] \
         environment.episode_return_rest[2,1] environment.observation[2,3] environment.state[2,2] \
         environment.steps[2,1] finished_episodes[0,3] finished_returns[0] optimiser.bias_correction[2] \
         policy.0.count[1] random.key[2] rewards.count[1] rewards.mean[1] rewards.variance[1]"
    );
    // A first and a second moment of each parameter.
    assert_eq!(moments.len(), 2 * 9);
    assert!(moments.contains(&"optimiser.second_moment.policy.1.weight[4,3]".to_owned()), "{moments:?}");

    let [_, meta] = files(&session(
        "maml-ppo",
        "point-corner",
        "hidden = [4]\nmeta_batch = 2\nrollouts = 2\nlearn_inner_lr = true",
    ));
    assert_eq!(
        listed(&meta).join(" "),
        "inner_lr.policy.0.bias[4] inner_lr.policy.0.weight[4,2] inner_lr.policy.1.bias[2] \
         inner_lr.policy.1.weight[2,4] inner_lr.policy.log_std[2] policy.0.bias[4] policy.0.weight[4,2] \
         policy.1.bias[2] policy.1.weight[2,4] policy.log_std[2]"
    );

    let settings = "units = 3\nmeta_batch = 2\nepisodes = 2\nminibatches = 1\nreset = \"after\"\ncritic = \"gru\"";
    let [_, memory] = files(&session("rl2-ppo", "bandit", settings));
    let gate = |gate: &str| {
        format!(
            "policy.gru.{gate}.input.bias[3] policy.gru.{gate}.input.weight[3,8] policy.gru.{gate}.recurrent.bias[3] \
             policy.gru.{gate}.recurrent.weight[3,3]"
        )
    };
    let heads = "policy.out.bias[5] policy.out.weight[5,3] value.out.bias[1] value.out.weight[1,3]";
    let expected = [gate("candidate"), gate("reset"), gate("update"), heads.to_owned()].join(" ");
    assert_eq!(listed(&memory).join(" "), expected);
}

#[test]
fn tensors_hold_the_parameters_bit_for_bit_and_matrices_transposed() {
    let session = session("ppo", "pendulum", PPO);
    let theta = block_on(session.parameters(0)).unwrap();
    let [file, _] = files(&session);
    // θ begins with the first layer, [3, 4] there.
    let (weight, bias) = (file.f32s("policy.1.weight"), file.f32s("policy.1.bias"));
    for (output, input) in (0..4).flat_map(|o| (0..3).map(move |i| (o, i))) {
        assert_eq!(weight[output * 3 + input].to_bits(), theta[input * 4 + output].to_bits());
    }
    assert_eq!(bias, theta[12..16]);
    let again = restored(&file).unwrap();
    assert_eq!(block_on(again.parameters(0)).unwrap(), theta);
    assert!(block_on(again.snapshot(0)).unwrap() == file.bytes(), "what is read is written again");
    // The deviations by which the normaliser divides.
    let deviations: Vec<f32> = file.f32s("policy.0.variance").iter().map(|v| (v + 1e-8).sqrt()).collect();
    assert_eq!(file.f32s("policy.0.std"), deviations);
    assert!(file.f32s("policy.0.clip") == [10.0] && file.f32s("value.0.std") == deviations);
}

#[test]
fn numbers_that_cannot_be_are_refused_with_tensor_and_place() {
    let files = files(&session("ppo", "pendulum", PPO));
    let floats = |file: &Crafted| -> Vec<String> {
        let float =
            |name: &&String| file.tensors[*name].0 != safetensors::Dtype::U32 && !file.tensors[*name].2.is_empty();
        file.tensors.keys().filter(float).cloned().collect()
    };
    let expect = |result: quickstudy_core::Result<()>, parts: [&str; 2]| {
        let error = result.expect_err(parts[0]);
        assert!(matches!(error, Error::Snapshot(_)), "{error}");
        parts.iter().for_each(|part| assert!(error.to_string().contains(part), "no {part}: {error}"));
    };
    for (file, count) in files.iter().zip([42, 16]) {
        let names = floats(file);
        assert!(names.len() >= count - 8, "{names:?}");
        for name in &names {
            let last = file.tensors[name].1.iter().product::<usize>() - 1;
            let place = file.tensors[name].1.iter().map(|size| (size - 1).to_string()).collect::<Vec<_>>().join(", ");
            for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let crafted = file.number(name, last, value);
                let parts = [&format!("`{name}`")[..], &format!("at [{place}]")];
                expect(restored(&crafted).map(drop), parts);
                expect(loaded(&crafted).map(drop), parts);
            }
        }
    }
    let [all, policy] = &files;
    for name in ["policy.0.variance", "policy.0.count", "rewards.variance", "optimiser.second_moment.value.1.bias"] {
        expect(restored(&all.number(name, 0, -1.0)).map(drop), [&format!("`{name}`"), "-1 at [0]"]);
    }
    for (name, value) in [("policy.0.count", 0.5), ("rewards.count", 16.5), ("optimiser.bias_correction", 1.5)] {
        expect(restored(&all.number(name, 0, value)).map(drop), [&format!("`{name}`"), &format!("{value} at [0]")]);
    }
    // Adam has stepped, so its correction is not 0.
    expect(restored(&all.number("optimiser.bias_correction", 1, 0.0)).map(drop), ["bias_correction`", "0 at [1]"]);
    restored(&all.number("policy.0.count", 0, 17.0).number("rewards.count", 0, 0.0)).unwrap();
    expect(
        restored(&all.number("environment.steps", 1, 1e9)).map(drop),
        ["`environment.steps` holds 1000000000", "from 0 to 199"],
    );
    // A normaliser that is stored twice must be equal in both places.
    for name in ["policy.0.std", "policy.0.clip", "value.0.mean"] {
        expect(loaded(&policy.number(name, 0, 5.0)).map(drop), [&format!("`{name}`"), "does not follow"]);
    }
    let mut without = policy.clone();
    without.tensors.remove("policy.0.mean");
    expect(loaded(&without).map(drop), ["`policy.0.mean`", "missing"]);
}

#[test]
fn returns_of_finished_episodes_are_numbers_of_episodes() {
    let settings = "envs = 8\nhorizon = 64\nminibatches = 1\nepochs = 1\nhidden = [4]";
    let [file, _] = files(&session("ppo", "cartpole", settings));
    assert_eq!(file.tensors["finished_episodes"].1, [1, 3]);
    // 512 steps of CartPole end some two dozen episodes: all of them are among the latest hundred.
    let numbers = |name: &str| -> Vec<f64> {
        file.tensors[name].2.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect()
    };
    let (sums, returns) = (numbers("finished_episodes"), numbers("finished_returns"));
    assert_eq!((returns.len() as f64, returns.iter().sum::<f64>()), (sums[0], sums[1]));
    assert!(returns.len() > 5 && returns.iter().any(|x| *x != returns[0]), "{returns:?}");
    let error = restored(&file.number("finished_returns", 1, f64::INFINITY)).unwrap_err().to_string();
    assert!(error.contains("`finished_returns`") && error.contains("[1]"), "{error}");
    let mut older = file.clone();
    older.tensors.remove("finished_returns");
    restored(&older).unwrap();
    for (at, value) in [(1, f64::NAN), (2, f64::INFINITY), (0, 0.0), (0, -3.0), (2, 0.0)] {
        let error = restored(&file.number("finished_episodes", at, value)).unwrap_err().to_string();
        assert!(error.contains("`finished_episodes`") && error.contains("[0"), "{error}");
    }
}

#[test]
fn counts_that_cannot_be_are_refused() {
    let [file, policy] = files(&session("ppo", "pendulum", PPO));
    for (old, new) in [
        ("\"steps\":4096", "\"steps\":18446744073709551615"),
        ("\"steps\":4096", "\"steps\":1000000000000001"),
        ("\"steps\":4096", "\"steps\":0"),
        ("\"iteration\":1", "\"iteration\":18446744073709551615"),
        ("\"iteration\":1", "\"iteration\":1152921504606846976"),
        ("\"iteration\":1", "\"iteration\":-1"),
    ] {
        for error in [restored(&file.header(old, new)).map(drop), loaded(&policy.header(old, new)).map(drop)] {
            assert!(matches!(error, Err(Error::Snapshot(_))), "{new}: {error:?}");
        }
    }
    let most = restored(&file.header("\"steps\":4096", "\"steps\":1000000000000000")).unwrap();
    assert_eq!(most.total_steps(), 1_000_000_000_000_000);
    // Setups refuse such numbers of steps as well, so that no run has them.
    let env = || env::builtin("cartpole").unwrap();
    assert!(training_on("ppo", env()).seeds(&[0]).steps(u64::MAX).refusal().contains("steps"));
    let mut most = most;
    for (steps, part) in
        [(0, "at least 1"), (1_000_000_000_000_001, "is more than 1000000000000000"), (u64::MAX, "more")]
    {
        let error = most.set_steps(steps).unwrap_err().to_string();
        assert!(error.starts_with("steps: ") && error.contains(part), "{error}");
    }
    assert_eq!(most.setup().steps, 1_000_000_000_000_000);
}

#[test]
fn text_of_a_file_does_not_steer_a_terminal() {
    let [file, _] = files(&session("ppo", "pendulum", PPO));
    let evil = r"\u001b]0;pwned\u0007\u001b[2J\nall is well\u202e\u009b31m";
    let long = "x".repeat(100_000);
    for (old, new) in [
        ("\"algorithm\":\"ppo\"", format!("\"algorithm\":\"{evil}\"")),
        ("\"env\":\"pendulum\"", format!("\"env\":\"{evil}\"")),
        ("\"env\":\"pendulum\"", format!("\"env\":\"pendulum:{evil}\"")),
        ("\"env\":\"pendulum\"", format!("\"env\":\"{long}\"")),
        ("\"kind\":\"session\"", format!("\"kind\":\"{evil}\"")),
        ("\"activation\":\"tanh\"", format!("\"activation\":\"{evil}\"")),
        ("\"gamma\":", format!("\"{evil}\":1,\"gamma\":")),
        ("\"format\":6,\"version\":\"0.1.0\"", format!("\"format\":7,\"version\":\"{evil}\"")),
    ] {
        for error in [restored(&file.header(old, &new)).map(drop), loaded(&file.header(old, &new)).map(drop)] {
            let text = error.expect_err(&new).to_string();
            let steers = |c: char| c.is_control() || c == '\u{202e}';
            assert!(!text.contains(steers) && text.len() < 2000, "{text:?}");
        }
    }
    let mut named = file.clone();
    named
        .tensors
        .insert("\u{1b}[2Jx\n".to_owned(), (safetensors::Dtype::F32, vec![1], f32::NAN.to_le_bytes().to_vec()));
    let text = restored(&named).unwrap_err().to_string();
    assert!(!text.contains(char::is_control) && text.contains("[2Jx"), "{text:?}");
}

#[test]
fn a_newer_format_is_an_error_of_its_own() {
    let [file, _] = files(&session("ppo", "pendulum", PPO));
    for format in ["7", "4294967296"] {
        let newer = file.header("\"format\":6", &format!("\"format\":{format}")).header("0.1.0", "7.0.0");
        let error = restored(&newer).unwrap_err();
        let Error::NewerSnapshot { version, format: found, newest: 6 } = &error else { panic!("{error}") };
        assert_eq!((&version[..], found.to_string()), ("7.0.0", format.to_owned()));
        assert!(error.to_string().contains("update quickstudy"), "{error}");
    }
}

#[test]
fn policies_that_act_with_nan_are_an_error_that_names_it() {
    let expect = |result: quickstudy_core::Result<()>, parts: &[&str]| match result {
        Err(Error::NonFinite(text)) => parts.iter().for_each(|part| assert!(text.contains(part), "no {part}: {text}")),
        other => panic!("{other:?}"),
    };
    // Finite numbers whose products are not finite. Actions and returns do not show it: NaN
    // becomes some choice, and a vector is limited.
    for (algorithm, name, settings, tensors) in [
        (
            "ppo",
            "cartpole",
            "envs = 2\nhorizon = 8\nminibatches = 1\nhidden = [4]",
            &[("policy.0.bias", 10.0), ("policy.1.weight", 3e38)][..],
        ),
        ("ppo", "pendulum", PPO, &[("policy.1.bias", 10.0), ("policy.2.weight", 3e38)]),
        (
            "promp",
            "point-corner",
            "hidden = [4]\nmeta_batch = 2\nrollouts = 2",
            &[("policy.0.bias", 10.0), ("policy.1.weight", -3e38)],
        ),
        (
            "rl2-ppo",
            "bandit",
            "units = 3\nmeta_batch = 2\nepisodes = 2\nminibatches = 1",
            &[
                ("policy.gru.candidate.input.bias", 9.0),
                ("policy.gru.update.input.bias", -9.0),
                ("policy.out.weight", 3e38),
            ],
        ),
    ] {
        let [_, policy] = files(&session(algorithm, name, settings));
        let mut broken = loaded(&policy.filled(tensors)).unwrap();
        for deterministic in [true, false] {
            let result = block_on(broken.evaluate(3, 1, deterministic)).map(drop);
            expect(result, &["episode", "the policy acts with NaN"]);
        }
        if algorithm != "ppo" {
            expect(
                block_on(broken.adapt(MetaTest { tasks: 2, ..MetaTest::default() })).map(drop),
                &["task", "acts with NaN"],
            );
        }
        block_on(loaded(&policy).unwrap().evaluate(3, 1, true)).unwrap();
    }
}

/// An environment whose number is multiplied by 10³⁰ at each step; it is observed or not.
struct Runaway {
    seen: bool,
}

quickstudy_core::fields! {
    struct Heat {
        /// The number, 1 at first.
        heat
    }
}

impl Env for Runaway {
    type State<R: Real> = Heat<R>;

    fn spec(&self) -> EnvSpec {
        EnvSpec::new("runaway", vec![Dim::unbounded("heat")], ActionSpace::discrete(&["watch", "wait"]), 10)
    }

    fn reset<R: Real>(&self, _task: &[R], _rng: &mut Draws<R>) -> Heat<R> {
        Heat { heat: R::lit(1.0) }
    }

    fn step<R: Real>(&self, s: Heat<R>, _action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        Step { next: Heat { heat: s.heat * R::lit(1e30) }, reward: R::lit(1.0), terminated: R::Mask::splat(false) }
    }

    fn observe<R: Real>(&self, s: &Heat<R>, _task: &[R], out: &mut [R]) {
        out[0] = if self.seen { s.heat } else { R::lit(0.0) };
    }

    fn draw(&self, _state: &[f32], _task: &[f32]) -> Scene {
        Scene::new([0.0, 1.0, 0.0, 1.0])
    }
}

fn runaway(seen: bool) -> Session {
    let small = "envs = 2\nhorizon = 4\nminibatches = 1\nepochs = 1\nhidden = [4]";
    let env = EnvDef::new(Runaway { seen }).unwrap();
    training_on("ppo", env).steps(4096).set(small).session()
}

#[test]
fn a_state_that_could_not_be_read_is_not_written() {
    let mut session = runaway(false);
    block_on(session.snapshot(0)).unwrap();
    block_on(session.step()).unwrap();
    match block_on(session.snapshot(0)) {
        Err(Error::NonFinite(text)) => {
            assert!(text.contains("seed 3 has inf in `environment.state` at [0, 0]"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    // The policy alone can still be saved.
    block_on(session.policy_snapshot(0)).unwrap();
    assert_eq!(block_on(session.evaluate(2)).unwrap()[0].len(), 2);
}

#[test]
fn observations_that_are_not_finite_are_told_from_a_policy_that_is_not() {
    match block_on(runaway(true).evaluate(2)) {
        Err(Error::NonFinite(text)) => assert!(text.contains("episode 0: the environment shows NaN"), "{text}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn adam_may_not_have_stepped_yet() {
    let settings: toml::Table = toml::from_str(PPO).unwrap();
    let fresh = training("ppo", "pendulum").steps(4096).with(settings).session();
    let [file, _] = files(&fresh);
    assert_eq!(file.f32s("optimiser.bias_correction"), [0.0, 0.0]);
    restored(&file).unwrap();
    let one = file.number("optimiser.first_moment.value.1.bias", 0, 1e-3);
    let error = restored(&one).unwrap_err().to_string();
    assert!(error.contains("`optimiser.bias_correction` holds 0 at [0]"), "{error}");
}

#[test]
fn headers_of_other_json_libraries_are_read_if_the_checksum_fits_their_text() {
    for file in files(&session("ppo", "pendulum", PPO)) {
        let value: serde_json::Value = serde_json::from_str(&file.header).unwrap();
        let blanks = serde_json::to_string_pretty(&value).unwrap();
        let other =
            Crafted { header: blanks.replace("\"learning_rate\": 0.001", "\"learning_rate\": 1e-03"), ..file.clone() };
        assert!(other.header.contains("\"checksum\": \"") && other.header.contains("1e-03"), "{}", other.header);
        let policy = loaded(&other).unwrap();
        assert_eq!(policy.config(), loaded(&file).unwrap().config());
        // One more blank makes another text.
        let bytes = other.bytes();
        let at = bytes.windows(7).position(|part| part == b"\\\"env\\\"").unwrap() - 1;
        assert_eq!(bytes[at], b' ');
        let mut changed = bytes.clone();
        changed[at] = b'\t';
        let error = Evaluator::load(&Device::cpu(1), &changed).unwrap_err().to_string();
        assert!(error.contains("damaged"), "{error}");
    }
}

#[test]
fn a_tensor_that_is_named_twice_is_refused() {
    let [file, _] = files(&session("ppo", "pendulum", PPO));
    let bytes = file.bytes();
    let length = usize::try_from(u64::from_le_bytes(*bytes.first_chunk().unwrap())).unwrap();
    let header = std::str::from_utf8(&bytes[8..8 + length]).unwrap();
    let at = header.find("\"policy.0.mean\":").unwrap();
    let entry = &header[at..at + header[at..].find('}').unwrap() + 1];
    let mut twice = header.trim_end().replacen(entry, &format!("{entry},{entry}"), 1);
    while twice.len() % 8 != 0 {
        twice.push(' ');
    }
    let crafted = [&(twice.len() as u64).to_le_bytes(), twice.as_bytes(), &bytes[8 + length..]].concat();
    let error = Session::restore(&Device::cpu(1), &[&crafted]).unwrap_err();
    assert!(matches!(&error, Error::Snapshot(text) if text.contains("names a tensor twice")), "{error}");
}

#[test]
fn states_of_environments_are_named_and_go_only_to_the_numbers_of_their_names() {
    let [file, policy] = files(&session("ppo", "pendulum", PPO));
    let named = r#""state":["theta","theta_dot"],"#;
    assert!(file.header.contains(named) && !policy.header.contains("\"state\""), "{}", file.header);
    let renamed = |names: &str| {
        let header = file.header.replace(named, names);
        assert_ne!(header, file.header);
        restored(&Crafted { header, ..file.clone() })
    };
    // Files of older versions do not name them.
    renamed("").unwrap();
    let error = renamed(r#""state":["theta_dot","theta"],"#).unwrap_err().to_string();
    assert!(error.contains("number 0 of a state of `pendulum` was `theta_dot`, and is `theta` now"), "{error}");
    let error = renamed(r#""state":["theta","theta_dot","time"],"#).unwrap_err().to_string();
    assert!(error.contains("a state of `pendulum` had 3 numbers, and has 2 now"), "{error}");
    // Iterations of whole episodes leave no states.
    let [whole, _] = files(&session("ppo", "pendulum", &PPO.replace("sde = true", "sde = false\nmin_rollouts = 1")));
    assert!(!whole.header.contains("\"state\""), "{}", whole.header);
}
