//! Stein's direction, in which particles move.

use std::ops::Range;

use crate::Tensor;
use crate::algo::search::order;
use crate::learn::Turn;

/// Squared distances between particles: `[S, n, P]` → `[S, n, n]`.
#[track_caller]
pub fn squared_distances(particles: Tensor) -> Tensor {
    let shape = particles.shape();
    let [s, n, _] = shape[..] else { return Tensor::poison() };
    (particles.unsqueeze(2) - particles.unsqueeze(1)).square().sum_keep(3).reshape(&[s, n, n])
}

/// h²: half of the median of all n² squared distances, zeros included, over ln(n + 1); 1 where that is 0, as with a
/// single particle. `[S, n, n]` → `[S, 1, 1]`.
#[track_caller]
pub fn bandwidth(distances: Tensor) -> Tensor {
    let (s, n) = (distances.size(0), distances.size(1));
    let one = Tensor::constant_f32(1.0);
    if n < 2 {
        return one.broadcast_to(&[s, 1, 1]);
    }
    // Each pair appears once.
    let row = |i: usize| distances.slice(1, i, i + 1).slice(2, i + 1, n).reshape(&[s, n - 1 - i]);
    let pairs = Tensor::concat(&(0..n - 1).map(row).collect::<Vec<_>>(), 1);
    let place = order(-pairs);
    // In order, all numbers are n zeros, and then each pair twice.
    let at = |k: usize| match k.checked_sub(n) {
        None => Tensor::zeros(&[s, 1]),
        Some(k) => {
            let this = place.eq(Tensor::constant_f32((k / 2) as f64));
            this.select(pairs, Tensor::constant_f32(0.0)).sum_keep(1)
        }
    };
    let median = (at((n * n - 1) / 2) + at(n * n / 2)) * 0.5;
    let square = median * (0.5 / (n as f64 + 1.0).ln());
    square.gt(Tensor::constant_f32(0.0)).select(square, one).reshape(&[s, 1, 1])
}

/// k(x_i, x_j) = exp(−‖x_i − x_j‖² / 2h²): `[S, n, n]` and h², `[S, 1, 1]` → `[S, n, n]`.
#[track_caller]
pub fn kernel(distances: Tensor, bandwidth: Tensor) -> Tensor {
    (-distances / (bandwidth * 2.0)).exp()
}

/// Σ_j k(x_j, x_i) (x_i − x_j) / h², the direction away from the other particles.
///
/// `particles: [S, n, P]`, `kernel: [S, n, n]` and h², `[S, 1, 1]` → `[S, n, P]`.
#[track_caller]
pub fn repulsion(particles: Tensor, kernel: Tensor, bandwidth: Tensor) -> Tensor {
    // Only differences matter, and those of numbers around 0 are exact.
    let centred = particles - particles.sum_keep(1) * (1.0 / particles.size(1) as f64);
    (centred * kernel.sum_keep(2) - kernel.matmul(centred)) / bandwidth
}

/// The direction φ of particles, from the gradients of their losses: eq. 10 of arXiv:1704.02399 with the sign of a
/// loss. Steps of descent go against it.
///
/// `particles, gradients: [S, n, P]` → `[S, n, P]`.
#[track_caller]
pub fn direction(particles: Tensor, gradients: Tensor, temperature: f64) -> Tensor {
    let distances = squared_distances(particles);
    let bandwidth = bandwidth(distances);
    let kernel = kernel(distances, bandwidth);
    let followed = kernel.matmul(gradients) * (1.0 / temperature);
    (followed - repulsion(particles, kernel, bandwidth)) * (1.0 / particles.size(1) as f64)
}

/// A turn that replaces gradients by Stein's direction.
#[derive(Clone, Debug)]
pub struct Stein {
    /// n, the number of consecutive rows that belong to one seed.
    pub particles: usize,
    /// The temperature τ: the higher it is, the more distance counts against return.
    pub temperature: f64,
    /// The places of the value function's parameters, whose gradients are left as they are.
    pub values: Range<usize>,
}

impl Stein {
    /// The policies' parameters, `[S · n, P]` → `[S, n, Q]`.
    fn policies(&self, theta: Tensor) -> Tensor {
        let (rows, p) = (theta.size(0), theta.size(1));
        let Range { start, end } = self.values;
        let mut parts = vec![theta.slice(1, 0, start)];
        parts.extend((end < p).then(|| theta.slice(1, end, p)));
        let all = Tensor::concat(&parts, 1);
        all.reshape(&[rows / self.particles, self.particles, all.size(1)])
    }

    /// The mean distance between the policies, `[S · n, P]` → `[S, 1]`; 0 for a single particle.
    #[track_caller]
    pub(super) fn mean_distance(&self, theta: Tensor) -> Tensor {
        let (seeds, n) = (theta.size(0) / self.particles, self.particles);
        let sum = squared_distances(self.policies(theta)).sqrt().reshape(&[seeds, n * n]).sum_keep(1);
        sum * (1.0 / (n * (n - 1)).max(1) as f64)
    }
}

impl Turn for Stein {
    fn turn(&self, theta: Tensor, gradient: Tensor) -> Tensor {
        let (rows, p) = (theta.size(0), theta.size(1));
        let turned = direction(self.policies(theta), self.policies(gradient), self.temperature);
        let Range { start, end } = self.values;
        // Sizes of a trace that has failed are 1.
        let policies = p.saturating_sub(end - start);
        let turned = turned.reshape(&[rows, policies]);
        let mut parts = vec![turned.slice(1, 0, start), gradient.slice(1, start, end)];
        parts.extend((end < p).then(|| turned.slice(1, start, policies)));
        Tensor::concat(&parts, 1)
    }

    /// 1 / (n τ): the kernel of a particle and itself is 1.
    fn own_weight(&self) -> f64 {
        1.0 / (self.particles as f64 * self.temperature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Program, State};

    /// Tests that a gradient adds itself, times the own weight, to the direction of its own particle.
    #[test]
    fn the_own_weight_is_that_of_a_particles_gradient_in_its_direction() {
        let stein = Stein { particles: 3, temperature: 7.0, values: 2..3 };
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let theta = Tensor::literal_f32(&[0.1, 0.5, 9.0, -0.2, 0.3, -9.0, 0.4, -0.6, 0.0]).reshape(&[3, 3]);
            let own = Tensor::literal_f32(&[0.0, 0.0, 0.0, 2.0, -3.0, 0.0, 0.0, 0.0, 0.0]).reshape(&[3, 3]);
            let added = stein.turn(theta, own) - stein.turn(theta, Tensor::zeros(&[3, 3]));
            cx.output("added", added.slice(0, 1, 2) * (1.0 / stein.own_weight()));
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let added = pollster::block_on(device.read(out.get("added").unwrap())).unwrap();
        assert!(added.iter().zip([2.0, -3.0, 0.0]).all(|(a, b)| (a - b).abs() < 1e-5), "{added:?}");
    }
}
