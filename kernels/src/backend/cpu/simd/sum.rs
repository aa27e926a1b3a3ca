//! The loop inside of all register tiles.

use super::vector::Vector;

/// The operands of a register tile's sum: a value of each row of `a` times whole registers of `b`, `count` times.
pub(super) struct SumOperands {
    pub a: *const f32,
    /// Distance of the tile's rows.
    pub a_row: usize,
    /// Distance of steps.
    pub a_inner: usize,
    pub b: *const f32,
    /// Distance of steps.
    pub b_inner: usize,
    pub count: usize,
}

/// acc\[r\]\[w\] = acc\[r\]\[w\] + Σ over t < count of a\[r\]\[t\] · b\[t\]\[w\], one multiply-add after the other in
/// order of t.
///
/// # Safety
/// As of [`Vector`]; all elements that are named must be readable.
#[cfg(not(target_arch = "wasm32"))]
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "two indices name the register tile")]
pub(super) unsafe fn sum<V: Vector, const R: usize, const W: usize>(acc: &mut [[V; W]; R], steps: &SumOperands) {
    // SAFETY: by the caller's promise.
    unsafe {
        // One pointer for three rows: [pointer + 0, 1 or 2 · distance] is an address the processor forms by itself.
        let mut a = [steps.a; 4];
        for g in 0..R.div_ceil(3) {
            a[g] = opaque(steps.a.wrapping_add(3 * g * steps.a_row));
        }
        let mut b = steps.b;
        for _ in 0..steps.count {
            let mut row = [V::splat(0.0); W];
            for w in 0..W {
                row[w] = V::load(b.add(w * V::LANES));
            }
            for r in 0..R {
                let x = V::splat(*a[r / 3].add(r % 3 * steps.a_row));
                for w in 0..W {
                    acc[r][w] = row[w].mul_add(x, acc[r][w]);
                }
            }
            for g in 0..R.div_ceil(3) {
                a[g] = a[g].wrapping_add(steps.a_inner);
            }
            b = b.wrapping_add(steps.b_inner);
        }
    }
}

/// Hides a pointer's origin from the compiler: else it computes each row's address from the row before, a chain of
/// additions that takes longer than the multiply-adds.
#[cfg(not(target_arch = "wasm32"))]
#[inline(always)]
#[allow(unknown_lints, clippy::pointers_in_nomem_asm_block, reason = "the pointer is passed through, not read")]
fn opaque(pointer: *const f32) -> *const f32 {
    #[cfg(all(not(miri), any(target_arch = "x86_64", target_arch = "aarch64")))] // Miri knows no assembly.
    {
        let mut pointer = pointer;
        // SAFETY: does nothing.
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) pointer, options(pure, nomem, nostack, preserves_flags));
        }
        pointer
    }
    #[cfg(not(all(not(miri), any(target_arch = "x86_64", target_arch = "aarch64"))))]
    pointer
}

/// Sums in WebAssembly, to the same bits. An address there is one register and a constant: what is next to each other
/// shares a pointer.
#[cfg(target_arch = "wasm32")]
#[inline(always)]
pub(super) unsafe fn sum<V: Vector, const R: usize, const W: usize>(acc: &mut [[V; W]; R], steps: &SumOperands) {
    // SAFETY: by the caller's promise.
    unsafe {
        match (steps.a_row, steps.a_inner) {
            (1, _) => four_steps::<V, R, W, true, false>(acc, steps),
            (_, 1) => four_steps::<V, R, W, false, true>(acc, steps),
            _ => four_steps::<V, R, W, false, false>(acc, steps),
        }
    }
}

/// Makes four steps in a turn of the loop; `ROWS` says that the rows of `a` are next to each other, `STEPS` that the
/// steps are.
#[cfg(target_arch = "wasm32")]
#[inline(always)]
#[allow(clippy::needless_range_loop, reason = "two indices name the register tile")]
unsafe fn four_steps<V: Vector, const R: usize, const W: usize, const ROWS: bool, const STEPS: bool>(
    acc: &mut [[V; W]; R],
    steps: &SumOperands,
) {
    // Distances are read from memory. If the compiler knew them to be constant, it would keep sums of distances
    // instead of pointers and add them up for each value that is read, which takes a sixth of the time.
    let distances = [steps.a_inner, steps.b_inner];
    let distances = std::hint::black_box(&raw const distances);
    let mut left = steps.count;
    if left == 0 {
        return;
    }
    // SAFETY: by the caller's promise.
    unsafe {
        let mut a = [steps.a; R];
        for r in 1..R {
            a[r] = steps.a.add(r * steps.a_row);
        }
        let mut b = steps.b;
        loop {
            let [a_inner, b_inner] = distances.read_volatile();
            // Steps may end the loop, so that the compiler does not move what one reads before the arithmetic of
            // another, for which there are no registers.
            macro_rules! step {
                ($t:literal) => {
                    let mut row = [V::splat(0.0); W];
                    for w in 0..W {
                        row[w] = V::load(b.add(w * V::LANES));
                    }
                    for r in 0..R {
                        let x = V::splat(match (ROWS, STEPS) {
                            (true, _) => *a[0].add(r),
                            (_, true) => *a[r].add($t),
                            _ => *a[r],
                        });
                        for w in 0..W {
                            acc[r][w] = row[w].mul_add(x, acc[r][w]);
                        }
                    }
                    left -= 1;
                    if left == 0 {
                        return;
                    }
                    b = b.wrapping_add(b_inner);
                    if !STEPS {
                        for r in 0..if ROWS { 1 } else { R } {
                            a[r] = a[r].wrapping_add(a_inner);
                        }
                    }
                };
            }
            step!(0);
            step!(1);
            step!(2);
            step!(3);
            if STEPS {
                for a in &mut a {
                    *a = a.wrapping_add(4);
                }
            }
        }
    }
}
