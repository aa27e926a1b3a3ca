//! Lines of `devices --json`.

use serde::Serialize;

/// A line of `devices --json`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum DevicesLine {
    /// The first line: how many devices there are.
    Devices {
        /// Version of these lines: 1
        version: u32,
        /// GPUs, those among them that cannot be used
        gpus: usize,
    },
    /// The CPU.
    Cpu {
        /// Name for `--device`: `cpu`
        device: String,
        /// Instruction set of its kernels: `avx512`, `avx2`, `neon`, `baseline`
        isa: String,
        /// Best instruction set that the processor has; another one where `QUICKSTUDY_ISA` says so
        best_isa: String,
        /// Cores
        cores: usize,
    },
    /// A GPU.
    Gpu {
        /// Name for `--device`: `gpu:0`
        device: String,
        /// Name of the card
        name: String,
        /// `Vulkan`, `Metal` or `Dx12`
        backend: String,
        /// Driver and its version
        driver: String,
        /// True if it runs on the processor: fit for tests, not for speed
        software: bool,
        /// Bytes of the largest tensor
        max_tensor_bytes: u64,
        /// Buffers that one kernel may have
        max_bindings: u32,
        /// Why it cannot be used, if it cannot
        problem: Option<String>,
    },
}
