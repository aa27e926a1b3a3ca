//! A replay buffer for each training task, which includes the task's context.

use crate::Tensor;
use crate::dist::RowNoise;
use crate::replay::Transitions;

/// The memories of P tasks, each a ring of R transitions. A task's *context* is what its last visit collected
/// for it: consecutive rows of its memory.
///
/// garage keeps contexts in buffers of their own, whose rows are always rows of the memory as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskMemory {
    /// P, the number of tasks.
    pub tasks: usize,
    /// R, the rows of each task.
    pub rows: usize,
    /// O, numbers of an observation.
    pub observations: usize,
    /// A, numbers of an action.
    pub actions: usize,
    /// True if the encoder sees another reward than the one that is learned from; rows end with it.
    pub two_rewards: bool,
}

/// The content of the memories, in a trace.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// Transitions, `[S, R · P, W]`: the first rows of all tasks, then their second rows, and so on, so that a memory
    /// grows at its end. A bulk entry of the state.
    pub rows: Tensor,
    /// The row of each task that is written next, u32 `[S, P]`: 0 to R, where R means row 0.
    pub next: Tensor,
    /// The number of rows of each task that hold transitions, which are its first ones, u32 `[S, P]`.
    pub filled: Tensor,
    /// The first row of each task's context, u32 `[S, P]`.
    pub context: Tensor,
    /// The number of rows of each task's context, u32 `[S, P]`.
    pub context_filled: Tensor,
}

crate::tree!(Remembered: rows, next, filled, context, context_filled);

/// Rows that whole episodes added on each of the M tasks of an iteration, in order of time.
#[derive(Clone, Copy, Debug)]
pub struct Collected {
    /// Transitions, `[S, M, T, W]`.
    pub rows: Tensor,
    /// 1 where a row holds a transition, which are the first rows of each task, u32 `[S, M, T]`.
    pub valid: Tensor,
    /// True if these rows belong to the context.
    pub context: bool,
}

fn word(x: usize) -> Tensor {
    Tensor::constant_u32(u32::try_from(x).unwrap_or(u32::MAX))
}

/// Sums whole numbers (u32) over the last axis; the sums are exact in f32 up to [`TaskMemory::MOST`].
fn sum_last(x: Tensor) -> Tensor {
    let shape = x.shape();
    let rest = &shape[..shape.len().saturating_sub(1)];
    x.to_f32().sum_keep(rest.len()).reshape(rest).to_u32()
}

/// The remainder of `x` divided by `y`, whole numbers (u32) below [`TaskMemory::MOST`], which are exact in f32.
fn remainder(x: Tensor, y: Tensor) -> Tensor {
    let (x, y) = (x.to_f32(), y.to_f32());
    // A quotient may be rounded to the whole number above or, on GPUs, below it.
    let rest = x - (x / y).to_u32().to_f32() * y;
    let none = Tensor::constant_f32(0.0);
    let rest = rest.lt(none).select(rest + y, rest);
    rest.lt(y).select(rest, rest - y).to_u32()
}

impl TaskMemory {
    /// The most rows of a task, whose numbers are still exact in f32.
    pub const MOST: usize = 1 << 24;

    /// W, the numbers of a row.
    #[must_use]
    pub fn width(&self) -> usize {
        Transitions::width(self.observations, self.actions) + usize::from(self.two_rewards)
    }

    /// The place in a ring, below R, of a number below 2 R.
    fn wrapped(&self, at: Tensor) -> Tensor {
        self.below(word(self.rows), at)
    }

    /// Subtracts R from numbers that are not below `limit`.
    fn below(&self, limit: Tensor, at: Tensor) -> Tensor {
        at.lt(limit).select(at, at + Tensor::constant_u32((self.rows as u32).wrapping_neg()))
    }

    /// The number of a row among the rows of all tasks, u32 `[S, M, B]`, from the task's
    /// number, `[S, M]`, and the place in its ring.
    fn number(&self, tasks: Tensor, place: Tensor) -> Tensor {
        place * word(self.tasks) + tasks.unsqueeze(2)
    }

    /// Adds what a visit collected on tasks of these `numbers`, u32 `[S, M]`, and begins their contexts anew.
    /// A task that is there more than once was visited several times in turn, and the last visit's context
    /// stays. At most R rows may be added to a task.
    #[track_caller]
    #[must_use]
    pub fn add(&self, held: Remembered, numbers: Tensor, visit: &[Collected]) -> Remembered {
        let (p, m, seeds) = (self.tasks, numbers.size(1), numbers.size(0));
        let counts: Vec<Tensor> = visit.iter().map(|part| sum_last(part.valid)).collect();
        let none = word(0).broadcast_to(&[seeds, m]);
        let total = counts.iter().fold(none, |sum, count| sum + *count);
        let seen = visit.iter().zip(&counts).filter(|(part, _)| part.context);
        let seen = seen.fold(none, |sum, (_, count)| sum + *count);
        // 1 where two visits are of the same task: [S, M, M], this visit and the other.
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

        // 1 where a visit is of a task: [S, P, M].
        let of = Tensor::iota(&[1, p, 1], 1).eq(numbers.unsqueeze(1));
        let added = sum_last(of.select(total.unsqueeze(1), word(0)));
        let filled = held.filled + added;
        let latest = of.bit_and(last.unsqueeze(1));
        let visited = word(0).lt(sum_last(latest));
        let newest = |x: Tensor| sum_last(latest.select(x.unsqueeze(1), word(0)));
        Remembered {
            rows,
            // R means row 0. After the last row it stays R, so that a memory that has grown goes on behind it.
            next: self.below(word(self.rows + 1), held.next + added),
            filled: filled.lt(word(self.rows)).select(filled, word(self.rows)),
            context: visited.select(newest(first), held.context),
            context_filled: visited.select(newest(seen), held.context_filled),
        }
    }

    /// Draws `count` transitions of each of these tasks, u32 `[S, M]`, evenly among all
    /// that its memory holds: `[S, M · count, W]`.
    #[track_caller]
    #[must_use]
    pub fn batch(&self, held: &Remembered, tasks: Tensor, noise: &RowNoise, count: usize) -> Tensor {
        let (seeds, m) = (tasks.size(0), tasks.size(1));
        let filled = held.filled.gather(tasks).to_f32().unsqueeze(2);
        let row = (noise.uniform().reshape(&[seeds, m, count]) * filled).to_u32();
        held.rows.gather(self.number(tasks, row).reshape(&[seeds, m * count]))
    }

    /// Draws `count` transitions from the context of each of these tasks, `[S, M · count, W]`: evenly and with
    /// replacement, or, if `sequence`, in order of time from an even draw on, the context's first row following its
    /// last.
    #[track_caller]
    #[must_use]
    pub fn contexts(&self, held: &Remembered, tasks: Tensor, noise: &RowNoise, count: usize, sequence: bool) -> Tensor {
        let (seeds, m) = (tasks.size(0), tasks.size(1));
        let (first, filled) = (held.context.gather(tasks).unsqueeze(2), held.context_filled.gather(tasks).unsqueeze(2));
        let drawn = (noise.uniform().reshape(&[seeds, m, count]) * filled.to_f32()).to_u32();
        let place = match sequence {
            false => drawn,
            true => remainder(drawn.slice(2, 0, 1) + Tensor::iota(&[1, 1, count], 2), filled),
        };
        let row = self.number(tasks, self.wrapped(first + place));
        held.rows.gather(row.reshape(&[seeds, m * count]))
    }

    /// Splits rows into transitions, and the reward that the encoder sees.
    #[track_caller]
    #[must_use]
    pub fn transitions(&self, rows: Tensor) -> (Transitions, Tensor) {
        let of = Transitions::of_rows(rows, self.observations, self.actions);
        let shown = if self.two_rewards { rows.slice(2, self.width() - 1, self.width()) } else { of.reward };
        (of, shown)
    }
}
