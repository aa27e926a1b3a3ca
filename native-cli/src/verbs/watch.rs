//! `quickstudy watch`: a run on a page of this machine.

use crate::folder::{self, is_started};
use crate::outcome::Stop;
use crate::terminal::output::say;
use crate::text::quote::shell_quote;
use crate::watch;
use std::path::{Path, PathBuf};

/// Shows a run on a page of this machine, while it trains or after it: live curves of all metrics, and an agent that
/// plays by the newest policy that was saved.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The page is on the loopback address, for browsers of this machine alone, and its
address has a random token: without it nothing is given out. The watcher reads
what the run writes, and plays only while somebody looks. Ctrl-C ends it; the
run goes on.

From another machine: ssh -L 8080:127.0.0.1:8080 HOST, with --port 8080 there.

Examples:
  quickstudy watch runs/cartpole-ppo-s0         prints the address of the page
  quickstudy watch runs/cartpole-ppo-s0 --open  and opens it in the browser
  quickstudy watch runs/cartpole-ppo-s0 --port 8080")]
pub(crate) struct WatchArgs {
    /// Run folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Port of the page [default: one that is free]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, allow_negative_numbers = true)]
    pub port: u16,
    /// Open the page in the browser
    #[arg(long)]
    pub open: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &WatchArgs) -> Result<(), Stop> {
    let folder = one_run(&args.run)?;
    watch::watch(&folder, args.port, |address| {
        say(&format!("watching {}; Ctrl-C ends this, and not the run", folder.display()));
        say(address);
        if args.open
            && let Err(error) = open::that_detached(address)
        {
            say(&format!("note: no browser could be opened ({error}); open the address by hand"));
        }
    })
}

/// The run of a folder: the folder itself, or the only run in it.
fn one_run(path: &Path) -> Result<PathBuf, Stop> {
    if is_started(path) {
        return Ok(path.to_owned());
    }
    let runs = folder::find_started(path)?;
    match &runs[..] {
        [one] => Ok(one.clone()),
        [first, ..] => {
            let message = format!("{} holds {} runs, and one is watched at a time", path.display(), runs.len());
            Err(Stop::user(message).hint(format!("name one, such as `quickstudy watch {}`", shell_quote(first))))
        }
        [] => Err(Stop::user(format!("{} holds no run", path.display()))),
    }
}
