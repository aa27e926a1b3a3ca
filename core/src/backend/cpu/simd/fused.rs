//! Elementwise chains that are common enough to pass over memory once: the same bits as their operations one by one.

use super::per_isa;
use crate::backend::cpu::simd::isa::Isa;

/// dst\[i\] = g\[i\] · (1 − y\[i\]²), the derivative of tanh from its value, rounded after each operation.
///
/// # Panics
/// If the lengths differ.
pub fn tanh_grad(isa: Isa, dst: &mut [f32], g: &[f32], y: &[f32]) {
    assert!(dst.len() == g.len() && dst.len() == y.len(), "tanh_grad: lengths differ");
    per_isa!(isa, body, (dst: &mut [f32], g: &[f32], y: &[f32]));
}

#[inline(always)]
fn body(dst: &mut [f32], g: &[f32], y: &[f32]) {
    for ((d, g), y) in dst.iter_mut().zip(g).zip(y) {
        let square = y * y;
        *d = g * (1.0 + -square);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_equals_the_operations_one_by_one() {
        let g: Vec<f32> = (0..345).map(|i| (i as f32 * 0.37).sin()).collect();
        let y: Vec<f32> = (0..345).map(|i| (i as f32 * 0.11).tanh()).collect();
        for isa in Isa::available() {
            let mut out = vec![0.0; 345];
            tanh_grad(isa, &mut out, &g, &y);
            for i in 0..345 {
                assert_eq!(out[i].to_bits(), (g[i] * (1.0 + -(y[i] * y[i]))).to_bits());
            }
        }
    }
}
