//! The workers of one environment: those that wait, and how further ones are made.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashSet;
use std::time::Duration;

use quickstudy_core::env::EnvSpec;
use quickstudy_core::{Error, Result};
use serde_json::{Value, json};

use crate::failure::{Failure, Raised};
use crate::interpreter::{Interpreter, PYTHON};
use crate::message::{HEAD, Message, kind};
use crate::name::{Kind, Recipe};
use crate::spec::Described;
use crate::worker::{Worker, Wrong};

/// The least time that a worker has to make its environments: importing takes longer than a step.
const STARTING: Duration = Duration::from_secs(120);
/// The least time in which a worker that has waited makes other environments.
const WAKING: Duration = Duration::from_secs(30);
/// Bytes of a description: goals of Meta-World take some hundred thousand.
const LONGEST: usize = 1 << 26;

/// Environments that a worker is to have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ask {
    /// Their number; with 0 the worker only says what they are.
    pub count: usize,
    /// Steps after which episodes are cut off.
    pub horizon: usize,
    /// The number of the first one in the fleet.
    pub first: usize,
    /// True if they are to be drawn.
    pub render: bool,
}

/// Makes workers of one environment, and keeps those that executors gave back: importing Gymnasium takes longer than
/// many an evaluation.
#[derive(Debug)]
pub(crate) struct Pool {
    recipe: Recipe,
    interpreter: OnceCell<Interpreter>,
    idle: RefCell<Vec<Worker>>,
    /// Goals that the first worker has found.
    made: OnceCell<Value>,
    /// True when a worker has made environments: later failures are no mistakes of the user.
    proved: Cell<bool>,
    /// Lines of prints that were shown: workers print the same.
    shown: RefCell<HashSet<String>>,
}

impl Pool {
    pub fn new(recipe: Recipe) -> Pool {
        Pool {
            recipe,
            interpreter: OnceCell::new(),
            idle: RefCell::default(),
            made: OnceCell::new(),
            proved: Cell::new(false),
            shown: RefCell::default(),
        }
    }

    /// A pool with one worker, which has said what its environment is.
    pub fn probed(recipe: Recipe) -> Result<(Pool, EnvSpec)> {
        let pool = Pool::new(recipe);
        let described = pool.probe()?;
        described.all_notes().iter().for_each(|note| pool.say(note));
        let spec = described.spec(&pool.recipe.name);
        Ok((pool, spec))
    }

    /// Asks a worker what its environment is.
    fn probe(&self) -> Result<Described> {
        let mut worker = self.asked(Ask::default())?;
        let described = self.described(&mut worker)?;
        self.show(&worker);
        self.give_back(worker);
        Ok(described)
    }

    /// Lets one worker find the goals of tasks, where that takes time, before others are made.
    pub fn prepare(&self) -> Result<()> {
        if self.recipe.kind == Kind::MetaWorld && self.made.get().is_none() {
            self.probe()?;
        }
        Ok(())
    }

    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// The longest that a worker may take to make its environments.
    pub fn starting(&self) -> Duration {
        self.recipe.options.time_limit.max(STARTING)
    }

    /// A worker that was told to make environments; [`described`](Pool::described) waits for its answer.
    pub fn asked(&self, ask: Ask) -> Result<Worker> {
        let Recipe { kind, id, arguments, .. } = &self.recipe;
        let Ask { count, horizon, first, render } = ask;
        let text = json!({
            "source": kind.word(), "id": id, "arguments": Value::Object(arguments.clone()),
            "count": count, "horizon": horizon, "first": first, "render": render, "made": self.made.get(),
        });
        let mut message = Message::default();
        let message = message.begin(kind::MAKE).bytes(text.to_string().as_bytes()).end();
        let idle = || {
            std::iter::from_fn(|| self.idle.borrow_mut().pop()).find_map(|mut worker| worker.lives().then_some(worker))
        };
        let mut worker = match idle() {
            Some(worker) => worker,
            None => Worker::start(self.interpreter()?, &self.recipe.options, self.starting())
                .map_err(|failure| self.cannot_start(&failure))?,
        };
        worker.send(message, self.starting()).map_err(|failure| self.cannot_start(&failure))?;
        Ok(worker)
    }

    /// Waits until a worker has made its environments.
    pub fn described(&self, worker: &mut Worker) -> Result<Described> {
        // One that has waited has imported all that it needs.
        let limit = if worker.idle { self.recipe.options.time_limit.max(WAKING) } else { self.starting() };
        worker.idle = false;
        let answer = worker.receive(kind::SPEC, LONGEST, limit).map_err(|wrong| match wrong {
            Wrong::Raised(raised) => self.refused(&raised),
            Wrong::Failed(failure) => self.cannot_start(&failure),
        })?;
        let described: Described = serde_json::from_slice(&answer[HEAD..]).map_err(|error| {
            self.cannot_start(&Failure::garbled(&format!("a description that cannot be read: {error}")))
        })?;
        if let Some(made) = &described.made {
            self.made.get_or_init(|| made.clone());
        }
        self.proved.set(true);
        Ok(described)
    }

    /// True when a worker has made environments.
    pub fn is_proved(&self) -> bool {
        self.proved.get()
    }

    /// Takes a worker that is not needed at present: one that has answered all messages.
    pub fn give_back(&self, mut worker: Worker) {
        worker.idle = true;
        self.idle.borrow_mut().push(worker);
    }

    /// Shows what a worker has printed.
    pub fn show(&self, worker: &Worker) {
        for line in worker.said().take_fresh() {
            if !self.shown.borrow().contains(&line) {
                self.say(&line);
                self.shown.borrow_mut().insert(line);
            }
        }
    }

    /// Shows a line about the environment.
    pub fn say(&self, line: &str) {
        (self.recipe.options.say)(&format!("{}: {line}", self.recipe.name));
    }

    fn interpreter(&self) -> Result<&Interpreter> {
        if let Some(known) = self.interpreter.get() {
            return Ok(known);
        }
        let found = Interpreter::find(self.recipe.options.python.as_deref())?;
        // One that never answers, is too old or is none would be a worker that is waited for.
        found.version()?;
        Ok(self.interpreter.get_or_init(|| found))
    }

    /// The error for a worker that did not come to make environments.
    fn cannot_start(&self, failure: &Failure) -> Error {
        if failure.stopped {
            return Error::Interrupted;
        }
        self.recipe.error(format!("a worker failed to make it: {}", failure.problem))
    }

    /// The error for an exception while environments were made.
    fn refused(&self, raised: &Raised) -> Error {
        let packages = self.recipe.kind.packages();
        let needed = [self.recipe.kind.word(), "numpy"];
        if let (Some(module), Ok(interpreter)) = (&raised.module, self.interpreter())
            && needed.contains(&module.as_str())
        {
            let install = interpreter.install(packages);
            let path = interpreter.path.display();
            let found = &interpreter.found;
            let problem = format!(
                "{path} ({found}) has no {module}; install it by `{install}`, or name another Python by --python"
            );
            return Error::config(PYTHON, problem);
        }
        let problem = match (raised.class.as_str(), &raised.place) {
            ("Unfit", _) => raised.text.clone(),
            ("NameNotFound" | "NamespaceNotFound", _) if !self.recipe.id.contains(':') => {
                let id = &self.recipe.id;
                format!("{}; one that a module registers is named gymnasium:MODULE:{id}", raised.first_line())
            }
            (_, Some(place)) => format!("{} ({place})", raised.first_line()),
            (_, None) => raised.first_line(),
        };
        self.recipe.error(problem)
    }
}
