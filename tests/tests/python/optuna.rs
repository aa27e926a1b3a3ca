//! The page about Optuna: its script chooses settings, trains, and prunes.

use quickstudy_tests::process::{Finished, Sandbox};
use quickstudy_tests::python::interpreter;
use std::fs;
use std::process::Command;

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn the_script_of_the_page_drives_the_command_line() {
    let python = interpreter();
    let program = env!("CARGO_BIN_EXE_quickstudy-under-test");
    let dir = Sandbox::new(program);
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/optuna.md")).unwrap();
    let (_, script) = page.split_once("```python\n").unwrap();
    let (script, _) = script.split_once("```").unwrap();
    assert!(script.lines().filter(|line| !line.is_empty()).count() <= 25, "it is a short script");
    // Shorter, and with a pruner that ends the third trial by its first values.
    let short = script.replace("\"20k\"", "\"1k\"").replace("n_trials=20", "n_trials=4").replace(
        "direction=\"maximize\"",
        "direction=\"maximize\", pruner=optuna.pruners.ThresholdPruner(lower=1e9, n_warmup_steps=900)",
    );
    assert_ne!(script, short);
    let more = "\nprint([trial.state.name for trial in study.trials])\n";
    let run = |name: &str, text: String| -> Finished {
        fs::write(dir.join("study.py"), text).unwrap();
        fs::create_dir_all(dir.join("bin")).unwrap();
        let _ = std::os::unix::fs::symlink(program, dir.join("bin/quickstudy"));
        let path = format!("{}:{}", dir.join("bin").display(), std::env::var("PATH").unwrap_or_default());
        let mut command = Command::new(&python);
        let finished: Finished =
            command.arg("study.py").current_dir(dir.path()).env("PATH", path).output().unwrap().into();
        assert!(!finished.err.contains("quickstudy: error"), "{name}: {finished:?}");
        finished
    };
    let pruned = run("pruned", short.replace("print(study.best", "0 and print(study.best") + more);
    assert!(pruned.out.contains("['PRUNED', 'PRUNED', 'PRUNED', 'PRUNED']"), "{pruned:?}");
    // A run that was asked to stop has a snapshot.
    assert!(dir.join("runs/optuna/3/cartpole-ppo-s1/last.safetensors").exists());
    fs::remove_dir_all(dir.join("runs")).unwrap();
    let whole = script.replace("\"20k\"", "\"1k\"").replace("n_trials=20", "n_trials=3");
    let studied = run("whole", whole + more);
    assert_eq!(studied.code, Some(0), "{studied:?}");
    assert!(studied.out.contains("['COMPLETE', 'COMPLETE', 'COMPLETE']"), "{studied:?}");
    assert!(studied.out.contains("'learning_rate': "), "{studied:?}");
}
