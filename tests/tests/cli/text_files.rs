//! Text files that another program has written anew: with other ends of lines, a byte order mark, or nothing in them.

use crate::kills::done;
use crate::sandbox;
use quickstudy_tests::process::Sandbox;
use std::fs;

const TRAIN: &str = "train nop --env cartpole --steps 3000 --seed 0..3 --eval-every 500 --eval-episodes 2 --out r";

fn numbers(dir: &Sandbox) -> [String; 2] {
    ["plot r -o x.svg", "compare r --resamples 50"].map(|command| done(dir, command).out)
}

/// Leaves the CSV of each run alone, which is read where there is no record.
fn without_records(dir: &Sandbox) {
    (0..3).for_each(|seed| fs::remove_file(dir.join(&csv(seed).replace(".csv", ".jsonl"))).unwrap());
}

fn csv(seed: usize) -> String {
    format!("r/cartpole-nop-s{seed}/metrics.csv")
}

#[test]
fn metrics_of_other_line_ends_and_with_a_mark_have_the_same_rows() {
    let dir = sandbox();
    done(&dir, TRAIN);
    let before = numbers(&dir);
    let text = |seed: usize| fs::read_to_string(dir.join(&csv(seed))).unwrap();
    let (ends, mark) = (text(1).replace('\n', "\r\n"), format!("\u{feff}{}", text(2)));
    fs::write(dir.join(&csv(1)), &ends).unwrap();
    fs::write(dir.join(&csv(2)), &mark).unwrap();
    assert_eq!(numbers(&dir), before);
    // Both at once, in the configuration and in the lines of JSON too: the run goes on as if nothing were.
    let folder = dir.join("r/cartpole-nop-s1");
    for name in ["metrics.csv", "metrics.jsonl", "config.toml", "version.json"] {
        let text = fs::read_to_string(folder.join(name)).unwrap().replace("\r\n", "\n").replace('\n', "\r\n");
        fs::write(folder.join(name), format!("\u{feff}{text}")).unwrap();
    }
    assert_eq!(numbers(&dir), before);
    let resumed = done(&dir, "train --resume r/cartpole-nop-s1");
    assert!(!resumed.out.contains("damaged"), "{resumed:?}");
    assert_eq!(numbers(&dir), before);
}

#[test]
fn a_configuration_of_another_editor_is_read() {
    let dir = sandbox();
    let config = "\u{feff}algorithm = \"nop\"\r\nenv = \"cartpole\"\r\nsteps = 1000\r\n";
    fs::write(dir.join("c.toml"), config).unwrap();
    done(&dir, "train --config c.toml --out r");
    let sweep = "\u{feff}algorithm = \"ppo\"\r\nenv = \"cartpole\"\r\nsteps = 1000\r\nseed = \"0..2\"\r\n[grid]\r\n\
                 envs = [1, 2]\r\n";
    fs::write(dir.join("s.toml"), sweep).unwrap();
    assert!(done(&dir, "sweep s.toml --list").out.contains("t01"));
}

#[test]
fn metrics_without_a_row_are_named_and_count_nowhere() {
    let dir = sandbox();
    done(&dir, TRAIN);
    without_records(&dir);
    // A run that ends early, so that lines have an end of the first seed.
    let text = fs::read_to_string(dir.join(&csv(0))).unwrap();
    let rows: Vec<&str> = text.lines().collect();
    fs::write(dir.join(&csv(0)), rows[..rows.len() / 2].join("\n") + "\n").unwrap();
    for content in [String::new(), format!("{}\n", rows[0]), format!("\u{feff}{}\r\n", rows[0])] {
        fs::write(dir.join(&csv(2)), &content).unwrap();
        let [plot, compare] = numbers(&dir);
        let note = "r/cartpole-nop-s2 has no value of eval/return_mean and does not count";
        for out in [&plot, &compare] {
            assert!(out.split_whitespace().collect::<Vec<_>>().join(" ").contains(note), "{content:?}: {out}");
        }
        assert!(plot.contains("the first of 2 seeds ends at"), "{content:?}: {plot}");
    }
}

#[test]
fn infinite_values_are_named() {
    let dir = sandbox();
    done(&dir, TRAIN);
    without_records(&dir);
    let text = fs::read_to_string(dir.join(&csv(0))).unwrap();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let column = lines[0].split(',').position(|name| name == "rollout/ep_return_mean").unwrap();
    for (line, value) in [(1, "inf"), (2, "-inf"), (3, "1e400")] {
        let mut cells: Vec<&str> = lines[line].split(',').collect();
        cells[column] = value;
        lines[line] = cells.join(",");
    }
    fs::write(dir.join(&csv(0)), lines.join("\n") + "\n").unwrap();
    for out in numbers(&dir) {
        assert!(out.contains("note: r/cartpole-nop-s0/metrics.csv has 3 infinite values, left out"), "{out}");
    }
}
