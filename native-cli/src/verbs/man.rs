//! `quickstudy man`: pages of the manual.

use std::path::{Path, PathBuf};

use crate::outcome::Stop;
use crate::terminal::output;

/// Arguments of `quickstudy man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Without --out the page of the command itself goes to standard output; with it
one page for each verb is written too, such as quickstudy-train.1. Pages that
are there already are replaced.

Examples:
  quickstudy man | man -l -                   read it
  quickstudy man --out ~/.local/share/man/man1   for `man quickstudy-train`")]
pub(crate) struct ManArgs {
    /// Folder to write the pages to, made if it is not there
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Runs the verb: writes the pages for `command`, which is the whole command line.
pub(crate) fn run(args: &ManArgs, command: clap::Command) -> Result<(), Stop> {
    let Some(folder) = &args.out else {
        return output::write(Path::new("-"), &page(command)?);
    };
    std::fs::create_dir_all(folder).map_err(|error| output::cannot_write(folder, &error))?;
    let mut command = command.disable_help_subcommand(true);
    // Names of verbs become those of their pages.
    command.build();
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        let name = verb.get_display_name().unwrap_or(verb.get_name()).to_owned();
        output::write_own(&folder.join(format!("{name}.1")), &page(verb.clone().name(name))?)?;
    }
    let path = folder.join(format!("{}.1", command.get_name()));
    output::write_own(&path, &page(command)?)?;
    output::say_written(&path, " and a page for each verb beside it");
    Ok(())
}

/// A page in the format of `man`.
fn page(command: clap::Command) -> Result<Vec<u8>, Stop> {
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(|error| Stop::user(format!("a page: {error}")))?;
    // Examples keep their lines.
    let text = String::from_utf8_lossy(&page);
    Ok(match text.split_once("\n.SH EXTRA\n") {
        Some((before, extra)) => {
            let extra = extra.replacen("\n.SH ", "\n.fi\n.SH ", 1);
            format!("{before}\n.SH NOTES\n.nf\n{extra}").into_bytes()
        }
        None => page,
    })
}
