//! Replay: one pass of dispatches whose bind groups are made once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use quickstudy_core::Result;
use quickstudy_core::backend::{Buffer, Executable, ScalarValue};
use quickstudy_core::program::Plan;

use crate::buffer::{self, GpuBuffer};
use crate::compile::{Compiled, Home, Step};
use crate::context::{Context, STRIDE};

/// Sets of arguments whose bind groups are kept, per dispatch.
const KEPT: usize = 16;

/// A dispatch, ready to go.
struct Ready {
    pipeline: Rc<wgpu::ComputePipeline>,
    layout: Rc<wgpu::BindGroupLayout>,
    homes: Vec<Home>,
    groups: [u32; 3],
    levels: usize,
    /// Bind groups by the numbers of the arguments' buffers.
    bound: RefCell<HashMap<Vec<u64>, wgpu::BindGroup>>,
}

/// A program on a GPU.
pub(crate) struct GpuExecutable {
    context: Rc<Context>,
    ready: Vec<Ready>,
    steps: Vec<Step>,
    own: Vec<GpuBuffer>,
    scalars: wgpu::Buffer,
    /// Bind groups of scalars and steps, by number of loops.
    uniforms: Vec<wgpu::BindGroup>,
    words: Vec<u32>,
}

impl GpuExecutable {
    pub fn new(context: &Rc<Context>, plan: &Plan, compiled: Compiled) -> Result<GpuExecutable> {
        let own = compiled.own.iter().map(|len| GpuBuffer::new(context, *len)).collect::<Result<Vec<_>>>()?;
        let words = vec![0u32; 4 * (1 + plan.scalars.len().div_ceil(4))];
        let scalars = context.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("scalars"),
            size: words.len() as u64 * 4,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let steps = context.steps(compiled.longest);
        let most = compiled.dispatches.iter().map(|d| d.shader.levels).max().unwrap_or(0);
        let uniforms = (0..=most).map(|levels| uniforms(context, levels, &scalars, &steps)).collect();
        let mut ready = Vec::with_capacity(compiled.dispatches.len());
        for dispatch in compiled.dispatches {
            let layout = context.storage_layout(&dispatch.written);
            let levels = dispatch.shader.levels;
            let pipeline = pipeline(context, &dispatch.shader.text, &layout, levels);
            let groups = dispatch.shader.groups;
            ready.push(Ready { pipeline, layout, homes: dispatch.homes, groups, levels, bound: RefCell::default() });
            context.check()?;
        }
        Ok(GpuExecutable {
            context: context.clone(),
            ready,
            steps: compiled.steps.concat(),
            own,
            scalars,
            uniforms,
            words,
        })
    }

    /// Make sure that a dispatch's bind group exists for these arguments; its key.
    fn bind(&self, ready: &Ready, args: &[&GpuBuffer]) -> Vec<u64> {
        let key: Vec<u64> = ready
            .homes
            .iter()
            .filter_map(|home| match home {
                Home::Arg(i) => Some(args[*i].number),
                Home::Own(_) => None,
            })
            .collect();
        let mut bound = ready.bound.borrow_mut();
        if !bound.contains_key(&key) {
            if bound.len() >= KEPT {
                bound.clear();
            }
            let buffer = |home: &Home| match home {
                Home::Arg(i) => &args[*i].buffer,
                Home::Own(i) => &self.own[*i].buffer,
            };
            let entry = |(i, home): (usize, &Home)| wgpu::BindGroupEntry {
                binding: i as u32,
                resource: buffer(home).as_entire_binding(),
            };
            let entries: Vec<_> = ready.homes.iter().enumerate().map(entry).collect();
            let descriptor = wgpu::BindGroupDescriptor { label: None, layout: &ready.layout, entries: &entries };
            bound.insert(key.clone(), self.context.device.create_bind_group(&descriptor));
        }
        key
    }

    fn play(&self, player: &mut Player<'_>, steps: &[Step], keys: &[Vec<u64>], offsets: &mut Vec<u32>) {
        for step in steps {
            match step {
                Step::Run(i) => {
                    let pass = player.next();
                    let ready = &self.ready[*i];
                    let bound = ready.bound.borrow();
                    let [x, y, z] = ready.groups;
                    pass.set_pipeline(&ready.pipeline);
                    pass.set_bind_group(0, bound.get(&keys[*i]), &[]);
                    pass.set_bind_group(1, &self.uniforms[ready.levels], &offsets[..ready.levels]);
                    pass.dispatch_workgroups(x, y, z);
                }
                Step::Loop { len, reverse, body } => {
                    for step in 0..*len {
                        let t = if *reverse { len - 1 - step } else { step };
                        offsets.push((t * STRIDE) as u32);
                        self.play(player, body, keys, offsets);
                        offsets.pop();
                    }
                }
            }
        }
    }
}

impl Executable for GpuExecutable {
    fn run(&mut self, args: &[Buffer], scalars: &[ScalarValue]) -> Result<()> {
        let args = args.iter().map(buffer::of).collect::<Result<Vec<_>>>()?;
        for (word, scalar) in self.words[4..].iter_mut().zip(scalars) {
            *word = scalar.bits();
        }
        // What is recorded comes before the new scalars.
        self.context.submit();
        self.context.queue.write_buffer(&self.scalars, 0, bytemuck::cast_slice(&self.words));
        let keys: Vec<Vec<u64>> = self.ready.iter().map(|ready| self.bind(ready, &args)).collect();
        let mut player = Player { context: &self.context, pass: None, dispatches: 0 };
        self.play(&mut player, &self.steps, &keys, &mut Vec::new());
        drop(player);
        self.context.submit();
        self.context.check()
    }
}

/// Dispatches per submission: on the slowest device that counts, some 50 ms of them.
const PER_SUBMISSION: usize = 1024;

/// Spreads dispatches over passes, one per submission.
struct Player<'a> {
    context: &'a Context,
    pass: Option<wgpu::ComputePass<'static>>,
    dispatches: usize,
}

impl Player<'_> {
    /// The pass for the next dispatch.
    fn next(&mut self) -> &mut wgpu::ComputePass<'static> {
        if self.dispatches == PER_SUBMISSION {
            self.pass = None;
            self.context.submit();
            self.dispatches = 0;
        }
        self.dispatches += 1;
        let begin = |encoder: &mut wgpu::CommandEncoder| {
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()).forget_lifetime()
        };
        self.pass.get_or_insert_with(|| self.context.record(begin))
    }
}

fn uniforms(context: &Context, levels: usize, scalars: &wgpu::Buffer, steps: &wgpu::Buffer) -> wgpu::BindGroup {
    let mut entries = vec![wgpu::BindGroupEntry { binding: 0, resource: scalars.as_entire_binding() }];
    for level in 0..levels {
        let size = wgpu::BufferSize::new(16);
        let step = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer: steps, offset: 0, size });
        entries.push(wgpu::BindGroupEntry { binding: level as u32 + 1, resource: step });
    }
    let layout = context.uniform_layout(levels);
    context.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout: &layout, entries: &entries })
}

fn pipeline(context: &Context, text: &str, layout: &wgpu::BindGroupLayout, levels: usize) -> Rc<wgpu::ComputePipeline> {
    if let Some(found) = context.pipelines.borrow().get(text) {
        return found.clone();
    }
    let module = context.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(text.into()),
    });
    let uniform = context.uniform_layout(levels);
    let layout = context.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
        label: None,
        bind_group_layouts: &[Some(layout), Some(&uniform)],
        immediate_size: 0,
    });
    let made = Rc::new(context.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: Some(&layout),
        module: &module,
        entry_point: Some("main"),
        compilation_options: wgpu::PipelineCompilationOptions {
            zero_initialize_workgroup_memory: false,
            ..Default::default()
        },
        cache: None,
    }));
    context.pipelines.borrow_mut().insert(text.to_owned(), made.clone());
    made
}
