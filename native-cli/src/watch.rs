//! Watching a run: a page of this machine with its curves, and an agent that plays by its newest policy.
//!
//! The watcher is a process of its own that reads what the run writes. It takes no lock, holds no file open, and
//! computes only while a page asks: a thread per connection answers with numbers, and the main thread, which knows the
//! environments of a program of one's own, plays.

mod answer;
mod facts;
mod film;
mod guard;
mod numbers;
mod player;
mod request;
mod server;

use crate::outcome::Stop;
use crate::terminal::activity::{self, Work};
use crate::terminal::signals;
use player::Player;
use std::path::Path;

/// Serves the page of the run in this folder until Ctrl-C ends the process. `ready` gets the address of the page.
pub(crate) fn watch(folder: &Path, port: u16, ready: impl FnOnce(&str)) -> Result<(), Stop> {
    let (address, asked) = server::serve(server::listen(port)?, folder)?;
    activity::begin(Work::Watching);
    signals::install();
    ready(&address);
    let mut player = Player::new(folder);
    for page in asked {
        // A page that was closed meanwhile takes nothing.
        let _ = page.send(player.play());
    }
    Err(Stop::failure("the server of the page has ended"))
}
