//! The launcher, and the ranks that it has started.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use quickstudy_tests::scratch::scratch;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The command line with MPI.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_quickstudy-under-test");

/// A command of a test takes no longer.
const LIMIT: Duration = Duration::from_secs(120);

/// A folder of one test, removed when the test is over.
pub struct Place(PathBuf);

impl Place {
    pub fn new() -> Place {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let path = scratch(&format!("ranks-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Place(path)
    }

    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    pub fn read(&self, name: impl AsRef<Path>) -> Vec<u8> {
        let path = self.join(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Begins a command on so many ranks, with one thread each. Words are divided at blanks.
    pub fn begin(&self, ranks: usize, command: &str) -> Launched {
        let mut launcher = match ranks {
            1 => Command::new(PROGRAM),
            _ => Command::new("mpirun"),
        };
        if ranks > 1 {
            launcher.args(["--oversubscribe", "-n", &ranks.to_string(), PROGRAM]);
            // Where tests are root's, as in containers.
            launcher.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        }
        launcher.args(command.split(' ')).arg("--threads=1").current_dir(&self.0);
        let child = launcher.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        Launched { child: child.expect("mpirun of Open MPI is installed"), begun: Instant::now() }
    }

    /// Runs a command to its end.
    #[track_caller]
    pub fn run(&self, ranks: usize, command: &str) -> Ended {
        self.begin(ranks, command).end()
    }

    /// Runs a command that succeeds.
    #[track_caller]
    pub fn train(&self, ranks: usize, command: &str) -> Ended {
        let ended = self.run(ranks, command);
        assert_eq!(ended.code, Some(0), "{ranks} ranks, {command}: {}", ended.text);
        ended
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A command that runs.
pub struct Launched {
    child: Child,
    begun: Instant,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    /// Both streams.
    pub text: String,
}

impl Ended {
    /// The lines that this program has printed: the launcher draws frames around its own.
    pub fn own_lines(&self) -> Vec<&str> {
        let mut framed = false;
        let mut own = Vec::new();
        for line in self.text.lines() {
            if line.starts_with("-----") {
                framed = !framed;
            } else if !framed && !line.trim().is_empty() {
                own.push(line);
            }
        }
        own
    }
}

impl Launched {
    /// The processes of the ranks, in no order.
    pub fn ranks(&self) -> Vec<i32> {
        let parent = |pid: &i32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<u32>().ok()
        };
        let all = std::fs::read_dir("/proc").unwrap().flatten();
        let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        pids.filter(|pid| parent(pid) == Some(self.child.id())).collect()
    }

    /// The process of a rank.
    pub fn rank(&self, number: usize) -> i32 {
        let is = |pid: &i32| {
            let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let wanted = format!("OMPI_COMM_WORLD_RANK={number}");
            variables.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        };
        self.ranks().into_iter().find(is).unwrap()
    }

    /// Waits until a file is there.
    #[track_caller]
    pub fn wait_for(&self, path: &Path) {
        while !path.exists() {
            assert!(self.begun.elapsed() < LIMIT, "{} never came", path.display());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Kills the launcher and all ranks at once.
    pub fn kill_all(mut self) {
        let ranks = self.ranks();
        let _ = self.child.kill();
        ranks.iter().for_each(|pid| signal(*pid, "KILL"));
        let _ = self.child.wait();
    }

    #[track_caller]
    pub fn end(mut self) -> Ended {
        fn collect(stream: Option<impl std::io::Read + Send + 'static>) -> std::thread::JoinHandle<String> {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                stream.map(|mut stream| stream.read_to_end(&mut bytes));
                String::from_utf8_lossy(&bytes).into_owned()
            })
        }
        let streams = (collect(self.child.stdout.take()), collect(self.child.stderr.take()));
        let code = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status.code();
            }
            if self.begun.elapsed() > LIMIT {
                let ranks = self.ranks();
                let _ = self.child.kill();
                ranks.iter().for_each(|pid| signal(*pid, "KILL"));
                panic!("the command goes on after {LIMIT:?}");
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let text = streams.0.join().unwrap() + &streams.1.join().unwrap();
        Ended { code, text }
    }
}

/// Sends a signal to a process.
pub fn signal(pid: i32, name: &str) {
    let _ = Command::new("kill").args([format!("-{name}"), pid.to_string()]).stderr(Stdio::null()).status();
}
