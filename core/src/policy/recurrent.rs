//! A policy with a memory: recurrent units from its inputs to a distribution of actions.

use crate::dist::{Gaussian, RowNoise};
use crate::env::ActionSpace;
use crate::nn::{CellKind, Init, Layout, MemoryCell, Mlp, SliceId};
use crate::settings::Settings as _;
use crate::tensor::Named;
use crate::{Error, Result, Tensor};

use super::{
    Act, Acting, ActionRule, ActionUnits, Distribution, GaussianConfig, How, MemoryConfig, MemoryKind, Outline, Policy,
};

crate::settings! {
    /// The settings of a recurrent policy.
    pub struct RecurrentConfig {
        /// The memory.
        ..memory: MemoryConfig = MemoryConfig { cell: MemoryKind::Gru, ..MemoryConfig::default() };
        /// orthogonal first weights; false: Glorot-uniform
        ///
        /// Recurrent weights are orthogonal per gate. The last layer has gain 0.01, so that actions are nearly even at
        /// first.
        orthogonal_init: bool = true;
        /// How vectors are drawn.
        ..gaussian: GaussianConfig;
    }
}

impl RecurrentConfig {
    /// Checks every value on its own and in combination, and that there is a memory.
    ///
    /// # Errors
    /// [`Error::Config`] if they cannot work.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.gaussian.validate()?;
        match self.memory.cell {
            MemoryKind::None => {
                Err(Error::config("cell", "this policy learns by what it remembers; take gru, lstm or rnn"))
            }
            _ => Ok(()),
        }
    }

    /// Makes the units of the network `network` on `inputs` numbers; gated units if the settings name no kind.
    pub(crate) fn layer(&self, layout: &mut Layout, network: &str, inputs: usize) -> MemoryCell {
        let kind = self.memory.cell.cell().unwrap_or(CellKind::Gru);
        self.memory.layer(kind, layout, network, inputs, self.orthogonal_init)
    }
}

/// The output of the linear layer.
#[derive(Clone, Debug)]
enum RecurrentHead {
    /// Logits of one or several choices, with so many options each.
    Choices(Vec<usize>),
    /// The mean of a vector; ln σ is a slice `[A]`.
    Gaussian(SliceId),
}

/// Recurrent units and a linear layer from their output to the logits of choices, or to the mean of a vector whose
/// standard deviation is a parameter. Parameters and states are passed in: `parts` is [`Layout::split`] of θ `[S, P]`.
///
/// As a [`Policy`] it remembers one episode; [`crate::meta::rl2::TrialPolicy`] makes it remember trials.
#[derive(Clone, Debug)]
pub struct RecurrentPolicy {
    cell: MemoryCell,
    weights: SliceId,
    biases: SliceId,
    head: RecurrentHead,
    /// The logarithm of the lowest σ.
    least_log_std: f64,
    units: ActionUnits,
}

impl RecurrentPolicy {
    /// Makes a policy on `inputs` numbers per step, which are the observation and anything else that it is to remember.
    /// Its slices are added to `layout`: `policy.gru…` (or the name of another kind of units), `policy.out.weight`,
    /// `policy.out.bias` and, for vectors, `policy.log_std`. If the settings name no kind of units, they are gated.
    pub fn new(layout: &mut Layout, inputs: usize, action: &ActionSpace, config: &RecurrentConfig) -> RecurrentPolicy {
        let outputs = action.width();
        let units = config.memory.units;
        let weights = match config.orthogonal_init {
            true => Init::Orthogonal { gain: 0.01 },
            false => Init::glorot_uniform(units, outputs),
        };
        let cell = config.layer(layout, "policy", inputs);
        let weights = layout.add("policy.out.weight", &[units, outputs], weights);
        let biases = layout.add("policy.out.bias", &[outputs], Init::Constant(0.0));
        let head = match action {
            ActionSpace::Discrete { .. } | ActionSpace::MultiDiscrete { .. } => {
                RecurrentHead::Choices(action.counts().unwrap_or_default())
            }
            ActionSpace::Box { .. } => RecurrentHead::Gaussian(layout.add(
                "policy.log_std",
                &[outputs],
                Init::Constant(config.gaussian.log_std_init),
            )),
        };
        let least_log_std = config.gaussian.min_std.ln();
        let units_of_actions = ActionUnits::of(action, config.gaussian.scale_actions);
        RecurrentPolicy { cell, weights, biases, head, least_log_std, units: units_of_actions }
    }

    /// The units of vectors, and the actions that environments get.
    pub fn units(&self) -> &ActionUnits {
        &self.units
    }

    /// The recurrent units.
    pub fn cell(&self) -> &MemoryCell {
        &self.cell
    }

    /// Makes one step: reads `x: [S, B, I]` in the state `h: [S, B, W]`. Returns the
    /// policy's distribution and the new state.
    #[track_caller]
    pub fn step(&self, parts: &[Tensor], x: Tensor, h: Tensor) -> (Distribution, Tensor) {
        let h = self.cell.step(parts, x, h);
        (self.at(parts, h), h)
    }

    /// Chooses the action where the network reads `seen: [K, N, I]`, in the form of
    /// [`act`](Policy::act); the state is the memory `units`.
    #[track_caller]
    pub(crate) fn choose(&self, parts: &[Tensor], seen: Tensor, memory: &Named, noise: &RowNoise, how: How) -> Act {
        let (distribution, units) = self.step(parts, seen, memory.get("units"));
        let action = distribution.choose(how, &self.units, noise);
        Act {
            action,
            played: self.units.played(action),
            memory: memory.clone().and("units", units),
            extras: distribution.extras(seen, action),
        }
    }

    /// The policy's distribution at all steps of trials `xs: [T, S, B, I]` that begin in the state
    /// `h0: [S, B, W]`; `starts` as in [`MemoryCell::run`].
    ///
    /// The distribution has the rows `[S, T · B]`. Row `t · B + b` is trial `b` at step `t`, the order in which
    /// [`by_rows`](RecurrentPolicy::by_rows) puts actions.
    #[track_caller]
    pub fn distributions(&self, parts: &[Tensor], xs: Tensor, h0: Tensor, starts: Option<Tensor>) -> Distribution {
        self.at(parts, RecurrentPolicy::by_rows(self.cell.run(parts, xs, h0, starts)))
    }

    /// Puts steps of trials into rows, `[T, S, B, N]` → `[S, T · B, N]`.
    #[track_caller]
    pub fn by_rows(trials: Tensor) -> Tensor {
        if trials.is_poison() {
            return trials;
        }
        let (t, s, b, n) = (trials.size(0), trials.size(1), trials.size(2), trials.size(3));
        trials.permute(&[1, 0, 2, 3]).reshape(&[s, t * b, n])
    }

    /// The policy's distribution in the states `h: [S, B, W]`.
    #[track_caller]
    pub fn at(&self, parts: &[Tensor], h: Tensor) -> Distribution {
        let out = self.cell.output(parts, h).matmul(parts[self.weights]) + parts[self.biases].unsqueeze(1);
        match &self.head {
            RecurrentHead::Choices(counts) => Distribution::of_choices(out, counts),
            RecurrentHead::Gaussian(slot) => {
                Distribution::Vector(Gaussian::at_least(out, parts[*slot], self.least_log_std))
            }
        }
    }
}

impl Policy for RecurrentPolicy {
    /// The memory at the start of every episode is the initial state.
    fn begin(&self, acting: &Acting, rows: [usize; 2], _: Option<&Named>, _: &RowNoise) -> Named {
        Named::from([("units", self.cell.initial(&acting.parts, rows))])
    }

    fn act(
        &self,
        acting: &Acting,
        observation: Tensor,
        memory: &Named,
        _: Option<Tensor>,
        noise: &RowNoise,
        how: How,
    ) -> Act {
        self.choose(&acting.parts, observation, memory, noise, how)
    }

    fn outline(&self) -> Option<Outline> {
        let rule = match &self.head {
            RecurrentHead::Choices(counts) => ActionRule::Logits(counts.clone()),
            RecurrentHead::Gaussian(_) => self.units.rule(),
        };
        Some(Outline::of(&Mlp::linear(self.weights, self.biases), rule).behind(Some(self.cell.slices())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{Choice, Dim};
    use crate::grad::check::{check, value};
    use crate::nn::Reset;
    use crate::program::State;
    use crate::{DType, Device, Program};

    fn config() -> RecurrentConfig {
        let gru = MemoryConfig { cell: MemoryKind::Gru, units: 3, reset: Reset::Before, ..MemoryConfig::default() };
        RecurrentConfig {
            memory: gru,
            gaussian: GaussianConfig { log_std_init: -0.5, ..GaussianConfig::default() },
            ..RecurrentConfig::default()
        }
    }

    fn spaces() -> [ActionSpace; 3] {
        let arm = |name| Dim::new(name, -1.0, 1.0);
        [
            ActionSpace::discrete(&["a", "b", "c"]),
            ActionSpace::continuous(vec![arm("x"), arm("y")]),
            ActionSpace::multi_discrete(vec![Choice::new("set", &["on"]), Choice::new("side", &["l", "r"])]),
        ]
    }

    fn policy(action: &ActionSpace) -> (Layout, RecurrentPolicy) {
        let mut layout = Layout::new();
        let policy = RecurrentPolicy::new(&mut layout, 2, action, &config());
        (layout, policy)
    }

    fn numbers(n: usize, seed: usize) -> Vec<f64> {
        (0..n).map(|i| 0.7 * (1.3 * i as f64 + 2.1 * seed as f64 + 0.5).sin()).collect()
    }

    /// Steps, seeds and trials of the tests.
    const SIZES: [usize; 3] = [4, 2, 3];

    fn starts() -> Tensor {
        let [t, s, b] = SIZES;
        Tensor::literal_u32(&(0..t * s * b).map(|i| u32::from(i % 5 == 3)).collect::<Vec<_>>()).reshape(&[t, s, b, 1])
    }

    #[test]
    fn a_trial_at_once_is_what_acting_step_by_step_was() {
        let ([t, s, b], device) = (SIZES, Device::cpu(1));
        for space in spaces() {
            let (layout, policy) = policy(&space);
            let theta = [numbers(layout.len(), 1), numbers(layout.len(), 2)].concat();
            let mut program = Program::new(&device, |cx| {
                let acting = Acting::of(&layout.split(cx.input("theta", &[s, layout.len()], DType::F32)));
                let xs = cx.input("xs", &[t, s, b, 2], DType::F32);
                let (mut h, mut actions, mut steps) =
                    (policy.cell().initial(&acting.parts, [s, b]), Vec::new(), Vec::new());
                for i in 0..t {
                    let seen = starts().index(0, i).select(policy.cell().initial(&acting.parts, [s, b]), h);
                    let key = [
                        Tensor::literal_u32(&[i as u32, 7]).reshape(&[s, 1]),
                        Tensor::literal_u32(&[3, 4]).reshape(&[s, 1]),
                    ];
                    let (noise, memory) = (RowNoise::new(key, b), Named::from([("units", seen)]));
                    let act = policy.act(&acting, xs.index(0, i), &memory, None, &noise, How::Explore);
                    h = act.memory.get("units");
                    actions.push(act.action);
                    steps.push(act.extras.get("log_prob"));
                }
                let whole = policy.distributions(
                    &acting.parts,
                    xs,
                    policy.cell().initial(&acting.parts, [s, b]),
                    Some(starts()),
                );
                let actions = RecurrentPolicy::by_rows(Tensor::stack(&actions, 0));
                cx.output("steps", RecurrentPolicy::by_rows(Tensor::stack(&steps, 0)));
                cx.output("whole", whole.log_prob(actions));
                cx.output("moved", whole.log_prob(actions + 1.0));
            })
            .unwrap();
            let theta = device.array(&[s, layout.len()], &theta).unwrap();
            let xs = device.array(&[t, s, b, 2], &numbers(t * s * b * 2, 3)).unwrap();
            let out = program.run(&State::new(), &[("theta", &theta), ("xs", &xs)], &[]).unwrap();
            let read = |name| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
            assert_eq!(read("steps").len(), t * s * b);
            assert_eq!(read("steps"), read("whole"), "{space:?}");
            assert_ne!(read("moved"), read("whole"), "{space:?}");
        }
    }

    #[test]
    fn gradients_of_log_probabilities_agree_with_differences() {
        let [t, s, b] = [2, 1, 2];
        for space in spaces() {
            let (layout, policy) = policy(&space);
            let actions = match &space {
                ActionSpace::Discrete { .. } => (0..t * s * b).map(|i| (i % 3) as f64).collect(),
                ActionSpace::Box { .. } => numbers(t * s * b * 2, 4),
                ActionSpace::MultiDiscrete { .. } => (0..t * s * b).flat_map(|i| [0.0, (i % 2) as f64]).collect(),
            };
            let point =
                [(vec![s, layout.len()], numbers(s * layout.len(), 5)), (vec![t, s, b, 2], numbers(t * s * b * 2, 6))];
            let log_prob = |x: &[Tensor]| {
                let h0 = Tensor::zeros(&[s, b, 3]);
                let whole = policy.distributions(&layout.split(x[0]), x[1], h0, None);
                whole.log_prob(Tensor::literal_f32(&actions).reshape(&[s, t * b, space.dim()]))
            };
            for (order, most) in [(1, 1e-7), (2, 1e-6)] {
                check(log_prob, &point, order, most, most).unwrap();
            }
        }
    }

    #[test]
    fn the_head_is_linear_in_the_state() {
        // All weights of the units are zero, so z = ½, n = 0 and h' = h/2.
        for (space, tail, expected) in [
            // Logits 0.5·1·2 + 0.1, 0, −0.1 of h' = (0.5, 0, 0); ln p of the first.
            (&spaces()[0], vec![2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0, -0.1], -0.491070956233215),
            // Mean (1.1, −0.1), ln σ = (0, ln 2); density at (0, 0).
            (&spaces()[1], vec![2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, -0.1, 0.0, 2f64.ln()], -3.137274246969291),
            // Logits 1.1 of the first choice's only option, 0 and ln 3 of the second's; ln ¼.
            (&spaces()[2], vec![2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.0, 3f64.ln()], 0.25f64.ln()),
        ] {
            let (layout, policy) = policy(space);
            let theta = [vec![0.0; layout.len() - tail.len()], tail].concat();
            let point =
                [(vec![1, layout.len()], theta), (vec![1, 1, 2], vec![0.3, 0.4]), (vec![1, 1, 3], vec![1.0, 0.0, 0.0])];
            let got = value(
                |x| {
                    let (distribution, h) = policy.step(&layout.split(x[0]), x[1], x[2]);
                    vec![distribution.log_prob(Tensor::zeros(&[1, 1, space.dim()])), h]
                },
                &point,
            )
            .unwrap();
            assert_eq!(got[1], [0.5, 0.0, 0.0]);
            assert!((got[0][0] - expected).abs() < 1e-12, "{space:?}: {} {expected}", got[0][0]);
        }
    }
}
