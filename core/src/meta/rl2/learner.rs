//! The networks of RL².

use super::config::{Critic, Rl2Config};
use crate::Tensor;
use crate::env::EnvSpec;
use crate::meta::deviation::{constant, log_std};
use crate::nn::{Init, Layout, MemoryCell, SliceId};
use crate::optim::weight_decay;
use crate::policy::{Distribution, RecurrentPolicy};

/// A recurrent policy and, if it is learned, a value read from the policy's memory or from a memory of its own.
/// Parameters are passed in: `parts` is [`Layout::split`] of θ `[S, P]`.
#[derive(Clone, Debug)]
pub struct Rl2Net {
    /// The slices of θ, by name.
    pub layout: Layout,
    /// The policy.
    pub policy: RecurrentPolicy,
    /// The weights `[H, 1]` and the bias `[1]` of the value.
    value: Option<[SliceId; 2]>,
    /// The value's own recurrent units, if it has such.
    value_cell: Option<MemoryCell>,
    /// The number of the slice that is ln σ, if it is not learned.
    fixed: Option<usize>,
}

impl Rl2Net {
    /// Declares the networks for an environment.
    pub fn new(spec: &EnvSpec, config: &Rl2Config) -> Rl2Net {
        let mut layout = Layout::new();
        let policy = RecurrentPolicy::new(&mut layout, inputs(spec), &spec.action, &config.net);
        let own = config.critic == Critic::Separate;
        let value_cell = own.then(|| config.net.layer(&mut layout, "value", inputs(spec)));
        let value = config.critic.learned().then(|| {
            let units = config.net.memory.units;
            let weights = match config.net.orthogonal_init {
                true => Init::Orthogonal { gain: 1.0 },
                false => Init::glorot_uniform(units, 1),
            };
            let weight = layout.add("value.out.weight", &[units, 1], weights);
            [weight, layout.add("value.out.bias", &[1], Init::Constant(0.0))]
        });
        let fixed = if config.learn_std { None } else { log_std(&layout) };
        Rl2Net { layout, policy, value, value_cell, fixed }
    }

    /// The slices of θ for a loss, with gradients stopped in those that are not learned.
    #[track_caller]
    pub fn learned(&self, parts: &[Tensor]) -> Vec<Tensor> {
        constant(parts, self.fixed)
    }

    /// ½ λ ‖θ‖² over the slices that are learned, `[S, 1]`.
    #[track_caller]
    pub fn weight_decay(&self, parts: &[Tensor], share: f64) -> Tensor {
        let slices = parts.iter().enumerate().filter(|(i, _)| Some(*i) != self.fixed);
        weight_decay(&slices.map(|(_, part)| *part).collect::<Vec<_>>(), share)
    }

    /// I, the numbers of the policy's input at each step: see [`augmented`](super::augmented).
    pub fn inputs(&self) -> usize {
        self.policy.cell().inputs()
    }

    /// The value's own recurrent units, if it has such.
    pub fn value_cell(&self) -> Option<&MemoryCell> {
        self.value_cell.as_ref()
    }

    /// The value in states `[S, B, W]` of the memory that it is read from → `[S, B, 1]`; zeros if no value is learned.
    #[track_caller]
    pub fn value(&self, parts: &[Tensor], state: Tensor) -> Tensor {
        let cell = self.value_cell.as_ref().unwrap_or(self.policy.cell());
        match self.value {
            Some([weights, bias]) => cell.output(parts, state).matmul(parts[weights]) + parts[bias].unsqueeze(1),
            None => Tensor::zeros(&[state.size(0), state.size(1), 1]),
        }
    }

    /// Runs policy and value over all steps of trials `xs: [T, S, B, I]`; rows of the results,
    /// `[S, T · B]`, are in order of time, then of trial.
    #[track_caller]
    pub fn run(&self, parts: &[Tensor], xs: Tensor) -> (Distribution, Tensor) {
        let rows = [xs.size(1), xs.size(2)];
        let states = |cell: &MemoryCell| RecurrentPolicy::by_rows(cell.run(parts, xs, cell.initial(parts, rows), None));
        let policy = states(self.policy.cell());
        let value = self.value_cell.as_ref().map_or(policy, states);
        (self.policy.at(parts, policy), self.value(parts, value))
    }
}

/// O + A + 2, the width of observation, previous action (one number per choice), reward and end.
fn inputs(spec: &EnvSpec) -> usize {
    spec.observation.len() + spec.action.width() + 2
}
