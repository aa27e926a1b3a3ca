//! A process with all that it starts.

use std::io::{Error, Result};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Waits for the end of its input, leaves the group some time to end by itself, and kills what there is of it then.
const WATCHER: &str = "read -r _; sleep \"$1\"; kill -s KILL -- \"-$0\"";

/// A process and its children, which are a process group of their own: Ctrl-C does not reach it. They end when this is
/// dropped, and also when this program ends without dropping anything, killed or not.
///
/// That needs a process more, a shell which waits for the end of a pipe that only this program holds: no signal that
/// the kernel sends at the death of a parent reaches children of children, and what a process of Python does about it
/// by itself, it does not do within a loop of C code.
#[derive(Debug)]
pub(crate) struct Group {
    /// The first process.
    pub child: Child,
    watcher: Child,
}

impl Group {
    /// Starts a command, and has its group killed so long after the end of this program.
    pub fn start(command: &mut Command, grace: Duration) -> Result<Group> {
        let mut child = command.process_group(0).spawn()?;
        let mut watcher = Command::new("/bin/sh");
        watcher.args(["-c", WATCHER, &child.id().to_string(), &grace.as_secs().to_string()]).process_group(0);
        watcher.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        match watcher.spawn() {
            Ok(watcher) => Ok(Group { child, watcher }),
            Err(error) => {
                kill(&mut child);
                Err(Error::new(error.kind(), format!("/bin/sh, which ends it in time: {error}")))
            }
        }
    }

    /// Tells whether the first process has not ended.
    pub fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        kill(&mut self.child);
        // It has nothing to watch any more.
        let _ = self.watcher.kill();
        let _ = self.watcher.wait();
    }
}

/// Kills a process and its group. Where all of it has ended there is nothing to do.
fn kill(child: &mut Child) {
    if let Ok(id) = i32::try_from(child.id()) {
        let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
    }
    let _ = child.wait();
}
