//! `quickstudy completions`: what a shell completes.

use crate::outcome::Stop;
use crate::settings::register;
use crate::terminal::output;
use crate::text::program;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;

use std::path::Path;

/// Arguments of `quickstudy completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The script goes to standard output. It completes verbs and flags; in bash and
zsh also the names of algorithms and environments, in fish those behind a flag.

Examples:
  quickstudy completions bash > ~/.local/share/bash-completion/completions/quickstudy
  quickstudy completions zsh > ~/.zfunc/_quickstudy      with ~/.zfunc in fpath
  quickstudy completions fish > ~/.config/fish/completions/quickstudy.fish
  quickstudy completions powershell >> $PROFILE")]
pub(crate) struct CompletionsArgs {
    /// The shell that reads it
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: Shell,
}

/// Runs the verb: writes the script for `command`, which is the whole command line.
pub(crate) fn run(args: &CompletionsArgs, command: clap::Command) -> Result<(), Stop> {
    let mut command = command.mut_subcommands(|verb| verb.mut_args(with_names));
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, program::name(), &mut script);
    output::write(Path::new("-"), &script)
}

/// An argument with the names that it takes, where it takes some.
fn with_names(argument: clap::Arg) -> clap::Arg {
    match argument.get_id().as_str() {
        "algorithm" => argument.value_parser(PossibleValuesParser::new(register::algorithms().map(|def| def.name))),
        "env" => argument.value_parser(PossibleValuesParser::new(register::environment_names())),
        _ => argument,
    }
}
