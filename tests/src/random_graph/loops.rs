//! Loops.

use quickstudy_core::DType;
use quickstudy_core::tensor::{Binary, Unary};

use super::generate::{Info, Writer, broadcast};
use super::{LoopStep, Ref, Step};

/// The purpose of a carry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// c ← tanh(a·c + f)
    Recurrent,
    /// c ← clamp(c + f) on a dyadic grid.
    Counter,
    /// c ← integers
    Bits,
    /// Rows are stored into it; nothing else reads it, so that it can stay in place.
    Memory,
}

impl Writer {
    /// A loop with a few carries, stacked inputs and outputs, and a body that may use any value around it.
    pub(super) fn looped(&mut self) {
        let (limit, most) = (self.limit / 6, self.limit);
        let xs: Vec<Ref> = match self.pick(|i| !i.shape.is_empty() && i.shape[0] <= 6 && i.len() <= most) {
            Some(x) if self.dice.chance(75) => {
                let len = self.infos[x].shape[0];
                let again = self.pick(|i| i.shape.first() == Some(&len));
                if self.dice.chance(30) { [x].into_iter().chain(again).collect() } else { vec![x] }
            }
            _ => vec![],
        };
        let len = match xs.first() {
            Some(x) => self.infos[*x].shape[0],
            None => self.dice.within(1, 6),
        };
        let mut init: Vec<(Ref, Role)> = Vec::new();
        for _ in 0..self.dice.within(1, 3) {
            let (role, found) = match self.dice.below(7) {
                0..=3 => (Role::Recurrent, self.pick(|i| i.is_f32() && i.len() <= limit && i.mag <= 5.0)),
                4 => {
                    let grid = |i: &Info| i.exact.is_some_and(|f| f <= 6) && i.mag <= 16.0;
                    (Role::Counter, self.pick(|i| i.is_f32() && i.len() <= limit && grid(i)))
                }
                5 => (Role::Bits, self.pick(|i| !i.is_f32() && i.len() <= limit)),
                _ => {
                    (Role::Memory, self.pick(|i| !i.shape.is_empty() && i.is_f32() && i.len() <= limit && i.mag <= 5.0))
                }
            };
            init.extend(found.map(|r| (r, role)));
        }
        if init.is_empty() {
            return;
        }
        self.write_loop(len, &init, xs);
    }

    /// A loop with recurrent carries.
    pub(super) fn recurrent_loop(&mut self, len: usize, init: &[Ref], xs: Vec<Ref>) {
        let init: Vec<(Ref, Role)> = init.iter().map(|r| (*r, Role::Recurrent)).collect();
        self.write_loop(len, &init, xs);
    }

    fn write_loop(&mut self, len: usize, init: &[(Ref, Role)], xs: Vec<Ref>) {
        let outside = self.infos.len();
        let steps = std::mem::take(&mut self.steps);
        let index = Info {
            shape: vec![],
            dtype: DType::U32,
            exact: Some(0),
            mag: len as f64,
            deps: 0,
            blocked: 0,
            hidden: false,
        };
        self.infos.push(index);
        let mut known = self.infos[..outside].iter().fold(0, |d, i| d | i.deps);
        if self.depth > 0 {
            known = u64::MAX;
        }
        for (r, role) in init {
            let mut info = self.infos[*r].clone();
            (info.exact, info.mag) = match role {
                Role::Recurrent | Role::Memory => (None, 5.0),
                Role::Counter => (Some(6), 16.0),
                Role::Bits => (Some(0), f64::from(u32::MAX)),
            };
            // It may come to depend on anything.
            info.deps = if info.is_f32() { known } else { 0 };
            if *role == Role::Memory {
                // Only the store below reads it.
                (info.hidden, info.mag) = (true, 10.0);
            }
            self.infos.push(info);
        }
        for x in &xs {
            let mut info = self.infos[*x].clone();
            info.shape.remove(0);
            self.infos.push(info);
        }
        self.depth += 1;
        let around = std::mem::replace(&mut self.inside, outside);
        for _ in 0..self.dice.within(2, 8) {
            self.grow();
        }
        if !self.rows_only && self.dice.chance(40) {
            self.composite();
        }
        let carry: Vec<Ref> =
            init.iter().enumerate().map(|(i, (_, role))| self.next(outside + 1 + i, *role, outside)).collect();
        let ends = if self.depth == 1 { 25 } else { 10 };
        let until = self.dice.chance(ends).then(|| self.ending(outside, len, init.len()));
        self.depth -= 1;
        self.inside = around;
        let mut ys: Vec<Ref> = Vec::new();
        for _ in 0..self.dice.within(0, 2) {
            let local = (outside..self.infos.len()).filter(|i| {
                let info = &self.infos[*i];
                !info.hidden && info.len() * len <= self.limit && (!self.rows_only || info.shape.len() == 3)
            });
            let mut local: Vec<Ref> = local.collect();
            let fresh: Vec<Ref> = local.iter().copied().filter(|i| !self.used.get(*i).is_some_and(|u| *u)).collect();
            if !fresh.is_empty() && self.dice.chance(70) {
                local = fresh;
            }
            if !local.is_empty() {
                ys.push(*self.dice.one(&local));
            }
        }
        let blocked = self.infos[outside..].iter().fold(0, |b, i| b | i.blocked);
        let reverse = until.is_none() && self.dice.chance(35);
        let mut results: Vec<Info> = Vec::new();
        for i in 0..init.len() {
            let info = self.infos[outside + 1 + i].clone();
            results.push(Info { blocked: info.blocked | blocked, hidden: false, ..info });
        }
        for y in &ys {
            let mut info = self.infos[*y].clone();
            info.shape.insert(0, len);
            info.blocked |= blocked;
            results.push(info);
        }
        self.infos.truncate(outside);
        self.used.truncate(outside);
        self.read(&xs);
        self.read(&init.iter().map(|(r, _)| *r).collect::<Vec<_>>());
        let body = std::mem::replace(&mut self.steps, steps);
        let init = init.iter().map(|(r, _)| *r).collect();
        self.steps.push(Step::Scan(Box::new(LoopStep { len, reverse, init, xs, body, carry, ys, until })));
        self.infos.extend(results);
    }

    /// The new value of a carry.
    fn next(&mut self, carry: Ref, role: Role, outside: usize) -> Ref {
        let shape = self.infos[carry].shape.clone();
        let dtype = self.infos[carry].dtype;
        let fits = |i: &Info| i.dtype == dtype && broadcast(&i.shape, &shape).as_ref() == Some(&shape);
        match role {
            Role::Recurrent if self.dice.chance(20) => self.moved(carry, outside),
            Role::Recurrent => {
                let from = self.pick(|i| fits(i) && i.mag <= 30.0).unwrap_or(carry);
                let a = self.full(0.5, DType::F32, &[]);
                let c = self.bin(Binary::Mul, carry, a);
                let sum = self.bin(Binary::Add, c, from);
                if self.dice.chance(70) {
                    self.un(Unary::Tanh, sum)
                } else {
                    let (hi, lo) = (self.full(1.0, DType::F32, &[]), self.full(-1.0, DType::F32, &[]));
                    let r = self.bin(Binary::Min, sum, hi);
                    let r = self.bin(Binary::Max, r, lo);
                    self.infos[r].mag = 1.0;
                    r
                }
            }
            Role::Counter => {
                let grid = |i: &Info| i.exact.is_some_and(|f| f <= 6) && i.mag <= 64.0;
                let from = match self.pick(|i| fits(i) && grid(i)) {
                    Some(r) => r,
                    None => self.full(0.5, DType::F32, &[]),
                };
                let (hi, lo) = (self.full(16.0, DType::F32, &[]), self.full(-16.0, DType::F32, &[]));
                let r = self.bin(Binary::Add, carry, from);
                let r = self.bin(Binary::Min, r, hi);
                self.bin(Binary::Max, r, lo)
            }
            Role::Bits => {
                let from = self.pick(fits).unwrap_or(carry);
                let op = *self.dice.one(&[Binary::Add, Binary::Xor, Binary::Max]);
                self.bin(op, carry, from)
            }
            Role::Memory => self.store_at(carry, outside),
        }
    }

    /// A parameter of the body of the carry's shape, as it is, rotated or one column of it: carries change places.
    fn moved(&mut self, carry: Ref, outside: Ref) -> Ref {
        let shape = self.infos[carry].shape.clone();
        let same = |i: &Info| i.is_f32() && !i.hidden && i.shape == shape && i.mag <= 5.0;
        let params: Vec<Ref> =
            (outside + 1..self.infos.len().min(outside + 5)).filter(|i| same(&self.infos[*i])).collect();
        let from = if params.is_empty() { carry } else { *self.dice.one(&params) };
        let Some(axis) = shape.len().checked_sub(1).filter(|a| shape[*a] > 1) else { return from };
        if self.dice.chance(60) {
            return from;
        }
        let n = shape[axis];
        let cut = self.dice.within(1, n - 1);
        let with = |m: usize| [&shape[..axis], &[m]].concat();
        if self.dice.chance(40) {
            let one = self.view(Step::Slice(from, axis, cut, cut + 1), from, with(1));
            return self.spread(one, &shape);
        }
        let back = self.view(Step::Slice(from, axis, cut, n), from, with(n - cut));
        let front = self.view(Step::Slice(from, axis, 0, cut), from, with(cut));
        self.view(Step::Concat(vec![back, front], axis), from, shape.clone())
    }

    /// A memory with the row of this step replaced.
    fn store_at(&mut self, memory: Ref, index: Ref) -> Ref {
        if self.dice.chance(30) {
            return self.store_into(memory);
        }
        let info = self.infos[memory].clone();
        let mut shape = info.shape.clone();
        shape[0] = 1;
        let fits = |i: &Info| i.is_f32() && i.mag <= 10.0 && broadcast(&i.shape, &shape).as_ref() == Some(&shape);
        let rows = match self.pick(fits) {
            Some(r) => r,
            None => self.full(0.25, DType::F32, &[]),
        };
        let rows = self.spread(rows, &shape);
        let at = self.view(Step::Reshape(index, vec![1]), index, vec![1]);
        let r = self.infos[rows].clone();
        let (deps, blocked) = (info.deps | r.deps, info.blocked | r.blocked);
        let mag = info.mag.max(r.mag);
        self.add(Step::Store(memory, at, rows), Info { exact: None, mag, deps, blocked, hidden: false, ..info })
    }

    /// A condition that ends the loop as a whole or row by row.
    fn ending(&mut self, index: Ref, len: usize, carries: usize) -> Ref {
        let mut rows = self.infos[index + 1].shape.clone();
        for carry in index + 2..=index + carries {
            let same = rows.iter().zip(&self.infos[carry].shape).take_while(|(a, b)| a == b).count();
            rows.truncate(same);
        }
        if !rows.is_empty() && (self.rows_only || self.dice.chance(60)) {
            return self.ending_rows(index, len, &rows);
        }
        let exact = |i: &Info| i.is_f32() && i.exact.is_some() && i.shape.is_empty();
        if let (Some(x), true) = (self.pick(exact), self.dice.chance(50)) {
            let limit = self.full(2.0, DType::F32, &[]);
            return self.bin(Binary::Lt, limit, x);
        }
        let v = self.dice.below(len) as f64;
        let limit = self.full(v, DType::U32, &[]);
        self.bin(Binary::Eq, index, limit)
    }

    /// A condition of some of these first axes of all carries.
    fn ending_rows(&mut self, index: Ref, len: usize, rows: &[usize]) -> Ref {
        let axes = if self.rows_only { rows.len().min(2) } else { self.dice.within(1, rows.len()) };
        let shape = &rows[..axes];
        let exact = |i: &Info| i.is_f32() && i.exact.is_some() && i.shape == shape;
        match (self.dice.below(3), self.pick(exact)) {
            (0, Some(x)) => {
                let limit = self.full(1.0, DType::F32, &[]);
                self.bin(Binary::Lt, limit, x)
            }
            // The rows one after the other.
            (1, _) => {
                let axis = self.dice.below(axes);
                let row = self.iota(shape, axis);
                let at = self.bin(Binary::Add, row, index);
                let v = self.dice.below(len + shape[axis]) as f64;
                let limit = self.full(v, DType::U32, &[]);
                self.bin(Binary::Lt, limit, at)
            }
            // At random, and not in all steps that follow.
            _ => {
                let bits = self.bits(shape);
                let bits = self.bin(Binary::Add, bits, index);
                let (mask, zero) = (self.full(3.0, DType::U32, &[]), self.full(0.0, DType::U32, &[]));
                let bits = self.bin(Binary::And, bits, mask);
                self.bin(Binary::Eq, bits, zero)
            }
        }
    }
}
