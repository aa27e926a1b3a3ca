//! Tapes played again with numbers of another type.

use super::tape::{COLUMNS, Op};
use super::words::WordReader;
use crate::env::real::{Bits, Mask, Real};

/// A value of a tape.
#[derive(Clone, Copy)]
pub enum Value<R: Real> {
    Number(R),
    Mask(R::Mask),
    Bits(R::Bits),
}

impl<R: Real> Value<R> {
    /// The number; 0 if it is none, which no tape has that was recorded.
    pub fn number(self) -> R {
        if let Value::Number(number) = self { number } else { R::lit(0.0) }
    }

    /// The truth value; false if it is none.
    pub fn mask(self) -> R::Mask {
        if let Value::Mask(mask) = self { mask } else { R::Mask::splat(false) }
    }

    /// The bits; 0 if there are none.
    pub fn bits(self) -> R::Bits {
        if let Value::Bits(bits) = self { bits } else { R::Bits::splat(0) }
    }
}

/// What a tape leads to from the values that it begins with. None if its words are no tape.
pub fn replay<R: Real>(tape: &[u32], leaves: Vec<Value<R>>) -> Option<Vec<Value<R>>> {
    let mut read = WordReader::new(tape);
    let len = read.len();
    let operations = read.take(len);
    let results = read.list(WordReader::len);
    if !read.sound() {
        return None;
    }
    let mut player = Player { values: leaves };
    player.play(operations)?;
    results.into_iter().map(|value| player.values.get(value).copied()).collect()
}

struct Player<R: Real> {
    values: Vec<Value<R>>,
}

impl<R: Real> Player<R> {
    fn number(&self, read: &mut WordReader<'_>) -> R {
        self.value(read).number()
    }

    fn mask(&self, read: &mut WordReader<'_>) -> R::Mask {
        self.value(read).mask()
    }

    fn bits(&self, read: &mut WordReader<'_>) -> R::Bits {
        self.value(read).bits()
    }

    fn value(&self, read: &mut WordReader<'_>) -> Value<R> {
        self.values.get(read.len()).copied().unwrap_or(Value::Number(R::lit(0.0)))
    }

    fn play(&mut self, operations: &[u32]) -> Option<()> {
        use Value::{Bits as B, Mask as M, Number as N};
        let mut read = WordReader::new(operations);
        let r = &mut read;
        while !r.sound() {
            let value = match Op::of(r.word())? {
                Op::Lit => N(R::lit(r.double())),
                Op::Add => N(self.number(r) + self.number(r)),
                Op::Sub => N(self.number(r) - self.number(r)),
                Op::Mul => N(self.number(r) * self.number(r)),
                Op::Div => N(self.number(r) / self.number(r)),
                Op::Neg => N(-self.number(r)),
                Op::AddLit => N(self.number(r) + r.double()),
                Op::SubLit => N(self.number(r) - r.double()),
                Op::MulLit => N(self.number(r) * r.double()),
                Op::Recip => N(self.number(r).recip()),
                Op::Sqrt => N(self.number(r).sqrt()),
                Op::Exp => N(self.number(r).exp()),
                Op::Log => N(self.number(r).log()),
                Op::Sin => N(self.number(r).sin()),
                Op::Cos => N(self.number(r).cos()),
                Op::Tanh => N(self.number(r).tanh()),
                Op::Floor => N(self.number(r).floor()),
                Op::Max => N(self.number(r).max(self.number(r))),
                Op::Min => N(self.number(r).min(self.number(r))),
                Op::Lt => M(self.number(r).lt(self.number(r))),
                Op::Le => M(self.number(r).le(self.number(r))),
                Op::Eq => M(self.number(r).eq(self.number(r))),
                Op::Select => N(R::select(self.mask(r), self.number(r), self.number(r))),
                Op::Uniform => N(R::uniform(self.bits(r))),
                Op::FromCount => N(R::from_count(self.bits(r))),
                Op::ToCount => B(self.number(r).to_count()),
                Op::CountLt => M(R::count_lt(self.bits(r), self.bits(r))),
                Op::SelectBits => B(R::select_bits(self.mask(r), self.bits(r), self.bits(r))),
                Op::Lookup => {
                    let index = self.number(r);
                    N(R::lookup(&r.list(WordReader::double), index))
                }
                Op::Mask => M(R::Mask::splat(r.word() != 0)),
                Op::MaskAnd => M(self.mask(r).and(self.mask(r))),
                Op::MaskOr => M(self.mask(r).or(self.mask(r))),
                Op::MaskNot => M(self.mask(r).not()),
                Op::Bits => B(R::Bits::splat(r.word())),
                Op::BitsAdd => B(self.bits(r).add(self.bits(r))),
                Op::BitsXor => B(self.bits(r).xor(self.bits(r))),
                Op::BitsAnd => B(self.bits(r).and(self.bits(r))),
                Op::BitsOr => B(self.bits(r).or(self.bits(r))),
                Op::Shl => B(self.bits(r).shl(r.word())),
                Op::Shr => B(self.bits(r).shr(r.word())),
                Op::Threefry => {
                    let [a, b, c, d] = std::array::from_fn(|_| self.bits(r));
                    let [first, second] = R::Bits::threefry([a, b], [c, d]);
                    self.values.push(B(first));
                    B(second)
                }
                Op::Fold => {
                    self.fold(r)?;
                    continue;
                }
            };
            self.values.push(value);
        }
        Some(())
    }

    fn fold(&mut self, read: &mut WordReader<'_>) -> Option<()> {
        let [rows, columns] = [read.len(), read.len()];
        let numbers: Vec<f64> = (0..rows * columns).map(|_| read.double()).collect();
        let mut state: Vec<R> = read.list(WordReader::len).into_iter().map(|at| self.values[at].number()).collect();
        let [len, made] = [read.len(), read.len()];
        let body = read.take(len);
        let (body, next) = body.split_at_checked(len.checked_sub(state.len())?)?;
        let base = self.values.len();
        let mut sound = true;
        let mut step = |state: &mut [R], row: &[R]| {
            self.values.truncate(base);
            self.values.extend(state.iter().chain(row).map(|number| Value::Number(*number)));
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
        self.values.resize(base + made, Value::Number(R::lit(0.0)));
        self.values.extend(state.into_iter().map(Value::Number));
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
