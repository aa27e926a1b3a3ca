//! The graph of a policy: from observations, and a memory, to actions.
//!
//! Inputs and outputs have the names that `docs/onnx.md` gives them. All operations are those of
//! `quickstudy_core::policy` on f32, in their order, so that actions differ in the last digits only.

use super::graph::{Element, Network, Wired};
use quickstudy_core::env::{ActionSpace, Dim, EnvSpec};
use quickstudy_core::nn::{Activation, CellKind, CellSlices, SliceId};
use quickstudy_core::policy::{ActionRule, Bounds};
use quickstudy_core::train::PolicyNetworks;

/// Adds a policy to a graph.
pub(crate) fn build(graph: &mut Network, policy: &PolicyNetworks, spec: &EnvSpec) {
    let obs = graph.input("obs", spec.observation.len());
    let mut builder = PolicyGraph { graph, policy };
    let mut seen = vec![builder.standardised(obs)];
    seen.extend(policy.outline.beside.iter().map(|(name, width)| builder.graph.input(name, *width)));
    let mut seen = builder.graph.beside(&seen);
    let mut remembered = None;
    if let Some(units) = policy.outline.units {
        let (state, output) = builder.remember(units, seen);
        (remembered, seen) = (Some((state, memory_width(units))), output);
    }
    builder.act(seen, &spec.action);
    if let Some((state, width)) = remembered {
        graph.output("memory_out", state, Element::Float, &[width]);
    }
}

/// The numbers of the state of recurrent units.
fn memory_width(units: CellSlices) -> usize {
    if units.kind == CellKind::Lstm { 2 * units.units } else { units.units }
}

struct PolicyGraph<'a> {
    graph: &'a mut Network,
    policy: &'a PolicyNetworks,
}

impl PolicyGraph<'_> {
    fn slice(&mut self, name: &str, id: SliceId) -> Wired {
        let slice = &self.policy.slices[id];
        self.graph.floats(name, &slice.shape, &slice.numbers)
    }

    fn number(&mut self, name: &str, number: f64) -> Wired {
        self.graph.floats(name, &[], &[number as f32])
    }

    fn standardised(&mut self, obs: Wired) -> Wired {
        let Some(scale) = &self.policy.scale else { return obs };
        let width = [scale.mean.len()];
        let mean = self.graph.floats("obs.mean", &width, &scale.mean);
        let deviation = self.graph.floats("obs.deviation", &width, &scale.deviation);
        let centred = self.graph.node("Sub", &[obs, mean]);
        let scaled = self.graph.node("Div", &[centred, deviation]);
        self.limited("obs", scaled, scale.limit.into())
    }

    /// Limits numbers to ±`limit`.
    fn limited(&mut self, name: &str, tensor: Wired, limit: f64) -> Wired {
        let low = self.number(&format!("{name}.lowest"), -limit);
        let high = self.number(&format!("{name}.highest"), limit);
        self.graph.node("Clip", &[tensor, low, high])
    }

    /// Makes a step of recurrent units from the state in the input `memory_in`. Gives their new state and their output.
    fn remember(&mut self, units: CellSlices, seen: Wired) -> (Wired, Wired) {
        let memory = self.graph.input("memory_in", memory_width(units));
        let input = self.slice("units.input.weight", units.input);
        let bias = self.slice("units.bias", units.bias);
        let from_input = self.graph.node("Gemm", &[seen, input, bias]);
        let (state, h) = match units.kind {
            CellKind::Gru => {
                let h = self.gated(units, from_input, memory);
                (h, h)
            }
            CellKind::Lstm => self.long_short_term(units, from_input, memory),
            CellKind::Rnn => {
                let recurrent = self.slice("units.recurrent.weight", units.recurrent);
                let from_state = self.graph.node("MatMul", &[memory, recurrent]);
                let both = self.graph.node("Add", &[from_input, from_state]);
                let h = self.graph.node("Tanh", &[both]);
                (h, h)
            }
        };
        let output = units.norm.map_or(h, |norm| self.evened(norm, h, units.units));
        (state, output)
    }

    /// Gated units: the next state, of which the gates update, reset and candidate lie side by side.
    fn gated(&mut self, units: CellSlices, from_input: Wired, h: Wired) -> Wired {
        let n = units.units;
        let [open_input, new_input] = self.graph.split(from_input, [2 * n, n]);
        let (open_state, after) = match units.recurrent_bias {
            Some(bias) => {
                let recurrent = self.slice("units.recurrent.weight", units.recurrent);
                let bias = self.slice("units.recurrent.bias", bias);
                let from_state = self.graph.node("Gemm", &[h, recurrent, bias]);
                let [open, new] = self.graph.split(from_state, [2 * n, n]);
                (open, Some(new))
            }
            None => {
                let gates = self.columns("units.recurrent.gates", units.recurrent, 0, 2 * n);
                (self.graph.node("MatMul", &[h, gates]), None)
            }
        };
        let open = self.graph.node("Add", &[open_input, open_state]);
        let open = self.graph.node("Sigmoid", &[open]);
        let [update, reset] = self.graph.split(open, [n, n]);
        let new_state = match after {
            Some(new) => self.graph.node("Mul", &[reset, new]),
            None => {
                let candidate = self.columns("units.recurrent.candidate", units.recurrent, 2 * n, 3 * n);
                let kept = self.graph.node("Mul", &[reset, h]);
                self.graph.node("MatMul", &[kept, candidate])
            }
        };
        let new = self.graph.node("Add", &[new_input, new_state]);
        let new = self.graph.node("Tanh", &[new]);
        let further = self.graph.node("Sub", &[h, new]);
        let kept = self.graph.node("Mul", &[update, further]);
        self.graph.node("Add", &[new, kept])
    }

    /// Long short-term memory: the next state, which is h and behind it c, and h.
    fn long_short_term(&mut self, units: CellSlices, from_input: Wired, memory: Wired) -> (Wired, Wired) {
        let n = units.units;
        let [h, c] = self.graph.split(memory, [n, n]);
        let recurrent = self.slice("units.recurrent.weight", units.recurrent);
        let from_state = self.graph.node("MatMul", &[h, recurrent]);
        let all = self.graph.node("Add", &[from_input, from_state]);
        let [input, forget, candidate, output] = self.graph.split(all, [n; 4]);
        let [input, forget, output] = [input, forget, output].map(|gate| self.graph.node("Sigmoid", &[gate]));
        let candidate = self.graph.node("Tanh", &[candidate]);
        let kept = self.graph.node("Mul", &[forget, c]);
        let added = self.graph.node("Mul", &[input, candidate]);
        let c = self.graph.node("Add", &[kept, added]);
        let shown = self.graph.node("Tanh", &[c]);
        let h = self.graph.node("Mul", &[output, shown]);
        (self.graph.beside(&[h, c]), h)
    }

    /// Standardises the output of units over them, and applies gain and bias.
    fn evened(&mut self, [gain, bias]: [SliceId; 2], h: Wired, units: usize) -> Wired {
        let (gain, bias) = (self.slice("units.norm.weight", gain), self.slice("units.norm.bias", bias));
        let mean = self.mean(h, units);
        let centred = self.graph.node("Sub", &[h, mean]);
        let square = self.graph.node("Mul", &[centred, centred]);
        let variance = self.mean(square, units);
        let epsilon = self.number("units.norm.epsilon", CellSlices::EPSILON);
        let variance = self.graph.node("Add", &[variance, epsilon]);
        let deviation = self.graph.node("Sqrt", &[variance]);
        let even = self.graph.node("Div", &[centred, deviation]);
        let scaled = self.graph.node("Mul", &[even, gain]);
        self.graph.node("Add", &[scaled, bias])
    }

    /// The mean over `count` numbers of each row, `[batch, 1]`.
    fn mean(&mut self, tensor: Wired, count: usize) -> Wired {
        let axes = self.graph.ints("axis.1", &[1]);
        let sum = self.graph.node_with("ReduceSum", &[tensor, axes], &[("keepdims", 1)]);
        let share = self.number(&format!("share.{count}"), 1.0 / count as f64);
        self.graph.node("Mul", &[sum, share])
    }

    /// Some columns of a matrix.
    fn columns(&mut self, name: &str, id: SliceId, from: usize, to: usize) -> Wired {
        let slice = &self.policy.slices[id];
        let (rows, width) = (slice.shape[0], slice.shape[1]);
        let numbers: Vec<f32> = slice.numbers.chunks(width).flat_map(|row| row[from..to].iter().copied()).collect();
        self.graph.floats(name, &[rows, to - from], &numbers)
    }

    /// The output of the linear layers, of whose last outputs only the first `outputs` are computed, if not all.
    fn layers(&mut self, seen: Wired, outputs: Option<usize>) -> Wired {
        let layers = self.policy.outline.linear();
        let mut x = seen;
        for (number, (weight, bias)) in layers.iter().enumerate() {
            if number > 0 {
                x = self.activated(x);
            }
            let name = format!("layers.{number}");
            let (weight, bias) = match outputs.filter(|_| number + 1 == layers.len()) {
                Some(outputs) => {
                    let numbers = self.policy.slices[*bias].numbers[..outputs].to_vec();
                    let weight = self.columns(&format!("{name}.weight"), *weight, 0, outputs);
                    (weight, self.graph.floats(&format!("{name}.bias"), &[outputs], &numbers))
                }
                None => (self.slice(&format!("{name}.weight"), *weight), self.slice(&format!("{name}.bias"), *bias)),
            };
            x = self.graph.node("Gemm", &[x, weight, bias]);
        }
        x
    }

    fn activated(&mut self, x: Wired) -> Wired {
        let operator = match self.policy.outline.layers.activation() {
            Activation::Tanh => "Tanh",
            Activation::Relu => "Relu",
        };
        self.graph.node(operator, &[x])
    }

    /// Adds the output `action`, and what it is chosen by where it is a choice.
    fn act(&mut self, seen: Wired, space: &ActionSpace) {
        match &self.policy.outline.rule {
            ActionRule::Logits(counts) => {
                let logits = self.layers(seen, None);
                self.choose("logits", logits, counts, space);
            }
            ActionRule::Values => {
                let values = self.layers(seen, None);
                self.choose("values", values, &space.counts().unwrap_or_default(), space);
            }
            ActionRule::Dueling => {
                let counts = space.counts().unwrap_or_default();
                let choices = counts.iter().sum();
                let out = self.layers(seen, None);
                let [advantages, value] = self.graph.split(out, [choices, 1]);
                let mean = self.mean(advantages, choices);
                let values = self.graph.node("Add", &[value, advantages]);
                let values = self.graph.node("Sub", &[values, mean]);
                self.choose("values", values, &counts, space);
            }
            ActionRule::Pairs(choices) => {
                let values = self.pairs(seen, *choices);
                self.choose("values", values, &[*choices], space);
            }
            ActionRule::Limited(bounds) => {
                let action = self.layers(seen, None);
                self.play(action, bounds, space);
            }
            ActionRule::Scaled(bounds) => {
                let action = self.layers(seen, None);
                let action = self.stretched(action, bounds);
                self.play(action, bounds, space);
            }
            ActionRule::Squashed { bounds, limit } => {
                let mut action = self.layers(seen, Some(space.dim()));
                if let Some(limit) = limit {
                    action = self.limited("action.mean", action, *limit);
                }
                let action = self.graph.node("Tanh", &[action]);
                let action = self.stretched(action, bounds);
                self.play(action, bounds, space);
            }
        }
    }

    /// Stretches a vector from −1 and 1 to its bounds.
    fn stretched(&mut self, action: Wired, bounds: &Bounds) -> Wired {
        let narrow = |numbers: Vec<f64>| numbers.into_iter().map(|x| x as f32).collect::<Vec<_>>();
        let (half, middle) = bounds.half_and_middle();
        let (half, middle) = (narrow(half), narrow(middle));
        let half = self.graph.floats("action.half", &[half.len()], &half);
        let middle = self.graph.floats("action.middle", &[middle.len()], &middle);
        let action = self.graph.node("Mul", &[action, half]);
        self.graph.node("Add", &[action, middle])
    }

    /// Makes a vector the output `action`: whole numbers as the nearest ones, all limited to the bounds.
    fn play(&mut self, mut action: Wired, bounds: &Bounds, space: &ActionSpace) {
        let (Bounds::Box { whole, .. }, ActionSpace::Box { dims }) = (bounds, space) else { return };
        let size = [dims.len()];
        if whole.contains(&true) {
            let number = |whole: &bool| if *whole { 1.0 } else { 0.0 };
            let whole: Vec<f32> = whole.iter().map(number).collect();
            let half = self.number("action.rounding", 0.5);
            let nearest = self.graph.node("Add", &[action, half]);
            let nearest = self.graph.node("Floor", &[nearest]);
            // a + (nearest − a) · 1 is the nearest for a difference of at most one half, and a + 0 is a.
            let off = self.graph.node("Sub", &[nearest, action]);
            let whole = self.graph.floats("action.whole", &size, &whole);
            let off = self.graph.node("Mul", &[off, whole]);
            action = self.graph.node("Add", &[action, off]);
        }
        // Numbers of single precision within the bounds, not the nearest ones to them.
        let (low, high): (Vec<f32>, Vec<f32>) = dims.iter().map(Dim::single).map(|[low, high]| (low, high)).unzip();
        let lowest = self.graph.floats("action.lowest", &size, &low);
        let highest = self.graph.floats("action.highest", &size, &high);
        let action = self.graph.node("Max", &[action, lowest]);
        let action = self.graph.node("Min", &[action, highest]);
        self.graph.output("action", action, Element::Float, &size);
    }

    /// Makes scores of choices the output `name`, and the first best option of each choice the output `action`.
    fn choose(&mut self, name: &str, scores: Wired, counts: &[usize], space: &ActionSpace) {
        let best = |graph: &mut Network, scores, keep| {
            graph.node_with("ArgMax", &[scores], &[("axis", 1), ("keepdims", keep)])
        };
        let (action, shape) = match space {
            ActionSpace::MultiDiscrete { .. } => {
                let parts = self.graph.split_all(scores, counts);
                let chosen: Vec<Wired> = parts.into_iter().map(|part| best(self.graph, part, 1)).collect();
                (self.graph.beside(&chosen), vec![counts.len()])
            }
            _ => (best(self.graph, scores, 0), Vec::new()),
        };
        self.graph.output("action", action, Element::Int, &shape);
        self.graph.output(name, scores, Element::Float, &[counts.iter().sum()]);
    }

    /// The values of all choices, of layers that read a choice behind everything else, as a number from −1 to 1.
    ///
    /// The first layer is linear, so that it reads what is seen once and adds each choice to it, `[batch, choices, H]`.
    fn pairs(&mut self, seen: Wired, choices: usize) -> Wired {
        let layers = self.policy.outline.linear();
        let mut x = seen;
        for (number, (weight, bias)) in layers.iter().enumerate() {
            let name = format!("layers.{number}");
            if number > 0 {
                x = self.activated(x);
                let (weight, bias) =
                    (self.slice(&format!("{name}.weight"), *weight), self.slice(&format!("{name}.bias"), *bias));
                x = self.graph.node("MatMul", &[x, weight]);
                x = self.graph.node("Add", &[x, bias]);
                continue;
            }
            let slice = &self.policy.slices[*weight];
            let (inputs, width) = (slice.shape[0], slice.shape[1]);
            let (of_seen, of_choice) = slice.numbers.split_at((inputs - 1) * width);
            let step = 2.0 / (choices - 1).max(1) as f64;
            let number = |choice| (choice as f64 * step - 1.0) as f32;
            let added: Vec<f32> = (0..choices).flat_map(|c| of_choice.iter().map(move |w| number(c) * w)).collect();
            let of_seen = self.graph.floats(&format!("{name}.weight"), &[inputs - 1, width], of_seen);
            let bias = self.slice(&format!("{name}.bias"), *bias);
            let added = self.graph.floats(&format!("{name}.choices"), &[choices, width], &added);
            x = self.graph.node("Gemm", &[x, of_seen, bias]);
            let axes = self.graph.ints("axis.1", &[1]);
            x = self.graph.node("Unsqueeze", &[x, axes]);
            x = self.graph.node("Add", &[x, added]);
        }
        let axes = self.graph.ints("axis.2", &[2]);
        self.graph.node("Squeeze", &[x, axes])
    }
}
