//! A GPU and everything that its buffers and programs share.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use quickstudy_kernels::backend::Interrupt;
use quickstudy_kernels::{Error, Result};

use crate::adapter::{self, AdapterInfo, GpuOptions};
use crate::clock::{Clock, now};
use crate::pace::{Load, Pace, Stopwatch};

/// Submissions on their way at most.
const IN_FLIGHT: usize = 3;

/// Bytes between entries of the table of loop steps: the alignment that every device allows.
pub(crate) const STRIDE: usize = 256;

/// Buffers that nobody uses, by size.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    free: HashMap<u64, Vec<(wgpu::Buffer, u64)>>,
    /// Buffers ever made.
    pub made: usize,
}

impl Pool {
    /// Takes a buffer of that size, with its number.
    pub fn take(&mut self, bytes: u64) -> Option<(wgpu::Buffer, u64)> {
        self.free.get_mut(&bytes).and_then(Vec::pop)
    }

    pub fn give(&mut self, bytes: u64, buffer: wgpu::Buffer, number: u64) {
        self.free.entry(bytes).or_default().push((buffer, number));
    }
}

/// A device, its queue and its caches.
#[derive(Debug)]
pub(crate) struct Context {
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub info: AdapterInfo,
    pub limits: wgpu::Limits,
    pub pool: RefCell<Pool>,
    /// The first error that wgpu reported and nobody has seen.
    error: Arc<Mutex<Option<Error>>>,
    /// Why the device is gone, for good.
    lost: Arc<Mutex<Option<Error>>>,
    /// Submissions that may not be done yet.
    in_flight: RefCell<VecDeque<(wgpu::SubmissionIndex, Option<Load>)>>,
    stopwatch: Stopwatch,
    /// Commands that are not submitted yet.
    pending: RefCell<Option<wgpu::CommandEncoder>>,
    /// Pipelines by their text.
    pub pipelines: RefCell<HashMap<String, Rc<wgpu::ComputePipeline>>>,
    /// Layouts of bind group 0, by which bindings are written.
    storage_layouts: RefCell<HashMap<Vec<bool>, Rc<wgpu::BindGroupLayout>>>,
    /// Layouts of bind group 1, by loop levels.
    uniform_layouts: RefCell<HashMap<usize, Rc<wgpu::BindGroupLayout>>>,
    /// 0, 1, 2 and so on, [`STRIDE`] bytes apart, and how many.
    steps: RefCell<Option<(Rc<wgpu::Buffer>, usize)>>,
    next_buffer: Cell<u64>,
    /// Asks running programs to stop.
    pub interrupt: Interrupt,
    /// Time spent on waiting for the device before submitting more. A software adapter's driver computes while it is
    /// given work, so that submitting to it counts as waiting.
    pub waited: Cell<Duration>,
}

impl Context {
    pub async fn new(options: &GpuOptions) -> Result<Rc<Context>> {
        let adapter = adapter::choose(options.adapter).await?;
        let (info, offered) = (AdapterInfo::of(&adapter), adapter.limits());
        if let Some(problem) = &info.problem {
            let name = &info.name;
            return Err(Error::Device(format!("{name} cannot be used: {problem}; use another GPU, or run on the CPU")));
        }
        let mut limits = wgpu::Limits::defaults();
        if !options.default_limits {
            limits.max_storage_buffer_binding_size = offered.max_storage_buffer_binding_size;
            limits.max_buffer_size = offered.max_buffer_size;
            // Storage and uniform buffers together have a limit too, of 28 by default.
            let all = offered.max_buffers_and_acceleration_structures_per_shader_stage;
            limits.max_buffers_and_acceleration_structures_per_shader_stage = all;
            let room = all.saturating_sub(limits.max_uniform_buffers_per_shader_stage).min(32);
            limits.max_storage_buffers_per_shader_stage = offered.max_storage_buffers_per_shader_stage.min(room);
        }
        let descriptor = wgpu::DeviceDescriptor { label: None, required_limits: limits.clone(), ..Default::default() };
        let (device, queue) = adapter
            .request_device(&descriptor)
            .await
            .map_err(|e| Error::Device(format!("{} gives no device: {e}", info.name)))?;
        let error = Arc::new(Mutex::new(None));
        let slot = error.clone();
        device.on_uncaptured_error(Arc::new(move |e: wgpu::Error| keep(&slot, typed(&e))));
        let lost = Arc::new(Mutex::new(None));
        let slot = lost.clone();
        device.set_device_lost_callback(move |reason, message| {
            let why = if message.is_empty() { String::new() } else { format!(": {message}") };
            keep(&slot, Error::Lost(format!("the GPU was lost ({reason:?}){why}")));
        });
        Ok(Rc::new(Context {
            device,
            queue,
            info,
            limits,
            pool: RefCell::default(),
            error,
            lost,
            in_flight: RefCell::default(),
            stopwatch: Stopwatch::default(),
            pending: RefCell::new(None),
            pipelines: RefCell::default(),
            storage_layouts: RefCell::default(),
            uniform_layouts: RefCell::default(),
            steps: RefCell::new(None),
            next_buffer: Cell::new(1),
            interrupt: Interrupt::default(),
            waited: Cell::default(),
        }))
    }

    /// The first error since the last call, if any.
    pub fn check(&self) -> Result<()> {
        let found = match self.error.lock() {
            Ok(mut slot) => slot.take(),
            Err(poisoned) => poisoned.into_inner().take(),
        };
        if found.is_some() && cfg!(not(target_arch = "wasm32")) {
            // The news of a loss may come after its first consequence, and only to those who ask.
            _ = self.device.poll(wgpu::PollType::Poll);
        }
        // A lost device fails in many ways, all for one reason.
        self.loss().or(found).map_or(Ok(()), Err)
    }

    /// Why the device is gone, if it is.
    pub fn loss(&self) -> Option<Error> {
        self.lost.lock().map_or(None, |lost| lost.clone())
    }

    /// A number for a new buffer.
    pub fn number(&self) -> u64 {
        let number = self.next_buffer.get();
        self.next_buffer.set(number + 1);
        number
    }

    /// Record commands, to be submitted with the next ones at the latest.
    pub fn record<R>(&self, f: impl FnOnce(&mut wgpu::CommandEncoder) -> R) -> R {
        let mut pending = self.pending.borrow_mut();
        f(pending.get_or_insert_with(|| self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default())))
    }

    /// Submit what is recorded.
    pub fn submit(&self) {
        self.send(None);
    }

    /// Submit what is recorded, with so many dispatches of a program. Their time tells how many the next submission may
    /// have.
    pub fn submit_paced(&self, pace: &Pace, dispatches: usize) {
        self.send(Some((pace, dispatches)));
    }

    /// Natively waits while too much is on its way; a browser has back-pressure of its own, and tells when it is done.
    fn send(&self, load: Option<(&Pace, usize)>) {
        let Some(encoder) = self.pending.borrow_mut().take() else {
            return;
        };
        let commands = encoder.finish();
        let (clock, from) = (Clock::start(), now());
        let index = self.queue.submit([commands]);
        if self.info.software {
            self.waited.set(self.waited.get() + clock.elapsed());
        }
        // Software adapters may do all the work here.
        let load = load.map(|(pace, dispatches)| Load::new(pace, dispatches, from, now() - from));
        if cfg!(target_arch = "wasm32") {
            let stopwatch = self.stopwatch.clone();
            self.queue.on_submitted_work_done(move || stopwatch.done(load.as_ref(), f64::INFINITY));
            return;
        }
        self.in_flight.borrow_mut().push_back((index, load));
        while self.in_flight.borrow().len() > IN_FLIGHT {
            // A device that is lost meanwhile says so by its callback.
            _ = self.wait();
        }
    }

    /// Wait for the oldest submission on its way. False if there is none.
    pub fn wait(&self) -> std::result::Result<bool, wgpu::PollError> {
        let oldest = self.in_flight.borrow_mut().pop_front();
        let Some((index, load)) = oldest else {
            return Ok(false);
        };
        let clock = Clock::start();
        let done = self.device.poll(wgpu::PollType::Wait { submission_index: Some(index), timeout: None });
        self.waited.set(self.waited.get() + clock.elapsed());
        done?;
        self.stopwatch.done(load.as_ref(), clock.elapsed().as_secs_f64());
        Ok(true)
    }

    /// Layout of storage buffers.
    pub fn storage_layout(&self, written: &[bool]) -> Rc<wgpu::BindGroupLayout> {
        let make = || {
            let entry = |(i, written): (usize, &bool)| wgpu::BindGroupLayoutEntry {
                binding: i as u32,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Storage { read_only: !written },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            };
            let entries: Vec<_> = written.iter().enumerate().map(entry).collect();
            let descriptor = wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries };
            Rc::new(self.device.create_bind_group_layout(&descriptor))
        };
        self.storage_layouts.borrow_mut().entry(written.to_vec()).or_insert_with(make).clone()
    }

    /// Layout of the scalars and of the steps of that many loops.
    pub fn uniform_layout(&self, levels: usize) -> Rc<wgpu::BindGroupLayout> {
        let make = || {
            let entry = |i: usize| wgpu::BindGroupLayoutEntry {
                binding: i as u32,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    ty: wgpu::BufferBindingType::Uniform,
                    has_dynamic_offset: i > 0,
                    min_binding_size: None,
                },
                count: None,
            };
            let entries: Vec<_> = (0..=levels).map(entry).collect();
            let descriptor = wgpu::BindGroupLayoutDescriptor { label: None, entries: &entries };
            Rc::new(self.device.create_bind_group_layout(&descriptor))
        };
        self.uniform_layouts.borrow_mut().entry(levels).or_insert_with(make).clone()
    }

    /// Bytes of the largest tensor.
    pub fn room(&self) -> u64 {
        self.limits.max_storage_buffer_binding_size.min(self.limits.max_buffer_size)
    }

    /// The table of loop steps, for loops of up to `len`.
    ///
    /// # Errors
    /// [`Error::Device`] if the table does not fit into a buffer.
    pub fn steps(&self, len: usize) -> Result<Rc<wgpu::Buffer>> {
        let mut steps = self.steps.borrow_mut();
        if let Some((buffer, n)) = &*steps
            && *n >= len
        {
            return Ok(buffer.clone());
        }
        let most = (self.limits.max_buffer_size / STRIDE as u64) as usize;
        if len > most {
            return Err(Error::Device(format!(
                "a loop makes {len} steps, and {} allows {most}; put a loop into a loop",
                self.info.name
            )));
        }
        let n = len.next_power_of_two().min(most);
        let buffer = Rc::new(self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("steps"),
            size: (n * STRIDE) as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        }));
        let mut words = vec![0u32; n * STRIDE / 4];
        (0..n).for_each(|i| words[i * STRIDE / 4] = i as u32);
        self.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(&words));
        *steps = Some((buffer.clone(), n));
        Ok(buffer)
    }
}

fn keep(slot: &Mutex<Option<Error>>, error: Error) {
    if let Ok(mut slot) = slot.lock() {
        slot.get_or_insert(error);
    }
}

fn typed(error: &wgpu::Error) -> Error {
    match error {
        wgpu::Error::OutOfMemory { .. } => Error::Device(
            "the GPU is out of memory; use fewer environments, a shorter horizon or fewer seeds".to_owned(),
        ),
        wgpu::Error::Validation { description, .. } => {
            Error::Device(format!("the GPU refused a command; run on the CPU, and report this: {description}"))
        }
        wgpu::Error::Internal { description, .. } => {
            Error::Device(format!("the GPU's driver failed; update it, or run on the CPU: {description}"))
        }
    }
}
