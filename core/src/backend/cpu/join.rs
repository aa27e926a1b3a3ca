//! Parts of a concatenation computed in their place: sums over rows, such as the gradients of weights and biases.

use rustc_hash::FxHashMap;

use super::elide::reads;
use super::steps::{Lowered, LoweredStep};
use super::values::{Storage, ValueId, View};
use crate::tensor::Op;

impl Lowered {
    /// Let sums over rows that only a concatenation along the last of two axes reads be written to their part of it.
    /// `kept` are values that are read once the steps have run.
    pub fn join_terminals(&mut self, kept: &[ValueId]) {
        let mut readers: FxHashMap<ValueId, usize> = FxHashMap::default();
        kept.iter().for_each(|value| *readers.entry(*value).or_default() += 1);
        self.steps.iter().for_each(|step| reads(step, &mut |value, _| *readers.entry(value).or_default() += 1));
        // Values of which terminals write parts.
        let mut joined: Vec<ValueId> = Vec::new();
        for at in 0..self.steps.len() {
            let LoweredStep::Node(node) = &self.steps[at] else { continue };
            let ([groups, width], Op::Concat { axis: 1 }) = (&node.shape[..], &node.op) else { continue };
            let (groups, width, whole) = (*groups, *width, node.dst[0]);
            if !matches!(self.storage[whole], Storage::Temp(_)) {
                continue;
            }
            let mut offset = 0;
            let mut places = Vec::new();
            for (i, view) in node.src.iter().enumerate() {
                if readers.get(&view.value) == Some(&1) && self.is_whole_temp(view) && !joined.contains(&view.value) {
                    places.push((i, view.value, offset));
                }
                offset += view.shape[1];
            }
            for (i, value, offset) in places {
                let terminals = self.steps[..at].iter_mut().filter_map(|step| match step {
                    LoweredStep::Tile(tile) => Some(&mut tile.terminals),
                    _ => None,
                });
                let Some(terminal) = terminals.flatten().find(|terminal| terminal.dst == value) else { continue };
                (terminal.dst, terminal.offset, terminal.group) = (whole, offset, width);
                let shape = vec![groups, terminal.size];
                self.storage[value] = Storage::Temp(0);
                joined.push(whole);
                if let LoweredStep::Node(node) = &mut self.steps[at] {
                    node.src[i] = View { value: whole, offset, shape, strides: vec![width, 1] };
                }
            }
        }
        // Nothing is left to copy.
        self.steps.retain(|step| match step {
            LoweredStep::Node(node) if matches!(node.op, Op::Concat { .. }) => {
                node.src.iter().any(|view| view.value != node.dst[0])
            }
            _ => true,
        });
    }
}
