//! Environments of Python through the command line.

use std::fs;
use std::process::Command;
use std::time::Duration;

use quickstudy_tests::json_schema::JsonSchema;
use quickstudy_tests::process::{Finished, Sandbox, wait_until};
use quickstudy_tests::python::{interpreter, modules};
use serde_json::Value;

use crate::workers_of;

/// A folder in which the command line finds Python and the module of the tests.
pub(crate) fn sandbox() -> (Sandbox, String) {
    let python = interpreter();
    let dir = Sandbox::new(env!("CARGO_BIN_EXE_quickstudy-under-test"));
    fs::copy(modules().join("envs_under_test.py"), dir.join("envs_under_test.py")).unwrap();
    (dir, format!("--python {}", python.display()))
}

const PPO: &str = "train ppo --env gymnasium:CartPole-v1 --steps 2048 --set envs=4 --set horizon=64 --set hidden=[8] \
    --eval-every 512 --eval-episodes 3 --out run";

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn a_run_is_evaluated_recorded_and_opened_without_python() {
    let (dir, python) = sandbox();
    let trained = dir.run(&format!("{PPO} {python}"));
    assert_eq!(trained.code, Some(0), "{trained:?}");
    let metrics = fs::read_to_string(dir.join("run/metrics.csv")).unwrap();
    assert!(metrics.lines().count() > 4, "{metrics}");
    let evaluated = dir.run(&format!("eval run --episodes 5 --gif a.gif {python}"));
    assert_eq!(evaluated.code, Some(0), "{evaluated:?}");
    assert!(fs::metadata(dir.join("a.gif")).unwrap().len() > 5_000);
    // The same episodes with other workers.
    let again = dir.run(&format!("eval run --episodes 5 --workers 3 {python}"));
    let last = |text: &str| text.lines().last().unwrap().to_owned();
    assert_eq!(last(&again.out), last(&evaluated.out));
    for command in ["plot run -o curve.svg", "export run -o one.safetensors"] {
        let mut alone = dir.command(command);
        let done = alone.env("PATH", "/nowhere").env_remove("VIRTUAL_ENV").output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{command}: {done:?}");
    }
    let mut without = dir.command("eval run");
    let done = without.env("PATH", "/nowhere").env_remove("VIRTUAL_ENV").output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.code() == Some(2) && said.contains("there is no Python"), "{said}");
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn runs_are_the_same_for_any_number_of_workers_and_of_seeds() {
    let (dir, python) = sandbox();
    let snapshot = |workers: usize| {
        let out = format!("w{workers}");
        let done =
            dir.run(&format!("{} --workers {workers} {python}", PPO.replace("--out run", &format!("--out {out}"))));
        assert_eq!(done.code, Some(0), "{done:?}");
        fs::read(dir.join(&out).join("last.safetensors")).unwrap()
    };
    let one = snapshot(1);
    assert!(snapshot(2) == one && snapshot(4) == one);
    // And beside another seed.
    let both = PPO.replace("--out run", "--out both --seed 0..2");
    let done = dir.run(&format!("{both} --workers 3 {python}"));
    assert_eq!(done.code, Some(0), "{done:?}");
    let of_seed = |seed: u32| dir.join(&format!("both/gymnasium-CartPole-v1-ppo-s{seed}/last.safetensors"));
    assert!(fs::read(of_seed(0)).unwrap() == one && fs::read(of_seed(1)).unwrap() != one);
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn a_run_with_a_memory_is_killed_and_goes_on() {
    let (dir, python) = sandbox();
    let train = format!(
        "train dqn --env gymnasium:CartPole-v1 --steps 20000 --eval-every 0 --save-every 0 --set hidden=[8] --out run \
         {python}"
    );
    let mut begun = 0;
    for kill in 0..3 {
        let command = if kill == 0 { train.clone() } else { format!("train --resume run --save-every 0 {python}") };
        let mut child = dir.start(&command);
        let id = child.id().to_string();
        let rows = || fs::read_to_string(dir.join("run/metrics.csv")).map_or(0, |text| text.lines().count());
        assert!(wait_until(Duration::from_secs(60), || rows() > begun + 3), "it makes steps");
        begun = rows();
        assert!(!workers_of(&id).is_empty(), "it has workers");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(wait_until(Duration::from_secs(5), || workers_of(&id).is_empty()), "its workers end with it");
    }
    assert!(fs::read_dir(dir.join("run")).unwrap().any(|e| e.unwrap().path().is_dir()), "segments of the memory");
    let done = dir.run(&format!("train --resume run {python}"));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.contains("20 000 / 20 000") || done.out.contains("saved run"), "{}", done.out);
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn workers_end_with_a_parent_that_is_killed_while_they_hang() {
    let (dir, python) = sandbox();
    let env = "gymnasium:envs_under_test:Faulty-v0?kinds=spin&at=2";
    let mut child = dir.start(&format!("train ppo --env {env} --set hidden=[8] --out run {python}"));
    let id = child.id().to_string();
    assert!(wait_until(Duration::from_secs(60), || workers_of(&id).len() >= 2), "workers start");
    std::thread::sleep(Duration::from_millis(500));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(wait_until(Duration::from_secs(5), || workers_of(&id).is_empty()));
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn workers_end_with_all_that_they_have_started_also_in_a_loop_of_c_code() {
    let (dir, python) = sandbox();
    // A loop that holds the interpreter's lock, a copy that would answer too, and a process of multiprocessing.
    for (kinds, signal, limit) in
        [("count", "KILL", 5), ("copy", "KILL", 5), ("helper", "KILL", 5), ("count", "INT", 6)]
    {
        let env = format!("gymnasium:envs_under_test:Faulty-v0?kinds={kinds}&at=3");
        let out = format!("{kinds}-{signal}");
        let train = format!("train ppo --env {env} --steps 100M --set hidden=[8] --out {out} --workers 2 {python}");
        let mut child = dir.start(&train);
        let id = child.id().to_string();
        let least = if kinds == "count" { 2 } else { 4 };
        assert!(wait_until(Duration::from_secs(60), || workers_of(&id).len() >= least), "{kinds}: workers start");
        assert!(wait_until(Duration::from_secs(60), || dir.join(&out).join("last.safetensors").exists()), "{kinds}");
        std::thread::sleep(Duration::from_millis(500));
        let sent = Command::new("kill").args([&format!("-{signal}"), &id]).status().unwrap();
        assert!(sent.success());
        assert!(wait_until(Duration::from_secs(limit), || workers_of(&id).is_empty()), "{kinds}: {signal}");
        child.wait().unwrap();
    }
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn an_iteration_waits_after_ctrl_c_for_a_worker_that_takes_the_place_of_another() {
    let (dir, python) = sandbox();
    let env = "gymnasium:envs_under_test:Faulty-v0?kinds=kill&at=20&chance=0&slow=6";
    let mut child = dir.start(&format!(
        "train ppo --env {env} --steps 100M --set envs=1 --set horizon=32 --set minibatches=2 --set hidden=[8] \
         --eval-every 0 --out run {python}"
    ));
    let id = child.id().to_string();
    assert!(wait_until(Duration::from_secs(60), || !workers_of(&id).is_empty()), "a worker starts");
    let first = workers_of(&id);
    let is_another = || !workers_of(&id).is_empty() && workers_of(&id) != first;
    assert!(wait_until(Duration::from_secs(60), is_another), "another one starts");
    std::thread::sleep(Duration::from_millis(500));
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let rows = fs::read_to_string(dir.join("run/metrics.csv")).unwrap();
    assert_eq!(rows.lines().count(), 2, "the iteration was made: {rows}");
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn copies_of_a_worker_do_not_answer() {
    let (dir, python) = sandbox();
    let env = "gymnasium:envs_under_test:Faulty-v0?kinds=copy&at=3";
    let done = dir.run(&format!(
        "train ppo --env {env} --steps 128 --set envs=2 --set horizon=32 --set minibatches=2 --set hidden=[8] \
         --eval-every 0 --out run {python}"
    ));
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(!(done.err + &done.out).contains(" fault"), "no message was of two");
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn lists_of_processes_show_a_line_and_no_program() {
    let (dir, python) = sandbox();
    let mut child = dir.start(&format!("train ppo --env gymnasium:CartPole-v1 --steps 100M --out run {python}"));
    let id = child.id().to_string();
    assert!(wait_until(Duration::from_secs(60), || !workers_of(&id).is_empty()), "workers start");
    let shown = fs::read_to_string(format!("{}/cmdline", workers_of(&id)[0])).unwrap();
    assert!(shown.len() < 400 && !shown.contains('\n') && shown.contains("# A worker of quickstudy"), "{shown}");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A program of the shell in the sandbox.
fn script(dir: &Sandbox, name: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(dir.join(name), format!("#!/bin/sh\n{text}\n")).unwrap();
    fs::set_permissions(dir.join(name), fs::Permissions::from_mode(0o755)).unwrap();
}

/// True if none of the processes whose numbers are in a file lives.
fn ended(dir: &Sandbox, file: &str) -> bool {
    let lives = |id: &str| {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    let ids = fs::read_to_string(dir.join(file)).unwrap();
    assert!(!ids.is_empty());
    !ids.lines().any(lives)
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn an_interpreter_that_does_not_answer_is_refused_and_leaves_nothing_behind() {
    let (dir, python) = sandbox();
    let python = python.trim_start_matches("--python ");
    script(&dir, "silent", "sleep 600 & echo $! >> silent.ids; sleep 600 & echo $! >> silent.ids; wait");
    for command in ["python check", "train ppo --env gymnasium:CartPole-v1"] {
        let begun = std::time::Instant::now();
        let done = dir.run(&format!("{command} --python ./silent"));
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.err.contains("./silent (--python) has not answered within 10s; name another one"), "{}", done.err);
        assert!(begun.elapsed() < Duration::from_secs(20) && ended(&dir, "silent.ids"), "{:?}", begun.elapsed());
    }
    // Killed meanwhile.
    fs::remove_file(dir.join("silent.ids")).unwrap();
    let mut child = dir.start("python check --python ./silent");
    let begun = || fs::read_to_string(dir.join("silent.ids")).is_ok_and(|ids| ids.lines().count() == 2);
    assert!(wait_until(Duration::from_secs(20), begun));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(wait_until(Duration::from_secs(5), || ended(&dir, "silent.ids")));
    // One that answers, and leaves a process behind that holds its output.
    script(&dir, "chatty", &format!("sleep 600 & echo $! >> chatty.ids; exec {python} \"$@\""));
    let begun = std::time::Instant::now();
    let done = dir.run("python check --python ./chatty");
    assert!(done.code == Some(0) && begun.elapsed() < Duration::from_secs(20), "{done:?}");
    assert!(wait_until(Duration::from_secs(5), || ended(&dir, "chatty.ids")));
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn faults_are_shown_and_counted_and_leave_no_process_behind() {
    let (dir, python) = sandbox();
    let env = "gymnasium:envs_under_test:Faulty-v0?kinds=raise,raise,raise,kill,fork,stop&chance=0.008";
    let train = format!("train ppo --env {env} --steps 4k --env-timeout 0.7 --set hidden=[8] --eval-every 0 {python}");
    let child = dir.command(&train).spawn().unwrap();
    let id = child.id().to_string();
    let done = Finished::from(child.wait_with_output().unwrap());
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(workers_of(&id), Vec::<String>::new());
    let said = done.out + &done.err;
    assert!(said.contains("the simulator has lost its way; replaced, and its episode counts as cut off"), "{said}");
    assert!(said.contains("faults in all"), "{said}");
}

#[test]
#[ignore = "needs Python with Gymnasium: scripts/check-python.sh"]
fn wrong_commands_name_what_is_wrong() {
    let (dir, python) = sandbox();
    for (command, parts) in [
        ("train ppo --env gymnasium:CartPol-v1", &["NameNotFound", "Did you mean: `CartPole`?"][..]),
        ("train ddpg --env gymnasium:CartPole-v1", &["ddpg"]),
        ("train dqn --env gymnasium:Pendulum-v1", &["dqn"]),
        ("train ppo --env gymnasium:", &["gymnasium:CartPole-v1"]),
        ("train promp --env gymnasium:CartPole-v1", &["task"]),
        ("train ppo --env gymnasium:CartPole-v1 --workers 0", &["--workers"]),
        ("train ppo --env gymnasium:CartPole-v1?max_episode_steps=1e12", &["max_episode_steps is 1000000000000"]),
        ("train ppo --env gymnasium:Nowhere-v1", &["gymnasium:MODULE:Nowhere-v1"]),
        ("train ppo --env Nowhere-v1", &["gymnasium:Nowhere-v1", "gymnasium:MODULE:ID"]),
        ("train ppo --env gymnasium:envs_under_test:Within-v0?action=fixed", &["nothing to choose"]),
        ("train ppo --env gymnasium:envs_under_test:Fussy-v0?way=assert", &["envs_under_test.py, line", "assert self"]),
        ("train ppo --env gymnasium:CartPole-v1 --env-timeout -1", &["--env-timeout"]),
    ] {
        let done = dir.run(&format!("{command} {python}"));
        assert_eq!(done.code, Some(2), "{command}: {done:?}");
        parts.iter().for_each(|part| assert!(done.err.contains(part), "`{part}` is missing: {}", done.err));
        assert!(!done.err.contains("panicked"), "{}", done.err);
    }
    assert!(!dir.join("runs").exists(), "nothing was begun");
    let checked = dir.run(&format!("python check {python}"));
    assert!(checked.code == Some(0) && checked.out.contains("gymnasium"), "{checked:?}");
    let checked = dir.run(&format!("python check --json {python}"));
    let lines: Vec<Value> = checked.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let schema = JsonSchema::of_lines(&dir);
    lines.iter().for_each(|line| assert_eq!(schema.check("python", line), Ok(())));
    let has = |name: &str| lines.iter().any(|line| line["name"] == name && line["installed"].is_string());
    assert!(has("gymnasium") && has("numpy") && lines[lines.len() - 1]["ready"] == true, "{checked:?}");
    // A Python without Gymnasium: the command that installs it.
    let system = Command::new("sh").args(["-c", "command -v python3"]).output().unwrap();
    let system = String::from_utf8_lossy(&system.stdout).trim().to_owned();
    if Command::new(&system).args(["-c", "import gymnasium"]).output().is_ok_and(|done| !done.status.success()) {
        let done = dir.run(&format!("train ppo --env gymnasium:CartPole-v1 --python {system}"));
        assert!(done.code == Some(2) && done.err.contains("-m pip install"), "{done:?}");
    }
}
