//! How a trace asks the host, in loops too.

use std::panic::Location;

use super::context::Context;
use super::cut::{Cut, CutKind};
use super::plan::Role;
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

    /// Tells whether the host cannot be asked here, because the trace tries a loop in one program
    /// ([`try_loop`](Context::try_loop)): then the loop will be traced once more, and this trace of it is dropped.
    pub(crate) fn tries(&mut self) -> bool {
        let tries = self.trying.is_some() && graph::with(|g| g.current_scope()) != Some(graph::ROOT);
        self.trying = self.trying.map(|met| met || tries);
        tries
    }

    /// Traces a loop in one program; none if the host would have to be asked inside of it.
    pub(crate) fn try_loop<T>(&mut self, f: impl FnOnce(&mut Context) -> T) -> Option<T> {
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
    pub(crate) fn begin_loop(&mut self, passes: usize, carries: &[Tensor]) -> Vec<Tensor> {
        let inside = self.cuts.iter().rev().find(|cut| cut.kind != CutKind::Ask);
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
    pub(crate) fn end_loop(&mut self, carries: &[Tensor]) -> Vec<Tensor> {
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
