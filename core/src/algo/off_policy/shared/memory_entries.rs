//! A replay buffer as entries of the state: their declaration, the memory in a trace, and its new state.

use crate::DType;
use crate::algo::{First, Held, Numbers, Relation, StateEntry};
use crate::play::Iteration;
use crate::replay::{Priorities, ReplayMemory, Stored, SumTree};

/// Names of the entries of priorities, by level.
const PRIORITIES: [&str; SumTree::LEVELS] =
    ["priorities", "priority_sums_1", "priority_sums_2", "priority_sums_3", "priority_sums_4"];

/// Declares the entries of a memory: its ring of rows, the counts of it, and priorities where it has these.
pub(super) fn declare(memory: &ReplayMemory) -> Vec<StateEntry> {
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

/// The content of a memory as a state holds it.
pub(super) fn begin(memory: &ReplayMemory, held: &Held) -> Stored {
    Stored {
        rows: held.get("memory"),
        next: held.get("memory_next"),
        filled: held.get("memory_filled"),
        priorities: memory.tree().map(|_| Priorities {
            levels: PRIORITIES.map(|name| held.get(name)).to_vec(),
            largest: held.get("priority_largest"),
        }),
    }
}

/// Makes this content the new state.
pub(super) fn keep(it: &mut Iteration<'_>, stored: Stored) {
    if let Some(Priorities { levels, largest }) = stored.priorities {
        PRIORITIES.iter().zip(levels).for_each(|(name, level)| it.update(name, level));
        it.update("priority_largest", largest);
    }
    for (name, value) in [("memory", stored.rows), ("memory_next", stored.next), ("memory_filled", stored.filled)] {
        it.update(name, value);
    }
}
