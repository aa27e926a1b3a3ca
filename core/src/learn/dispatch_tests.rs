//! Dispatch counts of what algorithms are made of: a lost fusion fails here, without a GPU.

use crate::credit::{ValuedSteps, gae};
use crate::dist::Gaussian;
use crate::grad::grad;
use crate::nn::{Activation, Layout, Mlp};
use crate::optim::{Adam, GradientMoments};
use crate::program::{Context, Kernel, KernelSchedule, Kind, Place, Plan, PlanOptions, Program};
use crate::{DType, Tensor};

fn plan(f: impl FnOnce(&mut Context)) -> Plan {
    let plan = Program::plan_of(PlanOptions::default(), f).unwrap();
    plan.validate().unwrap();
    assert!(most_bindings(&plan.schedule) <= 8, "{plan}");
    plan
}

fn most_bindings(schedule: &KernelSchedule) -> usize {
    let of = |k: &Kernel| k.body.as_ref().map_or_else(|| k.bindings(), |body| most_bindings(body));
    schedule.kernels.iter().map(of).max().unwrap_or(0)
}

/// Kernels outside of loops, and dispatches.
fn counts(plan: &Plan) -> (usize, usize) {
    (plan.schedule.kernels.len(), plan.dispatches())
}

fn mlp(layout: &mut Layout, name: &str, sizes: &[usize]) -> Mlp {
    Mlp::new(layout, name, 0, sizes, Activation::Tanh, Some(1.0))
}

#[test]
fn a_forward_pass_is_one_kernel_per_layer() {
    let mut layout = Layout::new();
    let net = mlp(&mut layout, "net", &[17, 64, 64, 6]);
    let plan = plan(|cx| {
        let theta = cx.input("theta", &[1, layout.len()], DType::F32);
        let x = cx.input("x", &[1, 4096, 17], DType::F32);
        cx.output("y", net.forward(&layout.split(theta), x));
    });
    assert_eq!(counts(&plan), (3, 3), "{plan}");
    assert_eq!(plan.count(Kind::MatMul), 3);
    // Each layer writes one buffer; the last one the output itself.
    assert_eq!(plan.schedule.kernels[2].writes.len(), 1);
    assert!(matches!(plan.schedule.kernels[2].writes[0].1, Place::Arg(2)));
}

#[test]
fn adam_is_one_map_and_one_for_its_scales() {
    let plan = plan(|cx| {
        let shape = [3, 5000];
        let theta = cx.state("theta", &shape, DType::F32);
        let (m, v) = (cx.state("m", &shape, DType::F32), cx.state("v", &shape, DType::F32));
        let state = GradientMoments { m, v, scale: cx.state("scale", &[3, 2], DType::F32) };
        let g = cx.input("g", &shape, DType::F32);
        let rate = cx.scalar_f32("rate");
        let (theta, next) = Adam::default().step(theta, g, state, rate);
        cx.update("theta", theta);
        cx.update("m", next.m);
        cx.update("v", next.v);
        cx.update("scale", next.scale);
    });
    assert_eq!(counts(&plan), (2, 2), "{plan}");
    // Everything in place, nothing else in memory.
    assert!(plan.schedule.slots.is_empty(), "{plan}");
}

#[test]
fn gae_is_one_map_per_step() {
    let (t, n) = (128, 64);
    let plan = plan(|cx| {
        let mut input = |name, dtype| cx.input(name, &[t, n], dtype);
        let (rewards, values, cut_values) =
            (input("rewards", DType::F32), input("values", DType::F32), input("cut", DType::F32));
        let (terminated, truncated) = (input("terminated", DType::U32), input("truncated", DType::U32));
        let last_value = cx.input("last", &[n], DType::F32);
        let steps = ValuedSteps { rewards, values, terminated, truncated, cut_values, last_value };
        let out = gae(&steps, 0.99, 0.95);
        cx.output("advantages", out.advantages);
        cx.output("returns", out.returns);
    });
    let scan = plan.schedule.kernels.iter().find(|k| k.kind == Kind::Scan).unwrap();
    let body = scan.body.as_ref().unwrap();
    assert_eq!(body.kernels.len(), 1, "{plan}");
    // Two first carries, the steps, and the sum of advantages and values.
    assert_eq!(plan.dispatches(), 2 + t + 1, "{plan}");
}

/// Loss and gradient of clipped-objective PPO with a Gaussian policy and two 64 × 64 networks.
fn ppo_loss(cx: &mut Context, b: usize) -> (Tensor, Tensor) {
    let (o, a) = (17, 6);
    let mut layout = Layout::new();
    let actor = mlp(&mut layout, "actor", &[o, 64, 64, a]);
    let critic = mlp(&mut layout, "critic", &[o, 64, 64, 1]);
    let log_std = layout.add("log_std", &[a], crate::nn::Init::Constant(0.0));
    let theta = cx.input("theta", &[1, layout.len()], DType::F32);
    let obs = cx.input("obs", &[1, b, o], DType::F32);
    let action = cx.input("action", &[1, b, a], DType::F32);
    let mut column = |name| cx.input(name, &[1, b, 1], DType::F32);
    let (adv, ret, logp_old) = (column("adv"), column("ret"), column("logp_old"));
    let parts = layout.split(theta);
    let dist = Gaussian::new(actor.forward(&parts, obs), parts[log_std]);
    let ratio = (dist.log_prob(action) - logp_old).exp();
    let clipped = ratio.clamp(0.8, 1.2);
    let policy_loss = -(ratio * adv).min(clipped * adv).mean(&[1, 2]);
    let value_loss = (critic.forward(&parts, obs) - ret).square().mean(&[1, 2]);
    let entropy = dist.entropy().mean(&[1, 2]);
    let loss = policy_loss + 0.5 * value_loss - 0.01 * entropy;
    let g = grad(loss.sum_all(), &[theta])[0];
    cx.output("loss", loss);
    (theta, g)
}

#[test]
fn a_ppo_minibatch_takes_at_most_38_dispatches() {
    let plan = plan(|cx| {
        let (_, g) = ppo_loss(cx, 131_072);
        cx.output("g", g);
    });
    // Six products forward, eleven backward (six of them over the batch, in two dispatches each), and reductions over
    // the batch, also in two; two maps put the gradient together from twelve parts.
    assert_eq!(counts(&plan), (25, 34), "{plan}");
    assert_eq!(plan.count(Kind::MatMul), 16);
}
