//! Which Python runs environments.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use quickstudy_core::{Error, Result};

use crate::probe;

/// The setting that names an interpreter.
pub const PYTHON: &str = "python";

/// Time in which an interpreter answers a question: one on a disk of the network may take seconds.
const ANSWERING: Duration = Duration::from_secs(10);

/// An interpreter of Python, and the place that named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interpreter {
    /// The program.
    pub path: PathBuf,
    /// The place that named it, for messages: `--python`, `VIRTUAL_ENV`, …
    pub found: String,
}

/// The program's place in a virtual environment.
const IN_ENVIRONMENT: &str = if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" };

impl Interpreter {
    /// Finds the interpreter: the one asked for; that beside this program, where it was installed by `pip`; that of the
    /// active virtual environment; that of `.venv` in the working directory; `python3` or `python` of the path.
    ///
    /// # Errors
    /// [`Error::Config`] if there is none.
    pub fn find(asked: Option<&Path>) -> Result<Interpreter> {
        if let Some(path) = asked {
            let path = in_folder(path)?;
            return Ok(Interpreter { path, found: "--python".to_owned() });
        }
        let beside = env::current_exe().ok().and_then(|program| {
            let names = if cfg!(windows) { ["python.exe", "python3.exe"] } else { ["python", "python3"] };
            let beside = names.map(|name| program.with_file_name(name));
            let installed = program.parent()?.parent()?.join("pyvenv.cfg").is_file();
            beside.into_iter().find(|path| installed && path.is_file())
        });
        if let Some(path) = beside {
            return Ok(Interpreter { path, found: "beside this command".to_owned() });
        }
        for variable in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
            let folder = env::var_os(variable).filter(|folder| !folder.is_empty()).map(PathBuf::from);
            if let Some(path) = folder.map(|folder| folder.join(IN_ENVIRONMENT)).filter(|path| path.is_file()) {
                return Ok(Interpreter { path, found: variable.to_owned() });
            }
        }
        let own = Path::new(".venv").join(IN_ENVIRONMENT);
        if own.is_file() {
            return Ok(Interpreter { path: own, found: ".venv here".to_owned() });
        }
        let names = if cfg!(windows) { ["python.exe", "python3.exe"] } else { ["python3", "python"] };
        let on_path = env::var_os("PATH").and_then(|path| {
            let all: Vec<PathBuf> = env::split_paths(&path).collect();
            names.iter().find_map(|name| all.iter().map(|folder| folder.join(name)).find(|path| path.is_file()))
        });
        on_path.map(|path| Interpreter { path, found: "PATH".to_owned() }).ok_or_else(|| {
            let problem = "there is no Python: install python3, activate a virtual environment, or name an interpreter \
                           by --python";
            Error::config(PYTHON, problem)
        })
    }

    /// Runs a short program, and returns what it prints. What it has started ends with it.
    ///
    /// # Errors
    /// [`Error::Config`] if the interpreter cannot be started, takes longer than ten seconds, or is none.
    pub fn run(&self, source: &str) -> Result<String> {
        let Interpreter { path, found } = self;
        let wrong = |problem: String| Error::config(PYTHON, format!("{} ({found}) {problem}", path.display()));
        let done = probe::run(Command::new(path).args(["-c", source]), ANSWERING)
            .map_err(|error| wrong(format!("cannot be started: {error}")))?
            .ok_or_else(|| wrong(format!("has not answered within {ANSWERING:?}; name another one by --python")))?;
        if done.status.success() {
            return Ok(String::from_utf8_lossy(&done.stdout).trim_end().to_owned());
        }
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("nothing was said");
        Err(wrong(format!("is no Python that works ({}): {last}", done.status)))
    }

    /// The version, such as `3.11.7`.
    ///
    /// # Errors
    /// [`Error::Config`] if it is no Python, or one before 3.10.
    pub fn version(&self) -> Result<String> {
        let version = self.run("import sys; print('.'.join(map(str, sys.version_info[:3])))")?;
        let mut numbers = version.split('.').map(str::parse::<u32>);
        let wrong = |problem: String| Error::config(PYTHON, format!("{} {problem}", self.path.display()));
        match (numbers.next(), numbers.next()) {
            (Some(Ok(3)), Some(Ok(minor))) if minor >= 10 => Ok(version),
            (Some(Ok(_)), Some(Ok(_))) => Err(wrong(format!("is Python {version}; 3.10 or newer is needed"))),
            _ => Err(wrong("is no Python: it does not tell its version".to_owned())),
        }
    }

    /// The versions of installed packages, each of which may have several names; none where it is not installed.
    ///
    /// # Errors
    /// [`Error::Config`] if the interpreter does not work.
    pub fn packages(&self, packages: &[&[&str]]) -> Result<Vec<Option<String>>> {
        let source = format!(
            "import importlib.metadata as m\n\
             def version(name):\n  \
               try: return m.version(name)\n  \
               except m.PackageNotFoundError: return ''\n\
             for names in {packages:?}: print(max(map(version, names)))"
        );
        let mut versions: Vec<_> = self.run(&source)?.lines().map(|line| Some(line.to_owned())).collect();
        versions.resize(packages.len(), None);
        Ok(versions.into_iter().map(|version| version.filter(|version| !version.is_empty())).collect())
    }

    /// The command that installs packages for it.
    #[must_use]
    pub fn install(&self, packages: &str) -> String {
        format!("{} -m pip install {packages}", self.path.display())
    }
}

/// The interpreter itself, where its virtual environment was named.
fn in_folder(path: &Path) -> Result<PathBuf> {
    let inside = path.join(IN_ENVIRONMENT);
    match (path.is_dir(), inside.is_file()) {
        (true, true) => Ok(inside),
        (true, false) => {
            let problem = format!("{} (--python) is a folder without {IN_ENVIRONMENT}", path.display());
            Err(Error::config(PYTHON, format!("{problem}; name an interpreter or its virtual environment")))
        }
        (false, _) => Ok(path.to_owned()),
    }
}
