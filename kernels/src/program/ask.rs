//! How a trace asks the host, in loops too.

use std::panic::Location;

use super::arg::Role;
use super::context::Context;
#[cfg(not(target_arch = "wasm32"))]
use super::cut::RankJoin;
use super::cut::{Cut, CutKind};
use crate::tensor::{fail, graph};
use crate::{DType, Error, Tensor};

/// Shapes and types of tensors that are like others.
fn like(tensors: &[Tensor]) -> Vec<(Vec<usize>, DType)> {
    tensors.iter().map(|tensor| (tensor.shape(), tensor.dtype())).collect()
}

impl Context {
    /// Asks the host: it gets to know `asks`, does something, and answers with arrays of these shapes and types, which
    /// are tensors from here on. Traces that ask are run as [`Segments`](super::Segments).
    #[track_caller]
    pub fn ask(&mut self, asks: &[Tensor], answers: &[(Vec<usize>, DType)]) -> Vec<Tensor> {
        self.cut(CutKind::Ask, asks, answers)
    }

    /// R, the number of ranks that train together.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn ranks(&self) -> usize {
        self.among.map_or(1, |[_, count]| count)
    }

    /// The number of this rank, from 0.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn rank(&self) -> usize {
        self.among.map_or(0, |[rank, _]| rank)
    }

    /// The number of the only rank.
    #[cfg(target_arch = "wasm32")]
    pub fn rank(&self) -> usize {
        0
    }

    /// R, the number of ranks that train together. A page has no others.
    #[cfg(target_arch = "wasm32")]
    pub fn ranks(&self) -> usize {
        1
    }

    /// The sums of f32 tensors over all ranks, in a fixed tree; the tensors themselves where there is one rank.
    #[cfg(not(target_arch = "wasm32"))]
    #[track_caller]
    pub fn sum_of_ranks(&mut self, xs: &[Tensor]) -> Vec<Tensor> {
        if self.ranks() == 1 {
            return xs.to_vec();
        }
        if let Some(x) = xs.iter().find(|x| x.dtype() != DType::F32 && !x.is_poison()) {
            let problem = format!("ranks sum f32, not {} (at {})", x.dtype(), Location::caller());
            return vec![fail(Error::Program(problem)); xs.len()];
        }
        self.cut(CutKind::Ranks(RankJoin::Sum), xs, &like(xs))
    }

    /// As there is one rank, the tensors themselves.
    #[cfg(target_arch = "wasm32")]
    pub fn sum_of_ranks(&mut self, xs: &[Tensor]) -> Vec<Tensor> {
        xs.to_vec()
    }

    /// The tensors of all ranks, `[R, …]` in order of the ranks.
    #[cfg(not(target_arch = "wasm32"))]
    #[track_caller]
    pub fn of_ranks(&mut self, xs: &[Tensor]) -> Vec<Tensor> {
        if self.ranks() == 1 {
            return xs.iter().map(|x| x.unsqueeze(0)).collect();
        }
        let ranks = self.ranks();
        let answers: Vec<_> =
            like(xs).into_iter().map(|(shape, dtype)| ([&[ranks], &shape[..]].concat(), dtype)).collect();
        self.cut(CutKind::Ranks(RankJoin::All), xs, &answers)
    }

    /// The tensors of the only rank, `[1, …]`.
    #[cfg(target_arch = "wasm32")]
    #[track_caller]
    pub fn of_ranks(&mut self, xs: &[Tensor]) -> Vec<Tensor> {
        xs.iter().map(|x| x.unsqueeze(0)).collect()
    }

    /// Tells whether the host cannot be asked here, because the trace tries a loop in one program
    /// ([`try_loop`](Context::try_loop)): then the loop will be traced once more, and this trace of it is dropped.
    pub fn tries(&mut self) -> bool {
        let tries = self.trying.is_some() && graph::with(|g| g.current_scope()) != Some(graph::ROOT);
        self.trying = self.trying.map(|met| met || tries);
        tries
    }

    /// Traces a loop in one program; none if the host would have to be asked inside of it.
    pub fn try_loop<T>(&mut self, f: impl FnOnce(&mut Context) -> T) -> Option<T> {
        let before = self.trying.replace(false);
        let sound = graph::with(|g| !g.failed()) == Some(true);
        let traced = f(self);
        let met = self.trying == Some(true);
        if met && sound {
            // Errors that follow from what could not be asked; others will come again.
            graph::with(|g| g.forgive());
        }
        self.trying = before.map(|before| before || met);
        (!met).then_some(traced)
    }

    /// Begins a loop of `passes` that asks the host inside: the index (u32 `[]`) and the carries.
    #[track_caller]
    pub fn begin_loop(&mut self, passes: usize, carries: &[Tensor]) -> Vec<Tensor> {
        let inside = self.cuts.iter().rev().find(|cut| !cut.kind.leaves());
        if inside.is_some_and(|cut| matches!(cut.kind, CutKind::Repeat(_))) {
            let at = Location::caller();
            let problem = format!("the host cannot be asked inside of a loop in a loop (at {at})");
            fail(Error::Program(problem));
        }
        let index = (Vec::new(), DType::U32);
        let answers: Vec<_> = std::iter::once(index).chain(like(carries)).collect();
        self.cut(CutKind::Repeat(passes), carries, &answers)
    }

    /// Ends it: the last carries.
    #[track_caller]
    pub fn end_loop(&mut self, carries: &[Tensor]) -> Vec<Tensor> {
        self.cut(CutKind::End, carries, &like(carries))
    }

    #[track_caller]
    fn cut(&mut self, kind: CutKind, asks: &[Tensor], answers: &[(Vec<usize>, DType)]) -> Vec<Tensor> {
        let at = Location::caller();
        if self.tries() {
            return vec![Tensor::poison(); answers.len()];
        }
        if graph::with(|g| g.current_scope()) != Some(graph::ROOT) {
            fail(Error::Program(format!("the host cannot be asked inside of a loop (at {at})")));
        }
        let (cut, first) = (self.cuts.len(), self.args.len());
        let one = |(i, (shape, dtype)): (usize, &(Vec<usize>, DType))| {
            self.arg(&format!("answer {i} of {cut}"), shape, *dtype, Role::Input, at)
        };
        let given = answers.iter().enumerate().map(one).collect();
        self.cuts.push(Cut { kind, asks: asks.to_vec(), answers: first..self.args.len() });
        given
    }
}
