//! Items: what is computed block by block.

use quickstudy_kernels::DType;
use quickstudy_kernels::program::chains::{ChainInstr, ChainProduct, Mem, Opnd, Reg, RowChain, Table};
use quickstudy_kernels::tensor::{Binary, Unary};

/// The operation of an item.
#[derive(Clone, Debug)]
pub(crate) enum TileOp {
    /// A block of rows in memory.
    Load(Mem),
    /// Writes a block to memory.
    Store(Mem),
    /// A function of one number.
    Unary(Unary, DType),
    /// A function of two numbers.
    Binary(Binary, DType),
    /// The second operand where the first is not 0, else the third.
    Select,
    /// Both words of a threefry block.
    Threefry,
    /// Image under a keyed permutation of so many numbers.
    Permutation(u32),
    /// The operand itself.
    Move,
    /// Sum of the register's blocks `[outer][n][inner]` over `n`.
    Sum([usize; 3]),
    /// Largest of these, of unsigned numbers or not.
    Max([usize; 3], bool),
    /// Rows of a table of so many, at an index: so many blocks of each row.
    Gather(Mem, usize, usize),
    /// Product with a matrix.
    Product(ChainProduct),
    /// Adds to the sum over rows of that number.
    RowSum(usize),
    /// Adds the outer product of two registers' blocks to the sum over rows of that number.
    RowOuter(usize),
}

/// An item: an operation on blocks of registers, for the rows of a tile.
#[derive(Clone, Debug)]
pub(crate) struct TileItem {
    /// The operation.
    pub op: TileOp,
    /// Number of blocks.
    pub width: usize,
    /// Operands that have a number for each block.
    pub src: Vec<Opnd>,
    /// Registers of which a block needs others than its own: register, first block, number of blocks.
    pub whole: Vec<(Reg, usize, usize)>,
    /// The registers that it computes, and where blocks go.
    pub dst: Vec<(Reg, Table)>,
}

impl TileItem {
    /// Tells whether an operand is a register's block of the same number as the one that is computed.
    pub fn is_own(&self, operand: &Opnd, sizes: &[usize]) -> bool {
        let in_order = |of: &TileOp| !matches!(of, TileOp::Gather(_, _, inner) if *inner > 1);
        matches!(operand, Opnd::Reg(reg, table) if in_order(&self.op) && is_whole(table, self.width, sizes[*reg]))
    }

    /// Tells whether each block of a register that it computes has the number of the item's block.
    pub fn writes_own(&self, reg: Reg, sizes: &[usize]) -> bool {
        self.dst.iter().any(|(dst, table)| *dst == reg && is_whole(table, self.width, sizes[reg]))
    }
}

fn is_whole(table: &Table, width: usize, size: usize) -> bool {
    matches!(table, Table::Dense { start: 0, len } if *len == width && *len == size)
}

/// The items of a chain, and for each register that is loaded its item; none if it has loops, calls or products that
/// workgroups cannot compute.
pub(super) fn items(chain: &RowChain<ChainProduct>) -> Option<(Vec<TileItem>, Vec<Option<usize>>)> {
    let (mut items, mut loads) = (Vec::new(), vec![None; chain.sizes.len()]);
    let all = |reg: Reg| Table::Dense { start: 0, len: chain.sizes[reg] };
    for instr in &chain.code {
        let mut item = |op: TileOp, dst: &[Reg], src: Vec<Opnd>, whole: Vec<(Reg, usize, usize)>| {
            let width = dst.first().map_or(1, |reg| chain.sizes[*reg]);
            let dst = dst.iter().map(|reg| (*reg, all(*reg))).collect();
            items.push(TileItem { op, width, src, whole, dst });
        };
        let register = |reg: Reg| (reg, 0, chain.sizes[reg]);
        match instr {
            ChainInstr::Load { dst, src } => {
                item(TileOp::Load(src.clone()), &[*dst], Vec::new(), Vec::new());
                loads[*dst] = Some(items.len() - 1);
            }
            ChainInstr::Store { src, dst } => {
                let (op, src, width) = (TileOp::Store(dst.clone()), vec![src.clone()], dst.table.len());
                items.push(TileItem { op, width, src, whole: Vec::new(), dst: Vec::new() });
            }
            ChainInstr::Unary { op, dtype, dst, a } => {
                item(TileOp::Unary(*op, *dtype), &[*dst], vec![a.clone()], Vec::new());
            }
            ChainInstr::Binary { op, dtype, dst, a, b } => {
                item(TileOp::Binary(*op, *dtype), &[*dst], vec![a.clone(), b.clone()], Vec::new());
            }
            ChainInstr::Select { dst, c, a, b } => {
                item(TileOp::Select, &[*dst], vec![c.clone(), a.clone(), b.clone()], Vec::new());
            }
            ChainInstr::Threefry { dst, src } => item(TileOp::Threefry, dst, src.to_vec(), Vec::new()),
            ChainInstr::Permutation { dst, src, n } => {
                item(TileOp::Permutation(*n), &[*dst], src.to_vec(), Vec::new());
            }
            ChainInstr::Assemble { dst, parts, zero } => {
                let mut moves: Vec<(Opnd, Vec<u32>)> =
                    parts.iter().map(|(src, to)| (src.clone(), to.to_vec())).collect();
                if *zero {
                    let is_free = |block: &u32| !parts.iter().any(|(_, to)| to.contains(block));
                    moves.push((Opnd::Const(0), (0..chain.sizes[*dst] as u32).filter(is_free).collect()));
                }
                for (src, to) in moves.into_iter().filter(|(_, to)| !to.is_empty()) {
                    let (width, dst) = (to.len(), vec![(*dst, table(to))]);
                    items.push(TileItem { op: TileOp::Move, width, src: vec![src], whole: Vec::new(), dst });
                }
            }
            ChainInstr::Sum { dst, src, sizes } => {
                item(TileOp::Sum(*sizes), &[*dst], Vec::new(), vec![register(*src)]);
            }
            ChainInstr::Max { dst, src, sizes, unsigned } => {
                item(TileOp::Max(*sizes, *unsigned), &[*dst], Vec::new(), vec![register(*src)]);
            }
            ChainInstr::Gather { dst, table, n, index } => {
                let inner = chain.sizes[*dst] / index_len(index);
                item(TileOp::Gather(table.clone(), *n, inner), &[*dst], vec![index.clone()], Vec::new());
            }
            ChainInstr::RowSum { terminal, src } => items.push(TileItem {
                op: TileOp::RowSum(*terminal),
                width: chain.sizes[*src],
                src: Vec::new(),
                whole: vec![register(*src)],
                dst: Vec::new(),
            }),
            ChainInstr::RowOuter { terminal, a, b } => items.push(TileItem {
                op: TileOp::RowOuter(*terminal),
                width: a.2 * b.2,
                src: Vec::new(),
                whole: vec![*a, *b],
                dst: Vec::new(),
            }),
            ChainInstr::Own(product) => {
                let [.., k, _] = product.strides;
                let whole = vec![(product.a.0, product.a.1, k)];
                item(TileOp::Product(product.clone()), &[product.dst], Vec::new(), whole);
            }
            ChainInstr::RowProduct { .. } | ChainInstr::Call { .. } | ChainInstr::Loop(_) => return None,
        }
    }
    Some((items, loads))
}

/// Blocks of an index.
fn index_len(index: &Opnd) -> usize {
    match index {
        Opnd::Reg(_, table) => table.len(),
        Opnd::Uniform(mem) => mem.table.len(),
        Opnd::Const(_) => 1,
    }
}

/// The table of these positions.
fn table(at: Vec<u32>) -> Table {
    let in_order = at.windows(2).all(|pair| pair[1] == pair[0] + 1);
    match at.first() {
        Some(first) if in_order => Table::Dense { start: *first as usize, len: at.len() },
        Some(first) if at.iter().all(|other| other == first) => Table::Repeat { at: *first as usize, len: at.len() },
        _ => Table::Any(at.into()),
    }
}

/// The positions in memory of the blocks of a loaded register that a table names.
pub(crate) fn composed(blocks: &Table, memory: &Table) -> Table {
    table((0..blocks.len()).map(|m| memory.at(blocks.at(m)) as u32).collect())
}
