//! Random numbers of traced programs: keys per stacked seed, counted by row.

use crate::Tensor;
use crate::rng::FOLD_COUNTER;

/// A new key from a key and a number, elementwise: [`crate::rng::fold_in`] of traced values.
#[track_caller]
pub fn fold_in(key: [Tensor; 2], data: Tensor) -> [Tensor; 2] {
    let counter = [data, Tensor::constant_u32(FOLD_COUNTER)];
    [Tensor::threefry(key, counter, 0), Tensor::threefry(key, counter, 1)]
}

/// Random numbers for each row: block `b` of row `n` is `threefry2x32(key, [n, b])`.
#[derive(Clone, Copy, Debug)]
pub struct RowNoise {
    /// Each `[S, 1, 1]`.
    key: [Tensor; 2],
    /// The row's number, `[1, N, 1]`.
    row: Tensor,
}

impl RowNoise {
    /// Noise of `rows` rows under one key per seed, each word `[S, 1]`.
    #[track_caller]
    pub fn new(key: [Tensor; 2], rows: usize) -> RowNoise {
        RowNoise { key: key.map(|k| k.unsqueeze(2)), row: Tensor::iota(&[1, rows, 1], 1) }
    }

    /// Both words of `blocks` blocks, each `[S, N, blocks]`.
    #[track_caller]
    pub fn bits(&self, blocks: usize) -> [Tensor; 2] {
        let counter = [self.row, Tensor::iota(&[1, 1, blocks], 2)];
        [Tensor::threefry(self.key, counter, 0), Tensor::threefry(self.key, counter, 1)]
    }

    /// A uniform number in [0, 1) per row, `[S, N, 1]`.
    #[track_caller]
    pub fn uniform(&self) -> Tensor {
        uniform(self.bits(1)[0])
    }

    /// Uniform numbers in [0, 1), `[S, N, count]`: the first words of all blocks, then their second words.
    #[track_caller]
    pub fn uniforms(&self, count: usize) -> Tensor {
        let [first, second] = self.bits(count.div_ceil(2));
        match count / 2 {
            0 => uniform(first),
            pairs => Tensor::concat(&[uniform(first), uniform(second.slice(2, 0, pairs))], 2),
        }
    }

    /// Noise of the same rows that has nothing to do with this one, for a second thing that is drawn in the same step.
    #[track_caller]
    pub fn apart(&self, stream: u32) -> RowNoise {
        RowNoise { key: fold_in(self.key, Tensor::constant_u32(stream)), row: self.row }
    }

    /// Standard normal numbers, `[S, N, count]`, by Box and Muller: the cosines of all pairs, then their sines.
    #[track_caller]
    pub fn normal(&self, count: usize) -> Tensor {
        let [first, second] = self.bits(count.div_ceil(2));
        let radius = ((1.0 - uniform(first)).log() * -2.0).sqrt();
        let angle = uniform(second) * std::f64::consts::TAU;
        let (x, y) = (radius * angle.cos(), radius * angle.sin());
        match count / 2 {
            0 => x,
            pairs => Tensor::concat(&[x, y.slice(2, 0, pairs)], 2),
        }
    }
}

/// A uniform number in [0, 1) from random words: their top 24 bits, exact in f32.
#[track_caller]
fn uniform(bits: Tensor) -> Tensor {
    bits.shr(Tensor::constant_u32(8)).to_f32() * (1.0 / 16_777_216.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{DType, Device, Program, rng};

    #[test]
    fn folded_keys_and_uniforms_are_those_of_the_host() {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let key = cx.input("key", &[2, 2], DType::U32);
            let key = fold_in([key.slice(1, 0, 1), key.slice(1, 1, 2)], Tensor::constant_u32(9));
            cx.output("uniform", RowNoise::new(key, 3).uniform());
        })
        .unwrap();
        let keys = device.array_u32(&[2, 2], &[1, 2, 3, 4]).unwrap();
        let out = program.run(&State::new(), &[("key", &keys)], &[]).unwrap();
        let got = pollster::block_on(device.read_f32(out.get("uniform").unwrap())).unwrap();
        let expected: Vec<f32> = [[1, 2], [3, 4]]
            .iter()
            .flat_map(|seed| (0..3).map(|n| rng::uniform(rng::threefry2x32(rng::fold_in(*seed, 9), [n, 0])[0])))
            .collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn normals_have_the_moments_of_the_standard_normal_and_are_uncorrelated() {
        let (rows, count) = (20_000, 5);
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let key = cx.input("key", &[1, 2], DType::U32);
            cx.output("z", RowNoise::new([key.slice(1, 0, 1), key.slice(1, 1, 2)], rows).normal(count));
        })
        .unwrap();
        let key = device.array_u32(&[1, 2], &[5, 6]).unwrap();
        let out = program.run(&State::new(), &[("key", &key)], &[]).unwrap();
        let z = pollster::block_on(device.read(out.get("z").unwrap())).unwrap();
        let moment = |f: &dyn Fn(&[f64]) -> f64| z.chunks(count).map(f).sum::<f64>() / rows as f64;
        for i in 0..count {
            // Four standard errors: 4/√n, 4√2/√n, 4√15/√n.
            assert!(moment(&|r| r[i]).abs() < 0.029);
            assert!((moment(&|r| r[i] * r[i]) - 1.0).abs() < 0.04);
            assert!(moment(&|r| r[i].powi(3)).abs() < 0.11);
            for j in 0..i {
                assert!(moment(&|r| r[i] * r[j]).abs() < 0.029, "{i} {j}");
            }
        }
    }
}
