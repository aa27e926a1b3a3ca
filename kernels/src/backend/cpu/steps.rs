//! The steps that a schedule is lowered to: they work on values in memory.

use super::buffer::Words;
use super::tile::{Tile, Workspace, plays};
use super::values::{Storage, ValueId, View};
use crate::backend::Census;
use crate::tensor::{DType, NodeId, Op};

/// One step of a lowered schedule.
#[derive(Debug)]
pub enum LoweredStep {
    /// Write the elements of a view one after the other to a value.
    Copy {
        /// The elements to copy.
        src: View,
        /// The value that is written.
        dst: ValueId,
    },
    /// Compute one node for all its elements.
    Node(NodeStep),
    /// Run a loop.
    Scan(Box<ScanStep>),
    /// Run a group of nodes tile by tile.
    Tile(Box<Tile>),
}

/// One node, computed for all its elements at once.
#[derive(Debug)]
pub struct NodeStep {
    /// The node.
    pub id: NodeId,
    /// Its operation.
    pub op: Op,
    /// Data type of its first operand.
    pub dtype: DType,
    /// Its operands.
    pub src: Vec<View>,
    /// Where its results go, dense but for a product that is a part of a concatenation.
    pub dst: Vec<ValueId>,
    /// Position of the first element in the result, and distance of groups where they are apart.
    pub place: (usize, Option<usize>),
    /// Its shape.
    pub shape: Vec<usize>,
    /// The trailing sizes of a call's results.
    pub widths: Vec<usize>,
}

/// A loop over a lowered body.
#[derive(Debug)]
pub struct ScanStep {
    /// Number of steps.
    pub len: usize,
    /// Backwards.
    pub reverse: bool,
    /// Which carry stops it.
    pub until: Option<usize>,
    /// Carries.
    pub carries: Vec<Carry>,
    /// The body's index parameter.
    pub index: ValueId,
    /// Stacked inputs: view of the whole, body's parameter, elements of a row.
    pub xs: Vec<(View, ValueId, usize)>,
    /// Stacked outputs: value, body's view of a row.
    pub ys: Vec<(ValueId, View)>,
    /// The body.
    pub body: Lowered,
}

/// A carry of a loop.
#[derive(Debug)]
pub struct Carry {
    /// Its first value, in the schedule around.
    pub init: View,
    /// Where it is kept and ends up, in the schedule around.
    pub kept: ValueId,
    /// The body's parameter.
    pub param: ValueId,
    /// Its new value, in the body.
    pub next: View,
    /// Copy of the new value, made before any carry changes, where the new value is a view of a parameter.
    pub staged: Option<ValueId>,
    /// The new value is the old one.
    pub unchanged: bool,
}

impl Lowered {
    /// Numbers of kernels for whole formulas, loops included.
    pub fn census(&self) -> Census {
        let mut census = Census::default();
        for step in &self.steps {
            match step {
                LoweredStep::Scan(scan) => {
                    census += scan.body.census();
                    census.plays_by_steps += usize::from(scan.body.plays());
                }
                LoweredStep::Tile(tile) => census += tile.census(),
                _ => {}
            }
        }
        census
    }

    /// Tells whether environments are stepped.
    fn plays(&self) -> bool {
        self.steps.iter().any(|step| match step {
            LoweredStep::Scan(scan) => scan.body.plays(),
            LoweredStep::Tile(tile) => plays(&tile.code),
            _ => false,
        })
    }
}

/// A schedule ready to run.
#[derive(Debug, Default)]
pub struct Lowered {
    /// The steps, in order.
    pub steps: Vec<LoweredStep>,
    /// The values.
    pub storage: Vec<Storage>,
    /// The nodes that they hold; [`NO_NODE`](super::values::NO_NODE) where that is not one.
    pub nodes: Vec<NodeId>,
    /// Memory of the values that have their own, made at the first run.
    pub words: Vec<Words>,
    /// Scratch of the tiles.
    pub space: Workspace,
}
