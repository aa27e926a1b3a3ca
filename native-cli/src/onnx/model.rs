//! The file of a model: its graph, who made it, and what it says about itself.

use super::graph::Network;
use super::policy;
use super::wire::Wire;
use quickstudy_core::env::{ActionForm, ActionSpace, Dim, EnvSpec};
use quickstudy_core::train::{Evaluator, PolicyNetworks};
use serde_json::{Value, json};

/// The version of the operators. Engines of games read hardly any newer one.
const OPERATORS: i64 = 15;
/// The version of the format that came with these operators.
const FORMAT: i64 = 8;

/// The bytes of a model that acts as a policy does by its deterministic actions. Equal policies give equal bytes.
pub(crate) fn bytes(policy: &Evaluator, networks: &PolicyNetworks) -> Vec<u8> {
    let spec = policy.env().spec();
    let mut graph = Network::new();
    policy::build(&mut graph, networks, spec);
    let property = |(key, value): (&str, String)| Wire::new().text(1, key).text(2, &value);
    Wire::new()
        .int(1, FORMAT)
        .text(2, "quickstudy")
        .text(3, env!("CARGO_PKG_VERSION"))
        .message(7, &graph.message("policy"))
        .message(8, &Wire::new().text(1, "").int(2, OPERATORS))
        .messages(14, properties(policy, networks, spec).into_iter().map(property))
        .into_bytes()
}

/// Properties by which the model says what it is of, by name. Values that are no plain texts or numbers are JSON.
fn properties(policy: &Evaluator, networks: &PolicyNetworks, spec: &EnvSpec) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("environment", spec.name.clone()),
        ("algorithm", policy.algorithm().to_owned()),
        ("seed", policy.trained_seed().to_string()),
        ("env_steps", policy.env_steps().to_string()),
        ("dtype", "float32".to_owned()),
        ("observation", names(&spec.observation).to_string()),
        ("actions", actions(&spec.action, spec.action_form.as_ref()).to_string()),
    ];
    if let Some(start) = networks.outline.units.and_then(|units| units.start) {
        all.push(("memory_start", json!(networks.slices[start].numbers).to_string()));
    }
    all.push(("config", json!(policy.config()).to_string()));
    all
}

/// The meaning of the output `action`: names of choices, or the names and the bounds of numbers; and the form in which
/// the environment takes it, if that is another one.
fn actions(action: &ActionSpace, form: Option<&ActionForm>) -> Value {
    let mut all = meaning(action);
    // Numbers are f32 in the model, also whole ones.
    let whole = matches!(action, ActionSpace::Box { dims } if dims.iter().all(|dim| dim.whole));
    if whole {
        all["dtype"] = json!("int64");
    }
    if let Some(ActionForm { start, shape, dtype }) = form {
        let start = match (action, &start[..]) {
            (_, []) => None,
            (ActionSpace::Discrete { .. }, [start, ..]) => Some(json!(start)),
            _ => Some(json!(start)),
        };
        let known = [
            ("start", start),
            ("shape", shape.as_ref().map(|x| json!(x))),
            ("dtype", dtype.as_ref().map(|x| json!(x))),
        ];
        for (key, value) in known.into_iter().filter_map(|(key, value)| Some((key, value?))) {
            all[key] = value;
        }
    }
    all
}

fn meaning(action: &ActionSpace) -> Value {
    match action {
        ActionSpace::Discrete { names } => json!({ "choices": names }),
        ActionSpace::MultiDiscrete { choices } => {
            json!({ "choices": choices.iter().map(|choice| &choice.names).collect::<Vec<_>>() })
        }
        ActionSpace::Box { dims } => {
            let bounds = |of: fn(&Dim) -> f64| dims.iter().map(of).collect::<Vec<_>>();
            let mut all = json!({ "names": names(dims), "low": bounds(|dim| dim.low), "high": bounds(|dim| dim.high) });
            if dims.iter().any(|dim| dim.whole) {
                all["whole"] = json!(dims.iter().map(|dim| dim.whole).collect::<Vec<_>>());
            }
            all
        }
    }
}

fn names(dims: &[Dim]) -> Value {
    json!(dims.iter().map(|dim| &dim.name).collect::<Vec<_>>())
}
