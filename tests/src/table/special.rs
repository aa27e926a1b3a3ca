//! The results of primitives for NaN, infinities, zeros of either sign, numbers out of range and subnormal numbers.

use std::fmt;

use quickstudy_core::{DType, Device, Program, Result, State, Tensor};

/// A function of two f32 numbers at one point.
#[derive(Clone, Copy, Debug)]
pub struct Special {
    /// Name of the function.
    pub op: &'static str,
    /// First argument.
    pub x: f32,
    /// Second argument.
    pub y: f32,
    /// The function.
    pub f: fn(Tensor, Tensor) -> Tensor,
    /// The result that it must give; any NaN is one NaN.
    pub want: Wanted,
}

/// A result of one type or the other.
#[derive(Clone, Copy, Debug)]
pub enum Wanted {
    /// f32, to the bit.
    Float(f32),
    /// u32.
    Word(u32),
}

impl Special {
    /// Bits of the result on a device.
    ///
    /// # Errors
    /// If it cannot be traced or run.
    pub fn on(&self, device: &Device) -> Result<u32> {
        // Many rows, so that whole vectors and their ends are used.
        let n = 37;
        let mut program = Program::new(device, |cx| {
            let (x, y) = (cx.input("x", &[n], DType::F32), cx.input("y", &[n], DType::F32));
            let z = (self.f)(x, y);
            cx.output("z", if z.dtype() == DType::F32 { z.bitcast_u32() } else { z });
        })?;
        let (x, y) = (device.array_f32(&[n], &vec![self.x; n])?, device.array_f32(&[n], &vec![self.y; n])?);
        let outputs = program.run(&State::new(), &[("x", &x), ("y", &y)], &[])?;
        let found = pollster::block_on(device.read_u32(outputs.get("z")?))?;
        assert!(found.iter().all(|v| *v == found[0]), "{self}: {found:x?}");
        Ok(found[0])
    }

    /// Tells whether these bits are the result that it must give.
    #[must_use]
    pub fn is(&self, bits: u32) -> bool {
        match self.want {
            Wanted::Float(want) => bits == want.to_bits() || (f32::from_bits(bits).is_nan() && want.is_nan()),
            Wanted::Word(want) => bits == want,
        }
    }

    /// Bits of a result for people.
    #[must_use]
    pub fn show(&self, bits: u32) -> String {
        match self.want {
            Wanted::Float(_) => format!("{:?}", f32::from_bits(bits)),
            Wanted::Word(_) => bits.to_string(),
        }
    }
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({:?}, {:?}) = {:?}", self.op, self.x, self.y, self.want)
    }
}

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;
/// Subnormal.
const TINY: f32 = 1e-40;

type F = fn(Tensor, Tensor) -> Tensor;

/// All special operations.
#[must_use]
pub fn specials() -> Vec<Special> {
    let float =
        |&(op, x, y, f, want): &(&'static str, f32, f32, F, f32)| Special { op, x, y, f, want: Wanted::Float(want) };
    let word =
        |&(op, x, y, f, want): &(&'static str, f32, f32, F, u32)| Special { op, x, y, f, want: Wanted::Word(want) };
    FLOATS.iter().map(float).chain(WORDS.iter().map(word)).collect()
}

const FLOATS: &[(&str, f32, f32, F, f32)] = &[
    ("recip", 0.0, 0.0, |x, _| x.recip(), INF),
    ("recip", -0.0, 0.0, |x, _| x.recip(), -INF),
    ("recip", INF, 0.0, |x, _| x.recip(), 0.0),
    ("neg", 0.0, 0.0, |x, _| -x, -0.0),
    ("exp", 0.0, 0.0, |x, _| x.exp(), 1.0),
    ("exp", 200.0, 0.0, |x, _| x.exp(), INF),
    ("exp", INF, 0.0, |x, _| x.exp(), INF),
    ("exp", -200.0, 0.0, |x, _| x.exp(), 0.0),
    ("exp", -INF, 0.0, |x, _| x.exp(), 0.0),
    ("exp", NAN, 0.0, |x, _| x.exp(), NAN),
    ("log", 1.0, 0.0, |x, _| x.log(), 0.0),
    ("log", 0.0, 0.0, |x, _| x.log(), -INF),
    ("log", -1.0, 0.0, |x, _| x.log(), NAN),
    ("log", INF, 0.0, |x, _| x.log(), INF),
    ("sqrt", 0.0, 0.0, |x, _| x.sqrt(), 0.0),
    ("sqrt", -1.0, 0.0, |x, _| x.sqrt(), NAN),
    ("sqrt", 4.0, 0.0, |x, _| x.sqrt(), 2.0),
    ("sin", 0.0, 0.0, |x, _| x.sin(), 0.0),
    ("cos", 0.0, 0.0, |x, _| x.cos(), 1.0),
    ("tanh", 100.0, 0.0, |x, _| x.tanh(), 1.0),
    ("tanh", -100.0, 0.0, |x, _| x.tanh(), -1.0),
    ("tanh", 0.0, 0.0, |x, _| x.tanh(), 0.0),
    ("tanh", NAN, 0.0, |x, _| x.tanh(), NAN),
    ("floor", -0.5, 0.0, |x, _| x.floor(), -1.0),
    ("floor", 1e10, 0.0, |x, _| x.floor(), 1e10),
    ("floor", 2.999_999_8, 0.0, |x, _| x.floor(), 2.0),
    // if x < y { y } else { x }
    ("max", NAN, 1.0, |x, y| x.max(y), NAN),
    ("max", 1.0, NAN, |x, y| x.max(y), 1.0),
    ("max", -0.0, 0.0, |x, y| x.max(y), -0.0),
    // if y < x { y } else { x }
    ("min", NAN, 1.0, |x, y| x.min(y), NAN),
    ("min", 1.0, NAN, |x, y| x.min(y), 1.0),
    ("min", 0.0, -0.0, |x, y| x.min(y), 0.0),
    ("mul", INF, 0.0, |x, y| x * y, NAN),
    ("abs", -INF, 0.0, |x, _| x.abs(), INF),
    // Subnormal numbers are numbers.
    ("neg", TINY, 0.0, |x, _| -x, -TINY),
    ("add", TINY, TINY, |x, y| x + y, TINY + TINY),
    ("mul", TINY, 0.5, |x, y| x * y, 5e-41),
    ("mul", 1e-20, 1e-20, |x, y| x * y, 1e-40),
    ("max", TINY, 0.0, |x, y| x.max(y), TINY),
    ("min", TINY, 1.0, |x, y| x.min(y), TINY),
    ("floor", -TINY, 0.0, |x, _| x.floor(), -1.0),
    ("select", TINY, 1.0, |x, y| y.to_u32().select(x, y), TINY),
    ("sum", TINY, 0.0, |x, _| x.reshape(&[37, 1]).broadcast_to(&[37, 2]).sum_keep(1).reshape(&[37]), TINY + TINY),
    ("pad and concat", TINY, 1.0, |x, y| Tensor::concat(&[x, y], 0).pad(0, 1, 0).slice(0, 1, 38), TINY),
    ("gather", TINY, 1.0, |x, _| x.gather(Tensor::iota(&[37], 0)), TINY),
    // More of the others.
    ("add", INF, -INF, |x, y| x + y, NAN),
    ("add", -0.0, 0.0, |x, y| x + y, 0.0),
    ("add", f32::MAX, f32::MAX, |x, y| x + y, INF),
    ("mul", -0.0, 1.0, |x, y| x * y, -0.0),
    ("sqrt", INF, 0.0, |x, _| x.sqrt(), INF),
    ("sqrt", -0.0, 0.0, |x, _| x.sqrt(), -0.0),
    ("sin", INF, 0.0, |x, _| x.sin(), NAN),
    ("cos", NAN, 0.0, |x, _| x.cos(), NAN),
    ("log", NAN, 0.0, |x, _| x.log(), NAN),
    ("tanh", INF, 0.0, |x, _| x.tanh(), 1.0),
    ("floor", NAN, 0.0, |x, _| x.floor(), NAN),
    ("floor", -INF, 0.0, |x, _| x.floor(), -INF),
    ("select", NAN, 1.0, |x, y| y.to_u32().select(x, y), NAN),
    ("matmul", NAN, 0.0, |x, y| x.reshape(&[37, 1]).matmul(y.slice(0, 0, 1).reshape(&[1, 1])).reshape(&[37]), NAN),
    ("sum", INF, 1.0, |x, _| x.reshape(&[37, 1]).broadcast_to(&[37, 3]).sum_keep(1).reshape(&[37]), INF),
];

const WORDS: &[(&str, f32, f32, F, u32)] = &[
    ("to_u32", -1.0, 0.0, |x, _| x.to_u32(), 0),
    ("to_u32", NAN, 0.0, |x, _| x.to_u32(), 0),
    ("to_u32", 5e9, 0.0, |x, _| x.to_u32(), u32::MAX),
    ("to_u32", 3.99, 0.0, |x, _| x.to_u32(), 3),
    ("to_u32", 4e9, 0.0, |x, _| x.to_u32(), 4_000_000_000),
    ("eq", NAN, NAN, |x, y| x.eq(y), 0),
    ("eq", 0.0, -0.0, |x, y| x.eq(y), 1),
    ("lt", NAN, 1.0, |x, y| x.lt(y), 0),
    ("lt", -0.0, 0.0, |x, y| x.lt(y), 0),
    ("non_finite", NAN, 0.0, |x, _| x.non_finite(), 1),
    ("non_finite", f32::MAX, 0.0, |x, _| x.non_finite(), 0),
    ("shl by 33", 0.0, 0.0, |x, _| x.to_u32().bit_or(Tensor::constant_u32(3)).shl(Tensor::constant_u32(33)), 6),
    ("to_u32", TINY, 0.0, |x, _| x.to_u32(), 0),
    ("to_u32", INF, 0.0, |x, _| x.to_u32(), u32::MAX),
    ("to_u32", -INF, 0.0, |x, _| x.to_u32(), 0),
    ("bitcast", TINY, 0.0, |x, _| x.bitcast_u32(), 71_362),
    ("bitcast", -0.0, 0.0, |x, _| x.bitcast_u32(), 0x8000_0000),
    ("bitcast twice", INF, 0.0, |x, _| x.bitcast_u32().bitcast_f32().bitcast_u32(), 0x7f80_0000),
    ("lt", 0.0, TINY, |x, y| x.lt(y), 1),
    ("lt", -INF, INF, |x, y| x.lt(y), 1),
    ("eq", INF, INF, |x, y| x.eq(y), 1),
    ("eq", TINY, 0.0, |x, y| x.eq(y), 0),
    ("non_finite", INF, 0.0, |x, _| x.non_finite(), 1),
    ("non_finite", -INF, 0.0, |x, _| x.non_finite(), 1),
    ("non_finite", TINY, 0.0, |x, _| x.non_finite(), 0),
];
