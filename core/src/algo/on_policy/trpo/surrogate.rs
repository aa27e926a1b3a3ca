//! The surrogate loss that a trust-region step lowers, and the divergence that limits the step.

use crate::Tensor;
use crate::algo::ActorCritic;
use crate::learn::log_ratio;
use crate::policy::Distribution;

use super::super::Minibatch;

/// −mean(π/π_old · A) of eq. 14, `[S, 1]`, to be minimised. With `standardised`, advantages have zero mean and unit
/// deviation.
#[track_caller]
pub fn surrogate(net: &ActorCritic, parts: &[Tensor], batch: &Minibatch, standardised: bool) -> Tensor {
    let logp = net.distribution_of(parts, batch.obs, batch.sequences.as_ref()).log_prob(batch.action);
    -batch.mean(log_ratio(logp, batch.logp_old).exp() * batch.advantages(standardised))
}

/// The mean KL(old ‖ new) over the states of a batch, `[S, 1]`; `old` is a constant.
#[track_caller]
pub fn kl(net: &ActorCritic, parts: &[Tensor], batch: &Minibatch, old: &Distribution) -> Tensor {
    batch.mean(old.kl(&net.distribution_of(parts, batch.obs, batch.sequences.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algo::on_policy::differences::{DrawnBatch, INIT, check_derivatives, net, rows};
    use crate::env::ActionSpace;
    use crate::grad::value_and_grad;
    use crate::program::State;
    use crate::rng::Threefry;
    use crate::{Device, Program};

    #[test]
    fn surrogate_and_kl_have_the_gradients_of_finite_differences() {
        let tolerance = [1e-4, 1e-6];
        check_derivatives(tolerance, |net, parts, batch| surrogate(net, parts, batch, true));
        check_derivatives(tolerance, |net, parts, batch| {
            let old = net.layout.split(Tensor::literal_f32(&net.layout.init(INIT)).unsqueeze(0));
            kl(net, parts, batch, &net.distribution(&old, batch.obs))
        });
    }

    /// Tests that the Hessian of the KL at the old policy is Fisher's matrix: (diag p − p pᵀ) ⊗ x xᵀ for logits W x of
    /// one state.
    #[test]
    fn the_kls_hessian_is_the_fisher_matrix_and_its_gradient_zero() {
        let net = net(ActionSpace::discrete(&["l", "m", "r"]), vec![], false);
        let p = net.layout.len();
        let mut random = Threefry::new([7, 8]);
        let mut numbers = |n: usize| (0..n).map(|_| random.normal()).collect::<Vec<f64>>();
        let (theta, v, x) = (numbers(p), numbers(p), numbers(2));
        let device = Device::reference();
        let mut program = Program::new(&device, |cx| {
            let parts = net.layout.split(Tensor::literal_f32(&theta).unsqueeze(0));
            let along = net.layout.split(Tensor::literal_f32(&v).unsqueeze(0));
            let obs = rows(&x, 2);
            let none = rows(&[0.0], 1);
            let batch = Minibatch {
                obs,
                action: none,
                logp_old: none,
                value_old: none,
                advantage: none,
                returns: none,
                sequences: None,
                valid: None,
            };
            let old = net.distribution(&parts, obs).stop_gradient();
            let gradient = |parts: &[Tensor]| value_and_grad(parts, |q| kl(&net, q, &batch, &old).sum_all()).1;
            cx.output("gradient", net.layout.join(&gradient(&parts)));
            let (_, products) = value_and_grad(&parts, |parts| {
                let products = gradient(parts).into_iter().zip(&along).map(|(g, v)| (g * *v).sum_all());
                products.reduce(|a, b| a + b).unwrap()
            });
            cx.output("product", net.layout.join(&products));
            let Distribution::Choice(choice) = net.distribution(&parts, obs) else { panic!("choices") };
            let probabilities = (0..3).map(|a| choice.log_prob(rows(&[f64::from(a)], 1)).exp()).collect::<Vec<_>>();
            cx.output("probabilities", Tensor::concat(&probabilities, 1));
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let read = |name: &str| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
        let (gradient, product, probabilities) = (read("gradient"), read("product"), read("probabilities"));
        assert!(gradient.iter().all(|g| g.abs() < 1e-15), "{gradient:?}");
        // W is [2, 3], followed by its bias [3], and then by the value function's slices.
        let weight = |i: usize, a: usize| v[i * 3 + a];
        let change: Vec<f64> = (0..3).map(|a| x[0] * weight(0, a) + x[1] * weight(1, a) + v[6 + a]).collect();
        let mean: f64 = change.iter().zip(&probabilities).map(|(c, p)| c * p).sum();
        let along: Vec<f64> = change.iter().zip(&probabilities).map(|(c, p)| p * (c - mean)).collect();
        let expected: Vec<f64> = [x[0], x[1], 1.0].iter().flat_map(|x| along.iter().map(move |a| x * a)).collect();
        for (i, got) in product.iter().enumerate() {
            let want = expected.get(i).copied().unwrap_or(0.0);
            assert!((got - want).abs() < 1e-12, "{i}: {got} instead of {want}");
        }
        assert!(expected.iter().any(|e| e.abs() > 0.05));
    }

    #[test]
    fn a_policy_that_has_not_moved_loses_minus_the_mean_advantage() {
        let space = ActionSpace::discrete(&["l", "m", "r"]);
        let net = net(space.clone(), vec![3], false);
        let batch = DrawnBatch::draw(&space, &mut Threefry::new([5, 6]));
        let theta = net.layout.init([1, 2]);
        let device = Device::reference();
        let mut program = Program::new(&device, |cx| {
            let parts = net.layout.split(Tensor::literal_f32(&theta).unsqueeze(0));
            let traced = batch.trace();
            let logp_old = net.distribution(&parts, traced.obs).log_prob(traced.action);
            let traced = Minibatch { logp_old, ..traced };
            cx.output("plain", surrogate(&net, &parts, &traced, false));
            cx.output("standardised", surrogate(&net, &parts, &traced, true));
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let read = |name: &str| pollster::block_on(device.read(out.get(name).unwrap())).unwrap()[0];
        let mean = batch.advantage.iter().sum::<f64>() / 5.0;
        assert!((read("plain") + mean).abs() < 1e-12 && mean.abs() > 0.01, "{} {mean}", read("plain"));
        assert!(read("standardised").abs() < 1e-12, "{}", read("standardised"));
    }
}
