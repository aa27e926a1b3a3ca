//! Matrix products: each invocation computes a small block of the result in registers.

use quickstudy_core::tensor::NodeId;

use super::emit::Emitter;
use super::index::Ix;
use super::{GROUP, Memory, write};

/// Rows and columns of an invocation's block.
const BLOCK: usize = 4;

pub(super) fn emit(emitter: &mut Emitter<'_>, product: NodeId, memory: &Memory) -> (String, usize) {
    let graph = emitter.graph;
    let shape = graph.nodes[product as usize].shape.clone();
    let (batch, last) = shape.split_at(shape.len() - 2);
    let (m, n) = (last[0], last[1]);
    let (rows, columns) = (BLOCK.min(m), BLOCK.min(n));
    let blocks: Vec<usize> = batch.iter().copied().chain([m.div_ceil(rows), n.div_ceil(columns)]).collect();
    let items: usize = blocks.iter().product();
    emitter.line(&format!("let item = (group.x + group.y * count.x) * {GROUP}u + local;"));
    emitter.line(&format!("if (item >= {items}u) {{ return; }}"));
    let item = if items == 1 { Ix::Known(0) } else { Ix::var("item") };
    let at = emitter.unflat(&blocks, &item);
    let (outer, block) = at.split_at(at.len() - 2);
    // Blocks at the edge compute their last row or column more than once and write it once.
    let mut places = |of: &Ix, size: usize, n: usize| -> Vec<(Ix, Option<String>)> {
        let first = emitter.times(of, size);
        let whole = n.is_multiple_of(size);
        (0..size)
            .map(|i| {
                let i = emitter.add(&first, &Ix::Known(i));
                match (&i, whole) {
                    (Ix::Var(name), false) => {
                        let inside = emitter.bind(format!("min({name}, {}u)", n - 1));
                        (Ix::var(&inside), Some(format!("{name} < {n}u")))
                    }
                    _ => (i, None),
                }
            })
            .collect()
    };
    let down = places(&block[0], rows, m);
    let across = places(&block[1], columns, n);
    for i in 0..rows {
        for j in 0..columns {
            emitter.line(&format!("var sum{i}_{j} = 0.0f;"));
        }
    }
    let k = emitter.contracted(product);
    emitter.block(&format!("for (var k = 0u; k < {k}u; k++)"), |emitter| {
        let k = if k == 1 { Ix::Known(0) } else { Ix::var("k") };
        let a: Vec<String> = down.iter().map(|(i, _)| emitter.factor(product, 0, outer, i, &k)).collect();
        let b: Vec<String> = across.iter().map(|(j, _)| emitter.factor(product, 1, outer, j, &k)).collect();
        for (i, a) in a.iter().enumerate() {
            for (j, b) in b.iter().enumerate() {
                emitter.line(&format!("sum{i}_{j} = fma({a}, {b}, sum{i}_{j});"));
            }
        }
    });
    for (i, (row, row_inside)) in down.iter().enumerate() {
        for (j, (column, column_inside)) in across.iter().enumerate() {
            let inside: Vec<&str> = [row_inside, column_inside].into_iter().flatten().map(String::as_str).collect();
            let condition = if inside.is_empty() { "true".to_owned() } else { inside.join(" && ") };
            emitter.block(&format!("if ({condition})"), |emitter| {
                let mut at: Vec<Ix> = outer.iter().cloned().chain([row.clone(), column.clone()]).collect();
                at.iter_mut().zip(&shape).filter(|(_, n)| **n == 1).for_each(|(i, _)| *i = Ix::Known(0));
                emitter.know(product, &at, &format!("sum{i}_{j}"));
                let flat = emitter.flat(&shape, &at);
                let mut stores = Vec::new();
                for (node, binding, row) in &memory.writes {
                    let to = &graph.nodes[*node as usize].shape;
                    let at = if *to == shape { at.clone() } else { emitter.unflat(to, &flat) };
                    let x = emitter.value(*node, &at);
                    stores.push((*node, *binding, *row, at, x));
                }
                for (node, binding, row, at, x) in stores {
                    write(emitter, node, binding, row, &at, &x, None);
                }
            });
        }
    }
    (String::new(), items.div_ceil(GROUP))
}
