//! Instruction sets that the kernels are compiled for.

use std::fmt;

/// An instruction set of the processor, chosen once at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isa {
    /// What the target guarantees: SSE2 on x86-64, NEON on aarch64, simd128 in wasm where it is switched on.
    Baseline,
    /// AVX2 and FMA, 8 lanes.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, 16 lanes.
    Avx512,
}

impl Isa {
    /// The best that this processor has.
    pub fn detect() -> Isa {
        Isa::available().last().copied().unwrap_or(Isa::Baseline)
    }

    /// All that this processor has, the best last.
    pub fn available() -> Vec<Isa> {
        #[allow(unused_mut, reason = "only x86-64 has more than one")]
        let mut found = vec![Isa::Baseline];
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx2 = has!("avx2") && has!("fma");
            if avx2 {
                found.push(Isa::Avx2);
            }
            if avx2 && has!("avx512f") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl") {
                found.push(Isa::Avx512);
            }
        }
        found
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
