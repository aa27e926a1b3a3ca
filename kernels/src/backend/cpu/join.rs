//! Parts of a concatenation computed in their place, such as the gradients of weights, biases and scales.

use rustc_hash::FxHashMap;

use super::elide::reads;
use super::steps::{Lowered, LoweredStep, NodeStep};
use super::tile::{Instr, Tile};
use super::values::{Storage, ValueId, View};
use crate::tensor::Op;

/// The place of a part of a concatenation.
#[derive(Clone, Copy, Debug)]
struct JoinedPart {
    /// The concatenation.
    whole: ValueId,
    /// Position of the part's first element.
    offset: usize,
    /// Elements per group of the part.
    size: usize,
    /// Elements per group of the whole.
    width: usize,
    /// Groups.
    groups: usize,
}

impl Lowered {
    /// Let what only a concatenation along the last of two axes reads be written to its part of it: sums over rows,
    /// results of rows, and products. `kept` are values that are read once the steps have run.
    pub fn join_parts(&mut self, kept: &[ValueId]) {
        let mut readers: FxHashMap<ValueId, usize> = FxHashMap::default();
        kept.iter().for_each(|value| *readers.entry(*value).or_default() += 1);
        self.steps.iter().for_each(|step| reads(step, &mut |value, _| *readers.entry(value).or_default() += 1));
        // Values of which other steps write parts.
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
                    places.push((i, view.value, JoinedPart { whole, offset, size: view.shape[1], width, groups }));
                }
                offset += view.shape[1];
            }
            for (i, value, place) in places {
                let moved = self.steps[..at].iter_mut().any(|step| match step {
                    LoweredStep::Tile(tile) => tile.write_to(value, place),
                    LoweredStep::Node(node) => node.write_to(value, place),
                    _ => false,
                });
                if !moved {
                    continue;
                }
                self.storage[value] = Storage::Temp(0);
                joined.push(whole);
                if let LoweredStep::Node(node) = &mut self.steps[at] {
                    let (shape, strides) = (vec![groups, place.size], vec![width, 1]);
                    node.src[i] = View { value: whole, offset: place.offset, shape, strides };
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

impl NodeStep {
    /// Write a product to its place in a concatenation. Returns whether this is its step, and can.
    fn write_to(&mut self, value: ValueId, place: JoinedPart) -> bool {
        let grouped = place.groups == 1 || self.shape.len() == 3 && self.shape[0] == place.groups;
        let fits = matches!(self.op, Op::MatMul { .. }) && self.dst[0] == value && grouped;
        if fits {
            (self.dst[0], self.place) = (place.whole, (place.offset, (place.groups > 1).then_some(place.width)));
        }
        fits
    }
}

impl Tile {
    /// Write a value to its place in a concatenation. Returns whether this tile writes it, and can.
    fn write_to(&mut self, value: ValueId, place: JoinedPart) -> bool {
        if let Some(terminal) = self.terminals.iter_mut().find(|terminal| terminal.dst == value) {
            if place.groups > 1 {
                if self.groups != place.groups {
                    return false;
                }
                terminal.group = place.width;
            }
            (terminal.dst, terminal.offset) = (place.whole, place.offset);
            return true;
        }
        let dst = self.code.iter_mut().find_map(|instr| match instr {
            Instr::Store { dst, .. } if dst.value == value => Some(dst),
            _ => None,
        });
        let Some(dst) = dst else { return false };
        // Rows of several groups that share a tile are at one distance in the part, but not in the whole.
        if place.groups > 1 {
            if self.groups != place.groups || dst.group != place.size {
                return false;
            }
            dst.group = place.width;
        }
        // Groups of the tile that all lie within one part stay as far apart as they are.
        (dst.value, dst.offset) = (place.whole, place.offset + dst.offset);
        true
    }
}
