//! Rows whose products the invocations of a workgroup share, as in a rollout with a policy.
//!
//! One invocation would compute the units of a layer one after the other. Here a workgroup has a few rows. Each row
//! still has an invocation of its own for what is one number after the other, such as a step of an environment. Where a
//! kernel computes many elements of a row, all invocations do: then they read and write workgroup memory, with barriers
//! before and after. Weights that stay the same are loaded once, before the first step.

use quickstudy_kernels::Result;
use quickstudy_kernels::tensor::{NodeId, Op};

use super::emit::{Emitter, TEXT};
use super::index::Ix;
use super::memory::{Leaf, SharedRows};
use super::row_loop::RowLoop;
use crate::limits::CHAINS;
use crate::plan::{Kernel, Kind, Place};

/// Invocations of a workgroup.
pub(super) const TEAM: usize = 256;
/// Rows of a workgroup at most.
const MOST_ROWS: usize = 16;
/// Elements of a row from which on all invocations compute them.
const MANY: usize = 16;
/// Multiply-adds of a row's product from which on all invocations do them.
const LARGE: usize = 64;
/// Bytes of a product's text where a loop's text is long.
const SHORT: usize = 1_000;
/// Weights that an invocation keeps for all steps at most: as many as registers are for it.
const KEPT: usize = 160;

/// Where a row's own values are: the slots of the loop's body, and its carries.
pub(super) struct RowPlaces {
    pub slots: Vec<Leaf>,
    pub carries: Vec<Leaf>,
    /// How a workgroup shares the work, if it does.
    pub team: Option<Team>,
}

/// How a workgroup shares the work of its rows.
pub(super) struct Team {
    /// Rows of the workgroup.
    pub rows: usize,
    /// Parts of a step, with barriers between them.
    pub levels: usize,
    /// All rows.
    of: usize,
    /// The kernels that all invocations compute together.
    shared: Vec<bool>,
    /// The array that says which rows have ended, of a loop that ends row by row.
    ended: Option<String>,
    /// Products are written out, with weights that are loaded before the first step.
    straight: bool,
}

impl Team {
    /// Tells whether all workgroups have as many rows.
    fn is_even(&self) -> bool {
        self.of.is_multiple_of(self.rows)
    }
}

impl RowPlaces {
    /// The places for a loop of so many rows.
    pub fn of(row_loop: &RowLoop<'_>, emitter: &mut Emitter<'_>, rows: usize, straight: bool) -> RowPlaces {
        let name = |prefix: &str, n: usize| (0..n).map(|i| Leaf::Private(format!("{prefix}{i}"))).collect();
        let (slots, carries) = (name("q", row_loop.body.slots.len()), name("c", row_loop.carries.len()));
        let mut places = RowPlaces { slots, carries, team: None };
        if let Some(bytes) = row_loop.team_bytes.filter(|_| CHAINS) {
            places.share(row_loop, emitter, (rows, straight), bytes);
        }
        places
    }

    /// The place of a value that a row has for itself.
    pub fn of_place(&self, place: Place) -> Option<&Leaf> {
        match place {
            Place::Slot(k) => self.slots.get(k),
            Place::Param(p) => self.carries.get(p.checked_sub(1)?),
            _ => None,
        }
    }

    fn share(
        &mut self,
        row_loop: &RowLoop<'_>,
        emitter: &mut Emitter<'_>,
        (rows, straight): (usize, bool),
        bytes: usize,
    ) {
        let kernels = &row_loop.body.kernels;
        let shared: Vec<bool> = kernels.iter().map(|kernel| row_loop.is_shared(kernel)).collect();
        let multiplies = |(kernel, shared): (&Kernel, &bool)| *shared && kernel.kind == Kind::MatMul;
        if !kernels.iter().zip(&shared).any(multiplies) {
            return;
        }
        let widest = kernels.iter().zip(&shared).filter(|(_, shared)| **shared);
        let widest = widest.filter_map(|(kernel, _)| row_loop.width(kernel.writes[0].0).ok()).max().unwrap_or(1);
        let of_team = (TEAM / widest).clamp(1, MOST_ROWS).min(rows);
        let (mut words, mut leaves): (usize, Vec<(Place, usize, usize)>) = (0, Vec::new());
        let touched = kernels.iter().zip(&shared).filter(|(_, shared)| **shared);
        let touched =
            touched.flat_map(|(kernel, _)| kernel.reads.iter().chain(&kernel.writes)).map(|(_, place)| *place);
        for place in touched.chain(row_loop.done().map(|done| Place::Param(1 + done))) {
            if self.of_place(place).is_none() || leaves.iter().any(|(other, ..)| *other == place) {
                continue;
            }
            let width = match place {
                Place::Slot(k) => row_loop.slot(k),
                Place::Param(p) => row_loop.width(row_loop.scan.body.params[p]).ok(),
                _ => None,
            };
            let Some(width) = width else { return };
            leaves.push((place, words, width));
            words += width * of_team;
        }
        if 4 * (words + 1) > bytes {
            return;
        }
        let array = emitter.share(0, "u32", words);
        for (place, first, width) in leaves {
            let leaf = Leaf::Shared(SharedRows { array: array.clone(), first, width });
            match place {
                Place::Slot(k) => self.slots[k] = leaf,
                Place::Param(p) => self.carries[p - 1] = leaf,
                _ => {}
            }
        }
        let changes = shared.windows(2).filter(|pair| pair[0] || pair[1]).count();
        let ended = row_loop.done().map(|_| emitter.share(1, "u32", of_team + 1));
        self.team = Some(Team { ended, rows: of_team, levels: changes + 1, of: rows, shared, straight });
    }
}

impl RowLoop<'_> {
    /// Tells whether all invocations compute a kernel together.
    fn is_shared(&self, kernel: &Kernel) -> bool {
        let node = |id: &NodeId| &self.graph.nodes[*id as usize];
        let Some(width) = kernel.writes.first().and_then(|write| self.width(write.0).ok()) else { return false };
        let same = kernel.writes.iter().all(|write| self.width(write.0).ok() == Some(width));
        let calls = kernel.nodes.iter().any(|id| matches!(node(id).op, Op::Call(_)));
        let large = kernel.nodes.iter().any(|id| match &node(id).op {
            Op::MatMul { ta, .. } => {
                let a = &node(&node(id).src[0]).shape;
                a[a.len() - if *ta { 2 } else { 1 }] * width >= LARGE
            }
            _ => false,
        });
        same && !calls && (large || width >= MANY)
    }

    /// Lets the code be that of a row of the workgroup.
    pub(super) fn as_row(&self, emitter: &mut Emitter<'_>, lane: &Ix, rows: usize) {
        let row = emitter.add(&Ix::var("front"), lane);
        let row = emitter.bind(format!("min({row}, {}u)", rows - 1));
        emitter.row = emitter.unflat(&self.domain(), &Ix::var(&row));
        emitter.lane = lane.clone();
    }

    /// Code of the invocation that a row has for itself.
    pub(super) fn alone(
        &self,
        emitter: &mut Emitter<'_>,
        places: &RowPlaces,
        inside: impl FnOnce(&mut Emitter<'_>) -> Result<()>,
    ) -> Result<()> {
        let Some(team) = &places.team else { return inside(emitter) };
        self.as_row(emitter, &Ix::var("local"), team.of);
        let last = if team.is_even() { String::new() } else { format!(" && front + local < {}u", team.of) };
        emitter.block(&format!("if (local < {}u{last})", team.rows), inside)
    }

    /// The row and element of an invocation that computes one of so many of each row, and how many there are.
    fn element_of(&self, emitter: &mut Emitter<'_>, i: &Ix, width: usize, team: &Team) -> Ix {
        let k = if width == 1 { Ix::Known(0) } else { emitter.modulo(i, width) };
        let lane = if team.rows == 1 { Ix::Known(0) } else { emitter.over(i, width) };
        self.as_row(emitter, &lane, team.of);
        k
    }

    /// Loads weights that all steps use.
    pub(super) fn ahead(&self, emitter: &mut Emitter<'_>, team: &Team) -> Result<()> {
        if !team.straight {
            return Ok(());
        }
        let mut kept = 0;
        for (kernel, _) in self.body.kernels.iter().zip(&team.shared).filter(|(_, shared)| **shared) {
            let width = self.width(kernel.writes[0].0)?;
            if width * team.rows > TEAM {
                continue;
            }
            for id in &kernel.nodes {
                let node = &self.graph.nodes[*id as usize];
                if !matches!(node.op, Op::MatMul { .. }) || !self.is_constant(emitter, node.src[1]) {
                    continue;
                }
                let n = emitter.contracted(*id);
                if kept + n > KEPT {
                    continue;
                }
                kept += n;
                let k = self.element_of(emitter, &Ix::var("local"), width, team);
                let at = self.at(emitter, &node.shape, &k);
                let (batch, last) = at.split_at(at.len() - 2);
                (0..n).for_each(|k| _ = emitter.factor(*id, 1, batch, &last[1], &Ix::Known(k)));
            }
        }
        Ok(())
    }

    /// Tells whether a value is in memory that no step changes.
    fn is_constant(&self, emitter: &Emitter<'_>, mut id: NodeId) -> bool {
        while quickstudy_kernels::program::is_view(&self.graph.nodes[id as usize].op) {
            id = self.graph.nodes[id as usize].src[0];
        }
        matches!(emitter.leaves.get(&id), Some(Leaf::Buffer(_)))
    }

    /// A step: what rows do alone, and what all invocations do together.
    pub(super) fn together(&self, emitter: &mut Emitter<'_>, places: &RowPlaces, team: &Team) -> Result<()> {
        if let (Some(done), Some(ended)) = (self.done(), &team.ended) {
            self.stop(emitter, places, team, (done, ended));
        }
        let kernels: Vec<(&Kernel, bool)> = self.body.kernels.iter().zip(team.shared.iter().copied()).collect();
        for (i, part) in kernels.chunk_by(|a, b| !a.1 && !b.1).enumerate() {
            if i > 0 {
                emitter.line("workgroupBarrier();");
            }
            match part {
                [(kernel, true)] => self.by_all(emitter, places, (kernel, team))?,
                _ => self.alone(emitter, places, |emitter| {
                    let head = self.goes_on(emitter, team).map_or(String::new(), |goes_on| format!("if ({goes_on})"));
                    emitter.block(&head, |emitter| {
                        part.iter().try_for_each(|(kernel, _)| self.kernel(emitter, places, kernel))
                    })
                })?,
            }
        }
        emitter.line("workgroupBarrier();");
        Ok(())
    }

    /// Ends the loop once all rows of the workgroup have ended, and notes those that have, or are none: what a step
    /// finds out about its row is for the next one.
    fn stop(&self, emitter: &mut Emitter<'_>, places: &RowPlaces, team: &Team, (done, ended): (usize, &str)) {
        emitter.block("if (local == 0u)", |emitter| {
            emitter.line("var running = 0u;");
            for lane in 0..team.rows {
                emitter.lane = Ix::Known(lane);
                let done = emitter.of_row(&places.carries[done], &Ix::Known(0));
                let none = if team.is_even() { String::new() } else { format!(" || front + {lane}u >= {}u", team.of) };
                emitter.line(&format!("{ended}[{lane}] = u32({done} != 0u{none});"));
                emitter.line(&format!("running |= 1u - {ended}[{lane}];"));
            }
            emitter.line(&format!("{ended}[{}] = running;", team.rows));
        });
        emitter.line(&format!("if (workgroupUniformLoad(&{ended}[{}]) == 0u) {{ break; }}", team.rows));
    }

    /// The condition on which a row has not ended before this step.
    fn goes_on(&self, emitter: &Emitter<'_>, team: &Team) -> Option<String> {
        team.ended.as_ref().map(|ended| format!("{ended}[{}] == 0u", emitter.lane))
    }

    /// A kernel whose elements are those of all rows of the workgroup.
    fn by_all(&self, emitter: &mut Emitter<'_>, places: &RowPlaces, (kernel, team): (&Kernel, &Team)) -> Result<()> {
        let width = self.width(kernel.writes[0].0)?;
        let count = width * team.rows;
        self.begin(emitter, places, kernel)?;
        let turns = count.div_ceil(TEAM);
        let (head, i) = match turns {
            1 if count == TEAM => (String::new(), Ix::var("local")),
            1 => (format!("if (local < {count}u)"), Ix::var("local")),
            _ => (format!("for (var i = local; i < {count}u; i += {TEAM}u)"), Ix::var("i")),
        };
        // With weights that are loaded before, at indices that are known outside of the loop.
        if turns == 1 {
            self.element_of(emitter, &i, width, team);
        }
        emitter.open(&head, turns);
        let k = self.element_of(emitter, &i, width, team);
        let mut inside = Vec::new();
        if !team.is_even() {
            inside.push(format!("front + {} < {}u", emitter.lane, team.of));
        }
        inside.extend(self.goes_on(emitter, team));
        let head = if inside.is_empty() { String::new() } else { format!("if ({})", inside.join(" && ")) };
        emitter.open(&head, 1);
        emitter.product_text = match team.straight {
            true if turns == 1 => usize::MAX,
            true => TEXT,
            false => SHORT,
        };
        self.element(emitter, places, kernel, &k);
        emitter.product_text = TEXT;
        emitter.close();
        emitter.close();
        self.end(emitter, kernel);
        Ok(())
    }
}
