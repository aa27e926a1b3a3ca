//! Matrix products: each invocation computes a small block of the result in registers. Large ones share their operands
//! in workgroup memory (`tiled.rs`), those of few blocks are divided among the lanes of a workgroup (`lanes.rs`), long
//! ones of few results are cut into slices (`split.rs`).

use quickstudy_kernels::tensor::NodeId;

use super::emit::Emitter;
use super::index::Ix;
use super::memory::Memory;
use super::results::{GROUP, after, partial};
use super::split;
use super::stretch::Stretch;
use crate::limits::KernelLimits;
use crate::plan::{Kernel, is_long_product};

/// Rows and columns of an invocation's block.
pub(super) const BLOCK: usize = 4;
/// Steps of the summed axis that are in workgroup memory, of tiles.
pub(super) const DEPTH: usize = 16;
/// Terms up to which there is no loop.
const WHOLE: usize = 8;
/// Terms of a lane at least, where lanes share a sum.
const TERMS: usize = 8;
/// Invocations that fill a GPU.
const ENOUGH: usize = 65_536;
/// The shortest slice of a sum.
const SHORTEST: usize = 256;

/// Rows and columns of a workgroup's tile, if the product is large enough for one.
fn tile(m: usize, n: usize, k: usize) -> Option<(usize, usize)> {
    let large = m >= 64 && n >= 32 && k >= DEPTH;
    large.then_some(if n <= 32 { (128, 32) } else { (64, 64) })
}

/// How many lanes share a sum of `each` terms, of that many blocks: as many as keep up to `enough` invocations busy.
fn lanes(blocks: usize, each: usize, enough: usize) -> usize {
    let mut lanes = 1;
    while 2 * lanes <= GROUP && each / (2 * lanes) >= TERMS && blocks * 2 * lanes <= enough {
        lanes *= 2;
    }
    // Each row of a block needs a lane that finishes it.
    if lanes >= BLOCK { lanes } else { 1 }
}

/// How the work of a product is divided.
#[derive(Debug)]
pub(super) struct MatMulWork {
    /// The product.
    pub node: NodeId,
    /// Shape of its result.
    pub shape: Vec<usize>,
    /// Rows of the result.
    pub m: usize,
    /// Columns.
    pub n: usize,
    /// Length of the summed axis.
    pub k: usize,
    /// Parts of the sum.
    pub slices: usize,
    /// Length of a part.
    pub each: usize,
    /// Rows and columns of a workgroup's tile, if operands are shared in workgroup memory.
    pub tile: Option<(usize, usize)>,
    /// Invocations that share each sum of a block, if not one does it all: a power of two.
    pub lanes: usize,
}

impl MatMulWork {
    pub fn of(emitter: &Emitter<'_>, node: NodeId, limits: KernelLimits) -> MatMulWork {
        let shape = emitter.graph.nodes[node as usize].shape.clone();
        let (m, n) = (shape[shape.len() - 2], shape[shape.len() - 1]);
        let k = emitter.contracted(node);
        let results: usize = shape.iter().product();
        let tile = if limits.tiled { tile(m, n, k) } else { None };
        let mut work = MatMulWork { node, shape, m, n, k, slices: 1, each: k, tile, lanes: 1 };
        // More parts than the plan has counted where one invocation may not do it all.
        let least = split::least(k, limits.trips.saturating_mul(if tile.is_some() { DEPTH } else { 1 }));
        if is_long_product(results, k) || least > 1 {
            let invocations = work.blocks().iter().product::<usize>() * if tile.is_some() { GROUP } else { 1 };
            // Tiles wait at barriers: more of them hide that.
            let wanted = if tile.is_some() { 2 * ENOUGH / invocations } else { ENOUGH / invocations };
            (work.slices, work.each) = split::slices(k, wanted.max(least), SHORTEST.min(k / least));
        }
        if limits.tiled && tile.is_none() {
            work.lanes = lanes(work.blocks().iter().product(), work.each, ENOUGH);
        }
        work
    }

    /// Slices, batches, and blocks or tiles of rows and columns.
    pub fn blocks(&self) -> Vec<usize> {
        let (rows, columns) = self.tile.unwrap_or((BLOCK.min(self.m), BLOCK.min(self.n)));
        let batch = &self.shape[..self.shape.len() - 2];
        let last = [self.m.div_ceil(rows), self.n.div_ceil(columns)];
        [self.slices].into_iter().chain(batch.iter().copied()).chain(last).collect()
    }

    /// An element of the result is known: compute and store what follows from it, or store it as a partial one.
    pub fn finish(
        &self,
        emitter: &mut Emitter<'_>,
        kernel: &Kernel,
        memory: &Memory,
        (slice, at): (&Ix, Vec<Ix>),
        name: &str,
    ) {
        let mut at = at;
        at.iter_mut().zip(&self.shape).filter(|(_, n)| **n == 1).for_each(|(i, _)| *i = Ix::Known(0));
        let flat = emitter.flat(&self.shape, &at);
        let known = [(self.node, name.to_owned())];
        if self.slices > 1 {
            let results = self.shape.iter().product();
            let row = emitter.times(slice, results);
            let index = emitter.add(&row, &flat);
            partial(emitter, memory, &known, &index, 0);
        } else {
            emitter.same(&self.shape, &at, &flat);
            after(emitter, kernel, memory, &known, &flat);
        }
    }
}

/// A block of the result that an invocation computes, or its lanes together.
pub(super) struct ProductBlock {
    /// The slice of the sum.
    pub slice: Ix,
    /// The batch.
    pub outer: Vec<Ix>,
    /// Its rows, and the conditions on which they are inside of the result.
    pub down: Vec<(Ix, Option<String>)>,
    /// Its columns, as its rows.
    pub across: Vec<(Ix, Option<String>)>,
}

impl ProductBlock {
    /// The block of that number. Blocks at the edge compute their last row or column more than once and write it once.
    pub fn of(emitter: &mut Emitter<'_>, work: &MatMulWork, item: &Ix) -> ProductBlock {
        let at = emitter.unflat(&work.blocks(), item);
        let (outer, block) = at.split_at(at.len() - 2);
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
        let down = places(&block[0], BLOCK.min(work.m), work.m);
        let across = places(&block[1], BLOCK.min(work.n), work.n);
        ProductBlock { slice: outer[0].clone(), outer: outer[1..].to_vec(), down, across }
    }

    /// Writes the block's sums over one lane's terms of its slice: `sum0` is its first row.
    pub fn sums(&self, emitter: &mut Emitter<'_>, work: &MatMulWork) {
        for i in 0..self.down.len() {
            emitter.line(&format!("var sum{i} = vec4<f32>(0.0f);"));
        }
        let lanes = work.lanes;
        let start = emitter.times(&self.slice, work.each);
        let first = if lanes > 1 { emitter.add(&start, &Ix::var("lane")) } else { start.clone() };
        let each = work.each.div_ceil(lanes);
        let whole = work.slices * work.each == work.k && work.each.is_multiple_of(lanes);
        // What an operand is computed from may be long.
        let plain = (0..2).all(|side| emitter.is_plain(emitter.graph.nodes[work.node as usize].src[side]));
        if whole && (each == 1 || plain && each <= WHOLE) {
            for j in 0..each {
                let k = emitter.add(&first, &Ix::Known(j * lanes));
                self.term(emitter, work, &k);
                emitter.term();
            }
            return;
        }
        let end = match work.slices {
            1 => format!("{}u", work.k),
            _ => emitter.bind(format!("min({start} + {}u, {}u)", work.each, work.k)),
        };
        let of = Stretch { name: "k", first: &first, stride: lanes, end: &end, most: each, even: whole };
        emitter.stretch(&of, |emitter, k| self.term(emitter, work, k));
    }

    /// Adds a term to all sums.
    fn term(&self, emitter: &mut Emitter<'_>, work: &MatMulWork, k: &Ix) {
        let k = if work.k == 1 { &Ix::Known(0) } else { k };
        let a: Vec<String> = self.down.iter().map(|(i, _)| emitter.factor(work.node, 0, &self.outer, i, k)).collect();
        let b: Vec<String> = self.across.iter().map(|(j, _)| emitter.factor(work.node, 1, &self.outer, j, k)).collect();
        let row = emitter.bind(vector(&b));
        for (i, a) in a.iter().enumerate() {
            emitter.line(&format!("sum{i} = fma(vec4<f32>({a}), {row}, sum{i});"));
        }
    }
}

/// A vector of up to four numbers.
fn vector(numbers: &[String]) -> String {
    let all: Vec<&str> = numbers.iter().map(String::as_str).chain(["0.0f"; BLOCK]).take(BLOCK).collect();
    format!("vec4<f32>({})", all.join(", "))
}

pub(super) fn emit(emitter: &mut Emitter<'_>, kernel: &Kernel, memory: &Memory, work: &MatMulWork) -> usize {
    let items: usize = work.blocks().iter().product();
    emitter.line(&format!("let item = (group.x + group.y * count.x) * {GROUP}u + local;"));
    emitter.guard(format!("item < {items}u"));
    let block = ProductBlock::of(emitter, work, &if items == 1 { Ix::Known(0) } else { Ix::var("item") });
    block.sums(emitter, work);
    for (i, (row, row_inside)) in block.down.iter().enumerate() {
        for (j, (column, column_inside)) in block.across.iter().enumerate() {
            let inside: Vec<&str> = [row_inside, column_inside].into_iter().flatten().map(String::as_str).collect();
            let condition = if inside.is_empty() { "true".to_owned() } else { inside.join(" && ") };
            emitter.block(&format!("if ({condition})"), |emitter| {
                let at: Vec<Ix> = block.outer.iter().cloned().chain([row.clone(), column.clone()]).collect();
                let name = emitter.bind(format!("sum{i}[{j}]"));
                work.finish(emitter, kernel, memory, (&block.slice, at), &name);
            });
        }
    }
    items.div_ceil(GROUP)
}

#[cfg(test)]
mod tests {
    use super::lanes;

    #[test]
    fn lanes_have_at_least_eight_terms_and_do_not_outnumber_a_device() {
        assert_eq!(lanes(16, 128, 65_536), 16);
        assert_eq!(lanes(32, 64, 65_536), 8);
        assert_eq!(lanes(1, 100_000, 65_536), 256);
        assert_eq!(lanes(16_384, 64, 65_536), 4);
        assert_eq!((lanes(20_000, 64, 65_536), lanes(16, 31, 65_536)), (1, 1));
    }
}
