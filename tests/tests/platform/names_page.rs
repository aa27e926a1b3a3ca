//! `docs/names.md` says what names of other libraries are called here: whatever it says is ours is there, and it has
//! each parameter of the originals.
//!
//! In the last column of its tables, and in its paragraphs, all names in code style are ours.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may")]

mod commands;
mod markdown;
mod originals;
mod rust_names;
mod settings;

use std::fs;
use std::path::Path;

/// The page.
fn page() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    fs::read_to_string(root.join("docs/names.md")).unwrap()
}

/// Faults of what a page says is ours, but for Rust names, each with its line.
fn faults(page: &str, line: &commands::CommandLine) -> Vec<String> {
    let mut all = Vec::new();
    for section in markdown::sections(page) {
        let algorithms = settings::scope(&section);
        let rows = section.rows.iter().map(|row| (&row.ours, row.defaults));
        for (text, defaults) in section.paragraphs.iter().map(|text| (text, false)).chain(rows) {
            let mut own = settings::faults(text, &algorithms, defaults);
            own.extend(line.faults(&text.text));
            all.extend(own.into_iter().map(|fault| format!("docs/names.md:{}: {fault}", text.line)));
        }
    }
    all
}

#[test]
fn settings_metrics_environments_and_commands_of_the_page_are_there() {
    let faults = faults(&page(), &commands::CommandLine::new());
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn names_that_are_not_there_are_found() {
    let line = commands::CommandLine::new();
    let table = |ours: &str| {
        let page = format!("# A\n\n## B\n\nIt is `trpo`.\n\n| theirs | ours |\n|---|---|\n| `x` | {ours} |\n");
        faults(&page, &line).iter().map(|fault| fault.split_once(":9: ").unwrap().1.to_owned()).collect::<Vec<_>>()
    };
    for right in [
        "`max_kl`, `max_kl = 0.1`, `hessian = \"exact\"`, `\"finite_differences\"`, `env`",
        "`max_kl` of `trpo` and `svpg`; `clip_eps`, `epochs` of `ppo`",
        "`train/kl`, `pendulum`, `train --steps 2k`, `--seed`, `eval --episodes 3`, `quickstudy list metrics`",
        "`--env pendulum:time_limit=7`, `train --resume RUN`, `env::Env`: `step`",
    ] {
        assert_eq!(table(right), Vec::<String>::new(), "{right}");
    }
    for (wrong, part) in [
        ("`max_kls`", "has a setting `max_kls`"),
        ("`clip_eps`", "[\"trpo\"] has a setting `clip_eps`"),
        ("`max_kl` of `ppo`", "ppo has no setting `max_kl`"),
        ("`clip_eps`, `value_coef` of `ppo` and `a2c`", "a2c has no setting `clip_eps`"),
        ("`max_kl = 0`", "is not above 0"),
        ("`hessian = \"exactly\"`", "exactly"),
        ("`hessian = \"exact\"`, `\"finite\"`", "finite"),
        ("`\"exact\"`", "no setting before it"),
        ("`train/k`", "no metric `train/k`"),
        ("`pendulums-x`", "pendulums-x"),
        ("`--env pendulum:limit=7`", "limit"),
        ("`--steps-of 7`", "train has no --steps-of"),
        ("`eval --tasks 7`", "eval has no --tasks"),
        ("`train --steps many`", "is refused"),
        ("`quickstudy train trpo --env cartpole --set max_kl=0`", "is refused"),
        ("`quickstudy learn`", "no verb `learn`"),
        ("`quickstudy list metric`", "is refused"),
    ] {
        let faults = table(wrong);
        assert!(faults.len() == 1 && faults[0].contains(part), "{wrong}: {faults:?}");
    }
}

#[test]
fn defaults_of_the_page_are_compared() {
    let line = commands::CommandLine::new();
    let rows = |ours: &str| {
        let page = format!("## B\n\nIt is `trpo`.\n\n| theirs | our default |\n|---|---|\n| `x` | {ours} |\n");
        faults(&page, &line)
    };
    assert_eq!(rows("`max_kl = 1e-2`, `gae_lambda = 0.95`"), Vec::<String>::new());
    assert_eq!(rows("`max_kl = 0.02`"), ["docs/names.md:7: `max_kl = 0.02` is not the default of trpo"]);
}
