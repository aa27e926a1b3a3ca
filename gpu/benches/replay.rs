//! Time that the host needs to replay a dispatch, apart from all waiting, and what wgpu alone needs for as
//! many. Says so and ends where there is no GPU.
//!
//! `cargo bench -p quickstudy-gpu --features bench --bench replay`: one iteration is one dispatch. Each
//! measurement is of submissions of at most 1,024 dispatches that the device has finished before the next are
//! recorded, so that a software adapter does not take the host's time away; what such an adapter does when it
//! is given them is its work and not counted.

#![forbid(unsafe_code)]

use std::time::{Duration, Instant};

use criterion::{Criterion, criterion_group, criterion_main};
use quickstudy_core::algo::{Ppo, PpoConfig, Sampling, Training};
use quickstudy_core::env::builtin;
use quickstudy_core::policy::NetConfig;
use quickstudy_core::program::{Context, Program, State};
use quickstudy_core::tensor::{Loop, scan};
use quickstudy_core::{DType, Device, Result};
use quickstudy_gpu::{Gpu, GpuOptions};

/// Dispatches of a submission.
const TOGETHER: usize = 1000;

/// A loop of ten kernels that cannot be one: each multiplies what the one before it made.
fn products(cx: &mut Context) {
    let x = cx.state("x", &[1, 16], DType::F32);
    let w = cx.input("w", &[16, 16], DType::F32);
    let (last, _) = scan(TOGETHER / 10, false, &[x], &[], |_, carry, _| Loop {
        carry: vec![(0..10).fold(carry[0], |x, _| x.matmul(w).tanh())],
        ys: Vec::new(),
    });
    cx.update("x", last[0]);
}

/// Host time of one dispatch of a program that `run` runs once and waits for; it returns dispatches and host time.
fn measure(c: &mut Criterion, name: &str, mut run: impl FnMut() -> Result<(u64, Duration)>) {
    if let Err(e) = run() {
        return println!("{name}: {e}");
    }
    c.bench_function(name, |bench| {
        bench.iter_custom(|n| {
            let (mut dispatches, mut host) = (0, Duration::ZERO);
            while dispatches < n {
                let Ok((more, time)) = run() else { break };
                (dispatches, host) = (dispatches + more, host + time);
            }
            host.mul_f64(n as f64 / dispatches.max(1) as f64)
        });
    });
}

fn programs(c: &mut Criterion) {
    let device = match pollster::block_on(Gpu::device(&GpuOptions::default())) {
        Ok(device) => device,
        Err(e) => return println!("skipped: {e}"),
    };
    if let Err(e) = loops(c, &device).and_then(|()| ppo(c, &device)) {
        println!("{e}");
    }
}

fn loops(c: &mut Criterion, device: &Device) -> Result<()> {
    let mut program = Program::new(device, products)?;
    let w = device.array_f32(&[16, 16], &[0.1; 256])?;
    let mut state = State::new();
    state.insert("x", device.array_f32(&[1, 16], &[0.5; 16])?);
    measure(c, "loop of products", || {
        let before = program.counters();
        program.run(&state, &[("w", &w)], &[])?;
        pollster::block_on(device.read_f32(state.get("x")?))?;
        let spent = program.counters() - before;
        Ok((spent.dispatches, spent.host))
    });
    Ok(())
}

fn ppo(c: &mut Criterion, device: &Device) -> Result<()> {
    let config = PpoConfig {
        sampling: Sampling { envs: 4, horizon: 16, ..Sampling::default() },
        net: NetConfig::hidden(vec![8]),
        ..PpoConfig::default()
    };
    let env = builtin("cartpole")?;
    let mut ppo = Training::new(device, std::rc::Rc::new(Ppo::new(&config, env.spec())?), &env, &[1])?;
    measure(c, "iteration of PPO", || {
        let before = ppo.program(0).counters();
        let metrics = pollster::block_on(ppo.step(0, 10))?;
        pollster::block_on(device.read_f32(&metrics))?;
        let spent = ppo.program(0).counters() - before;
        Ok((spent.dispatches, spent.host))
    });
    Ok(())
}

/// As many dispatches without this crate: the cost of wgpu's own recording and validation.
struct Bare {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipelines: Vec<wgpu::ComputePipeline>,
    groups: Vec<wgpu::BindGroup>,
    step: wgpu::BindGroup,
    software: bool,
}

impl Bare {
    /// Kernels that bind `buffers` buffers each, and a step with a dynamic offset.
    fn new(buffers: usize) -> Option<Bare> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default())).ok()?;
        let (device, queue) = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor::default())).ok()?;
        let entry = |i: usize, ty, dynamic| wgpu::BindGroupLayoutEntry {
            binding: i as u32,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: dynamic, min_binding_size: None },
            count: None,
        };
        let layout = |entries: &[wgpu::BindGroupLayoutEntry]| {
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: None, entries })
        };
        let storage = |i: usize| wgpu::BufferBindingType::Storage { read_only: i > 0 };
        let storages = layout(&(0..buffers).map(|i| entry(i, storage(i), false)).collect::<Vec<_>>());
        let steps = layout(&[entry(0, wgpu::BufferBindingType::Uniform, true)]);
        let made = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&steps), Some(&storages)],
            immediate_size: 0,
        });
        let pipelines = (0..2).map(|which| {
            let names: String = (0..buffers)
                .map(|i| {
                    let access = if i == 0 { "read_write" } else { "read" };
                    format!("@group(1) @binding({i}) var<storage, {access}> b{i}: array<u32>;\n")
                })
                .collect();
            let text = format!(
                "@group(0) @binding(0) var<uniform> step: vec4<u32>;\n{names}
                 @compute @workgroup_size(1) fn main() {{ b0[{which}] = step.x; }}"
            );
            let source = wgpu::ShaderSource::Wgsl(text.into());
            let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: None,
                layout: Some(&made),
                module: &module,
                entry_point: Some("main"),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            })
        });
        let pipelines = pipelines.collect();
        let buffer = |size: u64, usage| {
            device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
        };
        let data: Vec<wgpu::Buffer> = (0..=buffers).map(|_| buffer(1024, wgpu::BufferUsages::STORAGE)).collect();
        let groups = (0..2).map(|shift| {
            let resource = |i: usize| data[(i + shift) % data.len()].as_entire_binding();
            let entries: Vec<_> =
                (0..buffers).map(|i| wgpu::BindGroupEntry { binding: i as u32, resource: resource(i) }).collect();
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &storages, entries: &entries })
        });
        let groups = groups.collect();
        let table = buffer(256 * 64, wgpu::BufferUsages::UNIFORM);
        let binding = wgpu::BufferBinding { buffer: &table, offset: 0, size: wgpu::BufferSize::new(16) };
        let entries = [wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::Buffer(binding) }];
        let descriptor = wgpu::BindGroupDescriptor { label: None, layout: &steps, entries: &entries };
        let step = device.create_bind_group(&descriptor);
        let software = adapter.get_info().device_type == wgpu::DeviceType::Cpu;
        Some(Bare { device, queue, pipelines, groups, step, software })
    }

    /// [`TOGETHER`] dispatches; with `change`, each of another pipeline, other buffers and another step.
    fn run(&self, change: bool) -> Duration {
        let start = Instant::now();
        let mut encoder = self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        for i in 0..TOGETHER {
            if change || i == 0 {
                pass.set_pipeline(&self.pipelines[i % 2]);
                pass.set_bind_group(0, &self.step, &[256 * (i as u32 % 64)]);
                pass.set_bind_group(1, &self.groups[i % 2], &[]);
            }
            pass.dispatch_workgroups(1, 1, 1);
        }
        drop(pass);
        let commands = encoder.finish();
        let recorded = start.elapsed();
        self.queue.submit([commands]);
        // As the counters do: software adapters compute while they are given work.
        let time = if self.software { recorded } else { start.elapsed() };
        // Fails with a lost device only, of which there is nothing to measure.
        _ = self.device.poll(wgpu::PollType::wait_indefinitely());
        time
    }
}

fn bare(c: &mut Criterion) {
    for (buffers, change) in [(1, false), (2, true), (5, true), (8, true)] {
        let Some(bare) = Bare::new(buffers) else { return };
        let what = if change { "all set each time" } else { "nothing set" };
        measure(c, &format!("wgpu alone, {buffers} buffers, {what}"), || Ok((TOGETHER as u64, bare.run(change))));
    }
}

criterion_group!(benches, programs, bare);
criterion_main!(benches);
