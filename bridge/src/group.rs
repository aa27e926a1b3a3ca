//! A process with all that it starts.

use std::io::{Error, ErrorKind, Result};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// The shell that watches.
const SHELL: &str = "/bin/sh";
/// Waits for the end of its input, leaves the group some time to end by itself, and kills what there is of it then.
const WATCHER: &str = "read -r _; sleep \"$1\"; kill -s KILL -- \"-$0\"";

/// A process and its children, which are a process group of their own: Ctrl-C does not reach it. They end when this is
/// dropped, and also when this program ends without dropping anything, killed or not.
///
/// A shell beside the group kills it when a pipe ends that only this program holds. The kernel's signal at the death of
/// a parent would not reach children of children, and Python handles no signal within a loop of C code. Images of
/// containers may have no shell: groups are killed there as they are dropped, but if this program is killed, only the
/// worker itself ends, by the kernel's signal that it has asked for (`pipes.py`).
#[derive(Debug)]
pub(crate) struct Group {
    /// The first process.
    pub child: Child,
    /// None where there is no shell.
    watcher: Option<Child>,
}

impl Group {
    /// Starts a command, and has its group killed so long after the end of this program.
    pub fn start(command: &mut Command, grace: Duration) -> Result<Group> {
        Group::watched_by(SHELL, command, grace)
    }

    fn watched_by(shell: &str, command: &mut Command, grace: Duration) -> Result<Group> {
        // Without a watcher that should be there, it ends as this is dropped.
        let mut group = Group { child: command.process_group(0).spawn()?, watcher: None };
        let mut watcher = Command::new(shell);
        watcher.args(["-c", WATCHER, &group.child.id().to_string(), &grace.as_secs().to_string()]).process_group(0);
        watcher.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        match watcher.spawn() {
            Ok(watcher) => group.watcher = Some(watcher),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(Error::new(error.kind(), format!("{shell}, which ends it in time: {error}"))),
        }
        Ok(group)
    }

    /// Tells whether the first process has not ended.
    pub fn lives(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Where all of it has ended there is nothing to do.
        if let Ok(id) = i32::try_from(self.child.id()) {
            let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
        }
        let _ = self.child.wait();
        // It has nothing to watch any more.
        if let Some(watcher) = &mut self.watcher {
            let _ = watcher.kill();
            let _ = watcher.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_start_and_end_also_where_there_is_no_shell() {
        for shell in [SHELL, "/no/such/shell"] {
            let mut group = Group::watched_by(shell, Command::new("sleep").arg("600"), Duration::ZERO).unwrap();
            assert!(group.lives(), "{shell}");
            assert_eq!(group.watcher.is_some(), shell == SHELL, "{shell}");
            let id = Pid::from_raw(i32::try_from(group.child.id()).unwrap());
            drop(group);
            assert!(killpg(id, None::<Signal>).is_err(), "{shell}: it has ended");
        }
    }
}
