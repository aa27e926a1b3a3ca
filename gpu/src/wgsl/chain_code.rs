//! The code of a chain while it is written.

use std::collections::HashMap;

use quickstudy_kernels::DType;
use quickstudy_kernels::program::chains::Reg;

use super::emit::Emitter;
use super::index::Ix;
use super::memory::Memory;
use crate::plan::PlannedChain;
use crate::tile::{ROWS, Tile};

/// The code of a chain.
pub(super) struct ChainCode<'a> {
    pub emitter: Emitter<'a>,
    pub chain: &'a PlannedChain,
    pub tile: &'a Tile,
    pub memory: &'a Memory,
    /// The array in workgroup memory.
    pub rows: String,
    /// The group of rows, and the number of the workgroup in it.
    pub group: Ix,
    pub part: Ix,
    /// The registers that the section has in variables, and the type of these.
    pub known: HashMap<Reg, (String, DType)>,
}

/// The block and rows of an invocation.
pub(super) struct BlockAt {
    /// The block.
    pub m: Ix,
    /// The vector of rows.
    pub q: Ix,
    /// The rows, none beyond the last.
    pub rows: [Ix; ROWS],
    /// The first row, before that.
    pub first: Ix,
}
