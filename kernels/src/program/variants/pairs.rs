//! The walk over the variants side by side: which nodes correspond, and in which numbers they differ.

use rustc_hash::FxHashMap;

use super::trace::{SHARED, VariantTrace, apart};
use crate::program::row_numbers::{NumberColumn, RowNumbers};
use crate::tensor::op::Body;
use crate::tensor::{Binary, Graph, Node, NodeId, Op, Unary};
use crate::{DType, Result};

/// Corresponding nodes, one per variant.
pub(super) type Tuple = Box<[NodeId]>;

/// Nodes that correspond, as one node of the joined graph.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum NodePair {
    /// One operation, of operands that correspond.
    Same,
    /// A constant that is the same in all variants: the bits of [`Op::Const`].
    Constant(u64),
    /// A number of each row: the place of its column.
    Number(usize),
    /// A tensor times a number of each row, which is 1 where a variant has no product.
    Scaled(Tuple, usize),
}

/// The variants side by side.
pub(super) struct Pairs<'a> {
    pub traces: &'a [VariantTrace],
    /// All tuples in an order in which they can be made: operands before users, as in the variants.
    pub order: Vec<Tuple>,
    pub pairs: FxHashMap<Tuple, NodePair>,
    pub numbers: RowNumbers,
}

impl<'a> Pairs<'a> {
    /// Walks back from the results.
    pub(super) fn of(traces: &'a [VariantTrace]) -> Result<Pairs<'a>> {
        let mut all = Pairs { traces, order: Vec::new(), pairs: FxHashMap::default(), numbers: RowNumbers::default() };
        let results = traces[0].0.results.len();
        let mut waiting: Vec<Tuple> =
            (0..results).map(|i| traces.iter().map(|(cx, _)| cx.results[i].0.raw()).collect()).collect();
        while let Some(tuple) = waiting.pop() {
            if all.pairs.contains_key(&tuple) {
                continue;
            }
            let (pair, operands) = all.pair(&tuple)?;
            waiting.extend(operands);
            all.pairs.insert(tuple, pair);
        }
        // A node's operands come before it in each variant, so this is an order of the joined graph, too; and bodies
        // of loops lie within each other as in the first variant.
        all.order = all.pairs.keys().cloned().collect();
        all.order.sort_unstable();
        Ok(all)
    }

    fn graphs(&self) -> impl Iterator<Item = &'a Graph> {
        self.traces.iter().map(|(_, graph)| graph)
    }

    fn nodes(&self, tuple: &[NodeId]) -> Vec<&'a Node> {
        self.graphs().zip(tuple).map(|(graph, id)| &graph.nodes[*id as usize]).collect()
    }

    /// How nodes correspond, and the tuples that they need.
    fn pair(&mut self, tuple: &Tuple) -> Result<(NodePair, Vec<Tuple>)> {
        let nodes = self.nodes(tuple);
        let first = nodes[0];
        if let Some(other) = nodes.iter().find(|node| node.shape != first.shape || node.dtype != first.dtype) {
            return Err(apart(format_args!(
                "`{}` has the shape {:?} in one and {:?} in another (at {})",
                first.op.name(),
                first.shape,
                other.shape,
                first.origin
            )));
        }
        let constants = |of: fn(&Graph, NodeId) -> Option<u64>| -> Option<Vec<u64>> {
            self.graphs().zip(tuple).map(|(graph, id)| of(graph, *id)).collect()
        };
        if let Some(bits) = constants(constant) {
            return Ok((self.number(first.dtype, &bits), Vec::new()));
        }
        if let Some(operands) = self.same(&nodes)? {
            let pair = match first.op {
                Op::Scalar(i) if self.traces[0].0.scalars[i as usize].name != SHARED => {
                    let name = self.traces[0].0.scalars[i as usize].name.clone();
                    NodePair::Number(self.numbers.column(first.dtype, NumberColumn::Scalar(name)))
                }
                _ => NodePair::Same,
            };
            return Ok((pair, operands));
        }
        if let Some(bits) = constants(computed) {
            return Ok((self.number(first.dtype, &bits), Vec::new()));
        }
        if let Some((of, factors)) = self.scaled(tuple, &nodes) {
            let NodePair::Number(column) = self.number(DType::F32, &factors) else {
                return Err(apart(format_args!("a factor is missing in one of them (at {})", first.origin)));
            };
            return Ok((NodePair::Scaled(of.clone(), column), vec![of]));
        }
        let other = nodes.iter().find(|node| node.op.name() != first.op.name()).unwrap_or(&first);
        Err(apart(format_args!(
            "one computes `{}` where another computes `{}`{} (at {})",
            first.op.name(),
            other.op.name(),
            if other.op.name() == first.op.name() { " of something else" } else { "" },
            first.origin
        )))
    }

    /// The constant of the variants, given as bits of [`Op::Const`].
    fn number(&mut self, dtype: DType, bits: &[u64]) -> NodePair {
        if bits.iter().all(|other| *other == bits[0]) {
            return NodePair::Constant(bits[0]);
        }
        let value = |bits: &u64| match dtype {
            DType::F32 => f64::from_bits(*bits),
            DType::U32 => *bits as f64,
        };
        NodePair::Number(self.numbers.column(dtype, NumberColumn::Constant(bits.iter().map(value).collect())))
    }

    /// The operands of nodes of the same operation, in tuples, and all that the body of a loop needs; none if
    /// operations differ.
    fn same(&self, nodes: &[&Node]) -> Result<Option<Vec<Tuple>>> {
        let first = nodes[0];
        let alike = |node: &&Node| match (&first.op, &node.op) {
            (Op::Scan(a), Op::Scan(b)) => {
                let of = |scan: &crate::tensor::op::Scan| {
                    let Body { params, outs, .. } = &scan.body;
                    (scan.len, scan.reverse, scan.carries, scan.xs, scan.until, params.len(), outs.len())
                };
                of(a) == of(b)
            }
            (Op::Call(a), Op::Call(b)) => a.name == b.name && a.body.outs.len() == b.body.outs.len(),
            (Op::Scan(_) | Op::Call(_), _) | (_, Op::Scan(_) | Op::Call(_)) => false,
            (a, b) => a == b && first.src.len() == node.src.len(),
        };
        if !nodes.iter().all(alike) {
            return Ok(None);
        }
        let tuples = |count: usize, of: &dyn Fn(&Node) -> &[NodeId]| -> Vec<Tuple> {
            (0..count).map(|i| nodes.iter().map(|node| of(node)[i]).collect()).collect()
        };
        let body = match &first.op {
            Op::Scan(scan) => Some((&scan.body, scan.carries + scan.xs)),
            Op::Call(call) => Some((&call.body, first.src.len())),
            _ => None,
        };
        let Some((body, operands)) = body else { return Ok(Some(tuples(first.src.len(), &|node| &node.src))) };
        // What a loop captures follows from its body.
        let mut all = tuples(operands, &|node| &node.src);
        all.extend(tuples(body.params.len(), &|node| body_of(node).map_or(&[], |body| &body.params)));
        all.extend(tuples(body.outs.len(), &|node| body_of(node).map_or(&[], |body| &body.outs)));
        Ok(Some(all))
    }

    /// The nodes without a constant factor that some of them have, and the factors.
    fn scaled(&self, tuple: &Tuple, nodes: &[&Node]) -> Option<(Tuple, Vec<u64>)> {
        let factor = |graph: &Graph, node: &Node| match node.op {
            Op::Binary(Binary::Mul) if node.dtype == DType::F32 => {
                let of = [constant(graph, node.src[0]), constant(graph, node.src[1])];
                match of {
                    [Some(factor), None] => Some((node.src[1], factor)),
                    [None, Some(factor)] => Some((node.src[0], factor)),
                    _ => None,
                }
            }
            _ => None,
        };
        let found: Vec<Option<(NodeId, u64)>> =
            self.graphs().zip(nodes).map(|(graph, node)| factor(graph, node)).collect();
        if nodes[0].dtype != DType::F32 || found.iter().all(Option::is_none) {
            return None;
        }
        let each = found.iter().zip(tuple).map(|(found, own)| found.unwrap_or((*own, 1f64.to_bits())));
        let (of, factors): (Vec<NodeId>, Vec<u64>) = each.unzip();
        (of[..] != tuple[..] && found.iter().any(Option::is_none)).then(|| (of.into(), factors))
    }
}

/// The body of a loop or a call.
pub(super) fn body_of(node: &Node) -> Option<&Body> {
    match &node.op {
        Op::Scan(scan) => Some(&scan.body),
        Op::Call(call) => Some(&call.body),
        _ => None,
    }
}

/// The bits of the constant that a tensor has everywhere, if it is one.
fn constant(graph: &Graph, id: NodeId) -> Option<u64> {
    let node = &graph.nodes[id as usize];
    match node.op {
        Op::Const(bits) => Some(bits),
        Op::Reshape | Op::Broadcast => constant(graph, node.src[0]),
        _ => None,
    }
}

/// As [`constant`], also of what is computed of constants by operations that all devices do alike. A trace folds these
/// where f64 and f32 agree, so that one variant may have a constant where another computes.
fn computed(graph: &Graph, id: NodeId) -> Option<u64> {
    let node = &graph.nodes[id as usize];
    let operand = |i: usize| computed(graph, node.src[i]).map(|bits| f64::from_bits(bits) as f32);
    let value = match node.op {
        Op::Const(_) | Op::Reshape | Op::Broadcast => {
            return constant(graph, id).or_else(|| computed(graph, *node.src.first()?));
        }
        _ if node.dtype != DType::F32 => return None,
        Op::Unary(Unary::Neg) => -operand(0)?,
        Op::Unary(Unary::Stop) => operand(0)?,
        Op::Binary(Binary::Add) => operand(0)? + operand(1)?,
        Op::Binary(Binary::Mul) => operand(0)? * operand(1)?,
        _ => return None,
    };
    Some(f64::from(value).to_bits())
}
