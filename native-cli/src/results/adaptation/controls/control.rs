//! Policies that are not trained: what they see, and what they do.

/// The information that a control may look at before it acts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    /// State of the environment.
    pub state: &'a [f64],
    /// Steps taken in this episode.
    pub step: usize,
}

/// A policy that is not trained.
pub(super) trait Control {
    /// Its name.
    fn name(&self) -> String;

    /// A trial on a task begins. Only those that are told what others must find out look at the task.
    fn begin(&mut self, _task: &[f64]) {}

    /// Chooses the next action. `uniform`: a random number in [0, 1).
    fn act(&mut self, seen: Seen<'_>, uniform: f64) -> Vec<f64>;

    /// Learns from the outcome of that action.
    fn learn(&mut self, _state: &[f64], _action: &[f64], _reward: f64, _next: &[f64]) {}
}

/// One of so many choices by chance.
pub(super) struct RandomChoice {
    pub name: &'static str,
    pub choices: usize,
}

impl Control for RandomChoice {
    fn name(&self) -> String {
        self.name.to_owned()
    }
    fn act(&mut self, _seen: Seen<'_>, uniform: f64) -> Vec<f64> {
        vec![(uniform * self.choices as f64).floor()]
    }
}
