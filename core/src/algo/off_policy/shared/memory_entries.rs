//! A replay memory as entries of the state.

use crate::DType;
use crate::algo::{First, Numbers, Relation, StateEntry};
use crate::replay::{ReplayMemory, SumTree};

/// Names of the entries of priorities, by level.
pub(super) const PRIORITIES: [&str; SumTree::LEVELS] =
    ["priorities", "priority_sums_1", "priority_sums_2", "priority_sums_3", "priority_sums_4"];

/// The entries of a memory: its ring of rows, the counts of it, and priorities where it has these.
pub(super) fn memory_entries(memory: &ReplayMemory) -> Vec<StateEntry> {
    let rows = memory.rows;
    let count = |name| StateEntry::new(name, &[1], DType::U32).holding(Numbers::up_to(rows as u64));
    let mut entries = vec![
        StateEntry::new("memory", &memory.shape(), DType::F32).ring("memory_next"),
        count("memory_next"),
        count("memory_filled").related(Relation::Filled(rows)),
    ];
    if let Some(tree) = memory.tree() {
        let nodes = |level: usize| [tree.nodes(level), 1];
        let sums = |level: usize| match level.checked_sub(1) {
            None => Relation::AboveZeroIn("memory_filled"),
            Some(below) => Relation::SumsOf { of: PRIORITIES[below], each: SumTree::CHILDREN },
        };
        let level = |level: usize| {
            let entry = StateEntry::new(PRIORITIES[level], &nodes(level), DType::F32).bulk();
            entry.holding(Numbers::NOT_NEGATIVE).related(sums(level))
        };
        entries.extend((0..SumTree::LEVELS).map(level));
        let largest = StateEntry::new("priority_largest", &[1], DType::F32).from(First::Value(1.0));
        entries.push(largest.holding(Numbers::at_least(1.0)).related(Relation::NotBelow(PRIORITIES[0])));
    }
    entries
}
