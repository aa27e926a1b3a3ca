//! The types of settings in TypeScript, written from the settings themselves so that names cannot drift apart.

use std::fmt::Write as _;

use quickstudy_core::train::ALGORITHMS;
use toml::Value;

/// `js/settings.ts`.
fn text() -> String {
    let mut out = String::from(
        "// Written by `QUICKSTUDY_WRITE=1 cargo test -p quickstudy-wasm settings`, which also checks\n\
         // that it is up to date.\n\n",
    );
    for def in ALGORITHMS {
        out += &comment("", &format!("Settings of `{}`: {}.", def.name, def.line));
        _ = writeln!(out, "export interface {} {{", interface(def.name));
        let defaults = (def.defaults)();
        for doc in def.settings() {
            let (default, range) = (&defaults[doc.key], doc.range.to_string());
            let ty = match default {
                Value::Boolean(_) => "boolean".to_owned(),
                Value::Array(_) => "number[]".to_owned(),
                Value::String(_) => one_of(doc.key, &range),
                _ => "number".to_owned(),
            };
            let meaning = doc.meaning.trim_end_matches('.');
            out += &comment("  ", &format!("{meaning}. Values: {range}; default {default}."));
            let space = if ty.starts_with('\n') { "" } else { " " };
            _ = writeln!(out, "  {}?:{space}{ty};", doc.key);
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

/// Columns of a line.
const WIDTH: usize = 120;

/// A comment of documentation, on one line if it fits there.
fn comment(indent: &str, text: &str) -> String {
    let line = format!("{indent}/** {text} */\n");
    if line.chars().count() <= WIDTH + 1 {
        return line;
    }
    let (mut out, mut line) = (format!("{indent}/**\n"), format!("{indent} *"));
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            out += &line;
            out.push('\n');
            line = format!("{indent} *");
        }
        line.push(' ');
        line += word;
    }
    out + &line + &format!("\n{indent} */\n")
}

/// The type of the setting `key`, which is one of the words in `range`: a word per line if they do not fit on one.
fn one_of(key: &str, range: &str) -> String {
    let words: Vec<String> = range.split(", ").map(|word| format!("\"{word}\"")).collect();
    let line = words.join(" | ");
    if format!("  {key}?: {line};").chars().count() <= WIDTH {
        return line;
    }
    words.iter().map(|word| format!("\n    | {word}")).collect()
}

/// `PpoConfig`, `MamlTrpoConfig`.
fn interface(algorithm: &str) -> String {
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    format!("{}Config", algorithm.split('-').map(word).collect::<String>())
}

#[test]
fn the_types_of_settings_are_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/js/settings.ts");
    let written = std::fs::read_to_string(path).unwrap();
    if written != text() {
        std::fs::write(path, text()).unwrap();
        // Who asked for it knows.
        let asked = std::env::var("QUICKSTUDY_WRITE").is_ok();
        assert!(asked, "js/settings.ts was out of date: it is written anew, so commit it");
    }
}
