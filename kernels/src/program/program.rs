//! A program: traced and compiled once, then run many times.

use std::sync::Arc;

use super::arg::Role;
use super::context::Context;
#[cfg(not(target_arch = "wasm32"))]
use super::row_numbers::RowNumbers;
use super::state::State;
use super::trace::Trace;
use crate::backend::Array;
use crate::backend::reference::NonFinite;
#[cfg(feature = "debug")]
use crate::backend::reference::{Value, first_non_finite};
use crate::backend::{Buffer, Census, Counters, Executable, ScalarValue};
use crate::tensor::Graph;
use crate::{DType, Device, Error, Result, Tensor};

/// A traced function, compiled for one device.
pub struct Program {
    device: Device,
    trace: Arc<Trace>,
    executable: Box<dyn Executable>,
    args: Vec<Buffer>,
    scalars: Vec<ScalarValue>,
}

impl std::fmt::Debug for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Program").field("device", &self.device).field("args", &self.trace.args).finish()
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
    /// Trace `f` and compile what it declared for `device`.
    ///
    /// # Errors
    /// The first error that an operation recorded, or one of compiling.
    pub fn new(device: &Device, f: impl FnOnce(&mut Context)) -> Result<Program> {
        let mut f = Some(f);
        Program::traced(device, &mut |cx| {
            if let Some(f) = f.take() {
                f(cx);
            }
        })
    }

    /// Trace without a device. Where the trace [asks the host](Context::ask), its answers are inputs and what is asked
    /// are outputs, so that it has all that the [`Segments`](super::Segments) compute; of a loop around an ask it has
    /// one pass.
    pub fn trace_of(f: impl FnOnce(&mut Context)) -> Result<Trace> {
        let mut f = Some(f);
        let (cx, graph) = Program::declared(&mut |cx| {
            if let Some(f) = f.take() {
                f(cx);
            }
            let asks: Vec<Tensor> = std::mem::take(&mut cx.cuts).into_iter().flat_map(|cut| cut.asks).collect();
            asks.into_iter().enumerate().for_each(|(number, asked)| cx.output(&format!("asked {number}"), asked));
        })?;
        Trace::new(cx, graph)
    }

    // `f` is no type parameter, so that these are compiled once and not for every program.
    fn traced(device: &Device, f: &mut dyn FnMut(&mut Context)) -> Result<Program> {
        let (cx, graph) = Program::declared(f)?;
        if !cx.cuts.is_empty() {
            return Err(Error::Program("a program that asks the host is run as segments".to_owned()));
        }
        Program::of(device, cx, graph)
    }

    #[inline(never)]
    fn declared(f: &mut dyn FnMut(&mut Context)) -> Result<(Context, Graph)> {
        Graph::trace(|| {
            let mut cx = Context::default();
            f(&mut cx);
            cx
        })
    }

    /// Compiles traces that differ in numbers alone as one program of `rows` rows, each of which has its own numbers:
    /// the tables that are returned, which the state has to hold. `trace` traces the variant of a number.
    ///
    /// # Errors
    /// [`Error::Program`] if they differ in more, or ask the host; as [`new`](Self::new).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn joined(
        device: &Device,
        [rows, variants]: [usize; 2],
        trace: &mut dyn FnMut(usize, &mut Context),
    ) -> Result<(Program, RowNumbers)> {
        let ((cx, graph), numbers) = Program::join(variants, rows, trace)?;
        Ok((Program::of(device, cx, graph)?, numbers))
    }

    /// Traces variants as [`joined`](Self::joined) does, without compiling what they become.
    ///
    /// # Errors
    /// [`Error::Program`] if they differ in more than numbers, or ask the host.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn join(
        variants: usize,
        rows: usize,
        trace: &mut dyn FnMut(usize, &mut Context),
    ) -> Result<((Context, Graph), RowNumbers)> {
        let mut of = |variant: usize| Program::declared(&mut |cx| trace(variant, cx));
        let traces: Vec<_> = (0..variants).map(&mut of).collect::<Result<_>>()?;
        super::variants::join(&traces, rows)
    }

    /// Compile a traced graph.
    pub(super) fn of(device: &Device, cx: Context, graph: Graph) -> Result<Program> {
        let trace = Arc::new(Trace::new(cx, graph)?);
        let executable = device.compile(trace.clone())?;
        Ok(Program { device: device.clone(), trace, executable, args: Vec::new(), scalars: Vec::new() })
    }

    /// Returns the trace that was compiled.
    pub fn trace(&self) -> &Arc<Trace> {
        &self.trace
    }

    /// The trace, and what the device made of it, as text: the same for the same trace. WebAssembly has no such texts,
    /// which would be a part of each first load.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn dump(&self) -> String {
        format!("{}{}", self.trace, self.executable.print(&self.trace))
    }

    /// The host's costs of all runs so far.
    pub fn counters(&self) -> Counters {
        self.executable.counters()
    }

    /// Numbers of what it was compiled to.
    pub fn census(&self) -> Census {
        self.executable.census()
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
        self.run_with(state, inputs, scalars, Vec::new())
    }

    /// As [`Program::run`]. `spare` are arrays of earlier outputs, by their names: those that nobody else has are
    /// written again, as new ones are filled with zeros first.
    pub(super) fn run_with(
        &mut self,
        state: &State,
        inputs: &[(&str, &Array)],
        scalars: &[(&str, ScalarValue)],
        mut spare: Vec<(&str, Array)>,
    ) -> Result<Outputs> {
        self.args.clear();
        let mut outputs = Outputs::default();
        for arg in &self.trace.args {
            let array = match arg.role {
                Role::State => state.get(&arg.name)?.clone(),
                Role::Input => find_input(inputs, &arg.name)?.clone(),
                Role::Output => {
                    let old = spare.iter().position(|(name, _)| *name == arg.name).map(|i| spare.swap_remove(i).1);
                    let array = match old.filter(Array::is_unshared) {
                        Some(old) => old,
                        None => self.device.zeros(&arg.shape, arg.dtype)?,
                    };
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
        for spec in &self.trace.scalars {
            let value = find_scalar(scalars, &spec.name)?;
            let fits =
                matches!((value, spec.dtype), (ScalarValue::F32(_), DType::F32) | (ScalarValue::U32(_), DType::U32));
            if !fits {
                return Err(Error::Program(format!("scalar `{}` must be {}, got {value:?}", spec.name, spec.dtype)));
            }
            self.scalars.push(value);
        }
        let done = self.executable.run(&self.args, &self.scalars);
        // Who looks for memory to write again must be the only one that has it.
        self.args.clear();
        done.map(|()| outputs)
    }

    /// Look for the first operation, in the order of the trace, that gives a NaN or an infinity from
    /// finite operands in a run with these arguments.
    ///
    /// The run is made by the reference, in numbers rounded to f32, whatever the device: it takes long and changes
    /// nothing. A state must be as it was before the run in question ([`State::copy`]).
    ///
    /// # Errors
    /// If an argument or scalar is missing, the device fails, or the feature `debug` is off.
    pub async fn first_non_finite(
        &self,
        state: &State,
        inputs: &[(&str, &Array)],
        scalars: &[(&str, ScalarValue)],
    ) -> Result<Option<NonFinite>> {
        #[cfg(feature = "debug")]
        return self.look_for_non_finite(state, inputs, scalars).await;
        #[cfg(not(feature = "debug"))]
        {
            let _ = (state, inputs, scalars);
            let problem = "this build cannot look for it: the feature `debug` of quickstudy-core is off";
            Err(Error::Program(problem.to_owned()))
        }
    }

    #[cfg(feature = "debug")]
    async fn look_for_non_finite(
        &self,
        state: &State,
        inputs: &[(&str, &Array)],
        scalars: &[(&str, ScalarValue)],
    ) -> Result<Option<NonFinite>> {
        let mut values = Vec::with_capacity(self.trace.args.len());
        for arg in &self.trace.args {
            let array = match arg.role {
                Role::State => state.get(&arg.name)?,
                Role::Input => find_input(inputs, &arg.name)?,
                Role::Output => {
                    values.push(Value::u32(&[], Vec::new()));
                    continue;
                }
            };
            values.push(match arg.dtype {
                DType::F32 => Value::f64(&arg.shape, self.device.read(array).await?),
                DType::U32 => Value::u32(&arg.shape, self.device.read_u32(array).await?),
            });
        }
        let specs = self.trace.scalars.iter();
        let scalars = specs.map(|s| find_scalar(scalars, &s.name)).collect::<Result<Vec<_>>>()?;
        first_non_finite(&self.trace.graph, &self.trace.outs(), &values, &scalars)
    }
}

fn find_input<'a>(inputs: &[(&str, &'a Array)], name: &str) -> Result<&'a Array> {
    let found = inputs.iter().find(|(n, _)| *n == name).map(|(_, a)| *a);
    found.ok_or_else(|| Error::Program(format!("input `{name}` is missing")))
}

fn find_scalar(scalars: &[(&str, ScalarValue)], name: &str) -> Result<ScalarValue> {
    let found = scalars.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
    found.ok_or_else(|| Error::Program(format!("scalar `{name}` is missing")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tensor;
    use crate::tensor::{Loop, scan};

    fn f32s(device: &Device, array: &Array) -> Vec<f64> {
        pollster::block_on(device.read(array)).unwrap()
    }

    #[test]
    fn a_state_is_updated_in_place_and_outputs_are_fresh() {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let w = cx.state("w", &[2, 3], DType::F32);
            let x = cx.input("x", &[4, 2], DType::F32);
            let rate = cx.scalar_f32("rate");
            let y = x.matmul(w);
            cx.output("y", y);
            cx.output("sum", y.sum(&[0, 1]));
            cx.update("w", w + rate * x.transpose().matmul(y));
        })
        .unwrap();
        let mut state = State::new();
        state.insert("w", device.array(&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap());
        let x = device.array(&[4, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0, 2.0, -1.0]).unwrap();
        let out = program.run(&state, &[("x", &x)], &[("rate", 0.5.into())]).unwrap();
        let y = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 5.0, 7.0, 9.0, -2.0, -1.0, 0.0];
        assert_eq!(f32s(&device, out.get("y").unwrap()), y);
        assert_eq!(f32s(&device, out.get("sum").unwrap()), [39.0]);
        let w = [1.0 + 1.0, 2.0 + 3.5, 3.0 + 6.0, 4.0 + 5.5, 5.0 + 6.5, 6.0 + 7.5];
        assert_eq!(f32s(&device, state.get("w").unwrap()), w);
        assert!(program.run(&state, &[], &[("rate", 0.5.into())]).unwrap_err().to_string().contains("`x` is missing"));
    }

    #[test]
    fn the_operation_that_made_a_nan_is_named_with_its_source() {
        let device = Device::cpu(1);
        let mut line = 0;
        let mut program = Program::new(&device, |cx| {
            let w = cx.state("w", &[2], DType::F32);
            let by = cx.scalar_f32("by");
            line = line!() + 1;
            let y = (w - by).log();
            let g = crate::grad::grad(y.sum_all(), &[w])[0];
            cx.update("w", w + g);
            cx.output("y", y);
        })
        .unwrap();
        let mut state = State::new();
        state.insert("w", device.array(&[2], &[1.0, 3.0]).unwrap());
        let mut find = |by: f64| {
            let scalars = [("by", by.into())];
            let before = pollster::block_on(state.copy(&device)).unwrap();
            program.run(&state, &[], &scalars).unwrap();
            pollster::block_on(program.first_non_finite(&before, &[], &scalars)).unwrap()
        };
        // w becomes [2, 3.5].
        assert!(find(0.0).is_none());
        let found = find(3.0).unwrap();
        assert_eq!((found.op, found.origin.at.line(), found.origin.derivative), ("log", line, false));
        let message = found.error().to_string();
        assert!(message.contains("log gives NaN from finite operands, kernels/src/program/program.rs:"), "{message}");
        assert!(message.contains("element [0] of [2]"), "{message}");
    }

    #[test]
    fn states_can_be_exchanged() {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let a = cx.state("a", &[2], DType::F32);
            let b = cx.state("b", &[2], DType::F32);
            cx.update("a", b);
            cx.update("b", a);
        })
        .unwrap();
        let mut state = State::new();
        state.insert("a", device.array(&[2], &[1.0, 2.0]).unwrap());
        state.insert("b", device.array(&[2], &[3.0, 4.0]).unwrap());
        program.run(&state, &[], &[]).unwrap();
        assert_eq!(f32s(&device, state.get("a").unwrap()), [3.0, 4.0]);
        assert_eq!(f32s(&device, state.get("b").unwrap()), [1.0, 2.0]);
    }

    #[test]
    fn a_scan_reads_outer_tensors_and_stacks() {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let x = cx.input("x", &[3, 2], DType::F32);
            let k = cx.input("k", &[2], DType::F32);
            let (last, ys) = scan(3, true, &[Tensor::zeros(&[2])], &[x], |t, c, x| {
                let next = c[0] * k + x[0];
                Loop { carry: vec![next], ys: vec![next + t.to_f32()] }
            });
            cx.output("last", last[0]);
            cx.output("ys", ys[0]);
        })
        .unwrap();
        let x = device.array(&[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let k = device.array(&[2], &[0.5, 2.0]).unwrap();
        let out = program.run(&State::new(), &[("x", &x), ("k", &k)], &[]).unwrap();
        assert_eq!(f32s(&device, out.get("last").unwrap()), [3.75, 34.0]);
        assert_eq!(f32s(&device, out.get("ys").unwrap()), [3.75, 34.0, 6.5, 17.0, 7.0, 8.0]);
    }

    #[test]
    fn the_first_shape_error_names_op_expected_and_got() {
        let error = Program::new(&Device::cpu(1), |cx| {
            let a = cx.input("a", &[2, 3], DType::F32);
            cx.output("y", (a.matmul(a) + 1.0).exp());
        })
        .unwrap_err()
        .to_string();
        assert!(error.starts_with("matmul: expected 3 rows in the second operand"), "{error}");
        assert!(error.contains("got [2, 3] (at kernels/src/program/program.rs:"), "{error}");
    }
}
