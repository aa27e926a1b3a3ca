//! Chains of row-local nodes, run tile by tile.
//!
//! A group of nodes that all act on the rows of one domain `[groups, rows]` is compiled to a [`Tile`]: a straight list
//! of instructions on registers, each a lane-major block `[M][lanes]` that stays in the first-level caches. The list is
//! run for one tile of rows after the other; threads share the tiles. Sums over rows are gathered in partial sums, one
//! per slice of rows, whose number and order depend on the number of rows only.

mod build;
mod contract;
mod fuse;
mod group;
mod layer;
mod link;
mod ops;
mod registers;
mod rows;
mod run;
mod scan;

use std::sync::Arc;

use super::simd::elementwise::{BinaryOp, UnaryOp};
use super::steps::ValueId;
use crate::program::NativeCall;

pub use group::{Formed, form};
pub use run::Workspace;

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
    /// All of them the same.
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
    /// Tells whether a table can be made of a strided inner shape: it is no larger than a cache, and its positions are 32-bit numbers.
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
    /// The same for all rows, from memory.
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
        /// If so.
        a: Opnd,
        /// If not.
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
        /// Of u32 values.
        unsigned: bool,
    },
    /// Product of each row with one matrix.
    Dense(Box<Dense>),
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
    Loop(Box<TileLoop>),
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

/// A sum over rows.
#[derive(Clone, Debug)]
pub struct Terminal {
    /// Where it goes: `[groups, size]`, dense.
    pub dst: ValueId,
    /// Elements per group.
    pub size: usize,
    /// Partial sums have 16 lanes each (a row sum), or one (an outer product).
    pub lanes: usize,
}

/// A group of nodes compiled for tiles of rows.
#[derive(Clone, Debug)]
pub struct Tile {
    /// Number of groups: rows of different groups never share a tile.
    pub groups: usize,
    /// Rows per group.
    pub rows: usize,
    /// Rows per tile, a multiple of 16.
    pub lanes: usize,
    /// First block of each register in a thread's scratch, and its number of blocks.
    pub registers: Vec<(usize, usize)>,
    /// Blocks of scratch.
    pub blocks: usize,
    /// The instructions.
    pub code: Vec<Instr>,
    /// Sums over rows.
    pub terminals: Vec<Terminal>,
    /// Rough number of operations per row.
    pub work: usize,
    /// Nesting of loops.
    pub depth: usize,
    /// The parts to run: the instructions with chains joined, made at the first run.
    pub linked: std::sync::OnceLock<Vec<link::TilePart>>,
}

#[cfg(test)]
mod tests {
    use super::Table;
    use crate::backend::cpu::{Cpu, CpuOptions};
    use crate::tensor::{Loop, scan};
    use crate::{Context, DType, Device, Program, State, Tensor};

    #[test]
    fn tables_are_recognised() {
        assert_eq!(Table::new(&[2, 1, 3], &[3, 9, 1], 5), Table::Dense { start: 5, len: 6 });
        assert_eq!(Table::new(&[], &[], 2), Table::Dense { start: 2, len: 1 });
        assert_eq!(Table::new(&[2, 3], &[0, 0], 4), Table::Repeat { at: 4, len: 6 });
        let any = Table::new(&[2, 3], &[1, 2], 1);
        assert_eq!(any, Table::Any([1, 3, 5, 2, 4, 6].into()));
        let tables = [Table::Dense { start: 5, len: 6 }, Table::Repeat { at: 4, len: 6 }, any];
        assert_eq!(tables.map(|t| t.max()), [10, 4, 6]);
    }

    fn bits(tiles: bool, threads: usize, f: &dyn Fn(&mut Context), args: &[(&str, Vec<usize>)]) -> Vec<Vec<u32>> {
        let device = Device::new(Cpu::new(CpuOptions { tiles, threads, ..Default::default() }));
        let mut program = Program::new(&device, f).unwrap();
        let arrays: Vec<_> = args
            .iter()
            .map(|(name, shape)| {
                let len: usize = shape.iter().product();
                let values: Vec<f64> = (0..len).map(|i| ((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0).collect();
                (*name, device.array(shape, &values).unwrap())
            })
            .collect();
        let mut state = State::new();
        for (n, a) in &arrays {
            state.insert(*n, a.clone());
        }
        let inputs: Vec<_> = arrays.iter().map(|(n, a)| (*n, a)).collect();
        let mut results = Vec::new();
        for _ in 0..2 {
            let out = program.run(&state, &inputs, &[]).unwrap();
            for (_, a) in out.iter().chain(state.iter()) {
                let read = |a| pollster::block_on(device.read_f32(a)).unwrap().iter().map(|v| v.to_bits()).collect();
                results.push(read(a));
            }
        }
        results
    }

    fn same(f: &dyn Fn(&mut Context), args: &[(&str, Vec<usize>)]) {
        let plain = bits(false, 1, f, args);
        assert_eq!(plain, bits(true, 1, f, args));
        assert_eq!(plain, bits(true, 3, f, args));
    }

    /// Two layers, their gradients and a step, by hand.
    fn layers(cx: &mut Context, s: usize, b: usize) {
        let x = cx.input("x", &[s, b, 5], DType::F32);
        let theta = cx.state("theta", &[s, 5 * 7 + 7 + 7 * 2], DType::F32);
        let w1 = theta.slice(1, 0, 35).reshape(&[s, 5, 7]);
        let b1 = theta.slice(1, 35, 42).reshape(&[s, 1, 7]);
        let w2 = theta.slice(1, 42, 56).reshape(&[s, 7, 2]);
        let h = (x.matmul(w1) + b1).tanh();
        let y = h.matmul(w2).log_softmax(2);
        cx.output("loss", y.square().mean(&[1, 2]));
        let dy = y * (2.0 / b as f64);
        let dw2 = h.matmul_with(dy, true, false);
        let dh = dy.matmul_with(w2, false, true) * (1.0 - h * h);
        let dw1 = x.matmul_with(dh, true, false);
        let db1 = dh.sum_keep(1);
        let flat = |t: Tensor| t.reshape(&[s, t.len() / s]);
        let g = Tensor::concat(&[flat(dw1), flat(db1), flat(dw2)], 1);
        let norm = (g * g).sum_keep(1).sqrt();
        cx.update("theta", theta - g * (0.1 / (norm + 1.0)));
    }

    #[test]
    fn layers_and_their_gradients_are_the_same_bits() {
        let all = [(2, 3), (1, 1), (1, 5), (1, 64), (2, 100), (3, 16), (1, 1500), (2, 2100)];
        for &(s, b) in if cfg!(miri) { &all[..1] } else { &all } {
            let args = [("x", vec![s, b, 5]), ("theta", vec![s, 56])];
            same(&|cx| layers(cx, s, b), &args);
        }
    }

    #[test]
    fn a_rollout_is_the_same_bits() {
        for &(s, n) in if cfg!(miri) { &[(2, 3)][..] } else { &[(1, 4), (2, 33), (1, 200)] } {
            let f = |cx: &mut Context| {
                let w = cx.input("w", &[s, 3, 3], DType::F32);
                let x0 = cx.state("x0", &[s, n, 3], DType::F32);
                let k = cx.scalar_u32("k");
                let elem = Tensor::iota(&[s, n, 1], 1);
                let (last, ys) = scan(6, false, &[x0], &[], |t, c, _| {
                    let key = Tensor::threefry([k, k], [t, Tensor::constant_u32(0)], 0);
                    let draw = Tensor::threefry([key, k], [elem, t], 1);
                    let u = draw.shr(Tensor::constant_u32(8)).to_f32() * (1.0 / 16777216.0);
                    let x = (c[0].matmul(w)).tanh() + u * 0.1;
                    let done = x.slice(2, 0, 1).lt(Tensor::constant_f32(0.0));
                    let next = done.select(x * 0.5, x);
                    Loop { carry: vec![next], ys: vec![x, done, next.sum_keep(2)] }
                });
                cx.update("x0", last[0]);
                let (_, adv) = scan(6, true, &[Tensor::zeros(&[s, n, 1])], &[ys[2]], |_, c, x| {
                    let a = c[0] * 0.9 + x[0];
                    Loop { carry: vec![a], ys: vec![a] }
                });
                cx.output("x", ys[0]);
                cx.output("done", ys[1].to_f32());
                cx.output("adv", adv[0]);
                cx.output("mean", adv[0].mean(&[0, 2]));
            };
            let args = [("w", vec![s, 3, 3]), ("x0", vec![s, n, 3])];
            same_with_scalar(&f, &args);
        }
    }

    fn same_with_scalar(f: &dyn Fn(&mut Context), args: &[(&str, Vec<usize>)]) {
        let run = |tiles, threads| {
            let device = Device::new(Cpu::new(CpuOptions { tiles, threads, ..Default::default() }));
            let mut program = Program::new(&device, f).unwrap();
            let mut state = State::new();
            for (name, shape) in args {
                let len: usize = shape.iter().product();
                let values: Vec<f64> = (0..len).map(|i| ((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0).collect();
                state.insert(*name, device.array(shape, &values).unwrap());
            }
            let mut all = Vec::new();
            for k in 0..2u32 {
                let inputs: Vec<_> = state.iter().collect();
                let out = program.run(&state, &inputs, &[("k", k.into())]).unwrap();
                for (_, a) in out.iter().chain(state.iter()) {
                    let v: Vec<u32> =
                        pollster::block_on(device.read_f32(a)).unwrap().iter().map(|v| v.to_bits()).collect();
                    all.push(v);
                }
            }
            all
        };
        let plain = run(false, 1);
        assert_eq!(plain, run(true, 1));
        assert_eq!(plain, run(true, 2));
    }
}
