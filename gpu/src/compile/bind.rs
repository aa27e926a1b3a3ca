//! Finds where values of a plan are in memory, also through loops, and makes the bindings of kernels.

use quickstudy_kernels::Result;
use quickstudy_kernels::program::is_view;
use quickstudy_kernels::tensor::op::Scan;
use quickstudy_kernels::tensor::{Graph, NodeId};

use super::spot::{Home, Spot, Write, fault};
use crate::plan::{Kernel, Place, Plan};
use crate::wgsl::{Leaf, Memory, Words};

/// A schedule in its surroundings.
pub(super) struct Frame<'a> {
    /// The loop's kernel and the frame around.
    pub around: Option<(&'a Frame<'a>, &'a Kernel, NodeId, &'a Scan)>,
    /// The loop has one step: its kernels run as if there was none.
    pub is_flat: bool,
    /// Number of loops around, without those.
    pub level: usize,
    pub slots: Vec<Spot>,
    pub carries: Vec<Spot>,
    pub rows: Vec<Option<Spot>>,
}

/// Bindings of a kernel while they are gathered.
#[derive(Clone, Default)]
pub(super) struct Bindings {
    pub homes: Vec<Home>,
    /// All values in them.
    pub spots: Vec<Spot>,
    pub memory: Memory,
}

impl Bindings {
    /// The words of a value in what is bound.
    pub fn words(&mut self, spot: Spot) -> Words {
        if !self.spots.contains(&spot) {
            self.spots.push(spot);
        }
        let found = self.homes.iter().position(|h| *h == spot.home);
        let binding = found.unwrap_or_else(|| {
            self.homes.push(spot.home);
            self.memory.written.push(false);
            self.homes.len() - 1
        });
        Words { binding, first: spot.first }
    }

    /// The words of a value that is written, as of [`words`](Self::words).
    pub fn words_written(&mut self, spot: Spot) -> Words {
        let words = self.words(spot);
        self.memory.written[words.binding] = true;
        words
    }

    /// Notes that these values are written.
    pub fn write(&mut self, writes: &[Write]) {
        for (node, spot, row) in writes {
            let words = self.words_written(*spot);
            self.memory.writes.push((*node, words, *row));
        }
    }
}

/// The node that views lead to.
pub(super) fn root(graph: &Graph, mut id: NodeId) -> NodeId {
    while is_view(&graph.nodes[id as usize].op) {
        id = graph.nodes[id as usize].src[0];
    }
    id
}

impl Frame<'_> {
    /// The level of the loop around, whose step there is while it runs; none of a loop of one step, which is always at
    /// its first.
    fn step(&self) -> Option<usize> {
        if self.is_flat { None } else { self.level.checked_sub(1) }
    }

    fn carry(&self, param: usize) -> Option<Spot> {
        self.carries.get(param.wrapping_sub(1)).copied()
    }

    /// Binds the memory of a value that a kernel reads.
    pub fn leaf(&self, plan: &Plan, node: NodeId, place: Place, bindings: &mut Bindings) -> Result<()> {
        let spot = match place {
            Place::Arg(i) => Spot::arg(i),
            Place::Slot(i) => self.slots[i],
            Place::Param(p) => {
                if let Some(spot) = self.carry(p) {
                    spot
                } else if let Some((outer, kernel, scan, _)) = &self.around {
                    let src = plan.trace.graph.nodes[*scan as usize].src[p - 1];
                    bindings.memory.leaves.insert(node, Leaf::Row(src, self.step()));
                    return outer.value(plan, kernel, root(&plan.trace.graph, src), bindings);
                } else {
                    return fault("a parameter is read outside of loops");
                }
            }
            Place::Outer => {
                let Some((outer, kernel, ..)) = &self.around else {
                    return fault("something outside of the outermost schedule is read");
                };
                return outer.value(plan, kernel, node, bindings);
            }
            Place::Row(_) => return fault("a stacked output is read"),
        };
        let words = bindings.words(spot);
        bindings.memory.leaves.insert(node, Leaf::Buffer(words));
        Ok(())
    }

    /// Binds a value that a kernel of this schedule, a loop, reads.
    pub fn value(&self, plan: &Plan, kernel: &Kernel, node: NodeId, bindings: &mut Bindings) -> Result<()> {
        match kernel.reads.iter().find(|r| r.0 == node) {
            Some((node, place)) => self.leaf(plan, *node, *place, bindings),
            // A constant.
            None => Ok(()),
        }
    }

    /// Where a value is written, and the loop level whose step selects the row; none if nobody reads it.
    pub fn write(&self, place: Place) -> Result<Option<(Spot, Option<usize>)>> {
        Ok(match place {
            Place::Arg(i) => Some((Spot::arg(i), None)),
            Place::Slot(i) => Some((self.slots[i], None)),
            Place::Param(p) if self.carry(p).is_some() => self.carry(p).map(|spot| (spot, None)),
            Place::Row(i) => self.rows[i].map(|spot| (spot, self.step())),
            place => return fault(&format!("{place:?} is written")),
        })
    }

    /// The level of the loop around whose step a parameter is.
    pub fn level_of(&self, param: NodeId) -> Option<usize> {
        let (outer, _, _, scan) = self.around.as_ref()?;
        if scan.body.params[0] == param { self.step() } else { outer.level_of(param) }
    }

    /// Steps are constants of the kernels in loops.
    pub fn steps_of(&self, bindings: &mut Bindings) {
        let mut at = Some(self);
        while let Some(frame) = at {
            if let Some((outer, _, _, scan)) = &frame.around {
                bindings.memory.leaves.insert(scan.body.params[0], Leaf::Step(frame.step()));
                at = Some(outer);
            } else {
                at = None;
            }
        }
    }
}
