//! Runs a recipe on several devices and compares: bit for bit with each other, within bounds with the reference.

use std::fmt;

use quickstudy_core::backend::ScalarValue;
use quickstudy_core::backend::reference::{Value, evaluate, evaluate_with_bounds};
use quickstudy_core::program::{Context, Role, ScalarSpec};
use quickstudy_core::{Array, DType, Device, Program, Result, State};
use quickstudy_gpu::{Plan, PlanOptions};

use super::planned::run_plan;
use super::{Arg, Kind, Recipe, name};

/// A fault that a check found.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// Tracing, planning, compiling or running gave an error.
    Error(String),
    /// Two ways of running gave different bits.
    Bits(String),
    /// A result is further from the reference than it may be.
    Bound(String),
}

impl Failure {
    /// Tells whether it looks like the same fault, but for numbers and names: while a recipe is made smaller.
    pub fn resembles(&self, other: &Failure) -> bool {
        let words = |m: &str| m.chars().filter(|c| c.is_alphabetic() || *c == ' ').take(40).collect::<String>();
        match (self, other) {
            (Failure::Error(a), Failure::Error(b)) => words(a) == words(b),
            (Failure::Bits(_), Failure::Bits(_)) | (Failure::Bound(_), Failure::Bound(_)) => true,
            _ => false,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Error(m) => write!(f, "error: {m}"),
            Failure::Bits(m) => write!(f, "different bits: {m}"),
            Failure::Bound(m) => write!(f, "too far from the reference: {m}"),
        }
    }
}

/// Counts of the elements that a check compared, and the largest error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Report {
    /// Elements of results.
    pub elements: usize,
    /// Values whose bound is at most a hundredth of their size or of 1.
    pub tight: usize,
    /// Values without a bound.
    pub unbounded: usize,
    /// Values that f32 may not compute exactly.
    pub inexact: usize,
    /// Values among those whose error is more than a hundredth of the bound.
    pub near: usize,
    /// The largest error by its bound.
    pub worst: f64,
}

impl Report {
    /// Both together.
    pub fn add(&mut self, other: Report) {
        self.elements += other.elements;
        self.tight += other.tight;
        self.unbounded += other.unbounded;
        self.inexact += other.inexact;
        self.near += other.near;
        self.worst = self.worst.max(other.worst);
    }
}

/// A device to run a program on.
pub struct Way {
    /// For messages.
    pub name: String,
    /// The device.
    pub device: Device,
    /// The factor of the reference's bounds: 1 where every operation rounds correctly and in its order.
    pub slack: f64,
}

/// The bits of every result of one run; any NaN is one NaN.
type Bits = Vec<(String, Vec<u32>)>;

/// A program to check.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// Its arguments, named `a0`, `a1` and so on.
    pub args: &'a [Arg],
    /// Declares and computes everything.
    pub trace: &'a dyn Fn(&mut Context),
}

/// A program on a device.
struct Running<'a> {
    subject: Subject<'a>,
    device: &'a Device,
    program: Program,
    state: State,
    inputs: Vec<(String, Array)>,
}

impl<'a> Running<'a> {
    fn new(subject: Subject<'a>, way: &'a Way) -> Result<Self> {
        let device = &way.device;
        let program = Program::new(device, |cx| (subject.trace)(cx))?;
        let (mut state, mut inputs) = (State::new(), Vec::new());
        for (i, arg) in subject.args.iter().enumerate() {
            let array = match arg.dtype {
                DType::F32 => device.array(&arg.shape, &arg.values)?,
                DType::U32 => {
                    device.array_u32(&arg.shape, &arg.values.iter().map(|v| *v as u32).collect::<Vec<_>>())?
                }
            };
            match arg.kind {
                Kind::Input => inputs.push((name(i), array)),
                Kind::State => state.insert(name(i), array),
                Kind::Scalar => {}
            }
        }
        Ok(Running { subject, device, program, state, inputs })
    }

    /// The scalars of a run; another value each time.
    fn scalars(&self, run: usize) -> Vec<(String, ScalarValue)> {
        let scalar = |(i, arg): (usize, &Arg)| {
            let value = match arg.dtype {
                DType::F32 => ScalarValue::F32(arg.values[0] + 0.5 * run as f64),
                DType::U32 => ScalarValue::U32((arg.values[0] as u32).wrapping_add(run as u32)),
            };
            (name(i), value)
        };
        self.subject.args.iter().enumerate().filter(|(_, a)| a.kind == Kind::Scalar).map(scalar).collect()
    }

    /// The scalars of a run in the order of the trace.
    fn scalars_of_trace(&self, run: usize) -> Vec<ScalarValue> {
        let given = self.scalars(run);
        let scalar = |s: &ScalarSpec| given.iter().find(|g| g.0 == s.name).expect("declared").1;
        self.program.trace().scalars.iter().map(scalar).collect()
    }

    /// Run once; the outputs' arrays and the bits of all results.
    fn run(&mut self, run: usize) -> Result<(Vec<(String, Array)>, Bits)> {
        let inputs: Vec<(&str, &Array)> = self.inputs.iter().map(|(n, a)| (n.as_str(), a)).collect();
        let scalars = self.scalars(run);
        let scalars: Vec<(&str, ScalarValue)> = scalars.iter().map(|(n, v)| (n.as_str(), *v)).collect();
        let outputs = self.program.run(&self.state, &inputs, &scalars)?;
        let arrays: Vec<(String, Array)> = outputs.iter().map(|(n, a)| (n.to_owned(), a.clone())).collect();
        let states = self.state.iter();
        let all: Vec<(&str, &Array)> = arrays.iter().map(|(n, a)| (n.as_str(), a)).chain(states).collect();
        let found = all.into_iter().map(|(n, a)| Ok((n.to_owned(), bits(self.device, a)?))).collect::<Result<_>>()?;
        Ok((arrays, found))
    }

    /// The arguments of the program as the reference takes them.
    fn values(&self) -> Result<Vec<Value>> {
        let arg = |arg: &quickstudy_core::program::Arg| {
            let array = match arg.role {
                Role::Output => return Ok(Value::u32(&[], Vec::new())),
                Role::State => self.state.get(&arg.name)?,
                Role::Input => self.inputs.iter().find(|(n, _)| *n == arg.name).map(|(_, a)| a).expect("declared"),
            };
            Ok(match arg.dtype {
                DType::F32 => Value::f64(&arg.shape, pollster::block_on(self.device.read(array))?),
                DType::U32 => Value::u32(&arg.shape, pollster::block_on(self.device.read_u32(array))?),
            })
        };
        self.program.trace().args.iter().map(arg).collect()
    }
}

fn bits(device: &Device, array: &Array) -> Result<Vec<u32>> {
    Ok(match array.dtype() {
        DType::F32 => {
            let canonical = |v: f32| if v.is_nan() { f32::NAN.to_bits() } else { v.to_bits() };
            pollster::block_on(device.read_f32(array))?.into_iter().map(canonical).collect()
        }
        DType::U32 => pollster::block_on(device.read_u32(array))?,
    })
}

/// Run a recipe twice in every way and compare.
///
/// # Errors
/// The first failure; a panic is one.
pub fn check(recipe: &Recipe, ways: &[Way]) -> std::result::Result<Report, Failure> {
    check_program(Subject { args: &recipe.args, trace: &|cx| recipe.trace(cx) }, ways)
}

/// Run a program twice in every way and compare.
///
/// # Errors
/// The first failure; a panic is one.
pub fn check_program(subject: Subject<'_>, ways: &[Way]) -> std::result::Result<Report, Failure> {
    let run = std::panic::AssertUnwindSafe(|| compare(subject, ways));
    std::panic::catch_unwind(run).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|s| (*s).to_owned()));
        Err(Failure::Error(format!("panic: {}", text.unwrap_or_default())))
    })
}

fn compare(subject: Subject<'_>, ways: &[Way]) -> std::result::Result<Report, Failure> {
    let error = |way: &Way, e: quickstudy_core::Error| Failure::Error(format!("{}: {e}", way.name));
    let mut report = Report::default();
    let mut first: Vec<Bits> = Vec::new();
    for (w, way) in ways.iter().enumerate() {
        let mut running = Running::new(subject, way).map_err(|e| error(way, e))?;
        let mut kept = Vec::new();
        for run in 0..2 {
            let values = running.values().map_err(|e| error(way, e))?;
            if (w, run) == (0, 0) {
                run_as_planned(&running, &values)?;
            }
            let (outputs, found) = running.run(run).map_err(|e| error(way, e))?;
            if w == 0 {
                report.add(compare_with_reference(&running, &values, run, &found, way.slack)?);
                kept.push((outputs, found.clone()));
                first.push(found);
                continue;
            }
            if let Some(message) = difference(&first[run], &found) {
                let (a, b) = (&ways[0].name, &way.name);
                return Err(Failure::Bits(format!("run {run}, {a} and {b}: {message}")));
            }
        }
        // A later run must not touch the outputs of an earlier one.
        for (outputs, found) in kept {
            for ((name, array), (_, old)) in outputs.iter().zip(&found) {
                if bits(&way.device, array).map_err(|e| error(way, e))? != *old {
                    return Err(Failure::Bits(format!("{}: `{name}` of run 0 was overwritten by run 1", way.name)));
                }
            }
        }
    }
    Ok(report)
}

/// Follow a GPU's plan kernel by kernel and place by place, in f64, fused and unfused: it must give what the graph
/// says, to the last bit.
fn run_as_planned(running: &Running<'_>, values: &[Value]) -> std::result::Result<(), Failure> {
    let (trace, scalars) = (running.program.trace(), running.scalars_of_trace(0));
    let expected = evaluate(&trace.graph, &trace.outs(), values, &scalars);
    let expected = expected.map_err(|e| Failure::Error(format!("the graph in f64: {e}\n{trace}")))?;
    for fuse in [true, false] {
        let plan = Plan::new(trace.clone(), &PlanOptions { fuse, ..PlanOptions::default() });
        let plan = plan.map_err(|e| Failure::Error(format!("the plan, fuse {fuse}: {e}")))?;
        let found = run_plan(&plan, values, &scalars);
        let found = found.map_err(|e| Failure::Error(format!("the plan in f64: {e}\n{plan}")))?;
        for ((_, arg), expected) in trace.results.iter().zip(&expected) {
            let (got, want) = (found[*arg].to_f64(), expected.to_f64());
            let same = |(a, b): (&f64, &f64)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan());
            if got.len() != want.len() || !got.iter().zip(&want).all(same) {
                let name = &trace.args[*arg].name;
                return Err(Failure::Bits(format!("`{name}` is {want:?}, but {got:?} when run as planned\n{plan}")));
            }
        }
    }
    Ok(())
}

fn difference(a: &Bits, b: &Bits) -> Option<String> {
    for ((name, x), (_, y)) in a.iter().zip(b) {
        if let Some(i) = (0..x.len()).find(|i| x[*i] != y[*i]) {
            let count = x.iter().zip(y).filter(|(x, y)| x != y).count();
            let as_f32 = (f32::from_bits(x[i]), f32::from_bits(y[i]));
            return Some(format!(
                "`{name}`[{i}] is {:#x} and {:#x} (as f32 {:?}), {count} of {} differ",
                x[i],
                y[i],
                as_f32,
                x.len()
            ));
        }
    }
    None
}

fn compare_with_reference(
    running: &Running<'_>,
    values: &[Value],
    run: usize,
    found: &Bits,
    slack: f64,
) -> std::result::Result<Report, Failure> {
    let trace = running.program.trace();
    let scalars = running.scalars_of_trace(run);
    let reference = evaluate_with_bounds(&trace.graph, &trace.outs(), values, &scalars)
        .map_err(|e| Failure::Error(format!("reference: {e}")))?;
    let mut report = Report::default();
    for ((_, arg), expected) in trace.results.iter().zip(&reference) {
        let arg = &trace.args[*arg];
        let (_, got) = found.iter().find(|(n, _)| *n == arg.name).expect("a result");
        let want = expected.value.to_f64();
        for (i, (want, bound)) in want.iter().zip(&expected.bound).enumerate() {
            report.elements += 1;
            if bound.is_infinite() {
                report.unbounded += 1;
                continue;
            }
            let got = match arg.dtype {
                DType::F32 => f64::from(f32::from_bits(got[i])),
                DType::U32 => f64::from(got[i]),
            };
            // The reference rounds as well, to f64.
            let allowed = bound * slack + want.abs() * 1e-12;
            let error = (got - want).abs();
            if got != *want && (error.is_nan() || error > allowed) {
                let message = format!("run {run}, `{}`[{i}] is {got:e}, not {want:e} ± {slack} · {bound:e}", arg.name);
                return Err(Failure::Bound(message));
            }
            report.inexact += usize::from(*bound > 0.0);
            if *bound > 0.0 && error.is_finite() {
                report.worst = report.worst.max(error / bound);
            }
            report.near += usize::from(error > 0.01 * bound);
            report.tight += usize::from(*bound <= 0.01 * want.abs().max(1.0));
        }
    }
    Ok(report)
}
