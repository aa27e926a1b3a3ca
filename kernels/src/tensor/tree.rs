//! Groups of tensors that keep their names: through loops, and from one part of a program to another.

use super::{Loop, Tensor, control, fail};
use crate::Error;

/// Something made of tensors. Its structure (which options are there, how long lists are) is its own:
/// [`rebuild`](Tree::rebuild) takes it from `self`.
pub trait Tree: Sized {
    /// Adds its tensors to `to`, in an order that depends on the structure alone.
    fn leaves(&self, to: &mut Vec<Tensor>);

    /// A copy of this structure with other tensors, taken in the order of [`leaves`](Tree::leaves).
    fn rebuild(&self, from: &mut dyn Iterator<Item = Tensor>) -> Self;

    /// Its tensors.
    fn flat(&self) -> Vec<Tensor> {
        let mut all = Vec::new();
        self.leaves(&mut all);
        all
    }

    /// A copy of this structure with the tensors of a list.
    fn with(&self, tensors: &[Tensor]) -> Self {
        self.rebuild(&mut tensors.iter().copied())
    }
}

impl Tree for Tensor {
    fn leaves(&self, to: &mut Vec<Tensor>) {
        to.push(*self);
    }

    fn rebuild(&self, from: &mut dyn Iterator<Item = Tensor>) -> Tensor {
        from.next().unwrap_or(Tensor::poison())
    }
}

impl Tree for () {
    fn leaves(&self, _: &mut Vec<Tensor>) {}

    fn rebuild(&self, _: &mut dyn Iterator<Item = Tensor>) {}
}

impl<T: Tree> Tree for Option<T> {
    fn leaves(&self, to: &mut Vec<Tensor>) {
        self.iter().for_each(|t| t.leaves(to));
    }

    fn rebuild(&self, from: &mut dyn Iterator<Item = Tensor>) -> Self {
        self.as_ref().map(|t| t.rebuild(from))
    }
}

impl<T: Tree> Tree for Vec<T> {
    fn leaves(&self, to: &mut Vec<Tensor>) {
        self.iter().for_each(|t| t.leaves(to));
    }

    fn rebuild(&self, from: &mut dyn Iterator<Item = Tensor>) -> Self {
        self.iter().map(|t| t.rebuild(from)).collect()
    }
}

impl<A: Tree, B: Tree> Tree for (A, B) {
    fn leaves(&self, to: &mut Vec<Tensor>) {
        self.0.leaves(to);
        self.1.leaves(to);
    }

    fn rebuild(&self, from: &mut dyn Iterator<Item = Tensor>) -> Self {
        (self.0.rebuild(from), self.1.rebuild(from))
    }
}

impl<const N: usize> Tree for [Tensor; N] {
    fn leaves(&self, to: &mut Vec<Tensor>) {
        to.extend(self);
    }

    fn rebuild(&self, from: &mut dyn Iterator<Item = Tensor>) -> Self {
        std::array::from_fn(|_| from.next().unwrap_or(Tensor::poison()))
    }
}

/// Tensors under names that are known when a program is traced, in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub struct Named(Vec<(&'static str, Tensor)>);

impl Named {
    /// No tensors.
    #[must_use]
    pub fn new() -> Named {
        Named::default()
    }

    /// Adds a tensor, which takes the place of an older one of its name.
    #[must_use]
    pub fn and(mut self, name: &'static str, tensor: Tensor) -> Named {
        match self.0.iter_mut().find(|(other, _)| *other == name) {
            Some((_, old)) => *old = tensor,
            None => self.0.push((name, tensor)),
        }
        self
    }

    /// The tensor of a name, if there is one.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Tensor> {
        self.0.iter().find(|(other, _)| *other == name).map(|(_, tensor)| *tensor)
    }

    /// The tensor of a name; an error of the trace that lists the names if there is none.
    pub fn get(&self, name: &str) -> Tensor {
        self.find(name).unwrap_or_else(|| {
            let names: Vec<&str> = self.iter().map(|(name, _)| name).collect();
            fail(Error::Program(format!("there is no tensor `{name}` among {names:?}")));
            Tensor::poison()
        })
    }

    /// Names and tensors.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Tensor)> + '_ {
        self.0.iter().copied()
    }

    /// Tells whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(&'static str, Tensor)> for Named {
    fn from_iter<I: IntoIterator<Item = (&'static str, Tensor)>>(all: I) -> Named {
        Named(all.into_iter().collect())
    }
}

impl<const N: usize> From<[(&'static str, Tensor); N]> for Named {
    fn from(all: [(&'static str, Tensor); N]) -> Named {
        Named(all.to_vec())
    }
}

impl Tree for Named {
    fn leaves(&self, to: &mut Vec<Tensor>) {
        to.extend(self.0.iter().map(|(_, tensor)| *tensor));
    }

    fn rebuild(&self, from: &mut dyn Iterator<Item = Tensor>) -> Named {
        self.iter().map(|(name, _)| (name, from.next().unwrap_or(Tensor::poison()))).collect()
    }
}

/// Implements [`Tree`](crate::tensor::Tree) for a struct, all of whose fields are trees and are named here.
///
/// So what an algorithm learns can go through loops: see `quickstudy_core::algo::off_policy::OffPolicy::Learner`.
///
/// ```
/// use quickstudy_core::algo::Trained;
/// use quickstudy_core::{Tensor, tree};
///
/// /// A network, and another one that follows it.
/// struct Learner {
///     network: Trained,
///     target: Tensor,
/// }
///
/// tree!(Learner: network, target);
/// ```
#[macro_export]
macro_rules! tree {
    ($name:ident: $($field:ident),+ $(,)?) => {
        impl $crate::tensor::Tree for $name {
            fn leaves(&self, to: &mut Vec<$crate::Tensor>) {
                $($crate::tensor::Tree::leaves(&self.$field, to);)+
            }

            fn rebuild(&self, from: &mut dyn Iterator<Item = $crate::Tensor>) -> Self {
                $name { $($field: $crate::tensor::Tree::rebuild(&self.$field, from)),+ }
            }
        }
    };
}

/// A [`scan`](super::scan) over `0..len` whose carries, rows and stacked outputs are trees.
#[track_caller]
pub fn scan_tree<C: Tree, X: Tree, Y: Tree>(
    len: usize,
    init: &C,
    xs: &X,
    body: impl FnOnce(Tensor, C, X) -> (C, Y),
) -> (C, Option<Y>) {
    scan_rows(len, false, init, xs, body)
}

/// A [`scan_tree`] from the last row to the first.
#[track_caller]
pub fn scan_tree_back<C: Tree, X: Tree, Y: Tree>(
    len: usize,
    init: &C,
    xs: &X,
    body: impl FnOnce(Tensor, C, X) -> (C, Y),
) -> (C, Option<Y>) {
    scan_rows(len, true, init, xs, body)
}

#[track_caller]
fn scan_rows<C: Tree, X: Tree, Y: Tree>(
    len: usize,
    back: bool,
    init: &C,
    xs: &X,
    body: impl FnOnce(Tensor, C, X) -> (C, Y),
) -> (C, Option<Y>) {
    let mut rows = None;
    let (carry, ys) = control::scan(len, back, &init.flat(), &xs.flat(), |t, carry, x| {
        let (carry, y) = body(t, init.with(carry), xs.with(x));
        let step = Loop { carry: carry.flat(), ys: y.flat() };
        rows = Some(y);
        step
    });
    (init.with(&carry), rows.map(|y| y.with(&ys)))
}

/// A [`scan_until`](super::scan_until) whose carries are a tree, without stacked outputs.
#[track_caller]
pub fn scan_tree_until<C: Tree>(len: usize, init: &C, body: impl FnOnce(Tensor, C) -> (C, Tensor)) -> C {
    let (carry, _) = control::scan_until(len, &init.flat(), &[], |t, carry, _| {
        let (carry, done) = body(t, init.with(carry));
        (Loop { carry: carry.flat(), ys: Vec::new() }, done)
    });
    init.with(&carry)
}

/// A [`run_if`](super::run_if) whose carries are a tree.
#[track_caller]
pub fn run_tree_if<C: Tree>(condition: Tensor, init: &C, body: impl FnOnce(C) -> C) -> C {
    init.with(&control::run_if(condition, &init.flat(), |carry| body(init.with(carry)).flat()))
}
