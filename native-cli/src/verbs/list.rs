//! `quickstudy list`: what can be trained, and on what.

use crate::json::VERSION;
use crate::json::list::ListLine;
use crate::json::schema::schema;
use crate::outcome::Stop;
use crate::settings::{catalogue, register};
use crate::terminal::json_args::JsonArgs;
use crate::terminal::output::{self, say};
use crate::text::program;
use clap::ValueEnum as _;
use quickstudy_core::algo::AlgorithmDef;
use quickstudy_core::env::builtin_parameters;
use quickstudy_core::train::presets;
use std::path::Path;

/// Arguments of `quickstudy list`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quickstudy list
  quickstudy list presets
  quickstudy list settings                             every key for --set
  quickstudy list settings promp                       those of one algorithm
  quickstudy list environments --json | jq -r .name    their names alone
  quickstudy train ppo --env cartpole --print-config   every setting, its origin")]
pub(crate) struct ListArgs {
    /// Only this part
    #[arg(value_enum)]
    pub part: Option<ListPart>,
    /// Only the settings of this algorithm
    #[arg(
        value_name = "ALGORITHM",
        value_parser = clap::builder::PossibleValuesParser::new(register::algorithm_names()),
        hide_possible_values = true
    )]
    pub algorithm: Option<String>,
    /// Print the JSON Schema of the lines that --json writes, by verb
    #[arg(long, conflicts_with_all = ["part", "json"])]
    pub json_schema: bool,
    /// Results as lines of JSON
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Parts of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ListPart {
    /// Algorithms, which learn.
    #[value(help = "What can learn", alias = "algos")]
    Algorithms,
    /// Environments, which are learned.
    #[value(help = "What can be learned", alias = "envs")]
    Environments,
    /// Settings that are known to work
    Presets,
    /// Every key for --set: default, values, meaning
    Settings,
    /// The columns of metrics.csv and what they mean
    Metrics,
}

/// The parts that are listed where none is named.
const FIRST: [ListPart; 3] = [ListPart::Algorithms, ListPart::Environments, ListPart::Presets];

/// Runs the verb.
pub(crate) fn run(args: &ListArgs) -> Result<(), Stop> {
    args.json.reserve([])?;
    if args.json_schema {
        return output::write(Path::new("-"), format!("{:#}\n", schema()).as_bytes());
    }
    let algorithm = args.algorithm.as_deref();
    if let (Some(algorithm), false) = (algorithm, args.part == Some(ListPart::Settings)) {
        let hint = format!("`quickstudy list settings {algorithm}` lists its settings");
        return Err(Stop::user("only settings are listed by algorithm").hint(hint));
    }
    let parts = args.part.map_or(FIRST.to_vec(), |part| vec![part]);
    let name = |part: &ListPart| part.to_possible_value().map(|value| value.get_name().to_owned());
    args.json.write(&ListLine::List { version: VERSION, parts: parts.iter().filter_map(name).collect() })?;
    for part in parts {
        if args.json.json {
            results(part, algorithm)?.iter().try_for_each(|line| args.json.write(line))?;
            continue;
        }
        section(part, algorithm)?.iter().for_each(|line| say(line));
        if args.part.is_none() {
            say("");
        }
    }
    if args.part.is_none() && !args.json.json {
        let name = program::name();
        say(&format!("`{name} list settings` explains every key, `{name} list metrics` every"));
        say("column of metrics.csv.");
    }
    Ok(())
}

/// A part for people, of one algorithm where one is named.
fn section(part: ListPart, algorithm: Option<&str>) -> Result<Vec<String>, Stop> {
    match part {
        ListPart::Algorithms => Ok(catalogue::algorithms()),
        ListPart::Environments => catalogue::environments(),
        ListPart::Presets => catalogue::presets(),
        ListPart::Settings => Ok(named(algorithm).flat_map(catalogue::settings).collect()),
        ListPart::Metrics => Ok(catalogue::metrics()),
    }
}

/// A part as lines of JSON.
fn results(part: ListPart, algorithm: Option<&str>) -> Result<Vec<ListLine>, Stop> {
    let environment = |name| {
        let parameters = builtin_parameters(name);
        Ok(ListLine::environment(name, register::environment(name)?.spec(), &parameters))
    };
    let metric = |(name, meaning): (&str, &str)| ListLine::Metric { name: name.into(), meaning: meaning.into() };
    match part {
        ListPart::Algorithms => Ok(register::algorithms().map(ListLine::algorithm).collect()),
        ListPart::Environments => register::environment_names().into_iter().map(environment).collect(),
        ListPart::Presets => Ok(presets()?.into_iter().map(ListLine::preset).collect()),
        ListPart::Settings => Ok(named(algorithm).flat_map(ListLine::settings).collect()),
        ListPart::Metrics => Ok(register::metrics().map(metric).collect()),
    }
}

/// The algorithm of this name, without one all.
fn named(name: Option<&str>) -> impl Iterator<Item = &'static AlgorithmDef> {
    register::algorithms().filter(move |def| name.is_none_or(|name| def.name == name))
}
