use super::*;
use crate::settings::request::{Plan, Request};
use crate::training::args::TrainArgs;
use clap::Args as _;

/// Flags of `train` that are no keys of a configuration, with the reason.
const NO_KEYS: [(&str, &str); 18] = [
    ("config", "names the file of keys"),
    ("set", "sets any key"),
    ("out", "names the folder in which the configuration is written"),
    ("resume", "names the folder in which the configuration is read"),
    ("stack-trials", "trains runs beside each other, and each makes the same bits"),
    ("device", "belongs to the machine, and a run may go on on another one"),
    ("threads", "belongs to the machine, and any number gives the same bits"),
    ("memory", "belongs to the machine"),
    ("python", "belongs to the machine"),
    ("workers", "belongs to the machine, and any number gives the same bits"),
    ("env-timeout", "belongs to the machine"),
    ("save-every", "changes when snapshots are written, and nothing in them"),
    ("debug", "looks for a mistake in this one command"),
    ("print-config", "trains nothing"),
    ("jobs", "belongs to the machine, and any number gives the same bits"),
    ("pause-at", "ends this one command, as Ctrl-C does"),
    ("json", "changes what this one command prints"),
    ("follow-input", "says who may stop this one command"),
];

/// The line above the table's rows.
const HEAD: &str = "| flag | key | meaning |\n|---|---|---|\n";

/// A page with its table of settings written anew.
fn with_table(page: &str) -> String {
    let (before, old) = page.split_once(HEAD).unwrap();
    let (_, after) = old.split_once("\n\n").unwrap();
    format!("{before}{HEAD}{}\n\n{after}", RunSettings::rows().join("\n"))
}

fn typed(words: &[&str]) -> Result<RunSettings, clap::Error> {
    let command = RunSettings::augment_args(Command::new("train").arg(Arg::new("resume").long("resume")));
    let matches = command.try_get_matches_from(["train"].iter().chain(words).copied())?;
    RunSettings::from_arg_matches(&matches)
}

fn taken(text: &str) -> Result<(RunSettings, Table), String> {
    let mut table: Table = text.parse().unwrap();
    Ok((RunSettings::take(&mut table)?, table))
}

#[test]
fn the_table_of_settings_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/command-line.md");
    let page = std::fs::read_to_string(path).unwrap();
    let new = with_table(&page);
    if std::env::var("QUICKSTUDY_WRITE").is_ok() {
        std::fs::write(path, new).unwrap();
    } else {
        let how = "QUICKSTUDY_WRITE=1 cargo test -p quickstudy --lib table_of_settings";
        assert!(page == new, "the table of docs/command-line.md is out of date; `{how}` writes it again");
    }
}

#[test]
fn each_flag_of_train_is_a_key_or_has_a_reason_not_to_be_one() {
    let command = TrainArgs::augment_args(Command::new("train"));
    for flag in command.get_arguments().filter_map(Arg::get_long) {
        let is_key = RunSettings::KEYS.contains(&flag.replace('-', "_").as_str());
        let has_reason = NO_KEYS.iter().any(|(other, _)| *other == flag);
        assert!(is_key != has_reason, "--{flag}: a key {is_key}, a reason {has_reason}");
    }
    for (flag, reason) in NO_KEYS {
        assert!(command.get_arguments().any(|argument| argument.get_long() == Some(flag)), "--{flag}, which {reason}");
    }
}

#[test]
fn a_setting_is_the_same_as_a_flag_and_as_a_key() {
    let value = |argument: &Arg| match argument.get_value_names().unwrap()[0].as_str() {
        "ALGORITHM" | "NAME" => "name",
        "SEEDS" => "1,5",
        "RUN" => "a b",
        _ => "7",
    };
    // Steps and iterations are two lengths of a run, of which one is given.
    for other in ["steps", "iterations"] {
        let given = RunSettings::arguments().into_iter().filter(|argument| argument.get_id() != other);
        let word = |argument: Arg| match argument.get_long() {
            Some(flag) => format!("--{flag} {}", value(&argument)),
            None => value(&argument).to_owned(),
        };
        let words: Vec<String> = given.map(word).collect();
        let flags = typed(&words.join(" ").split(' ').collect::<Vec<_>>()).unwrap();
        let given = flags.given();
        assert_eq!(given.len(), RunSettings::KEYS.len() - 1, "{given}");
        let (keys, rest) = taken(&given.to_string()).unwrap();
        assert_eq!((keys, rest), (flags, Table::new()));
    }
}

#[test]
fn unknown_keys_are_left_to_the_algorithm() {
    let (keys, rest) = taken("steps = 7\ngamma = 0.9\nsteeps = 8\neval-every = 9").unwrap();
    assert_eq!(keys, RunSettings { steps: Some(7), ..RunSettings::default() });
    assert!(rest.len() == 3 && ["eval-every", "gamma", "steeps"].iter().all(|key| rest.contains_key(*key)), "{rest}");
}

#[test]
fn a_value_of_another_kind_is_refused_by_its_key() {
    for key in RunSettings::KEYS {
        let problem = taken(&format!("{key} = true")).unwrap_err();
        assert!(problem.starts_with(&format!("{key}: ")), "{problem}");
    }
    assert!(typed(&["ppo", "--steps", "0"]).is_err() && typed(&["ppo", "--eval-every", "-1"]).is_err());
}

#[test]
fn of_several_mistakes_the_first_declared_is_named() {
    let problem = taken("keep_snapshots = 0\nsteps = 0\nlog_every = -1").unwrap_err();
    assert!(problem.starts_with("steps: "), "{problem}");
}

#[test]
fn a_flag_wins_over_set_over_a_file_over_the_preset_over_the_default() {
    let of = |key: &str, layers: &[(&RunSettings, Option<String>)], setup: &Setup| {
        let all = RunSettings::resolved(layers, setup);
        all.into_iter().find(|one| one.key == key).map(|one| (one.value, one.origin)).unwrap()
    };
    let flags = typed(&["ppo", "--env", "cartpole"]).unwrap();
    let setup = Plan::resolve(&Request { flags, ..Request::default() }).unwrap().setup;
    let preset = setup.steps;
    let every = |n| RunSettings { eval_every: Some(n), steps: Some(n), ..RunSettings::default() };
    let [flag, set, file, none] = [every(1), every(2), every(3), RunSettings::default()];
    let [from_set, from_file] = [Some("--set".to_owned()), Some("--config a".to_owned())];

    let expected = |value: u64, origin: &str| (Value::Integer(i64::try_from(value).unwrap()), origin.to_owned());
    let layers = |a, b, c| [(a, None), (b, from_set.clone()), (c, from_file.clone())];
    assert_eq!(of("eval_every", &layers(&flag, &set, &file), &setup), expected(1, "--eval-every"));
    assert_eq!(of("eval_every", &layers(&none, &set, &file), &setup), expected(2, "--set"));
    assert_eq!(of("eval_every", &layers(&none, &none, &file), &setup), expected(3, "--config a"));
    assert_eq!(of("steps", &layers(&none, &none, &none), &setup), expected(preset, "preset ppo-cartpole"));
    let tenth = preset.div_ceil(10);
    assert_eq!(of("eval_every", &layers(&none, &none, &none), &setup), expected(tenth, "default: a tenth of steps"));
    assert_eq!(of("keep_snapshots", &layers(&none, &none, &none), &setup), ("last".into(), "default".to_owned()));
}

#[test]
fn of_steps_and_iterations_the_higher_layer_has_the_length_and_no_layer_has_both() {
    let steps = RunSettings { steps: Some(7), eval_every: Some(1), ..RunSettings::default() };
    let iterations = RunSettings { iterations: Some(3), eval_every: Some(2), ..RunSettings::default() };
    let [first, second] = [steps.clone().or(iterations.clone()), iterations.clone().or(steps.clone())];
    assert_eq!((first.length(), first.iterations, first.eval_every), (Length::Steps(7), None, Some(1)));
    assert_eq!((second.length(), second.steps, second.eval_every), (Length::Iterations(3), None, Some(2)));
    assert_eq!(RunSettings::default().length(), Length::Preset);
    let problem = taken("steps = 5\niterations = 4").unwrap_err();
    assert!(problem.starts_with("iterations: 4 are asked for beside steps = 5"), "{problem}");
    assert!(typed(&["ppo", "--steps", "5", "--iterations", "4"]).is_err());

    // A configuration of a run by iterations has no line of steps.
    let flags = RunSettings { iterations: Some(3), ..typed(&["ppo", "--env", "cartpole"]).unwrap() };
    let setup = Plan::resolve(&Request { flags: flags.clone(), ..Request::default() }).unwrap().setup;
    let file = (&steps, Some("--config a".to_owned()));
    let all = RunSettings::resolved(&[(&flags, None), file], &setup);
    let of = |key: &str| all.iter().find(|one| one.key == key).map(|one| (one.value.clone(), one.origin.as_str()));
    assert_eq!((of("iterations"), of("steps")), (Some((Value::Integer(3), "--iterations")), None));
    assert_eq!(of("eval_every"), Some((Value::Integer(1), "--config a")));
}

#[test]
fn one_size_makes_a_meta_test() {
    let none = MetaTestArgs::default();
    assert_eq!((none.sizes(7), none.evaluation(7)), (None, Evaluation::Episodes(7)));
    let some = MetaTestArgs { n_test_episodes: Some(2), ..none };
    let sizes = TestSizes { n_exploration_eps: 10, n_test_episodes: 2, n_test_tasks: 2 };
    assert_eq!(some.sizes(2), Some(sizes));
}
