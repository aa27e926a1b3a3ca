//! Elements that come from elsewhere, depending on where they are: padding, joined operands, rows by index.

use quickstudy_kernels::tensor::NodeId;

use super::emit::Emitter;
use super::index::Ix;

impl Emitter<'_> {
    pub(super) fn pad(&mut self, id: NodeId, axis: usize, lo: usize, at: &[Ix]) -> String {
        let src = self.graph.nodes[id as usize].src[0];
        let n = self.graph.nodes[src as usize].shape[axis];
        if let Ix::Known(i) = at[axis] {
            if i < lo || i >= lo + n {
                return self.zero(id).to_owned();
            }
            let mut inner = at.to_vec();
            inner[axis] = Ix::Known(i - lo);
            return self.value(src, &inner);
        }
        let name = self.name("p");
        let zero = self.zero(id);
        self.line(&format!("var {name} = {zero};"));
        let inside = format!("if ({i} >= {lo}u && {i} < {}u)", lo + n, i = at[axis]);
        self.block(&inside, |this| {
            let mut inner = at.to_vec();
            inner[axis] = if n == 1 { Ix::Known(0) } else { this.index(format!("{} - {lo}u", at[axis])) };
            let x = this.value(src, &inner);
            this.line(&format!("{name} = {x};"));
        });
        name
    }

    /// Some operands of a Concat; the index along the axis is that of the whole.
    pub fn concat(&mut self, id: NodeId, axis: usize, operands: std::ops::Range<usize>, at: &[Ix]) -> String {
        let graph = self.graph;
        let node = &graph.nodes[id as usize];
        let size = |s: NodeId| graph.nodes[s as usize].shape[axis];
        let mut lo: usize = node.src[..operands.start].iter().map(|s| size(*s)).sum();
        if let Ix::Known(i) = at[axis] {
            for s in &node.src[operands] {
                if i < lo + size(*s) {
                    let mut inner = at.to_vec();
                    inner[axis] = Ix::Known(i - lo);
                    return self.value(*s, &inner);
                }
                lo += size(*s);
            }
            return self.zero(id).to_owned();
        }
        let name = self.name("p");
        let zero = self.zero(id);
        self.line(&format!("var {name} = {zero};"));
        for s in &node.src[operands] {
            let n = size(*s);
            let inside = match lo {
                0 => format!("if ({} < {n}u)", at[axis]),
                _ => format!("if ({i} >= {lo}u && {i} < {}u)", lo + n, i = at[axis]),
            };
            self.block(&inside, |this| {
                let mut inner = at.to_vec();
                inner[axis] = match (n, lo) {
                    (1, _) => Ix::Known(0),
                    (_, 0) => at[axis].clone(),
                    _ => this.index(format!("{} - {lo}u", at[axis])),
                };
                let x = this.value(*s, &inner);
                this.line(&format!("{name} = {x};"));
            });
            lo += n;
        }
        name
    }

    pub(super) fn gather(&mut self, id: NodeId, at: &[Ix]) -> String {
        let graph = self.graph;
        let node = &graph.nodes[id as usize];
        let (src, index) = (node.src[0], node.src[1]);
        let axis = graph.nodes[index as usize].shape.len() - 1;
        let n = graph.nodes[src as usize].shape[axis];
        let row = if n == 1 {
            Ix::Known(0)
        } else {
            let row = self.value(index, &at[..=axis]);
            self.index(format!("min({row}, {}u)", n - 1))
        };
        let mut inner = at.to_vec();
        inner[axis] = row;
        self.value(src, &inner)
    }
}
