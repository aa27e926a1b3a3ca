//! The CPU backend: runs traces on slices, with SIMD chosen at run time.
//!
//! `lower` turns the nodes of a trace into steps over values in memory. The plain way computes node by node (`node`);
//! it is the definition that the fast way must equal bit for bit, and random programs compare the two. The fast way
//! (`tile`) runs the chains that `program::chains` forms, each tile by tile: `form` makes a tile of a chain, `fuse` and
//! `link` join its instructions, `majors` chooses how registers lie, `registers` lets them share scratch, `layer`,
//! `row_layer`, `chains`, `run` and `rows` run them. Before chains are formed, `optimiser` takes the steps of
//! optimisers and of averages out: each is one kernel (`simd::update`). `elide` lets results be computed where they are
//! wanted, and `join` parts of a concatenation in their places: sums over rows, results of rows, and products that no
//! tile computes (`product`). So gradients are written into one flat vector, whose squares the tile that completes it
//! also sums (`norm`).
//!
//! Registers of tiles are lane-major, `[M][lanes]`, or row-major, `[lanes][M]`; `tile::majors` chooses. Environments in
//! SIMD lanes, sampling and narrow layers want lanes: a layer's weights are then broadcast scalars and its inputs
//! contiguous vectors, without packing and horizontal sums, but the weight gradient transposes an operand and unused
//! lanes cost time. Layers of 16 outputs, or a multiple, go row by row (`simd::rows`): no unused rows, and no
//! transpositions but of the weights on the way back, once per run. Narrow layers read such rows as they are
//! (`simd::dots`). Wide layers that stay on lanes vectorise over their outputs where there are at most 8 rows
//! (`simd::few`). A tile has rows of one group, such as a seed or a candidate with
//! weights of its own; in loops whose groups have too few rows to fill the lanes it has those of several, and small
//! weights then differ from lane to lane (`simd::row_product`).
//!
//! The number and order of partial sums depend on the summed length only (`simd::slice_len`): one seed gives the same
//! bits alone or stacked, on one thread or many. Products are chains of multiply-adds in order of the summed index,
//! fused where the instruction set fuses; elementary functions never fuse.

mod buffer;
mod call;
mod elide;
mod exec;
mod footprint;
pub(super) mod halt;
mod join;
#[cfg(test)]
mod join_tests;
// With threads, and with sizes that WebAssembly cannot address.
#[cfg(all(test, target_pointer_width = "64"))]
mod limits_tests;
mod lower;
mod lowering;
mod memory;
mod node;
mod norm;
#[cfg(not(target_arch = "wasm32"))]
mod print;
mod product;
mod run;
pub mod simd;
mod steps;
#[cfg(test)]
mod store_tests;
mod tile;
#[cfg(test)]
mod until_tests;
mod updates;
mod values;

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use self::buffer::{CpuBuffer, Words};
use self::exec::CpuExecutable;
use self::halt::Halt;
use self::simd::isa::Isa;
use super::{Backend, Buffer, BufferData, Caps, Executable, Interrupt, ReadFuture};
use crate::program::Trace;
use crate::{DType, Error, Result};

/// How the CPU backend works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuOptions {
    /// Threads; 0 for all of the processor. The results do not depend on it.
    pub threads: usize,
    /// Instruction set. One that the processor lacks is replaced by the best that it has.
    pub isa: Isa,
    /// Run chains of row-local kernels tile by tile. Without it every node is computed on its own, which tests
    /// compare with.
    pub tiles: bool,
}

impl Default for CpuOptions {
    fn default() -> Self {
        CpuOptions { threads: 0, isa: Isa::detect(), tiles: true }
    }
}

/// The CPU backend.
#[derive(Debug)]
pub struct Cpu {
    isa: Isa,
    threads: usize,
    tiles: bool,
    interrupt: Interrupt,
}

impl Cpu {
    /// A CPU device.
    pub fn new(options: CpuOptions) -> Cpu {
        let isa = if Isa::available().contains(&options.isa) { options.isa } else { Isa::detect() };
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            n => n,
        };
        let threads = if cfg!(feature = "parallel") { threads } else { 1 };
        Cpu { isa, threads, tiles: options.tiles, interrupt: Interrupt::default() }
    }
}

impl Backend for Cpu {
    fn caps(&self) -> Caps {
        Caps { name: format!("cpu ({})", self.isa), is_cpu: true, element_bytes: 4, max_bindings: usize::MAX }
    }

    fn alloc(&self, _dtype: DType, len: usize) -> Result<Rc<dyn BufferData>> {
        let words = Words::new(len).map_err(Halt::error)?;
        Ok(Rc::new(CpuBuffer { words: RefCell::new(words) }))
    }

    fn write(&self, buffer: &Buffer, first: usize, bytes: &[u8]) -> Result<()> {
        let mut words = words(buffer)?.words.borrow_mut();
        let to: &mut [u8] = bytemuck::cast_slice_mut(words.as_mut_slice());
        let at = first.saturating_mul(4)..first.saturating_mul(4).saturating_add(bytes.len());
        to.get_mut(at).ok_or_else(outside)?.copy_from_slice(bytes);
        Ok(())
    }

    fn read(&self, buffer: &Buffer, elements: Range<usize>) -> ReadFuture {
        let copy = |buffer: &CpuBuffer| {
            let words = buffer.words.borrow();
            let some = words.as_slice().get(elements).ok_or_else(outside)?;
            halt::copy(bytemuck::cast_slice(some)).map_err(Halt::error)
        };
        Box::pin(std::future::ready(words(buffer).and_then(copy)))
    }

    fn compile(&self, trace: Arc<Trace>) -> Result<Box<dyn Executable>> {
        let root = lower::lower(&trace, self.tiles, self.threads)?;
        let interrupt = self.interrupt.clone();
        Ok(Box::new(CpuExecutable { root, isa: self.isa, threads: self.threads, interrupt, moved: AtomicU64::new(0) }))
    }

    fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }
}

fn outside() -> Error {
    Error::Device("elements outside of a buffer were asked for".to_owned())
}

fn words(buffer: &Buffer) -> Result<&CpuBuffer> {
    let found = buffer.data.as_any().downcast_ref::<CpuBuffer>();
    found.ok_or_else(|| Error::Device("a buffer of another device was passed to the CPU".to_owned()))
}
