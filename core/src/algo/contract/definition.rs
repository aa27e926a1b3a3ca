//! The definition of an algorithm, by which everything outside of its room knows it.

use super::Algorithm;
use crate::env::EnvSpec;
use crate::settings::{SettingDoc, Settings, Table, Value};
use crate::{Error, Result};

/// The ways in which the policies of an algorithm adapt to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// A policy is trained on its task.
    SingleTask,
    /// A policy adapts to its task by gradient steps.
    Gradients,
    /// A policy adapts to its task by its memory.
    Memory,
    /// A policy adapts to its task by a belief about it, inferred from its experience.
    Inference,
}

impl Family {
    /// True if policies adapt in rounds: rollouts on the task, then a step or an inference from these, and so on.
    #[must_use]
    pub fn in_rounds(self) -> bool {
        matches!(self, Family::Gradients | Family::Inference)
    }
}

/// An algorithm: its name, its description, and how its settings and an environment make it ready to train.
///
/// Built-in ones are listed in [`crate::train::ALGORITHMS`]. Everything that takes the name of one of these also takes
/// a definition of your own.
#[derive(Clone, Copy, Debug)]
pub struct AlgorithmDef {
    /// The name, as in the paper: in Rust, on the command line, in files and in JavaScript.
    pub name: &'static str,
    /// One line of description, with the paper.
    pub line: &'static str,
    /// The way in which its policies adapt to a task.
    pub family: Family,
    /// The settings that its code declares.
    pub declared: &'static [SettingDoc],
    /// Tells whether the algorithm looks at a declared setting: several algorithms may declare their settings together.
    pub uses: fn(&str) -> bool,
    /// The values of all declared settings.
    pub defaults: fn() -> Table,
    /// Checks the type of a setting's value and gives it as it is kept: a whole number as a float, for a setting of
    /// floats.
    pub value: fn(&str, &Value) -> Result<Value>,
    /// Makes the algorithm for an environment, with settings each of which was checked alone.
    pub configure: Configure,
    /// Metrics of its own, as names and meanings, for lists. Metrics that others have too are in
    /// [`METRIC_DOCS`](crate::train::METRIC_DOCS).
    pub metrics: &'static [(&'static str, &'static str)],
    /// Presets of a built-in algorithm as TOML: of each `[[preset]]` the `env`, or several, the `origin` of its
    /// numbers, the `steps` of a run, and settings. Where several algorithms have one text, each says which `algorithm`
    /// it is of. `kernels` is no setting: it tells a test which kernels the preset has not, of those that make training
    /// fast.
    pub presets: &'static str,
    /// Small values of settings of its own that make iterations long, as TOML: for [`small`](crate::train::small) runs.
    pub small: &'static str,
}

/// Makes an algorithm from its settings and an environment, or says which setting does not fit.
pub type Configure = fn(&Table, &EnvSpec) -> Result<Box<dyn Algorithm>>;

impl AlgorithmDef {
    /// Defines an algorithm with the settings `C`, all of which it looks at.
    #[must_use]
    pub const fn new<C: Settings>(
        name: &'static str,
        line: &'static str,
        family: Family,
        configure: Configure,
    ) -> AlgorithmDef {
        AlgorithmDef {
            name,
            line,
            family,
            declared: C::DECLARED,
            uses: |_| true,
            defaults: || C::default().table(),
            value: kept::<C>,
            configure,
            metrics: &[],
            presets: "",
            small: "",
        }
    }

    /// The settings that the algorithm looks at, in order of declaration.
    pub fn settings(&self) -> impl Iterator<Item = &'static SettingDoc> {
        let uses = self.uses;
        self.declared.iter().filter(move |doc| uses(doc.key))
    }

    /// Checks values of settings, each alone. Settings that are not given have their defaults; settings that the
    /// algorithm does not look at are left out.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an unknown key, with the closest one; [`Error::Config`] for a value of the wrong type or
    /// range.
    pub fn checked(&self, given: &Table) -> Result<Table> {
        let mut table = (self.defaults)();
        for (key, value) in given {
            table.insert(key.clone(), (self.value)(key, value)?);
        }
        for doc in self.settings() {
            if let Some(value) = table.get(doc.key) {
                doc.range.check(doc.key, value)?;
            }
        }
        table.retain(|key, _| (self.uses)(key));
        Ok(table)
    }

    /// Makes the algorithm for an environment, with the given settings, and the others at their defaults.
    ///
    /// # Errors
    /// As [`checked`](AlgorithmDef::checked), or for settings that do not fit each other or the environment.
    pub fn fit(&self, settings: &Table, spec: &EnvSpec) -> Result<Box<dyn Algorithm>> {
        (self.configure)(&self.checked(settings)?, spec)
    }
}

/// The value as a setting of `C` holds it.
fn kept<C: Settings>(key: &str, value: &Value) -> Result<Value> {
    let mut all = C::default();
    all.set(key, value)?;
    value_of(key, C::DECLARED, all.values())
}

/// The value of one setting among those of all.
fn value_of(key: &str, declared: &[SettingDoc], mut values: Vec<Value>) -> Result<Value> {
    match declared.iter().position(|doc| doc.key == key) {
        Some(at) if at < values.len() => Ok(values.swap_remove(at)),
        _ => Err(Error::config(key, "it is not declared")),
    }
}

/// A built-in algorithm's name, or the definition of one.
pub trait IntoAlgorithm {
    /// Finds the definition.
    ///
    /// # Errors
    /// [`Error::Unknown`] for an unknown name, with the closest one.
    fn definition(self) -> Result<&'static AlgorithmDef>;
}

impl IntoAlgorithm for &'static AlgorithmDef {
    fn definition(self) -> Result<&'static AlgorithmDef> {
        Ok(self)
    }
}
