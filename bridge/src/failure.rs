//! A message to a worker, or its answer, that went wrong.

use quickstudy_core::host::FaultKind;
use serde::Deserialize;

/// How a message went wrong.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub kind: FaultKind,
    pub problem: String,
    /// True where nothing more is to be waited for.
    pub stopped: bool,
}

/// An exception of Python.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Raised {
    /// The exception's class.
    #[serde(rename = "type")]
    pub class: String,
    pub text: String,
    pub trace: String,
    /// The last line of the traceback that is the user's, as tracebacks name it.
    pub place: Option<String>,
    /// The number of the environment, among those of its worker, that raised it.
    pub env: Option<usize>,
    /// The module that was not found.
    pub module: Option<String>,
}

impl Failure {
    pub fn new(kind: FaultKind, problem: impl Into<String>) -> Failure {
        Failure { kind, problem: problem.into(), stopped: false }
    }

    /// A worker that is not waited for, as a stop was asked for.
    pub fn stopped() -> Failure {
        Failure { stopped: true, ..Failure::new(FaultKind::Hung, "was stopped") }
    }

    /// A worker that sends what no worker sends.
    pub fn garbled(what: &str) -> Failure {
        Failure::new(FaultKind::Nonsense, format!("the worker sent {what}"))
    }
}

impl Raised {
    /// The class and the first line of the text.
    pub fn first_line(&self) -> String {
        let line = self.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        format!("{}: {line}", self.class)
    }

    /// A failure that quotes the traceback.
    pub fn failure(&self) -> Failure {
        Failure::new(FaultKind::Failed, format!("{}\n{}", self.first_line(), self.trace.trim_end()))
    }
}
