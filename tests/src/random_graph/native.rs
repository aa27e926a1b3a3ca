//! Sub-graphs with native twins for `call` steps.

use std::sync::Arc;

use quickstudy_core::Tensor;
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::program::NativeCall;
use quickstudy_core::tensor::call;

/// A function of the first and last columns of two values with the same rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twin {
    /// One result of two columns.
    Spring,
    /// Two results: of three columns and of one.
    Limit,
}

impl Twin {
    /// Both.
    pub const ALL: [Twin; 2] = [Twin::Spring, Twin::Limit];

    /// Columns of each result.
    pub fn columns(self) -> &'static [usize] {
        match self {
            Twin::Spring => &[2],
            Twin::Limit => &[3, 1],
        }
    }

    /// Number of results.
    pub fn results(self) -> usize {
        self.columns().len()
    }

    /// Trace it. Columns of `a` and `b` may differ in number, their rows not.
    pub fn call(self, a: Tensor, b: Tensor) -> Vec<Tensor> {
        call("twin", &[a, b], Arc::new(self), |x| {
            let column = |t: Tensor, i: usize| t.slice(t.rank().saturating_sub(1), i, i + 1);
            let last = |t: Tensor| column(t, t.size(t.rank().saturating_sub(1)) - 1);
            let found = self.columns_of(column(x[0], 0), last(x[0]), column(x[1], 0), last(x[1]));
            let mut found = found.into_iter();
            let width =
                |n: &usize| Tensor::concat(&found.by_ref().take(*n).collect::<Vec<_>>(), x[0].rank().saturating_sub(1));
            self.columns().iter().map(width).collect()
        })
    }

    fn columns_of(self, a0: Tensor, a1: Tensor, b0: Tensor, b1: Tensor) -> Vec<Tensor> {
        match self {
            Twin::Spring => vec![a0 * 0.5 + b1, (a1 * b0) * -0.25],
            Twin::Limit => vec![a0.max(b0), a1.min(b1), a0 + a1 * 0.125, (b0 * b0 + 1.0).recip()],
        }
    }

    /// Computes on numbers what [`columns_of`](Self::columns_of) does on tensors, operation for operation.
    fn lane(self, a0: f32, a1: f32, b0: f32, b1: f32) -> [f32; 4] {
        match self {
            Twin::Spring => [a0 * 0.5 + b1, (a1 * b0) * -0.25, 0.0, 0.0],
            Twin::Limit => {
                [if a0 < b0 { b0 } else { a0 }, if b1 < a1 { b1 } else { a1 }, a0 + a1 * 0.125, 1.0 / (b0 * b0 + 1.0)]
            }
        }
    }
}

impl NativeCall for Twin {
    fn run(&self, _isa: Isa, lanes: usize, inputs: &[&[f32]], outputs: &mut [&mut [f32]]) {
        let (a, b) = (inputs[0], inputs[1]);
        for lane in 0..lanes {
            let last = |x: &[f32]| x[x.len() - lanes + lane];
            let found = self.lane(a[lane], last(a), b[lane], last(b));
            let mut column = found.iter();
            for out in outputs.iter_mut() {
                for m in 0..out.len() / lanes {
                    out[m * lanes + lane] = *column.next().unwrap_or(&0.0);
                }
            }
        }
    }
}
