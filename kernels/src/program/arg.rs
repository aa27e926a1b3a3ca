//! The arguments of a program: arrays, and numbers that are given at each run.

use crate::DType;

/// The use of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Only read.
    Input,
    /// Read and, if it has a result, overwritten.
    State,
    /// Only written, fresh at each run.
    Output,
}

impl Role {
    /// Its name in printed traces and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Role::Input => "input",
            Role::State => "state",
            Role::Output => "output",
        }
    }
}

/// An argument of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Arg {
    /// Its name.
    pub name: String,
    /// Size of each axis.
    pub shape: Vec<usize>,
    /// Data type.
    pub dtype: DType,
    /// Its use.
    pub role: Role,
    /// The array is too large to be touched as a whole: every operation that would is an error of the trace.
    pub bulk: bool,
}

/// A run-time scalar of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScalarSpec {
    /// Its name.
    pub name: String,
    /// Data type.
    pub dtype: DType,
}
