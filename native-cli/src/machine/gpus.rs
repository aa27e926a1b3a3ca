//! GPUs, as far as this program was built with them: the feature `gpu` of this crate.

use quickstudy_core::{Device, Result};

/// A GPU of this machine.
#[derive(Clone, Debug)]
pub(crate) struct Adapter {
    /// Name of the device.
    pub name: String,
    /// It runs on the processor: fit for tests, not for speed.
    pub software: bool,
    /// The reason why it cannot be used, if it cannot.
    pub problem: Option<String>,
    /// Vulkan, Metal, Dx12 or BrowserWebGpu.
    pub backend: String,
    /// Driver and its version.
    pub driver: String,
    /// Largest tensor, in bytes.
    pub max_tensor_bytes: u64,
    /// Storage buffers that one kernel may bind.
    pub max_bindings: u32,
    /// The lines about it in `quickstudy devices`.
    pub lines: String,
}

/// All GPUs in the order of their numbers; none if the program was built without.
pub(crate) fn adapters() -> Vec<Adapter> {
    #[cfg(feature = "gpu")]
    return with_wgpu::adapters();
    #[cfg(not(feature = "gpu"))]
    Vec::new()
}

/// The reason why [`adapters`] may find none.
pub(crate) fn missing() -> &'static str {
    if cfg!(feature = "gpu") {
        "no GPU was found: a driver for Vulkan, Metal or DX12 is needed"
    } else {
        "this program was built without GPUs: the feature `gpu` is off"
    }
}

/// Opens a GPU by its number, or the first graphics card; also tells whether it runs on the processor.
pub(crate) fn open(number: Option<usize>) -> Result<(Device, bool)> {
    #[cfg(feature = "gpu")]
    return with_wgpu::open(number);
    #[cfg(not(feature = "gpu"))]
    {
        let _ = number;
        Err(quickstudy_core::Error::Device(missing().to_owned()))
    }
}

#[cfg(feature = "gpu")]
mod with_wgpu {
    use quickstudy_core::{Device, Result};
    use quickstudy_gpu::{AdapterInfo, Gpu, GpuOptions};

    use super::Adapter;
    use crate::text::one_line;

    pub(super) fn adapters() -> Vec<Adapter> {
        pollster::block_on(quickstudy_gpu::adapters()).into_iter().map(Adapter::from).collect()
    }

    pub(super) fn open(number: Option<usize>) -> Result<(Device, bool)> {
        let gpu = pollster::block_on(Gpu::open(&GpuOptions { adapter: number, ..GpuOptions::default() }))?;
        let software = gpu.info().software;
        Ok((Device::new(gpu), software))
    }

    impl From<AdapterInfo> for Adapter {
        fn from(info: AdapterInfo) -> Adapter {
            let AdapterInfo { name, backend, driver, software, max_tensor_bytes, max_bindings, problem } = info;
            let kind = if software { " · software, for tests only" } else { "" };
            let limits = format!("tensors up to {} MiB, {max_bindings} buffers per kernel", max_tensor_bytes >> 20);
            let problem_line = |why: &String| format!("\n        unusable: {}", one_line(why));
            let unusable = problem.as_ref().map_or(String::new(), problem_line);
            let [named, with] = [&name, &driver].map(|text| one_line(text));
            let lines = format!("{named} · {backend}{kind}\n        {with}\n        {limits}{unusable}");
            Adapter { name, software, problem, backend, driver, max_tensor_bytes, max_bindings, lines }
        }
    }
}
