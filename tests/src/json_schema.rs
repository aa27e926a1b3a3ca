//! A check of values by a JSON Schema, of the words that `quickstudy list --json-schema` has.

use crate::process::Sandbox;
use serde_json::{Map, Value};

/// A schema with its definitions.
#[derive(Debug)]
pub struct JsonSchema(Value);

/// Words that ask for nothing.
const SAID: [&str; 4] = ["$schema", "$defs", "title", "description"];

impl JsonSchema {
    /// The schema of lines of JSON that the program of a sandbox prints.
    ///
    /// # Panics
    /// If it cannot be read.
    #[must_use]
    pub fn of_lines(dir: &Sandbox) -> Self {
        Self(serde_json::from_str(&dir.run("list --json-schema").out).expect("JSON"))
    }

    /// Checks a value by the definition of this name.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub fn check(&self, definition: &str, value: &Value) -> Result<(), String> {
        let schema = self.0["$defs"].get(definition).ok_or_else(|| format!("no definition {definition}"))?;
        self.fits(schema, value)
    }

    fn fits(&self, schema: &Value, value: &Value) -> Result<(), String> {
        let words = match schema {
            Value::Bool(true) => return Ok(()),
            Value::Object(words) => words,
            other => return Err(format!("{other} is no schema")),
        };
        words.iter().try_for_each(|(word, asked)| self.word(word, asked, words, value))
    }

    fn word(&self, word: &str, asked: &Value, beside: &Map<String, Value>, value: &Value) -> Result<(), String> {
        let list = || asked.as_array().map(Vec::as_slice).unwrap_or_default();
        match word {
            "type" => {
                let types = if asked.is_string() { std::slice::from_ref(asked) } else { list() };
                let fits = types.iter().any(|one| one.as_str().is_some_and(|one| is_a(value, one)));
                fits.then_some(()).ok_or_else(|| format!("{value} is no {asked}"))
            }
            "const" => (value == asked).then_some(()).ok_or_else(|| format!("{value} is not {asked}")),
            "minimum" => {
                let small = value.as_f64().zip(asked.as_f64()).is_some_and(|(value, least)| value < least);
                (!small).then_some(()).ok_or_else(|| format!("{value} is below {asked}"))
            }
            "$ref" => self.check(asked.as_str().unwrap_or_default().trim_start_matches("#/$defs/"), value),
            "anyOf" | "oneOf" => {
                let all: Vec<_> = list().iter().map(|one| self.fits(one, value)).collect();
                let fitting = all.iter().filter(|one| one.is_ok()).count();
                let enough = fitting == 1 || (fitting > 1 && word == "anyOf");
                let errors: Vec<String> = all.into_iter().filter_map(Result::err).collect();
                enough.then_some(()).ok_or_else(|| format!("{fitting} fit {value}: {}", errors.join("; ")))
            }
            "required" => {
                let missing = list().iter().filter_map(Value::as_str).find(|key| value.get(key).is_none());
                missing.map_or(Ok(()), |key| Err(format!("{value} has no {key}")))
            }
            "properties" => {
                let keys = value.as_object().into_iter().flatten();
                let mut known = keys.filter_map(|(key, value)| Some((key, asked.get(key)?, value)));
                known.try_for_each(|(key, asked, value)| {
                    self.fits(asked, value).map_err(|error| format!("{key}: {error}"))
                })
            }
            "additionalProperties" => {
                let mut keys = value.as_object().into_iter().flatten().map(|(key, _)| key);
                let unknown = keys.find(|key| asked == false && beside["properties"].get(key).is_none());
                unknown.map_or(Ok(()), |key| Err(format!("{value} has the key {key}, which nothing describes")))
            }
            "items" => value.as_array().into_iter().flatten().try_for_each(|one| self.fits(asked, one)),
            word if SAID.contains(&word) => Ok(()),
            word => Err(format!("the word {word} is not known")),
        }
    }
}

fn is_a(value: &Value, of: &str) -> bool {
    match of {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_the_schema_does_not_say_is_refused() {
        let number = json!({"type": ["number", "null"]});
        let result = json!({
            "type": "object",
            "properties": {
                "type": {"type": "string", "const": "result"},
                "before": number,
                "after": number,
                "tasks": {"type": "integer", "minimum": 0},
            },
            "required": ["type", "before", "after", "tasks"],
            "additionalProperties": false,
        });
        let defs = json!({"result": result, "adapt": {"anyOf": [{"$ref": "#/$defs/result"}]}, "eval": {"anyOf": []}});
        let schema = JsonSchema(json!({"$defs": defs}));
        let line = json!({"type": "result", "before": null, "after": -1.5, "tasks": 3});
        assert_eq!(schema.check("adapt", &line), Ok(()));
        for (key, value, problem) in [
            ("more", json!(1), "has the key more"),
            ("tasks", json!(1.5), "1.5 is no \"integer\""),
            ("tasks", json!(-1), "-1 is below 0"),
            ("after", json!("1"), "\"1\" is no [\"number\",\"null\"]"),
            ("type", json!("results"), "\"results\" is not \"result\""),
        ] {
            let mut wrong = line.clone();
            wrong[key] = value;
            let error = schema.check("adapt", &wrong).unwrap_err();
            assert!(error.contains(problem), "{problem}: {error}");
        }
        let mut short = line.clone();
        short.as_object_mut().unwrap().remove("after");
        assert!(schema.check("adapt", &short).unwrap_err().contains("has no after"));
        assert!(schema.check("eval", &line).is_err(), "a line is one of its verb");
    }
}
