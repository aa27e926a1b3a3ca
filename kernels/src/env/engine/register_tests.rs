//! Every operation of every register against single lanes, bit for bit.
#![allow(unsafe_code, reason = "the instruction set is asked for first")]

use super::pack::{Base, Pack};
use super::register::Reg;
use crate::backend::cpu::simd::isa::Isa;
use crate::env::{Bits, Lanes, Mask};

/// One result of each operation on each element, as words.
#[inline(always)]
fn results<P: Pack>(a: &[f32], b: &[f32]) -> Vec<Vec<u32>> {
    let mut all = Vec::new();
    for at in (0..a.len()).step_by(P::LANES) {
        let (x, y) = (P::load(&a[at..]), P::load(&b[at..]));
        let (i, j) = (P::load_bits(&a[at..]), P::load_bits(&b[at..]));
        let (s, c) = x.sin_cos();
        let (less, same) = (x.lt(y), x.eq(y));
        let [t0, t1] = P::Bits::threefry([i, j], [j, i]);
        let mut numbers = vec![x + y, x - y, x * y, x / y, -x, x.recip(), x.sqrt(), x.exp(), x.log(), x.sin(), x.cos()];
        numbers.extend([x.tanh(), s, c, x.floor(), x.abs(), x.max(y), x.min(y), x.clamp(-1.0, 1.0)]);
        numbers.extend([P::select(less, x, y), P::from_mask(x.ge(y)), P::uniform(i), P::from_count(i)]);
        numbers.push(P::lookup(&[0.1, 0.2, 0.3], x));
        let masks = [less, same, x.le(y), x.gt(y), less.and(same), less.or(same), less.not(), x.truth()];
        let mut words = masks.map(P::mask_bits).to_vec();
        words.extend([P::count_lt(i, j), P::Mask::splat(true), P::Mask::splat(false)].map(P::mask_bits));
        words.extend([i.add(j), i.xor(j), i.and(j), i.or(j), i.shl(3), i.shr(7), i.rotl(13), t0, t1, x.to_count()]);
        words.extend([P::select_bits(less, i, j)]);
        let first_mask = numbers.len();
        let bits = numbers.into_iter().map(|x| {
            let mut out = [0.0; 16];
            x.store(&mut out);
            out
        });
        let words = words.into_iter().map(|w| {
            let mut out = [0.0; 16];
            P::store_bits(w, &mut out);
            out
        });
        let rows: Vec<Vec<u32>> =
            bits.chain(words).map(|row| row[..P::LANES].iter().map(|x| x.to_bits()).collect()).collect();
        assert_eq!(less.any(), rows[first_mask].contains(&1));
        for lane in 0..P::LANES {
            // NaN has no defined sign or payload.
            let tidy = |w: u32| if f32::from_bits(w).is_nan() { f32::NAN.to_bits() } else { w };
            all.push(rows.iter().map(|r| tidy(r[lane])).collect());
        }
    }
    all
}

#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
fn avx512(a: &[f32], b: &[f32]) -> Vec<Vec<u32>> {
    results::<Reg<std::arch::x86_64::__m512>>(a, b)
}

#[target_feature(enable = "avx2,fma")]
fn avx2(a: &[f32], b: &[f32]) -> Vec<Vec<u32>> {
    results::<Reg<std::arch::x86_64::__m256>>(a, b)
}

#[test]
fn registers_equal_single_lanes_in_every_operation() {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -2.5,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        1e-40,
        -1e-40,
        3e38,
        4294967296.0,
        2147483648.0,
        8388608.5,
        1e-45,
    ];
    let special = if cfg!(miri) { &special[3..9] } else { &special[..] };
    let mut a: Vec<f32> = special.iter().flat_map(|&x| vec![x; special.len()]).collect();
    let mut b: Vec<f32> = special.iter().flat_map(|_| special).copied().collect();
    let mut rng = crate::rng::Threefry::new([8, 1]);
    for _ in 0..if cfg!(miri) { 8 } else { 20_000 } {
        a.push(f32::from_bits(rng.word()));
        b.push(f32::from_bits(rng.word()));
        a.push(((rng.uniform() - 0.5) * 40.0) as f32);
        b.push(((rng.uniform() - 0.5) * 40.0) as f32);
    }
    a.truncate(a.len() / 16 * 16);
    let single = results::<Lanes<1>>(&a, &b);
    let check = |name: &str, got: Vec<Vec<u32>>| {
        for (k, (got, want)) in got.iter().zip(&single).enumerate() {
            assert_eq!(got, want, "{name}: of {:e} and {:e}", a[k], b[k]);
        }
    };
    check("arrays", results::<Lanes<2>>(&a, &b));
    check("baseline", results::<Base>(&a, &b));
    for isa in Isa::available() {
        // SAFETY: the processor has these instruction sets.
        match isa {
            Isa::Baseline => {}
            Isa::Avx2 => check("avx2", unsafe { avx2(&a, &b) }),
            Isa::Avx512 => check("avx512", unsafe { avx512(&a, &b) }),
        }
    }
}
