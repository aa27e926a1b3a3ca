//! A compiled plan: its dispatches, and the steps that run them.

use super::dispatch::Dispatch;
use super::number::Number;

/// A step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// The dispatch of that number.
    Run(usize),
    /// Steps repeated.
    Loop {
        /// How often.
        len: usize,
        /// From the last index to the first.
        reverse: bool,
        /// The loop is left out where this is not 0.
        unless: Option<Number>,
        /// The steps that are repeated.
        body: Vec<Step>,
    },
}

impl Step {
    /// Adds how often each dispatch runs at these steps of the loops around, which are made so many times.
    fn count(&self, at: &mut Vec<u32>, times: usize, runs: &mut [usize]) {
        let (len, unless, body) = match self {
            Step::Run(dispatch) => return runs[*dispatch] += times,
            Step::Loop { len, unless, body, .. } => (*len, unless, body),
        };
        if unless.as_ref().is_some_and(|unless| unless.at(at) != 0) {
            return;
        }
        let (steps, times) = if body.iter().any(Step::varies) { (len, times) } else { (1, times * len) };
        for t in 0..steps {
            at.push(t as u32);
            body.iter().for_each(|step| step.count(at, times, runs));
            at.pop();
        }
    }

    /// Tells whether it is left out at some steps of the loops around, or a step of it is.
    fn varies(&self) -> bool {
        matches!(self, Step::Loop { unless, body, .. } if unless.is_some() || body.iter().any(Step::varies))
    }
}

/// A compiled plan.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    /// All dispatches.
    pub dispatches: Vec<Dispatch>,
    /// Their order, by kernel of the plan.
    pub steps: Vec<Vec<Step>>,
    /// Number of elements of the program's own buffers.
    pub own: Vec<usize>,
    /// The longest loop.
    pub longest: usize,
}

impl Compiled {
    /// How often each dispatch runs in these steps.
    pub fn runs(&self, steps: &[Step]) -> Vec<usize> {
        let mut runs = vec![0; self.dispatches.len()];
        steps.iter().for_each(|step| step.count(&mut Vec::new(), 1, &mut runs));
        runs
    }
}
