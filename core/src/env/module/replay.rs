//! Tapes played again with numbers of another type.

use super::tape::{COLUMNS, TapeOp};
use super::words::WordReader;
use crate::env::real::{Bits, Mask, Real};

/// A value of a tape.
#[derive(Clone, Copy)]
pub enum TapeValue<R: Real> {
    Number(R),
    Mask(R::Mask),
    Bits(R::Bits),
}

impl<R: Real> TapeValue<R> {
    /// The number; 0 if it is none, which no tape has that was recorded.
    pub fn number(self) -> R {
        if let TapeValue::Number(number) = self { number } else { R::lit(0.0) }
    }

    /// The truth value; false if it is none.
    pub fn mask(self) -> R::Mask {
        if let TapeValue::Mask(mask) = self { mask } else { R::Mask::splat(false) }
    }

    /// The bits; 0 if there are none.
    pub fn bits(self) -> R::Bits {
        if let TapeValue::Bits(bits) = self { bits } else { R::Bits::splat(0) }
    }
}

/// Plays a tape from the values that it begins with; returns its results. None if its words are no tape.
pub fn replay<R: Real>(tape: &[u32], leaves: Vec<TapeValue<R>>) -> Option<Vec<TapeValue<R>>> {
    let mut read = WordReader::new(tape);
    let len = read.len();
    let operations = read.take(len);
    let results = read.list(WordReader::len);
    if !read.sound() {
        return None;
    }
    let mut player = TapePlayer { values: leaves };
    player.play(operations)?;
    results.into_iter().map(|value| player.values.get(value).copied()).collect()
}

struct TapePlayer<R: Real> {
    values: Vec<TapeValue<R>>,
}

impl<R: Real> TapePlayer<R> {
    fn number(&self, read: &mut WordReader<'_>) -> R {
        self.value(read).number()
    }

    fn mask(&self, read: &mut WordReader<'_>) -> R::Mask {
        self.value(read).mask()
    }

    fn bits(&self, read: &mut WordReader<'_>) -> R::Bits {
        self.value(read).bits()
    }

    fn value(&self, read: &mut WordReader<'_>) -> TapeValue<R> {
        self.values.get(read.len()).copied().unwrap_or(TapeValue::Number(R::lit(0.0)))
    }

    fn play(&mut self, operations: &[u32]) -> Option<()> {
        use TapeValue::{Bits as B, Mask as M, Number as N};
        let mut read = WordReader::new(operations);
        let r = &mut read;
        while r.more() {
            let value = match TapeOp::of(r.word())? {
                TapeOp::Lit => N(R::lit(r.double())),
                TapeOp::Add => N(self.number(r) + self.number(r)),
                TapeOp::Sub => N(self.number(r) - self.number(r)),
                TapeOp::Mul => N(self.number(r) * self.number(r)),
                TapeOp::Div => N(self.number(r) / self.number(r)),
                TapeOp::Neg => N(-self.number(r)),
                TapeOp::AddLit => N(self.number(r) + r.double()),
                TapeOp::SubLit => N(self.number(r) - r.double()),
                TapeOp::MulLit => N(self.number(r) * r.double()),
                TapeOp::Recip => N(self.number(r).recip()),
                TapeOp::Sqrt => N(self.number(r).sqrt()),
                TapeOp::Exp => N(self.number(r).exp()),
                TapeOp::Log => N(self.number(r).log()),
                TapeOp::Sin => N(self.number(r).sin()),
                TapeOp::Cos => N(self.number(r).cos()),
                TapeOp::Tanh => N(self.number(r).tanh()),
                TapeOp::Floor => N(self.number(r).floor()),
                TapeOp::Max => N(self.number(r).max(self.number(r))),
                TapeOp::Min => N(self.number(r).min(self.number(r))),
                TapeOp::Lt => M(self.number(r).lt(self.number(r))),
                TapeOp::Le => M(self.number(r).le(self.number(r))),
                TapeOp::Eq => M(self.number(r).eq(self.number(r))),
                TapeOp::Select => N(R::select(self.mask(r), self.number(r), self.number(r))),
                TapeOp::Uniform => N(R::uniform(self.bits(r))),
                TapeOp::FromCount => N(R::from_count(self.bits(r))),
                TapeOp::ToCount => B(self.number(r).to_count()),
                TapeOp::CountLt => M(R::count_lt(self.bits(r), self.bits(r))),
                TapeOp::SelectBits => B(R::select_bits(self.mask(r), self.bits(r), self.bits(r))),
                TapeOp::Lookup => {
                    let index = self.number(r);
                    N(R::lookup(&r.list(WordReader::double), index))
                }
                TapeOp::Mask => M(R::Mask::splat(r.word() != 0)),
                TapeOp::MaskAnd => M(self.mask(r).and(self.mask(r))),
                TapeOp::MaskOr => M(self.mask(r).or(self.mask(r))),
                TapeOp::MaskNot => M(self.mask(r).not()),
                TapeOp::Bits => B(R::Bits::splat(r.word())),
                TapeOp::BitsAdd => B(self.bits(r).add(self.bits(r))),
                TapeOp::BitsXor => B(self.bits(r).xor(self.bits(r))),
                TapeOp::BitsAnd => B(self.bits(r).and(self.bits(r))),
                TapeOp::BitsOr => B(self.bits(r).or(self.bits(r))),
                TapeOp::Shl => B(self.bits(r).shl(r.word())),
                TapeOp::Shr => B(self.bits(r).shr(r.word())),
                TapeOp::Threefry => {
                    let [a, b, c, d] = std::array::from_fn(|_| self.bits(r));
                    let [first, second] = R::Bits::threefry([a, b], [c, d]);
                    self.values.push(B(first));
                    B(second)
                }
                TapeOp::Fold => {
                    self.fold(r)?;
                    continue;
                }
            };
            self.values.push(value);
        }
        r.sound().then_some(())
    }

    fn fold(&mut self, read: &mut WordReader<'_>) -> Option<()> {
        let [rows, columns] = [read.len(), read.len()];
        let numbers: Vec<f64> = (0..rows * columns).map(|_| read.double()).collect();
        let named = read.list(WordReader::len);
        let state: Option<Vec<R>> = named.into_iter().map(|at| Some(self.values.get(at)?.number())).collect();
        let mut state = state?;
        let [len, made] = [read.len(), read.len()];
        let body = read.take(len);
        let (body, next) = body.split_at_checked(len.checked_sub(state.len())?)?;
        let base = self.values.len();
        let mut sound = true;
        let mut step = |state: &mut [R], row: &[R]| {
            self.values.truncate(base);
            self.values.extend(state.iter().chain(row).map(|number| TapeValue::Number(*number)));
            sound &= self.play(body).is_some();
            for (number, at) in state.iter_mut().zip(next) {
                *number = self.values.get(*at as usize).map_or(R::lit(0.0), |value| value.number());
            }
        };
        match columns {
            0 => each::<R, 0>(rows, &numbers, &mut state, &mut step),
            1 => each::<R, 1>(rows, &numbers, &mut state, &mut step),
            2 => each::<R, 2>(rows, &numbers, &mut state, &mut step),
            3 => each::<R, 3>(rows, &numbers, &mut state, &mut step),
            COLUMNS => each::<R, COLUMNS>(rows, &numbers, &mut state, &mut step),
            _ => return None,
        }
        // Nothing outside of the body names its values; they hold their places.
        self.values.resize(base + made, TapeValue::Number(R::lit(0.0)));
        self.values.extend(state.into_iter().map(TapeValue::Number));
        sound.then_some(())
    }
}

/// A fold over a table of `C` columns.
fn each<R: Real, const C: usize>(rows: usize, numbers: &[f64], state: &mut [R], step: &mut dyn FnMut(&mut [R], &[R])) {
    let table: Vec<[f64; C]> = (0..rows).map(|row| std::array::from_fn(|column| numbers[row * C + column])).collect();
    R::fold(&table, state, |state, row| {
        step(state, &row);
        true
    });
}
