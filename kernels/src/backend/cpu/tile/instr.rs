//! The instructions of a tile: those of chains, and the CPU's own.

use super::super::simd::update::Rule;
use crate::program::chains::{self, ChainLoop, ChainProduct, Mem, Opnd, Reg, ValueId};

/// An instruction of a tile.
pub type Instr = chains::ChainInstr<Own>;

/// A loop inside a tile.
pub type TileLoop = ChainLoop<Own>;

/// An instruction of the CPU.
#[derive(Clone, Debug)]
pub enum Own {
    /// Product of each row with one matrix.
    Dense(Box<Dense>),
    /// a · (1 + −(b · b)), rounded after each operation: the derivative of tanh from its value b.
    TanhGrad {
        /// Result.
        dst: Reg,
        /// Operands.
        a: Opnd,
        /// Operands.
        b: Opnd,
    },
    /// A row-major register as a lane-major one.
    Turn {
        /// Result.
        dst: Reg,
        /// Operand.
        src: Reg,
    },
    /// One step of an optimiser or of an average, from memory to memory.
    Update(Box<Update>),
}

impl From<ChainProduct> for Own {
    fn from(product: ChainProduct) -> Own {
        let ChainProduct { dst, a, w, strides } = product;
        let part = strides[3].max(1);
        Own::Dense(Box::new(Dense { dst, a, w, strides, bias: None, after: Vec::new(), part, inner: Vec::new() }))
    }
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
