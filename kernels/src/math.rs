//! Elementary functions of `f32`, written once (in `functions`) for scalars, tile loops and vector registers.
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

mod float;
pub(crate) mod functions;
pub mod order;

#[cfg_attr(not(target_arch = "x86_64"), allow(unused_imports, reason = "only vector registers use it"))]
pub(crate) use float::Float;

/// Largest integer not above `x`. Exact; keeps −0, ∞ and NaN.
///
/// `f32::floor` is a function call on baseline x86-64, which would keep loops from being vectorised.
#[inline(always)]
pub fn floor(x: f32) -> f32 {
    functions::floor(x)
}

/// eˣ.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    functions::exp(x)
}

/// Natural logarithm: −∞ at ±0, NaN below 0.
#[inline(always)]
pub fn log(x: f32) -> f32 {
    functions::log(x)
}

/// Hyperbolic tangent: 20 operations, one of them a division.
#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    functions::tanh(x)
}

/// Sine and cosine of `x` in radians, at the cost of little more than one of them.
///
/// Beyond |x| = 1e4, the domain, accuracy fades, until results above 1e7 are meaningless, though
/// never above 1 in magnitude. ±∞ give NaN.
#[inline(always)]
pub fn sin_cos(x: f32) -> (f32, f32) {
    functions::sin_cos(x)
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

    /// The numbers are of one machine; that they are the same on all is the test, natively and in WebAssembly.
    #[test]
    fn the_bits_are_the_same_on_every_target() {
        let hash = |f: fn(f32) -> f32| {
            (0..=u32::MAX).step_by(65_521).map(f32::from_bits).fold(0_u32, |hash, x| {
                let y = f(x);
                // A NaN's bits may be any.
                (hash ^ if y.is_nan() { 0 } else { y.to_bits() }).wrapping_mul(0x0100_0193)
            })
        };
        let expected = [2_923_848_146, 1_241_971_604, 634_054_294, 2_692_345_266, 3_166_807_162, 1_962_837_513];
        assert_eq!([exp, log, tanh, sin, cos, floor].map(hash), expected);
    }
}
