//! The declarations of a trace: arguments, run-time scalars, results.

use std::panic::Location;

use super::arg::{Arg, Role, ScalarSpec};
use super::cut::Cut;
use crate::tensor::{Op, fail, push};
use crate::{DType, Error, Tensor};

/// Declares the arguments and results of the program that is being traced.
#[derive(Debug, Default)]
pub struct Context {
    pub(super) args: Vec<Arg>,
    pub(super) scalars: Vec<ScalarSpec>,
    /// Value and argument number.
    pub(super) results: Vec<(Tensor, usize)>,
    /// The cuts at which the host is asked, in order.
    pub(super) cuts: Vec<Cut>,
    /// While a loop is tried in one program: true if the host would have to be asked inside of it.
    pub(super) trying: Option<bool>,
    /// This rank's number and the number of ranks that train together, where there are several.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) among: Option<[usize; 2]>,
}

impl Context {
    /// An argument that is only read.
    #[track_caller]
    pub fn input(&mut self, name: &str, shape: &[usize], dtype: DType) -> Tensor {
        self.arg(name, shape, dtype, Role::Input, Location::caller())
    }

    /// An argument that the program may change: the entry of that name in the state.
    #[track_caller]
    pub fn state(&mut self, name: &str, shape: &[usize], dtype: DType) -> Tensor {
        self.arg(name, shape, dtype, Role::State, Location::caller())
    }

    /// A state that is large, such as a memory of many transitions: its rows are read by `gather` or through slices and
    /// changed by `store`, both where they are. What would touch all of it, or keep its old value, is an error of
    /// the trace (with the feature `debug`; without it, it is slow).
    #[track_caller]
    pub fn bulk(&mut self, name: &str, shape: &[usize], dtype: DType) -> Tensor {
        let state = self.arg(name, shape, dtype, Role::State, Location::caller());
        if let (false, Some(arg)) = (state.is_poison(), self.args.last_mut()) {
            arg.bulk = true;
        }
        state
    }

    pub(super) fn arg(
        &mut self,
        name: &str,
        shape: &[usize],
        dtype: DType,
        role: Role,
        at: &'static Location<'static>,
    ) -> Tensor {
        if self.args.iter().any(|a| a.name == name && a.role == role) {
            return fail(Error::Program(format!("`{name}` is declared twice (at {at})")));
        }
        if shape.contains(&0) {
            return fail(Error::Program(format!("`{name}` needs at least one element, got {shape:?} (at {at})")));
        }
        let i = self.args.len() as u32;
        self.args.push(Arg { name: name.to_owned(), shape: shape.to_vec(), dtype, role, bulk: false });
        push(Op::Input(i), &[], shape.to_vec(), dtype, at)
    }

    /// A number given at each run, shape `[]`, f32.
    #[track_caller]
    pub fn scalar_f32(&mut self, name: &str) -> Tensor {
        self.scalar(name, DType::F32, Location::caller())
    }

    /// A number given at each run, shape `[]`, u32.
    #[track_caller]
    pub fn scalar_u32(&mut self, name: &str) -> Tensor {
        self.scalar(name, DType::U32, Location::caller())
    }

    fn scalar(&mut self, name: &str, dtype: DType, at: &'static Location<'static>) -> Tensor {
        let i = match self.scalars.iter().position(|s| s.name == name) {
            Some(i) if self.scalars[i].dtype == dtype => i,
            Some(_) => return fail(Error::Program(format!("scalar `{name}` is declared with two dtypes (at {at})"))),
            None => {
                self.scalars.push(ScalarSpec { name: name.to_owned(), dtype });
                self.scalars.len() - 1
            }
        };
        push(Op::Scalar(i as u32), &[], Vec::new(), dtype, at)
    }

    /// The new value of a state.
    #[track_caller]
    pub fn update(&mut self, name: &str, value: Tensor) {
        let at = Location::caller();
        if value.is_poison() {
            return;
        }
        let Some(i) = self.args.iter().position(|a| a.name == name && a.role == Role::State) else {
            let known = self.args.iter().filter(|a| a.role == Role::State).map(|a| a.name.as_str());
            fail(Error::unknown("state", name, known));
            return;
        };
        let (shape, dtype) = (&self.args[i].shape, self.args[i].dtype);
        if value.shape() != *shape || value.dtype() != dtype {
            fail(Error::Program(format!(
                "state `{name}` is {shape:?} {dtype}, its new value {:?} {} (at {at})",
                value.shape(),
                value.dtype()
            )));
            return;
        }
        if self.results.iter().any(|(_, arg)| *arg == i) {
            fail(Error::Program(format!("state `{name}` is updated twice (at {at})")));
            return;
        }
        self.results.push((value, i));
    }

    /// A result that gets a fresh array at each run.
    #[track_caller]
    pub fn output(&mut self, name: &str, value: Tensor) {
        if value.is_poison() {
            return;
        }
        if self.args.iter().any(|a| a.name == name && a.role == Role::Output) {
            fail(Error::Program(format!("output `{name}` is declared twice (at {})", Location::caller())));
            return;
        }
        let (shape, dtype) = (value.shape(), value.dtype());
        let arg = Arg { name: name.to_owned(), shape, dtype, role: Role::Output, bulk: false };
        self.results.push((value, self.args.len()));
        self.args.push(arg);
    }
}
