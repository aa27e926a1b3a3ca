//! The schema of the lines, which is made from their types.

use super::adapt::AdaptLine;
use super::bench::BenchLine;
use super::compare::CompareLine;
use super::devices::DevicesLine;
use super::eval::EvalLine;
use super::list::ListLine;
use super::plot::PlotLine;
use super::python::PythonLine;
use super::sweep::SweepLine;
use super::train::TrainLine;
use super::{CommonLine, VERSION};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

/// Makes the schemas of the types of lines of a verb.
type Types = fn() -> Vec<Value>;

/// The verbs in the order of the page, each with its lines.
const VERBS: [(&str, Types); 10] = [
    ("train", types::<TrainLine>),
    ("sweep", types::<SweepLine>),
    ("eval", types::<EvalLine>),
    ("adapt", types::<AdaptLine>),
    ("plot", types::<PlotLine>),
    ("compare", types::<CompareLine>),
    ("list", types::<ListLine>),
    ("bench", types::<BenchLine>),
    ("devices", types::<DevicesLine>),
    ("python", types::<PythonLine>),
];

/// The schema of each variant.
fn types<T: JsonSchema>() -> Vec<Value> {
    let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    // All types of lines are enums.
    let mut variants = schema.get_mut("oneOf").and_then(Value::as_array_mut).map(std::mem::take).unwrap_or_default();
    variants.iter_mut().for_each(strict);
    variants
}

/// Takes widths of numbers away, which JSON does not know, and allows no other keys than those that are named.
fn strict(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            if object.get("format").is_some_and(Value::is_string) {
                object.remove("format");
            }
            // Of an object with any keys the type says all.
            if object.contains_key("properties") {
                object.insert("additionalProperties".to_owned(), json!(false));
            }
            object.values_mut().for_each(strict);
        }
        Value::Array(items) => items.iter_mut().for_each(strict),
        _ => {}
    }
}

/// The name of a type of lines.
fn name(of: &Value) -> &str {
    of["properties"]["type"]["const"].as_str().unwrap_or_default()
}

/// The schema of all lines, by verb in `$defs`.
pub(crate) fn schema() -> Value {
    let common: Map<String, Value> =
        types::<CommonLine>().into_iter().map(|one| (name(&one).to_owned(), one)).collect();
    let references: Vec<Value> = common.keys().map(|name| json!({"$ref": format!("#/$defs/{name}")})).collect();
    let mut all = common;
    for (verb, types) in VERBS {
        let of_verb = [types(), references.clone()].concat();
        all.insert(verb.to_owned(), json!({ "anyOf": of_verb }));
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("Lines of `quickstudy … --json`, version {VERSION}"),
        "description": "A line of a verb is valid by the verb's name in $defs. `docs/json.md` says more.",
        "anyOf": VERBS.map(|(verb, _)| json!({"$ref": format!("#/$defs/{verb}")})),
        "$defs": all,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::adapt::Returns;

    /// The kinds of a value in words.
    fn kinds(of: &Value) -> String {
        let one = |word: &str| match word {
            "integer" => "whole number".to_owned(),
            "null" => "`null`".to_owned(),
            "array" => format!("list of {}s", kinds(&of["items"])),
            word => word.to_owned(),
        };
        match &of["type"] {
            Value::String(word) => one(word),
            Value::Array(words) => {
                words.iter().map(|word| one(word.as_str().unwrap())).collect::<Vec<_>>().join(" or ")
            }
            _ if of.get("oneOf").is_some() => "object".to_owned(),
            _ => "any".to_owned(),
        }
    }

    /// Rows of a table: the keys of an object, and those of objects below it.
    fn rows(of: &Value, path: &str, out: &mut String) {
        let order = of["required"].as_array().cloned().unwrap_or_default();
        for key in order.iter().filter_map(Value::as_str).filter(|key| *key != "type") {
            let value = &of["properties"][key];
            let meaning =
                value["description"].as_str().or(value["const"].as_str()).unwrap_or_default().replace('\n', " ");
            *out += &format!("| `{path}{key}` | {} | {meaning} |\n", kinds(value));
            let below = if value["items"].is_object() { &value["items"] } else { value };
            rows(below, &format!("{path}{key}."), out);
            for variant in below["oneOf"].as_array().into_iter().flatten() {
                rows(variant, &format!("{path}{key}."), out);
            }
        }
    }

    /// The tables of the page.
    fn tables() -> String {
        let table = |one: &Value, out: &mut String| {
            let about = one["description"].as_str().unwrap().replace('\n', " ");
            *out += &format!("\n`{}`: {about}\n\n| key | value | meaning |\n|---|---|---|\n", name(one));
            rows(one, "", out);
        };
        let mut out = "\n## All verbs\n".to_owned();
        types::<CommonLine>().iter().for_each(|one| table(one, &mut out));
        for (verb, types) in VERBS {
            out += &format!("\n## {verb}\n");
            types().iter().for_each(|one| table(one, &mut out));
        }
        out + "\n"
    }

    /// A page with the tables between its marks.
    fn with_tables(page: &str) -> String {
        const MARKS: [&str; 2] = ["<!-- tables -->\n", "<!-- end of the tables -->"];
        let [begin, end] = MARKS.map(|mark| page.find(mark).unwrap());
        format!("{}{}{}", &page[..begin + MARKS[0].len()], tables(), &page[end..])
    }

    #[test]
    fn the_page_has_the_tables_of_the_types() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/json.md");
        let there = std::fs::read_to_string(page).unwrap();
        let new = with_tables(&there);
        if std::env::var("QUICKSTUDY_WRITE").is_ok() {
            std::fs::write(page, new).unwrap();
        } else {
            let how = "QUICKSTUDY_WRITE=1 cargo test -p quickstudy --lib json::schema";
            assert!(there == new, "docs/json.md is out of date; `{how}` writes it again");
        }
    }

    #[test]
    fn each_verb_has_types_of_its_own_names_and_one_of_them_begins() {
        for (verb, types) in VERBS {
            let types = types();
            let mut names: Vec<&str> = types.iter().map(name).chain(["file", "note", "error"]).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{verb}: {names:?}");
            let versions = types.iter().filter(|one| one["properties"].get("version").is_some()).count();
            assert!(versions == 1 + usize::from(verb == "adapt"), "{verb} has {versions} first lines");
        }
    }

    #[test]
    fn numbers_that_are_none_are_null() {
        let line = AdaptLine::Trial { returns: Returns::of(&[f64::INFINITY, f64::NAN]) };
        let line: Value = serde_json::from_str(&crate::json::text(&line).unwrap()).unwrap();
        assert_eq!((&line["return_mean"], &line["low"], &line["type"]), (&Value::Null, &Value::Null, &json!("trial")));
    }
}
