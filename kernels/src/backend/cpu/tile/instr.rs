//! The instructions of a tile, and what they work on.

use std::sync::Arc;

use super::super::simd::elementwise::{BinaryOp, UnaryOp};
use super::super::simd::update::Rule;
use super::super::values::ValueId;
use crate::program::NativeCall;

/// A register number: a lane-major block `[M][lanes]`.
pub type Reg = usize;

/// Memory outside of the tile: element of group `g`, row `r`, inner index `m` at
/// `offset + g·group + r·row + Σ time + table[m]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Mem {
    /// The value.
    pub value: ValueId,
    /// Position of the first element.
    pub offset: usize,
    /// Distance of groups.
    pub group: usize,
    /// Distance of rows; 0 if all rows read the same.
    pub row: usize,
    /// Rows of a group, where rows of several groups share a tile and are not at one distance: row `r` of the tile's is
    /// row `r % per` of group `r / per`. Else 0.
    pub per: usize,
    /// Distance of steps of the loops around, outermost first.
    pub time: Vec<usize>,
    /// Position of each inner element.
    pub table: Table,
}

/// Positions of the inner elements of an operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// Element `m` at `start + m`.
    Dense {
        /// The first.
        start: usize,
        /// How many.
        len: usize,
    },
    /// Each element at one position.
    Repeat {
        /// Their common position.
        at: usize,
        /// How many.
        len: usize,
    },
    /// Any.
    Any(Box<[u32]>),
}

/// Inner elements of a row at most.
const LONGEST_TABLE: usize = 1 << 20;

impl Table {
    /// Tells whether a table can be made of a strided inner shape: it is no larger than a cache, and its positions are
    /// 32-bit numbers.
    pub fn fits(shape: &[usize], strides: &[usize], offset: usize) -> bool {
        let len: usize = shape.iter().product();
        let last =
            shape.iter().zip(strides).map(|(n, s)| (n - 1).saturating_mul(*s)).fold(offset, usize::saturating_add);
        len <= LONGEST_TABLE && last <= u32::MAX as usize
    }

    /// The table of a strided inner shape.
    pub fn new(shape: &[usize], strides: &[usize], offset: usize) -> Table {
        let len: usize = shape.iter().product();
        let mut inner = 1;
        let in_order = shape.iter().zip(strides).rev().all(|(n, s)| {
            let next = *n == 1 || *s == inner;
            inner *= n;
            next
        });
        if len <= 1 || in_order {
            return Table::Dense { start: offset, len };
        }
        if shape.iter().zip(strides).all(|(n, s)| *n == 1 || *s == 0) {
            return Table::Repeat { at: offset, len };
        }
        let mut at = vec![offset as u32; len];
        let mut inner = 1;
        for (n, s) in shape.iter().zip(strides).rev() {
            for (i, a) in at.iter_mut().enumerate() {
                *a += ((i / inner) % n * s) as u32;
            }
            inner *= n;
        }
        Table::Any(at.into())
    }

    /// Number of inner elements.
    pub fn len(&self) -> usize {
        match self {
            Table::Dense { len, .. } | Table::Repeat { len, .. } => *len,
            Table::Any(at) => at.len(),
        }
    }

    /// Position of inner element `m`.
    pub fn at(&self, m: usize) -> usize {
        match self {
            Table::Dense { start, .. } => start + m,
            Table::Repeat { at, .. } => *at,
            Table::Any(at) => at[m] as usize,
        }
    }

    /// The largest position.
    pub fn max(&self) -> usize {
        match self {
            Table::Dense { start, len } => start + len.saturating_sub(1),
            Table::Repeat { at, .. } => *at,
            Table::Any(at) => at.iter().copied().max().unwrap_or(0) as usize,
        }
    }
}

/// An operand of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub enum Opnd {
    /// Blocks of a register.
    Reg(Reg, Table),
    /// Values in memory that all rows share.
    Uniform(Mem),
    /// One constant.
    Const(u32),
}

/// One instruction. `dst` has as many blocks as the operands' tables have entries, unless said otherwise.
#[derive(Clone, Debug)]
pub enum Instr {
    /// Rows of memory to a register.
    Load {
        /// Register.
        dst: Reg,
        /// Memory.
        src: Mem,
    },
    /// A register to rows of memory.
    Store {
        /// Blocks to write.
        src: Opnd,
        /// Memory.
        dst: Mem,
    },
    /// Elementwise function of one operand.
    Unary {
        /// Function.
        op: UnaryOp,
        /// Result.
        dst: Reg,
        /// Operand.
        a: Opnd,
    },
    /// Elementwise function of two operands.
    Binary {
        /// Function.
        op: BinaryOp,
        /// Result.
        dst: Reg,
        /// Operands.
        a: Opnd,
        /// Operands.
        b: Opnd,
    },
    /// `c != 0 ? a : b`
    Select {
        /// Result.
        dst: Reg,
        /// Condition.
        c: Opnd,
        /// Result where the condition holds.
        a: Opnd,
        /// Result where the condition fails.
        b: Opnd,
    },
    /// Both words of a threefry block.
    Threefry {
        /// First and second word.
        dst: [Reg; 2],
        /// Key and counter.
        src: [Opnd; 4],
    },
    /// Image under a keyed permutation of `0..n`.
    Permutation {
        /// Result.
        dst: Reg,
        /// Index and key.
        src: [Opnd; 3],
        /// Size of the range.
        n: u32,
    },
    /// Blocks of operands one after the other, starting at the given block; the rest is zero.
    Assemble {
        /// Result.
        dst: Reg,
        /// Operands and the result's blocks that they go to.
        parts: Vec<(Opnd, Box<[u32]>)>,
        /// True if some blocks stay zero.
        zero: bool,
    },
    /// Sum of blocks `[outer][n][inner]` over `n`.
    Sum {
        /// Result `[outer][inner]`.
        dst: Reg,
        /// Dense operand.
        src: Reg,
        /// The three sizes.
        sizes: [usize; 3],
    },
    /// Largest of blocks `[outer][n][inner]` over `n`.
    Max {
        /// Result `[outer][inner]`.
        dst: Reg,
        /// Dense operand.
        src: Reg,
        /// The three sizes.
        sizes: [usize; 3],
        /// The values are u32.
        unsigned: bool,
    },
    /// Product of each row with one matrix.
    Dense(Box<Dense>),
    /// A row-major register as a lane-major one.
    Turn {
        /// Result.
        dst: Reg,
        /// Operand.
        src: Reg,
    },
    /// Product of each row with a matrix of its own.
    RowProduct {
        /// Result `[n]`.
        dst: Reg,
        /// Rows `[k]`, from this block of the register on.
        a: (Reg, usize),
        /// Matrices `[k][n]`.
        w: Reg,
        /// k and n.
        sizes: [usize; 2],
    },
    /// Rows of a table chosen by index.
    Gather {
        /// Result: `index` blocks × `inner` blocks.
        dst: Reg,
        /// First element of the table; rows at distance `Mem::row`, inner positions by its table.
        table: Mem,
        /// Rows of the table.
        n: usize,
        /// Indices.
        index: Opnd,
    },
    /// A native twin.
    Call {
        /// The twin.
        native: Arc<dyn NativeCall>,
        /// Dense operands.
        src: Vec<Reg>,
        /// Results.
        dst: Vec<Reg>,
    },
    /// Add the rows' blocks to a partial sum over rows.
    RowSum {
        /// Terminal number.
        terminal: usize,
        /// Dense operand.
        src: Reg,
    },
    /// Add the outer product of two rows, summed over rows, to a partial sum.
    RowOuter {
        /// Terminal number.
        terminal: usize,
        /// First factor: register, block, size.
        a: (Reg, usize, usize),
        /// Second factor: register, block, size.
        b: (Reg, usize, usize),
    },
    /// One step of an optimiser or of an average, from memory to memory.
    Update(Box<Update>),
    /// Run the instructions up to the loop's end `len` times.
    Loop(Box<TileLoop>),
}

/// A step of an optimiser or of an average: rows of one element each, from memory to memory.
#[derive(Clone, Debug)]
pub struct Update {
    /// The formula.
    pub rule: Rule,
    /// Rows that it reads, in the order of the rule.
    pub src: Vec<Mem>,
    /// Rows that it writes, which may be those that it reads: new values of the last of `src`.
    pub dst: Vec<Mem>,
    /// Numbers that all rows of a group share, in the order of the rule.
    pub shared: Vec<Opnd>,
    /// The step is made where this is not 0; else old values stay.
    pub go: Opnd,
}

impl Update {
    /// The old value of a new one.
    pub fn replaced(&self, new: ValueId) -> Option<&Mem> {
        let i = self.dst.iter().position(|dst| dst.value == new)?;
        self.src.get(self.src.len() - self.dst.len() + i)
    }
}

/// A product of each row with one matrix, and what is done with its results while they are in the caches.
#[derive(Clone, Debug)]
pub struct Dense {
    /// Result `[n]`.
    pub dst: Reg,
    /// Rows `[k]`, from this block of the register on.
    pub a: (Reg, usize),
    /// The matrix: distance of neighbours in k and n.
    pub w: Mem,
    /// Distances in k and n, and the two sizes.
    pub strides: [usize; 4],
    /// Added to each row: the same as doing so afterwards.
    pub bias: Option<Mem>,
    /// Elementwise instructions of n blocks each.
    pub after: Vec<Instr>,
    /// Blocks of the result that are computed before `after` is done with them.
    pub part: usize,
    /// Registers that nobody else reads: they hold one part.
    pub inner: Vec<Reg>,
}

/// A loop inside a tile.
#[derive(Clone, Debug)]
pub struct TileLoop {
    /// Number of steps.
    pub len: usize,
    /// Backwards.
    pub reverse: bool,
    /// How many loops are around it.
    pub level: usize,
    /// Register of the index, if it is read.
    pub index: Option<Reg>,
    /// Carries: the register that holds it, its first value and its new value.
    pub carries: Vec<(Reg, Opnd, Opnd)>,
    /// The carry that ends the loop once it is not 0 in any row of the tile.
    pub until: Option<Reg>,
    /// The inside.
    pub code: Vec<Instr>,
}
