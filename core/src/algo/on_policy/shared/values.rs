//! Predictions of returns for all observations of a rollout.

use crate::Tensor;
use crate::algo::ActorCritic;
use crate::learn::by_seed;
use crate::play::Ends;

use super::Sequences;

/// Predictions of the returns from each observation of a rollout on.
#[derive(Clone, Copy, Debug)]
pub struct RolloutValues {
    /// Values of the observations that were acted on, `[T, S, N, 1]`.
    pub seen: Tensor,
    /// Values of the last observation that a time limit cut off in each of C spans of time, `[S, C · N, 1]`.
    pub cut: Tensor,
    /// Values of the observations after the rollout, `[S, N, 1]`.
    pub next: Tensor,
}

impl RolloutValues {
    /// Splits the values of all observations of a rollout, `[S, T · N + C · N + N, 1]`.
    #[track_caller]
    pub(super) fn split(all: Tensor, [t, s, n]: [usize; 3]) -> RolloutValues {
        let (rows, total) = (t * n, all.size(1));
        let seen = all.slice(1, 0, rows).reshape(&[s, t, n, 1]).permute(&[1, 0, 2, 3]);
        RolloutValues { seen, cut: all.slice(1, rows, total - n), next: all.slice(1, total - n, total) }
    }

    /// The values in a trace that has failed.
    pub(super) fn poison() -> RolloutValues {
        let x = Tensor::poison();
        RolloutValues { seen: x, cut: x, next: x }
    }
}

/// The values of all observations of a rollout, `all: [S, T · N + C · N + N, O]`, and the state of the value function's
/// memory after the rollout, `[S, N, W]`, if it has one.
#[track_caller]
pub(super) fn values_of(
    net: &ActorCritic,
    parts: &[Tensor],
    (all, ends): (Tensor, Ends),
    sequences: Option<&Sequences>,
    [t, s, n]: [usize; 3],
) -> (RolloutValues, Option<Tensor>) {
    if all.is_poison() {
        return (RolloutValues::poison(), None);
    }
    let (rows, total) = (t * n, all.size(1));
    let (Some(sequences), Some([_, cell])) = (sequences, net.cells()) else {
        return (RolloutValues::split(net.value(parts, all), [t, s, n]), None);
    };
    let states = sequences.run(cell, parts, all.slice(1, 0, rows), 1);
    let of = |state: Tensor| net.value(parts, cell.output(parts, state));
    let seen = of(by_seed(states)).reshape(&[s, t, n, 1]).permute(&[1, 0, 2, 3]);
    // An environment is cut off at most once in a span, so that the sum over the span is the state at the cut.
    let (spans, width) = ((total - rows) / n - 1, cell.width());
    let cut = ends.truncated.select(states, Tensor::constant_f32(0.0)).reshape(&[spans, t / spans, s, n, width]);
    let cut = by_seed(cut.sum_keep(1).reshape(&[spans, s, n, width]));
    let cut = of(cell.step(parts, all.slice(1, rows, total - n), cut));
    let ended = ends.ended().index(0, t - 1);
    let next = ended.select(cell.initial(parts, [s, n]), states.index(0, t - 1));
    let values = RolloutValues { seen, cut, next: of(cell.step(parts, all.slice(1, total - n, total), next)) };
    (values, Some(next))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::algo::Sampling;
    use crate::env::{ActionSpace, Dim, EnvSpec};
    use crate::policy::{MemoryConfig, MemoryKind, NetConfig};

    /// Tests values, with memories, of a rollout in which one environment ends an episode and another is cut off: the
    /// observation of a cut has the memory of the episode that it cuts, and the one after an end has a new memory.
    #[test]
    fn values_behind_the_ends_of_episodes_are_by_the_right_memories() {
        let [t, n] = [4, 2];
        let spec = EnvSpec::new("e", vec![Dim::unbounded("x")], ActionSpace::discrete(&["l", "r"]), 2);
        let memory = MemoryConfig { cell: MemoryKind::Lstm, units: 2, learned_start: true, ..MemoryConfig::default() };
        let net = ActorCritic::remembering(&spec, &NetConfig::default(), &memory, &Sampling::default());
        let theta: Vec<f64> = (0..net.layout.len()).map(|i| 0.5 * (1.7 * i as f64).sin()).collect();
        // Rows are steps times environments, then two spans with the observations that were cut off in them, then the
        // next observations.
        let obs = [0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8, 0.0, 5.0, 6.0, 0.0, 0.9, -1.0];
        let terminated = [0, 0, 0, 0, 0, 0, 0, 1];
        let truncated = [0, 0, 0, 1, 1, 0, 0, 0];
        let device = Device::reference();
        let mut program = crate::Program::new(&device, |cx| {
            let parts = net.layout.split(Tensor::literal_f32(&theta).unsqueeze(0));
            let [_, cell] = net.cells().unwrap();
            let first = Tensor::literal_f32(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]).reshape(&[1, n, 4]);
            let flags = |x: &[u32]| Tensor::literal_u32(x).reshape(&[t, 1, n, 1]);
            let ends = Ends { terminated: flags(&terminated), truncated: flags(&truncated) };
            let ended = ends.ended();
            let none = Tensor::literal_u32(&[0, 0]).reshape(&[1, 1, n, 1]);
            let starts = Tensor::concat(&[none, ended.slice(0, 0, t - 1)], 0);
            let sequences = Sequences { starts, states: [first; 2] };
            let all = Tensor::literal_f32(&obs).reshape(&[1, obs.len(), 1]);
            let (RolloutValues { seen: value, cut, next }, after) =
                values_of(&net, &parts, (all, ends), Some(&sequences), [t, 1, n]);
            // The expected values are computed one by one.
            let of = |state: Tensor| net.value(&parts, cell.output(&parts, state));
            let begin = cell.initial(&parts, [1, 1]);
            let see = |x: f64, state: Tensor| cell.step(&parts, Tensor::literal_f32(&[x]).reshape(&[1, 1, 1]), state);
            let (mut each, mut cuts, mut last) = (Vec::new(), Vec::new(), Vec::new());
            for e in 0..n {
                let mut state = first.slice(1, e, e + 1);
                for i in 0..t {
                    state = see(obs[i * n + e], state);
                    each.push(of(state));
                    if truncated[i * n + e] == 1 {
                        cuts.push(of(see(obs[t * n + (i / 2) * n + e], state)));
                    }
                    if terminated[i * n + e] + truncated[i * n + e] > 0 {
                        state = begin;
                    }
                }
                last.push(state);
                each.push(of(see(obs[t * n + 2 * n + e], state)));
            }
            let expected = Tensor::concat(&[&each[..], &cuts].concat(), 1);
            let got: Vec<Tensor> = (0..n)
                .flat_map(|e| {
                    let own = (0..t).map(move |i| value.index(0, i).slice(1, e, e + 1));
                    own.chain([next.slice(1, e, e + 1)])
                })
                .chain([cut.slice(1, 2, 3), cut.slice(1, 1, 2)])
                .collect();
            cx.output("values", Tensor::concat(&got, 1) - expected);
            cx.output("memory", after.unwrap() - Tensor::concat(&last, 1));
        })
        .unwrap();
        let out = program.run(&crate::State::new(), &[], &[]).unwrap();
        for (name, array) in out.iter() {
            let off = pollster::block_on(device.read(array)).unwrap();
            assert!(off.len() > 7 && off.iter().all(|x| x.abs() < 1e-12), "{name}: {off:?}");
        }
    }
}
