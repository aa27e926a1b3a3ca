//! Dispatch counts of programs that matter, and of what algorithms are made of: a lost fusion fails here, without a
//! GPU.

mod bulk;

use quickstudy_core::credit::{ValuedSteps, gae};
use quickstudy_core::dist::Gaussian;
use quickstudy_core::grad::grad;
use quickstudy_core::nn::{Activation, Init, Layout, Mlp};
use quickstudy_core::optim::{Adam, GradientMoments};
use quickstudy_core::tensor::{Loop, scan};
use quickstudy_core::{Context, DType, Program, Tensor};

use super::{Kernel, KernelSchedule, Kind, Place, Plan, PlanOptions};

/// A plan without chains.
fn plan(f: impl FnOnce(&mut Context)) -> Plan {
    let options = PlanOptions { chains: None, ..PlanOptions::default() };
    let plan = Plan::new(Program::trace_of(f).unwrap(), &options).unwrap();
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

#[test]
fn a_softmax_is_two_reductions_and_a_map() {
    let plan = plan(|cx| {
        let x = cx.input("x", &[1024, 10], DType::F32);
        let e = (x - x.max_keep(1)).exp();
        cx.output("p", e / e.sum_keep(1));
    });
    assert_eq!(counts(&plan), (3, 3), "{plan}");
}

/// More operands than a kernel binds buffers: computed from constants, so that none needs a buffer, or not; wanted
/// where it is written piece by piece, once or twice.
#[test]
fn wide_concats_are_written_piece_by_piece_wherever_they_are_wanted() {
    const WIDTH: u32 = 16;
    type Part = fn(Tensor, Tensor, u32) -> Tensor;
    let parts: [Part; 5] = [
        |i, _, _| i * 3.0,
        |i, _, k| (i * f64::from(k)).sin(),
        |i, _, k| i.sum_keep(1).broadcast_to(&[4, 2]) * f64::from(k + 2),
        |i, x, k| if k % 2 == 0 { i * x } else { i.exp() },
        |i, _, k| (0..k).fold(i, |p, _| (p * 2.0).sin()),
    ];
    for part in parts {
        for axis in [0, 1] {
            for out in 0..7 {
                let made = plan(|cx| {
                    let x = cx.input("x", &[4, 1], DType::F32);
                    let part = |k: u32| part((Tensor::iota(&[4, 2], 0) + Tensor::constant_u32(k)).to_f32(), x, k);
                    let all = Tensor::concat(&(0..WIDTH).map(part).collect::<Vec<_>>(), axis);
                    let stepped = |t: Tensor| {
                        let rows: Vec<Tensor> = (0..WIDTH).map(|k| part(k) * t.to_f32()).collect();
                        Tensor::concat(&rows, axis)
                    };
                    match out {
                        0 => cx.output("y", all),
                        1 => cx.output("y", all.permute(&[1, 0])),
                        2 => cx.output("y", all.sin()),
                        3 => {
                            cx.output("y", all);
                            cx.output("z", all);
                        }
                        4 => {
                            let old = cx.state("state", &all.shape(), DType::F32);
                            cx.update("state", all);
                            cx.output("z", all + old.sum_all());
                        }
                        // In a row and read besides; in two rows.
                        _ => {
                            let (carry, ys) = scan(3, false, &[x], &[], |t, c, _| {
                                let y = stepped(t);
                                let (next, ys) = if out == 5 { (y.sum_all(), vec![y]) } else { (x, vec![y, y]) };
                                Loop { carry: vec![c[0] + next], ys }
                            });
                            cx.output("c", carry[0]);
                            ys.iter().enumerate().for_each(|(i, y)| cx.output(&i.to_string(), *y));
                        }
                    }
                });
                made.validate().unwrap();
            }
        }
    }
}

#[test]
fn wide_concats_of_values_computed_from_constants_alone_are_planned() {
    for fuse in [true, false] {
        for count in [2, 6, 7, 8, 9, 20] {
            for heavy in [false, true] {
                for with_input in [false, true] {
                    let part = |i: usize| {
                        let x = Tensor::iota(&[4, 3], 1).to_f32() * (i as f64 + 1.5);
                        if heavy { (x.exp() + 1.0).recip() } else { x }
                    };
                    let options = PlanOptions { fuse, ..PlanOptions::default() };
                    let trace = Program::trace_of(|cx| {
                        let mut parts: Vec<Tensor> = (0..count).map(part).collect();
                        if with_input {
                            parts.insert(count / 2, cx.input("x", &[4, 3], DType::F32));
                        }
                        let all = Tensor::concat(&parts, 1);
                        cx.output("all", all);
                        cx.output("more", all.exp().sum_keep(1));
                    });
                    let case = format!("fuse {fuse}, {count} parts, heavy {heavy}, an input {with_input}");
                    let plan = Plan::new(trace.unwrap(), &options).unwrap_or_else(|e| panic!("{case}: {e}"));
                    plan.validate().unwrap_or_else(|e| panic!("{case}: {e}"));
                    let looped = Program::trace_of(|cx| {
                        let x = cx.input("x", &[4, 3], DType::F32);
                        let step = |t: Tensor, c: &[Tensor], _: &[Tensor]| {
                            let parts: Vec<Tensor> = (0..count).map(|i| part(i) + t.to_f32()).collect();
                            let fixed = Tensor::concat(&(0..count).map(part).collect::<Vec<_>>(), 1);
                            let all = Tensor::concat(&parts, 1);
                            Loop { carry: vec![c[0] + all.slice(1, 0, 3)], ys: vec![all, fixed] }
                        };
                        let (carry, ys) = scan(5, false, &[x], &[], step);
                        cx.output("last", carry[0]);
                        cx.output("all", ys[0]);
                        cx.output("fixed", ys[1]);
                    });
                    Plan::new(looped.unwrap(), &options).unwrap_or_else(|e| panic!("in a loop, {case}: {e}"));
                }
            }
        }
    }
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
    let log_std = layout.add("log_std", &[a], Init::Constant(0.0));
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

#[test]
fn a_ppo_minibatch_with_a_chain_takes_four_dispatches() {
    let trace = |rows| {
        Program::trace_of(|cx| {
            let (_, g) = ppo_loss(cx, rows);
            cx.output("g", g);
        })
    };
    for rows in [33, 128, 131_072] {
        let plan = Plan::new(trace(rows).unwrap(), &PlanOptions::default()).unwrap();
        plan.validate().unwrap();
        assert_eq!((plan.count(Kind::Chain), plan.count(Kind::MatMul)), (1, 0), "{plan}");
        assert_eq!(counts(&plan), (3, 4), "{plan}");
    }
}
