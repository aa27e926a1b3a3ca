//! Natural-gradient steps inside of a trust region, as TRPO makes them.

use super::adam::norm;
use super::conjugate_gradient::{conjugate_gradient, dot};
use crate::Tensor;
use crate::grad::value_and_grad;
use crate::nn::Layout;
use crate::settings::Range;
use crate::tensor::scan_tree;

/// How products of the constraint's Hessian at θ with a vector v are computed.
///
/// Differences compare gradients g at points of a fixed distance, of each stacked seed by itself, however long v is:
/// rounding drowns the difference between nearer points, and higher derivatives blur it between farther ones. Distances
/// are those of the least error relative to the exact product, measured in f32 on the KL of six policies with 82 to
/// 14,533 parameters, with ‖θ‖ from 0.1 to 30 and ‖v‖ from 1e-3 to 1e3, 160 products each. The best distance in
/// proportion to 1 + ‖θ‖ was off by up to 1.6 % for tanh and GRU.
///
/// | error, largest (median of the worst lengths) | tanh and GRU | ReLU |
/// |---|---|---|
/// | symmetric, ε = 0.01 / ‖v‖ | 0.3 % (0.02 %) | 4 % (0.5 %) |
/// | one-sided, ε = 0.002 / ‖v‖ | 1.2 % (0.2 %) | 5 % (0.2 %) |
/// | symmetric, ε = 1e-5, as in ProMP's code | 9,700 % (68 %) | 7,600 % (27 %) |
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Hessian {
    /// The gradient is differentiated once more.
    #[default]
    Exact,
    /// (g(θ + εv) − g(θ − εv)) / 2ε. Cheaper for second-order objectives.
    FiniteDifferences,
    /// (g(θ + εv) − g(θ)) / ε: half as many gradients, and more error.
    OneSidedDifferences,
}

crate::words!(Hessian {
    Exact = "exact",
    FiniteDifferences = "finite_differences",
    OneSidedDifferences = "one_sided_differences",
});

/// Length of εv of [`Hessian::FiniteDifferences`].
const SYMMETRIC: f64 = 0.01;

/// Length of εv of [`Hessian::OneSidedDifferences`].
const ONE_SIDED: f64 = 0.002;

crate::settings! {
    /// A trust region.
    ///
    /// Schulman et al. 2015, arXiv:1502.05477, appendix C: s = H⁻¹ g by conjugate gradients, scaled to the boundary,
    /// then the first of the steps 1, ρ, ρ², … that lowers the loss and keeps to the constraint; none if none does.
    #[derive(Copy)]
    pub struct TrustRegion {
        /// largest KL of the policies before and after a step
        ///
        /// δ of eq. 12, the limit of whatever is the constraint. Larger: faster and less safe.
        max_kl: f64 = 0.01, Range::Positive;
        /// conjugate-gradient iterations
        cg_iterations: usize = 10, Range::Count(1, 1000);
        /// added to the diagonal of the KL's Hessian
        ///
        /// Larger: nearer to the plain gradient.
        damping: f64 = 1e-5, Range::NotNegative;
        /// most steps of the line search
        backtracks: usize = 15, Range::Count(1, 1000);
        /// factor between its steps
        ///
        /// ρ.
        backtrack_ratio: f64 = 0.8, Range::Fraction;
        /// where no step keeps to the limit, make the last one if it lowers the loss
        ///
        /// As garage's `ConjugateGradientOptimizer`.
        accept_violation: bool = false;
        /// products with the KL's Hessian
        hessian: Hessian = Hessian::Exact;
        /// above 0: gradients of differences are this over ‖θ‖ times the vector apart; 0: where the error is least
        ///
        /// garage's `base_eps` of `FiniteDifferenceHVP`: ε = base_eps / (‖θ‖ + 1e-8). The exact `hessian` does not look
        /// at it.
        base_eps: f64 = 0.0, Range::NotNegative;
    }
}

/// A function of the slices of θ, → `[S, 1]`.
type Of<'a> = &'a dyn Fn(&[Tensor]) -> Tensor;

/// The functions by which a step is made.
#[derive(Clone, Copy)]
pub struct TrustProblem<'a> {
    /// The loss that a step lowers, `[S, 1]` at the slices of θ.
    pub loss: Of<'a>,
    /// The constraint that limits a step, `[S, 1]` at the slices of θ.
    pub constraint: Of<'a>,
    /// Stands for the constraint in products with its Hessian: the constraint on a part of the data, which makes them
    /// cheaper. The line search asks the constraint itself.
    pub curvature: Option<Of<'a>>,
    /// Changes the loss's gradient g, `[S, P]`, to a direction φ that takes its place. The line search then lowers the
    /// loss plus (φ − g) · (θ − θ₀), whose gradient at θ₀ is φ.
    pub turn: Option<&'a dyn Fn(Tensor) -> Tensor>,
}

/// The outcome of a step: `[S, 1]` each, but for `theta`.
#[derive(Clone, Copy, Debug)]
pub struct TrustStep {
    /// θ after it, `[S, P]`.
    pub theta: Tensor,
    /// Loss before.
    pub loss_before: Tensor,
    /// Loss after.
    pub loss_after: Tensor,
    /// Constraint after.
    pub constraint: Tensor,
    /// 1 if a step was accepted, as f32.
    pub accepted: Tensor,
    /// Norm of the gradient.
    pub grad_norm: Tensor,
    /// Length of the accepted step relative to the first one tried, 0 if none was accepted.
    pub scale: Tensor,
    /// 1 if the gradient or the direction was not finite, as f32.
    pub broken: Tensor,
}

/// The best of the steps that were tried: its θ `[S, P]`, loss, constraint and length, `[S, 1]` each.
#[derive(Clone, Copy, Debug)]
struct Kept {
    theta: Tensor,
    loss: Tensor,
    constraint: Tensor,
    scale: Tensor,
}

crate::tree!(Kept: theta, loss, constraint, scale);

impl TrustRegion {
    /// One step. `loss` and `constraint` are functions of the slices of θ, → `[S, 1]`; `theta: [S, P]`.
    #[track_caller]
    pub fn step(
        &self,
        layout: &Layout,
        theta: Tensor,
        loss: impl Fn(&[Tensor]) -> Tensor,
        constraint: impl Fn(&[Tensor]) -> Tensor,
    ) -> TrustStep {
        let problem = TrustProblem { loss: &loss, constraint: &constraint, curvature: None, turn: None };
        self.solve(layout, theta, &problem)
    }

    /// Takes one step on a problem, which may have a curvature of its own and a direction that replaces the gradient.
    #[track_caller]
    pub fn solve(&self, layout: &Layout, theta: Tensor, problem: &TrustProblem<'_>) -> TrustStep {
        let TrustProblem { loss, constraint, curvature, turn } = *problem;
        let curvature = curvature.unwrap_or(constraint);
        let parts = layout.split(theta);
        let (_, grads) = value_and_grad(&parts, |p| loss(p).sum_all());
        let g = layout.join(&grads);
        let hessian = |v: Tensor| self.product(layout, theta, v, curvature) + v * self.damping;
        let turned = turn.map(|turn| turn(g));
        let direction = conjugate_gradient(turned.unwrap_or(g), self.cg_iterations, hessian);
        let none = Tensor::constant_f32(0.0);
        let curvature = dot(direction, hessian(direction)) + 1e-8;
        let scale = ((2.0 * self.max_kl) / curvature.max(Tensor::constant_f32(1e-12))).sqrt();
        let full = direction * scale;
        let finite = dot(full, full).non_finite().not();
        let full = finite.select(full, none);
        // How far the line search's function falls besides the loss, along the whole step.
        let besides = turned.map(|turned| dot(turned - g, full));
        let before = loss(&parts);
        let ratios: Vec<f64> = (0..self.backtracks).map(|k| self.backtrack_ratio.powi(k as i32)).collect();
        let zero = Tensor::zeros(&before.shape());
        let init = Kept { theta, loss: before, constraint: zero, scale: zero };
        let (kept, _) = scan_tree(self.backtracks, &init, &Tensor::literal_f32(&ratios), |k, kept: Kept, ratio| {
            let tried = theta - full * ratio;
            let parts = layout.split(tried);
            let (loss, constraint) = (loss(&parts), constraint(&parts));
            let within = constraint.gt(Tensor::constant_f32(self.max_kl)).not();
            let last = k.eq(Tensor::constant_u32(u32::try_from(self.backtracks - 1).unwrap_or(u32::MAX)));
            let sought = besides.map_or(loss, |besides| loss - besides * ratio);
            let better = sought.lt(before).bit_and(if self.accept_violation { within.bit_or(last) } else { within });
            let sound = loss.non_finite().bit_or(constraint.non_finite()).not();
            let open = kept.scale.gt(none).not();
            let take = open.bit_and(better).bit_and(sound).bit_and(finite);
            let next = Kept {
                theta: take.select(tried, kept.theta),
                loss: take.select(loss, kept.loss),
                constraint: take.select(constraint, kept.constraint),
                scale: take.select(ratio.broadcast_to(&kept.scale.shape()), kept.scale),
            };
            (next, ())
        });
        TrustStep {
            theta: kept.theta,
            loss_before: before,
            loss_after: kept.loss,
            constraint: kept.constraint,
            accepted: kept.scale.gt(none).to_f32(),
            grad_norm: dot(g, g).sqrt(),
            scale: kept.scale,
            broken: finite.not().to_f32(),
        }
    }

    /// ε of each seed, `[S, 1]`: with `base_eps` that of garage; otherwise εv has this length, and a smaller one where
    /// v is nearly 0.
    fn epsilon(&self, theta: Tensor, v: Tensor, length: f64) -> Tensor {
        match self.base_eps {
            0.0 => length / (norm(v) + 1e-8),
            base => base / (norm(theta) + 1e-8),
        }
    }

    /// The constraint's Hessian at θ times `v: [S, P]`.
    fn product(&self, layout: &Layout, theta: Tensor, v: Tensor, constraint: Of<'_>) -> Tensor {
        let gradient = |parts: &[Tensor]| value_and_grad(parts, |p| constraint(p).sum_all()).1;
        let at = |theta: Tensor| layout.join(&gradient(&layout.split(theta)));
        match self.hessian {
            Hessian::Exact => {
                let v = layout.split(v);
                let (_, products) = value_and_grad(&layout.split(theta), |parts| {
                    let along = gradient(parts).iter().zip(&v).map(|(g, v)| (*g * *v).sum_all()).reduce(|a, b| a + b);
                    along.unwrap_or(Tensor::poison())
                });
                layout.join(&products)
            }
            Hessian::FiniteDifferences => {
                let eps = self.epsilon(theta, v, SYMMETRIC);
                (at(theta + v * eps) - at(theta - v * eps)) * (0.5 / eps)
            }
            Hessian::OneSidedDifferences => {
                let eps = self.epsilon(theta, v, ONE_SIDED);
                (at(theta + v * eps) - at(theta)) / eps
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{ActionSpace, builtin};
    use crate::policy::{Distribution, MemoryConfig, NetConfig, PolicyNet, RecurrentConfig, RecurrentPolicy};
    use crate::program::State;
    use crate::{DType, Device, Program};

    /// A policy: its layout, shape of what it sees for so many seeds, and distribution.
    type Case = (&'static str, Layout, fn(usize) -> Vec<usize>, Box<dyn Fn(&[Tensor], Tensor) -> Distribution>);

    fn feedforward() -> Case {
        let config = NetConfig::hidden(vec![16]);
        let mut layout = Layout::new();
        let policy = PolicyNet::new(&mut layout, builtin("pendulum").unwrap().spec(), &config);
        ("tanh", layout, |seeds| vec![seeds, 32, 3], Box::new(move |parts, obs| policy.distribution(parts, obs)))
    }

    fn recurrent() -> Case {
        let config = RecurrentConfig::default();
        let config = RecurrentConfig { memory: MemoryConfig { units: 8, ..config.memory }, ..config };
        let mut layout = Layout::new();
        let policy = RecurrentPolicy::new(&mut layout, 3, &ActionSpace::discrete(&["a", "b", "c"]), &config);
        let distribution = move |parts: &[Tensor], xs: Tensor| {
            policy.distributions(parts, xs, policy.cell().initial(parts, [xs.size(1), xs.size(2)]), None)
        };
        ("gru", layout, |seeds| vec![8, seeds, 4, 3], Box::new(distribution))
    }

    /// Numbers between −1 and 1.
    fn numbers(n: usize, seed: usize) -> Vec<f64> {
        (0..n).map(|i| f64::from((12.9898 * (i + 7919 * seed) as f64).sin() as f32)).collect()
    }

    /// Vectors of these lengths.
    fn vectors(lengths: &[f64], p: usize, seed: usize) -> Vec<f64> {
        let of = |(i, length): (usize, &f64)| {
            let x = numbers(p, seed + i);
            let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            x.into_iter().map(move |x| x / norm * length).collect::<Vec<_>>()
        };
        lengths.iter().enumerate().flat_map(of).collect()
    }

    #[test]
    fn differences_are_near_the_exact_product_at_all_lengths() {
        // Stacked seeds: all pairs of a length of θ and one of v.
        let pairs = [0.1, 1.0, 10.0, 30.0].map(|theta| [1e-3, 0.1, 10.0, 1e3].map(|v| [theta, v]));
        let [thetas, vs] = [0, 1].map(|i| pairs.as_flattened().iter().map(|pair| pair[i]).collect::<Vec<f64>>());
        for (name, layout, shape, distribution) in [feedforward(), recurrent()] {
            let (s, p) = (thetas.len(), layout.len());
            let shape = shape(s);
            let product = |device: &Device, hessian: Hessian| {
                let mut program = Program::new(device, |cx| {
                    let theta = cx.input("theta", &[s, p], DType::F32);
                    let (v, obs) = (cx.input("v", &[s, p], DType::F32), cx.input("obs", &shape, DType::F32));
                    let old = distribution(&layout.split(theta), obs).stop_gradient();
                    let kl = |parts: &[Tensor]| {
                        let kl = old.kl(&distribution(parts, obs));
                        kl.sum_keep(1).reshape(&[s, 1]) * (1.0 / kl.size(1) as f64)
                    };
                    let region = TrustRegion { hessian, ..TrustRegion::default() };
                    cx.output("product", region.product(&layout, theta, v, &kl));
                })
                .unwrap();
                let theta = device.array(&[s, p], &vectors(&thetas, p, 1)).unwrap();
                let v = device.array(&[s, p], &vectors(&vs, p, 100)).unwrap();
                let obs = device.array(&shape, &numbers(shape.iter().product(), 200)).unwrap();
                let out = program.run(&State::new(), &[("theta", &theta), ("v", &v), ("obs", &obs)], &[]).unwrap();
                pollster::block_on(device.read(out.get("product").unwrap())).unwrap()
            };
            let exact = product(&Device::reference(), Hessian::Exact);
            for (hessian, bound) in
                [(Hessian::Exact, 1e-4), (Hessian::FiniteDifferences, 0.01), (Hessian::OneSidedDifferences, 0.05)]
            {
                let got = product(&Device::cpu(1), hessian);
                for (i, (got, exact)) in got.chunks(p).zip(exact.chunks(p)).enumerate() {
                    let length = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
                    let off =
                        length(&mut got.iter().zip(exact).map(|(a, b)| a - b)) / length(&mut exact.iter().copied());
                    let lengths = [thetas[i], vs[i]];
                    assert!(off < bound, "{name}, {hessian:?}, lengths {lengths:?}: off by {off}");
                }
            }
        }
    }

    #[test]
    fn a_step_beyond_the_limit_is_the_last_one_and_only_where_it_is_asked_for() {
        let step = |accept_violation: bool| {
            let device = Device::cpu(1);
            let mut layout = Layout::new();
            layout.add("x", &[2], crate::nn::Init::Constant(0.0));
            let mut program = Program::new(&device, |cx| {
                let theta = Tensor::literal_f32(&[1.0, 2.0]).reshape(&[1, 2]);
                let region = TrustRegion { accept_violation, backtracks: 3, ..TrustRegion::default() };
                let loss = |parts: &[Tensor]| parts[0].sum_keep(1);
                // No point is within the limit.
                let constraint = |parts: &[Tensor]| parts[0].square().sum_keep(1) * 0.5 + 5.0;
                let TrustStep { scale, constraint, .. } = region.step(&layout, theta, loss, constraint);
                cx.output("step", Tensor::concat(&[scale, constraint], 1));
            })
            .unwrap();
            let out = program.run(&State::new(), &[], &[]).unwrap();
            pollster::block_on(device.read(out.get("step").unwrap())).unwrap()
        };
        assert_eq!(step(false), [0.0, 0.0]);
        let [scale, constraint] = step(true)[..] else { panic!("two numbers") };
        assert!((scale - 0.64).abs() < 1e-6 && constraint > 5.0, "{scale} {constraint}");
    }

    #[test]
    fn the_direction_is_that_of_the_curvature_and_the_limit_that_of_the_constraint() {
        // Loss x + y, constraint ½ (x² + y²) around 0, curvature ½ (x² + 4 y²): direction (1, ¼), of the length at
        // which its own curvature is the limit; half of it where the constraint is four times that.
        let step = |steep: f64| {
            let device = Device::cpu(1);
            let mut layout = Layout::new();
            layout.add("x", &[2], crate::nn::Init::Constant(0.0));
            let mut program = Program::new(&device, |cx| {
                let theta = Tensor::zeros(&[1, 2]);
                let region = TrustRegion { damping: 0.0, backtrack_ratio: 0.5, ..TrustRegion::default() };
                let loss = |parts: &[Tensor]| parts[0].sum_keep(1);
                let weights = Tensor::literal_f32(&[1.0, 4.0]).unsqueeze(0);
                let constraint = |parts: &[Tensor]| parts[0].square().sum_keep(1) * (0.5 * steep);
                let curvature = |parts: &[Tensor]| (parts[0].square() * weights).sum_keep(1) * 0.5;
                let problem =
                    TrustProblem { loss: &loss, constraint: &constraint, curvature: Some(&curvature), turn: None };
                let step = region.solve(&layout, theta, &problem);
                cx.output("step", Tensor::concat(&[step.theta, step.scale], 1));
            })
            .unwrap();
            let out = program.run(&State::new(), &[], &[]).unwrap();
            pollster::block_on(device.read(out.get("step").unwrap())).unwrap()
        };
        // ½ s² (1 + 4 / 16) = 0.01.
        let full = (0.02_f64 / 1.25).sqrt();
        for (steep, scale) in [(1.0, 1.0), (4.0, 0.5)] {
            let got = step(steep);
            let want = [-full * scale, -0.25 * full * scale, scale];
            assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-5), "{steep}: {got:?} {want:?}");
        }
    }

    #[test]
    fn with_base_eps_gradients_are_as_far_apart_as_in_garage() {
        // ½ Σ x⁴ at (1, 2), with v = (1, −1): gradients 2 x³, and a third derivative that shows ε = √5 / 2 / ‖θ‖ = ½.
        let product = |hessian, base_eps| {
            let device = Device::cpu(1);
            let mut layout = Layout::new();
            layout.add("x", &[2], crate::nn::Init::Constant(0.0));
            let mut program = Program::new(&device, |cx| {
                let vector = |x: [f64; 2]| Tensor::literal_f32(&x).reshape(&[1, 2]);
                let region = TrustRegion { hessian, base_eps, ..TrustRegion::default() };
                let of = |parts: &[Tensor]| parts[0].square().square().sum_keep(1) * 0.5;
                cx.output("product", region.product(&layout, vector([1.0, 2.0]), vector([1.0, -1.0]), &of));
            })
            .unwrap();
            let out = program.run(&State::new(), &[], &[]).unwrap();
            pollster::block_on(device.read(out.get("product").unwrap())).unwrap()
        };
        let near = |got: Vec<f64>, want: [f64; 2]| {
            assert!(got.iter().zip(want).all(|(got, want)| (got - want).abs() < 0.02 * want.abs()), "{got:?} {want:?}");
        };
        let base = 5.0_f64.sqrt() / 2.0;
        // 6 x² v + 2 ε² v³, and one-sided 6 ε x v² more.
        near(product(Hessian::FiniteDifferences, base), [6.5, -24.5]);
        near(product(Hessian::OneSidedDifferences, base), [9.5, -18.5]);
        near(product(Hessian::FiniteDifferences, 0.0), [6.0, -24.0]);
        near(product(Hessian::OneSidedDifferences, 0.0), [6.0, -24.0]);
        near(product(Hessian::Exact, base), [6.0, -24.0]);
    }

    #[test]
    fn a_turned_step_follows_its_direction_and_lowers_the_function_whose_gradient_that_is() {
        // Loss x + y + ½ c x² with c = 0 or 100, constraint ½ (x² + y²) around 0, direction (−1, 0) in place of the
        // gradient (1, 1): x grows up to 0.02^½, by half as much again and again while ½ c x² − x is not below 0. The
        // loss itself grows.
        let step = |steep: f64, turned: bool| {
            let device = Device::cpu(1);
            let mut layout = Layout::new();
            layout.add("x", &[2], crate::nn::Init::Constant(0.0));
            let mut program = Program::new(&device, |cx| {
                let region = TrustRegion { damping: 0.0, backtrack_ratio: 0.5, ..TrustRegion::default() };
                let weights = Tensor::literal_f32(&[0.5 * steep, 0.0]).unsqueeze(0);
                let loss = |parts: &[Tensor]| (parts[0] + parts[0].square() * weights).sum_keep(1);
                let constraint = |parts: &[Tensor]| parts[0].square().sum_keep(1) * 0.5;
                let turn = |_: Tensor| Tensor::literal_f32(&[-1.0, 0.0]).unsqueeze(0);
                let turn: Option<&dyn Fn(Tensor) -> Tensor> = if turned { Some(&turn) } else { None };
                let problem = TrustProblem { loss: &loss, constraint: &constraint, curvature: None, turn };
                let step = region.solve(&layout, Tensor::zeros(&[1, 2]), &problem);
                cx.output("step", Tensor::concat(&[step.theta, step.scale, step.loss_after, step.grad_norm], 1));
            })
            .unwrap();
            let out = program.run(&State::new(), &[], &[]).unwrap();
            pollster::block_on(device.read(out.get("step").unwrap())).unwrap()
        };
        let near = |got: &[f64], want: &[f64]| {
            assert!(got.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-5), "{got:?} {want:?}");
        };
        let (full, norm) = (0.02_f64.sqrt(), 2_f64.sqrt());
        near(&step(0.0, true), &[full, 0.0, 1.0, full, norm]);
        let short = full / 8.0;
        near(&step(100.0, true), &[short, 0.0, 0.125, short + 50.0 * short * short, norm]);
        let plain = step(0.0, false);
        assert!(plain[0] < -0.04 && plain[0] == plain[1], "{plain:?}");
    }

    #[test]
    fn the_product_with_nothing_is_nothing() {
        // ½ Σ x⁴ at (1, 2), with v = 0.
        for hessian in [Hessian::Exact, Hessian::FiniteDifferences, Hessian::OneSidedDifferences] {
            let device = Device::cpu(1);
            let mut layout = Layout::new();
            layout.add("x", &[2], crate::nn::Init::Constant(0.0));
            let mut program = Program::new(&device, |cx| {
                let theta = Tensor::literal_f32(&[1.0, 2.0]).reshape(&[1, 2]);
                let region = TrustRegion { hessian, ..TrustRegion::default() };
                let of = |parts: &[Tensor]| parts[0].square().square().sum_keep(1) * 0.5;
                cx.output("product", region.product(&layout, theta, Tensor::zeros(&[1, 2]), &of));
            })
            .unwrap();
            let out = program.run(&State::new(), &[], &[]).unwrap();
            assert_eq!(
                pollster::block_on(device.read(out.get("product").unwrap())).unwrap(),
                [0.0, 0.0],
                "{hessian:?}"
            );
        }
    }
}
