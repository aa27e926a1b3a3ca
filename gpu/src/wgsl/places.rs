//! Arithmetic of indices in code: row-major numbers of elements, and elements of these numbers.

use super::emit::Emitter;
use super::index::{Ix, groups};

impl Emitter<'_> {
    pub(super) fn index(&mut self, expression: String) -> Ix {
        Ix::var(&self.bind(expression))
    }

    pub fn add(&mut self, a: &Ix, b: &Ix) -> Ix {
        match (a, b) {
            (Ix::Known(a), Ix::Known(b)) => Ix::Known(a + b),
            (Ix::Known(0), x) | (x, Ix::Known(0)) => x.clone(),
            _ => self.index(format!("{a} + {b}")),
        }
    }

    pub fn times(&mut self, a: &Ix, n: usize) -> Ix {
        match (a, n) {
            (Ix::Known(a), n) => Ix::Known(a * n),
            (a, 1) => a.clone(),
            (_, 0) => Ix::Known(0),
            _ => self.index(format!("{a} * {n}u")),
        }
    }

    pub fn over(&mut self, a: &Ix, n: usize) -> Ix {
        match (a, n) {
            (Ix::Known(a), n) => Ix::Known(a / n),
            (a, 1) => a.clone(),
            _ => self.index(format!("{a} / {n}u")),
        }
    }

    pub fn modulo(&mut self, a: &Ix, n: usize) -> Ix {
        match (a, n) {
            (Ix::Known(a), n) => Ix::Known(a % n),
            (_, 1) => Ix::Known(0),
            _ => self.index(format!("{a} % {n}u")),
        }
    }

    /// The row-major number of an element.
    pub fn flat(&mut self, shape: &[usize], at: &[Ix]) -> Ix {
        let mut flat = Ix::Known(0);
        for (n, i) in shape.iter().zip(at) {
            if *n != 1 {
                flat = self.times(&flat, *n);
                flat = self.add(&flat, i);
            }
        }
        flat
    }

    /// Let all shapes agree on which elements have this row-major number: a value that is known at one of them is
    /// then known through reshapes, too.
    pub fn same(&mut self, shape: &[usize], at: &[Ix], flat: &Ix) {
        if let Some(block) = self.blocks.last_mut() {
            block.flats.push((shape.to_vec(), at.to_vec(), flat.clone()));
        }
    }

    fn flats(&self) -> impl Iterator<Item = &(Vec<usize>, Vec<Ix>, Ix)> {
        self.blocks.iter().rev().flat_map(|b| &b.flats)
    }

    /// The element of a row-major number.
    pub fn unflat(&mut self, shape: &[usize], flat: &Ix) -> Vec<Ix> {
        let known = self.flats().find(|(s, _, f)| s == shape && f == flat).map(|(_, at, _)| at.clone());
        if let Some(at) = known {
            return at;
        }
        let mut at = vec![Ix::Known(0); shape.len()];
        let axes: Vec<usize> = (0..shape.len()).filter(|a| shape[*a] != 1).collect();
        let mut rest = flat.clone();
        for (k, axis) in axes.iter().enumerate().rev() {
            let n = shape[*axis];
            at[*axis] = if k == 0 { rest.clone() } else { self.modulo(&rest, n) };
            if k > 0 {
                rest = self.over(&rest, n);
            }
        }
        at
    }

    pub(super) fn reshaped(&mut self, to: &[usize], from: &[usize], at: &[Ix]) -> Vec<Ix> {
        let known = self.flats().find(|(s, i, _)| s == to && i == at).map(|(.., flat)| flat.clone());
        if let Some(flat) = known {
            let result = self.unflat(from, &flat);
            self.same(from, &result, &flat);
            return result;
        }
        let mut result = vec![Ix::Known(0); from.len()];
        for (t, f) in groups(to, from) {
            let part = |axes: &[usize], shape: &[usize]| axes.iter().map(|a| shape[*a]).collect::<Vec<_>>();
            let (t_shape, f_shape) = (part(&t, to), part(&f, from));
            let t_at: Vec<Ix> = t.iter().map(|a| at[*a].clone()).collect();
            let flat = self.flat(&t_shape, &t_at);
            for (axis, i) in f.iter().zip(self.unflat(&f_shape, &flat)) {
                result[*axis] = i;
            }
        }
        result
    }
}
