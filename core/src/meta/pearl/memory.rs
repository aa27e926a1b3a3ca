//! A replay memory for each training task, and the context in it.

use crate::Tensor;
use crate::dist::RowNoise;
use crate::replay::Transitions;
use crate::tensor::tree;

/// Memories of P tasks, each a ring of R transitions of its own. A task's *context* is what was collected for it on the last visit: rows of
/// its memory that lie one behind the other.
///
/// garage keeps contexts in buffers of their own, whose rows are always rows of the memory as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskMemory {
    /// P.
    pub tasks: usize,
    /// R.
    pub rows: usize,
    /// O.
    pub observations: usize,
    /// A.
    pub actions: usize,
    /// The reward that the encoder sees is another than the one that is learned from: a row ends with it.
    pub two_rewards: bool,
}

/// The content of the memories, in a trace.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// Transitions, `[S, R · P, W]`, the first rows of all tasks, then their second ones, and so on: a memory grows at its end. A bulk entry of
    /// the state.
    pub rows: Tensor,
    /// The row of each task that is written next, 0 to R, where R stands for the first one; u32 `[S, P]`.
    pub next: Tensor,
    /// Rows of each task that hold transitions, the first ones, u32 `[S, P]`.
    pub filled: Tensor,
    /// The first row of each task's context, u32 `[S, P]`.
    pub context: Tensor,
    /// Rows of the context, u32 `[S, P]`.
    pub context_filled: Tensor,
}

tree!(Remembered: rows, next, filled, context, context_filled);

/// Whole episodes that were played on the M tasks of an iteration, in order of time.
#[derive(Clone, Copy, Debug)]
pub struct Collected {
    /// Transitions, `[S, M, T, W]`.
    pub rows: Tensor,
    /// 1 where a row holds one: the first rows of each task, u32 `[S, M, T]`.
    pub valid: Tensor,
    /// True if they are of the context.
    pub context: bool,
}

fn word(x: usize) -> Tensor {
    Tensor::constant_u32(u32::try_from(x).unwrap_or(u32::MAX))
}

/// Sums of whole numbers (u32) over the last axis; they are exact in f32 up to [`TaskMemory::MOST`].
fn sum_last(x: Tensor) -> Tensor {
    let shape = x.shape();
    let rest = &shape[..shape.len().saturating_sub(1)];
    x.to_f32().sum_keep(rest.len()).reshape(rest).to_u32()
}

impl TaskMemory {
    /// Most rows of a task: their numbers are exact in f32.
    pub const MOST: usize = 1 << 24;

    /// W, the numbers of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        Transitions::width(self.observations, self.actions) + usize::from(self.two_rewards)
    }

    /// The number of a row of a ring that is less than two rounds from its beginning.
    fn wrapped(&self, at: Tensor) -> Tensor {
        self.below(word(self.rows), at)
    }

    /// One round less, unless it is below this.
    fn below(&self, limit: Tensor, at: Tensor) -> Tensor {
        at.lt(limit).select(at, at + Tensor::constant_u32((self.rows as u32).wrapping_neg()))
    }

    /// Numbers of rows among those of all tasks, u32 `[S, M, B]`, from the tasks' numbers `[S, M]` and places in their rings.
    fn number(&self, tasks: Tensor, place: Tensor) -> Tensor {
        place * word(self.tasks) + tasks.unsqueeze(2)
    }

    /// Adds what a visit collected on the tasks of these numbers, u32 `[S, M]`, whose contexts begin anew. A task may be among them more than once:
    /// then its visits came one after the other, and the last one's context stays. All that is added to a task is at most R rows.
    #[track_caller]
    #[must_use]
    pub fn add(&self, held: Remembered, numbers: Tensor, visit: &[Collected]) -> Remembered {
        let (p, m, seeds) = (self.tasks, numbers.size(1), numbers.size(0));
        let counts: Vec<Tensor> = visit.iter().map(|part| sum_last(part.valid)).collect();
        let none = word(0).broadcast_to(&[seeds, m]);
        let total = counts.iter().fold(none, |sum, count| sum + *count);
        let seen = visit.iter().zip(&counts).filter(|(part, _)| part.context);
        let seen = seen.fold(none, |sum, (_, count)| sum + *count);
        // Which visits are of the same task: [S, M, M], this visit and the other.
        let same = numbers.unsqueeze(2).eq(numbers.unsqueeze(1));
        let [this, other] = [1, 2].map(|axis| Tensor::iota(&[1, m, m], axis));
        let before = sum_last(same.bit_and(other.lt(this)).select(total.unsqueeze(1), word(0)));
        let last = sum_last(same.bit_and(this.lt(other))).eq(word(0));
        let first = self.wrapped(held.next.gather(numbers) + before);

        let (mut index, mut behind) = (Vec::new(), first);
        for (part, count) in visit.iter().zip(&counts) {
            let t = part.valid.size(2);
            let at = self.wrapped(behind.unsqueeze(2) + Tensor::iota(&[1, 1, t], 2));
            let row = self.number(numbers, at);
            // Rows beyond the end are dropped.
            index.push(part.valid.select(row, Tensor::constant_u32(u32::MAX)));
            behind = self.wrapped(behind + *count);
        }
        let index = Tensor::concat(&index, 2);
        let rows = Tensor::concat(&visit.iter().map(|part| part.rows).collect::<Vec<_>>(), 2);
        let steps = m * index.size(2);
        let rows = held.rows.store(index.reshape(&[seeds, steps]), rows.reshape(&[seeds, steps, self.width()]));

        // Of each task, the visits that were of it: [S, P, M].
        let of = Tensor::iota(&[1, p, 1], 1).eq(numbers.unsqueeze(1));
        let added = sum_last(of.select(total.unsqueeze(1), word(0)));
        let filled = held.filled + added;
        let latest = of.bit_and(last.unsqueeze(1));
        let visited = word(0).lt(sum_last(latest));
        let newest = |x: Tensor| sum_last(latest.select(x.unsqueeze(1), word(0)));
        Remembered {
            rows,
            // R after the last row: what is added to a memory that has grown goes behind it.
            next: self.below(word(self.rows + 1), held.next + added),
            filled: filled.lt(word(self.rows)).select(filled, word(self.rows)),
            context: visited.select(newest(first), held.context),
            context_filled: visited.select(newest(seen), held.context_filled),
        }
    }

    /// `count` transitions of each of these tasks, u32 `[S, M]`: drawn evenly among all that it remembers, `[S, M · count, W]`.
    #[track_caller]
    #[must_use]
    pub fn batch(&self, held: &Remembered, tasks: Tensor, noise: &RowNoise, count: usize) -> Tensor {
        let (seeds, m) = (tasks.size(0), tasks.size(1));
        let filled = held.filled.gather(tasks).to_f32().unsqueeze(2);
        let row = (noise.uniform().reshape(&[seeds, m, count]) * filled).to_u32();
        held.rows.gather(self.number(tasks, row).reshape(&[seeds, m * count]))
    }

    /// `count` transitions of the contexts of these tasks: drawn evenly, or in order of time from any one on (`sequence`), where the first
    /// follows the last.
    /// `[S, M · count, W]`.
    #[track_caller]
    #[must_use]
    pub fn contexts(&self, held: &Remembered, tasks: Tensor, noise: &RowNoise, count: usize, sequence: bool) -> Tensor {
        let (seeds, m) = (tasks.size(0), tasks.size(1));
        let (first, filled) = (held.context.gather(tasks).unsqueeze(2), held.context_filled.gather(tasks).unsqueeze(2));
        let drawn = (noise.uniform().reshape(&[seeds, m, count]) * filled.to_f32()).to_u32();
        let place = match sequence {
            false => drawn,
            true => {
                // A context holds at least `count`.
                let at = drawn.slice(2, 0, 1) + Tensor::iota(&[1, 1, count], 2);
                at.lt(filled).select(at, at + filled.bit_xor(word(u32::MAX as usize)) + word(1))
            }
        };
        let row = self.number(tasks, self.wrapped(first + place));
        held.rows.gather(row.reshape(&[seeds, m * count]))
    }

    /// Rows as transitions, and the reward that the encoder sees.
    #[track_caller]
    #[must_use]
    pub fn transitions(&self, rows: Tensor) -> (Transitions, Tensor) {
        let of = Transitions::of_rows(rows, self.observations, self.actions);
        let shown = if self.two_rewards { rows.slice(2, self.width() - 1, self.width()) } else { of.reward };
        (of, shown)
    }
}
