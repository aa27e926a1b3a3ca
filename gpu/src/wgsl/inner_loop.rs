//! Loops inside of calls, such as the integration steps of a body: each row runs them by itself, with its carries in
//! variables.

use quickstudy_kernels::tensor::op::Scan;
use quickstudy_kernels::tensor::{NodeId, Op};

use super::emit::Emitter;
use super::index::Ix;

impl Emitter<'_> {
    /// Writes a loop in whose place its results at an index are then known: every carry is of one shape, and a step
    /// reads no other elements of carries than this one.
    pub(super) fn inner_loop(&mut self, loop_: NodeId, scan: &Scan, at: &[Ix]) {
        let graph = self.graph;
        let node = &graph.nodes[loop_ as usize];
        let results = (0..graph.nodes.len() as NodeId).filter_map(|id| match graph.nodes[id as usize] {
            ref of if of.src.first() != Some(&loop_) => None,
            ref of => {
                if let Op::Out(i) = of.op {
                    Some((id, i as usize))
                } else {
                    None
                }
            }
        });
        let results: Vec<(NodeId, usize)> = results.collect();
        let params = &scan.body.params;
        let carry = |k: usize| &graph.nodes[params[1 + k] as usize].shape;
        if (0..scan.carries).any(|k| carry(k) != carry(0)) || scan.body.outs.len() > scan.carries {
            self.fault(loop_, "is a loop in a call whose carries differ in shape, or that stacks values");
            return;
        }
        // What does not change is computed before.
        for capture in &node.src[scan.carries + scan.xs..] {
            let shape = &graph.nodes[*capture as usize].shape;
            let fits = shape.len() <= at.len() && shape.iter().zip(carry(0)).all(|(a, b)| a == b || *a == 1);
            if fits {
                let own: Vec<Ix> =
                    shape.iter().zip(at).map(|(n, i)| if *n == 1 { Ix::Known(0) } else { i.clone() }).collect();
                self.value(*capture, &own);
            }
        }
        let first: Vec<String> = node.src[..scan.carries].iter().map(|src| self.value(*src, at)).collect();
        let names: Vec<String> = first.iter().map(|_| self.name("c")).collect();
        for (name, first) in names.iter().zip(&first) {
            self.line(&format!("var {name} = {first};"));
        }
        let turn = self.name("t");
        let step = match scan.reverse {
            true => format!("{}u - {turn}", scan.len - 1),
            false => turn.clone(),
        };
        self.turns(&format!("for (var {turn} = 0u; {turn} < {}u; {turn}++)", scan.len), scan.len, |emitter| {
            if let Some(done) = scan.until {
                emitter.line(&format!("if ({} != 0u) {{ break; }}", names[done]));
            }
            let step = emitter.bind(step);
            emitter.know(params[0], &[], &step);
            for (param, name) in params[1..].iter().zip(&names) {
                emitter.know(*param, at, name);
            }
            let rows = node.src[scan.carries..scan.carries + scan.xs].to_vec();
            emitter.turning.insert(scan.body.scope, (params[1 + scan.carries..].to_vec(), rows, Ix::var(&step)));
            let next: Vec<String> = scan.body.outs.iter().map(|out| emitter.value(*out, at)).collect();
            emitter.turning.remove(&scan.body.scope);
            // All at once: a carry may become what another one was.
            let kept: Vec<String> = next.iter().map(|_| emitter.name("n")).collect();
            for (kept, next) in kept.iter().zip(&next) {
                emitter.line(&format!("let {kept} = {next};"));
            }
            for (name, kept) in names.iter().zip(&kept) {
                emitter.line(&format!("{name} = {kept};"));
            }
        });
        for (id, i) in results {
            self.know(id, at, &names[i]);
        }
    }
}
