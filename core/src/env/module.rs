//! Environments of another module of WebAssembly: a page loads them when it first needs them.
//!
//! Two modules share no memory. One, the guest, has bodies and machines as lanes; the other, the host, has all else.
//! They exchange lists of [words](words): the host [asks](Question) the guest for environments, blocks of steps and
//! pictures, and for graphs it asks for a [tape](tape) of what a step does, which it plays with tensors. A
//! [`Guest`] answers on one side, `Loaded` is the environment on the other.

#[cfg(any(all(test, feature = "bodies"), feature = "guest"))]
mod guest;
#[cfg(any(test, feature = "modules"))]
mod loaded;
#[cfg(any(all(test, feature = "bodies"), feature = "guest"))]
mod recorder;
#[cfg(any(test, feature = "modules"))]
mod replay;
mod tape;
#[cfg(all(test, feature = "bodies"))]
mod tests;
mod words;

#[cfg(any(all(test, feature = "bodies"), feature = "guest"))]
pub use guest::Guest;
#[cfg(any(test, feature = "modules"))]
pub use loaded::{Module, add_module};
#[cfg(any(test, feature = "modules"))]
pub(super) use loaded::{loaded, loaded_names, make};

/// Questions of a host. An answer that does not fit into the room for it is asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Question {
    /// The version, and the names of environments with their parameters.
    Catalogue,
    /// An environment by its name and parameters: its number and what is fixed about it, or what is wrong.
    Make,
    /// The picture of a state on a task.
    Draw,
    /// A job for a block of environments.
    Run,
    /// The task of a key and an element.
    Task,
    /// The tape of a part of an environment; nothing if it does not have that part.
    Tape,
    /// The last answer once more.
    Again,
}

impl Question {
    #[cfg(any(all(test, feature = "bodies"), feature = "guest"))]
    const ALL: [Question; 7] = {
        use Question::*;
        [Catalogue, Make, Draw, Run, Task, Tape, Again]
    };
}

/// Parts of an environment of which there are tapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(dead_code, reason = "`Bare` and `Observe` are asked for with the feature `standalone` only")]
enum TapePart {
    Reset,
    Step,
    Tasks,
    Success,
    DenseReward,
    /// A step without a new episode, of which programs that step one environment ask.
    Bare,
    /// The observation of a state, of which the same programs ask.
    Observe,
}

impl TapePart {
    #[cfg(any(all(test, feature = "bodies"), feature = "guest"))]
    const ALL: [TapePart; 7] = {
        use TapePart::*;
        [Reset, Step, Tasks, Success, DenseReward, Bare, Observe]
    };
}

/// The version that both modules must have.
const VERSION: &str = env!("CARGO_PKG_VERSION");
