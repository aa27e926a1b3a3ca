//! Limits of a device, and of a kernel on it.

/// The limits of a device for computing, of those that WebGPU names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceLimits {
    /// Storage buffers that a kernel may bind.
    pub storage_buffers: u32,
    /// Bytes of a storage buffer that it may bind.
    pub binding_bytes: u64,
    /// Bytes of a buffer.
    pub buffer_bytes: u64,
    /// Bytes of a uniform buffer that a kernel may bind.
    pub uniform_bytes: u64,
    /// Uniform buffers with dynamic offsets.
    pub dynamic_uniforms: u32,
    /// Bind groups.
    pub bind_groups: u32,
    /// Bytes of workgroup memory.
    pub workgroup_bytes: u32,
    /// Invocations of a workgroup.
    pub workgroup_invocations: u32,
    /// Invocations of a workgroup along its first dimension.
    pub workgroup_width: u32,
    /// Workgroups along each dimension of a dispatch.
    pub workgroups: u32,
    /// Bytes of immediate data.
    pub immediate_bytes: u32,
}

/// True where chains, and rows that a workgroup shares, are compiled in. Browsers do not run them yet, and the module
/// that a page loads is smaller without their code.
pub(crate) const CHAINS: bool = !cfg!(target_arch = "wasm32");

/// The limits of a kernel on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelLimits {
    /// Storage buffers that it may bind.
    pub bindings: usize,
    /// Words of a buffer that it binds.
    pub words: usize,
    /// Iterations of loops that one invocation may make. Rows' loops are run in several dispatches beyond it,
    /// long products and sums in more slices, and what cannot be divided is an error: some drivers end longer
    /// loops without a word (Mesa's after 65,535).
    pub trips: usize,
    /// Bytes of workgroup memory that it may take.
    pub workgroup_bytes: usize,
    /// Share the operands of large products in workgroup memory. Where workgroups run on a processor, their barriers
    /// cost more than that saves.
    pub tiled: bool,
    /// Join small dispatches that follow each other.
    pub runs: bool,
    /// Let the invocations of a workgroup share the products of rows that loop in one dispatch.
    pub teams: bool,
}

impl Default for KernelLimits {
    /// WebGPU's default, and what a graphics card does within some milliseconds.
    fn default() -> Self {
        KernelLimits {
            bindings: 8,
            words: 1 << 25,
            trips: 1 << 22,
            workgroup_bytes: 16_384,
            tiled: true,
            runs: true,
            teams: true,
        }
    }
}

impl KernelLimits {
    /// Mesa's software adapter ends every loop of an invocation after 65,535 iterations in all, without a word.
    pub const SOFTWARE_TRIPS: usize = 60_000;
}
