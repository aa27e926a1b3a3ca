//! Rows by index, and random numbers.

use quickstudy_core::DType;
use quickstudy_core::tensor::{Binary, Unary};

use super::generate::{Info, Writer, broadcast};
use super::{Ref, Step};

impl Writer {
    pub(super) fn integer_info(&self, shape: Vec<usize>, mag: f64) -> Info {
        Info { shape, dtype: DType::U32, exact: Some(0), mag, deps: 0, blocked: 0, hidden: false }
    }

    pub(super) fn iota(&mut self, shape: &[usize], axis: usize) -> Ref {
        let info = self.integer_info(shape.to_vec(), shape[axis] as f64);
        self.add(Step::Iota(shape.to_vec(), axis), info)
    }

    /// A u32 of shape `[]`.
    pub(super) fn word(&mut self) -> Ref {
        match self.pick(|i| !i.is_f32() && i.shape.is_empty()) {
            Some(r) => r,
            None => {
                let v = f64::from(self.dice.bits() >> 8);
                self.full(v, DType::U32, &[])
            }
        }
    }

    /// Random bits of a shape.
    pub(super) fn bits(&mut self, shape: &[usize]) -> Ref {
        let key = [self.word(), self.word()];
        let axis = self.dice.below(shape.len().max(1));
        let at = if shape.is_empty() { self.word() } else { self.iota(shape, axis) };
        let fits = |i: &Info| !i.is_f32() && broadcast(shape, &i.shape).as_deref() == Some(shape);
        let other = self.pick(fits).unwrap_or(key[0]);
        let info = self.integer_info(shape.to_vec(), f64::from(u32::MAX));
        let word = (self.dice.bits() & 1) as u8;
        self.add(Step::Threefry(key, [at, other], word), info)
    }

    /// Numbers in [0, 1) with 24 bits.
    fn uniform(&mut self, shape: &[usize]) -> Ref {
        let bits = self.bits(shape);
        let eight = self.full(8.0, DType::U32, &[]);
        let r = self.bin(Binary::Shr, bits, eight);
        self.infos[r].mag = 16_777_215.0;
        let r = self.un(Unary::Cast(DType::F32), r);
        let scale = self.full(2f64.powi(-24), DType::F32, &[]);
        self.infos[scale].exact = Some(24);
        let r = self.bin(Binary::Mul, r, scale);
        (self.infos[r].exact, self.infos[r].mag) = (Some(24), 1.0);
        r
    }

    pub(super) fn random(&mut self) {
        let limit = self.limit;
        let Some(like) = self.pick(|i| i.len() <= limit) else { return };
        let shape = self.infos[like].shape.clone();
        match self.dice.below(3) {
            0 => {
                self.bits(&shape);
            }
            1 => {
                self.uniform(&shape);
            }
            _ => {
                // Box and Muller.
                let (u, v) = (self.uniform(&shape), self.uniform(&shape));
                let (one, turn, two) = (
                    self.full(1.0, DType::F32, &[]),
                    self.full(std::f64::consts::TAU, DType::F32, &[]),
                    self.full(-2.0, DType::F32, &[]),
                );
                let u = self.un(Unary::Neg, u);
                let u = self.bin(Binary::Add, u, one);
                let u = self.un(Unary::Log, u);
                let u = self.bin(Binary::Mul, u, two);
                let radius = self.un(Unary::Sqrt, u);
                let angle = self.bin(Binary::Mul, v, turn);
                let angle = self.un(Unary::Cos, angle);
                let r = self.bin(Binary::Mul, radius, angle);
                self.infos[r].mag = 6.0;
            }
        }
    }

    /// Indices `[lead.., m]` of `n` rows; distinct within each batch if asked for.
    pub(super) fn index(&mut self, lead: &[usize], m: usize, n: usize, distinct: bool) -> Ref {
        let shape = [lead, &[m]].concat();
        let i = self.iota(&shape, lead.len());
        match self.dice.below(4) {
            // The image of the range under a permutation.
            0 if m <= n => {
                let key = [self.word(), self.word()];
                let info = self.integer_info(shape, n as f64);
                self.add(Step::Permutation(i, key, n), info)
            }
            1 => {
                let v = self.dice.below(n) as f64;
                let offset = self.full(v, DType::U32, &[]);
                self.bin(Binary::Add, i, offset)
            }
            // Mostly out of range.
            2 => {
                let offset = self.word();
                self.bin(Binary::Add, i, offset)
            }
            _ if distinct => {
                let v = self.dice.below(n) as f64;
                let mask = self.full(v, DType::U32, &[]);
                self.bin(Binary::Xor, i, mask)
            }
            _ => {
                let bits = self.bits(&shape);
                let keep = 32 - (n as u32).leading_zeros();
                let shift = self.full(f64::from(31.min(32 - keep)), DType::U32, &[]);
                self.bin(Binary::Shr, bits, shift)
            }
        }
    }

    pub(super) fn gathered(&mut self) {
        let (limit, smooth) = (self.limit, self.smooth);
        let able = |i: &Info| !i.shape.is_empty() && i.len() <= limit && (!smooth || i.deps == 0);
        let Some(a) = self.pick(able) else { return };
        let info = self.infos[a].clone();
        let axis = self.dice.below(info.shape.len().min(2));
        let n = info.shape[axis];
        let m = *self.dice.one(&[1, 2, n, n.div_ceil(2), n + 1]);
        let index = self.index(&info.shape[..axis], m, n, false);
        let mut shape = info.shape.clone();
        shape[axis] = m;
        if shape.iter().product::<usize>() <= self.limit {
            let info = Info { shape, blocked: info.blocked | info.deps, ..info };
            self.add(Step::Gather(a, index), info);
        }
    }

    pub(super) fn stored(&mut self) {
        let limit = self.limit;
        if let Some(a) = self.pick(|i| !i.shape.is_empty() && i.len() <= limit) {
            self.store_into(a);
        }
    }

    /// `a` with some rows replaced by something of its size.
    pub(super) fn store_into(&mut self, a: Ref) -> Ref {
        let info = self.infos[a].clone();
        let axis = self.dice.below(info.shape.len().min(2));
        let n = info.shape[axis];
        let m = *self.dice.one(&[1, 1, n, n.div_ceil(2)]);
        let mut shape = info.shape.clone();
        shape[axis] = m;
        let fits = |i: &Info| {
            i.dtype == info.dtype && i.mag <= info.mag && broadcast(&i.shape, &shape).as_ref() == Some(&shape)
        };
        let rows = match self.pick(fits) {
            Some(r) => r,
            None => self.full(0.0, info.dtype, &[]),
        };
        let rows = self.spread(rows, &shape);
        let index = self.index(&info.shape[..axis], m, n, true);
        let r = self.infos[rows].clone();
        let exact = info.exact.zip(r.exact).map(|(p, q)| p.max(q));
        let (deps, blocked) = (info.deps | r.deps, info.blocked | r.blocked);
        self.add(Step::Store(a, index, rows), Info { exact, deps, blocked, hidden: false, ..info })
    }
}
