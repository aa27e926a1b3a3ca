//! The losses that algorithms differentiate, at the orders that they need.

use super::numbers;
use crate::grad::check::{Point, check};
use crate::grad::grad;
use crate::tensor::Tensor;

const OBS: usize = 3;
const HIDDEN: usize = 4;
const ACT: usize = 2;
const BATCH: usize = 5;
const SIZE: usize = OBS * HIDDEN + HIDDEN + HIDDEN * ACT + ACT + ACT;

/// Mean and log standard deviation of a Gaussian policy with one hidden layer; `theta: [S, SIZE]`, `obs: [S, B, OBS]`.
fn policy(theta: Tensor, obs: Tensor) -> (Tensor, Tensor) {
    let s = theta.size(0);
    let mut from = 0;
    let mut take = |rows: usize, columns: usize| {
        let part = theta.slice(1, from, from + rows * columns).reshape(&[s, rows, columns]);
        from += rows * columns;
        part
    };
    let hidden = (obs.matmul(take(OBS, HIDDEN)) + take(1, HIDDEN)).tanh();
    let mean = hidden.matmul(take(HIDDEN, ACT)) + take(1, ACT);
    (mean, take(1, ACT))
}

fn log_prob(theta: Tensor, obs: Tensor, action: Tensor) -> Tensor {
    let (mean, log_std) = policy(theta, obs);
    let z = (action - mean) * (-log_std).exp();
    (z.square() * -0.5 - log_std).sum(&[2])
}

fn theta(seed: usize, scale: f64) -> Vec<f64> {
    numbers(SIZE, seed).into_iter().map(|x| scale * x).collect()
}

fn data() -> (Tensor, Tensor, Tensor) {
    let constant = |shape: &[usize], seed| Tensor::literal_f32(&numbers(shape.iter().product(), seed)).reshape(shape);
    (constant(&[1, BATCH, OBS], 10), constant(&[1, BATCH, ACT], 11), constant(&[1, BATCH], 12))
}

fn report(name: &str, f: impl Fn(&[Tensor]) -> Tensor, point: &Point, orders: &[usize]) {
    for order in orders {
        let worst = check(&f, point, *order, 1e-8, 1e-10).unwrap();
        println!("{name}, order {order}: largest error {worst:.1e}");
    }
}

#[test]
fn clipped_policy_loss() {
    let loss = |x: &[Tensor]| {
        let (obs, action, advantage) = data();
        let old = log_prob(Tensor::literal_f32(&theta(5, 0.7)).reshape(&[1, SIZE]), obs, action);
        let ratio = (log_prob(x[0], obs, action) - old).exp();
        -(ratio * advantage).min(ratio.clamp(0.8, 1.2) * advantage).mean(&[0, 1])
    };
    report("PPO loss", loss, &[(vec![1, SIZE], theta(6, 0.6))], &[1, 2, 3]);
}

/// One inner step per task, then the loss of the adapted parameters: `θ` is shared, `φ` is `[K, P]`.
fn adapted_loss(x: &[Tensor]) -> Tensor {
    let (tasks, learning_rate) = (2, 0.3);
    let constant = |shape: &[usize], seed| Tensor::literal_f32(&numbers(shape.iter().product(), seed)).reshape(shape);
    let loss = |theta: Tensor, seed: usize| {
        let obs = constant(&[tasks, BATCH, OBS], seed);
        let action = constant(&[tasks, BATCH, ACT], seed + 1);
        let advantage = constant(&[tasks, BATCH], seed + 2);
        -(log_prob(theta, obs, action) * advantage).mean(&[1]).sum_all()
    };
    let theta = x[0].broadcast_to(&[tasks, SIZE]);
    let step = grad(loss(theta, 20), &[theta])[0];
    loss(theta - step * learning_rate, 30)
}

#[test]
fn second_order_gradient_through_an_inner_step() {
    report("MAML outer loss", adapted_loss, &[(vec![1, SIZE], theta(7, 0.5))], &[1, 2]);
}

#[test]
fn hessian_vector_product_of_a_divergence_after_an_inner_step() {
    // Third order: the Hessian of the KL between adapted policies, each a gradient step away.
    let divergence = |x: &[Tensor]| {
        let (obs, action, advantage) = data();
        let adapt = |theta: Tensor| {
            let loss = -(log_prob(theta, obs, action) * advantage).mean(&[0, 1]);
            theta - grad(loss, &[theta])[0] * 0.3
        };
        let (m1, s1) = policy(adapt(x[0]), obs);
        let old = adapt(Tensor::literal_f32(&theta(7, 0.5)).reshape(&[1, SIZE]));
        let (m0, s0) = policy(old, obs);
        let (m0, s0) = (m0.stop_gradient(), s0.stop_gradient());
        let spread = (2.0 * (s0 - s1)).exp() + ((m0 - m1) * (-s1).exp()).square();
        (s1 - s0 + 0.5 * spread - 0.5).sum(&[2]).mean(&[0, 1])
    };
    report("KL after an inner step", divergence, &[(vec![1, SIZE], theta(8, 0.5))], &[1, 2]);
}
