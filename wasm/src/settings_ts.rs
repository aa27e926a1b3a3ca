//! The types of settings in TypeScript, written from the settings themselves so that names cannot drift apart.

use std::fmt::Write as _;

use quickstudy_core::train::ALGORITHMS;
use toml::Value;

/// `js/settings.ts`.
fn text() -> String {
    let mut out = String::from(
        "// Written by `QUICKSTUDY_WRITE=1 cargo test -p quickstudy-wasm settings`, which also checks that it is up to date.\n\n",
    );
    for def in ALGORITHMS {
        _ = writeln!(out, "/** Settings of `{}`: {}. */", def.name, def.line);
        _ = writeln!(out, "export interface {} {{", interface(def.name));
        let defaults = (def.defaults)();
        for doc in def.settings() {
            let (default, range) = (&defaults[doc.key], doc.range.to_string());
            let ty = match default {
                Value::Boolean(_) => "boolean".to_owned(),
                Value::Array(_) => "number[]".to_owned(),
                Value::String(_) => range.split(", ").map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" | "),
                _ => "number".to_owned(),
            };
            let meaning = doc.meaning.trim_end_matches('.');
            _ = writeln!(out, "  /** {meaning}. Values: {range}; default {default}. */");
            _ = writeln!(out, "  {}?: {ty};", doc.key);
        }
        out += "}\n\n";
    }
    out += "/** Settings by algorithm. */\nexport interface Configs {\n";
    for def in ALGORITHMS {
        _ = writeln!(out, "  \"{}\": {};", def.name, interface(def.name));
    }
    out += "}\n\n/** Names of the algorithms. */\nexport type AlgorithmName = keyof Configs;\n";
    out
}

/// `PpoConfig`, `MamlTrpoConfig`.
fn interface(algorithm: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    format!("{}Config", algorithm.split('-').map(word).collect::<String>())
}

#[test]
fn the_types_of_settings_are_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/js/settings.ts");
    if std::env::var("QUICKSTUDY_WRITE").is_ok() {
        std::fs::write(path, text()).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap();
    assert!(written == text(), "js/settings.ts is out of date; its first line says how to write it again");
}
