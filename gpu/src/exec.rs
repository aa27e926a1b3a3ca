//! Replay: one pass of dispatches whose bind groups are made once.

use std::rc::Rc;

use quickstudy_kernels::backend::{Buffer, Counters, Executable, ScalarValue};
use quickstudy_kernels::program::{Footprint, Holds, Trace};
use quickstudy_kernels::{Error, Result};

use crate::buffer::{self, GpuBuffer};
use crate::clock::Clock;
use crate::compile::{Compiled, Home, Step};
use crate::context::{Context, STRIDE};
use crate::large;
use crate::pace::Pace;
use crate::plan::Plan;
use crate::wgsl::Shader;

/// Sets of arguments whose bind groups are kept, per dispatch.
const KEPT: usize = 16;

/// A dispatch, ready to go.
struct Ready {
    pipeline: Rc<wgpu::ComputePipeline>,
    layout: Rc<wgpu::BindGroupLayout>,
    homes: Vec<Home>,
    groups: [u32; 3],
    levels: usize,
    /// Bytes that it writes.
    bytes: u64,
    /// Bind groups by the numbers of the arguments' buffers.
    bound: Vec<(Vec<u64>, wgpu::BindGroup)>,
    /// Which of these the current run takes.
    current: usize,
}

/// A program on a GPU.
pub(crate) struct GpuExecutable {
    context: Rc<Context>,
    plan: Plan,
    ready: Vec<Ready>,
    steps: Vec<Step>,
    /// Number of elements of the program's own buffers.
    lens: Vec<usize>,
    /// These, from the first run on.
    own: Vec<GpuBuffer>,
    scalars: wgpu::Buffer,
    /// Bind groups of scalars and steps, by number of loops.
    uniforms: Vec<wgpu::BindGroup>,
    words: Vec<u32>,
    counters: Counters,
    pace: Pace,
}

impl GpuExecutable {
    pub fn new(context: &Rc<Context>, plan: Plan, compiled: Compiled) -> Result<GpuExecutable> {
        let words = vec![0u32; 4 * (1 + plan.trace.scalars.len().div_ceil(4))];
        let scalars = context.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("scalars"),
            size: words.len() as u64 * 4,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let steps = context.steps(compiled.longest)?;
        let shaders: Vec<Shader> = compiled.dispatches.iter().map(|dispatch| dispatch.shader(&plan)).collect();
        let most = shaders.iter().map(|shader| shader.levels).max().unwrap_or(0);
        let uniforms = (0..=most).map(|levels| uniforms(context, levels, &scalars, &steps)).collect();
        let mut ready = Vec::with_capacity(compiled.dispatches.len());
        for (dispatch, shader) in compiled.dispatches.into_iter().zip(shaders) {
            let layout = context.storage_layout(&dispatch.written);
            let Shader { text, groups, levels } = shader;
            let pipeline = context.pipeline(&dispatch.name(&plan), &text, &layout, levels)?;
            ready.push(Ready {
                pipeline,
                layout,
                homes: dispatch.homes,
                groups,
                levels,
                bytes: 4 * dispatch.moved as u64,
                bound: Vec::new(),
                current: 0,
            });
        }
        context.check()?;
        Ok(GpuExecutable {
            context: context.clone(),
            plan,
            ready,
            steps: compiled.steps.concat(),
            lens: compiled.own,
            own: Vec::new(),
            scalars,
            uniforms,
            words,
            counters: Counters::default(),
            pace: Pace::default(),
        })
    }

    /// Choose each dispatch's bind group for these arguments; make it where they are new.
    fn bind(&mut self, args: &[&GpuBuffer]) {
        for ready in &mut self.ready {
            let numbers = ready.homes.iter().filter_map(|home| match home {
                Home::Arg(i) => Some(args[*i].number),
                Home::Own(_) => None,
            });
            let known = ready.bound.iter().position(|(key, _)| key.iter().copied().eq(numbers.clone()));
            ready.current = known.unwrap_or_else(|| {
                let key = numbers.collect();
                if ready.bound.len() >= KEPT {
                    ready.bound.clear();
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
                ready.bound.push((key, self.context.device.create_bind_group(&descriptor)));
                ready.bound.len() - 1
            });
        }
    }

    fn play(&self, player: &mut Player<'_>, steps: &[Step]) -> Result<()> {
        for step in steps {
            match step {
                Step::Run(i) => player.dispatch(&self.ready[*i], &self.uniforms)?,
                Step::Loop { unless: Some(unless), .. } if unless.at(&player.steps()) != 0 => {}
                Step::Loop { len, reverse, body, .. } => {
                    for step in 0..*len {
                        let t = if *reverse { len - 1 - step } else { step };
                        player.offsets.push((t * STRIDE) as u32);
                        player.moved = true;
                        self.play(player, body)?;
                        player.offsets.pop();
                    }
                    player.moved = true;
                }
            }
        }
        Ok(())
    }
}

impl Executable for GpuExecutable {
    fn run(&mut self, args: &[Buffer], scalars: &[ScalarValue]) -> Result<()> {
        let (clock, waited) = (Clock::start(), self.context.waited.get());
        let args = args.iter().map(buffer::of).collect::<Result<Vec<_>>>()?;
        if self.own.is_empty() {
            self.own = self.lens.iter().map(|len| GpuBuffer::new(&self.context, *len)).collect::<Result<Vec<_>>>()?;
        }
        for (word, scalar) in self.words[4..].iter_mut().zip(scalars) {
            *word = scalar.bits();
        }
        // Takes effect before what is recorded and not submitted, which are at most fresh buffers' zeros.
        self.context.queue.write_buffer(&self.scalars, 0, bytemuck::cast_slice(&self.words));
        self.bind(&args);
        let mut player = Player::new(&self.context, &self.pace);
        self.context.interrupt.enter(1, 1);
        self.play(&mut player, &self.steps)?;
        player.submit();
        let (dispatches, bytes) = (player.total, player.bytes);
        self.counters.dispatches += dispatches;
        self.counters.moved += bytes;
        self.counters.host += clock.elapsed().saturating_sub(self.context.waited.get() - waited);
        self.context.check()
    }

    fn counters(&self) -> Counters {
        self.counters
    }

    fn footprint(&self, trace: &Trace) -> Footprint {
        let mut footprint = Footprint::of_arguments(trace, 4);
        for len in &self.lens {
            let holds = large::kept(&trace.graph, &self.plan.schedule, *len).map_or(Holds::Scratch, Holds::Value);
            footprint.add(*len as u64 * 4, holds);
        }
        footprint
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn print(&self, _trace: &Trace) -> String {
        self.plan.kernels().unwrap_or_default()
    }
}

/// Spreads dispatches over passes, one per submission, and leaves out what is set already.
struct Player<'a> {
    context: &'a Context,
    pace: &'a Pace,
    pass: Option<wgpu::ComputePass<'static>>,
    /// Offsets of the steps of the loops around, the outermost first.
    offsets: Vec<u32>,
    /// True if they differ from those of the last dispatch.
    moved: bool,
    /// Pipeline, and number of loops around, of the last dispatch of this pass.
    last: Option<(*const wgpu::ComputePipeline, usize)>,
    /// Since the last submission.
    dispatches: usize,
    total: u64,
    /// Bytes that all dispatches write.
    bytes: u64,
}

impl<'a> Player<'a> {
    fn new(context: &'a Context, pace: &'a Pace) -> Player<'a> {
        let offsets = Vec::new();
        Player { context, pace, pass: None, offsets, moved: true, last: None, dispatches: 0, total: 0, bytes: 0 }
    }

    /// The steps of the loops around, the outermost first.
    fn steps(&self) -> Vec<u32> {
        self.offsets.iter().map(|offset| offset / STRIDE as u32).collect()
    }

    /// Adds a dispatch, unless a stop was asked for: that is looked for between submissions.
    fn dispatch(&mut self, ready: &Ready, uniforms: &[wgpu::BindGroup]) -> Result<()> {
        if self.dispatches >= self.pace.size() {
            self.submit();
            self.context.interrupt.at_step(self.total as usize, 0);
        }
        if self.dispatches == 0 && self.context.interrupt.asked() {
            return Err(Error::Interrupted);
        }
        self.dispatches += 1;
        self.total += 1;
        self.bytes += ready.bytes;
        let begin = |encoder: &mut wgpu::CommandEncoder| {
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default()).forget_lifetime()
        };
        let pass = self.pass.get_or_insert_with(|| self.context.record(begin));
        let (pipeline, levels) = (Rc::as_ptr(&ready.pipeline), ready.levels);
        if self.last.is_none_or(|last| last.0 != pipeline) {
            pass.set_pipeline(&ready.pipeline);
        }
        if self.moved || self.last.is_none_or(|last| last.1 != levels) {
            pass.set_bind_group(0, &uniforms[levels], &self.offsets[..levels]);
            self.moved = false;
        }
        self.last = Some((pipeline, levels));
        pass.set_bind_group(1, ready.bound.get(ready.current).map(|(_, group)| group), &[]);
        let [x, y, z] = ready.groups;
        pass.dispatch_workgroups(x, y, z);
        Ok(())
    }

    fn submit(&mut self) {
        self.pass = None;
        self.last = None;
        self.context.submit_paced(self.pace, self.dispatches);
        self.dispatches = 0;
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
