//! Running mean and variance.

use crate::Tensor;
use crate::learn::by_seed;

/// The mean and variance of all numbers seen so far, per stacked seed and column.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// The mean, `[S, D]`, 0 at first.
    pub mean: Tensor,
    /// The biased variance, `[S, D]`, 1 at first.
    pub var: Tensor,
    /// The number of rows seen, `[S, 1]`, 0 at first.
    pub count: Tensor,
}

crate::tree!(Moments: mean, var, count);

/// The number added to the variance before its root is taken (as in Stable-Baselines3's `VecNormalize`).
const EPS: f64 = 1e-8;

impl Moments {
    /// Merges the rows of a batch `[S, B, D]`.
    ///
    /// With w = n_b / (n + n_b) and d = μ_b − μ: μ ← μ + w d, σ² ← σ² + w (σ_b² − σ²) + w (1 − w) d².
    /// The first batch replaces the initial values. Chan, Golub and LeVeque 1979, eq. 2.1 in terms of variances.
    #[track_caller]
    pub fn merge(&self, batch: Tensor) -> Moments {
        let Moments { mean, var, count } = Moments::of_rows(batch);
        self.merge_moments(mean, var, count)
    }

    /// The moments of the rows of a batch `[S, B, D]`.
    #[track_caller]
    fn of_rows(batch: Tensor) -> Moments {
        let n = batch.size(1) as f64;
        let mean = batch.sum_keep(1) * (1.0 / n);
        let var = (batch - mean).square().sum_keep(1) * (1.0 / n);
        let columns = [batch.size(0), batch.size(2)];
        Moments { mean: mean.reshape(&columns), var: var.reshape(&columns), count: Tensor::full(&[columns[0], 1], n) }
    }

    /// Merges the rows of a batch that are valid: `valid`, u32 `[S, B, 1]`, is not 0 there. At least one row must be.
    #[track_caller]
    pub fn merge_valid(&self, batch: Tensor, valid: Tensor) -> Moments {
        let Moments { mean, var, count } = Moments::of_valid(batch, valid);
        self.merge_moments(mean, var, count)
    }

    /// The moments of the rows of a batch that are valid.
    #[track_caller]
    fn of_valid(batch: Tensor, valid: Tensor) -> Moments {
        let columns = [batch.size(0), batch.size(2)];
        let rows = valid.to_f32().sum_keep(1);
        let mean = |x: Tensor| valid.select(x, Tensor::constant_f32(0.0)).sum_keep(1) / rows;
        let average = mean(batch);
        let var = mean((batch - average).square());
        let count = rows.reshape(&[columns[0], 1]);
        Moments { mean: average.reshape(&columns), var: var.reshape(&columns), count }
    }

    /// The moments of steps `[T, S, N, D]`: of all of them, or of those where `valid`, u32 `[T, S, N, 1]`, is not 0.
    #[track_caller]
    pub fn of_steps(steps: Tensor, valid: Option<Tensor>) -> Moments {
        match valid {
            None => Moments::of_rows(by_seed(steps)),
            Some(valid) => Moments::of_valid(by_seed(steps), by_seed(valid)),
        }
    }

    /// Merges rows as [`merge`](Moments::merge) does, given their mean and biased variance,
    /// `[S, D]`, and their number, `[S, 1]` or `[]`.
    #[track_caller]
    pub fn merge_moments(&self, mean: Tensor, var: Tensor, rows: Tensor) -> Moments {
        let count = self.count + rows;
        let w = rows / count;
        let d = mean - self.mean;
        Moments { mean: self.mean + w * d, var: self.var + w * (var - self.var) + w * (1.0 - w) * d.square(), count }
    }

    /// The deviation σ of a variance, by which [`standardise`](Self::standardise) divides.
    pub fn deviation(variance: f32) -> f32 {
        (variance + EPS as f32).sqrt()
    }

    /// Standardises numbers to (x − μ)/σ, limited to ±`limit`: `[S, B, D]` → `[S, B, D]`.
    #[track_caller]
    pub fn standardise(&self, x: Tensor, limit: f64) -> Tensor {
        let scale = (self.var + EPS).sqrt().recip();
        ((x - self.mean.unsqueeze(1)) * scale.unsqueeze(1)).clamp(-limit, limit)
    }

    /// Scales numbers to x/σ, limited to ±`limit`; rewards keep their sign and their zero.
    #[track_caller]
    pub fn scale(&self, x: Tensor, limit: f64) -> Tensor {
        (x * (self.var + EPS).sqrt().recip().unsqueeze(1)).clamp(-limit, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{DType, Device, Program};

    #[test]
    fn rows_that_do_not_count_change_no_moments() {
        let device = Device::reference();
        let mut program = Program::new(&device, |cx| {
            let [mean, var] = [0.5, 2.0].map(|x| Tensor::full(&[1, 1], x));
            let moments = Moments { mean, var, count: Tensor::full(&[1, 1], 3.0) };
            let x = |rows: &[f64]| Tensor::literal_f32(rows).reshape(&[1, rows.len(), 1]);
            let valid = Tensor::literal_u32(&[1, 0, 1, 0]).reshape(&[1, 4, 1]);
            let part = moments.merge_valid(x(&[1.0, 1e9, 4.0, -7.0]), valid);
            let alone = moments.merge(x(&[1.0, 4.0]));
            for (name, of) in [("part", part), ("alone", alone)] {
                cx.output(name, Tensor::concat(&[of.mean, of.var, of.count], 1));
            }
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let [part, alone] =
            ["part", "alone"].map(|name| pollster::block_on(device.read(out.get(name).unwrap())).unwrap());
        assert!(part.iter().zip(&alone).all(|(a, b)| (a - b).abs() < 1e-12), "{part:?} {alone:?}");
    }

    #[test]
    fn merged_batches_have_the_moments_of_all_rows() {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let moments = Moments {
                mean: cx.state("mean", &[1, 2], DType::F32),
                var: cx.state("var", &[1, 2], DType::F32),
                count: cx.state("count", &[1, 1], DType::F32),
            };
            let x = cx.input("x", &[1, 3, 2], DType::F32);
            let next = moments.merge(x);
            cx.update("mean", next.mean);
            cx.update("var", next.var);
            cx.update("count", next.count);
            cx.output("standard", next.standardise(x, 1.25));
        })
        .unwrap();
        let mut state = State::new();
        state.insert("mean", device.zeros(&[1, 2], DType::F32).unwrap());
        state.insert("var", device.array(&[1, 2], &[1.0, 1.0]).unwrap());
        state.insert("count", device.zeros(&[1, 1], DType::F32).unwrap());
        let rows: Vec<[f64; 2]> = (0..12).map(|i| [f64::from(i * i), 5.0 - f64::from(i)]).collect();
        let mut standard = Vec::new();
        for batch in rows.chunks(3) {
            let x = device.array(&[1, 3, 2], batch.as_flattened()).unwrap();
            let out = program.run(&state, &[("x", &x)], &[]).unwrap();
            standard = pollster::block_on(device.read(out.get("standard").unwrap())).unwrap();
        }
        let read = |name| pollster::block_on(device.read(state.get(name).unwrap())).unwrap();
        for d in 0..2 {
            let mean = rows.iter().map(|r| r[d]).sum::<f64>() / 12.0;
            let var = rows.iter().map(|r| (r[d] - mean).powi(2)).sum::<f64>() / 12.0;
            assert!((read("mean")[d] - mean).abs() < 1e-4 && (read("var")[d] / var - 1.0).abs() < 1e-5);
            let last = ((rows[11][d] - mean) / var.sqrt()).clamp(-1.25, 1.25);
            assert!((standard[4 + d] - last).abs() < 1e-5, "{standard:?} {last}");
        }
        assert_eq!(read("count"), [12.0]);
    }
}
