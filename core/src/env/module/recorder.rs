//! Numbers that write down what is done with them: [`Real`] for a tape.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

use super::tape::{COLUMNS, TapeOp};
use super::words::WordWriter;
use crate::env::real::{Bits, Mask, Real};

thread_local! {
    /// The tape of this thread.
    static TAPE: RefCell<Recorder> = RefCell::default();
}

#[derive(Default)]
struct Recorder {
    words: WordWriter,
    /// How many values there are.
    values: u32,
}

/// The number of a value on the tape: of a number, a truth value or bits.
#[derive(Clone, Copy, Debug)]
pub struct Noted(u32);

/// The tape of what `compute` does with so many values that it begins with, and the numbers of what it returns at the
/// end, behind how many words of operations there are.
pub fn record(leaves: usize, compute: impl FnOnce(&[Noted]) -> Vec<Noted>) -> WordWriter {
    TAPE.with_borrow_mut(|tape| *tape = Recorder { words: WordWriter::default(), values: leaves as u32 });
    let leaves: Vec<Noted> = (0..leaves as u32).map(Noted).collect();
    let results = compute(&leaves);
    let tape = TAPE.take();
    let mut out = WordWriter::default();
    out.list(&tape.words.0, |out, word| out.word(*word));
    out.list(&results, |out, Noted(value)| out.word(*value));
    out
}

/// Writes an operation with all that it takes down; its value.
fn note(op: TapeOp, takes: &[u32]) -> Noted {
    TAPE.with_borrow_mut(|tape| {
        tape.words.word(op as u32);
        takes.iter().for_each(|word| tape.words.word(*word));
        tape.made()
    })
}

fn note_with(op: TapeOp, Noted(value): Noted, number: f64) -> Noted {
    TAPE.with_borrow_mut(|tape| {
        tape.words.word(op as u32);
        tape.words.word(value);
        tape.words.double(number);
        tape.made()
    })
}

impl Recorder {
    fn made(&mut self) -> Noted {
        self.values += 1;
        Noted(self.values - 1)
    }
}

macro_rules! operators {
    ($($op:ident $function:ident $with:ident;)*) => {
        $(impl $op for Noted {
            type Output = Noted;
            fn $function(self, other: Noted) -> Noted {
                note(TapeOp::$op, &[self.0, other.0])
            }
        }
        operators! { $with $op $function })*
    };
    (NoLit $op:ident $function:ident) => {};
    ($with:ident $op:ident $function:ident) => {
        impl $op<f64> for Noted {
            type Output = Noted;
            fn $function(self, other: f64) -> Noted {
                note_with(TapeOp::$with, self, other)
            }
        }
    };
}

operators! {
    Add add AddLit;
    Sub sub SubLit;
    Mul mul MulLit;
    Div div NoLit;
}

impl Neg for Noted {
    type Output = Noted;
    fn neg(self) -> Noted {
        note(TapeOp::Neg, &[self.0])
    }
}

impl Mask for Noted {
    fn splat(value: bool) -> Self {
        note(TapeOp::Mask, &[u32::from(value)])
    }
    fn and(self, other: Self) -> Self {
        note(TapeOp::MaskAnd, &[self.0, other.0])
    }
    fn or(self, other: Self) -> Self {
        note(TapeOp::MaskOr, &[self.0, other.0])
    }
    fn not(self) -> Self {
        note(TapeOp::MaskNot, &[self.0])
    }
    fn any(self) -> bool {
        true
    }
}

impl Bits for Noted {
    fn splat(value: u32) -> Self {
        note(TapeOp::Bits, &[value])
    }
    fn add(self, other: Self) -> Self {
        note(TapeOp::BitsAdd, &[self.0, other.0])
    }
    fn xor(self, other: Self) -> Self {
        note(TapeOp::BitsXor, &[self.0, other.0])
    }
    fn and(self, other: Self) -> Self {
        note(TapeOp::BitsAnd, &[self.0, other.0])
    }
    fn or(self, other: Self) -> Self {
        note(TapeOp::BitsOr, &[self.0, other.0])
    }
    fn shl(self, n: u32) -> Self {
        note(TapeOp::Shl, &[self.0, n])
    }
    fn shr(self, n: u32) -> Self {
        note(TapeOp::Shr, &[self.0, n])
    }
    fn threefry(key: [Self; 2], counter: [Self; 2]) -> [Self; 2] {
        let first = note(TapeOp::Threefry, &[key[0].0, key[1].0, counter[0].0, counter[1].0]);
        [first, TAPE.with_borrow_mut(Recorder::made)]
    }
}

macro_rules! functions {
    ($($name:ident $op:ident;)*) => {
        $(fn $name(self) -> Self {
            note(TapeOp::$op, &[self.0])
        })*
    };
}

impl Real for Noted {
    type Mask = Noted;
    type Bits = Noted;
    const TRACED: bool = true;

    fn lit(value: f64) -> Self {
        TAPE.with_borrow_mut(|tape| {
            tape.words.word(TapeOp::Lit as u32);
            tape.words.double(value);
            tape.made()
        })
    }
    functions! {
        recip Recip;
        sqrt Sqrt;
        exp Exp;
        log Log;
        sin Sin;
        cos Cos;
        tanh Tanh;
        floor Floor;
    }
    fn max(self, other: Self) -> Self {
        note(TapeOp::Max, &[self.0, other.0])
    }
    fn min(self, other: Self) -> Self {
        note(TapeOp::Min, &[self.0, other.0])
    }
    fn lt(self, other: Self) -> Self {
        note(TapeOp::Lt, &[self.0, other.0])
    }
    fn le(self, other: Self) -> Self {
        note(TapeOp::Le, &[self.0, other.0])
    }
    fn eq(self, other: Self) -> Self {
        note(TapeOp::Eq, &[self.0, other.0])
    }
    fn select(mask: Self, a: Self, b: Self) -> Self {
        note(TapeOp::Select, &[mask.0, a.0, b.0])
    }
    fn uniform(bits: Self) -> Self {
        note(TapeOp::Uniform, &[bits.0])
    }
    fn from_count(bits: Self) -> Self {
        note(TapeOp::FromCount, &[bits.0])
    }
    fn to_count(self) -> Self {
        note(TapeOp::ToCount, &[self.0])
    }
    fn count_lt(a: Self, b: Self) -> Self {
        note(TapeOp::CountLt, &[a.0, b.0])
    }
    fn select_bits(mask: Self, a: Self, b: Self) -> Self {
        note(TapeOp::SelectBits, &[mask.0, a.0, b.0])
    }
    fn lookup(table: &[f64], index: Self) -> Self {
        TAPE.with_borrow_mut(|tape| {
            tape.words.word(TapeOp::Lookup as u32);
            tape.words.word(index.0);
            tape.words.list(table, |words, number| words.double(*number));
            tape.made()
        })
    }
    fn fold<const C: usize>(rows: &[[f64; C]], state: &mut [Self], mut f: impl FnMut(&mut [Self], [Self; C]) -> bool) {
        const { assert!(C <= COLUMNS, "a table with more columns than tapes can hold") };
        let mut next = state.to_vec();
        let (row, body, before) = TAPE.with_borrow_mut(|tape| {
            tape.words.word(TapeOp::Fold as u32);
            tape.words.len(rows.len());
            tape.words.len(C);
            rows.as_flattened().iter().for_each(|number| tape.words.double(*number));
            tape.words.list(state, |words, Noted(value)| words.word(*value));
            // The body's length and its values, which are known at its end.
            tape.words.0.extend([0, 0]);
            let before = tape.values;
            next.fill_with(|| tape.made());
            (std::array::from_fn(|_| tape.made()), tape.words.0.len(), before)
        });
        f(&mut next, row);
        TAPE.with_borrow_mut(|tape| {
            next.iter().for_each(|Noted(value)| tape.words.word(*value));
            tape.words.0[body - 2] = (tape.words.0.len() - body) as u32;
            tape.words.0[body - 1] = tape.values - before;
            state.fill_with(|| tape.made());
        });
    }
}
