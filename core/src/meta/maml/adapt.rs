//! Inner steps: they make each task's parameters from parameters that all tasks share.

use super::surrogate::{Phase, Surrogate, surrogate};
use crate::Tensor;
use crate::grad::value_and_grad;
use crate::policy::PolicyNet;
use crate::settings::{Range, SettingValue as _};
use crate::tensor::require;

/// The step sizes α of inner gradient steps.
#[derive(Clone, Debug)]
pub enum StepSizes {
    /// One step size for all parameters.
    Fixed(f64),
    /// One step size per parameter, `[K, …]` as the slices of θ, learned together with them (arXiv:1707.09835).
    Learned(Vec<Tensor>),
}

/// Parameters before each inner step and after the last one, as slices `[K, …]`.
#[derive(Clone, Debug)]
pub struct Adapted {
    /// One element per inner step, and one more.
    pub parts: Vec<Vec<Tensor>>,
}

impl Adapted {
    /// The parameters after the last step.
    pub fn last(&self) -> &[Tensor] {
        self.parts.last().map_or(&[], Vec::as_slice)
    }
}

/// An adaptation by gradient steps, θ' = θ − α ∇ loss(θ).
///
/// Finn et al. 2017, arXiv:1703.03400, eq. 1.
#[derive(Clone, Copy, Debug)]
pub struct InnerSteps<'a> {
    /// The policy that adapts.
    pub policy: &'a PolicyNet,
    /// The loss that each step descends.
    pub loss: Surrogate,
    /// The step sizes α.
    pub step_sizes: &'a StepSizes,
    /// Treats inner gradients as constants in derivatives.
    pub first_order: bool,
    /// The number of a slice that no step changes.
    pub fixed: Option<usize>,
}

impl InnerSteps<'_> {
    /// Makes one step on the data of each phase in turn, from `parts: [K, …]`, through which gradients flow.
    #[track_caller]
    pub fn adapt(&self, parts: &[Tensor], phases: &[Phase]) -> Adapted {
        if let StepSizes::Fixed(alpha) = self.step_sizes {
            require(Range::Positive.check("inner_lr", &alpha.to_value()));
        }
        let mut all = vec![parts.to_vec()];
        for phase in phases {
            let now = &all[all.len() - 1];
            let (_, grads) = value_and_grad(now, |parts| surrogate(self.loss, self.policy, parts, phase).sum_all());
            let next = now.iter().zip(&grads).enumerate().map(|(i, (part, grad))| {
                if self.fixed == Some(i) {
                    return *part;
                }
                let grad = if self.first_order { grad.stop_gradient() } else { *grad };
                match self.step_sizes {
                    StepSizes::Fixed(alpha) => *part - grad * *alpha,
                    StepSizes::Learned(alpha) => *part - grad * alpha[i],
                }
            });
            let next = next.collect();
            all.push(next);
        }
        Adapted { parts: all }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::builtin;
    use crate::nn::Layout;
    use crate::policy::NetConfig;
    use crate::program::State;
    use crate::{Device, Program};

    #[test]
    fn a_fixed_slice_stays_and_the_others_step_as_without_it() {
        let config = NetConfig::hidden(vec![3]);
        let mut layout = Layout::new();
        let policy = PolicyNet::new(&mut layout, builtin("point-corner").unwrap().spec(), &config);
        let last = layout.slices().count() - 1;
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let numbers = |shape: &[usize]| {
                let n: usize = shape.iter().product();
                Tensor::literal_f32(&(0..n).map(|i| (1.3 * i as f64).sin()).collect::<Vec<_>>()).reshape(shape)
            };
            let theta = numbers(&[1, layout.len()]);
            let parts = layout.split(theta);
            let obs = numbers(&[1, 5, 2]);
            let phase = Phase {
                obs,
                action: numbers(&[1, 5, 2]) * 2.0,
                old: policy.distribution(&parts, obs).stop_gradient(),
                advantage: numbers(&[1, 5, 1]) + 0.5,
                adj_reward: Tensor::zeros(&[1, 5, 1]),
                weight: Tensor::constant_f32(0.2).broadcast_to(&[1, 5, 1]),
                steps: 5,
            };
            for (name, fixed) in [("free", None), ("fixed", Some(last))] {
                let step_sizes = &StepSizes::Fixed(0.1);
                let steps = InnerSteps {
                    policy: &policy,
                    loss: Surrogate::LikelihoodRatio,
                    step_sizes,
                    first_order: false,
                    fixed,
                };
                cx.output(name, layout.join(steps.adapt(&parts, &[phase]).last()) - theta);
            }
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let read = |name: &str| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
        let (free, fixed) = (read("free"), read("fixed"));
        let std = layout.len() - 2;
        assert!(free[std..].iter().all(|x| x.abs() > 1e-4), "{free:?}");
        assert_eq!((&fixed[..std], &fixed[std..]), (&free[..std], &[0.0; 2][..]));
    }
}
