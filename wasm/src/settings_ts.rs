//! The types of settings in TypeScript, written from the settings themselves so that names cannot drift apart.

use std::fmt::Write as _;

use quickstudy_core::train::{ALGORITHMS, Setup, algorithm_doc, setting_docs};
use toml::Value;

/// `js/settings.ts`.
fn text() -> String {
    let mut out = String::from(
        "// Written by `QUICKSTUDY_WRITE=1 cargo test -p quickstudy-wasm settings`, which also checks that it is up to date.\n\n",
    );
    for algorithm in ALGORITHMS {
        _ = writeln!(out, "/** Settings of `{algorithm}`: {}. */", algorithm_doc(algorithm));
        _ = writeln!(out, "export interface {} {{", interface(algorithm));
        let defaults = Setup::defaults(algorithm).unwrap();
        for (doc, default) in setting_docs(algorithm).unwrap().into_iter().zip(defaults) {
            let ty = match &default.value {
                Value::Boolean(_) => "boolean".to_owned(),
                Value::Array(_) => "number[]".to_owned(),
                Value::String(_) => {
                    doc.range.split(", ").map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" | ")
                }
                _ => "number".to_owned(),
            };
            let meaning = doc.meaning.trim_end_matches('.');
            _ = writeln!(out, "  /** {meaning}. Values: {}; default {}. */", doc.range, default.value);
            _ = writeln!(out, "  {}?: {ty};", doc.key);
        }
        out += "}\n\n";
    }
    out += "/** Settings by algorithm. */\nexport interface Configs {\n";
    for algorithm in ALGORITHMS {
        _ = writeln!(out, "  \"{algorithm}\": {};", interface(algorithm));
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
