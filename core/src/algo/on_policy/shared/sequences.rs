//! Steps of environments in order of time, as policies that remember see them.

use crate::Tensor;
use crate::nn::MemoryCell;

use crate::learn::by_seed;

/// The order of rows `[S, T · B, …]`, of which number `t · B + b` is step `t` of environment `b`, and the states of
/// both networks' memories before the first step.
#[derive(Clone, Copy, Debug)]
pub struct Sequences {
    /// 1 where an episode begins, u32 `[T, S, B, 1]`.
    pub starts: Tensor,
    /// The states of policy and value function before the first step, `[S, B, W]` each.
    pub states: [Tensor; 2],
}

impl Sequences {
    /// The states of a network's memory after each step, `[T, S, B, W]`; `network` is 0 for the policy and 1 for the
    /// value function.
    #[track_caller]
    pub(super) fn run(&self, cell: &MemoryCell, parts: &[Tensor], obs: Tensor, network: usize) -> Tensor {
        let shape = self.starts.shape();
        let [t, s, b, _] = shape[..] else { return Tensor::poison() };
        let xs = obs.reshape(&[s, t, b, cell.inputs()]).permute(&[1, 0, 2, 3]);
        cell.run(parts, xs, self.states[network], Some(self.starts))
    }

    /// The outputs of a network's memory at all rows, `[S, T · B, H]`. Without a memory, the trace fails.
    #[track_caller]
    pub(crate) fn outputs(&self, cell: Option<&MemoryCell>, parts: &[Tensor], obs: Tensor, network: usize) -> Tensor {
        match cell {
            Some(cell) => cell.output(parts, by_seed(self.run(cell, parts, obs, network))),
            None => Tensor::poison(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::on_policy::trpo::{kl, surrogate};
    use crate::algo::on_policy::{Minibatch, ppo};
    use crate::algo::{ActorCritic, Sampling};
    use crate::env::{ActionSpace, Dim, EnvSpec};
    use crate::grad::check::check;
    use crate::policy::{MemoryConfig, MemoryKind, NetConfig};
    use crate::rng::Threefry;

    /// Tests gradients by θ of the whole loss, of the surrogate and of the KL through the steps of two environments.
    #[test]
    fn gradients_through_time_are_those_of_finite_differences() {
        let [t, b] = [3, 2];
        let action = ActionSpace::continuous(vec![Dim::new("a", -1.0, 1.0)]);
        let spec = EnvSpec::new("e", vec![Dim::unbounded("x"); 2], action, 9);
        for (cell, more) in [(MemoryKind::Gru, true), (MemoryKind::Lstm, false), (MemoryKind::Rnn, true)] {
            let memory =
                MemoryConfig { cell, units: 3, learned_start: more, layer_norm: more, ..MemoryConfig::default() };
            let config = NetConfig::hidden(vec![2]);
            let net = ActorCritic::remembering(&spec, &config, &memory, &Sampling::default());
            let width = net.policy.cell().unwrap().width();
            let mut rng = Threefry::new([1, 2]);
            let mut numbers = |n: usize| (0..n).map(|_| 0.7 * rng.normal()).collect::<Vec<f64>>();
            let old = net.layout.init([3, 4]);
            let mut theta = old.clone();
            theta.iter_mut().zip(numbers(net.layout.len())).for_each(|(t, z)| *t += 0.3 * z);
            let all: Vec<Vec<f64>> = [2, 1, 1, 1, 1, 1].iter().map(|n| numbers(n * t * b)).collect();
            let states = [numbers(b * width), numbers(b * width)];
            let batch = || {
                let column = |i: usize| Tensor::literal_f32(&all[i]).reshape(&[1, t * b, all[i].len() / (t * b)]);
                let state = |i: usize| Tensor::literal_f32(&states[i]).reshape(&[1, b, width]);
                // The second environment begins an episode at step 1.
                let starts = Tensor::literal_u32(&[0, 0, 0, 1, 0, 0]).reshape(&[t, 1, b, 1]);
                Minibatch {
                    obs: column(0),
                    action: column(1),
                    logp_old: column(2) - 1.3,
                    value_old: column(3),
                    advantage: column(4),
                    returns: column(5),
                    sequences: Some(Sequences { starts, states: [state(0), state(1)] }),
                    valid: None,
                }
            };
            let parts = |x: &[Tensor]| net.layout.split(x[0]);
            let clipped = |x: &[Tensor]| {
                let losses = ppo::losses(&net, &parts(x), &batch(), Tensor::constant_f32(0.2), false, true);
                losses.total(Some(0.5), 0.01).sum_all()
            };
            let trusted = |x: &[Tensor]| surrogate(&net, &parts(x), &batch(), true).sum_all();
            let limit = |x: &[Tensor]| {
                let (old, batch) = (net.layout.split(Tensor::literal_f32(&old).unsqueeze(0)), batch());
                let old = net.distribution_of(&old, batch.obs, batch.sequences.as_ref());
                kl(&net, &parts(x), &batch, &old).sum_all()
            };
            let point = [(vec![1, theta.len()], theta.clone())];
            check(clipped, &point, 1, 1e-5, 1e-7).unwrap();
            check(trusted, &point, 1, 1e-5, 1e-7).unwrap();
            check(limit, &point, 1, 1e-5, 1e-7).unwrap();
            // Products with the KL's Hessian are gradients of gradients.
            check(limit, &point, 2, 1e-4, 1e-6).unwrap();
        }
    }
}
