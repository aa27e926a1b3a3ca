//! How a node's elements lie in the memory of the value that it is a view of.

use super::views::is_view;
use crate::tensor::{Graph, NodeId, Op};

/// Element `i` (one index per axis of the node) is at `offset + Σ iₐ · strides[a]` of the value of `root`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The node whose value is kept in memory.
    pub root: NodeId,
    /// Position of the first element.
    pub offset: usize,
    /// Distance of neighbours along each axis; 0 where repeated.
    pub strides: Vec<usize>,
}

impl Access {
    /// Row-major access to a kept value.
    pub fn whole(root: NodeId, shape: &[usize]) -> Access {
        Access { root, offset: 0, strides: row_major(shape) }
    }

    /// Tells whether the elements of `shape` are one after the other.
    pub fn is_contiguous(&self, shape: &[usize]) -> bool {
        let dense = row_major(shape);
        shape.iter().zip(&self.strides).zip(&dense).all(|((n, s), d)| *n == 1 || s == d)
    }
}

/// Strides of a dense row-major tensor.
pub fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i];
    }
    strides
}

/// Visit the positions of a strided tensor in row-major order.
pub fn walk(shape: &[usize], strides: &[usize], offset: usize, visit: &mut impl FnMut(usize)) {
    match (shape, strides) {
        ([], _) => visit(offset),
        ([n], [s]) => (0..*n).for_each(|i| visit(offset + i * s)),
        ([n, shape @ ..], [s, strides @ ..]) => {
            for i in 0..*n {
                walk(shape, strides, offset + i * s, visit);
            }
        }
        _ => {}
    }
}

/// Access to `node` through its views, down to the first node of which `kept` says how it is in memory.
///
/// # Errors
/// The operand of a reshape that no strides can express: it has to be copied into memory first.
pub fn access(graph: &Graph, node: NodeId, kept: &dyn Fn(NodeId) -> Option<Access>) -> Result<Access, NodeId> {
    let n = &graph.nodes[node as usize];
    if let Some(known) = kept(node) {
        return Ok(known);
    }
    if !is_view(&n.op) {
        return Ok(Access::whole(node, &n.shape));
    }
    let src = n.src[0];
    let inner = access(graph, src, kept)?;
    let own = &graph.nodes[src as usize].shape;
    let Access { root, mut offset, mut strides } = inner;
    match &n.op {
        Op::Broadcast => {
            for (s, (from, to)) in strides.iter_mut().zip(own.iter().zip(&n.shape)) {
                if from != to {
                    *s = 0;
                }
            }
        }
        Op::Permute(p) => strides = p.iter().map(|i| strides[*i]).collect(),
        Op::Slice { axis, lo, .. } => offset += lo * strides[*axis],
        _ => strides = reshape(own, &strides, &n.shape).ok_or(src)?,
    }
    Ok(Access { root, offset, strides })
}

/// Strides of the same elements under another shape, if there are any.
fn reshape(from: &[usize], strides: &[usize], to: &[usize]) -> Option<Vec<usize>> {
    let kept: Vec<(usize, usize)> =
        from.iter().copied().zip(strides.iter().copied()).filter(|(n, _)| *n != 1).collect();
    let mut result = vec![0; to.len()];
    let (mut i, mut j) = (0, 0);
    while j < to.len() {
        if to[j] == 1 {
            j += 1;
            continue;
        }
        // The shortest runs of old and new axes with the same number of elements.
        let (mut old, mut new) = (kept.get(i)?.0, to[j]);
        let (i0, j0) = (i, j);
        while old != new {
            if old < new {
                i += 1;
                old *= kept.get(i)?.0;
            } else {
                j += 1;
                new *= to.get(j)?;
            }
        }
        // The old run must be one long axis in memory.
        for a in i0..i {
            if kept[a].1 != kept[a + 1].1 * kept[a + 1].0 {
                return None;
            }
        }
        let mut stride = kept[i].1;
        for a in (j0..=j).rev() {
            result[a] = stride;
            stride *= to[a];
        }
        i += 1;
        j += 1;
    }
    Some(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_split_and_merge_where_memory_allows() {
        assert_eq!(reshape(&[6], &[2], &[2, 3]), Some(vec![6, 2]));
        assert_eq!(reshape(&[2, 3], &[3, 1], &[6]), Some(vec![1]));
        assert_eq!(reshape(&[2, 3], &[1, 2], &[6]), None);
        assert_eq!(reshape(&[2, 3], &[0, 0], &[6]), Some(vec![0]));
        assert_eq!(reshape(&[4, 3], &[3, 1], &[2, 1, 2, 3]), Some(vec![6, 6, 3, 1]));
        assert_eq!(reshape(&[1], &[1], &[]), Some(vec![]));
    }
}
