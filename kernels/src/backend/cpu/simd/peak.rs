//! The bound of what kernels can do: multiply-adds without anything else.

use std::hint::black_box;

use super::vector::{Vector, per_vector};
use crate::backend::cpu::simd::isa::Isa;

/// Independent chains: enough to hide the latency of a multiply-add.
const CHAINS: usize = 12;

/// Makes `steps` steps of 12 independent chains of multiply-adds, and tells how many floating-point operations that
/// were. Whoever takes the time has the peak of one core.
pub fn peak(isa: Isa, steps: u64) -> u64 {
    let mut lanes = 0;
    let to = &raw mut lanes;
    per_vector!(isa, body, (steps: u64, to: *mut usize));
    2 * (CHAINS * lanes) as u64 * steps
}

#[inline(always)]
unsafe fn body<V: Vector>(steps: u64, lanes: *mut usize) {
    // SAFETY: the caller's place, and a register's worth of results.
    unsafe {
        let (x, y) = (V::splat(black_box(0.999)), V::splat(black_box(1e-3)));
        let mut acc = [x; CHAINS];
        for _ in 0..steps {
            for acc in &mut acc {
                *acc = acc.mul_add(x, y);
            }
        }
        let mut sum = [0.0; 16];
        for acc in acc {
            acc.store(sum.as_mut_ptr());
            black_box(sum);
        }
        *lanes = V::LANES;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_counted_for_each_instruction_set() {
        let lanes = |isa| peak(isa, 5) / (2 * 12 * 5);
        assert_eq!(lanes(Isa::Baseline), 4);
        assert!(Isa::available().into_iter().all(|isa| [4, 8, 16].contains(&lanes(isa))));
    }
}
