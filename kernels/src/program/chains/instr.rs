//! The instructions of a chain, and what they work on.

use std::sync::Arc;

use super::table::Table;
use super::values::ValueId;
use crate::program::NativeCall;
use crate::tensor::{Binary, DType, Unary};

/// A register number: `M` blocks, each of which has one number for every row.
pub type Reg = usize;

/// Memory: element of group `g`, row `r`, inner index `m` at
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
    /// Rows of a group, where rows of several groups are taken together and are not at one distance: row `r` of all is
    /// row `r % per` of group `r / per`. Else 0.
    pub per: usize,
    /// Distance of steps of the loops around, outermost first.
    pub time: Vec<usize>,
    /// Position of each inner element.
    pub table: Table,
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
///
/// `O` are a device's own instructions. A [`ChainProduct`] always is one of them, because devices join with it what
/// follows.
#[derive(Clone, Debug)]
pub enum ChainInstr<O> {
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
        op: Unary,
        /// The operand's type.
        dtype: DType,
        /// Result.
        dst: Reg,
        /// Operand.
        a: Opnd,
    },
    /// Elementwise function of two operands.
    Binary {
        /// Function.
        op: Binary,
        /// The operands' type.
        dtype: DType,
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
    /// Run the instructions up to the loop's end `len` times.
    Loop(Box<ChainLoop<O>>),
    /// An instruction of the device's own, such as a product.
    Own(O),
}

/// A product of each row with one matrix.
#[derive(Clone, Debug)]
pub struct ChainProduct {
    /// Result `[n]`.
    pub dst: Reg,
    /// Rows `[k]`, from this block of the register on.
    pub a: (Reg, usize),
    /// The matrix.
    pub w: Mem,
    /// Distances of neighbours in k and n, and the two sizes.
    pub strides: [usize; 4],
}

/// A loop inside a chain.
#[derive(Clone, Debug)]
pub struct ChainLoop<O> {
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
    /// The carry that ends the loop once it is not 0 in any row.
    pub until: Option<Reg>,
    /// The inside.
    pub code: Vec<ChainInstr<O>>,
}
