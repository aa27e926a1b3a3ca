//! The op table: for each primitive, rows that use it.
//!
//! A row is a small program with operands of some shape and layout from the primitive's domain. [`Primitive::of`] and
//! [`rows`] match all operations, so a new one does not compile until it has rows; a test checks that the rows of a
//! primitive really contain it, compares the CPU with the f64 reference on each, and differentiates the smooth ones.

use quickstudy_core::tensor::{Binary, Op, Unary};
use quickstudy_core::{Context, DType, Tensor};

use crate::random_graph::{Arg, Dice, Kind, declare};

mod contractions;
mod control;
mod elementwise;
mod moves;
mod special;

pub use special::{Special, specials};

macro_rules! primitives {
    ($($name:ident),* $(,)?) => {
        /// The kinds of operations.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[allow(missing_docs, reason = "the names of the operations")]
        pub enum Primitive { $($name,)* Unary(Unary), Binary(Binary) }

        impl Primitive {
            /// All operations.
            pub fn all() -> Vec<Primitive> {
                let unary = Unary::ALL.into_iter().map(Primitive::Unary);
                let binary = Binary::ALL.into_iter().map(Primitive::Binary);
                [$(Primitive::$name),*].into_iter().chain(unary).chain(binary).collect()
            }
        }
    };
}

primitives! {
    Input, Param, Const, Literal, Iota, Scalar, Select, Reshape, Permute, Broadcast, Slice, Pad, Concat, Sum, ReduceMax,
    MatMul, Gather, Store, Threefry, Permutation, Scan, Call, Out,
}

impl Primitive {
    /// The kind of an operation.
    pub fn of(op: &Op) -> Primitive {
        match op {
            Op::Input(_) => Primitive::Input,
            Op::Param(_) => Primitive::Param,
            Op::Const(_) => Primitive::Const,
            Op::Literal(_) => Primitive::Literal,
            Op::Iota { .. } => Primitive::Iota,
            Op::Scalar(_) => Primitive::Scalar,
            Op::Unary(u) => Primitive::Unary(*u),
            Op::Binary(b) => Primitive::Binary(*b),
            Op::Select => Primitive::Select,
            Op::Reshape => Primitive::Reshape,
            Op::Permute(_) => Primitive::Permute,
            Op::Broadcast => Primitive::Broadcast,
            Op::Slice { .. } => Primitive::Slice,
            Op::Pad { .. } => Primitive::Pad,
            Op::Concat { .. } => Primitive::Concat,
            Op::Sum { .. } => Primitive::Sum,
            Op::ReduceMax { .. } => Primitive::ReduceMax,
            Op::MatMul { .. } => Primitive::MatMul,
            Op::Gather => Primitive::Gather,
            Op::Store => Primitive::Store,
            Op::Threefry { .. } => Primitive::Threefry,
            Op::Permutation { .. } => Primitive::Permutation,
            Op::Scan(_) => Primitive::Scan,
            Op::Call(_) => Primitive::Call,
            Op::Out(_) => Primitive::Out,
        }
    }
}

/// The rows of a primitive.
pub fn rows(primitive: Primitive) -> Vec<Row> {
    match primitive {
        Primitive::Input | Primitive::Const | Primitive::Literal | Primitive::Iota | Primitive::Scalar => {
            elementwise::leaves(primitive)
        }
        Primitive::Unary(op) => elementwise::unary_rows(op),
        Primitive::Binary(op) => elementwise::binary_rows(op),
        Primitive::Select => elementwise::select(),
        Primitive::Threefry => elementwise::threefry(),
        Primitive::Permutation => elementwise::permutation(),
        Primitive::Reshape
        | Primitive::Permute
        | Primitive::Broadcast
        | Primitive::Slice
        | Primitive::Pad
        | Primitive::Concat => moves::views(primitive),
        Primitive::Gather => moves::gather(),
        Primitive::Store => moves::store(),
        Primitive::Sum => contractions::sum(),
        Primitive::ReduceMax => contractions::reduce_max(),
        Primitive::MatMul => contractions::matmul(),
        Primitive::Scan | Primitive::Param | Primitive::Out => control::scans(),
        Primitive::Call => control::calls(),
    }
}

/// The elements that an operand may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Domain {
    /// Numbers of a range.
    Real(f32, f32),
    /// Numbers of either sign, with sizes in a range.
    Away(f32, f32),
    /// Multiples of 1/8 up to ±3, plus a number: comparisons of them are exact, and have ties if it is 0.
    Grid(f32),
    /// Numbers at least a sixteenth apart, in no order.
    Apart,
    /// Any u32.
    Bits,
    /// u32 below a number.
    Below(u32),
    /// u32 0 or another number.
    Truth,
    /// These numbers, repeated.
    These(&'static [f64]),
}

impl Domain {
    fn dtype(self) -> DType {
        match self {
            Domain::Bits | Domain::Below(_) | Domain::Truth => DType::U32,
            _ => DType::F32,
        }
    }

    fn values(self, n: usize, dice: &mut Dice) -> Vec<f64> {
        let mut one = |i: usize| match self {
            Domain::Real(lo, hi) => f64::from(lo + (dice.real(0.5) as f32 + 0.5) * (hi - lo)),
            Domain::Away(lo, hi) => {
                let size = f64::from(lo + (dice.real(0.5) as f32 + 0.5) * (hi - lo));
                if dice.chance(50) { size } else { -size }
            }
            Domain::Grid(offset) => (dice.below(49) as f64 - 24.0) / 8.0 + f64::from(offset),
            // An odd multiple modulo a power of two is a permutation.
            Domain::Apart => ((i * 2_371) % 4096) as f64 / 16.0 - 1.0 - (n.min(4096) as f64) / 32.0,
            Domain::Bits => dice.bits().into(),
            Domain::Below(n) => dice.below(n as usize) as f64,
            Domain::Truth => [0.0, 1.0, 0.0, 7.0][dice.below(4)],
            Domain::These(values) => values[i % values.len()],
        };
        (0..n).map(&mut one).collect()
    }
}

type Build = Box<dyn Fn(&[Tensor]) -> Vec<Tensor>>;

/// A small program that uses a primitive.
pub struct Row {
    /// Names the primitive and its operands.
    pub name: String,
    /// The arguments.
    pub args: Vec<Arg>,
    /// From the arguments to the results.
    pub build: Build,
    /// Twice differentiable in all of its float arguments, at and around their values.
    pub smooth: bool,
}

impl Row {
    /// A row with arguments of these shapes and domains.
    pub fn new(
        name: impl Into<String>,
        args: &[(&[usize], Domain)],
        build: impl Fn(&[Tensor]) -> Vec<Tensor> + 'static,
    ) -> Row {
        let mut dice = Dice::new(0x5eed);
        let arg = |(shape, domain): &(&[usize], Domain)| Arg {
            kind: Kind::Input,
            shape: shape.to_vec(),
            dtype: domain.dtype(),
            values: domain.values(shape.iter().product(), &mut dice),
        };
        Row { name: name.into(), args: args.iter().map(arg).collect(), build: Box::new(build), smooth: false }
    }

    /// Declare the arguments and return the results `out0`, `out1` and so on.
    pub fn trace(&self, cx: &mut Context) {
        let args = declare(&self.args, cx);
        for (i, value) in (self.build)(&args).into_iter().enumerate() {
            cx.output(&format!("out{i}"), value);
        }
    }

    /// The row, marked as smooth if `yes`.
    pub fn smooth(mut self, yes: bool) -> Row {
        self.smooth = yes;
        self
    }

    /// Elements of the float arguments: what a gradient check costs.
    pub fn coordinates(&self) -> usize {
        self.args.iter().filter(|a| a.dtype == DType::F32).map(|a| a.values.len()).sum()
    }
}
