//! Elementary functions of `f32`, written once for scalars, SIMD lanes and tile loops.
//!
//! Every function is branch-free and uses only IEEE additions, multiplications, divisions, comparisons with selects,
//! and integer operations on the bits: no FMA, no `f64`, no call into the C library. A loop over any of them is
//! vectorised for whatever instruction set the enclosing function is compiled for, and the bits of the result do not
//! depend on it. Accuracy (asserted by the tests below, in units in the last place of the result):
//!
//! | function | error | domain |
//! |---|---|---|
//! | [`exp`] | ≤ 1 | all; overflows to ∞ above 88.72, underflows gradually to 0 |
//! | [`log`] | ≤ 1 | all; −∞ at ±0, NaN below 0, subnormals included |
//! | [`tanh`] | ≤ 6.2 | all; odd, never above 1 in magnitude |
//! | [`sin`], [`cos`] | ≤ 2 | \|x\| ≤ 100; up to 1e4 the error stays below 2 ulp + 1e-13 absolute |
//! | [`floor`] | exact | all |
//!
//! NaN goes in, NaN comes out.

/// 1.5 · 2²³: adding and subtracting it rounds |x| < 2²² to the nearest integer, which then sits in the low mantissa bits.
const ROUND: f32 = 12_582_912.0;

/// Largest integer not above `x`. Exact; keeps −0, ∞ and NaN.
///
/// `f32::floor` is a function call on baseline x86-64, which would keep loops from being vectorised.
#[inline(always)]
pub fn floor(x: f32) -> f32 {
    const TWO23: f32 = 8_388_608.0; // from here on every f32 is an integer
    let nearest = ((x.abs() + TWO23) - TWO23).copysign(x);
    let down = if nearest > x { nearest - 1.0 } else { nearest };
    if x.abs() < TWO23 { down } else { x }
}

/// eˣ.
///
/// x = n ln 2 + r with |r| ≤ ln 2 / 2; eʳ by a polynomial of degree 6, then scaling by 2ⁿ in two steps, so that
/// results below the smallest normal number are rounded like any other.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    // ln 2 in two parts; the first has 9 zero bits at its end, so n · HI is exact for |n| < 512.
    const LN2_HI: f32 = 0.693_359_4;
    const LN2_LO: f32 = -2.121_944_4e-4;
    // Beyond the bounds the result is ∞ or 0 anyway. Written so that NaN stays.
    let x = if x < -104.0 { -104.0 } else { x };
    let x = if x > 89.0 { 89.0 } else { x };
    let t = x * std::f32::consts::LOG2_E + ROUND;
    let n = t - ROUND;
    let r = (x - n * LN2_HI) - n * LN2_LO;
    let p = 1.381_446_4e-3;
    let p = p * r + 8.368_781e-3;
    let p = p * r + 4.166_839_4e-2;
    let p = p * r + 0.166_665_2;
    let p = p * r + 0.499_999_93;
    let y = (p * (r * r) + r) + 1.0;
    let n = (t.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    let half = n >> 1;
    (y * pow2(half)) * pow2(n.wrapping_sub(half))
}

/// 2ⁿ for −126 ≤ n ≤ 127.
#[inline(always)]
fn pow2(n: i32) -> f32 {
    f32::from_bits((n.wrapping_add(127) as u32) << 23)
}

/// Natural logarithm: −∞ at ±0, NaN below 0.
///
/// x = 2ᵉ (1 + f) with 1 + f in [√½, √2); ln(1 + f) by a polynomial (Cephes `logf`).
#[inline(always)]
pub fn log(x: f32) -> f32 {
    const SQRT_HALF: i32 = 0x3f35_04f3;
    const LN2_HI: f32 = 0.693_359_4;
    const LN2_LO: f32 = -2.121_944_4e-4;
    // Subnormals have no implicit bit: scale them up first.
    let tiny = x < f32::MIN_POSITIVE;
    let scaled = if tiny { x * 8_388_608.0 } else { x };
    let bias = if tiny { -23.0 } else { 0.0 };
    let bits = scaled.to_bits() as i32;
    let e = bits.wrapping_sub(SQRT_HALF) >> 23;
    let f = f32::from_bits(bits.wrapping_sub(e << 23) as u32) - 1.0;
    let e = e as f32 + bias;
    let p = -7.634_4e-2;
    let p = p * f + 0.127_615_38;
    let p = p * f - 0.131_602;
    let p = p * f + 0.142_017_64;
    let p = p * f - 0.166_233_56;
    let p = p * f + 0.200_012_27;
    let p = p * f - 0.250_008_2;
    let p = p * f + 0.333_333_3;
    let z = f * f;
    let y = (p * f) * z;
    let y = y + e * LN2_LO;
    let y = y - 0.5 * z;
    let y = (f + y) + e * LN2_HI;
    let y = if x < f32::INFINITY { y } else { x }; // ∞ and NaN
    let y = if x > 0.0 { y } else { f32::NAN };
    if x == 0.0 { f32::NEG_INFINITY } else { y }
}

/// Hyperbolic tangent.
///
/// An odd rational function x P(x²) / Q(x²) of degree 9 over 8, minimax in relative error with coefficients then
/// searched among neighbouring `f32`s, with Q's leading coefficient 1. Beyond `BOUND`, chosen so that the function
/// is exactly 1 there and nowhere above, tanh is 1 within 3 ulp. 20 operations, one of them a division.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    const BOUND: f32 = 8.135_002;
    let x = if x < -BOUND { -BOUND } else { x };
    let x = if x > BOUND { BOUND } else { x };
    let y = x * x;
    let p = 0.017_173_328;
    let p = p * y + 26.501_411;
    let p = p * y + 4_494.988_3;
    let p = p * y + 172_066.42;
    let p = p * y + 1_285_897.9;
    let q = y + 422.501_92;
    let q = q * y + 33_275.22;
    let q = q * y + 600_698.8;
    let q = q * y + 1_285_898.0;
    (x * p) / q
}

/// Sine and cosine of `x` in radians, at the cost of little more than one of them.
///
/// x = n π/2 + r with π/2 in four parts (Cody and Waite): the products with n are exact for |x| ≤ 1e4, the domain.
/// Beyond it accuracy fades, until results above 1e7 are meaningless, though never above 1 in magnitude. ±∞ give NaN.
#[inline(always)]
pub fn sin_cos(x: f32) -> (f32, f32) {
    let t = x * std::f32::consts::FRAC_2_PI + ROUND;
    let n = t - ROUND;
    let r = x - n * 1.570_312_5;
    let r = r - n * 4.837_513e-4;
    let r = r - n * 7.549_533_6e-8;
    let r = r - n * 2.563_344e-12;
    let r = if r < -1.0 { -1.0 } else { r };
    let r = if r > 1.0 { 1.0 } else { r };
    let z = r * r;
    let s = -1.951_529_6e-4;
    let s = s * z + 8.332_161e-3;
    let s = s * z - 0.166_666_55;
    let s = s * z * r + r;
    let c = 2.443_315_7e-5;
    let c = c * z - 1.388_731_6e-3;
    let c = c * z + 4.166_664_6e-2;
    let c = (c * (z * z) - 0.5 * z) + 1.0;
    let quadrant = t.to_bits();
    let swap = quadrant & 1 != 0;
    let (sin, cos) = if swap { (c, s) } else { (s, c) };
    let sin_sign = (quadrant & 2) << 30;
    let cos_sign = (quadrant.wrapping_add(1) & 2) << 30;
    (f32::from_bits(sin.to_bits() ^ sin_sign), f32::from_bits(cos.to_bits() ^ cos_sign))
}

/// Sine of `x` in radians; domain and accuracy as of [`sin_cos`].
#[inline(always)]
pub fn sin(x: f32) -> f32 {
    sin_cos(x).0
}

/// Cosine of `x` in radians; domain and accuracy as of [`sin_cos`].
#[inline(always)]
pub fn cos(x: f32) -> f32 {
    sin_cos(x).1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distance of `got` from `want` in units in the last place of `want` as an `f32`.
    fn ulps(got: f32, want: f64) -> f64 {
        if (want as f32).is_infinite() || want == 0.0 {
            return if got == want as f32 { 0.0 } else { f64::INFINITY };
        }
        let exponent = want.abs().log2().floor().max(-126.0);
        (f64::from(got) - want).abs() / (exponent - 23.0).exp2()
    }

    /// The largest error of `f` on every `step`-th float between `from` and `to` (of one sign), and where.
    fn worst(f: impl Fn(f32) -> f32, reference: impl Fn(f64) -> f64, from: f32, to: f32, step: usize) -> (f64, f32) {
        let mut worst = (0.0, from);
        for bits in (from.to_bits()..=to.to_bits()).step_by(step) {
            let x = f32::from_bits(bits);
            let error = ulps(f(x), reference(f64::from(x)));
            if error > worst.0 || error.is_nan() {
                worst = (error, x);
            }
        }
        worst
    }

    #[test]
    fn errors_stay_within_the_documented_bounds() {
        let check = |name: &str, bound: f64, (error, at): (f64, f32)| {
            println!("{name}: {error:.3} ulp at {at:e}");
            assert!(error <= bound, "{name}: {error} ulp at {at:e}");
        };
        check("exp+", 1.0, worst(exp, f64::exp, 0.0, 88.72283, 997));
        check("exp-", 1.0, worst(exp, f64::exp, -0.0, -103.9, 997));
        check("log", 1.0, worst(log, f64::ln, 1e-45, f32::MAX, 1999));
        check("log near 1", 1.0, worst(log, f64::ln, 0.5, 2.0, 17));
        check("tanh+", 6.2, worst(tanh, f64::tanh, 0.0, 20.0, 499));
        check("tanh-", 6.2, worst(tanh, f64::tanh, -0.0, -20.0, 499));
        check("tanh mid", 6.2, worst(tanh, f64::tanh, 0.1, 10.0, 59));
        for (from, to) in [(0.0, 100.0), (-0.0, -100.0)] {
            check("sin", 2.0, worst(sin, f64::sin, from, to, 1009));
            check("cos", 2.0, worst(cos, f64::cos, from, to, 1009));
        }
        check("sin period", 2.0, worst(sin, f64::sin, 0.5, 7.0, 13));
        check("cos period", 2.0, worst(cos, f64::cos, 0.5, 7.0, 13));
        for x in (1_000_000..100_000_000).step_by(37).map(|i| i as f32 * 1e-4) {
            let wide = f64::from(x);
            let within = |got: f32, want: f64| (f64::from(got) - want).abs() <= 2.0 * want.abs() * 1.2e-7 + 1e-13;
            assert!(within(sin(x), wide.sin()) && within(cos(x), wide.cos()), "{x}");
        }
    }

    #[test]
    fn special_values() {
        let inf = f32::INFINITY;
        for f in [exp, log, tanh, sin, cos, floor] {
            assert!(f(f32::NAN).is_nan());
        }
        assert_eq!(
            [exp(inf), exp(-inf), exp(0.0), exp(-0.0), exp(89.0), exp(-104.0), exp(1e30)],
            [inf, 0.0, 1.0, 1.0, inf, 0.0, inf]
        );
        assert_eq!(exp(88.722_83), 3.402_798_6e38); // the largest argument with a finite result, f64::exp rounded
        assert_eq!(exp(-103.0), 1.4e-45); // the smallest subnormal
        assert_eq!([log(0.0), log(-0.0), log(1.0), log(inf)], [-inf, -inf, 0.0, inf]);
        assert!(log(-1.0).is_nan() && log(-inf).is_nan() && log(-1e-45).is_nan());
        assert_eq!(log(1e-45), -103.278_93);
        assert_eq!([tanh(inf), tanh(-inf), tanh(15.0), tanh(-15.0), tanh(1e30)], [1.0, -1.0, 1.0, -1.0, 1.0]);
        assert_eq!([tanh(0.0).to_bits(), tanh(-0.0).to_bits()], [0, 1 << 31]);
        assert_eq!([sin(0.0), sin(-0.0), cos(0.0)], [0.0, 0.0, 1.0]);
        assert!(sin(inf).is_nan() && cos(-inf).is_nan());
        for x in [1e7, 3e12, f32::MAX] {
            assert!(sin(x).abs() <= 1.0 && cos(x).abs() <= 1.0);
        }
    }

    #[test]
    fn tanh_is_odd_and_never_above_one() {
        for bits in (0..20.0f32.to_bits()).step_by(101) {
            let x = f32::from_bits(bits);
            assert!(tanh(x) <= 1.0, "{x}");
            assert_eq!(tanh(-x), -tanh(x));
        }
    }

    #[test]
    fn floor_equals_the_standard_library() {
        for bits in (0..=u32::MAX).step_by(4099) {
            let x = f32::from_bits(bits);
            assert!(floor(x).to_bits() == x.floor().to_bits() || x.is_nan(), "{x}");
        }
        for x in [-1.0, -0.5, 0.5, 1.5, 2.5, 8_388_607.5, 8_388_608.0, -8_388_607.5, -0.0, 1.0, 0.999_999_94] {
            assert_eq!(floor(x).to_bits(), x.floor().to_bits());
        }
    }
}
