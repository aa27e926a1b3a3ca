//! The elementary functions over [`Float`].

use super::float::Float;

/// 1.5 · 2²³: adding and subtracting it rounds |x| < 2²² to the nearest integer, which then sits in the low mantissa
/// bits.
const ROUND: f32 = 12_582_912.0;

const SIGN: i32 = i32::MIN;

#[inline(always)]
pub(crate) fn floor<F: Float>(x: F) -> F {
    const TWO23: f32 = 8_388_608.0; // from here on every f32 is an integer
    let sign = F::int_and(x.to_int(), F::int(SIGN));
    let size = F::of_int(F::int_and(x.to_int(), F::int(!SIGN)));
    let nearest = (size + F::lit(TWO23)) - F::lit(TWO23);
    let nearest = F::of_int(F::int_or(nearest.to_int(), sign));
    let down = F::choose(x.less(nearest), nearest - F::lit(1.0), nearest);
    F::choose(size.less(F::lit(TWO23)), down, x)
}

/// x = n ln 2 + r with |r| ≤ ln 2 / 2; eʳ by a polynomial of degree 6, then scaling by 2ⁿ in two steps, so that
/// results below the smallest normal number are rounded like any other.
#[inline(always)]
pub(crate) fn exp<F: Float>(x: F) -> F {
    // ln 2 in two parts; the first has 9 zero bits at its end, so n · HI is exact for |n| < 512.
    const LN2_HI: f32 = 0.693_359_4;
    const LN2_LO: f32 = -2.121_944_4e-4;
    // Beyond the bounds the result is ∞ or 0 anyway. NaN stays.
    let x = x.above(F::lit(-104.0)).below(F::lit(89.0));
    let t = x * F::lit(std::f32::consts::LOG2_E) + F::lit(ROUND);
    let n = t - F::lit(ROUND);
    let r = (x - n * F::lit(LN2_HI)) - n * F::lit(LN2_LO);
    let p = F::lit(1.381_446_4e-3);
    let p = p * r + F::lit(8.368_781e-3);
    let p = p * r + F::lit(4.166_839_4e-2);
    let p = p * r + F::lit(0.166_665_2);
    let p = p * r + F::lit(0.499_999_93);
    let y = (p * (r * r) + r) + F::lit(1.0);
    let n = F::int_sub(t.to_int(), F::int(ROUND.to_bits() as i32));
    let half = F::int_shr(n, 1);
    (y * pow2::<F>(half)) * pow2::<F>(F::int_sub(n, half))
}

/// 2ⁿ for −126 ≤ n ≤ 127.
#[inline(always)]
fn pow2<F: Float>(n: F::Int) -> F {
    F::of_int(F::int_shl(F::int_add(n, F::int(127)), 23))
}

/// x = 2ᵉ (1 + f) with 1 + f in [√½, √2); ln(1 + f) by a polynomial (Cephes `logf`).
#[inline(always)]
pub(crate) fn log<F: Float>(x: F) -> F {
    const SQRT_HALF: i32 = 0x3f35_04f3;
    const LN2_HI: f32 = 0.693_359_4;
    const LN2_LO: f32 = -2.121_944_4e-4;
    let zero = F::lit(0.0);
    // Subnormals have no implicit bit: scale them up first.
    let tiny = x.less(F::lit(f32::MIN_POSITIVE));
    let scaled = F::choose(tiny, x * F::lit(8_388_608.0), x);
    let bias = F::choose(tiny, F::lit(-23.0), zero);
    let bits = scaled.to_int();
    let e = F::int_shr(F::int_sub(bits, F::int(SQRT_HALF)), 23);
    let f = F::of_int(F::int_sub(bits, F::int_shl(e, 23))) - F::lit(1.0);
    let e = F::from_int(e) + bias;
    let p = F::lit(-7.634_4e-2);
    let p = p * f + F::lit(0.127_615_38);
    let p = p * f - F::lit(0.131_602);
    let p = p * f + F::lit(0.142_017_64);
    let p = p * f - F::lit(0.166_233_56);
    let p = p * f + F::lit(0.200_012_27);
    let p = p * f - F::lit(0.250_008_2);
    let p = p * f + F::lit(0.333_333_3);
    let z = f * f;
    let y = (p * f) * z;
    let y = y + e * F::lit(LN2_LO);
    let y = y - F::lit(0.5) * z;
    let y = (f + y) + e * F::lit(LN2_HI);
    let y = F::choose(x.less(F::lit(f32::INFINITY)), y, x); // ∞ and NaN
    let y = F::choose(zero.less(x), y, F::lit(f32::NAN));
    F::choose(x.equal(zero), F::lit(f32::NEG_INFINITY), y)
}

/// An odd rational function x P(x²) / Q(x²) of degree 9 over 8, minimax in relative error with coefficients then
/// searched among neighbouring `f32`s, with Q's leading coefficient 1. Beyond `BOUND`, chosen so that the function
/// is exactly 1 there and nowhere above, tanh is 1 within 3 ulp. 20 operations, one of them a division.
#[inline(always)]
pub(crate) fn tanh<F: Float>(x: F) -> F {
    const BOUND: f32 = 8.135_002;
    let x = x.above(F::lit(-BOUND)).below(F::lit(BOUND));
    let y = x * x;
    let p = F::lit(0.017_173_328);
    let p = p * y + F::lit(26.501_411);
    let p = p * y + F::lit(4_494.988_3);
    let p = p * y + F::lit(172_066.42);
    let p = p * y + F::lit(1_285_897.9);
    let q = y + F::lit(422.501_92);
    let q = q * y + F::lit(33_275.22);
    let q = q * y + F::lit(600_698.8);
    let q = q * y + F::lit(1_285_898.0);
    (x * p).quotient(q)
}

/// x = n π/2 + r with π/2 in four parts (Cody and Waite): the products with n are exact for |x| ≤ 1e4, the domain.
#[inline(always)]
pub(crate) fn sin_cos<F: Float>(x: F) -> (F, F) {
    let t = x * F::lit(std::f32::consts::FRAC_2_PI) + F::lit(ROUND);
    let n = t - F::lit(ROUND);
    let r = x - n * F::lit(1.570_312_5);
    let r = r - n * F::lit(4.837_513e-4);
    let r = r - n * F::lit(7.549_533_6e-8);
    let r = r - n * F::lit(2.563_344e-12);
    let r = r.above(F::lit(-1.0)).below(F::lit(1.0));
    let z = r * r;
    let s = F::lit(-1.951_529_6e-4);
    let s = s * z + F::lit(8.332_161e-3);
    let s = s * z - F::lit(0.166_666_55);
    let s = s * z * r + r;
    let c = F::lit(2.443_315_7e-5);
    let c = c * z - F::lit(1.388_731_6e-3);
    let c = c * z + F::lit(4.166_664_6e-2);
    let c = (c * (z * z) - F::lit(0.5) * z) + F::lit(1.0);
    let quadrant = t.to_int();
    let swap = F::odd(quadrant);
    let (sin, cos) = (F::choose(swap, c, s), F::choose(swap, s, c));
    let sin_sign = F::int_shl(F::int_and(quadrant, F::int(2)), 30);
    let cos_sign = F::int_shl(F::int_and(F::int_add(quadrant, F::int(1)), F::int(2)), 30);
    (F::of_int(F::int_xor(sin.to_int(), sin_sign)), F::of_int(F::int_xor(cos.to_int(), cos_sign)))
}
