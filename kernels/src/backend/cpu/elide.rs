//! Values written where they are wanted, instead of copied there.

use rustc_hash::FxHashSet;

use super::steps::{Lowered, LoweredStep, ScanStep};
use super::tile::{Instr, Mem, Opnd, Own, Tile};
use super::values::{Storage, ValueId, View};
use crate::tensor::Op;

/// How a step reads a value.
pub(super) enum Read<'a> {
    /// Each row of a tile its own.
    Rows(&'a Mem),
    /// The first value of a carry, all of it.
    Init(ValueId),
    /// Read in any other way, before a tile's sums are written.
    Any,
    /// Read at the end.
    Last,
}

impl Lowered {
    /// Let results be computed in their arguments where nobody needs the old value any more.
    pub fn elide_results(&mut self) {
        let copies: Vec<(usize, ValueId, usize)> = self
            .steps
            .iter()
            .enumerate()
            .filter_map(|(i, s)| match s {
                LoweredStep::Copy { src, dst } => match self.storage[*dst] {
                    Storage::Arg(arg) if self.is_whole_temp(src) => Some((i, src.value, arg)),
                    _ => None,
                },
                _ => None,
            })
            .collect();
        for (copy, value, arg) in copies {
            if !matches!(self.storage[value], Storage::Temp(_)) {
                continue;
            }
            let old: FxHashSet<ValueId> =
                (0..self.storage.len()).filter(|v| self.storage[*v] == Storage::Arg(arg)).collect();
            if self.may_overwrite(value, &old, Some(copy)) {
                self.storage[value] = Storage::Arg(arg);
            }
        }
    }

    pub(super) fn is_whole_temp(&self, view: &View) -> bool {
        matches!(self.storage[view.value], Storage::Temp(len) if len == view.len())
            && view.offset == 0
            && view.is_contiguous()
    }

    /// Tells whether `value` can be in the same memory as the `old` ones: nobody reads those once it is written.
    fn may_overwrite(&self, value: ValueId, old: &FxHashSet<ValueId>, except: Option<usize>) -> bool {
        let Some(first) = self.steps.iter().position(|s| writes(s, value)) else { return false };
        self.steps.iter().enumerate().skip(first).filter(|(i, _)| Some(*i) != except).all(|(i, step)| {
            let mut fits = true;
            reads(step, &mut |v, how| {
                if old.contains(&v) {
                    fits &= i == first
                        && match how {
                            Read::Rows(mem) => rows_fit(step, value, mem),
                            Read::Init(kept) => kept == value,
                            Read::Any => written_last(step, value),
                            Read::Last => false,
                        };
                }
            });
            fits
        })
    }
}

impl ScanStep {
    /// Let new carries be computed where the old ones are.
    pub fn elide_carries(&mut self) {
        for i in 0..self.carries.len() {
            let carry = &self.carries[i];
            let (next, param) = (carry.next.clone(), carry.param);
            if carry.unchanged || carry.staged.is_some() || !self.body.is_whole_temp(&next) {
                continue;
            }
            let shared = self.carries.iter().enumerate().any(|(j, c)| j != i && c.next.value == next.value);
            let read_later = self.carries.iter().any(|c| c.next.value == param)
                || self.ys.iter().any(|(_, view)| view.value == param);
            if shared || read_later || !self.body.may_overwrite(next.value, &FxHashSet::from_iter([param]), None) {
                continue;
            }
            self.body.storage[next.value] = Storage::Same(param);
            self.carries[i].unchanged = true;
        }
    }
}

/// Tells whether a step writes a value.
pub(super) fn writes(step: &LoweredStep, value: ValueId) -> bool {
    match step {
        LoweredStep::Copy { dst, .. } => *dst == value,
        LoweredStep::Node(n) => n.dst.contains(&value),
        LoweredStep::Scan(s) => s.carries.iter().any(|c| c.kept == value) || s.ys.iter().any(|y| y.0 == value),
        LoweredStep::Tile(t) => {
            terminal(step, value) || store(&t.code, value).is_some() || t.squares.iter().any(|sum| sum.dst == value)
        }
    }
}

/// Tells whether a value is a sum over rows that this step's tile writes when it has read all rows.
fn terminal(step: &LoweredStep, value: ValueId) -> bool {
    matches!(step, LoweredStep::Tile(t) if t.terminals.iter().any(|t| t.dst == value))
}

/// Tells whether a value is written when this step's tile has read all rows.
fn written_last(step: &LoweredStep, value: ValueId) -> bool {
    terminal(step, value) && !matches!(step, LoweredStep::Tile(tile) if store(&tile.code, value).is_some())
}

fn store(code: &[Instr], value: ValueId) -> Option<&Mem> {
    code.iter().find_map(|i| match i {
        Instr::Store { dst, .. } if dst.value == value => Some(dst),
        Instr::Own(Own::Update(update)) => update.dst.iter().find(|dst| dst.value == value),
        Instr::Loop(l) => store(&l.code, value),
        _ => None,
    })
}

/// Tells whether reading `mem` by rows sees only the row that the store of `value` writes afterwards. A tile that
/// writes parts of a concatenation may do so before it has read all others.
fn rows_fit(step: &LoweredStep, value: ValueId, mem: &Mem) -> bool {
    let LoweredStep::Tile(tile) = step else { return false };
    let Some(dst) = store(&tile.code, value) else { return written_last(step, value) };
    if dst.offset > 0 || writes_parts(tile, value) {
        return false;
    }
    // A step that is not made leaves the old value of the same number.
    let apart = |instr: &Instr| match instr {
        Instr::Own(Own::Update(update)) => update.replaced(value).is_some_and(|old| old != mem),
        _ => false,
    };
    if tile.code.iter().any(apart) {
        return false;
    }
    let still = |m: &Mem| m.time.iter().all(|t| *t == 0);
    let width = dst.table.len();
    let same_group = mem.group == dst.group || tile.groups == 1;
    still(mem)
        && still(dst)
        && mem.row == dst.row
        && mem.per == dst.per
        && same_group
        && mem.offset + mem.table.max() < width
}

/// Call `f` for every value that a step reads.
pub(super) fn reads<'a>(step: &'a LoweredStep, f: &mut dyn FnMut(ValueId, Read<'a>)) {
    match step {
        LoweredStep::Copy { src, .. } => f(src.value, Read::Any),
        // A part of a concatenation that is there already is not read.
        LoweredStep::Node(n) => {
            let there = |v: &&View| matches!(n.op, Op::Concat { .. }) && v.value == n.dst[0];
            n.src.iter().filter(|v| !there(v)).for_each(|v| f(v.value, Read::Any));
        }
        LoweredStep::Scan(s) => {
            for c in &s.carries {
                let whole = c.init == View::whole(c.init.value, &c.init.shape);
                f(c.init.value, if whole { Read::Init(c.kept) } else { Read::Any });
            }
            s.xs.iter().for_each(|x| f(x.0.value, Read::Any));
            for storage in &s.body.storage {
                if let Storage::Outer(v) = storage {
                    f(*v, Read::Any);
                }
            }
        }
        LoweredStep::Tile(t) => {
            tile_reads(&t.code, f);
            t.squares.iter().for_each(|sum| f(sum.src, Read::Last));
        }
    }
}

/// Tells whether a tile writes a value in more than one part.
fn writes_parts(tile: &Tile, value: ValueId) -> bool {
    let stores = tile.code.iter().filter(|instr| matches!(instr, Instr::Store { dst, .. } if dst.value == value));
    stores.count() + tile.terminals.iter().filter(|terminal| terminal.dst == value).count() > 1
}

fn tile_reads<'a>(code: &'a [Instr], f: &mut dyn FnMut(ValueId, Read<'a>)) {
    for instr in code {
        instr.operands(&mut |o| {
            if let Opnd::Uniform(mem) = o {
                f(mem.value, Read::Any);
            }
        });
        match instr {
            Instr::Load { src, .. } => f(src.value, Read::Rows(src)),
            Instr::Own(Own::Dense(d)) => [&d.w].into_iter().chain(&d.bias).for_each(|mem| f(mem.value, Read::Any)),
            Instr::Gather { table, .. } => f(table.value, Read::Any),
            Instr::Own(Own::Update(update)) => update.src.iter().for_each(|src| f(src.value, Read::Rows(src))),
            Instr::Loop(l) => tile_reads(&l.code, f),
            _ => {}
        }
    }
}
