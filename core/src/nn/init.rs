//! Initial parameters, drawn on the host: once per run, in f64, from the seed alone.

use crate::rng::Threefry;

/// How a slice of θ starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// One number everywhere.
    Constant(f64),
    /// A matrix with orthonormal rows or columns (whichever are fewer), times a gain.
    ///
    /// Saxe, McClelland and Ganguli 2014, arXiv:1312.6120.
    Orthogonal {
        /// Factor; √2 for hidden layers by custom.
        gain: f64,
    },
    /// A matrix of equally many columns side by side for each of several blocks, every block
    /// [`Orthogonal`](Init::Orthogonal).
    OrthogonalBlocks {
        /// Factor.
        gain: f64,
        /// Number of blocks; the columns must be a multiple of it.
        blocks: usize,
    },
    /// Uniform in ±bound.
    Uniform {
        /// Largest absolute value.
        bound: f64,
    },
}

impl Init {
    /// Uniform with the variance 2/(inputs + outputs) that keeps signals and gradients of a linear layer about as large
    /// as they were.
    ///
    /// Glorot and Bengio 2010, "Understanding the difficulty of training deep feedforward neural networks", eq. 16.
    pub fn glorot_uniform(inputs: usize, outputs: usize) -> Init {
        Init::Uniform { bound: (6.0 / (inputs + outputs).max(1) as f64).sqrt() }
    }

    /// Values of a slice of `shape`; a matrix is `[inputs, outputs]`, row-major.
    pub fn values(self, shape: &[usize], rng: &mut Threefry) -> Vec<f64> {
        let len = shape.iter().product();
        match self {
            Init::Constant(value) => vec![value; len],
            Init::Uniform { bound } => (0..len).map(|_| bound * (2.0 * rng.uniform() - 1.0)).collect(),
            Init::Orthogonal { gain } => {
                let columns = shape.last().copied().unwrap_or(1);
                let mut matrix = orthogonal(len / columns.max(1), columns, rng);
                matrix.iter_mut().for_each(|x| *x *= gain);
                matrix
            }
            Init::OrthogonalBlocks { gain, blocks } => {
                let columns = shape.last().copied().unwrap_or(1);
                let (rows, width) = (len / columns.max(1), columns / blocks.max(1));
                let drawn: Vec<Vec<f64>> = (0..blocks).map(|_| orthogonal(rows, width, rng)).collect();
                let mut matrix = Vec::with_capacity(len);
                for row in 0..rows {
                    let parts = drawn.iter().flat_map(|b| &b[row * width..(row + 1) * width]);
                    matrix.extend(parts.map(|x| gain * x));
                }
                matrix
            }
        }
    }
}

/// A `[rows, columns]` matrix, row-major, uniformly distributed among those with orthonormal columns (or rows, if they
/// are fewer): the Gram–Schmidt basis of a Gaussian matrix.
pub fn orthogonal(rows: usize, columns: usize, rng: &mut Threefry) -> Vec<f64> {
    let (long, short) = (rows.max(columns), rows.min(columns));
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(short);
    while basis.len() < short {
        let mut v: Vec<f64> = (0..long).map(|_| rng.normal()).collect();
        // Twice: one pass of Gram–Schmidt loses orthogonality where the vector is nearly in the span already.
        for _ in 0..2 {
            for b in &basis {
                let dot: f64 = v.iter().zip(b).map(|(x, y)| x * y).sum();
                v.iter_mut().zip(b).for_each(|(x, y)| *x -= dot * y);
            }
        }
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm > 1e-8 {
            v.iter_mut().for_each(|x| *x /= norm);
            basis.push(v);
        }
    }
    let at = |r: usize, c: usize| if rows >= columns { basis[c][r] } else { basis[r][c] };
    (0..rows * columns).map(|i| at(i / columns, i % columns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shorter_side_is_orthonormal() {
        for (rows, columns) in [(4, 64), (64, 4), (64, 64), (1, 5), (5, 1), (1, 1)] {
            let m = orthogonal(rows, columns, &mut Threefry::new([rows as u32, columns as u32]));
            let at = |r: usize, c: usize| if rows >= columns { m[r * columns + c] } else { m[c * columns + r] };
            let (long, short) = (rows.max(columns), rows.min(columns));
            for i in 0..short {
                for j in 0..short {
                    let dot: f64 = (0..long).map(|k| at(k, i) * at(k, j)).sum();
                    let expected = f64::from(u8::from(i == j));
                    assert!((dot - expected).abs() < 1e-12, "[{rows}, {columns}]: {i}·{j} = {dot}");
                }
            }
        }
    }

    #[test]
    fn orthogonal_entries_have_the_variance_of_a_random_rotation() {
        // Of a uniformly distributed orthogonal n × n matrix every entry has mean 0 and variance 1/n.
        let (mut mean, mut square, runs) = (0.0, 0.0, 400);
        for seed in 0..runs {
            let m = orthogonal(8, 8, &mut Threefry::new([seed, 1]));
            mean += m[0] / f64::from(runs);
            square += m[63] * m[63] / f64::from(runs);
        }
        assert!(mean.abs() < 4.0 * (1.0 / 8.0 / 400.0_f64).sqrt(), "{mean}");
        assert!((square - 0.125).abs() < 0.035, "{square}");
    }

    #[test]
    fn blocks_are_orthogonal_each_by_itself() {
        let m = Init::OrthogonalBlocks { gain: 2.0, blocks: 3 }.values(&[4, 12], &mut Threefry::new([3, 4]));
        for block in 0..3 {
            let at = |r: usize, c: usize| m[r * 12 + block * 4 + c];
            for i in 0..4 {
                for j in 0..4 {
                    let dot: f64 = (0..4).map(|k| at(k, i) * at(k, j)).sum();
                    let expected = 4.0 * f64::from(u8::from(i == j));
                    assert!((dot - expected).abs() < 1e-12, "block {block}: {i}·{j} = {dot}");
                }
            }
        }
        assert!((m[0] - m[4]).abs() > 1e-6, "blocks are drawn one after the other: {m:?}");
    }

    #[test]
    fn glorot_bounds_are_those_of_both_sides() {
        assert_eq!(Init::glorot_uniform(2, 4), Init::Uniform { bound: 1.0 });
        assert_eq!(Init::glorot_uniform(8, 16), Init::Uniform { bound: 0.5 });
    }

    #[test]
    fn constant_and_uniform_fill_the_slice() {
        let mut rng = Threefry::new([1, 2]);
        assert_eq!(Init::Constant(-0.5).values(&[2, 3], &mut rng), [-0.5; 6]);
        let values = Init::Uniform { bound: 0.1 }.values(&[1000], &mut rng);
        assert!(values.iter().all(|x| x.abs() <= 0.1));
        assert!(values.iter().any(|x| *x > 0.09) && values.iter().any(|x| *x < -0.09));
    }
}
