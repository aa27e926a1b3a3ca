//! Instruction sets that the kernels are compiled for.

use std::fmt;
use std::str::FromStr;
#[cfg(target_arch = "x86_64")]
use std::sync::atomic::{AtomicU8, Ordering};

/// An instruction set of the processor, chosen once at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isa {
    /// The target's guaranteed minimum: SSE2 on x86-64, NEON on aarch64, simd128 in wasm where it is switched on.
    Baseline,
    /// AVX2 and FMA, 8 lanes.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, 16 lanes.
    Avx512,
}

impl Isa {
    /// Every instruction set by rising speed, whether this processor has it or not.
    pub const ALL: [Isa; 3] = [Isa::Baseline, Isa::Avx2, Isa::Avx512];

    /// The best that this processor has.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    pub fn detect() -> Isa {
        // Kernels ask on every call: one load, instead of one per feature.
        static FOUND: AtomicU8 = AtomicU8::new(u8::MAX);
        match FOUND.load(Ordering::Relaxed) {
            0 => Isa::Baseline,
            1 => Isa::Avx2,
            2 => Isa::Avx512,
            _ => {
                let isa = ask_processor();
                FOUND.store(isa as u8, Ordering::Relaxed);
                isa
            }
        }
    }

    /// The best that this processor has.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline]
    pub fn detect() -> Isa {
        Isa::Baseline
    }

    /// All that this processor has, the best last.
    pub fn available() -> Vec<Isa> {
        Isa::ALL.into_iter().filter(|isa| *isa <= Isa::detect()).collect()
    }

    /// This instruction set, or the best that the processor has if it lacks this one. What makes the kernels safe to
    /// call with any `Isa`.
    #[inline]
    pub fn or_less(self) -> Isa {
        self.min(Isa::detect())
    }

    /// Tells whether matrix products use fused multiply-add: one rounding per step instead of two.
    pub const fn fuses(self) -> bool {
        cfg!(target_arch = "aarch64") || !matches!(self, Isa::Baseline)
    }
}

#[cfg(target_arch = "x86_64")]
#[cold]
fn ask_processor() -> Isa {
    use std::arch::is_x86_feature_detected as has;
    let avx2 = has!("avx2") && has!("fma");
    let avx512 = has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
    match (avx2, avx512) {
        (true, true) => Isa::Avx512,
        (true, false) => Isa::Avx2,
        _ => Isa::Baseline,
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Isa::Baseline => "baseline",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        })
    }
}

impl FromStr for Isa {
    type Err = String;

    /// The reverse of `Display`. The error names the three choices.
    fn from_str(name: &str) -> Result<Isa, String> {
        Isa::ALL
            .into_iter()
            .find(|isa| isa.to_string() == name)
            .ok_or_else(|| format!("unknown instruction set `{name}`: choose baseline, avx2 or avx512"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_back() {
        for isa in Isa::ALL {
            assert_eq!(isa.to_string().parse(), Ok(isa));
        }
        assert!("sse9".parse::<Isa>().unwrap_err().contains("`sse9`"));
    }

    #[test]
    fn the_available_ones_start_with_the_baseline_and_end_with_the_detected() {
        let all = Isa::available();
        assert_eq!((all.first(), all.last()), (Some(&Isa::Baseline), Some(&Isa::detect())));
        assert!(all.iter().all(|isa| isa.or_less() == *isa));
        assert_eq!(Isa::Avx512.or_less(), Isa::detect());
    }
}
