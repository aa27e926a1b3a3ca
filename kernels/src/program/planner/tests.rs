//! Dispatch counts of programs that matter: a lost fusion fails here, without a GPU. Those of networks, optimisers and
//! advantages are in the crate `quickstudy-core`.

use super::PlanOptions;
use crate::program::{Context, Kernel, KernelSchedule, Plan, Program};
use crate::tensor::{Loop, scan};
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
                    let plan = Program::plan_of(options.clone(), |cx| {
                        let mut parts: Vec<Tensor> = (0..count).map(part).collect();
                        if with_input {
                            parts.insert(count / 2, cx.input("x", &[4, 3], DType::F32));
                        }
                        let all = Tensor::concat(&parts, 1);
                        cx.output("all", all);
                        cx.output("more", all.exp().sum_keep(1));
                    });
                    let case = format!("fuse {fuse}, {count} parts, heavy {heavy}, an input {with_input}");
                    plan.unwrap_or_else(|e| panic!("{case}: {e}")).validate().unwrap_or_else(|e| panic!("{case}: {e}"));
                    let looped = Program::plan_of(options, |cx| {
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
                    looped.unwrap_or_else(|e| panic!("in a loop, {case}: {e}"));
                }
            }
        }
    }
}
