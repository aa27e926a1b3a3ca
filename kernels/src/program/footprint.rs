//! The memory that a program takes.

use super::trace::Trace;
use crate::error::in_bytes;
use crate::tensor::NodeId;

/// Parts that are told apart.
const LARGEST: usize = 3;

/// The content of a part of a program's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// The argument of that number.
    Argument(usize),
    /// The value of that node.
    Value(NodeId),
    /// Operands of that node, while it is computed.
    Operands(NodeId),
    /// The memory that threads need to compute.
    Scratch,
}

/// The memory that a program takes, in bytes: added up when it is compiled, before anything is allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// All arguments.
    pub args: u64,
    /// All else.
    pub own: u64,
    /// The largest parts, the largest first.
    largest: Vec<(u64, Holds)>,
}

impl Footprint {
    /// The arguments of a program, whose elements have so many bytes.
    pub fn of_arguments(trace: &Trace, element_bytes: usize) -> Footprint {
        let mut footprint = Footprint::default();
        for (i, arg) in trace.args.iter().enumerate() {
            let bytes = arg.shape.iter().product::<usize>() as u64 * element_bytes as u64;
            footprint.args = footprint.args.saturating_add(bytes);
            footprint.rank(bytes, Holds::Argument(i));
        }
        footprint
    }

    /// Adds memory of the program's own.
    pub fn add(&mut self, bytes: u64, holds: Holds) {
        self.own = self.own.saturating_add(bytes);
        self.rank(bytes, holds);
    }

    fn rank(&mut self, bytes: u64, holds: Holds) {
        let at = self.largest.partition_point(|part| part.0 >= bytes);
        if at < LARGEST && bytes > 0 {
            self.largest.insert(at, (bytes, holds));
            self.largest.truncate(LARGEST);
        }
    }

    /// Bytes of everything.
    pub fn bytes(&self) -> u64 {
        self.args.saturating_add(self.own)
    }

    /// The largest parts in words: bytes, name, shape and where it was made.
    pub fn describe(&self, trace: &Trace) -> Vec<String> {
        let one = |(bytes, holds): &(u64, Holds)| {
            let bytes = in_bytes(*bytes);
            let node = |id: &NodeId| &trace.graph.nodes[*id as usize];
            match holds {
                Holds::Argument(i) => {
                    let arg = &trace.args[*i];
                    format!("{bytes} for the {} `{}` {:?}", arg.role.name(), arg.name, arg.shape)
                }
                Holds::Value(id) => {
                    let node = node(id);
                    format!("{bytes} for `{}` {:?} ({})", node.op.name(), node.shape, node.origin)
                }
                Holds::Operands(id) => {
                    let node = node(id);
                    format!("{bytes} while `{}` {:?} is computed ({})", node.op.name(), node.shape, node.origin)
                }
                Holds::Scratch => format!("{bytes} for what threads need to compute"),
            }
        };
        self.largest.iter().map(one).collect()
    }
}
