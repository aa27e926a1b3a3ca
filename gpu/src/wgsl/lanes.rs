//! Narrow matrix products: lanes of a workgroup share the sums of a block, and add them up in workgroup memory.
//!
//! A product of few results keeps few invocations busy, each with one long sum after the other. Here each lane adds
//! every so many terms. Then the rows of blocks go through workgroup memory, one at a time, so that 4 kB are enough: a
//! lane gathers a row, and finishes it.

use super::emit::Emitter;
use super::index::Ix;
use super::matmul::{BLOCK, MatMulWork, ProductBlock};
use super::memory::Memory;
use super::results::GROUP;
use crate::plan::Kernel;

/// Values that a lane adds in one step of a gathering.
const GATHERED: usize = 8;

pub(super) fn emit(emitter: &mut Emitter<'_>, kernel: &Kernel, memory: &Memory, work: &MatMulWork) -> usize {
    let items: usize = work.blocks().iter().product();
    let (lanes, per_group) = (work.lanes, GROUP / work.lanes);
    let array = emitter.share(0, "vec4<f32>", GROUP);
    emitter.line(&format!("let lane = local % {lanes}u;"));
    emitter.line(&format!("let item = (group.x + group.y * count.x) * {per_group}u + local / {lanes}u;"));
    // Barriers need all invocations: those beyond the last block compute it too.
    let item = if items == 1 {
        Ix::Known(0)
    } else if items.is_multiple_of(per_group) {
        Ix::var("item")
    } else {
        Ix::var(&emitter.bind(format!("min(item, {}u)", items - 1)))
    };
    let block = ProductBlock::of(emitter, work, &item);
    block.sums(emitter, work);
    let rows = block.down.len();
    emitter.line("var total = vec4<f32>(0.0f);");
    for i in 0..rows {
        if i > 0 {
            emitter.line("workgroupBarrier();");
        }
        emitter.line(&format!("{array}[local] = sum{i};"));
        emitter.line("workgroupBarrier();");
        let mut left = lanes;
        while left > GATHERED {
            let (from, to) = (left, (left / GATHERED).max(BLOCK));
            emitter.block(&format!("if (lane < {to}u)"), |emitter| {
                let parts = (0..from / to).map(|part| format!("{array}[local + {}u]", part * to));
                let sum = parts.collect::<Vec<_>>().join(" + ");
                emitter.line(&format!("{array}[local] = {sum};"));
            });
            emitter.line("workgroupBarrier();");
            left = to;
        }
        emitter.block(&format!("if (lane == {i}u)"), |emitter| {
            let parts = (0..left).map(|part| match part.cmp(&i) {
                std::cmp::Ordering::Less => format!("{array}[local - {}u]", i - part),
                std::cmp::Ordering::Equal => format!("{array}[local]"),
                std::cmp::Ordering::Greater => format!("{array}[local + {}u]", part - i),
            });
            let sum = parts.collect::<Vec<_>>().join(" + ");
            emitter.line(&format!("total = {sum};"));
        });
    }
    // A lane has its row.
    let row = (0..rows).skip(1).fold(block.down[0].0.to_string(), |row, i| {
        let other = &block.down[i].0;
        format!("select({row}, {other}, lane == {i}u)")
    });
    let mut inside = vec![format!("lane < {rows}u"), format!("item < {items}u")];
    for (i, (_, condition)) in block.down.iter().enumerate() {
        inside.extend(condition.as_ref().map(|condition| format!("(lane != {i}u || {condition})")));
    }
    emitter.block(&format!("if ({})", inside.join(" && ")), |emitter| {
        let row = Ix::var(&emitter.bind(row));
        for (j, (column, condition)) in block.across.iter().enumerate() {
            let head = condition.as_ref().map_or(String::new(), |condition| format!("if ({condition})"));
            emitter.block(&head, |emitter| {
                let at: Vec<Ix> = block.outer.iter().cloned().chain([row.clone(), column.clone()]).collect();
                let name = emitter.bind(format!("total[{j}]"));
                work.finish(emitter, kernel, memory, (&block.slice, at), &name);
            });
        }
    });
    items.div_ceil(per_group)
}
