//! Plans of programs with large entries: each is read and changed where it is.

use quickstudy_core::program::fold;
use quickstudy_core::tensor::{Graph, Loop, Op, scan};
use quickstudy_core::{Context, DType, Tensor};

use super::super::{Kernel, KernelSchedule};
use super::plan;

/// Checks that a program of a memory and of two new rows writes few numbers, however large the memory is.
fn writes_rows_only(f: impl Fn(&mut Context, Tensor, [Tensor; 2])) {
    let of_rows = |count: usize| {
        plan(|cx| {
            let memory = cx.bulk("memory", &[count, 3], DType::F32);
            let at = cx.input("at", &[2], DType::U32);
            let rows = cx.input("rows", &[2, 3], DType::F32);
            f(cx, memory, [at, rows]);
        })
    };
    let [small, large] = [10_000, 1_000_000].map(of_rows);
    let [few, many] = [&small, &large].map(|plan| written(&plan.schedule, &plan.trace.graph));
    assert!(few == many && few < 500, "{few} and {many}: {large}");
}

/// Numbers that the kernels of a schedule write.
fn written(schedule: &KernelSchedule, graph: &Graph) -> usize {
    let of = |kernel: &Kernel| match (&kernel.body, kernel.nodes.first().map(|id| &graph.nodes[*id as usize].op)) {
        (Some(body), Some(Op::Scan(scan))) => {
            // First values of carries that are elsewhere are copied.
            let node = &graph.nodes[kernel.nodes[0] as usize];
            let place = |id: u32| kernel.reads.iter().find(|read| read.0 == fold(graph, id).0).map(|read| read.1);
            let there = |i: usize| kernel.writes.get(i).is_some_and(|write| place(node.src[i]) == Some(write.1));
            let copied: usize =
                (0..scan.carries).filter(|i| !there(*i)).map(|i| graph.nodes[node.src[i] as usize].len()).sum();
            copied + scan.len * written(body, graph)
        }
        _ => kernel.space.iter().product::<usize>() * kernel.writes.len(),
    };
    schedule.kernels.iter().map(of).sum()
}

#[test]
fn rows_are_read_before_they_are_changed_however_kernels_are_formed() {
    // The place of an old row and a number made of new rows are of one shape: in one kernel,
    // the old row could only be read too late.
    writes_rows_only(|cx, memory, [at, rows]| {
        let (carry, ys) = scan(4, false, &[memory], &[], |t, c, _| {
            let first = c[0].store(at, rows);
            let place = (at + t).bit_and(Tensor::constant_u32(7));
            let old = first.gather(place);
            let second = first.store(at + Tensor::constant_u32(1), rows * 2.0);
            let new = second.gather(at).slice(1, 0, 1).reshape(&[2]) * 2.0;
            Loop { carry: vec![second], ys: vec![place, old, new] }
        });
        cx.update("memory", carry[0]);
        ys.into_iter().zip(["place", "old", "new"]).for_each(|(y, name)| cx.output(name, y));
    });
}

#[test]
fn rows_are_stored_where_they_are() {
    writes_rows_only(|cx, memory, [at, rows]| {
        cx.output("old", memory.gather(at));
        cx.output("part", memory.slice(0, 2, 5) * 2.0);
        let memory = memory.store(at, rows).store(at + Tensor::constant_u32(1), rows * 2.0);
        cx.output("new", memory.gather(at));
        cx.update("memory", memory);
    });
}

#[test]
fn rows_are_stored_where_they_are_in_a_loop() {
    writes_rows_only(|cx, memory, [at, rows]| {
        let (carry, ys) = scan(6, false, &[memory, rows], &[], |t, c, _| {
            let old = c[0].gather(at);
            let memory = c[0].store(at + t, c[1]);
            Loop { carry: vec![memory, c[1] + old], ys: vec![memory.gather(at + t)] }
        });
        cx.output("read", ys[0]);
        cx.output("new", carry[0].gather(at));
        cx.update("memory", carry[0]);
    });
}

#[test]
fn rows_are_stored_where_they_are_before_loops_and_in_loops_of_loops() {
    writes_rows_only(|cx, memory, [at, rows]| {
        let memory = memory.store(at, rows * 3.0);
        let (carry, _) = scan(4, false, &[memory.store(at, rows)], &[], |_, c, _| {
            let (carry, _) = scan(6, false, &[c[0].store(at, rows + c[0].gather(at))], &[], |t, c, _| {
                let old = c[0].gather(at);
                Loop { carry: vec![c[0].store(at + t, old * 0.5)], ys: Vec::new() }
            });
            Loop { carry, ys: Vec::new() }
        });
        cx.output("new", carry[0].gather(at));
        cx.update("memory", carry[0]);
    });
}
