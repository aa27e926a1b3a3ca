//! Single numbers that depend on the steps of loops alone: the host knows them without asking the device.

use quickstudy_kernels::DType;
use quickstudy_kernels::tensor::op::Binary;
use quickstudy_kernels::tensor::{Graph, NodeId, Op, Unary};

use super::bind::root;

/// A number, as it is computed from the steps of the loops around, the outermost first. Values are the 32 bits that a
/// device would have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    Bits(u32),
    /// The step of the loop of that level.
    Step(usize),
    Unary(Unary, DType, Box<Number>),
    Binary(Binary, DType, [Box<Number>; 2]),
    Select([Box<Number>; 3]),
}

/// Operations that are looked at for one number.
const MOST: usize = 256;

impl Number {
    /// The number that a node is, if it depends on constants and steps alone. `level` tells the loop whose step a
    /// parameter is.
    pub fn of(graph: &Graph, node: NodeId, level: &dyn Fn(NodeId) -> Option<usize>) -> Option<Number> {
        let mut left = MOST;
        Number::within(graph, node, level, &mut left)
    }

    fn within(graph: &Graph, id: NodeId, level: &dyn Fn(NodeId) -> Option<usize>, left: &mut usize) -> Option<Number> {
        *left = left.checked_sub(1)?;
        let id = root(graph, id);
        let node = &graph.nodes[id as usize];
        if node.len() != 1 {
            return None;
        }
        let operand = |k: usize, left: &mut usize| Some(Box::new(Number::within(graph, node.src[k], level, left)?));
        let dtype = node.src.first().map_or(node.dtype, |s| graph.nodes[*s as usize].dtype);
        match &node.op {
            Op::Const(bits) => Some(Number::Bits(match node.dtype {
                DType::F32 => (f64::from_bits(*bits) as f32).to_bits(),
                DType::U32 => *bits as u32,
            })),
            Op::Param(0) => level(id).map(Number::Step),
            // Those that every device computes to the same bits.
            Op::Unary(op @ (Unary::Neg | Unary::Floor | Unary::Cast(_))) => {
                Some(Number::Unary(*op, dtype, operand(0, left)?))
            }
            Op::Binary(op) => Some(Number::Binary(*op, dtype, [operand(0, left)?, operand(1, left)?])),
            Op::Select => Some(Number::Select([operand(0, left)?, operand(1, left)?, operand(2, left)?])),
            _ => None,
        }
    }

    /// Its bits at these steps.
    pub fn at(&self, steps: &[u32]) -> u32 {
        match self {
            Number::Bits(bits) => *bits,
            Number::Step(level) => steps.get(*level).copied().unwrap_or(0),
            Number::Unary(op, dtype, x) => op.of_bits(*dtype, x.at(steps)),
            Number::Binary(op, dtype, [x, y]) => op.of_bits(*dtype, x.at(steps), y.at(steps)),
            Number::Select([condition, x, y]) => {
                if condition.at(steps) != 0 {
                    x.at(steps)
                } else {
                    y.at(steps)
                }
            }
        }
    }
}
