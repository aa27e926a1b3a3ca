//! One more operation, or a few that belong together.

use quickstudy_core::DType;
use quickstudy_core::tensor::{Binary, Unary};

use super::generate::{Info, Writer, broadcast, keep_exact};
use super::{Ref, Step, Twin};

impl Writer {
    /// Add operations.
    pub(super) fn grow(&mut self) {
        if self.rows_only {
            return self.grow_rows();
        }
        match self.dice.below(100) {
            0..=17 => self.function(),
            18..=35 => self.arithmetic(),
            36..=43 => self.choice(),
            44..=48 => self.integers(),
            49..=58 => self.some_view(),
            59..=63 => self.joined(),
            64..=71 => self.reduction(),
            72..=79 => self.product(),
            80..=83 => self.gathered(),
            84..=87 => self.stored(),
            88..=90 => self.random(),
            91 => self.rounding(),
            92 => self.twin(),
            93..=94 => self.composite(),
            _ if self.depth < 2 => self.looped(),
            _ => self.function(),
        }
    }

    fn number(&mut self, v: f64) -> Ref {
        self.full(v, DType::F32, &[])
    }

    /// x² + c
    fn above(&mut self, x: Ref, c: f64) -> Ref {
        let (square, c) = (self.bin(Binary::Mul, x, x), self.number(c));
        self.bin(Binary::Add, square, c)
    }

    pub(super) fn function(&mut self) {
        let x = self.float();
        match self.dice.below(10) {
            0 => self.un(Unary::Neg, x),
            1 => {
                let y = self.above(x, 0.5);
                self.un(Unary::Recip, y)
            }
            2 => {
                let x = self.tame(x, 3.0);
                self.un(Unary::Exp, x)
            }
            3 => {
                let y = self.above(x, 0.25);
                self.un(Unary::Log, y)
            }
            4 => {
                let y = self.above(x, 0.125);
                self.un(Unary::Sqrt, y)
            }
            5 => self.un(Unary::Sin, x),
            6 => self.un(Unary::Cos, x),
            7 | 8 => self.un(Unary::Tanh, x),
            _ => self.un(Unary::Stop, x),
        };
    }

    pub(super) fn arithmetic(&mut self) {
        let a = self.float();
        let b = self.partner(a, |i| i.mag <= 30.0);
        let op = *self.dice.one(&[Binary::Add, Binary::Add, Binary::Mul, Binary::Mul, Binary::Max, Binary::Min]);
        let last = *self.infos[a].shape.last().unwrap_or(&1);
        if self.dice.chance(10) && last <= 64 {
            let values: Vec<f64> = (0..last).map(|_| self.dice.below(33) as f64 / 8.0 - 2.0).collect();
            let info =
                Info { shape: vec![last], exact: Some(3), mag: 2.0, deps: 0, blocked: 0, ..self.infos[a].clone() };
            let c = self.add(Step::Literal(values, DType::F32), info);
            self.bin(op, a, c);
        } else if self.dice.chance(25) {
            let c = *self.dice.one(&[0.5, -1.25, 2.0, 0.3]);
            let c = self.number(c);
            self.bin(op, a, c);
        } else {
            self.bin(op, a, b);
        }
    }

    /// A truth value whose operands are exact.
    pub(super) fn condition(&mut self) -> Ref {
        let op = *self.dice.one(&[Binary::Lt, Binary::Lt, Binary::Eq]);
        if self.dice.chance(70) {
            let a = self.exact();
            let b = self.partner(a, |i| i.exact.is_some());
            return self.bin(op, a, b);
        }
        let a = self.integer();
        let b = self.partner(a, |_| true);
        self.bin(op, a, b)
    }

    pub(super) fn choice(&mut self) {
        let c = self.condition();
        if self.dice.chance(20) {
            self.un(Unary::Cast(DType::F32), c);
            return;
        }
        let shape = self.infos[c].shape.clone();
        let limit = self.limit;
        let fits = |s: &[usize]| broadcast(&shape, s).filter(|s| s.iter().product::<usize>() <= limit);
        let Some(a) = self.pick(|i| fits(&i.shape).is_some()) else { return };
        let joint = fits(&self.infos[a].shape).unwrap_or_default();
        let dtype = self.infos[a].dtype;
        let within = |s: &[usize]| broadcast(&joint, s).is_some_and(|s| s.iter().product::<usize>() <= limit);
        let Some(b) = self.pick(|i| i.dtype == dtype && within(&i.shape)) else { return };
        let (x, y) = (self.infos[a].clone(), self.infos[b].clone());
        let shape = broadcast(&joint, &y.shape).unwrap_or_default();
        let exact = x.exact.zip(y.exact).map(|(p, q)| p.max(q));
        let info = Info {
            shape,
            dtype,
            exact,
            mag: x.mag.max(y.mag),
            deps: x.deps | y.deps | self.infos[c].deps,
            blocked: x.blocked | y.blocked,
            hidden: false,
        };
        let info = if dtype == DType::F32 { keep_exact(info) } else { info };
        self.add(Step::Select(c, a, b), info);
    }

    fn integers(&mut self) {
        let a = self.integer();
        let b = self.partner(a, |_| true);
        let op = *self.dice.one(&[
            Binary::Add,
            Binary::Mul,
            Binary::Max,
            Binary::Min,
            Binary::And,
            Binary::Or,
            Binary::Xor,
            Binary::Shl,
            Binary::Shr,
        ]);
        let r = self.bin(op, a, b);
        if self.dice.chance(30) {
            // A float in [1, 2) from 23 of the bits.
            let (mask, one) = (self.full(8_388_607.0, DType::U32, &[]), self.full(1_065_353_216.0, DType::U32, &[]));
            let r = self.bin(Binary::And, r, mask);
            let r = self.bin(Binary::Or, r, one);
            self.un(Unary::Bitcast(DType::F32), r);
        }
    }

    fn rounding(&mut self) {
        let x = self.exact();
        match self.dice.below(4) {
            0 => self.un(Unary::Floor, x),
            1 => self.un(Unary::Cast(DType::U32), x),
            2 => self.un(Unary::Bitcast(DType::U32), x),
            _ => {
                let i = self.integer();
                let bits = self.full(9.0, DType::U32, &[]);
                let i = self.bin(Binary::Shr, i, bits);
                self.infos[i].mag = self.infos[i].mag.min(8_388_607.0);
                self.un(Unary::Cast(DType::F32), i)
            }
        };
    }

    fn some_view(&mut self) {
        let limit = self.limit;
        let Some(a) = self.pick(|i| !i.shape.is_empty() && i.len() <= limit) else { return };
        let shape = self.infos[a].shape.clone();
        let axis = self.dice.below(shape.len());
        match self.dice.below(6) {
            0 => {
                let mut p: Vec<usize> = (0..shape.len()).collect();
                for i in (1..p.len()).rev() {
                    p.swap(i, self.dice.below(i + 1));
                }
                let to = p.iter().map(|i| shape[*i]).collect();
                self.view(Step::Permute(a, p), a, to);
            }
            1 if shape[axis] > 1 => {
                let lo = self.dice.below(shape[axis]);
                let hi = self.dice.within(lo + 1, shape[axis]);
                let mut to = shape;
                to[axis] = hi - lo;
                self.view(Step::Slice(a, axis, lo, hi), a, to);
            }
            2 => {
                let mut to = shape;
                if to.len() > 1 && self.dice.chance(60) {
                    let i = self.dice.below(to.len() - 1);
                    let merged = to.remove(i + 1);
                    to[i] *= merged;
                } else if to.len() < 4 {
                    let i = self.dice.below(to.len() + 1);
                    to.insert(i, 1);
                }
                self.view(Step::Reshape(a, to.clone()), a, to);
            }
            3 => {
                let mut to = shape;
                for s in to.iter_mut().filter(|s| **s == 1) {
                    *s = *self.dice.one(&[1, 2, 3, self.rows]);
                }
                if to.len() < 4 && self.dice.chance(40) {
                    to.insert(0, self.lead);
                }
                if to.iter().product::<usize>() <= self.limit {
                    self.view(Step::Broadcast(a, to.clone()), a, to);
                }
            }
            4 => {
                let (lo, hi) = (self.dice.below(3), self.dice.below(3));
                let mut to = shape;
                to[axis] += lo + hi;
                self.view(Step::Pad(a, axis, lo, hi), a, to);
            }
            // An axis split: [.., a·b, ..] → [.., a, b, ..].
            _ => {
                let n = shape[axis];
                let divisors: Vec<usize> = (2..=n.min(64)).filter(|d| n.is_multiple_of(*d)).collect();
                if divisors.is_empty() || shape.len() > 3 {
                    return;
                }
                let d = *self.dice.one(&divisors);
                let mut to = shape;
                to[axis] = n / d;
                to.insert(axis + 1, d);
                self.view(Step::Reshape(a, to.clone()), a, to);
            }
        }
    }

    fn joined(&mut self) {
        let limit = self.limit / 3;
        let Some(a) = self.pick(|i| !i.shape.is_empty() && i.len() <= limit) else { return };
        let first = self.infos[a].clone();
        let axis = self.dice.below(first.shape.len());
        let mut parts = vec![a];
        for _ in 0..self.dice.within(1, 2) {
            let fits = |i: &Info| {
                i.dtype == first.dtype
                    && i.len() <= limit
                    && i.shape.len() == first.shape.len()
                    && (0..i.shape.len()).all(|k| k == axis || i.shape[k] == first.shape[k])
            };
            parts.extend(self.pick(fits));
        }
        let infos: Vec<Info> = parts.iter().map(|p| self.infos[*p].clone()).collect();
        let mut joint = first;
        joint.shape[axis] = infos.iter().map(|i| i.shape[axis]).sum();
        joint.mag = infos.iter().map(|i| i.mag).fold(0.0, f64::max);
        joint.exact = infos.iter().map(|i| i.exact).try_fold(-30, |f, e| e.map(|e| f.max(e)));
        joint.deps = infos.iter().fold(0, |d, i| d | i.deps);
        joint.blocked = infos.iter().fold(0, |d, i| d | i.blocked);
        let joint = if joint.is_f32() { keep_exact(joint) } else { joint };
        self.add(Step::Concat(parts, axis), joint);
    }

    fn reduction(&mut self) {
        let limit = self.limit;
        let integers = self.dice.chance(15);
        let Some(a) = self.pick(|i| !i.shape.is_empty() && i.len() <= limit && i.is_f32() != integers) else { return };
        let a = if integers { a } else { self.tame(a, 30.0) };
        let info = self.infos[a].clone();
        let axis = self.dice.below(info.shape.len());
        let n = info.shape[axis];
        let mut shape = info.shape.clone();
        shape[axis] = 1;
        let r = if integers || self.dice.chance(30) {
            self.view(Step::Max(a, axis), a, shape)
        } else {
            let info = keep_exact(Info { shape, mag: info.mag * n as f64, ..info });
            self.add(Step::Sum(a, axis), info)
        };
        if !integers && self.dice.chance(50) {
            // What it usually serves for: x − max, x − mean.
            let scale = if self.infos[r].mag > info.mag { 1.0 / n as f64 } else { 1.0 };
            let scale = self.number(-scale);
            let r = self.bin(Binary::Mul, r, scale);
            self.infos[r].mag = info.mag;
            self.bin(Binary::Add, a, r);
        }
    }

    /// Work of a matrix product, at most.
    fn most_work(&self) -> usize {
        self.limit * 40
    }

    fn product(&mut self) {
        let limit = self.limit;
        let Some(a) = self.pick(|i| i.is_f32() && i.shape.len() >= 2 && i.len() <= limit) else { return };
        let (ta, tb) = (self.dice.chance(25), self.dice.chance(25));
        if let Some((b, shape)) = self.factor(a, ta, tb) {
            self.multiply(a, b, ta, tb, shape);
        }
    }

    /// A second factor for `a`, and the product's shape.
    fn factor(&mut self, a: Ref, ta: bool, tb: bool) -> Option<(Ref, Vec<usize>)> {
        let (limit, work) = (self.limit, self.most_work());
        let sa = self.infos[a].shape.clone();
        let shape = move |sb: &[usize]| {
            let (la, lb) = (sa.len() - 2, sb.len().checked_sub(2)?);
            let (m, ka) = if ta { (sa[la + 1], sa[la]) } else { (sa[la], sa[la + 1]) };
            let (kb, n) = if tb { (sb[lb + 1], sb[lb]) } else { (sb[lb], sb[lb + 1]) };
            let mut to = broadcast(&sa[..la], &sb[..lb])?;
            to.extend([m, n]);
            let size = to.iter().product::<usize>();
            (ka == kb && size <= limit && size * ka <= work).then_some(to)
        };
        let b = self.pick(|i| i.is_f32() && shape(&i.shape).is_some())?;
        let to = shape(&self.infos[b].shape)?;
        Some((b, to))
    }

    /// A product of all rows: forwards, backwards, or the gradient of weights.
    pub(super) fn large_product(&mut self) {
        let (r, [d, e], limit) = (self.rows, self.widths, self.limit);
        let forms = [(false, false, [r, d], [d, e]), (false, true, [r, e], [d, e]), (true, false, [r, d], [r, e])];
        let (ta, tb, left, right) = *self.dice.one(&forms);
        let fits = |i: &Info, last: &[usize]| i.is_f32() && i.shape.len() <= 3 && i.shape.ends_with(last);
        let Some(a) = self.pick(|i| fits(i, &left)) else { return };
        let lead = self.infos[a].shape[..self.infos[a].shape.len() - 2].to_vec();
        let batch = |i: &Info| broadcast(&lead, &i.shape[..i.shape.len() - 2]);
        let Some(b) = self.pick(|i| fits(i, &right) && batch(i).is_some()) else { return };
        let mut shape = batch(&self.infos[b]).unwrap_or_default();
        shape.extend([left[usize::from(ta)], right[usize::from(!tb)]]);
        if shape.iter().product::<usize>() <= limit {
            self.multiply(a, b, ta, tb, shape);
        }
    }

    pub(super) fn multiply(&mut self, a: Ref, b: Ref, ta: bool, tb: bool, shape: Vec<usize>) -> Ref {
        let (a, b) = (self.tame(a, 10.0), self.tame(b, 10.0));
        let (x, y) = (self.infos[a].clone(), self.infos[b].clone());
        let k = x.shape[x.shape.len() - if ta { 2 } else { 1 }];
        let info = Info {
            shape,
            dtype: DType::F32,
            exact: x.exact.zip(y.exact).map(|(p, q)| p + q),
            mag: x.mag * y.mag * k as f64,
            deps: x.deps | y.deps,
            blocked: x.blocked | y.blocked,
            hidden: false,
        };
        self.add(Step::MatMul(a, b, ta, tb), keep_exact(info))
    }

    /// A building block of networks or losses: a dense layer, or a log softmax.
    pub(super) fn composite(&mut self) {
        let limit = self.limit;
        let Some(x) = self.pick(|i| i.is_f32() && i.shape.len() >= 2 && i.len() <= limit) else { return };
        let shape = self.infos[x].shape.clone();
        let last = shape.len() - 1;
        if self.dice.chance(60) {
            // A dense layer.
            let Some((w, to)) = self.factor(x, false, false) else { return };
            let y = self.multiply(x, w, false, false, to.clone());
            let y = self.tame(y, 30.0);
            let b = self.pick(|i| i.is_f32() && i.mag < 10.0 && broadcast(&to, &i.shape).as_ref() == Some(&to));
            let y = b.map_or(y, |b| self.bin(Binary::Add, y, b));
            self.un(Unary::Tanh, y);
            return;
        }
        // log softmax
        let x = self.tame(x, 8.0);
        let mut one = shape.clone();
        one[last] = 1;
        let top = self.view(Step::Max(x, last), x, one.clone());
        let top = self.un(Unary::Stop, top);
        let down = self.un(Unary::Neg, top);
        let y = self.bin(Binary::Add, x, down);
        let e = self.un(Unary::Exp, y);
        self.infos[e].mag = 1.0;
        let total = Info { shape: one, mag: shape[last] as f64, ..self.infos[e].clone() };
        let total = self.add(Step::Sum(e, last), total);
        let log = self.un(Unary::Log, total);
        let log = self.un(Unary::Neg, log);
        self.bin(Binary::Add, y, log);
    }

    pub(super) fn twin(&mut self) {
        let limit = self.limit / 2;
        let Some(a) = self.pick(|i| i.is_f32() && i.shape.len() >= 2 && i.len() <= limit && i.mag <= 30.0) else {
            return;
        };
        let x = self.infos[a].clone();
        let rows = &x.shape[..x.shape.len() - 1];
        let fits = |i: &Info| i.is_f32() && i.mag <= 30.0 && i.shape.split_last().is_some_and(|(_, r)| r == rows);
        let b = self.pick(fits).unwrap_or(a);
        let y = self.infos[b].clone();
        let twin = *self.dice.one(&Twin::ALL);
        self.read(&[a, b]);
        self.steps.push(Step::Call(twin, a, b));
        for n in twin.columns() {
            let shape = [rows, &[*n]].concat();
            let (mag, exact) = (x.mag * y.mag + x.mag + y.mag + 1.0, None);
            let (deps, blocked) = (x.deps | y.deps, x.blocked | y.blocked);
            self.infos.push(Info { shape, dtype: DType::F32, exact, mag, deps, blocked, hidden: false });
        }
    }
}
