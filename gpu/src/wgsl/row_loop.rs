//! A loop whose rows do not see each other, and what a row of it has.

use quickstudy_kernels::tensor::op::Scan;
use quickstudy_kernels::tensor::{Graph, NodeId, Op};
use quickstudy_kernels::{Error, Result};

use super::emit::Emitter;
use super::index::Ix;
use super::memory::{Memory, Words};
use crate::plan::{KernelSchedule, Place};

/// A loop, and the buffers that it touches.
pub(crate) struct RowLoop<'a> {
    pub graph: &'a Graph,
    pub node: NodeId,
    pub scan: &'a Scan,
    pub body: &'a KernelSchedule,
    /// Number of loops around.
    pub level: usize,
    /// The values that the body reads from around it, and the step of loops around.
    pub memory: Memory,
    /// The place of each carry, and true where it starts as the values there.
    pub carries: Vec<(Words, bool)>,
    /// The place of each stacked output.
    pub rows: Vec<Option<Words>>,
    /// Bytes of workgroup memory for products that invocations share; none if they share none.
    pub team_bytes: Option<usize>,
}

pub(super) fn no<T>() -> Result<T> {
    Err(Error::Device("the loop's rows are not independent".to_owned()))
}

impl RowLoop<'_> {
    /// The leading axes that all values of a step share.
    pub(super) fn domain(&self) -> Vec<usize> {
        let mut shapes = self.scan.body.outs.iter().map(|id| &self.graph.nodes[*id as usize].shape);
        let Some(mut domain) = shapes.next().cloned() else {
            return Vec::new();
        };
        for shape in shapes {
            let same = domain.iter().zip(shape).take_while(|(a, b)| a == b).count();
            domain.truncate(same);
        }
        domain
    }

    /// The largest value of a slot, per row.
    pub(super) fn slot(&self, k: usize) -> Option<usize> {
        let held = self.body.kernels.iter().flat_map(|kernel| kernel.writes.iter().chain(&kernel.reads));
        held.filter(|(_, place)| *place == Place::Slot(k)).filter_map(|(node, _)| self.width(*node).ok()).max()
    }

    /// Elements of a node's value per row.
    pub(super) fn width(&self, node: NodeId) -> Result<usize> {
        let shape = &self.graph.nodes[node as usize].shape;
        let domain = self.domain();
        let fits = shape.len() >= domain.len() && shape.iter().zip(&domain).all(|(a, b)| a == b || *a == 1);
        if fits { Ok(shape[domain.len()..].iter().product()) } else { no() }
    }

    /// Index of element `k` of this row.
    pub(super) fn at(&self, emitter: &mut Emitter<'_>, shape: &[usize], k: &Ix) -> Vec<Ix> {
        let n = emitter.row.len();
        let rest = emitter.unflat(&shape[n..], k);
        let row = emitter.row.iter().zip(shape).map(|(i, n)| if *n == 1 { Ix::Known(0) } else { i.clone() });
        row.chain(rest).collect()
    }

    /// The carry that ends a row.
    pub(super) fn done(&self) -> Option<usize> {
        self.scan.until.filter(|_| self.rows.is_empty())
    }

    /// Tells whether a step has products.
    pub(super) fn multiplies(&self) -> bool {
        let mut nodes = self.body.kernels.iter().flat_map(|kernel| &kernel.nodes);
        nodes.any(|id| matches!(self.graph.nodes[*id as usize].op, Op::MatMul { .. }))
    }
}
