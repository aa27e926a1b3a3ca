//! Levels: items that need no barrier between them; and sections of a level, which have invocations of their own.

use std::cmp::Ordering;
use std::collections::HashMap;

use quickstudy_kernels::program::chains::{Opnd, Reg};

use super::item::{TileItem, TileOp};
use super::size::{INVOCATIONS, ROWS};

/// Invocations that run in step: sections begin at multiples of these.
const STEP: usize = 32;
/// Rows and columns of an outer product that one invocation keeps at most.
const KEPT: usize = 8;

/// The share of each invocation of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionKind {
    /// Each a block of four rows.
    Blocks,
    /// Each a block of all rows, whose sum it keeps.
    Sums,
    /// Each so many rows and columns of an outer product, which it keeps: these are so many rows and columns apart.
    Outer {
        /// Rows and columns of an invocation.
        each: [usize; 2],
        /// Distances.
        apart: [usize; 2],
    },
}

/// Items that an invocation computes one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// The share of an invocation.
    pub kind: SectionKind,
    /// Blocks of each item.
    pub width: usize,
    /// The items, in order.
    pub items: Vec<usize>,
    /// The first invocation; 0 if all have to make several turns.
    pub first: usize,
    /// Number of invocations, or of what all have to do together.
    pub count: usize,
}

impl Section {
    /// Numbers of sums over rows that an invocation keeps.
    pub fn kept(&self) -> usize {
        match self.kind {
            SectionKind::Outer { each: [rows, columns], .. } => rows * columns,
            _ => 1,
        }
    }
}

/// The levels of a chain.
pub(super) struct Levels {
    /// The sections of each.
    pub levels: Vec<Vec<Section>>,
    /// For each item its level and its section's number there; none of loads that are made where they are needed.
    pub of: Vec<Option<[usize; 2]>>,
}

/// The levels of a chain's items, for tiles of so many rows; none if a product is larger than what all invocations can
/// keep.
pub(super) fn levels(items: &[TileItem], loads: &[Option<usize>], sizes: &[usize], lanes: usize) -> Option<Levels> {
    let mut level = level_of(items, loads, sizes);
    sink(items, loads, sizes, &mut level);
    // Items that pass their blocks on in variables are in one section.
    let mut section: Vec<usize> = (0..items.len()).collect();
    let mut producer: HashMap<Reg, usize> = HashMap::new();
    for (i, item) in items.iter().enumerate() {
        for operand in &item.src {
            let Opnd::Reg(reg, _) = operand else { continue };
            if let Some(from) = producer.get(reg).filter(|from| level[**from].is_some() && level[**from] == level[i])
                && loads[*reg].is_none()
            {
                let (a, b) = (root(&section, *from), root(&section, i));
                section[b] = a;
            }
        }
        item.dst.iter().for_each(|(reg, _)| _ = producer.insert(*reg, i));
    }
    let count = level.iter().flatten().max().map_or(0, |last| last + 1);
    let mut levels: Vec<Vec<Section>> = vec![Vec::new(); count];
    let mut numbers: HashMap<usize, usize> = HashMap::new();
    let (mut of, mut too_large) = (vec![None; items.len()], false);
    for (i, item) in items.iter().enumerate() {
        let Some(at) = level[i] else { continue };
        let number = *numbers.entry(root(&section, i)).or_insert_with(|| {
            let (kind, count) = kind(item, lanes);
            too_large |= matches!(kind, SectionKind::Outer { .. }) && count > INVOCATIONS;
            levels[at].push(Section { kind, width: item.width, items: Vec::new(), first: 0, count });
            levels[at].len() - 1
        });
        levels[at][number].items.push(i);
        of[i] = Some([at, number]);
    }
    levels.iter_mut().for_each(|sections| spread(sections));
    (!too_large).then_some(Levels { levels, of })
}

fn root(section: &[usize], mut i: usize) -> usize {
    while section[i] != i {
        i = section[i];
    }
    i
}

/// The level of each item: the first at which all that it needs is there. Loads of single blocks have none: each reader
/// makes them. Those of registers that are read as a whole are made just before.
fn level_of(items: &[TileItem], loads: &[Option<usize>], sizes: &[usize]) -> Vec<Option<usize>> {
    let mut level: Vec<Option<usize>> = vec![None; items.len()];
    let mut producers: HashMap<Reg, Vec<usize>> = HashMap::new();
    for (i, item) in items.iter().enumerate() {
        item.dst.iter().for_each(|(reg, _)| producers.entry(*reg).or_default().push(i));
        if matches!(item.op, TileOp::Load(_)) {
            continue;
        }
        let mut at = 0;
        for operand in &item.src {
            let Opnd::Reg(reg, _) = operand else { continue };
            if loads[*reg].is_some() {
                continue;
            }
            for from in producers.get(reg).into_iter().flatten().filter(|from| **from != i) {
                let passed = item.is_own(operand, sizes) && items[*from].writes_own(*reg, sizes);
                at = at.max(level[*from].unwrap_or(0) + usize::from(!passed));
            }
        }
        for (reg, ..) in &item.whole {
            let from = producers.get(reg).into_iter().flatten();
            at = from.map(|from| level[*from].unwrap_or(0) + 1).fold(at.max(1), usize::max);
        }
        level[i] = Some(at);
    }
    for (i, item) in items.iter().enumerate() {
        for (reg, ..) in &item.whole {
            if let (Some(load), Some(at)) = (loads[*reg], level[i]) {
                level[load] = Some(level[load].map_or(at - 1, |other| other.min(at - 1)));
            }
        }
    }
    level
}

/// Moves items of one register to the first level that reads them, if that needs each block where it is computed: then
/// no register keeps the result until then, but for the one that the item reads.
fn sink(items: &[TileItem], loads: &[Option<usize>], sizes: &[usize], level: &mut [Option<usize>]) {
    // Of each register the first level that reads it; none if that needs other blocks, too.
    let mut first: HashMap<Reg, (usize, bool)> = HashMap::new();
    for (i, item) in items.iter().enumerate().rev() {
        let elementwise = matches!(item.op, TileOp::Unary(..) | TileOp::Binary(..) | TileOp::Select);
        let mut read: Vec<Reg> = item.src.iter().filter_map(register).collect();
        read.retain(|reg| loads[*reg].is_none());
        read.dedup();
        if let ([(reg, _)], [_], true) = (&item.dst[..], &read[..], elementwise)
            && let (Some((to, true)), Some(at)) = (first.get(reg).copied(), level[i])
            && item.writes_own(*reg, sizes)
        {
            level[i] = Some(at.max(to));
        }
        let Some(at) = level[i] else { continue };
        let mut note = |reg: Reg, is_own: bool| {
            let found = first.entry(reg).or_insert((at, is_own));
            *found = match at.cmp(&found.0) {
                Ordering::Less => (at, is_own),
                Ordering::Equal => (at, found.1 && is_own),
                Ordering::Greater => *found,
            };
        };
        item.whole.iter().for_each(|(reg, ..)| note(*reg, false));
        for src in &item.src {
            if let Some(reg) = register(src) {
                note(reg, item.is_own(src, sizes));
            }
        }
    }
}

fn register(operand: &Opnd) -> Option<Reg> {
    match operand {
        Opnd::Reg(reg, _) => Some(*reg),
        _ => None,
    }
}

/// The share of each invocation of an item's section, and their number.
fn kind(item: &TileItem, lanes: usize) -> (SectionKind, usize) {
    match item.op {
        TileOp::RowSum(_) => (SectionKind::Sums, item.width),
        TileOp::RowOuter(_) => {
            let [k, n] = [item.whole[0].2, item.whole[1].2];
            let each = kept(k, n);
            let apart = [k.div_ceil(each[0]), n.div_ceil(each[1])];
            (SectionKind::Outer { each, apart }, apart[0] * apart[1])
        }
        _ => (SectionKind::Blocks, item.width * lanes / ROWS),
    }
}

/// Rows and columns of an outer product that each invocation keeps: as few as leave none out.
fn kept(k: usize, n: usize) -> [usize; 2] {
    let mut best = [KEPT, KEPT];
    for rows in 1..=KEPT {
        for columns in 1..=KEPT {
            let few = |[a, b]: [usize; 2]| (a * b, a + b);
            if k.div_ceil(rows) * n.div_ceil(columns) <= INVOCATIONS && few([rows, columns]) < few(best) {
                best = [rows, columns];
            }
        }
    }
    best
}

/// Gives the sections of a level invocations side by side, as far as there are any.
fn spread(sections: &mut [Section]) {
    let mut next = 0;
    for section in sections {
        if next + section.count > INVOCATIONS {
            next = 0;
        }
        section.first = next;
        next = (next + section.count).next_multiple_of(STEP);
    }
}
