//! A program: traced and planned once, then run many times.

use std::sync::Arc;

use super::array::{Array, State};
use super::context::Context;
use super::plan::{Plan, Role};
use super::planner::{self, PlanOptions};
use crate::backend::{Buffer, Executable, ScalarValue};
use crate::tensor::Graph;
use crate::{Device, Error, Result};

/// A traced function, planned and compiled for one device.
pub struct Program {
    device: Device,
    plan: Arc<Plan>,
    executable: Box<dyn Executable>,
    args: Vec<Buffer>,
    scalars: Vec<ScalarValue>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("device", &self.device).field("args", &self.plan.args).finish()
    }
}

/// The outputs of one run.
#[derive(Clone, Debug, Default)]
pub struct Outputs {
    entries: Vec<(String, Array)>,
}

impl Outputs {
    /// The output of that name.
    ///
    /// # Errors
    /// If the program has none.
    pub fn get(&self, name: &str) -> Result<&Array> {
        self.entries
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, a)| a)
            .ok_or_else(|| Error::unknown("output", name, self.entries.iter().map(|(n, _)| n.as_str())))
    }

    /// All names and arrays, in the order in which they were declared.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Array)> {
        self.entries.iter().map(|(n, a)| (n.as_str(), a))
    }
}

impl Program {
    /// Trace `f`, plan what it declared and compile it for `device`.
    ///
    /// # Errors
    /// The first error that an operation recorded, or one of planning or compiling.
    pub fn new(device: &Device, f: impl FnOnce(&mut Context)) -> Result<Program> {
        Program::with_options(device, PlanOptions::default(), f)
    }

    /// The same with another way of planning.
    pub fn with_options(device: &Device, options: PlanOptions, f: impl FnOnce(&mut Context)) -> Result<Program> {
        let plan = Arc::new(Program::plan_of(options, f)?);
        let executable = device.compile(plan.clone())?;
        Ok(Program { device: device.clone(), plan, executable, args: Vec::new(), scalars: Vec::new() })
    }

    /// Trace and plan without a device.
    pub fn plan_of(options: PlanOptions, f: impl FnOnce(&mut Context)) -> Result<Plan> {
        let (cx, graph) = Graph::trace(|| {
            let mut cx = Context::default();
            f(&mut cx);
            cx
        })?;
        planner::plan(cx, graph, &options)
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Run once. States are updated in place; each output is a new array.
    ///
    /// # Errors
    /// If an argument or scalar is missing, has another shape or data type, or is on another device.
    pub fn run(
        &mut self,
        state: &State,
        inputs: &[(&str, &Array)],
        scalars: &[(&str, ScalarValue)],
    ) -> Result<Outputs> {
        self.args.clear();
        let mut outputs = Outputs::default();
        for arg in &self.plan.args {
            let array = match arg.role {
                Role::State => state.get(&arg.name)?.clone(),
                Role::Input => inputs
                    .iter()
                    .find(|(n, _)| *n == arg.name)
                    .map(|(_, a)| (*a).clone())
                    .ok_or_else(|| Error::Program(format!("input `{}` is missing", arg.name)))?,
                Role::Output => {
                    let array = self.device.zeros(&arg.shape, arg.dtype)?;
                    outputs.entries.push((arg.name.clone(), array.clone()));
                    array
                }
            };
            if array.shape != arg.shape || array.dtype() != arg.dtype {
                return Err(Error::Program(format!(
                    "`{}` must be {:?} {}, got {:?} {}",
                    arg.name,
                    arg.shape,
                    arg.dtype,
                    array.shape,
                    array.dtype()
                )));
            }
            self.device.own(&array)?;
            self.args.push(array.buffer);
        }
        self.scalars.clear();
        for spec in &self.plan.scalars {
            let value = scalars
                .iter()
                .find(|(n, _)| *n == spec.name)
                .map(|(_, v)| *v)
                .ok_or_else(|| Error::Program(format!("scalar `{}` is missing", spec.name)))?;
            let fits = matches!(
                (value, spec.dtype),
                (ScalarValue::F32(_), crate::DType::F32) | (ScalarValue::U32(_), crate::DType::U32)
            );
            if !fits {
                return Err(Error::Program(format!("scalar `{}` must be {}, got {value:?}", spec.name, spec.dtype)));
            }
            self.scalars.push(value);
        }
        self.executable.run(&self.args, &self.scalars)?;
        Ok(outputs)
    }
}
