//! Commands, verbs and flags, as the command line takes them.

use super::markdown::names;
use super::settings::env_fault;
use quickstudy_core::env::find;
use quickstudy_tests::process::{Finished, Sandbox};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// The verbs that the page may name.
const VERBS: [&str; 10] = ["train", "sweep", "eval", "adapt", "plot", "compare", "report", "watch", "export", "list"];

/// Flags without a verb are those of training, tried with these.
const TRAINING: &str = "promp --env point-corner";

/// Tells whether a name is a command, a verb or a flag.
pub fn is_command(code: &str) -> bool {
    let first = code.split(' ').next().unwrap_or(code);
    first == "quickstudy" || first.starts_with("--") || VERBS.contains(&first)
}

/// The command line, and the flags of its verbs.
pub struct CommandLine {
    sandbox: Sandbox,
    flags: RefCell<BTreeMap<String, Vec<String>>>,
}

impl CommandLine {
    pub fn new() -> CommandLine {
        let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_quickstudy-under-test"));
        CommandLine { sandbox, flags: RefCell::default() }
    }

    fn has_flag(&self, verb: &str, flag: &str) -> bool {
        let mut known = self.flags.borrow_mut();
        let flags = known.entry(verb.to_owned()).or_insert_with(|| {
            let help = self.sandbox.run(&format!("{verb} --help"));
            let lines = help.out.lines().filter(|line| line.trim_start().starts_with('-'));
            lines.flat_map(str::split_whitespace).map(|word| word.trim_matches(',').to_owned()).collect()
        });
        flags.iter().any(|known| known == flag)
    }

    /// Faults of the commands, verbs and flags that a text names.
    pub fn faults(&self, text: &str) -> Vec<String> {
        let names = names(text);
        let commands = names.iter().filter(|name| name.path.is_none() && is_command(&name.code));
        commands.filter_map(|name| self.fault(&name.code)).map(|fault| fault.trim().to_owned()).collect()
    }

    fn fault(&self, code: &str) -> Option<String> {
        let (whole, given) = match code.strip_prefix("quickstudy ") {
            Some(rest) => (true, rest),
            None => (false, code),
        };
        let words: Vec<&str> = given.split(' ').collect();
        let (verb, rest) = if words[0].starts_with("--") { ("train", &words[..]) } else { (words[0], &words[1..]) };
        if !VERBS.contains(&verb) {
            return Some(format!("`{code}`: there is no verb `{verb}`"));
        }
        if let Some(flag) = rest.iter().find(|word| word.starts_with("--") && !self.has_flag(verb, word)) {
            return Some(format!("`{code}`: {verb} has no {flag}"));
        }
        let env = rest.iter().position(|word| *word == "--env").and_then(|at| rest.get(at + 1));
        if let Some(fault) = env.and_then(|env| env_fault(env)) {
            return Some(fault);
        }
        let values = rest.iter().any(|word| !word.starts_with("--"));
        // A file or folder that the reader has.
        let placeholder = rest.iter().any(|word| word.starts_with(|c: char| c.is_ascii_uppercase()));
        let finished = match (whole, verb) {
            (true, "train") => self.printed(given),
            (true, _) => self.sandbox.run(given),
            (false, "train") if values && !placeholder && !rest.contains(&"--env") => {
                self.printed(&format!("train {TRAINING} {}", rest.join(" ")))
            }
            _ => return None,
        };
        (finished.code != Some(0)).then(|| format!("`{code}` is refused: {}", finished.err))
    }

    /// Runs a training with `--print-config`. In place of an environment that needs Python, it has one of programs.
    pub fn printed(&self, train: &str) -> Finished {
        let of_python = |word: &&str| word.starts_with("metaworld:") || word.starts_with("gymnasium:");
        let words: Vec<&str> =
            train.split(' ').map(|word| if of_python(&word) { "half-cheetah-vel" } else { word }).collect();
        self.sandbox.run(&format!("{} --print-config", words.join(" ")))
    }
}

/// garage's examples train for this number of epochs.
const EPOCHS: i64 = 10;

#[test]
fn commands_of_examples_have_their_presets_and_make_as_many_iterations() {
    let line = CommandLine::new();
    let page = super::page();
    let all = names(&page);
    let commands: Vec<&str> =
        all.iter().map(|name| name.code.as_str()).filter(|code| code.starts_with("quickstudy train rl2")).collect();
    assert_eq!(commands.len(), 4);
    for command in commands.into_iter().filter(|command| !command.contains("metaworld:")) {
        let printed = line.printed(command.strip_prefix("quickstudy ").unwrap());
        assert!(printed.out.contains("# preset "), "{command}: {}", printed.out);
        let config: toml::Table = printed.out.parse().unwrap();
        let env = command.split(' ').find(|word| word.starts_with("half-cheetah-vel:")).unwrap();
        let limit = i64::try_from(find(env, &[]).unwrap().spec().horizon).unwrap();
        let number = |key: &str| find_integer(&config, key).unwrap_or_else(|| panic!("{key}: {}", printed.out));
        assert_eq!(number("steps"), EPOCHS * number("meta_batch") * number("episodes") * limit, "{command}");
    }
}

/// The whole number of this key, in a table or one of its tables.
fn find_integer(table: &toml::Table, key: &str) -> Option<i64> {
    let own = table.get(key).and_then(toml::Value::as_integer);
    own.or_else(|| table.values().filter_map(toml::Value::as_table).find_map(|inner| find_integer(inner, key)))
}
