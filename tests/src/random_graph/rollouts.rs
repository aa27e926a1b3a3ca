//! Loops whose bodies treat each row on its own, as rollouts do: what the CPU runs tile by tile.

use quickstudy_core::DType;

use super::generate::{Info, Writer, broadcast, keep_exact};
use super::{Ref, Step};

impl Writer {
    /// A loop over `[lead, rows, _]` carries whose body is row-local.
    pub(super) fn rollout(&mut self) {
        let rows = [self.lead, self.rows];
        let limit = self.limit / 6;
        let row = |i: &Info| i.is_f32() && i.shape.len() == 3 && i.shape[..2] == rows && i.len() <= limit;
        let Some(first) = self.pick(|i| row(i) && i.mag <= 5.0) else { return };
        let second = self.pick(|i| row(i) && i.mag <= 5.0).filter(|_| self.dice.chance(50));
        let stacked = |i: &Info| i.shape.len() == 4 && i.shape[1..3] == rows && i.shape[0] <= 6;
        let xs: Vec<Ref> = self.pick(stacked).filter(|_| self.dice.chance(80)).into_iter().collect();
        let len = match xs.first() {
            Some(x) => self.infos[*x].shape[0],
            None => self.dice.within(1, 6),
        };
        let mut init = vec![first];
        init.extend(second);
        self.rows_only = true;
        self.recurrent_loop(len, &init, xs);
        self.rows_only = false;
    }

    /// Tells whether an operation on rows may read a value: it has the rows, or one row for all.
    pub(super) fn is_row(&self, info: &Info) -> bool {
        let whole = [self.lead, self.rows];
        match info.shape.len() {
            0 => true,
            3 => (0..2).all(|i| info.shape[i] == whole[i] || (info.shape[i] == 1 && i == 1)),
            _ => false,
        }
    }

    /// One operation on rows.
    pub(super) fn grow_rows(&mut self) {
        match self.dice.below(21) {
            0..=4 => self.function(),
            5..=9 => self.arithmetic(),
            10 | 11 => self.choice(),
            12..=14 => self.dense_rows(),
            15 => self.twin(),
            16 => self.random(),
            20 if self.depth < 2 => self.inner_rows(),
            other => self.last_axis(other - 17),
        }
    }

    /// A loop over rows inside of a loop over rows.
    fn inner_rows(&mut self) {
        let whole = [self.lead, self.rows];
        let able = |i: &Info| i.is_f32() && i.shape.len() == 3 && i.shape[..2] == whole && i.mag <= 5.0;
        let Some(first) = self.pick(able) else { return };
        let len = self.dice.within(1, 4);
        self.recurrent_loop(len, &[first], vec![]);
    }

    /// tanh(x·w) with w from outside; out of loops also tanh(x·wᵀ).
    pub(super) fn dense_rows(&mut self) {
        let whole = [self.lead, self.rows];
        let Some(x) = self.pick(|i| i.is_f32() && i.shape.len() == 3 && i.shape[..2] == whole) else { return };
        self.rows_only = false;
        let inside = std::mem::replace(&mut self.inside, 0);
        let tb = self.depth == 0 && self.dice.chance(40);
        if let Some((w, to)) = self.factor_before(x, inside, tb) {
            let y = self.multiply(x, w, false, tb, to);
            let y = self.tame(y, 30.0);
            self.un(quickstudy_core::tensor::Unary::Tanh, y);
        }
        self.inside = inside;
        self.rows_only = true;
    }

    /// A sum, a maximum, a slice or a concatenation along the last axis.
    pub(super) fn last_axis(&mut self, which: usize) {
        let whole = [self.lead, self.rows];
        let Some(x) = self.pick(|i| i.is_f32() && i.shape.len() == 3 && i.shape[..2] == whole) else { return };
        let x = self.tame(x, 20.0);
        let info = self.infos[x].clone();
        let n = info.shape[2];
        match which {
            0 => {
                let mut shape = info.shape.clone();
                shape[2] = 1;
                if self.dice.chance(50) {
                    self.view(Step::Max(x, 2), x, shape);
                } else {
                    let info = keep_exact(Info { shape, mag: info.mag * n as f64, ..info });
                    self.add(Step::Sum(x, 2), info);
                }
            }
            1 if n > 1 => {
                let lo = self.dice.below(n);
                let hi = self.dice.within(lo + 1, n);
                let mut shape = info.shape;
                shape[2] = hi - lo;
                self.view(Step::Slice(x, 2, lo, hi), x, shape);
            }
            _ => {
                let fits = |i: &Info| i.is_f32() && i.mag <= 20.0 && i.shape.len() == 3 && i.shape[..2] == whole;
                let Some(y) = self.pick(fits) else { return };
                let other = self.infos[y].clone();
                let shape = vec![whole[0], whole[1], n + other.shape[2]];
                if shape.iter().product::<usize>() > self.limit / 4 {
                    return;
                }
                let exact = info.exact.zip(other.exact).map(|(p, q)| p.max(q));
                let mag = info.mag.max(other.mag);
                let (deps, blocked) = (info.deps | other.deps, info.blocked | other.blocked);
                let joint = Info { shape, dtype: DType::F32, exact, mag, deps, blocked, hidden: false };
                self.add(Step::Concat(vec![x, y], 2), keep_exact(joint));
            }
        }
    }

    /// A second factor for rows `x` among the first `end` values, and the product's shape.
    fn factor_before(&mut self, x: Ref, end: usize, tb: bool) -> Option<(Ref, Vec<usize>)> {
        let limit = self.limit / 4;
        let sx = self.infos[x].shape.clone();
        let shape = |s: &[usize]| {
            let [lead @ .., k, n] = s else { return None };
            let [k, n] = if tb { [n, k] } else { [k, n] };
            let batch = broadcast(&sx[..1], lead)?;
            let fits = *k == sx[2] && batch == sx[..1] && sx[0] * sx[1] * n <= limit;
            fits.then(|| vec![sx[0], sx[1], *n])
        };
        let found: Vec<Ref> = (0..end)
            .filter(|i| {
                let info = &self.infos[*i];
                info.is_f32() && !info.hidden && info.mag <= 30.0 && shape(&info.shape).is_some()
            })
            .collect();
        if found.is_empty() {
            return None;
        }
        let w = *self.dice.one(&found);
        let to = shape(&self.infos[w].shape)?;
        Some((w, to))
    }
}
