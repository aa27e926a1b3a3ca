//! Random tensor programs.
//!
//! A [`Recipe`] is a program as data: arguments, steps that refer to earlier values by number, results. It is generated
//! from a seed ([`generate`]), traced as often as needed ([`Recipe::trace`]), run on devices and compared with the
//! reference ([`check`]), and made smaller while it still fails ([`shrink`]).

use std::fmt;

use quickstudy_core::program::Context;
use quickstudy_core::tensor::{Binary, Loop, Unary, scan, scan_until};
use quickstudy_core::{DType, Tensor};

mod chained;
mod check;
mod dice;
mod generate;
mod grow;
mod loops;
mod native;
mod planned;
mod rollouts;
mod rows;
mod shrink;

pub use check::{Failure, Report, Subject, Way, check, check_program};
pub use dice::Dice;
pub use generate::{Scale, generate};
pub use native::Twin;
pub use shrink::{compact, shrink};

/// Number of a value: arguments first, then the results of the steps in order. In a loop's body the values around it
/// keep their numbers; its index, carries and rows follow.
pub type Ref = usize;

/// The kind of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only read.
    Input,
    /// Changed in place.
    State,
    /// A run-time scalar.
    Scalar,
}

/// An argument and its first value.
#[derive(Clone, Debug)]
pub struct Arg {
    /// Its kind.
    pub kind: Kind,
    /// Size of each axis.
    pub shape: Vec<usize>,
    /// Data type.
    pub dtype: DType,
    /// The elements: f32 numbers, or integers.
    pub values: Vec<f64>,
}

/// A loop of a recipe.
#[derive(Clone, Debug)]
pub struct LoopStep {
    /// Number of steps.
    pub len: usize,
    /// From the last index to the first.
    pub reverse: bool,
    /// First carries.
    pub init: Vec<Ref>,
    /// Stacked inputs.
    pub xs: Vec<Ref>,
    /// The inside.
    pub body: Vec<Step>,
    /// New carries, in the numbering of the body.
    pub carry: Vec<Ref>,
    /// Values to stack, in the numbering of the body.
    pub ys: Vec<Ref>,
    /// A u32 that ends the loop, or rows of it where it has first axes of the carries, in the numbering of the body.
    pub until: Option<Ref>,
}

/// One operation. Most give one value; a loop gives its carries and outputs, a gradient one value per argument.
#[derive(Clone, Debug)]
pub enum Step {
    /// A value by another number.
    Same(Ref),
    /// A constant everywhere; of u32, truncated.
    Full(f64, DType, Vec<usize>),
    /// A constant vector.
    Literal(Vec<f64>, DType),
    /// The index along an axis.
    Iota(Vec<usize>, usize),
    /// Function of one value.
    Unary(Unary, Ref),
    /// Function of two values.
    Binary(Binary, Ref, Ref),
    /// Choice by a condition.
    Select(Ref, Ref, Ref),
    /// Another shape.
    Reshape(Ref, Vec<usize>),
    /// Axes in another order.
    Permute(Ref, Vec<usize>),
    /// Repeated to a shape.
    Broadcast(Ref, Vec<usize>),
    /// A range of an axis.
    Slice(Ref, usize, usize, usize),
    /// Zeros around an axis.
    Pad(Ref, usize, usize, usize),
    /// One after the other along an axis.
    Concat(Vec<Ref>, usize),
    /// Sum over an axis.
    Sum(Ref, usize),
    /// Maximum over an axis.
    Max(Ref, usize),
    /// Matrix product.
    MatMul(Ref, Ref, bool, bool),
    /// Rows by index.
    Gather(Ref, Ref),
    /// Rows replaced.
    Store(Ref, Ref, Ref),
    /// Random bits: key, counter, word.
    Threefry([Ref; 2], [Ref; 2], u8),
    /// Keyed permutation of a range.
    Permutation(Ref, [Ref; 2], usize),
    /// A loop.
    Scan(Box<LoopStep>),
    /// A sub-graph with a native twin, of two values with equal leading axes.
    Call(Twin, Ref, Ref),
    /// Derivative of the sum of a value with respect to arguments.
    Grad(Ref, Vec<Ref>),
}

/// A program as data.
#[derive(Clone, Debug, Default)]
pub struct Recipe {
    /// Arguments.
    pub args: Vec<Arg>,
    /// Operations.
    pub steps: Vec<Step>,
    /// Values returned.
    pub outputs: Vec<Ref>,
    /// States (numbers of arguments) and their new values.
    pub updates: Vec<(Ref, Ref)>,
}

impl Recipe {
    /// Declare and compute everything in a trace.
    pub fn trace(&self, cx: &mut Context) {
        let mut values = declare(&self.args, cx);
        run(&self.steps, &mut values);
        for (state, value) in &self.updates {
            cx.update(&name(*state), values[*value]);
        }
        for (i, value) in self.outputs.iter().enumerate() {
            cx.output(&format!("out{i}"), values[*value]);
        }
    }
}

/// Declare arguments in a trace.
pub fn declare(args: &[Arg], cx: &mut Context) -> Vec<Tensor> {
    args.iter()
        .enumerate()
        .map(|(i, arg)| match (arg.kind, arg.dtype) {
            (Kind::Input, dtype) => cx.input(&name(i), &arg.shape, dtype),
            (Kind::State, dtype) => cx.state(&name(i), &arg.shape, dtype),
            (Kind::Scalar, DType::F32) => cx.scalar_f32(&name(i)),
            (Kind::Scalar, DType::U32) => cx.scalar_u32(&name(i)),
        })
        .collect()
}

/// Name of an argument.
pub(crate) fn name(i: usize) -> String {
    format!("a{i}")
}

fn full(v: f64, dtype: DType, shape: &[usize]) -> Tensor {
    match dtype {
        DType::F32 => Tensor::full(shape, v),
        DType::U32 => Tensor::constant_u32(v as u32).broadcast_to(shape),
    }
}

/// Trace steps, adding their results to `v`.
fn run(steps: &[Step], v: &mut Vec<Tensor>) {
    for step in steps {
        let value = match step {
            Step::Same(a) => v[*a],
            Step::Full(x, dtype, shape) => full(*x, *dtype, shape),
            Step::Literal(x, DType::F32) => Tensor::literal_f32(x),
            Step::Literal(x, DType::U32) => Tensor::literal_u32(&x.iter().map(|v| *v as u32).collect::<Vec<_>>()),
            Step::Iota(shape, axis) => Tensor::iota(shape, *axis),
            Step::Unary(op, a) => unary(*op, v[*a]),
            Step::Binary(op, a, b) => binary(*op, v[*a], v[*b]),
            Step::Select(c, a, b) => v[*c].select(v[*a], v[*b]),
            Step::Reshape(a, shape) => v[*a].reshape(shape),
            Step::Permute(a, p) => v[*a].permute(p),
            Step::Broadcast(a, shape) => v[*a].broadcast_to(shape),
            Step::Slice(a, axis, lo, hi) => v[*a].slice(*axis, *lo, *hi),
            Step::Pad(a, axis, lo, hi) => v[*a].pad(*axis, *lo, *hi),
            Step::Concat(parts, axis) => Tensor::concat(&parts.iter().map(|p| v[*p]).collect::<Vec<_>>(), *axis),
            Step::Sum(a, axis) => v[*a].sum_keep(*axis),
            Step::Max(a, axis) => v[*a].max_keep(*axis),
            Step::MatMul(a, b, ta, tb) => v[*a].matmul_with(v[*b], *ta, *tb),
            Step::Gather(a, i) => v[*a].gather(v[*i]),
            Step::Store(d, i, r) => v[*d].store(v[*i], v[*r]),
            Step::Threefry(k, c, word) => Tensor::threefry(k.map(|i| v[i]), c.map(|i| v[i]), *word),
            Step::Permutation(i, k, n) => v[*i].permutation(k.map(|i| v[i]), *n),
            Step::Scan(l) => {
                let found = run_loop(l, v);
                v.extend(all(found, step));
                continue;
            }
            Step::Call(twin, a, b) => {
                let found = twin.call(v[*a], v[*b]);
                v.extend(all(found, step));
                continue;
            }
            Step::Grad(loss, wrt) => {
                let wrt: Vec<Tensor> = wrt.iter().map(|w| v[*w]).collect();
                let found = quickstudy_core::grad::grad(v[*loss].sum_all(), &wrt);
                v.extend(all(found, step));
                continue;
            }
        };
        v.push(value);
    }
}

/// The values of a step, as many as it has; after an error of the trace there may be fewer.
fn all(mut found: Vec<Tensor>, step: &Step) -> Vec<Tensor> {
    found.resize_with(step.results(), || Tensor::zeros(&[]));
    found
}

fn run_loop(l: &LoopStep, v: &[Tensor]) -> Vec<Tensor> {
    let pick = |refs: &[Ref], v: &[Tensor]| refs.iter().map(|r| v[*r]).collect::<Vec<_>>();
    let (init, xs) = (pick(&l.init, v), pick(&l.xs, v));
    let body = |t: Tensor, c: &[Tensor], x: &[Tensor]| {
        let mut inner = [v, &[t], c, x].concat();
        run(&l.body, &mut inner);
        (Loop { carry: pick(&l.carry, &inner), ys: pick(&l.ys, &inner) }, l.until.map(|u| inner[u]))
    };
    let (carry, ys) = match l.until {
        None => scan(l.len, l.reverse, &init, &xs, |t, c, x| body(t, c, x).0),
        Some(_) => scan_until(l.len, &init, &xs, |t, c, x| {
            let (step, until) = body(t, c, x);
            (step, until.unwrap_or(t))
        }),
    };
    [carry, ys].concat()
}

/// A function of one tensor by its operation.
pub fn unary(op: Unary, x: Tensor) -> Tensor {
    match op {
        Unary::Neg => -x,
        Unary::Recip => x.recip(),
        Unary::Exp => x.exp(),
        Unary::Log => x.log(),
        Unary::Sqrt => x.sqrt(),
        Unary::Sin => x.sin(),
        Unary::Cos => x.cos(),
        Unary::Tanh => x.tanh(),
        Unary::Floor => x.floor(),
        Unary::Cast(DType::F32) => x.to_f32(),
        Unary::Cast(DType::U32) => x.to_u32(),
        Unary::Bitcast(DType::F32) => x.bitcast_f32(),
        Unary::Bitcast(DType::U32) => x.bitcast_u32(),
        Unary::Stop => x.stop_gradient(),
    }
}

/// A function of two tensors by its operation.
pub fn binary(op: Binary, a: Tensor, b: Tensor) -> Tensor {
    match op {
        Binary::Add => a + b,
        Binary::Mul => a * b,
        Binary::Max => a.max(b),
        Binary::Min => a.min(b),
        Binary::Lt => a.lt(b),
        Binary::Eq => a.eq(b),
        Binary::And => a.bit_and(b),
        Binary::Or => a.bit_or(b),
        Binary::Xor => a.bit_xor(b),
        Binary::Shl => a.shl(b),
        Binary::Shr => a.shr(b),
    }
}

impl fmt::Display for Recipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, a) in self.args.iter().enumerate() {
            writeln!(f, "%{i} = {:?} {:?} {}", a.kind, a.shape, a.dtype)?;
        }
        write_steps(f, &self.steps, self.args.len(), 0)?;
        writeln!(f, "outputs {:?}, updates {:?}", self.outputs, self.updates)
    }
}

/// Steps with the numbers of their results, loops indented.
fn write_steps(f: &mut fmt::Formatter<'_>, steps: &[Step], first: usize, depth: usize) -> fmt::Result {
    let mut number = first;
    for step in steps {
        let n = step.results();
        write!(f, "{:1$}", "", depth * 4)?;
        match n {
            1 => write!(f, "%{number} = ")?,
            _ => write!(f, "%{number}..{} = ", number + n)?,
        }
        match step {
            Step::Scan(l) => {
                let LoopStep { len, reverse, init, xs, carry, ys, until, .. } = l.as_ref();
                writeln!(f, "Scan len {len} reverse {reverse} init {init:?} xs {xs:?}")?;
                let inner = number + 1 + init.len() + xs.len();
                writeln!(f, "{:1$}(index %{number}, then carries and rows)", "", depth * 4 + 4)?;
                write_steps(f, &l.body, inner, depth + 1)?;
                writeln!(f, "{:1$}carry {carry:?} ys {ys:?} until {until:?}", "", depth * 4 + 4)?;
            }
            other => writeln!(f, "{other:?}")?,
        }
        number += n;
    }
    Ok(())
}

impl Step {
    /// How many values it gives.
    pub fn results(&self) -> usize {
        match self {
            Step::Scan(l) => l.init.len() + l.ys.len(),
            Step::Call(twin, ..) => twin.results(),
            Step::Grad(_, wrt) => wrt.len(),
            _ => 1,
        }
    }

    /// The values that it reads; of a loop, none of those in its body.
    pub(crate) fn operands(&self) -> Vec<Ref> {
        match self {
            Step::Scan(l) => l.init.iter().chain(&l.xs).copied().collect(),
            other => other.clone().operands_mut().into_iter().map(|r| *r).collect(),
        }
    }

    fn operands_mut(&mut self) -> Vec<&mut Ref> {
        match self {
            Step::Full(..) | Step::Literal(..) | Step::Iota(..) | Step::Scan(_) => vec![],
            Step::Same(a)
            | Step::Unary(_, a)
            | Step::Reshape(a, _)
            | Step::Permute(a, _)
            | Step::Broadcast(a, _)
            | Step::Slice(a, ..)
            | Step::Pad(a, ..)
            | Step::Sum(a, _)
            | Step::Max(a, _) => vec![a],
            Step::Binary(_, a, b) | Step::MatMul(a, b, ..) | Step::Gather(a, b) | Step::Call(_, a, b) => vec![a, b],
            Step::Select(a, b, c) | Step::Store(a, b, c) => vec![a, b, c],
            Step::Concat(parts, _) => parts.iter_mut().collect(),
            Step::Threefry(k, c, _) => k.iter_mut().chain(c).collect(),
            Step::Permutation(i, k, _) => std::iter::once(i).chain(k).collect(),
            Step::Grad(loss, wrt) => std::iter::once(loss).chain(wrt).collect(),
        }
    }
}
