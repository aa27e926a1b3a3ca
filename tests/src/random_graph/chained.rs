//! Rows and sums over them, as the gradient of a minibatch has: what becomes a chain.

use quickstudy_core::DType;
use quickstudy_core::tensor::{Binary, Unary};

use super::generate::{Info, Writer};
use super::{Arg, Kind, Ref, Step};

impl Writer {
    /// A layer, so many further operations on the rows of `[lead, rows, _]`, and sums over these, of which some are the
    /// step of a vector: the state that holds it, and its new value.
    pub(super) fn chained(&mut self, args: &mut [Arg], count: usize) -> (Ref, Ref) {
        let (s, r, [d, e]) = (self.lead, self.rows, self.widths);
        let theta = args.iter().position(|arg| arg.shape == [s, d * e + e]).unwrap_or_default();
        args[theta].kind = Kind::State;
        let w = self.view(Step::Slice(theta, 1, 0, d * e), theta, vec![s, d * e]);
        let w = self.view(Step::Reshape(w, vec![s, d, e]), theta, vec![s, d, e]);
        let b = self.view(Step::Slice(theta, 1, d * e, d * e + e), theta, vec![s, e]);
        let b = self.view(Step::Reshape(b, vec![s, 1, e]), theta, vec![s, 1, e]);
        self.inside = self.infos.len();
        // The first argument is `[lead, rows, d]`.
        let y = self.multiply(0, w, false, false, vec![s, r, e]);
        let y = self.bin(Binary::Add, y, b);
        for _ in 0..count {
            self.grow_chain();
        }
        let (x, g) = (self.row_of(d).unwrap_or(0), self.row_of(e).unwrap_or(y));
        let g = self.bin(Binary::Mul, g, y);
        let outer = self.outer(x, g);
        let sum = self.row_sum(g);
        let parts = [(outer, d * e), (sum, e)].map(|(part, n)| {
            let step = Step::Reshape(part, vec![s, n]);
            self.view(step, part, vec![s, n])
        });
        let joint = if self.infos[outer].mag > self.infos[sum].mag { outer } else { sum };
        let deps = self.infos[outer].deps | self.infos[sum].deps;
        let blocked = self.infos[outer].blocked | self.infos[sum].blocked;
        let info = Info { shape: vec![s, d * e + e], exact: None, deps, blocked, ..self.infos[joint].clone() };
        let joined = self.add(Step::Concat(parts.to_vec(), 1), info);
        // Not in that vector.
        for _ in 0..self.dice.below(3) {
            let width = self.dice.within(1, 40);
            let Some(x) = self.row_of(width).or_else(|| self.row_of(d)) else { continue };
            match self.row_of(e) {
                Some(g) if self.dice.chance(60) => self.outer(x, g),
                _ => self.row_sum(x),
            };
        }
        (self.rows_only, self.inside) = (false, 0);
        let step = self.tame(joined, 3.0);
        let step = self.un(Unary::Tanh, step);
        let (keep, rate) = (self.full(0.9, DType::F32, &[]), self.full(0.2, DType::F32, &[]));
        let (kept, moved) = (self.bin(Binary::Mul, theta, keep), self.bin(Binary::Mul, step, rate));
        (theta, self.bin(Binary::Add, kept, moved))
    }

    /// Rows of floats of a width.
    fn row_of(&mut self, width: usize) -> Option<Ref> {
        let shape = [self.lead, self.rows, width];
        self.pick(|i| i.is_f32() && i.shape == shape).map(|x| self.tame(x, 10.0))
    }

    /// xᵀ·g, summed over the rows.
    fn outer(&mut self, x: Ref, g: Ref) -> Ref {
        let shape = vec![self.lead, self.infos[x].shape[2], self.infos[g].shape[2]];
        self.multiply(x, g, true, false, shape)
    }

    fn row_sum(&mut self, x: Ref) -> Ref {
        let info = self.infos[x].clone();
        let shape = vec![self.lead, 1, info.shape[2]];
        self.add(Step::Sum(x, 1), Info { shape, exact: None, mag: info.mag * self.rows as f64, ..info })
    }

    /// One more operation on rows.
    fn grow_chain(&mut self) {
        match self.dice.below(20) {
            0..=2 => self.function(),
            3..=5 => self.arithmetic(),
            6 | 7 => self.choice(),
            8..=11 => self.dense_rows(),
            12 => self.random(),
            13 => self.permuted_rows(),
            14 => self.gathered_rows(),
            15..=17 => self.blocks(),
            other => self.last_axis(other - 17),
        }
    }

    /// The image of the rows' numbers under a permutation, as integers and as floats.
    fn permuted_rows(&mut self) {
        let shape = [self.lead, self.rows, 1];
        let (i, key, n) = (self.iota(&shape, 1), [self.word(), self.word()], self.rows + self.dice.below(50));
        let info = self.integer_info(shape.to_vec(), n as f64);
        let i = self.add(Step::Permutation(i, key, n), info);
        self.un(Unary::Cast(DType::F32), i);
    }

    /// Rows of an argument, at an index per row.
    fn gathered_rows(&mut self) {
        let (s, r, smooth) = (self.lead, self.rows, self.smooth);
        let able = |i: &Info| i.shape.len() == 3 && i.shape[0] == s && (!smooth || i.deps == 0);
        let tables: Vec<Ref> = (0..self.inside).filter(|i| able(&self.infos[*i])).collect();
        if tables.is_empty() {
            return;
        }
        let table = *self.dice.one(&tables);
        let info = self.infos[table].clone();
        let index = self.index(&[s], r, info.shape[1], false);
        let shape = vec![s, r, info.shape[2]];
        self.add(Step::Gather(table, index), Info { shape, blocked: info.blocked | info.deps, ..info });
    }

    /// A row's blocks in another order or with zeros around them, or sums or maxima of them.
    fn blocks(&mut self) {
        let (s, r) = (self.lead, self.rows);
        let Some(x) = self.pick(|i| i.shape.len() == 3 && i.shape[1] == r && i.mag <= 100.0) else { return };
        let info = self.infos[x].clone();
        let m = info.shape[2];
        let inner: Vec<usize> = (1..m).filter(|inner| m.is_multiple_of(*inner)).collect();
        if inner.is_empty() || self.dice.chance(20) {
            let (lo, hi) = (self.dice.below(3), self.dice.below(3));
            self.view(Step::Pad(x, 2, lo, hi), x, vec![s, r, lo + m + hi]);
            return;
        }
        let inner = *self.dice.one(&inner);
        let shape = vec![s, r, m / inner, inner];
        let x = self.view(Step::Reshape(x, shape.clone()), x, shape);
        let one = vec![s, r, 1, inner];
        let (x, m) = match self.dice.below(3) {
            0 => (self.view(Step::Permute(x, vec![0, 1, 3, 2]), x, vec![s, r, inner, m / inner]), m),
            // Compilers may add what is added later before terms of a sum, which shows where the sum is exact.
            1 if info.is_f32() && info.exact.is_none() => {
                let info = Info { shape: one, exact: None, mag: info.mag * (m / inner) as f64, ..info };
                (self.add(Step::Sum(x, 2), info), inner)
            }
            _ => (self.view(Step::Max(x, 2), x, one), inner),
        };
        self.view(Step::Reshape(x, vec![s, r, m]), x, vec![s, r, m]);
    }
}
