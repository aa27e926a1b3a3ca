//! A tile as it is run: parts of which each is one call of a kernel.

use super::super::simd::chain::{Chain, Work};
use super::super::simd::dots::in_lanes;
use super::super::simd::elementwise::BinaryOp;
use super::{Dense, Instr, Major, Mem, Opnd, Own, Reg, Table, TileLoop, ops};
use crate::tensor::{Binary, DType, Unary};

/// Numbers per row from which whole blocks of rows are turned at once, by instructions and not by chains.
pub(super) const WIDE: usize = 16;

/// A tile as it is run.
#[derive(Clone, Debug)]
pub struct LinkedTile {
    /// The parts.
    pub parts: Vec<TilePart>,
    /// Values of chains that are the same for all rows.
    pub values: Vec<ChainValue>,
    /// Number of places of turned weights.
    pub packs: usize,
}

/// A value of chains.
#[derive(Clone, Debug, PartialEq)]
pub enum ChainValue {
    /// A constant.
    Const(u32),
    /// The element of that position in memory.
    Uniform(Mem, usize),
}

/// A part of a tile as it is run: one instruction, or several joined.
#[derive(Clone, Debug)]
pub enum TilePart {
    /// Elementwise instructions.
    Chain(Linked),
    /// A product with what follows it.
    Layer(Box<DenseLayer>),
    /// Another instruction, no loop.
    Instr(Box<Instr>),
    /// A loop, whose inside is here. New carries are copied by the last of its parts.
    Loop(TileLoop, Vec<TilePart>),
}

/// A chain with what it reads and writes outside of the registers.
#[derive(Clone, Debug)]
pub struct Linked {
    /// The jobs.
    pub chain: Chain,
    /// Which of the tile's values change with the step of a loop, and where they are: they are fetched before each run.
    pub moving: Vec<(usize, Mem, usize)>,
    /// Rows of memory.
    pub streams: Vec<Mem>,
}

/// A product with the chain that follows each part of it.
#[derive(Clone, Debug)]
pub struct DenseLayer {
    /// The product.
    pub product: Dense,
    /// How the kernel itself does all that follows; else that is the work of chains.
    pub inside: Option<Inside>,
    /// The elementwise work that follows.
    pub linked: Linked,
    /// Where the jobs of each part end.
    pub ends: Vec<usize>,
    /// The number of the place where turned weights are kept while they are the same, and its first value; for
    /// row-major products whose weights are not next to each other.
    pub packed: Option<(usize, usize)>,
    /// The result of all, where the chain may work on the turned results of few rows as well: it reads nothing else of
    /// the rows.
    pub last: Option<Reg>,
}

/// Elementwise work that the kernel of a product does while results are in registers or the first cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inside {
    /// None.
    Linear,
    /// tanh in place.
    Tanh,
    /// tanh's derivative in place, by its values: a register from that block on.
    Slope(Reg, usize),
    /// ReLU into a register, which may be the product's own.
    Relu(Reg),
    /// ReLU's derivative into the first register, by what ReLU was applied to: the second from that block on.
    Gate(Reg, (Reg, usize)),
}

/// Where registers are in a tile's scratch.
#[derive(Clone, Copy, Debug)]
pub struct RegisterPlaces<'a> {
    /// First block and number of blocks of each.
    pub registers: &'a [(usize, usize)],
    /// How each lies.
    pub majors: &'a [Major],
    /// Rows of a tile.
    pub lanes: usize,
}

impl Instr {
    /// Finds the chain operation of an elementwise instruction, its result and its operands.
    #[inline(never)]
    pub fn elementwise(&self) -> Option<(Work, Reg, Vec<&Opnd>)> {
        match self {
            Instr::Unary { op, dtype, dst, a } => Some((Work::Unary(ops::unary(*op, *dtype)?), *dst, vec![a])),
            Instr::Binary { op, dtype, dst, a, b } => Some((Work::Binary(ops::binary(*op, *dtype)), *dst, vec![a, b])),
            Instr::Own(Own::TanhGrad { dst, a, b }) => Some((Work::Binary(BinaryOp::TanhGrad), *dst, vec![a, b])),
            Instr::Select { dst, c, a, b } => Some((Work::Select, *dst, vec![c, a, b])),
            _ => None,
        }
    }
}

/// Finds whether the kernel of a product does itself what follows it.
pub(super) fn inside(product: &Dense) -> Option<Inside> {
    let Dense { dst, strides: [.., n], after, inner, .. } = product;
    let whole = |o: &Opnd| match o {
        Opnd::Reg(reg, Table::Dense { start, len }) if len == n => Some((*reg, *start)),
        _ => None,
    };
    let made = |o: &Opnd| whole(o) == Some((*dst, 0));
    let zero = |o: &Opnd| *o == Opnd::Const(0);
    match &after[..] {
        [] => Some(Inside::Linear),
        [Instr::Unary { op: Unary::Tanh, dst: to, a, .. }] if to == dst && made(a) => Some(Inside::Tanh),
        [Instr::Own(Own::TanhGrad { dst: to, a, b })] if to == dst && made(a) => {
            whole(b).map(|(y, start)| Inside::Slope(y, start))
        }
        [Instr::Binary { op: Binary::Max, dtype: DType::F32, dst: to, a, b }]
            if made(a) && zero(b) && !inner.contains(to) && (to == dst || !inner.contains(dst)) =>
        {
            Some(Inside::Relu(*to))
        }
        [
            Instr::Binary { op: Binary::Lt, dtype: DType::F32, dst: less, a: x, b },
            Instr::Select { dst: to, c, a, b: g },
        ] if zero(b)
            && zero(a)
            && made(g)
            && whole(c) == Some((*less, 0))
            && !inner.contains(to)
            && [less, dst].into_iter().all(|reg| reg == to || inner.contains(reg)) =>
        {
            whole(x).filter(|(x, _)| x != dst && x != to).map(|x| Inside::Gate(*to, x))
        }
        _ => None,
    }
}

/// The one register that others read of a product and what follows it, if nothing else of the rows is needed for it.
pub(super) fn last(product: &Dense) -> Option<Reg> {
    let made: Option<Vec<_>> = product.after.iter().map(Instr::elementwise).collect();
    let made = made.filter(|made| !made.is_empty())?;
    let outer = |reg: &Reg| !product.inner.contains(reg);
    let last = [product.dst].into_iter().chain(made.iter().map(|(_, dst, _)| *dst)).find(outer)?;
    let own = |reg: &Reg| *reg == last || !outer(reg);
    let reads = |o: &&Opnd| !matches!(o, Opnd::Reg(reg, _) if !own(reg));
    let all = own(&product.dst) && made.iter().all(|(_, dst, src)| own(dst) && src.iter().all(reads));
    all.then_some(last)
}

impl Dense {
    /// Tells whether this is a narrow product with lane-major results of row-major values.
    pub fn of_rows(&self, majors: &[Major]) -> bool {
        let [.., k, n] = self.strides;
        let is_rows = |reg: Reg| majors.get(reg) == Some(&Major::Rows);
        in_lanes(k, n) && is_rows(self.a.0) && !is_rows(self.dst)
    }
}
