//! Gradient checks: derivatives of a traced function against finite differences of it, in f64.

use crate::backend::reference::{Value, evaluate};
use crate::tensor::{DType, Graph, NodeId, Op, Tensor, push};
use crate::{Error, Result};

use super::grad;

/// A point at which a function is checked: shape and elements of each argument.
pub type Point = [(Vec<usize>, Vec<f64>)];

/// Step of the difference quotients. Their error is of fourth order in it, that of rounding about 1e-16 over it.
const STEP: f64 = 3e-4;

/// Compare the derivative of `order` of `f` at `point` with finite differences of that of `order − 1`, both evaluated
/// by the f64 reference.
///
/// The elements of `f`'s result are first added with uneven weights: h₁ = Σ cᵢ f(x)ᵢ, so that a rule that ignores the
/// incoming cotangent is found. Then h₍ₖ₊₁₎ = ⟨∇hₖ, vₖ⟩ with fixed uneven directions vₖ, and ∇h_order is compared with
/// central differences of h_order in every coordinate: order 1 checks the gradient, 2 the Hessian times a vector.
///
/// `f` must be smooth within 6·10⁻⁴ of `point`: keep away from kinks. Each coordinate must satisfy
/// |exact − quotient| ≤ `atol` + `rtol` · |quotient|. Returns the largest of |exact − quotient| / max(1, |quotient|).
///
/// # Errors
/// Errors of the trace, or `Error::Gradient` with the first coordinate that differs.
pub fn check(f: impl Fn(&[Tensor]) -> Tensor, point: &Point, order: usize, rtol: f64, atol: f64) -> Result<f64> {
    let (outs, graph) = Graph::trace(|| {
        let x = inputs(point);
        let mut h = weighted(f(&x), 0);
        for k in 1..order {
            let dots: Vec<Tensor> = grad(h, &x).into_iter().enumerate().map(|(i, g)| weighted(g, 7 * k + i)).collect();
            h = dots.into_iter().reduce(|a, b| a + b).unwrap_or_else(Tensor::poison);
        }
        let exact = grad(h, &x);
        [&[h], &exact[..]].concat().iter().map(|t| t.raw()).collect::<Vec<NodeId>>()
    })?;
    let exact = values(&graph, &outs[1..], point)?;
    let mut worst = 0.0f64;
    for (i, (shape, _)) in point.iter().enumerate() {
        for (j, derivative) in exact[i].iter().enumerate() {
            let at = |d: f64| {
                let mut moved = point.to_vec();
                moved[i].1[j] += d * STEP;
                values(&graph, &outs[..1], &moved).map(|v| v[0][0])
            };
            let quotient = (8.0 * (at(1.0)? - at(-1.0)?) - (at(2.0)? - at(-2.0)?)) / (12.0 * STEP);
            let error = (derivative - quotient).abs();
            if error.is_nan() || error > atol + rtol * quotient.abs() {
                return Err(Error::Gradient(format!(
                    "derivative of order {order} by element {j} of argument {i} {shape:?}: {derivative}, by \
                     differences {quotient}"
                )));
            }
            worst = worst.max(error / quotient.abs().max(1.0));
        }
    }
    Ok(worst)
}

/// Elements of `f`'s gradient with respect to each argument at `point`, in f64.
///
/// # Errors
/// Errors of the trace.
pub fn gradient(f: impl Fn(&[Tensor]) -> Tensor, point: &Point) -> Result<Vec<Vec<f64>>> {
    let (outs, graph) = Graph::trace(|| {
        let x = inputs(point);
        grad(f(&x), &x).iter().map(|t| t.raw()).collect::<Vec<NodeId>>()
    })?;
    values(&graph, &outs, point)
}

/// Elements of `f`'s results at `point`, in f64.
///
/// # Errors
/// Errors of the trace.
pub fn value(f: impl Fn(&[Tensor]) -> Vec<Tensor>, point: &Point) -> Result<Vec<Vec<f64>>> {
    let (outs, graph) = Graph::trace(|| f(&inputs(point)).iter().map(|t| t.raw()).collect::<Vec<NodeId>>())?;
    values(&graph, &outs, point)
}

fn inputs(point: &Point) -> Vec<Tensor> {
    let at = std::panic::Location::caller();
    point.iter().enumerate().map(|(i, (s, _))| push(Op::Input(i as u32), &[], s.clone(), DType::F32, at)).collect()
}

fn values(graph: &Graph, outs: &[NodeId], point: &Point) -> Result<Vec<Vec<f64>>> {
    let inputs: Vec<Value> = point.iter().map(|(s, x)| Value::f64(s, x.clone())).collect();
    Ok(evaluate(graph, outs, &inputs, &[])?.iter().map(Value::to_f64).collect())
}

/// Sum of the elements with weights between 0.5 and 1.5 that no symmetry of a function is likely to share.
fn weighted(t: Tensor, seed: usize) -> Tensor {
    let weights: Vec<f64> =
        (0..t.len()).map(|i| 1.0 + 0.5 * (1.7 * i as f64 + 0.9 * seed as f64 + 0.4).sin()).collect();
    (t.flatten() * Tensor::literal_f32(&weights)).sum_all()
}
