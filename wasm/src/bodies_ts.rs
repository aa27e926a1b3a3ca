//! The environments of the second module in TypeScript, so that the catalogue has them before it is loaded.

use quickstudy_core::env::guest_names;
use quickstudy_core::train::ALGORITHMS;

use crate::describe::{env_info, trains_on};

/// `js/bodies-catalogue.ts`.
fn text() -> String {
    let mut envs = String::new();
    for name in guest_names() {
        let pretty = serde_json::to_string_pretty(&env_info(name).unwrap()).unwrap();
        // Numbers without bounds, which JSON does not have.
        let pretty =
            pretty.replace("\"low\": null", "\"low\": -Infinity").replace("\"high\": null", "\"high\": Infinity");
        envs += &format!("{},\n", on_fewer_lines(&pretty));
    }
    // Environments on which the same algorithms train.
    let mut groups: Vec<(Vec<&str>, Vec<&str>)> = Vec::new();
    for name in guest_names() {
        let fit = ALGORITHMS.iter().filter(|def| trains_on(def, name));
        let algorithms: Vec<&str> = fit.map(|def| def.name).collect();
        match groups.iter_mut().find(|(_, known)| *known == algorithms) {
            Some((envs, _)) => envs.push(name),
            None => groups.push((vec![name], algorithms)),
        }
    }
    let list = |names: &[&str]| names.iter().map(|name| format!("      {name:?},\n")).collect::<String>();
    let group = |(envs, algorithms): &(Vec<&str>, Vec<&str>)| {
        format!("  {{\n    envs: [\n{}    ],\n    algorithms: [\n{}    ],\n  }},\n", list(envs), list(algorithms))
    };
    format!(
        "// Written by `QUICKSTUDY_WRITE=1 cargo test -p quickstudy-wasm bodies`, which also checks that it is up to \
         date.\n\n/** The environments of the second module: bodies and machines. */\n\
         export const BODIES = [\n{envs}];\n\n\
         /** Algorithms that train on them. */\n\
         export const TRAIN_BODIES: readonly {{ envs: readonly string[]; algorithms: readonly string[] }}[] = \
         [\n{}];\n",
        groups.iter().map(group).collect::<String>()
    )
}

/// An object in which those of numbers have a line each.
fn on_fewer_lines(pretty: &str) -> String {
    let mut out = String::new();
    let mut short = false;
    let lines: Vec<&str> = pretty.lines().collect();
    for (i, line) in lines.iter().enumerate() {
        let next = lines.get(i + 1).copied().unwrap_or_default().trim_start();
        short |= line.trim() == "{" && next.starts_with("\"name\"") && lines[i + 2].trim_start().starts_with("\"low\"");
        let end = short && line.trim_start().starts_with('}');
        out += if short && line.trim() != "{" { line.trim_start() } else { line };
        short &= !end;
        out += if short { " " } else { "\n" };
    }
    out.trim_end().to_owned()
}

#[test]
fn the_catalogue_of_bodies_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/js/bodies-catalogue.ts");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    if written != text() {
        std::fs::write(path, text()).unwrap();
        // Who asked for it knows.
        let asked = std::env::var("QUICKSTUDY_WRITE").is_ok();
        assert!(asked, "js/bodies-catalogue.ts was out of date: it is written anew, so commit it");
    }
}
