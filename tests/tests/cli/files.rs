//! Files that the command line writes: into what, how many, and what it says where it cannot.
#![cfg(unix)]

use crate::{expect_user_error, sandbox};
use quickstudy_tests::process::{Finished, Sandbox};
use std::fs;
use std::process::Command;

const SHORT: &str = "train ppo --env cartpole --steps 4k --threads 1 --set hidden=[8] --set epochs=1 --set envs=4";

/// A shell's line in the sandbox; `$Q` is the program.
fn shell(dir: &Sandbox, line: &str) -> Finished {
    let mut command = Command::new("sh");
    command.args(["-c", line]).current_dir(dir.path()).env("Q", env!("CARGO_BIN_EXE_quickstudy-under-test"));
    command.output().unwrap().into()
}

#[test]
#[cfg(target_os = "linux")]
fn outputs_go_into_devices_and_pipes_and_links_stay() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --out r")).code, Some(0));
    let eval = "\"$Q\" eval r --last --episodes 3";
    // A link to a device: nobody but root could replace the device itself.
    for flag in ["--csv", "--gif"] {
        let full = shell(&dir, &format!("ln -sf /dev/full full; {eval} {flag} full"));
        assert_eq!(full.code, Some(1), "{full:?}");
        assert!(full.err.contains("cannot write full") && full.err.contains("free some space"), "{}", full.err);
        assert!(!full.out.contains("wrote"), "{}", full.out);
        assert!(fs::symlink_metadata(dir.join("full")).unwrap().is_symlink());
    }
    let plot = shell(&dir, "ln -sf /dev/full full.svg; \"$Q\" plot r -o full.svg");
    assert_eq!(plot.code, Some(1), "{plot:?}");
    let pipe = shell(&dir, &format!("mkfifo p; cat p > got.csv & {eval} --csv p; wait; test -p p"));
    assert_eq!(pipe.code, Some(0), "{pipe:?}");
    let csv = fs::read_to_string(dir.join("got.csv")).unwrap();
    assert!(csv.starts_with("episode,return,length,end\n") && csv.lines().count() == 4, "{csv}");
    let link =
        shell(&dir, &format!("mkdir d; ln -s d/x.csv l.csv; {eval} --csv l.csv && test -L l.csv && cat d/x.csv"));
    assert!(link.code == Some(0) && link.out.ends_with(&csv), "{link:?}");
}

#[test]
fn a_dash_is_standard_output_and_carries_the_file_alone() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --out r")).code, Some(0));
    let csv = dir.run("eval r --episodes 3 --csv -");
    assert_eq!(csv.code, Some(0), "{csv:?}");
    assert!(csv.out.starts_with("episode,") && csv.out.lines().count() == 4, "{}", csv.out);
    assert!(csv.err.lines().last().unwrap().starts_with("mean_return "), "{}", csv.err);
    assert_eq!(shell(&dir, "\"$Q\" eval r --episodes 3 --csv /dev/stdout > x.csv; cat x.csv").out, csv.out);
    let svg = dir.run("plot r -o -");
    assert!(svg.out.starts_with("<svg ") && svg.out.ends_with("</svg>\n"), "{}", &svg.out[..80.min(svg.out.len())]);
    expect_user_error(&dir.run("eval r --csv - --gif -"), &["one file only"]);
}

#[test]
#[cfg(target_os = "linux")]
fn lines_that_are_lost_on_a_full_disk_are_a_failure() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --out r")).code, Some(0));
    for command in ["eval r --episodes 3", "plot r", "list", "--help", "train --help", "train --resume r --steps 8k"] {
        let full = shell(&dir, &format!("\"$Q\" {command} > /dev/full"));
        assert_eq!(full.code, Some(1), "{command}: {full:?}");
        assert!(full.err.contains("cannot write to standard output"), "{command}: {}", full.err);
        // A reader that has seen enough is no failure.
        let head = shell(&dir, &format!("( \"$Q\" {command}; echo $? >&2 ) | head -c 1"));
        assert_eq!(head.err.lines().last(), Some("0"), "{command}: {head:?}");
    }
    assert!(fs::read_to_string(dir.join("r/metrics.csv")).unwrap().lines().last().unwrap().starts_with("8"));
}

#[test]
fn files_of_a_run_are_mended_from_each_other_when_it_is_resumed() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --out r")).code, Some(0));
    let read = |name: &str| fs::read(dir.join("r").join(name)).unwrap();
    let [csv, json] = ["metrics.csv", "metrics.jsonl"].map(read);
    for name in ["metrics.csv", "metrics.jsonl"] {
        let mut bytes = read(name);
        let middle = bytes.len() / 2;
        bytes[middle..middle + 20].fill(b'#');
        fs::write(dir.join("r").join(name), bytes).unwrap();
        // A run that goes on, and one that is finished.
        let resumed = dir.run(if name == "metrics.csv" { "train --resume r --steps 6k" } else { "train --resume r" });
        assert_eq!(resumed.code, Some(0), "{resumed:?}");
        let note = resumed.out.lines().find(|line| line.starts_with(&format!("note: r/{name} is damaged: ")));
        assert!(note.is_some_and(|note| note.ends_with(" mended from the other metrics files")), "{}", resumed.out);
        assert!(read("metrics.csv").starts_with(&csv) && read("metrics.jsonl").starts_with(&json), "{name}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn files_larger_than_the_memory_are_errors_of_the_files() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --out r")).code, Some(0));
    let limited = |line: &str| shell(&dir, &format!("ulimit -v 4000000; {line}"));
    let huge = |name: &str| fs::File::create(dir.join(name)).unwrap().set_len(15 << 30).unwrap();
    huge("large.toml");
    for command in ["train --config large.toml", "train --resume r --config large.toml --steps 8k"] {
        expect_user_error(&limited(&format!("\"$Q\" {command}")), &["large.toml has 16", "at most 1.0 MB"]);
    }
    // Where it was made is worth a megabyte of reading, not more; the run goes on without.
    huge("r/version.json");
    assert_eq!(limited("\"$Q\" train --resume r --steps 6k").code, Some(0));
    let config = fs::read(dir.join("r/config.toml")).unwrap();
    huge("r/config.toml");
    for command in ["plot r", "train --resume r --steps 8k"] {
        expect_user_error(&limited(&format!("\"$Q\" {command}")), &["r/config.toml has 16", "at most 1.0 MB"]);
    }
    // A pipe in a run folder that nobody writes to.
    let pipe = shell(&dir, "rm r/config.toml; mkfifo r/config.toml; \"$Q\" plot r");
    expect_user_error(&pipe, &["r/config.toml is a device or a pipe"]);
    fs::remove_file(dir.join("r/config.toml")).unwrap();
    fs::write(dir.join("r/config.toml"), config).unwrap();
    huge("r/last.safetensors");
    for command in ["eval r --last", "train --resume r --steps 8k"] {
        let refused = limited(&format!("\"$Q\" {command}"));
        expect_user_error(&refused, &["r/last.safetensors takes 16", " of memory, and "]);
    }
}

#[test]
fn rows_of_the_metrics_are_as_many_as_asked_for() {
    let dir = sandbox();
    let rows = |run: &str| -> Vec<(u64, bool)> {
        let text = fs::read_to_string(dir.join(run).join("metrics.jsonl")).unwrap();
        let row = |line: &str| {
            let row: serde_json::Value = serde_json::from_str(line).unwrap();
            (row["time/env_steps"].as_u64().unwrap(), row.get("eval/return_mean").is_some())
        };
        text.lines().map(row).collect()
    };
    assert_eq!(dir.run(&format!("{SHORT} --out all")).code, Some(0));
    assert_eq!(dir.run(&format!("{SHORT} --out some --log-every 1k --eval-every 500")).code, Some(0));
    let (all, some) = (rows("all"), rows("some"));
    assert!(all.len() > 25, "a short run has a row per iteration: {}", all.len());
    assert_eq!(some.iter().filter(|(_, evaluated)| *evaluated).count(), 8, "no evaluation is lost: {some:?}");
    assert!(some.len() < 15 && some.last() == all.last().map(|(steps, _)| (*steps, true)).as_ref(), "{some:?}");
    let config = fs::read_to_string(dir.join("some/config.toml")).unwrap();
    assert!(config.contains("log_every = 1000 "), "{config}");
    // A resumed run keeps it, from its configuration; the policies do not depend on it.
    assert_eq!(dir.run("train --resume some --steps 8k").code, Some(0));
    assert!(rows("some").len() < 2 * 15, "{:?}", rows("some"));
    expect_user_error(&dir.run(&format!("{SHORT} --log-every -3")), &["log-every"]);
    let last = |run: &str| fs::read(dir.join(run).join("last.safetensors")).unwrap();
    assert_eq!(dir.run(&format!("{SHORT} --out more --log-every 1")).code, Some(0));
    assert!(last("more") == last("all") && rows("more") == all);
}

#[test]
fn seeds_beyond_the_limit_of_open_files_are_refused_before_anything_is_made() {
    let dir = sandbox();
    let few = shell(&dir, &format!("ulimit -n 100; \"$Q\" {SHORT} --seed 0..90"));
    expect_user_error(&few, &["90 seeds need", "open files", "ulimit -n 1"]);
    assert!(!dir.join("runs").exists());
    // One descriptor per seed, and some: five would not fit.
    let short = SHORT.replace("4k", "100");
    let enough = shell(&dir, &format!("ulimit -n 118; \"$Q\" {short} --seed 0..30 --eval-every 0"));
    assert_eq!(enough.code, Some(0), "{enough:?}");
    let resumed = shell(&dir, "ulimit -n 118; \"$Q\" train --resume runs --steps 1k --eval-every 0");
    assert_eq!(resumed.code, Some(0), "{resumed:?}");
}

#[test]
fn names_from_files_do_not_reach_the_terminal_as_they_are() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --out r")).code, Some(0));
    let metrics = fs::read_to_string(dir.join("r/metrics.csv")).unwrap();
    fs::write(dir.join("r/metrics.csv"), metrics.replacen("train/entropy", "\u{1b}[31mred", 1)).unwrap();
    fs::remove_file(dir.join("r/metrics.jsonl")).unwrap();
    let plot = dir.run("plot r --metric nothing");
    assert!(plot.code == Some(2) && plot.err.contains("red") && !plot.err.contains('\u{1b}'), "{plot:?}");
    let config = fs::read_to_string(dir.join("r/config.toml")).unwrap();
    fs::write(dir.join("c.toml"), format!("{config}\n\"\\u001b[31mevil\\nerror: x\" = 5\n")).unwrap();
    let train = dir.run("train --config c.toml --out n");
    assert_eq!((train.code, train.err.matches("error:").count()), (Some(2), 2), "{train:?}");
    assert!(!train.err.contains('\u{1b}') && train.err.lines().all(|line| !line.starts_with("error: x")), "{train:?}");
}

#[test]
#[cfg(unix)]
fn names_of_folders_are_shown_on_one_line() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --out r")).code, Some(0));
    let name = "evil\nerror: all is well\tx\u{1b}[31m\u{202e}";
    fs::rename(dir.join("r"), dir.join(name)).unwrap();
    for arguments in [
        ["eval", name, "--episodes=2"],
        ["eval", name, "--csv=none/x"],
        ["train", "--resume", name],
        ["train", "--steps=5k", "--resume"],
        ["plot", name, "--log-x"],
        ["export", name, "-oone.safetensors"],
        ["compare", name, "--metric=nothing/x"],
        ["compare", name, "--metric=eval/return_mean"],
    ] {
        let mut command = dir.command("");
        command.args(arguments);
        if arguments[2] == "--resume" {
            command.arg(name);
        }
        let finished = Finished::from(command.output().unwrap());
        let said = finished.out + &finished.err;
        assert!(said.lines().all(|line| !line.starts_with("error: all is well")), "{arguments:?}: {said}");
        assert!(!said.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{arguments:?}: {said}");
    }
}

#[test]
fn files_of_a_run_are_replaced_only_where_that_is_asked_for() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --out r")).code, Some(0));
    let metrics = fs::read(dir.join("r/metrics.csv")).unwrap();
    let curve = fs::read(dir.join("r/curve.svg")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("r/metrics.csv", dir.join("link.csv")).unwrap();
    let mut refused = vec!["eval r --csv r/metrics.csv", "eval r --csv r/../r/curve.csv", "plot r -o r/curve.svg"];
    refused.extend(cfg!(unix).then_some("eval r --csv link.csv"));
    for command in refused {
        expect_user_error(&dir.run(command), &["is a file of a run", "--force replaces it"]);
    }
    assert!(fs::read(dir.join("r/metrics.csv")).unwrap() == metrics);
    assert!(fs::read(dir.join("r/curve.svg")).unwrap() == curve);
    // Others beside them are nobody's.
    assert_eq!(dir.run("eval r --episodes 2 --csv r/episodes.csv").code, Some(0));
    assert_eq!(dir.run("plot r -o r/curve.svg --force").code, Some(0));
    assert_eq!(dir.run("eval r --episodes 2 --csv r/metrics.csv --force").code, Some(0));
    assert!(fs::read_to_string(dir.join("r/metrics.csv")).unwrap().starts_with("episode,"));
}

#[test]
#[cfg(target_os = "linux")]
fn commands_that_are_shown_can_be_pasted() {
    let dir = sandbox();
    let train = SHORT.replace("4k", "100");
    for name in ["a b", r"a\x1b[31mred", r"it\x27s", r"tab\tline\nend", r"no\xfftext"] {
        let made = bash(&dir, &format!("name=$'{name}'; \"$Q\" {train} --eval-every 0 --out \"$name\""));
        assert_eq!(made.code, Some(0), "{made:?}");
        let next = made.out.lines().find_map(|line| line.strip_prefix("next: ")).unwrap();
        assert!(!made.out.contains('\u{1b}') && !next.contains("\\u{"), "{made:?}");
        let (_, next) = next.split_once(' ').unwrap();
        let pasted = bash(&dir, &format!("\"$Q\" {next} --episodes 2"));
        assert_eq!(pasted.code, Some(0), "{next}: {pasted:?}");
        // The command that made it makes the same run again.
        let again = format!(
            "name=$'{name}'; cp -r \"$name\" first; line=$(cat first/command.txt); rm -r \"$name\"; eval \"$line\" && \
                             cmp first/last.safetensors \"$name/last.safetensors\" && LC_ALL=C grep -c '[[:cntrl:]]' \
                             first/command.txt; rm -r first"
        );
        let again = bash(&dir, &again);
        assert!(again.code == Some(0) && again.out.lines().last() == Some("0"), "{name}: {again:?}");
    }
}

#[cfg(target_os = "linux")]
fn bash(dir: &Sandbox, script: &str) -> Finished {
    let mut command = std::process::Command::new("bash");
    command.args(["-c", script]).env("Q", env!("CARGO_BIN_EXE_quickstudy-under-test")).current_dir(dir.path());
    command.output().unwrap().into()
}

#[test]
fn outputs_and_folders_are_not_mistaken_for_each_other() {
    let dir = sandbox();
    assert_eq!(dir.run(&format!("{SHORT} --out r")).code, Some(0));
    expect_user_error(&dir.run("eval r --csv same.gif --gif same.gif"), &["--csv"]);
    expect_user_error(&dir.run("eval r --csv same --gif ./same"), &["two results", "a file of its own"]);
    expect_user_error(&dir.run("eval r --csv folder/"), &["cannot write folder/"]);
    assert!(!dir.join("folder").exists() && !dir.join("same").exists());
    expect_user_error(&dir.run("train --resume r --steps 8k --print-config"), &["--print-config"]);
    // A folder that is named twice is resumed once.
    let twice = dir.run("train --resume r r/../r --steps 8k");
    assert_eq!(twice.code, Some(0), "{twice:?}");
    // What `adapt` cannot write is found before it adapts.
    fs::create_dir_all(dir.join("a/adapt.svg")).unwrap();
    let promp = "train promp --env point-corner --steps 1 --set meta_batch=2 --set rollouts=2 --set hidden=[4] --out m";
    let trained = dir.run(promp);
    assert!(trained.code == Some(0) && trained.out.ends_with("next: quickstudy adapt m\n"), "{trained:?}");
    expect_user_error(&dir.run("adapt m --tasks 2 --out a"), &["adapt.svg"]);
    fs::write(dir.join("taken"), "").unwrap();
    expect_user_error(&dir.run("adapt m --tasks 2 --out taken"), &["taken is a file, expected a folder", "--out"]);
    assert!(!dir.join("a/adapt.csv").exists());
}

#[test]
#[cfg(target_os = "linux")]
fn one_run_needs_few_descriptors_and_many_are_told_of_before() {
    let dir = sandbox();
    let few = shell(&dir, &format!("ulimit -n 24; \"$Q\" {SHORT} --out r"));
    assert_eq!(few.code, Some(0), "{few:?}");
    let many = shell(&dir, &format!("ulimit -n 24; \"$Q\" {SHORT} --seed 0..40 --out m"));
    assert!(many.code == Some(2) && many.err.contains("40 seeds need some 56 open files"), "{many:?}");
    assert!(!dir.join("m").exists());
}
