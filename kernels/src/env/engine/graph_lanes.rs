//! Numbers of environments as handles to a graph: [`Real`] for [`Tensor`].

use crate::env::fields::Fields;
use crate::env::real::{Bits, Mask, Real};
use crate::tensor::{Loop, Tensor, scan};

impl Mask for Tensor {
    fn splat(value: bool) -> Self {
        Tensor::constant_u32(u32::from(value))
    }
    // Truth values that are constant (an environment that never terminates) leave no nodes behind.
    fn and(self, other: Self) -> Self {
        match (self.constant(), other.constant()) {
            (Some(0.0), _) => self,
            (_, Some(0.0)) => other,
            (Some(_), _) => other,
            (_, Some(_)) => self,
            _ => self.bit_and(other),
        }
    }
    fn or(self, other: Self) -> Self {
        match (self.constant(), other.constant()) {
            (Some(0.0), _) => other,
            (_, Some(0.0)) => self,
            (Some(_), _) => self,
            (_, Some(_)) => other,
            _ => self.bit_or(other),
        }
    }
    fn not(self) -> Self {
        match self.constant() {
            Some(value) => Tensor::constant_u32(u32::from(value == 0.0)),
            None => Tensor::not(self),
        }
    }
    fn any(self) -> bool {
        true
    }
}

impl Bits for Tensor {
    fn splat(value: u32) -> Self {
        Tensor::constant_u32(value)
    }
    fn add(self, other: Self) -> Self {
        self + other
    }
    fn xor(self, other: Self) -> Self {
        self.bit_xor(other)
    }
    fn and(self, other: Self) -> Self {
        self.bit_and(other)
    }
    fn or(self, other: Self) -> Self {
        self.bit_or(other)
    }
    fn shl(self, n: u32) -> Self {
        Tensor::shl(self, Tensor::constant_u32(n))
    }
    fn shr(self, n: u32) -> Self {
        Tensor::shr(self, Tensor::constant_u32(n))
    }
    fn threefry(key: [Self; 2], counter: [Self; 2]) -> [Self; 2] {
        [Tensor::threefry(key, counter, 0), Tensor::threefry(key, counter, 1)]
    }
}

/// Values of any shapes that broadcast; truth values are u32 0 or 1. Operations are those of the graph, with the lines
/// of the environment that asked for them where the feature `debug` is there, which tells them.
impl Real for Tensor {
    type Mask = Tensor;
    type Bits = Tensor;
    const TRACED: bool = true;

    #[cfg_attr(feature = "debug", track_caller)]
    fn lit(value: f64) -> Self {
        Tensor::constant_f32(value)
    }
    #[cfg_attr(feature = "debug", track_caller)]
    fn recip(self) -> Self {
        Tensor::recip(self)
    }
    #[cfg_attr(feature = "debug", track_caller)]
    fn sqrt(self) -> Self {
        Tensor::sqrt(self)
    }
    #[cfg_attr(feature = "debug", track_caller)]
    fn exp(self) -> Self {
        Tensor::exp(self)
    }
    #[cfg_attr(feature = "debug", track_caller)]
    fn log(self) -> Self {
        Tensor::log(self)
    }
    #[cfg_attr(feature = "debug", track_caller)]
    fn sin(self) -> Self {
        Tensor::sin(self)
    }
    #[cfg_attr(feature = "debug", track_caller)]
    fn cos(self) -> Self {
        Tensor::cos(self)
    }
    #[cfg_attr(feature = "debug", track_caller)]
    fn tanh(self) -> Self {
        Tensor::tanh(self)
    }
    #[cfg_attr(feature = "debug", track_caller)]
    fn floor(self) -> Self {
        Tensor::floor(self)
    }
    #[cfg_attr(feature = "debug", track_caller)]
    fn max(self, other: Self) -> Self {
        Tensor::max(self, other)
    }
    #[cfg_attr(feature = "debug", track_caller)]
    fn min(self, other: Self) -> Self {
        Tensor::min(self, other)
    }
    // What is known while tracing, such as where an episode starts, leaves no nodes behind.
    fn lt(self, other: Self) -> Self {
        known(self, other, |a, b| a < b).unwrap_or_else(|| Tensor::lt(self, other))
    }
    fn le(self, other: Self) -> Self {
        let below = || Tensor::lt(self, other).bit_or(Tensor::eq(self, other));
        known(self, other, |a, b| a <= b).unwrap_or_else(below)
    }
    fn eq(self, other: Self) -> Self {
        known(self, other, |a, b| a == b).unwrap_or_else(|| Tensor::eq(self, other))
    }
    #[cfg_attr(feature = "debug", track_caller)]
    fn select(mask: Self, a: Self, b: Self) -> Self {
        match mask.constant() {
            Some(value) => {
                if value != 0.0 {
                    a
                } else {
                    b
                }
            }
            None => Tensor::select(mask, a, b),
        }
    }
    #[cfg_attr(feature = "debug", track_caller)]
    fn uniform(bits: Self) -> Self {
        Bits::shr(bits, 8).to_f32() * (1.0 / 16_777_216.0)
    }
    #[cfg_attr(feature = "debug", track_caller)]
    fn from_count(bits: Self) -> Self {
        bits.to_f32()
    }
    fn to_count(self) -> Self {
        self.to_u32()
    }
    fn count_lt(a: Self, b: Self) -> Self {
        Tensor::lt(a, b)
    }
    fn select_bits(mask: Self, a: Self, b: Self) -> Self {
        Tensor::select(mask, a, b)
    }
    #[cfg_attr(feature = "debug", track_caller)]
    fn lookup(table: &[f64], index: Self) -> Self {
        if table.is_empty() {
            return Tensor::constant_f32(0.0);
        }
        let shape = index.shape();
        Tensor::literal_f32(table).gather(index.to_u32().flatten()).reshape(&shape)
    }
    fn repeat<S: Fields<Self>>(n: usize, state: S, f: impl Fn(S) -> S) -> S {
        if n == 0 {
            return state;
        }
        // A carry keeps its shape; what one application leads to tells which. Its nodes are dropped as unused.
        let once = f(state);
        let shapes: Vec<Vec<usize>> = (0..S::N).map(|i| (state.get(i) * 0.0 + once.get(i)).shape()).collect();
        let init: Vec<Tensor> = (0..S::N).map(|i| state.get(i).broadcast_to(&shapes[i])).collect();
        let (carry, _) = scan(n, false, &init, &[], |_, carry, _| {
            let next = f(S::from_fn(|i| carry[i]));
            Loop { carry: (0..S::N).map(|i| next.get(i).broadcast_to(&shapes[i])).collect(), ys: Vec::new() }
        });
        S::from_fn(|i| carry[i])
    }
    fn fold<const C: usize>(rows: &[[f64; C]], state: &mut [Self], mut f: impl FnMut(&mut [Self], [Self; C]) -> bool) {
        let Some(first) = rows.first() else { return };
        // Carries keep their shapes: all take that of what one application leads to. Its nodes are dropped as unused.
        let mut once = state.to_vec();
        f(&mut once, first.map(Self::lit));
        let all = state.iter().chain(&once).fold(Self::lit(0.0), |sum, x| sum + *x * 0.0).shape();
        let shaped = |values: &[Tensor]| values.iter().map(|value| value.broadcast_to(&all)).collect::<Vec<_>>();
        let tables: Vec<Tensor> =
            (0..C).map(|column| Tensor::literal_f32(&rows.iter().map(|row| row[column]).collect::<Vec<_>>())).collect();
        let (carry, _) = scan(rows.len(), false, &shaped(state), &tables, |_, carry, row| {
            let mut next = carry.to_vec();
            f(&mut next, std::array::from_fn(|column| row[column]));
            Loop { carry: shaped(&next), ys: Vec::new() }
        });
        state.copy_from_slice(&carry);
    }
}

/// The result of comparing two constants, as the numbers in `f32` that they stand for.
fn known(a: Tensor, b: Tensor, compare: impl Fn(f32, f32) -> bool) -> Option<Tensor> {
    let (a, b) = (a.constant()? as f32, b.constant()? as f32);
    Some(Tensor::constant_u32(u32::from(compare(a, b))))
}
