//! The command line knows every algorithm alike: those of the register, and one that a program of one's own adds.

use quickstudy_core::train::small;
use quickstudy_tests::every::{ADD, RANKED_SEARCH, every};
use quickstudy_tests::process::{Finished, Sandbox};

use crate::sandbox;

/// Runs the command line with the algorithm from outside.
pub fn with_added(dir: &Sandbox, arguments: &str) -> Finished {
    dir.command(arguments).env(ADD, "1").output().unwrap().into()
}

#[test]
fn each_is_listed_and_its_configuration_is_printed() {
    let dir = sandbox();
    let list = with_added(&dir, "list algorithms");
    for def in every() {
        let begin = format!("  {} ", def.name);
        let line = list.out.lines().find(|line| line.starts_with(&begin));
        let first = def.line.split(' ').next().unwrap();
        assert!(line.is_some_and(|line| line.contains(first) && line.len() <= 80), "{}: {}", def.name, list.out);
        let (env, settings) = small(def).unwrap();
        let set: Vec<String> = settings.iter().map(|(key, value)| format!("--set {key}={value}")).collect();
        let set = set.join(" ").replace(", ", ",").replace("[ ", "[").replace(" ]", "]");
        let name = &env.spec().name;
        let printed = with_added(&dir, &format!("train {} --env {name} {set} --print-config", def.name));
        assert_eq!(printed.code, Some(0), "{}: {printed:?}", def.name);
        for doc in def.settings() {
            let begin = format!("{} = ", doc.key);
            assert!(printed.out.lines().any(|line| line.starts_with(&begin)), "{}: {}", doc.key, printed.out);
        }
    }
}

#[test]
fn what_was_added_trains_goes_on_and_is_evaluated() {
    let (dir, name) = (sandbox(), RANKED_SEARCH.name);
    let small = "--set n_samples=4 --threads 1";
    let whole = with_added(&dir, &format!("train {name} --env cartpole --steps 2000 {small} --out whole"));
    assert_eq!(whole.code, Some(0), "{whole:?}");
    for steps in ["--env cartpole --steps 500 --out parts", "--resume parts --steps 2000"] {
        let command =
            if steps.starts_with("--env") { format!("train {name} {steps} {small}") } else { format!("train {steps}") };
        let done = with_added(&dir, &command);
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    let [a, b] = ["whole", "parts"].map(|run| std::fs::read(dir.join(run).join("last.safetensors")).unwrap());
    assert!(a == b, "a run in parts is the whole one");
    let played = with_added(&dir, "eval whole --episodes 4");
    assert_eq!(played.code, Some(0), "{played:?}");
    // A program that does not know it says so.
    let unknown = dir.run("eval whole --episodes 4");
    assert!(unknown.code == Some(2) && unknown.err.contains(name), "{unknown:?}");
}
