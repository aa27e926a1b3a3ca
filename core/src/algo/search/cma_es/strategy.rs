//! A generation of CMA-ES, in f64 and without an environment: it asks for candidates, and their costs change the
//! search.

use nalgebra::{DMatrix, SymmetricEigen};

use crate::math::order::{by_key, total};

/// Constants that follow from the numbers of parameters and candidates.
///
/// arXiv:1604.00772, table 1 and eqs. 49 to 58, in the variants of pycma 4.5.
#[derive(Clone, Debug, PartialEq)]
pub struct Constants {
    /// P, the number of parameters.
    pub parameters: usize,
    /// Weights w of the candidates in order of their costs: the first μ are positive with sum 1, and the others are not
    /// positive.
    pub weights: Vec<f64>,
    /// μ, the number of positive weights.
    pub mu: usize,
    /// μ_w, the effective number of positive weights.
    pub mueff: f64,
    /// c_c, the rate of the covariance's path.
    pub cc: f64,
    /// c_1, the rate of the update by that path.
    pub c1: f64,
    /// c_μ, the rate of the update by candidates.
    pub cmu: f64,
    /// c_σ, the rate of σ's path.
    pub cs: f64,
    /// d_σ, the damping of σ.
    pub damps: f64,
    /// E ‖N(0, I)‖, the expected length of a standard normal vector.
    pub chi: f64,
    /// True if only variances are kept.
    pub separable: bool,
}

impl Constants {
    /// The constants for P parameters and λ candidates.
    #[must_use]
    pub fn new(parameters: usize, lambda: usize, separable: bool) -> Constants {
        let (n, l) = (parameters as f64, lambda as f64);
        let mu = lambda / 2;
        let mut weights: Vec<f64> = (1..=lambda).map(|i| ((l + 1.0) / 2.0).ln() - (i as f64).ln()).collect();
        let effective = |weights: &[f64]| {
            weights.iter().sum::<f64>().powi(2) / weights.iter().map(|w| w * w).sum::<f64>().max(f64::MIN_POSITIVE)
        };
        let (mueff, mueff_minus) = (effective(&weights[..mu]), effective(&weights[mu..]));
        let rank_mu = 0.25 + mueff + 1.0 / mueff - 2.0;
        let (cc, c1, cmu) = match separable {
            false => {
                let c1 = (l / 6.0).min(1.0) * 2.0 / ((n + 1.3).powi(2) + mueff);
                let cmu = 2.0 * rank_mu / ((n + 2.0).powi(2) + mueff);
                ((4.0 + mueff / n) / (n + 4.0 + 2.0 * mueff / n), c1, cmu.min(1.0 - c1))
            }
            true => {
                let c1 = 1.0 / (n + 2.0 * n.sqrt() + mueff / n);
                let cmu = rank_mu / (n + 4.0 * n.sqrt() + mueff / 2.0);
                ((1.0 + 1.0 / n + mueff / n) / (n.sqrt() + 1.0 / n + 2.0 * mueff / n), c1, cmu.min(1.0 - c1))
            }
        };
        let (positive, negative) = (weights[..mu].iter().sum::<f64>(), -weights[mu..].iter().sum::<f64>());
        // The sum of the negative weights allows no decay (eq. 50), is no faster than the positive ones (51), and keeps
        // the matrix positive (52).
        let limits = [1.0 + c1 / cmu, 1.0 + 2.0 * mueff_minus / (mueff + 2.0), (1.0 - c1 - cmu) / (n * cmu)];
        let sum = limits.into_iter().fold(f64::INFINITY, f64::min).max(0.0);
        let (first, last) = weights.split_at_mut(mu);
        first.iter_mut().for_each(|w| *w /= positive);
        last.iter_mut().for_each(|w| *w *= sum / negative);
        let cs = ((mueff + 2.0) / (n + mueff + 3.0)).min(0.5);
        Constants {
            parameters,
            weights,
            mu,
            mueff,
            cc,
            c1,
            cmu,
            cs,
            damps: damping(n, mueff) + cs,
            chi: expected_norm(parameters),
            separable,
        }
    }
}

/// The damping of σ minus c_σ, as in pycma: 1 unless there are many more candidates than parameters.
fn damping(n: f64, mueff: f64) -> f64 {
    let inner = (3.0 * (1.0 - 0.5_f64.powf(n / 9.0))).max(1.0);
    1.0 + 2.0 * (inner * ((mueff - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0)
}

/// E ‖N(0, I)‖ = √2 Γ((n + 1)/2) / Γ(n/2) in n dimensions, by the recursion of that ratio of Γ.
fn expected_norm(n: usize) -> f64 {
    let first = 1.0 / std::f64::consts::PI.sqrt();
    let ratio = (1..n).fold(first, |ratio, k| k as f64 / 2.0 / ratio);
    std::f64::consts::SQRT_2 * ratio
}

/// The covariance C, symmetric and positive, or its diagonal.
#[derive(Clone, Debug, PartialEq)]
pub enum Covariance {
    /// All P × P numbers, row by row.
    Full(Vec<f64>),
    /// The P variances.
    Diagonal(Vec<f64>),
}

/// The axes of a covariance, and the deviations along them.
#[derive(Clone, Debug)]
pub enum Axes {
    /// Eigenvectors B as columns, and the deviations D.
    Full(DMatrix<f64>, Vec<f64>),
    /// The deviations D along the parameters' own axes.
    Diagonal(Vec<f64>),
}

/// The least share of the largest eigenvalue that an eigenvalue may have, so that rounding makes none negative.
const LEAST_SHARE: f64 = 1e-20;

impl Covariance {
    /// Makes a covariance of these numbers.
    #[must_use]
    pub fn of(numbers: Vec<f64>, separable: bool) -> Covariance {
        if separable { Covariance::Diagonal(numbers) } else { Covariance::Full(numbers) }
    }

    /// The numbers, row by row.
    #[must_use]
    pub fn numbers(&self) -> &[f64] {
        match self {
            Covariance::Full(numbers) | Covariance::Diagonal(numbers) => numbers,
        }
    }

    /// The axes: C = B D² Bᵀ.
    #[must_use]
    pub fn frame(&self) -> Axes {
        let roots = |values: &[f64]| {
            let least = values.iter().fold(f64::MIN_POSITIVE, |a, b| a.max(*b)) * LEAST_SHARE;
            values.iter().map(|x| x.max(least).sqrt()).collect::<Vec<_>>()
        };
        match self {
            Covariance::Diagonal(variances) => Axes::Diagonal(roots(variances)),
            Covariance::Full(numbers) => {
                let n = numbers.len().isqrt();
                let SymmetricEigen { eigenvectors, eigenvalues } =
                    SymmetricEigen::new(DMatrix::from_row_slice(n, n, numbers));
                Axes::Full(eigenvectors, roots(eigenvalues.as_slice()))
            }
        }
    }
}

impl Axes {
    /// Computes B D z.
    fn stretched(&self, z: &[f64]) -> Vec<f64> {
        match self {
            Axes::Diagonal(d) => z.iter().zip(d).map(|(z, d)| z * d).collect(),
            Axes::Full(b, d) => {
                let along: Vec<f64> = z.iter().zip(d).map(|(z, d)| z * d).collect();
                columns(b, &along)
            }
        }
    }

    /// Computes C^−½ y = B D⁻¹ Bᵀ y.
    fn whitened(&self, y: &[f64]) -> Vec<f64> {
        match self {
            Axes::Diagonal(d) => y.iter().zip(d).map(|(y, d)| y / d).collect(),
            Axes::Full(b, d) => {
                let along = |(i, d): (usize, &f64)| b.column(i).iter().zip(y).map(|(b, y)| b * y).sum::<f64>() / d;
                columns(b, &d.iter().enumerate().map(along).collect::<Vec<_>>())
            }
        }
    }
}

/// Computes B x.
fn columns(b: &DMatrix<f64>, x: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; x.len()];
    for (column, x) in b.column_iter().zip(x) {
        sum.iter_mut().zip(column.iter()).for_each(|(sum, b)| *sum += b * x);
    }
    sum
}

/// The state of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Strategy {
    /// The mean m, `[P]`.
    pub mean: Vec<f64>,
    /// The step size σ.
    pub sigma: f64,
    /// The covariance C.
    pub covariance: Covariance,
    /// The path p_c of the covariance, `[P]`.
    pub path_c: Vec<f64>,
    /// The path p_σ of the step size, `[P]`.
    pub path_sigma: Vec<f64>,
    /// The number of generations so far.
    pub generation: u64,
}

impl Strategy {
    /// Begins a search. As in pycma, C is not quite the identity, so that its eigenvectors are the parameters' own
    /// axes.
    #[must_use]
    pub fn new(mean: Vec<f64>, sigma: f64, constants: &Constants) -> Strategy {
        let n = mean.len();
        let variances: Vec<f64> = (0..n).map(|i| (1e-4 * i as f64 / n as f64).exp()).collect();
        let covariance = match constants.separable {
            true => Covariance::Diagonal(variances),
            false => {
                Covariance::Full((0..n * n).map(|at| if at % (n + 1) == 0 { variances[at / n] } else { 0.0 }).collect())
            }
        };
        Strategy { mean, sigma, covariance, path_c: vec![0.0; n], path_sigma: vec![0.0; n], generation: 0 }
    }

    /// Candidates m + σ B D z, row by row, of standard normal numbers z; `frame` is the axes of C.
    #[must_use]
    pub fn ask(&self, frame: &Axes, z: &[f64]) -> Vec<f64> {
        let n = self.mean.len();
        let one = |z: &[f64]| {
            let steps = frame.stretched(z);
            steps.into_iter().zip(&self.mean).map(|(y, m)| m + self.sigma * y).collect::<Vec<_>>()
        };
        z.chunks(n).flat_map(one).collect()
    }

    /// The search after a generation of these candidates, of which lower costs are better; none if a number of it is
    /// not finite.
    #[must_use]
    pub fn tell(&self, constants: &Constants, frame: &Axes, candidates: &[f64], costs: &[f64]) -> Option<Strategy> {
        let Constants { weights, mu, mueff, cc, c1, cmu, cs, damps, chi, .. } = constants;
        let n = self.mean.len();
        let dimension = n as f64;
        let order: Vec<usize> = by_key((0..costs.len()).collect(), &|i| total(costs[*i]));
        let steps: Vec<Vec<f64>> = order
            .iter()
            .map(|i| candidates[i * n..(i + 1) * n].iter().zip(&self.mean).map(|(x, m)| (x - m) / self.sigma).collect())
            .collect();
        let mut step = vec![0.0; n];
        for (w, y) in weights.iter().zip(&steps).take(*mu) {
            step.iter_mut().zip(y).for_each(|(step, y)| *step += w * y);
        }
        let mean = self.mean.iter().zip(&step).map(|(m, y)| m + self.sigma * y).collect::<Vec<_>>();
        // Eq. 43.
        let gain = (cs * (2.0 - cs) * mueff).sqrt();
        let white = frame.whitened(&step);
        let path_sigma: Vec<f64> = self.path_sigma.iter().zip(&white).map(|(p, y)| (1.0 - cs) * p + gain * y).collect();
        let square = path_sigma.iter().map(|p| p * p).sum::<f64>();
        let generation = self.generation + 1;
        let seen = 1.0 - (1.0 - cs).powf(2.0 * generation as f64);
        let short = if square / dimension / seen < 2.0 + 4.0 / (dimension + 1.0) { 1.0 } else { 0.0 };
        // Eq. 45.
        let gain = short * (cc * (2.0 - cc) * mueff).sqrt();
        let path_c: Vec<f64> = self.path_c.iter().zip(&step).map(|(p, y)| (1.0 - cc) * p + gain * y).collect();
        // Eqs. 46 and 47.
        let rates: Vec<f64> = weights
            .iter()
            .zip(&steps)
            .map(|(w, y)| match *w < 0.0 {
                true => w * dimension / frame.whitened(y).iter().map(|z| z * z).sum::<f64>().max(f64::MIN_POSITIVE),
                false => *w,
            })
            .collect();
        let c1_of_old = c1 * (1.0 - (1.0 - short) * cc * (2.0 - cc));
        let decay = 1.0 - c1_of_old - cmu * weights.iter().sum::<f64>();
        let entry = |at: usize, [i, j]: [usize; 2]| {
            let by_rank: f64 = rates.iter().zip(&steps).map(|(w, y)| w * y[i] * y[j]).sum();
            decay * self.covariance.numbers()[at] + c1 * path_c[i] * path_c[j] + cmu * by_rank
        };
        let covariance = match &self.covariance {
            Covariance::Diagonal(_) => Covariance::Diagonal((0..n).map(|i| entry(i, [i, i])).collect()),
            Covariance::Full(_) => {
                let mut numbers = vec![0.0; n * n];
                for i in 0..n {
                    for j in 0..=i {
                        let x = entry(i * n + j, [i, j]);
                        (numbers[i * n + j], numbers[j * n + i]) = (x, x);
                    }
                }
                Covariance::Full(numbers)
            }
        };
        // Eq. 44.
        let sigma = self.sigma * (cs / damps * (square.sqrt() / chi - 1.0)).min(1.0).exp();
        let new = Strategy { mean, sigma, covariance, path_c, path_sigma, generation };
        let numbers = [&new.mean[..], &[sigma], new.covariance.numbers(), &new.path_c, &new.path_sigma].concat();
        // The state is kept in f32.
        (sigma > 0.0 && numbers.iter().all(|x| x.abs() < f64::from(f32::MAX))).then_some(new)
    }
}
