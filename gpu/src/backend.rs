//! The backend: what the core asks of a GPU.

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use quickstudy_kernels::backend::{Backend, Buffer, BufferData, Caps, Executable, Interrupt, ReadFuture};
use quickstudy_kernels::program::Trace;
use quickstudy_kernels::{DType, Device, Error, Result};

use crate::adapter::{AdapterInfo, GpuOptions};
use crate::buffer::{self, GpuBuffer};
use crate::compile;
use crate::context::Context;
use crate::exec::GpuExecutable;
use crate::large;
use crate::limits::{DeviceLimits, KernelLimits};
use crate::plan::{Plan, PlanOptions};
use crate::read::Read;

/// A GPU. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Gpu {
    context: Rc<Context>,
    tiled: bool,
    runs: bool,
    chains: bool,
}

impl Gpu {
    /// Open a GPU.
    ///
    /// # Errors
    /// [`Error::Device`] if there is none or it cannot be used.
    pub async fn open(options: &GpuOptions) -> Result<Gpu> {
        let context = Context::new(options).await?;
        let tiled = options.tiled.unwrap_or(!context.info.software);
        // A browser does not say whether its adapter is software, and the time that it takes to compile a long shader
        // is not measured.
        let is_card = !context.info.software && !cfg!(target_arch = "wasm32");
        let (runs, chains) = (options.runs.unwrap_or(is_card), options.chains.unwrap_or(is_card));
        Ok(Gpu { context, tiled, runs, chains })
    }

    /// Opens a GPU as a [`Device`].
    ///
    /// # Errors
    /// As [`Gpu::open`].
    pub async fn device(options: &GpuOptions) -> Result<Device> {
        Ok(Device::new(Gpu::open(options).await?))
    }

    /// Give the device up, as a driver that is reset does: everything on it fails from then on.
    pub fn destroy(&self) {
        self.context.device.destroy();
    }

    /// Why it is gone, if it is. Natively, calls that fail for it say so themselves; a browser
    /// tells of a loss after its first consequences.
    pub fn loss(&self) -> Option<Error> {
        self.context.loss()
    }

    /// Buffers made so far; those that are used again do not count again.
    pub fn buffers_made(&self) -> usize {
        self.context.pool.borrow().made
    }

    /// The limits of the device.
    pub fn device_limits(&self) -> DeviceLimits {
        let limits = self.context.device.limits();
        DeviceLimits {
            storage_buffers: limits.max_storage_buffers_per_shader_stage,
            binding_bytes: limits.max_storage_buffer_binding_size,
            buffer_bytes: limits.max_buffer_size,
            uniform_bytes: limits.max_uniform_buffer_binding_size,
            dynamic_uniforms: limits.max_dynamic_uniform_buffers_per_pipeline_layout,
            bind_groups: limits.max_bind_groups,
            workgroup_bytes: limits.max_compute_workgroup_storage_size,
            workgroup_invocations: limits.max_compute_invocations_per_workgroup,
            workgroup_width: limits.max_compute_workgroup_size_x,
            workgroups: limits.max_compute_workgroups_per_dimension,
            immediate_bytes: limits.max_immediate_size,
        }
    }

    fn limits(&self) -> KernelLimits {
        let bindings = self.context.limits.max_storage_buffers_per_shader_stage as usize;
        let trips =
            if self.context.info.software { KernelLimits::SOFTWARE_TRIPS } else { KernelLimits::default().trips };
        let words = (self.context.room() / 4) as usize;
        let workgroup_bytes = self.context.limits.max_compute_workgroup_storage_size as usize;
        KernelLimits { bindings, words, trips, workgroup_bytes, tiled: self.tiled, runs: self.runs, teams: self.chains }
    }

    /// The GPU's name, driver and limits.
    pub fn info(&self) -> &AdapterInfo {
        &self.context.info
    }
}

impl Backend for Gpu {
    fn caps(&self) -> Caps {
        Caps {
            name: format!("{} ({})", self.context.info.name, self.context.info.backend),
            is_cpu: false,
            element_bytes: 4,
            max_bindings: self.context.limits.max_storage_buffers_per_shader_stage as usize,
        }
    }

    fn alloc(&self, _dtype: DType, len: usize) -> Result<Rc<dyn BufferData>> {
        Ok(Rc::new(GpuBuffer::zeros(&self.context, len)?))
    }

    fn write(&self, buffer: &Buffer, first: usize, bytes: &[u8]) -> Result<()> {
        let to = buffer::of(buffer)?;
        let at = to.range(first..first.saturating_add(bytes.len() / 4))?;
        // What is recorded comes first.
        self.context.submit();
        self.context.queue.write_buffer(&to.buffer, at.start, bytes);
        self.context.check()
    }

    fn read(&self, buffer: &Buffer, elements: Range<usize>) -> ReadFuture {
        let some = buffer::of(buffer).and_then(|buffer| Ok((buffer, buffer.range(elements)?)));
        match some {
            Ok((buffer, bytes)) => Box::pin(Read::new(&self.context, buffer, bytes)),
            Err(e) => Box::pin(std::future::ready(Err(e))),
        }
    }

    fn compile(&self, trace: Arc<Trace>) -> Result<Box<dyn Executable>> {
        large::check_arguments(&self.context, &trace)?;
        let limits = self.limits();
        let planned = |chains: bool| {
            let chains = chains.then_some(limits.workgroup_bytes);
            let plan = Plan::new(trace.clone(), &PlanOptions { chains, ..PlanOptions::default() })?;
            let compiled = compile::compile(&plan, limits)?;
            Ok((plan, compiled))
        };
        // A chain that binds too many buffers is left to kernels of fewer nodes.
        let (plan, compiled) = match planned(self.chains) {
            Err(_) if self.chains => planned(false),
            planned => planned,
        }?;
        large::check_own(&self.context, &plan, &compiled.own)?;
        Ok(Box::new(GpuExecutable::new(&self.context, plan, compiled)?))
    }

    fn interrupt(&self) -> Interrupt {
        self.context.interrupt.clone()
    }
}
