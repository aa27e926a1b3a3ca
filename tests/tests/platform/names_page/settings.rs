//! Names of settings, metrics, environments and algorithms, as the register has them.

use super::markdown::{LISTING, Name, Section, Text, names};
use quickstudy::internals::RunSettings;
use quickstudy_core::algo::AlgorithmDef;
use quickstudy_core::env::find;
use quickstudy_core::train::{ALGORITHMS, METRIC_DOCS};
use toml::{Table, Value};

type Def = &'static AlgorithmDef;

/// The form of a name, by which it is resolved.
enum Form<'a> {
    /// A setting, or one of a run.
    Key(&'a str),
    /// `key = value`.
    Value(&'a str, &'a str),
    /// Another value of the setting before it, in quotes.
    Other(&'a str),
    Algorithm(Def),
    Metric(&'a str),
    Environment(&'a str),
    /// A command, a verb, a flag or a Rust name, which others resolve.
    Elsewhere,
}

fn form(name: &Name) -> Form<'_> {
    let code = name.code.as_str();
    if name.path.is_some() || super::commands::is_command(code) {
        return Form::Elsewhere;
    }
    if let Some(def) = ALGORITHMS.iter().find(|def| def.name == code) {
        return Form::Algorithm(def);
    }
    match code.split_once(" = ") {
        Some((key, value)) => Form::Value(key, value),
        None if code.starts_with('"') => Form::Other(code),
        None if code.contains('/') => Form::Metric(code),
        None if code.contains([':', '-']) || find(code, &[]).is_ok() => Form::Environment(code),
        None => Form::Key(code),
    }
}

/// The algorithms that a text names.
fn algorithms(text: &str) -> Vec<Def> {
    let of = |name: &Name| match form(name) {
        Form::Algorithm(def) => Some(def),
        _ => None,
    };
    names(text).iter().filter_map(of).collect()
}

/// The algorithms of a section: those that its first paragraphs name, or all.
pub fn scope(section: &Section) -> Vec<Def> {
    let first = section.rows.first().map_or(usize::MAX, |row| row.ours.line);
    let before = section.paragraphs.iter().filter(|text| text.line < first);
    let named: Vec<Def> = before.flat_map(|text| algorithms(&text.text)).collect();
    if named.is_empty() { ALGORITHMS.to_vec() } else { named }
}

/// The algorithms behind "of" after the list of settings in which the name with this number is.
fn of(names: &[Name], at: usize) -> Vec<Def> {
    let mut rest = names[at + 1..].iter();
    let is_listed = |name: &&Name| {
        let setting = matches!(form(name), Form::Key(_) | Form::Value(..) | Form::Other(_));
        setting && LISTING.contains(&name.gap.as_str())
    };
    let Some(first) = rest.find(|name| !is_listed(name)).filter(|name| name.gap == " of ") else {
        return Vec::new();
    };
    let listed = rest.take_while(|name| LISTING.contains(&name.gap.as_str()));
    let algorithm = |name: &Name| match form(name) {
        Form::Algorithm(def) => Some(def),
        _ => None,
    };
    std::iter::once(first).chain(listed).map_while(algorithm).collect()
}

fn has(def: Def, key: &str) -> bool {
    def.settings().any(|doc| doc.key == key)
}

/// The fault of a value of a setting, where the algorithm has that.
fn refused(def: Def, key: &str, value: &str) -> Option<String> {
    let table: Table = match toml::from_str(&format!("{key} = {value}")) {
        Ok(table) => table,
        Err(error) => return Some(format!("`{key} = {value}`: {error}")),
    };
    def.checked(&table).err().map(|error| format!("`{key} = {value}`, {}: {error}", def.name))
}

/// The value as the algorithm keeps it; its default without one.
fn kept(def: Def, key: &str, value: Option<&str>) -> Option<Value> {
    let table = value.map_or(Ok(Table::new()), |value| toml::from_str(&format!("{key} = {value}"))).ok()?;
    def.checked(&table).ok()?.remove(key)
}

/// Faults of the settings, metrics, environments and algorithms that a text names. `section` has the algorithms that
/// settings are of, unless the text names some; with `defaults`, values are to be their defaults.
pub fn faults(text: &Text, section: &[Def], defaults: bool) -> Vec<String> {
    let names = names(&text.text);
    let own = algorithms(&text.text);
    let scope = if own.is_empty() { section.to_vec() } else { own };
    let (mut faults, mut last_key) = (Vec::new(), None);
    for (at, name) in names.iter().enumerate() {
        let (key, value) = match form(name) {
            Form::Key(key) => (key, None),
            Form::Value(key, value) => (key, Some(value)),
            Form::Other(value) => match last_key {
                Some(key) => (key, Some(value)),
                None => {
                    faults.push(format!("{value} is the value of no setting before it"));
                    continue;
                }
            },
            Form::Metric(metric) if !is_metric(metric) => {
                faults.push(format!("there is no metric `{metric}`"));
                continue;
            }
            Form::Environment(env) => {
                faults.extend(env_fault(env));
                continue;
            }
            Form::Metric(_) | Form::Algorithm(_) | Form::Elsewhere => continue,
        };
        last_key = Some(key);
        let named = of(&names, at);
        let have: Vec<Def> = scope.iter().copied().filter(|def| has(def, key)).collect();
        if let Some(def) = named.iter().find(|def| !has(def, key)) {
            faults.push(format!("{} has no setting `{key}`", def.name));
        } else if have.is_empty() {
            if value.is_some() || !RunSettings::KEYS.contains(&key) {
                let scope: Vec<&str> = scope.iter().map(|def| def.name).collect();
                faults.push(format!("none of {scope:?} has a setting `{key}`"));
            }
        } else if let Some(value) = value {
            // Of several algorithms one that takes the value is enough, unless they are named.
            let all = if named.is_empty() { &have } else { &named };
            let refusals: Vec<String> = all.iter().filter_map(|def| refused(def, key, value)).collect();
            if refusals.len() == all.len() || !named.is_empty() {
                faults.extend(refusals);
            }
            let other = |def: &&Def| kept(def, key, Some(value)) != kept(def, key, None);
            if let Some(def) = all.iter().find(|def| defaults && other(def)) {
                faults.push(format!("`{key} = {value}` is not the default of {}", def.name));
            }
        }
    }
    faults
}

fn is_metric(name: &str) -> bool {
    let own = ALGORITHMS.iter().flat_map(|def| def.metrics);
    // Inner steps are counted from 0; the list names the first.
    name == "meta/step_0_return" || METRIC_DOCS.iter().chain(own).any(|(known, _)| *known == name)
}

/// The fault of an environment's name with its parameters. Those of Python are known to Python.
pub fn env_fault(name: &str) -> Option<String> {
    if ["metaworld:", "gymnasium:"].iter().any(|of_python| name.starts_with(of_python)) {
        return None;
    }
    find(name, &[]).err().map(|error| format!("`{name}`: {error}"))
}
