//! The GPUs of a machine.

use quickstudy_kernels::{Error, Result};

/// A choice of GPU, and how much of it is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// Number of the adapter; none for the fastest one.
    pub adapter: Option<usize>,
    /// Ask for WebGPU's default limits only, as a browser may offer no more.
    pub default_limits: bool,
    /// Share the operands of large products in workgroup memory; none for doing so where it is faster, on all but
    /// software adapters.
    pub tiled: Option<bool>,
    /// Join small dispatches that follow each other; none for doing so natively on all but software adapters: these
    /// start a dispatch at once, and take long to compile a long shader.
    pub runs: Option<bool>,
    /// Compute rows and sums over them tile by tile, in workgroup memory; none for doing so natively on all but
    /// software adapters, whose barriers cost more than that saves.
    pub chains: Option<bool>,
}

/// An adapter, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterInfo {
    /// Name of the device.
    pub name: String,
    /// Vulkan, Metal, Dx12 or BrowserWebGpu.
    pub backend: String,
    /// Driver and its version.
    pub driver: String,
    /// Runs on the processor: fit for tests, not for speed.
    pub software: bool,
    /// Largest tensor, in bytes.
    pub max_tensor_bytes: u64,
    /// Storage buffers that one kernel may bind.
    pub max_bindings: u32,
    /// Why it cannot be used, if it cannot.
    pub problem: Option<String>,
}

impl AdapterInfo {
    pub(crate) fn of(adapter: &wgpu::Adapter) -> AdapterInfo {
        let (info, limits) = (adapter.get_info(), adapter.limits());
        AdapterInfo {
            name: info.name,
            backend: format!("{:?}", info.backend),
            driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
            software: info.device_type == wgpu::DeviceType::Cpu,
            max_tensor_bytes: limits.max_storage_buffer_binding_size.min(limits.max_buffer_size),
            max_bindings: limits.max_storage_buffers_per_shader_stage,
            problem: problem(&limits),
        }
    }
}

/// The limits that are lower than those of WebGPU, if any are.
fn problem(limits: &wgpu::Limits) -> Option<String> {
    let mut short = Vec::new();
    wgpu::Limits::defaults().check_limits_with_fail_fn(limits, false, |name, wanted, offered| {
        // Textures are of no use here.
        if name.contains("buffer") || name.contains("bind") || name.contains("compute") {
            short.push(format!("{name} is {offered}, {wanted} is needed"));
        }
    });
    (!short.is_empty()).then(|| short.join("; "))
}

/// All adapters, in the order of their numbers.
pub async fn adapters() -> Vec<AdapterInfo> {
    found().await.iter().map(AdapterInfo::of).collect()
}

async fn found() -> Vec<wgpu::Adapter> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    instance.enumerate_adapters(wgpu::Backends::all()).await
}

/// The adapter of that number, or the one that is likely to be fastest.
pub(crate) async fn choose(number: Option<usize>) -> Result<wgpu::Adapter> {
    let adapters = found().await;
    let chosen = match number {
        Some(i) => adapters.get(i),
        None => adapters.iter().min_by_key(|a| {
            let kind = match a.get_info().device_type {
                wgpu::DeviceType::DiscreteGpu => 0,
                wgpu::DeviceType::IntegratedGpu => 1,
                wgpu::DeviceType::VirtualGpu => 2,
                wgpu::DeviceType::Other => 3,
                wgpu::DeviceType::Cpu => 4,
            };
            (problem(&a.limits()).is_some(), kind)
        }),
    };
    let missing = || match (number, adapters.len()) {
        (_, 0) => Error::Device("no GPU was found: is a driver for Vulkan, Metal or DX12 installed?".to_owned()),
        (n, count) => Error::Device(format!("there is no GPU number {}; they are 0 to {}", n.unwrap_or(0), count - 1)),
    };
    chosen.cloned().ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn limits_below_those_of_webgpu_are_named() {
        let enough = wgpu::Limits::defaults();
        let few_buffers = wgpu::Limits { max_storage_buffers_per_shader_stage: 4, ..enough.clone() };
        let little_memory = wgpu::Limits { max_compute_workgroup_storage_size: 8192, ..enough.clone() };
        let small_texture = wgpu::Limits { max_texture_dimension_2d: 64, ..enough.clone() };
        assert_eq!((problem(&enough), problem(&small_texture)), (None, None));
        let says = |limits, what: &str| problem(limits).is_some_and(|problem| problem == what);
        assert!(says(&few_buffers, "max_storage_buffers_per_shader_stage is 4, 8 is needed"));
        assert!(says(&little_memory, "max_compute_workgroup_storage_size is 8192, 16384 is needed"));
    }
}
