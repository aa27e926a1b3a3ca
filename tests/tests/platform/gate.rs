//! The gate, `.ci/run`, runs what there is: a step that is gone must not be found out by the gate itself.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;

use quickstudy_tests::rooms::repository;

#[test]
fn every_step_of_the_gate_is_a_command_a_script_or_a_function_of_it() {
    let text = fs::read_to_string(repository().join(".ci/run")).unwrap();
    let steps = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        matches!(words.next(), Some("step" | "beside")).then(|| words.next()).flatten()
    });
    let mut checked = 0;
    for step in steps.filter(|step| !step.contains('"')) {
        let known = match step.contains('/') {
            true => repository().join(step).is_file(),
            false => step == "cargo" || text.contains(&format!("\n{step}() {{")),
        };
        assert!(known, ".ci/run has a step `{step}`, and there is none");
        checked += 1;
    }
    assert!(checked > 20, "{checked} steps");
}
