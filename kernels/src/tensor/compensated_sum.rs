//! Sums that keep what single precision loses.

use super::{Tensor, scan_tree};

/// A sum of f32 numbers, rounded once, and what it lacks: some 48 bits in all.
///
/// s = a + x, then t = s − a and e = (a − (s − t)) + (x − t): a + x = s + e exactly, whichever is larger (Knuth, The
/// Art of Computer Programming 2, theorem 4.2.2 B). With what was lacking before, e is then divided between both parts
/// (Dekker 1971, doi:10.1007/BF01397083). A compiler of shaders that reorders additions, such as Metal's, may leave
/// nothing of the rest: the sum is then as precise as a plain one.
#[derive(Clone, Copy, Debug)]
pub struct CompensatedSum {
    /// The sum, rounded to f32.
    pub sum: Tensor,
    /// The difference of the exact sum to it, of the same shape.
    pub rest: Tensor,
}

crate::tree!(CompensatedSum: sum, rest);

impl CompensatedSum {
    /// An empty sum of this shape.
    #[must_use]
    pub fn zeros(shape: &[usize]) -> CompensatedSum {
        CompensatedSum::from(Tensor::zeros(shape))
    }

    /// Adds a number to each sum.
    #[must_use]
    #[track_caller]
    pub fn plus(self, x: Tensor) -> CompensatedSum {
        let CompensatedSum { sum: a, rest } = self;
        let plain = a + x;
        let of_x = plain - a;
        let lost = ((a - (plain - of_x)) + (x - of_x)) + rest;
        let sum = plain + lost;
        CompensatedSum { sum, rest: lost - (sum - plain) }
    }

    /// Adds up the rows of `x: [T, …]`, from the first to the last.
    #[must_use]
    #[track_caller]
    pub fn of_rows(x: Tensor) -> CompensatedSum {
        let shape = x.shape();
        let none = CompensatedSum::zeros(shape.get(1..).unwrap_or_default());
        scan_tree(x.size(0), &none, &x, |_, sum: CompensatedSum, x| (sum.plus(x), ())).0
    }

    /// The sums with other tensors in place of both of theirs, such as views of them.
    #[must_use]
    pub fn map(self, f: impl Fn(Tensor) -> Tensor) -> CompensatedSum {
        CompensatedSum { sum: f(self.sum), rest: f(self.rest) }
    }

    /// Both parts one behind the other, `[2, …]`, of which [`read`](CompensatedSum::read) makes whole numbers.
    #[must_use]
    #[track_caller]
    pub fn parts(self) -> Tensor {
        Tensor::concat(&[self.sum.unsqueeze(0), self.rest.unsqueeze(0)], 0)
    }

    /// The sums in double precision, from the numbers of all sums and, behind them, of all rests.
    #[must_use]
    pub fn read(parts: &[f64]) -> Vec<f64> {
        let (sums, rests) = parts.split_at(parts.len() / 2);
        sums.iter().zip(rests).map(|(sum, rest)| sum + rest).collect()
    }
}

/// Numbers that were not added up here: nothing is known to be missing.
impl From<Tensor> for CompensatedSum {
    fn from(sum: Tensor) -> CompensatedSum {
        CompensatedSum { sum, rest: Tensor::zeros(&sum.shape()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{DType, Device, Program};

    /// Sums of three rows of rewards, whose exact values f32 cannot hold on the way.
    #[test]
    fn sums_are_those_of_double_precision() {
        let n = 20_000;
        let of = |row: usize, i: usize| match row {
            0 => f64::from(if i == 0 { 2e7f32 } else { 1.0 }),
            1 => f64::from(0.1f32),
            _ => f64::from([1000.001f32, -1e9, 1e9][i % 3]),
        };
        let rewards: Vec<f64> = (0..n).flat_map(|i| (0..3).map(move |row| of(row, i))).collect();
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let sums = CompensatedSum::of_rows(cx.input("rewards", &[n, 3], DType::F32));
            cx.output("parts", sums.parts());
            cx.output("sum", sums.sum);
        })
        .unwrap();
        let rewards_there = device.array(&[n, 3], &rewards).unwrap();
        let out = program.run(&State::new(), &[("rewards", &rewards_there)], &[]).unwrap();
        let read = |name: &str| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
        let (got, rounded) = (CompensatedSum::read(&read("parts")), read("sum"));
        for row in 0..3 {
            let exact: f64 = (0..n).map(|i| of(row, i)).sum();
            assert!((got[row] - exact).abs() <= 1e-12 * exact.abs(), "{row}: {} for {exact}", got[row]);
            assert_eq!(rounded[row], f64::from(exact as f32), "{row}");
            let plain = (0..n).fold(0.0, |sum: f32, i| sum + of(row, i) as f32);
            assert!((f64::from(plain) - exact).abs() > 4e-6 * exact.abs(), "{row}: a plain sum would do");
        }
    }
}
